//! Tables for people: a directory of CSV files that spreadsheets open.
//!
//! A text that begins with `=`, `+`, `-`, `@`, a tab or a line break gets an apostrophe in front, because spreadsheets
//! would compute it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use csv::Writer;
use vitrine_domain::export::{ExportPart, ReferenceData, StoredReview};
use vitrine_model::category::CategoryTree;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, GlobalId, SupplierId};
use vitrine_model::product::{MediaKind, Product};
use vitrine_model::spec::{self, Dictionary, KeyUsage, Spec, SpecValue};
use vitrine_model::supplier::Supplier;

use crate::ExportReport;
use crate::output::Output;
use crate::record::Counts;

const PRODUCTS: [&str; 18] = [
    "id",
    "sku",
    "slug",
    "name",
    "kind",
    "status",
    "category",
    "brand",
    "price",
    "currency",
    "supplier",
    "country",
    "rating",
    "reviews",
    "images",
    "description",
    "created_at",
    "updated_at",
];
const SPECS: [&str; 8] = [
    "product",
    "sku",
    "key",
    "label",
    "value",
    "unit",
    "qualifier",
    "shown",
];
const REVIEWS: [&str; 19] = [
    "id",
    "product",
    "sku",
    "rating",
    "title",
    "body",
    "author",
    "author_id",
    "status",
    "verified",
    "recommended",
    "attributes",
    "images",
    "language",
    "helpful",
    "unhelpful",
    "created_at",
    "edited_at",
    "reply",
];
const CATEGORIES: [&str; 3] = ["id", "slug", "path"];
const SUPPLIERS: [&str; 5] = ["id", "name", "country", "source", "source_id"];
const SPEC_KEYS: [&str; 7] = [
    "key",
    "label",
    "type",
    "dimension",
    "base_unit",
    "usage",
    "aliases",
];
const UNITS: [&str; 5] = ["symbol", "dimension", "factor", "offset", "spellings"];

/// Writes CSV files.
#[derive(Debug)]
pub(crate) struct TablesWriter {
    products: Writer<Output>,
    specs: Writer<Output>,
    reviews: Option<Writer<Output>>,
    categories: Writer<Output>,
    suppliers: Writer<Output>,
    spec_keys: Writer<Output>,
    units: Writer<Output>,
    /// What was sent last.
    reference: Option<ReferenceData>,
    tree: CategoryTree,
    dictionary: Dictionary,
    known_suppliers: BTreeMap<SupplierId, Supplier>,
    /// The stock-keeping unit of the product whose reviews come next.
    sku: String,
    counts: Counts,
}

impl TablesWriter {
    /// Begins the files of a directory, which is created if it is missing.
    pub(crate) fn create(directory: &Path, with_reviews: bool) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let table = |name: &str, columns: &[&str]| {
            let mut table = Writer::from_writer(Output::create(&directory.join(name))?);
            table.write_record(columns)?;
            io::Result::Ok(table)
        };
        let reviews = with_reviews.then(|| table("reviews.csv", &REVIEWS));
        Ok(Self {
            products: table("products.csv", &PRODUCTS)?,
            specs: table("specs.csv", &SPECS)?,
            reviews: reviews.transpose()?,
            categories: table("categories.csv", &CATEGORIES)?,
            suppliers: table("suppliers.csv", &SUPPLIERS)?,
            spec_keys: table("spec_keys.csv", &SPEC_KEYS)?,
            units: table("units.csv", &UNITS)?,
            reference: None,
            tree: CategoryTree::default(),
            dictionary: Dictionary::default(),
            known_suppliers: BTreeMap::new(),
            sku: String::new(),
            counts: Counts::default(),
        })
    }

    pub(crate) const fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn part(&mut self, part: ExportPart) -> io::Result<()> {
        match part {
            ExportPart::Reference(reference) => {
                self.tree = CategoryTree::new(reference.categories.clone());
                self.dictionary = Dictionary::new(reference.spec_keys.clone());
                self.reference = Some(*reference);
                Ok(())
            }
            ExportPart::Suppliers(suppliers) => {
                let suppliers = suppliers.into_iter();
                self.known_suppliers
                    .extend(suppliers.map(|supplier| (supplier.id, supplier)));
                Ok(())
            }
            ExportPart::Product(one) => self.product(&one.product),
            ExportPart::Reviews(reviews) => reviews.iter().try_for_each(|one| self.review(one)),
            ExportPart::Erasures(_) | ExportPart::IncompleteBundle(_) => Ok(()),
        }
    }

    fn product(&mut self, product: &Product) -> io::Result<()> {
        self.counts.products += 1;
        self.sku.clone_from(&product.sku);
        let stats = &product.computed.stats;
        let supplier = product.supplier.as_ref();
        let images = product.media.iter();
        let images = images.filter(|media| media.kind == MediaKind::Image);
        let images: Vec<&str> = images.map(|media| media.url.as_str()).collect();
        let price = product.price;
        let average = stats.average().map(|average| format!("{average:.2}"));
        self.products.write_record([
            GlobalId::Product(product.id).encode(),
            cell(&product.sku),
            product.slug.clone(),
            cell(&product.name),
            product.kind.clone(),
            product.status.name().to_owned(),
            cell(&path(&self.tree, product.category)),
            cell(product.brand.as_deref().unwrap_or_default()),
            price.map_or_else(String::new, |price| price.amount().to_string()),
            price.map_or_else(String::new, |price| price.currency.code().to_owned()),
            cell(supplier.map_or("", |supplier| supplier.name.as_str())),
            supplier
                .and_then(|supplier| supplier.country.clone())
                .unwrap_or_default(),
            average.unwrap_or_default(),
            stats.count().to_string(),
            images.join(" "),
            cell(product.description.as_deref().unwrap_or_default()),
            product.created_at.to_string(),
            product.updated_at.to_string(),
        ])?;
        product
            .specs
            .iter()
            .try_for_each(|spec| self.spec(product, spec))
    }

    fn spec(&mut self, product: &Product, spec: &Spec) -> io::Result<()> {
        let label = self.dictionary.get(&spec.key);
        let label = label.map_or(spec.key.as_str(), |key| key.label.as_str());
        let (value, unit) = match &spec.value {
            SpecValue::Text(text) => (cell(text), ""),
            SpecValue::Number(number) => (number.to_string(), ""),
            SpecValue::Quantity { value, unit } => (value.to_string(), unit.as_str()),
            SpecValue::Boolean(_) => (spec.value.display(), ""),
            SpecValue::Date(at) => (at.to_string(), ""),
        };
        self.specs.write_record([
            GlobalId::Product(product.id).encode(),
            cell(&product.sku),
            spec.key.clone(),
            cell(label),
            value,
            cell(unit),
            cell(spec.qualifier.as_deref().unwrap_or_default()),
            cell(&spec.value.display()),
        ])?;
        Ok(())
    }

    fn review(&mut self, stored: &StoredReview) -> io::Result<()> {
        let Some(table) = &mut self.reviews else {
            return Ok(());
        };
        self.counts.reviews += 1;
        let review = &stored.review;
        let author = review.author.as_ref();
        let time = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.to_string());
        let attributes = review.attributes.iter();
        let attributes = attributes
            .map(|one| format!("{}: {}", spec::label(&one.key), one.value.display()))
            .collect::<Vec<_>>();
        let images = review.media.iter();
        let images = images.filter(|media| media.kind == MediaKind::Image);
        let images: Vec<&str> = images.map(|media| media.url.as_str()).collect();
        let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        table.write_record([
            GlobalId::Review(review.product_id, review.id).encode(),
            GlobalId::Product(review.product_id).encode(),
            cell(&self.sku),
            review.rating.get().to_string(),
            cell(&review.title),
            cell(&review.body),
            cell(author.map_or("", |author| author.name.as_str())),
            cell(author.map_or("", |author| author.id.0.as_str())),
            review.status.name().to_owned(),
            yes(review.verified),
            review.recommended.map_or_else(String::new, yes),
            cell(&attributes.join("; ")),
            cell(&images.join(" ")),
            cell(review.language.as_deref().unwrap_or_default()),
            review.helpful.to_string(),
            review.unhelpful.to_string(),
            time(review.created_at),
            time(review.edited_at),
            cell(
                review
                    .reply
                    .as_ref()
                    .map_or("", |reply| reply.text.as_str()),
            ),
        ])?;
        Ok(())
    }

    /// Writes what products refer to, as it was sent last, and completes the files.
    pub(crate) fn finish(mut self, report: &mut ExportReport) -> io::Result<()> {
        if let Some(reference) = self.reference.take() {
            self.write_reference(&reference)?;
        }
        for supplier in self.known_suppliers.values() {
            self.counts.suppliers += 1;
            let source = supplier.origin.as_ref();
            self.suppliers.write_record([
                GlobalId::Supplier(supplier.id).encode(),
                cell(&supplier.name),
                supplier.country.clone().unwrap_or_default(),
                cell(source.map_or("", |source| source.system.as_str())),
                cell(source.map_or("", |source| source.external_id.as_str())),
            ])?;
        }
        report.counts = self.counts;
        let all = [
            self.categories,
            self.suppliers,
            self.spec_keys,
            self.units,
            self.specs,
            self.products,
        ];
        for table in all.into_iter().chain(self.reviews) {
            let output = table
                .into_inner()
                .map_err(csv::IntoInnerError::into_error)?;
            report.bytes += output.bytes();
            output.finish()?;
        }
        Ok(())
    }

    fn write_reference(&mut self, reference: &ReferenceData) -> io::Result<()> {
        for category in self.tree.all() {
            self.counts.categories += 1;
            self.categories.write_record([
                GlobalId::Category(category.id).encode(),
                category.slug.clone(),
                cell(&path(&self.tree, category.id)),
            ])?;
        }
        for key in self.dictionary.keys() {
            self.counts.spec_keys += 1;
            let usage = match key.usage {
                KeyUsage::Unused => "unused",
                KeyUsage::Used => "used",
                KeyUsage::Published => "published",
            };
            self.spec_keys.write_record([
                key.key.as_str(),
                &cell(&key.label),
                key.value_type.name(),
                key.dimension.as_deref().unwrap_or_default(),
                &cell(key.base_unit.as_deref().unwrap_or_default()),
                usage,
                &key.aliases.join(" "),
            ])?;
        }
        for unit in &reference.units {
            self.counts.units += 1;
            self.units.write_record([
                cell(&unit.id),
                unit.dimension.clone(),
                unit.factor.to_string(),
                unit.offset.to_string(),
                cell(&unit.aliases.join(", ")),
            ])?;
        }
        Ok(())
    }
}

/// The names of a category and those above it: `Audio > Headphones`.
pub(crate) fn path(tree: &CategoryTree, category: CategoryId) -> String {
    let above = tree.ancestors(category);
    let names = above.into_iter().chain(tree.get(category));
    let names: Vec<&str> = names.map(|category| category.name.as_str()).collect();
    names.join(" > ")
}

/// A text that no spreadsheet computes.
fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn texts_are_not_computed() {
        assert_eq!(cell("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        assert_eq!(cell("-5 to 20"), "'-5 to 20");
        assert_eq!(cell("5 = five"), "5 = five");
        assert_eq!(cell(""), "");
    }
}
