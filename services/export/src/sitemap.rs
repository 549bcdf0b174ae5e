//! Sitemaps as <https://www.sitemaps.org/protocol.html> describes them: the addresses of the pages that search engines
//! should know.
//!
//! | file | contents |
//! |---|---|
//! | `sitemap.xml` | the index: the addresses of the other files |
//! | `sitemap-pages.xml` | the home page, and the categories that have products, also further down |
//! | `sitemap-products-1.xml`, `-2`, … | the products, and when each was changed |

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use vitrine_domain::export::ExportPart;
use vitrine_model::category::CategoryTree;
use vitrine_model::id::CategoryId;
use vitrine_model::product::Product;

use crate::ExportReport;
use crate::output::Output;
use crate::record::Counts;
use crate::site::Site;
use crate::xml::Xml;

const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
/// The maximum number of addresses in a file.
const MAX_ADDRESSES: usize = 50_000;
/// The maximum size of a file in bytes: 50 MB, less what the last address and the end of the file may need.
const MAX_BYTES: u64 = 50 * 1024 * 1024 - 16 * 1024;

/// Writes the files of a directory.
pub(crate) struct SitemapWriter {
    directory: PathBuf,
    site: Site,
    max_addresses: usize,
    tree: CategoryTree,
    /// The categories that have products, without those above them.
    categories: BTreeSet<CategoryId>,
    /// The file of products that is being written.
    products: Option<Addresses>,
    /// The names of the complete files.
    complete: Vec<String>,
    counts: Counts,
    bytes: u64,
}

/// A file of addresses.
struct Addresses {
    name: String,
    xml: Xml,
    count: usize,
}

impl SitemapWriter {
    /// Begins the files of a directory, which is created if it is missing.
    pub(crate) fn create(directory: &Path, site: Site) -> io::Result<Self> {
        Self::with_max_addresses(directory, site, MAX_ADDRESSES)
    }

    fn with_max_addresses(directory: &Path, site: Site, max_addresses: usize) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            site,
            max_addresses,
            tree: CategoryTree::default(),
            categories: BTreeSet::new(),
            products: None,
            complete: Vec::new(),
            counts: Counts::default(),
            bytes: 0,
        })
    }

    pub(crate) const fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn part(&mut self, part: ExportPart) -> io::Result<()> {
        match part {
            ExportPart::Reference(reference) => {
                self.tree = CategoryTree::new(reference.categories);
                Ok(())
            }
            ExportPart::Product(one) => self.product(&one.product),
            _ => Ok(()),
        }
    }

    fn product(&mut self, product: &Product) -> io::Result<()> {
        let address = self.site.product(product);
        self.add_product(&address, &product.updated_at.to_string(), product.category)
    }

    fn add_product(
        &mut self,
        address: &str,
        changed: &str,
        category: CategoryId,
    ) -> io::Result<()> {
        let is_full =
            |file: &Addresses| file.count == self.max_addresses || file.xml.bytes() >= MAX_BYTES;
        if let Some(full) = self.products.take_if(|file| is_full(file)) {
            self.complete(full)?;
        }
        if self.products.is_none() {
            let name = format!("sitemap-products-{}.xml", self.complete.len() + 1);
            self.products = Some(self.begin(name)?);
        }
        if let Some(file) = &mut self.products {
            file.add(address, Some(changed))?;
            self.categories.insert(category);
            self.counts.products += 1;
        }
        Ok(())
    }

    fn begin(&self, name: String) -> io::Result<Addresses> {
        let mut xml = Xml::begin(Output::create(&self.directory.join(&name))?)?;
        xml.open("urlset", &[("xmlns", NAMESPACE)])?;
        xml.line()?;
        let count = 0;
        Ok(Addresses { name, xml, count })
    }

    fn complete(&mut self, mut file: Addresses) -> io::Result<()> {
        self.bytes += file.xml.end("urlset")?;
        file.xml.finish()?;
        self.complete.push(file.name);
        Ok(())
    }

    /// Writes the home page and the categories.
    fn pages(&mut self) -> io::Result<()> {
        let mut file = self.begin("sitemap-pages.xml".to_owned())?;
        file.add(&format!("{}/", self.site.origin()), None)?;
        let with_products = self.categories.iter().flat_map(|id| {
            let above = self.tree.ancestors(*id).into_iter();
            above.chain(self.tree.get(*id)).map(|category| category.id)
        });
        let with_products: BTreeSet<CategoryId> = with_products.collect();
        for category in self.tree.all() {
            if with_products.contains(&category.id) {
                file.add(&self.site.category(category), None)?;
                self.counts.categories += 1;
            }
        }
        self.complete(file)
    }

    /// Completes the files. The index is the last: until then, search engines read the earlier one.
    pub(crate) fn finish(mut self, report: &mut ExportReport) -> io::Result<()> {
        if let Some(last) = self.products.take() {
            self.complete(last)?;
        }
        self.pages()?;
        let mut index = Xml::begin(Output::create(&self.directory.join("sitemap.xml"))?)?;
        index.open("sitemapindex", &[("xmlns", NAMESPACE)])?;
        index.line()?;
        for name in &self.complete {
            index.open("sitemap", &[])?;
            index.leaf("loc", &format!("{}/{name}", self.site.origin()))?;
            index.close("sitemap")?;
            index.line()?;
        }
        report.bytes = self.bytes + index.end("sitemapindex")?;
        report.counts = self.counts;
        index.finish()
    }
}

impl Addresses {
    fn add(&mut self, address: &str, changed: Option<&str>) -> io::Result<()> {
        self.xml.open("url", &[])?;
        self.xml.leaf("loc", address)?;
        if let Some(changed) = changed {
            self.xml.leaf("lastmod", changed)?;
        }
        self.xml.close("url")?;
        self.count += 1;
        self.xml.line()
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::category::Category;

    use super::*;

    #[test]
    fn a_file_has_at_most_so_many_addresses() {
        let directory = tempfile::tempdir().unwrap();
        let site = Site::new("https://a.example", "/p/{slug}", "/c/{slug}").unwrap();
        let mut writer = SitemapWriter::with_max_addresses(directory.path(), site, 2).unwrap();
        let category = Category::new(CategoryId::random(), "lamps", "Lamps", None);
        let id = category.id;
        writer.tree = CategoryTree::new(vec![category]);
        for number in 0..5 {
            writer
                .add_product(&format!("https://a.example/p/{number}"), "2026-01-31", id)
                .unwrap();
        }
        let mut report = ExportReport::default();
        writer.finish(&mut report).unwrap();
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        let counts = [1, 2, 3].map(|file| {
            let products = read(&format!("sitemap-products-{file}.xml"));
            products.matches("<loc>").count()
        });
        assert_eq!(counts, [2, 2, 1]);
        let index = read("sitemap.xml");
        assert_eq!(
            index
                .matches("<loc>https://a.example/sitemap-products-")
                .count(),
            3
        );
        assert!(
            index.contains("<loc>https://a.example/sitemap-pages.xml</loc>"),
            "{index}"
        );
    }
}
