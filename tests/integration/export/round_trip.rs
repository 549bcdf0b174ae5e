//! What is exported and imported is equal.

use std::fs;

use serde_json::Value;
use vitrine_domain::products::Visibility;
use vitrine_harness::{App, product, test};

use super::{digest, emptied, export, file, read_back, shop, to_file};

/// What a shopper and a moderator see of the shop.
async fn seen(app: &App, catalog: &vitrine_domain::Catalog) -> Value {
    let query = r"{
        products(sort: [{ key: NAME }], filter: { status: [ACTIVE, DRAFT, ARCHIVED] }) { nodes {
            id slug sku name kind status description brand revision createdAt updatedAt
            price { amount currency } media { url alt } category { id name ancestors { slug } }
            supplier { supplierId name country } specs { key label text qualifier }
            ratingStats { count average histogram { rating count } recommendedShare }
            topReviews(first: 10) { reviewId title rating helpfulCount }
            reviews(first: 10) { nodes { id rating title body status helpfulCount unhelpfulCount isVerified: verified media { url } attributes { name label text }
                author { name } reply { text } createdAt editedAt revision reports { by reason note }
                moderation { by reason note } versions { title rating } } }
        } }
        moderationQueue { nodes { id status queueReason queuedSince reports { by reason note } } }
        specKeys(first: 50) { nodes { key label type aliases baseUnit } }
        suppliers(first: 10) { nodes { id name country } }
        categories { id slug name }
    }";
    let answer = app.query(query).as_admin().through(catalog).await;
    answer.data().clone()
}

#[test]
fn an_export_is_read_into_an_empty_database_that_is_then_equal() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        let report = export(&app.catalog, &to_file(&written)).await;
        let (before, page) = (digest(&app.catalog).await, seen(app, &app.catalog).await);
        assert_eq!(report.digest.as_ref(), Some(&before));

        let catalog = emptied(app).await;
        assert_ne!(digest(&catalog).await, before);
        let (read, rejected) = read_back(&catalog, &written).await;
        assert_eq!(rejected, "");
        assert!(read.is_complete(), "{read}");
        assert_eq!(read.digest, before);
        assert_eq!(
            (read.of("products").created, read.of("reviews").created),
            (9, 7)
        );
        assert_eq!(digest(&catalog).await, before);
        assert_eq!(seen(app, &catalog).await, page);

        // The same bytes, too.
        let again = file(&directory, "again.jsonl");
        export(&catalog, &to_file(&again)).await;
        assert_eq!(
            fs::read_to_string(&again).unwrap(),
            fs::read_to_string(&written).unwrap()
        );
    });
}

#[test]
fn every_part_of_the_shop_is_in_the_export() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        let report = export(&app.catalog, &to_file(&written)).await;
        insta::assert_snapshot!(
            report.counts.each().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join("\n"),
            @r"
        units 1
        spec_keys 8
        categories 3
        dimensions 1
        suppliers 2
        products 9
        reviews 7
        votes 2
        reports 1
        versions 1
        decisions 1
        "
        );
        let text = fs::read_to_string(&written).unwrap();
        for computed in ["top_reviews", "histogram", "tokens", "keywords"] {
            assert!(!text.contains(computed), "{computed} is computed");
        }
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(value.as_object().unwrap().len(), 1, "{line}");
        }
    });
}

#[test]
fn an_import_that_is_repeated_changes_nothing() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        export(&app.catalog, &to_file(&written)).await;
        let before = digest(&app.catalog).await;
        let (read, rejected) = read_back(&app.catalog, &written).await;
        assert_eq!((rejected.as_str(), read.of("products").unchanged), ("", 9));
        assert_eq!(
            (read.of("reviews").unchanged, read.of("reviews").created),
            (7, 0)
        );
        assert_eq!(digest(&app.catalog).await, before);
    });
}

#[test]
fn what_a_database_has_with_other_content_stays() {
    test(async |app| {
        app.has([product("Lamp").price("1"), product("Desk")]).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        export(&app.catalog, &to_file(&written)).await;
        let text = fs::read_to_string(&written).unwrap();
        fs::write(
            &written,
            text.replace("\"Lamp\"", "\"Lump\"")
                .replace("feed:Desk", "feed:Lamp"),
        )
        .unwrap();
        let (read, rejected) = read_back(&app.catalog, &written).await;
        assert_eq!((read.of("products").rejected, read.rejected()), (2, 2));
        assert!(
            !read.is_complete() && rejected.contains("with other content"),
            "{rejected}"
        );
        let names = app
            .query("{ products(sort: [{ key: NAME }]) { nodes { name } } }")
            .await;
        assert_eq!(names.names("/products"), ["Desk", "Lamp"]);
        let catalog = emptied(app).await;
        let (read, rejected) = read_back(&catalog, &written).await;
        assert_eq!(
            (read.of("products").created, read.of("products").rejected),
            (1, 1),
            "{rejected}"
        );
        assert!(
            rejected.contains("another product has the sku"),
            "{rejected}"
        );
    });
}

#[test]
fn lines_that_contradict_themselves_are_rejected() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        export(&app.catalog, &to_file(&written)).await;
        let text = fs::read_to_string(&written).unwrap();
        let wrong = text
            .replace(
                "\"helpful\":1,\"unhelpful\":1,",
                "\"helpful\":9,\"unhelpful\":1,",
            )
            .replace("\"text\":\"=red\"", "\"number\":7.0")
            .replace("{\"category\":{", "{\"kategory\":{");
        fs::write(&written, wrong).unwrap();
        let catalog = emptied(app).await;
        let (read, rejected) = read_back(&catalog, &written).await;
        for reason in [
            "unknown variant",
            "kategory",
            "there is no such category",
            "holds values of type text",
        ] {
            assert!(rejected.contains(reason), "{reason}: {rejected}");
        }
        assert!(!read.is_complete());
        assert_eq!(read.of("products").created, 0);
    });
}

#[test]
fn a_draft_is_hidden_again() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        export(&app.catalog, &to_file(&written)).await;
        let catalog = emptied(app).await;
        read_back(&catalog, &written).await;
        let answer = app
            .query(r#"{ secret: product(slug: "secret") { id } key: specKey(key: "hidden_key") { key } }"#)
            .through(&catalog)
            .await;
        assert!(
            answer.at("/secret").is_null() && answer.at("/key").is_null(),
            "{}",
            answer.pretty()
        );
        assert_eq!(
            catalog
                .reference_seen_with(Visibility::Public)
                .dictionary
                .get("hidden_key"),
            None
        );
    });
}
