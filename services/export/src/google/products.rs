//! The feed of products: RSS 2.0 with the attributes of Google's product data specification.

use std::io;

use vitrine_domain::export::ExportPart;
use vitrine_model::category::CategoryTree;
use vitrine_model::product::{Kind, Media, MediaKind, Product};
use vitrine_model::spec::Dictionary;

use super::identifiers::Identifiers;
use super::{FeedOptions, Remarks, cut, feed_id};
use crate::ExportReport;
use crate::output::Output;
use crate::record::Counts;
use crate::tables::path;
use crate::xml::{Xml, allowed};

const NAMESPACE: &str = "http://base.google.com/ns/1.0";
/// The maximum lengths of attributes, in characters.
const MAX_TITLE: usize = 150;
const MAX_DESCRIPTION: usize = 5_000;
const MAX_BRAND: usize = 70;
const MAX_PRODUCT_TYPE: usize = 750;
const MAX_DETAIL_NAME: usize = 140;
const MAX_DETAIL_VALUE: usize = 1_000;
const MAX_ADDRESS: usize = 2_000;
/// The maximum number of pictures beside the first.
const MAX_IMAGES: usize = 10;
/// The maximum number of details.
const MAX_DETAILS: usize = 100;

/// Writes the feed.
pub(crate) struct ProductsWriter {
    xml: Xml,
    options: FeedOptions,
    dictionary: Dictionary,
    tree: CategoryTree,
    counts: Counts,
    remarks: Remarks,
}

impl ProductsWriter {
    pub(crate) fn begin(output: Output, options: FeedOptions) -> io::Result<Self> {
        let mut xml = Xml::begin(output)?;
        xml.open("rss", &[("version", "2.0"), ("xmlns:g", NAMESPACE)])?;
        xml.open("channel", &[])?;
        xml.leaf("title", &options.publisher)?;
        xml.leaf("link", options.site.origin())?;
        xml.leaf("description", &format!("Products of {}", options.publisher))?;
        xml.line()?;
        Ok(Self {
            xml,
            options,
            dictionary: Dictionary::default(),
            tree: CategoryTree::default(),
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
                self.tree = CategoryTree::new(reference.categories);
                Ok(())
            }
            ExportPart::Product(one) => self.product(&one.product),
            _ => Ok(()),
        }
    }

    fn product(&mut self, product: &Product) -> io::Result<()> {
        let Some(price) = product.price.filter(|price| price.minor > 0) else {
            self.remarks.add("products without a price are left out");
            return Ok(());
        };
        let images: Vec<&Media> = product
            .media
            .iter()
            .filter(|media| is_image(media))
            .collect();
        let Some((first, others)) = images.split_first() else {
            self.remarks.add("products without a picture are left out");
            return Ok(());
        };
        self.counts.products += 1;
        let xml = &mut self.xml;
        xml.open("item", &[])?;
        xml.leaf("g:id", &feed_id(product))?;
        let title = cut(&allowed(&product.name), MAX_TITLE);
        xml.leaf("g:title", &title)?;
        let description = product.description.as_deref().map(allowed);
        let description = description.filter(|text| !text.trim().is_empty());
        let description = description.map_or(title, |text| cut(text.trim(), MAX_DESCRIPTION));
        xml.leaf("g:description", &description)?;
        xml.leaf("g:link", &self.options.site.product(product))?;
        xml.leaf("g:image_link", &first.url)?;
        for other in others.iter().take(MAX_IMAGES) {
            xml.leaf("g:additional_image_link", &other.url)?;
        }
        xml.leaf("g:availability", self.options.availability.name())?;
        let price = format!("{} {}", price.amount(), price.currency);
        xml.leaf("g:price", &price)?;
        if let Some(condition) = self.options.condition {
            xml.leaf("g:condition", condition.name())?;
        }
        self.identifiers(product)?;
        self.rest(product)
    }

    fn identifiers(&mut self, product: &Product) -> io::Result<()> {
        let found = Identifiers::of(product, &self.dictionary);
        let brand = product.brand.as_deref();
        let brand = brand.filter(|brand| brand.chars().count() <= MAX_BRAND);
        if let Some(brand) = brand {
            self.xml.leaf("g:brand", brand)?;
        }
        if let Some(gtin) = found.gtins.first() {
            self.xml.leaf("g:gtin", gtin)?;
        }
        if let Some(mpn) = found.mpns.first() {
            self.xml.leaf("g:mpn", mpn)?;
        }
        if found.invalid {
            self.remarks
                .add("products have a GTIN that is not valid, which is left out");
        }
        if found.gtins.is_empty() && (found.mpns.is_empty() || brand.is_none()) {
            self.remarks
                .add("products have neither a GTIN nor a brand with an MPN");
        }
        Ok(())
    }

    fn rest(&mut self, product: &Product) -> io::Result<()> {
        let xml = &mut self.xml;
        let category = path(&self.tree, product.category);
        xml.leaf("g:product_type", &cut(&category, MAX_PRODUCT_TYPE))?;
        if Kind::of(&product.kind) == Kind::Bundle {
            xml.leaf("g:is_bundle", "yes")?;
        }
        for spec in product.specs.iter().take(MAX_DETAILS) {
            let label = self.dictionary.get(&spec.key);
            let label = label.map_or(spec.key.as_str(), |key| key.label.as_str());
            let label = match &spec.qualifier {
                Some(qualifier) => format!("{label} ({qualifier})"),
                None => label.to_owned(),
            };
            xml.open("g:product_detail", &[])?;
            xml.leaf("g:attribute_name", &cut(&label, MAX_DETAIL_NAME))?;
            let value = spec.value.display();
            xml.leaf("g:attribute_value", &cut(&value, MAX_DETAIL_VALUE))?;
            xml.close("g:product_detail")?;
        }
        xml.close("item")?;
        xml.line()
    }

    pub(crate) fn finish(mut self, report: &mut ExportReport) -> io::Result<()> {
        self.xml.close("channel")?;
        report.bytes = self.xml.end("rss")?;
        report.counts = self.counts;
        report.remarks = self.remarks;
        self.xml.finish()
    }
}

fn is_image(media: &Media) -> bool {
    media.kind == MediaKind::Image && media.url.chars().count() <= MAX_ADDRESS
}
