//! Tables for people.

use std::collections::BTreeMap;
use std::path::Path;

use vitrine_export::Format;
use vitrine_export::output::Target;
use vitrine_harness::test;

use super::{export, shop, to_file};

type Row = BTreeMap<String, String>;

/// The rows of a table, by column.
fn rows(path: &Path) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.deserialize::<Row>();
    rows.collect::<Result<_, _>>().unwrap()
}

fn find<'a>(rows: &'a [Row], column: &str, value: &str) -> &'a Row {
    let found = rows.iter().find(|row| row[column] == value);
    found.unwrap_or_else(|| panic!("no {value} in {column} of {rows:#?}"))
}

#[test]
fn tables_have_what_people_look_for() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let mut options = to_file(Path::new(""));
        options.format = Format::Tables;
        options.target = Target::Directory(directory.path().join("shop"));
        let report = export(&app.catalog, &options).await;
        assert_eq!((report.counts.products, report.counts.reviews), (9, 7));
        let table = |name: &str| rows(&directory.path().join("shop").join(name));
        let products = table("products.csv");
        let lamp = find(&products, "name", "lamp");
        for (column, value) in [
            ("price", "12"),
            ("currency", "JPY"),
            ("category", "Things"),
            ("supplier", "North"),
            ("country", "NO"),
            ("reviews", "4"),
            ("description", "Says \"hi\"\nin two lines.\u{b}"),
            ("images", "https://media.example.com/1.jpg"),
        ] {
            assert_eq!(lamp[column], value, "{column}");
        }
        let specs = table("specs.csv");
        let height = find(&specs, "key", "height");
        assert_eq!(
            [&height["value"], &height["unit"], &height["sku"]],
            ["16.9", "cm", "feed:lamp"]
        );
        assert_eq!(find(&specs, "label", "Colour")["value"], "'=red");
        let reviews = table("reviews.csv");
        let imported = find(&reviews, "author", "Ida");
        assert_eq!(
            [
                &imported["helpful"],
                &imported["sku"],
                &imported["recommended"]
            ],
            ["3", "feed:lamp", "yes"]
        );
        assert_eq!(find(&reviews, "author_id", "bob")["reply"], "Sorry.");
        assert_eq!(
            find(&table("categories.csv"), "slug", "new")["path"],
            "Media > New"
        );
        assert_eq!(
            find(&table("spec_keys.csv"), "key", "color")["aliases"],
            "colour"
        );
        assert_eq!(
            find(&table("suppliers.csv"), "name", "South")["country"],
            "IT"
        );
        assert_eq!(
            find(&table("units.csv"), "symbol", "wear")["dimension"],
            "abrasion"
        );
    });
}
