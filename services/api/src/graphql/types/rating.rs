//! Output types for rating numbers.

use std::sync::Arc;

use async_graphql::{Context, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::reviewing::ratings;
use vitrine_model::id::ProductId;
use vitrine_model::rating::{self, FORMULA_VERSION, Histogram, Stars};
use vitrine_model::review::Traits;

use super::common::count;
use crate::execution::{Failure, List, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// The default period of recent ratings, in days.
const DEFAULT_DAYS: i32 = 90;

pub(crate) struct RatingStats {
    pub(crate) product: ProductId,
    pub(crate) stats: Arc<rating::RatingStats>,
}

/// The number of reviews with one rating.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct RatingBucket {
    /// The rating in stars, 1 to 5.
    rating: i32,
    /// The number of reviews with this rating.
    count: i32,
    /// The share of all reviews, 0 to 1; 0 without reviews.
    share: f64,
}

/// The ratings of one aspect of a product, such as fit.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct RatingDimension {
    /// The name of the aspect.
    name: String,
    /// The number of reviews that rated the aspect.
    count: i32,
    /// The average rating, 1 to 5.
    average: Option<f64>,
}

/// The number of reviews in one language.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ReviewLanguage {
    /// The two-letter ISO 639-1 code of the language.
    code: String,
    /// The number of reviews.
    count: i32,
}

/// The rating numbers of a product. They are derived from a stored histogram with exact counts.
#[direct]
#[Object]
impl RatingStats {
    /// The number of published reviews.
    fn count(&self) -> i32 {
        count(self.stats.count())
    }

    /// The average rating, 1 to 5; null without reviews.
    fn average(&self) -> Option<f64> {
        self.stats.average()
    }

    /// The number of reviews per rating: five entries, five stars first.
    fn histogram(&self) -> List<RatingBucket> {
        buckets(&self.stats.histogram)
    }

    /// The Bayesian average: the average after adding five imaginary reviews of 3.5 stars. The sort
    /// key `RATING` uses it in steps of 0.05, so that a product with one enthusiastic review does
    /// not outrank one with a thousand good ones.
    fn bayesian_score(&self) -> f64 {
        self.stats.bayesian_score()
    }

    /// The lower bound of the Wilson score interval at 95 % confidence for the share of reviews
    /// with four or five stars, 0 to 1; null without reviews.
    fn wilson_lower_bound(&self) -> Option<f64> {
        self.stats.wilson_lower_bound()
    }

    /// The number of reviews by verified buyers.
    fn verified_count(&self) -> i32 {
        let verified = Traits {
            verified: true,
            ..Traits::default()
        };
        count(self.stats.with(&verified).count())
    }

    /// The number of reviews with images or videos.
    fn with_media_count(&self) -> i32 {
        let media = Traits {
            media: true,
            ..Traits::default()
        };
        count(self.stats.with(&media).count())
    }

    /// The languages of the reviews, sorted by code. Languages without a two-letter code are left
    /// out.
    fn languages(&self) -> List<ReviewLanguage> {
        let languages = self.stats.languages().into_iter();
        let language = languages.map(|(code, reviews)| ReviewLanguage {
            code: code.to_owned(),
            count: count(reviews),
        });
        language.collect()
    }

    /// The ratings of single aspects, sorted by name.
    fn dimensions(&self) -> List<RatingDimension> {
        let dimension = |(name, stats): (&String, &rating::DimensionStats)| RatingDimension {
            name: name.clone(),
            count: count(stats.count),
            average: stats.average(),
        };
        self.stats.dimensions.iter().map(dimension).collect()
    }

    /// The share of reviewers who recommend the product, among those who answered the question, 0
    /// to 1; null if none did.
    fn recommended_share(&self) -> Option<f64> {
        self.stats.recommended_share()
    }

    /// The ratings of recent days, by the date on which reviews were written. One database query
    /// for all products of a list.
    async fn recent(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            default_with = "Some(DEFAULT_DAYS)",
            desc = "The number of days back from now: 1 to 366. For longer periods use `ratingTrend`."
        )]
        days: Option<i32>,
    ) -> Option<R<RecentRatings>> {
        recent(self.product, ctx, days.unwrap_or(DEFAULT_DAYS))
            .await
            .nullable_at(ctx)
    }

    /// When these numbers last changed; null before the first review.
    fn as_of(&self) -> Option<DateTime> {
        self.stats.as_of.map(DateTime)
    }

    /// The version of the rating formulas. Changes when a formula changes.
    fn formula_version(&self) -> i32 {
        FORMULA_VERSION
    }
}

/// The ratings of a product in recent days.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct RecentRatings {
    /// The number of days back from now.
    days: i32,
    /// The number of published reviews written in this period.
    count: i32,
    /// The average rating, 1 to 5; null without reviews.
    average: Option<f64>,
    /// The number of reviews per rating: five entries, five stars first.
    histogram: List<RatingBucket>,
}

/// The ratings of a product in one month.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct RatingMonth {
    /// The month in UTC: `2026-05`.
    month: String,
    /// The number of published reviews written in this month.
    count: i32,
    /// The average rating, 1 to 5; null without reviews.
    average: Option<f64>,
    /// The number of reviews per rating: five entries, five stars first.
    histogram: List<RatingBucket>,
}

impl From<ratings::RatingMonth> for RatingMonth {
    fn from(of: ratings::RatingMonth) -> Self {
        let (year, month) = (of.month.div_euclid(12), of.month.rem_euclid(12) + 1);
        Self {
            month: format!("{year:04}-{month:02}"),
            count: count(of.histogram.count()),
            average: of.histogram.average(),
            histogram: buckets(&of.histogram),
        }
    }
}

async fn recent(
    product: ProductId,
    ctx: &Context<'_>,
    days: i32,
) -> Result<Option<RecentRatings>, Failure> {
    let found = ctx.session().loaders.recent(product, days).await?;
    Ok(found.map(|stats| RecentRatings {
        days,
        count: count(stats.count()),
        average: stats.average(),
        histogram: buckets(&stats.histogram),
    }))
}

/// Returns five buckets, five stars first.
fn buckets(histogram: &Histogram) -> List<RatingBucket> {
    let all = histogram.count().max(1);
    let bucket = |stars: Stars| {
        let n = histogram.0[stars.index()];
        RatingBucket {
            rating: i32::from(stars.get()),
            count: count(n),
            share: share(n, all),
        }
    };
    Stars::ALL.into_iter().rev().map(bucket).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "review counts stay far below 2^53"
)]
pub(super) fn share(part: i64, whole: i64) -> f64 {
    part as f64 / whole as f64
}
