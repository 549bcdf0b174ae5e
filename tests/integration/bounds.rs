//! What a stranger may cost: a list or a count whose filter no index bounds examines no more products than were charged,
//! and its pages have every match all the same.

use std::collections::BTreeSet;
use std::future::IntoFuture as _;

use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_domain::activity::{Event, Recorder};
use vitrine_domain::product_memory::ProductMemoryOptions;
use vitrine_domain::workers::Worker;
use vitrine_harness::profile::Executed;
use vitrine_harness::{App, ProductBuilder, Request, product, review, test};
use vitrine_model::activity::ActivityKind;
use vitrine_model::id::GlobalId;

/// The products of the tests.
const PRODUCTS: usize = 240;
/// The limit of products that are read for one answer, in these tests. The real one is [`SCALE`] times as large.
const MAX_READ: u32 = 160;
/// How many times as much the service reads without that limit.
const SCALE: i64 = 10_000 / 160;
/// The time that the database needs to examine a document, in microseconds.
const DOCUMENT_MICROS: i64 = 3;
/// The microseconds in a unit of cost.
const UNIT_MICROS: i64 = 10;
/// The memory of these tests: it has no room for the rows of all products.
const SMALL_MEMORY: u64 = 60_000;

/// Filters that no product matches, by what they are made of.
const NOTHING: [(&str, &str); 15] = [
    (
        "or of values",
        r#"{ or: [{ brand: ["Nope"] }, { brand: ["None"] }] }"#,
    ),
    (
        "or of prices",
        r#"{ or: [{ price: { gte: "90000" } }, { rating: { gte: 5 } }] }"#,
    ),
    (
        "or of both",
        r#"{ or: [{ brand: ["Nope"] }, { price: { gte: "90000" } }] }"#,
    ),
    ("not", r#"{ not: { price: { gte: "0" } } }"#),
    (
        "not a value",
        r#"{ not: { specs: [{ key: "color", text: { in: ["red", "blue"] } }] } }"#,
    ),
    ("exists", r#"{ specs: [{ key: "color", exists: false }] }"#),
    ("price", r#"{ price: { gte: "90000" } }"#),
    ("rating", r"{ rating: { gte: 5 } }"),
    (
        "price and rating",
        r#"{ price: { gte: "0" }, rating: { gte: 5 } }"#,
    ),
    ("a value", r#"{ brand: ["Nope"] }"#),
    (
        "a value and price",
        r#"{ brand: ["Acme"], price: { gte: "90000" } }"#,
    ),
    (
        "two values",
        r#"{ brand: ["Acme"], specs: [{ key: "color", text: { eq: "blue" } }] }"#,
    ),
    (
        "a range and rating",
        r#"{ specs: [{ key: "height", number: { gte: 1 } }], rating: { gte: 5 } }"#,
    ),
    (
        "empty parts",
        r#"{ and: [{}, { price: { gte: "90000" } }, {}] }"#,
    ),
    (
        "a category and rating",
        r#"{ category: ["things"], rating: { gte: 5 } }"#,
    ),
];

const SORTS: [&str; 8] = [
    "PRICE",
    "RATING",
    "POPULARITY",
    "NEWEST",
    "UPDATED",
    "NAME",
    "BEST_SELLING",
    "TRENDING",
];

/// Two brands that differ in color, with a few reviews and prices.
fn stock() -> impl Iterator<Item = ProductBuilder> {
    (0..PRODUCTS).map(|n| {
        let (brand, color) = if n % 2 == 0 {
            ("Acme", "red")
        } else {
            ("Other", "blue")
        };
        let price = format!("{}.50", n % 9 * 10 + 1);
        let one = product(&format!("p{n:03}"))
            .brand(brand)
            .text("color", color)
            .number("height", f64::from(u32::try_from(n).unwrap()))
            .price(&price);
        if n % 40 == 7 {
            one.text("rare", "yes")
        } else {
            one
        }
    })
}

async fn stocked(app: &App) {
    app.has(stock()).await;
    app.has_reviews((0..12).map(|n| review(&format!("p{:03}", n * 17), n, 3)))
        .await;
}

async fn both_memories(app: &App) -> [(&'static str, App); 2] {
    let memory = ProductMemoryOptions {
        max_bytes: SMALL_MEMORY,
        ..ProductMemoryOptions::default()
    };
    [
        ("memory off", app.with_max_read(MAX_READ).await),
        (
            "memory on",
            app.with_max_read_and(MAX_READ, Some(memory)).await,
        ),
    ]
}

fn documents(executed: &[Executed]) -> i64 {
    executed.iter().map(Executed::docs).sum()
}

/// Asserts that a request examined no more documents than it was charged for.
async fn assert_charged(app: &App, query: &str) {
    let (answer, executed) = app.profile(app.query(query).into_future()).await;
    let documents = documents(&executed);
    let charged = answer.cost()["requested"].as_i64().expect("a cost");
    let cost = documents * SCALE * DOCUMENT_MICROS;
    assert!(
        cost <= charged * UNIT_MICROS,
        "{documents} documents for {charged} units: {query}\n{:?}",
        answer.sent()
    );
}

#[test]
fn no_list_examines_more_than_it_is_charged_for() {
    test(async |app| {
        stocked(app).await;
        app.start_profiler().await;
        for (memory, app) in both_memories(app).await {
            for (name, filter) in NOTHING {
                for sort in SORTS {
                    for direction in ["ASCENDING", "DESCENDING"] {
                        let query = format!(
                            "{{ products(first: 1, filter: {filter}, sort: [{{ key: {sort}, direction: {direction} }}]) {{ nodes {{ id }} }} }}"
                        );
                        println!("{memory}, {name}, {sort} {direction}");
                        assert_charged(&app, &query).await;
                    }
                }
            }
        }
    });
}

#[test]
fn no_count_and_no_facet_examines_more_than_it_is_charged_for() {
    test(async |app| {
        stocked(app).await;
        app.start_profiler().await;
        for (memory, app) in both_memories(app).await {
            for (name, filter) in NOTHING {
                println!("{memory}, {name}");
                for selection in ["totalCount { value }", "totalCount(upTo: 1) { value }"] {
                    let query = format!("{{ products(filter: {filter}) {{ {selection} }} }}");
                    assert_charged(&app, &query).await;
                }
                let facets = format!("{{ products(filter: {filter}) {{ facets {{ key }} }} }}");
                let (_, executed) = app.profile(app.query(&facets).into_future()).await;
                let documents = documents(&executed);
                assert!(
                    documents <= 4 * i64::from(MAX_READ),
                    "{documents}: {facets}"
                );
                let query = format!(
                    r#"{{ products(first: 1, filter: {filter}, sort: [{{ spec: "height" }}]) {{ nodes {{ id }} }} }}"#
                );
                assert_charged(&app, &query).await;
            }
        }
    });
}

/// The names of a list, read in pages of two; the pages that ended early, and all.
async fn walk(app: &App, arguments: &str, backwards: bool) -> (Vec<String>, usize, usize) {
    let (size, from, more, next) = if backwards {
        ("last", "before", "hasPreviousPage", "startCursor")
    } else {
        ("first", "after", "hasNextPage", "endCursor")
    };
    let query = format!(
        "query($cursor: String) {{ products({arguments}, {size}: 2, {from}: $cursor) {{ nodes {{ name }} lookedThrough pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
    );
    let (mut names, mut cursor) = (Vec::new(), Value::Null);
    let (mut early, mut pages) = (0, 0);
    loop {
        let answer = app.query(&query).with("cursor", cursor.clone()).await;
        let page = answer.at("/products");
        let mut of_page = answer.names("/products");
        early += usize::from(!page["lookedThrough"].is_null());
        pages += 1;
        if backwards {
            of_page.reverse();
        }
        names.extend(of_page);
        if page["pageInfo"][more] == json!(false) {
            break;
        }
        let next = page["pageInfo"][next].clone();
        assert!(next.is_string() && next != cursor, "{}", answer.pretty());
        cursor = next;
    }
    if backwards {
        names.reverse();
    }
    (names, early, pages)
}

#[test]
fn the_pages_of_a_limited_list_have_every_match_once() {
    test(async |app| {
        stocked(app).await;
        let limited = app.with_max_read(MAX_READ).await;
        let rare = r#"or: [{ specs: [{ key: "rare", text: { eq: "yes" } }] }, { price: { gte: "90000" } }]"#;
        let filters = [
            format!("filter: {{ {rare} }}"),
            r#"filter: { brand: ["Acme"], rating: { gte: 2 } }"#.to_owned(),
            format!(r#"filter: {{ category: ["things"], price: {{ gte: "20" }}, {rare} }}"#),
        ];
        for filter in filters {
            for sort in SORTS {
                for direction in ["ASCENDING", "DESCENDING"] {
                    let list =
                        format!("{filter}, sort: [{{ key: {sort}, direction: {direction} }}]");
                    let (expected, none, _) = walk(app, &list, false).await;
                    assert_eq!(none, 0, "all are examined where they are few");
                    let distinct: BTreeSet<&String> = expected.iter().collect();
                    assert!(
                        expected.len() > 2 && distinct.len() == expected.len(),
                        "{expected:?}"
                    );
                    for backwards in [false, true] {
                        let (found, early, pages) = walk(&limited, &list, backwards).await;
                        assert_eq!(found, expected, "{list} {backwards}");
                        assert!(early > 0 && early < pages, "{early} of {pages}: {list}");
                    }
                }
            }
        }
    });
}

#[test]
fn a_count_that_stopped_is_a_lower_bound() {
    test(async |app| {
        stocked(app).await;
        let limited = app.with_max_read(MAX_READ).await;
        let counted = async |app: &App, filter: &str| {
            let query =
                format!("{{ products(filter: {filter}) {{ totalCount {{ value relation }} }} }}");
            let answer = app.query(&query).await;
            let total = answer.at("/products/totalCount").clone();
            (
                total["value"].as_i64().unwrap(),
                total["relation"].as_str().unwrap().to_owned(),
            )
        };
        let not_red = r#"{ not: { specs: [{ key: "color", text: { eq: "red" } }] } }"#;
        assert_eq!(counted(app, not_red).await, (120, "EXACT".to_owned()));
        let (value, relation) = counted(&limited, not_red).await;
        assert!(value < 120 && relation == "AT_LEAST", "{value} {relation}");
        // An index has the price and the stars of every product: twenty times as many are looked at.
        let cheap = r#"{ price: { lte: "20" } }"#;
        let (value, relation) = counted(&limited, cheap).await;
        assert_eq!((value, relation), counted(app, cheap).await);
        // One value is counted from its own index.
        let acme = r#"{ brand: ["Acme"] }"#;
        assert_eq!(counted(&limited, acme).await, (120, "EXACT".to_owned()));
    });
}

#[test]
fn documents_may_have_descriptions() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let query = "\"\"\"Finds\na product.\"\"\" query Find(\"its name\" $slug: String) { product(slug: $slug) { ...Named } }
            \"what is shown\" fragment Named on Product { name }";
        let found = app.query(query).with("slug", "lamp").await;
        assert_eq!(found.text("/product/name"), "Lamp");
        let wrong = app.query("\"What it is\" query A { nowhere }").await;
        let place = &wrong.body()["errors"][0]["locations"][0];
        assert_eq!(*place, json!({ "line": 1, "column": 24 }));
    });
}

/// Records events without a token, from an address that all anonymous requests of a test share.
fn recorded<'a>(app: &'a App, events: &[Value], key: Option<&str>) -> Request<'a> {
    let input = json!({ "events": events, "idempotencyKey": key });
    let mutation = "mutation($input: RecordActivityInput!) { recordActivity(input: $input) { counted repeated ignored { index reason } userErrors { code } } }";
    app.query(mutation).with("input", input)
}

fn views(product: &str, count: usize) -> Vec<Value> {
    vec![json!({ "productId": product, "kind": "VIEW" }); count]
}

async fn id_of(app: &App, slug: &str) -> String {
    let query = format!("{{ product(slug: \"{slug}\") {{ id }} }}");
    app.query(&query).await.text("/product/id")
}

/// The place of a product in the default order and by TRENDING.
async fn places(app: &App, name: &str) -> [usize; 2] {
    app.run_background_work().await;
    app.catalog.work_off(Worker::Trending).await.unwrap();
    app.run_background_work().await;
    let mut places = [0, 0];
    for (at, sort) in ["POPULARITY", "TRENDING"].iter().enumerate() {
        let query =
            format!("{{ products(first: 50, sort: [{{ key: {sort} }}]) {{ nodes {{ name }} }} }}");
        let names = app.query(&query).await.names("/products");
        places[at] = names.iter().position(|one| one == name).unwrap();
    }
    places
}

#[test]
fn one_address_moves_no_product_with_the_budget_of_ten() {
    test(async |app| {
        app.has((0..12).map(|n| product(&format!("Desk {n}"))))
            .await;
        // The shop's own service reports what its visitors did.
        for n in 0..11 {
            let id = id_of(app, &format!("desk-{n}")).await;
            let seen = json!({ "events": views(&id, 60) });
            app.mutate("recordActivity", seen).await.done();
        }
        let before = places(app, "Desk 11").await;
        assert_eq!(before, [11, 11]);
        let last = id_of(app, "desk-11").await;
        let batch = views(&last, 500);
        let first = recorded(app, &batch, None).await;
        assert_eq!(first.number("/recordActivity/counted"), 1);
        let ignored = first.at("/recordActivity/ignored").as_array().unwrap();
        assert_eq!(ignored.len(), 499);
        assert_eq!(
            ignored[0],
            json!({ "index": 1, "reason": "ALREADY_COUNTED" })
        );
        let cost = first.cost()["requested"].as_i64().unwrap();
        assert!(cost > 1_500, "{cost} units: each event is charged");
        // An address may spend 200,000 units at once.
        let Ok(GlobalId::Product(product)) = GlobalId::decode(&last) else {
            panic!("{last} is the id of a product");
        };
        let kind = ActivityKind::View;
        let events = [Event {
            product,
            kind,
            at: None,
        }; 500];
        let stranger = Recorder {
            name: "address 192.0.2.1".to_owned(),
            is_trusted: false,
        };
        for _ in 0..10 * 200_000 / cost {
            app.catalog
                .record_activity(&events, None, &stranger)
                .await
                .unwrap();
        }
        assert_eq!(places(app, "Desk 11").await, before);
    });
}

#[test]
fn views_count_once_for_a_caller_and_an_hour() {
    test(async |app| {
        app.has([product("Lamp"), product("Chair")]).await;
        let (lamp, chair) = (id_of(app, "lamp").await, id_of(app, "chair").await);
        let events = [views(&lamp, 2), views(&chair, 1)].concat();
        let counted = async |request: Request<'_>| request.await.number("/recordActivity/counted");
        assert_eq!(counted(recorded(app, &events, None)).await, 2);
        assert_eq!(counted(recorded(app, &events, None)).await, 0);
        let ada = recorded(app, &events, None).as_shopper("ada");
        assert_eq!(counted(ada).await, 2, "another caller");
        let service = recorded(app, &events, None).as_service("shop");
        assert_eq!(counted(service).await, 3, "it reports what others do");
        app.clock.advance(3_600_000);
        assert_eq!(
            counted(recorded(app, &events, None)).await,
            2,
            "another hour"
        );
    });
}

#[test]
fn the_key_of_a_batch_belongs_to_its_caller() {
    test(async |app| {
        app.has([product("Lamp"), product("Chair")]).await;
        let (lamp, chair) = (id_of(app, "lamp").await, id_of(app, "chair").await);
        let key = Some("page-1");
        let ada = recorded(app, &views(&lamp, 1), key).as_shopper("ada").await;
        assert_eq!(ada.number("/recordActivity/counted"), 1);
        let ben = recorded(app, &views(&chair, 1), key)
            .as_shopper("ben")
            .await;
        assert_eq!(ben.number("/recordActivity/counted"), 1, "{}", ben.pretty());
        let nobody = recorded(app, &views(&lamp, 1), key).await;
        assert_eq!(nobody.number("/recordActivity/counted"), 1);
        let again = recorded(app, &views(&lamp, 1), key).as_shopper("ada").await;
        assert_eq!(again.at("/recordActivity/repeated"), &json!(true));
    });
}

#[test]
fn a_review_that_is_published_again_has_its_pictures() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let app = app.with_pictures(folder.path()).await;
        app.has([product("Lamp")]).await;
        let photo = crate::pictures::PHOTO;
        let url = app
            .catalog
            .add_picture("ada", photo.into())
            .await
            .unwrap()
            .url;
        let input = json!({
            "productId": id_of(&app, "lamp").await, "rating": 4, "body": "Bright.",
            "media": [{ "url": url, "kind": "IMAGE" }],
        });
        let written = app.mutate_by("ada", "submitReview", input).await;
        let id = written.done()["review"]["id"].clone();
        let decide = async |decision: &str, reason: &str| {
            let input = json!({ "id": id, "decision": decision, "reason": reason });
            app.mutate("moderateReview", input).await.done();
        };
        let days_later = async |days: i64| {
            for _ in 0..days {
                app.clock.advance(86_400_000);
                app.catalog.work_off(Worker::Pictures).await.unwrap();
            }
        };
        let pictures = async || {
            app.documents("pictures", doc! { "removed": { "$ne": true } })
                .await
                .len()
        };
        let shown = async || {
            let answer = app
                .query(r#"{ product(slug: "lamp") { reviews { nodes { media { url } } } } }"#)
                .await;
            answer
                .at("/product/reviews/nodes/0/media")
                .as_array()
                .unwrap()
                .len()
        };
        decide("REJECT", "OFF_TOPIC").await;
        days_later(10).await;
        decide("PUBLISH", "ACCEPTABLE").await;
        days_later(2).await;
        assert_eq!((pictures().await, shown().await), (1, 1));
        // After a month the picture is gone, and so is its address.
        decide("REJECT", "OFF_TOPIC").await;
        days_later(32).await;
        assert_eq!(pictures().await, 0);
        decide("PUBLISH", "ACCEPTABLE").await;
        assert_eq!(shown().await, 0);
    });
}
