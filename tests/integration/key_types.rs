//! A spec key whose type was guessed from a feed gets another type; products that have values of it are
//! rewritten.

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, product, test};
use vitrine_model::import::LineOutcome;
use vitrine_model::spec::SpecValue;

/// More than one batch of rewriting.
const PRODUCTS: usize = 130;

/// Products whose widths a feed has as texts.
async fn has_widths(app: &App) {
    let all =
        (1..=PRODUCTS).map(|n| product(&format!("P{n:03}")).text("width", &format!("{n} mm")));
    app.has(all).await;
}

async fn retype(app: &App, fields: Value) -> vitrine_harness::mutations::Reply {
    let mut input = json!({ "key": "width" });
    let fields = fields.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    app.mutate("updateSpecKey", input).await
}

/// The products that are at least 100 mm wide.
async fn wide(app: &App) -> Value {
    let query = "query ($filter: ProductFilterInput) { products(first: 1, filter: $filter) { totalCount { value } } }";
    let filter = json!({ "specs": [{ "key": "width", "number": { "gte": 10, "unit": "cm" } }] });
    app.query(query)
        .with("filter", filter)
        .await
        .at("/products/totalCount/value")
        .clone()
}

#[test]
fn a_guessed_type_changes_where_every_value_has_one_of_the_new_type() {
    test(async |app| {
        has_widths(app).await;
        let changed = retype(app, json!({ "type": "QUANTITY", "dimension": "length" })).await;
        assert_eq!(changed.text("/specKey/type"), "QUANTITY");
        assert_eq!(app.catalog.continue_merges().await.unwrap(), 130);
        assert_eq!(wide(app).await, 31);
        let one = app
            .query(
                r#"{ product(slug: "p007") { revision specs { key text value { __typename } } } }"#,
            )
            .await;
        let expected = json!({
            "revision": 2,
            "specs": [{ "key": "width", "text": "7 mm", "value": { "__typename": "QuantityValue" } }],
        });
        assert_eq!(*one.at("/product"), expected);
        let busy = retype(app, json!({ "type": "TEXT" }))
            .await
            .user_errors()
            .join(
                "
",
            );
        assert_eq!(
            busy,
            "IN_USE at type: the values of width are still being rewritten from type text; try again in a moment"
        );
        app.clock.advance(11_000);
        assert_eq!(app.catalog.continue_merges().await.unwrap(), 0);
        let back = retype(app, json!({ "type": "TEXT" })).await;
        assert_eq!(back.text("/specKey/type"), "TEXT");
        assert_eq!(app.catalog.continue_merges().await.unwrap(), 130);
        let text = app
            .query(r#"{ product(slug: "p007") { specs { text } } }"#)
            .await;
        assert_eq!(text.text("/product/specs/0/text"), "7 mm");
    });
}

#[test]
fn a_value_that_has_none_of_the_new_type_is_named() {
    test(async |app| {
        has_widths(app).await;
        app.has([product("Odd"), product("Fed").text("width", "some")])
            .await;
        let id = app
            .query(r#"{ product(slug: "odd") { id } }"#)
            .await
            .text("/product/id");
        let edit =
            json!({ "productId": id, "specs": [{ "key": "width", "text": "about a hand" }] });
        app.mutate("setSpecs", edit).await.done();
        let refused = retype(app, json!({ "type": "QUANTITY", "dimension": "length" }))
            .await
            .user_errors()
            .join(
                "
",
            );
        assert_eq!(
            refused,
            "IN_USE at type: products have \"about a hand\" of width, which is not a number with a unit of length, such as 12.5 mm; change or remove these values first"
        );
        let refused = retype(app, json!({ "type": "BOOLEAN" }))
            .await
            .user_errors()
            .join(
                "
",
            );
        assert!(refused.contains("yes or no"), "{refused}");
    });
}

#[test]
fn the_feed_goes_on_with_the_new_type() {
    test(async |app| {
        let text = product("Shelf").text("width", "40 mm");
        let quantity = |value| product("Shelf").quantity("width", value, "mm");
        app.has([text.clone()]).await;
        retype(app, json!({ "type": "QUANTITY", "dimension": "length" }))
            .await
            .done();
        app.catalog.continue_merges().await.unwrap();
        for expected in [LineOutcome::Updated, LineOutcome::Unchanged] {
            let drafts = vec![quantity(41.0).into()];
            let (outcomes, _) = app.import(ImportMode::Write, drafts, Vec::new()).await;
            assert_eq!(outcomes, [expected]);
        }
    });
}

#[test]
fn a_released_spec_has_the_new_type_although_the_feed_said_the_old_one() {
    test(async |app| {
        app.has([product("Shelf").text("width", "40 mm").text("color", "red")])
            .await;
        let id = app
            .query(r#"{ product(slug: "shelf") { id } }"#)
            .await
            .text("/product/id");
        let edit = json!({ "productId": id, "specs": [{ "key": "width", "text": "50 mm" }] });
        app.mutate("setSpecs", edit).await.done();
        retype(app, json!({ "type": "QUANTITY", "dimension": "length" }))
            .await
            .done();
        app.catalog.continue_merges().await.unwrap();
        let release = json!({ "productId": id, "fields": ["specs.width"] });
        app.mutate("releaseFields", release).await.done();
        let one = app.query(r#"{ product(slug: "shelf") { spec(key: "width") { text value { __typename } } } }"#).await;
        assert_eq!(
            *one.at("/product/spec"),
            json!({ "text": "40 mm", "value": { "__typename": "QuantityValue" } })
        );
    });
}

/// What a feed of a system says of one product.
async fn says(app: &App, system: &str, name: &str, value: SpecValue) -> LineOutcome {
    let draft = product(name).source(system, name).spec("width", value);
    let (mut outcomes, _) = app
        .import(ImportMode::Write, vec![draft.into()], Vec::new())
        .await;
    outcomes.remove(0)
}

async fn type_of_width(app: &App) -> String {
    let key = app.query(r#"{ specKey(key: "width") { type } }"#).await;
    key.text("/specKey/type")
}

fn text(text: &str) -> SpecValue {
    SpecValue::Text(text.to_owned())
}

#[test]
fn a_later_import_changes_a_type_that_only_its_feed_has_used() {
    test(async |app| {
        let numbers = |names: &[&str]| {
            let draft = |name: &&str| {
                product(name)
                    .source("one", name)
                    .number("width", 4.0)
                    .into()
            };
            names.iter().map(draft).collect()
        };
        assert_eq!(
            says(app, "one", "A", text("N/A")).await,
            LineOutcome::Created
        );
        // One value is not more than the product that has the key.
        let (outcomes, _) = app
            .import(ImportMode::Write, numbers(&["B"]), Vec::new())
            .await;
        assert!(
            matches!(outcomes[0], LineOutcome::Rejected(_)),
            "{outcomes:?}"
        );
        for (mode, named) in [(ImportMode::DryRun, "TEXT"), (ImportMode::Write, "NUMBER")] {
            let (outcomes, summary) = app.import(mode, numbers(&["B", "C"]), Vec::new()).await;
            assert_eq!(outcomes, [LineOutcome::Created, LineOutcome::Created]);
            assert_eq!(
                (summary.new_keys.len(), &*type_of_width(app).await),
                (0, named)
            );
        }
        let rewritten = app.catalog.continue_merges().await.unwrap();
        assert_eq!(rewritten, 1, "A loses a value that says no number");
        let a = app
            .query(r#"{ product(slug: "a") { specs { key } } }"#)
            .await;
        assert_eq!(*a.at("/product/specs"), json!([]));
    });
}

#[test]
fn a_type_that_others_rely_on_stays() {
    test(async |app| {
        assert_eq!(
            says(app, "one", "A", text("wide")).await,
            LineOutcome::Created
        );
        assert_eq!(
            says(app, "two", "B", text("narrow")).await,
            LineOutcome::Created
        );
        let refused = says(app, "one", "C", SpecValue::Number(4.0)).await;
        assert!(matches!(refused, LineOutcome::Rejected(_)), "{refused:?}");
        assert_eq!(type_of_width(app).await, "TEXT");
    });
}

#[test]
fn a_type_that_a_person_relies_on_stays() {
    test(async |app| {
        assert_eq!(
            says(app, "one", "A", text("wide")).await,
            LineOutcome::Created
        );
        app.has([product("Other")]).await;
        let id = app
            .query(r#"{ product(slug: "other") { id } }"#)
            .await
            .text("/product/id");
        let edit = json!({ "productId": id, "specs": [{ "key": "width", "text": "narrow" }] });
        app.mutate("setSpecs", edit).await.done();
        let refused = says(app, "one", "C", SpecValue::Number(4.0)).await;
        assert!(matches!(refused, LineOutcome::Rejected(_)), "{refused:?}");
    });
}
