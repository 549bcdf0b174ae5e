//! Views, carts and purchases as they are read.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::activity::{Bucket, Counted, Ignored, Resolution};
use vitrine_domain::outcome;
use vitrine_domain::trending::TrendingRow;
use vitrine_model::activity::{self, ActivityCounts, ActivitySummary, relative_error};
use vitrine_model::product::Sold;

use super::common::{Relation, count};
use super::payload::UserError;
use super::product::Product;
use crate::execution::Failure;
use crate::graphql::scalars::DateTime;

/// What happens around a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "activity::ActivityKind")]
pub(crate) enum ActivityKind {
    /// Somebody looked at it.
    View,
    /// Somebody put it into a cart.
    Cart,
}

/// How fine a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Resolution")]
pub(crate) enum ActivityResolution {
    /// By hours, which are kept for 90 days; at most 168 at once.
    Hour,
    /// By days, in UTC, which are kept for 1,096 days; at most 400 at once.
    Day,
}

/// Over which time it is looked what gets attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "activity::TrendingWindow")]
pub(crate) enum TrendingWindow {
    /// The present hour and the 24 before.
    Day,
    /// Today and the 7 days before, in UTC.
    Week,
    /// Today and the 30 days before, in UTC.
    Month,
}

/// What happened within an hour or a day.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct ActivityPoint {
    /// When the hour or day begins, in UTC.
    at: DateTime,
    /// How often somebody looked at it.
    views: i32,
    /// How often somebody put it into a cart.
    carts: i32,
    /// How many units were bought.
    purchases: i32,
}

/// What happened around a product over some time. Views and carts are estimates: a process that is
/// killed loses its last second. Purchases are exact; `AT_LEAST` while some wait to be counted, for a few
/// seconds.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ProductActivity {
    /// How fine it is.
    resolution: ActivityResolution,
    /// Every hour or day of the range, the first one first, also those without anything.
    points: Vec<ActivityPoint>,
    /// How often somebody looked at it in all this time.
    views: LabelledCount,
    /// How often somebody put it into a cart in all this time.
    carts: LabelledCount,
    /// How many units were bought in all this time.
    purchases: LabelledCount,
}

/// A count, and what it says.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct LabelledCount {
    /// The count.
    value: i32,
    /// Whether it is exact or an estimate.
    relation: Relation,
    /// By how much an estimate may be off because, under a flood of events, one in so many was
    /// counted: the standard deviation as a share of the count. 0 when all were counted, or none.
    relative_error: f64,
    /// As of when; null when nothing was counted yet.
    as_of: Option<DateTime>,
}

/// How a product sells and how much attention it gets.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct ProductCounters {
    /// How many units were ever bought, exactly, of purchases that were recorded with this service.
    units_sold: LabelledCount,
    /// How many units were bought today and in the 30 days before, in UTC. What happens is counted
    /// within minutes, what is longer ago leaves within hours.
    units_sold_in_month: LabelledCount,
    /// How often somebody looked at it in the same days, rounded to two digits.
    views_in_month: LabelledCount,
    /// How often somebody put it into a cart in the same days, rounded to two digits.
    carts_in_month: LabelledCount,
}

/// A product that gets attention.
#[derive(SimpleObject)]
pub(crate) struct TrendingProduct {
    /// The product.
    product: Product,
    /// Its place in the list, from 1 on.
    rank: i32,
    /// Views, five for each cart and twenty for each unit bought; what is a quarter of the window
    /// ago counts half, and so on.
    score: f64,
    /// When it was counted: within a minute or so of what happens in the category; where nothing
    /// does, about once an hour.
    as_of: DateTime,
}

/// Why an event was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(crate) enum ActivityRefusal {
    /// There is no such product on sale.
    NotFound,
    /// It lies more than a day back.
    TooOld,
    /// It lies more than five minutes ahead of this service's clock.
    Ahead,
}

/// An event that was not counted.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct IgnoredActivity {
    /// Its place in the batch, from 0 on.
    index: i32,
    /// Why.
    reason: ActivityRefusal,
}

/// What became of recordActivity.
#[derive(Debug, Default, SimpleObject)]
pub(crate) struct RecordActivityPayload {
    /// How many events were counted; null when the batch was refused.
    pub(crate) counted: Option<i32>,
    /// Whether a batch with this key was counted before; then this one was not. Null when it was
    /// refused.
    pub(crate) repeated: Option<bool>,
    /// The events that were not counted, while the others were.
    pub(crate) ignored: Vec<IgnoredActivity>,
    /// Why nothing was counted; empty when something was.
    pub(crate) user_errors: Vec<UserError>,
}

impl From<Counted> for RecordActivityPayload {
    fn from(done: Counted) -> Self {
        let ignored = |(index, why): (usize, Ignored)| IgnoredActivity {
            index: count(index),
            reason: match why {
                Ignored::Unknown => ActivityRefusal::NotFound,
                Ignored::TooOld => ActivityRefusal::TooOld,
                Ignored::Ahead => ActivityRefusal::Ahead,
            },
        };
        Self {
            counted: Some(count(done.counted)),
            repeated: Some(done.repeated),
            ignored: done.ignored.into_iter().map(ignored).collect(),
            user_errors: Vec::new(),
        }
    }
}

impl RecordActivityPayload {
    /// A batch whose key stands for another one.
    pub(crate) fn conflict() -> Self {
        let refusal = outcome::UserError {
            code: outcome::UserErrorCode::IdempotencyConflict,
            message: "this key was used for other events within ten minutes".to_owned(),
            path: vec!["idempotencyKey".to_owned()],
            current_revision: None,
        };
        Self {
            user_errors: vec![refusal.into()],
            ..Self::default()
        }
    }
}

impl ProductActivity {
    /// The series of these buckets, as of an instant; `waiting` says that there are sales which are
    /// not in them yet.
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
    /// What a product carries of its activity.
    pub(crate) fn of(standing: ActivitySummary, sold: Sold) -> Self {
        let as_of = standing.as_of.map(DateTime);
        let estimate = |value: i64| LabelledCount {
            relation: Relation::Estimate,
            ..LabelledCount::exact(value, as_of)
        };
        Self {
            units_sold: LabelledCount::exact(sold.units, sold.as_of.map(DateTime)),
            units_sold_in_month: LabelledCount::exact(standing.units, as_of),
            views_in_month: estimate(standing.views),
            carts_in_month: estimate(standing.carts),
        }
    }
}

/// Products that get attention, with their places.
pub(crate) fn trending(rows: Vec<TrendingRow>) -> Result<Vec<TrendingProduct>, Failure> {
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
