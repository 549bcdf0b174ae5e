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

const FORMATS: [KnownFormat; 9] = [
    KnownFormat {
        name: "Shopify's export",
        mapping: "shopify",
        paths: &["URL handle", "Title", "Option1 value", "Price", "SKU"],
    },
    KnownFormat {
        name: "Shopify's export of before 2025",
        mapping: "shopify-classic",
        paths: &[
            "Handle",
            "Title",
            "Option1 Value",
            "Variant Price",
            "Variant SKU",
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
    /// The format of rows with these paths, if it has a name.
    pub(super) fn of(paths: &Paths) -> Option<&'static Self> {
        let has = |wanted: &&str| paths.all().any(|(path, _)| path == *wanted);
        FORMATS.iter().find(|format| format.paths.iter().all(has))
    }
}
