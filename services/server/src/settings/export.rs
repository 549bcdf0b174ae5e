//! Settings of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Settings of `export`.
#[derive(Clone, Debug, Args)]
pub struct Export {
    /// The file to write; for csv and sitemap a directory; - for standard output. A file gets its name when it
    /// is complete.
    #[arg(long, value_name = "FILE", required_unless_present = "digest")]
    pub out: Option<PathBuf>,
    /// The format.
    #[arg(long, default_value = "jsonl")]
    pub format: ExportFormat,
    /// Which products, as the argument `filter` of the query `products`, in JSON.
    #[arg(long, value_name = "JSON")]
    pub filter: Option<String>,
    /// Leave out reviews, and so everything about people. For jsonl and csv.
    #[arg(long)]
    pub products_only: bool,
    /// Start over instead of resuming an interrupted export. For jsonl.
    #[arg(long)]
    pub restart: bool,
    /// Write nothing; print the digest that a jsonl file would have. Equal databases have equal
    /// digests.
    #[arg(long, conflicts_with_all = ["out", "format", "restart"])]
    pub digest: bool,
    /// The origin of the shop: its scheme and host. For feeds and sitemap.
    #[arg(long, value_name = "ORIGIN")]
    pub site: Option<String>,
    /// The path of a product page, with {slug}, {sku} or {id}. For feeds and sitemap. [default:
    /// /p/{slug}]
    #[arg(long, value_name = "PATH")]
    pub product_path: Option<String>,
    /// The path of a category page, with {slug} or {id}. For sitemap. [default: /c/{slug}]
    #[arg(long, value_name = "PATH")]
    pub category_path: Option<String>,
    /// The name of the shop. For feeds. [default: the host of --site]
    #[arg(long, value_name = "NAME")]
    pub publisher: Option<String>,
    /// Whether products on sale are in stock, which the catalogue does not know. For
    /// google-products.
    #[arg(long)]
    pub availability: Option<FeedAvailability>,
    /// The condition of all products. For google-products.
    #[arg(long)]
    pub condition: Option<FeedCondition>,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// JSON Lines, which `import` reads back.
    Jsonl,
    /// CSV files for people.
    Csv,
    /// A feed of reviews for Google.
    GoogleReviews,
    /// A feed of products for Google.
    GoogleProducts,
    /// Sitemaps for search engines.
    Sitemap,
}

impl ExportFormat {
    /// The name of the format on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::GoogleReviews => "google-reviews",
            Self::GoogleProducts => "google-products",
            Self::Sitemap => "sitemap",
        }
    }
}

/// Whether products are in stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FeedAvailability {
    /// They are.
    #[value(name = "in_stock")]
    InStock,
    /// They are not.
    #[value(name = "out_of_stock")]
    OutOfStock,
}

/// The condition of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FeedCondition {
    /// New.
    New,
    /// Restored to working order.
    Refurbished,
    /// Used.
    Used,
}
