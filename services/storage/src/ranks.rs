//! Where products are in lists by rating and popularity. Their reviews and what happens around them
//! decide it; a worker moves them there, soon and together.
//!
//! A product that is to be moved stands in `stale_ranks`, with the number of the fold that noted it: a
//! note is taken away only by who has seen the product as of that fold or a later one.

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
use crate::store::durable_document;
use crate::{StorageError, Store, products};

pub(crate) const DUE: &str = "stale_ranks";

/// Where a product is in lists, and the stars that it is filtered by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranks {
    rating: i64,
    popularity: i64,
    half_stars: Option<f64>,
}

impl Ranks {
    /// Returns where a product with these numbers is to be.
    pub(crate) fn of(stats: &RatingStats, interest: i64) -> Self {
        Self {
            rating: stats.rank().into(),
            popularity: stats.popularity(interest).into(),
            half_stars: stats.half_stars(),
        }
    }

    pub(crate) fn read(rank: &Fields<'_>) -> Read<Self> {
        Ok(Self {
            rating: rank.i64("rating")?,
            popularity: rank.i64("popularity")?,
            half_stars: rank.get("stars")?.and_then(number),
        })
    }
}

/// What became of products that were to be moved.
#[derive(Debug, Default)]
pub struct Moved {
    /// How many were found.
    pub found: usize,
    /// How many were moved, or were in their place already. Others have changed in the same moment,
    /// and are found again.
    pub moved: usize,
    /// Those that only a newer release may move.
    pub left_alone: Vec<ProductId>,
    /// The categories of those that could be read.
    pub categories: BTreeSet<CategoryId>,
    /// Those that cannot be read or written, and why.
    pub refused: Vec<(ProductId, StorageError)>,
}

/// Products that are to be moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleRanks {
    /// About how many.
    pub products: u64,
    /// Since when the first of them waits.
    pub since: Option<Timestamp>,
}

/// A product that is to be moved.
struct Due {
    product: ProductId,
    category: CategoryId,
    stats: RatingStats,
    /// What changes; none where it is in its place.
    update: Option<Document>,
}

/// The note that a product is to be moved, as of this fold.
pub(crate) fn due(product: ProductId, fold_seq: i64, now: Timestamp) -> Document {
    let first = doc! { "schema_version": REFERENCE_VERSION, "since": date(now) };
    let note = doc! { "$max": { "seq": fold_seq }, "$setOnInsert": first };
    doc! { "q": { "_id": stored_id(product.to_i64()) }, "u": note, "upsert": true }
}

impl Store {
    /// Moves some products to where their numbers put them, those first that wait longest, without
    /// those that are to be skipped. One that cannot be read or written keeps no other from it. At
    /// most four commands; one where nothing is to be done.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn move_ranks(
        &self,
        most: u32,
        skipped: &[ProductId],
    ) -> Result<Moved, StorageError> {
        let ids = self.stale_ranks(most, skipped).await?;
        let mut moved = Moved {
            found: ids.len(),
            ..Moved::default()
        };
        if ids.is_empty() {
            return Ok(moved);
        }
        let seen = self.seen_due(&ids, &mut moved).await?;
        let known = |id: &ProductId| {
            let seen = seen.iter().any(|due| due.product == *id);
            let refused = moved.refused.iter().any(|(refused, _)| refused == id);
            seen || refused || moved.left_alone.contains(id)
        };
        // A product that is gone is nowhere in lists.
        let gone: Vec<ProductId> = ids.into_iter().filter(|id| !known(id)).collect();
        let mut done: Vec<Document> = gone.iter().map(|id| note_of(*id)).collect();
        moved.categories = seen.iter().map(|due| due.category).collect();
        let (to_move, in_place): (Vec<Due>, Vec<Due>) =
            seen.into_iter().partition(|due| due.update.is_some());
        done.extend(in_place.iter().map(Due::note));
        if !to_move.is_empty() {
            let updates = to_move.iter().filter_map(|due| due.update.clone());
            let written = self.update_unordered(products::COLLECTION, updates.collect());
            let written = written.await?;
            // Which one has changed meanwhile is not told: all are looked at once more.
            if written.matched + written.refused.len() == to_move.len() {
                let refused: Vec<usize> = written.refused.iter().map(|(at, _)| *at).collect();
                let moved = to_move.iter().enumerate();
                let moved = moved.filter(|(at, _)| !refused.contains(at));
                done.extend(moved.map(|(_, due)| due.note()));
            }
            let refused = written.refused.into_iter();
            moved
                .refused
                .extend(refused.map(|(at, error)| (to_move[at].product, error)));
        }
        moved.moved = done.len();
        self.ranks_done(done).await?;
        for (product, error) in &moved.refused {
            tracing::error!(%product, %error, "a product cannot be moved in lists");
        }
        Ok(moved)
    }

    async fn stale_ranks(
        &self,
        most: u32,
        skipped: &[ProductId],
    ) -> Result<Vec<ProductId>, StorageError> {
        let mut filter = Document::new();
        if !skipped.is_empty() {
            let skipped = skipped.iter().map(|id| stored_id(id.to_i64()));
            filter.insert("_id", doc! { "$nin": skipped.collect::<Vec<Bson>>() });
        }
        let collection = self.raw(DUE);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .sort(doc! { "since": 1 })
            .hint(Hint::Name("since".to_owned()))
            .limit(i64::from(most));
        self.product_ids(find).await
    }

    /// Reads these products, and what is to be changed of each.
    async fn seen_due(
        &self,
        ids: &[ProductId],
        moved: &mut Moved,
    ) -> Result<Vec<Due>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": ids } })
            .projection(
                doc! { "schema_version": 1, "stats": 1, "activity": 1, "rank": 1, "category": 1 },
            )
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let mut seen = Vec::with_capacity(found.len());
        for doc in &found {
            let id = ProductId::from_i64(Fields::of(products::COLLECTION, doc).id("_id")?);
            if products::not_newer(doc).is_err() {
                moved.left_alone.push(id);
                continue;
            }
            match Due::read(id, doc) {
                Ok(due) => seen.push(due),
                Err(error) => moved.refused.push((id, error)),
            }
        }
        Ok(seen)
    }

    async fn ranks_done(&self, notes: Vec<Document>) -> Result<(), StorageError> {
        if notes.is_empty() {
            return Ok(());
        }
        let deletes = notes.into_iter().map(|note| doc! { "q": note, "limit": 1 });
        let command = doc! {
            "delete": DUE,
            "deletes": deletes.collect::<Vec<_>>(),
            "ordered": false,
            "writeConcern": durable_document(),
        };
        self.db.run_command(command).await?;
        Ok(())
    }

    /// Returns about how many products are to be moved, and since when the first of them waits. Two
    /// commands, which read one key and no document.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn count_stale_ranks(&self) -> Result<StaleRanks, StorageError> {
        let collection = self.raw(DUE);
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
            products: collection.estimated_document_count().await?.max(1),
            since: Fields::of(DUE, &first).opt_date("since")?,
        })
    }
}

impl Due {
    fn read(product: ProductId, doc: &RawDocumentBuf) -> Read<Self> {
        let fields = Fields::of(products::COLLECTION, doc);
        let stats = stats::read_stats(&fields.doc("stats")?)?;
        let standing = stats::read_standing(&fields)?;
        let interest = standing.interest();
        let in_place = Ranks::read(&fields.doc("rank")?)? == Ranks::of(&stats, interest);
        // A fold in between notes it anew, and what happens around it may move it elsewhere.
        let update = (!in_place).then(|| {
            doc! {
                "q": {
                    "_id": stored_id(product.to_i64()),
                    "schema_version": up_to(PRODUCT_VERSION),
                    "stats.fold_seq": stats.fold_seq,
                    "activity.as_of": standing.as_of.map(date),
                },
                "u": { "$set": {
                    "rank.rating": stats.rank(),
                    "rank.popularity": stats.popularity(interest),
                } },
            }
        });
        Ok(Self {
            product,
            category: read_category(&fields)?,
            stats,
            update,
        })
    }

    /// The note that led here, unless there is a newer one.
    fn note(&self) -> Document {
        let mut note = note_of(self.product);
        note.insert("seq", doc! { "$lte": self.stats.fold_seq });
        note
    }
}

/// Reads which product is to be moved.
pub(crate) fn read_due(doc: &RawDocumentBuf) -> Read<(ProductId, ())> {
    Ok((ProductId::from_i64(Fields::of(DUE, doc).id("_id")?), ()))
}

fn note_of(product: ProductId) -> Document {
    doc! { "_id": stored_id(product.to_i64()) }
}
