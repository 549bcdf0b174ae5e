//! Exports and imports that were interrupted are completed by running them again.

use std::fs;

use vitrine_export::ExportError;
use vitrine_harness::{App, product, review, test};

use super::{digest, emptied, export, file, read_back, shop, to_file, try_export};

/// More products and reviews than are read at a time.
async fn large_shop(app: &App) {
    app.has((0..600).map(|n| product(&format!("P{n}")).price("1")))
        .await;
    app.has_reviews((0..1_300).map(|n| review("P7", n, 1 + n % 5)))
        .await;
    app.has_reviews((0..600).map(|n| review(&format!("P{n}"), 5_000 + n, 3)))
        .await;
}

#[test]
fn an_export_continues_where_it_was_cut_off() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let whole = file(&directory, "whole.jsonl");
        let report = export(&app.catalog, &to_file(&whole)).await;
        let bytes = fs::read(&whole).unwrap();
        let (cut, part) = (
            file(&directory, "cut.jsonl"),
            file(&directory, "cut.jsonl.part"),
        );
        // Within the header, in the middle of lines, at their ends, and all but the last line.
        for length in (10..bytes.len())
            .step_by(311)
            .chain([bytes.len() - 1, bytes.len()])
        {
            fs::write(&part, &bytes[..length]).unwrap();
            if length < 100 {
                fs::remove_file(&part).unwrap();
            }
            let resumed = export(&app.catalog, &to_file(&cut)).await;
            assert_eq!(resumed.digest, report.digest, "{length} bytes");
            assert_eq!(resumed.counts, report.counts, "{length} bytes");
            assert_eq!(fs::read(&cut).unwrap(), bytes, "{length} bytes");
            assert!(!part.exists());
        }
    });
}

#[test]
fn a_large_export_is_continued_and_read_back() {
    test(async |app| {
        large_shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        let report = export(&app.catalog, &to_file(&written)).await;
        assert_eq!(
            (report.counts.products, report.counts.reviews),
            (600, 1_900)
        );
        let bytes = fs::read(&written).unwrap();
        let part = file(&directory, "shop.jsonl.part");
        fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
        let resumed = export(&app.catalog, &to_file(&written)).await;
        assert!(resumed.continued);
        assert_eq!(fs::read(&written).unwrap(), bytes);
        // An import of a third of it is completed by one of all. Half of the file has all products if the one with most reviews
        // is the last.
        let catalog = emptied(app).await;
        let third = file(&directory, "third.jsonl");
        fs::write(&third, &bytes[..bytes.len() / 3]).unwrap();
        let (read, _) = read_back(&catalog, &third).await;
        let reason = read.broken.values().next().unwrap();
        assert!(reason.contains("its last line is missing"), "{reason}");
        let (read, rejected) = read_back(&catalog, &written).await;
        assert!(read.is_complete(), "{read}");
        let products = read.of("products");
        assert!(
            products.created > 0 && products.unchanged > 0,
            "{products:?}: {rejected}"
        );
        assert_eq!(Some(digest(&catalog).await), report.digest);
    });
}

#[test]
fn another_export_is_not_continued() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let directory = tempfile::tempdir().unwrap();
        let (written, part) = (
            file(&directory, "shop.jsonl"),
            file(&directory, "shop.jsonl.part"),
        );
        export(&app.catalog, &to_file(&written)).await;
        fs::copy(&written, &part).unwrap();
        let mut other = to_file(&written);
        other.reviews = false;
        let refused = try_export(&app.catalog, &other).await.unwrap_err();
        assert!(
            matches!(&refused, ExportError::OtherExport(path) if *path == part),
            "{refused}"
        );
        other.restart = true;
        let report = export(&app.catalog, &other).await;
        assert!(!report.continued && !part.exists());
    });
}

#[test]
fn a_file_that_was_changed_is_noticed() {
    test(async |app| {
        app.has([product("Lamp"), product("Desk")]).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        export(&app.catalog, &to_file(&written)).await;
        let text = fs::read_to_string(&written).unwrap();
        let without: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("\"Desk\""))
            .collect();
        fs::write(&written, without.join("\n")).unwrap();
        let catalog = emptied(app).await;
        let (read, _) = read_back(&catalog, &written).await;
        assert_eq!(read.of("products").created, 1);
        let reason = read.broken.values().next().unwrap();
        assert!(
            reason.contains("was changed since it was written"),
            "{reason}"
        );
    });
}
