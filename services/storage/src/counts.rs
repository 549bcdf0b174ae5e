//! Facet counts, and precomputed counts.
//!
//! A tally reads the products that match a condition once and counts everything in one pass. The
//! counts of a whole category are stored with the generation that the category had before the
//! tally. Every write of a product by admins, imports and workers increases the generation in its
//! own transaction, so equal generations mean that nothing has changed since. Only data computed
//! from reviews changes without it.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{Hint, ReadConcern};
use tokio::task::coop::consume_budget;
use vitrine_model::clock::Timestamp;
use vitrine_model::derived::SLOTS;
use vitrine_model::facet::{FacetTally, TallyProduct};
use vitrine_model::filter::{AccessPath, Condition};
use vitrine_model::id::CategoryId;
use vitrine_model::product::ProductStatus;

use crate::documents::REFERENCE_VERSION;
use crate::keyset::all_of;
use crate::products::COLLECTION;
use crate::raw::{Elements, Fields, Read, date, number, stored_id};
use crate::{StorageError, Store, products_query};

pub(crate) const PANELS: &str = "facet_panels";
const COVERAGE: &str = "key_coverage";
pub(crate) const GENERATIONS: &str = "category_generations";
/// The maximum number of products that are searched for unknown tokens.
const MAX_OTHERS: i64 = 100;
/// The number of products from which on a count is cached.
const COMMON_FROM: u64 = 1_000;
/// The batch size of the cursor. The driver copies a reply while it reads it: larger batches save a
/// command or two, and each request under way takes megabytes more.
const BATCH: u32 = 1_000;

/// Which products to tally, and how.
#[derive(Clone, Debug)]
pub struct TallyRequest {
    /// Which products.
    pub condition: Condition,
    /// A sample: only products in the slots from the first to before the second, one percent each.
    /// Found by the slots of tokens if the condition has some, otherwise by those of categories,
    /// which it must have then.
    pub slots: Option<(u8, u8)>,
    /// The maximum number of products; the tally is abandoned when there are more.
    pub max: u64,
    /// The server's time limit; that of the store when absent.
    pub max_time: Option<std::time::Duration>,
    /// Aliases of spec keys, with the keys that they stand for.
    pub renamed: HashMap<String, String>,
}

/// An upper bound of the number of products that match a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The bound; one more than the limit means that it is unknown.
    pub products: u64,
    /// Whether the bound is also the number of products that have to be read to find them all: it
    /// is the exact count, or the count of a token or word that limits the scan.
    pub decides: bool,
    /// Whether an exact count reads the index entries of all products of the condition's categories.
    pub counts_by_scanning: bool,
    max: u32,
    by: Option<BoundSource>,
}

/// The part of a condition that the bound comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundSource {
    Word(usize),
    Other,
}

impl Bound {
    /// Returns whether even the rarest part of the condition exceeds the limit.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.products > u64::from(self.max)
    }

    /// Returns how many products are read where the bound is exceeded: half the limit, because each
    /// product costs the server twice as much then.
    #[must_use]
    pub const fn looked_through(&self) -> u32 {
        self.max / 2
    }

    /// Returns the condition with its words in the form that reads least: where the bound is
    /// exceeded, it matches only the most popular products with the first word.
    #[must_use]
    pub fn lead(&self, condition: Condition) -> Condition {
        match condition {
            Condition::All(parts) => {
                Condition::All(parts.into_iter().map(|part| self.lead(part)).collect())
            }
            Condition::Words(mut words) => {
                words.access_path = match self.by {
                    Some(BoundSource::Other) => AccessPath::OtherConditions,
                    Some(BoundSource::Word(_)) => AccessPath::FirstWord,
                    None => AccessPath::Popular(self.looked_through()),
                };
                if let Some(BoundSource::Word(at)) = self.by
                    && at < words.each.len()
                {
                    words.each[..=at].rotate_right(1);
                }
                Condition::Words(words)
            }
            other => other,
        }
    }
}

/// A precomputed count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountSnapshot {
    /// The generation of the data before the count.
    pub generation: String,
    /// When it was counted.
    pub as_of: Timestamp,
    /// The counts, in the caller's own encoding.
    pub counted: String,
    /// The number of products counted.
    pub products: i64,
}

/// The age of a panel, without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelSummary {
    /// The generation of the data before the count.
    pub generation: String,
    /// When it was counted.
    pub as_of: Timestamp,
}

impl Store {
    /// Tallies products, as a majority has them: the counts may be stored with a generation, and what is rolled back
    /// was never of that generation. `None` when there are more than the request allows. One command, and more
    /// where the result is large.
    pub async fn tally(
        &self,
        request: TallyRequest,
        mut tally: FacetTally,
    ) -> Result<Option<FacetTally>, StorageError> {
        let mut parts = vec![products_query::predicate(&request.condition)];
        if let Some((first, end)) = request.slots {
            parts.push(doc! { "slot": { "$gte": i32::from(first), "$lt": i32::from(end) } });
        }
        let index = if request.slots.is_some() {
            products_query::slot_index(&request.condition)
        } else {
            products_query::count_index(&request.condition)
        };
        let limit = i64::try_from(request.max.saturating_add(1)).unwrap_or(i64::MAX);
        let hint = Hint::Name(index.to_owned());
        let max_time = request.max_time.unwrap_or(self.max_time);
        let collection = self.raw(COLLECTION);
        let mut cursor = match products_query::window(&request.condition) {
            Some(mut pipeline) if request.slots.is_none() => {
                pipeline.extend([
                    doc! { "$match": all_of(parts) },
                    doc! { "$limit": limit },
                    doc! { "$project": counted_fields() },
                ]);
                let aggregate = collection.aggregate(pipeline).hint(hint);
                let aggregate = aggregate.batch_size(BATCH).max_time(max_time);
                let aggregate = aggregate.read_concern(ReadConcern::majority());
                aggregate.await?.with_type::<RawDocumentBuf>()
            }
            _ => {
                let find = collection.find(all_of(parts)).hint(hint).limit(limit);
                let find = find.projection(counted_fields()).batch_size(BATCH);
                let find = find.read_concern(ReadConcern::majority());
                find.max_time(max_time).await?
            }
        };
        let mut seen = 0;
        while cursor.advance().await? {
            seen += 1;
            if seen > request.max {
                return Ok(None);
            }
            count(cursor.current(), &request.renamed, &mut tally)?;
            // A batch is thousands of products: other requests have their turn in between.
            consume_budget().await;
        }
        Ok(Some(tally))
    }

    /// Returns an upper bound of the number of products that match a condition, counted up to
    /// `max + 1`. Uses indexes alone, without reading a product (except for numeric ranges combined
    /// with words). One command for each word of a search, and at most four more, sequentially.
    pub async fn bound(&self, condition: &Condition, max: u32) -> Result<Bound, StorageError> {
        let covered = products_query::covered(condition);
        let mut bound = Bound {
            products: u64::from(max) + 1,
            decides: covered.whole || covered.bounds,
            counts_by_scanning: products_query::counts_by_scanning(condition),
            max,
            by: None,
        };
        for part in &covered.parts {
            let products = if part.word.is_some() || !bound.decides {
                self.count_common(&part.condition, u64::from(max) + 1)
                    .await?
            } else {
                self.count_products(&part.condition, bound.products).await?
            };
            if products < bound.products {
                bound.products = products;
                bound.by = Some(part.word.map_or(BoundSource::Other, BoundSource::Word));
            }
        }
        Ok(bound)
    }

    /// Counts the products that match a part of a condition, up to `max`. A large count is cached for
    /// a minute: it decides what is read and how, not what is found.
    pub(crate) async fn count_common(
        &self,
        part: &Condition,
        max: u64,
    ) -> Result<u64, StorageError> {
        let name = format!("{max} {}", products_query::predicate(part));
        if let Some(known) = self.common_counts.get(&name) {
            return Ok(known);
        }
        let products = self.count_products(part, max).await?;
        if products >= COMMON_FROM {
            self.common_counts.insert(name, products);
        }
        Ok(products)
    }

    /// Returns between which numbers the number of products that match a condition with categories
    /// most probably lies: within three standard deviations of what the first `slots` slots have. One
    /// command.
    pub async fn estimate_products(
        &self,
        condition: &Condition,
        slots: u8,
    ) -> Result<RangeInclusive<u64>, StorageError> {
        let in_slots = doc! { "slot": { "$lt": i32::from(slots) } };
        let filter = all_of(vec![products_query::predicate(condition), in_slots]);
        let index = products_query::slot_index(condition);
        let collection = self.documents(COLLECTION);
        let count = collection
            .count_documents(filter)
            .hint(Hint::Name(index.to_owned()));
        let found = count.max_time(self.max_time).await?;
        let margin = 3 * (found.isqrt() + 1);
        let estimate = |found: u64| found * u64::from(SLOTS) / u64::from(slots);
        Ok(estimate(found.saturating_sub(margin))..=estimate(found + margin))
    }

    /// Returns the maximum number of products that a sample reads per slot: those with the most
    /// common of the tokens that it may use, or without tokens those of the categories in the
    /// condition. At most four commands, each of which reads the keys of one slot.
    pub async fn max_reads_per_slot(&self, condition: &Condition) -> Result<u64, StorageError> {
        let mut max = 0;
        let (index, parts) = products_query::slot_parts(condition);
        for part in parts {
            let filter = all_of(vec![products_query::predicate(&part), doc! { "slot": 0 }]);
            let collection = self.documents(COLLECTION);
            let count = collection
                .count_documents(filter)
                .hint(Hint::Name(index.to_owned()));
            max = max.max(count.max_time(self.max_time).await?);
        }
        Ok(max)
    }

    /// Returns a number that differs after every change of the products of these categories; of all
    /// categories for `None`. Covered by the index `category`.
    pub async fn generation(&self, categories: Option<&[CategoryId]>) -> Result<i64, StorageError> {
        let filter = categories.map_or_else(Document::new, |ids| {
            let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
            doc! { "category": { "$in": ids } }
        });
        let sum = [
            doc! { "$match": filter },
            doc! { "$group": { "_id": Bson::Null, "n": { "$sum": "$n" } } },
        ];
        let collection = self.raw(GENERATIONS);
        let aggregate = collection
            .aggregate(sum)
            .hint(Hint::Name("category".to_owned()))
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = aggregate.await?.try_collect().await?;
        let sum = |doc: &RawDocumentBuf| Fields::of(GENERATIONS, doc).i64("n");
        found.first().map_or(Ok(0), sum)
    }

    /// Returns the summaries of all stored panels, by scope. Covered by the index `summary`, which
    /// does not load the panels.
    pub async fn panel_summaries(&self) -> Result<HashMap<String, PanelSummary>, StorageError> {
        let collection = self.raw(PANELS);
        let find = collection
            .find(Document::new())
            .projection(doc! { "generation": 1, "as_of": 1 })
            .hint(Hint::Name("summary".to_owned()))
            .batch_size(10_000);
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let summary = |doc: &RawDocumentBuf| {
            let fields = Fields::of(PANELS, doc);
            let summary = PanelSummary {
                generation: fields.string("generation")?,
                as_of: fields.date("as_of")?,
            };
            Ok((fields.string("_id")?, summary))
        };
        found.iter().map(summary).collect()
    }

    /// Returns the precomputed panel of a scope.
    pub async fn panel(&self, scope: &str) -> Result<Option<CountSnapshot>, StorageError> {
        let collection = self.raw(PANELS);
        let find = collection.find_one(doc! { "_id": scope });
        let found = find.max_time(self.max_time).await?;
        found
            .map(|doc| read_snapshot(PANELS, &doc, "panel"))
            .transpose()
    }

    /// Stores the panel of a scope.
    pub async fn save_panel(
        &self,
        scope: &str,
        snapshot: &CountSnapshot,
    ) -> Result<(), StorageError> {
        let mut write = self.product_write([]);
        write.change_counts();
        let set = doc! { "$set": snapshot_document(snapshot, "panel") };
        let collection = self.documents(PANELS);
        let update = collection.update_one(doc! { "_id": scope }, set);
        update.upsert(true).await?;
        Ok(())
    }

    /// Returns the precomputed coverage of these keys, by key.
    pub async fn get_coverage(
        &self,
        keys: &[String],
    ) -> Result<HashMap<String, CountSnapshot>, StorageError> {
        let collection = self.raw(COVERAGE);
        let find = collection.find(doc! { "_id": { "$in": keys } });
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let key = Fields::of(COVERAGE, doc).string("_id")?;
            Ok((key, read_snapshot(COVERAGE, doc, "coverage")?))
        };
        found.iter().map(read).collect()
    }

    /// Stores the coverage of keys, in the given order: the last entry may mark the set as
    /// complete.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some entries may have been stored then.
    pub async fn save_coverage(&self, all: &[(String, CountSnapshot)]) -> Result<(), StorageError> {
        for batch in all.chunks(1_000) {
            let update = |(key, snapshot): &(String, CountSnapshot)| {
                let set = doc! { "$set": snapshot_document(snapshot, "coverage") };
                doc! { "q": { "_id": key }, "u": set, "upsert": true }
            };
            let updates: Vec<Document> = batch.iter().map(update).collect();
            let command = doc! {
                "update": COVERAGE,
                "updates": updates,
                "ordered": true,
            };
            let reply = self.write(command).await?;
            if reply.contains_key("writeErrors") {
                return Err(StorageError::Driver(mongodb::error::Error::custom(reply)));
            }
        }
        Ok(())
    }

    /// Returns at most `max` tokens of a text key that products have besides the known ones, in any
    /// status of a product.
    pub async fn other_tokens(
        &self,
        key: &str,
        known: &[String],
        max: usize,
    ) -> Result<Vec<String>, StorageError> {
        // One index range for each gap between the known tokens.
        let other = doc! {
            "$gt": format!("{key}="),
            "$lt": format!("{key}=\u{10ffff}"),
            "$nin": known,
        };
        let states: Vec<&str> = ProductStatus::ALL.iter().map(|s| s.name()).collect();
        let filter = doc! { "status": { "$in": states }, "tokens": { "$elemMatch": other } };
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1, "tokens": 1 })
            .hint(Hint::Name("tokens_slot".to_owned()))
            .limit(MAX_OTHERS);
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let prefix = format!("{key}=");
        let mut others = Vec::new();
        for doc in &found {
            let fields = Fields::of(COLLECTION, doc);
            let tokens = fields.items("tokens", |value| value.as_str().map(str::to_owned))?;
            let new = tokens
                .into_iter()
                .filter(|token| token.starts_with(&prefix) && !known.contains(token));
            for token in new {
                if others.len() < max && !others.contains(&token) {
                    others.push(token);
                }
            }
        }
        Ok(others)
    }
}

fn counted_fields() -> Document {
    doc! { "_id": 0, "kind": 1, "category": 1, "brand": 1, "supplier": 1, "list_price": 1, "rank": 1, "specs": 1 }
}

/// Counts one product. Reads all fields in one pass, in stored order.
fn count(
    doc: &RawDocument,
    renamed: &HashMap<String, String>,
    tally: &mut FacetTally,
) -> Result<(), StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let index = fields.index();
    let fields = fields.indexed(&index);
    let supplier = fields.opt_doc("supplier")?;
    let country = supplier
        .map(|s| s.opt_str("country"))
        .transpose()?
        .flatten();
    let stars = fields.doc("rank")?.get("stars")?.and_then(number);
    tally.begin_product(&TallyProduct {
        kind: fields.str("kind")?,
        category: CategoryId::from_i64(fields.id("category")?),
        brand: fields.opt_str("brand")?,
        country,
        list_price: fields.opt_i64("list_price")?,
        half_stars: stars,
    });
    fields.each_doc("specs", |spec| count_spec(spec, renamed, tally))
}

fn count_spec(
    spec: Elements<'_>,
    renamed: &HashMap<String, String>,
    tally: &mut FacetTally,
) -> Option<()> {
    let (mut key, mut value, mut unit, mut canonical) = (None, None, None, None);
    for element in spec {
        let (name, field) = element.ok()?;
        match name {
            b"k" => key = field.str(),
            b"v" => value = Some(field),
            b"u" => unit = field.str(),
            b"n" => canonical = field.number(),
            _ => {}
        }
    }
    let key = key?;
    let key = renamed.get(key).map_or(key, String::as_str);
    let value = value?;
    if let Some(text) = value.str() {
        tally.text(key, text);
    } else if let Some(value) = value.bool() {
        tally.boolean(key, value);
    } else if value.date().is_some() {
        tally.date(key, canonical?);
    } else {
        tally.number(key, canonical?, unit);
    }
    Some(())
}

fn read_snapshot(collection: &'static str, doc: &RawDocument, field: &str) -> Read<CountSnapshot> {
    let fields = Fields::of(collection, doc);
    Ok(CountSnapshot {
        generation: fields.string("generation")?,
        as_of: fields.date("as_of")?,
        counted: fields.string(field)?,
        products: fields.i64("products")?,
    })
}

fn snapshot_document(snapshot: &CountSnapshot, field: &str) -> Document {
    let mut doc = doc! {
        "schema_version": REFERENCE_VERSION,
        "generation": &snapshot.generation,
        "as_of": date(snapshot.as_of),
        "products": snapshot.products,
    };
    doc.insert(field, &snapshot.counted);
    doc
}
