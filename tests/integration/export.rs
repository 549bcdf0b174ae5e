//! Exports: the catalogue out and back in, as tables, as feeds, and as sitemaps.

mod command;
mod edited;
mod erased;
mod feeds;
mod filters;
mod interrupted;
mod meanwhile;
mod memory;
mod round_trip;
mod sitemap;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use mongodb::bson::{Document, doc};
use serde_json::json;
use vitrine_domain::Catalog;
use vitrine_domain::import::ImportMode;
use vitrine_export::import::{ImportOptions, import};
use vitrine_export::output::Target;
use vitrine_export::{ExportError, ExportOptions, ExportReport, Format, ImportReport};
use vitrine_harness::{App, product, review, some_of};
use vitrine_model::filter::ProductFilter;
use vitrine_model::import::LineOutcome;
use vitrine_model::product::{Kind, ProductStatus};
use vitrine_model::spec::SpecValue;

use crate::product::sample;

/// An export of everything to a file.
fn to_file(path: &Path) -> ExportOptions {
    ExportOptions {
        target: Target::File(path.to_owned()),
        format: Format::Lines,
        filter: ProductFilter::default(),
        filter_text: None,
        reviews: true,
        restart: false,
    }
}

async fn try_export(
    catalog: &Catalog,
    options: &ExportOptions,
) -> Result<ExportReport, ExportError> {
    vitrine_export::export(catalog, options, |_| {}, |_| {}).await
}

async fn export(catalog: &Catalog, options: &ExportOptions) -> ExportReport {
    try_export(catalog, options).await.unwrap()
}

/// The digest of a database.
async fn digest(catalog: &Catalog) -> String {
    let options = ExportOptions {
        target: Target::Nowhere,
        ..to_file(Path::new(""))
    };
    export(catalog, &options).await.digest.unwrap()
}

/// Imports an export; returns the report, and the rejects file.
async fn read_back(catalog: &Catalog, file: &Path) -> (ImportReport, String) {
    let rejects = file.with_extension("rejects.jsonl");
    let options = ImportOptions {
        files: vec![file.to_owned()],
        rejects: Some(rejects.clone()),
    };
    let report = import(catalog, &options, |_| {}).await.unwrap();
    (report, fs::read_to_string(rejects).unwrap_or_default())
}

/// Removes everything from the database of the test, and opens it as another process would.
pub(crate) async fn emptied(app: &App) -> Catalog {
    for name in app.direct().list_collection_names().await.unwrap() {
        let collection = app.direct().collection::<Document>(&name);
        collection.delete_many(doc! {}).await.unwrap();
    }
    app.other_process().await
}

/// A product of each kind, drafts and archived ones, reviews of all sorts with what happened to
/// them, and reference data that only admins define.
async fn shop(app: &App) {
    definitions(app).await;
    let kind = |kind: &Kind<'_>| {
        let product = product(kind.name()).price("10.50").details(sample(*kind)?);
        Some(product.category(["Media", "New"]).brand("Ärger & Söhne"))
    };
    app.has(Kind::TYPED.iter().filter_map(kind)).await;
    app.has([
        product("set").item("book", 2).item("movie", 1),
        product("lamp")
            .kind("lamp")
            .description("Says \"hi\"\nin two lines.\u{b}")
            .supplier("North", "NO")
            .image("https://media.example.com/1.jpg", "lit")
            .price_in("12", "JPY")
            .number("watts", 8.1)
            .quantity("height", 16.9, "cm")
            .text("color", "=red")
            .text("mpn", "L-1")
            .text("gtin", "4006381333931")
            .boolean("dimmable", true)
            .date("release", "2024-02-29")
            .qualified("EU"),
        product("secret")
            .status(ProductStatus::Draft)
            .text("hidden_key", "x"),
        product("gone")
            .status(ProductStatus::Archived)
            .supplier("North", "NO"),
    ])
    .await;
    // What two feeds say of one product follows from neither the product nor one of them.
    let price = some_of("prices", "feed:secret")
        .price("3.50")
        .number("watts", 2.0);
    let (outcomes, _) = app
        .import(ImportMode::Write, vec![price.into()], Vec::new())
        .await;
    assert_eq!(outcomes, [LineOutcome::Updated]);
    reviews(app).await;
    app.run_background_work().await;
}

async fn definitions(app: &App) {
    let unit = json!({ "symbol": "wear", "dimension": "abrasion", "factor": 1 });
    app.mutate("defineUnit", unit).await.done();
    let key = json!({ "key": "color", "type": "TEXT", "aliases": ["colour"], "label": "Colour" });
    app.mutate("defineSpecKey", key).await.done();
    let dimensions = json!({ "kind": "lamp", "names": ["brightness"] });
    app.mutate("defineReviewDimensions", dimensions)
        .await
        .done();
    let supplier = json!({ "name": "South", "country": "IT" });
    app.mutate("createSupplier", supplier).await.done();
}

/// Imported and own reviews of the lamp: with votes, reports, edits, decisions, a reply, and one in
/// each status.
async fn reviews(app: &App) {
    let imported = review("lamp", 1, 5).author("Ida").helpful(3).unhelpful(1);
    app.has_reviews([
        imported
            .verified()
            .image("https://media.example.com/shining.jpg")
            .attribute(
                "hours_lit",
                SpecValue::Quantity {
                    value: 312.5,
                    unit: "h".to_owned(),
                },
            )
            .attribute("age_group", SpecValue::Text("25 to 34".to_owned()))
            .title("<Good> & \"cheap\"")
            .body("It shines.\u{1}")
            .recommends(true),
        review("lamp", 2, 1).undated(),
        review("book", 3, 4).body("Long.").dimension("plot", 5),
    ])
    .await;
    let found = app.query(r#"{ product(slug: "lamp") { id } }"#).await;
    let lamp = found.text("/product/id");
    let said = |rating: i64| json!({ "productId": lamp, "rating": rating, "body": "Said." });
    let mut ids = Vec::new();
    for (author, rating) in [("ann", 4), ("bob", 2), ("cid", 3), ("dot", 5)] {
        let written = app.mutate_by(author, "submitReview", said(rating)).await;
        ids.push(written.text("/review/id"));
    }
    let vote = |id: &str, vote: &str| json!({ "id": id, "vote": vote });
    app.mutate_by("bob", "voteReview", vote(&ids[0], "HELPFUL"))
        .await
        .done();
    app.mutate_by("cid", "voteReview", vote(&ids[0], "UNHELPFUL"))
        .await
        .done();
    let edit = json!({ "id": ids[0], "expectedRevision": 1, "rating": 5, "title": "Better" });
    app.mutate_by("ann", "editReview", edit).await.done();
    let report = json!({ "id": ids[1], "reason": "SPAM", "note": "An ad." });
    app.mutate_by("ann", "reportReview", report).await.done();
    let reply = json!({ "id": ids[1], "text": "Sorry." });
    app.mutate_by("max", "replyToReview", reply).await.done();
    let reject =
        json!({ "id": ids[2], "decision": "REJECT", "reason": "OFFENSIVE", "note": "Rude." });
    app.mutate_by("max", "moderateReview", reject).await.done();
    app.mutate_by("dot", "deleteReview", json!({ "id": ids[3] }))
        .await
        .done();
}

/// A file in a directory that lives as long as the test.
fn file(directory: &tempfile::TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}
