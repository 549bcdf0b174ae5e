//! How many products each category holds, counted and kept.
//!
//! A count is kept with the stamp that its category had before the counting began ([`crate::counts`]):
//! while the stamp is the same, so is the number. Both are read from indexes alone.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::product::ProductStatus;

use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, Read, date, stored_id};
use crate::{StorageError, Store, products, products_query};

const COLLECTION: &str = "category_counts";
/// How many counts are written with one command.
const MAX_WRITTEN: usize = 1_000;

/// How many products a category holds itself, without the categories below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryCount {
    /// Products on sale.
    pub on_sale: u64,
    /// Products in any state.
    pub all: u64,
}

/// A count as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptCategoryCount {
    /// The count.
    pub count: CategoryCount,
    /// The stamp of the category before it was counted.
    pub stamp: i64,
    /// When it was counted.
    pub as_of: Timestamp,
}

impl Store {
    /// Counts the products of each of these categories; those without any are absent. `None` when
    /// there are more than `most` products in all. One command, covered by the index
    /// `category_newest`.
    ///
    /// # Errors
    /// [`StorageError::Timeout`] when it takes longer than `max_time`, or than anything else may when
    /// that is absent.
    pub async fn count_categories(
        &self,
        categories: &[CategoryId],
        most: Option<u64>,
        max_time: Option<Duration>,
    ) -> Result<Option<HashMap<CategoryId, CategoryCount>>, StorageError> {
        let condition = Condition::All(vec![
            Condition::Status(ProductStatus::ALL.to_vec()),
            Condition::Category(categories.to_vec()),
        ]);
        let mut pipeline = vec![doc! { "$match": products_query::predicate(&condition) }];
        if let Some(most) = most {
            let limit = i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX);
            pipeline.push(doc! { "$limit": limit });
        }
        let active = doc! { "$eq": ["$status", ProductStatus::Active.name()] };
        pipeline.push(doc! { "$group": {
            "_id": "$category",
            "on_sale": { "$sum": { "$cond": [active, 1_i64, 0_i64] } },
            "all": { "$sum": 1_i64 },
        } });
        let collection = self.raw(products::COLLECTION);
        let aggregate = collection
            .aggregate(pipeline)
            .hint(Hint::Name("category_newest".to_owned()))
            .batch_size(10_000)
            .max_time(max_time.unwrap_or(self.max_time))
            .with_type::<RawDocumentBuf>();
        let groups: Vec<RawDocumentBuf> = aggregate.await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(products::COLLECTION, doc);
            Ok((
                CategoryId::from_i64(fields.id("_id")?),
                read_count(&fields)?,
            ))
        };
        let counted: Read<HashMap<_, CategoryCount>> = groups.iter().map(read).collect();
        let counted = counted?;
        let products: u64 = counted.values().map(|count| count.all).sum();
        Ok(most.is_none_or(|most| products <= most).then_some(counted))
    }

    /// Returns the kept counts of all categories. Covered by the index `counts`.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn category_counts(
        &self,
    ) -> Result<HashMap<CategoryId, KeptCategoryCount>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(Document::new())
            .projection(doc! { "stamp": 1, "on_sale": 1, "all": 1, "as_of": 1 })
            .hint(Hint::Name("counts".to_owned()))
            .batch_size(10_000);
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(COLLECTION, doc);
            let kept = KeptCategoryCount {
                count: read_count(&fields)?,
                stamp: fields.i64("stamp")?,
                as_of: fields.date("as_of")?,
            };
            Ok((CategoryId::from_i64(fields.id("_id")?), kept))
        };
        found.iter().map(read).collect()
    }

    /// Keeps counts of categories. An older count that replaces a newer one is found out by its stamp.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some counts may have been kept then.
    pub async fn keep_category_counts(
        &self,
        counts: &[(CategoryId, KeptCategoryCount)],
    ) -> Result<(), StorageError> {
        for some in counts.chunks(MAX_WRITTEN) {
            let updates: Vec<Document> = some.iter().map(update).collect();
            let written = self.update_unordered(COLLECTION, updates).await?;
            for (_, error) in written.refused {
                // Another process keeps the first count of a category in the same moment.
                if !matches!(error, StorageError::Conflict { .. }) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

fn update((category, kept): &(CategoryId, KeptCategoryCount)) -> Document {
    let id = doc! { "_id": stored_id(category.to_i64()) };
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let set = doc! {
        "schema_version": REFERENCE_VERSION,
        "stamp": kept.stamp,
        "on_sale": number(kept.count.on_sale),
        "all": number(kept.count.all),
        "as_of": date(kept.as_of),
    };
    doc! { "q": id, "u": { "$set": set }, "upsert": true }
}

fn read_count(fields: &Fields<'_>) -> Read<CategoryCount> {
    let number = |field| u64::try_from(fields.i64(field)?).map_err(|_| fields.corrupt(field));
    Ok(CategoryCount {
        on_sale: number("on_sale")?,
        all: number("all")?,
    })
}
