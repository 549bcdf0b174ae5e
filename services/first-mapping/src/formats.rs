//! Exports that have a name: by their columns, and the shipped mappings that read them.

use super::paths::Paths;

/// An export of a program.
pub(super) struct KnownFormat {
    /// What it is called.
    pub(super) name: &'static str,
    /// The shipped mapping that reads it.
    pub(super) mapping: &'static str,
    /// Paths that all its files have.
    paths: &'static [&'static str],
}

const FORMATS: [KnownFormat; 11] = [
    KnownFormat {
        name: "Shopify's export",
        mapping: "shopify",
        paths: &["URL handle", "Title", "Option1 value", "Price", "SKU"],
    },
    KnownFormat {
        name: "Shopify's export of before 2025",
        mapping: "shopify",
        paths: &[
            "Handle",
            "Title",
            "Option1 Value",
            "Variant Price",
            "Variant SKU",
        ],
    },
    KnownFormat {
        name: "WooCommerce's export",
        mapping: "woocommerce",
        paths: &[
            "ID",
            "Type",
            "SKU",
            "Visibility in catalog",
            "Regular price",
            "Parent",
        ],
    },
    KnownFormat {
        name: "a catalogue in BMEcat 2005",
        mapping: "bmecat",
        paths: &[
            "SUPPLIER_PID",
            "PRODUCT_PRICE_DETAILS.PRODUCT_PRICE[].@price_type",
        ],
    },
    KnownFormat {
        name: "a feed for Google Merchant Center",
        mapping: "google-products",
        paths: &["\"g:id\"", "\"g:price\"", "\"g:image_link\""],
    },
    KnownFormat {
        name: "a feed for Google Merchant Center",
        mapping: "google-products",
        paths: &["id", "title", "image link", "price", "availability"],
    },
    KnownFormat {
        name: "a feed for Google Product Ratings",
        mapping: "google-reviews",
        paths: &["review_id", "ratings.overall.#text", "review_timestamp"],
    },
    KnownFormat {
        name: "Judge.me's export",
        mapping: "judgeme",
        paths: &[
            "product_handle",
            "reviewer_email",
            "review_date",
            "picture_urls",
        ],
    },
    KnownFormat {
        name: "Loox's export",
        mapping: "loox",
        paths: &[
            "product_handle",
            "photo_url",
            "verified_purchase",
            "email",
            "created_at",
        ],
    },
    KnownFormat {
        name: "Yotpo's export",
        mapping: "yotpo",
        paths: &[
            "Review ID",
            "Review Score",
            "Review Content",
            "Product ID",
            "Reviewer Email",
        ],
    },
    KnownFormat {
        name: "Trustpilot's export",
        mapping: "trustpilot",
        paths: &[
            "Review Id",
            "Review Stars",
            "Review Consumer User Id",
            "Product SKU",
        ],
    },
];

impl KnownFormat {
    /// The format of rows with these paths, if it has a name. Values beside attributes, and of
    /// elements that repeat, count as those of elements that stand alone.
    pub(super) fn of(paths: &Paths) -> Option<&'static Self> {
        let plain = |path: &str| path.replace("[]", "").replace(".#text", "");
        let has = |wanted: &&str| {
            let mut all = paths.all();
            all.any(|(path, _)| path == *wanted || plain(path) == plain(wanted))
        };
        FORMATS.iter().find(|format| format.paths.iter().all(has))
    }
}
