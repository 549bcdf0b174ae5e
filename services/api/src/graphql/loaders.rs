//! Loaders: batch the look-ups of one request that happen at the same time into one database
//! command each. Loaders live as long as the request. Their results are values, so that all waiting
//! callers receive the same error.
//!
//! One of the waiting callers sends the command for all of them. Its future may be dropped before
//! the result arrives, because a sibling field has failed; the other callers then retry
//! ([`Batched`]).

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use ::dataloader::{BatchFn, cached::Loader};
use vitrine_domain::facets::KeyCoverage;
use vitrine_domain::overrides::FeedValues;
use vitrine_domain::products::{ProductView, Visibility};
use vitrine_domain::reviewing::Report;
use vitrine_domain::reviewing::ratings::RatingMonth;
use vitrine_domain::reviews::{FirstReviews, ListedReviews, Reader};
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::id::{CategoryId, ProductId, ReviewId, SupplierId};
use vitrine_model::rating::RatingStats;
use vitrine_model::review::{Review, ReviewVersion, Vote};
use vitrine_model::supplier::Supplier;

use super::viewer::Viewer;
use crate::execution::{ErrorCode, Failure};

/// The maximum number of attempts to load a key. An attempt fails if the caller that sends the
/// command is dropped.
const MAX_ATTEMPTS: u32 = 10;

/// The result of one look-up.
type Loaded<V> = Result<Option<V>, Arc<DomainError>>;

/// The loaders of one request.
pub(crate) struct Loaders {
    products: Batched<ProductId, ProductView, Products>,
    products_by_sku: Batched<String, ProductView, ProductsBySku>,
    reviewed: Option<Batched<ProductId, ProductView, Products>>,
    reviews: Batched<(ProductId, ReviewId), Review, Reviews>,
    first_reviews: Batched<FirstReviews, Arc<ListedReviews>, FirstPages>,
    suppliers: Batched<SupplierId, Supplier, Suppliers>,
    counts: Batched<CategoryId, u64, Counts>,
    coverage: Batched<String, Arc<KeyCoverage>, Coverage>,
    trends: Batched<(ProductId, i32), Vec<RatingMonth>, Trends>,
    recent: Batched<(ProductId, i32), RatingStats, Recent>,
    reports: Batched<ReviewId, Vec<Report>, Reports>,
    versions: Batched<ReviewId, Vec<ReviewVersion>, Versions>,
    feed_values: Batched<ProductId, Arc<FeedValues>, FeedValuesOf>,
    own: Option<Own>,
}

/// Loaders of the caller's own reviews and votes. Only for callers with a token.
struct Own {
    reviews: Batched<ProductId, Review, OwnReviews>,
    votes: Batched<(ReviewId, i32), Vote, OwnVotes>,
}

struct Products(Catalog, Visibility);
struct ProductsBySku(Catalog, Visibility);
struct Reviews(Catalog, Reader);
struct FirstPages(Catalog);
struct Suppliers(Catalog);
struct Counts(Catalog, Visibility);
struct Coverage(Catalog);
struct Trends(Catalog);
struct Recent(Catalog);
struct Reports(Catalog);
struct Versions(Catalog);
struct FeedValuesOf(Catalog);
struct OwnReviews(Catalog, String);
struct OwnVotes(Catalog, String);

impl Loaders {
    pub(crate) fn new(catalog: &Catalog, viewer: &Viewer) -> Self {
        let (visibility, subject) = (viewer.visibility(), viewer.subject.as_deref());
        let moderates = viewer.moderates();
        let reader = Reader {
            visibility,
            author: viewer.subject.clone(),
            moderates,
        };
        Self {
            products: Batched::new(Products(catalog.clone(), visibility)),
            products_by_sku: Batched::new(ProductsBySku(catalog.clone(), visibility)),
            reviewed: moderates.then(|| {
                let everything = Products(catalog.clone(), Visibility::Everything);
                Batched::new(everything)
            }),
            reviews: Batched::new(Reviews(catalog.clone(), reader)),
            first_reviews: Batched::new(FirstPages(catalog.clone())),
            suppliers: Batched::new(Suppliers(catalog.clone())),
            counts: Batched::new(Counts(catalog.clone(), visibility)),
            coverage: Batched::new(Coverage(catalog.clone())),
            trends: Batched::new(Trends(catalog.clone())),
            recent: Batched::new(Recent(catalog.clone())),
            reports: Batched::new(Reports(catalog.clone())),
            versions: Batched::new(Versions(catalog.clone())),
            feed_values: Batched::new(FeedValuesOf(catalog.clone())),
            own: subject.map(|subject| Own {
                reviews: Batched::new(OwnReviews(catalog.clone(), subject.to_owned())),
                votes: Batched::new(OwnVotes(catalog.clone(), subject.to_owned())),
            }),
        }
    }

    /// Clears all cached results, because the data may have changed.
    pub(crate) async fn forget(&self) {
        self.products.clear().await;
        self.products_by_sku.clear().await;
        if let Some(reviewed) = &self.reviewed {
            reviewed.clear().await;
        }
        self.reviews.clear().await;
        self.first_reviews.clear().await;
        self.suppliers.clear().await;
        self.counts.clear().await;
        self.coverage.clear().await;
        self.trends.clear().await;
        self.recent.clear().await;
        self.reports.clear().await;
        self.versions.clear().await;
        self.feed_values.clear().await;
        if let Some(own) = &self.own {
            own.reviews.clear().await;
            own.votes.clear().await;
        }
    }

    /// Returns a product that the caller may see.
    pub(crate) async fn product(&self, id: ProductId) -> Result<Option<ProductView>, Failure> {
        self.products.get(id).await
    }

    /// Returns the product with a stock-keeping unit that the caller may see.
    pub(crate) async fn product_by_sku(&self, sku: String) -> Result<Option<ProductView>, Failure> {
        self.products_by_sku.get(sku).await
    }

    /// Returns the product of a review. Moderators see it in any status.
    pub(crate) async fn reviewed_product(
        &self,
        id: ProductId,
    ) -> Result<Option<ProductView>, Failure> {
        match &self.reviewed {
            Some(reviewed) => reviewed.get(id).await,
            None => self.product(id).await,
        }
    }

    /// Returns a review that the caller may see.
    pub(crate) async fn review(
        &self,
        product: ProductId,
        id: ReviewId,
    ) -> Result<Option<Review>, Failure> {
        self.reviews.get((product, id)).await
    }

    /// Returns the first page of the reviews of a product.
    pub(crate) async fn first_reviews(
        &self,
        query: FirstReviews,
    ) -> Result<Option<Arc<ListedReviews>>, Failure> {
        self.first_reviews.get(query).await
    }

    pub(crate) async fn supplier(&self, id: SupplierId) -> Result<Option<Supplier>, Failure> {
        self.suppliers.get(id).await
    }

    /// Returns the number of products in a category and its subcategories that the caller may see.
    pub(crate) async fn product_count(&self, id: CategoryId) -> Result<Option<u64>, Failure> {
        self.counts.get(id).await
    }

    /// Returns the coverage of a spec key; `None` if no product on sale has it.
    pub(crate) async fn coverage(&self, key: String) -> Result<Option<Arc<KeyCoverage>>, Failure> {
        self.coverage.get(key).await
    }

    /// Returns the ratings of a product in each of the last `months` months.
    pub(crate) async fn trend(
        &self,
        product: ProductId,
        months: i32,
    ) -> Result<Vec<RatingMonth>, Failure> {
        let found = self.trends.get((product, months)).await?;
        Ok(found.unwrap_or_default())
    }

    /// Returns the ratings of a product in the last `days` days.
    pub(crate) async fn recent(
        &self,
        product: ProductId,
        days: i32,
    ) -> Result<Option<RatingStats>, Failure> {
        self.recent.get((product, days)).await
    }

    /// Returns the reports of a review that no moderator has handled.
    pub(crate) async fn open_reports(&self, id: ReviewId) -> Result<Vec<Report>, Failure> {
        Ok(self.reports.get(id).await?.unwrap_or_default())
    }

    /// Returns the earlier versions of a review.
    pub(crate) async fn versions(&self, id: ReviewId) -> Result<Vec<ReviewVersion>, Failure> {
        Ok(self.versions.get(id).await?.unwrap_or_default())
    }

    /// Returns what the feeds say of a product that people have edited.
    pub(crate) async fn feed_values(&self, id: ProductId) -> Result<Arc<FeedValues>, Failure> {
        Ok(self.feed_values.get(id).await?.unwrap_or_default())
    }

    /// Returns the caller's review of a product.
    pub(crate) async fn own_review(&self, product: ProductId) -> Result<Option<Review>, Failure> {
        match &self.own {
            Some(own) => own.reviews.get(product).await,
            None => Ok(None),
        }
    }

    /// Returns the caller's vote in a round of a review.
    pub(crate) async fn own_vote(
        &self,
        review: ReviewId,
        round: i32,
    ) -> Result<Option<Vote>, Failure> {
        match &self.own {
            Some(own) => own.votes.get((review, round)).await,
            None => Ok(None),
        }
    }
}

/// A loader of one kind of values, which retries when a batch is lost.
struct Batched<K, V, F>(Loader<K, Loaded<V>, F>)
where
    K: Clone + Debug + Eq + Hash,
    V: Clone,
    F: BatchFn<K, Loaded<V>>;

impl<K, V, F> Batched<K, V, F>
where
    K: Clone + Debug + Eq + Hash,
    V: Clone,
    F: BatchFn<K, Loaded<V>>,
{
    fn new(load: F) -> Self {
        Self(Loader::new(load))
    }

    /// Loads the value of a key.
    async fn get(&self, key: K) -> Result<Option<V>, Failure> {
        for _ in 0..MAX_ATTEMPTS {
            // Every completed batch has a result for each of its keys (see `each`). A key without a
            // result was in a batch whose sender was dropped.
            if let Ok(found) = self.0.try_load(key.clone()).await {
                return found.map_err(Failure::from);
            }
        }
        Err(Failure::new(
            ErrorCode::Unavailable,
            "The data could not be loaded; try again.",
        ))
    }

    async fn clear(&self) {
        self.0.clear_all().await;
    }
}

impl BatchFn<ProductId, Loaded<ProductView>> for Products {
    async fn load(&mut self, ids: &[ProductId]) -> HashMap<ProductId, Loaded<ProductView>> {
        each(ids, self.0.products_by_id(ids.to_vec(), self.1).await)
    }
}

impl BatchFn<String, Loaded<ProductView>> for ProductsBySku {
    async fn load(&mut self, skus: &[String]) -> HashMap<String, Loaded<ProductView>> {
        each(skus, self.0.products_by_sku(skus.to_vec(), self.1).await)
    }
}

impl BatchFn<(ProductId, ReviewId), Loaded<Review>> for Reviews {
    async fn load(
        &mut self,
        ids: &[(ProductId, ReviewId)],
    ) -> HashMap<(ProductId, ReviewId), Loaded<Review>> {
        let found = self.0.reviews_by_id(ids.to_vec(), &self.1).await;
        let keyed = |(id, review): (ReviewId, Review)| ((review.product_id, id), review);
        each(
            ids,
            found.map(|found| found.into_iter().map(keyed).collect()),
        )
    }
}

impl BatchFn<FirstReviews, Loaded<Arc<ListedReviews>>> for FirstPages {
    async fn load(
        &mut self,
        queries: &[FirstReviews],
    ) -> HashMap<FirstReviews, Loaded<Arc<ListedReviews>>> {
        let mut by_shape: HashMap<_, Vec<FirstReviews>> = HashMap::new();
        for query in queries {
            by_shape.entry(query.shape()).or_default().push(*query);
        }
        let mut all = HashMap::new();
        // A wrong size is an error of its own fields only.
        for queries in by_shape.into_values() {
            let found = self.0.first_reviews(&queries).await;
            all.extend(each(&queries, found));
        }
        all
    }
}

impl BatchFn<ProductId, Loaded<Arc<FeedValues>>> for FeedValuesOf {
    async fn load(&mut self, ids: &[ProductId]) -> HashMap<ProductId, Loaded<Arc<FeedValues>>> {
        let found = self.0.feed_values(ids).await;
        let shared = found.map(|found| {
            let found = found.into_iter();
            found.map(|(id, values)| (id, Arc::new(values))).collect()
        });
        each(ids, shared)
    }
}

impl BatchFn<SupplierId, Loaded<Supplier>> for Suppliers {
    async fn load(&mut self, ids: &[SupplierId]) -> HashMap<SupplierId, Loaded<Supplier>> {
        each(ids, self.0.suppliers_by_id(ids.to_vec()).await)
    }
}

impl BatchFn<CategoryId, Loaded<u64>> for Counts {
    async fn load(&mut self, ids: &[CategoryId]) -> HashMap<CategoryId, Loaded<u64>> {
        each(ids, self.0.category_counts(self.1).await)
    }
}

impl BatchFn<String, Loaded<Arc<KeyCoverage>>> for Coverage {
    async fn load(&mut self, keys: &[String]) -> HashMap<String, Loaded<Arc<KeyCoverage>>> {
        each(keys, self.0.coverage(keys.to_vec()).await)
    }
}

impl BatchFn<(ProductId, i32), Loaded<Vec<RatingMonth>>> for Trends {
    async fn load(
        &mut self,
        keys: &[(ProductId, i32)],
    ) -> HashMap<(ProductId, i32), Loaded<Vec<RatingMonth>>> {
        let mut all = HashMap::new();
        for (months, products) in by_length(keys) {
            let found = self.0.rating_trends(products.clone(), months).await;
            all.extend(each_of_length(&products, months, found));
        }
        all
    }
}

impl BatchFn<(ProductId, i32), Loaded<RatingStats>> for Recent {
    async fn load(
        &mut self,
        keys: &[(ProductId, i32)],
    ) -> HashMap<(ProductId, i32), Loaded<RatingStats>> {
        let mut all = HashMap::new();
        for (days, products) in by_length(keys) {
            let found = self.0.recent_ratings(products.clone(), days).await;
            all.extend(each_of_length(&products, days, found));
        }
        all
    }
}

impl BatchFn<ReviewId, Loaded<Vec<Report>>> for Reports {
    async fn load(&mut self, ids: &[ReviewId]) -> HashMap<ReviewId, Loaded<Vec<Report>>> {
        each(ids, self.0.open_reports(ids.to_vec()).await)
    }
}

impl BatchFn<ReviewId, Loaded<Vec<ReviewVersion>>> for Versions {
    async fn load(&mut self, ids: &[ReviewId]) -> HashMap<ReviewId, Loaded<Vec<ReviewVersion>>> {
        each(ids, self.0.review_versions(ids.to_vec()).await)
    }
}

impl BatchFn<ProductId, Loaded<Review>> for OwnReviews {
    async fn load(&mut self, products: &[ProductId]) -> HashMap<ProductId, Loaded<Review>> {
        let found = self.0.own_reviews(&self.1, products.to_vec()).await;
        each(products, found)
    }
}

impl BatchFn<(ReviewId, i32), Loaded<Vote>> for OwnVotes {
    async fn load(
        &mut self,
        reviews: &[(ReviewId, i32)],
    ) -> HashMap<(ReviewId, i32), Loaded<Vote>> {
        let found = self.0.votes_of(&self.1, reviews.to_vec()).await;
        let keyed = |found: HashMap<ReviewId, Vote>| {
            let vote = |key: &(ReviewId, i32)| found.get(&key.0).map(|vote| (*key, *vote));
            reviews.iter().filter_map(vote).collect()
        };
        each(reviews, found.map(keyed))
    }
}

/// Groups products by the length of the period: each length is one command.
fn by_length(keys: &[(ProductId, i32)]) -> HashMap<i32, Vec<ProductId>> {
    let mut all: HashMap<i32, Vec<ProductId>> = HashMap::new();
    for (product, length) in keys {
        all.entry(*length).or_default().push(*product);
    }
    all
}

fn each_of_length<V: Clone>(
    products: &[ProductId],
    length: i32,
    found: Result<HashMap<ProductId, V>, DomainError>,
) -> HashMap<(ProductId, i32), Loaded<V>> {
    let of_length = |(product, value)| ((product, length), value);
    each(products, found).into_iter().map(of_length).collect()
}

/// Returns a result for every requested key, because the loader does not support missing ones.
fn each<K: Clone + Eq + Hash, V: Clone>(
    keys: &[K],
    found: Result<HashMap<K, V>, DomainError>,
) -> HashMap<K, Loaded<V>> {
    match found {
        Ok(found) => keys
            .iter()
            .map(|key| (key.clone(), Ok(found.get(key).cloned())))
            .collect(),
        Err(error) => {
            let error = Arc::new(error);
            keys.iter()
                .map(|key| (key.clone(), Err(Arc::clone(&error))))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::poll;

    use super::*;

    /// Finds every key, but never answers the first `left` commands.
    struct Unanswered {
        left: u32,
        sent: Arc<AtomicU32>,
    }

    impl BatchFn<u8, Loaded<u8>> for Unanswered {
        async fn load(&mut self, keys: &[u8]) -> HashMap<u8, Loaded<u8>> {
            self.sent.fetch_add(1, Ordering::Relaxed);
            if self.left > 0 {
                self.left -= 1;
                std::future::pending::<()>().await;
            }
            each(keys, Ok(keys.iter().map(|key| (*key, *key)).collect()))
        }
    }

    fn unanswered(commands: u32) -> (Batched<u8, u8, Unanswered>, Arc<AtomicU32>) {
        let sent = Arc::new(AtomicU32::new(0));
        let load = Unanswered {
            left: commands,
            sent: Arc::clone(&sent),
        };
        (Batched::new(load), sent)
    }

    #[tokio::test]
    async fn waiting_callers_are_answered_when_the_sender_is_dropped() {
        for dropped in 1..4 {
            let (loader, sent) = unanswered(dropped);
            let mut waiting = Box::pin(loader.get(0));
            for number in 1..=dropped {
                let mut sender = Box::pin(loader.get(1));
                while sent.load(Ordering::Relaxed) < number {
                    // The sender is always one step ahead.
                    assert!(poll!(&mut sender).is_pending());
                    assert!(poll!(&mut waiting).is_pending());
                    tokio::task::yield_now().await;
                }
            }
            let found = waiting.await;
            assert_eq!(found.unwrap(), Some(0), "{dropped} senders dropped");
        }
    }

    #[tokio::test]
    async fn concurrent_callers_share_a_command() {
        let (loader, sent) = unanswered(0);
        let all = (0..20).map(|key| loader.get(key));
        let found = futures_util::future::join_all(all).await;
        assert!(found.into_iter().all(|found| found.unwrap().is_some()));
        assert_eq!(sent.load(Ordering::Relaxed), 1);
    }
}
