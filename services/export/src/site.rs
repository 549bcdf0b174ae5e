//! Where the pages of a shop are.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use vitrine_model::category::Category;
use vitrine_model::id::GlobalId;
use vitrine_model::product::Product;

/// What stays as it is in a part of an address.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The origin of the shop, and the paths of its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    origin: String,
    product_path: String,
    category_path: String,
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
    ProductPath,
    /// The path does not say which category.
    #[error("give the path of a category page, such as /c/{{slug}}, with {{slug}} or {{id}}")]
    CategoryPath,
}

impl Site {
    /// The path of the storefront's product pages.
    pub const PRODUCT_PATH: &'static str = "/p/{slug}";
    /// The path of the storefront's category pages.
    pub const CATEGORY_PATH: &'static str = "/c/{slug}";

    /// Reads an origin and the paths of the pages of products and categories.
    pub fn new(origin: &str, product_path: &str, category_path: &str) -> Result<Self, InvalidSite> {
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
        if !names_one_of(product_path, &["{slug}", "{sku}", "{id}"]) {
            return Err(InvalidSite::ProductPath);
        }
        if !names_one_of(category_path, &["{slug}", "{id}"]) {
            return Err(InvalidSite::CategoryPath);
        }
        Ok(Self {
            origin: origin.to_owned(),
            product_path: product_path.to_owned(),
            category_path: category_path.to_owned(),
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
    pub(crate) fn product(&self, product: &Product) -> String {
        let path = self
            .product_path
            .replace("{slug}", &encoded(&product.slug))
            .replace("{sku}", &encoded(&product.sku))
            .replace("{id}", &encoded(&GlobalId::Product(product.id).encode()));
        format!("{}{path}", self.origin)
    }

    /// The address of the page of a category.
    pub(crate) fn category(&self, category: &Category) -> String {
        let id = GlobalId::Category(category.id).encode();
        let path = self
            .category_path
            .replace("{slug}", &encoded(&category.slug))
            .replace("{id}", &encoded(&id));
        format!("{}{path}", self.origin)
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

/// Returns whether this is a path that has one of these names.
fn names_one_of(path: &str, names: &[&str]) -> bool {
    let is_plain = !path.contains(|c: char| c.is_whitespace() || c.is_control());
    path.starts_with('/') && is_plain && names.iter().any(|name| path.contains(name))
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
            assert!(
                Site::new(origin, Site::PRODUCT_PATH, Site::CATEGORY_PATH).is_ok(),
                "{origin}"
            );
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
                Site::new(origin, Site::PRODUCT_PATH, Site::CATEGORY_PATH),
                Err(InvalidSite::Origin),
                "{origin}"
            );
        }
        for path in ["", "p/{slug}", "/p", "/p/{name}", "/p {slug}"] {
            assert_eq!(
                Site::new("https://a.example", path, Site::CATEGORY_PATH),
                Err(InvalidSite::ProductPath),
                "{path}"
            );
        }
        for path in ["", "/c", "/c/{sku}"] {
            assert_eq!(
                Site::new("https://a.example", Site::PRODUCT_PATH, path),
                Err(InvalidSite::CategoryPath),
                "{path}"
            );
        }
        let origin = "https://shop.example/";
        let site = Site::new(origin, Site::PRODUCT_PATH, Site::CATEGORY_PATH).unwrap();
        assert_eq!(
            (site.origin(), site.host()),
            ("https://shop.example", "shop.example")
        );
    }
}
