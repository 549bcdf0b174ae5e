//! Odd and hostile input is refused with a clear error or handled correctly, and no text of a
//! caller becomes an operator or a pattern in the database.

use mongodb::bson::{Bson, Document};
use serde_json::{Value, json};
use vitrine_harness::profile::Executed;
use vitrine_harness::{Answer, App, product, test};

const LIST: &str = "query($filter: ProductFilterInput) { products(filter: $filter) { nodes { name } totalCount { value } } }";

async fn stock(app: &App) {
    app.has([
        product("Mug")
            .brand("Acme")
            .price("5")
            .text("color", "Red")
            .quantity("volume", 300.0, "ml")
            .number("handles", 1.0)
            .boolean("lid", false)
            .date("release", "2024-01-01"),
        product("Jug")
            .text("color", "$gt")
            .quantity("volume", 1.0, "l"),
    ])
    .await;
}

async fn list(app: &App, filter: Value) -> Answer {
    app.query(LIST).with("filter", filter).await
}

fn spec(key: &str, test: &str, value: Value) -> Value {
    let mut spec = json!({ "key": key });
    spec[test] = value;
    json!({ "specs": [spec] })
}

/// The id of the mug.
async fn mug(app: &App) -> String {
    let found = app.query(r#"{ product(slug: "mug") { id } }"#).await;
    found.text("/product/id")
}

#[test]
fn an_unknown_key_finds_nothing_and_gives_a_hint() {
    test(async |app| {
        stock(app).await;
        let answer = list(app, spec("colr", "text", json!({ "eq": "red" }))).await;
        assert_eq!(answer.names("/products"), [""; 0]);
        assert_eq!(
            answer.hints(),
            [r#"filter.specs[0].key: there is no spec key "colr"; did you mean "color"?"#]
        );
        let far = list(app, json!({ "or": [{ "specs": [{ "key": "xyzzy", "exists": true }] }, { "not": { "specs": [{ "key": "volum", "exists": true }] } }] })).await;
        assert_eq!(
            far.names("/products").len(),
            2,
            "what nobody has nobody has"
        );
        let hints = far.hints();
        assert_eq!(hints.len(), 2, "{hints:?}");
        assert!(
            hints[0].starts_with("filter.or[0].specs[0].key: ") && hints[0].ends_with("\"xyzzy\""),
            "{hints:?}"
        );
        assert!(
            hints[1].starts_with("filter.or[1].not.specs[0].key: ")
                && hints[1].contains("\"volume\""),
            "{hints:?}"
        );
        let loud = list(app, spec("COLOR", "exists", json!(true))).await;
        assert!(
            loud.hints()[0].ends_with("did you mean \"color\"?"),
            "{:?}",
            loud.hints()
        );
        let facets = r#"{ products { facets(keys: ["color", "colour"]) { key } } }"#;
        let facets = app.query(facets).await;
        assert_eq!(facets.at("/products/facets"), &json!([{ "key": "color" }]));
        assert_eq!(
            facets.hints(),
            [r#"keys[1]: there is no spec key "colour"; did you mean "color"?"#]
        );
        let right = list(app, spec("color", "text", json!({ "eq": "red" }))).await;
        assert_eq!(right.hints(), [""; 0]);
        assert!(
            right
                .body()
                .get("extensions")
                .is_none_or(|extensions| extensions.get("hints").is_none())
        );
    });
}

/// Filters on specs without a meaning, each with a part of its refusal.
fn wrong_spec_filters() -> Vec<(Value, &'static str)> {
    let number = |value: Value| spec("volume", "number", value);
    vec![
        (
            number(json!({ "gte": 1, "unit": "kg" })),
            "filter.specs[0].number.unit",
        ),
        (
            number(json!({ "gte": 1, "unit": "cubits" })),
            "filter.specs[0].number.unit",
        ),
        (number(json!({ "gte": 1 })), "say the unit"),
        (
            spec("handles", "number", json!({ "gte": 1, "unit": "kg" })),
            "leave the unit out",
        ),
        (
            number(json!({ "gte": 2, "lte": 1, "unit": "l" })),
            "lower end is above",
        ),
        (number(json!({ "unit": "l" })), "give at least one"),
        (
            number(json!({ "eq": 1, "gte": 1, "unit": "l" })),
            "eq goes alone",
        ),
        (
            number(json!({ "gt": 1, "gte": 1, "unit": "l" })),
            "not both",
        ),
        (
            spec("color", "number", json!({ "gte": 1 })),
            "holds values of type text",
        ),
        (
            spec("lid", "text", json!({ "eq": "yes" })),
            "holds values of type boolean",
        ),
        (
            spec(
                "release",
                "date",
                json!({ "gte": "2024-02-01", "lt": "2024-01-01" }),
            ),
            "lower end is above",
        ),
        (json!({ "specs": [{ "key": "color" }] }), "exactly one of"),
        (
            json!({ "specs": [{ "key": "color", "text": { "eq": "a" }, "exists": true }] }),
            "exactly one of",
        ),
        (
            spec("color", "text", json!({ "in": vec!["b"; 101] })),
            "at most 100 values",
        ),
    ]
}

/// Other filters without a meaning, each with a part of its refusal.
fn wrong_filters() -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({ "price": { "gte": "5", "lte": "4" } }),
            "lower end is above",
        ),
        (json!({ "price": {} }), "give at least one"),
        (json!({ "rating": { "gte": 4.2 } }), "steps of 0.5"),
        (json!({ "rating": { "gte": 6 } }), "1 to 5"),
        (json!({ "brand": vec!["b"; 101] }), "at most 100 values"),
    ]
}

#[test]
fn a_filter_without_a_meaning_is_refused_with_its_place_before_any_product_is_read() {
    test(async |app| {
        stock(app).await;
        for (filter, reason) in wrong_spec_filters().into_iter().chain(wrong_filters()) {
            let answer = list(app, filter.clone()).await;
            let errors = answer.errors().concat();
            assert!(
                errors.starts_with("BAD_USER_INPUT") && errors.contains(reason),
                "{filter}: {}",
                answer.pretty()
            );
            assert!(
                answer
                    .sent_for_query()
                    .iter()
                    .all(|command| *command == "find settings"),
                "{filter}: {:?}",
                answer.sent()
            );
        }
        for text in [json!({ "eq": "a", "in": ["b"] }), json!({ "eq": null })] {
            let answer = list(app, json!({ "specs": [{ "key": "color", "text": text }] })).await;
            assert!(!answer.errors().is_empty());
        }
    });
}

#[test]
fn literals_that_are_no_finite_numbers_are_refused_before_any_command() {
    test(async |app| {
        stock(app).await;
        for literal in [
            "1e400", "-1e400", "NaN", "Infinity", "\"NaN\"", "\"1\"", "0x10",
        ] {
            for query in [
                format!(
                    r#"{{ products(filter: {{ specs: [{{ key: "handles", number: {{ gte: {literal} }} }}] }}) {{ nodes {{ name }} }} }}"#
                ),
                format!(
                    r#"mutation {{ setSpecs(input: {{ productId: "x", specs: [{{ key: "handles", number: {literal} }}] }}) {{ userErrors {{ code }} }} }}"#
                ),
                format!(
                    r#"mutation {{ defineUnit(input: {{ symbol: "zz", dimension: "mass", factor: {literal} }}) {{ userErrors {{ code }} }} }}"#
                ),
            ] {
                let answer = app.query(&query).as_admin().await;
                assert!(!answer.errors().is_empty(), "{query}");
                assert_eq!(answer.sent_for_query(), [""; 0], "{query}");
            }
        }
    });
}

#[test]
fn amounts_and_days_that_do_not_exist_are_refused() {
    test(async |app| {
        stock(app).await;
        for amount in [
            "NaN",
            "1e5",
            "",
            "1,5",
            "0x1",
            "١٢",
            "9".repeat(60).as_str(),
        ] {
            let answer = list(app, json!({ "price": { "gte": amount } })).await;
            let fine = answer.errors().is_empty() && answer.names("/products").is_empty();
            assert!(
                fine || answer.errors().concat().starts_with("BAD_USER_INPUT"),
                "{amount}: {}",
                answer.pretty()
            );
        }
        for date in [
            "2024-02-30",
            "yesterday",
            "9999999-01-01",
            "2024-01-01T25:00:00Z",
            "",
        ] {
            let answer = list(app, spec("release", "date", json!({ "gte": date }))).await;
            assert!(
                answer.errors().concat().contains("BAD_USER_INPUT"),
                "{date}: {}",
                answer.pretty()
            );
        }
    });
}

#[test]
fn extreme_numbers_are_numbers() {
    test(async |app| {
        stock(app).await;
        for (number, hits) in [(1e308, 0), (-1e308, 1), (5e-324, 1), (-0.0, 1)] {
            let answer = list(app, spec("handles", "number", json!({ "gte": number }))).await;
            assert_eq!(answer.names("/products").len(), hits, "{number}");
        }
        let far = list(
            app,
            spec("volume", "number", json!({ "gte": 1e308, "unit": "m³" })),
        )
        .await;
        assert!(
            far.errors().is_empty() || far.errors().concat().contains("unit"),
            "{}",
            far.pretty()
        );
        for (amount, hits) in [
            ("99999999999999999999999999", 0),
            ("-99999999999999999999999999", 1),
            ("0.0000000000000000000000001", 1),
        ] {
            let answer = list(app, json!({ "price": { "gte": amount } })).await;
            assert_eq!(answer.names("/products").len(), hits, "{amount}");
        }
    });
}

/// Texts with a meaning in a shell, a pattern, the database or a terminal.
const ODD: [&str; 18] = [
    "$gt",
    "$where",
    "a.b",
    ".",
    "",
    " ",
    "a\u{0}b",
    "\u{202e}der\u{202c}",
    "👩\u{200d}🚀",
    "^.*$",
    "(a+)+",
    "{\"$ne\":null}",
    "'; drop",
    "../../etc",
    "\u{feff}red",
    "re\u{301}d",
    "%00",
    "@brand=acme",
];

/// Queries with this text in every argument: each finds what has the text and nothing else.
async fn read_with(app: &App, odd: &str) {
    let fields = "query($t: String!, $id: ID!, $f: ProductFilterInput) {
            slug: product(slug: $t) { name } sku: product(sku: $t) { name } node(id: $id) { id }
            category(slug: $t) { name } specKey(key: $t) { key } searchSuggestions(prefix: $t)
            list: products(filter: $f) { nodes { name } } search: products(search: $t) { nodes { name } } cursor: products(after: $t) { nodes { name } } }";
    let filters = [
        json!({ "brand": [odd] }),
        json!({ "category": [odd] }),
        json!({ "country": [odd] }),
        spec("color", "text", json!({ "eq": odd })),
        spec(odd, "exists", json!(true)),
        spec(odd, "text", json!({ "eq": odd })),
        json!({ "specs": [{ "key": "volume", "qualifier": odd, "number": { "gte": 0, "unit": "l" } }] }),
        json!({ "specs": [{ "key": "volume", "number": { "gte": 0, "unit": odd } }] }),
    ];
    for filter in filters {
        let request = app
            .query(fields)
            .with("t", odd)
            .with("id", odd)
            .with("f", filter.clone())
            .into_future();
        let (answer, executed) = app.profile(request).await;
        plain(&answer, &executed, odd);
        let expected = usize::from(odd == "$gt" && filter["specs"][0]["key"] == "color");
        let found = answer.body()["data"]["list"]["nodes"]
            .as_array()
            .map_or(0, Vec::len);
        // A decomposed accent or an invisible mark is folded away like any other.
        let folded =
            ["\u{feff}red", "re\u{301}d"].contains(&odd) && filter["specs"][0]["key"] == "color";
        assert!(
            found == expected || folded,
            "{odd:?} in {filter}: {}",
            answer.pretty()
        );
    }
}

/// Mutations of the product with this text in every field.
fn mutations_with(id: &str, odd: &str) -> Vec<(&'static str, Value)> {
    vec![
        (
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": odd, "text": "x" }] }),
        ),
        (
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "size", "qualifier": odd, "text": "x" }] }),
        ),
        (
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "odd_text", "text": odd }] }),
        ),
        (
            "removeSpecs",
            json!({ "productId": id, "specs": [{ "key": odd, "qualifier": odd }] }),
        ),
        ("updateProduct", json!({ "id": id, "slug": odd })),
        ("updateProduct", json!({ "id": id, "sku": odd })),
        (
            "updateProduct",
            json!({ "id": id, "brand": odd, "description": odd }),
        ),
        ("createCategory", json!({ "name": odd })),
        ("createSupplier", json!({ "name": odd, "country": odd })),
        ("defineSpecKey", json!({ "key": odd, "type": "TEXT" })),
        (
            "defineSpecKey",
            json!({ "key": "odd_key", "type": "TEXT", "allowedValues": [odd], "aliases": [odd] }),
        ),
        (
            "defineUnit",
            json!({ "symbol": odd, "dimension": "mass", "factor": 3 }),
        ),
        ("mergeSpecKeys", json!({ "from": odd, "into": odd })),
        (
            "createProduct",
            json!({ "kind": odd, "name": odd, "category": odd }),
        ),
    ]
}

/// Mutations with this text in every field: each takes it as it is, or refuses it.
async fn write_with(app: &App, id: &str, odd: &str) {
    for (name, input) in mutations_with(id, odd) {
        let (reply, executed) = app
            .profile(app.mutate(name, input.clone()).into_future())
            .await;
        assert!(
            reply.0.errors().is_empty(),
            "{name} {input}: {}",
            reply.0.pretty()
        );
        plain(&reply.0, &executed, odd);
        assert!(reply.payload()["userErrors"].is_array());
    }
    // A text that was accepted is shown unchanged.
    let shown = app
        .query("query($id: ID) { product(id: $id) { spec(key: \"odd_text\") { text } } }")
        .with("id", id)
        .await;
    if let Some(text) = shown.at("/product").pointer("/spec/text") {
        assert_eq!(text, odd);
    }
    app.mutate(
        "removeSpecs",
        json!({ "productId": id, "specs": [{ "key": "odd_text" }] }),
    )
    .await
    .done();
}

#[test]
fn odd_texts_are_plain_text_in_every_argument() {
    test(async |app| {
        stock(app).await;
        let id = mug(app).await;
        app.start_profiler().await;
        for odd in ODD {
            read_with(app, odd).await;
            write_with(app, &id, odd).await;
        }
    });
}

/// Asserts that commands contain only operators of the service and no pattern or code, and that
/// errors do not mention the database.
fn plain(answer: &Answer, executed: &[Executed], odd: &str) {
    for executed in executed {
        if let Ok(command) = executed.entry().get_document("command") {
            look(command, odd);
        }
    }
    for error in answer.errors() {
        assert!(!error.starts_with("INTERNAL"), "{odd:?}: {error}");
        let lower = error.to_lowercase();
        assert!(
            !["mongo", "bson", "e11000"]
                .iter()
                .any(|word| lower.contains(word)),
            "{error}"
        );
    }
}

/// The operators that the service uses.
const OPERATORS: [&str; 33] = [
    "$expr",
    "$size",
    "$setIntersection",
    "$literal",
    "$nin",
    "$and",
    "$or",
    "$nor",
    "$in",
    "$gte",
    "$lte",
    "$gt",
    "$lt",
    "$elemMatch",
    "$match",
    "$lookup",
    "$project",
    "$replaceWith",
    "$first",
    "$group",
    "$sum",
    "$limit",
    "$set",
    "$unset",
    "$inc",
    "$setOnInsert",
    "$db",
    "$clusterTime",
    "$eq",
    "$exists",
    "$ne",
    "$readPreference",
    "$audit",
];

fn look(document: &Document, odd: &str) {
    for (name, value) in document {
        assert!(
            !name.starts_with('$') || OPERATORS.contains(&name.as_str()),
            "{name} was sent for {odd:?}: {document}"
        );
        assert!(
            name != odd || OPERATORS.contains(&odd),
            "{odd:?} is a field of {document}"
        );
        look_at(value, odd);
    }
}

fn look_at(value: &Bson, odd: &str) {
    match value {
        Bson::Document(inner) => look(inner, odd),
        Bson::Array(items) => items.iter().for_each(|item| look_at(item, odd)),
        Bson::RegularExpression(_) | Bson::JavaScriptCode(_) | Bson::JavaScriptCodeWithScope(_) => {
            panic!("{value} was sent for {odd:?}")
        }
        _ => {}
    }
}

#[test]
fn a_megabyte_of_text_in_a_query_gets_a_small_answer() {
    test(async |app| {
        stock(app).await;
        let huge = "x".repeat(1_000_000);
        let query = "query($t: String!, $f: ProductFilterInput) { list: products(filter: $f) { nodes { name } } slug: product(slug: $t) { name } category(slug: $t) { name } specKey(key: $t) { key } }";
        for filter in [
            json!({ "brand": [huge] }),
            json!({ "category": [huge] }),
            json!({ "country": [huge] }),
            spec("color", "text", json!({ "eq": huge })),
            spec(&huge, "exists", json!(true)),
            json!({ "specs": [{ "key": "color", "qualifier": huge, "exists": true }] }),
            json!({ "specs": [{ "key": "volume", "number": { "gte": 1, "unit": huge } }] }),
        ] {
            let answer = app
                .query(query)
                .with("t", huge.clone())
                .with("f", filter.clone())
                .await;
            let what = filter.to_string().replace(&huge, "…");
            small(&answer, &what);
            assert_eq!(
                answer.body()["data"]["list"]["nodes"]
                    .as_array()
                    .map_or(0, Vec::len),
                0
            );
        }
        for text in ["search", "searchSuggestions"] {
            let query = if text == "search" {
                "query($t: String!) { products(search: $t) { nodes { name } } }"
            } else {
                "query($t: String!) { searchSuggestions(prefix: $t) }"
            };
            let answer = app.query(query).with("t", huge.clone()).await;
            assert!(
                answer.errors().concat().contains("200 characters"),
                "{text}"
            );
            assert_eq!(answer.sent_for_query(), [""; 0], "{text}");
        }
        let cursor = app
            .query("query($t: String!) { products(after: $t) { nodes { name } } }")
            .with("t", huge.clone())
            .await;
        assert!(cursor.errors().concat().starts_with("INVALID_CURSOR"));
    });
}

/// Mutations with this text, each with the code and path of its refusal.
fn mutations_with_huge(id: &str, huge: &str) -> [(&'static str, Value, &'static str); 13] {
    const UPDATE: &str = "updateProduct";
    let spec = |spec: Value| json!({ "productId": id, "specs": [spec] });
    [
        (UPDATE, json!({ "id": id, "name": huge }), "INVALID at name"),
        (
            UPDATE,
            json!({ "id": id, "description": huge }),
            "INVALID at description",
        ),
        (
            UPDATE,
            json!({ "id": id, "category": huge }),
            "NOT_FOUND at category",
        ),
        (UPDATE, json!({ "id": huge }), "INVALID at id"),
        (
            "setSpecs",
            spec(json!({ "key": huge, "text": "x" })),
            "INVALID at specs.0.key",
        ),
        (
            "setSpecs",
            spec(json!({ "key": "a", "text": huge })),
            "INVALID at specs.0.text",
        ),
        (
            "setSpecs",
            spec(json!({ "key": "a", "number": 1, "unit": huge })),
            "NOT_FOUND at specs.0.unit",
        ),
        ("createCategory", json!({ "name": huge }), "INVALID at name"),
        (
            "createCategory",
            json!({ "name": "x", "parent": huge }),
            "NOT_FOUND at parent",
        ),
        (
            "createSupplier",
            json!({ "name": "x", "country": huge }),
            "INVALID at country",
        ),
        (
            "defineSpecKey",
            json!({ "key": huge, "type": "TEXT" }),
            "INVALID at key",
        ),
        (
            "mergeSpecKeys",
            json!({ "from": huge, "into": "color" }),
            "NOT_FOUND at from",
        ),
        (
            "createCategory",
            json!({ "name": "x", "idempotencyKey": huge }),
            "INVALID at idempotencyKey",
        ),
    ]
}

#[test]
fn a_megabyte_of_text_in_a_mutation_is_refused_with_its_place() {
    test(async |app| {
        stock(app).await;
        let huge = "x".repeat(1_000_000);
        let id = mug(app).await;
        for (name, input, place) in mutations_with_huge(&id, &huge) {
            let reply = app.mutate(name, input).await;
            small(&reply.0, name);
            assert!(
                reply.user_error_paths().contains(&place.to_owned()),
                "{name}: {:?}",
                reply.user_error_paths()
            );
        }
    });
}

/// Asserts that an answer is far smaller than the request.
fn small(answer: &Answer, what: &str) {
    let bytes = answer.body().to_string().len();
    assert!(bytes < 5_000, "{what}: an answer of {bytes} bytes");
    for error in answer.errors() {
        assert!(!error.starts_with("INTERNAL"), "{what}: {error}");
    }
}

#[test]
fn ten_thousand_filters_are_refused_in_any_nesting() {
    test(async |app| {
        stock(app).await;
        let leaf = || json!({ "specs": [{ "key": "color", "text": { "eq": "red" } }] });
        let deep = |depth: usize| {
            (0..depth).fold(leaf(), |inner, n| match n % 3 {
                0 => json!({ "and": [inner] }),
                1 => json!({ "or": [inner] }),
                _ => json!({ "not": inner }),
            })
        };
        let leaves = |n: usize| (0..n).map(|_| leaf()).collect::<Vec<_>>();
        let one = |n: usize| {
            (0..n)
                .map(|_| leaf()["specs"][0].clone())
                .collect::<Vec<_>>()
        };
        for (filter, reason) in [
            (json!({ "or": leaves(10_000) }), "50 conditions"),
            (json!({ "and": leaves(10_000) }), "50 conditions"),
            (json!({ "specs": one(10_000) }), "50 conditions"),
            (json!({ "or": [{ "or": leaves(51) }] }), "50 conditions"),
            (deep(6), "nested 5 deep"),
            (deep(60), "nested 5 deep"),
            (
                spec("color", "text", json!({ "in": vec!["x"; 10_000] })),
                "at most 100",
            ),
            (json!({ "category": vec!["x"; 10_000] }), "at most 100"),
        ] {
            let answer = list(app, filter).await;
            let errors = answer.errors().concat();
            assert!(
                errors.contains(reason),
                "{reason}: {}",
                &answer.pretty()[..500.min(answer.pretty().len())]
            );
            assert!(
                answer
                    .sent_for_query()
                    .iter()
                    .all(|command| *command == "find settings")
            );
        }
        // A filter at the limits is answered. Empty parts are not leaves.
        let most = list(app, json!({ "or": leaves(50) })).await;
        assert_eq!(most.names("/products"), ["Mug"]);
        assert_eq!(list(app, deep(5)).await.errors(), [""; 0]);
        let empty: Vec<Value> = (0..10_000).map(|_| json!({})).collect();
        let empty = list(app, json!({ "and": empty })).await;
        assert!(empty.errors().is_empty() || empty.errors().concat().starts_with("BAD_USER_INPUT"));
    });
}

#[test]
fn ten_thousand_specs_in_a_mutation_are_refused() {
    test(async |app| {
        stock(app).await;
        let specs: Vec<Value> = (0..10_000)
            .map(|n| json!({ "key": format!("k{n}"), "number": 1 }))
            .collect();
        let id = mug(app).await;
        let many = app
            .mutate("setSpecs", json!({ "productId": id, "specs": specs }))
            .await;
        assert_eq!(many.user_error_paths(), ["TOO_LARGE at specs"]);
        small(&many.0, "10,000 specs");
        let wrong: Vec<Value> = (0..10_000)
            .map(|_| json!({ "key": "Bad Key", "text": "x" }))
            .collect();
        let many = app
            .mutate("setSpecs", json!({ "productId": id, "specs": wrong }))
            .await;
        assert_eq!(many.user_error_paths(), ["TOO_LARGE at specs"]);
    });
}
