//! Records of products.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vitrine_domain::export::ExportedProduct;
use vitrine_model::activity::ActivitySummary;
use vitrine_model::clock::Timestamp;
use vitrine_model::contribution::{Content, Contribution, SourcePriority};
use vitrine_model::fold::Computed;
use vitrine_model::import::Rejection;
use vitrine_model::overrides::{Override, OwnedField};
use vitrine_model::product::{
    Bundle, BundleItem, Details, Kind, Media, Outlier, Product, ProductStatus, Sold, Source,
};
use vitrine_model::spec::{Spec, SpecValue};
use vitrine_model::supplier::SupplierExtract;

use super::{
    PriceRecord, category_gid, category_id, instant, product_gid, product_id, supplier_gid,
    supplier_id,
};

/// A product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductRecord {
    /// The global id.
    pub id: String,
    /// The stock-keeping unit.
    pub sku: String,
    /// The part of a URL that identifies it.
    pub slug: String,
    /// The kind.
    pub kind: String,
    /// The status.
    pub status: ProductStatus,
    /// The name.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The brand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brand: Option<String>,
    /// The id of the category.
    pub category: String,
    /// The price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceRecord>,
    /// Images, videos and documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// The specs, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specs: Vec<SpecRecord>,
    /// The fields of its kind; those of bundles are in `items`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The items of a bundle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemRecord>,
    /// The copy of its supplier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supplier: Option<SupplierCopy>,
    /// The feeds that it came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceRecord>,
    /// The fields that people have edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<OverrideRecord>,
    /// Increases with every edit.
    pub revision: i64,
    /// When it was first stored.
    #[serde(with = "instant")]
    pub created_at: Timestamp,
    /// When it stopped being a draft.
    #[serde(
        default,
        with = "instant::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub listed_at: Option<Timestamp>,
    /// When an admin or an import last changed it.
    #[serde(with = "instant")]
    pub updated_at: Timestamp,
}

/// A spec: one of `text`, `number`, `quantity`, `boolean` and `date` is present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecRecord {
    /// The key.
    pub key: String,
    /// A text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A plain number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// A number with a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<QuantityRecord>,
    /// Yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boolean: Option<bool>,
    /// An instant.
    #[serde(
        default,
        with = "instant::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub date: Option<Timestamp>,
    /// What the value is restricted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qualifier: Option<String>,
}

/// A number with a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantityRecord {
    /// The number.
    pub value: f64,
    /// The symbol of the unit.
    pub unit: String,
}

/// An item of a bundle, with the copy of its product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemRecord {
    /// The id of the product.
    pub product: String,
    /// How many of it.
    pub quantity: i32,
    /// The revision of the product that was copied.
    pub version: i64,
    /// Its name.
    pub name: String,
    /// Its price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceRecord>,
    /// Whether it was on sale.
    pub listed: bool,
    /// When it was last changed before it was copied.
    #[serde(
        default,
        with = "instant::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub as_of: Option<Timestamp>,
}

/// The copy of a supplier in its product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupplierCopy {
    /// The id of the supplier.
    pub id: String,
    /// The version that was copied.
    pub version: i64,
    /// The name.
    pub name: String,
    /// The country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// When it was copied.
    #[serde(with = "instant")]
    pub as_of: Timestamp,
}

/// A field that people have edited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverrideRecord {
    /// The field: `name`, `specs.weight`.
    pub field: String,
    /// The last person who edited it.
    pub by: String,
    /// When that was.
    #[serde(with = "instant")]
    pub at: Timestamp,
}

impl OverrideRecord {
    fn of(own: &Override) -> Self {
        Self {
            field: own.field.to_string(),
            by: own.by.clone(),
            at: own.at,
        }
    }

    fn own(self) -> Result<Override, Rejection> {
        let field = OwnedField::named(&self.field).ok_or_else(|| {
            let reason = format!(
                "{:?} is no field that people can keep from feeds",
                self.field
            );
            Rejection::new("overrides.field", reason)
        })?;
        Ok(Override {
            field,
            by: self.by,
            at: self.at,
        })
    }
}

/// A feed that the product came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecord {
    /// The system.
    pub system: String,
    /// The id in that system.
    pub external_id: String,
    /// When an import last changed the product.
    #[serde(with = "instant")]
    pub imported_at: Timestamp,
    /// The digest of what was imported.
    pub digest: String,
    /// How it ranks among the sources, if it does not describe the whole product.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub priority: SourcePriority,
    /// What it says, if that does not follow from the product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<Box<SaidRecord>>,
}

fn is_usual(priority: &SourcePriority) -> bool {
    *priority == SourcePriority::default()
}

/// What a source says of a product. What is absent is not said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaidRecord {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The brand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brand: Option<String>,
    /// The kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The id of the category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ProductStatus>,
    /// The id of the supplier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supplier: Option<String>,
    /// The price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceRecord>,
    /// Images, videos and documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// The specs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specs: Vec<SpecRecord>,
    /// The fields of its kind; those of bundles are in `items`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The items of a bundle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemRecord>,
}

impl SaidRecord {
    fn of(content: &Content) -> Self {
        Self {
            name: content.name.clone(),
            description: content.description.clone(),
            brand: content.brand.clone(),
            kind: content.kind.clone(),
            category: content.category.map(category_gid),
            status: content.status,
            supplier: content.supplier.map(supplier_gid),
            price: content.price.map(PriceRecord::of),
            media: content.media.clone(),
            specs: content.specs.iter().map(SpecRecord::of).collect(),
            details: details_value(&content.details),
            items: items(&content.details),
        }
    }

    fn content(self) -> Result<Content, Rejection> {
        let specs = self.specs.into_iter().map(|one| one.spec("specs"));
        let category = self
            .category
            .as_deref()
            .map(|id| category_id("category", id));
        let supplier = self
            .supplier
            .as_deref()
            .map(|id| supplier_id("supplier", id));
        let details = match &self.kind {
            Some(kind) if self.details.is_some() || !self.items.is_empty() => {
                details(kind, self.details, self.items)?
            }
            _ => Details::Generic,
        };
        Ok(Content {
            name: self.name,
            description: self.description,
            brand: self.brand,
            kind: self.kind,
            category: category.transpose()?,
            status: self.status,
            supplier: supplier.transpose()?,
            price: self.price.map(|price| price.money()).transpose()?,
            media: self.media,
            specs: specs.collect::<Result<_, _>>()?,
            details,
        })
    }
}

fn items(details: &Details) -> Vec<ItemRecord> {
    match details {
        Details::Bundle(bundle) => bundle.items.iter().map(ItemRecord::of).collect(),
        _ => Vec::new(),
    }
}

impl ProductRecord {
    pub(crate) fn of(ExportedProduct { product, said }: &ExportedProduct) -> Self {
        let says = |source: &Source| said.iter().find(|one| one.source == *source);
        let sources = product.sources.iter().map(|source| SourceRecord {
            says: says(source).map(|one| Box::new(SaidRecord::of(&one.content))),
            ..SourceRecord::of(source)
        });
        Self {
            id: product_gid(product.id),
            sku: product.sku.clone(),
            slug: product.slug.clone(),
            kind: product.kind.clone(),
            status: product.status,
            name: product.name.clone(),
            description: product.description.clone(),
            brand: product.brand.clone(),
            category: category_gid(product.category),
            price: product.price.map(PriceRecord::of),
            media: product.media.clone(),
            specs: product.specs.iter().map(SpecRecord::of).collect(),
            details: details_value(&product.details),
            items: items(&product.details),
            supplier: product.supplier.as_ref().map(SupplierCopy::of),
            sources: sources.collect(),
            overrides: product
                .overrides
                .all()
                .iter()
                .map(OverrideRecord::of)
                .collect(),
            revision: product.revision,
            created_at: product.created_at,
            listed_at: product.listed(),
            updated_at: product.updated_at,
        }
    }

    pub(crate) fn product(mut self) -> Result<ExportedProduct, Rejection> {
        let mut said = Vec::new();
        for record in &mut self.sources {
            if let Some(says) = record.says.take() {
                said.push(Contribution {
                    source: record.clone().source(),
                    content: says.content()?,
                });
            }
        }
        let specs = self.specs.into_iter().map(|one| one.spec("specs"));
        let supplier = self.supplier.map(SupplierCopy::extract);
        let overrides = self.overrides.into_iter().map(OverrideRecord::own);
        let product = Product {
            id: product_id("id", &self.id)?,
            category: category_id("category", &self.category)?,
            price: self.price.map(|price| price.money()).transpose()?,
            specs: specs.collect::<Result<_, _>>()?,
            details: details(&self.kind, self.details, self.items)?,
            supplier: supplier.transpose()?,
            kind: self.kind,
            sku: self.sku,
            slug: self.slug,
            name: self.name,
            description: self.description,
            brand: self.brand,
            status: self.status,
            media: self.media,
            computed: Computed::default(),
            outlier: Outlier::default(),
            activity: ActivitySummary::default(),
            sold: Sold::default(),
            sources: self.sources.into_iter().map(SourceRecord::source).collect(),
            overrides: overrides.collect::<Result<_, _>>()?,
            revision: self.revision,
            created_at: self.created_at,
            listed_at: self.listed_at,
            updated_at: self.updated_at,
        };
        Ok(ExportedProduct { product, said })
    }
}

/// The fields of a kind, without those that are absent everywhere.
fn details_value(details: &Details) -> Option<Value> {
    if details.is_empty() {
        return None;
    }
    let value = match details {
        Details::Apparel(apparel) => serde_json::to_value(apparel),
        Details::Book(book) => serde_json::to_value(book),
        Details::Electronics(electronics) => serde_json::to_value(electronics),
        Details::Grocery(grocery) => serde_json::to_value(grocery),
        Details::Movie(movie) => serde_json::to_value(movie),
        Details::Bundle(_) | Details::Generic => return None,
    };
    value.ok()
}

fn details(kind: &str, value: Option<Value>, items: Vec<ItemRecord>) -> Result<Details, Rejection> {
    let kind = Kind::of(kind);
    if kind == Kind::Bundle {
        let items = items.into_iter().map(ItemRecord::item);
        let items = items.collect::<Result<_, _>>()?;
        return Ok(Details::Bundle(Bundle { items }));
    }
    if !items.is_empty() {
        return Err(Rejection::new("items", "only bundles have items"));
    }
    let Some(value) = value else {
        return Ok(Details::empty(kind));
    };
    match kind {
        Kind::Apparel => fields(value).map(Details::Apparel),
        Kind::Book => fields(value).map(Details::Book),
        Kind::Electronics => fields(value).map(Details::Electronics),
        Kind::Grocery => fields(value).map(Details::Grocery),
        Kind::Movie => fields(value).map(Details::Movie),
        Kind::Bundle | Kind::Other(_) => {
            let reason = format!("products of kind {} have no such fields", kind.name());
            Err(Rejection::new("details", reason))
        }
    }
}

fn fields<T: DeserializeOwned>(value: Value) -> Result<T, Rejection> {
    serde_json::from_value(value).map_err(|wrong| Rejection::new("details", wrong.to_string()))
}

impl SpecRecord {
    pub(super) fn of(spec: &Spec) -> Self {
        let mut record = Self {
            key: spec.key.clone(),
            qualifier: spec.qualifier.clone(),
            ..Self::default()
        };
        match &spec.value {
            SpecValue::Text(text) => record.text = Some(text.clone()),
            SpecValue::Number(number) => record.number = Some(*number),
            SpecValue::Quantity { value, unit } => {
                let (value, unit) = (*value, unit.clone());
                record.quantity = Some(QuantityRecord { value, unit });
            }
            SpecValue::Boolean(value) => record.boolean = Some(*value),
            SpecValue::Date(at) => record.date = Some(*at),
        }
        record
    }

    /// The spec; `field` is where it stands.
    pub(super) fn spec(self, field: &str) -> Result<Spec, Rejection> {
        let quantity = |QuantityRecord { value, unit }| SpecValue::Quantity { value, unit };
        let values = [
            self.text.map(SpecValue::Text),
            self.number.map(SpecValue::Number),
            self.quantity.map(quantity),
            self.boolean.map(SpecValue::Boolean),
            self.date.map(SpecValue::Date),
        ];
        let mut values = values.into_iter().flatten();
        let (Some(value), None) = (values.next(), values.next()) else {
            let reason = "a spec has one of text, number, quantity, boolean and date";
            return Err(Rejection::new(format!("{field}.{}", self.key), reason));
        };
        Ok(Spec {
            key: self.key,
            value,
            qualifier: self.qualifier,
        })
    }
}

impl ItemRecord {
    fn of(item: &BundleItem) -> Self {
        Self {
            product: product_gid(item.product_id),
            quantity: item.quantity,
            version: item.version,
            name: item.name.clone(),
            price: item.price.map(PriceRecord::of),
            listed: item.listed,
            as_of: item.as_of,
        }
    }

    fn item(self) -> Result<BundleItem, Rejection> {
        Ok(BundleItem {
            product_id: product_id("items.product", &self.product)?,
            quantity: self.quantity,
            version: self.version,
            name: self.name,
            price: self.price.map(|price| price.money()).transpose()?,
            listed: self.listed,
            as_of: self.as_of,
        })
    }
}

impl SupplierCopy {
    fn of(copy: &SupplierExtract) -> Self {
        Self {
            id: supplier_gid(copy.id),
            version: copy.version,
            name: copy.name.clone(),
            country: copy.country.clone(),
            as_of: copy.as_of,
        }
    }

    fn extract(self) -> Result<SupplierExtract, Rejection> {
        Ok(SupplierExtract {
            id: supplier_id("supplier.id", &self.id)?,
            version: self.version,
            name: self.name,
            country: self.country,
            as_of: self.as_of,
        })
    }
}

impl SourceRecord {
    fn of(source: &Source) -> Self {
        Self {
            system: source.system.clone(),
            external_id: source.external_id.clone(),
            imported_at: source.imported_at,
            digest: source.digest.clone(),
            priority: source.priority.clone(),
            says: None,
        }
    }

    fn source(self) -> Source {
        Source {
            system: self.system,
            external_id: self.external_id,
            imported_at: self.imported_at,
            digest: self.digest,
            priority: self.priority,
        }
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::spec::ValueType;

    use super::*;

    fn example(value_type: ValueType) -> SpecValue {
        match value_type {
            ValueType::Text => SpecValue::Text("Oak".to_owned()),
            ValueType::Number => SpecValue::Number(-0.5),
            ValueType::Quantity => SpecValue::Quantity {
                value: 2.5,
                unit: "kg".to_owned(),
            },
            ValueType::Boolean => SpecValue::Boolean(false),
            ValueType::Date => SpecValue::Date(Timestamp::from_millis(86_400_000)),
        }
    }

    #[test]
    fn a_spec_of_every_type_is_read_as_it_was_written() {
        for value_type in ValueType::ALL {
            let spec = Spec {
                key: "key".to_owned(),
                value: example(value_type),
                qualifier: None,
            };
            let json = serde_json::to_value(SpecRecord::of(&spec)).unwrap();
            let record: SpecRecord = serde_json::from_value(json).unwrap();
            assert_eq!(record.spec("specs"), Ok(spec));
        }
    }

    #[test]
    fn the_priority_of_a_source_is_written_unless_it_is_usual() {
        let record = |priority| SourceRecord {
            system: "erp".to_owned(),
            external_id: "7".to_owned(),
            imported_at: Timestamp::from_millis(0),
            digest: "d".to_owned(),
            priority,
            says: None,
        };
        let usual = serde_json::to_value(record(SourcePriority::default())).unwrap();
        assert_eq!(usual.get("priority"), None);
        let partial = record(SourcePriority {
            partial: true,
            ..SourcePriority::default()
        });
        let json = serde_json::to_value(&partial).unwrap();
        let expected = serde_json::json!({ "owns": [], "partial": true, "derived": false });
        assert_eq!(json["priority"], expected);
        assert_eq!(
            serde_json::from_value::<SourceRecord>(json).unwrap(),
            partial
        );
    }
}
