//! Products and reviews, built in the words of the API. What a test does not say has a sensible
//! value, so that a value that is spelled out is one that the test is about.

use std::fmt;

use vitrine_model::clock::Timestamp;
use vitrine_model::id::AuthorId;
use vitrine_model::import::{
    BundleItemDraft, ExternalRef, ProductDraft, ReviewDraft, SupplierDraft,
};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Details, Kind, Media, MediaKind, ProductStatus};
use vitrine_model::rating::Stars;
use vitrine_model::review::Author;
use vitrine_model::spec::{Spec, SpecValue};

use crate::app::NOW;

/// The system that drafts come from unless another is named.
pub const SYSTEM: &str = "feed";

/// A product of this name: active, generic, in the category `Things`, known to the feed by its
/// name.
pub fn product(name: &str) -> ProductBuilder {
    ProductBuilder {
        draft: ProductDraft {
            source: external(SYSTEM, name),
            sku: None,
            kind: "thing".to_owned(),
            name: name.to_owned(),
            description: None,
            brand: None,
            status: ProductStatus::Active,
            category: vec!["Things".to_owned()],
            supplier: None,
            price: None,
            media: Vec::new(),
            specs: Vec::new(),
            details: Details::Generic,
            bundle: Vec::new(),
            created_at: None,
            create_only: false,
        },
    }
}

/// A review of the product that the feed knows by this name, anonymous and without a text, written
/// at the instant where the clock stands.
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
            helpful: 0,
            unhelpful: 0,
            created_at: Some(instant(NOW)),
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
    /// Where the feed has it from.
    pub fn source(mut self, system: &str, external_id: &str) -> Self {
        self.draft.source = external(system, external_id);
        self
    }

    /// Its stock-keeping unit.
    pub fn sku(mut self, sku: &str) -> Self {
        self.draft.sku = Some(sku.to_owned());
        self
    }

    /// Its kind, without details.
    pub fn kind(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.draft.kind);
        self
    }

    /// Its kind, with details.
    pub fn details(mut self, details: Details) -> Self {
        details
            .kind()
            .map_or("thing", Kind::name)
            .clone_into(&mut self.draft.kind);
        self.draft.details = details;
        self
    }

    /// What there is to say about it.
    pub fn description(mut self, text: &str) -> Self {
        self.draft.description = Some(text.to_owned());
        self
    }

    /// Its brand.
    pub fn brand(mut self, brand: &str) -> Self {
        self.draft.brand = Some(brand.to_owned());
        self
    }

    /// Its state.
    pub fn status(mut self, status: ProductStatus) -> Self {
        self.draft.status = status;
        self
    }

    /// Its category, from the top down.
    pub fn category<const N: usize>(mut self, path: [&str; N]) -> Self {
        self.draft.category = path.map(str::to_owned).to_vec();
        self
    }

    /// Its supplier and the supplier's country.
    pub fn supplier(mut self, name: &str, country: &str) -> Self {
        self.draft.supplier = Some(SupplierDraft {
            name: name.to_owned(),
            country: Some(country.to_owned()),
        });
        self
    }

    /// Its price in euros.
    pub fn price(self, amount: &str) -> Self {
        self.price_in(amount, "EUR")
    }

    /// Its price in any currency.
    pub fn price_in(mut self, amount: &str, currency: &str) -> Self {
        let currency = Currency::parse(currency).expect("a currency");
        self.draft.price = Some(Money::parse(amount, currency).expect("an amount"));
        self
    }

    /// One more picture.
    pub fn image(mut self, url: &str, alt: &str) -> Self {
        let (url, alt) = (url.to_owned(), Some(alt.to_owned()));
        self.draft.media.push(Media {
            url,
            alt,
            kind: MediaKind::Image,
        });
        self
    }

    /// One more spec.
    pub fn spec(mut self, key: &str, value: SpecValue) -> Self {
        self.draft.specs.push(Spec {
            key: key.to_owned(),
            value,
            qualifier: None,
        });
        self
    }

    /// A spec that is text.
    pub fn text(self, key: &str, text: &str) -> Self {
        self.spec(key, SpecValue::Text(text.to_owned()))
    }

    /// A spec that is a plain number.
    pub fn number(self, key: &str, value: f64) -> Self {
        self.spec(key, SpecValue::Number(value))
    }

    /// A spec that is a number of units.
    pub fn quantity(self, key: &str, value: f64, unit: &str) -> Self {
        self.spec(
            key,
            SpecValue::Quantity {
                value,
                unit: unit.to_owned(),
            },
        )
    }

    /// A spec that is a yes or no.
    pub fn boolean(self, key: &str, value: bool) -> Self {
        self.spec(key, SpecValue::Boolean(value))
    }

    /// A spec that is a day.
    pub fn date(self, key: &str, day: &str) -> Self {
        self.spec(
            key,
            SpecValue::Date(Timestamp::parse_day(day).expect("a day")),
        )
    }

    /// What the spec that was added last holds for.
    ///
    /// # Panics
    /// When there is none.
    pub fn only_for(mut self, qualifier: &str) -> Self {
        let spec = self.draft.specs.last_mut().expect("a spec comes first");
        spec.qualifier = Some(qualifier.to_owned());
        self
    }

    /// One more product of a bundle, by the name that the feed knows it by.
    pub fn item(mut self, product: &str, quantity: i32) -> Self {
        "bundle".clone_into(&mut self.draft.kind);
        self.draft.bundle.push(BundleItemDraft {
            product: external(SYSTEM, product),
            quantity,
        });
        self
    }

    /// When it was added to the shop.
    pub fn created_at(mut self, at: &str) -> Self {
        self.draft.created_at = Some(instant(at));
        self
    }

    /// Leaves it as it is when it is there already.
    pub fn create_only(mut self) -> Self {
        self.draft.create_only = true;
        self
    }
}

impl ReviewBuilder {
    /// Who wrote it.
    pub fn author(mut self, name: &str) -> Self {
        self.draft.author = Some(Author {
            id: AuthorId(name.to_owned()),
            name: name.to_owned(),
        });
        self
    }

    /// Its title.
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.draft.title);
        self
    }

    /// Its text.
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.draft.body);
        self
    }

    /// How many found it helpful.
    pub fn helpful(mut self, votes: i64) -> Self {
        self.draft.helpful = votes;
        self
    }

    /// How many did not.
    pub fn unhelpful(mut self, votes: i64) -> Self {
        self.draft.unhelpful = votes;
        self
    }

    /// Whether it recommends the product.
    pub fn recommends(mut self, recommended: bool) -> Self {
        self.draft.recommended = Some(recommended);
        self
    }

    /// Its stars for one aspect.
    pub fn dimension(mut self, name: &str, stars: i64) -> Self {
        let stars = Stars::new(stars).expect("one to five stars");
        self.draft.dimensions.insert(name.to_owned(), stars);
        self
    }

    /// When it was written.
    pub fn created_at(mut self, at: &str) -> Self {
        self.draft.created_at = Some(instant(at));
        self
    }

    /// Leaves open when it was written.
    pub fn undated(mut self) -> Self {
        self.draft.created_at = None;
        self
    }
}

/// Something by the id that a system gave it.
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
