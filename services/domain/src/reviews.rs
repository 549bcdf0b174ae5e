//! Queries for reviews.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use vitrine_model::cursor::{KeyValue, ListFingerprint, Position};
use vitrine_model::filter::{ReviewFilter, ReviewSort};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::rating::RatingStats;
use vitrine_model::review::{MAX_TOP_REVIEWS, Review, ReviewStatus, TopReview};
use vitrine_storage::keyset::{Boundary, Page, PageRequest, Row};
use vitrine_storage::reviews::ReviewList;

use crate::page::{HasMore, Listed, PageArguments};
use crate::products::{ProductView, Visibility};
use crate::{Catalog, DomainError};

/// A request for a page of reviews.
#[derive(Clone, Debug)]
pub struct ReviewsQuery {
    /// The product.
    pub product: ProductId,
    /// The filter.
    pub filter: ReviewFilter,
    /// The sort order.
    pub sort: ReviewSort,
    /// Whether the product has many reviews, see [`vitrine_model::product::Outlier::many`].
    pub many: bool,
    /// The page arguments.
    pub page: PageArguments,
}

/// A request for the first page of all reviews of a product, which is read together with those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FirstReviews {
    product: ProductId,
    sort: ReviewSort,
    first: Option<i32>,
    many: bool,
}

impl FirstReviews {
    /// The same request, if it is one; `None` for any other page, and for filters and orders that are read product by
    /// product.
    #[must_use]
    pub fn of(query: &ReviewsQuery) -> Option<Self> {
        let page = PageArguments {
            first: query.page.first,
            ..PageArguments::default()
        };
        let is_first = query.page == page && query.filter == ReviewFilter::default();
        (is_first && query.sort != ReviewSort::Oldest).then_some(Self {
            product: query.product,
            sort: query.sort,
            first: query.page.first,
            many: query.many,
        })
    }

    /// The order and the size of the page: requests that differ in them cannot be read together.
    #[must_use]
    pub const fn shape(&self) -> (ReviewSort, Option<i32>) {
        (self.sort, self.first)
    }

    fn query(self) -> ReviewsQuery {
        ReviewsQuery {
            product: self.product,
            filter: ReviewFilter::default(),
            sort: self.sort,
            many: self.many,
            page: PageArguments {
                first: self.first,
                ..PageArguments::default()
            },
        }
    }
}

impl ReviewsQuery {
    fn list(self) -> ReviewList {
        ReviewList {
            product: self.product,
            filter: self.filter,
            sort: self.sort,
            many: self.many,
        }
    }
}

/// The reader of single reviews.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The products that they may see, and with them their published reviews.
    pub visibility: Visibility,
    /// The author whose own reviews they may see in every status.
    pub author: Option<String>,
    /// Whether they may see all reviews in every status.
    pub moderates: bool,
}

impl Reader {
    fn sees(&self, review: &Review, product_seen: bool) -> bool {
        let author = review.author.as_ref().map(|author| &author.id.0);
        let published = review.status == ReviewStatus::Published;
        self.moderates
            || (author.is_some() && author == self.author.as_ref())
            || (published && product_seen)
    }
}

/// A page of reviews.
pub type ListedReviews = Listed<Arc<Review>, ReviewList>;

impl Catalog {
    /// A page of the published reviews of a product. One command; two where dated reviews end and
    /// undated ones begin, oldest first.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn reviews(&self, query: ReviewsQuery) -> Result<ListedReviews, DomainError> {
        let fingerprint = fingerprint(&query);
        let request = query.page.request(self, fingerprint)?;
        let list = query.list();
        let page = if list.filter.ratings.as_ref().is_some_and(Vec::is_empty) {
            Page {
                rows: Vec::new(),
                more: false,
                stopped: None,
            }
        } else {
            let (list, request) = (list.clone(), request.clone());
            self.read(|store| async move { store.page_reviews(&list, &request).await })
                .await?
        };
        let page = page.map(Arc::new);
        Ok(Listed::new(self, fingerprint, list, request, page))
    }

    /// The first pages of the published reviews of several products, in one order and of one size. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page.
    pub async fn first_reviews(
        &self,
        requests: &[FirstReviews],
    ) -> Result<HashMap<FirstReviews, Arc<ListedReviews>>, DomainError> {
        let mut pages = Vec::with_capacity(requests.len());
        for one in requests {
            let fingerprint = fingerprint(&one.query());
            let page = one.query().page.request(self, fingerprint)?;
            pages.push((*one, fingerprint, page));
        }
        let Some((FirstReviews { sort, .. }, _, PageRequest { size, .. })) = pages.first() else {
            return Ok(HashMap::new());
        };
        let (sort, size) = (*sort, *size);
        let ids: Vec<ProductId> = requests.iter().map(|one| one.product).collect();
        let found = self
            .read(|store| async move { store.first_reviews_of_many(&ids, sort, size).await })
            .await?;
        let listed = |(one, fingerprint, request): (FirstReviews, _, _)| {
            // Without a page, the product was deleted a moment ago.
            let page = found.get(&one.product).cloned().unwrap_or(Page {
                rows: Vec::new(),
                more: false,
                stopped: None,
            });
            let page = page.map(Arc::new);
            let list = one.query().list();
            let listed = Listed::new(self, fingerprint, list, request, page);
            (one, Arc::new(listed))
        };
        Ok(pages.into_iter().map(listed).collect())
    }

    /// The first page of the most helpful reviews, taken from the copies embedded in the product:
    /// no command. `None` for another page, or when the product is hot, since the copies may then
    /// be outdated.
    ///
    /// The returned reviews have only the fields of [`vitrine_model::review::TopReview`]; the body
    /// is the excerpt.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page.
    pub fn top_reviews_page(
        &self,
        view: &ProductView,
        query: &ReviewsQuery,
    ) -> Result<Option<ListedReviews>, DomainError> {
        let first = PageRequest {
            size: MAX_TOP_REVIEWS,
            from: Boundary::After(None),
        };
        if query.sort != ReviewSort::MostHelpful || query.filter != ReviewFilter::default() {
            return Ok(None);
        }
        let fingerprint = fingerprint(query);
        let request = query.page.request(self, fingerprint)?;
        if request.from != first.from || request.size > first.size {
            return Ok(None);
        }
        let counted = usize::try_from(view.stats()?.count()).unwrap_or(0);
        let top = view.top_reviews()?;
        let hot = view.outlier()?.is_hot(self.now());
        // A list may be longer than the count, and shorter than this release makes it.
        let known = counted.max(top.len());
        let size = request.size.min(known);
        if hot || top.len() < size {
            return Ok(None);
        }
        let rows = top.into_iter().take(size).map(|top| Row {
            position: Position {
                keys: vec![
                    KeyValue::Int(top.helpful),
                    top.created_at
                        .map_or(KeyValue::Absent, |at| KeyValue::Instant(at.as_millis())),
                ],
                id: top.id.to_i64(),
            },
            value: Arc::new(review_of_copy(query.product, top)),
        });
        let page = Page {
            rows: rows.collect(),
            more: size < known,
            stopped: None,
        };
        let list = ReviewList {
            product: query.product,
            filter: query.filter.clone(),
            sort: query.sort,
            many: query.many,
        };
        Ok(Some(Listed::new(self, fingerprint, list, request, page)))
    }

    /// Whether the list has reviews after a page. At most one command.
    pub async fn reviews_follow(&self, page: &ListedReviews) -> Result<bool, DomainError> {
        self.has_reviews(&page.list, page.has_more_after()).await
    }

    /// Whether the list has reviews before a page. At most one command.
    pub async fn reviews_precede(&self, page: &ListedReviews) -> Result<bool, DomainError> {
        self.has_reviews(&page.list, page.has_more_before()).await
    }

    /// The reviews with these ids that a reader may see. One command.
    pub async fn reviews_by_id(
        &self,
        ids: Vec<(ProductId, ReviewId)>,
        reader: &Reader,
    ) -> Result<HashMap<ReviewId, Review>, DomainError> {
        let states = reader.visibility.states();
        let found = self
            .read(|store| async move { store.get_many_reviews(&ids, states).await })
            .await?;
        Ok(found
            .into_iter()
            .filter(|(review, product_seen)| reader.sees(review, *product_seen))
            .map(|(review, _)| (review.id, review))
            .collect())
    }

    async fn has_reviews(&self, list: &ReviewList, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                let list = list.clone();
                self.read(|store| async move { store.has_review(&list, from).await })
                    .await
            }
        }
    }
}

/// A review made from the copy embedded in its product.
fn review_of_copy(product: ProductId, top: TopReview) -> Review {
    Review {
        id: top.id,
        product_id: product,
        author: top.author,
        rating: top.rating,
        recommended: None,
        dimensions: BTreeMap::new(),
        title: top.title,
        body: top.excerpt,
        language: None,
        media: Vec::new(),
        verified: top.verified,
        vouched: false,
        attributes: Vec::new(),
        incentivized: false,
        origin: None,
        status: ReviewStatus::Published,
        helpful: top.helpful,
        unhelpful: 0,
        imported_helpful: 0,
        imported_unhelpful: 0,
        created_at: top.created_at,
        edited_at: None,
        revision: 0,
        decisions: Vec::new(),
        reply: None,
        reports: 0,
        queued: None,
        round: 0,
        applied: None,
        dirty: false,
    }
}

/// The number of reviews that match a filter, from the statistics in the product: no command.
#[must_use]
pub fn count_in(stats: &RatingStats, filter: &ReviewFilter) -> i64 {
    let histogram = stats.with(&filter.traits);
    match &filter.ratings {
        None => histogram.count(),
        Some(ratings) => {
            let mut included = [false; 5];
            for stars in ratings {
                included[stars.index()] = true;
            }
            let counted = histogram.0.iter().zip(included);
            counted
                .filter(|(_, included)| *included)
                .map(|(n, _)| n)
                .sum()
        }
    }
}

fn fingerprint(query: &ReviewsQuery) -> ListFingerprint {
    let filter = serde_json::to_vec(&(&query.filter, query.sort)).expect("filters are plain data");
    ListFingerprint::of(&[b"reviews", &query.product.to_bytes(), &filter])
}
