//! Where the rows of a file are: in a sheet, in objects by their id, behind prefixes of XML.

use std::io::Write as _;

use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;

/// A spreadsheet of `OpenDocument` with these sheets, each with its rows of texts.
fn spreadsheet(file: &Path, sheets: &[(&str, &[&[&str]])]) {
    let cell = |text: &&str| {
        format!(
            "<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let row = |cells: &&[&str]| {
        let cells: String = cells.iter().map(cell).collect();
        format!("<table:table-row>{cells}</table:table-row>")
    };
    let tables = sheets.iter().map(|(name, rows)| {
        let rows: String = rows.iter().map(row).collect();
        format!("<table:table table:name=\"{name}\">{rows}</table:table>")
    });
    let content = format!("<c>{}</c>", tables.collect::<String>());
    let mut zip = ZipWriter::new(fs::File::create(file).unwrap());
    let kind = "application/vnd.oasis.opendocument.spreadsheet";
    for (name, text) in [("mimetype", kind), ("content.xml", &content)] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
}

const HELP: &[&[&str]] = &[&["How to fill this in"], &["Ask Ada."]];
const PRODUCTS: &[&[&str]] = &[&["SKU", "Name", "Price"], &["T1", "Tarn Lamp", "39.90"]];
const STOCK: &[&[&str]] = &[&["SKU", "Name", "Shelf"], &["T1", "Tarn Lamp", "B"]];

#[test]
fn the_sheet_that_says_the_most_of_products_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.ods");
    spreadsheet(
        &file,
        &[("Help", HELP), ("Goods", PRODUCTS), ("Stock", STOCK)],
    );
    let text = first_mapping(&file).unwrap();
    has(&text, &["sheet = \"Goods\"", "external_id = \"SKU\""]);
    has(
        &text,
        &["# Its other sheets are \"Help\", \"Stock\"; `sheet` takes one of them."],
    );
    let mapping = Mapping::parse(&text, &mut |_| unreachable!("no tables")).unwrap();
    assert_eq!(mapping.form().sheet.as_deref(), Some("Goods"));
}

#[test]
fn the_sheet_that_is_named_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.ods");
    spreadsheet(&file, &[("Goods", PRODUCTS), ("Stock", STOCK)]);
    let text = first_mapping_of_sheet(&file, Some("Stock")).unwrap();
    has(
        &text,
        &[
            "sheet = \"Stock\"",
            "#   Shelf: 1 values in 1 rows, text: B",
        ],
    );
    let refused = first_mapping_of_sheet(&file, Some("Stocks")).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.ends_with("there are \"Goods\", \"Stock\""),
        "{refused}"
    );
}

#[test]
fn a_spreadsheet_of_one_sheet_needs_no_name_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.ods");
    spreadsheet(&file, &[("Goods", PRODUCTS)]);
    let text = first_mapping(&file).unwrap();
    assert!(!text.contains("\nsheet"), "{text}");
}

#[test]
fn the_keys_of_an_object_of_rows_are_ids() {
    for (feed, rows) in [
        (
            r#"{"T1": {"name": "Tarn Lamp", "price": 5}, "T2": {"name": "Tarn Clip", "price": 6}}"#,
            "rows = \"*\"",
        ),
        (
            "{\n  \"products\": {\n    \"17\": {\"name\": \"Tarn Lamp\", \"price\": 5},\n    \
             \"4\": {\"name\": \"Tarn Clip\", \"price\": 6}\n  }\n}\n",
            "rows = \"products.*\"",
        ),
        (
            "{\"data\": {\"items\": {\"a\": {\"title\": \"Tarn Lamp\", \"id\": 1}, \"b\": {\"title\": \"Tarn Clip\", \"id\": 2}}}}",
            "rows = \"data.items.*\"",
        ),
    ] {
        let (text, rejected) = mapped("shop.json", feed);
        assert_eq!(rejected, [] as [String; 0], "{text}");
        has(&text, &[rows, "external_id = \"@key\""]);
    }
}

#[test]
fn the_keys_of_an_object_of_reviews_are_their_ids() {
    let feed = r#"{"r1": {"product": "T1", "stars": 5, "comment": "Bright and warm.", "user": "Ada"},
        "r2": {"product": "T2", "stars": 2, "comment": "Broke too soon.", "user": "Bo"}}"#;
    let (text, rejected) = mapped("reviews.json", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(&text, &["[review]", "external_id = \"@key\""]);
}

#[test]
fn keys_that_only_count_rows_are_no_ids() {
    let feed =
        r#"{"0": {"sku": "T1", "name": "Tarn Lamp"}, "1": {"sku": "T2", "name": "Tarn Clip"}}"#;
    let (text, _) = mapped("shop.json", feed);
    has(&text, &["rows = \"*\"", "external_id = \"sku\""]);
}

#[test]
fn prefixes_around_the_rows_of_xml_do_not_count() {
    let feed = "<s:shop xmlns:s=\"urn:s\"><s:product><s:id>T1</s:id><s:name>Tarn Lamp</s:name>\
        <s:price>5</s:price></s:product><s:product><s:id>T2</s:id><s:name>Tarn Clip</s:name>\
        <s:price>6</s:price></s:product></s:shop>";
    let (text, rejected) = mapped("shop.xml", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    let lines = [
        "local_names = true",
        "rows = \"shop.product\"",
        "external_id = \"id\"",
    ];
    has(&text, &lines);
    let renamed = feed.replace("s:", "x:");
    let mapping = Mapping::parse(&text, &mut |_| unreachable!("no tables")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("renamed.xml");
    fs::write(&file, renamed).unwrap();
    assert!(drafts::drafted_by(&file, &mapping).ends_with("products: 2\nreviews: 0\n"));
}
