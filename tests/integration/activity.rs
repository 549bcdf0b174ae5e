//! Views, carts and purchases: counted in memory, added to buckets, and the lists computed from
//! them.

use std::future::IntoFuture as _;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_api::graphql::Role;
use vitrine_domain::activity::{Event, IgnoredReason, Recorder};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{App, eventually, product, test, test_on_own_server};
use vitrine_model::activity::{
    ActivityCounts, ActivityKind, DAY_MILLIS, HOUR_MILLIS, SampledCounts, hour,
};
use vitrine_model::clock::Clock as _;
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::product::ProductStatus;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::activity::ActivityBatch;

/// The ids of products, by their slugs.
async fn ids<const N: usize>(app: &App, slugs: [&str; N]) -> [String; N] {
    let mut ids = Vec::new();
    for slug in slugs {
        let query = format!("{{ product(slug: \"{slug}\") {{ id }} }}");
        ids.push(app.query(&query).as_admin().await.text("/product/id"));
    }
    ids.try_into().expect("one id for each slug")
}

fn events(kind: &str, product: &str, count: usize) -> Vec<Value> {
    vec![json!({ "productId": product, "kind": kind }); count]
}

async fn record(app: &App, events: Vec<Value>) -> Value {
    let given = app
        .mutate("recordActivity", json!({ "events": events }))
        .await;
    given.done().clone()
}

/// The activity of a product by days or hours, up to now.
async fn series(app: &App, product: &str, resolution: &str, back: i64) -> Value {
    let now = app.clock.now();
    let from = now.plus_millis(-back);
    let query = format!(
        "{{ node(id: \"{product}\") {{ ... on Product {{ activity(range: {{ from: \"{from}\", to: \"{}\" }}, resolution: {resolution}) {{
            points {{ at views carts purchases }}
            views {{ value relation }} carts {{ value }} purchases {{ value relation }} }} }} }} }}",
        now.plus_millis(1)
    );
    app.query(&query)
        .as_admin()
        .await
        .at("/node/activity")
        .clone()
}

#[test]
fn activity_is_counted_by_hour_and_day() {
    test(async |app| {
        app.has([product("Lamp"), product("Chair")]).await;
        let [lamp, chair] = ids(app, ["lamp", "chair"]).await;
        let mut batch = events("VIEW", &lamp, 7);
        batch.extend(events("CART", &lamp, 2));
        batch.extend(events("VIEW", &chair, 1));
        record(app, batch).await;
        let bought = json!({ "productId": lamp, "customerId": "ann", "quantity": 3 });
        app.mutate("recordPurchase", bought.clone()).await.done();
        // It is counted, but not in the buckets yet; the numbers of other products are exact.
        let waits = series(app, &lamp, "DAY", 0).await;
        assert_eq!(
            waits["purchases"],
            json!({ "value": 0, "relation": "AT_LEAST" })
        );
        let sure = series(app, &chair, "DAY", 0).await;
        assert_eq!(
            sure["purchases"],
            json!({ "value": 0, "relation": "EXACT" })
        );
        app.run_background_work().await;
        app.clock.advance(HOUR_MILLIS);
        record(app, events("VIEW", &lamp, 5)).await;
        // The same purchase is counted once.
        app.mutate("recordPurchase", bought).await.done();
        app.run_background_work().await;
        let hours = series(app, &lamp, "HOUR", HOUR_MILLIS).await;
        assert_eq!(
            hours["points"],
            json!([
                { "at": "2026-05-31T12:00:00.000Z", "views": 7, "carts": 2, "purchases": 3 },
                { "at": "2026-05-31T13:00:00.000Z", "views": 5, "carts": 0, "purchases": 0 },
            ])
        );
        let days = series(app, &lamp, "DAY", DAY_MILLIS).await;
        assert_eq!(days["points"][0]["views"], 0);
        assert_eq!(days["points"][1]["views"], 12);
        assert_eq!(
            days["views"],
            json!({ "value": 12, "relation": "ESTIMATE" })
        );
        assert_eq!(
            days["purchases"],
            json!({ "value": 3, "relation": "EXACT" })
        );
        let other = series(app, &chair, "DAY", 0).await;
        assert_eq!(other["views"]["value"], 1);
    });
}

#[test]
fn recording_costs_no_command_once_products_are_known() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let input = json!({ "events": events("VIEW", &lamp, 500) });
        let first = app.mutate("recordActivity", input.clone()).await;
        assert_eq!(first.0.sent(), ["find products"]);
        let second = app.mutate("recordActivity", input).await;
        assert_eq!(second.0.sent(), [""; 0]);
        app.forget_commands();
        assert_eq!(app.catalog.flush_activity().await.unwrap(), 1);
        assert_eq!(app.sent(), ["insert activity_handed"]);
        app.forget_commands();
        assert_eq!(app.catalog.flush_activity().await.unwrap(), 0);
        assert_eq!(
            app.sent(),
            [""; 0],
            "nothing is said where nothing is to be"
        );
    });
}

#[test]
fn an_invalid_event_is_reported_and_the_others_are_counted() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let now = app.clock.now();
        let nobody = GlobalId::Product(ProductId::random()).encode();
        let at = |millis: i64| now.plus_millis(millis).to_string();
        let event = |product: &str, at: Option<String>| json!({ "productId": product, "kind": "VIEW", "at": at });
        let batch = vec![
            event(&lamp, None),
            event(&nobody, None),
            event(&lamp, Some(at(-365 * DAY_MILLIS))),
            event(&lamp, Some(at(HOUR_MILLIS))),
            event(&lamp, Some(at(60_000))),
            event(&lamp, Some(at(-2 * HOUR_MILLIS))),
        ];
        let done = record(app, batch).await;
        assert_eq!(done["counted"], 3);
        assert_eq!(
            done["ignored"],
            json!([
                { "index": 1, "reason": "NOT_FOUND" },
                { "index": 2, "reason": "TOO_OLD" },
                { "index": 3, "reason": "AHEAD" },
            ])
        );
        app.run_background_work().await;
        let hours = series(app, &lamp, "HOUR", 2 * HOUR_MILLIS).await;
        let views: Vec<&Value> = hours["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| &point["views"])
            .collect();
        assert_eq!(views, [1, 0, 2]);
        let refused = |input: Value| async move {
            let given = app.mutate("recordActivity", input).await;
            given.user_errors()
        };
        assert_eq!(
            refused(json!({ "events": [] })).await,
            ["INVALID at events: a batch has 1 to 500 events, not 0"]
        );
        assert_eq!(
            refused(json!({ "events": events("VIEW", &lamp, 501) })).await,
            ["INVALID at events: a batch has 1 to 500 events, not 501"]
        );
        assert_eq!(
            refused(json!({ "events": events("VIEW", "lamp", 1), "idempotencyKey": "" })).await,
            [
                "INVALID at idempotencyKey: an idempotency key is 1 to 128 printable ASCII characters",
                "INVALID at events.0.productId: not the id of a product",
            ]
        );
    });
}

#[test]
fn a_batch_that_is_sent_twice_is_counted_once() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let input = json!({ "events": events("VIEW", &lamp, 4), "idempotencyKey": "b-1" });
        let sent = (0..10).map(|_| app.mutate("recordActivity", input.clone()).into_future());
        let answers = futures_util::future::join_all(sent).await;
        let counted = answers.iter().map(|answer| answer.number("/counted"));
        assert_eq!(counted.sum::<i64>(), 4);
        // Other events are not a repetition, and a batch without a counted event may be sent again.
        let other = json!({ "events": events("CART", &lamp, 1), "idempotencyKey": "b-1" });
        assert_eq!(
            app.mutate("recordActivity", other).await.user_errors(),
            [
                "IDEMPOTENCY_CONFLICT at idempotencyKey: this key was used for other events within ten minutes"
            ]
        );
        let nobody = GlobalId::Product(ProductId::random()).encode();
        for (product, counted) in [(&nobody, 0), (&lamp, 1)] {
            let input = json!({ "events": events("VIEW", product, 1), "idempotencyKey": "b-2" });
            let done = app.mutate("recordActivity", input).await;
            assert_eq!(done.number("/counted"), counted);
        }
        app.run_background_work().await;
        let seen = series(app, &lamp, "DAY", 0).await;
        assert_eq!(
            (&seen["views"]["value"], &seen["carts"]["value"]),
            (&json!(5), &json!(0))
        );
    });
}

#[test]
fn a_product_that_is_not_on_sale_has_no_activity() {
    test(async |app| {
        app.has([
            product("Lamp").status(ProductStatus::Draft),
            product("Desk").status(ProductStatus::Archived),
        ])
        .await;
        for lamp in ids(app, ["lamp", "desk"]).await {
            let done = record(app, events("VIEW", &lamp, 2)).await;
            assert_eq!(done["counted"], 0);
            assert_eq!(
                done["ignored"][0],
                json!({ "index": 0, "reason": "NOT_FOUND" })
            );
        }
    });
}

#[test]
fn a_purchase_dated_tomorrow_does_not_count_in_this_month() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let tomorrow = app
            .clock
            .now()
            .plus_millis(DAY_MILLIS - HOUR_MILLIS)
            .to_string();
        let bought = json!({ "productId": lamp, "customerId": "ann", "quantity": 2, "purchasedAt": tomorrow });
        app.mutate("recordPurchase", bought).await.done();
        let counters = async || {
            app.run_background_work().await;
            app.catalog.work_off(Worker::Trending).await.unwrap();
            let product = app
                .query("{ product(slug: \"lamp\") { counters { unitsSold { value } unitsSoldInMonth { value } } } }")
                .as_service("orders")
                .await;
            let counters = product.at("/product/counters");
            (
                counters["unitsSold"]["value"].as_i64(),
                counters["unitsSoldInMonth"]["value"].as_i64(),
            )
        };
        assert_eq!(counters().await, (Some(2), Some(0)));
        app.clock.advance(DAY_MILLIS);
        assert_eq!(counters().await, (Some(2), Some(2)));
    });
}

#[test]
fn an_order_is_counted_once_however_often_it_is_reported() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let order = |customer: &str, order: Option<&str>, quantity: i64| {
            json!({
                "productId": lamp, "customerId": customer, "orderId": order, "quantity": quantity,
                "purchasedAt": "2024-02-29T10:00:00Z",
            })
        };
        let reports = [
            (order("ann", Some("1"), 2), true),
            (order("ann", Some("1"), 2), false),
            (order("ann", Some("2"), 3), true),
            (order("ben", None, 1), true),
            (order("ben", None, 1), false),
            (order("cid", None, 4), true),
        ];
        for (input, new) in reports {
            let reply = app.mutate("recordPurchase", input).await;
            assert_eq!(reply.done()["recorded"], new);
        }
        app.run_background_work().await;
        let counters =
            "{ product(slug: \"lamp\") { counters { unitsSold { value relation asOf } } } }";
        let sold = app
            .query(counters)
            .as_service("orders")
            .await
            .at("/product/counters/unitsSold")
            .clone();
        assert_eq!(
            sold,
            json!({ "value": 10, "relation": "EXACT", "asOf": "2026-05-31T12:00:00.000Z" })
        );
        // Hours are no longer kept; days are.
        assert!(app.documents("activity", doc! {}).await.is_empty());
        assert_eq!(
            app.documents("activity_days", doc! { "purchases": 10 })
                .await
                .len(),
            1
        );
        let refused = app
            .mutate("recordPurchase", order("ann", Some(""), 0))
            .await;
        assert_eq!(
            refused.user_errors(),
            [
                "INVALID at quantity: must be 1 to 10000, not 0",
                "INVALID at orderId: an order id has 1 to 128 printable ASCII characters",
            ]
        );
    });
}

#[test]
fn a_bucket_is_filled_once_however_many_workers_run() {
    test(async |app| {
        app.has([product("Lamp"), product("Chair")]).await;
        let [lamp, chair] = ids(app, ["lamp", "chair"]).await;
        let other = app.other_process().await;
        for round in 0..20 {
            let both = [events("VIEW", &lamp, 3), events("CART", &chair, 2)].concat();
            let input = json!({ "events": both });
            app.mutate("recordActivity", input.clone()).await.done();
            app.mutate("recordActivity", input)
                .through(&other)
                .await
                .done();
            let bought = json!({ "productId": lamp, "customerId": format!("c{round}") });
            app.mutate("recordPurchase", bought).await.done();
            let (one, two) = tokio::join!(app.catalog.flush_activity(), other.flush_activity());
            assert_eq!((one.unwrap(), two.unwrap()), (2, 2));
        }
        let (one, two) = tokio::join!(
            app.catalog.work_off(Worker::Activity),
            other.work_off(Worker::Activity)
        );
        assert!(one.is_ok() && two.is_ok());
        app.run_background_work().await;
        let seen = series(app, &lamp, "DAY", 0).await;
        assert_eq!(
            (&seen["views"]["value"], &seen["purchases"]["value"]),
            (&json!(120), &json!(20))
        );
        assert_eq!(series(app, &chair, "DAY", 0).await["carts"]["value"], 80);
    });
}

#[test]
fn nothing_is_lost_or_counted_twice_when_the_database_fails() {
    test_on_own_server(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let product = match GlobalId::decode(&lamp) {
            Ok(GlobalId::Product(id)) => id,
            other => panic!("{other:?}"),
        };
        let view = Event {
            product,
            kind: ActivityKind::View,
            at: None,
        };
        app.expire_abandoned_transactions_soon().await;
        let ways = [
            doc! { "errorCode": 10_107 },
            doc! { "closeConnection": true },
            doc! { "errorCode": 11_600 },
        ];
        let mut counted = 0;
        for (at, how) in ways.into_iter().enumerate() {
            for command in ["insert", "update", "commitTransaction"] {
                app.catalog
                    .record_activity(&[view; 5], None, &Recorder::trusted("test"))
                    .await
                    .unwrap();
                counted += 5;
                app.fail_next(2, &[command], how.clone()).await;
                let _ = app.catalog.flush_activity().await;
                let _ = app.catalog.work_off(Worker::Activity).await;
                app.stop_failing().await;
                let bought = json!({ "productId": lamp, "customerId": format!("{at} {command}") });
                // The driver may consider the server lost for some seconds.
                let recorded = async || {
                    let reply = app.mutate("recordPurchase", bought.clone()).await;
                    reply.0.errors().is_empty().then_some(())
                };
                eventually("it is recorded", Duration::from_mins(1), recorded).await;
            }
        }
        app.run_background_work().await;
        let seen = series(app, &lamp, "DAY", 0).await;
        assert_eq!(
            (&seen["views"]["value"], &seen["purchases"]["value"]),
            (&json!(counted), &json!(9))
        );
    });
}

#[test]
fn an_election_neither_loses_nor_doubles_events() {
    test_on_own_server(async |app| {
        const ROUNDS: i64 = 60;
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        app.expire_abandoned_transactions_soon().await;
        // From now on the products are cached, so that counting needs no database.
        record(app, events("VIEW", &lamp, 1)).await;
        let elections = async {
            for _ in 0..3 {
                app.step_down().await;
                let writes = async || {
                    let settings = app.direct().collection::<Document>("elsewhere");
                    settings.insert_one(doc! {}).await.ok()
                };
                eventually("a primary", Duration::from_mins(1), writes).await;
            }
        };
        let processes = async {
            for _ in 0..ROUNDS {
                record(app, events("VIEW", &lamp, 3)).await;
                let (handed, filled) = tokio::join!(
                    app.catalog.flush_activity(),
                    app.catalog.work_off(Worker::Activity)
                );
                // What has failed is done by the next run.
                let _ = (handed, filled);
            }
        };
        tokio::join!(elections, processes);
        app.run_background_work().await;
        let seen = series(app, &lamp, "DAY", 0).await;
        assert_eq!(seen["views"]["value"], 1 + 3 * ROUNDS);
        let elsewhere = app.direct().collection::<Document>("elsewhere");
        elsewhere.drop().await.unwrap();
    });
}

#[test]
fn a_batch_stored_without_an_answer_is_not_stored_again() {
    test_on_own_server(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        record(app, events("VIEW", &lamp, 5)).await;
        // The server executes the command and reports that it failed, once more often than the
        // driver retries.
        let lost =
            doc! { "code": 91, "errmsg": "shutting down", "errorLabels": ["RetryableWriteError"] };
        app.fail_next(2, &["insert"], doc! { "writeConcernError": lost })
            .await;
        assert!(app.catalog.flush_activity().await.is_err());
        app.stop_failing().await;
        assert_eq!(app.documents("activity_handed", doc! {}).await.len(), 1);
        // It is in a bucket before it is handed over again.
        assert_eq!(app.catalog.work_off(Worker::Activity).await.unwrap(), 1);
        assert_eq!(app.catalog.flush_activity().await.unwrap(), 1);
        assert_eq!(app.catalog.work_off(Worker::Activity).await.unwrap(), 0);
        app.run_background_work().await;
        assert_eq!(series(app, &lamp, "DAY", 0).await["views"]["value"], 5);
    });
}

#[test]
fn a_clock_that_steps_back_changes_no_count() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        record(app, events("VIEW", &lamp, 2)).await;
        app.run_background_work().await;
        app.clock.advance(-3 * HOUR_MILLIS);
        record(app, events("VIEW", &lamp, 3)).await;
        app.run_background_work().await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        app.clock.advance(3 * HOUR_MILLIS);
        app.catalog.work_off(Worker::Trending).await.unwrap();
        let hours = series(app, &lamp, "HOUR", 3 * HOUR_MILLIS).await;
        assert_eq!(hours["views"]["value"], 5);
        let query = "{ trending(window: DAY) { rank product { name } asOf } }";
        let trending = app.query(query).await;
        assert_eq!(trending.text("/trending/0/product/name"), "Lamp");
        assert_eq!(
            trending.text("/trending/0/asOf"),
            "2026-05-31T12:00:00.000Z"
        );
    });
}

#[test]
fn ranges_are_bounded_and_visible_to_their_roles_only() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        app.has([product("Lamp")]).await;
        let request = |range: &str, resolution: &str| {
            format!(
                "{{ product(slug: \"lamp\") {{ activity(range: {{ {range} }}, resolution: {resolution}) {{ points {{ views }} }} }} }}"
            )
        };
        let week = "from: \"2026-05-24\", to: \"2026-05-31\"";
        let seen = app.query(&request(week, "HOUR")).await;
        assert_eq!(*seen.at("/product/activity"), Value::Null);
        let seen = app.query(&request(week, "HOUR")).as_service("erp").await;
        assert_eq!(
            seen.at("/product/activity/points")
                .as_array()
                .unwrap()
                .len(),
            168
        );
        assert_eq!(
            seen.sent_for_query(),
            ["find products", "find sales", "find activity"]
        );
        for (range, resolution, error) in [
            (
                "from: \"2026-05-23\", to: \"2026-05-31\"",
                "HOUR",
                "BAD_USER_INPUT at product.activity: range: 192 hours; 168 are possible at once",
            ),
            (
                "from: \"2020-01-01\", to: \"2026-05-31\"",
                "DAY",
                "BAD_USER_INPUT at product.activity: range: 2342 days; 400 are possible at once",
            ),
            (
                "from: \"2026-03-02T12:00:00Z\", to: \"2026-03-03\"",
                "HOUR",
                "BAD_USER_INPUT at product.activity: range.from: hours are kept for 90 days: from 2026-03-02T13:00:00.000Z on",
            ),
            (
                "from: \"2023-05-31\", to: \"2023-06-01\"",
                "DAY",
                "BAD_USER_INPUT at product.activity: range.from: days are kept for 1096 days: from 2023-06-01T00:00:00.000Z on",
            ),
            (
                "from: \"2026-05-31\", to: \"2026-05-31\"",
                "DAY",
                "BAD_USER_INPUT at product.activity: range.from: must be before `to`",
            ),
        ] {
            let refused = app.query(&request(range, resolution)).as_admin().await;
            assert_eq!(refused.errors(), [error]);
        }
    });
}

/// Products in three categories.
async fn shop(app: &App) -> [String; 4] {
    app.has([
        product("Lamp").category(["Home", "Light"]),
        product("Bulb").category(["Home", "Light"]),
        product("Chair").category(["Home", "Seats"]),
        product("Book").category(["Books"]),
    ])
    .await;
    ids(app, ["lamp", "bulb", "chair", "book"]).await
}

async fn trending(app: &App, arguments: &str) -> Vec<(String, f64)> {
    let query = format!("{{ trending({arguments}) {{ product {{ name }} score }} }}");
    let answer = app.query(&query).await;
    let rows = answer.at("/trending").as_array().unwrap().clone();
    let row = |row: &Value| {
        let name = row["product"]["name"].as_str().unwrap().to_owned();
        (name, row["score"].as_f64().unwrap())
    };
    rows.iter().map(row).collect()
}

/// What gets attention: the lamp had views a day ago, the chair carts; since then the bulb had
/// views and the book was bought.
async fn attention(app: &App) -> [String; 4] {
    let [lamp, bulb, chair, book] = shop(app).await;
    record(app, events("VIEW", &lamp, 10)).await;
    record(app, events("CART", &chair, 4)).await;
    app.run_background_work().await;
    // Four half-lives of the day.
    app.clock.advance(DAY_MILLIS - HOUR_MILLIS);
    let mut batch = events("VIEW", &bulb, 3);
    batch.extend(events("VIEW", &book, 1));
    record(app, batch).await;
    let bought = json!({ "productId": book, "customerId": "ann" });
    app.mutate("recordPurchase", bought).await.done();
    app.run_background_work().await;
    [lamp, bulb, chair, book]
}

/// The names of the products that are trending.
async fn trending_names(app: &App, arguments: &str) -> Vec<String> {
    let rows = trending(app, arguments).await;
    rows.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn trending_products_are_precomputed_by_category_and_window() {
    test(async |app| {
        let [_, bulb, ..] = attention(app).await;
        assert_eq!(trending(app, "window: DAY").await, [], "not computed yet");
        app.catalog.work_off(Worker::Trending).await.unwrap();
        let names = async |arguments: &str| trending_names(app, arguments).await;
        let day = trending(app, "window: DAY").await;
        assert!((day[0].1 - 21.0).abs() < 0.1, "{day:?}");
        let day = names("window: DAY").await;
        assert_eq!(day, ["Book", "Bulb", "Chair", "Lamp"]);
        let month = names("window: MONTH").await;
        assert_eq!(month, ["Book", "Chair", "Lamp", "Bulb"]);
        let home = names("window: DAY, category: \"home\", first: 2").await;
        assert_eq!(home, ["Bulb", "Chair"]);
        let light = names("window: WEEK, category: \"light\"").await;
        assert_eq!(light, ["Lamp", "Bulb"]);
        // A product that is not on sale is not shown; the next one takes its place.
        app.mutate("archiveProduct", json!({ "id": bulb }))
            .await
            .done();
        let home = names("window: DAY, category: \"home\", first: 2").await;
        assert_eq!(home, ["Chair", "Lamp"]);
    });
}

#[test]
fn a_list_of_trending_products_is_one_command() {
    test(async |app| {
        attention(app).await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        let one = app
            .query("{ trending(window: DAY) { product { name slug } rank } }")
            .await;
        assert_eq!(one.sent_for_query(), ["aggregate trending"]);
        let none = app
            .query("{ trending(window: DAY, category: \"nope\") { rank } }")
            .await;
        assert_eq!(
            none.errors(),
            ["BAD_USER_INPUT at trending: category: there is no category with this slug"]
        );
        let many = app
            .query("{ trending(window: DAY, first: 101) { rank } }")
            .await;
        assert_eq!(
            many.errors(),
            ["BAD_USER_INPUT at trending: first: must be 1 to 100, not 101"]
        );
    });
}

#[test]
fn a_product_without_activity_for_a_month_is_no_longer_trending() {
    test(async |app| {
        attention(app).await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        app.clock.advance(31 * DAY_MILLIS);
        app.catalog.work_off(Worker::Trending).await.unwrap();
        for window in ["DAY", "WEEK", "MONTH"] {
            assert_eq!(trending(app, &format!("window: {window}")).await, []);
        }
        assert!(
            app.documents("products", doc! { "activity": { "$exists": true } })
                .await
                .is_empty()
        );
        assert!(
            app.documents("products", doc! { "rank.sold": { "$exists": true } })
                .await
                .is_empty()
        );
    });
}

/// One pass of the worker that computes what is trending; the commands it sent.
async fn trending_pass(app: &App, maintenance: &mut MaintenanceState) -> Vec<String> {
    app.run_background_work().await;
    app.forget_commands();
    app.catalog
        .work(Worker::Trending, maintenance)
        .await
        .unwrap();
    app.sent()
}

/// The lists of all windows, of all products and of two categories.
async fn trending_lists(app: &App) -> Vec<Vec<(String, f64)>> {
    let mut lists = Vec::new();
    for window in ["DAY", "WEEK", "MONTH"] {
        for within in ["", ", category: \"home\"", ", category: \"light\""] {
            let rows = trending(app, &format!("window: {window}{within}")).await;
            assert!(!rows.is_empty());
            lists.push(rows);
        }
    }
    lists
}

#[test]
fn between_two_full_passes_only_busy_products_are_recomputed() {
    test(async |app| {
        let shop = shop(app).await;
        for (at, product) in shop.iter().enumerate() {
            record(app, events("VIEW", product, 10 * (at + 1))).await;
        }
        let mut maintenance = MaintenanceState::default();
        let all = trending_pass(app, &mut maintenance).await;
        assert!(
            all.contains(&"aggregate activity_days".to_owned()),
            "{all:?}"
        );
        assert_eq!(
            trending_pass(app, &mut maintenance).await,
            [""; 0],
            "nothing happened"
        );
        // Passes over busy products come to what a full pass comes to.
        let mut random = 7_usize;
        for _ in 0..6 {
            app.clock.advance(3 * HOUR_MILLIS);
            for product in &shop {
                random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345) >> 1;
                if random.is_multiple_of(2) {
                    record(app, events("VIEW", product, 1 + random % 9)).await;
                }
            }
            trending_pass(app, &mut maintenance).await;
        }
        let merged = trending_lists(app).await;
        let ranks_of_merged = ranks(app).await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        for (merged, full) in merged.iter().zip(trending_lists(app).await) {
            // A list of products that are not busy has scores of an earlier time.
            let aged = full[0].1 / merged[0].1;
            for ((name, score), (expected_name, expected)) in merged.iter().zip(&full) {
                assert_eq!(name, expected_name);
                let off = (aged * score - expected).abs();
                assert!(
                    off <= 0.15 * expected,
                    "{name}: {score}, in a full pass {expected}"
                );
            }
            assert_eq!(merged.len(), full.len());
        }
        assert_eq!(ranks_of_merged.len(), ranks(app).await.len());
    });
}

#[test]
fn a_failed_pass_is_followed_by_a_full_one() {
    test_on_own_server(async |app| {
        let shop = shop(app).await;
        for product in &shop {
            record(app, events("VIEW", product, 10)).await;
        }
        let mut maintenance = MaintenanceState::default();
        trending_pass(app, &mut maintenance).await;
        record(app, events("VIEW", &shop[0], 1)).await;
        app.run_background_work().await;
        app.fail_next(1, &["aggregate"], doc! { "errorCode": 50 })
            .await;
        let failed = app.catalog.work(Worker::Trending, &mut maintenance).await;
        assert!(failed.is_err());
        let again = trending_pass(app, &mut maintenance).await;
        assert!(!again.contains(&"find trending".to_owned()), "{again:?}");
    });
}

#[test]
fn popularity_that_an_earlier_release_changed_is_corrected() {
    test(async |app| {
        let [lamp, ..] = shop(app).await;
        let bought = json!({ "productId": lamp, "customerId": "ann", "quantity": 100 });
        app.mutate("recordPurchase", bought).await.done();
        app.run_background_work().await;
        let work = async || {
            let stood = app.catalog.work_off(Worker::Trending).await.unwrap();
            app.catalog.work_off(Worker::Ranks).await.unwrap();
            let sold = doc! { "rank.sold": { "$exists": true } };
            let products = app.documents("products", sold).await;
            let rank = products[0].get_document("rank").unwrap();
            (stood, rank.get_i32("popularity").unwrap())
        };
        assert_eq!(work().await, (1, 7));
        // Computed from reviews alone, as by an earlier release.
        let products = app.direct().collection::<Document>("products");
        let one = doc! { "slug": "lamp" };
        let moved = doc! { "$set": { "rank.popularity": 0 } };
        products.update_one(one, moved).await.unwrap();
        assert_eq!(work().await, (1, 7));
        assert_eq!(work().await, (0, 7), "once is enough");
    });
}

/// A shop that has sold lamps and bulbs and in which chairs were viewed, all computed.
async fn busy_shop(app: &App) {
    let [lamp, bulb, chair, _] = shop(app).await;
    for (product, units) in [(&lamp, 2), (&bulb, 9)] {
        let bought = json!({ "productId": product, "customerId": "ann", "quantity": units });
        app.mutate("recordPurchase", bought).await.done();
    }
    record(app, events("VIEW", &chair, 100)).await;
    app.run_background_work().await;
    app.catalog.work_off(Worker::Trending).await.unwrap();
    app.run_background_work().await;
}

#[test]
fn products_are_sorted_by_sales_and_attention() {
    test(async |app| {
        busy_shop(app).await;
        let list = |key: &str, page: &str| {
            format!(
                "{{ products(sort: [{{ key: {key} }}], {page}) {{ nodes {{ name }} pageInfo {{ endCursor startCursor hasNextPage }} }} }}"
            )
        };
        for (key, expected) in [
            ("BEST_SELLING", ["Bulb", "Lamp"]),
            ("TRENDING", ["Bulb", "Chair"]),
        ] {
            let all = app.query(&list(key, "first: 10")).await.names("/products");
            assert_eq!(all[..2], expected, "{key}");
            assert_eq!(all.len(), 4);
            // One by one, forwards and backwards.
            let mut walked = Vec::new();
            let mut page = "first: 1".to_owned();
            for _ in 0..4 {
                let answer = app.query(&list(key, &page)).await;
                walked.extend(answer.names("/products"));
                let cursor = answer.text("/products/pageInfo/endCursor");
                page = format!("first: 1, after: \"{cursor}\"");
            }
            assert_eq!(walked, all, "{key}");
            let mut back = Vec::new();
            let mut page = "last: 1".to_owned();
            for _ in 0..4 {
                let answer = app.query(&list(key, &page)).await;
                back.extend(answer.names("/products"));
                let cursor = answer.text("/products/pageInfo/startCursor");
                page = format!("last: 1, before: \"{cursor}\"");
            }
            back.reverse();
            assert_eq!(back, all, "{key}");
        }
    });
}

#[test]
fn counters_and_popularity_are_part_of_the_product() {
    test(async |app| {
        busy_shop(app).await;
        let counters = app
            .query("{ product(slug: \"chair\") { counters { viewsInMonth { value relation asOf } unitsSoldInMonth { value } unitsSold { value asOf } } } }")
            .await;
        assert_eq!(
            *counters.at("/product/counters"),
            json!({
                "viewsInMonth": { "value": 100, "relation": "ESTIMATE", "asOf": "2026-05-31T12:00:00.000Z" },
                "unitsSoldInMonth": { "value": 0 },
                "unitsSold": { "value": 0, "asOf": null },
            })
        );
        assert_eq!(counters.sent(), ["find products"]);
        // A hundred views are the interest of five people, which takes three bits.
        let rank = app.documents("products", doc! { "slug": "chair" }).await;
        let rank = rank[0].get_document("rank").unwrap();
        assert_eq!(rank.get_i32("popularity").unwrap(), 3);
        assert!(!rank.contains_key("due"));
        // A second pass writes nothing.
        assert_eq!(app.catalog.work_off(Worker::Trending).await.unwrap(), 0);
    });
}

/// The names of a whole list in its order, read page by page from either end.
async fn walk(app: &App, list: &str, size: usize, backwards: bool) -> Vec<String> {
    let (count, from, cursor) = if backwards {
        ("last", "before", "startCursor")
    } else {
        ("first", "after", "endCursor")
    };
    let (mut names, mut position) = (Vec::new(), String::new());
    // More pages than this would be a cycle.
    for _ in 0..100 {
        let page = format!(
            "{{ products({list}, {count}: {size}{position}) {{ nodes {{ name }} pageInfo {{ {cursor} hasNextPage hasPreviousPage }} }} }}"
        );
        let answer = app.query(&page).as_admin().await;
        let mut some = answer.names("/products");
        if backwards {
            some.reverse();
        }
        names.extend(some);
        let info = answer.at("/products/pageInfo");
        let more = if backwards {
            "hasPreviousPage"
        } else {
            "hasNextPage"
        };
        if info[more] == false {
            break;
        }
        position = format!(", {from}: {}", info[cursor]);
    }
    if backwards {
        names.reverse();
    }
    names
}

/// Which products a filter finds, by number.
type Matches = fn(usize) -> bool;

const FILTERS: [(&str, Matches); 6] = [
    ("{}", |_| true),
    (r#"{ category: ["lamps"] }"#, |n| n % 3 == 0),
    (r#"{ category: ["light"] }"#, |n| n % 3 != 2),
    (r#"{ category: ["bulbs", "chairs"] }"#, |n| n % 3 != 0),
    (r#"{ category: ["home"], price: { gte: "6" } }"#, |n| {
        n % 4 != 0
    }),
    ("{ status: [ACTIVE, ARCHIVED] }", |_| true),
];

const PRODUCTS: usize = 60;

/// How many units of a product were sold: many have sold equally many, half of them nothing.
fn units(n: usize) -> usize {
    if n.is_multiple_of(2) { 0 } else { n / 2 % 4 }
}

/// Sixty products of three categories, with their sales computed; their slugs.
async fn sold_stock(app: &App) -> [String; PRODUCTS] {
    let stock = (0..PRODUCTS).map(|n| {
        let leaf = ["Lamps", "Bulbs", "Chairs"][n % 3];
        let above = if n % 3 == 2 { "Seats" } else { "Light" };
        let product = product(&format!("p{n:02}")).category(["Home", above, leaf]);
        product.price(if n % 4 == 0 { "5" } else { "9" })
    });
    app.has(stock).await;
    let slugs: [String; PRODUCTS] = std::array::from_fn(|n| format!("p{n:02}"));
    let ids = ids(app, slugs.each_ref().map(String::as_str)).await;
    for (n, id) in ids.iter().enumerate() {
        if units(n) > 0 {
            let bought = json!({ "productId": id, "customerId": "ann", "quantity": units(n) });
            app.mutate("recordPurchase", bought).await.done();
        }
    }
    app.run_background_work().await;
    app.catalog.work_off(Worker::Trending).await.unwrap();
    app.run_background_work().await;
    slugs
}

#[test]
fn every_list_by_sales_or_attention_has_each_product_once_from_either_end() {
    test(async |app| {
        let slugs = sold_stock(app).await;
        for (filter, matches) in FILTERS {
            for key in ["BEST_SELLING", "TRENDING"] {
                for direction in ["ASCENDING", "DESCENDING"] {
                    let list = format!(
                        "filter: {filter}, sort: [{{ key: {key}, direction: {direction} }}]"
                    );
                    let all = walk(app, &list, 100, false).await;
                    let mut expected: Vec<usize> = (0..PRODUCTS).filter(|n| matches(*n)).collect();
                    let mut found = all.clone();
                    found.sort();
                    let names: Vec<String> = expected.iter().map(|n| slugs[*n].clone()).collect();
                    assert_eq!(found, names, "{list}");
                    // Products without sales come last in both directions.
                    expected.sort_by_key(|n| match (units(*n), direction) {
                        (0, _) => 9,
                        (units, "ASCENDING") => units,
                        (units, _) => 9 - units,
                    });
                    let by = |names: Vec<usize>| names.into_iter().map(units).collect::<Vec<_>>();
                    let place = |name: &String| slugs.iter().position(|slug| slug == name).unwrap();
                    assert_eq!(by(all.iter().map(place).collect()), by(expected), "{list}");
                    for size in [3, 7] {
                        for backwards in [false, true] {
                            let walked = walk(app, &list, size, backwards).await;
                            assert_eq!(walked, all, "{size} at a time, {backwards}: {list}");
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn a_flood_of_products_is_sampled_and_says_so() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let Ok(GlobalId::Product(id)) = GlobalId::decode(&lamp) else {
            panic!("an id of a product")
        };
        // A batch of a process that was flooded.
        let mut rows = doc! { "p": id.to_i64(), "v": 1_600_i64 };
        rows.insert(
            "h",
            mongodb::bson::DateTime::from_millis(app.clock.now().as_millis()),
        );
        rows.insert("k", 16_i64);
        let handed = doc! {
            "_id": ProductId::random().to_i64(), "schema_version": 1, "rows": [rows], "open": true,
            "at": mongodb::bson::DateTime::from_millis(app.clock.now().as_millis()),
        };
        let collection = app.direct().collection::<Document>("activity_handed");
        collection.insert_one(handed).await.unwrap();
        app.run_background_work().await;
        let query = format!(
            "{{ node(id: \"{lamp}\") {{ ... on Product {{ activity(range: {{ from: \"2026-05-31\", to: \"2026-06-01\" }}) {{ views {{ value relation relativeError }} carts {{ relativeError }} }} }} }} }}"
        );
        let seen = app.query(&query).as_admin().await;
        let views = seen.at("/node/activity/views");
        assert_eq!(
            (&views["value"], &views["relation"]),
            (&json!(1600), &json!("ESTIMATE"))
        );
        let error = views["relativeError"].as_f64().unwrap();
        assert!((error - 0.0968).abs() < 0.0001, "{error}");
        assert_eq!(*seen.at("/node/activity/carts/relativeError"), 0.0);
    });
}

#[test]
fn events_of_a_product_that_does_not_exist_yet_are_counted_once_it_does() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let Ok(GlobalId::Product(id)) = GlobalId::decode(&lamp) else {
            panic!("an id of a product")
        };
        let view = Event {
            product: id,
            kind: ActivityKind::View,
            at: None,
        };
        let products = app.direct().collection::<Document>("products");
        let made = products.find_one_and_delete(doc! {}).await.unwrap();
        let counted = app
            .catalog
            .record_activity(&[view], None, &Recorder::trusted("test"))
            .await
            .unwrap();
        assert_eq!(counted.ignored, [(0, IgnoredReason::Unknown)]);
        products.insert_one(made.unwrap()).await.unwrap();
        let counted = app
            .catalog
            .record_activity(&[view], None, &Recorder::trusted("test"))
            .await
            .unwrap();
        assert_eq!((counted.counted, counted.ignored), (1, vec![]));
    });
}

#[test]
fn events_beyond_the_size_of_a_transaction_go_into_the_next() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        let Ok(GlobalId::Product(lamp)) = GlobalId::decode(&lamp) else {
            panic!("an id of a product")
        };
        let at = app.clock.now().plus_millis(-HOUR_MILLIS);
        let views = ActivityCounts {
            views: 1,
            ..ActivityCounts::default()
        };
        for _ in 0..3 {
            // Each has half of what fits, and one event more.
            let products = std::iter::repeat_with(ProductId::random)
                .take(5_000)
                .chain([lamp]);
            let counted = SampledCounts {
                counts: views,
                one_in: 1,
            };
            let rows = products.map(|product| ((product, hour(at)), counted));
            let handover = ActivityBatch::new(rows.collect());
            app.store
                .insert_activity_batch(&handover, app.clock.now())
                .await
                .unwrap();
        }
        let run = app.catalog.fill_buckets().await.unwrap();
        assert_eq!(
            run,
            WorkerRun {
                done: 2,
                backlog: 1,
                ..WorkerRun::default()
            }
        );
        let run = app.catalog.fill_buckets().await.unwrap();
        assert_eq!(
            run,
            WorkerRun {
                done: 1,
                backlog: 0,
                ..WorkerRun::default()
            }
        );
        assert_eq!(
            app.catalog.fill_buckets().await.unwrap(),
            WorkerRun::default()
        );
        let lamp = GlobalId::Product(lamp).encode();
        let seen = series(app, &lamp, "DAY", DAY_MILLIS).await;
        assert_eq!(seen["views"]["value"], 3);
    });
}

#[test]
fn events_buffered_during_an_outage_are_stored_when_it_ends() {
    test_on_own_server(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        record(app, events("VIEW", &lamp, 1)).await;
        app.fail_after(0, &["insert"], doc! { "errorCode": 96 })
            .await;
        // More than the limit: the rest stays in memory.
        for _ in 0..40 {
            assert!(app.catalog.flush_activity().await.is_err());
            record(app, events("VIEW", &lamp, 1)).await;
        }
        app.stop_failing().await;
        app.catalog.flush_activity().await.unwrap();
        assert_eq!(app.catalog.buffered_activity(), 0);
        app.catalog.work_off(Worker::Activity).await.unwrap();
        app.run_background_work().await;
        assert_eq!(series(app, &lamp, "DAY", 0).await["views"]["value"], 41);
    });
}

#[test]
fn batches_of_a_newer_release_are_left_to_it() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let [lamp] = ids(app, ["lamp"]).await;
        record(app, events("VIEW", &lamp, 2)).await;
        app.catalog.flush_activity().await.unwrap();
        let handed = app.direct().collection::<Document>("activity_handed");
        let version = async |version: i32| {
            let set = doc! { "$set": { "schema_version": version } };
            handed.update_many(doc! {}, set).await.unwrap();
        };
        version(9).await;
        assert_eq!(app.catalog.work_off(Worker::Activity).await.unwrap(), 0);
        let waits = doc! { "open": true, "rows": { "$exists": true } };
        assert_eq!(app.documents("activity_handed", waits).await.len(), 1);
        version(1).await;
        assert_eq!(app.catalog.work_off(Worker::Activity).await.unwrap(), 1);
        assert_eq!(series(app, &lamp, "DAY", 0).await["views"]["value"], 2);
    });
}

/// The activity of products and the values that they are sorted by, by name.
async fn ranks(app: &App) -> Vec<(String, Document)> {
    let products = app.documents("products", doc! {}).await;
    let rank = |product: &Document| {
        let mut rank = product.get_document("rank").unwrap().clone();
        if let Ok(standing) = product.get_document("activity") {
            rank.insert("views", standing.get("views"));
            rank.insert("as_of", standing.get("as_of"));
        }
        (product.get_str("name").unwrap().to_owned(), rank)
    };
    let mut ranks: Vec<_> = products.iter().map(rank).collect();
    ranks.sort_by(|a, b| a.0.cmp(&b.0));
    ranks
}

#[test]
fn a_product_is_written_only_when_its_activity_has_changed() {
    test(async |app| {
        let [_, _, chair, _] = shop(app).await;
        record(app, events("VIEW", &chair, 100)).await;
        app.run_background_work().await;
        app.forget_commands();
        assert_eq!(app.catalog.work_off(Worker::Trending).await.unwrap(), 1);
        let sent = app.sent();
        let written = |sent: &[String]| sent.iter().filter(|one| *one == "update products").count();
        assert_eq!(written(&sent), 1, "{sent:?}");
        let (_, rank) = ranks(app).await.remove(2);
        assert_eq!(
            rank.get_i32("popularity").unwrap(),
            3,
            "with the same write"
        );
        assert_eq!(app.documents("stale_ranks", doc! {}).await, []);
        // A few more change nothing that is shown.
        record(app, events("VIEW", &chair, 5)).await;
        app.run_background_work().await;
        app.forget_commands();
        assert_eq!(app.catalog.work_off(Worker::Trending).await.unwrap(), 0);
        assert_eq!(written(&app.sent()), 0);
        record(app, events("VIEW", &chair, 30)).await;
        app.run_background_work().await;
        assert_eq!(app.catalog.work_off(Worker::Trending).await.unwrap(), 1);
        let (_, rank) = ranks(app).await.remove(2);
        assert_eq!(rank.get_i64("views").unwrap(), 140);
    });
}

#[test]
fn a_product_that_cannot_be_written_does_not_block_the_activity_of_others() {
    test(async |app| {
        let [lamp, bulb, chair, _] = shop(app).await;
        for product in [&lamp, &bulb, &chair] {
            record(app, events("VIEW", product, 20)).await;
        }
        app.run_background_work().await;
        let work = async || {
            assert!(app.catalog.work_off(Worker::Trending).await.is_err());
            let stands =
                |(name, rank): (String, Document)| rank.contains_key("trend").then_some(name);
            let standing: Vec<String> = ranks(app).await.into_iter().filter_map(stands).collect();
            assert_eq!(standing, ["Chair", "Lamp"]);
            let rows = trending(app, "window: DAY").await;
            assert_eq!(rows.len(), 2, "{rows:?}");
        };
        // A product with an invalid name is not shown either.
        app.with_damaged("bulb", "status", Box::pin(work())).await;
        assert_eq!(app.catalog.work_off(Worker::Trending).await.unwrap(), 1);
        let refused = async || {
            app.clock.advance(2 * DAY_MILLIS);
            assert!(app.catalog.work_off(Worker::Trending).await.is_err());
            let ranks = ranks(app).await;
            let trend = |at: usize| ranks[at].1.get_i32("trend").unwrap();
            assert!(trend(1) > trend(2) && trend(2) == trend(3), "{ranks:?}");
        };
        app.with_damaged("bulb", "name_key", Box::pin(refused()))
            .await;
        assert_eq!(app.catalog.work_off(Worker::Trending).await.unwrap(), 1);
    });
}

/// Marks the ranks of all products as stale, as folds do.
async fn note_all_ranks(app: &App) {
    let since = mongodb::bson::DateTime::now();
    let note = |product: &Document| {
        let stats = product.get_document("stats").unwrap();
        let seq = stats.get_i64("fold_seq").unwrap();
        let id = doc! { "p": product.get_i64("_id").unwrap(), "n": seq };
        doc! { "_id": id, "schema_version": 1, "since": since }
    };
    let products = app.documents("products", doc! {}).await;
    let notes: Vec<Document> = products.iter().map(note).collect();
    let due = app.direct().collection::<Document>("stale_ranks");
    due.insert_many(notes).await.unwrap();
}

#[test]
fn a_product_that_cannot_be_written_does_not_block_the_popularity_of_others() {
    test(async |app| {
        shop(app).await;
        let moved = doc! { "$set": { "rank.popularity": 9 } };
        let products = app.direct().collection::<Document>("products");
        products.update_many(doc! {}, moved).await.unwrap();
        note_all_ranks(app).await;
        let work = async || {
            let mut maintenance = MaintenanceState::default();
            let run = app.catalog.work(Worker::Ranks, &mut maintenance).await;
            let most = WorkerRun {
                done: 3,
                backlog: 1,
                ..WorkerRun::default()
            };
            assert_eq!(run.unwrap(), most, "one is left");
            let run = app.catalog.work(Worker::Ranks, &mut maintenance).await;
            assert!(run.is_err(), "nothing else is left");
            // It terminates.
            assert!(app.catalog.fold_and_move_ranks().await.is_err());
        };
        app.with_damaged("bulb", "name_key", Box::pin(work())).await;
        assert_eq!(app.catalog.work_off(Worker::Ranks).await.unwrap(), 1);
    });
}

#[test]
fn a_clock_that_was_ahead_blocks_no_later_update() {
    test(async |app| {
        let [lamp, bulb, chair, _] = shop(app).await;
        record(app, events("VIEW", &lamp, 50)).await;
        app.run_background_work().await;
        app.clock.advance(DAY_MILLIS);
        record(app, events("VIEW", &bulb, 50)).await;
        app.run_background_work().await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        app.clock.advance(-DAY_MILLIS);
        record(app, events("VIEW", &chair, 50)).await;
        app.run_background_work().await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        let rows = trending(app, "window: DAY").await;
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(
            names.contains(&"Chair") && names.contains(&"Lamp"),
            "{names:?}"
        );
        let as_of = app.query("{ trending(window: MONTH) { asOf } }").await;
        assert_eq!(as_of.text("/trending/0/asOf"), "2026-05-31T12:00:00.000Z");
        let now = mongodb::bson::DateTime::from_millis(app.clock.now().as_millis());
        for (name, rank) in ranks(app).await {
            let stands = rank.get_datetime("as_of").ok();
            let expected = ["Chair", "Lamp"].contains(&name.as_str()).then_some(&now);
            assert_eq!(stands, expected, "{name}");
        }
        // Processes whose clocks differ by seconds do not overwrite each other.
        app.clock.advance(-30_000);
        app.catalog.work_off(Worker::Trending).await.unwrap();
        let as_of = app.query("{ trending(window: MONTH) { asOf } }").await;
        assert_eq!(as_of.text("/trending/0/asOf"), "2026-05-31T12:00:00.000Z");
    });
}

#[test]
fn more_products_than_fit_into_memory_are_processed_in_batches() {
    test(async |app| {
        const PRODUCTS: u64 = 1_010;
        app.has((0..PRODUCTS).map(|n| product(&format!("P{n}"))))
            .await;
        let at = hour(app.clock.now());
        let seen = SampledCounts {
            counts: ActivityCounts {
                views: 40,
                ..ActivityCounts::default()
            },
            one_in: 1,
        };
        let products = app.documents("products", doc! {}).await;
        let id = |product: &Document| ProductId::from_i64(product.get_i64("_id").unwrap());
        let rows = products.iter().map(|product| ((id(product), at), seen));
        let handover = ActivityBatch::new(rows.collect());
        app.store
            .insert_activity_batch(&handover, at)
            .await
            .unwrap();
        app.run_background_work().await;
        app.forget_commands();
        assert_eq!(
            app.catalog.work_off(Worker::Trending).await.unwrap(),
            PRODUCTS
        );
        let updates = app.sent();
        let updates = updates.iter().filter(|one| *one == "update products");
        assert_eq!(updates.count(), 3, "some at a time");
        // The backlog is known in between.
        note_all_ranks(app).await;
        let (mut maintenance, mut done) = (MaintenanceState::default(), 0);
        loop {
            let run = app.catalog.work(Worker::Ranks, &mut maintenance).await;
            let run = run.unwrap();
            done += run.done;
            assert_eq!(done + run.backlog, PRODUCTS);
            if run.backlog == 0 {
                break;
            }
        }
        app.clock.advance(31 * DAY_MILLIS);
        assert_eq!(
            app.catalog.work_off(Worker::Trending).await.unwrap(),
            PRODUCTS
        );
        let standing = doc! { "activity": { "$exists": true } };
        assert!(app.documents("products", standing).await.is_empty());
    });
}

#[test]
fn a_batch_that_cannot_be_stored_does_not_block_sales() {
    test_on_own_server(async |app| {
        let [lamp, ..] = shop(app).await;
        record(app, events("VIEW", &lamp, 5)).await;
        app.catalog.flush_activity().await.unwrap();
        let bought = json!({ "productId": lamp, "customerId": "ann", "quantity": 2 });
        app.mutate("recordPurchase", bought).await.done();
        app.forget_commands();
        let slow = doc! { "blockConnection": true, "blockTimeMS": 1_000 };
        app.fail_next(1, &["update"], slow).await;
        // It was found, but is gone when it is to be stored.
        let taken = async {
            let begun = async || {
                let sent = app.sent();
                let begun = sent.iter().any(|sent| sent == "update activity_handed");
                begun.then_some(())
            };
            eventually("it is about to be taken", Duration::from_mins(1), begun).await;
            let handed = app.direct().collection::<Document>("activity_handed");
            handed.delete_many(doc! {}).await.unwrap();
        };
        let (worked, ()) = tokio::join!(app.catalog.work_off(Worker::Activity), taken);
        assert_eq!(worked.unwrap(), 1, "the sale");
        let day = series(app, &lamp, "DAY", 0).await;
        assert_eq!(
            (&day["views"]["value"], &day["purchases"]["value"]),
            (&json!(0), &json!(2))
        );
    });
}

/// Who reads a count every hour reads the sales of that hour from it.
#[test]
fn strangers_see_rounded_sales() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let id = app.query("{ product(slug: \"lamp\") { id } }").await;
        let id = id.text("/product/id");
        for (customer, quantity) in [("a", 1_000), ("b", 234)] {
            let bought = json!({ "productId": id, "customerId": customer, "quantity": quantity });
            app.mutate_by("orders", "recordPurchase", bought).await;
        }
        app.run_background_work().await;
        app.catalog.work_off(Worker::Trending).await.unwrap();
        let query = "{ product(slug: \"lamp\") { counters { unitsSold { value relation } unitsSoldInMonth { value relation } } } }";
        let counted = async |role: Option<Role>| {
            let ask = app.query(query);
            let answer = match role {
                None => ask.await,
                Some(role) => ask.with_roles("ada", &[role]).await,
            };
            answer.at("/product/counters").clone()
        };
        let both = |value: i32, relation: &str| {
            let count = json!({ "value": value, "relation": relation });
            json!({ "unitsSold": count, "unitsSoldInMonth": count })
        };
        for role in [Role::Admin, Role::Service] {
            assert_eq!(counted(Some(role)).await, both(1_234, "EXACT"));
        }
        for role in [None, Some(Role::Shopper), Some(Role::Moderator)] {
            assert_eq!(counted(role).await, both(1_200, "ESTIMATE"));
        }
    });
}
