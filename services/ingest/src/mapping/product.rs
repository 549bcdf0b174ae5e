//! Mapping rows to products.

use std::collections::BTreeSet;
use std::sync::Arc;

use vitrine_model::contribution::ProductField;
use vitrine_model::import::{Droppable, ExternalRef, ProductDraft};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Details, MAX_MEDIA, ProductStatus};

use super::category::Category;
use super::details::DetailFields;
use super::error::MappingError;
use super::field::Field;
use super::media::MediaFields;
use super::path::Row;
use super::problems::{Problems, Traced};
use super::reading::Reading;
use super::section::{Section, numbered};
use super::specs::{PlanCache, Specs};

mod supplier;

use supplier::SupplierFields;

/// The mapping of a row to a product.
#[derive(Clone, Debug)]
pub(super) struct ProductMapping {
    external_id: Field,
    sku: Option<Field>,
    name: Option<Field>,
    description: Option<Field>,
    brand: Option<Field>,
    kind: Option<Field>,
    status: Option<Field>,
    created_at: Option<Field>,
    category: Option<Category>,
    supplier: Option<SupplierFields>,
    /// The first of these that is known.
    prices: Vec<(Field, Field)>,
    media: Vec<MediaFields>,
    details: DetailFields,
    specs: Option<Specs>,
    owns: Vec<ProductField>,
    /// The values besides specs that are left out if the catalogue refuses them.
    droppable: Arc<BTreeSet<String>>,
}

impl ProductMapping {
    pub(super) fn read(
        section: &Section<'_>,
        defaults: &Reading,
        read_table: &mut super::ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let optional = |name| optional(section, name, defaults);
        let specs = section.section("specs")?;
        let mut mapping = Self {
            external_id: required(section, "external_id", defaults)?,
            sku: optional("sku")?,
            name: optional("name")?,
            description: description(section, defaults)?,
            brand: optional("brand")?,
            kind: optional("kind")?,
            status: optional("status")?,
            created_at: optional("created_at")?,
            category: category(section, defaults)?,
            supplier: SupplierFields::read(section, defaults)?,
            prices: prices(section, defaults)?,
            media: super::media::read(section, defaults)?,
            details: DetailFields::read(section.entries("details")?, defaults)?,
            specs: specs
                .map(|specs| Specs::read(specs, defaults, read_table))
                .transpose()?,
            owns: Vec::new(),
            droppable: Arc::default(),
        };
        mapping.owns = owns(section, &mapping)?;
        mapping.droppable = Arc::new(mapping.droppable());
        mapping.check(section)?;
        Ok(mapping)
    }

    /// The names of the values, but specs, of which `on_bad` says that a bad one is left out. Never what a product is
    /// known by: ids, sku, name, kind and category.
    fn droppable(&self) -> BTreeSet<String> {
        let drops = |field: &Option<Field>| field.as_ref().is_some_and(Field::drops_bad);
        let supplier = self.supplier.as_ref();
        let values = [
            ("description", drops(&self.description)),
            ("brand", drops(&self.brand)),
            ("status", drops(&self.status)),
            ("created_at", drops(&self.created_at)),
            ("supplier", supplier.is_some_and(SupplierFields::drops_bad)),
            (
                "supplier.id",
                supplier.is_some_and(SupplierFields::drops_bad),
            ),
            (
                "price",
                all_drop(self.prices.iter().map(|(amount, _)| amount)),
            ),
            ("media", all_drop(self.media.iter().map(MediaFields::url))),
            (
                "media.url",
                all_drop(self.media.iter().map(MediaFields::url)),
            ),
            (
                "details",
                !self.details.is_empty() && self.details.drops_bad(),
            ),
        ];
        names(values)
    }

    /// Refuses a mapping that says nothing, or details without the kind that they belong to.
    fn check(&self, section: &Section<'_>) -> Result<(), MappingError> {
        if !self.details.is_empty() && self.kind.is_none() {
            return Err(
                section.invalid("kind", "is required, because details are fields of a kind")
            );
        }
        if ProductField::ALL.into_iter().any(|field| self.maps(field)) {
            return Ok(());
        }
        let reason = "is required, as kind and category are; or some other field of a product that \
                      another feed describes, such as price";
        Err(section.invalid("name", reason))
    }

    /// Returns true if the mapping does not say name, kind and category, without which no product
    /// can be created.
    pub(super) fn is_partial(&self) -> bool {
        self.lacking().is_some()
    }

    /// The first of name, kind and category that the mapping does not say.
    pub(super) fn lacking(&self) -> Option<&'static str> {
        let needed = [
            ProductField::Name,
            ProductField::Kind,
            ProductField::Category,
        ];
        let lacking = needed.into_iter().find(|field| !self.maps(*field));
        lacking.map(ProductField::name)
    }

    fn maps(&self, field: ProductField) -> bool {
        match field {
            ProductField::Name => self.name.is_some(),
            ProductField::Description => self.description.is_some(),
            ProductField::Brand => self.brand.is_some(),
            ProductField::Kind => self.kind.is_some(),
            ProductField::Category => self.category.is_some(),
            ProductField::Status => self.status.is_some(),
            ProductField::Supplier => self.supplier.is_some(),
            ProductField::Price => !self.prices.is_empty(),
            ProductField::Media => !self.media.is_empty(),
            ProductField::Specs => self.specs.is_some(),
            ProductField::Details => !self.details.is_empty(),
        }
    }

    /// The product's id in the feed; records a problem if it is missing.
    pub(super) fn external_id(&self, row: Row<'_>, problems: &mut Problems) -> Option<String> {
        self.external_id.required_text(row, problems)
    }

    /// Maps a row to a product, unless a required field is missing.
    pub(super) fn draft(
        &self,
        system: &str,
        plans: &mut PlanCache,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<ProductDraft> {
        let external_id = self.external_id(row, problems);
        let name = self.needed(self.name.as_ref(), row, problems);
        let category = self.category(row, problems);
        let kind = self.needed(self.kind.as_ref(), row, problems);
        let (external_id, name, category, kind) = (external_id?, name?, category?, kind?);
        let specs = self.specs.as_ref();
        let mut droppable = Vec::new();
        Some(ProductDraft {
            source: ExternalRef {
                system: system.to_owned(),
                external_id,
            },
            sku: text(self.sku.as_ref(), row, problems),
            name,
            description: text(self.description.as_ref(), row, problems),
            brand: text(self.brand.as_ref(), row, problems),
            status: self.status(row, problems),
            category,
            supplier: self
                .supplier
                .as_ref()
                .and_then(|supplier| supplier.supplier(system, row, problems)),
            price: self.price(row, problems),
            media: super::media::all(&self.media, MAX_MEDIA, row, problems),
            specs: specs.map_or_else(Vec::new, |specs| {
                let collected = specs.of(plans, row, problems);
                droppable = collected.droppable;
                collected.specs
            }),
            details: kind.as_deref().map_or(Details::Generic, |kind| {
                self.details.details(kind, row, problems)
            }),
            kind,
            bundle: Vec::new(),
            created_at: self
                .created_at
                .as_ref()
                .and_then(|field| field.date(row, problems)),
            create_only: false,
            owns: self.owns.clone(),
            droppable: Droppable {
                fields: Arc::clone(&self.droppable),
                specs: droppable,
            },
        })
    }

    /// The text of a field that a row needs if the mapping describes whole products. The outer
    /// `None` is a missing one, which is recorded.
    #[expect(
        clippy::option_option,
        reason = "a row without the text, or without need of one"
    )]
    fn needed(
        &self,
        field: Option<&Field>,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<Option<String>> {
        match field {
            Some(field) if !self.is_partial() => field.required_text(row, problems).map(Some),
            field => Some(text(field, row, problems)),
        }
    }

    /// The names of the category; empty if the mapping does not need one. `None` is a missing one,
    /// which is recorded.
    fn category(&self, row: Row<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        let Some(category) = &self.category else {
            return Some(Vec::new());
        };
        let names = if self.is_partial() {
            Some(category.known_names(row, problems).unwrap_or_default())
        } else {
            category.names(row, problems)
        };
        problems.trace(|| Traced {
            setting: "product.category".to_owned(),
            path: String::new(),
            raw: String::new(),
            value: Ok(names.as_ref().map(|names| names.join(" > "))),
        });
        names
    }

    /// The status; a whole product whose row has none is active.
    fn status(&self, row: Row<'_>, problems: &mut Problems) -> Option<ProductStatus> {
        let otherwise = (!self.is_partial()).then_some(ProductStatus::Active);
        let Some(field) = &self.status else {
            return otherwise;
        };
        let status = field.known(
            row,
            problems,
            &mut |field| field.try_text(row)?.as_deref().map(status_of).transpose(),
            &|status| status.name().to_owned(),
        );
        status.or(otherwise)
    }

    fn price(&self, row: Row<'_>, problems: &mut Problems) -> Option<Money> {
        problems.first_of(&self.prices, true, |(amount, currency), problems| {
            amount.known(
                row,
                problems,
                &mut |amount| read_price(amount, currency, row),
                &|price| format!("{} {}", price.amount(), price.currency.code()),
            )
        })
    }
}

/// Returns true if there are fields, and bad values of each are left out.
pub(super) fn all_drop<'f>(fields: impl ExactSizeIterator<Item = &'f Field>) -> bool {
    let mut fields = fields;
    fields.len() > 0 && fields.all(Field::drops_bad)
}

/// The names of values that are left out.
pub(super) fn names<const N: usize>(values: [(&str, bool); N]) -> BTreeSet<String> {
    let dropped = values.into_iter().filter(|(_, drops)| *drops);
    dropped.map(|(name, _)| name.to_owned()).collect()
}

pub(super) fn text(field: Option<&Field>, row: Row<'_>, problems: &mut Problems) -> Option<String> {
    field.and_then(|field| field.text(row, problems))
}

pub(super) fn optional(
    section: &Section<'_>,
    name: &'static str,
    defaults: &Reading,
) -> Result<Option<Field>, MappingError> {
    section
        .value(name)
        .map(|value| Field::read(section.at(name), value, defaults))
        .transpose()
}

pub(super) fn required(
    section: &Section<'_>,
    name: &'static str,
    defaults: &Reading,
) -> Result<Field, MappingError> {
    let field = optional(section, name, defaults)?;
    field.ok_or_else(|| section.invalid(name, "is required"))
}

/// Descriptions keep their line breaks.
fn description(section: &Section<'_>, defaults: &Reading) -> Result<Option<Field>, MappingError> {
    optional(section, "description", &defaults.keeping_lines())
}

fn category(section: &Section<'_>, defaults: &Reading) -> Result<Option<Category>, MappingError> {
    let value = section.value("category");
    value
        .map(|value| Category::read(section.at("category"), value, defaults))
        .transpose()
}

/// Reads the fields that the feed owns, whatever other feeds say.
fn owns(
    section: &Section<'_>,
    mapping: &ProductMapping,
) -> Result<Vec<ProductField>, MappingError> {
    let mut owned = Vec::new();
    for name in section.texts("owns")? {
        let Some(field) = ProductField::named(name) else {
            let all: Vec<&str> = ProductField::ALL.iter().map(|field| field.name()).collect();
            let reason = format!("{name:?} is not one of {}", all.join(", "));
            return Err(section.invalid("owns", reason));
        };
        if !mapping.maps(field) {
            let reason = format!("{name:?} is not mapped here");
            return Err(section.invalid("owns", reason));
        }
        if !owned.contains(&field) {
            owned.push(field);
        }
    }
    owned.sort_unstable();
    Ok(owned)
}

/// Reads the price, or several of which the first that is known is the product's.
fn prices(section: &Section<'_>, defaults: &Reading) -> Result<Vec<(Field, Field)>, MappingError> {
    let prices = match section.value("price") {
        None => return Ok(Vec::new()),
        Some(toml::Value::Array(prices)) => prices.as_slice(),
        Some(price) => return Ok(vec![price_of(section.at("price"), price, defaults)?]),
    };
    let readings = defaults.of_list(prices.len());
    let prices = numbered(&section.at("price"), prices).into_iter();
    prices
        .zip(readings)
        .map(|((path, price), defaults)| price_of(path, price, &defaults))
        .collect()
}

const ON_BAD: &str = "has no effect: a bad currency makes the price bad, and on_bad of its amount \
                      says what happens then";

fn price_of(
    path: String,
    value: &toml::Value,
    defaults: &Reading,
) -> Result<(Field, Field), MappingError> {
    let section = Section::of(path, value)?;
    let amount = required(&section, "amount", &defaults.of_numbers())?;
    let currency = required(&section, "currency", &defaults.refusing_on_bad(ON_BAD))?;
    section.finish()?;
    Ok((amount, currency))
}

fn status_of(word: &str) -> Result<ProductStatus, String> {
    let reason = || format!("{word:?} is not one of draft, active, archived");
    ProductStatus::named(word).ok_or_else(reason)
}

fn read_price(amount: &Field, currency: &Field, row: Row<'_>) -> Result<Option<Money>, String> {
    amount.try_money(row, &|| {
        let code = currency.try_text(row)?.ok_or("has no currency")?;
        Currency::parse(&code).map_err(|error| error.to_string())
    })
}
