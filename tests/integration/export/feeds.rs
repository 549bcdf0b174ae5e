//! Feeds for Google, compared with its rules.

use std::fs;
use std::path::Path;

use vitrine_export::google::{Availability, Condition, FeedOptions};
use vitrine_export::site::Site;
use vitrine_export::{ExportReport, Format};
use vitrine_harness::xml::{Element, product_feed_faults, review_feed_faults};
use vitrine_harness::{App, product, review, test};

use super::{export, file, shop, to_file};

fn site() -> Site {
    let origin = "https://shop.example";
    Site::new(origin, Site::PRODUCT_PATH, Site::CATEGORY_PATH).unwrap()
}

fn options() -> FeedOptions {
    FeedOptions {
        site: site(),
        publisher: "Fish & \"Chips\"".to_owned(),
        availability: Availability::InStock,
        condition: Some(Condition::New),
    }
}

async fn feed(app: &App, format: Format) -> (Element, ExportReport) {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "feed.xml");
    let mut options = to_file(Path::new(&path));
    options.format = format;
    let report = export(&app.catalog, &options).await;
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(report.bytes, text.len() as u64);
    (Element::read(&text), report)
}

#[test]
fn a_feed_of_reviews_follows_the_rules() {
    test(async |app| {
        shop(app).await;
        let (feed, report) = feed(app, Format::GoogleReviews(options())).await;
        assert_eq!(review_feed_faults(&feed), [""; 0]);
        assert_eq!(feed.text_at("publisher/name"), "Fish & \"Chips\"");
        let reviews: Vec<&Element> = feed.at("reviews").unwrap().children.iter().collect();
        assert_eq!((reviews.len() as u64, report.counts.reviews), (4, 4));
        let imported = reviews
            .iter()
            .find(|one| one.text_at("reviewer/name") == "Ida");
        let imported = imported.unwrap();
        assert_eq!(imported.text_at("title"), "<Good> & \"cheap\"");
        assert_eq!(imported.text_at("content"), "It shines.");
        assert_eq!(imported.text_at("ratings/overall"), "5");
        let of = imported.at("products/product").unwrap();
        assert_eq!(of.text_at("product_ids/gtins/gtin"), "4006381333931");
        assert_eq!(of.text_at("product_ids/mpns/mpn"), "L-1");
        assert_eq!(of.text_at("product_ids/skus/sku"), "feed:lamp");
        assert_eq!(of.text_at("product_url"), "https://shop.example/p/lamp");
        assert_eq!(
            imported.text_at("review_url"),
            "https://shop.example/p/lamp#reviews"
        );
        // Of a book, its ISBN.
        let book = reviews
            .iter()
            .find(|one| one.text_at("content") == "Long.")
            .unwrap();
        let isbn = "products/product/product_ids/gtins/gtin";
        assert_eq!(book.text_at(isbn), "9783161484100");
        let name = book.at("reviewer/name").unwrap();
        assert_eq!(
            (name.text.as_str(), name.attribute("is_anonymous")),
            ("Anonymous", Some("true"))
        );
        assert_eq!(report.remarks.0["reviews without a date are left out"], 1);
    });
}

#[test]
fn a_feed_has_no_reviews_that_shoppers_do_not_see_or_google_refuses() {
    test(async |app| {
        let draft = vitrine_model::product::ProductStatus::Draft;
        app.has([product("Lamp"), product("Secret").status(draft)])
            .await;
        app.has_reviews([
            review("Lamp", 1, 1).body("Bad."),
            review("Lamp", 2, 5).body("See https://e.org"),
            review("Lamp", 3, 5).body(" \u{1} "),
            review("Secret", 4, 5).body("Hidden."),
        ])
        .await;
        let (feed, report) = feed(app, Format::GoogleReviews(options())).await;
        assert_eq!(review_feed_faults(&feed), [""; 0]);
        let reviews = &feed.at("reviews").unwrap().children;
        let texts: Vec<&str> = reviews.iter().map(|one| one.text_at("content")).collect();
        assert_eq!(texts, ["Bad."]);
        assert_eq!(report.remarks.0.len(), 3, "{:?}", report.remarks);
    });
}

#[test]
fn a_feed_of_products_follows_the_rules() {
    test(async |app| {
        let long = "word ".repeat(60);
        app.has([
            product(long.trim())
                .source("feed", "long")
                .category(["Home & Garden", "Lamps"])
                .price("39.90")
                .description(&"text \u{2} ".repeat(1_000))
                .brand("Karst")
                .image("https://media.example.com/1.jpg", "a")
                .image("https://media.example.com/2.jpg", "b")
                .text("gtin", "4006381333931")
                .quantity("height", 16.9, "cm"),
            product("Free")
                .price("0")
                .image("https://media.example.com/1.jpg", "a"),
            product("Plain").price("1"),
            product("Größe 東京")
                .price("2")
                .image("https://media.example.com/3.jpg", "c")
                .text("gtin", "123"),
        ])
        .await;
        let (feed, report) = feed(app, Format::GoogleProducts(options())).await;
        assert_eq!(product_feed_faults(&feed), [""; 0]);
        assert_eq!(report.counts.products, 2);
        let items: Vec<&Element> = feed.at("channel").unwrap().all("item").collect();
        let lamp = items
            .iter()
            .find(|item| item.text_at("g:price") == "39.90 EUR")
            .unwrap();
        assert_eq!(lamp.text_at("g:product_type"), "Home & Garden > Lamps");
        assert_eq!(lamp.text_at("g:condition"), "new");
        assert_eq!(lamp.all("g:additional_image_link").count(), 1);
        let details: Vec<_> = lamp
            .all("g:product_detail")
            .map(|one| one.text_at("g:attribute_value"))
            .collect();
        assert_eq!(details, ["4006381333931", "16.9 cm"]);
        let remarks: Vec<&str> = report.remarks.0.keys().copied().collect();
        insta::assert_snapshot!(remarks.join("\n"), @r"
        products have a GTIN that is not valid, which is left out
        products have neither a GTIN nor a brand with an MPN
        products without a picture are left out
        products without a price are left out
        ");
    });
}

#[test]
fn the_rules_find_faults() {
    let review = "<review><content> </content><review_id>1</review_id></review>";
    let feed = format!("<feed><version>2.3</version><reviews>{review}{review}</reviews></feed>");
    let faults = review_feed_faults(&Element::read(&feed));
    for fault in [
        "the version is 2.4",
        "1: review_id is not at its place in review",
        "ids of reviews are unique",
        "1: content is missing or empty",
    ] {
        assert!(
            faults.iter().any(|found| found == fault),
            "{fault}: {faults:#?}"
        );
    }
    let feed = "<rss version=\"2.0\"><channel><item><g:id>1</g:id><g:price>0 EUR</g:price></item></channel></rss>";
    let faults = product_feed_faults(&Element::read(feed));
    for fault in [
        "the namespace",
        "1: a price",
        "1: g:link is missing or empty",
    ] {
        assert!(
            faults.iter().any(|found| found == fault),
            "{fault}: {faults:#?}"
        );
    }
}
