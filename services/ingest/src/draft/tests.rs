use serde_json::json;
use vitrine_formats::Row;

use super::*;

const PRODUCTS: &str = r#"
    version = 1
    system = "shop"
    [product]
    external_id = "id"
    name = "name"
    kind = { value = "lamp" }
    category = { value = "Lamps" }
    "#;

const REVIEWS: &str = r#"
    [review]
    external_id = "row"
    product = "id"
    rating = "stars"
    "#;

fn mapping(text: &str) -> Mapping {
    Mapping::parse(text, &mut |_| unreachable!("no tables")).unwrap()
}

fn lines(rows: Vec<Row>) -> impl Iterator<Item = FeedLine> {
    (1..).zip(rows).map(|(number, row)| FeedLine {
        number,
        bytes: 100,
        row,
        cells: Vec::new(),
    })
}

fn lamp(id: u32) -> Row {
    Row::Object(json!({"id": id, "name": "Lamp", "row": id, "stars": 5}))
}

#[test]
fn every_line_has_a_status() {
    let mapping = mapping(PRODUCTS);
    let rows = vec![
        lamp(1),
        Row::Blank,
        Row::Object(json!({"id": 2})),
        Row::Unreadable("is not JSON".to_owned()),
        Row::Broken("ends".to_owned()),
    ];
    let mut drafter = Drafter::new(&mapping);
    let batch = drafter.batch_of(&mut lines(rows)).unwrap();
    let statuses: Vec<&LineStatus> = batch.lines.iter().map(|line| &line.status).collect();
    let rejected =
        |field: &str, reason: &str| LineStatus::Rejected(vec![Rejection::new(field, reason)]);
    let drafted = LineStatus::Drafted(Records {
        products: 1,
        ..Records::default()
    });
    assert_eq!(
        statuses,
        [
            &drafted,
            &LineStatus::Blank,
            &rejected("name", "is missing"),
            &rejected("line", "is not JSON"),
            &rejected("line", "ends"),
        ]
    );
    assert_eq!(
        (batch.products.len(), batch.broken.as_deref()),
        (1, Some("ends"))
    );
}

#[test]
fn batches_are_limited_by_lines_and_by_bytes() {
    let mapping = mapping(PRODUCTS);
    let mut drafter = Drafter::new(&mapping);
    let mut many = lines((0..2500).map(lamp).collect());
    let sizes: Vec<usize> = std::iter::from_fn(|| drafter.batch_of(&mut many))
        .map(|batch| batch.lines.len())
        .collect();
    assert_eq!(sizes, [1000, 1000, 500]);
    let mut large = (1..=9).map(|number| FeedLine {
        number,
        bytes: BATCH_BYTES / 4,
        row: lamp(1),
        cells: Vec::new(),
    });
    assert_eq!(drafter.batch_of(&mut large).unwrap().lines.len(), 4);
}

#[test]
fn a_product_is_derived_from_its_first_row() {
    let mapping = mapping(&format!("{PRODUCTS}{REVIEWS}"));
    let row = |id: &str, name: &str, row: u32| {
        Row::Object(json!({"id": id, "name": name, "row": row, "stars": "4"}))
    };
    let rows = vec![
        row("a", "First", 1),
        row("a", "Second", 2),
        row("b", "", 3),
        row("b", "Third", 4),
    ];
    let batch = Drafter::new(&mapping).batch_of(&mut lines(rows)).unwrap();
    let derived: Vec<(&str, bool)> = batch
        .products
        .iter()
        .map(|p| (p.name.as_deref().unwrap(), p.create_only))
        .collect();
    assert_eq!(derived, [("First", true), ("Third", true)]);
    assert_eq!(batch.reviews.len(), 3);
    assert!(
        matches!(&batch.lines[2].status, LineStatus::Rejected(reasons) if reasons[0].field == "name")
    );
}

/// The reasons of the rejected lines, with their numbers.
fn rejected(batch: &Batch) -> Vec<(u64, String)> {
    let rejected = batch.lines.iter().filter_map(|line| match &line.status {
        LineStatus::Rejected(reasons) => Some((line.number, reasons[0].reason.clone())),
        _ => None,
    });
    rejected.collect()
}

#[test]
fn of_repeated_ids_the_last_or_the_first_line_is_kept() {
    let rows = || vec![lamp(1), lamp(2), lamp(1)];
    let last = mapping(PRODUCTS);
    let mut drafter = Drafter::new(&last);
    let batch = drafter.batch_of(&mut lines(rows())).unwrap();
    assert_eq!((batch.products.len(), rejected(&batch).len()), (3, 0));
    let repeats = drafter.end_of_file();
    assert_eq!(repeats.repeated[0].lines, [1, 3]);
    assert_eq!(drafter.end_of_file(), Repeats::default());

    let first = mapping(&format!("{PRODUCTS}\nrepeated_id = \"first\""));
    let batch = Drafter::new(&first).batch_of(&mut lines(rows())).unwrap();
    assert_eq!(batch.products.len(), 2);
    let reason = "repeats the id of line 1; the mapping keeps the first".to_owned();
    assert_eq!(rejected(&batch), [(3, reason)]);
}

#[test]
fn paths_that_no_row_has_are_named_after_the_feed() {
    let text = PRODUCTS.replace("\"name\"", "[\"title\", \"name\"]");
    let settings = "brand = \"nmae\"\n[product.specs]\nrename = { starz = \"grade\", row = \"row\" }\n\
                    rules = [{ path = [\"stars\", \"gone.*\"], key = \"stars\" }]\n";
    let mapping = mapping(&format!("{text}{settings}"));
    let mut drafter = Drafter::new(&mapping);
    assert_eq!(
        drafter.unmatched().len(),
        4,
        "before any row only specs are asked for"
    );
    drafter.batch_of(&mut lines(vec![lamp(1), lamp(2)]));
    let unmatched: Vec<String> = drafter
        .unmatched()
        .into_iter()
        .map(|one| format!("{}: {} ({:?})", one.setting, one.path, one.similar))
        .collect();
    assert_eq!(
        unmatched,
        [
            "product.name: title (None)",
            "product.brand: nmae (Some(\"name\"))",
            "product.specs.rename: starz (Some(\"stars\"))",
            "product.specs.rules[0]: gone.* (None)",
        ]
    );
}

#[test]
fn cells_without_a_value_are_dropped_values_of_their_line() {
    let mapping = mapping(PRODUCTS);
    let cell = vitrine_formats::CellProblem {
        column: "price".to_owned(),
        cell: "C12".to_owned(),
        reason: "is the error #N/A".to_owned(),
    };
    let mut feed = lines(vec![lamp(1), Row::Gathered]).map(|line| FeedLine {
        cells: vec![cell.clone()],
        ..line
    });
    let batch = Drafter::new(&mapping).batch_of(&mut feed).unwrap();
    let expected = [Rejection::new("price", "C12 is the error #N/A")];
    for line in &batch.lines {
        assert_eq!(line.dropped, expected, "{line:?}");
    }
    assert_eq!(batch.products.len(), 1);
}

#[test]
fn settings_that_do_nothing_are_named() {
    let shapes = "[[unpivot]]\ncolumns = [\"sizes.*_cm\"]\nas = \"list\"\nname = \"n\"\nvalue = \"v\"\n\
                  [gather]\nkey = \"handle\"\nas = \"lines\"\n";
    let specs = "[product.specs]\nomit = [\"facts\"]\nunit_suffixes = { _mm = \"mm\" }\n\
                 [[product.specs.rules]]\npath = \"size\"\nkey = \"at\"\ntemplate = \"{stars} {w}\"\n";
    let text = PRODUCTS.replace("[product]", &format!("{shapes}[product]"));
    let mapping = mapping(&format!("{text}{specs}"));
    let row = json!({"id": 1, "name": "Lamp", "size": {"w": 1}, "stars": 5});
    let mut drafter = Drafter::new(&mapping);
    drafter
        .batch_of(&mut lines(vec![Row::Object(row)]))
        .unwrap();
    let unmatched = drafter.unmatched().into_iter();
    let unmatched: Vec<String> = unmatched
        .map(|one| format!("{}: {} ({:?})", one.setting, one.path, one.similar))
        .collect();
    assert_eq!(
        unmatched,
        [
            "unpivot.columns: sizes.*_cm (None)",
            "gather.key: handle (None)",
            "product.specs.unit_suffixes: _mm (None)",
            "product.specs.omit: facts (None)",
            "product.specs.rules[0]: stars (Some(\"^.stars\"))",
        ]
    );
}

#[test]
fn keys_have_the_names_of_the_feed_and_names_that_share_one_are_told() {
    let specs = "[product.specs]\nfrom = \"at\"\nrename = { fixed = \"given\" }\n\
                 [[product.specs.rules]]\npath = \"facts\"\nkey_from = \"k\"\nvalue_from = \"v\"\n";
    let mapping = mapping(&format!("{PRODUCTS}{specs}"));
    let row = json!({"id": 1, "name": "Lamp", "at": {
        "C": "yes", "C++": "no", "C#": "maybe", "Größe": "XL", "grosse": "L", "Form Factor": "a", "formFactor": "b",
        "fixed": 1, "facts": [{"k": "Höhe", "v": 1}, {"k": "Höhe", "v": 2}],
    }});
    let mut drafter = Drafter::new(&mapping);
    let rows = vec![Row::Object(row.clone()), Row::Object(row)];
    let batch = drafter.batch_of(&mut lines(rows)).unwrap();
    let keys: Vec<&str> = batch.products[0]
        .specs
        .iter()
        .map(|spec| &*spec.key)
        .collect();
    assert_eq!(&keys[..3], ["c", "c_plus_plus", "c_sharp"]);
    let labels: Vec<(&str, &str)> = batch
        .labels
        .iter()
        .map(|(key, label)| (&**key, &**label))
        .collect();
    for expected in [
        ("grosse", "Größe"),
        ("hohe", "Höhe"),
        ("form_factor", "Form Factor"),
        ("c_plus_plus", "C++"),
    ] {
        assert_eq!(
            labels.iter().filter(|label| **label == expected).count(),
            1,
            "{labels:?}"
        );
    }
    assert!(!labels.iter().any(|(key, _)| *key == "given"));
    let shared = drafter.shared_keys();
    assert_eq!(shared.len(), 1, "{shared:?}");
    assert_eq!(shared["grosse"], ["Größe", "grosse"]);
}

#[test]
fn rows_for_which_the_mapping_has_nothing_are_skipped() {
    let mapping = mapping(&format!("{PRODUCTS}\nwhere = {{ stars = 5 }}"));
    let rows = vec![
        lamp(1),
        Row::Object(json!({"id": 2, "name": "Lamp", "stars": 4})),
    ];
    let batch = Drafter::new(&mapping).batch_of(&mut lines(rows)).unwrap();
    assert_eq!(batch.lines[1].status, LineStatus::Skipped);
    assert_eq!(batch.products.len(), 1);
}

#[test]
fn an_id_whose_line_is_refused_does_not_shadow_a_later_line() {
    let mapping = mapping(&format!("{PRODUCTS}{REVIEWS}repeated_id = \"first\""));
    let row = |name: &str| Row::Object(json!({"id": "a", "name": name, "row": 1, "stars": 4}));
    let rows = vec![row(""), row("Lamp"), row("Lamp")];
    let mut drafter = Drafter::new(&mapping);
    let batch = drafter.batch_of(&mut lines(rows)).unwrap();
    assert_eq!((batch.products.len(), batch.reviews.len()), (1, 1));
    let reasons = [
        (1, "is missing".to_owned()),
        (
            3,
            "repeats the id of line 2; the mapping keeps the first".to_owned(),
        ),
    ];
    assert_eq!(rejected(&batch), reasons);
    assert_eq!(drafter.end_of_file().repeated[0].lines, [2, 3]);
}

/// The unmatched paths after some rows, with their settings.
fn unmatched(mapping: &Mapping, rows: Vec<Row>) -> Vec<String> {
    let mut drafter = Drafter::new(mapping);
    drafter.batch_of(&mut lines(rows)).unwrap();
    let unmatched = drafter.unmatched().into_iter();
    unmatched
        .map(|one| format!("{}: {}", one.setting, one.path))
        .collect()
}

#[test]
fn the_key_of_a_joined_file_is_no_path_of_the_feed() {
    let join = "[join.maker]\nfile = \"makers.csv\"\nkey = \"code\"\nfrom = \"id\"\n";
    let mapping = Mapping::parse(&format!("{PRODUCTS}{join}"), &mut |_| {
        Ok(b"code,name\n1,Tarn\n".to_vec())
    });
    assert_eq!(
        unmatched(&mapping.unwrap(), vec![lamp(1)]),
        [] as [String; 0]
    );
}

#[test]
fn paths_of_digests_templates_and_objects_are_named_too() {
    let text = PRODUCTS.replace("\"id\"", "{ digest = [\"id\", \"idd\"] }");
    let settings = "sku = { template = \"{id}[ {sk}]\" }\n[product.specs]\nauto = false\n\
                    [[product.specs.rules]]\npath = \"size\"\ntemplate = \"{w}[ {dept}]\"\n\
                    [[product.specs.rules]]\npath = \"attr\"\nvalue_from = \"v\"\nunit_from = \"unt\"\n";
    let mapping = mapping(&format!("{text}{settings}"));
    let row = json!({"id": 1, "name": "Lamp", "size": {"w": 1}, "attr": {"v": 1}});
    assert_eq!(
        unmatched(&mapping, vec![Row::Object(row)]),
        [
            "product.external_id: idd",
            "product.sku: sk",
            "product.specs.rules[0]: dept",
            "product.specs.rules[1]: unt"
        ]
    );
}

#[test]
fn long_paths_of_rows_are_not_remembered() {
    let mapping = mapping(PRODUCTS);
    let mut drafter = Drafter::new(&mapping);
    drafter.see(Some(&json!({"short": 1, "x".repeat(300): {"y": 1}})));
    assert_eq!(drafter.seen.iter().collect::<Vec<_>>(), ["short"]);
}

#[test]
fn a_line_with_too_many_records_is_rejected() {
    let text = format!("{PRODUCTS}{REVIEWS}each = \"list\"");
    let mapping = mapping(&text);
    let row = |items: usize| Row::Object(json!({"id": 1, "name": "Lamp", "list": vec![0; items]}));
    let rows = vec![row(10_001), row(0)];
    let batch = Drafter::new(&mapping).batch_of(&mut lines(rows)).unwrap();
    let reason = "has 10001 items that are products or reviews; a line may have 10000";
    assert_eq!(rejected(&batch), [(1, reason.to_owned())]);
    assert_eq!(batch.products.len(), 1);
}
