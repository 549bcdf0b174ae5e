//! Products. One structure serves every kind; what only one kind has is in its [`Details`].

use serde::{Deserialize, Serialize};

use crate::activity::ActivitySummary;
use crate::clock::Timestamp;
use crate::fold::Computed;
use crate::id::{CategoryId, ProductId};
use crate::money::Money;
use crate::spec::Spec;
use crate::supplier::SupplierExtract;

/// The most pictures, films and documents a product may have.
pub const MAX_MEDIA: usize = 50;
/// The longest name, in characters.
pub const MAX_NAME_CHARACTERS: usize = 300;
/// The longest description, in characters.
pub const MAX_DESCRIPTION_CHARACTERS: usize = 20_000;
/// The longest stock-keeping unit, in bytes.
pub const MAX_SKU_BYTES: usize = 128;
/// The longest name of a kind, in bytes.
pub const MAX_KIND_BYTES: usize = 32;

/// Where a product is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProductStatus {
    /// Not on sale yet; seen by admins only.
    Draft,
    /// On sale; seen by everyone.
    Active,
    /// No longer on sale; seen by admins only.
    Archived,
}

impl ProductStatus {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Draft, Self::Active, Self::Archived];

    /// The name the state is stored by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A picture, a film or a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Where it is: an absolute `https` or `http` address.
    pub url: String,
    /// What it shows, for those who cannot see it.
    pub alt: Option<String>,
    /// What it is.
    pub kind: MediaKind,
}

/// What a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A film.
    Video,
    /// Something to read, such as a manual.
    Document,
}

/// One of the systems a product was imported from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The feed's system.
    pub system: String,
    /// The product's id there.
    pub external_id: String,
    /// When it last changed something here.
    pub imported_at: Timestamp,
    /// A digest of what the feed last said, so that saying it again changes nothing.
    pub digest: String,
}

/// Which of the read and write paths for huge products apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlier {
    /// Has so many reviews that filtered lists of them have indexes of their own. Never taken back.
    pub many: bool,
    /// Has so many reviews that they are never counted on request.
    pub large: bool,
    /// Since when it is large.
    pub large_since: Option<Timestamp>,
    /// Is written so often, until this instant, that reviews are folded in batches.
    pub hot_until: Option<Timestamp>,
    /// Since when it is hot.
    pub hot_since: Option<Timestamp>,
    /// Why it is hot.
    pub hot_reason: Option<HotReason>,
}

impl Outlier {
    /// Whether the product is hot at this instant.
    #[must_use]
    pub fn is_hot(&self, now: Timestamp) -> bool {
        self.hot_until.is_some_and(|until| now < until)
    }

    /// As it is after a fold that found the product large or not: the flag with its date, and what
    /// is over removed.
    pub fn follow(&mut self, large: bool, now: Timestamp) {
        if large != self.large {
            self.large = large;
            self.large_since = large.then_some(now);
        }
        if !self.is_hot(now) {
            (self.hot_until, self.hot_since, self.hot_reason) = (None, None, None);
        }
    }
}

/// Why a product is hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HotReason {
    /// Two writers met.
    Conflict,
    /// Several reviews a second were written.
    Rate,
}

impl HotReason {
    /// The name it is stored by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Rate => "rate",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Conflict, Self::Rate]
            .into_iter()
            .find(|reason| reason.name() == name)
    }
}

/// How many units of a product were sold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sold {
    /// How many, exactly, of what was counted.
    pub units: i64,
    /// When sales were counted last.
    pub as_of: Option<Timestamp>,
}

/// A product in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Identifies the product.
    pub id: ProductId,
    /// What kind of thing it is: `book`, `apparel`, or a name nobody has written code for.
    pub kind: String,
    /// The stock-keeping unit; unique.
    pub sku: String,
    /// Its part of an address; unique.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// What there is to say about it.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// Where it is in its life.
    pub status: ProductStatus,
    /// The category it is in.
    pub category: CategoryId,
    /// What it costs; real feeds often do not say.
    pub price: Option<Money>,
    /// Pictures, films, documents.
    pub media: Vec<Media>,
    /// Its attributes, in the order they are shown.
    pub specs: Vec<Spec>,
    /// What only its kind has.
    pub details: Details,
    /// Who supplies it.
    pub supplier: Option<SupplierExtract>,
    /// What is computed from its reviews.
    pub computed: Computed,
    /// Which special paths apply.
    pub outlier: Outlier,
    /// How it stands after the activity of the last 30 days.
    pub standing: ActivitySummary,
    /// How often it was sold.
    pub sold: Sold,
    /// Where it was imported from.
    pub sources: Vec<Source>,
    /// Rises with every edit by an admin or an import; reviews do not touch it.
    pub revision: i64,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When it first was no draft any more.
    pub listed_at: Option<Timestamp>,
    /// When an admin or an import last changed it.
    pub updated_at: Timestamp,
}

impl Product {
    /// Since when it is listed, once it is: a draft that has just become something else is from its
    /// last change on.
    #[must_use]
    pub fn listed(&self) -> Option<Timestamp> {
        let now = (self.status != ProductStatus::Draft).then_some(self.updated_at);
        self.listed_at.or(now)
    }
}

/// Makes [`Kind`] and [`Details`] of one list. Whoever reads, writes, maps or shows details matches
/// one of them without a catch-all, so that the compiler asks for what a new kind needs.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)+) => {
        /// What kind of thing a product is, as code sees it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind<'a> {
            $($(#[$doc])* $kind,)+
            /// A kind that nobody has written code for, by its name.
            Other(&'a str),
        }

        impl<'a> Kind<'a> {
            /// The kinds that have a structure of their own.
            pub const TYPED: &'static [Kind<'static>] = &[$(Kind::$kind,)+];

            /// The kind with this name.
            #[must_use]
            pub fn of(name: &'a str) -> Self {
                match name {
                    $($name => Self::$kind,)+
                    other => Self::Other(other),
                }
            }

            /// The name that it is stored and shown by.
            #[must_use]
            pub const fn name(self) -> &'a str {
                match self {
                    $(Self::$kind => $name,)+
                    Self::Other(name) => name,
                }
            }
        }

        /// What only one kind of product has.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub enum Details {
            $($(#[$doc])* $kind($kind),)+
            /// A kind that nobody has written code for: it has specs only.
            #[default]
            Generic,
        }

        impl Details {
            /// The kind these details belong to; `None` for a generic product.
            #[must_use]
            pub const fn kind(&self) -> Option<Kind<'static>> {
                match self {
                    $(Self::$kind(_) => Some(Kind::$kind),)+
                    Self::Generic => None,
                }
            }

            /// Empty details for a kind.
            #[must_use]
            pub fn empty(kind: Kind<'_>) -> Self {
                match kind {
                    $(Kind::$kind => Self::$kind($kind::default()),)+
                    Kind::Other(_) => Self::Generic,
                }
            }
        }
    };
}

kinds! {
    /// Clothes and shoes.
    Apparel = "apparel",
    /// Books.
    Book = "book",
    /// Things with a plug or a battery.
    Electronics = "electronics",
    /// Food and drink.
    Grocery = "grocery",
    /// Films.
    Movie = "movie",
    /// Several products sold together.
    Bundle = "bundle",
}

/// What clothes and shoes have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Apparel {
    /// How it is cut: `slim`, `regular`.
    pub fit: Option<String>,
    /// The measures of each size.
    pub size_chart: Vec<SizeChartRow>,
}

/// The measures of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeChartRow {
    /// The size: `M`.
    pub size: String,
    /// What was measured.
    pub measurements: Vec<Measurement>,
}

/// One measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was measured: `chest`.
    pub name: String,
    /// How many units.
    pub value: f64,
    /// Of which unit.
    pub unit: String,
}

/// What books have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// Who made it.
    pub contributors: Vec<Contributor>,
    /// The ISBN, digits only.
    pub isbn: Option<String>,
    /// `hardcover`, `paperback`, `e-book`.
    pub format: Option<String>,
    /// How many pages.
    pub pages: Option<i32>,
}

/// Someone who had a part in a work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contributor {
    /// The name.
    pub name: String,
    /// The part: `author`, `translator`; in a film the character played.
    pub role: String,
}

/// What things with a plug or a battery have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Electronics {
    /// The energy label: `A` to `G`.
    pub energy_label: Option<String>,
    /// The warranty in months.
    pub warranty_months: Option<i32>,
    /// What it works with.
    pub compatibility: Vec<String>,
}

/// What food and drink have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grocery {
    /// The list of ingredients.
    pub ingredients: Option<String>,
    /// The allergens in it.
    pub allergens: Vec<String>,
    /// Nutrition facts per 100 g or 100 ml.
    pub nutrition: Vec<Measurement>,
}

/// What films have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Movie {
    /// Who plays whom.
    pub cast: Vec<Contributor>,
    /// How long it is, in minutes.
    pub runtime_minutes: Option<i32>,
}

/// What bundles have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bundle {
    /// The products in it.
    pub items: Vec<BundleItem>,
}

/// A product in a bundle, with what is copied of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundleItem {
    /// The product.
    pub product_id: ProductId,
    /// How many of it. At least 1.
    pub quantity: i32,
    /// The revision of the product that was copied.
    pub version: i64,
    /// The name copied.
    pub name: String,
    /// The price of one, copied.
    pub price: Option<Money>,
    /// Whether the product was on sale when it was copied; if not, shoppers do not see the item.
    pub listed: bool,
    /// When the product was last changed before it was copied; unknown of older copies.
    #[serde(default)]
    pub as_of: Option<Timestamp>,
}

impl Bundle {
    /// What all items cost together: `None` when one has no price, when currencies differ, or when
    /// there is no item.
    #[must_use]
    pub fn price(&self) -> Option<Money> {
        let mut total: Option<Money> = None;
        for item in &self.items {
            let price = item.price?;
            let minor = price.minor.checked_mul(i64::from(item.quantity))?;
            let so_far = total.map_or(Some(0), |t| {
                (t.currency == price.currency).then_some(t.minor)
            })?;
            total = Some(Money {
                minor: so_far.checked_add(minor)?,
                currency: price.currency,
            });
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_typed_kind_is_found_by_its_name_and_has_details() {
        for kind in Kind::TYPED {
            assert_eq!(Kind::of(kind.name()), *kind);
            assert_eq!(Details::empty(*kind).kind(), Some(*kind));
        }
        assert_eq!(Kind::of("drone"), Kind::Other("drone"));
        assert_eq!(Kind::of("drone").name(), "drone");
        assert_eq!(Details::empty(Kind::of("drone")), Details::Generic);
        assert_eq!(Details::Generic.kind(), None);
    }
}
