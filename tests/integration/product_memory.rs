//! Products in memory: they cost no command, show every write of their own process at once, and are never older than
//! the bound if another process has written them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};
use vitrine_domain::Catalog;
use vitrine_domain::product_memory::{ProductMemoryOptions, ProductMemoryUse};
use vitrine_domain::products::{ProductKey, Visibility};
use vitrine_domain::workers::Worker;
use vitrine_harness::{
    Answer, App, ProductBuilder, eventually, product, review, test, test_on_own_server,
    test_on_replica_set,
};
use vitrine_model::id::ProductId;

/// A generous deadline for a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// The default bound.
const BOUND: Duration = Duration::from_secs(2);

const PAGE: &str = r#"{ product(slug: "lamp") { id name brand supplier { name }
    ratingStats { count } topReviews { title } } }"#;

fn usage(catalog: &Catalog) -> ProductMemoryUse {
    catalog.product_memory_use().expect("it is switched on")
}

/// The id of a product in the API, and in the domain.
async fn ids(app: &App, slug: &str) -> (String, ProductId) {
    let key = ProductKey::Slug(slug.to_owned());
    let found = app.catalog.product(key, Visibility::Everything).await;
    let query = format!("{{ product(slug: {slug:?}) {{ id }} }}");
    let id = app.query(&query).as_admin().await.text("/product/id");
    (id, found.unwrap().unwrap().id())
}

/// The number that a writer has put into a product.
async fn number(catalog: &Catalog, id: ProductId) -> Option<u64> {
    let found = catalog.product(ProductKey::Id(id), Visibility::Public);
    let view = found.await.ok()??;
    view.brand().ok()??.parse().ok()
}

/// Puts a number into a product; returns whether that was acknowledged.
async fn put(app: &App, id: &str, number: u64) -> bool {
    let input = json!({ "id": id, "brand": number.to_string() });
    let reply = app.mutate("updateProduct", input).await;
    reply.0.body().get("errors").is_none()
}

#[test]
fn a_product_in_memory_needs_no_command() {
    test(async |app| {
        app.has([product("Lamp"), product("Chair")]).await;
        app.has([product("Set").item("Lamp", 1).item("Chair", 2)])
            .await;
        app.has_reviews([review("Lamp", 1, 4)]).await;
        let first = app.query(PAGE).await;
        first.assert_commands(&["find products"]);
        let again = app.query(PAGE).await;
        again.assert_commands(&[]);
        assert_eq!(again.data(), first.data());
        let by_id = app
            .query("query($id: ID) { product(id: $id) { name } }")
            .with("id", first.text("/product/id"));
        by_id.await.assert_commands(&[]);
        let by_sku = r#"{ product(sku: "feed:Lamp") { name } }"#;
        app.query(by_sku)
            .await
            .assert_commands(&["aggregate names"]);
        app.query(by_sku).await.assert_commands(&[]);
        let items = r#"{ product(slug: "set") { ... on Bundle { items { product { name } } } } }"#;
        // The bundle, and the item that is not in memory.
        app.query(items)
            .await
            .assert_commands(&["find products", "find products"]);
        app.query(items).await.assert_commands(&[]);
        let nothing = r#"{ product(slug: "nothing") { name } }"#;
        for _ in 0..2 {
            app.query(nothing)
                .await
                .assert_commands(&["aggregate names"]);
        }
        let usage = usage(&app.catalog);
        assert_eq!((usage.products, usage.bypassed, usage.evicted), (3, 0, 0));
        assert!(usage.bytes > 1_500 && usage.hits >= 6, "{usage:?}");
    });
}

#[test]
fn every_write_of_the_own_process_is_seen_at_once() {
    test(async |app| {
        app.has([product("Lamp").supplier("North", "DE")]).await;
        let page = app.query(PAGE).await;
        let id = page.text("/product/id");
        let name = async || app.query(PAGE).await.text("/product/name");
        let rename = json!({ "id": id, "name": "Lantern" });
        app.mutate("updateProduct", rename).await.done();
        assert_eq!(name().await, "Lantern");
        let submit = async |author: &str, stars: i32| {
            let content = json!({ "productId": id, "rating": stars, "title": author,
                "body": "What there is to say." });
            let done = app.mutate_by(author, "submitReview", content).await;
            done.text("/review/id")
        };
        submit("ann", 4).await;
        app.clock.advance(1_000);
        let bens = submit("ben", 2).await;
        let seen = app.query(PAGE).await;
        assert_eq!(seen.number("/product/ratingStats/count"), 2);
        assert_eq!(seen.text("/product/topReviews/0/title"), "ben");
        app.mutate_by("ben", "deleteReview", json!({ "id": bens }))
            .await
            .done();
        app.run_background_work().await;
        let seen = app.query(PAGE).await;
        assert_eq!(seen.number("/product/ratingStats/count"), 1);
        let supplier = app.query("{ suppliers { nodes { id } } }").await;
        let supplier = supplier.text("/suppliers/nodes/0/id");
        let rename = json!({ "id": supplier, "name": "Norden" });
        app.mutate("updateSupplier", rename).await.done();
        assert_eq!(
            app.query(PAGE).await.text("/product/supplier/name"),
            "North"
        );
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        assert_eq!(
            app.query(PAGE).await.text("/product/supplier/name"),
            "Norden"
        );
    });
}

#[test]
fn a_vote_is_seen_in_the_top_reviews_at_once() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        app.has_reviews([review("Lamp", 1, 4).title("first").helpful(1)])
            .await;
        app.has_reviews([review("Lamp", 2, 4).title("second")])
            .await;
        let seen = app.query(PAGE).await;
        assert_eq!(seen.text("/product/topReviews/0/title"), "first");
        let reviews = r#"{ product(slug: "lamp") { reviews(filter: { withMedia: false }) { nodes { id title } } } }"#;
        let reviews = app.query(reviews).await;
        let nodes = reviews.at("/product/reviews/nodes").as_array().unwrap();
        let second = nodes.iter().find(|review| review["title"] == "second");
        let id = second.unwrap()["id"].clone();
        for voter in ["cem", "dia"] {
            let vote = json!({ "id": id, "vote": "HELPFUL" });
            app.mutate_by(voter, "voteReview", vote).await.done();
        }
        let seen = app.query(PAGE).await;
        assert_eq!(seen.text("/product/topReviews/0/title"), "second");
    });
}

#[test]
fn a_name_belongs_to_the_product_that_has_it_now() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let (old, _) = ids(app, "lamp").await;
        let page = app.query(PAGE).await;
        assert_eq!(page.text("/product/id"), old);
        let rename = json!({ "id": old, "slug": "old-lamp" });
        app.mutate("updateProduct", rename).await.done();
        assert!(app.query(PAGE).await.at("/product").is_null());
        app.has([product("Lamp").sku("new").source("other", "1")])
            .await;
        let page = app.query(PAGE).await;
        assert_ne!(page.text("/product/id"), old);
        app.query(PAGE).await.assert_commands(&[]);
        let old_page = r#"{ product(slug: "old-lamp") { id } }"#;
        assert_eq!(app.query(old_page).await.text("/product/id"), old);
    });
}

#[test]
fn a_product_in_memory_is_shown_to_those_who_may_see_it() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let (id, _) = ids(app, "lamp").await;
        let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
        let shown = async |admin: bool| {
            let page = app.query(PAGE);
            let nodes = app.query(nodes).with("ids", json!([id]));
            let (page, nodes) = if admin {
                (page.as_admin().await, nodes.as_admin().await)
            } else {
                (page.await, nodes.await)
            };
            let shown = [page.at("/product"), nodes.at("/nodes/0")];
            shown.map(|product| !product.is_null())
        };
        assert_eq!(shown(false).await, [true, true]);
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        assert_eq!(shown(true).await, [true, true]);
        assert_eq!(shown(false).await, [false, false]);
        app.query(PAGE).as_admin().await.assert_commands(&[]);
        app.query(PAGE).await.assert_commands(&[]);
    });
}

#[test]
fn many_readers_of_one_product_share_a_command() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let (_, id) = ids(app, "lamp").await;
        for key in [ProductKey::Id(id), ProductKey::Slug("lamp".to_owned())] {
            app.catalog.forget_products();
            app.forget_commands();
            let read = |_| app.catalog.product(key.clone(), Visibility::Public);
            for found in join_all((0..64).map(read)).await {
                assert_eq!(found.unwrap().unwrap().name().unwrap(), "Lamp");
            }
            assert_eq!(app.sent(), ["find products"]);
        }
        app.catalog.forget_products();
        app.forget_commands();
        let read = |_| app.catalog.products_by_id(vec![id, id], Visibility::Public);
        for found in join_all((0..64).map(read)).await {
            assert_eq!(found.unwrap().len(), 1);
        }
        assert_eq!(app.sent(), ["find products"]);
    });
}

#[test]
fn memory_stays_within_its_bytes() {
    test(async |app| {
        let max_bytes = 20_000;
        let options = ProductMemoryOptions {
            max_bytes,
            ..ProductMemoryOptions::default()
        };
        let app = &app.with_product_memory(Some(options)).await;
        app.has((0..100).map(|n| product(&format!("p{n}")))).await;
        for n in 0..100 {
            let found = app
                .catalog
                .product(ProductKey::Slug(format!("p{n}")), Visibility::Public);
            assert!(found.await.unwrap().is_some());
            let usage = usage(&app.catalog);
            assert!(usage.bytes <= max_bytes, "{usage:?}");
        }
        let usage = usage(&app.catalog);
        assert!(usage.products > 3 && usage.evicted > 50, "{usage:?}");
    });
}

#[test]
fn without_memory_every_page_reads_its_product() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        app.has([product("Lamp")]).await;
        for _ in 0..2 {
            app.query(PAGE).await.assert_commands(&["find products"]);
        }
        assert_eq!(app.catalog.product_memory_use(), None);
    });
}

/// When each number was acknowledged.
type Acknowledged = Arc<std::sync::Mutex<Vec<(u64, Instant)>>>;

/// Ticks with pauses of at least so many milliseconds, so that other tests go on meanwhile.
fn pace(millis: u64) -> Interval {
    let mut pace = tokio::time::interval(Duration::from_millis(millis));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

/// Writes numbers until told to stop, while many read. No read that begins later than `bound` after a number was
/// acknowledged finds an older one. Returns the greatest number.
async fn write_and_read(
    (writer, reader): (&App, &App),
    slug: &str,
    bound: Duration,
    until: impl Future<Output = ()>,
) -> u64 {
    let (id, product) = ids(writer, slug).await;
    let (acknowledged, stop) = (Acknowledged::default(), Arc::<AtomicBool>::default());
    let mut readers = JoinSet::new();
    for _ in 0..16 {
        let (catalog, stop) = (reader.catalog.clone(), Arc::clone(&stop));
        let acknowledged = Arc::clone(&acknowledged);
        readers.spawn(async move {
            let mut pace = pace(2);
            while !stop.load(Ordering::SeqCst) {
                let asked = Instant::now();
                let old = |(_, at): &&(u64, Instant)| asked.duration_since(*at) > bound;
                let least = acknowledged.lock().unwrap().iter().rfind(old).copied();
                if let (Some((least, _)), Some(found)) = (least, number(&catalog, product).await) {
                    assert!(
                        found >= least,
                        "{found} was read, {least} is older than the bound"
                    );
                }
                pace.tick().await;
            }
        });
    }
    let write = async {
        let mut number = 0;
        let mut pace = pace(5);
        while !stop.load(Ordering::SeqCst) {
            pace.tick().await;
            number += 1;
            if put(writer, &id, number).await {
                let mut acknowledged = acknowledged.lock().unwrap();
                acknowledged.push((number, Instant::now()));
            }
        }
    };
    let told = async {
        until.await;
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(write, told);
    readers.join_all().await;
    let acknowledged = acknowledged.lock().unwrap();
    acknowledged.last().expect("a write").0
}

/// Waits until at least this number is read from memory.
async fn remembers(catalog: &Catalog, id: ProductId, least: u64) {
    let look = async || {
        let hits = usage(catalog).hits;
        let found = number(catalog, id).await?;
        (found >= least && usage(catalog).hits > hits).then_some(())
    };
    eventually("the product in memory", LONG, look).await;
}

#[test]
fn writes_of_another_process_are_seen_within_the_bound() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let other = app.on_own_connections(BOUND).await;
        let reader = app.on_own_connections(BOUND).await;
        let (id, product) = ids(app, "lamp").await;
        put(&other, &id, 0).await;
        remembers(&reader.catalog, product, 0).await;
        let mut lags = Vec::new();
        for number in 1..=20 {
            put(&other, &id, number).await;
            let acknowledged = Instant::now();
            let mut pace = pace(1);
            while self::number(&reader.catalog, product).await != Some(number) {
                pace.tick().await;
            }
            lags.push(acknowledged.elapsed());
        }
        lags.sort_unstable();
        println!("lag: {:?} (median), {:?} (greatest)", lags[10], lags[19]);
        assert!(lags[19] < LONG);
        let written = write_and_read((&other, &reader), "lamp", BOUND, async {
            let used = async || (usage(&reader.catalog).hits > 2_000).then_some(());
            eventually("reads from memory", LONG, used).await;
        });
        let written = written.await;
        remembers(&reader.catalog, product, written).await;
        other.assert_writes_announced();
    });
}

#[test]
fn products_are_read_while_the_stream_is_paused() {
    test_on_own_server(async |app| {
        app.has([product("Lamp")]).await;
        let bound = Duration::from_millis(500);
        let reader = app.on_own_connections(bound).await;
        let (id, product) = ids(app, "lamp").await;
        put(app, &id, 1).await;
        remembers(&reader.catalog, product, 1).await;
        // The bound passes meanwhile. The stream of the other process takes one, at most.
        let pause = doc! { "blockConnection": true, "blockTimeMS": 3_000 };
        app.fail_next(2, &["getMore"], pause).await;
        let before = usage(&reader.catalog).bypassed;
        let bypassed = async || {
            number(&reader.catalog, product).await;
            (usage(&reader.catalog).bypassed > before).then_some(())
        };
        eventually("a read past the memory", LONG, bypassed).await;
        let until = async {
            remembers(&reader.catalog, product, 0).await;
        };
        let written = write_and_read((app, &reader), "lamp", bound, until).await;
        remembers(&reader.catalog, product, written).await;
        app.stop_failing().await;
    });
}

#[test]
fn a_stream_that_breaks_empties_the_memory() {
    test_on_own_server(async |app| {
        app.has([product("Lamp")]).await;
        let reader = app.on_own_connections(BOUND).await;
        let (id, product) = ids(app, "lamp").await;
        put(app, &id, 1).await;
        remembers(&reader.catalog, product, 1).await;
        // ChangeStreamHistoryLost.
        app.fail_next(1_000, &["getMore"], doc! { "errorCode": 286 })
            .await;
        let closed = async || usage(&reader.catalog).age.is_none().then_some(());
        eventually("a closed memory", LONG, closed).await;
        // The reader does not hear of it.
        assert!(put(app, &id, 2).await);
        assert_eq!(number(&reader.catalog, product).await, Some(2));
        app.stop_failing().await;
        remembers(&reader.catalog, product, 2).await;
        for catalog in [&app.catalog, &reader.catalog] {
            catalog.stop_remembering().await;
            assert_eq!(usage(catalog).age, None);
            assert_eq!(number(catalog, product).await, Some(2));
        }
    });
}

#[test]
fn elections_leave_nothing_old_in_memory() {
    test_on_replica_set(async |app, members| {
        app.has([product("Lamp")]).await;
        let other = app.on_own_connections(BOUND).await;
        let reader = app.on_own_connections(BOUND).await;
        let (_, product) = ids(app, "lamp").await;
        let elections = async {
            for _ in 0..2 {
                members.step_down(members.primary().await).await;
                let hits = usage(&reader.catalog).hits;
                let used = async || (usage(&reader.catalog).hits > hits + 100).then_some(());
                eventually("reads from memory", LONG, used).await;
            }
            let frozen = members.primary().await;
            members.freeze(frozen);
            assert_ne!(members.primary().await, frozen);
            let hits = usage(&reader.catalog).hits;
            let used = async || (usage(&reader.catalog).hits > hits + 100).then_some(());
            eventually("reads from memory", LONG, used).await;
            members.thaw(frozen);
            eventually("reads from memory", LONG, used).await;
        };
        let written = write_and_read((&other, &reader), "lamp", BOUND, elections).await;
        remembers(&reader.catalog, product, written).await;
    });
}

/// A list of the products of the shop's red lamps.
const LIST: &str = r#"{ products(first: 48, filter: { category: ["lights"],
    specs: [{ key: "color", text: { eq: "red" } }] }, sort: [{ key: PRICE }]) {
    nodes { slug name price { amount } brand } pageInfo { hasNextPage endCursor } } }"#;

/// Fifty red lamps and one blue one, with prices.
fn lamps() -> Vec<ProductBuilder> {
    let lamp = |n: u32| {
        let color = if n == 50 { "Blue" } else { "Red" };
        let lamp = product(&format!("Lamp {n}")).category(["Lights"]);
        lamp.text("color", color).price(&format!("{n}.50"))
    };
    (0..=50).map(lamp).collect()
}

#[test]
fn a_list_in_memory_reads_ids_from_an_index_alone() {
    test_on_own_server(async |app| {
        app.has(lamps()).await;
        app.start_profiler().await;
        let read = async || (app.query(LIST).await, app.query(LIST).await);
        let ((first, again), executed) = app.profile(read()).await;
        first.assert_commands(&["find products", "find products"]);
        again.assert_commands(&["find products"]);
        assert_eq!(first.data(), again.data());
        assert_eq!(first.names("/products").len(), 48);
        let read: Vec<_> = executed
            .iter()
            .map(|one| (one.rows(), one.docs()))
            .collect();
        assert_eq!(read, [(49, 0), (48, 48), (49, 0)], "{executed:?}");
        let without = app.without_product_memory().await;
        let without = without.query(LIST).await;
        without.assert_commands(&["find products"]);
        assert_eq!(without.data(), again.data());
    });
}

#[test]
fn a_list_shows_what_this_process_has_just_written() {
    test(async |app| {
        app.has(lamps()).await;
        let first = app.query(LIST).await;
        let (id, _) = ids(app, "lamp-7").await;
        let input = json!({ "id": id, "brand": "Acme", "name": "Lamp seven" });
        app.mutate("updateProduct", input).await.done();
        let again = app.query(LIST).await;
        assert_eq!(again.text("/products/nodes/7/brand"), "Acme");
        assert_eq!(again.text("/products/nodes/7/name"), "Lamp seven");
        let input = json!({ "id": id, "price": { "amount": "99.00" } });
        app.mutate("updateProduct", input).await.done();
        let moved = app.query(LIST).await;
        assert_eq!(moved.text("/products/nodes/7/slug"), "lamp-8");
        assert_eq!(
            first.text("/products/nodes/47/slug"),
            moved.text("/products/nodes/46/slug")
        );
        let input = json!({ "id": id });
        app.mutate("archiveProduct", input).await.done();
        let names = app.query(LIST).await.names("/products");
        assert!(!names.contains(&"Lamp seven".to_owned()), "{names:?}");
    });
}

const FACETS: &str = r#"{ products(filter: { category: ["lights"] }) {
    facets { key label productCount accuracy values { label count } } } }"#;

/// The number of red lamps that the facets tell.
async fn red(app: &App) -> Option<i64> {
    let found = app.query(FACETS).await;
    let facets = found
        .data()
        .pointer("/products/facets")?
        .as_array()?
        .clone();
    let color = facets.iter().find(|facet| facet["key"] == "color")?;
    let values = color["values"].as_array()?;
    let red = values.iter().find(|value| value["label"] == "Red")?;
    red["count"].as_i64()
}

#[test]
fn facets_in_memory_need_no_command_and_show_own_writes() {
    test(async |app| {
        app.has(lamps()).await;
        assert_eq!(red(app).await, Some(50));
        // A slow machine may take longer than they may be kept.
        let none = async || {
            let found = app.query(FACETS).await;
            found.sent_for_query().is_empty().then_some(())
        };
        eventually("facets in memory", LONG, none).await;
        let (id, _) = ids(app, "lamp-7").await;
        for (color, expected) in [("Green", 49), ("Red", 50)] {
            let specs = json!([{ "key": "color", "text": color }]);
            let input = json!({ "productId": id, "specs": specs });
            app.mutate("setSpecs", input).await.done();
            assert_eq!(red(app).await, Some(expected), "{color}");
        }
    });
}

/// Asks until the answer shows what has just been acknowledged. An answer that was asked for after the bound must.
async fn within_the_bound<T: PartialEq + std::fmt::Debug>(expected: T, ask: impl AsyncFn() -> T) {
    let acknowledged = Instant::now();
    loop {
        let late = acknowledged.elapsed() > BOUND;
        let found = ask().await;
        if found == expected {
            return;
        }
        assert!(!late, "{found:?} after {:?}", acknowledged.elapsed());
    }
}

#[test]
fn facets_follow_the_writes_of_another_process_within_the_bound() {
    test(async |app| {
        app.has(lamps()).await;
        let other = app.on_own_connections(BOUND).await;
        let reader = app.on_own_connections(BOUND).await;
        let (id, _) = ids(app, "lamp-7").await;
        assert_eq!(red(&reader).await, Some(50));
        let specs = json!([{ "key": "color", "text": "Green" }]);
        let input = json!({ "productId": id, "specs": specs });
        other.mutate("setSpecs", input).await.done();
        within_the_bound(Some(49), async || red(&reader).await).await;
        other.assert_writes_announced();
    });
}

/// The facets of the red lamps.
const FILTERED: &str = r#"{ products(filter: { category: ["lights"], specs: [{ key: "color", text: { eq: "red" } }] }) {
    facets(keys: ["color", "@price", "@rating"]) { key accuracy productCount values { label count selected } } } }"#;

/// The number of lamps with a color, in the facets of the red lamps.
fn with_color(found: &Answer, color: &str) -> i64 {
    let facet = &found.data()["products"]["facets"][0];
    let values = facet["values"].as_array().unwrap();
    let value = values.iter().find(|value| value["label"] == color);
    value.map_or(0, |value| value["count"].as_i64().unwrap())
}

#[test]
fn facets_with_a_filter_are_counted_in_memory() {
    test(async |app| {
        app.has(lamps()).await;
        let first = app.query(FILTERED).await;
        let facets = first.data()["products"]["facets"].as_array().unwrap();
        assert!(
            facets.iter().all(|facet| facet["accuracy"] == "EXACT"),
            "{first:?}"
        );
        assert_eq!(
            (with_color(&first, "Red"), with_color(&first, "Blue")),
            (50, 1)
        );
        // A slow machine may take longer than the memory may be used without a confirmation.
        let none = async || {
            let found = app.query(FILTERED).await;
            assert_eq!(found.data(), first.data());
            found.sent_for_query().is_empty().then_some(())
        };
        eventually("facets without a command", LONG, none).await;
        let without = app.without_product_memory().await;
        assert_eq!(without.query(FILTERED).await.data(), first.data());
    });
}

#[test]
fn facets_with_a_filter_show_own_writes() {
    test(async |app| {
        app.has(lamps()).await;
        app.query(FILTERED).await;
        let (id, _) = ids(app, "lamp-7").await;
        let specs = json!([{ "key": "color", "text": "Green" }]);
        let input = json!({ "productId": id, "specs": specs });
        app.mutate("setSpecs", input).await.done();
        let found = app.query(FILTERED).await;
        assert_eq!(
            (with_color(&found, "Red"), with_color(&found, "Green")),
            (49, 1)
        );
        app.has([product("Lamp new")
            .category(["Lights"])
            .text("color", "Green")])
            .await;
        assert_eq!(with_color(&app.query(FILTERED).await, "Green"), 2);
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        assert_eq!(with_color(&app.query(FILTERED).await, "Green"), 1);
        let (id, _) = ids(app, "lamp-new").await;
        app.has([product("Chair").category(["Chairs"])]).await;
        let input = json!({ "id": id, "category": "chairs" });
        app.mutate("updateProduct", input).await.done();
        assert_eq!(with_color(&app.query(FILTERED).await, "Green"), 0);
    });
}

/// Asks for facets of the same lamps in several ways, twice, and compares with those of a process without memory.
async fn assert_facets_alike(app: &App, without: &App) {
    for _ in 0..2 {
        for asked in [
            "",
            "(limit: 3)",
            "(limit: 70)",
            r#"(keys: ["shade"])"#,
            r#"(keys: ["shade", "height"], limit: 60)"#,
            r#"(keys: ["color", "shade"])"#,
            r#"(displayUnits: [{ unit: "m" }])"#,
        ] {
            let asked = format!(
                r#"{{ products(filter: {{ category: ["lights"], specs: [{{ key: "color", text: {{ eq: "red" }} }}] }}) {{
                   facets{asked} {{ key label kind accuracy productCount distinctValues
                     values {{ label count selected }} }} }} }}"#
            );
            let (found, expected) = (app.query(&asked).await, without.query(&asked).await);
            assert_eq!(found.data(), expected.data(), "{asked}");
        }
    }
}

#[test]
fn facets_that_are_kept_are_those_that_were_asked_for() {
    test(async |app| {
        let lamps = lamps().into_iter().zip(0_u32..).map(|(lamp, n)| {
            let shade = lamp.text("shade", &format!("Shade {}", n % 25));
            shade.quantity("height", f64::from(20 + n), "cm")
        });
        app.has(lamps.collect::<Vec<_>>()).await;
        let without = app.without_product_memory().await;
        assert_facets_alike(app, &without).await;
        let shade = json!({ "key": "shade", "label": "Colour of the shade" });
        app.mutate("updateSpecKey", shade).await.done();
        // It knows the new label when it starts.
        let without = app.without_product_memory().await;
        assert_facets_alike(app, &without).await;
    });
}

#[test]
fn facets_with_a_filter_follow_another_process_within_the_bound() {
    test(async |app| {
        app.has(lamps()).await;
        let other = app.on_own_connections(BOUND).await;
        let reader = app.on_own_connections(BOUND).await;
        let (id, _) = ids(app, "lamp-7").await;
        reader.query(FILTERED).await;
        let specs = json!([{ "key": "color", "text": "Green" }]);
        let input = json!({ "productId": id, "specs": specs });
        other.mutate("setSpecs", input).await.done();
        let green = async || with_color(&reader.query(FILTERED).await, "Green");
        within_the_bound(1, green).await;
        other.assert_writes_announced();
    });
}
