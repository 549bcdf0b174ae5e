//! Counting for facets, and counts that were made ahead.
//!
//! Counting reads the products that fulfil a condition once and counts everything in one pass.
//! What was counted for a whole category is kept with the generation the category had before the
//! counting began: every write of a product by admins, imports and workers raises that generation in its
//! own transaction, so equal generations mean that nothing has changed since. Only what is computed from
//! reviews changes without it.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{Tally, TallyRow};
use vitrine_model::filter::{Condition, Lead};
use vitrine_model::id::CategoryId;
use vitrine_model::product::ProductStatus;

use crate::documents::REFERENCE_VERSION;
use crate::keyset::all_of;
use crate::products::COLLECTION;
use crate::raw::{Fields, Read, date, integer, number, stored_id};
use crate::store::durable;
use crate::{StorageError, Store, products_query};

const PANELS: &str = "facet_panels";
const COVERAGE: &str = "key_coverage";
pub(crate) const STAMPS: &str = "category_generations";
/// How many products are looked at for tokens beyond the known ones.
const MAX_OTHERS: i64 = 100;
/// From how many products on a word is common.
const COMMON: u64 = 1_000;
/// How many products the server sends at once.
const BATCH: u32 = 4_000;

/// Which products are counted, and how they are found.
#[derive(Clone, Debug)]
pub struct CountOrder {
    /// Which products.
    pub condition: Condition,
    /// Only those in the slots from the first to before the second: a sample of so many percent,
    /// found through slots of tokens if the condition names some, else of categories, of which it
    /// must name some then.
    pub slots: Option<(u8, u8)>,
    /// Stop when there are more than so many.
    pub most: u64,
    /// How long the server may work on it; as on anything else when absent.
    pub max_time: Option<std::time::Duration>,
    /// Names of keys that mean another one.
    pub renamed: HashMap<String, String>,
}

/// What bounds the products that fulfil a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// At most so many fulfil it; one more than was to be counted means that nobody knows.
    pub products: u64,
    /// Whether that is also how many have to be read to find them all: it is exactly so many, or a
    /// token or word of which there are so many bounds what is read.
    pub decides: bool,
    most: u32,
    by: Option<By>,
}

/// What part of a condition bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Word(usize),
    Other,
}

impl Bound {
    /// Whether not even the rarest part of the condition was counted to its end.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.products > u64::from(self.most)
    }

    /// How many products are looked through where the bound is exceeded: half as many, because each
    /// costs the server twice as much then.
    #[must_use]
    pub const fn looked_through(&self) -> u32 {
        self.most / 2
    }

    /// The condition with its words looked for in the way that reads least: where the bound is
    /// exceeded, only through the most popular products that have the first word.
    #[must_use]
    pub fn lead(&self, condition: Condition) -> Condition {
        match condition {
            Condition::All(parts) => {
                Condition::All(parts.into_iter().map(|part| self.lead(part)).collect())
            }
            Condition::Words(mut words) => {
                words.lead = match self.by {
                    Some(By::Other) => Lead::Other,
                    Some(By::Word(_)) => Lead::First,
                    None => Lead::Popular(self.looked_through()),
                };
                if let Some(By::Word(at)) = self.by
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

/// Something that was counted ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The generation of what it was counted from, as it was before the counting.
    pub generation: String,
    /// When it was counted.
    pub as_of: Timestamp,
    /// What was counted, in a form that the caller can read.
    pub counted: String,
    /// How many products were counted.
    pub products: i64,
}

/// What is known of a panel without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelSummary {
    /// The generation of what it was counted from.
    pub generation: String,
    /// When it was counted.
    pub as_of: Timestamp,
}

impl Store {
    /// Counts products. Gives the tally, or `None` when there are more than the order allows. One
    /// command, and more where the answer is large.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn tally(
        &self,
        order: CountOrder,
        mut tally: Tally,
    ) -> Result<Option<Tally>, StorageError> {
        let mut parts = vec![products_query::predicate(&order.condition)];
        if let Some((first, end)) = order.slots {
            parts.push(doc! { "slot": { "$gte": i32::from(first), "$lt": i32::from(end) } });
        }
        let index = if order.slots.is_some() {
            products_query::slot_index(&order.condition)
        } else {
            products_query::count_index(&order.condition)
        };
        let limit = i64::try_from(order.most.saturating_add(1)).unwrap_or(i64::MAX);
        let hint = Hint::Name(index.to_owned());
        let max_time = order.max_time.unwrap_or(self.max_time);
        let collection = self.raw(COLLECTION);
        let mut cursor = match products_query::window(&order.condition) {
            Some(mut pipeline) if order.slots.is_none() => {
                pipeline.extend([
                    doc! { "$match": all_of(parts) },
                    doc! { "$limit": limit },
                    doc! { "$project": counted_fields() },
                ]);
                let aggregate = collection.aggregate(pipeline).hint(hint);
                let aggregate = aggregate.batch_size(BATCH).max_time(max_time);
                aggregate.await?.with_type::<RawDocumentBuf>()
            }
            _ => {
                let find = collection.find(all_of(parts)).hint(hint).limit(limit);
                let find = find.projection(counted_fields()).batch_size(BATCH);
                find.max_time(max_time).await?
            }
        };
        let mut seen = 0;
        while cursor.advance().await? {
            seen += 1;
            if seen > order.most {
                return Ok(None);
            }
            count(cursor.current(), &order.renamed, &mut tally)?;
        }
        Ok(Some(tally))
    }

    /// What bounds the products that fulfil a condition. Found from indexes alone, without reading a
    /// product (but for ranges of numbers beside the words of a search), and counted up to one more
    /// than `most`. A command for each word of a search, and at most four more, one after the other.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn bound(&self, condition: &Condition, most: u32) -> Result<Bound, StorageError> {
        let covered = products_query::covered(condition);
        let mut bound = Bound {
            products: u64::from(most) + 1,
            decides: covered.whole || covered.bounds,
            most,
            by: None,
        };
        for part in &covered.parts {
            let products = match part.word {
                Some(_) => {
                    self.count_word(&part.condition, u64::from(most) + 1)
                        .await?
                }
                None => self.count_products(&part.condition, bound.products).await?,
            };
            if products < bound.products {
                bound.products = products;
                bound.by = Some(part.word.map_or(By::Other, By::Word));
            }
        }
        Ok(bound)
    }

    /// How many products have a word, counted up to `most`. Of common words the number may be a
    /// minute old: it decides what is read and how, not what is found.
    async fn count_word(&self, word: &Condition, most: u64) -> Result<u64, StorageError> {
        let name = format!("{most} {}", products_query::predicate(word));
        if let Some(known) = self.common_words.get(&name) {
            return Ok(known);
        }
        let products = self.count_products(word, most).await?;
        if products >= COMMON {
            self.common_words.insert(name, products);
        }
        Ok(products)
    }

    /// How many products a sample reads for each slot, at most: those with the commonest of the
    /// tokens that it may be found by, or without tokens those of the categories that the condition
    /// names. At most four commands, of the keys of one slot each.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn read_per_slot(&self, condition: &Condition) -> Result<u64, StorageError> {
        let mut most = 0;
        let (index, parts) = products_query::slot_parts(condition);
        for part in parts {
            let filter = all_of(vec![products_query::predicate(&part), doc! { "slot": 0 }]);
            let collection = self.documents(COLLECTION);
            let count = collection
                .count_documents(filter)
                .hint(Hint::Name(index.to_owned()));
            most = most.max(count.max_time(self.max_time).await?);
        }
        Ok(most)
    }

    /// Returns a number that differs whenever the products of these categories have changed; of all
    /// categories when none are named. Covered by the index `category`.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn generation(&self, categories: Option<&[CategoryId]>) -> Result<i64, StorageError> {
        let filter = categories.map_or_else(Document::new, |ids| {
            let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
            doc! { "category": { "$in": ids } }
        });
        let sum = [
            doc! { "$match": filter },
            doc! { "$group": { "_id": Bson::Null, "n": { "$sum": "$n" } } },
        ];
        let collection = self.raw(STAMPS);
        let aggregate = collection
            .aggregate(sum)
            .hint(Hint::Name("category".to_owned()))
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = aggregate.await?.try_collect().await?;
        let sum = |doc: &RawDocumentBuf| Fields::of(STAMPS, doc).i64("n");
        found.first().map_or(Ok(0), sum)
    }

    /// Returns what is known of all kept panels, by scope. Covered by the index `summary`: no panel
    /// is loaded for it.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

    /// The panel that was counted ahead for a scope.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn panel(&self, scope: &str) -> Result<Option<Kept>, StorageError> {
        let collection = self.raw(PANELS);
        let find = collection.find_one(doc! { "_id": scope });
        let found = find.max_time(self.max_time).await?;
        found
            .map(|doc| read_kept(PANELS, &doc, "panel"))
            .transpose()
    }

    /// Keeps a panel for a scope.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn keep_panel(&self, scope: &str, kept: &Kept) -> Result<(), StorageError> {
        let set = doc! { "$set": kept_document(kept, "panel") };
        let collection = self.documents(PANELS);
        let update = collection.update_one(doc! { "_id": scope }, set);
        update.upsert(true).write_concern(durable()).await?;
        Ok(())
    }

    /// The coverage that was counted ahead for these keys, by key.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn kept_coverage(
        &self,
        keys: &[String],
    ) -> Result<HashMap<String, Kept>, StorageError> {
        let collection = self.raw(COVERAGE);
        let find = collection.find(doc! { "_id": { "$in": keys } });
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let key = Fields::of(COVERAGE, doc).string("_id")?;
            Ok((key, read_kept(COVERAGE, doc, "coverage")?))
        };
        found.iter().map(read).collect()
    }

    /// Keeps the coverage of keys.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; of some keys it may have been kept then.
    ///
    /// The entries are written in their order: the last one may say that all others are there.
    pub async fn keep_coverage(&self, all: &[(String, Kept)]) -> Result<(), StorageError> {
        for batch in all.chunks(1_000) {
            let update = |(key, kept): &(String, Kept)| {
                let set = doc! { "$set": kept_document(kept, "coverage") };
                doc! { "q": { "_id": key }, "u": set, "upsert": true }
            };
            let updates: Vec<Document> = batch.iter().map(update).collect();
            let command = doc! {
                "update": COVERAGE,
                "updates": updates,
                "ordered": true,
                "writeConcern": crate::store::durable_document(),
            };
            let reply = self.db.run_command(command).await?;
            if reply.contains_key("writeErrors") {
                return Err(StorageError::Driver(mongodb::error::Error::custom(reply)));
            }
        }
        Ok(())
    }

    /// Tokens of a text key that products carry beyond these, whatever the products' state; at most
    /// so many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn other_tokens(
        &self,
        key: &str,
        known: &[String],
        most: usize,
    ) -> Result<Vec<String>, StorageError> {
        // One range per gap between the known tokens.
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
        let begins = format!("{key}=");
        let mut others = Vec::new();
        for doc in &found {
            let fields = Fields::of(COLLECTION, doc);
            let tokens = fields.items("tokens", |value| value.as_str().map(str::to_owned))?;
            let new = tokens
                .into_iter()
                .filter(|token| token.starts_with(&begins) && !known.contains(token));
            for token in new {
                if others.len() < most && !others.contains(&token) {
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

/// Counts one product. Everything is read in the order it is stored in, in one go.
fn count(
    doc: &RawDocument,
    renamed: &HashMap<String, String>,
    tally: &mut Tally,
) -> Result<(), StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let supplier = fields.opt_doc("supplier")?;
    let country = supplier
        .map(|s| s.opt_str("country"))
        .transpose()?
        .flatten();
    let stars = fields.doc("rank")?.get("stars")?.and_then(number);
    tally.begin_product(&TallyRow {
        kind: fields.str("kind")?,
        category: CategoryId::from_i64(fields.id("category")?),
        brand: fields.opt_str("brand")?,
        country,
        list_price: fields.get("list_price")?.and_then(integer),
        half_stars: stars,
    });
    let specs = fields.get("specs")?.and_then(RawBsonRef::as_array);
    for spec in specs.into_iter().flatten() {
        let spec = spec.ok().and_then(RawBsonRef::as_document);
        let spec = spec.ok_or_else(|| fields.corrupt("specs"))?;
        count_spec(spec, renamed, tally).ok_or_else(|| fields.corrupt("specs"))?;
    }
    Ok(())
}

fn count_spec(
    spec: &RawDocument,
    renamed: &HashMap<String, String>,
    tally: &mut Tally,
) -> Option<()> {
    let (mut key, mut value, mut unit, mut canonical) = (None, None, None, None);
    for entry in spec {
        let (name, field) = entry.ok()?;
        match name.as_str() {
            "k" => key = field.as_str(),
            "v" => value = Some(field),
            "u" => unit = field.as_str(),
            "n" => canonical = number(field),
            _ => {}
        }
    }
    let key = key?;
    let key = renamed.get(key).map_or(key, String::as_str);
    match value? {
        RawBsonRef::String(text) => tally.text(key, text),
        RawBsonRef::Boolean(value) => tally.boolean(key, value),
        RawBsonRef::DateTime(_) => tally.date(key, canonical?),
        _ => tally.number(key, canonical?, unit),
    }
    Some(())
}

fn read_kept(collection: &'static str, doc: &RawDocument, field: &str) -> Read<Kept> {
    let fields = Fields::of(collection, doc);
    Ok(Kept {
        generation: fields.string("generation")?,
        as_of: fields.date("as_of")?,
        counted: fields.string(field)?,
        products: fields.i64("products")?,
    })
}

fn kept_document(kept: &Kept, field: &str) -> Document {
    let mut doc = doc! {
        "schema_version": REFERENCE_VERSION,
        "generation": &kept.generation,
        "as_of": date(kept.as_of),
        "products": kept.products,
    };
    doc.insert(field, &kept.counted);
    doc
}
