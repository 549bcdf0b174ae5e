//! The fold: applies changed reviews to the computed data of their product.
//!
//! Each review records what is currently counted of it ([`Review::applied`]) and determines what
//! should be ([`Review::contribution`]). A fold applies the difference, so it can be repeated,
//! interrupted or run late without counting anything twice or losing anything.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::id::ReviewId;
use crate::rating::{Histogram, RatingStats};
use crate::review::{Applied, MAX_TOP_REVIEWS, Review, ReviewStatus, TopReview, Traits};

/// A product with more reviews than this is flagged large.
pub const LARGE_ABOVE: i64 = 1000;
/// A product with more reviews than this has them in the indexes for filtered lists; filtered lists
/// of other products read all their reviews.
pub const MANY_ABOVE: i64 = 100;

/// The data of a product that is computed from its reviews.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Computed {
    /// The rating statistics.
    pub stats: RatingStats,
    /// The most helpful published reviews, at most [`MAX_TOP_REVIEWS`], most helpful first.
    pub top_reviews: Vec<TopReview>,
}

/// The effects of a fold other than on [`Computed`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldOutcome {
    /// The change of each month's row; the latest month is kept in the statistics.
    pub months: BTreeMap<i32, Histogram>,
    /// Whether the top reviews must be read again because one may be missing: a review of the list
    /// moved down or left, or the list was shorter than it should be.
    pub refill: bool,
}

impl Computed {
    /// Folds changed reviews of the product.
    pub fn fold(&mut self, reviews: &[Review], now: Timestamp) -> FoldOutcome {
        // A release with another `MAX_TOP_REVIEWS` may have written the list.
        self.top_reviews.truncate(MAX_TOP_REVIEWS);
        let mut outcome = FoldOutcome {
            refill: self.lacks_top_reviews(),
            ..FoldOutcome::default()
        };
        for review in reviews {
            if let Some(counted) = &review.applied {
                self.count(counted, -1, &mut outcome);
            }
            if let Some(counted) = &review.contribution() {
                self.count(counted, 1, &mut outcome);
            }
            outcome.refill |= self.moves_down(review);
            self.merge(review);
        }
        outcome.refill |= self.lacks_top_reviews();
        self.keep_latest_month(&mut outcome.months);
        outcome
            .months
            .retain(|_, change| *change != Histogram::default());
        self.stats
            .dimensions
            .retain(|_, dimension| dimension.count != 0);
        self.stats
            .traits
            .retain(|_, histogram| *histogram != Histogram::default());
        self.stats.fold_seq += 1;
        self.stats.as_of = Some(now);
        outcome
    }

    /// Moves the change of the latest month into the statistics, and an earlier month from there to the
    /// changes of rows: most reviews are of the current month and change no row then.
    fn keep_latest_month(&mut self, changes: &mut BTreeMap<i32, Histogram>) {
        let Some((month, mut latest)) = changes.last_key_value().map(|(m, h)| (*m, *h)) else {
            return;
        };
        match self.stats.latest_month {
            Some((kept, histogram)) if kept == month => latest.change(&histogram, 1),
            Some((kept, histogram)) if kept < month => {
                changes.entry(kept).or_default().change(&histogram, 1);
            }
            Some(_) => return,
            None => {}
        }
        // Some of what is taken back was counted in the row.
        let is_in_row = latest.0.iter().any(|count| *count < 0);
        self.stats.latest_month =
            (!is_in_row && latest != Histogram::default()).then_some((month, latest));
        if is_in_row {
            changes.insert(month, latest);
        } else {
            changes.remove(&month);
        }
    }

    /// Adds a review with this contribution; for recounts, which start empty. Returns the month it
    /// is counted in.
    pub fn recount(&mut self, review: &Review, counted: Option<&Applied>) -> Option<i32> {
        if let Some(counted) = counted {
            self.count(counted, 1, &mut FoldOutcome::default());
        }
        self.merge(review);
        counted.and_then(|counted| counted.month)
    }

    /// Returns true if the product has more than [`MANY_ABOVE`] reviews.
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.stats.count() > MANY_ABOVE
    }

    /// Returns true if the product has more than [`LARGE_ABOVE`] reviews.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.stats.count() > LARGE_ABOVE
    }

    fn count(&mut self, counted: &Applied, by: i64, outcome: &mut FoldOutcome) {
        let stars = counted.rating.index();
        self.stats.histogram.0[stars] += by;
        match counted.recommended {
            Some(true) => self.stats.recommended.yes += by,
            Some(false) => self.stats.recommended.no += by,
            None => {}
        }
        for (dimension, rating) in &counted.dimensions {
            let dimension = self.stats.dimensions.entry(dimension.clone()).or_default();
            dimension.count += by;
            dimension.sum += by * i64::from(rating.get());
        }
        if counted.traits != Traits::default() {
            let histogram = self.stats.traits.entry(counted.traits.clone()).or_default();
            histogram.0[stars] += by;
        }
        if let Some(month) = counted.month {
            outcome.months.entry(month).or_default().0[stars] += by;
        }
    }

    /// Returns true if the list of top reviews is shorter than the number of reviews allows. Then a
    /// further review cannot simply be inserted: uncounted ones may rank before it.
    fn lacks_top_reviews(&self) -> bool {
        let counted = usize::try_from(self.stats.count()).unwrap_or(0);
        self.top_reviews.len() < MAX_TOP_REVIEWS.min(counted)
    }

    fn moves_down(&self, review: &Review) -> bool {
        let before = self
            .position(review.id)
            .map(|at| self.top_reviews[at].key());
        let published = review.status == ReviewStatus::Published;
        before.is_some_and(|before| !published || review.top().key() < before)
    }

    fn merge(&mut self, review: &Review) {
        self.top_reviews.retain(|top| top.id != review.id);
        if review.status != ReviewStatus::Published {
            return;
        }
        let top = review.top();
        let position = self
            .top_reviews
            .partition_point(|other| other.key() > top.key());
        self.top_reviews.insert(position, top);
        self.top_reviews.truncate(MAX_TOP_REVIEWS);
    }

    fn position(&self, id: ReviewId) -> Option<usize> {
        self.top_reviews.iter().position(|top| top.id == id)
    }
}

/// Returns what should be computed for a product with these reviews: the recount that audits
/// compare with.
#[must_use]
pub fn recount(reviews: &[Review]) -> Computed {
    recount_as(reviews.iter().map(|review| (review, review.contribution())))
}

/// Returns the same from reviews with their contributions.
#[must_use]
pub fn recount_as<'a>(reviews: impl Iterator<Item = (&'a Review, Option<Applied>)>) -> Computed {
    let mut computed = Computed::default();
    for (review, counted) in reviews {
        computed.recount(review, counted.as_ref());
    }
    computed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::ProductId;
    use crate::rating::Stars;

    fn review(id: u8) -> Review {
        Review {
            id: ReviewId::from_i64(id.into()),
            product_id: ProductId::from_i64(1),
            author: None,
            rating: Stars::new(3).unwrap(),
            recommended: None,
            dimensions: BTreeMap::new(),
            title: String::new(),
            body: "so so".to_owned(),
            language: None,
            media: Vec::new(),
            verified: false,
            vouched: false,
            attributes: Vec::new(),
            incentivized: false,
            origin: None,
            status: ReviewStatus::Published,
            helpful: 0,
            unhelpful: 0,
            imported_helpful: 0,
            imported_unhelpful: 0,
            created_at: None,
            edited_at: None,
            revision: 1,
            decisions: Vec::new(),
            reply: None,
            reports: 0,
            queued: None,
            round: 0,
            applied: None,
            dirty: true,
        }
    }

    #[derive(Clone, Debug)]
    struct Change {
        id: u8,
        stars: i64,
        status: ReviewStatus,
        helpful: i64,
        month: Option<i64>,
        recommended: Option<bool>,
        fit: Option<i64>,
    }

    fn change() -> impl Strategy<Value = Change> {
        let status = proptest::sample::select(ReviewStatus::ALL.to_vec());
        let month = proptest::option::of(0_i64..5);
        let recommended = proptest::option::of(any::<bool>());
        let fit = proptest::option::of(1_i64..=5);
        (
            0_u8..25,
            1_i64..=5,
            status,
            0_i64..4,
            month,
            recommended,
            fit,
        )
            .prop_map(
                |(id, stars, status, helpful, month, recommended, fit)| Change {
                    id,
                    stars,
                    status,
                    helpful,
                    month,
                    recommended,
                    fit,
                },
            )
    }

    fn apply(review: &mut Review, change: &Change) {
        review.rating = Stars::new(change.stars).unwrap();
        review.status = change.status;
        review.helpful = change.helpful;
        review.created_at = change
            .month
            .map(|month| Timestamp::from_millis(month * 2_700_000_000));
        review.recommended = change.recommended;
        let fit = change
            .fit
            .map(|stars| ("fit".to_owned(), Stars::new(stars).unwrap()));
        review.dimensions = fit.into_iter().collect();
        review.dirty = true;
    }

    /// Folds dirty reviews in batches of at most `batch_size`, refilling as storage does.
    fn fold_all(
        computed: &mut Computed,
        all: &mut [Review],
        batch_size: usize,
    ) -> BTreeMap<i32, Histogram> {
        let mut months: BTreeMap<i32, Histogram> = BTreeMap::new();
        loop {
            let dirty: Vec<Review> = all
                .iter()
                .filter(|r| r.dirty)
                .take(batch_size)
                .cloned()
                .collect();
            if dirty.is_empty() {
                return months;
            }
            let outcome = computed.fold(&dirty, Timestamp::from_millis(0));
            if outcome.refill {
                computed.top_reviews = recount(all).top_reviews;
            }
            for (month, change) in outcome.months {
                let total = months.entry(month).or_default();
                total.change(&change, 1);
            }
            for review in all
                .iter_mut()
                .filter(|r| dirty.iter().any(|d| d.id == r.id))
            {
                review.applied = review.contribution();
                review.dirty = false;
            }
        }
    }

    /// Folded reviews, each more helpful than the one before it, and what is computed from them.
    fn folded(reviews: u8) -> (Vec<Review>, Computed) {
        let mut all: Vec<Review> = (0..reviews).map(review).collect();
        for (votes, review) in (1..).zip(&mut all) {
            review.helpful = votes;
        }
        let mut computed = Computed::default();
        fold_all(&mut computed, &mut all, usize::MAX);
        (all, computed)
    }

    #[test]
    fn a_top_list_of_another_length_is_completed_or_cut() {
        for stored in [
            0,
            1,
            8,
            MAX_TOP_REVIEWS - 1,
            MAX_TOP_REVIEWS,
            MAX_TOP_REVIEWS + 2,
        ] {
            for new in [1, 2, 12] {
                let (mut all, mut computed) = folded(50);
                let mut expected = all.clone();
                expected.reverse();
                computed.top_reviews = expected[..stored].iter().map(Review::top).collect();
                all.extend((50..50 + new).map(review));
                fold_all(&mut computed, &mut all, usize::MAX);
                expected.truncate(MAX_TOP_REVIEWS);
                let expected: Vec<TopReview> = expected.iter().map(Review::top).collect();
                assert_eq!(computed.top_reviews, expected, "{stored} stored, {new} new");
            }
        }
    }

    #[test]
    fn the_top_list_is_read_again_only_if_it_may_be_wrong() {
        let (_, mut computed) = folded(50);
        let outcome = computed.fold(&[review(50)], Timestamp::from_millis(0));
        assert!(!outcome.refill);
        for few in 0..12 {
            let (_, mut computed) = folded(few);
            let outcome = computed.fold(&[review(50)], Timestamp::from_millis(0));
            assert!(!outcome.refill, "{few} reviews");
        }
        let (_, mut computed) = folded(50);
        computed.stats.histogram.0[0] = 5_000;
        computed.top_reviews.truncate(8);
        let outcome = computed.fold(&[review(50)], Timestamp::from_millis(0));
        assert!(outcome.refill);
        // Also if no published review is folded.
        let (_, mut computed) = folded(50);
        computed.top_reviews.push(review(60).top());
        let rejected = Review {
            status: ReviewStatus::Rejected,
            ..review(61)
        };
        computed.fold(&[rejected], Timestamp::from_millis(0));
        assert_eq!(computed.top_reviews.len(), MAX_TOP_REVIEWS);
    }

    #[test]
    fn a_review_of_the_latest_month_changes_no_row() {
        let at = |id, month: i64| Review {
            created_at: Some(Timestamp::from_millis(month * 2_700_000_000)),
            ..review(id)
        };
        let mut computed = Computed::default();
        let mut rows = |reviews: &[Review]| {
            let outcome = computed.fold(reviews, Timestamp::from_millis(0));
            let rows = outcome.months.into_iter();
            let rows: Vec<(i32, i64)> = rows.map(|(month, row)| (month, row.count())).collect();
            let latest = computed.stats.latest_month;
            (
                rows,
                latest.map(|(month, counted)| (month, counted.count())),
            )
        };
        let first = Timestamp::from_millis(0).month();
        assert_eq!(rows(&[at(1, 0)]), (vec![], Some((first, 1))));
        assert_eq!(rows(&[at(2, 0)]), (vec![], Some((first, 2))));
        let later = (vec![(first, 2)], Some((first + 2, 1)));
        assert_eq!(rows(&[at(3, 2)]), later);
        let earlier = (vec![(first + 1, 1)], Some((first + 2, 1)));
        assert_eq!(rows(&[at(4, 1)]), earlier);
        let deleted = Review {
            applied: at(3, 2).contribution(),
            status: ReviewStatus::Deleted,
            ..at(3, 2)
        };
        assert_eq!(rows(&[deleted]), (vec![], None));
    }

    /// The ratings of each month: what rows and the statistics have together.
    fn by_month(rows: &BTreeMap<i32, Histogram>, stats: &RatingStats) -> BTreeMap<i32, Histogram> {
        let mut months = rows.clone();
        if let Some((month, latest)) = stats.latest_month {
            months.entry(month).or_default().change(&latest, 1);
        }
        months.retain(|_, month| *month != Histogram::default());
        months
    }

    proptest! {
        #[test]
        fn folds_equal_a_recount(
            rounds in proptest::collection::vec((proptest::collection::vec(change(), 0..12), any::<bool>()), 1..8),
            batch_size in 1_usize..6,
        ) {
            let mut all: Vec<Review> = Vec::new();
            let mut computed = Computed::default();
            let mut months: BTreeMap<i32, Histogram> = BTreeMap::new();
            for (round, is_repaired) in rounds {
                for change in round {
                    let known = all.iter_mut().position(|r| r.id == review(change.id).id);
                    let at = known.unwrap_or_else(|| { all.push(review(change.id)); all.len() - 1 });
                    apply(&mut all[at], &change);
                }
                for (month, change) in fold_all(&mut computed, &mut all, batch_size) {
                    months.entry(month).or_default().change(&change, 1);
                }
                let counts = months.values().chain(computed.stats.latest_month.iter().map(|(_, latest)| latest));
                prop_assert!(counts.flat_map(|histogram| histogram.0).all(|count| count >= 0));
                // A repair moves the latest month to its row.
                if is_repaired {
                    months = by_month(&months, &computed.stats);
                    computed.stats.latest_month = None;
                }
                let expected = recount(&all);
                prop_assert_eq!(computed.stats.histogram, expected.stats.histogram);
                prop_assert_eq!(computed.stats.recommended, expected.stats.recommended);
                prop_assert_eq!(&computed.stats.dimensions, &expected.stats.dimensions);
                prop_assert_eq!(&computed.top_reviews, &expected.top_reviews);
            }
            let mut expected: BTreeMap<i32, Histogram> = BTreeMap::new();
            for counted in all.iter().filter_map(Review::contribution) {
                if let Some(month) = counted.month {
                    expected.entry(month).or_default().add(counted.rating);
                }
            }
            prop_assert_eq!(by_month(&months, &computed.stats), expected);
        }
    }
}
