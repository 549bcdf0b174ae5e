//! The audit: reads everything back and compares derived data with its sources.
//!
//! Related collections are merge-joined in the order of one key, row by row. Memory holds the
//! current product with the counts of its reviews, but not the reviews; names, words and suppliers
//! of some products, which are looked up together; the categories and the dictionary, which every
//! process has in memory anyway; and at most [`MAX_DIFFERENCES`] differences.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::Cursor;
use mongodb::bson::raw::{RawBsonRef, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::Computed;
use vitrine_model::id::{CategoryId, ProductId, ReviewId, SupplierId};
use vitrine_model::product::{Details, Product, Source};
use vitrine_model::rating::Histogram;
use vitrine_model::review::{Review, ReviewStatus};
use vitrine_model::spec::{Dictionary, KeyUsage};
use vitrine_model::supplier::{Supplier, SupplierExtract};

use crate::contributions::{self, Contributions};
use crate::documents::product::{self as document, Encoding};
use crate::documents::{PRODUCT_VERSION, put, reference, stats};
use crate::names::{self, NAMES, NameOwner};
use crate::raw::{Fields, Read, stored_id};
use crate::reviewing::{PURCHASES, REPORTS, VOTES};
use crate::sorted_rows::SortedRows;
use crate::{StorageError, Store, products, ranks, reviews, schema};

/// The maximum number of differences that are described; the rest are only counted.
pub const MAX_DIFFERENCES: usize = 10_000;
/// How many names, words or suppliers are looked up together.
const LOOKUP_BATCH: usize = 1_000;
const MONTHS: &str = "rating_months";
const SUPPLIERS: &str = "suppliers";

/// The result of an audit.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// The differences; the first [`MAX_DIFFERENCES`].
    pub differences: Vec<Difference>,
    /// The number of differences beyond these.
    pub more: u64,
    /// The number of reviews to be folded; these are no differences.
    pub dirty_reviews: u64,
}

impl Audit {
    /// Returns the number of differences.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.more + self.differences.len() as u64
    }

    /// Adds a difference.
    pub fn push(&mut self, difference: Difference) {
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(difference);
        } else {
            self.more += 1;
        }
    }
}

impl Extend<Difference> for Audit {
    fn extend<I: IntoIterator<Item = Difference>>(&mut self, differences: I) {
        differences.into_iter().for_each(|one| self.push(one));
    }
}

/// A stored value that differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The collection and the id.
    pub place: String,
    /// The field or rule.
    pub what: String,
    /// The stored value.
    pub stored: String,
    /// The expected value.
    pub expected: String,
}

/// The reference data that products are compared with.
struct Reference {
    categories: HashSet<CategoryId>,
    dictionary: Dictionary,
}

impl Store {
    /// Compares all derived and copied data with its sources, and every document with its
    /// validator. Changes nothing.
    ///
    /// Fails when the database fails or a document cannot be decoded at all.
    pub async fn audit(
        &self,
        encoding: Encoding<'_>,
        now: Timestamp,
    ) -> Result<Audit, StorageError> {
        let mut found = Audit::default();
        self.audit_validators(&mut found).await?;
        self.audit_products(encoding, &mut found).await?;
        self.audit_reactions(&mut found).await?;
        found.extend(self.audit_buyers().await?);
        found.extend(self.audit_bundles().await?);
        self.audit_activity(now, &mut found).await?;
        Ok(found)
    }

    /// Audits products, their reviews and their months, all in the order of product ids.
    async fn audit_products(
        &self,
        encoding: Encoding<'_>,
        found: &mut Audit,
    ) -> Result<(), StorageError> {
        let reference = self.audit_reference().await?;
        let all =
            |collection: &'static str| self.sorted_cursor(collection, doc! { "_id": 1 }, "_id_");
        let by_product =
            self.sorted_cursor(reviews::COLLECTION, doc! { "product_id": 1 }, "author");
        let mut products = all(products::COLLECTION).await?;
        let mut reviews = SortedRows::new(by_product.await?, read_stored);
        let mut months = SortedRows::new(all(MONTHS).await?, read_month);
        let mut stale_ranks = SortedRows::new(all(ranks::COLLECTION).await?, ranks::read_row);
        let mut contributed =
            SortedRows::new(all(contributions::COLLECTION).await?, read_contributions);
        let mut lookups = Lookups::default();
        let mut names = 0;
        while let Some(doc) = products.try_next().await? {
            let mut product = ProductAudit::new(doc, encoding)?;
            let id = product.product.id;
            if stale_ranks.skip_past(&id).await? {
                product.ignore_stale_ranks();
            }
            while let Some((_, stored)) = reviews.before(&id).await? {
                found.push(orphan(&stored.review));
            }
            while let Some((product, month)) = months.before(&id).await? {
                found.extend(orphaned_month(product, &month));
            }
            names += self
                .audit_waiting(&mut contributed, Some(&id), &mut lookups, found)
                .await?;
            product.audit_sources(contributed.at(&id).await?.as_ref(), found);
            let mut recounted = Recounted::default();
            while let Some(stored) = reviews.at(&id).await? {
                recounted.add(&stored, found);
                lookups.add_review(&stored.review);
                self.look_up_some(&mut lookups, found).await?;
            }
            let latest = product.product.computed.stats.latest_month;
            let mut stored: BTreeMap<i32, Histogram> = latest.into_iter().collect();
            while let Some((month, histogram)) = months.at(&id).await? {
                stored.entry(month).or_default().change(&histogram, 1);
            }
            product.audit(&recounted, &stored, &reference, found);
            names += lookups.add(&product);
            self.look_up_some(&mut lookups, found).await?;
        }
        while let Some((_, stored)) = reviews.next().await? {
            found.push(orphan(&stored.review));
        }
        while let Some((product, month)) = months.next().await? {
            found.extend(orphaned_month(product, &month));
        }
        names += self
            .audit_waiting(&mut contributed, None, &mut lookups, found)
            .await?;
        self.look_up(lookups, found).await?;
        self.audit_name_count(names, found).await
    }

    async fn audit_reference(&self) -> Result<Reference, StorageError> {
        let categories = self.all_categories().await?;
        Ok(Reference {
            categories: categories.into_iter().map(|category| category.id).collect(),
            dictionary: Dictionary::new(self.all_spec_keys().await?),
        })
    }

    /// Finds names without a product: each product's own names were looked up before.
    async fn audit_name_count(&self, expected: u64, found: &mut Audit) -> Result<(), StorageError> {
        let stored = self.count_product_names().await?;
        if stored != expected {
            let (stored, expected) = (stored.to_string(), expected.to_string());
            found.push(difference(NAMES, "names of products", &stored, &expected));
        }
        Ok(())
    }

    async fn sorted_cursor(
        &self,
        collection: &str,
        sort: Document,
        index: &str,
    ) -> Result<Cursor<RawDocumentBuf>, StorageError> {
        let collection = self.raw(collection);
        let find = collection.find(Document::new()).sort(sort);
        Ok(find.hint(Hint::Name(index.to_owned())).await?)
    }

    async fn audit_validators(&self, found: &mut Audit) -> Result<(), StorageError> {
        for schema in schema::desired() {
            let invalid = doc! { "$nor": [schema.validator] };
            let collection = self.raw(&schema.collection);
            let find = collection.find(invalid).limit(10);
            let docs: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
            for doc in docs {
                let id = doc
                    .get("_id")
                    .ok()
                    .flatten()
                    .map_or_else(String::new, |id| format!("{id:?}"));
                let place = format!("{} {id}", schema.collection);
                found.push(difference(&place, "validator", "invalid", "valid"));
            }
        }
        Ok(())
    }

    /// Audits the products that wait, before one with this id, or all that are left. Returns the
    /// number of their names.
    async fn audit_waiting(
        &self,
        rows: &mut SortedRows<ProductId, Contributions>,
        before: Option<&ProductId>,
        lookups: &mut Lookups,
        found: &mut Audit,
    ) -> Result<u64, StorageError> {
        let mut names = 0;
        loop {
            let next = match before {
                Some(id) => rows.before(id).await?,
                None => rows.next().await?,
            };
            let Some((_, waiting)) = next else {
                return Ok(names);
            };
            names += lookups.add_waiting(&waiting, found);
            self.look_up_some(lookups, found).await?;
        }
    }

    /// Looks values up once there are enough of them.
    async fn look_up_some(
        &self,
        lookups: &mut Lookups,
        found: &mut Audit,
    ) -> Result<(), StorageError> {
        if lookups.is_full() {
            self.look_up(std::mem::take(lookups), found).await?;
        }
        Ok(())
    }

    /// Compares names of products, reviews and suppliers, and words, with their collections.
    async fn look_up(&self, lookups: Lookups, found: &mut Audit) -> Result<(), StorageError> {
        let names: Vec<String> = lookups.names.keys().cloned().collect();
        let owners = self.name_owners(&names).await?;
        for (name, expected) in &lookups.names {
            let stored = owners.get(name);
            if stored != Some(expected) {
                let (stored, expected) = (format!("{stored:?}"), format!("{expected:?}"));
                let place = format!("{NAMES} {name:?}");
                found.push(difference(&place, "owner", &stored, &expected));
            }
        }
        let words: Vec<&String> = lookups.words.keys().collect();
        let known: HashSet<String> = self.known_words(&words).await?.into_iter().collect();
        for (word, place) in &lookups.words {
            if !known.contains(word) {
                let stored = format!("{:?}", "lacks the word");
                found.push(difference(
                    place,
                    "vocabulary",
                    &stored,
                    &format!("{word:?}"),
                ));
            }
        }
        let ids = lookups.suppliers.iter();
        let ids: HashSet<SupplierId> = ids.map(|(_, extract)| extract.id).collect();
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let collection = self.raw(SUPPLIERS);
        let all = collection.find(doc! { "_id": { "$in": ids } });
        let all: Vec<RawDocumentBuf> = all.await?.try_collect().await?;
        let mut suppliers: HashMap<SupplierId, Supplier> = HashMap::new();
        for doc in &all {
            let supplier = reference::read_supplier(&Fields::of(SUPPLIERS, doc))?;
            suppliers.insert(supplier.id, supplier);
        }
        for (place, extract) in &lookups.suppliers {
            let supplier = suppliers.get(&extract.id);
            let current = supplier.is_some_and(|supplier| {
                extract.version < supplier.version
                    || (extract.version == supplier.version
                        && extract.name == supplier.name
                        && extract.country == supplier.country)
            });
            if !current {
                let (stored, expected) = (format!("{extract:?}"), format!("{supplier:?}"));
                found.push(difference(place, "supplier", &stored, &expected));
            }
        }
        Ok(())
    }

    /// Audits the counters of reviews: reviews, votes and reports in the order of review ids.
    async fn audit_reactions(&self, found: &mut Audit) -> Result<(), StorageError> {
        let by_id = doc! { "_id": 1 };
        let mut all = self
            .sorted_cursor(reviews::COLLECTION, by_id.clone(), "_id_")
            .await?;
        let all_votes = self.sorted_cursor(VOTES, by_id.clone(), "_id_").await?;
        let mut votes = SortedRows::new(all_votes, read_vote);
        let all_reports = self.sorted_cursor(REPORTS, by_id, "_id_").await?;
        let mut reports = SortedRows::new(all_reports, read_report);
        while let Some(doc) = all.try_next().await? {
            let review = reviews::read(&doc)?;
            // Those of deleted reviews are not counted.
            while votes.before(&review.id).await?.is_some() {}
            while reports.before(&review.id).await?.is_some() {}
            let mut counted = Reactions::default();
            while let Some((round, helpful)) = votes.at(&review.id).await? {
                if round == i64::from(review.round) {
                    counted.votes[usize::from(!helpful)] += 1;
                }
            }
            while let Some(open) = reports.at(&review.id).await? {
                counted.reports += i64::from(open);
            }
            counted.audit(&review, found);
        }
        Ok(())
    }

    /// Finds reviews by buyers that are not marked as verified. A purchase that is still to be
    /// rechecked may not have been matched with its review yet.
    async fn audit_buyers(&self) -> Result<Vec<Difference>, StorageError> {
        let own = doc! { "$expr": { "$and": [
            { "$eq": ["$product_id", "$$p"] },
            { "$eq": ["$author._id", "$$c"] },
        ] }, "verified": false };
        let pipeline = [
            doc! { "$match": { "recheck_at": { "$exists": false } } },
            doc! { "$lookup": {
                "from": reviews::COLLECTION,
                "let": { "p": "$_id.p", "c": "$_id.c" },
                "pipeline": [{ "$match": own }, { "$project": { "_id": 1 } }],
                "as": "unverified",
            } },
            doc! { "$match": { "unverified": { "$ne": [] } } },
            doc! { "$limit": 100 },
        ];
        let purchases = self.documents(PURCHASES);
        let found = purchases.aggregate(pipeline).await?;
        let found: Vec<Document> = found.try_collect().await?;
        let difference_of = |purchase: &Document| {
            let place = format!("purchases {:?}", purchase.get("_id"));
            difference(&place, "verified", "false", "true")
        };
        Ok(found.iter().map(difference_of).collect())
    }
}

/// Values of some products to look up in other collections.
#[derive(Default)]
struct Lookups {
    /// Each name and its owner.
    names: BTreeMap<String, NameOwner>,
    /// Each word, and a document that has it.
    words: BTreeMap<String, String>,
    suppliers: Vec<(String, SupplierExtract)>,
}

impl Lookups {
    /// Adds the values of a product; returns its number of names.
    fn add(&mut self, audited: &ProductAudit) -> u64 {
        let named = NameOwner {
            product: audited.product.id,
            review: None,
        };
        let names = names::of_product(&audited.product);
        let count = names.len() as u64;
        self.names
            .extend(names.into_iter().map(|name| (name, named)));
        let keywords = vitrine_model::derived::product_keywords(&audited.product);
        for word in vitrine_model::search::vocabulary(&keywords) {
            if !self.words.contains_key(word) {
                self.words.insert(word.to_owned(), audited.place.clone());
            }
        }
        if let Some(extract) = &audited.product.supplier {
            self.suppliers
                .push((audited.place.clone(), extract.clone()));
        }
        count
    }

    /// Adds the names of a product that does not exist yet; returns their number. Reports it if it
    /// does not wait.
    fn add_waiting(&mut self, waiting: &Contributions, found: &mut Audit) -> u64 {
        let place = place(contributions::COLLECTION, waiting.product);
        if waiting.waiting_sku.is_none() {
            found.push(difference(&place, "product", "none", "one that exists"));
            return 0;
        }
        let named = NameOwner {
            product: waiting.product,
            review: None,
        };
        let names = waiting.waiting_names();
        let count = names.len() as u64;
        self.names
            .extend(names.into_iter().map(|name| (name, named)));
        count
    }

    fn add_review(&mut self, review: &Review) {
        let name = names::of_review(review);
        self.names
            .extend(name.map(|name| (name, NameOwner::of(review))));
    }

    fn is_full(&self) -> bool {
        let sizes = [self.names.len(), self.words.len(), self.suppliers.len()];
        sizes.iter().any(|size| *size >= LOOKUP_BATCH)
    }
}

/// The votes and reports of a review.
#[derive(Default)]
struct Reactions {
    /// Helpful and unhelpful votes of the current round.
    votes: [i64; 2],
    /// Open reports.
    reports: i64,
}

impl Reactions {
    fn audit(&self, review: &Review, found: &mut Audit) {
        let place = format!("reviews {}", review.id);
        let mut compare = |what: &str, stored: i64, expected: i64| {
            if stored != expected {
                let (stored, expected) = (stored.to_string(), expected.to_string());
                found.push(difference(&place, what, &stored, &expected));
            }
        };
        let [helpful, unhelpful] = self.votes;
        compare("helpful", review.helpful, review.imported_helpful + helpful);
        compare(
            "unhelpful",
            review.unhelpful,
            review.imported_unhelpful + unhelpful,
        );
        if review.author.is_some() || self.reports != 0 {
            compare("reports", review.reports, self.reports);
        }
        // A deleted review keeps its reports, because it may be rewritten.
        let waits = review.status == ReviewStatus::Pending
            || (review.reports > 0 && review.status != ReviewStatus::Deleted);
        compare("queue", review.queued.is_some().into(), waits.into());
    }
}

/// A review with its own inconsistencies.
struct Stored {
    review: Review,
    /// The unique `by` field as stored and as expected, if they differ.
    by: Option<(String, String)>,
    /// Whether it is in the partial indexes of filtered lists.
    flagged: bool,
    /// The marks as stored and as expected, if they differ.
    marks: Option<(String, String)>,
}

fn read_stored(doc: &RawDocumentBuf) -> Read<(ProductId, Stored)> {
    let review = reviews::read(doc)?;
    let expected = crate::documents::review::traits(&review.traits());
    let fields = Fields::of(reviews::COLLECTION, doc);
    let marks = fields.items("marks", |mark| mark.as_str().map(Bson::from));
    let marks = marks.unwrap_or_default();
    let mut stored = Document::new();
    put(&mut stored, "traits", fields.opt_str("traits")?);
    put(&mut stored, "marks", (!marks.is_empty()).then_some(marks));
    let marks = (stored != expected).then(|| (stored.to_string(), expected.to_string()));
    let by = crate::documents::review::by(&review);
    let own = RawBsonRef::try_into(fields.get("by")?.unwrap_or(RawBsonRef::Null));
    let own: Bson = own.map_err(|_| fields.corrupt("by"))?;
    let by = (own != by).then(|| (own.to_string(), by.to_string()));
    let flagged = fields.opt_bool("many")?.unwrap_or(false);
    let stored = Stored {
        review,
        by,
        flagged,
        marks,
    };
    Ok((stored.review.product_id, stored))
}

fn read_contributions(doc: &RawDocumentBuf) -> Read<(ProductId, Contributions)> {
    let found = contributions::read(doc)?;
    Ok((found.product, found))
}

fn read_month(doc: &RawDocumentBuf) -> Read<(ProductId, (i32, Histogram))> {
    let fields = Fields::of(MONTHS, doc);
    let id = fields.doc("_id")?;
    let month = i32::try_from(id.i64("m")?).map_err(|_| fields.corrupt("_id.m"))?;
    let histogram = stats::read_histogram(&fields, "histogram")?;
    Ok((ProductId::from_i64(id.id("p")?), (month, histogram)))
}

/// Returns the review of a vote, its round, and whether the vote is helpful.
fn read_vote(doc: &RawDocumentBuf) -> Read<(ReviewId, (i64, bool))> {
    let fields = Fields::of(VOTES, doc);
    let review = ReviewId::from_i64(fields.doc("_id")?.id("r")?);
    let vote = (fields.i64("round")?, fields.str("value")? == "helpful");
    Ok((review, vote))
}

/// Returns the review of a report, and whether the report is open.
fn read_report(doc: &RawDocumentBuf) -> Read<(ReviewId, bool)> {
    let fields = Fields::of(REPORTS, doc);
    let review = ReviewId::from_i64(fields.doc("_id")?.id("r")?);
    Ok((review, fields.bool("open")?))
}

/// The numbers recounted from the reviews of a product. Dirty reviews count with what they record
/// as counted.
#[derive(Default)]
struct Recounted {
    computed: Computed,
    months: BTreeMap<i32, Histogram>,
    /// The number of dirty reviews.
    dirty: u64,
    /// The number of counted reviews that are not in the partial indexes of filtered lists.
    unflagged: u64,
}

impl Recounted {
    fn add(&mut self, stored: &Stored, found: &mut Audit) {
        let review = &stored.review;
        let place = || format!("reviews {}", review.id);
        if let Some((stored, expected)) = &stored.marks {
            found.push(difference(&place(), "marks", stored, expected));
        }
        if let Some((stored, expected)) = &stored.by {
            found.push(difference(&place(), "by", stored, expected));
        }
        self.unflagged += u64::from(!stored.flagged && review.applied.is_some());
        let contribution = stored.review.contribution();
        let counted = if review.dirty {
            self.dirty += 1;
            found.dirty_reviews += 1;
            &review.applied
        } else {
            if review.applied != contribution {
                let (stored, expected) = (&review.applied, &contribution);
                let (stored, expected) = (format!("{stored:?}"), format!("{expected:?}"));
                found.push(difference(&place(), "applied", &stored, &expected));
            }
            &contribution
        };
        if let Some(month) = self.computed.recount(review, counted.as_ref())
            && let Some(counted) = counted
        {
            self.months.entry(month).or_default().add(counted.rating);
        }
    }
}

/// A product as stored and as this release would encode it.
struct ProductAudit {
    place: String,
    product: Product,
    stored: Document,
    written: Document,
    /// Whether a newer release wrote it; its fields are not compared then.
    newer: bool,
}

impl ProductAudit {
    fn new(doc: RawDocumentBuf, encoding: Encoding<'_>) -> Result<Self, StorageError> {
        let mut stored = Document::try_from(&doc).map_err(|_| StorageError::Corrupt {
            collection: products::COLLECTION,
            id: String::new(),
            field: "document".to_owned(),
        })?;
        let raw = doc.clone();
        let product = crate::views::ProductView::new(doc)?.product()?;
        let newer = products::not_newer(&raw).is_err();
        let written = document::document(&product, encoding);
        settle_version(&mut stored, &written);
        Ok(Self {
            place: place(products::COLLECTION, product.id),
            product,
            stored,
            written,
            newer,
        })
    }

    /// Treats the ranks as correct: they are marked as stale.
    fn ignore_stale_ranks(&mut self) {
        let interest = self.product.activity.interest();
        stats::ignore_stale_ranks(&mut self.stored, &self.product.computed.stats, interest);
    }

    /// What the sources say is stored, with the same sources, if it does not follow from the product.
    fn audit_sources(&self, stored: Option<&Contributions>, found: &mut Audit) {
        let sources = &self.product.sources;
        let Some(stored) = stored else {
            if self.product.has_contributions() {
                self.differs(found, "contributions", &"none", sources);
            }
            return;
        };
        if !self.product.has_contributions() {
            self.differs(found, "contributions", &stored.all.len(), &"none");
        }
        let said: Vec<&Source> = stored.all.iter().map(|one| &one.source).collect();
        if !said.iter().copied().eq(sources) {
            self.differs(found, "sources of contributions", &said, sources);
        }
        if let Some(sku) = &stored.waiting_sku {
            self.differs(found, "contributions wait for", sku, &"nothing");
        }
    }

    fn audit(
        &self,
        recounted: &Recounted,
        months: &BTreeMap<i32, Histogram>,
        reference: &Reference,
        found: &mut Audit,
    ) {
        self.audit_fields(found);
        self.audit_computed(recounted, found);
        self.audit_months(&recounted.months, months, found);
        self.audit_references(reference, found);
    }

    /// Encoding the decoded product must result in the stored document: derived fields, canonical
    /// numbers, ranks.
    fn audit_fields(&self, found: &mut Audit) {
        let fields: HashSet<&String> = self.stored.keys().chain(self.written.keys()).collect();
        for field in fields.into_iter().filter(|_| !self.newer) {
            let (stored, written) = (self.stored.get(field), self.written.get(field));
            if stored != written {
                self.differs(found, field, &stored, &written);
            }
        }
        if let Details::Bundle(bundle) = &self.product.details
            && bundle.price() != self.product.price
        {
            self.differs(
                found,
                "price of a bundle",
                &self.product.price,
                &bundle.price(),
            );
        }
    }

    fn audit_computed(&self, recounted: &Recounted, found: &mut Audit) {
        let (stored, expected) = (&self.product.computed, &recounted.computed);
        let (a, b) = (&stored.stats, &expected.stats);
        if a.histogram != b.histogram
            || a.recommended != b.recommended
            || a.dimensions != b.dimensions
            || a.traits != b.traits
        {
            self.differs(found, "stats", a, b);
        }
        // It is not recorded which dirty reviews are in the list already.
        if recounted.dirty == 0 && stored.top_reviews != expected.top_reviews {
            self.differs(
                found,
                "top_reviews",
                &stored.top_reviews,
                &expected.top_reviews,
            );
        }
        let many = self.product.outlier.many;
        if expected.is_many() && !many {
            self.differs(found, "outlier.many", &many, &true);
        }
        if many && recounted.unflagged > 0 {
            let what = "counted reviews that filtered lists do not find";
            self.differs(found, what, &recounted.unflagged, &0);
        }
        if self.product.outlier.large != expected.is_large() {
            self.differs(
                found,
                "outlier.large",
                &self.product.outlier.large,
                &expected.is_large(),
            );
        }
    }

    fn audit_months(
        &self,
        expected: &BTreeMap<i32, Histogram>,
        stored: &BTreeMap<i32, Histogram>,
        found: &mut Audit,
    ) {
        let counted: BTreeMap<i32, Histogram> = stored
            .iter()
            .filter(|(_, h)| **h != Histogram::default())
            .map(|(m, h)| (*m, *h))
            .collect();
        if counted != *expected {
            self.differs(found, "rating_months", &counted, expected);
        }
    }

    fn audit_references(&self, reference: &Reference, found: &mut Audit) {
        if !reference.categories.contains(&self.product.category) {
            self.differs(
                found,
                "category",
                &self.product.category,
                &"one that exists",
            );
        }
        let usage = KeyUsage::by(self.product.status);
        for spec in &self.product.specs {
            let key = reference.dictionary.get(&spec.key);
            let fits = key.is_some_and(|key| {
                let named = key.key == spec.key || key.absorbing.contains(&spec.key);
                let value_type = spec.value.value_type();
                let typed = key.value_type == value_type || key.earlier_type == Some(value_type);
                named && key.usage >= usage && typed
            });
            if !fits {
                self.differs(found, "spec key", &spec.key, &key);
            }
        }
    }

    fn differs(
        &self,
        found: &mut Audit,
        what: &str,
        stored: &dyn std::fmt::Debug,
        expected: &dyn std::fmt::Debug,
    ) {
        found.push(difference(
            &self.place,
            what,
            &format!("{stored:?}"),
            &format!("{expected:?}"),
        ));
    }
}

/// Treats a product of an older version as one of the newest: an upgrade adds the missing fields.
fn settle_version(stored: &mut Document, expected: &Document) {
    if !products::is_older(stored) {
        return;
    }
    stored.insert("schema_version", PRODUCT_VERSION);
    for (field, value) in expected {
        if !stored.contains_key(field) {
            stored.insert(field, value.clone());
        }
    }
}

fn orphaned_month(product: ProductId, (month, histogram): &(i32, Histogram)) -> Option<Difference> {
    let what = format!("product of month {month}");
    let place = place(MONTHS, product);
    (histogram.count() != 0).then(|| difference(&place, &what, "none", "one that exists"))
}

fn orphan(review: &Review) -> Difference {
    difference(
        &format!("reviews {}", review.id),
        "product_id",
        &review.product_id.to_string(),
        "a product",
    )
}

fn place(collection: &str, id: ProductId) -> String {
    format!("{collection} {id} ({})", stored_id(id.to_i64()))
}

fn difference(place: &str, what: &str, stored: &str, expected: &str) -> Difference {
    Difference {
        place: place.to_owned(),
        what: what.to_owned(),
        stored: stored.to_owned(),
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Audit, Difference, MAX_DIFFERENCES};

    #[test]
    fn an_audit_describes_a_limited_number_of_differences_and_counts_all() {
        let difference = |n: usize| Difference {
            place: format!("products {n}"),
            what: "stats".to_owned(),
            stored: "1".to_owned(),
            expected: "2".to_owned(),
        };
        let mut audit = Audit::default();
        audit.extend((0..MAX_DIFFERENCES + 3).map(difference));
        assert_eq!((audit.differences.len(), audit.more), (10_000, 3));
        assert_eq!(audit.count(), 10_003);
    }
}
