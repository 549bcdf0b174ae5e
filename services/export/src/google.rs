//! Feeds for Google: product reviews (version 2.4 of the schema) and products (RSS 2.0).
//!
//! Only what shoppers see is in them. Records that a feed may not have are left out and counted.

pub mod identifiers;
mod products;
mod reviews;

use std::collections::BTreeMap;

use vitrine_model::id::GlobalId;
use vitrine_model::product::Product;
use vitrine_model::text::excerpt;

use crate::site::Site;

pub(crate) use products::ProductsWriter;
pub(crate) use reviews::ReviewsWriter;

/// The maximum length of an identifier of a product, in characters.
const MAX_ID_CHARACTERS: usize = 50;
/// What a feed says that the catalogue does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedOptions {
    /// Where the shop is.
    pub site: Site,
    /// The name of the shop.
    pub publisher: String,
    /// Whether products are in stock: the catalogue does not know. Products only.
    pub availability: Availability,
    /// Their condition. Products only.
    pub condition: Option<Condition>,
}

/// Whether products are in stock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Availability {
    /// They are.
    #[default]
    InStock,
    /// They are not.
    OutOfStock,
}

/// The condition of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// New.
    New,
    /// Restored to working order.
    Refurbished,
    /// Used.
    Used,
}

impl Availability {
    const fn name(self) -> &'static str {
        match self {
            Self::InStock => "in_stock",
            Self::OutOfStock => "out_of_stock",
        }
    }
}

impl Condition {
    const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Refurbished => "refurbished",
            Self::Used => "used",
        }
    }
}

/// What was left out of a feed, and what is doubtful in it, with how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks(pub BTreeMap<&'static str, u64>);

impl Remarks {
    fn add(&mut self, remark: &'static str) {
        *self.0.entry(remark).or_default() += 1;
    }
}

/// The same identifier of a product in both feeds: its SKU if that is short enough.
fn feed_id(product: &Product) -> String {
    if product.sku.chars().count() <= MAX_ID_CHARACTERS {
        product.sku.clone()
    } else {
        GlobalId::Product(product.id).encode()
    }
}

/// At most so many characters of a text.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    // Characters for people may be several.
    let short = excerpt(text, max).text;
    short.chars().take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut() {
        assert_eq!(cut("one two", 7), "one two");
        assert_eq!(cut("one two", 6), "one");
        assert_eq!(cut("ééé", 2), "éé");
    }
}
