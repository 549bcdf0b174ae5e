//! The JSON Schema of mapping files has exactly the settings that the reader knows.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

mod agreement;

/// The mapping of all parts, with `{}` where a setting is added, and the part of the schema.
const PARTS: [(&str, &str); 26] = [
    ("", "{}"),
    ("defaults", "[defaults]\n{}"),
    (
        "join",
        "[join.x]\n{}\nmany = true\nfile = \"units.csv\"\nkey = \"path\"\nfrom = \"id\"",
    ),
    (
        "unpivot",
        "[[unpivot]]\n{}\ncolumns = \"a\"\nas = \"b\"\nname = \"c\"\nvalue = \"d\"\n[product]\nPRODUCT",
    ),
    (
        "gather",
        "[gather]\n{}\nkey = \"a\"\nas = \"b\"\n[product]\nPRODUCT",
    ),
    (
        "fill_down",
        "[fill_down]\n{}\nkey = \"a\"\n[product]\nPRODUCT",
    ),
    (
        "numbered",
        "[[numbered]]\n{}\nas = \"b\"\ncolumns = { a = \"a*\" }\n[product]\nPRODUCT",
    ),
    ("product", "[product]\n{}\nPRODUCT"),
    (
        "price",
        "[product]\nPRODUCT\n[product.price]\n{}\namount = \"a\"\ncurrency = \"c\"",
    ),
    (
        "supplier",
        "[product]\nPRODUCT\n[product.supplier]\n{}\nname = \"a\"",
    ),
    (
        "media",
        "[product]\nPRODUCT\n[[product.media]]\n{}\nurl = \"a\"",
    ),
    (
        "field_table",
        "[product]\nPRODUCT\n[product.brand]\n{}\nfrom = \"a\"",
    ),
    (
        "number_table",
        "[product]\nPRODUCT\n[product.price]\ncurrency = \"c\"\n[product.price.amount]\n{}\nfrom = \"a\"",
    ),
    (
        "category_table",
        "[product]\nPRODUCT_BUT_CATEGORY\n[product.category]\n{}\nfrom = \"a\"",
    ),
    (
        "detail_table",
        "[product]\nPRODUCT\n[product.details.x]\n{}\nfrom = \"a\"",
    ),
    (
        "detail_table",
        "[product]\nPRODUCT\n[product.details.x]\n{}\ntype = \"number\"\nfrom = \"a\"",
    ),
    (
        "detail_table",
        "[product]\nPRODUCT\n[product.details.x]\n{}\neach = \"a\"",
    ),
    (
        "detail_table",
        "[product]\nPRODUCT\n[product.details.x]\n{}\nitems = [{ name = \"a\" }]",
    ),
    ("specs", "[product]\nPRODUCT\n[product.specs]\n{}"),
    (
        "rule",
        "[product]\nPRODUCT\n[[product.specs.rules]]\n{}\npath = \"a\"",
    ),
    (
        "test",
        "[product]\nPRODUCT\n[product.where.x]\n{}\nknown = true",
    ),
    ("review", "[review]\n{}\nREVIEW"),
    (
        "review_media",
        "[review]\nREVIEW\n[[review.media]]\n{}\nurl = \"a\"",
    ),
    (
        "specs",
        "[review]\nREVIEW\n[review.attributes]\n{}\nfrom = \"a\"",
    ),
    (
        "author",
        "[review]\nREVIEW\n[review.author]\n{}\nid = \"a\"",
    ),
    (
        "rating_table",
        "[review]\nREVIEW_BUT_RATING\n[review.rating]\n{}\nfrom = \"a\"",
    ),
];

/// The settings that the reader knows in a part.
fn known(text: &str) -> BTreeSet<String> {
    let text = filled(text).replace("{}", "no_such_setting = 1");
    let refused = refusal(&format!("version = 1\nsystem = \"s\"\n{text}"));
    let (_, names) = refused
        .split_once("known here: ")
        .unwrap_or_else(|| panic!("{text}: {refused}"));
    names.split(", ").map(str::to_owned).collect()
}

/// The text of a part with what else it needs.
fn filled(text: &str) -> String {
    let product = "external_id = \"id\"\nname = \"n\"\nkind = \"k\"";
    let review = "external_id = \"id\"\nproduct = \"p\"";
    text.replace("PRODUCT_BUT_CATEGORY", product)
        .replace("PRODUCT", &format!("{product}\ncategory = \"c\""))
        .replace("REVIEW_BUT_RATING", review)
        .replace("REVIEW", &format!("{review}\nrating = \"r\""))
}

#[test]
fn the_schema_has_the_settings_that_the_reader_knows() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut settings: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (part, text) in PARTS {
        let text = if text == "{}" {
            "{}\n[product]\nPRODUCT"
        } else {
            text
        };
        settings.entry(part).or_default().extend(known(text));
    }
    for (part, known) in settings {
        let described = match part {
            "" => &schema["properties"],
            part => &schema["$defs"][part]["properties"],
        };
        let described: BTreeSet<String> = described.as_object().unwrap().keys().cloned().collect();
        assert_eq!(described, known, "{part}");
    }
}
