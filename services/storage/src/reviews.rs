//! Reviews: single reads, batches, pages, and the writes of imports.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::filter::{Condition, ReviewFilter, ReviewSort};
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::product::ProductStatus;
use vitrine_model::review::{Review, ReviewStatus};

use crate::documents::review::{self as document, OPTIONAL_CONTENT};
use crate::documents::{REVIEW_VERSION, up_to};
use crate::fold::dirty_at;
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::names::stored_ids;
use crate::raw::{Fields, date, one_of, stored_id};
use crate::reviewing::PURCHASES;
use crate::{StorageError, Store, names, products_query};

pub(crate) const COLLECTION: &str = "reviews";
/// The field in which a command returns the reviews of a product.
const REVIEWS: &str = "reviews";

/// A list of the published reviews of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewList {
    /// The product.
    pub product: ProductId,
    /// Which reviews.
    pub filter: ReviewFilter,
    /// The sort of the list.
    pub sort: ReviewSort,
    /// Whether the product has so many reviews that they are in the partial indexes of filtered
    /// lists.
    pub many: bool,
}

/// A stored review that an import refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownReview {
    /// The id of the review.
    pub id: ReviewId,
    /// The product of the review.
    pub product: ProductId,
    /// The digest of the last record of its source.
    pub digest: String,
    /// Whether its author was erased; imports do not update it then.
    pub erased: bool,
}

/// The reviews of a feed that are known by their external ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownReviews {
    /// The stored reviews, by external id.
    pub reviews: HashMap<String, KnownReview>,
    /// The ids claimed for reviews that are not stored, because an import was interrupted before it
    /// inserted them.
    pub claimed: HashMap<String, (ProductId, ReviewId)>,
}

impl Store {
    /// Returns the reviews with these ids that are not deleted, each with whether its product has
    /// one of these statuses. One command.
    pub async fn get_many_reviews(
        &self,
        ids: &[(ProductId, ReviewId)],
        states: &[ProductStatus],
    ) -> Result<Vec<(Review, bool)>, StorageError> {
        let keys: Vec<Bson> = ids.iter().map(|(_, id)| stored_id(id.to_i64())).collect();
        let deleted = ReviewStatus::Deleted.name();
        let products = stored_ids(ids.iter().map(|(product, _)| *product));
        let filter = doc! {
            "_id": { "$in": keys },
            "product_id": { "$in": products },
            "status": { "$ne": deleted },
        };
        let seen = products_query::predicate(&Condition::Status(states.to_vec()));
        let product = doc! {
            "from": "products",
            "localField": "product_id",
            "foreignField": "_id",
            "pipeline": [{ "$match": seen }, { "$project": { "_id": 1 } }],
            "as": "seen",
        };
        let pipeline = [
            doc! { "$match": filter },
            doc! { "$lookup": product },
            doc! { "$set": { "seen": { "$ne": ["$seen", []] } } },
        ];
        let reviews = self.documents(COLLECTION);
        let found = reviews
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()));
        let found = found
            .max_time(self.max_time)
            .await?
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let pair =
            |doc: &RawDocumentBuf| Ok((read(doc)?, Fields::of(COLLECTION, doc).bool("seen")?));
        let mut reviews = found
            .iter()
            .map(pair)
            .collect::<Result<Vec<_>, StorageError>>()?;
        reviews.retain(|(review, _)| ids.contains(&(review.product_id, review.id)));
        Ok(reviews)
    }

    /// Returns a page of the published reviews of a product. One command; two for
    /// [`ReviewSort::Oldest`] where the dated reviews end and the undated ones begin.
    pub async fn page_reviews(
        &self,
        list: &ReviewList,
        request: &PageRequest,
    ) -> Result<Page<Review>, StorageError> {
        self.read_page(&query(list), request, read).await
    }

    /// Returns the first page of the published reviews of each of these products, without a filter. One command.
    ///
    /// Within the command no index can be named; a test compares the keys that it examines. That is why the order
    /// [`ReviewSort::Oldest`], which is read in two parts, is not read this way.
    pub async fn first_reviews_of_many(
        &self,
        products: &[ProductId],
        sort: ReviewSort,
        size: usize,
    ) -> Result<HashMap<ProductId, Page<Review>>, StorageError> {
        let list = ReviewList {
            product: ProductId::from_i64(0),
            filter: ReviewFilter::default(),
            sort,
            many: false,
        };
        let query = query(&list);
        let order = query.scans(&Boundary::After(None));
        let order = order.into_iter().next().map(|scan| scan.sort);
        let more = i64::try_from(size + 1).expect("pages are small");
        let reviews = doc! {
            "from": COLLECTION,
            "localField": "_id",
            "foreignField": "product_id",
            "pipeline": [
                { "$match": { "status": ReviewStatus::Published.name() } },
                { "$sort": order },
                { "$limit": more },
            ],
            "as": REVIEWS,
        };
        let pipeline = [
            doc! { "$match": { "_id": { "$in": stored_ids(products.iter().copied()) } } },
            doc! { "$project": { "_id": 1 } },
            doc! { "$lookup": reviews },
        ];
        let of_products = self.documents("products");
        let found = of_products
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()));
        let found = found.max_time(self.max_time).await?;
        let found: Vec<RawDocumentBuf> = found.with_type::<RawDocumentBuf>().try_collect().await?;
        let page = |doc: &RawDocumentBuf| {
            let fields = Fields::of("products", doc);
            let rows = fields.docs(REVIEWS, |review| query.row(review.raw(), read))?;
            let product = ProductId::from_i64(fields.id("_id")?);
            Ok((product, Page::of(rows, size)))
        };
        found.iter().map(page).collect()
    }

    /// Returns whether a list has a review before this position (or after it).
    pub async fn has_review(
        &self,
        list: &ReviewList,
        from: Boundary,
    ) -> Result<bool, StorageError> {
        self.has_row(&query(list), &from).await
    }

    /// Returns the reviews with these external ids of a system, by external id, and the ids that
    /// were claimed for reviews that are not stored yet. Two commands.
    pub async fn known_reviews(
        &self,
        system: &str,
        external_ids: &[String],
    ) -> Result<KnownReviews, StorageError> {
        let names = external_ids.iter();
        let names: Vec<String> = names.map(|id| names::origin(system, id)).collect();
        let named = self.name_owners(&names).await?;
        let mut known = KnownReviews::default();
        if named.is_empty() {
            return Ok(known);
        }
        let products = stored_ids(named.values().map(|named| named.product));
        let reviews = named.values().filter_map(|named| named.review);
        let reviews: Vec<Bson> = reviews.map(|id| stored_id(id.to_i64())).collect();
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": reviews }, "product_id": { "$in": products } })
            .projection(doc! { "origin": 1, "product_id": 1, "erased": 1 })
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        known.reviews = found.iter().map(read_known).collect::<Result<_, _>>()?;
        for (external_id, name) in external_ids.iter().zip(&names) {
            let owner = named
                .get(name)
                .filter(|_| !known.reviews.contains_key(external_id));
            if let Some((owner, review)) = owner.and_then(|owner| Some((owner, owner.review?))) {
                known
                    .claimed
                    .insert(external_id.clone(), (owner.product, review));
            }
        }
        Ok(known)
    }

    /// Returns those of these pairs whose author has a review of the product, each with the
    /// external id of the review if it was imported.
    pub async fn known_authors(
        &self,
        pairs: &[(ProductId, AuthorId)],
    ) -> Result<HashMap<(ProductId, AuthorId), Option<String>>, StorageError> {
        let mut by_product: HashMap<ProductId, Vec<&str>> = HashMap::new();
        for (product, author) in pairs {
            by_product.entry(*product).or_default().push(&author.0);
        }
        let branch = |(product, authors): (ProductId, Vec<&str>)| {
            doc! { "product_id": stored_id(product.to_i64()), "by": { "$in": authors } }
        };
        let branches: Vec<Document> = by_product.into_iter().map(branch).collect();
        if branches.is_empty() {
            return Ok(HashMap::new());
        }
        let projection = doc! { "product_id": 1, "author": 1, "origin": 1 };
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(doc! { "$or": branches })
            .hint(Hint::Name("author".to_owned()))
            .projection(projection);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read_author_pair).collect()
    }

    /// Returns those of these pairs whose author is known to have bought the product. One command.
    pub async fn known_buyers(
        &self,
        pairs: &[(ProductId, AuthorId)],
    ) -> Result<HashSet<(ProductId, AuthorId)>, StorageError> {
        if pairs.is_empty() {
            return Ok(HashSet::new());
        }
        let ids: Vec<Bson> = pairs
            .iter()
            .map(|(product, buyer)| doc! { "p": stored_id(product.to_i64()), "c": &buyer.0 }.into())
            .collect();
        let collection = self.raw(PURCHASES);
        let find = collection
            .find(doc! { "_id": one_of(ids) })
            .projection(doc! { "_id": 1 })
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let pair = |row: &RawDocumentBuf| {
            let id = Fields::of(PURCHASES, row).doc("_id")?;
            let product = ProductId::from_i64(id.id("p")?);
            Ok((product, AuthorId(id.string("c")?)))
        };
        found.iter().map(pair).collect()
    }

    /// Inserts new reviews, each with the digest of its record in the feed; dirty reviews get `now`
    /// as their `dirty_since`. Returns for each review `None` if it was inserted, otherwise what is
    /// taken: the fields of a unique index, or `origin`.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some reviews may have been inserted then.
    pub async fn insert_reviews(
        &self,
        reviews: &[(Review, Option<String>)],
        now: Timestamp,
    ) -> Result<Vec<Option<String>>, StorageError> {
        let imported: Vec<&Review> = reviews
            .iter()
            .map(|(review, _)| review)
            .filter(|review| review.origin.is_some())
            .collect();
        let own = self.claim_origins(&imported).await?;
        let taken = imported.iter().zip(own);
        let taken = taken.filter(|(_, own)| !own);
        let taken: HashSet<ReviewId> = taken.map(|(review, _)| review.id).collect();
        let claimed = reviews
            .iter()
            .filter(|(review, _)| !taken.contains(&review.id));
        let docs = claimed.clone().map(|(review, digest)| {
            let mut doc = document::document(review, digest.as_deref());
            if review.dirty {
                doc.insert("dirty_since", date(now));
            }
            doc
        });
        let refused = self.insert_each(COLLECTION, docs.collect(), false).await?;
        let not_inserted = claimed.zip(&refused);
        let not_inserted = not_inserted.filter(|(_, refused)| refused.is_some());
        let not_inserted: Vec<&Review> = not_inserted.map(|((review, _), _)| review).collect();
        self.delete_claims(not_inserted).await?;
        let mut refused = refused.into_iter();
        let outcome = |(review, _): &(Review, Option<String>)| {
            if taken.contains(&review.id) {
                Some("origin".to_owned())
            } else {
                refused.next().flatten()
            }
        };
        Ok(reviews.iter().map(outcome).collect())
    }

    /// Deletes the names of imported reviews that were not inserted, except where another import
    /// inserted the review under the same id.
    async fn delete_claims(&self, mut reviews: Vec<&Review>) -> Result<(), StorageError> {
        if reviews.is_empty() {
            return Ok(());
        }
        let products = stored_ids(reviews.iter().map(|review| review.product_id));
        let ids = reviews.iter().map(|review| stored_id(review.id.to_i64()));
        let ids: Vec<Bson> = ids.collect();
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": ids }, "product_id": { "$in": products } })
            .projection(doc! { "origin": 1, "product_id": 1, "erased": 1 })
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        for doc in &found {
            // Reviews that were written in this shop have no origin.
            let known = Fields::of(COLLECTION, doc).opt_doc("origin")?;
            let known = known.map(|_| read_known(doc)).transpose()?;
            let Some((external_id, known)) = known else {
                continue;
            };
            let same = |review: &&Review| {
                let origin = review.origin.as_ref();
                review.id == known.id
                    && origin.is_some_and(|origin| origin.external_id == external_id)
            };
            reviews.retain(|review| !same(review));
        }
        self.delete_origins(&reviews).await
    }

    /// Replaces the content of a review with that of a feed, and marks it dirty. Returns false when
    /// the review no longer exists or its author was erased.
    ///
    /// Votes of this shop are kept: the counters are the sum of imported votes and those.
    pub async fn apply_imported_review(
        &self,
        review: &Review,
        digest: &str,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let filter = doc! {
            "_id": stored_id(review.id.to_i64()),
            "product_id": stored_id(review.product_id.to_i64()),
            "erased": { "$ne": true },
            "schema_version": up_to(REVIEW_VERSION),
        };
        let collection = self.documents(COLLECTION);
        let updated = collection.update_one(filter, import_pipeline(review, digest, now));
        if updated.await?.matched_count == 1 {
            return Ok(true);
        }
        let refused = self.ensure_not_newer(review.product_id, review.id).await;
        refused.map(|()| false)
    }

    /// Fails if only a newer release may write the review.
    pub(crate) async fn ensure_not_newer(
        &self,
        product: ProductId,
        id: ReviewId,
    ) -> Result<(), StorageError> {
        let (product, id) = (stored_id(product.to_i64()), stored_id(id.to_i64()));
        let collection = self.raw(COLLECTION);
        let found = collection
            .find_one(doc! { "_id": id, "product_id": product })
            .projection(doc! { "schema_version": 1 })
            .max_time(self.max_time)
            .await?;
        found.map_or(Ok(()), |doc| not_newer(&doc))
    }
}

/// The update pipeline that replaces the content of a review with that of a feed.
fn import_pipeline(review: &Review, digest: &str, now: Timestamp) -> Vec<Document> {
    let mut content = document::content(review);
    let lacking = OPTIONAL_CONTENT
        .iter()
        .filter(|field| !content.contains_key(**field));
    let unset: Vec<Bson> = lacking.map(|field| Bson::from(*field)).collect();
    for (counter, imported, new) in [
        ("helpful", "$imported_helpful", review.imported_helpful),
        (
            "unhelpful",
            "$imported_unhelpful",
            review.imported_unhelpful,
        ),
    ] {
        let votes = doc! { "$subtract": [format!("${counter}"), imported] };
        content.insert(counter, doc! { "$add": [votes, new] });
    }
    let traits = document::traits_expressions(review);
    let literal = |(field, value): (String, Bson)| {
        let computed = field == "helpful" || field == "unhelpful";
        let value = if computed {
            value
        } else {
            Bson::Document(doc! { "$literal": value })
        };
        (field, value)
    };
    let mut set: Document = content.into_iter().map(literal).collect();
    set.extend(traits);
    set.insert("origin.digest", doc! { "$literal": digest });
    set.extend(dirty_at(now));
    set.insert("revision", doc! { "$add": ["$revision", 1] });
    // A purchase is known of the author, not of the review: another author loses the verification.
    // Where only the source vouched for it, the source can also take it back. A purchase that was
    // recorded a moment ago is found again later (`Store::recheck_purchases`).
    let own = review.author.as_ref().map(|author| author.id.0.as_str());
    let same = doc! { "$eq": ["$author._id", { "$literal": own.unwrap_or_default() }] };
    let verified = doc! { "$cond": [
        same,
        { "$or": [
            { "$and": ["$verified", { "$ne": ["$vouched", true] }] },
            review.verified,
        ] },
        review.verified,
    ] };
    let mut pipeline = vec![
        doc! { "$set": { "verified": verified } },
        doc! { "$set": set },
    ];
    if !unset.is_empty() {
        pipeline.push(doc! { "$unset": unset });
    }
    pipeline
}

/// Returns the query for a list of reviews. Most of its indexes are partial on published reviews,
/// so the filter contains the status as a literal.
fn query(list: &ReviewList) -> ListQuery {
    let mut filter = doc! {
        "product_id": stored_id(list.product.to_i64()),
        "status": ReviewStatus::Published.name(),
    };
    let stars = list.filter.ratings.as_deref();
    if let Some(ratings) = stars {
        let ratings: Vec<i32> = ratings.iter().map(|stars| i32::from(stars.get())).collect();
        let one = (ratings.len() == 1).then(|| Bson::Int32(ratings[0]));
        filter.insert(
            "rating",
            one.unwrap_or_else(|| Bson::Document(doc! { "$in": ratings })),
        );
    }
    let one_rating = stars.is_some_and(|ratings| ratings.len() == 1);
    // Every combination of traits has a mark of its own.
    let mark = list.filter.traits.name();
    let marked = list.many && mark.is_some();
    let one_rating_helpful = one_rating && list.sort == ReviewSort::MostHelpful;
    if marked || list.many && one_rating_helpful {
        // The filter of the partial index.
        filter.insert("many", true);
    }
    filter.extend(mark.map(|mark| ("marks".to_owned(), Bson::from(mark))));
    ListQuery {
        window: Vec::new(),
        collection: COLLECTION,
        filter,
        columns: columns(list.sort),
        descending: !matches!(list.sort, ReviewSort::Oldest | ReviewSort::Lowest),
        index: index(list, one_rating, marked),
        merged: false,
        projection: None,
        limit: None,
    }
}

fn columns(sort: ReviewSort) -> Vec<Column> {
    let created = Column::new("created_at", ColumnKind::Instant).nullable();
    let whole = |field| Column::new(field, ColumnKind::Integer);
    match sort {
        ReviewSort::Newest | ReviewSort::Oldest => vec![created],
        ReviewSort::MostHelpful => vec![whole("helpful"), created],
        ReviewSort::Highest | ReviewSort::Lowest => vec![whole("rating"), created],
    }
}

/// Returns the index with the order of a list. A single rating has one by date and, for products
/// with many reviews, one by votes; several ratings are filtered while scanning the index of all
/// reviews. For products with few reviews, the traits are filtered while scanning the list.
const fn index(list: &ReviewList, one_rating: bool, marked: bool) -> &'static str {
    let by_rating = match list.sort {
        ReviewSort::MostHelpful => {
            return match (one_rating && list.many, marked) {
                (_, true) => "marked_helpful",
                (true, false) => "rating_helpful",
                (false, false) => "helpful",
            };
        }
        ReviewSort::Newest | ReviewSort::Oldest => one_rating,
        ReviewSort::Highest | ReviewSort::Lowest => true,
    };
    match (by_rating, marked) {
        (true, true) => "marked_rating",
        (true, false) => "rating",
        (false, true) => "marked_newest",
        (false, false) => "newest",
    }
}

/// Fails if a newer release wrote the review.
pub(crate) fn not_newer(doc: &RawDocument) -> Result<(), StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    if fields.i64("schema_version")? <= i64::from(REVIEW_VERSION) {
        return Ok(());
    }
    Err(StorageError::Newer {
        collection: COLLECTION,
        id: ReviewId::from_i64(fields.id("_id")?).to_string(),
    })
}

pub(crate) fn read(doc: &RawDocument) -> Result<Review, StorageError> {
    document::read(&Fields::of(COLLECTION, doc))
}

fn read_known(doc: &RawDocumentBuf) -> Result<(String, KnownReview), StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let origin = fields.doc("origin")?;
    let known = KnownReview {
        id: ReviewId::from_i64(fields.id("_id")?),
        product: ProductId::from_i64(fields.id("product_id")?),
        digest: origin.opt_string("digest")?.unwrap_or_default(),
        erased: fields.opt_bool("erased")?.unwrap_or(false),
    };
    Ok((origin.string("external_id")?, known))
}

type AuthorPair = ((ProductId, AuthorId), Option<String>);

fn read_author_pair(doc: &RawDocumentBuf) -> Result<AuthorPair, StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let product = ProductId::from_i64(fields.id("product_id")?);
    let author = AuthorId(fields.doc("author")?.string("_id")?);
    let origin = fields.opt_doc("origin")?;
    let external = origin
        .map(|origin| origin.string("external_id"))
        .transpose()?;
    Ok(((product, author), external))
}
