//! Rating numbers.

use async_graphql::{Object, SimpleObject};
use vitrine_model::rating::{self, FORMULA_VERSION, Stars};

use super::common::count;
use crate::graphql::scalars::DateTime;

/// The ratings of a product. The histogram is what is stored; everything else is computed from
/// whole numbers when it is asked for.
pub(crate) struct RatingStats(pub(crate) rating::RatingStats);

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

/// The ratings of a product. The histogram is what is stored; everything else is computed from
/// whole numbers when it is asked for.
#[Object]
impl RatingStats {
    /// How many published reviews there are.
    async fn count(&self) -> i32 {
        count(self.0.count())
    }

    /// The mean, 1 to 5; null without reviews.
    async fn average(&self) -> Option<f64> {
        self.0.average()
    }

    /// Five buckets, five stars first.
    async fn histogram(&self) -> Vec<RatingBucket> {
        let all = self.0.count().max(1);
        let bucket = |stars: Stars| {
            let n = self.0.histogram.0[stars.index()];
            RatingBucket {
                rating: i32::from(stars.get()),
                count: count(n),
                share: share(n, all),
            }
        };
        Stars::ALL.into_iter().rev().map(bucket).collect()
    }

    /// The Bayesian average: the mean after five imagined reviews of 3.5 stars. Products are sorted
    /// by it in steps of 0.05, so that one enthusiast does not beat a thousand satisfied customers.
    async fn bayesian_score(&self) -> f64 {
        self.0.bayesian_score()
    }

    /// The lower bound of the Wilson score interval (1927) at 95 % confidence for the share of
    /// reviews with four or five stars, 0 to 1; null without reviews.
    async fn wilson_lower_bound(&self) -> Option<f64> {
        self.0.wilson_lower_bound()
    }

    /// The ratings of single aspects, by name.
    async fn dimensions(&self) -> Vec<RatingDimension> {
        let dimension = |(name, stats): (&String, &rating::DimensionStats)| RatingDimension {
            name: name.clone(),
            count: count(stats.count),
            average: stats.average(),
        };
        self.0.dimensions.iter().map(dimension).collect()
    }

    /// Of the reviewers who said whether they recommend the product, the share who do, 0 to 1; null
    /// when nobody said.
    async fn recommended_share(&self) -> Option<f64> {
        self.0.recommended_share()
    }

    /// When these numbers last changed; null before the first review.
    async fn as_of(&self) -> Option<DateTime> {
        self.0.as_of.map(DateTime)
    }

    /// The version of the formulas; it changes when one of them does.
    async fn formula_version(&self) -> i32 {
        FORMULA_VERSION
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "review counts stay far below 2^53"
)]
fn share(part: i64, whole: i64) -> f64 {
    part as f64 / whole as f64
}
