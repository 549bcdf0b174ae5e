//! Products. All kinds share one structure; fields of a single kind are in its [`Details`].

use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::activity::ActivitySummary;
use crate::clock::Timestamp;
use crate::contribution::SourcePriority;
use crate::fold::Computed;
use crate::id::{CategoryId, ProductId};
use crate::money::Money;
use crate::overrides::Overrides;
use crate::spec::Spec;
use crate::supplier::SupplierExtract;

/// The maximum number of images, videos and documents of a product.
pub const MAX_MEDIA: usize = 50;
/// The maximum length of a name, in characters.
pub const MAX_NAME_CHARACTERS: usize = 300;
/// The maximum length of a description, in characters.
pub const MAX_DESCRIPTION_CHARACTERS: usize = 20_000;
/// The maximum length of a stock-keeping unit, in bytes.
pub const MAX_SKU_BYTES: usize = 128;
/// The maximum length of the name of a kind, in bytes.
pub const MAX_KIND_BYTES: usize = 32;

/// The status of a product.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, EnumCount,
)]
#[serde(rename_all = "snake_case")]
pub enum ProductStatus {
    /// Not on sale yet; visible to admins only.
    Draft,
    /// On sale; visible to everyone.
    Active,
    /// No longer on sale; visible to admins only.
    Archived,
}

impl ProductStatus {
    /// All statuses.
    pub const ALL: [Self; Self::COUNT] = [Self::Draft, Self::Active, Self::Archived];

    /// The name under which the status is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }

    /// The status with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// An image, a video or a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Its URL: absolute, `https` or `http`.
    pub url: String,
    /// The alternative text: what it shows.
    pub alt: Option<String>,
    /// The kind of media.
    pub kind: MediaKind,
}

/// The kind of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// An image.
    Image,
    /// A video.
    Video,
    /// A document, such as a manual.
    Document,
}

/// A source that a product was imported from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The source system.
    pub system: String,
    /// The product's id in that system.
    pub external_id: String,
    /// When an import from it last changed the product.
    pub imported_at: Timestamp,
    /// A digest of the last draft, so that importing the same again changes nothing.
    pub digest: String,
    /// How it ranks among the sources of the product.
    #[serde(default)]
    pub priority: SourcePriority,
}

/// Flags of a product that has, or receives, unusually many reviews: special read and write paths
/// apply to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlier {
    /// Has enough reviews that filtered lists of them use indexes of their own. Never unset.
    pub many: bool,
    /// Has so many reviews that they are never counted on request.
    pub large: bool,
    /// Since when it is large.
    pub large_since: Option<Timestamp>,
    /// Hot until this instant: reviewed so often that reviews are folded in batches.
    pub hot_until: Option<Timestamp>,
    /// Since when it is hot.
    pub hot_since: Option<Timestamp>,
    /// Why it is hot.
    pub hot_reason: Option<HotReason>,
}

impl Outlier {
    /// Returns true if the product is hot at this instant.
    #[must_use]
    pub fn is_hot(&self, now: Timestamp) -> bool {
        self.hot_until.is_some_and(|until| now < until)
    }

    /// Updates the flags after a fold that found the product large or not, and clears what has
    /// expired.
    pub fn update_after_fold(&mut self, large: bool, now: Timestamp) {
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
    /// A write conflict.
    Conflict,
    /// Several reviews a second were written.
    Rate,
}

impl HotReason {
    /// The name under which it is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Rate => "rate",
        }
    }

    /// The reason with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Conflict, Self::Rate]
            .into_iter()
            .find(|reason| reason.name() == name)
    }
}

/// The number of units of a product sold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sold {
    /// The exact number of units among the sales counted.
    pub units: i64,
    /// When sales were last counted.
    pub as_of: Option<Timestamp>,
}

/// A product with all its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The product's id.
    pub id: ProductId,
    /// The kind: `book`, `apparel`, or one without a type of its own.
    pub kind: String,
    /// The stock-keeping unit; unique.
    pub sku: String,
    /// The part of a URL that identifies it; unique.
    pub slug: String,
    /// The name shown.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// The status.
    pub status: ProductStatus,
    /// The id of its category.
    pub category: CategoryId,
    /// The price; often missing in feeds.
    pub price: Option<Money>,
    /// Images, videos and documents.
    pub media: Vec<Media>,
    /// The specs, in the order in which they are shown.
    pub specs: Vec<Spec>,
    /// The fields of its kind.
    pub details: Details,
    /// The extended reference to its supplier.
    pub supplier: Option<SupplierExtract>,
    /// The data computed from its reviews.
    pub computed: Computed,
    /// Flags of products with unusually many reviews.
    pub outlier: Outlier,
    /// The summary of its activity of the last 30 days.
    pub activity: ActivitySummary,
    /// The number of units sold.
    pub sold: Sold,
    /// The sources it was imported from.
    pub sources: Vec<Source>,
    /// The fields that people have edited.
    pub overrides: Overrides,
    /// Increases with every edit by an admin or an import; unaffected by reviews.
    pub revision: i64,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When it was first listed, that is, first had a status other than draft.
    pub listed_at: Option<Timestamp>,
    /// When an admin or an import last changed it.
    pub updated_at: Timestamp,
}

impl Product {
    /// Whether what its sources say is stored beside it: it does not follow from the product if there
    /// are several of them, if one says only some fields, or if people have edited some.
    #[must_use]
    pub fn has_contributions(&self) -> bool {
        match &*self.sources {
            [] => false,
            [one] => one.priority.partial || !self.overrides.is_empty(),
            _ => true,
        }
    }

    /// When it was listed; `None` for a draft. A product that has just stopped being a draft is
    /// listed from its last change on.
    #[must_use]
    pub fn listed(&self) -> Option<Timestamp> {
        let now = (self.status != ProductStatus::Draft).then_some(self.updated_at);
        self.listed_at.or(now)
    }
}

/// Defines [`Kind`] and [`Details`] from one list. Code that reads, writes, maps or shows details
/// matches on one of them without a catch-all, so the compiler lists what a new kind needs.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)+) => {
        /// The kind of a product: one with a type of its own, or any other by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind<'a> {
            $($(#[$doc])* $kind,)+
            /// A kind without a type of its own, by its name.
            Other(&'a str),
        }

        impl<'a> Kind<'a> {
            /// The kinds that have a type of their own.
            pub const TYPED: &'static [Kind<'static>] = &[$(Kind::$kind,)+];

            /// The kind with this name.
            #[must_use]
            pub fn of(name: &'a str) -> Self {
                match name {
                    $($name => Self::$kind,)+
                    other => Self::Other(other),
                }
            }

            /// The name under which the kind is stored and shown.
            #[must_use]
            pub const fn name(self) -> &'a str {
                match self {
                    $(Self::$kind => $name,)+
                    Self::Other(name) => name,
                }
            }
        }

        /// The fields of a product that belong to its kind.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub enum Details {
            $($(#[$doc])* $kind($kind),)+
            /// A kind without a type of its own: it has specs only.
            #[default]
            Generic,
        }

        impl Details {
            /// The kind of these details; `None` for [`Details::Generic`].
            #[must_use]
            pub const fn kind(&self) -> Option<Kind<'static>> {
                match self {
                    $(Self::$kind(_) => Some(Kind::$kind),)+
                    Self::Generic => None,
                }
            }

            /// Returns true if no field has a value.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                match self {
                    $(Self::$kind(details) => *details == $kind::default(),)+
                    Self::Generic => true,
                }
            }

            /// Returns empty details of a kind.
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
    /// Electronic devices.
    Electronics = "electronics",
    /// Food and drink.
    Grocery = "grocery",
    /// Films.
    Movie = "movie",
    /// Several products sold together.
    Bundle = "bundle",
}

/// The fields of clothes and shoes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Apparel {
    /// The cut: `slim`, `regular`.
    pub fit: Option<String>,
    /// The measures of each size.
    pub size_chart: Vec<SizeChartRow>,
}

/// The measures of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeChartRow {
    /// The size: `M`.
    pub size: String,
    /// The measures of this size.
    pub measurements: Vec<Measurement>,
}

/// One measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The measure: `chest`.
    pub name: String,
    /// The number of units.
    pub value: f64,
    /// The unit.
    pub unit: String,
}

/// The fields of books.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// Authors, translators and others who worked on it.
    pub contributors: Vec<Contributor>,
    /// The ISBN, digits only.
    pub isbn: Option<String>,
    /// `hardcover`, `paperback`, `e-book`.
    pub format: Option<String>,
    /// The number of pages.
    pub pages: Option<i32>,
}

/// A person who contributed to a work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contributor {
    /// The name.
    pub name: String,
    /// The role: `author`, `translator`; in a film the character played.
    pub role: String,
}

/// The fields of electronic devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Electronics {
    /// The energy label: `A` to `G`.
    pub energy_label: Option<String>,
    /// The warranty in months.
    pub warranty_months: Option<i32>,
    /// What it is compatible with.
    pub compatibility: Vec<String>,
}

/// The fields of food and drink.
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

/// The fields of films.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Movie {
    /// The cast with the characters played.
    pub cast: Vec<Contributor>,
    /// The running time in minutes.
    pub runtime_minutes: Option<i32>,
}

/// The fields of bundles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bundle {
    /// The items of the bundle.
    pub items: Vec<BundleItem>,
}

/// An item of a bundle: an extended reference to a product, which contains copies of the product's
/// fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundleItem {
    /// The product.
    pub product_id: ProductId,
    /// The number of units; at least 1.
    pub quantity: i32,
    /// The revision of the product that was copied.
    pub version: i64,
    /// The name copied.
    pub name: String,
    /// The price of one unit, copied.
    pub price: Option<Money>,
    /// Whether the product was on sale when it was copied; if not, the item is hidden from
    /// shoppers.
    pub listed: bool,
    /// When the product was last changed before it was copied; `None` for copies made by earlier
    /// releases.
    #[serde(default)]
    pub as_of: Option<Timestamp>,
}

impl Bundle {
    /// The total price of all items: `None` if one has no price or is not on sale, if currencies
    /// differ, or if there are no items. With the other items, the total would disclose the price
    /// of an item that is not on sale; and nobody can buy a bundle without it.
    #[must_use]
    pub fn price(&self) -> Option<Money> {
        let mut total: Option<Money> = None;
        for item in &self.items {
            let price = item.price.filter(|_| item.listed)?;
            let minor = price.minor.checked_mul(i64::from(item.quantity))?;
            let subtotal = total.map_or(Some(0), |t| {
                (t.currency == price.currency).then_some(t.minor)
            })?;
            total = Some(Money {
                minor: subtotal.checked_add(minor)?,
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
