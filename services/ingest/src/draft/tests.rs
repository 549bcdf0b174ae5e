use serde_json::json;

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
        .map(|p| (p.name.as_str(), p.create_only))
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
