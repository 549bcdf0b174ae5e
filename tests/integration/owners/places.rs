//! Categories that admins rename, move and merge, and feeds that go on naming them as before.

use super::*;

fn in_lamps(name: &str) -> ProductBuilder {
    product(name).category(["Light", "Lamps"])
}

/// The id of a category.
async fn category(app: &App, slug: &str) -> String {
    let query = "query ($slug: String!) { category(slug: $slug) { id } }";
    let found = app.query(query).with("slug", slug).await;
    found.text("/category/id")
}

/// Paths as the input has them.
fn paths(paths: &[&[&str]]) -> Value {
    paths
        .iter()
        .map(|names| json!({ "names": names }))
        .collect()
}

async fn update(app: &App, slug: &str, fields: Value) {
    let mut input = json!({ "id": category(app, slug).await });
    let fields = fields.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    app.mutate("updateCategory", input).await.done();
}

/// The products with the paths of their categories, by name.
async fn shelves(app: &App) -> Vec<String> {
    let query =
        "{ products(first: 50, sort: [{ key: NAME }]) { nodes { name category { path } } } }";
    let answer = app.query(query).await;
    let products = answer.at("/products/nodes").as_array().unwrap().iter();
    let shelf = |product: &Value| {
        let path = product["category"]["path"].as_array().unwrap().iter();
        let path: Vec<&str> = path.map(|name| name.as_str().unwrap()).collect();
        format!(
            "{}: {}",
            product["name"].as_str().unwrap(),
            path.join(" > ")
        )
    };
    products.map(shelf).collect()
}

async fn feed_paths(app: &App, slug: &str) -> Value {
    let query = "query ($slug: String!) { category(slug: $slug) { feedPaths { names } } }";
    let found = app.query(query).with("slug", slug).as_admin().await;
    let paths = found.at("/category/feedPaths").as_array().unwrap().iter();
    paths.map(|path| path["names"].clone()).collect()
}

#[test]
fn a_renamed_category_gets_the_products_that_feeds_put_into_it() {
    test(async |app| {
        line(app, in_lamps("Arc")).await;
        line(app, in_lamps("Clip")).await;
        update(app, "lamps", json!({ "name": "Luminaires" })).await;
        line(app, in_lamps("Arc").brand("Tarn")).await;
        line(app, in_lamps("Desk")).await;
        let expected = ["Arc", "Clip", "Desk"].map(|name| format!("{name}: Light > Luminaires"));
        assert_eq!(shelves(app).await, expected);
        assert_eq!(feed_paths(app, "lamps").await, json!([["Light", "Lamps"]]));
    });
}

#[test]
fn a_moved_category_and_those_below_it_are_found_by_their_old_paths() {
    test(async |app| {
        line(app, product("Reel").category(["Garden", "Tools", "Hoses"])).await;
        line(app, in_lamps("Arc")).await;
        update(app, "tools", json!({ "parent": null, "name": "Equipment" })).await;
        update(app, "garden", json!({ "name": "Outdoor" })).await;
        line(app, product("Spade").category(["garden", "TOOLS"])).await;
        line(app, product("Valve").category(["Garden", "Tools", "Hoses"])).await;
        let expected = [
            "Arc: Light > Lamps",
            "Reel: Equipment > Hoses",
            "Spade: Equipment",
            "Valve: Equipment > Hoses",
        ];
        assert_eq!(shelves(app).await, expected);
        assert_eq!(
            feed_paths(app, "tools").await,
            json!([["Outdoor", "Tools"]])
        );
    });
}

#[test]
fn a_category_that_gets_its_old_name_back_needs_no_path() {
    test(async |app| {
        line(app, in_lamps("Arc")).await;
        update(app, "lamps", json!({ "name": "Luminaires" })).await;
        update(app, "lamps", json!({ "name": "Lamps" })).await;
        assert_eq!(
            feed_paths(app, "lamps").await,
            json!([["Light", "Luminaires"]])
        );
        line(app, in_lamps("Clip")).await;
        assert_eq!(
            shelves(app).await,
            ["Arc: Light > Lamps", "Clip: Light > Lamps"]
        );
    });
}

#[test]
fn an_admin_decides_where_the_words_of_a_feed_lead() {
    test(async |app| {
        line(app, in_lamps("Arc")).await;
        line(app, product("Torch").category(["Light", "Torches"])).await;
        let head = product("Head").category(["Light", "Torches", "Head torches"]);
        line(app, head.clone()).await;
        let given = paths(&[&["Light", "Torches"], &["Flashlights"], &["flashlights"]]);
        update(app, "lamps", json!({ "feedPaths": given })).await;
        line(
            app,
            product("Torch")
                .category(["Light", "Torches"])
                .brand("Tarn"),
        )
        .await;
        line(app, product("Beam").category(["Flashlights"])).await;
        line(app, head.brand("Tarn")).await;
        let mut shown = shelves(app).await;
        assert_eq!(shown.remove(2), "Head: Light > Torches > Head torches");
        let expected = ["Arc", "Beam", "Torch"].map(|name| format!("{name}: Light > Lamps"));
        assert_eq!(shown, expected);
        let kept = json!([["Light", "Torches"], ["Flashlights"]]);
        assert_eq!(feed_paths(app, "lamps").await, kept);
        let shopper = app
            .query(r#"{ category(slug: "lamps") { feedPaths { names } } }"#)
            .await;
        assert_eq!(*shopper.at("/category/feedPaths"), Value::Null);
        update(app, "lamps", json!({ "feedPaths": [] })).await;
        line(app, product("Spot").category(["Light", "Torches"])).await;
        assert_eq!(shelves(app).await[3], "Spot: Light > Torches");
    });
}

#[test]
fn paths_that_lead_nowhere_or_elsewhere_are_refused() {
    test(async |app| {
        line(app, in_lamps("Arc")).await;
        line(app, product("Torch").category(["Light", "Torches"])).await;
        update(
            app,
            "torches",
            json!({ "feedPaths": paths(&[&["Flashlights"]]) }),
        )
        .await;
        let given = paths(&[&[], &["Nowhere", "Lamps"], &["Flashlights"], &[" "]]);
        let input = json!({ "id": category(app, "lamps").await, "feedPaths": given });
        let refused = app.mutate("updateCategory", input).await.user_errors();
        insta::assert_snapshot!(refused.join("\n"), @r#"
        INVALID at feedPaths.0: a path has at least one name
        NOT_FOUND at feedPaths.1: there is no category "Nowhere" at this place of the path
        TAKEN at feedPaths.2: feeds reach the category "Torches" by this path
        INVALID at feedPaths.3: 0 characters; 1 to 200 are possible
        "#);
    });
}
