//! Odd and hostile input: each is refused clearly or handled right, and no text from a caller is an
//! operator or a pattern to the database.

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

#[test]
fn an_unknown_key_finds_nothing_and_says_so() {
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
        let right = list(app, spec("color", "text", json!({ "eq": "red" }))).await;
        assert_eq!(right.hints(), [""; 0]);
        assert!(
            right
                .body()
                .get("extensions")
                .is_none_or(|told| told.get("hints").is_none())
        );
    });
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    test(async |app| {
        stock(app).await;
        let number = |value: Value| spec("volume", "number", value);
        for (filter, told) in [
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
            (
                json!({ "price": { "gte": "5", "lte": "4" } }),
                "lower end is above",
            ),
            (json!({ "price": {} }), "give at least one"),
            (json!({ "rating": { "gte": 4.2 } }), "steps of 0.5"),
            (json!({ "rating": { "gte": 6 } }), "1 to 5"),
            (json!({ "specs": [{ "key": "color" }] }), "exactly one of"),
            (
                json!({ "specs": [{ "key": "color", "text": { "eq": "a" }, "exists": true }] }),
                "exactly one of",
            ),
            (json!({ "brand": vec!["b"; 101] }), "at most 100 values"),
            (
                spec("color", "text", json!({ "in": vec!["b"; 101] })),
                "at most 100 values",
            ),
        ] {
            let answer = list(app, filter.clone()).await;
            let errors = answer.errors().concat();
            assert!(
                errors.starts_with("BAD_USER_INPUT") && errors.contains(told),
                "{filter}: {}",
                answer.shown()
            );
            assert!(
                answer.asked().iter().all(|asked| *asked == "find settings"),
                "{filter}: {:?}",
                answer.sent()
            );
        }
        let several = list(
            app,
            json!({ "specs": [{ "key": "color", "text": { "eq": "a", "in": ["b"] } }] }),
        )
        .await;
        assert!(!several.errors().is_empty());
        let none = list(
            app,
            json!({ "specs": [{ "key": "color", "text": { "eq": null } }] }),
        )
        .await;
        assert!(!none.errors().is_empty());
    });
}

#[test]
fn numbers_that_are_none_are_refused_before_anything_is_asked() {
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
                assert_eq!(answer.asked(), [""; 0], "{query}");
            }
        }
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
                answer.shown()
            );
        }
        // The ends of what a number can be are numbers.
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
            far.shown()
        );
        for (amount, hits) in [
            ("99999999999999999999999999", 0),
            ("-99999999999999999999999999", 1),
            ("0.0000000000000000000000001", 1),
        ] {
            let answer = list(app, json!({ "price": { "gte": amount } })).await;
            assert_eq!(answer.names("/products").len(), hits, "{amount}");
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
                answer.shown()
            );
        }
    });
}

/// Texts that mean something elsewhere: to a shell, a pattern, the database, a terminal.
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

#[test]
fn odd_texts_are_texts_wherever_they_stand() {
    test(async |app| {
        stock(app).await;
        let id = app
            .query(r#"{ product(slug: "mug") { id } }"#)
            .await
            .text("/product/id");
        app.profiled().await;
        for odd in ODD {
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
                let ask = app
                    .query(fields)
                    .with("t", odd)
                    .with("id", odd)
                    .with("f", filter.clone())
                    .into_future();
                let (answer, executed) = app.profile(ask).await;
                plain(&answer, &executed, odd);
                let expected = usize::from(odd == "$gt" && filter["specs"][0]["key"] == "color");
                let found = answer.body()["data"]["list"]["nodes"]
                    .as_array()
                    .map_or(0, Vec::len);
                // A decomposed accent, a mark that shows nothing: folded away like any other.
                let folded = ["\u{feff}red", "re\u{301}d"].contains(&odd)
                    && filter["specs"][0]["key"] == "color";
                assert!(
                    found == expected || folded,
                    "{odd:?} in {filter}: {}",
                    answer.shown()
                );
            }
            for (name, input) in [
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
            ] {
                let (reply, executed) = app
                    .profile(app.order(name, input.clone()).into_future())
                    .await;
                assert!(
                    reply.0.errors().is_empty(),
                    "{name} {input}: {}",
                    reply.0.shown()
                );
                plain(&reply.0, &executed, odd);
                assert!(reply.payload()["userErrors"].is_array());
            }
            // Whatever was taken is shown as it was given.
            let shown = app
                .query("query($id: ID) { product(id: $id) { spec(key: \"odd_text\") { text } } }")
                .with("id", id.clone())
                .await;
            if let Some(text) = shown.at("/product").pointer("/spec/text") {
                assert_eq!(text, odd);
            }
            app.order(
                "removeSpecs",
                json!({ "productId": id, "specs": [{ "key": "odd_text" }] }),
            )
            .await
            .done();
        }
    });
}

/// Fails unless every command was built by the service: operators are its own, nothing is a pattern
/// or code, and errors say nothing of the database.
fn plain(answer: &Answer, executed: &[Executed], odd: &str) {
    for executed in executed {
        if let Ok(command) = executed.entry().get_document("command") {
            look(command, odd);
        }
    }
    for told in answer.errors() {
        assert!(!told.starts_with("INTERNAL"), "{odd:?}: {told}");
        let lower = told.to_lowercase();
        assert!(
            !["mongo", "bson", "e11000"]
                .iter()
                .any(|word| lower.contains(word)),
            "{told}"
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
fn a_megabyte_of_text_is_no_trouble() {
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
            assert_eq!(answer.asked(), [""; 0], "{text}");
        }
        let cursor = app
            .query("query($t: String!) { products(after: $t) { nodes { name } } }")
            .with("t", huge.clone())
            .await;
        assert!(cursor.errors().concat().starts_with("INVALID_CURSOR"));
        let id = app
            .query(r#"{ product(slug: "mug") { id } }"#)
            .await
            .text("/product/id");
        for (name, input, place) in [
            (
                "updateProduct",
                json!({ "id": id, "name": huge }),
                "INVALID at name",
            ),
            (
                "updateProduct",
                json!({ "id": id, "description": huge }),
                "INVALID at description",
            ),
            (
                "updateProduct",
                json!({ "id": id, "category": huge }),
                "NOT_FOUND at category",
            ),
            ("updateProduct", json!({ "id": huge }), "INVALID at id"),
            (
                "setSpecs",
                json!({ "productId": id, "specs": [{ "key": huge, "text": "x" }] }),
                "INVALID at specs.0.key",
            ),
            (
                "setSpecs",
                json!({ "productId": id, "specs": [{ "key": "a", "text": huge }] }),
                "INVALID at specs.0.text",
            ),
            (
                "setSpecs",
                json!({ "productId": id, "specs": [{ "key": "a", "number": 1, "unit": huge }] }),
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
        ] {
            let reply = app.order(name, input).await;
            small(&reply.0, name);
            assert!(
                reply.places().contains(&place.to_owned()),
                "{name}: {:?}",
                reply.places()
            );
        }
    });
}

/// No answer is as large as what was sent.
fn small(answer: &Answer, what: &str) {
    let bytes = answer.body().to_string().len();
    assert!(bytes < 5_000, "{what}: an answer of {bytes} bytes");
    for told in answer.errors() {
        assert!(!told.starts_with("INTERNAL"), "{what}: {told}");
    }
}

#[test]
fn ten_thousand_leaves_are_refused_however_they_are_arranged() {
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
        for (filter, told) in [
            (json!({ "or": leaves(10_000) }), "50 leaves"),
            (json!({ "and": leaves(10_000) }), "50 leaves"),
            (json!({ "specs": one(10_000) }), "50 leaves"),
            (json!({ "or": [{ "or": leaves(51) }] }), "50 leaves"),
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
                errors.contains(told),
                "{told}: {}",
                &answer.shown()[..500.min(answer.shown().len())]
            );
            assert!(answer.asked().iter().all(|asked| *asked == "find settings"));
        }
        // As many as are allowed are answered. Empty parts are no leaves, and cost nothing either.
        let most = list(app, json!({ "or": leaves(50) })).await;
        assert_eq!(most.names("/products"), ["Mug"]);
        assert_eq!(list(app, deep(5)).await.errors(), [""; 0]);
        let empty: Vec<Value> = (0..10_000).map(|_| json!({})).collect();
        let empty = list(app, json!({ "and": empty })).await;
        assert!(empty.errors().is_empty() || empty.errors().concat().starts_with("BAD_USER_INPUT"));
        let specs: Vec<Value> = (0..10_000)
            .map(|n| json!({ "key": format!("k{n}"), "number": 1 }))
            .collect();
        let id = app
            .query(r#"{ product(slug: "mug") { id } }"#)
            .await
            .text("/product/id");
        let many = app
            .order("setSpecs", json!({ "productId": id, "specs": specs }))
            .await;
        assert!(
            many.places().contains(&"TOO_LARGE at specs".to_owned()),
            "{:?}",
            many.places()
        );
        small(&many.0, "10,000 specs");
        let wrong: Vec<Value> = (0..10_000)
            .map(|_| json!({ "key": "Bad Key", "text": "x" }))
            .collect();
        let many = app
            .order("setSpecs", json!({ "productId": id, "specs": wrong }))
            .await;
        assert!(!many.refused().is_empty());
    });
}
