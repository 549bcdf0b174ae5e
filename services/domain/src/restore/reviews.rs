//! Restoring reviews with what happened to them.

use std::collections::{HashMap, HashSet};

use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::import::LineOutcome;
use vitrine_model::product::ProductStatus;
use vitrine_model::review::Review;
use vitrine_storage::export::{ReviewHistory, StoredReview};
use vitrine_storage::views::ProductView;

use super::{RestoreSession, check, differs, rejected};
use crate::DomainError;

/// With at least this many reviews per product in a batch, counting while inserting is cheaper.
const REVIEWS_PER_PRODUCT: usize = 4;

impl RestoreSession {
    /// Stores reviews in any status, with their votes, reports, versions and decisions; returns the
    /// outcomes in their order. Their products come before them.
    pub async fn reviews(
        &mut self,
        reviews: Vec<StoredReview>,
    ) -> Result<Vec<LineOutcome>, DomainError> {
        let products = self.existing_products(&reviews).await?;
        let known = self.known_reviews(&reviews).await?;
        let mut outcomes = Vec::with_capacity(reviews.len());
        let (mut new, mut places, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (at, stored) in reviews.into_iter().enumerate() {
            let wrong = check::review(&stored, &self.units);
            let has_product = products.contains(&stored.review.product_id);
            outcomes.push(match known.get(&stored.review.id) {
                _ if !wrong.is_empty() => LineOutcome::Rejected(wrong),
                _ if !has_product => rejected("product", "there is no such product"),
                Some(known) if *known == plain(&stored) => {
                    // An interrupted restore may have stored the review only.
                    kept.push(stored);
                    LineOutcome::Unchanged
                }
                Some(_) => differs("review"),
                None => {
                    new.push(stored);
                    places.push(at);
                    LineOutcome::Created
                }
            });
        }
        let refused = self.insert_reviews(&new).await?;
        for ((at, stored), key) in places.into_iter().zip(new).zip(refused) {
            match key {
                None => kept.push(stored),
                Some(key) => outcomes[at] = rejected(taken(&key), reason(&key)),
            }
        }
        self.store(|store| async move {
            store.mark_erased(&kept).await?;
            store.insert_histories(&kept).await
        })
        .await?;
        Ok(outcomes)
    }

    /// Inserts reviews; returns for each what is taken, if it was refused.
    async fn insert_reviews(
        &self,
        new: &[StoredReview],
    ) -> Result<Vec<Option<String>>, DomainError> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let products: HashSet<ProductId> = new.iter().map(|one| one.review.product_id).collect();
        let few = products.len() * REVIEWS_PER_PRODUCT <= new.len();
        let reviews: Vec<(Review, Option<String>)> = new.iter().map(uncounted).collect();
        let now = self.catalog.now();
        self.store(|store| async move {
            if few && store.insert_counted_reviews(&reviews, now).await? {
                return Ok(vec![None; reviews.len()]);
            }
            store.insert_reviews(&reviews, now).await
        })
        .await
    }

    async fn existing_products(
        &self,
        reviews: &[StoredReview],
    ) -> Result<HashSet<ProductId>, DomainError> {
        let ids: HashSet<ProductId> = reviews.iter().map(|one| one.review.product_id).collect();
        let ids: Vec<ProductId> = ids.into_iter().collect();
        let found = self.store(move |store| async move {
            store.get_many_products(&ids, &ProductStatus::ALL).await
        });
        Ok(found.await?.iter().map(ProductView::id).collect())
    }

    /// The reviews that are stored already, as an export has them, without their histories.
    async fn known_reviews(
        &self,
        reviews: &[StoredReview],
    ) -> Result<HashMap<ReviewId, StoredReview>, DomainError> {
        let ids = reviews.iter().map(|one| &one.review);
        let ids: Vec<_> = ids.map(|review| (review.product_id, review.id)).collect();
        let found = self.store(|store| async move { store.stored_reviews(&ids).await });
        let found = found.await?;
        Ok(found
            .iter()
            .map(|one| (one.review.id, plain(one)))
            .collect())
    }
}

/// The review without its history and what is counted of it, and whether its author was erased:
/// that is marked after the review was inserted.
fn plain(stored: &StoredReview) -> StoredReview {
    StoredReview {
        review: Review {
            applied: None,
            dirty: false,
            ..stored.review.clone()
        },
        digest: stored.digest.clone(),
        erased: false,
        history: ReviewHistory::default(),
    }
}

/// The review as a new one. If it counts, it waits to be counted.
fn uncounted(stored: &StoredReview) -> (Review, Option<String>) {
    let review = Review {
        applied: None,
        dirty: stored.review.contribution().is_some(),
        ..stored.review.clone()
    };
    (review, stored.digest.clone())
}

/// The field whose value is taken.
fn taken(key: &str) -> &str {
    match key {
        "_id" => "id",
        "origin" => "origin",
        _ => "author",
    }
}

fn reason(key: &str) -> &'static str {
    match key {
        "_id" => "another review has this id",
        "origin" => "another review has this origin",
        _ => "the author has another review of this product",
    }
}
