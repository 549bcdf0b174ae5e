//! Loaders: look-ups of one request that come at the same time become one command. They live as
//! long as the request, and results are values, so that one failure is told to everyone who waited.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use ::dataloader::{BatchFn, cached::Loader};
use vitrine_domain::facets::KeyCoverage;
use vitrine_domain::products::{ProductView, Sight};
use vitrine_domain::reviewing::Report;
use vitrine_domain::reviewing::ratings::RatingMonth;
use vitrine_domain::reviews::Reader;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::id::{CategoryId, ProductId, ReviewId, SupplierId};
use vitrine_model::rating::RatingStats;
use vitrine_model::review::{Review, ReviewVersion, Vote};
use vitrine_model::supplier::Supplier;

use super::viewer::Viewer;
use crate::execution::Failure;

/// What one look-up gives.
type Loaded<V> = Result<Option<V>, Arc<DomainError>>;

/// The loaders of one request.
pub(crate) struct Loaders {
    products: Loader<ProductId, Loaded<ProductView>, Products>,
    reviewed: Option<Loader<ProductId, Loaded<ProductView>, Products>>,
    reviews: Loader<(ProductId, ReviewId), Loaded<Review>, Reviews>,
    suppliers: Loader<SupplierId, Loaded<Supplier>, Suppliers>,
    counts: Loader<CategoryId, Loaded<u64>, Counts>,
    coverage: Loader<String, Loaded<Arc<KeyCoverage>>, Coverage>,
    trends: Loader<(ProductId, i32), Loaded<Vec<RatingMonth>>, Trends>,
    recent: Loader<(ProductId, i32), Loaded<RatingStats>, Recent>,
    reports: Loader<ReviewId, Loaded<Vec<Report>>, Reports>,
    versions: Loader<ReviewId, Loaded<Vec<ReviewVersion>>, Versions>,
    own: Option<Own>,
}

/// What the caller wrote; strangers wrote nothing.
struct Own {
    reviews: Loader<ProductId, Loaded<Review>, OwnReviews>,
    votes: Loader<(ReviewId, i32), Loaded<Vote>, OwnVotes>,
}

struct Products(Catalog, Sight);
struct Reviews(Catalog, Reader);
struct Suppliers(Catalog);
struct Counts(Catalog, Sight);
struct Coverage(Catalog);
struct Trends(Catalog);
struct Recent(Catalog);
struct Reports(Catalog);
struct Versions(Catalog);
struct OwnReviews(Catalog, String);
struct OwnVotes(Catalog, String);

impl Loaders {
    pub(crate) fn new(catalog: &Catalog, viewer: &Viewer) -> Self {
        let (sight, subject) = (viewer.sight(), viewer.subject.as_deref());
        let moderates = viewer.moderator().is_ok();
        let reader = Reader {
            sight,
            author: viewer.subject.clone(),
            moderates,
        };
        Self {
            products: Loader::new(Products(catalog.clone(), sight)),
            reviewed: moderates.then(|| {
                let everything = Products(catalog.clone(), Sight::Everything);
                Loader::new(everything)
            }),
            reviews: Loader::new(Reviews(catalog.clone(), reader)),
            suppliers: Loader::new(Suppliers(catalog.clone())),
            counts: Loader::new(Counts(catalog.clone(), sight)),
            coverage: Loader::new(Coverage(catalog.clone())),
            trends: Loader::new(Trends(catalog.clone())),
            recent: Loader::new(Recent(catalog.clone())),
            reports: Loader::new(Reports(catalog.clone())),
            versions: Loader::new(Versions(catalog.clone())),
            own: subject.map(|subject| Own {
                reviews: Loader::new(OwnReviews(catalog.clone(), subject.to_owned())),
                votes: Loader::new(OwnVotes(catalog.clone(), subject.to_owned())),
            }),
        }
    }

    /// Forgets what was looked up: something has been written since.
    pub(crate) async fn forget(&self) {
        self.products.clear_all().await;
        if let Some(reviewed) = &self.reviewed {
            reviewed.clear_all().await;
        }
        self.reviews.clear_all().await;
        self.suppliers.clear_all().await;
        self.counts.clear_all().await;
        self.coverage.clear_all().await;
        self.trends.clear_all().await;
        self.recent.clear_all().await;
        self.reports.clear_all().await;
        self.versions.clear_all().await;
        if let Some(own) = &self.own {
            own.reviews.clear_all().await;
            own.votes.clear_all().await;
        }
    }

    /// A product that the caller may see.
    pub(crate) async fn product(&self, id: ProductId) -> Result<Option<ProductView>, Failure> {
        loaded(self.products.try_load(id).await)
    }

    /// The product of a review: who moderates sees it in any state.
    pub(crate) async fn reviewed_product(
        &self,
        id: ProductId,
    ) -> Result<Option<ProductView>, Failure> {
        match &self.reviewed {
            Some(reviewed) => loaded(reviewed.try_load(id).await),
            None => self.product(id).await,
        }
    }

    /// A review that the caller may see.
    pub(crate) async fn review(
        &self,
        product: ProductId,
        id: ReviewId,
    ) -> Result<Option<Review>, Failure> {
        loaded(self.reviews.try_load((product, id)).await)
    }

    /// A supplier.
    pub(crate) async fn supplier(&self, id: SupplierId) -> Result<Option<Supplier>, Failure> {
        loaded(self.suppliers.try_load(id).await)
    }

    /// How many products that the caller may see are in a category or below it.
    pub(crate) async fn product_count(&self, id: CategoryId) -> Result<Option<u64>, Failure> {
        loaded(self.counts.try_load(id).await)
    }

    /// How far the products on sale have a spec key; none when no product has it.
    pub(crate) async fn coverage(&self, key: String) -> Result<Option<Arc<KeyCoverage>>, Failure> {
        loaded(self.coverage.try_load(key).await)
    }

    /// The ratings of a product in each of the last so many months.
    pub(crate) async fn trend(
        &self,
        product: ProductId,
        months: i32,
    ) -> Result<Vec<RatingMonth>, Failure> {
        let found = loaded(self.trends.try_load((product, months)).await)?;
        Ok(found.unwrap_or_default())
    }

    /// The ratings of a product in the last so many days.
    pub(crate) async fn recent(
        &self,
        product: ProductId,
        days: i32,
    ) -> Result<Option<RatingStats>, Failure> {
        loaded(self.recent.try_load((product, days)).await)
    }

    /// The reports of a review that no moderator has dealt with.
    pub(crate) async fn open_reports(&self, id: ReviewId) -> Result<Vec<Report>, Failure> {
        Ok(loaded(self.reports.try_load(id).await)?.unwrap_or_default())
    }

    /// What a review was before its author changed it.
    pub(crate) async fn versions(&self, id: ReviewId) -> Result<Vec<ReviewVersion>, Failure> {
        Ok(loaded(self.versions.try_load(id).await)?.unwrap_or_default())
    }

    /// What the caller wrote of a product.
    pub(crate) async fn own_review(&self, product: ProductId) -> Result<Option<Review>, Failure> {
        match &self.own {
            Some(own) => loaded(own.reviews.try_load(product).await),
            None => Ok(None),
        }
    }

    /// What the caller says of a round of a review.
    pub(crate) async fn own_vote(
        &self,
        review: ReviewId,
        round: i32,
    ) -> Result<Option<Vote>, Failure> {
        match &self.own {
            Some(own) => loaded(own.votes.try_load((review, round)).await),
            None => Ok(None),
        }
    }
}

fn loaded<V>(value: Result<Loaded<V>, std::io::Error>) -> Result<Option<V>, Failure> {
    value.map_err(Failure::internal)?.map_err(Failure::from)
}

impl BatchFn<ProductId, Loaded<ProductView>> for Products {
    async fn load(&mut self, ids: &[ProductId]) -> HashMap<ProductId, Loaded<ProductView>> {
        each(ids, self.0.products_by_id(ids.to_vec(), self.1).await)
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

/// Products by how far back their ratings are wanted: each length is one command.
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

/// An answer for every key that was asked for: the loader knows no missing ones.
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
