//! An author who was erased does not come back with an earlier export.

use serde_json::json;
use vitrine_domain::Catalog;
use vitrine_harness::{App, product, test};

use super::{digest, emptied, export, file, read_back, to_file};

/// How much is stored of Ada.
async fn stored(app: &App, catalog: &Catalog) -> usize {
    let query = r#"{ exportAuthor(authorId: "ada") { lines } }"#;
    let answer = app.query(query).as_admin().through(catalog).await;
    answer.at("/exportAuthor/lines").as_array().unwrap().len()
}

async fn written(app: &App, author: &str) {
    let found = app.query(r#"{ product(slug: "lamp") { id } }"#).await;
    let input = json!({ "productId": found.text("/product/id"), "rating": 4, "body": "Bright." });
    app.mutate_by(author, "submitReview", input).await.done();
}

#[test]
fn an_erased_author_stays_erased_after_a_restore() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        for author in ["ada", "ben"] {
            written(app, author).await;
        }
        let directory = tempfile::tempdir().unwrap();
        let (earlier, later) = (file(&directory, "earlier"), file(&directory, "later"));
        export(&app.catalog, &to_file(&earlier)).await;
        let erase = json!({ "authorId": "ada", "policy": "REMOVE" });
        app.mutate("eraseAuthor", erase).await.done();
        export(&app.catalog, &to_file(&later)).await;
        let expected = digest(&app.catalog).await;

        let catalog = emptied(app).await;
        read_back(&catalog, &earlier).await;
        assert_eq!(
            stored(app, &catalog).await,
            1,
            "it was made before the erasure"
        );
        let (read, _) = read_back(&catalog, &later).await;
        assert_eq!(read.of("erasures").created, 1);
        assert_eq!(stored(app, &catalog).await, 0);
        // The receipt is there again, too.
        assert_eq!(digest(&catalog).await, expected);
        let (again, _) = read_back(&catalog, &later).await;
        assert_eq!(again.of("erasures").unchanged, 1);
    });
}

#[test]
fn what_an_author_wrote_after_the_erasure_is_restored() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        written(app, "ada").await;
        let erase = json!({ "authorId": "ada", "policy": "REMOVE" });
        app.mutate("eraseAuthor", erase).await.done();
        written(app, "ada").await;
        let directory = tempfile::tempdir().unwrap();
        let whole = file(&directory, "whole");
        export(&app.catalog, &to_file(&whole)).await;
        let expected = digest(&app.catalog).await;
        let catalog = emptied(app).await;
        let (_, rejected) = read_back(&catalog, &whole).await;
        assert_eq!((rejected.as_str(), stored(app, &catalog).await), ("", 1));
        assert_eq!(digest(&catalog).await, expected);
    });
}
