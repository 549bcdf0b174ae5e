//! Builders of products and reviews. Every field has a sensible default, so that a value in a test
//! is one that the test is about.

use std::fmt;

use vitrine_model::clock::Timestamp;
use vitrine_model::contribution::ProductField;
use vitrine_model::id::AuthorId;
use vitrine_model::import::{
    BundleItemDraft, Droppable, ExternalRef, ProductDraft, ReviewDraft, SupplierDraft,
};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Details, Kind, Media, MediaKind, ProductStatus};
use vitrine_model::rating::Stars;
use vitrine_model::review::Author;
use vitrine_model::spec::{Spec, SpecValue};

use crate::app::NOW;

/// The source system of drafts, unless another is named.
pub const SYSTEM: &str = "feed";

/// Builds a product: active, generic, in the category `Things`, with its name as its id in the
/// feed.
pub fn product(name: &str) -> ProductBuilder {
    ProductBuilder {
        draft: ProductDraft {
            source: external(SYSTEM, name),
            sku: None,
            kind: Some("thing".to_owned()),
            name: Some(name.to_owned()),
            description: None,
            brand: None,
            status: Some(ProductStatus::Active),
            category: vec!["Things".to_owned()],
            supplier: None,
            price: None,
            media: Vec::new(),
            specs: Vec::new(),
            details: Details::Generic,
            bundle: Vec::new(),
            created_at: None,
            create_only: false,
            owns: Vec::new(),
            droppable: Droppable::default(),
        },
    }
}

/// Builds what a system knows of a product that another one describes: it has the stock-keeping unit
/// and no other field, and is the line of that name in the system.
pub fn some_of(system: &str, sku: &str) -> ProductBuilder {
    let mut partial = product(sku).source(system, sku).sku(sku);
    partial.draft.name = None;
    partial.draft.kind = None;
    partial.draft.status = None;
    partial.draft.category = Vec::new();
    partial
}

/// Builds a review of the product with this id in the feed: anonymous, without a text, written at
/// [`NOW`].
pub fn review(product: &str, external_id: impl fmt::Display, stars: i64) -> ReviewBuilder {
    ReviewBuilder {
        draft: ReviewDraft {
            origin: external(SYSTEM, &external_id.to_string()),
            product: external(SYSTEM, product),
            author: None,
            rating: Stars::new(stars).expect("one to five stars"),
            recommended: None,
            dimensions: std::collections::BTreeMap::new(),
            title: String::new(),
            body: String::new(),
            language: None,
            incentivized: false,
            verified: false,
            media: Vec::new(),
            attributes: Vec::new(),
            helpful: 0,
            unhelpful: 0,
            created_at: Some(instant(NOW)),
            droppable: Droppable::default(),
        },
    }
}

/// The product draft being built.
#[derive(Clone, Debug)]
#[must_use]
pub struct ProductBuilder {
    draft: ProductDraft,
}

/// The review draft being built.
#[derive(Clone, Debug)]
#[must_use]
pub struct ReviewBuilder {
    draft: ReviewDraft,
}

impl From<ProductBuilder> for ProductDraft {
    fn from(builder: ProductBuilder) -> Self {
        builder.draft
    }
}

impl From<ReviewBuilder> for ReviewDraft {
    fn from(builder: ReviewBuilder) -> Self {
        builder.draft
    }
}

impl ProductBuilder {
    /// Sets its source system and its id there.
    pub fn source(mut self, system: &str, external_id: &str) -> Self {
        self.draft.source = external(system, external_id);
        self
    }

    /// Sets its stock-keeping unit.
    pub fn sku(mut self, sku: &str) -> Self {
        self.draft.sku = Some(sku.to_owned());
        self
    }

    /// Sets its kind, without details.
    pub fn kind(mut self, kind: &str) -> Self {
        self.draft.kind = Some(kind.to_owned());
        self
    }

    /// Sets its details, and so its kind.
    pub fn details(mut self, details: Details) -> Self {
        let kind = details.kind().map_or("thing", Kind::name);
        self.draft.kind = Some(kind.to_owned());
        self.draft.details = details;
        self
    }

    /// Sets its description.
    pub fn description(mut self, text: &str) -> Self {
        self.draft.description = Some(text.to_owned());
        self
    }

    /// Sets its brand.
    pub fn brand(mut self, brand: &str) -> Self {
        self.draft.brand = Some(brand.to_owned());
        self
    }

    /// Sets its status.
    pub fn status(mut self, status: ProductStatus) -> Self {
        self.draft.status = Some(status);
        self
    }

    /// Makes it say nothing of the status.
    pub fn without_status(mut self) -> Self {
        self.draft.status = None;
        self
    }

    /// Sets its category, from the root of the tree down.
    pub fn category<const N: usize>(mut self, path: [&str; N]) -> Self {
        self.draft.category = path.map(str::to_owned).to_vec();
        self
    }

    /// Sets its supplier and the supplier's country.
    pub fn supplier(mut self, name: &str, country: &str) -> Self {
        self.draft.supplier = Some(SupplierDraft {
            name: name.to_owned(),
            country: Some(country.to_owned()),
            origin: None,
        });
        self
    }

    /// Sets the id that the source has for the supplier, which was set before.
    ///
    /// # Panics
    /// When there is no supplier.
    pub fn supplier_id(mut self, id: &str) -> Self {
        let system = self.draft.source.system.clone();
        let supplier = self
            .draft
            .supplier
            .as_mut()
            .expect("a supplier comes first");
        supplier.origin = Some(external(&system, id));
        self
    }

    /// Sets its price in euros.
    pub fn price(self, amount: &str) -> Self {
        self.price_in(amount, "EUR")
    }

    /// Sets its price in any currency.
    pub fn price_in(mut self, amount: &str, currency: &str) -> Self {
        let currency = Currency::parse(currency).expect("a currency");
        self.draft.price = Some(Money::parse(amount, currency).expect("an amount"));
        self
    }

    /// Adds a picture.
    pub fn image(mut self, url: &str, alt: &str) -> Self {
        let (url, alt) = (url.to_owned(), Some(alt.to_owned()));
        self.draft.media.push(Media {
            url,
            alt,
            kind: MediaKind::Image,
        });
        self
    }

    /// Adds a spec.
    pub fn spec(mut self, key: &str, value: SpecValue) -> Self {
        self.draft.specs.push(Spec {
            key: key.to_owned(),
            value,
            qualifier: None,
        });
        self
    }

    /// Adds a spec with a text.
    pub fn text(self, key: &str, text: &str) -> Self {
        self.spec(key, SpecValue::Text(text.to_owned()))
    }

    /// Adds a spec with a plain number.
    pub fn number(self, key: &str, value: f64) -> Self {
        self.spec(key, SpecValue::Number(value))
    }

    /// Adds a spec with a quantity.
    pub fn quantity(self, key: &str, value: f64, unit: &str) -> Self {
        self.spec(
            key,
            SpecValue::Quantity {
                value,
                unit: unit.to_owned(),
            },
        )
    }

    /// Adds a spec with a boolean.
    pub fn boolean(self, key: &str, value: bool) -> Self {
        self.spec(key, SpecValue::Boolean(value))
    }

    /// Adds a spec with a date.
    pub fn date(self, key: &str, day: &str) -> Self {
        self.spec(
            key,
            SpecValue::Date(Timestamp::parse_day(day).expect("a day")),
        )
    }

    /// Sets the qualifier of the spec that was added last.
    ///
    /// # Panics
    /// When there is none.
    pub fn qualified(mut self, qualifier: &str) -> Self {
        let spec = self.draft.specs.last_mut().expect("a spec comes first");
        spec.qualifier = Some(qualifier.to_owned());
        self
    }

    /// Adds an item of a bundle, by the id of the product in the feed.
    pub fn item(mut self, product: &str, quantity: i32) -> Self {
        self.draft.kind = Some("bundle".to_owned());
        self.draft.bundle.push(BundleItemDraft {
            product: external(SYSTEM, product),
            quantity,
        });
        self
    }

    /// Sets when it was added to the shop.
    pub fn created_at(mut self, at: &str) -> Self {
        self.draft.created_at = Some(instant(at));
        self
    }

    /// Makes its source own these fields, whatever other sources say.
    pub fn owns<const N: usize>(mut self, fields: [ProductField; N]) -> Self {
        self.draft.owns = fields.to_vec();
        self
    }

    /// Makes the import create it only, never update it.
    pub fn create_only(mut self) -> Self {
        self.draft.create_only = true;
        self
    }
}

impl ReviewBuilder {
    /// Sets its author, by a name that is the id as well.
    pub fn author(mut self, name: &str) -> Self {
        self.draft.author = Some(Author {
            id: AuthorId(name.to_owned()),
            name: name.to_owned(),
        });
        self
    }

    /// Sets its title.
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.draft.title);
        self
    }

    /// Sets its body.
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.draft.body);
        self
    }

    /// Sets its language.
    pub fn language(mut self, language: &str) -> Self {
        self.draft.language = Some(language.to_owned());
        self
    }

    /// Lets the source vouch for a purchase.
    pub fn verified(mut self) -> Self {
        self.draft.verified = true;
        self
    }

    /// Adds an image.
    pub fn image(mut self, url: &str) -> Self {
        self.draft.media.push(Media {
            url: url.to_owned(),
            alt: None,
            kind: MediaKind::Image,
        });
        self
    }

    /// Adds a fact about the author.
    pub fn attribute(mut self, key: &str, value: SpecValue) -> Self {
        self.draft.attributes.push(Spec {
            key: key.to_owned(),
            value,
            qualifier: None,
        });
        self
    }

    /// Sets the number of helpful votes.
    pub fn helpful(mut self, votes: i64) -> Self {
        self.draft.helpful = votes;
        self
    }

    /// Sets the number of unhelpful votes.
    pub fn unhelpful(mut self, votes: i64) -> Self {
        self.draft.unhelpful = votes;
        self
    }

    /// Sets whether it recommends the product.
    pub fn recommends(mut self, recommended: bool) -> Self {
        self.draft.recommended = Some(recommended);
        self
    }

    /// Adds a rating of one aspect.
    pub fn dimension(mut self, name: &str, stars: i64) -> Self {
        let stars = Stars::new(stars).expect("one to five stars");
        self.draft.dimensions.insert(name.to_owned(), stars);
        self
    }

    /// Sets when it was written.
    pub fn created_at(mut self, at: &str) -> Self {
        self.draft.created_at = Some(instant(at));
        self
    }

    /// Makes it undated.
    pub fn undated(mut self) -> Self {
        self.draft.created_at = None;
        self
    }
}

/// Builds a reference to something by its id in a source system.
#[must_use]
pub fn external(system: &str, external_id: &str) -> ExternalRef {
    ExternalRef {
        system: system.to_owned(),
        external_id: external_id.to_owned(),
    }
}

fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text)
        .or_else(|_| Timestamp::parse_day(text))
        .expect("an instant")
}
