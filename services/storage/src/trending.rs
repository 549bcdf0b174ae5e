//! What gets attention: counted ahead, one document for each category and window, and how each
//! product stands.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawBsonRef, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::activity::{ActivitySummary, DAY_MILLIS, TrendingWindow};
use vitrine_model::clock::Timestamp;
use vitrine_model::filter::Condition;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::product::ProductStatus;
use vitrine_model::rating::popularity;

use crate::batch::Batch;
use crate::documents::product::{read_category, read_status};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, stats, up_to};
use crate::raw::{Fields, Read, date, number, stored_id};
use crate::views::ProductView;
use crate::{StorageError, Store, products, products_query};

const COLLECTION: &str = "trending";
/// For how long what was counted is kept when it is not counted again.
const KEPT_MILLIS: i64 = 2 * DAY_MILLIS;
/// What says that it is of a time further ahead than this was written by a process whose clock is
/// wrong, and is replaced as if it were older.
const MAX_AHEAD_MILLIS: i64 = 60_000;

/// Where a product is and how it stands.
#[derive(Clone, Debug)]
pub struct ProductSummary {
    /// The product.
    pub product: ProductId,
    /// The category it is in.
    pub category: CategoryId,
    /// Its state.
    pub status: ProductStatus,
    /// How it stands as stored.
    pub standing: ActivitySummary,
    /// Whether its popularity is another than follows from that, although nothing is to follow: a
    /// release from before, which knows reviews only, has moved it.
    pub adrift: bool,
    /// How many reviews it has, and the fold that counted them.
    reviews: (i64, i64),
}

impl ProductSummary {
    /// Whether its standing is said to be of a time that is still to come.
    #[must_use]
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        self.standing.as_of > Some(now.plus_millis(MAX_AHEAD_MILLIS))
    }
}

/// Products that were looked up, and why others could not be read; the first reason.
#[derive(Debug, Default)]
pub struct ProductSummaries {
    /// Those that could be read.
    pub placed: Vec<ProductSummary>,
    /// Why others could not.
    pub failed: Option<StorageError>,
}

/// A new standing of a product.
#[derive(Clone, Debug)]
pub struct NewSummary {
    /// The product as it was read.
    pub placed: ProductSummary,
    /// How it stands now; `None` when nothing happened in all the time.
    pub standing: Option<ActivitySummary>,
}

/// What gets attention in a category, or everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Trending {
    /// The category; `None` for all.
    pub category: Option<CategoryId>,
    /// Over which time.
    pub window: TrendingWindow,
    /// Products with their scores, the highest first.
    pub items: Vec<(ProductId, f64)>,
}

/// A product that gets attention.
#[derive(Clone, Debug)]
pub struct TrendingRow {
    /// The product.
    pub product: ProductView,
    /// Its score.
    pub score: f64,
    /// As of when.
    pub as_of: Timestamp,
}

impl Store {
    /// Where these products are and how they stand.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn placed(&self, ids: &[ProductId]) -> Result<ProductSummaries, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let filter = doc! { "_id": { "$in": ids } };
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! {
                "category": 1, "status": 1, "activity": 1,
                "stats.count": 1, "stats.fold_seq": 1, "rank.popularity": 1,
            })
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let mut batch = ProductSummaries::default();
        for doc in &found {
            match read_placed(doc) {
                Ok(placed) => batch.placed.push(placed),
                // It keeps no other from being looked at.
                Err(error) => batch.failed = batch.failed.or(Some(error)),
            }
        }
        Ok(batch)
    }

    /// Some products behind this one, and up to that one, that stand out by what happened around them;
    /// fewer than `most` at the end. In the order of the index `standing`, which has entries for no others.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn standing_products(
        &self,
        after: Option<ProductId>,
        until: Option<ProductId>,
        most: u32,
    ) -> Result<Vec<ProductId>, StorageError> {
        let mut filter = doc! { "activity": { "$exists": true } };
        let ends = [("$gt", after), ("$lte", until)].into_iter();
        let ends = ends.filter_map(|(test, end)| Some((test.to_owned(), stored_id(end?.to_i64()))));
        let range: Document = ends.collect();
        if !range.is_empty() {
            filter.insert("_id", range);
        }
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .sort(doc! { "_id": 1, "slot": 1 })
            .hint(Hint::Name("standing".to_owned()))
            .limit(i64::from(most));
        self.product_ids(find).await
    }

    /// Writes how products stand now and the popularity that follows from it, of those that this
    /// release may write. An older standing does not replace a newer one. A product of which reviews
    /// were counted since it was read is left for the next time; one that cannot be written keeps no
    /// other from it.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn keep_standings(
        &self,
        standings: &[NewSummary],
        now: Timestamp,
    ) -> Result<Batch, StorageError> {
        let updates: Vec<Document> = standings.iter().map(|one| one.update(now)).collect();
        let mut batch = Batch {
            found: updates.len(),
            ..Batch::default()
        };
        if updates.is_empty() {
            return Ok(batch);
        }
        let written = self.update_unordered(products::COLLECTION, updates).await?;
        batch.written = written.matched;
        for (at, error) in written.refused {
            let product = standings[at].placed.product;
            tracing::error!(%product, %error, "how a product stands cannot be written");
            batch.failed = batch.failed.or(Some(error));
        }
        Ok(batch)
    }

    /// Returns the lists that are kept for these categories and windows, each with the time it is of.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn kept_trending(
        &self,
        wanted: &[(Option<CategoryId>, TrendingWindow)],
    ) -> Result<Vec<(Trending, Timestamp)>, StorageError> {
        let mut kept = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(200) {
            let ids: Vec<Document> = some.iter().map(|(of, window)| key(*of, *window)).collect();
            let collection = self.raw(COLLECTION);
            let find = collection.find(doc! { "_id": { "$in": ids } });
            let find = find.hint(Hint::Name("_id_".to_owned()));
            let found: Vec<RawDocumentBuf> =
                find.max_time(self.max_time).await?.try_collect().await?;
            for doc in &found {
                kept.push(read_kept(doc)?);
            }
        }
        Ok(kept)
    }

    /// Keeps what gets attention.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn keep_trending(
        &self,
        lists: &[Trending],
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let update = |list: &Trending| {
            let item = |(product, score): &(ProductId, f64)| {
                doc! { "p": stored_id(product.to_i64()), "s": *score }
            };
            let first = doc! { "schema_version": REFERENCE_VERSION };
            let set = doc! {
                "as_of": date(now),
                "expires_at": date(now.plus_millis(KEPT_MILLIS)),
                "items": list.items.iter().map(item).collect::<Vec<_>>(),
            };
            let mut older = not_newer("as_of", now);
            older.insert("_id", key(list.category, list.window));
            // A newer one is in the way of the insert, which is what it should be.
            doc! { "q": older, "u": { "$set": set, "$setOnInsert": first }, "upsert": true }
        };
        let updates: Vec<Document> = lists.iter().map(update).collect();
        for some in updates.chunks(200) {
            let written = self.update_unordered(COLLECTION, some.to_vec()).await?;
            for (_, error) in written.refused {
                if !matches!(error, StorageError::Conflict { .. }) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Forgets the lists of an earlier time than this.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn forget_trending(&self, now: Timestamp) -> Result<(), StorageError> {
        let older = not_newer("as_of", now.plus_millis(-1));
        self.documents(COLLECTION).delete_many(older).await?;
        Ok(())
    }

    /// What gets attention in a category, or everywhere, of products that fulfil a condition, the
    /// highest score first. One command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn trending(
        &self,
        category: Option<CategoryId>,
        window: TrendingWindow,
        condition: &Condition,
        most: u32,
    ) -> Result<Vec<TrendingRow>, StorageError> {
        let seen = products_query::predicate(condition);
        let shown = products::projection(products::ProductFields::Page);
        let pipeline = [
            doc! { "$match": { "_id": key(category, window) } },
            doc! { "$unwind": "$items" },
            doc! { "$lookup": {
                "from": products::COLLECTION,
                "localField": "items.p",
                "foreignField": "_id",
                "pipeline": [{ "$match": seen }, { "$project": shown }],
                "as": "product",
            } },
            doc! { "$match": { "product": { "$ne": [] } } },
            doc! { "$limit": i64::from(most) },
            doc! { "$project": {
                "_id": 0, "as_of": 1, "score": "$items.s", "product": { "$first": "$product" },
            } },
        ];
        let collection = self.raw(COLLECTION);
        let found = collection
            .aggregate(pipeline)
            .batch_size(most + 1)
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(COLLECTION, doc);
            Ok(TrendingRow {
                product: ProductView::new(fields.doc("product")?.owned())?,
                score: fields.get("score")?.and_then(number).unwrap_or(0.0),
                as_of: fields.date("as_of")?,
            })
        };
        found.iter().map(read).collect()
    }
}

impl NewSummary {
    fn update(&self, now: Timestamp) -> Document {
        let placed = &self.placed;
        let (count, fold_seq) = placed.reviews;
        let mut one = not_newer("activity.as_of", now);
        one.insert("_id", stored_id(placed.product.to_i64()));
        one.insert("schema_version", up_to(PRODUCT_VERSION));
        one.insert("stats.fold_seq", fold_seq);
        let standing = self.standing.unwrap_or_default();
        let mut rank = stats::activity_rank(&standing);
        let (mut set, mut unset) = (Document::new(), Document::new());
        for field in ["sold", "trend"] {
            match rank.remove(field) {
                Some(value) => set.insert(format!("rank.{field}"), value),
                None => unset.insert(format!("rank.{field}"), 1),
            };
        }
        match self.standing.as_ref().and_then(stats::standing) {
            Some(standing) => set.insert("activity", standing),
            None => unset.insert("activity", 1),
        };
        let people = count.saturating_add(standing.interest());
        set.insert("rank.popularity", popularity(people));
        let mut update = Document::new();
        for (operator, fields) in [("$set", set), ("$unset", unset)] {
            if !fields.is_empty() {
                update.insert(operator, fields);
            }
        }
        doc! { "q": one, "u": update }
    }
}

/// What has no such time, an earlier one, or one so far ahead that no right clock has said it.
fn not_newer(field: &str, now: Timestamp) -> Document {
    doc! { "$or": [
        { field: { "$exists": false } },
        { field: { "$lte": date(now) } },
        { field: { "$gt": date(now.plus_millis(MAX_AHEAD_MILLIS)) } },
    ] }
}

fn read_placed(doc: &RawDocumentBuf) -> Read<ProductSummary> {
    let fields = Fields::of(products::COLLECTION, doc);
    let standing = stats::read_standing(&fields)?;
    let (stats, rank) = (fields.doc("stats")?, fields.doc("rank")?);
    let count = stats.i64("count")?;
    let follows = popularity(count.saturating_add(standing.interest()));
    Ok(ProductSummary {
        product: ProductId::from_i64(fields.id("_id")?),
        category: read_category(&fields)?,
        status: read_status(&fields)?,
        standing,
        adrift: rank.i64("popularity")? != i64::from(follows),
        reviews: (count, stats.i64("fold_seq")?),
    })
}

fn read_kept(doc: &RawDocumentBuf) -> Read<(Trending, Timestamp)> {
    let fields = Fields::of(COLLECTION, doc);
    let id = fields.doc("_id")?;
    let (of, named) = (id.get("c")?, id.str("w")?);
    let mut window = TrendingWindow::ALL.into_iter();
    let window = window.find(|window| window.name() == named);
    let category = match of.and_then(RawBsonRef::as_str) {
        Some(_) => None,
        None => Some(CategoryId::from_i64(id.id("c")?)),
    };
    let list = Trending {
        category,
        window: window.ok_or_else(|| fields.corrupt("_id"))?,
        items: fields.docs("items", |item| {
            let score = item.get("s")?.and_then(number).unwrap_or(0.0);
            Ok((ProductId::from_i64(item.id("p")?), score))
        })?,
    };
    Ok((list, fields.date("as_of")?))
}

fn key(category: Option<CategoryId>, window: TrendingWindow) -> Document {
    let category = category.map_or_else(|| "all".into(), |id| stored_id(id.to_i64()));
    doc! { "c": category, "w": window.name() }
}
