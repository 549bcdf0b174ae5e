//! The feed of product reviews.
//!
//! Google reads the feed as a whole: what is missing in the next one is deleted there. All published
//! reviews are in it, whatever their stars.

use std::io;

use vitrine_domain::export::ExportPart;
use vitrine_model::id::GlobalId;
use vitrine_model::product::{MediaKind, Product};
use vitrine_model::review::Review;
use vitrine_model::spec::Dictionary;

use super::identifiers::Identifiers;
use super::{FeedOptions, Remarks, feed_id};
use crate::ExportReport;
use crate::output::Output;
use crate::record::Counts;
use crate::xml::{Xml, allowed};

/// The version of the schema.
const VERSION: &str = "2.4";
const SCHEMA: &str =
    "http://www.google.com/shopping/reviews/schema/product/2.4/product_reviews.xsd";
/// The size from which Google refuses a file, in bytes.
const MAX_BYTES: u64 = 100_000_000;

/// Writes the feed.
pub(crate) struct ReviewsWriter {
    xml: Xml,
    options: FeedOptions,
    dictionary: Dictionary,
    /// The product whose reviews come next, as the feed has it.
    product: Option<FeedProduct>,
    counts: Counts,
    remarks: Remarks,
}

/// What the feed says of a product with each of its reviews.
struct FeedProduct {
    identifiers: Identifiers,
    sku: String,
    brand: Option<String>,
    name: String,
    url: String,
    /// Whether it has reviews in the feed.
    counted: bool,
}

impl ReviewsWriter {
    pub(crate) fn begin(output: Output, options: FeedOptions) -> io::Result<Self> {
        let mut xml = Xml::begin(output)?;
        let attributes = [
            ("xmlns:vc", "http://www.w3.org/2007/XMLSchema-versioning"),
            ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("xsi:noNamespaceSchemaLocation", SCHEMA),
        ];
        xml.open("feed", &attributes)?;
        xml.leaf("version", VERSION)?;
        xml.open("publisher", &[])?;
        xml.leaf("name", &options.publisher)?;
        xml.close("publisher")?;
        xml.open("reviews", &[])?;
        xml.line()?;
        Ok(Self {
            xml,
            options,
            dictionary: Dictionary::default(),
            product: None,
            counts: Counts::default(),
            remarks: Remarks::default(),
        })
    }

    pub(crate) const fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn part(&mut self, part: ExportPart) -> io::Result<()> {
        match part {
            ExportPart::Reference(reference) => {
                self.dictionary = Dictionary::new(reference.spec_keys);
                Ok(())
            }
            ExportPart::Product(one) => {
                self.product = Some(self.feed_product(&one.product));
                Ok(())
            }
            ExportPart::Reviews(reviews) => {
                let mut reviews = reviews.iter();
                reviews.try_for_each(|stored| self.review(&stored.review))
            }
            ExportPart::Suppliers(_)
            | ExportPart::Erasures(_)
            | ExportPart::IncompleteBundle(_) => Ok(()),
        }
    }

    fn feed_product(&self, product: &Product) -> FeedProduct {
        FeedProduct {
            identifiers: Identifiers::of(product, &self.dictionary),
            sku: feed_id(product),
            brand: product.brand.clone(),
            name: product.name.clone(),
            url: self.options.site.product(product),
            counted: false,
        }
    }

    fn review(&mut self, review: &Review) -> io::Result<()> {
        let Some(product) = &mut self.product else {
            return Ok(());
        };
        let Some(created_at) = review.created_at else {
            self.remarks.add("reviews without a date are left out");
            return Ok(());
        };
        if allowed(&review.body).trim().is_empty() {
            self.remarks.add("reviews without a text are left out");
            return Ok(());
        }
        if has_contact(&review.title) || has_contact(&review.body) {
            self.remarks
                .add("reviews with a link or an e-mail address are left out");
            return Ok(());
        }
        if !product.counted {
            product.counted = true;
            self.counts.products += 1;
            note_identifiers(product, &mut self.remarks);
        }
        self.counts.reviews += 1;
        let xml = &mut self.xml;
        xml.open("review", &[])?;
        let id = GlobalId::Review(review.product_id, review.id).encode();
        xml.leaf("review_id", &id)?;
        reviewer(xml, review)?;
        xml.leaf("is_verified_purchase", truth(review.verified))?;
        xml.leaf("is_incentivized_review", truth(review.incentivized))?;
        xml.leaf("review_timestamp", &created_at.to_string())?;
        if !allowed(&review.title).trim().is_empty() {
            xml.leaf("title", review.title.trim())?;
        }
        xml.leaf("content", review.body.trim())?;
        if let Some(language) = &review.language {
            xml.leaf("review_language", language)?;
        }
        let url = format!("{}#reviews", product.url);
        xml.leaf_with("review_url", &[("type", "group")], &url)?;
        images(xml, review)?;
        xml.open("ratings", &[])?;
        let stars = review.rating.get().to_string();
        xml.leaf_with("overall", &[("min", "1"), ("max", "5")], &stars)?;
        xml.close("ratings")?;
        write_product(xml, product)?;
        xml.close("review")?;
        xml.line()
    }

    pub(crate) fn finish(mut self, report: &mut ExportReport) -> io::Result<()> {
        self.xml.close("reviews")?;
        report.bytes = self.xml.end("feed")?;
        if report.bytes > MAX_BYTES {
            self.remarks
                .add("file is above 100 MB, which Google refuses: export with several filters");
        }
        report.counts = self.counts;
        report.remarks = self.remarks;
        self.xml.finish()
    }
}

fn note_identifiers(product: &FeedProduct, remarks: &mut Remarks) {
    let known = &product.identifiers;
    if known.invalid {
        remarks.add("products have a GTIN that is not valid, which is left out");
    }
    if known.gtins.is_empty() && (known.mpns.is_empty() || product.brand.is_none()) {
        remarks
            .add("products have neither a GTIN nor a brand with an MPN: Google may not match them");
    }
}

fn reviewer(xml: &mut Xml, review: &Review) -> io::Result<()> {
    let author = review.author.as_ref();
    let name = author.map(|author| allowed(author.name.trim()));
    let name = name.filter(|name| !name.is_empty());
    xml.open("reviewer", &[])?;
    match name {
        Some(name) => xml.leaf("name", &name)?,
        None => xml.leaf_with("name", &[("is_anonymous", "true")], "Anonymous")?,
    }
    xml.close("reviewer")
}

fn images(xml: &mut Xml, review: &Review) -> io::Result<()> {
    let images = review.media.iter();
    let mut images = images
        .filter(|media| media.kind == MediaKind::Image)
        .peekable();
    if images.peek().is_none() {
        return Ok(());
    }
    xml.open("reviewer_images", &[])?;
    for image in images {
        xml.open("reviewer_image", &[])?;
        xml.leaf("url", &image.url)?;
        xml.close("reviewer_image")?;
    }
    xml.close("reviewer_images")
}

fn write_product(xml: &mut Xml, product: &FeedProduct) -> io::Result<()> {
    xml.open("products", &[])?;
    xml.open("product", &[])?;
    xml.open("product_ids", &[])?;
    let known = &product.identifiers;
    list(xml, "gtins", "gtin", known.gtins.iter())?;
    list(xml, "mpns", "mpn", known.mpns.iter())?;
    list(xml, "skus", "sku", std::iter::once(&product.sku))?;
    list(xml, "brands", "brand", product.brand.iter())?;
    xml.close("product_ids")?;
    xml.leaf("product_name", &product.name)?;
    xml.leaf("product_url", &product.url)?;
    xml.close("product")?;
    xml.close("products")
}

fn list<'a>(
    xml: &mut Xml,
    name: &str,
    item: &str,
    values: impl Iterator<Item = &'a String>,
) -> io::Result<()> {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    xml.open(name, &[])?;
    for value in values {
        xml.leaf(item, value)?;
    }
    xml.close(name)
}

const fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Whether a text has a link or an e-mail address, which reviews in feeds must not have.
fn has_contact(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let host = |host: &str| {
            let named = host.split_once('.');
            named.is_some_and(|(name, rest)| !name.is_empty() && rest.len() >= 2)
        };
        word.contains("://")
            || word.strip_prefix("www.").is_some_and(host)
            || word
                .split_once('@')
                .is_some_and(|(name, rest)| !name.is_empty() && host(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::has_contact;

    #[test]
    fn links_and_addresses_are_found() {
        for text in [
            "see https://e.org/x",
            "(http://e.org)",
            "www.e.org is cheaper",
            "write to ada@e.org.",
        ] {
            assert!(has_contact(text), "{text}");
        }
        for text in ["", "5 @ 3 EUR", "a.b", "www. no", "good@home", "e.g. this"] {
            assert!(!has_contact(text), "{text}");
        }
    }
}
