//! Active products as rows that facets are counted from, and lists are made of, in memory.

use std::sync::{Arc, PoisonError, RwLock};

use mongodb::bson::raw::RawDocument;
use mongodb::bson::{Bson, Document, RawBsonRef, doc};
use mongodb::options::Hint;
use tokio::task::coop::consume_budget;
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{
    CountedValue, FacetRow, RowBuilder, SortValues, TallyProduct, Vocabulary,
};
use vitrine_model::filter::Condition;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::product::ProductStatus;

use crate::products::COLLECTION;
use crate::raw::{Elements, Fields, number};
use crate::{StorageError, Store, products_query};

/// The batch size of the cursor.
const BATCH: u32 = 1_000;

/// The active products whose rows are read.
#[derive(Clone, Debug)]
pub enum RowsOf {
    /// All of these categories.
    Categories(Vec<CategoryId>),
    /// These.
    Products(Vec<ProductId>),
}

impl RowsOf {
    /// Returns the filter and its index. The index of a category changes only when the product itself does, so a scan
    /// does not miss products that move by rating.
    fn query(&self) -> (Document, &'static str) {
        let active = Condition::Status(vec![ProductStatus::Active]);
        match self {
            Self::Categories(ids) => {
                let condition = Condition::All(vec![active, Condition::Category(ids.clone())]);
                let index = products_query::count_index(&condition);
                (products_query::predicate(&condition), index)
            }
            Self::Products(ids) => {
                let mut filter = products_query::predicate(&active);
                let ids: Vec<Bson> = ids.iter().map(|id| Bson::Int64(id.to_i64())).collect();
                filter.insert("_id", doc! { "$in": ids });
                (filter, "_id_")
            }
        }
    }
}

impl Store {
    /// Reads rows, whose texts are added to a vocabulary. One command, and more where the result is large.
    pub async fn facet_rows(
        &self,
        of: &RowsOf,
        words: &RwLock<Vocabulary>,
    ) -> Result<Vec<Arc<FacetRow>>, StorageError> {
        let (filter, index) = of.query();
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .projection(row_fields())
            .hint(Hint::Name(index.to_owned()))
            .batch_size(BATCH);
        let mut cursor = find.max_time(self.max_time).await?;
        let mut rows = Vec::new();
        while cursor.advance().await? {
            let row = {
                let mut words = words.write().unwrap_or_else(PoisonError::into_inner);
                read_row(cursor.current(), &mut words)?
            };
            rows.push(Arc::new(row));
            consume_budget().await;
        }
        Ok(rows)
    }
}

fn row_fields() -> Document {
    doc! {
        "kind": 1, "category": 1, "brand": 1, "supplier": 1, "list_price": 1, "rank": 1, "specs": 1, "tokens": 1,
        "created_at": 1, "updated_at": 1,
    }
}

fn read_row(doc: &RawDocument, words: &mut Vocabulary) -> Result<FacetRow, StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let index = fields.index();
    let fields = fields.indexed(&index);
    let supplier = fields.opt_doc("supplier")?;
    let country = supplier
        .map(|supplier| supplier.opt_str("country"))
        .transpose()?
        .flatten();
    let rank = fields.doc("rank")?;
    let product = TallyProduct {
        kind: fields.str("kind")?,
        category: CategoryId::from_i64(fields.id("category")?),
        brand: fields.opt_str("brand")?,
        country,
        list_price: fields.opt_i64("list_price")?,
        half_stars: rank.get("stars")?.and_then(number),
    };
    let mut row = words.row(ProductId::from_i64(fields.id("_id")?), &product);
    row.sort_values(SortValues {
        rating: rank.opt_i64("rating")?,
        popularity: rank.opt_i64("popularity")?,
        created_at: fields.opt_date("created_at")?.map(Timestamp::as_millis),
        updated_at: fields.opt_date("updated_at")?.map(Timestamp::as_millis),
        sold: rank.opt_i64("sold")?,
        trend: rank.opt_i64("trend")?,
    });
    for token in fields.items("tokens", RawBsonRef::as_str)? {
        row.token(token);
    }
    fields.each_doc("specs", |spec| read_spec(spec, &mut row))?;
    Ok(row.build())
}

fn read_spec(spec: Elements<'_>, row: &mut RowBuilder<'_>) -> Option<()> {
    let (mut key, mut qualifier, mut value) = (None, None, None);
    let (mut unit, mut canonical) = (None, None);
    for element in spec {
        let (name, field) = element.ok()?;
        match name {
            b"k" => key = field.str(),
            b"q" => qualifier = field.str(),
            b"v" => value = Some(field),
            b"u" => unit = field.str(),
            b"n" => canonical = field.number(),
            _ => {}
        }
    }
    let value = value?;
    let value = if let Some(text) = value.str() {
        CountedValue::Text(text)
    } else if let Some(value) = value.bool() {
        CountedValue::Boolean(value)
    } else if value.date().is_some() {
        CountedValue::Date(canonical?)
    } else {
        CountedValue::Number(canonical?, unit)
    };
    row.spec(key?, qualifier, value);
    Some(())
}
