//! Positions of products in lists by rating and popularity, and the stars that lists are filtered by.
//! Reviews and activity determine them; a worker updates them in batches, soon after a change.
//!
//! Each fold that may move a product inserts a row with its number into `stale_ranks`, in its transaction. A
//! worker that has seen the product as of some fold deletes the rows of that fold and of earlier ones. Rows are
//! never updated: an insert costs half as much as an upsert, and a product seldom has a second one.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::rating::RatingStats;

use crate::documents::product::read_category;
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, stats, up_to};
use crate::raw::{Fields, Read, date, number, stored_id};
use crate::{StorageError, Store, products};

pub(crate) const COLLECTION: &str = "stale_ranks";

/// The ranks of a product that follow from reviews, and the stars that it is filtered by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranks {
    /// The values of [`stats::REVIEW_RANKS`]. A product that was stored before a rank was added
    /// lacks it until it is updated.
    values: Vec<Option<i64>>,
    half_stars: Option<f64>,
}

impl Ranks {
    /// Computes the ranks of a product from its numbers.
    pub(crate) fn of(stats: &RatingStats, interest: i64) -> Self {
        let ranks = stats::review_ranks(stats, interest);
        Self {
            values: ranks.map(|(_, rank)| Some(rank.into())).collect(),
            half_stars: stats.half_stars(),
        }
    }

    pub(crate) fn read(rank: &Fields<'_>) -> Read<Self> {
        let fields = stats::REVIEW_RANKS.iter();
        let values = fields.map(|(field, _)| rank.opt_i64(field));
        Ok(Self {
            values: values.collect::<Read<_>>()?,
            half_stars: rank.get("stars")?.and_then(number),
        })
    }
}

/// The outcome of updating ranks.
#[derive(Debug, Default)]
pub struct RankUpdates {
    /// The number of stale products found.
    pub found: usize,
    /// Whether there were no rows beyond those that were read.
    pub is_last: bool,
    /// The number of products updated or already correct. Products that changed at the same moment
    /// are not included; they are found again.
    pub moved: usize,
    /// Products that only a newer release may write.
    pub left_alone: Vec<ProductId>,
    /// The categories of the products that could be read.
    pub categories: BTreeSet<CategoryId>,
    /// Products that cannot be read or written, with the error.
    pub refused: Vec<(ProductId, StorageError)>,
}

/// The backlog of stale ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleRanks {
    /// The approximate number of rows, which is at least that of the products.
    pub rows: u64,
    /// When the oldest row was written.
    pub since: Option<Timestamp>,
}

/// A product with a stale rank.
struct StaleRank {
    product: ProductId,
    category: CategoryId,
    /// The last fold that was seen.
    fold_seq: i64,
    /// The update; `None` when the ranks are already correct.
    update: Option<Document>,
}

/// The row by which this fold marks the ranks of a product as stale.
pub(crate) fn stale_row(product: ProductId, fold_seq: i64, now: Timestamp) -> Document {
    let id = doc! { "p": stored_id(product.to_i64()), "n": fold_seq };
    doc! { "_id": id, "schema_version": REFERENCE_VERSION, "since": date(now) }
}

/// The filter of the rows of a product, up to this fold.
fn rows_up_to(product: &Bson, last: Bson) -> Document {
    let (first, last) = (
        doc! { "p": product, "n": Bson::MinKey },
        doc! { "p": product, "n": last },
    );
    doc! { "_id": { "$gte": first, "$lte": last } }
}

/// The filter of the rows of these products.
pub(crate) fn rows_of(products: &[Bson]) -> Document {
    let all = products
        .iter()
        .map(|product| rows_up_to(product, Bson::MaxKey));
    doc! { "$or": all.collect::<Vec<_>>() }
}

impl Store {
    /// Updates the ranks of at most `max` products, oldest rows first, except `skipped` ones. A
    /// product that cannot be read or written does not block the others. At most four commands; one
    /// if there is nothing to do.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; safe to repeat.
    pub async fn move_ranks(
        &self,
        max: u32,
        skipped: &[ProductId],
    ) -> Result<RankUpdates, StorageError> {
        let rows = self.stale_ranks(max, skipped).await?;
        let ids: BTreeSet<ProductId> = rows.iter().copied().collect();
        let mut updates = RankUpdates {
            found: ids.len(),
            is_last: rows.len() < max as usize,
            ..RankUpdates::default()
        };
        if ids.is_empty() {
            return Ok(updates);
        }
        let stale_ranks = self.read_stale(&ids, &mut updates).await?;
        let known = |id: &ProductId| {
            let is_stale = stale_ranks.iter().any(|stale| stale.product == *id);
            let refused = updates.refused.iter().any(|(refused, _)| refused == id);
            is_stale || refused || updates.left_alone.contains(id)
        };
        // A deleted product is in no list.
        let gone = ids.into_iter().filter(|id| !known(id));
        let mut done: Vec<Document> = gone
            .map(|id| rows_up_to(&stored_id(id.to_i64()), Bson::MaxKey))
            .collect();
        updates.categories = stale_ranks.iter().map(|stale| stale.category).collect();
        let (to_update, current): (Vec<StaleRank>, Vec<StaleRank>) = stale_ranks
            .into_iter()
            .partition(|stale| stale.update.is_some());
        done.extend(current.iter().map(StaleRank::rows));
        if !to_update.is_empty() {
            let commands = to_update.iter().filter_map(|stale| stale.update.clone());
            let written = self.update_unordered(products::COLLECTION, commands.collect());
            let written = written.await?;
            // The reply does not say which product has changed in the meantime, so all of them stay
            // for the next run.
            if written.matched + written.refused.len() == to_update.len() {
                let refused: Vec<usize> = written.refused.iter().map(|(at, _)| *at).collect();
                let updated = to_update.iter().enumerate();
                let updated = updated.filter(|(at, _)| !refused.contains(at));
                done.extend(updated.map(|(_, stale)| stale.rows()));
            }
            let refused = written.refused.into_iter();
            updates
                .refused
                .extend(refused.map(|(at, error)| (to_update[at].product, error)));
        }
        updates.moved = done.len();
        self.delete_rows(done).await?;
        for (product, error) in &updates.refused {
            tracing::error!(%product, %error, "the ranks of a product cannot be updated");
        }
        Ok(updates)
    }

    /// Returns the products of at most `max` rows, oldest first.
    async fn stale_ranks(
        &self,
        max: u32,
        skipped: &[ProductId],
    ) -> Result<Vec<ProductId>, StorageError> {
        let mut filter = Document::new();
        if !skipped.is_empty() {
            let skipped = skipped.iter().map(|id| stored_id(id.to_i64()));
            filter.insert("_id.p", doc! { "$nin": skipped.collect::<Vec<Bson>>() });
        }
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .sort(doc! { "since": 1 })
            .hint(Hint::Name("since".to_owned()))
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let product = |doc: &RawDocumentBuf| read_row(doc).map(|(product, ())| product);
        found.iter().map(product).collect()
    }

    /// Reads products and computes the update of each.
    async fn read_stale(
        &self,
        ids: &BTreeSet<ProductId>,
        updates: &mut RankUpdates,
    ) -> Result<Vec<StaleRank>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": ids } })
            .projection(
                doc! { "schema_version": 1, "stats": 1, "activity": 1, "rank": 1, "category": 1 },
            )
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let mut stale_ranks = Vec::with_capacity(found.len());
        for doc in &found {
            let id = ProductId::from_i64(Fields::of(products::COLLECTION, doc).id("_id")?);
            if products::not_newer(doc).is_err() {
                updates.left_alone.push(id);
                continue;
            }
            match StaleRank::read(id, doc) {
                Ok(stale) => stale_ranks.push(stale),
                Err(error) => updates.refused.push((id, error)),
            }
        }
        Ok(stale_ranks)
    }

    async fn delete_rows(&self, filters: Vec<Document>) -> Result<(), StorageError> {
        if filters.is_empty() {
            return Ok(());
        }
        let deletes = filters
            .into_iter()
            .map(|filter| doc! { "q": filter, "limit": 0 });
        let command = doc! {
            "delete": COLLECTION,
            "deletes": deletes.collect::<Vec<_>>(),
            "ordered": false,
        };
        self.write(command).await?;
        Ok(())
    }

    /// Returns the backlog of stale ranks. Two commands, which read one index key and no document.
    pub async fn count_stale_ranks(&self) -> Result<StaleRanks, StorageError> {
        let collection = self.raw(COLLECTION);
        let first = collection
            .find_one(Document::new())
            .projection(doc! { "_id": 0, "since": 1 })
            .sort(doc! { "since": 1 })
            .hint(Hint::Name("since".to_owned()))
            .max_time(self.max_time);
        let Some(first) = first.await? else {
            return Ok(StaleRanks::default());
        };
        Ok(StaleRanks {
            rows: collection.estimated_document_count().await?.max(1),
            since: Fields::of(COLLECTION, &first).opt_date("since")?,
        })
    }
}

impl StaleRank {
    fn read(product: ProductId, doc: &RawDocumentBuf) -> Read<Self> {
        let fields = Fields::of(products::COLLECTION, doc);
        let stats = stats::read_stats(&fields.doc("stats")?)?;
        let activity = stats::read_activity(&fields)?;
        let interest = activity.interest();
        let current = Ranks::read(&fields.doc("rank")?)? == Ranks::of(&stats, interest);
        // After a fold or new activity in the meantime, the update finds nothing and the rows stay.
        let update = (!current).then(|| {
            let mut set = Document::new();
            for (field, rank) in stats::review_ranks(&stats, interest) {
                set.insert(format!("rank.{field}"), rank);
            }
            let mut update = Document::new();
            match stats.half_stars() {
                Some(stars) => drop(set.insert("rank.stars", stars)),
                None => drop(update.insert("$unset", doc! { "rank.stars": 1 })),
            }
            update.insert("$set", set);
            doc! {
                "q": {
                    "_id": stored_id(product.to_i64()),
                    "schema_version": up_to(PRODUCT_VERSION),
                    "stats.fold_seq": stats.fold_seq,
                    "activity.as_of": activity.as_of.map(date),
                },
                "u": update,
            }
        });
        Ok(Self {
            product,
            category: read_category(&fields)?,
            fold_seq: stats.fold_seq,
            update,
        })
    }

    /// Returns the filter of the rows of the folds that were seen.
    fn rows(&self) -> Document {
        rows_up_to(&stored_id(self.product.to_i64()), self.fold_seq.into())
    }
}

/// Reads the product of a row.
pub(crate) fn read_row(doc: &RawDocumentBuf) -> Read<(ProductId, ())> {
    let id = Fields::of(COLLECTION, doc).doc("_id")?;
    Ok((ProductId::from_i64(id.id("p")?), ()))
}
