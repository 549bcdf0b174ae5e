//! Feeds for Google: product reviews (version 2.4 of the schema) and products (RSS 2.0).
//!
//! Only what shoppers see is in them. Records that a feed may not have are left out and counted.

pub mod identifiers;
mod products;
mod reviews;
mod xml;

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use vitrine_model::id::GlobalId;
use vitrine_model::product::Product;
use vitrine_model::text::excerpt;

pub(crate) use products::ProductsWriter;
pub(crate) use reviews::ReviewsWriter;

/// The maximum length of an identifier of a product, in characters.
const MAX_ID_CHARACTERS: usize = 50;
/// What stays as it is in a part of an address.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

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

/// The origin of the shop, and the path of the page of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    origin: String,
    path: String,
}

/// Why an origin or a path cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSite {
    /// The origin is none.
    #[error("give the origin of the shop, such as https://shop.example, without a path")]
    Origin,
    /// The path does not say which product.
    #[error(
        "give the path of a product page, such as /p/{{slug}}, with {{slug}}, {{sku}} or {{id}}"
    )]
    Path,
}

impl Site {
    /// The path of the storefront's product pages.
    pub const PATH: &'static str = "/p/{slug}";

    /// Reads an origin and the path of product pages.
    pub fn new(origin: &str, path: &str) -> Result<Self, InvalidSite> {
        let origin = origin.trim_end_matches('/');
        let host = ["https://", "http://"]
            .iter()
            .find_map(|scheme| origin.strip_prefix(scheme));
        let is_host = |host: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
            host.starts_with(|c: char| c.is_ascii_alphanumeric()) && host.chars().all(allowed)
        };
        if !host.is_some_and(is_host) {
            return Err(InvalidSite::Origin);
        }
        let names = ["{slug}", "{sku}", "{id}"];
        let plain = !path.contains(|c: char| c.is_whitespace() || c.is_control());
        if !(path.starts_with('/') && plain && names.iter().any(|name| path.contains(name))) {
            return Err(InvalidSite::Path);
        }
        Ok(Self {
            origin: origin.to_owned(),
            path: path.to_owned(),
        })
    }

    /// The origin.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The host of the origin.
    #[must_use]
    pub fn host(&self) -> &str {
        let host = self.origin.split_once("://");
        host.map_or(self.origin.as_str(), |(_, host)| host)
    }

    /// The address of the page of a product.
    fn product(&self, product: &Product) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, KEPT).to_string();
        let path = self
            .path
            .replace("{slug}", &encoded(&product.slug))
            .replace("{sku}", &encoded(&product.sku))
            .replace("{id}", &encoded(&GlobalId::Product(product.id).encode()));
        format!("{}{path}", self.origin)
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
    fn a_site_is_an_origin_and_a_path_with_a_name() {
        for origin in [
            "https://shop.example",
            "http://127.0.0.1:8080",
            "https://shop.example/",
        ] {
            assert!(Site::new(origin, Site::PATH).is_ok(), "{origin}");
        }
        for origin in [
            "",
            "shop.example",
            "ftp://shop.example",
            "https://",
            "https://a b",
            "https://a/b",
        ] {
            assert_eq!(
                Site::new(origin, Site::PATH),
                Err(InvalidSite::Origin),
                "{origin}"
            );
        }
        for path in ["", "p/{slug}", "/p", "/p/{name}", "/p {slug}"] {
            assert_eq!(
                Site::new("https://a.example", path),
                Err(InvalidSite::Path),
                "{path}"
            );
        }
        let site = Site::new("https://shop.example/", Site::PATH).unwrap();
        assert_eq!(
            (site.origin(), site.host()),
            ("https://shop.example", "shop.example")
        );
    }

    #[test]
    fn texts_are_cut() {
        assert_eq!(cut("one two", 7), "one two");
        assert_eq!(cut("one two", 6), "one");
        assert_eq!(cut("ééé", 2), "éé");
    }
}
