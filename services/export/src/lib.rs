//! The catalogue out, and back in.
//!
//! An export is written as JSON Lines that [`import`] reads into an empty database, which is then
//! equal; as tables for people; as feeds for Google; or as sitemaps. The catalogue is read as a stream and written
//! as it comes, so memory does not grow with it.
//!
//! | module | contents |
//! |---|---|
//! | [`record`] | the records of JSON Lines |
//! | [`digest`] | what two equal catalogues have in common |
//! | `lines`, `tables`, [`google`], `sitemap` | the formats |
//! | [`site`] | where the pages of a shop are |
//! | [`output`] | files that get their name when they are complete |
//! | [`mod@import`] | reading an export |
//! | [`report`] | what was written and read |

pub mod digest;
pub mod google;
pub mod import;
mod lines;
pub mod output;
pub mod record;
pub mod report;
pub mod site;
mod sitemap;
mod tables;
mod xml;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vitrine_domain::export::{ExportPart, ExportRequest, ExportedReviews};
use vitrine_domain::filter::Hint;
use vitrine_domain::products::Visibility;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::filter::ProductFilter;
use vitrine_model::id::ProductId;

use crate::google::{FeedOptions, ProductsWriter, ReviewsWriter};
use crate::lines::LinesWriter;
use crate::output::{Output, Target};
use crate::record::{Counts, FORMAT, Header};
use crate::site::Site;
use crate::sitemap::SitemapWriter;
use crate::tables::TablesWriter;

pub use crate::report::{ExportReport, ImportReport};

/// What to export, and how.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// Where to write it.
    pub target: Target,
    /// The format.
    pub format: Format,
    /// Which products.
    pub filter: ProductFilter,
    /// The filter as it was given, for the first line of the file; `None` for all products.
    pub filter_text: Option<Value>,
    /// Whether to export reviews; feeds decide for themselves.
    pub reviews: bool,
    /// Whether to start over instead of resuming an interrupted export.
    pub restart: bool,
}

/// The format of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines, which can be imported.
    Lines,
    /// CSV files, for people.
    Tables,
    /// A feed of product reviews.
    GoogleReviews(FeedOptions),
    /// A feed of products.
    GoogleProducts(FeedOptions),
    /// The addresses of all pages, for search engines.
    Sitemap(Site),
}

/// Why an export was aborted. What was written stays in files whose names end in `.part`.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The catalogue could not be read.
    #[error("the catalogue could not be read")]
    Catalog(#[from] DomainError),
    /// A file cannot be written.
    #[error("the export cannot be written")]
    Write(#[source] io::Error),
    /// The file that was interrupted is of another export.
    #[error(
        "{} is an interrupted export with other options; remove it, or start over with --restart",
        .0.display()
    )]
    OtherExport(PathBuf),
    /// The format has several files.
    #[error("this format has several files: give a directory as --out")]
    SeveralFiles,
}

/// Exports the catalogue. `progress` is called with what has been written so far, `hint` with parts
/// of the filter that are possibly mistakes.
///
/// # Errors
/// [`ExportError`] if it cannot be completed.
pub async fn export(
    catalog: &Catalog,
    options: &ExportOptions,
    mut progress: impl FnMut(&Counts),
    hint: impl FnMut(&Hint),
) -> Result<ExportReport, ExportError> {
    // An invalid filter is refused before a file is begun.
    let mut stream = catalog.export(request(options, None)).await?;
    let (mut writer, from) = Writer::open(catalog, options)?;
    if from.is_some() {
        stream = catalog.export(request(options, from)).await?;
    }
    stream.hints.iter().for_each(hint);
    let mut report = ExportReport {
        continued: from.is_some(),
        ..ExportReport::default()
    };
    while let Some(part) = stream.next().await? {
        if matches!(part, ExportPart::IncompleteBundle(_)) {
            report.incomplete_bundles += 1;
        }
        writer.part(part).map_err(ExportError::Write)?;
        progress(writer.counts());
    }
    writer.finish(&mut report).map_err(ExportError::Write)?;
    Ok(report)
}

fn request(options: &ExportOptions, from: Option<ProductId>) -> ExportRequest {
    let (visibility, reviews) = match &options.format {
        Format::Lines | Format::Tables if options.reviews => {
            (Visibility::Everything, ExportedReviews::WithHistory)
        }
        Format::Lines | Format::Tables => (Visibility::Everything, ExportedReviews::None),
        Format::GoogleReviews(_) => (Visibility::Public, ExportedReviews::Published),
        Format::GoogleProducts(_) | Format::Sitemap(_) => {
            (Visibility::Public, ExportedReviews::None)
        }
    };
    let is_filtered = options.filter != ProductFilter::default();
    ExportRequest {
        filter: options.filter.clone(),
        visibility,
        reviews,
        complete_bundles: options.format == Format::Lines && is_filtered,
        from,
    }
}

/// A writer of one of the formats.
enum Writer {
    Lines(Box<LinesWriter>),
    Tables(Box<TablesWriter>),
    Reviews(Box<ReviewsWriter>),
    Products(Box<ProductsWriter>),
    Sitemap(Box<SitemapWriter>),
}

impl Writer {
    /// Begins to write, or continues. Returns the product to continue with.
    fn open(
        catalog: &Catalog,
        options: &ExportOptions,
    ) -> Result<(Self, Option<ProductId>), ExportError> {
        let target = &options.target;
        let writer = match &options.format {
            Format::Lines => {
                let header = Header {
                    version: FORMAT,
                    currency: catalog.currency(),
                    reviews: options.reviews,
                    filter: options.filter_text.clone(),
                };
                let (writer, from) = LinesWriter::open(target, header, options.restart)?;
                return Ok((Self::Lines(Box::new(writer)), from));
            }
            Format::Tables => TablesWriter::create(directory(target)?, options.reviews)
                .map(|tables| Self::Tables(Box::new(tables))),
            Format::Sitemap(site) => SitemapWriter::create(directory(target)?, site.clone())
                .map(|sitemap| Self::Sitemap(Box::new(sitemap))),
            Format::GoogleReviews(feed) => output(target)
                .and_then(|output| ReviewsWriter::begin(output, feed.clone()))
                .map(|feed| Self::Reviews(Box::new(feed))),
            Format::GoogleProducts(feed) => output(target)
                .and_then(|output| ProductsWriter::begin(output, feed.clone()))
                .map(|feed| Self::Products(Box::new(feed))),
        };
        Ok((writer.map_err(ExportError::Write)?, None))
    }

    fn part(&mut self, part: ExportPart) -> io::Result<()> {
        match self {
            Self::Lines(lines) => lines.part(&part),
            Self::Tables(tables) => tables.part(part),
            Self::Reviews(feed) => feed.part(part),
            Self::Products(feed) => feed.part(part),
            Self::Sitemap(sitemap) => sitemap.part(part),
        }
    }

    const fn counts(&self) -> &Counts {
        match self {
            Self::Lines(lines) => lines.counts(),
            Self::Tables(tables) => tables.counts(),
            Self::Reviews(feed) => feed.counts(),
            Self::Products(feed) => feed.counts(),
            Self::Sitemap(sitemap) => sitemap.counts(),
        }
    }

    fn finish(self, report: &mut ExportReport) -> io::Result<()> {
        match self {
            Self::Lines(lines) => lines.finish(report),
            Self::Tables(tables) => tables.finish(report),
            Self::Reviews(feed) => feed.finish(report),
            Self::Products(feed) => feed.finish(report),
            Self::Sitemap(sitemap) => sitemap.finish(report),
        }
    }
}

/// The directory of a format that has several files.
fn directory(target: &Target) -> Result<&Path, ExportError> {
    match target {
        Target::Directory(directory) => Ok(directory),
        _ => Err(ExportError::SeveralFiles),
    }
}

/// One file, or standard output.
fn output(target: &Target) -> io::Result<Output> {
    match target {
        Target::File(path) | Target::Directory(path) => Output::create(path),
        Target::Standard => Ok(Output::standard()),
        Target::Nowhere => Ok(Output::nowhere()),
    }
}
