//! Output types for views, carts, purchases and trending products.

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::activity::{Bucket, IgnoredReason, RecordedActivity, Resolution};
use vitrine_domain::outcome;
use vitrine_domain::trending::TrendingRow;
use vitrine_model::activity::{self, ActivityCounts, ActivitySummary, relative_error, two_digits};
use vitrine_model::product::Sold;

use super::common::{Relation, count};
use super::payload::UserError;
use super::product::Product;
use crate::execution::{Failure, List};
use crate::graphql::scalars::DateTime;

/// A kind of shopper activity on a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "activity::ActivityKind")]
pub(crate) enum ActivityKind {
    /// A shopper viewed the product.
    View,
    /// A shopper put the product into a cart.
    Cart,
}

/// The length of one interval in an activity series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "Resolution")]
pub(crate) enum ActivityResolution {
    /// One point per hour. Hours are kept for 90 days; at most 168 points per request.
    Hour,
    /// One point per day, in UTC. Days are kept for 1,096 days; at most 400 points per request.
    Day,
}

/// The period that a trending list covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "activity::TrendingWindow")]
pub(crate) enum TrendingWindow {
    /// The current hour and the 24 hours before it.
    Day,
    /// Today and the 7 days before, in UTC.
    Week,
    /// Today and the 30 days before, in UTC.
    Month,
}

/// The activity on a product within one hour or one day.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct ActivityPoint {
    /// When the hour or day begins, in UTC.
    at: DateTime,
    /// The number of views.
    views: i32,
    /// The number of times the product was put into a cart.
    carts: i32,
    /// The number of units bought.
    purchases: i32,
}

/// The activity on a product over a period. Views and carts are estimates: a server process that is
/// killed loses its last second. Purchases are exact, or `AT_LEAST` for a few seconds while some of
/// them are still waiting to be counted.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ProductActivity {
    /// The length of the interval that each point covers.
    resolution: ActivityResolution,
    /// One point for every hour or day of the range, in ascending order, including those without
    /// activity.
    points: List<ActivityPoint>,
    /// The number of views in the whole range.
    views: LabelledCount,
    /// The number of times the product was put into a cart in the whole range.
    carts: LabelledCount,
    /// The number of units bought in the whole range.
    purchases: LabelledCount,
}

/// A count with its accuracy.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct LabelledCount {
    /// The count.
    value: i32,
    /// Whether the count is exact, a lower bound or an estimate.
    relation: Relation,
    /// The relative standard error of an estimate: the standard deviation divided by the count.
    /// Above 0 only if events were sampled because too many arrived at once; 0 if every event was
    /// counted or there were none.
    relative_error: f64,
    /// The time the count refers to; null if nothing has been counted yet.
    as_of: Option<DateTime>,
}

/// Sales and attention figures of a product.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct ProductCounters {
    /// The number of units ever bought, exact for admins and services, and rounded to two
    /// significant digits for others. Includes only purchases that were recorded with this service.
    units_sold: LabelledCount,
    /// The number of units bought today and in the 30 days before, in UTC, exact for admins and
    /// services, and rounded to two significant digits for others. New purchases are included
    /// within minutes; purchases that fall out of the period are removed within hours.
    units_sold_in_month: LabelledCount,
    /// The number of views in the same days, rounded to two significant digits.
    views_in_month: LabelledCount,
    /// The number of times the product was put into a cart in the same days, rounded to two
    /// significant digits.
    carts_in_month: LabelledCount,
}

/// A trending product.
#[derive(SimpleObject, Direct)]
pub(crate) struct TrendingProduct {
    /// The product.
    product: Product,
    /// The position in the list, starting at 1.
    rank: i32,
    /// The weighted number of events: a view counts 1, a cart 5, a unit bought 20. The weight of an
    /// event halves with every quarter of the window that passes.
    score: f64,
    /// When the score was computed: within about a minute of new activity in the category,
    /// otherwise about once an hour.
    as_of: DateTime,
}

/// Why an event was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
pub(crate) enum ActivityRefusal {
    /// No product on sale has this id.
    NotFound,
    /// The event is more than a day old.
    TooOld,
    /// The time of the event is more than five minutes ahead of the server's clock.
    Ahead,
    /// The caller has recorded such an event of the product within this hour.
    AlreadyCounted,
}

/// An event that was not counted.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct IgnoredActivity {
    /// The position of the event in the batch, starting at 0.
    index: i32,
    /// Why the event was not counted.
    reason: ActivityRefusal,
}

/// The result of `recordActivity`.
#[derive(Debug, Default, SimpleObject, Direct)]
pub(crate) struct RecordActivityPayload {
    /// The number of events that were counted; null if the batch was refused.
    pub(crate) counted: Option<i32>,
    /// Whether a batch with the same idempotency key was already counted. If true, this batch was
    /// not counted again. Null if the batch was refused.
    pub(crate) repeated: Option<bool>,
    /// The events that were not counted, although the rest of the batch was.
    pub(crate) ignored: List<IgnoredActivity>,
    /// Why nothing was counted; empty on success.
    pub(crate) user_errors: List<UserError>,
}

impl From<RecordedActivity> for RecordActivityPayload {
    fn from(done: RecordedActivity) -> Self {
        let ignored = |(index, why): (usize, IgnoredReason)| IgnoredActivity {
            index: count(index),
            reason: match why {
                IgnoredReason::Unknown => ActivityRefusal::NotFound,
                IgnoredReason::TooOld => ActivityRefusal::TooOld,
                IgnoredReason::Ahead => ActivityRefusal::Ahead,
                IgnoredReason::AlreadyCounted => ActivityRefusal::AlreadyCounted,
            },
        };
        Self {
            counted: Some(count(done.counted)),
            repeated: Some(done.repeated),
            ignored: done.ignored.into_iter().map(ignored).collect(),
            user_errors: List::default(),
        }
    }
}

impl RecordActivityPayload {
    /// The refusal of a batch whose idempotency key was used for other events.
    pub(crate) fn conflict() -> Self {
        let refusal = outcome::UserError {
            code: outcome::UserErrorCode::IdempotencyConflict,
            message: "this key was used for other events within ten minutes".to_owned(),
            path: vec!["idempotencyKey".to_owned()],
            current_revision: None,
        };
        Self {
            user_errors: vec![refusal.into()].into(),
            ..Self::default()
        }
    }
}

impl ProductActivity {
    /// Sums up the buckets. `waiting` means that some sales are not yet included in them.
    pub(crate) fn of(
        buckets: &[Bucket],
        waiting: bool,
        resolution: Resolution,
        now: DateTime,
    ) -> Self {
        let sum = buckets
            .iter()
            .fold(ActivityCounts::default(), |sum, bucket| {
                sum.plus(bucket.counted.counts)
            });
        let one_in = buckets.iter().map(|bucket| bucket.counted.one_in).max();
        let estimate = |value: i64| LabelledCount {
            value: count(value),
            relation: Relation::Estimate,
            relative_error: relative_error(value, one_in.unwrap_or(1)),
            as_of: Some(now),
        };
        Self {
            resolution: resolution.into(),
            points: buckets.iter().map(point).collect(),
            views: estimate(sum.views),
            carts: estimate(sum.carts),
            purchases: LabelledCount {
                relation: if waiting {
                    Relation::AtLeast
                } else {
                    Relation::Exact
                },
                ..LabelledCount::exact(sum.purchases, Some(now))
            },
        }
    }
}

impl LabelledCount {
    fn exact(value: i64, as_of: Option<DateTime>) -> Self {
        Self {
            value: count(value),
            relation: Relation::Exact,
            relative_error: 0.0,
            as_of,
        }
    }
}

impl ProductCounters {
    /// Converts the activity figures that are stored with a product. Sales are exact for callers
    /// who may know them: competitors would read the sales of every hour from them.
    pub(crate) fn of(activity: ActivitySummary, sold: Sold, exact: bool) -> Self {
        let (as_of, sold_as_of) = (activity.as_of.map(DateTime), sold.as_of.map(DateTime));
        let estimate = |value: i64, as_of| LabelledCount {
            relation: Relation::Estimate,
            ..LabelledCount::exact(value, as_of)
        };
        let sales = |units: i64, as_of| {
            if exact {
                LabelledCount::exact(units, as_of)
            } else {
                estimate(two_digits(units), as_of)
            }
        };
        Self {
            units_sold: sales(sold.units, sold_as_of),
            units_sold_in_month: sales(activity.units, as_of),
            views_in_month: estimate(activity.views, as_of),
            carts_in_month: estimate(activity.carts, as_of),
        }
    }
}

/// Converts trending rows and numbers them, starting at 1.
pub(crate) fn trending(rows: Vec<TrendingRow>) -> Result<List<TrendingProduct>, Failure> {
    let one = |(at, row): (usize, TrendingRow)| {
        Ok(TrendingProduct {
            product: Product::of(row.product)?,
            rank: count(at + 1),
            score: row.score,
            as_of: DateTime(row.as_of),
        })
    };
    rows.into_iter().enumerate().map(one).collect()
}

fn point(bucket: &Bucket) -> ActivityPoint {
    let counts = bucket.counted.counts;
    ActivityPoint {
        at: DateTime(bucket.at),
        views: count(counts.views),
        carts: count(counts.carts),
        purchases: count(counts.purchases),
    }
}
