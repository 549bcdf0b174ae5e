//! Sitemaps, compared with the rules of sitemaps.org.

use std::fs;
use std::path::Path;

use vitrine_export::output::Target;
use vitrine_export::site::Site;
use vitrine_export::{ExportError, ExportOptions, ExportReport, Format};
use vitrine_harness::app::NOW;
use vitrine_harness::xml::Element;
use vitrine_harness::{App, product, test};
use vitrine_model::clock::Timestamp;
use vitrine_model::product::ProductStatus;

use super::{export, to_file, try_export};

fn options(directory: &Path) -> ExportOptions {
    let origin = "https://shop.example";
    let site = Site::new(origin, Site::PRODUCT_PATH, Site::CATEGORY_PATH).unwrap();
    ExportOptions {
        target: Target::Directory(directory.to_owned()),
        format: Format::Sitemap(site),
        ..to_file(Path::new(""))
    }
}

/// Exports; returns the root of each file that the index names, in its order.
async fn sitemaps(app: &App, directory: &Path) -> (Vec<Element>, ExportReport) {
    let report = export(&app.catalog, &options(directory)).await;
    let read = |name: &str| Element::read(&fs::read_to_string(directory.join(name)).unwrap());
    let index = read("sitemap.xml");
    assert_eq!(index.name, "sitemapindex");
    let files = index.children.iter().map(|file| {
        let address = file.text_at("loc");
        let name = address.strip_prefix("https://shop.example/").unwrap();
        let file = read(name);
        assert_eq!(file.name, "urlset", "{name}");
        file
    });
    (files.collect(), report)
}

fn addresses(file: &Element) -> Vec<&str> {
    file.children
        .iter()
        .map(|page| page.text_at("loc"))
        .collect()
}

#[test]
fn sitemaps_have_the_pages_that_shoppers_see() {
    test(async |app| {
        app.has([
            product("Lamp & Shade").category(["Home", "Lamps"]),
            product("Chair").category(["Home", "Chairs"]),
            product("Secret")
                .category(["Cellar"])
                .status(ProductStatus::Draft),
        ])
        .await;
        let directory = tempfile::tempdir().unwrap();
        let (files, report) = sitemaps(app, directory.path()).await;
        let [products, pages] = &files[..] else {
            panic!("{} files", files.len());
        };
        let mut of_products = addresses(products);
        of_products.sort_unstable();
        assert_eq!(
            of_products,
            [
                "https://shop.example/p/chair",
                "https://shop.example/p/lamp-shade"
            ]
        );
        let mut of_pages = addresses(pages);
        of_pages.sort_unstable();
        assert_eq!(
            of_pages,
            [
                "https://shop.example/",
                "https://shop.example/c/chairs",
                "https://shop.example/c/home",
                "https://shop.example/c/lamps"
            ]
        );
        assert_eq!((report.counts.products, report.counts.categories), (2, 3));
        for page in &products.children {
            let changed = Timestamp::parse(page.text_at("lastmod"));
            assert_eq!(changed, Timestamp::parse(NOW), "{page:?}");
        }
    });
}

#[test]
fn the_size_of_all_sitemaps_is_reported() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let directory = tempfile::tempdir().unwrap();
        let (_, report) = sitemaps(app, directory.path()).await;
        let files = fs::read_dir(directory.path()).unwrap();
        let size = |file: fs::DirEntry| file.metadata().unwrap().len();
        let bytes: u64 = files.map(|file| size(file.unwrap())).sum();
        assert_eq!(report.bytes, bytes);
    });
}

#[test]
fn an_empty_shop_has_a_sitemap_with_its_home_page() {
    test(async |app| {
        let directory = tempfile::tempdir().unwrap();
        let (files, _) = sitemaps(app, directory.path()).await;
        let pages: Vec<Vec<&str>> = files.iter().map(addresses).collect();
        assert_eq!(pages, [["https://shop.example/"]]);
    });
}

#[test]
fn sitemaps_need_a_directory() {
    test(async |app| {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(directory.path());
        options.target = Target::Standard;
        let refused = try_export(&app.catalog, &options).await.unwrap_err();
        assert!(matches!(refused, ExportError::SeveralFiles), "{refused}");
    });
}
