//! What requests may cost: told in each answer, and refused before the first command.

use std::net::IpAddr;

use serde_json::{Value, json};
use vitrine_api::execution::{CostCheck, GraphqlRequest, ResponseLimits};
use vitrine_api::graphql::{
    Budget, CostGuard, CostLimits, RateLimiter, RateLimits, Session, Viewer,
};
use vitrine_harness::{App, product, review, test, token};

use crate::operators::{ask, with_service};

/// The query of a list page: products with specs and ratings, facets, a total.
const LIST_PAGE: &str = "query($keys: [String!]) { products(first: 48, sort: [{ key: POPULARITY }]) { totalCount { value relation }
    nodes { id slug name brand price { amount currency } media { url alt } ratingStats { count average } specs(keys: $keys) { key label text } }
    facets(limit: 10) { key label values { label count filter { brand } } } pageInfo { endCursor hasNextPage } } }";

/// The query of a product page.
const PRODUCT_PAGE: &str = r#"{ product(slug: "lamp") { id name description price { amount currency } media { url alt kind } category { name ancestors { name slug } }
    supplier { name } specs { key label text qualifier } ratingStats { count average histogram { rating count } }
    topReviews { rating title excerpt author { name } } reviews(first: 20) { nodes { rating title body author { name } } pageInfo { endCursor } } } }"#;

async fn stock(app: &App) {
    app.has([product("Lamp").number("power", 40.0)]).await;
}

#[test]
fn the_pages_of_a_shop_cost_less_than_half_of_what_strangers_may_ask_for() {
    test(async |app| {
        stock(app).await;
        for page in [LIST_PAGE, PRODUCT_PAGE] {
            let answer = app.query(page).with("keys", json!(["power"])).await;
            assert!(answer.errors().is_empty(), "{:?}", answer.errors());
            let cost = answer.cost();
            let (requested, limit) = (&cost["requested"], &cost["limit"]);
            assert_eq!(*limit, 10_000);
            let requested = requested.as_u64().unwrap();
            assert!((20..5_000).contains(&requested), "{requested}");
        }
    });
}

#[test]
fn a_request_over_the_limit_sends_no_command() {
    test(async |app| {
        stock(app).await;
        let nested = "{ products(first: 100) { nodes { reviews(first: 100) { nodes { product { reviews(first: 100) { nodes { rating } } } } } } } }";
        let answer = app.query(nested).await;
        let errors = answer.errors();
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0].starts_with("COST_EXCEEDED: The request costs ")
                && errors[0].contains("the limit is 10000"),
            "{errors:?}"
        );
        assert!(answer.body().get("data").is_none());
        assert_eq!(answer.sent(), [""; 0]);
        assert!(answer.cost()["requested"].as_u64() > Some(10_000));
    });
}

#[test]
fn staff_may_ask_for_more() {
    test(async |app| {
        stock(app).await;
        let totals = "{ products { totalCount(upTo: 500000) { value } } }";
        let refused = app.query(totals).as_shopper("ada").await;
        assert!(refused.errors()[0].starts_with("COST_EXCEEDED"));
        for answer in [
            app.query(totals).as_admin().await,
            app.query(totals).as_moderator("mia").await,
            app.query(totals).as_service("erp").await,
        ] {
            assert_eq!(answer.number("/products/totalCount/value"), 1);
            assert_eq!(answer.cost()["limit"], 100_000);
        }
    });
}

/// What GraphiQL and generators of code send at first.
#[test]
fn the_usual_introspection_query_is_within_the_limit() {
    test(async |app| {
        let answer = app.query(INTROSPECTION).await;
        assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    });
}

const INTROSPECTION: &str = "{ __schema { queryType { name } mutationType { name } subscriptionType { name }
    types { kind name description fields(includeDeprecated: true) { name description args { name description type { ...Ref } defaultValue }
      type { ...Ref } isDeprecated deprecationReason } inputFields { name description type { ...Ref } defaultValue } interfaces { ...Ref }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...Ref } }
    directives { name description locations args { name description type { ...Ref } defaultValue } } } }
  fragment Ref on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name ofType { kind name ofType { kind name } } } } } } } }";

#[test]
fn equal_pages_and_facets_are_loaded_once() {
    test(async |app| {
        stock(app).await;
        let list = "products(filter: { rating: { gte: 1 } }, first: 5)";
        let fields = "nodes { name } m: totalCount(upTo: 50) { value } t: facets { key }";
        let again = "n: totalCount(upTo: 50) { value } u: facets { key }";
        let once = format!("{{ a: {list} {{ {fields} }} }}");
        let twice =
            format!("{{ a: {list} {{ {fields} {again} }} b: {list} {{ {fields} {again} }} }}");
        let sorted = async |query: &str| {
            let answer = app.query(query).as_admin().await;
            assert!(answer.errors().is_empty(), "{:?}", answer.errors());
            let sent = answer.sent_for_query();
            let mut sent: Vec<String> = sent.into_iter().map(str::to_owned).collect();
            sent.sort();
            sent
        };
        let commands = sorted(&once).await;
        assert!(commands.len() >= 3, "{commands:?}");
        assert_eq!(sorted(&twice).await, commands);
    });
}

#[test]
fn equal_pages_of_reviews_are_loaded_once() {
    test(async |app| {
        app.has([product("Lamp"), product("Desk")]).await;
        let app = &app.without_product_memory().await;
        let reviews = "reviews(first: 2) { nodes { rating } }";
        let answer = app.query(&format!(
            "{{ products {{ nodes {{ x: {reviews} y: {reviews} }} }} }}"
        ));
        answer
            .await
            .assert_commands(&["find products", "aggregate products"]);
    });
}

#[test]
fn a_list_that_differs_in_one_argument_is_loaded_again() {
    test(async |app| {
        stock(app).await;
        let app = &app.without_product_memory().await;
        let answer = app.query(
            "{ a: products(first: 5) { nodes { name } } b: products(first: 6) { nodes { name } } }",
        );
        assert_eq!(answer.await.sent_for_query().len(), 2);
    });
}

/// Between two mutations data changes, so nothing is kept.
#[test]
fn mutations_load_again_what_they_have_changed() {
    test(async |app| {
        stock(app).await;
        let id = app.query(r#"{ product(slug: "lamp") { id } }"#).await;
        let submitted = app
            .query(
                "mutation($id: ID!) { submitReview(input: { productId: $id, rating: 4, body: \"It shines.\" }) { review { id revision } } }",
            )
            .with("id", id.text("/product/id"))
            .as_shopper("ada")
            .await;
        let revision = submitted.number("/submitReview/review/revision");
        let edit = |rating: i64| {
            let expected = revision + rating - 1;
            format!(
                "r{rating}: editReview(input: {{ id: $id, rating: {rating}, expectedRevision: {expected} }}) {{ review {{ product {{ reviews(first: 1) {{ nodes {{ rating }} }} }} }} userErrors {{ message }} }}"
            )
        };
        let edited = app
            .query(&format!("mutation($id: ID!) {{ {} {} }}", edit(1), edit(2)))
            .with("id", submitted.text("/submitReview/review/id"))
            .as_shopper("ada")
            .await;
        for rating in [1, 2] {
            let pointer = format!("/r{rating}/review/product/reviews/nodes/0/rating");
            assert_eq!(edited.number(&pointer), rating);
        }
    });
}

/// One request waits for its own reads, and leaves the queue to others.
#[test]
fn a_request_cannot_fill_the_queue_of_all() {
    test(async |app| {
        stock(app).await;
        let app = app.with_read_queue(8, 1).await;
        for from in [1, 11, 21] {
            let page = |first| format!("p{first}: products(first: {first}) {{ nodes {{ name }} }}");
            let pages: Vec<String> = (from..from + 10).map(page).collect();
            let list = format!("{{ {} }}", pages.join(" "));
            let answer = app.query(&list).await;
            assert!(answer.errors().is_empty(), "{:?}", answer.errors());
            assert_eq!(answer.sent_for_query().len(), 10);
        }
    });
}

/// A caller with a token has one budget everywhere, also beside other callers at the same address.
#[test]
fn a_budget_belongs_to_the_subject_and_without_one_to_the_address() {
    test(async |app| {
        let budget = Budget {
            burst: 1_000,
            per_second: 0,
        };
        let limits = RateLimits {
            limiter: RateLimiter::new(),
            public: budget,
            staff: budget,
        };
        let left = |subject: Option<&str>, address: &str| {
            let viewer = Viewer {
                subject: subject.map(str::to_owned),
                roles: Vec::new(),
            };
            let address: IpAddr = address.parse().unwrap();
            let guard = CostGuard::new(&app.catalog, &viewer, CostLimits::default());
            let check = guard.rate(&limits, &viewer, Some(address)).check_invalid();
            1_000 - check.rate.unwrap().left
        };
        let once = left(Some("ada"), "192.0.2.1");
        assert!(once > 0);
        assert_eq!(left(Some("ada"), "192.0.2.2"), 2 * once);
        assert_eq!(left(Some("ben"), "192.0.2.1"), once);
        assert_eq!(left(None, "192.0.2.1"), once);
        assert_eq!(left(None, "192.0.2.1"), 2 * once);
        assert_eq!(left(None, "192.0.2.2"), once);
    });
}

#[test]
fn a_service_tells_each_caller_what_is_left() {
    test(async |app| {
        let options = ["--cost-per-second", "1", "--trusted-proxy", "127.0.0.0/8"];
        with_service(app, &options, async |address, _| {
            let query = json!({ "query": "{ categories { name } units { symbol } }" });
            let ada = format!("Bearer {}", token::token("ada", "shopper"));
            let spent = async |from: &str, authorization: Option<&str>| {
                let mut headers = vec![("x-forwarded-for", from)];
                headers.extend(authorization.map(|token| ("authorization", token)));
                let mut answer = ask(address, &query, &headers).await.json();
                let cost = answer["extensions"]["cost"].take();
                let number = |field: &str| cost[field].as_u64().unwrap();
                assert_eq!(number("limit"), 10_000);
                (number("limit") - number("left"), number("requested"))
            };
            let times = |n: u64, (spent, each): (u64, u64)| {
                // A unit is added each second.
                assert!(
                    ((n - 1) * each + 1..=n * each).contains(&spent),
                    "{spent} of {each}"
                );
            };
            times(1, spent("192.0.2.1", None).await);
            times(2, spent("192.0.2.1", None).await);
            times(1, spent("192.0.2.2", None).await);
            times(1, spent("192.0.2.1", Some(&ada)).await);
            times(2, spent("192.0.2.2", Some(&ada)).await);
        })
        .await;
    });
}

/// Lists of objects, each the outermost of its query and not empty.
const LISTS: &[&str] = &[
    "{ categories { name } }",
    r#"{ category(slug: "things") { children { name } } }"#,
    r#"{ category(slug: "small-things") { ancestors { name } } }"#,
    "{ units { symbol } }",
    "{ products { nodes { name } } }",
    "{ products { edges { cursor } } }",
    "{ products { facets { key } } }",
    "{ specKeys { nodes { key } } }",
    "{ suppliers { nodes { name } } }",
    r#"{ product(slug: "lamp") { specs { key } } }"#,
    r#"{ product(slug: "lamp") { media { url } } }"#,
    r#"{ product(slug: "lamp") { topReviews { rating } } }"#,
    r#"{ product(slug: "lamp") { reviews { nodes { rating } } } }"#,
    r#"{ product(slug: "lamp") { ratingStats { histogram { count } } } }"#,
];

#[test]
fn every_list_counts_towards_the_limit_of_an_answer() {
    test(async |app| {
        app.has([product("lamp")
            .category(["Things", "Small things"])
            .supplier("North", "NO")
            .image("https://example.com/lamp.jpg", "A lamp")
            .text("color", "red")])
            .await;
        app.has_reviews([review("lamp", 1, 5)]).await;
        app.run_background_work().await;
        let answer = async |query: &str, values: usize| {
            let limits = ResponseLimits {
                values,
                ..ResponseLimits::NONE
            };
            let check = CostCheck {
                limits,
                ..CostCheck::free()
            };
            let session = Session::new(&app.catalog, &Viewer::default());
            let request = GraphqlRequest::new(query);
            let engine = &app.engine;
            let answer = engine.execute_with(request, |_| check, |request| session.attach(request));
            serde_json::from_slice::<Value>(&answer.await.json()).unwrap()
        };
        for query in LISTS {
            let whole = answer(query, 10_000).await;
            assert_eq!(whole.get("errors"), None, "{query}");
            let cut = answer(query, 0).await;
            let code = &cut["errors"][0]["extensions"]["code"];
            assert_eq!(
                (code, &cut["data"]),
                (&json!("COST_EXCEEDED"), &Value::Null),
                "{query}: {whole}"
            );
        }
    });
}

/// The limits of values and of bytes hold also where the limit of costs is too high.
#[test]
fn a_service_limits_the_size_of_answers() {
    test(async |app| {
        let products = (0..100).map(|n| {
            let keys = (0..30).map(|key| format!("key{key}"));
            keys.fold(product(&format!("p{n}")), |product, key| {
                product.text(&key, "x")
            })
            .description(&"x".repeat(2_000))
        });
        app.has(products).await;
        let options = ["--cost-limit", "10000000", "--cost-per-second", "0"];
        with_service(app, &options, async |address, _| {
            let page = async |first: usize, field: &str| {
                let fields: Vec<String> = (0..25).map(|n| format!("f{n}: {field}")).collect();
                let query = format!(
                    "{{ products(first: {first}) {{ nodes {{ {} }} }} }}",
                    fields.join(" ")
                );
                ask(address, &json!({ "query": query }), &[]).await
            };
            // Each product has 25 lists of 30 specs with three fields: 3,000 values.
            let specs = "specs { key label text }";
            assert_eq!(page(20, specs).await.json().get("errors"), None);
            // Each product has 50,000 bytes.
            assert_eq!(page(60, "description").await.json().get("errors"), None);
            for (field, message) in [
                (specs, "The answer has more than 100000 values."),
                ("description", "The answer is larger than 4000000 bytes."),
            ] {
                let refused = page(100, field).await;
                let answer = refused.json();
                let error = &answer["errors"][0];
                assert_eq!(error["extensions"]["code"], "COST_EXCEEDED", "{answer}");
                assert!(
                    error["message"].as_str().unwrap().starts_with(message),
                    "{error}"
                );
                assert!(refused.body.len() < 1_000, "{}", refused.body.len());
            }
        })
        .await;
    });
}
