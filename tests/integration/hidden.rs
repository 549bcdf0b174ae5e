//! Products that are not on sale: no root field shows them to shoppers.

use serde_json::json;
use vitrine_harness::{Answer, App, product, review, test};
use vitrine_model::product::ProductStatus;

/// In every text of a hidden product.
const MARK: &str = "sekret";

/// One query of each field of the query root that could show the hidden products.
const QUERIES: [(&str, &str); 24] = [
    (
        "node",
        "query($id: ID!) { node(id: $id) { ... on Product { name slug } } }",
    ),
    (
        "nodes",
        "query($id: ID!, $r: ID!) { nodes(ids: [$id, $r]) { ... on Product { name }
           ... on Review { title body product { name } } } }",
    ),
    ("product", "query($id: ID!) { product(id: $id) { name } }"),
    (
        "products",
        r#"{ products(search: "sekret") { nodes { name } search { words { corrected } didYouMean } } }"#,
    ),
    (
        "category",
        r#"{ category(slug: "things") { productCount } }"#,
    ),
    ("categories", "{ categories { name productCount } }"),
    (
        "supplier",
        "query($s: ID!) { supplier(id: $s) { name propagation { __typename } } }",
    ),
    ("suppliers", "{ suppliers { nodes { name } } }"),
    ("units", "{ units { symbol } }"),
    (
        "specKey",
        r#"{ specKey(key: "color") { allowedValues coverage { sampleValues } } }"#,
    ),
    (
        "specKeys",
        "{ specKeys { nodes { key coverage { sampleValues } } } }",
    ),
    (
        "suggestedSpecKeys",
        r#"{ suggestedSpecKeys(category: "things") { specKey { key } } }"#,
    ),
    (
        "searchSuggestions",
        r#"{ searchSuggestions(prefix: "sekr") }"#,
    ),
    ("trending", "{ trending(window: DAY) { product { name } } }"),
    ("viewer", "{ viewer { subject } }"),
    (
        "moderationQueue",
        "{ moderationQueue { nodes { title product { name } } } }",
    ),
    (
        "auditFindings",
        "{ auditFindings { findings { stored product { name } } } }",
    ),
    (
        "ratingStatsAudit",
        "{ ratingStatsAudit { checked differences { __typename } } }",
    ),
    (
        "exportAuthor",
        r#"{ exportAuthor(authorId: "ben") { lines } }"#,
    ),
    (
        "history",
        "query($id: ID!) { history(id: $id) { nodes { fields { before after } } } }",
    ),
    (
        "bulkChanges",
        "{ bulkChanges { nodes { items { nodes { message product { name } } } } } }",
    ),
    (
        "bulkChange",
        r#"{ bulkChange(id: "YgAAAAAAAAA") { items { nodes { product { name } } } } }"#,
    ),
    ("workers", "{ workers { __typename } }"),
    ("dataVersions", "{ dataVersions { __typename } }"),
];

/// Fields that return numbers and labels only.
const WITHOUT_TEXT: [&str; 4] = ["fairnessReport", "import", "imports", "moderationCounts"];

/// Two hidden products with reviews and activity, beside one on sale.
async fn stock(app: &App) {
    let hidden = |name: &str, status| {
        let marked = product(name).brand("Sekret Works").status(status);
        marked.supplier("North", "NO").text("color", "sekret red")
    };
    app.has([
        hidden("sekret draft", ProductStatus::Draft),
        hidden("sekret archived", ProductStatus::Archived),
        product("plain")
            .text("color", "blue")
            .supplier("North", "NO"),
    ])
    .await;
    let of = |name| review(name, name, 5).title("sekret").body("sekret");
    app.has_reviews([of("sekret draft"), of("sekret archived")])
        .await;
    app.run_background_work().await;
}

#[test]
fn no_root_field_shows_shoppers_a_product_that_is_not_on_sale() {
    test(async |app| {
        stock(app).await;
        let mut shown_to_admins = Vec::new();
        for slug in ["sekret-draft", "sekret-archived"] {
            let ids = "query($slug: String!) { product(slug: $slug) { id supplier { supplierId } topReviews { reviewId } } }";
            let ids = app.query(ids).with("slug", slug).as_admin().await;
            for (field, query) in QUERIES {
                let ask = || {
                    app.query(query)
                        .with("id", ids.text("/product/id"))
                        .with("r", ids.text("/product/topReviews/0/reviewId"))
                        .with("s", ids.text("/product/supplier/supplierId"))
                };
                for answer in [ask().await, ask().as_shopper("ada").await] {
                    let text = answer.body().to_string();
                    assert!(!text.contains(MARK), "{field}: {text}");
                }
                if ask().as_admin().await.body().to_string().contains(MARK) {
                    shown_to_admins.push(field);
                }
            }
        }
        // The queries would show them, if the caller might see them.
        for field in ["node", "nodes", "product", "products"] {
            assert!(shown_to_admins.contains(&field), "{field}");
        }
    });
}

#[test]
fn every_root_field_is_tried_for_products_that_are_not_on_sale() {
    test(async |app| {
        let fields = "{ __schema { queryType { fields { name } } } }";
        let schema: Answer = app.query(fields).await;
        let all = schema.at("/__schema/queryType/fields").as_array().unwrap();
        let all: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
        let tried = QUERIES.iter().map(|(field, _)| *field).chain(WITHOUT_TEXT);
        let (mut tried, mut all) = (tried.collect::<Vec<_>>(), all);
        tried.sort_unstable();
        all.sort_unstable();
        assert_eq!(json!(tried), json!(all));
    });
}
