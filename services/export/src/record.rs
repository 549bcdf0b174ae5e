//! The records of an export, one a line: `{"product": { … }}`. Ids are those of the API, times are
//! RFC 3339, amounts are decimal numbers as texts. What is computed is not in them.
//!
//! The first line is a [`Header`], the last one an [`End`]. A record comes after what it refers to,
//! and what happened to a review directly after the review. A record of reference data that comes
//! again replaces the earlier one.

pub mod product;
pub mod reference;
pub mod review;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vitrine_model::id::{CategoryId, GlobalId, ProductId, ReviewId, SupplierId};
use vitrine_model::import::Rejection;
use vitrine_model::money::{Currency, Money};
use vitrine_model::spec::SpecKey;
use vitrine_model::unit::Unit;

pub use product::ProductRecord;
pub use reference::{CategoryRecord, DimensionsRecord, SupplierRecord};
pub use review::{
    DecisionRecord, ErasureRecord, ReportRecord, ReviewRecord, VersionRecord, VoteRecord,
};

/// The version of the format. A release reads its own and earlier ones.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstLine {
    /// What the file has.
    VitrineExport(Header),
}

/// What a file has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The currency of the shop.
    pub currency: Currency,
    /// Whether reviews are in it.
    pub reviews: bool,
    /// Which products; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Value>,
}

/// The last line of a complete file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastLine {
    /// The end.
    End(End),
}

/// What the file should have had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The number of records, by kind.
    pub records: Counts,
    /// The sum of their digests.
    pub digest: String,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A unit that the shop has defined.
    Unit(Unit),
    /// A key of the spec dictionary with its aliases.
    SpecKey(Box<SpecKey>),
    /// A category.
    Category(CategoryRecord),
    /// What products of a kind or a category are rated by.
    Dimensions(DimensionsRecord),
    /// A supplier.
    Supplier(SupplierRecord),
    /// A product.
    Product(Box<ProductRecord>),
    /// A review of the product before it.
    Review(Box<ReviewRecord>),
    /// A vote on the review before it.
    Vote(VoteRecord),
    /// A report of the review before it.
    Report(ReportRecord),
    /// An earlier version of the review before it.
    Version(VersionRecord),
    /// A decision over the review before it.
    Decision(DecisionRecord),
    /// An author who was erased: also from what earlier exports have.
    Erasure(ErasureRecord),
}

/// Defines [`Counts`], and the count of each record.
macro_rules! counts {
    ($($(#[$doc:meta])* $kind:ident = $field:ident,)+) => {
        /// The number of records, by kind.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Counts {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl Counts {
            /// The number of records of this kind.
            pub const fn of(&mut self, record: &Record) -> &mut u64 {
                match record {
                    $(Record::$kind(_) => &mut self.$field,)+
                }
            }

            /// The kinds that there are, with their numbers.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let all = [$((stringify!($field), self.$field),)+];
                all.into_iter().filter(|(_, count)| *count > 0)
            }
        }
    };
}

counts! {
    /// Units that the shop has defined.
    Unit = units,
    /// Keys of the spec dictionary.
    SpecKey = spec_keys,
    /// Categories.
    Category = categories,
    /// Review dimensions of a kind or a category.
    Dimensions = dimensions,
    /// Suppliers.
    Supplier = suppliers,
    /// Products.
    Product = products,
    /// Reviews.
    Review = reviews,
    /// Votes on reviews.
    Vote = votes,
    /// Reports of reviews.
    Report = reports,
    /// Earlier versions of reviews.
    Version = versions,
    /// Decisions over reviews.
    Decision = decisions,
    /// Authors who were erased.
    Erasure = erasures,
}

impl Record {
    /// What a record of reference data is about; `None` for others. A later record with the same
    /// key replaces an earlier one.
    #[must_use]
    pub fn reference_key(&self) -> Option<String> {
        Some(match self {
            Self::Unit(unit) => format!("unit {}", unit.id),
            Self::SpecKey(key) => format!("spec_key {}", key.key),
            Self::Category(category) => format!("category {}", category.id),
            Self::Dimensions(dimensions) => dimensions.reference_key(),
            Self::Supplier(supplier) => format!("supplier {}", supplier.id),
            Self::Erasure(erasure) => format!("erasure {}", erasure.author.0),
            _ => return None,
        })
    }

    /// The record as a line, without the line break.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("records hold nothing that JSON cannot")
    }
}

/// A price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRecord {
    /// The amount in units of the currency: `19.99`.
    pub amount: String,
    /// The ISO 4217 code of the currency.
    pub currency: Currency,
}

impl PriceRecord {
    fn of(money: Money) -> Self {
        Self {
            amount: money.amount().to_string(),
            currency: money.currency,
        }
    }

    fn money(&self) -> Result<Money, Rejection> {
        Money::parse(&self.amount, self.currency)
            .map_err(|wrong| Rejection::new("price", wrong.to_string()))
    }
}

fn product_gid(id: ProductId) -> String {
    GlobalId::Product(id).encode()
}

fn review_gid(product: ProductId, id: ReviewId) -> String {
    GlobalId::Review(product, id).encode()
}

fn category_gid(id: CategoryId) -> String {
    GlobalId::Category(id).encode()
}

fn supplier_gid(id: SupplierId) -> String {
    GlobalId::Supplier(id).encode()
}

pub(crate) fn product_id(field: &str, text: &str) -> Result<ProductId, Rejection> {
    match GlobalId::decode(text) {
        Ok(GlobalId::Product(id)) => Ok(id),
        _ => Err(not_an_id(field, text, "a product")),
    }
}

fn review_id(field: &str, text: &str) -> Result<(ProductId, ReviewId), Rejection> {
    match GlobalId::decode(text) {
        Ok(GlobalId::Review(product, id)) => Ok((product, id)),
        _ => Err(not_an_id(field, text, "a review")),
    }
}

fn category_id(field: &str, text: &str) -> Result<CategoryId, Rejection> {
    match GlobalId::decode(text) {
        Ok(GlobalId::Category(id)) => Ok(id),
        _ => Err(not_an_id(field, text, "a category")),
    }
}

fn supplier_id(field: &str, text: &str) -> Result<SupplierId, Rejection> {
    match GlobalId::decode(text) {
        Ok(GlobalId::Supplier(id)) => Ok(id),
        _ => Err(not_an_id(field, text, "a supplier")),
    }
}

fn not_an_id(field: &str, text: &str, of: &str) -> Rejection {
    let shown = vitrine_model::text::excerpt(text, 40).text;
    Rejection::new(field, format!("{shown:?} is not the id of {of}"))
}

/// Whether a value is the usual one and left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Times as RFC 3339.
mod instant {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use vitrine_model::clock::Timestamp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        Timestamp::parse(&text).map_err(D::Error::custom)
    }

    pub(super) mod optional {
        use super::{Deserializer, Serializer, Timestamp};
        use serde::{Deserialize as _, de::Error as _};

        #[expect(clippy::ref_option, reason = "serde passes references")]
        pub(in crate::record) fn serialize<S: Serializer>(
            at: &Option<Timestamp>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => to.collect_str(at),
                None => to.serialize_none(),
            }
        }

        pub(in crate::record) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            let text = Option::<String>::deserialize(from)?;
            let at = text.map(|text| Timestamp::parse(&text));
            at.transpose().map_err(D::Error::custom)
        }
    }
}
