//! Reading the catalogue as a whole, in the order of product ids, each product with its reviews.
//!
//! What a [`CatalogueSnapshot`] returns is of one point in time. The server keeps snapshots for five
//! minutes (`minSnapshotHistoryWindowInSeconds`), so an export takes one for each window of products.

use std::collections::{HashMap, HashSet};
use std::fmt;

use mongodb::action::Find;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use mongodb::{ClientSession, SessionCursor};
use vitrine_model::category::Category;
use vitrine_model::clock::Timestamp;
use vitrine_model::filter::Condition;
use vitrine_model::id::{AuthorId, ProductId, ReviewId, SupplierId};
use vitrine_model::rating::Stars;
use vitrine_model::review::{Decision, DimensionTable, Review, ReviewStatus, ReviewVersion, Vote};
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::Supplier;
use vitrine_model::unit::Unit;

use crate::contributions::{self, Contributions};
use crate::documents::{reference, review, stats};
use crate::names::stored_ids;
use crate::products::{self, ProductFields, projection};
use crate::products_query::predicate;
use crate::raw::{Fields, Read, stored_id};
use crate::reviewing::{
    DECISIONS, DIMENSIONS, REPORTS, Report, VERSIONS, VOTES, of_review, read_dimensions,
    read_report, read_version,
};
use crate::views::ProductView;
use crate::{StorageError, Store, reviews};

/// The data that products refer to, apart from suppliers.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceData {
    /// The version of this data.
    pub version: i64,
    /// The units that the shop has defined.
    pub units: Vec<Unit>,
    /// The spec dictionary.
    pub spec_keys: Vec<SpecKey>,
    /// The categories, in no particular order.
    pub categories: Vec<Category>,
    /// What products are rated by.
    pub dimensions: DimensionTable,
}

/// A review with everything that is stored of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReview {
    /// The review.
    pub review: Review,
    /// The digest of its record in the feed that it came from.
    pub digest: Option<String>,
    /// Whether its author was erased; imports do not update it then.
    pub erased: bool,
    /// What happened to it.
    pub history: ReviewHistory,
}

/// What happened to a review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewHistory {
    /// The votes of readers, by reader.
    pub votes: Vec<StoredVote>,
    /// The reports by readers, by reader.
    pub reports: Vec<StoredReport>,
    /// Its earlier versions, oldest first.
    pub versions: Vec<StoredVersion>,
    /// All decisions of moderators, oldest first.
    pub decisions: Vec<StoredDecision>,
}

/// A vote on a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVote {
    /// Who voted.
    pub by: AuthorId,
    /// The vote.
    pub vote: Vote,
    /// The round of the review that it belongs to.
    pub round: i32,
    /// When it was cast.
    pub at: Timestamp,
}

/// A report of a review.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReport {
    /// The report.
    pub report: Report,
    /// Whether no moderator has decided since.
    pub open: bool,
}

/// An earlier version of a review.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVersion {
    /// The version.
    pub version: ReviewVersion,
    /// The author, if known.
    pub author: Option<AuthorId>,
}

/// An entry of the moderation log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDecision {
    /// Its id.
    pub id: i64,
    /// The decision.
    pub decision: Decision,
    /// The rating of the review at that time.
    pub rating: Stars,
}

/// A view of the catalogue at one point in time.
pub struct CatalogueSnapshot {
    store: Store,
    session: ClientSession,
    reviews: Option<SessionCursor<RawDocumentBuf>>,
}

impl fmt::Debug for CatalogueSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogueSnapshot").finish_non_exhaustive()
    }
}

impl Store {
    /// Begins to read at a point in time, which the first query fixes.
    pub async fn catalogue_snapshot(&self) -> Result<CatalogueSnapshot, StorageError> {
        Ok(CatalogueSnapshot {
            store: self.clone(),
            session: self.client.start_session().snapshot(true).await?,
            reviews: None,
        })
    }

    /// Returns those of these reviews that are stored, in any status, without their histories. One
    /// command.
    pub async fn stored_reviews(
        &self,
        ids: &[(ProductId, ReviewId)],
    ) -> Result<Vec<StoredReview>, StorageError> {
        use futures_util::TryStreamExt as _;
        let keys: Vec<Bson> = ids.iter().map(|(_, id)| stored_id(id.to_i64())).collect();
        let products = stored_ids(ids.iter().map(|(product, _)| *product));
        let collection = self.raw(reviews::COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": keys }, "product_id": { "$in": products } })
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read_stored).collect()
    }
}

impl CatalogueSnapshot {
    /// Returns the version of the reference data.
    pub async fn reference_version(&mut self) -> Result<i64, StorageError> {
        let found = self.all("settings", doc! { "_id": "reference" }).await?;
        let version = found
            .first()
            .map(|doc| Fields::of("settings", doc).opt_i64("v"));
        Ok(version.transpose()?.flatten().unwrap_or(0))
    }

    /// Returns the data that products refer to.
    pub async fn reference(&mut self) -> Result<ReferenceData, StorageError> {
        let entries = self.read_all("spec_keys", reference::read_entry).await?;
        let dimensions = self.all(DIMENSIONS, Document::new()).await?;
        Ok(ReferenceData {
            version: self.reference_version().await?,
            units: self.read_all("units", reference::read_unit).await?,
            spec_keys: reference::spec_keys(entries),
            categories: self
                .read_all("categories", reference::read_category)
                .await?,
            dimensions: read_dimensions(&dimensions)?,
        })
    }

    /// Returns these suppliers, or all, in the order of their ids.
    pub async fn suppliers(
        &mut self,
        ids: Option<&[SupplierId]>,
    ) -> Result<Vec<Supplier>, StorageError> {
        let ids = ids.map(|ids| ids.iter().map(|id| stored_id(id.to_i64())));
        let filter = ids.map_or_else(
            Document::new,
            |ids| doc! { "_id": { "$in": ids.collect::<Vec<Bson>>() } },
        );
        let found = self.all("suppliers", filter).await?;
        found
            .iter()
            .map(|doc| reference::read_supplier(&Fields::of("suppliers", doc)))
            .collect()
    }

    /// Returns the last of the `size` products that follow this one; `None` if there are fewer.
    pub async fn window_end(
        &mut self,
        after: Option<ProductId>,
        size: u32,
    ) -> Result<Option<ProductId>, StorageError> {
        let collection = self.store.raw(products::COLLECTION);
        let find = collection
            .find(between(after, None))
            .sort(doc! { "_id": 1 })
            .projection(doc! { "_id": 1 })
            .skip(u64::from(size.saturating_sub(1)))
            .limit(1)
            .hint(Hint::Name("_id_".to_owned()));
        let found = collect(find, &mut self.session).await?;
        let id = found
            .first()
            .map(|doc| Fields::of(products::COLLECTION, doc).id("_id"));
        Ok(id.transpose()?.map(ProductId::from_i64))
    }

    /// Returns the products after one and up to another that match a condition, in the order of
    /// their ids, without their top reviews. Walks the index of ids, whatever the condition.
    pub async fn products(
        &mut self,
        after: Option<ProductId>,
        last: Option<ProductId>,
        condition: &Condition,
    ) -> Result<Vec<ProductView>, StorageError> {
        let filter = doc! { "$and": [between(after, last), predicate(condition)] };
        let collection = self.store.raw(products::COLLECTION);
        let find = collection
            .find(filter)
            .sort(doc! { "_id": 1 })
            .projection(projection(ProductFields::WithoutTopReviews))
            .hint(Hint::Name("_id_".to_owned()));
        let found = collect(find, &mut self.session).await?;
        found.into_iter().map(ProductView::new).collect()
    }

    /// Returns what the sources of these products say; products with one source have nothing.
    pub async fn contributions(
        &mut self,
        products: &[ProductId],
    ) -> Result<Vec<Contributions>, StorageError> {
        let collection = self.store.raw(contributions::COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": stored_ids(products.iter().copied()) } })
            .hint(Hint::Name("_id_".to_owned()));
        let found = collect(find, &mut self.session).await?;
        found.iter().map(contributions::read).collect()
    }

    /// Returns those of these products that match a condition.
    pub async fn matching(
        &mut self,
        ids: &[ProductId],
        condition: &Condition,
    ) -> Result<HashSet<ProductId>, StorageError> {
        let ids = doc! { "_id": { "$in": stored_ids(ids.iter().copied()) } };
        let collection = self.store.raw(products::COLLECTION);
        let find = collection
            .find(doc! { "$and": [ids, predicate(condition)] })
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let found = collect(find, &mut self.session).await?;
        let id = |doc: &RawDocumentBuf| Fields::of(products::COLLECTION, doc).id("_id");
        found
            .iter()
            .map(|doc| id(doc).map(ProductId::from_i64))
            .collect()
    }

    /// Begins to read the reviews of products, in the order of products and authors: all, or those
    /// with a status. Relies on the index `author`.
    pub async fn open_reviews(
        &mut self,
        products: &[ProductId],
        status: Option<ReviewStatus>,
    ) -> Result<(), StorageError> {
        let mut filter = doc! { "product_id": { "$in": stored_ids(products.iter().copied()) } };
        if let Some(status) = status {
            filter.insert("status", status.name());
        }
        let collection = self.store.raw(reviews::COLLECTION);
        let find = collection
            .find(filter)
            .sort(doc! { "product_id": 1, "by": 1 })
            .hint(Hint::Name("author".to_owned()));
        self.reviews = Some(find.session(&mut self.session).await?);
        Ok(())
    }

    /// Returns the next of these reviews, at most `max`; none at the end.
    pub async fn next_reviews(
        &mut self,
        max: usize,
        with_history: bool,
    ) -> Result<Vec<StoredReview>, StorageError> {
        let mut found = Vec::new();
        if let Some(cursor) = &mut self.reviews {
            while found.len() < max {
                let Some(doc) = cursor.next(&mut self.session).await else {
                    self.reviews = None;
                    break;
                };
                found.push(read_stored(&doc?)?);
            }
        }
        if with_history {
            self.add_histories(&mut found).await?;
        }
        Ok(found)
    }

    async fn add_histories(&mut self, found: &mut [StoredReview]) -> Result<(), StorageError> {
        let mut histories: HashMap<ReviewId, ReviewHistory> = HashMap::new();
        let those = |may_have: fn(&Review) -> bool| -> Vec<ReviewId> {
            let reviews = found.iter().map(|stored| &stored.review);
            let reviews = reviews.filter(|review| review.round > 0 || may_have(review));
            reviews.map(|review| review.id).collect()
        };
        let voted = those(|review| {
            review.helpful != review.imported_helpful
                || review.unhelpful != review.imported_unhelpful
        });
        let moderated = those(|review| review.reports > 0 || !review.decisions.is_empty());
        let edited = those(|review| review.edited_at.is_some());
        for doc in self.of_reviews(VOTES, "u", &voted).await? {
            let (review, vote) = read_vote(&Fields::of(VOTES, &doc))?;
            histories.entry(review).or_default().votes.push(vote);
        }
        for doc in self.of_reviews(REPORTS, "u", &moderated).await? {
            let fields = Fields::of(REPORTS, &doc);
            let review = ReviewId::from_i64(fields.doc("_id")?.id("r")?);
            let open = fields.bool("open")?;
            let report = read_report(fields)?;
            let report = StoredReport { report, open };
            histories.entry(review).or_default().reports.push(report);
        }
        for doc in self.of_reviews(VERSIONS, "n", &edited).await? {
            let fields = Fields::of(VERSIONS, &doc);
            let review = ReviewId::from_i64(fields.doc("_id")?.id("r")?);
            let author = fields.opt_string("author")?.map(AuthorId);
            let version = read_version(fields)?;
            let version = StoredVersion { version, author };
            histories.entry(review).or_default().versions.push(version);
        }
        for (review, decision) in self.decisions_on(&moderated).await? {
            histories
                .entry(review)
                .or_default()
                .decisions
                .push(decision);
        }
        for stored in found {
            stored.history = histories.remove(&stored.review.id).unwrap_or_default();
        }
        Ok(())
    }

    /// Returns the documents whose ids begin with one of these reviews, in the order of their ids.
    async fn of_reviews(
        &mut self,
        collection: &'static str,
        part: &str,
        reviews: &[ReviewId],
    ) -> Result<Vec<RawDocumentBuf>, StorageError> {
        if reviews.is_empty() {
            return Ok(Vec::new());
        }
        let ranges = reviews
            .iter()
            .map(|review| doc! { "_id": of_review(*review, part) });
        let filter = doc! { "$or": ranges.collect::<Vec<Document>>() };
        self.all(collection, filter).await
    }

    /// Returns the decisions on these reviews, oldest first. Relies on the index `review`.
    async fn decisions_on(
        &mut self,
        reviews: &[ReviewId],
    ) -> Result<Vec<(ReviewId, StoredDecision)>, StorageError> {
        if reviews.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Bson> = reviews.iter().map(|id| stored_id(id.to_i64())).collect();
        let filter = doc! { "review_id": { "$in": ids } };
        let collection = self.store.raw(DECISIONS);
        let find = collection
            .find(filter)
            .hint(Hint::Name("review".to_owned()));
        let found = collect(find, &mut self.session).await?;
        let read = |doc: &RawDocumentBuf| read_decision(&Fields::of(DECISIONS, doc));
        let mut decisions = found.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        decisions.sort_by_key(|(review, decision)| (*review, decision.decision.at, decision.id));
        Ok(decisions)
    }

    /// Returns the documents of a collection that match a filter, in the order of their ids.
    async fn all(
        &mut self,
        collection: &str,
        filter: Document,
    ) -> Result<Vec<RawDocumentBuf>, StorageError> {
        let collection = self.store.raw(collection);
        let find = collection
            .find(filter)
            .sort(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        collect(find, &mut self.session).await
    }

    async fn read_all<T>(
        &mut self,
        collection: &'static str,
        read: impl Fn(&Fields<'_>) -> Read<T>,
    ) -> Result<Vec<T>, StorageError> {
        let found = self.all(collection, Document::new()).await?;
        found
            .iter()
            .map(|doc| read(&Fields::of(collection, doc)))
            .collect()
    }
}

async fn collect(
    find: Find<'_, RawDocumentBuf>,
    session: &mut ClientSession,
) -> Result<Vec<RawDocumentBuf>, StorageError> {
    let mut cursor = find.session(&mut *session).await?;
    let mut found = Vec::new();
    while let Some(doc) = cursor.next(&mut *session).await {
        found.push(doc?);
    }
    Ok(found)
}

/// The filter of the products after one and up to another.
fn between(after: Option<ProductId>, last: Option<ProductId>) -> Document {
    let mut bounds = Document::new();
    if let Some(after) = after {
        bounds.insert("$gt", stored_id(after.to_i64()));
    }
    if let Some(last) = last {
        bounds.insert("$lte", stored_id(last.to_i64()));
    }
    if bounds.is_empty() {
        return Document::new();
    }
    doc! { "_id": bounds }
}

fn read_stored(doc: &RawDocumentBuf) -> Read<StoredReview> {
    let fields = Fields::of(reviews::COLLECTION, doc);
    let origin = fields.opt_doc("origin")?;
    let digest = origin
        .map(|origin| origin.opt_string("digest"))
        .transpose()?;
    Ok(StoredReview {
        review: reviews::read(doc)?,
        digest: digest.flatten(),
        erased: fields.opt_bool("erased")?.unwrap_or(false),
        history: ReviewHistory::default(),
    })
}

fn read_vote(fields: &Fields<'_>) -> Read<(ReviewId, StoredVote)> {
    let id = fields.doc("_id")?;
    let vote = Vote::named(fields.str("value")?);
    let round = i32::try_from(fields.i64("round")?);
    let vote = StoredVote {
        by: AuthorId(id.string("u")?),
        vote: vote.ok_or_else(|| fields.corrupt("value"))?,
        round: round.map_err(|_| fields.corrupt("round"))?,
        at: fields.date("at")?,
    };
    Ok((ReviewId::from_i64(id.id("r")?), vote))
}

fn read_decision(fields: &Fields<'_>) -> Read<(ReviewId, StoredDecision)> {
    let stored = StoredDecision {
        id: fields.id("_id")?,
        decision: review::read_decision(*fields)?,
        rating: stats::read_stars(fields, "rating")?,
    };
    Ok((ReviewId::from_i64(fields.id("review_id")?), stored))
}
