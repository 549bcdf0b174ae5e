//! Categories that are merged: everything leads to the remaining one at once, and no product is written.

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, ProductBuilder, product, test};
use vitrine_model::import::LineOutcome;

fn shoe<const N: usize>(name: &str, path: [&str; N]) -> ProductBuilder {
    product(name).category(path)
}

/// Two shelves for the same things, each with its own subcategories.
async fn has_shelves(app: &App) {
    app.has([
        shoe("Apron", ["Footwear"]),
        shoe("Brogue", ["Footwear", "Formal"]),
        shoe("Clog", ["Shoes"]),
        shoe("Derby", ["Shoes", "Classic"]),
        shoe("Espadrille", ["Shoes", "Classic", "Summer"]),
    ])
    .await;
}

async fn id(app: &App, slug: &str) -> String {
    let query = "query ($slug: String!) { category(slug: $slug) { id } }";
    app.query(query)
        .with("slug", slug)
        .await
        .text("/category/id")
}

async fn merge(app: &App, from: &str, into: &str) {
    let input = json!({ "from": id(app, from).await, "into": id(app, into).await });
    app.mutate("mergeCategories", input).await.done();
}

async fn refused(app: &App, from: &str, into: &str) -> String {
    let input = json!({ "from": id(app, from).await, "into": id(app, into).await });
    app.mutate("mergeCategories", input)
        .await
        .user_errors()
        .join("\n")
}

/// What shoppers find by these categories: totals, products, and the facet of categories.
async fn found(app: &App, slugs: &[&str]) -> Value {
    let query = "query ($filter: ProductFilterInput) {
        products(first: 20, sort: [{ key: NAME }], filter: $filter) {
            totalCount { value }
            nodes { name category { slug path } revision }
            facets(keys: [\"@category\"]) { values { path count } }
        }
        categories { slug productCount children { slug productCount } }
    }";
    let filter = json!({ "category": slugs });
    app.query(query).with("filter", filter).await.data().clone()
}

fn names(found: &Value) -> Vec<&str> {
    let nodes = found["products"]["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["name"].as_str().unwrap()).collect()
}

#[test]
fn everything_of_a_merged_category_is_in_the_other_at_once() {
    test(async |app| {
        has_shelves(app).await;
        merge(app, "footwear", "shoes").await;
        let by_new = found(app, &["shoes"]).await;
        assert_eq!(
            names(&by_new),
            ["Apron", "Brogue", "Clog", "Derby", "Espadrille"]
        );
        assert_eq!(by_new["products"]["totalCount"]["value"], 5);
        assert_eq!(
            found(app, &["footwear"]).await,
            by_new,
            "the old slug means the same"
        );
        let apron = &by_new["products"]["nodes"][0];
        assert_eq!(
            apron["category"],
            json!({ "slug": "shoes", "path": ["Shoes"] })
        );
        assert_eq!(apron["revision"], 1, "no product is written");
        let brogue = &by_new["products"]["nodes"][1];
        assert_eq!(brogue["category"]["path"], json!(["Shoes", "Formal"]));
        let tree = json!([{
            "slug": "shoes",
            "productCount": 5,
            "children": [
                { "slug": "classic", "productCount": 2 },
                { "slug": "formal", "productCount": 1 },
            ],
        }]);
        assert_eq!(by_new["categories"], tree);
        let facet = &by_new["products"]["facets"][0]["values"];
        let shown: Vec<String> = facet
            .as_array()
            .unwrap()
            .iter()
            .map(|value| format!("{} {}", value["path"], value["count"]))
            .collect();
        let expected = [
            r#"["Shoes"] 5"#,
            r#"["Shoes","Classic"] 2"#,
            r#"["Shoes","Formal"] 1"#,
            r#"["Shoes","Classic","Summer"] 1"#,
        ];
        assert_eq!(shown, expected);
        let old = app
            .query(r#"{ category(slug: "footwear") { slug name path } }"#)
            .await;
        let shoes = json!({ "slug": "shoes", "name": "Shoes", "path": ["Shoes"] });
        assert_eq!(*old.at("/category"), shoes);
    });
}

#[test]
fn a_chain_of_merges_leads_to_the_last_category() {
    test(async |app| {
        has_shelves(app).await;
        app.has([shoe("Flat", ["Pumps"])]).await;
        merge(app, "footwear", "pumps").await;
        let footwear = id(app, "footwear").await;
        assert_eq!(footwear, id(app, "pumps").await);
        merge(app, "pumps", "shoes").await;
        for slug in ["footwear", "pumps", "shoes"] {
            assert_eq!(
                found(app, &[slug]).await["products"]["totalCount"]["value"],
                6
            );
        }
        let again = json!({ "from": footwear, "into": id(app, "shoes").await });
        let again = app.mutate("mergeCategories", again).await;
        assert_eq!(
            again.text("/category/slug"),
            "shoes",
            "it was merged already"
        );
    });
}

#[test]
fn feeds_reach_the_remaining_category_by_the_words_of_both() {
    test(async |app| {
        has_shelves(app).await;
        merge(app, "footwear", "shoes").await;
        let lines = [
            shoe("Apron", ["Footwear"]).brand("Tarn"),
            shoe("Galosh", ["footwear", "Rain"]),
            shoe("Hiker", ["Footwear", "Formal"]),
            shoe("Ice skate", ["Footwear", "Classic"]),
        ];
        let drafts = lines.map(Into::into).to_vec();
        let (outcomes, summary) = app.import(ImportMode::Write, drafts, Vec::new()).await;
        let created = LineOutcome::Created;
        assert_eq!(
            outcomes,
            [
                LineOutcome::Updated,
                created.clone(),
                created.clone(),
                created
            ]
        );
        assert_eq!(summary.new_categories, [["Shoes", "Rain"]]);
        let query = "query ($slug: String!) { category(slug: $slug) { feedPaths { names } } }";
        let paths = app.query(query).with("slug", "shoes").as_admin().await;
        assert_eq!(
            *paths.at("/category/feedPaths"),
            json!([{ "names": ["Footwear"] }])
        );
        let classic = found(app, &["classic"]).await;
        assert_eq!(names(&classic), ["Derby", "Espadrille", "Ice skate"]);
    });
}

#[test]
fn a_feed_that_repeats_itself_after_a_merge_overrules_nobody() {
    test(async |app| {
        let lamp = |feed: &str| product("Lamp").source(feed, "1").sku("L-1");
        app.has([lamp("one").category(["Old"])]).await;
        app.has([shoe("Other", ["New"]), shoe("Third", ["Third"])])
            .await;
        let second = lamp("two").category(["Third"]);
        let (outcomes, _) = app
            .import(ImportMode::Write, vec![second.into()], Vec::new())
            .await;
        assert_eq!(outcomes, [LineOutcome::Updated]);
        let at = async || {
            let lamp = app
                .query(r#"{ product(sku: "L-1") { category { slug } } }"#)
                .await;
            lamp.text("/product/category/slug")
        };
        let before = at().await;
        merge(app, "old", "new").await;
        let repeated = lamp("one").category(["Old"]).brand("Tarn");
        let (outcomes, _) = app
            .import(ImportMode::Write, vec![repeated.into()], Vec::new())
            .await;
        assert_eq!(outcomes, [LineOutcome::Updated]);
        let expected = if before == "old" {
            "new".to_owned()
        } else {
            before
        };
        assert_eq!(at().await, expected);
    });
}

#[test]
fn what_cannot_be_merged_is_refused_with_the_reason() {
    test(async |app| {
        has_shelves(app).await;
        app.has([shoe("Sandal", ["Footwear", "classic"])]).await;
        assert_eq!(
            refused(app, "footwear", "shoes").await,
            "TAKEN at from: both have a subcategory \"classic\": merge these first, or rename one"
        );
        assert_eq!(
            refused(app, "shoes", "summer").await,
            "INVALID at into: \"Summer\" is below \"Shoes\": merge in the other direction, or move it first"
        );
        assert_eq!(
            refused(app, "shoes", "shoes").await,
            "INVALID at into: a category cannot be merged into itself"
        );
        let levels = ["A", "B", "C", "D", "E", "F", "G"];
        app.has([shoe("Deep", levels)]).await;
        assert_eq!(
            refused(app, "shoes", "g").await,
            "TOO_LARGE at into: the subcategories would be nested 9 levels deep; at most 8 are allowed"
        );
        merge(app, "footwear-classic", "classic").await;
        merge(app, "shoes", "footwear").await;
        let taken = json!({ "name": "Shoes again", "slug": "shoes" });
        let taken = app
            .mutate("createCategory", taken)
            .await
            .user_errors()
            .join("\n");
        let reason = "a category with the slug shoes was merged into \"Footwear\"";
        assert_eq!(taken, format!("TAKEN at slug: {reason}"));
        let itself = json!({ "id": id(app, "footwear").await, "slug": "shoes" });
        let itself = app
            .mutate("updateCategory", itself)
            .await
            .user_errors()
            .join("\n");
        assert_eq!(itself, format!("TAKEN at slug: {reason}"));
    });
}

#[test]
fn a_path_that_leads_below_the_eighth_level_costs_its_row() {
    test(async |app| {
        app.has([
            shoe("Deep", ["A", "B", "C", "D", "E", "F"]),
            shoe("Flat", ["Shoes"]),
        ])
        .await;
        let moved = json!({ "id": id(app, "shoes").await, "parent": "f" });
        app.mutate("updateCategory", moved).await.done();
        let lines = [
            shoe("Pump", ["Shoes", "Classic"]),
            shoe("Court", ["Shoes", "Classic", "Court"]),
        ];
        let drafts = lines.map(Into::into).to_vec();
        let (outcomes, _) = app.import(ImportMode::Write, drafts, Vec::new()).await;
        assert_eq!(outcomes[0], LineOutcome::Created);
        let LineOutcome::Rejected(reasons) = &outcomes[1] else {
            panic!("{outcomes:?}")
        };
        let reason = "the path leads to level 9, since an admin has moved or merged a part of it; at most 8 are possible";
        assert_eq!(
            (&*reasons[0].field, &*reasons[0].reason),
            ("category", reason)
        );
    });
}
