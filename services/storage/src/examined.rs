//! Limits of how many products a list or a count examines, where no index bounds that.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, doc};
use mongodb::options::Hint;
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;

use crate::products::{COLLECTION, ProductList};
use crate::products_query::{self, Served};
use crate::raw::Fields;
use crate::{StorageError, Store};

/// How many index entries a count examines for each product that it may read.
const ENTRIES_PER_PRODUCT: u32 = 20;

/// The products of which a list or a count may examine any number: those of these categories, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExaminedScope {
    /// The categories; `None` for all.
    pub categories: Option<Vec<CategoryId>>,
}

/// A number of products that match a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number.
    pub products: u64,
    /// Whether all products were examined that may match.
    pub is_complete: bool,
}

/// Returns the scope of a list; `None` if its index has nothing but rows of the list. Searches have limits of their own.
#[must_use]
pub fn scope_of_list(list: &ProductList) -> Option<ExaminedScope> {
    let is_search = products_query::words(&list.condition).is_some();
    if is_search || list.by_spec.is_some() || list.ranking.is_some() {
        return None;
    }
    let served = Served::by_list(&list.condition, list.sort, list.scan_sort_index);
    (!served.is_bounded()).then(|| scope(&served))
}

/// Returns the scope of a count; `None` if its index has nothing but what is counted.
#[must_use]
pub fn scope_of_count(condition: &Condition) -> Option<ExaminedScope> {
    if products_query::words(condition).is_some() {
        return None;
    }
    let served = Served::by_count(condition);
    (!served.is_whole || served.reads).then(|| scope(&served))
}

fn scope(served: &Served) -> ExaminedScope {
    ExaminedScope {
        categories: served.categories().map(<[_]>::to_vec),
    }
}

impl Store {
    /// Limits how many products each page of a list examines to `max`. A list whose rarest value at most twice as many
    /// products have reads these, without a limit; of any other it scans an index that has the order of the list. At most one command, which
    /// counts index entries.
    pub async fn limit_list(&self, list: &mut ProductList, max: u32) -> Result<(), StorageError> {
        let served = Served::by_list(&list.condition, list.sort, list.scan_sort_index);
        list.looks_through = Some(max);
        if !served.has_values {
            return Ok(());
        }
        // Without a limit, each product takes half as long; but the count of a range reads as much as the list does.
        let few = if served.reads { max } else { 2 * max };
        let found = self
            .count_common(&served.condition, u64::from(few) + 1)
            .await?;
        if found <= u64::from(few) {
            list.looks_through = None;
            return Ok(());
        }
        list.scan_sort_index = !served.is_sorted;
        if served.reads {
            list.looks_through = Some(max / 2);
        }
        Ok(())
    }

    /// Counts the products that match a condition, up to `max`, and examines at most `examined` products or twenty times as
    /// many index entries. For conditions whose index serves more than that. Two commands at most.
    pub async fn count_within(
        &self,
        condition: &Condition,
        max: u64,
        examined: u32,
    ) -> Result<Counted, StorageError> {
        let served = Served::by_count(condition);
        if served.is_whole {
            // A range reads what it counts.
            let limit = if served.reads {
                max.min(2 * u64::from(examined) + 1)
            } else {
                max
            };
            let products = self.count_products(condition, limit).await?;
            return Ok(Counted {
                products,
                is_complete: products < limit || limit == max,
            });
        }
        let mut left = examined;
        if served.has_values {
            let few = if served.reads { examined } else { 2 * examined };
            let limit = u64::from(few) + 1;
            if self.count_common(&served.condition, limit).await? < limit {
                let products = self.count_products(condition, max).await?;
                return Ok(Counted {
                    products,
                    is_complete: true,
                });
            }
            if served.reads {
                left = examined / 2;
            }
        }
        let limit = if served.is_covering {
            left.saturating_mul(ENTRIES_PER_PRODUCT)
        } else {
            left
        };
        let products = self.count_first(condition, &served, max, limit).await?;
        // More than `left` are served by the index, or there would be no limit.
        let is_complete = products >= max
            || (served.is_covering && {
                let limit = u64::from(limit);
                self.count_common(&served.condition, limit).await? < limit
            });
        Ok(Counted {
            products,
            is_complete,
        })
    }

    /// Counts the matches among the first products of what the index serves, up to `max`.
    async fn count_first(
        &self,
        condition: &Condition,
        served: &Served,
        max: u64,
        limit: u32,
    ) -> Result<u64, StorageError> {
        let pipeline = [
            doc! { "$match": products_query::predicate(&served.condition) },
            doc! { "$limit": i64::from(limit) },
            doc! { "$match": products_query::predicate(condition) },
            doc! { "$limit": i64::try_from(max).unwrap_or(i64::MAX) },
            doc! { "$group": { "_id": Bson::Null, "n": { "$sum": 1_i64 } } },
        ];
        let hint = Hint::Name(products_query::count_index(condition).to_owned());
        let collection = self.documents(COLLECTION);
        let aggregate = collection.aggregate(pipeline).hint(hint);
        let aggregate = aggregate.max_time(self.max_time);
        let cursor = aggregate.await?.with_type::<RawDocumentBuf>();
        let groups: Vec<RawDocumentBuf> = cursor.try_collect().await?;
        let Some(group) = groups.first() else {
            return Ok(0);
        };
        let fields = Fields::of(COLLECTION, group);
        u64::try_from(fields.i64("n")?).map_err(|_| fields.corrupt("n"))
    }
}
