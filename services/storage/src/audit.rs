//! The audit: everything is read back and compared with what it should be.
//!
//! Products and reviews are read side by side in the order of product ids, so that memory is
//! bounded by the reviews of one product.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::Cursor;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::{Computed, recount_as};
use vitrine_model::id::{CategoryId, ProductId, ReviewId, SupplierId};
use vitrine_model::product::{Details, Product};
use vitrine_model::rating::Histogram;
use vitrine_model::review::{Applied, Review, ReviewStatus, Traits};
use vitrine_model::spec::Dictionary;
use vitrine_model::supplier::Supplier;

use crate::documents::product::{self as document, Encoding};
use crate::documents::{PRODUCT_VERSION, put, reference, stats};
use crate::raw::{Fields, date, uuid};
use crate::reviewing::{PURCHASES, REPORTS, VOTES};
use crate::{StorageError, Store, products, reviews, schema};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where: collection and id.
    pub place: String,
    /// Which field or rule.
    pub what: String,
    /// What is stored.
    pub stored: String,
    /// What should be.
    pub expected: String,
}

/// What everything is compared with.
struct Reference {
    categories: HashSet<CategoryId>,
    suppliers: HashMap<SupplierId, Supplier>,
    dictionary: Dictionary,
    words: HashSet<String>,
    marks: Marks,
    months: HashMap<ProductId, BTreeMap<i32, Histogram>>,
}

impl Store {
    /// Compares everything computed or copied with where it comes from, and every document with
    /// its validator. Gives what differs; nothing is changed.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails or a document cannot be read at all.
    pub async fn audit(
        &self,
        encoding: Encoding<'_>,
        now: Timestamp,
    ) -> Result<Vec<Difference>, StorageError> {
        let mut found = self.audit_validators().await?;
        let mut reference = self.audit_reference().await?;
        let mut products = self
            .in_order(products::COLLECTION, doc! { "_id": 1 }, "_id_")
            .await?;
        let mut reviews = ReviewGroups::new(
            self.in_order(
                reviews::COLLECTION,
                doc! { "product_id": 1 },
                "recount_traits",
            )
            .await?,
        );
        while let Some(doc) = products.try_next().await? {
            let product = ProductAudit::new(doc, encoding)?;
            let own = reviews.of(product.product.id, &mut found).await?;
            product.audit(&own, &mut reference, &mut found);
        }
        reviews.rest(&mut found).await?;
        found.extend(self.audit_buyers().await?);
        found.extend(self.audit_bundles().await?);
        found.extend(self.audit_activity(now).await?);
        for (product, months) in reference.months {
            if months.values().any(|histogram| histogram.count() != 0) {
                found.push(difference(
                    &place("rating_months", product),
                    "product",
                    "none",
                    "some",
                ));
            }
        }
        Ok(found)
    }

    async fn in_order(
        &self,
        collection: &str,
        sort: Document,
        index: &str,
    ) -> Result<Cursor<RawDocumentBuf>, StorageError> {
        let collection = self.raw(collection);
        let find = collection.find(Document::new()).sort(sort);
        Ok(find.hint(Hint::Name(index.to_owned())).await?)
    }

    async fn audit_validators(&self) -> Result<Vec<Difference>, StorageError> {
        let mut found = Vec::new();
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
        Ok(found)
    }

    async fn audit_reference(&self) -> Result<Reference, StorageError> {
        let categories = self.all_categories().await?;
        let suppliers = self.read_all("suppliers", reference::read_supplier).await?;
        Ok(Reference {
            categories: categories.into_iter().map(|category| category.id).collect(),
            suppliers: suppliers
                .into_iter()
                .map(|supplier| (supplier.id, supplier))
                .collect(),
            dictionary: Dictionary::new(self.all_spec_keys().await?),
            words: self.all_words().await?,
            marks: self.audit_marks().await?,
            months: self.audit_months().await?,
        })
    }

    async fn audit_marks(&self) -> Result<Marks, StorageError> {
        let mut marks = Marks::default();
        let mut cursor = self.raw(VOTES).find(Document::new()).await?;
        while let Some(doc) = cursor.try_next().await? {
            let fields = Fields::of(VOTES, &doc);
            let review = ReviewId::from_bytes(fields.doc("_id")?.id("r")?);
            let counts = marks.votes.entry((review, fields.i64("round")?));
            let unhelpful = fields.str("value")? != "helpful";
            counts.or_default()[usize::from(unhelpful)] += 1;
        }
        let mut cursor = self.raw(REPORTS).find(doc! { "open": true }).await?;
        while let Some(doc) = cursor.try_next().await? {
            let review = Fields::of(REPORTS, &doc).doc("_id")?.id("r")?;
            *marks
                .reports
                .entry(ReviewId::from_bytes(review))
                .or_default() += 1;
        }
        Ok(marks)
    }

    /// Reviews by buyers that do not say so. A purchase that is looked at again later may not have
    /// found its review yet.
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
        let told = |purchase: &Document| {
            let place = format!("purchases {:?}", purchase.get("_id"));
            difference(&place, "verified", "false", "true")
        };
        Ok(found.iter().map(told).collect())
    }

    async fn audit_months(
        &self,
    ) -> Result<HashMap<ProductId, BTreeMap<i32, Histogram>>, StorageError> {
        let mut all: HashMap<ProductId, BTreeMap<i32, Histogram>> = HashMap::new();
        let mut cursor = self.raw("rating_months").find(Document::new()).await?;
        while let Some(doc) = cursor.try_next().await? {
            let fields = Fields::of("rating_months", &doc);
            let id = fields.doc("_id")?;
            let month = i32::try_from(id.i64("m")?).map_err(|_| fields.corrupt("_id.m"))?;
            let histogram = stats::read_histogram(&fields, "histogram")?;
            let product = ProductId::from_bytes(id.id("p")?);
            all.entry(product).or_default().insert(month, histogram);
        }
        Ok(all)
    }
}

/// What others say of reviews, counted.
#[derive(Default)]
struct Marks {
    /// Helpful and unhelpful votes by review and round.
    votes: HashMap<(ReviewId, i64), [i64; 2]>,
    /// Open reports by review.
    reports: HashMap<ReviewId, i64>,
}

impl Marks {
    fn audit(&self, review: &Review, found: &mut Vec<Difference>) {
        let place = format!("reviews {}", review.id);
        let mut compare = |what: &str, stored: i64, expected: i64| {
            if stored != expected {
                let (stored, expected) = (stored.to_string(), expected.to_string());
                found.push(difference(&place, what, &stored, &expected));
            }
        };
        let round = (review.id, i64::from(review.round));
        let [helpful, unhelpful] = self.votes.get(&round).copied().unwrap_or_default();
        compare("helpful", review.helpful, review.imported_helpful + helpful);
        compare(
            "unhelpful",
            review.unhelpful,
            review.imported_unhelpful + unhelpful,
        );
        let reports = self.reports.get(&review.id).copied().unwrap_or_default();
        if review.author.is_some() || reports != 0 {
            compare("reports", review.reports, reports);
        }
        // Reports of a deleted review wait with it: it may be written anew.
        let waits = review.status == ReviewStatus::Pending
            || (review.reports > 0 && review.status != ReviewStatus::Deleted);
        compare("queue", review.queued.is_some().into(), waits.into());
    }
}

/// The reviews of one product after the other.
struct ReviewGroups {
    cursor: Cursor<RawDocumentBuf>,
    ahead: Option<Stored>,
}

/// A review, and whether it is of a version that does not know traits.
struct Stored {
    review: Review,
    older: bool,
}

impl Stored {
    /// What its product should count of it.
    fn contribution(&self) -> Option<Applied> {
        let mut counted = self.review.contribution()?;
        if self.older {
            counted.traits = Traits::default();
        }
        Some(counted)
    }
}

impl ReviewGroups {
    const fn new(cursor: Cursor<RawDocumentBuf>) -> Self {
        Self {
            cursor,
            ahead: None,
        }
    }

    /// All reviews of this product; reviews of products before it have none to belong to.
    async fn of(
        &mut self,
        product: ProductId,
        found: &mut Vec<Difference>,
    ) -> Result<Vec<Stored>, StorageError> {
        let mut own = Vec::new();
        while let Some(stored) = self.next(found).await? {
            if stored.review.product_id > product {
                self.ahead = Some(stored);
                break;
            }
            if stored.review.product_id == product {
                own.push(stored);
            } else {
                found.push(orphan(&stored.review));
            }
        }
        Ok(own)
    }

    async fn rest(&mut self, found: &mut Vec<Difference>) -> Result<(), StorageError> {
        while let Some(stored) = self.next(found).await? {
            found.push(orphan(&stored.review));
        }
        Ok(())
    }

    async fn next(&mut self, found: &mut Vec<Difference>) -> Result<Option<Stored>, StorageError> {
        if let Some(stored) = self.ahead.take() {
            return Ok(Some(stored));
        }
        let Some(doc) = self.cursor.try_next().await? else {
            return Ok(None);
        };
        let review = reviews::read(&doc)?;
        if reviews::is_older(&doc)? {
            return Ok(Some(Stored {
                review,
                older: true,
            }));
        }
        let expected = crate::documents::review::traits(&review.traits());
        let fields = Fields::of(reviews::COLLECTION, &doc);
        let marks = fields.items("marks", |mark| mark.as_str().map(Bson::from));
        let mut stored = Document::new();
        put(&mut stored, "traits", fields.opt_str("traits")?);
        let marks = marks.unwrap_or_default();
        put(&mut stored, "marks", (!marks.is_empty()).then_some(marks));
        if stored != expected {
            let place = format!("reviews {}", review.id);
            let (stored, expected) = (stored.to_string(), expected.to_string());
            found.push(difference(&place, "marks", &stored, &expected));
        }
        Ok(Some(Stored {
            review,
            older: false,
        }))
    }
}

/// One product as stored and as it would be written now.
struct ProductAudit {
    place: String,
    product: Product,
    stored: Document,
    written: Document,
    /// A newer release knows better what is to stand in it.
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
        let interest = product.standing.interest();
        stats::settle_popularity(&mut stored, &product.computed.stats, interest);
        let newer = products::not_newer(&raw).is_err();
        settle_version(&mut stored, &product);
        let written = document::document(&product, encoding);
        Ok(Self {
            place: place(products::COLLECTION, product.id),
            product,
            stored,
            written,
            newer,
        })
    }

    fn audit(&self, reviews: &[Stored], reference: &mut Reference, found: &mut Vec<Difference>) {
        self.audit_fields(found);
        let counted = reviews
            .iter()
            .map(|stored| (&stored.review, stored.contribution()));
        self.audit_computed(&recount_as(counted), found);
        Self::audit_counted(reviews, found);
        for stored in reviews {
            reference.marks.audit(&stored.review, found);
        }
        let months = reference
            .months
            .remove(&self.product.id)
            .unwrap_or_default();
        self.audit_months(reviews, &months, found);
        self.audit_references(reference, found);
    }

    /// Writing what was read must give what is stored: derived fields, canonical numbers, ranks.
    fn audit_fields(&self, found: &mut Vec<Difference>) {
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

    fn audit_computed(&self, expected: &Computed, found: &mut Vec<Difference>) {
        let stored = &self.product.computed;
        let (a, b) = (&stored.stats, &expected.stats);
        if a.histogram != b.histogram
            || a.recommended != b.recommended
            || a.dimensions != b.dimensions
            || a.traits != b.traits
        {
            self.differs(found, "stats", a, b);
        }
        if stored.top_reviews != expected.top_reviews {
            self.differs(
                found,
                "top_reviews",
                &stored.top_reviews,
                &expected.top_reviews,
            );
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

    fn audit_counted(reviews: &[Stored], found: &mut Vec<Difference>) {
        for own in reviews {
            let review = &own.review;
            let place = format!("reviews {}", review.id);
            if review.dirty {
                found.push(difference(&place, "dirty", "true", "absent"));
            } else if review.applied != own.contribution() {
                let (stored, expected) = (&review.applied, own.contribution());
                found.push(difference(
                    &place,
                    "applied",
                    &format!("{stored:?}"),
                    &format!("{expected:?}"),
                ));
            }
        }
    }

    fn audit_months(
        &self,
        reviews: &[Stored],
        stored: &BTreeMap<i32, Histogram>,
        found: &mut Vec<Difference>,
    ) {
        let mut expected: BTreeMap<i32, Histogram> = BTreeMap::new();
        let published = reviews
            .iter()
            .map(|stored| &stored.review)
            .filter(|review| review.status == ReviewStatus::Published);
        for (review, at) in published.filter_map(|review| Some((review, review.created_at?))) {
            expected.entry(at.month()).or_default().add(review.rating);
        }
        let counted: BTreeMap<i32, Histogram> = stored
            .iter()
            .filter(|(_, h)| **h != Histogram::default())
            .map(|(m, h)| (*m, *h))
            .collect();
        if counted != expected {
            self.differs(found, "rating_months", &counted, &expected);
        }
    }

    fn audit_references(&self, reference: &Reference, found: &mut Vec<Difference>) {
        if !reference.categories.contains(&self.product.category) {
            self.differs(
                found,
                "category",
                &self.product.category,
                &"one that exists",
            );
        }
        for spec in &self.product.specs {
            let key = reference.dictionary.get(&spec.key);
            let fits = key.is_some_and(|key| {
                let named = key.key == spec.key || key.absorbing.contains(&spec.key);
                named && key.used && key.value_type == spec.value.value_type()
            });
            if !fits {
                self.differs(found, "spec key", &spec.key, &key);
            }
        }
        let keywords = vitrine_model::derived::product_keywords(&self.product);
        for word in vitrine_model::search::vocabulary(&keywords) {
            if !reference.words.contains(word) {
                self.differs(found, "vocabulary", &"lacks the word", &word);
            }
        }
        let Some(extract) = &self.product.supplier else {
            return;
        };
        let supplier = reference.suppliers.get(&extract.id);
        let current = supplier.is_some_and(|supplier| {
            extract.version < supplier.version
                || (extract.version == supplier.version
                    && extract.name == supplier.name
                    && extract.country == supplier.country)
        });
        if !current {
            self.differs(found, "supplier", extract, &supplier);
        }
    }

    fn differs(
        &self,
        found: &mut Vec<Difference>,
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

/// Reads a product of an older version, or one that was listed by a release which knows only that,
/// as if it had been brought to the newest.
fn settle_version(stored: &mut Document, product: &Product) {
    if !stored.contains_key("listed_at") {
        put(stored, "listed_at", product.listed_at.map(date));
    }
    if products::is_older(stored) {
        stored.insert("schema_version", PRODUCT_VERSION);
    }
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
    format!("{collection} {id} ({})", uuid(id.to_bytes()))
}

fn difference(place: &str, what: &str, stored: &str, expected: &str) -> Difference {
    Difference {
        place: place.to_owned(),
        what: what.to_owned(),
        stored: stored.to_owned(),
        expected: expected.to_owned(),
    }
}
