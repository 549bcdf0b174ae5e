use std::fs;
use std::path::PathBuf;

use vitrine_formats::Feed;
use vitrine_ingest::Mapping;
use vitrine_ingest::draft::{Drafter, LineStatus};

use super::*;

mod drafts;
mod formats;
mod places;
mod shipped;

/// A first mapping of a feed, and the reasons of the lines that it rejects.
fn mapped(name: &str, feed: &str) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, feed).unwrap();
    let text = first_mapping(&file).unwrap();
    let mapping = Mapping::parse(&text, &mut |_| unreachable!("no tables"));
    let mapping = mapping.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut feed = Feed::open(&file, mapping.form()).unwrap();
    let batch = Drafter::new(&mapping).batch(&mut feed).unwrap();
    let rejected = batch.lines.iter().filter_map(|line| match &line.status {
        LineStatus::Rejected(reasons) => Some(format!("{}: {reasons:?}", line.number)),
        _ => None,
    });
    (text, rejected.collect())
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line}\n{text}");
    }
}

#[test]
fn a_feed_of_products_is_recognised() {
    let feed = r#"{"uniqId": "a1", "title": "Tarn Reading Lamp", "brand": "Tarn", "price": "39,90", "breadcrumbs": "Light > Lamps", "images": [{"url": "https://e.org/1.jpg"}], "about": "<p>Bright, and small enough.</p>", "attributes": {"weight": 1.2, "color": "N/A"}}
{"uniqId": "a2", "title": "Tarn Clip", "brand": "Tarn", "price": "19,90", "breadcrumbs": "Light > Lamps", "images": [], "about": "<p>Fits on every shelf there is.</p>", "attributes": {"weight": 0.2}}
"#;
    let (text, rejected) = mapped("shop.jsonl", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(
        &text,
        &[
            "system = \"shop\"",
            "unknown = [\"N/A\"]",
            "external_id = \"uniqId\"",
            "name = \"title\"",
            "category = { from = \"breadcrumbs\", separator = \">\" }",
            "description = { from = \"about\", html = \"page\" }",
            "price = { amount = { from = \"price\", decimal = \",\", on_bad = \"drop_value\" }, currency = { value = \"EUR\" } }",
            "# unsure: no path has a currency; EUR is a guess",
            "each = \"images\"",
            "url = { from = \"url\", on_bad = \"drop_value\" }",
            "#   attributes.weight: 2 values in 2 rows, numbers: 1.2 · 0.2",
        ],
    );
}

#[test]
fn a_feed_of_reviews_is_recognised() {
    let feed = "Id;ProductId;UserId;ProfileName;Score;Summary;Text\n\
                1;P1;U1;Ada;87;Good;Bright enough for reading all night.\n\
                2;P1;U2;Bo;20;Bad;Broke after a week of careful use.\n";
    let (text, rejected) = mapped("reviews.csv", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(
        &text,
        &[
            "delimiter = \";\"",
            "[review]",
            "external_id = \"Id\"",
            "product = \"ProductId\"",
            "rating = { from = \"Score\", scale = [0, 100] }",
            "body = \"Text\"",
            "title = \"Summary\"",
            "author = { id = \"UserId\", name = \"ProfileName\" }",
        ],
    );
}

#[test]
fn what_cannot_be_guessed_is_said() {
    let (text, _) = mapped(
        "odd.jsonl",
        "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 1, \"b\": \"x\"}\n",
    );
    has(
        &text,
        &[
            "external_id = \"^line\"",
            "# unsure: no path has the name of a name; this is a guess",
            "# unsure: no path has the name of a category",
        ],
    );
    let (text, _) = mapped(
        "one.jsonl",
        "{\"key\": \"k1\", \"label\": \"Lamp\"}\n{\"key\": \"k2\", \"label\": \"Lamp\"}\n",
    );
    has(
        &text,
        &["# unsure: no path has the name of an id; key is different in every row"],
    );
}

#[test]
fn lists_without_what_is_usual_are_said_to_lack_it() {
    let feed = r#"{"id": 1, "name": "Lamp", "price_cents": 1999, "currency": "EUR", "facts": [{"key": "Load", "value": "1,5", "unit": "XYZ"}, {"key": "Height", "value": "3", "unit": "mm"}], "reviews": [{"rating": 90, "text": "Good."}]}
{"id": 2, "name": "Clip", "price_cents": 990, "currency": "EUR", "facts": {"key": "Load", "value": "2", "unit": "mm"}, "reviews": []}
"#;
    let (text, rejected) = mapped("shop.jsonl", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(
        &text,
        &[
            "# unsure: divide = 100, because the name says cents",
            "price = { amount = { from = \"price_cents\", divide = 100, on_bad = \"drop_value\" }, currency = \"currency\" }",
            "# unsure: values with these units are bad until unit_values says what they stand for: XYZ",
            "path = \"facts\"",
            "decimal = \",\"",
            "# unsure: reviews have no id; this one changes when reviews are added before others",
            "external_id = { template = \"{^.id}-{^item}\" }",
            "rating = { from = \"rating\", scale = [0, 100] }",
        ],
    );
    let offers = r#"{"id": 1, "name": "Lamp", "offers": [{"price": 5, "type": "net"}, {"price": 6, "type": "gross"}]}"#;
    let (text, _) = mapped("offers.jsonl", offers);
    has(
        &text,
        &[
            "# unsure: the price that shoppers see, by type: gross, net; no path has a currency, and EUR is a guess",
            "price = { amount = { from = [\"offers[type=gross].price\", \"offers[type=net].price\"], on_bad = \"drop_value\" }, currency = { value = \"EUR\" } }",
        ],
    );
}

#[test]
fn lines_are_one_product_only_if_the_others_lack_its_name() {
    let gathered = |feed: &str| mapped("lines.csv", feed).0.contains("[gather]");
    assert!(gathered("Key,Title,Size\na,Lamp,S\na,,M\nb,Clip,S\n"));
    assert!(!gathered("Key,Title,Size\na,Lamp,S\na,Lamp,M\nb,Clip,S\n"));
    assert!(
        !gathered("Key,Title,Size\na,Lamp,S\nb,,M\na,,S\n"),
        "a key comes back"
    );
    assert!(
        !gathered("Key,Title,Size\na,Lamp,S\nb,,M\n"),
        "no key has two lines"
    );
}

#[test]
fn odd_names_of_columns_make_a_valid_mapping() {
    let feed = "\"Han\"\"dle\",\"Ti{t}le: x\",Title,Option1 Name,Option1 Value,SKU,Größe é,9\n\
                a,T,Lamp,\"Größe \"\"x\"\"\",S,1,G,5\na,,,,M,2,,6\nb,T,Clip,9,L,3,,7\n";
    let (text, rejected) = mapped("odd.csv", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    assert!(text.contains("[gather]"), "{text}");
}

#[test]
fn numbers_in_text_become_numbers_unless_they_look_like_names() {
    let feed = "id,name,load,width,zip,phone\n1,Lamp,5,\"1,5\",01234,493012345678\n2,Clip,7,2,04321,493012345678\n";
    let (text, _) = mapped("shop.csv", feed);
    has(
        &text,
        &["path = [\"load\"]", "path = [\"width\"]", "decimal = \",\""],
    );
    assert!(!text.contains("path = [\"zip"), "{text}");
    assert!(!text.contains("\"phone\"]"), "{text}");
}

#[test]
fn the_settings_of_a_table_are_found_out() {
    let feed = "sku,name,price\nL1,\"Screen 17\\\" wide\",12.90\nL2,\"Clip, \\\"red\\\"\",19.90\n";
    let (text, rejected) = mapped("spark.csv", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(&text, &["escape = \"\\\\\""]);
    let feed = "sep=;\nsku;name;price\nL1;Lamp;12,90\nL2;Clip;19,90\n";
    let (text, rejected) = mapped("excel.csv", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(&text, &["delimiter = \";\""]);
}

#[test]
fn grouped_numbers_are_read_as_the_file_writes_them() {
    let english = "id,name,weight,price\nW1,Pot,\"1,800\",\"1,299.00\"\nW2,Pan,\"2,500\",89.90\nW3,Lid,750,12.50\n";
    let (text, _) = mapped("english.csv", english);
    has(&text, &["path = [\"weight\"]", "thousands = \",\""]);
    let german = "id;name;gewicht;preis\nW1;Topf;1.800;1.299,00\nW2;Pfanne;2.500;89,90\n";
    let (text, _) = mapped("german.csv", german);
    has(
        &text,
        &[
            "path = [\"gewicht\"]",
            "thousands = \".\"",
            "decimal = \",\"",
        ],
    );
    let (text, _) = mapped("alone.csv", "id;name;load\n1;Pot;1,800\n2;Pan;2,500\n");
    has(
        &text,
        &[
            "# unsure: whether numbers such as 1,800 are above a thousand",
            "thousands = \",\"",
        ],
    );
}

#[test]
fn some_of_the_further_rows_are_looked_at() {
    use std::fmt::Write as _;
    let mut feed = String::new();
    for number in 0..1300 {
        let facts = if number < 1000 {
            "\"speed\": 5"
        } else {
            "\"speed\": \"n/a\", \"size\": \"5 mm\""
        };
        let _ = writeln!(
            feed,
            "{{\"id\": {number}, \"name\": \"Lamp {number}\", {facts}}}"
        );
    }
    let (text, _) = mapped("sorted.jsonl", &feed);
    has(&text, &["unknown = [\"n/a\"]", "path = [\"size\"]"]);
    assert!(text.contains("guessed from 1006 rows"), "{text}");
}

#[test]
fn a_variant_without_a_number_is_one_if_it_has_a_price() {
    let feed = "Handle,Title,Option1 Name,Option1 Value,Barcode,Price\n\
                cup,Cup,Title,Only,,5\nmug,Mug,Size,S,4006381333931,6\nmug,,,L,4006381333948,7\n";
    let (text, rejected) = mapped("cups.csv", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    has(&text, &["where_item = { Price = { known = true } }"]);
}

#[test]
fn what_a_row_is_is_no_category() {
    let feed = "{\"id\": 1, \"name\": \"Lamp\", \"type\": \"product\"}\n\
                {\"id\": 2, \"name\": \"Clip\", \"type\": \"product\"}\n";
    let (text, _) = mapped("rows.jsonl", feed);
    has(&text, &["category = { value = [\"Products\"] }"]);
}

#[test]
fn a_price_of_an_unknown_kind_is_not_shown() {
    let feed = r#"{"id": 1, "name": "Lamp", "prices": [{"type": "retail", "price": 5}, {"type": "purchase", "price": 3}]}"#;
    let (text, _) = mapped("shop.jsonl", feed);
    assert!(
        text.contains("from = \"prices[type=retail].price\","),
        "{text}"
    );
}

#[test]
fn texts_of_elements_with_a_name_are_specs() {
    let feed = "<shop><product id=\"1\"><title>Lamp</title><params><param name=\"Height\" unit=\"cm\">42</param>\
        <param name=\"Colour\">red</param></params></product><product id=\"2\"><title>Clip</title><params>\
        <param name=\"Height\" unit=\"mm\">90</param></params></product></shop>";
    let (text, rejected) = mapped("shop.xml", feed);
    assert_eq!(rejected, [] as [String; 0], "{text}");
    let lines = [
        "key_from = \"@name\"",
        "value_from = \"#text\"",
        "unit_from = \"@unit\"",
    ];
    has(&text, &lines);
}

/// The folder with the feeds.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Compares a text with the file that has it, or rewrites the file.
#[expect(
    clippy::disallowed_methods,
    reason = "whether generated files are rewritten is no setting of the service"
)]
fn compare_file(file: &Path, made: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(file, made).unwrap();
    }
    let expected = fs::read_to_string(file).unwrap();
    assert_eq!(made, expected, "UPDATE_EXPECT=1 cargo test rewrites it");
}

/// Compares the first mapping of a feed with the file beside it, and what the feed becomes by it;
/// returns this.
fn compare_first_mapping(feed: &str) -> String {
    let feed = fixtures().join(feed);
    let mapping = feed.with_extension("toml");
    compare_file(&mapping, &first_mapping(&feed).unwrap());
    let drafted = drafts::drafted(&feed, &mapping);
    compare_file(&feed.with_extension("txt"), &drafted);
    drafted
}

#[test]
fn a_first_mapping_of_variants_in_lines() {
    compare_first_mapping("fell-products.csv");
}

#[test]
fn a_first_mapping_of_nested_json() {
    compare_first_mapping("lumico-shop.json");
}

#[test]
fn a_first_mapping_of_a_catalogue_in_xml() {
    compare_first_mapping("lumico-erp.xml");
}
