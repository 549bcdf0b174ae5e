//! The number of products in each category. The transactions that write products update it together
//! with the generation of the category, so it is always exact.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::product::ProductStatus;

use crate::counts::GENERATIONS;
use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, Read, stored_id};
use crate::store::snapshot;
use crate::{StorageError, Store, products, products_query};

/// The number of products in a category itself, without its subcategories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryCount {
    /// Products on sale.
    pub on_sale: i64,
    /// Products in any state.
    pub all: i64,
}

/// The changes of a transaction to a category.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CategoryChange {
    /// The number of product changes.
    pub(crate) generation: i64,
    count: CategoryCount,
}

/// The stored totals of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryTotals {
    /// A number that differs after every change of a product of the category.
    pub generation: i64,
    /// The number of products.
    pub count: CategoryCount,
}

impl CategoryChange {
    /// Adds products with this status.
    pub(crate) fn add(&mut self, status: ProductStatus, products: i64) {
        self.count.all += products;
        if status == ProductStatus::Active {
            self.count.on_sale += products;
        }
    }

    /// Returns the update of one of the sharded counters of the category.
    pub(crate) fn update(&self, category: CategoryId, shard: u8) -> Document {
        let category = stored_id(category.to_i64());
        let id = doc! { "c": category.clone(), "s": i32::from(shard) };
        let first = doc! { "schema_version": REFERENCE_VERSION, "category": category };
        let change = doc! {
            "n": self.generation,
            "on_sale": self.count.on_sale,
            "all": self.count.all,
        };
        let update = doc! { "$inc": change, "$setOnInsert": first };
        doc! { "q": { "_id": id }, "u": update, "upsert": true }
    }
}

impl Store {
    /// Returns the totals of all categories that ever had a product. Covered by the index
    /// `category`.
    pub async fn category_totals(
        &self,
    ) -> Result<HashMap<CategoryId, CategoryTotals>, StorageError> {
        let sum = [doc! { "$group": {
            "_id": "$category",
            "n": { "$sum": "$n" },
            "on_sale": { "$sum": "$on_sale" },
            "all": { "$sum": "$all" },
        } }];
        let collection = self.raw(GENERATIONS);
        let aggregate = collection
            .aggregate(sum)
            .hint(Hint::Name("category".to_owned()))
            .batch_size(10_000)
            .max_time(self.max_time)
            // Otherwise a row that is updated during the scan could be read twice.
            .read_concern(snapshot())
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = aggregate.await?.try_collect().await?;
        let totals = |doc: &RawDocumentBuf| {
            let fields = Fields::of(GENERATIONS, doc);
            let totals = CategoryTotals {
                generation: fields.i64("n")?,
                count: read_count(&fields)?,
            };
            Ok((CategoryId::from_i64(fields.id("_id")?), totals))
        };
        found.iter().map(totals).collect()
    }

    /// Counts the products of these categories; categories without products are absent. One
    /// command, covered by the index `category_newest`.
    ///
    /// # Errors
    /// [`StorageError::Timeout`] when it takes longer than `max_time`.
    pub async fn count_categories(
        &self,
        categories: &[CategoryId],
        max_time: Duration,
    ) -> Result<HashMap<CategoryId, CategoryCount>, StorageError> {
        let condition = Condition::All(vec![
            Condition::Status(ProductStatus::ALL.to_vec()),
            Condition::Category(categories.to_vec()),
        ]);
        let active = doc! { "$eq": ["$status", ProductStatus::Active.name()] };
        let count = [
            doc! { "$match": products_query::predicate(&condition) },
            doc! { "$group": {
                "_id": "$category",
                "on_sale": { "$sum": { "$cond": [active, 1_i64, 0_i64] } },
                "all": { "$sum": 1_i64 },
            } },
        ];
        let collection = self.raw(products::COLLECTION);
        let aggregate = collection
            .aggregate(count)
            .hint(Hint::Name("category_newest".to_owned()))
            .batch_size(10_000)
            .max_time(max_time)
            // The same read concern as for the totals, which the result is compared with.
            .read_concern(snapshot())
            .with_type::<RawDocumentBuf>();
        let groups: Vec<RawDocumentBuf> = aggregate.await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(products::COLLECTION, doc);
            let category = CategoryId::from_i64(fields.id("_id")?);
            Ok((category, read_count(&fields)?))
        };
        groups.iter().map(read).collect()
    }

    /// Corrects the stored count of a category by the difference between a recount and the stored
    /// count it was compared with. Changes by transactions in the meantime are kept.
    pub async fn correct_category_count(
        &self,
        category: CategoryId,
        stored: CategoryCount,
        counted: CategoryCount,
    ) -> Result<(), StorageError> {
        let correction = CategoryChange {
            generation: 0,
            count: CategoryCount {
                on_sale: counted.on_sale - stored.on_sale,
                all: counted.all - stored.all,
            },
        };
        let written = self.update_unordered(GENERATIONS, vec![correction.update(category, 0)]);
        let mut refused = written.await?.refused.into_iter();
        refused.next().map_or(Ok(()), |(_, error)| Err(error))
    }
}

fn read_count(fields: &Fields<'_>) -> Read<CategoryCount> {
    Ok(CategoryCount {
        on_sale: fields.i64("on_sale")?,
        all: fields.i64("all")?,
    })
}
