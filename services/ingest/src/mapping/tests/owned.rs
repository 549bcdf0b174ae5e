//! Mappings of feeds that say some fields of products which other feeds describe.

use vitrine_model::contribution::{ProductField, SourcePriority};

use super::*;

const PRICES: &str = r#"
    version = 1
    system = "prices"
    [product]
    external_id = "nr"
    sku = "ean"
    price = { amount = "net", currency = { value = "EUR" } }
    "#;

fn prices_with(more: &str) -> String {
    format!("{PRICES}\n{more}")
}

#[test]
fn a_price_list_says_a_price_and_nothing_else() {
    let row = json!({"nr": 7, "ean": "40", "net": "3.50", "name": "PRODUCT 7"});
    let (draft, problems) = product(PRICES, &row);
    assert_eq!(problems, Problems::default());
    let draft = draft.unwrap();
    assert_eq!(
        (&draft.name, &draft.kind, draft.status),
        (&None, &None, None)
    );
    assert!(draft.category.is_empty() && draft.specs.is_empty());
    assert_eq!(draft.price.unwrap().minor, 350);
    let priority = SourcePriority {
        partial: true,
        ..SourcePriority::default()
    };
    assert_eq!(draft.priority(), priority);
}

#[test]
fn a_field_that_a_row_of_such_a_feed_lacks_is_not_said() {
    let mapping = prices_with(
        "name = \"name\"\nstatus = \"status\"\n\
         category = { from = \"c\", table = { L = [\"Lamps\"] }, default = [\"Unsorted\"] }",
    );
    let (draft, problems) = product(&mapping, &json!({"nr": 7, "ean": "40", "c": "L"}));
    assert_eq!(problems, Problems::default());
    let draft = draft.unwrap();
    assert_eq!((&draft.name, draft.status), (&None, None));
    assert_eq!(draft.category, ["Lamps"]);
    let row = json!({"nr": 7, "name": "Lamp", "status": "archived"});
    let draft = product(&mapping, &row).0.unwrap();
    assert_eq!(draft.name.as_deref(), Some("Lamp"));
    assert_eq!(draft.status, Some(ProductStatus::Archived));
}

#[test]
fn a_feed_owns_the_fields_that_its_mapping_lists() {
    let owns = |fields: &str| with("").replace("[product]", &format!("[product]\nowns = {fields}"));
    let row = json!({"id": 1, "name": "Lamp"});
    let draft = product(&owns(r#"["kind", "name"]"#), &row).0.unwrap();
    assert_eq!(draft.owns, [ProductField::Name, ProductField::Kind]);
    assert!(!draft.is_partial());
    let wrong = refusal(&owns(r#"["nam"]"#));
    assert!(
        wrong.starts_with("product.owns: \"nam\" is not one of name, description, brand"),
        "{wrong}"
    );
    let wrong = refusal(&owns(r#""price""#));
    assert_eq!(wrong, "product.owns: \"price\" is not mapped here");
}

#[test]
fn a_mapping_says_something_and_details_have_a_kind() {
    let nothing = PRICES.replace("price =", "# price =");
    let wrong = refusal(&nothing);
    assert!(
        wrong.starts_with("product.name: is required, as"),
        "{wrong}"
    );
    let wrong = refusal(&prices_with("details = { isbn = \"isbn\" }"));
    assert!(wrong.starts_with("product.kind: is required"), "{wrong}");
    let typed = prices_with("details = { isbn = \"isbn\" }\nkind = { value = \"book\" }");
    let draft = product(&typed, &json!({"nr": 7, "isbn": "978"})).0.unwrap();
    assert_eq!(draft.kind.as_deref(), Some("book"));
    assert!(!draft.details.is_empty() && draft.is_partial());
}

#[test]
fn products_that_are_derived_from_reviews_are_whole() {
    let reviews = "[review]\nexternal_id = \"nr\"\nproduct = \"nr\"\nrating = \"stars\"";
    let wrong = refusal(&prices_with(reviews));
    assert_eq!(
        wrong,
        "product.name: is required, because products are derived from reviews"
    );
    let apart = prices_with(&format!("derived = false\n{reviews}"));
    assert_eq!(parse(&apart).unwrap().output(), MappingOutput::Several);
}
