//! Rating arithmetic. Only integers are stored, above all the histogram; every other figure is
//! computed from them here and nowhere else, so that a formula can change without touching data and
//! rounding errors do not accumulate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::review::Traits;

/// The version of the formulas below; incremented when one of them changes.
pub const FORMULA_VERSION: i32 = 1;
/// The Bayesian score of a product without reviews.
pub const PRIOR_MEAN: f64 = 3.5;
/// The weight of [`PRIOR_MEAN`], as a number of reviews.
pub const PRIOR_WEIGHT: f64 = 5.0;
/// The 97.5th percentile of the normal distribution: two-sided 95 % confidence.
pub const WILSON_Z: f64 = 1.959_963_984_540_054;

/// A rating of one to five stars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Stars(u8);

/// The number is not an integer from 1 to 5.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rating is a whole number of stars from 1 to 5, not {0}")]
pub struct InvalidStars(pub i64);

impl Stars {
    /// All ratings, lowest first.
    pub const ALL: [Self; 5] = [Self(1), Self(2), Self(3), Self(4), Self(5)];

    /// Returns a rating of this number of stars.
    ///
    /// # Errors
    /// [`InvalidStars`] if it is not from 1 to 5.
    pub fn new(stars: i64) -> Result<Self, InvalidStars> {
        let small = u8::try_from(stars)
            .ok()
            .filter(|stars| (1..=5).contains(stars));
        small.map(Self).ok_or(InvalidStars(stars))
    }

    /// The number of stars.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The index of this rating in a histogram.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }
}

impl TryFrom<i64> for Stars {
    type Error = InvalidStars;
    fn try_from(stars: i64) -> Result<Self, InvalidStars> {
        Self::new(stars)
    }
}

impl From<Stars> for i64 {
    fn from(stars: Stars) -> Self {
        Self::from(stars.0)
    }
}

/// The numbers of reviews by stars, one star first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Histogram(pub [i64; 5]);

impl Histogram {
    /// The number of reviews.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.0.iter().sum()
    }

    /// The sum of all stars.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.0.iter().zip(1..).map(|(n, stars)| n * stars).sum()
    }

    /// Adds one review.
    pub fn add(&mut self, stars: Stars) {
        self.0[stars.index()] += 1;
    }

    /// Removes one review.
    pub fn remove(&mut self, stars: Stars) {
        self.0[stars.index()] -= 1;
    }

    /// Adds the counts of `by` multiplied by `times`.
    pub fn change(&mut self, by: &Self, times: i64) {
        for (own, other) in self.0.iter_mut().zip(by.0) {
            *own += times * other;
        }
    }

    /// The average, or `None` without reviews.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| ratio(self.sum(), count))
    }
}

/// The numbers of reviewers who would and would not recommend the product; most do not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recommended {
    /// Reviews that recommend it.
    pub yes: i64,
    /// Reviews that do not recommend it.
    pub no: i64,
}

/// The ratings of one dimension, such as fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DimensionStats {
    /// The number of reviews that rated it.
    pub count: i64,
    /// The sum of their stars.
    pub sum: i64,
}

impl DimensionStats {
    /// The average, or `None` without ratings.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        (self.count > 0).then(|| ratio(self.sum, self.count))
    }
}

/// The stored statistics of all published reviews of a product.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RatingStats {
    /// Reviews by stars.
    pub histogram: Histogram,
    /// The recommendations.
    pub recommended: Recommended,
    /// Ratings by dimension.
    pub dimensions: BTreeMap<String, DimensionStats>,
    /// Reviews by stars for each combination of traits that occurs.
    pub traits: BTreeMap<Traits, Histogram>,
    /// The reviews of one month, usually the latest. What was counted of that month at other times is in its
    /// row in `rating_months`.
    pub latest_month: Option<(i32, Histogram)>,
    /// The number of folds that have changed these statistics.
    pub fold_seq: i64,
    /// The time of the last fold; `None` before the first.
    pub as_of: Option<Timestamp>,
}

impl RatingStats {
    /// The number of published reviews.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.histogram.count()
    }

    /// Returns the reviews that have all of these traits, by stars.
    #[must_use]
    pub fn with(&self, required: &Traits) -> Histogram {
        if *required == Traits::default() {
            return self.histogram;
        }
        let mut all = Histogram::default();
        for (_, histogram) in self.traits.iter().filter(|(own, _)| own.include(required)) {
            all.change(histogram, 1);
        }
        all
    }

    /// The number of reviews by language, for languages with a two-letter code.
    #[must_use]
    pub fn languages(&self) -> BTreeMap<&str, i64> {
        let mut languages = BTreeMap::new();
        for (traits, histogram) in &self.traits {
            if let Some(language) = traits.language.as_deref() {
                *languages.entry(language).or_default() += histogram.count();
            }
        }
        languages
    }

    /// The average, or `None` without reviews.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        self.histogram.average()
    }

    /// The Bayesian average: the mean including [`PRIOR_WEIGHT`] additional reviews of
    /// [`PRIOR_MEAN`] stars, so that one enthusiast does not outrank a thousand satisfied
    /// customers. (The shrinkage estimator `(C·m + Σx) / (C + n)`; see "Bayesian average" in the
    /// statistical literature.)
    #[must_use]
    pub fn bayesian_score(&self) -> f64 {
        let (count, sum) = (float(self.count()), float(self.histogram.sum()));
        (PRIOR_WEIGHT * PRIOR_MEAN + sum) / (PRIOR_WEIGHT + count)
    }

    /// The lower bound of the Wilson score interval (E. B. Wilson, 1927) at 95 % confidence for
    /// the share of reviews with four or five stars; `None` without reviews.
    #[must_use]
    pub fn wilson_lower_bound(&self) -> Option<f64> {
        let n = self.count();
        let good = self.histogram.0[3] + self.histogram.0[4];
        (n > 0).then(|| wilson(ratio(good, n), float(n)))
    }

    /// The share of recommendations among the reviews that answer the question; `None` if none
    /// does.
    #[must_use]
    pub fn recommended_share(&self) -> Option<f64> {
        let answers = self.recommended.yes + self.recommended.no;
        (answers > 0).then(|| ratio(self.recommended.yes, answers))
    }

    /// The sort value of the rating: the Bayesian score in steps of 0.05, at most 100.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a score is at most 5, which is 100 steps"
    )]
    pub fn rank(&self) -> i32 {
        (self.bayesian_score() * 20.0).round() as i32
    }

    /// The filter value of the rating: the average cut down to half stars, so that "4 and more"
    /// means an average of at least 4; `None` without reviews. Computed in integers.
    #[must_use]
    pub fn half_stars(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| float(2 * self.histogram.sum() / count) / 2.0)
    }

    /// A coarse popularity: the number of bits of the number of reviews plus `interest`, the
    /// equivalent of the activity of the last 30 days
    /// ([`crate::activity::ActivitySummary::interest`]). 1, 2–3, 4–7, 8–15 … give 1, 2, 3, 4 …;
    /// none is 0.
    #[must_use]
    pub fn popularity(&self, interest: i64) -> i32 {
        popularity(self.count().saturating_add(interest))
    }
}

/// The number of bits of a number of people; see [`RatingStats::popularity`].
#[must_use]
pub fn popularity(people: i64) -> i32 {
    i32::try_from(i64::BITS - people.max(0).leading_zeros()).expect("at most 64")
}

fn wilson(share: f64, n: f64) -> f64 {
    let z2 = WILSON_Z * WILSON_Z;
    let centre = share + z2 / (2.0 * n);
    let margin = WILSON_Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((centre - margin) / (1.0 + z2 / n)).max(0.0)
}

fn ratio(part: i64, whole: i64) -> f64 {
    float(part) / float(whole)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "review counts stay far below 2^53"
)]
fn float(n: i64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stats(histogram: [i64; 5]) -> RatingStats {
        RatingStats {
            histogram: Histogram(histogram),
            ..RatingStats::default()
        }
    }

    #[test]
    fn figures_match_known_results() {
        let none = stats([0; 5]);
        assert_eq!(
            (none.average(), none.half_stars(), none.popularity(0)),
            (None, None, 0)
        );
        assert!((none.bayesian_score() - PRIOR_MEAN).abs() < 1e-12);
        let dress = stats([33, 59, 136, 234, 562]);
        assert_eq!(dress.count(), 1024);
        assert!((dress.average().unwrap() - 4.2041).abs() < 5e-5);
        assert_eq!(dress.half_stars(), Some(4.0));
        assert_eq!((dress.popularity(0), dress.popularity(1_024)), (11, 12));
        // 8 of 10: the interval's well-known lower end is 0.4902.
        let ten = stats([1, 1, 0, 4, 4]);
        assert!((ten.wilson_lower_bound().unwrap() - 0.490_16).abs() < 1e-4);
    }

    proptest! {
        #[test]
        fn derived_figures_stay_in_range(counts in proptest::array::uniform5(0_i64..100_000)) {
            let stats = stats(counts);
            if let (Some(mean), Some(half)) = (stats.average(), stats.half_stars()) {
                prop_assert!((1.0..=5.0).contains(&mean));
                prop_assert!(half <= mean && mean < half + 0.5);
                let wilson = stats.wilson_lower_bound().unwrap();
                let good = ratio(counts[3] + counts[4], stats.count());
                prop_assert!((0.0..=good).contains(&wilson));
            }
            let (low, high) = (PRIOR_MEAN.min(stats.average().unwrap_or(PRIOR_MEAN)),
                               PRIOR_MEAN.max(stats.average().unwrap_or(PRIOR_MEAN)));
            prop_assert!(stats.bayesian_score() >= low - 1e-9 && stats.bayesian_score() <= high + 1e-9);
        }

        #[test]
        fn adding_and_removing_cancel(ratings in proptest::collection::vec(1_i64..=5, 0..50)) {
            let mut histogram = Histogram::default();
            for stars in &ratings { histogram.add(Stars::new(*stars).unwrap()); }
            prop_assert_eq!(histogram.sum(), ratings.iter().sum::<i64>());
            for stars in &ratings { histogram.remove(Stars::new(*stars).unwrap()); }
            prop_assert_eq!(histogram, Histogram::default());
        }
    }
}
