//! Lists of products as admins ask for them: by kind, supplier, price, pictures and time of change.

use std::collections::HashMap;

use serde_json::{Value, json};
use vitrine_harness::profile::Executed;
use vitrine_harness::{Answer, App, Request, product, test};
use vitrine_model::product::ProductStatus;

const LIST: &str = "query ($filter: ProductFilterInput, $sort: [ProductSortInput!], $first: Int, $after: String, $last: Int, $before: String) {
    products(filter: $filter, sort: $sort, first: $first, after: $after, last: $last, before: $before) {
        nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
const ADMIN_FILTERS: [&str; 5] = ["kind", "supplier", "hasPrice", "hasMedia", "updatedSince"];

/// Sixty products that differ in everything that admins filter by: every second is a book, a third has no price, a
/// fifth no picture, one in seven is a draft, and each six are changed a second after the six before them.
async fn stock(app: &App) {
    for batch in 0..10 {
        let one = |n: usize| {
            let book = product(&format!("P{n:02}"))
                .kind(if n.is_multiple_of(2) { "book" } else { "lamp" })
                .category(["Shop", if n.is_multiple_of(4) { "Left" } else { "Right" }])
                .brand(if n.is_multiple_of(3) {
                    "Karst"
                } else {
                    "Ferrit"
                })
                .supplier(&format!("Supplier {}", n % 4), "DE");
            let priced = if n.is_multiple_of(3) {
                book
            } else {
                book.price(&format!("{}.00", 90 - n))
            };
            let pictured = if n.is_multiple_of(5) {
                priced
            } else {
                priced.image("https://shop.example/1.png", "")
            };
            let status = if n.is_multiple_of(7) {
                ProductStatus::Draft
            } else {
                ProductStatus::Active
            };
            pictured.status(status)
        };
        app.has((batch * 6..batch * 6 + 6).map(one)).await;
        app.clock.advance(1_000);
    }
}

/// A query with variables.
fn ask<'a>(app: &'a App, query: &str, variables: &Value) -> Request<'a> {
    let variables = variables.as_object().unwrap().iter();
    variables.fold(app.query(query), |request, (name, value)| {
        request.with(name, value.clone())
    })
}

async fn list(app: &App, variables: Value) -> Answer {
    let answer = ask(app, LIST, &variables).as_admin().await;
    assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    answer
}

/// The numbers of the products that a filter finds, in order.
async fn found(app: &App, filter: &Value, key: &str) -> Vec<usize> {
    let variables = json!({ "filter": filter, "sort": [{ "key": key }], "first": 100 });
    numbers(&list(app, variables).await)
}

fn numbers(answer: &Answer) -> Vec<usize> {
    let names = answer.names("/products");
    names
        .iter()
        .map(|name| name[1..].parse().unwrap())
        .collect()
}

async fn supplier_ids(app: &App) -> HashMap<String, String> {
    let all = app.query("{ suppliers { nodes { id name } } }").await;
    let all = all.at("/suppliers/nodes").as_array().unwrap().clone();
    let pair = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap().to_owned();
        (text("name"), text("id"))
    };
    all.iter().map(pair).collect()
}

async fn changed_at(app: &App, n: usize) -> String {
    let query = format!("{{ product(slug: \"p{n:02}\") {{ updatedAt }} }}");
    app.query(&query)
        .as_admin()
        .await
        .text("/product/updatedAt")
}

/// Whether the row with a number matches.
type Matches = fn(usize) -> bool;

#[test]
fn admins_find_products_by_what_they_are_and_lack() {
    test(async |app| {
        stock(app).await;
        let suppliers = supplier_ids(app).await;
        let (one, two) = (&suppliers["Supplier 1"], &suppliers["Supplier 2"]);
        let since = changed_at(app, 30).await;
        let cases: [(Value, Matches); 14] = [
            (json!({ "kind": ["book"] }), |n| n % 2 == 0),
            (json!({ "kind": ["lamp", "sofa"] }), |n| n % 2 == 1),
            (json!({ "kind": [] }), |_| false),
            (json!({ "supplier": [one, two] }), |n| {
                matches!(n % 4, 1 | 2)
            }),
            (json!({ "hasPrice": false }), |n| n % 3 == 0),
            (json!({ "hasPrice": true }), |n| n % 3 != 0),
            (json!({ "hasMedia": false }), |n| n % 5 == 0),
            (json!({ "hasMedia": true }), |n| n % 5 != 0),
            (json!({ "updatedSince": since }), |n| n >= 30),
            (json!({ "not": { "hasMedia": true } }), |n| n % 5 == 0),
            (
                json!({ "or": [{ "kind": ["lamp"] }, { "hasPrice": false }] }),
                |n| n % 2 == 1 || n % 3 == 0,
            ),
            (
                json!({ "kind": ["book"], "hasMedia": false, "category": ["left"] }),
                |n| n % 20 == 0,
            ),
            (
                json!({ "hasPrice": false, "hasMedia": false, "updatedSince": since }),
                |n| n >= 30 && n % 15 == 0,
            ),
            (
                json!({ "brand": ["karst"], "supplier": [two], "status": ["ACTIVE"] }),
                |n| n % 3 == 0 && n % 4 == 2 && n % 7 != 0,
            ),
        ];
        for (filter, matches) in cases {
            let expected: Vec<usize> = (0..60).filter(|n| matches(*n)).collect();
            for key in ["NAME", "UPDATED", "PRICE"] {
                let mut names = found(app, &filter, key).await;
                names.sort_unstable();
                assert_eq!(names, expected, "{filter} by {key}");
            }
        }
    });
}

#[test]
fn only_admins_ask_for_what_shoppers_do_not_need() {
    test(async |app| {
        let values = [
            json!(["book"]),
            json!([]),
            json!(true),
            json!(false),
            json!("2026-01-01T00:00:00Z"),
        ];
        for (field, value) in ADMIN_FILTERS.iter().zip(values) {
            for filter in [
                json!({ *field: value }),
                json!({ "not": { *field: value } }),
            ] {
                let refusal = ask(app, LIST, &json!({ "filter": filter })).await;
                refusal.assert_commands(&[]);
                let [error] = &refusal.errors()[..] else {
                    panic!("{:?}", refusal.errors());
                };
                assert!(
                    error.starts_with("FORBIDDEN at products: ") && error.contains(field),
                    "{error}"
                );
            }
        }
    });
}

#[test]
fn ids_of_other_things_are_no_suppliers() {
    test(async |app| {
        app.has([product("P00")]).await;
        let product = app.query("{ product(slug: \"p00\") { id } }").await;
        for id in [product.text("/product/id"), "nonsense".to_owned()] {
            let variables = json!({ "filter": { "supplier": [id] } });
            let refusal = ask(app, LIST, &variables).as_admin().await;
            let errors = refusal.errors().join("\n");
            assert!(errors.contains("filter.supplier[0]: "), "{errors}");
        }
    });
}

/// Each count of a facet is the number of products that its filter finds, beside the filters of admins.
#[test]
fn facets_beside_filters_of_admins_are_exact() {
    const FACETS: &str = "query ($filter: ProductFilterInput) { products(filter: $filter) {
        totalCount { value relation }
        facets(keys: [\"@brand\", \"@category\", \"@price\"]) { key accuracy productCount values { label count } } } }";
    test(async |app| {
        stock(app).await;
        let since = changed_at(app, 12).await;
        let filters = [
            json!({ "kind": ["book"] }),
            json!({ "hasPrice": false }),
            json!({ "hasMedia": false }),
            json!({ "updatedSince": since, "kind": ["lamp"] }),
        ];
        for filter in filters {
            let answer = ask(app, FACETS, &json!({ "filter": filter }))
                .as_admin()
                .await;
            let total = found(app, &filter, "NAME").await;
            assert_eq!(
                *answer.at("/products/totalCount/value"),
                total.len(),
                "{filter}"
            );
            for facet in answer.at("/products/facets").as_array().unwrap() {
                assert_eq!(facet["accuracy"], "EXACT");
                if facet["key"] != "@brand" {
                    continue;
                }
                for value in facet["values"].as_array().unwrap() {
                    let mut chosen = filter.clone();
                    chosen["brand"] = json!([value["label"]]);
                    let own = found(app, &chosen, "NAME").await;
                    assert_eq!(value["count"], own.len(), "{chosen}");
                }
            }
        }
    });
}

#[test]
fn products_are_sorted_by_change_and_move_when_they_change() {
    test(async |app| {
        stock(app).await;
        let batches = |numbers: &[usize]| numbers.iter().map(|n| n / 6).collect::<Vec<_>>();
        let down = found(app, &json!({}), "UPDATED").await;
        assert!(batches(&down).is_sorted_by(|a, b| a >= b), "{down:?}");
        let sort = json!([{ "key": "UPDATED", "direction": "ASCENDING" }]);
        let all = list(app, json!({ "sort": sort, "first": 100 })).await;
        let mut up = numbers(&all);
        up.reverse();
        assert_eq!(up, down);
        let page = |after: Value| {
            list(
                app,
                json!({ "sort": [{ "key": "UPDATED" }], "first": 7, "after": after }),
            )
        };
        let first = page(Value::Null).await;
        // One that was not seen yet comes to the newest end; the rest stays where it was.
        let id = app
            .query("{ product(slug: \"p00\") { id } }")
            .as_admin()
            .await;
        let change = json!({ "id": id.text("/product/id"), "brand": "Zeta" });
        app.mutate("updateProduct", change).await.done();
        let second = page(first.at("/products/pageInfo/endCursor").clone()).await;
        assert_eq!(numbers(&second), down[7..14]);
        assert_eq!(found(app, &json!({}), "UPDATED").await[0], 0);
    });
}

/// Walks forwards and backwards in pages, with each filter.
#[test]
fn pages_by_change_see_every_product_once_in_both_directions() {
    test(async |app| {
        stock(app).await;
        let suppliers = supplier_ids(app).await;
        let filters = [
            json!({}),
            json!({ "category": ["left", "right"] }),
            json!({ "kind": ["book"] }),
            json!({ "kind": ["book", "lamp"], "status": ["ACTIVE"] }),
            json!({ "supplier": [suppliers["Supplier 1"]], "status": ["ACTIVE"] }),
            json!({ "hasPrice": false }),
            json!({ "hasPrice": false, "status": ["ACTIVE"] }),
            json!({ "hasMedia": false }),
            json!({ "hasMedia": false, "status": ["ACTIVE"] }),
        ];
        for filter in filters {
            for direction in ["ASCENDING", "DESCENDING"] {
                let sort = json!([{ "key": "UPDATED", "direction": direction }]);
                let whole = numbers(
                    &list(app, json!({ "filter": filter, "sort": sort, "first": 100 })).await,
                );
                let (mut forwards, mut cursor) = (Vec::new(), Value::Null);
                while cursor != Value::String(String::new()) {
                    let page = list(
                        app,
                        json!({ "filter": filter, "sort": sort, "first": 5, "after": cursor }),
                    )
                    .await;
                    forwards.extend(numbers(&page));
                    cursor = next(&page, "hasNextPage", "endCursor");
                }
                assert_eq!(forwards, whole, "{filter} {direction}");
                let (mut backwards, mut cursor) = (Vec::new(), Value::Null);
                while cursor != Value::String(String::new()) {
                    let page = list(
                        app,
                        json!({ "filter": filter, "sort": sort, "last": 5, "before": cursor }),
                    )
                    .await;
                    backwards.splice(0..0, numbers(&page));
                    cursor = next(&page, "hasPreviousPage", "startCursor");
                }
                assert_eq!(backwards, whole, "{filter} {direction}");
            }
        }
    });
}

/// The cursor of the next page; an empty text after the last one.
fn next(page: &Answer, more: &str, cursor: &str) -> Value {
    if *page.at(&format!("/products/pageInfo/{more}")) == true {
        page.at(&format!("/products/pageInfo/{cursor}")).clone()
    } else {
        Value::String(String::new())
    }
}

/// The index of the list, whether it sorts in memory, and the keys that it reads.
async fn plan(
    app: &App,
    filter: &Value,
    key: &str,
    patterns: &HashMap<String, String>,
) -> (String, bool, i64) {
    let variables = json!({ "filter": filter, "sort": [{ "key": key }], "first": 4 });
    let (_, executed) = app.profile(list(app, variables)).await;
    assert!(executed.iter().all(|one| !one.plan().contains("COLLSCAN")));
    let finds: Vec<&Executed> = executed
        .iter()
        .filter(|one| one.command() == "find")
        .collect();
    let [find] = finds[..] else {
        panic!("{finds:?}");
    };
    (find.indexes(patterns).join(" "), find.sorts(), find.keys())
}

#[test]
fn lists_by_change_are_read_from_indexes() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        stock(app).await;
        let suppliers = supplier_ids(app).await;
        let since = changed_at(app, 54).await;
        app.start_profiler().await;
        let patterns = app.index_patterns("products").await;
        // Three states are merged, and one row more is read.
        let cases = [
            (json!({ "kind": ["book"] }), "kind_updated", 8),
            (
                json!({ "supplier": [suppliers["Supplier 1"]] }),
                "supplier_updated",
                8,
            ),
            (json!({ "hasPrice": false }), "without_price", 8),
            (json!({ "hasMedia": false }), "without_media", 8),
            (json!({ "updatedSince": since }), "updated", 8),
            (
                json!({ "kind": ["book"], "category": ["left"] }),
                "category_updated",
                10,
            ),
        ];
        for (filter, index, most) in cases {
            let (used, sorts, keys) = plan(app, &filter, "UPDATED", &patterns).await;
            assert_eq!((used.as_str(), sorts), (index, false), "{filter}");
            assert!(keys <= most, "{filter}: {keys} keys");
        }
    });
}

#[test]
fn lists_in_another_order_sort_what_matches_unless_it_is_much() {
    test(async |app| {
        stock(app).await;
        let few = &app.with_max_read(25).await;
        few.start_profiler().await;
        let patterns = few.index_patterns("products").await;
        let suppliers = supplier_ids(app).await;
        let cases = [
            (json!({ "kind": ["book"] }), "name", false),
            (
                json!({ "supplier": [suppliers["Supplier 1"]] }),
                "supplier_updated",
                true,
            ),
            (json!({ "hasPrice": false }), "without_price", true),
            (json!({ "hasMedia": false }), "without_media", true),
            (
                json!({ "updatedSince": changed_at(app, 54).await }),
                "updated",
                true,
            ),
            (
                json!({ "updatedSince": changed_at(app, 0).await }),
                "name",
                false,
            ),
            (
                json!({ "updatedSince": changed_at(app, 0).await, "category": ["left"] }),
                "category_updated",
                true,
            ),
        ];
        for (filter, index, is_sorted) in cases {
            let (used, sorts, _) = plan(few, &filter, "NAME", &patterns).await;
            assert_eq!((used.as_str(), sorts), (index, is_sorted), "{filter}");
        }
    });
}
