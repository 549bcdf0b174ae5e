//! The commands that each query and mutation sends to the database when no product is in memory. A new N+1 fails a test
//! here. What the memory of products saves is in `product_memory.rs`.

use serde_json::{Value, json};
use vitrine_harness::{App, product, review};

/// Runs a test of a service that keeps no products in memory.
fn test<F: AsyncFnOnce(&App)>(body: F) {
    vitrine_harness::test(async |app| body(&app.without_product_memory().await).await);
}

/// Everything that a product page shows, except whole reviews.
const PAGE: &str = r#"{ product(slug: "monitor-1") {
    id kind sku slug name description brand status category { name path parent { name } }
    supplier { name country asOf } price { amount currency } media { url alt kind }
    specs(displayUnits: [{ unit: "cm" }]) { key label text qualifier value {
      ... on QuantityValue { value unit displayValue canonicalValue } } }
    spec(key: "screen_size") { text }
    ratingStats { count average histogram { rating count share } bayesianScore wilsonLowerBound
      recommendedShare dimensions { name average } asOf }
    topReviews(first: 10) { rating title excerpt truncated author { name } helpfulCount }
    isOutlier revision createdAt updatedAt
} }"#;

/// Twenty-five monitors of two suppliers in two categories, each with three reviews.
async fn seed(app: &App) {
    let monitor = |n: usize| {
        let supplier = if n.is_multiple_of(2) {
            "North"
        } else {
            "South"
        };
        let category = if n.is_multiple_of(3) {
            "Office"
        } else {
            "Gaming"
        };
        product(&format!("Monitor {n}"))
            .category(["Screens", category])
            .supplier(supplier, "DE")
            .price(&format!("{}.50", 100 + n))
            .quantity(
                "screen_size",
                20.0 + f64::from(u8::try_from(n).unwrap()),
                "in",
            )
            .text("color", if n.is_multiple_of(5) { "Red" } else { "Black" })
    };
    app.has((1..=25).map(monitor)).await;
    let reviews = |n: usize| {
        (1..=3).map(move |stars| review(&format!("Monitor {n}"), format!("{n}-{stars}"), stars))
    };
    app.has_reviews((1..=25).flat_map(reviews)).await;
}

#[test]
fn a_product_page_is_one_command() {
    test(async |app| {
        seed(app).await;
        let page = app.query(PAGE).await;
        page.assert_commands(&["find products"]);
        assert_eq!(page.at("/product/topReviews").as_array().unwrap().len(), 3);
        let id = page.text("/product/id");
        let by_id = app
            .query("query($id: ID) { product(id: $id) { name specs { text } } }")
            .with("id", id);
        by_id.await.assert_commands(&["find products"]);
        let by_sku = app
            .query(r#"{ product(sku: "feed:Monitor 2") { name } }"#)
            .await;
        // The process has not cached yet which product has it.
        by_sku.assert_commands(&["aggregate names"]);
        app.query(r#"{ product(slug: "nothing") { name } }"#)
            .await
            .assert_commands(&["aggregate names"]);
    });
}

#[test]
fn a_list_page_is_one_command() {
    test(async |app| {
        seed(app).await;
        let list = "{ products(first: 20) { nodes { name category { path } supplier { name } price { amount }
            specs { text } ratingStats { average } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
        let page = app.query(list).await;
        page.assert_commands(&["find products"]);
        assert_eq!(page.names("/products").len(), 20);
        let with_top = "{ products(first: 20) { edges { cursor node { name topReviews(first: 3) { excerpt } } } } }";
        let page = app.query(with_top).await;
        page.assert_commands(&["find products"]);
        assert_eq!(
            page.at("/products/edges/19/node/topReviews")
                .as_array()
                .unwrap()
                .len(),
            3
        );
        let filtered = r#"{ products(first: 4, sort: [{ key: PRICE }], filter: { category: ["screens"],
            specs: [{ key: "screen_size", number: { gte: 60, unit: "cm" } }, { key: "color", text: { eq: "red" } }] })
            { nodes { name } } }"#;
        app.query(filtered)
            .await
            .assert_commands(&["find products"]);
    });
}

#[test]
fn a_later_page_checks_for_a_previous_one_only_when_selected() {
    test(async |app| {
        seed(app).await;
        let first = app
            .query("{ products(first: 10, sort: [{ key: NAME }]) { pageInfo { endCursor } } }")
            .await;
        let cursor = first.text("/products/pageInfo/endCursor");
        let next = "query($c: String) { products(first: 10, after: $c, sort: [{ key: NAME }]) { nodes { name } pageInfo { hasNextPage } } }";
        app.query(next)
            .with("c", cursor.clone())
            .await
            .assert_commands(&["find products"]);
        let back = "query($c: String) { products(first: 10, after: $c, sort: [{ key: NAME }]) { pageInfo { hasPreviousPage hasNextPage } } }";
        let back = app.query(back).with("c", cursor).await;
        back.assert_commands(&["find products", "find products"]);
        assert_eq!(*back.at("/products/pageInfo/hasPreviousPage"), true);
    });
}

#[test]
fn the_end_of_the_priced_products_costs_one_command_more() {
    test(async |app| {
        seed(app).await;
        app.has([product("Priceless")]).await;
        let by_price = |direction: &str| {
            format!(
                "{{ products(last: 3, sort: [{{ key: PRICE, direction: {direction} }}]) {{ nodes {{ name }} }} }}"
            )
        };
        let up = app.query(&by_price("ASCENDING")).await;
        up.assert_commands(&["find products", "find products"]);
        assert_eq!(
            up.names("/products"),
            ["Monitor 24", "Monitor 25", "Priceless"]
        );
        app.query(&by_price("DESCENDING"))
            .await
            .assert_commands(&["find products"]);
    });
}

#[test]
fn a_total_is_counted_when_it_is_selected() {
    test(async |app| {
        seed(app).await;
        let total = app
            .query("{ products(first: 1) { nodes { name } totalCount { value relation } } }")
            .await;
        total.assert_commands(&["find products", "aggregate products"]);
        assert_eq!(*total.at("/products/totalCount/value"), 25);
        // A page with all rows needs no count.
        for page in ["first: 25", "last: 30"] {
            let query = format!(
                "{{ products({page}) {{ nodes {{ name }} totalCount {{ value relation }} }} }}"
            );
            let all = app.query(&query).await;
            all.assert_commands(&["find products"]);
            let total = serde_json::json!({ "value": 25, "relation": "EXACT" });
            assert_eq!(*all.at("/products/totalCount"), total);
        }
    });
}

#[test]
fn a_filter_that_cannot_match_reads_no_products() {
    test(async |app| {
        seed(app).await;
        let list = |filter: &str| {
            format!(
                "{{ products(filter: {filter}) {{ nodes {{ name }} totalCount {{ value }} pageInfo {{ hasNextPage hasPreviousPage }} }} }}"
            )
        };
        // Another process may have created the unknown name: the version of the reference data is
        // read once, at most every fifty milliseconds.
        let unknown = app.query(&list(r#"{ category: ["no-such"] }"#)).await;
        unknown.assert_commands(&["find settings"]);
        assert_eq!(unknown.names("/products"), [""; 0]);
        app.query(&list("{ or: [] }")).await.assert_commands(&[]);
        app.query(&list("{ brand: [] }")).await.assert_commands(&[]);
        app.query(&list(r#"{ specs: [{ key: "color", text: { in: [] } }] }"#))
            .await
            .assert_commands(&[]);
        app.query(&list("{ status: [] }"))
            .await
            .assert_commands(&[]);
    });
}

#[test]
fn a_review_page_is_one_command() {
    test(async |app| {
        seed(app).await;
        let product = app
            .query(r#"{ product(slug: "monitor-1") { id } }"#)
            .await
            .text("/product/id");
        let page = r#"{ product(slug: "monitor-1") { name reviews(first: 2) {
            nodes { rating title body author { name } helpfulCount createdAt } pageInfo { hasNextPage endCursor }
            totalCount { value relation } } } }"#;
        let page = app.query(page).await;
        page.assert_commands(&["find products", "find reviews"]);
        assert_eq!(*page.at("/product/reviews/totalCount/value"), 3);
        let cursor = page.text("/product/reviews/pageInfo/endCursor");
        let next = "query($id: ID, $c: String) { product(id: $id) { reviews(first: 2, after: $c) { nodes { rating } pageInfo { hasPreviousPage } } } }";
        let next = app.query(next).with("id", product).with("c", cursor).await;
        next.assert_commands(&["find products", "find reviews", "find reviews"]);
        assert_eq!(*next.at("/product/reviews/pageInfo/hasPreviousPage"), true);
        let none = r#"{ product(slug: "monitor-1") { reviews(filter: { ratings: [] }) { nodes { rating } } } }"#;
        app.query(none).await.assert_commands(&["find products"]);
    });
}

#[test]
fn nodes_are_one_command_per_type() {
    test(async |app| {
        seed(app).await;
        let ids = r"{ products(first: 3) { nodes { id supplier { supplierId } category { id } topReviews(first: 2) { reviewId } } } specKeys { nodes { id } } }";
        let ids = app.query(ids).await;
        let mut all = Vec::new();
        collect_ids(ids.data(), &mut all);
        assert_eq!(all.len(), 3 * 5 + 2);
        let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }";
        let found = app.query(nodes).with("ids", all.clone()).await;
        let mut sent = found.sent_for_query();
        sent.sort_unstable();
        assert_eq!(
            sent,
            ["aggregate reviews", "find products", "find suppliers"]
        );
        let same: Vec<&str> = found
            .at("/nodes")
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["id"].as_str().unwrap())
            .collect();
        assert_eq!(same, all);
    });
}

fn collect_ids(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    serde_json::Value::String(id)
                        if matches!(key.as_str(), "id" | "reviewId" | "supplierId") =>
                    {
                        into.push(id.clone());
                    }
                    _ => collect_ids(value, into),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_ids(item, into)),
        _ => {}
    }
}

#[test]
fn reviews_and_suppliers_of_a_list_are_batched() {
    test(async |app| {
        seed(app).await;
        let suppliers = "{ products(first: 20) { nodes { supplier { supplier { name } } } } }";
        app.query(suppliers)
            .await
            .assert_commands(&["find products", "find suppliers"]);
        let products =
            r#"{ product(slug: "monitor-1") { reviews { nodes { product { name } } } } }"#;
        app.query(products).await.assert_commands(&[
            "find products",
            "find reviews",
            "find products",
        ]);
    });
}

/// Everything that is nested: reviews of products, products of reviews, suppliers, categories, items of bundles, and
/// reviews of all of these.
const NESTED: &str = r"query($first: Int) { products(first: $first, sort: [{ key: NAME }]) { nodes {
    name category { name productCount ancestors { name } } supplier { supplier { name } }
    newest: reviews(first: 2) { totalCount { value } nodes { title product { sku supplier { supplier { name } } } } }
    best: reviews(first: 3, sort: HIGHEST) { nodes { rating } pageInfo { hasNextPage endCursor } }
    ... on Bundle { items { product { name reviews(first: 1, sort: MOST_HELPFUL) { nodes { body } } } } }
    ratingTrend(months: 3) { rating: average }
} } }";

#[test]
fn the_commands_of_nested_fields_do_not_grow_with_the_products() {
    test(async |app| {
        seed(app).await;
        let bundles = (1..=5).map(|n| {
            let bundle = product(&format!("A set {n}")).category(["Screens", "Sets"]);
            bundle.item(&format!("Monitor {n}"), 2)
        });
        app.has(bundles).await;
        let commands = async |first: i32| {
            let answer = app.query(NESTED).with("first", first).as_admin().await;
            assert_eq!(
                answer.names("/products").len(),
                usize::try_from(first).unwrap()
            );
            let mut sent: Vec<String> = answer
                .sent_for_query()
                .iter()
                .map(ToString::to_string)
                .collect();
            sent.sort();
            sent
        };
        let of_few = commands(6).await;
        assert_eq!(of_few, commands(30).await);
        insta::assert_snapshot!(of_few.join("\n"), @r"
        aggregate products
        aggregate products
        aggregate products
        aggregate rating_months
        find products
        find products
        find products
        find suppliers
        ");
    });
}

#[test]
fn pages_that_are_read_together_equal_those_that_are_read_alone() {
    test(async |app| {
        seed(app).await;
        app.start_profiler().await;
        for sort in ["NEWEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
            let page = format!(
                "reviews(first: 2, sort: {sort}) {{ nodes {{ id title body }} pageInfo {{ hasNextPage endCursor }} totalCount {{ value }} }}"
            );
            let together = format!("{{ products(first: 20) {{ nodes {{ slug {page} }} }} }}");
            let request = app.query(&together).into_future();
            let (together, executed) = app.profile(request).await;
            let read = executed
                .iter()
                .find(|one| one.command() == "aggregate")
                .unwrap();
            // A product has three reviews; two are shown, and one tells whether there are more.
            let most = 20 * 3 + 20;
            assert!(
                read.keys() <= 20 + most && read.docs() <= most,
                "{sort}: {read:?}"
            );
            for product in together.at("/products/nodes").as_array().unwrap() {
                let alone =
                    format!("query($slug: String) {{ product(slug: $slug) {{ slug {page} }} }}");
                let alone = app
                    .query(&alone)
                    .with("slug", product["slug"].clone())
                    .await;
                assert_eq!(alone.at("/product"), product, "{sort}");
            }
        }
    });
}

#[test]
fn a_wrong_page_size_fails_no_other_field_that_is_read_together() {
    test(async |app| {
        seed(app).await;
        let wrong = "{ products(first: 3) { nodes { good: reviews(first: 2) { nodes { id } } wrong: reviews(first: 0) { nodes { id } } } } }";
        let errors = app.query(wrong).await.errors();
        assert!(!errors.is_empty());
        for error in errors {
            assert!(error.contains(".wrong: first: must be"), "{error}");
        }
    });
}

#[test]
fn categories_are_read_from_memory_and_counted_in_one_command() {
    test(async |app| {
        seed(app).await;
        let tree = "{ categories { name path children { name parent { name } ancestors { name } } } units { symbol } specKeys { nodes { key } totalCount { value } } }";
        app.query(tree).await.assert_commands(&[]);
        let counts = app
            .query("{ categories { productCount children { name productCount } } }")
            .await;
        counts.assert_commands(&["aggregate category_generations"]);
        insta::assert_snapshot!(counts.pretty(), @r#"
        {
          data: {
            categories: [
              {
                productCount: 25
                children: [{ name: "Gaming", productCount: 17 }, { name: "Office", productCount: 8 }]
              }
            ]
          }
        }
        "#);
        app.query(r#"{ category(slug: "gaming") { name } specKey(key: "color") { label } }"#)
            .await
            .assert_commands(&[]);
    });
}

#[test]
fn the_products_of_a_bundle_are_one_command() {
    test(async |app| {
        seed(app).await;
        let set = (1..=5).fold(product("Set"), |set, n| {
            set.item(&format!("Monitor {n}"), 2)
        });
        app.has([set]).await;
        let bundle = r#"{ product(slug: "set") { price { amount } ... on Bundle { items { quantity name price { amount } } } } }"#;
        app.query(bundle).await.assert_commands(&["find products"]);
        let bundle = r#"{ product(slug: "set") { ... on Bundle { items { product { name specs { text } } } } } }"#;
        app.query(bundle)
            .await
            .assert_commands(&["find products", "find products"]);
    });
}

/// The number of commands of an answer that read products.
fn product_commands(answer: &vitrine_harness::Answer) -> usize {
    let sent = answer.sent().iter();
    sent.filter(|sent| sent.ends_with(" products")).count()
}

#[test]
fn facets_cost_commands_only_when_selected() {
    test(async |app| {
        seed(app).await;
        let list = |fields: &str| {
            format!(
                r#"{{ products(first: 5, filter: {{ category: ["screens"], specs: [{{ key: "color", text: {{ eq: "red" }} }}, {{ key: "screen_size", number: {{ gte: 21, unit: "in" }} }}] }}) {{ nodes {{ name }} {fields} }} }}"#
            )
        };
        app.query(&list(""))
            .await
            .assert_commands(&["find products"]);
        let one = app
            .query(&list(r#"facets(keys: ["@brand"]) { key }"#))
            .await;
        // The page; a count that decides whether products are counted one by one; and that pass.
        one.assert_commands(&["find products", "aggregate products", "find products"]);
        // One pass for all keys without a selection, and one for each of three keys with one.
        let all = app.query(&list("facets { key }")).await;
        assert_eq!(product_commands(&all), 1 + 4 * 2, "{:?}", all.sent());
        // Whole categories are counted once; then the cached counts are read.
        let category = r#"{ products(first: 1, filter: { category: ["gaming"] }) { nodes { name } facets { key productCount } } }"#;
        let first = app.query(category).await;
        assert!(product_commands(&first) > 1, "{:?}", first.sent());
        let again = app.query(category).await;
        assert_eq!(again.data(), first.data());
        // The page, and the facet of categories, in which a value is selected.
        assert!(product_commands(&again) <= 2, "{:?}", again.sent());
    });
}

#[test]
fn a_search_costs_a_command_per_word_and_a_page_per_rank() {
    test(async |app| {
        seed(app).await;
        let search = async |text: &str| {
            let query =
                format!(r#"{{ products(search: "{text}", first: 5) {{ nodes {{ name }} }} }}"#);
            let answer = app.query(&query).await;
            (product_commands(&answer), answer.sent().len())
        };
        // At most a count for each word and one for a prefix; a page for each of three ranks.
        for (text, words) in [("monitor 7 ", 2), ("monitor", 2), ("mon", 2)] {
            let (products, all) = search(text).await;
            assert!(
                products <= words + 3 && all <= products + 2,
                "{text}: {products} of {all}"
            );
        }
        // A typo: the similar words, and a count for each.
        let (products, all) = search("monitro ").await;
        assert!(
            products <= 2 + 3 && all <= products + 3,
            "{products} of {all}"
        );
        let suggestions = app.query(r#"{ searchSuggestions(prefix: "mon") }"#).await;
        suggestions.assert_commands(&["find words", "find products"]);
    });
}

/// The commands with which a process reads the reference data again.
const REFRESH: [&str; 6] = [
    "find settings",
    "find settings",
    "find categories",
    "find spec_keys",
    "find units",
    "find review_dimensions",
];

/// A mutation, its input, and the commands that it sends inside its transaction.
struct MutationCase {
    name: &'static str,
    input: Value,
    inside: Vec<&'static str>,
    /// Whether the reference data changes, so that the process reads it again.
    refreshes: bool,
}

fn case(
    name: &'static str,
    input: Value,
    inside: &[&'static str],
    refreshes: bool,
) -> MutationCase {
    MutationCase {
        name,
        input,
        inside: inside.to_vec(),
        refreshes,
    }
}

const GENERATIONS: &str = "update category_generations";
const HISTORY: &str = "insert history";

/// Mutations that create a product.
fn product_creations() -> [MutationCase; 2] {
    let new = json!({ "kind": "thing", "name": "Monitor 1", "category": "gaming" });
    let mut keyed = new.clone();
    keyed["idempotencyKey"] = "k".into();
    let (slug, names, insert) = ("find names", "insert names", "insert products");
    let (find_key, insert_key) = ("find mutations", "insert mutations");
    let read = "find products";
    [
        case(
            "createProduct",
            new,
            &[slug, names, insert, HISTORY, read, GENERATIONS],
            false,
        ),
        case(
            "createProduct",
            keyed,
            &[
                find_key,
                slug,
                names,
                insert,
                HISTORY,
                read,
                insert_key,
                GENERATIONS,
            ],
            false,
        ),
    ]
}

/// Mutations that change a product.
fn product_changes(id: &str) -> [MutationCase; 4] {
    let set =
        |key: &str, text: &str| json!({ "productId": id, "specs": [{ "key": key, "text": text }] });
    let brand = json!({ "id": id, "brand": "Monitor" });
    let archive = json!({ "id": id });
    let (read, change) = ("find products", "findAndModify products");
    let copies = "update stale_copies";
    [
        // The first edit of a product of a feed remembers what the feed has said.
        case(
            "updateProduct",
            brand,
            &[
                read,
                "insert contributions",
                change,
                HISTORY,
                read,
                GENERATIONS,
            ],
            false,
        ),
        // New words are added to the dictionary of the search first.
        case(
            "setSpecs",
            set("color", "Turquoise"),
            // A feed has decided the type of the key alone until now.
            &[
                read,
                "insert words",
                "update spec_keys",
                change,
                HISTORY,
                read,
                GENERATIONS,
                "update settings",
            ],
            true,
        ),
        case(
            "setSpecs",
            set("brand_new", "Turquoise"),
            &[
                read,
                "insert spec_keys",
                HISTORY,
                change,
                HISTORY,
                read,
                GENERATIONS,
                "update settings",
            ],
            true,
        ),
        // It may be in bundles: a worker finds out afterwards.
        case(
            "archiveProduct",
            archive,
            &[read, change, HISTORY, read, GENERATIONS, copies],
            false,
        ),
    ]
}

/// Mutations of the reference data.
fn reference_mutations(category: &str, supplier: &str) -> [MutationCase; 5] {
    let version = "update settings";
    [
        case(
            "createCategory",
            json!({ "name": "Fresh" }),
            &["find categories", "insert categories", HISTORY, version],
            true,
        ),
        case(
            "updateCategory",
            json!({ "id": category, "name": "Players" }),
            &["find categories", "update categories", HISTORY, version],
            true,
        ),
        case(
            "updateSupplier",
            json!({ "id": supplier, "name": "Northern" }),
            &["find suppliers", "find suppliers", "update suppliers"],
            false,
        ),
        case(
            "defineSpecKey",
            json!({ "key": "weave", "type": "TEXT" }),
            &[
                "find spec_keys",
                "find units",
                "insert spec_keys",
                HISTORY,
                version,
            ],
            true,
        ),
        case(
            "defineUnit",
            json!({ "symbol": "furlong", "dimension": "length", "factor": 201_168 }),
            &["find units", "insert units", version],
            true,
        ),
    ]
}

#[test]
fn a_mutation_is_one_transaction_of_few_commands() {
    test(async |app| {
        seed(app).await;
        let ids = app
            .query(
                r#"{ product(slug: "monitor-1") { id category { id } supplier { supplierId } } }"#,
            )
            .await;
        let [id, category, supplier] = [
            "/product/id",
            "/product/category/id",
            "/product/supplier/supplierId",
        ]
        .map(|at| ids.text(at));
        let cases = product_creations()
            .into_iter()
            .chain(product_changes(&id))
            .chain(reference_mutations(&category, &supplier));
        for MutationCase {
            name,
            input,
            inside,
            refreshes,
        } in cases
        {
            let reply = app.mutate(name, input).await;
            reply.done();
            // The version of the reference data, before the transaction and in it.
            let mut expected = vec!["find settings"];
            let looked_up = usize::from(inside[0] == "find mutations");
            expected.extend(&inside[..looked_up]);
            expected.push("find settings");
            expected.extend(&inside[looked_up..]);
            expected.push("commitTransaction");
            if refreshes {
                expected.extend(REFRESH);
            }
            reply.0.assert_commands(&expected);
        }
        // A mutation that changes nothing writes nothing.
        let same = app
            .mutate("updateProduct", json!({ "id": id, "brand": "Monitor" }))
            .await;
        same.0.assert_commands(&[
            "find settings",
            "find settings",
            "find products",
            "abortTransaction",
        ]);
    });
}

/// Queries with all fields of `Query`.
const ALL_QUERIES: [&str; 5] = [
    r#"{ product(slug: "monitor-1") { id topReviews { reviewId } reviews { nodes { id } } } category(slug: "gaming") { productCount }
        categories { id } units { symbol } specKey(key: "color") { coverage { products } } searchSuggestions(prefix: "mon")
        suggestedSpecKeys(category: "gaming") { products } trending(window: DAY) { rank } viewer { subject } }"#,
    r#"{ products(filter: { category: ["gaming"] }) { nodes { id } totalCount { value } facets { key } }
        search: products(search: "monitor") { nodes { id } } suppliers { nodes { id } } specKeys { nodes { key } }
        workers { name } dataVersions { remaining } }"#,
    r#"{ moderationQueue { nodes { id } } ratingStatsAudit { checked } exportAuthor(authorId: "ann") { lines }
        fairnessReport(from: "2026-01-01T00:00:00Z", to: "2027-01-01T00:00:00Z") { byRating { rating } } }"#,
    r#"{ moderationCounts { total { value } } imports { nodes { id } } import(id: "aQAAAAAAAAA") { id } bulkChanges { nodes { id } } bulkChange(id: "YgAAAAAAAAA") { id }
        auditFindings { findings { field } } }"#,
    r"query($id: ID!, $supplier: ID!) { node(id: $id) { id } nodes(ids: [$id]) { id } history(id: $id) { nodes { revision } } supplier(id: $supplier) { name } }",
];

#[test]
fn no_query_writes_anything_but_cached_counts() {
    test(async |app| {
        seed(app).await;
        let fields = app
            .query("{ __schema { queryType { fields { name } } } }")
            .await;
        for field in fields.at("/__schema/queryType/fields").as_array().unwrap() {
            let name = field["name"].as_str().unwrap();
            let queried = ALL_QUERIES.iter().any(|query| query.contains(name));
            assert!(queried, "{name} is a field of Query");
        }
        let ids = r#"{ product(slug: "monitor-1") { id supplier { supplierId } } }"#;
        let ids = app.query(ids).await;
        for query in ALL_QUERIES {
            let mut request = app.query(query).as_admin();
            if query.contains("$id") {
                request = request.with("id", ids.text("/product/id"));
                request = request.with("supplier", ids.text("/product/supplier/supplierId"));
            }
            let answer = request.await;
            assert_eq!(answer.errors(), [""; 0], "{query}");
            app.catalog.drain().await;
            for sent in app.sent() {
                // Transactions that are aborted have read from one snapshot.
                let reads = [
                    "find ",
                    "aggregate ",
                    "count ",
                    "getMore ",
                    "abortTransaction",
                ];
                let reads = reads.iter().any(|command| sent.starts_with(command));
                let caches = ["facet_panels", "key_coverage"];
                let caches = caches.iter().any(|collection| sent.ends_with(collection));
                assert!(reads || caches, "{sent} was sent for {query}");
            }
        }
    });
}
