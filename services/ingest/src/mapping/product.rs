//! Mapping rows to products.

use vitrine_model::import::{ExternalRef, ProductDraft, SupplierDraft};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Media, ProductStatus};
use vitrine_model::supplier::country_code;

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

/// The mapping of a row to a product.
#[derive(Clone, Debug)]
pub(super) struct ProductMapping {
    external_id: Field,
    sku: Option<Field>,
    name: Field,
    description: Option<Field>,
    brand: Option<Field>,
    kind: Field,
    status: Option<Field>,
    created_at: Option<Field>,
    category: Category,
    supplier: Option<(Field, Option<Field>)>,
    /// The first of these that is known.
    prices: Vec<(Field, Field)>,
    media: Vec<MediaFields>,
    details: DetailFields,
    specs: Specs,
}

impl ProductMapping {
    pub(super) fn read(
        section: &Section<'_>,
        defaults: &Reading,
        read_table: &mut super::ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let optional = |name| optional(section, name, defaults);
        let specs = section.section("specs")?;
        Ok(Self {
            external_id: required(section, "external_id", defaults)?,
            sku: optional("sku")?,
            name: required(section, "name", defaults)?,
            description: description(section, defaults)?,
            brand: optional("brand")?,
            kind: required(section, "kind", defaults)?,
            status: optional("status")?,
            created_at: optional("created_at")?,
            category: category(section, defaults)?,
            supplier: supplier(section, defaults)?,
            prices: prices(section, defaults)?,
            media: super::media::read(section, defaults)?,
            details: DetailFields::read(section.entries("details")?, defaults)?,
            specs: specs.map_or(Ok(Specs::none()), |specs| {
                Specs::read(specs, defaults, read_table)
            })?,
        })
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
        let name = self.name.required_text(row, problems);
        let category = self.category.names(row, problems);
        problems.trace(|| Traced {
            setting: "product.category".to_owned(),
            path: String::new(),
            raw: String::new(),
            value: Ok(category.as_ref().map(|names| names.join(" > "))),
        });
        let kind = self.kind.required_text(row, problems);
        let (external_id, name, category, kind) = (external_id?, name?, category?, kind?);
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
            supplier: self.supplier(row, problems),
            price: self.price(row, problems),
            media: self.media(row, problems),
            specs: self.specs.of(plans, row, problems),
            details: self.details.details(&kind, row, problems),
            kind,
            bundle: Vec::new(),
            created_at: self
                .created_at
                .as_ref()
                .and_then(|field| field.date(row, problems)),
            create_only: false,
        })
    }

    fn status(&self, row: Row<'_>, problems: &mut Problems) -> ProductStatus {
        let Some(field) = &self.status else {
            return ProductStatus::Active;
        };
        let status = field.known(
            row,
            problems,
            &mut |field| field.try_text(row)?.as_deref().map(status_of).transpose(),
            &|status| status.name().to_owned(),
        );
        status.unwrap_or(ProductStatus::Active)
    }

    fn supplier(&self, row: Row<'_>, problems: &mut Problems) -> Option<SupplierDraft> {
        let (name, country) = self.supplier.as_ref()?;
        let country = country.as_ref().and_then(|field| {
            let mut code =
                |field: &Field| field.try_text(row)?.as_deref().map(country_of).transpose();
            field.known(row, problems, &mut code, &String::clone)
        });
        let name = name.text(row, problems)?;
        Some(SupplierDraft { name, country })
    }

    fn price(&self, row: Row<'_>, problems: &mut Problems) -> Option<Money> {
        self.prices.iter().find_map(|(amount, currency)| {
            amount.known(
                row,
                problems,
                &mut |amount| read_price(amount, currency, row),
                &|price| format!("{} {}", price.amount(), price.currency.code()),
            )
        })
    }

    fn media(&self, row: Row<'_>, problems: &mut Problems) -> Vec<Media> {
        let mut media = Vec::new();
        for fields in &self.media {
            for item in fields.items(row) {
                media.extend(fields.media(item, problems));
            }
        }
        media
    }
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

fn category(section: &Section<'_>, defaults: &Reading) -> Result<Category, MappingError> {
    let value = section.value("category");
    let value = value.ok_or_else(|| section.invalid("category", "is required"))?;
    Category::read(section.at("category"), value, defaults)
}

fn supplier(
    section: &Section<'_>,
    defaults: &Reading,
) -> Result<Option<(Field, Option<Field>)>, MappingError> {
    let Some(section) = section.section("supplier")? else {
        return Ok(None);
    };
    let name = required(&section, "name", defaults)?;
    let country = optional(&section, "country", defaults)?;
    section.finish()?;
    Ok(Some((name, country)))
}

/// Reads the price, or several of which the first that is known is the product's.
fn prices(section: &Section<'_>, defaults: &Reading) -> Result<Vec<(Field, Field)>, MappingError> {
    let prices = match section.value("price") {
        None => return Ok(Vec::new()),
        Some(toml::Value::Array(prices)) => prices.as_slice(),
        Some(price) => return Ok(vec![price_of(section.at("price"), price, defaults)?]),
    };
    let prices = numbered(&section.at("price"), prices).into_iter();
    prices
        .map(|(path, price)| price_of(path, price, defaults))
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
    let amount = required(&section, "amount", defaults)?;
    let currency = required(&section, "currency", &defaults.refusing_on_bad(ON_BAD))?;
    section.finish()?;
    Ok((amount, currency))
}

fn status_of(word: &str) -> Result<ProductStatus, String> {
    let reason = || format!("{word:?} is not one of draft, active, archived");
    ProductStatus::named(word).ok_or_else(reason)
}

fn country_of(code: &str) -> Result<String, String> {
    country_code(code).ok_or_else(|| format!("{code:?} is not a country code such as DE"))
}

fn read_price(amount: &Field, currency: &Field, row: Row<'_>) -> Result<Option<Money>, String> {
    let Some(plain) = amount.try_plain_number(row)? else {
        return Ok(None);
    };
    let code = currency.try_text(row)?.ok_or("has no currency")?;
    let currency = Currency::parse(&code).map_err(|error| error.to_string())?;
    let money = Money::parse(&plain, currency).map_err(|error| error.to_string())?;
    Ok(Some(money))
}
