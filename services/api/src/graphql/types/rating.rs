//! Rating numbers.

use async_graphql::{Context, Object, SimpleObject};
use vitrine_domain::reviewing::ratings;
use vitrine_model::id::ProductId;
use vitrine_model::rating::{self, FORMULA_VERSION, Histogram, Stars};
use vitrine_model::review::Traits;

use super::common::count;
use crate::execution::{Failure, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// How many days are recent when nobody says.
const DEFAULT_DAYS: i32 = 90;

/// The ratings of a product. The histogram is what is stored; everything else is computed from
/// whole numbers when it is asked for.
pub(crate) struct RatingStats {
    pub(crate) product: ProductId,
    pub(crate) stats: rating::RatingStats,
}

/// How many reviews gave a number of stars.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct RatingBucket {
    /// The number of stars, 1 to 5.
    rating: i32,
    /// How many reviews.
    count: i32,
    /// Their share of all reviews, 0 to 1; 0 without reviews.
    share: f64,
}

/// The ratings of one aspect of a product, such as its fit.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct RatingDimension {
    /// The aspect.
    name: String,
    /// How many reviews rated it.
    count: i32,
    /// The mean, 1 to 5.
    average: Option<f64>,
}

/// How many reviews are in a language.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ReviewLanguage {
    /// The language, as a code of two letters (ISO 639-1).
    code: String,
    /// How many reviews.
    count: i32,
}

/// The ratings of a product. The histogram is what is stored; everything else is computed from
/// whole numbers when it is asked for.
#[Object]
impl RatingStats {
    /// How many published reviews there are.
    async fn count(&self) -> i32 {
        count(self.stats.count())
    }

    /// The mean, 1 to 5; null without reviews.
    async fn average(&self) -> Option<f64> {
        self.stats.average()
    }

    /// Five buckets, five stars first.
    async fn histogram(&self) -> Vec<RatingBucket> {
        buckets(&self.stats.histogram)
    }

    /// The Bayesian average: the mean after five imagined reviews of 3.5 stars. Products are sorted
    /// by it in steps of 0.05, so that one enthusiast does not beat a thousand satisfied customers.
    async fn bayesian_score(&self) -> f64 {
        self.stats.bayesian_score()
    }

    /// The lower bound of the Wilson score interval (1927) at 95 % confidence for the share of
    /// reviews with four or five stars, 0 to 1; null without reviews.
    async fn wilson_lower_bound(&self) -> Option<f64> {
        self.stats.wilson_lower_bound()
    }

    /// How many reviews are by verified buyers.
    async fn verified_count(&self) -> i32 {
        let verified = Traits {
            verified: true,
            ..Traits::default()
        };
        count(self.stats.with(&verified).count())
    }

    /// How many reviews have pictures or films.
    async fn with_media_count(&self) -> i32 {
        let media = Traits {
            media: true,
            ..Traits::default()
        };
        count(self.stats.with(&media).count())
    }

    /// The languages that reviews are in, by code; those without a code of two letters are left
    /// out.
    async fn languages(&self) -> Vec<ReviewLanguage> {
        let languages = self.stats.languages().into_iter();
        let language = languages.map(|(code, reviews)| ReviewLanguage {
            code: code.to_owned(),
            count: count(reviews),
        });
        language.collect()
    }

    /// The ratings of single aspects, by name.
    async fn dimensions(&self) -> Vec<RatingDimension> {
        let dimension = |(name, stats): (&String, &rating::DimensionStats)| RatingDimension {
            name: name.clone(),
            count: count(stats.count),
            average: stats.average(),
        };
        self.stats.dimensions.iter().map(dimension).collect()
    }

    /// Of the reviewers who said whether they recommend the product, the share who do, 0 to 1; null
    /// when nobody said.
    async fn recommended_share(&self) -> Option<f64> {
        self.stats.recommended_share()
    }

    /// The ratings of the last days alone, by when reviews were written. A look-up, one for all
    /// products of a list.
    async fn recent(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            default_with = "Some(DEFAULT_DAYS)",
            desc = "How many days back from now: 1 to 366. `ratingTrend` goes back further."
        )]
        days: Option<i32>,
    ) -> Option<R<RecentRatings>> {
        recent(self.product, ctx, days.unwrap_or(DEFAULT_DAYS))
            .await
            .nullable_at(ctx)
    }

    /// When these numbers last changed; null before the first review.
    async fn as_of(&self) -> Option<DateTime> {
        self.stats.as_of.map(DateTime)
    }

    /// The version of the formulas; it changes when one of them does.
    async fn formula_version(&self) -> i32 {
        FORMULA_VERSION
    }
}

/// The ratings of a product in the last days.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct RecentRatings {
    /// How many days back from now.
    days: i32,
    /// How many published reviews were written in them.
    count: i32,
    /// Their mean, 1 to 5; null without reviews.
    average: Option<f64>,
    /// Five buckets, five stars first.
    histogram: Vec<RatingBucket>,
}

/// The ratings of a product in one month.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct RatingMonth {
    /// The month in UTC: `2026-05`.
    month: String,
    /// How many published reviews were written in it.
    count: i32,
    /// Their mean, 1 to 5; null without reviews.
    average: Option<f64>,
    /// Five buckets, five stars first.
    histogram: Vec<RatingBucket>,
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

/// Five buckets, five stars first.
fn buckets(histogram: &Histogram) -> Vec<RatingBucket> {
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
