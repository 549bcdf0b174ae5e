//! Reading reviews.

use std::collections::HashMap;

use vitrine_model::cursor::ListFingerprint;
use vitrine_model::filter::{ReviewFilter, ReviewSort};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::rating::RatingStats;
use vitrine_model::review::Review;
use vitrine_storage::keyset::Page;
use vitrine_storage::reviews::ReviewList;

use crate::page::{Beyond, Listed, PageArguments};
use crate::products::Sight;
use crate::{Catalog, DomainError};

/// Which reviews are wanted, and how.
#[derive(Clone, Debug)]
pub struct ReviewsQuery {
    /// Of which product.
    pub product: ProductId,
    /// Which of them.
    pub filter: ReviewFilter,
    /// In which order.
    pub sort: ReviewSort,
    /// Which page.
    pub page: PageArguments,
}

/// A page of reviews.
pub type ListedReviews = Listed<Review, ReviewList>;

impl Catalog {
    /// A page of the published reviews of a product. One command; two where dated reviews end and
    /// undated ones begin, oldest first.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a page that is wrong, [`DomainError::InvalidCursor`] for a
    /// cursor of another list.
    pub async fn reviews(&self, query: ReviewsQuery) -> Result<ListedReviews, DomainError> {
        let fingerprint = fingerprint(&query);
        let request = query.page.request(self, fingerprint)?;
        let list = ReviewList {
            product: query.product,
            filter: query.filter,
            sort: query.sort,
        };
        let page = if list.filter.ratings.as_ref().is_some_and(Vec::is_empty) {
            Page {
                rows: Vec::new(),
                more: false,
            }
        } else {
            let (store, list, request) = (self.store().clone(), list.clone(), request.clone());
            self.shielded(async move { store.page_reviews(&list, &request).await })
                .await?
        };
        Ok(Listed::new(self, fingerprint, list, request, page))
    }

    /// Whether the list goes on after a page. At most one command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn reviews_follow(&self, page: &ListedReviews) -> Result<bool, DomainError> {
        self.has_reviews(&page.list, page.beyond_end()).await
    }

    /// Whether the list has reviews before a page. At most one command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn reviews_precede(&self, page: &ListedReviews) -> Result<bool, DomainError> {
        self.has_reviews(&page.list, page.beyond_start()).await
    }

    /// The published reviews with these ids whose products the caller may see. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn reviews_by_id(
        &self,
        ids: Vec<(ProductId, ReviewId)>,
        sight: Sight,
    ) -> Result<HashMap<ReviewId, Review>, DomainError> {
        let store = self.store().clone();
        let found = self
            .shielded(async move { store.get_many_reviews(&ids, sight.states()).await })
            .await?;
        Ok(found
            .into_iter()
            .map(|review| (review.id, review))
            .collect())
    }

    async fn has_reviews(&self, list: &ReviewList, beyond: Beyond) -> Result<bool, DomainError> {
        match beyond {
            Beyond::Known(more) => Ok(more),
            Beyond::Look(from) => {
                let (store, list) = (self.store().clone(), list.clone());
                self.shielded(async move { store.has_review(&list, from).await })
                    .await
            }
        }
    }
}

/// How many reviews a filter leaves, from the numbers the product carries: no command.
#[must_use]
pub fn count_in(stats: &RatingStats, filter: &ReviewFilter) -> i64 {
    match &filter.ratings {
        None => stats.count(),
        Some(ratings) => {
            let mut wanted = [false; 5];
            for stars in ratings {
                wanted[stars.index()] = true;
            }
            stats
                .histogram
                .0
                .iter()
                .zip(wanted)
                .filter(|(_, wanted)| *wanted)
                .map(|(n, _)| n)
                .sum()
        }
    }
}

fn fingerprint(query: &ReviewsQuery) -> ListFingerprint {
    let filter = serde_json::to_vec(&(&query.filter, query.sort)).expect("filters are plain data");
    ListFingerprint::of(&[b"reviews", &query.product.to_bytes(), &filter])
}
