//! Trending lists, precomputed as one document per category and window, and the activity summaries
//! of products.

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
/// How long a list is kept unless it is recomputed.
const LIFETIME_MILLIS: i64 = 2 * DAY_MILLIS;
/// A time further in the future than this was written by a process with a wrong clock; the document
/// is replaced as if it were older.
const MAX_CLOCK_SKEW_MILLIS: i64 = 60_000;

/// A product's category, status and activity summary.
#[derive(Clone, Debug)]
pub struct ProductSummary {
    /// The product.
    pub product: ProductId,
    /// The category of the product.
    pub category: CategoryId,
    /// The status of the product.
    pub status: ProductStatus,
    /// The stored activity summary.
    pub activity: ActivitySummary,
    /// Whether the stored popularity is not the one that follows from reviews and summary, although
    /// no update of the rank is pending.
    pub has_stale_popularity: bool,
    /// The number of reviews, and the fold that counted them.
    reviews: (i64, i64),
}

impl ProductSummary {
    /// Returns whether the summary is dated in the future.
    #[must_use]
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        self.activity.as_of > Some(now.plus_millis(MAX_CLOCK_SKEW_MILLIS))
    }
}

/// Products that were looked up.
#[derive(Debug, Default)]
pub struct ProductSummaries {
    /// The products that could be read.
    pub summaries: Vec<ProductSummary>,
    /// The first error, if some could not be read.
    pub failed: Option<StorageError>,
}

/// A new activity summary of a product.
#[derive(Clone, Debug)]
pub struct NewSummary {
    /// The product as it was read.
    pub product: ProductSummary,
    /// The new summary; `None` without activity in the whole period.
    pub activity: Option<ActivitySummary>,
}

/// A trending list.
#[derive(Clone, Debug, PartialEq)]
pub struct Trending {
    /// The category; `None` for the whole catalogue.
    pub category: Option<CategoryId>,
    /// The window.
    pub window: TrendingWindow,
    /// Products with their scores, highest first.
    pub items: Vec<(ProductId, f64)>,
}

/// A row of a trending list.
#[derive(Clone, Debug)]
pub struct TrendingRow {
    /// The product.
    pub product: ProductView,
    /// The score.
    pub score: f64,
    /// When the list was computed.
    pub as_of: Timestamp,
}

impl Store {
    /// Returns the summaries of these products.
    pub async fn product_summaries(
        &self,
        ids: &[ProductId],
    ) -> Result<ProductSummaries, StorageError> {
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
            match read_summary(doc) {
                Ok(summary) => batch.summaries.push(summary),
                // It does not block the others.
                Err(error) => batch.failed = batch.failed.or(Some(error)),
            }
        }
        Ok(batch)
    }

    /// Returns the ids of products with an activity summary, after one product and up to another;
    /// fewer than `max` at the end. In the order of the index `activity`, which contains only such
    /// products.
    pub async fn products_with_activity(
        &self,
        after: Option<ProductId>,
        until: Option<ProductId>,
        max: u32,
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
            .hint(Hint::Name("activity".to_owned()))
            .limit(i64::from(max));
        self.product_ids(find).await
    }

    /// Writes activity summaries and the popularity that follows from them, for products that this
    /// release may write. An older summary does not replace a newer one. A product whose reviews
    /// were folded since it was read is left for the next run. A product that cannot be written
    /// does not block the others.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; safe to repeat.
    pub async fn apply_activity_summaries(
        &self,
        summaries: &[NewSummary],
        now: Timestamp,
    ) -> Result<Batch, StorageError> {
        let updates: Vec<Document> = summaries.iter().map(|one| one.update(now)).collect();
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
            let product = summaries[at].product.product;
            tracing::error!(%product, %error, "the activity summary of a product cannot be written");
            batch.failed = batch.failed.or(Some(error));
        }
        Ok(batch)
    }

    /// Returns the stored lists of these categories and windows, each with the time when it was
    /// computed.
    pub async fn get_trending_lists(
        &self,
        keys: &[(Option<CategoryId>, TrendingWindow)],
    ) -> Result<Vec<(Trending, Timestamp)>, StorageError> {
        let mut lists = Vec::with_capacity(keys.len());
        for some in keys.chunks(200) {
            let ids: Vec<Document> = some.iter().map(|(of, window)| key(*of, *window)).collect();
            let collection = self.raw(COLLECTION);
            let find = collection.find(doc! { "_id": { "$in": ids } });
            let find = find.hint(Hint::Name("_id_".to_owned()));
            let found: Vec<RawDocumentBuf> =
                find.max_time(self.max_time).await?.try_collect().await?;
            for doc in &found {
                lists.push(read_list(doc)?);
            }
        }
        Ok(lists)
    }

    /// Stores trending lists; an older list does not replace a newer one.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; safe to repeat.
    pub async fn save_trending_lists(
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
                "expires_at": date(now.plus_millis(LIFETIME_MILLIS)),
                "items": list.items.iter().map(item).collect::<Vec<_>>(),
            };
            let mut older = not_newer("as_of", now);
            older.insert("_id", key(list.category, list.window));
            // A newer list makes the upsert fail with a duplicate key, as intended.
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

    /// Deletes the lists that were computed before this time.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; safe to repeat.
    pub async fn delete_trending_before(&self, now: Timestamp) -> Result<(), StorageError> {
        let older = not_newer("as_of", now.plus_millis(-1));
        self.documents(COLLECTION).delete_many(older).await?;
        Ok(())
    }

    /// Returns a trending list of a category, or of the whole catalogue, restricted to products
    /// that match a condition; highest score first. One command.
    pub async fn trending(
        &self,
        category: Option<CategoryId>,
        window: TrendingWindow,
        condition: &Condition,
        max: u32,
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
            doc! { "$limit": i64::from(max) },
            doc! { "$project": {
                "_id": 0, "as_of": 1, "score": "$items.s", "product": { "$first": "$product" },
            } },
        ];
        let collection = self.raw(COLLECTION);
        let found = collection
            .aggregate(pipeline)
            .batch_size(max + 1)
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
        let product = &self.product;
        let (count, fold_seq) = product.reviews;
        let mut one = not_newer("activity.as_of", now);
        one.insert("_id", stored_id(product.product.to_i64()));
        one.insert("schema_version", up_to(PRODUCT_VERSION));
        one.insert("stats.fold_seq", fold_seq);
        let activity = self.activity.unwrap_or_default();
        let (mut set, mut unset) = (Document::new(), Document::new());
        for (field, value) in stats::activity_rank(&activity) {
            match value {
                Some(value) => set.insert(format!("rank.{field}"), value),
                None => unset.insert(format!("rank.{field}"), 1),
            };
        }
        match self.activity.as_ref().and_then(stats::activity) {
            Some(activity) => set.insert("activity", activity),
            None => unset.insert("activity", 1),
        };
        let points = count.saturating_add(activity.interest());
        set.insert("rank.popularity", popularity(points));
        let mut update = Document::new();
        for (operator, fields) in [("$set", set), ("$unset", unset)] {
            if !fields.is_empty() {
                update.insert(operator, fields);
            }
        }
        doc! { "q": one, "u": update }
    }
}

/// Matches documents without this time, with an earlier one, or with one so far in the future that
/// the clock must have been wrong.
fn not_newer(field: &str, now: Timestamp) -> Document {
    doc! { "$or": [
        { field: { "$exists": false } },
        { field: { "$lte": date(now) } },
        { field: { "$gt": date(now.plus_millis(MAX_CLOCK_SKEW_MILLIS)) } },
    ] }
}

fn read_summary(doc: &RawDocumentBuf) -> Read<ProductSummary> {
    let fields = Fields::of(products::COLLECTION, doc);
    let activity = stats::read_activity(&fields)?;
    let (stats, rank) = (fields.doc("stats")?, fields.doc("rank")?);
    let count = stats.i64("count")?;
    let follows = popularity(count.saturating_add(activity.interest()));
    Ok(ProductSummary {
        product: ProductId::from_i64(fields.id("_id")?),
        category: read_category(&fields)?,
        status: read_status(&fields)?,
        activity,
        has_stale_popularity: rank.i64("popularity")? != i64::from(follows),
        reviews: (count, stats.i64("fold_seq")?),
    })
}

fn read_list(doc: &RawDocumentBuf) -> Read<(Trending, Timestamp)> {
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
