//! Searches in suppliers, categories and the spec dictionary, for choosers: by the beginnings of words, without case and
//! accents.

use vitrine_harness::{App, product, test};
use vitrine_model::product::ProductStatus;

async fn stock(app: &App) {
    app.has([
        product("Lamp")
            .category(["Éclairage", "Desk Lamps"])
            .supplier("Saigon River Goods", "VN")
            .text("lamp_shade", "round"),
        product("Desk")
            .category(["Furniture", "Office Desks"])
            .supplier("Søren & Fils Sàrl", "CH")
            .text("shade", "grey"),
        product("Draft")
            .category(["Furniture", "Shelves"])
            .supplier("River Sons", "US")
            .text("shading_secret", "x")
            .status(ProductStatus::Draft),
    ])
    .await;
}

#[test]
fn suppliers_are_found_by_the_beginnings_of_words() {
    test(async |app| {
        stock(app).await;
        let cases: [(&str, &[&str]); 7] = [
            ("riv", &["River Sons", "Saigon River Goods"]),
            ("GOODS sai", &["Saigon River Goods"]),
            ("sarl", &["Søren & Fils Sàrl"]),
            (
                "s",
                &["River Sons", "Saigon River Goods", "Søren & Fils Sàrl"],
            ),
            ("river sons x", &[]),
            ("iver", &[]),
            ("sarl sarl", &["Søren & Fils Sàrl"]),
        ];
        for (search, expected) in cases {
            let query = "query ($search: String) { suppliers(search: $search) { nodes { name } totalCount { value relation } } }";
            let found = app.query(query).with("search", search).await;
            assert_eq!(found.names("/suppliers"), expected, "{search}");
            assert_eq!(*found.at("/suppliers/totalCount/value"), expected.len());
            assert_eq!(*found.at("/suppliers/totalCount/relation"), "EXACT");
        }
    });
}

#[test]
fn a_search_of_suppliers_has_pages_of_its_own() {
    test(async |app| {
        stock(app).await;
        let first = app
            .query("{ suppliers(search: \"riv\", first: 1) { nodes { name } pageInfo { hasNextPage endCursor } } }")
            .await;
        assert_eq!(first.names("/suppliers"), ["River Sons"]);
        assert_eq!(*first.at("/suppliers/pageInfo/hasNextPage"), true);
        let cursor = first.text("/suppliers/pageInfo/endCursor");
        let after = |search: &str| {
            format!(
                "{{ suppliers({search} first: 1, after: {cursor:?}) {{ nodes {{ name }} pageInfo {{ hasNextPage hasPreviousPage }} }} }}"
            )
        };
        let second = app.query(&after("search: \"RIV\",")).await;
        assert_eq!(second.names("/suppliers"), ["Saigon River Goods"]);
        assert_eq!(*second.at("/suppliers/pageInfo/hasNextPage"), false);
        assert_eq!(*second.at("/suppliers/pageInfo/hasPreviousPage"), true);
        let other = app.query(&after("")).await;
        assert!(
            other.errors()[0].starts_with("INVALID_CURSOR"),
            "{:?}",
            other.errors()
        );
    });
}

#[test]
fn a_search_of_suppliers_reads_an_index() {
    test(async |app| {
        app.has(
            (0..40).map(|n| product(&format!("P{n}")).supplier(&format!("Firm{n:02} Goods"), "DE")),
        )
        .await;
        app.start_profiler().await;
        let patterns = app.index_patterns("suppliers").await;
        let query = "{ suppliers(search: \"firm1 go\") { nodes { name } totalCount { value } } }";
        let (found, executed) = app.profile(async { app.query(query).await }).await;
        assert_eq!(found.names("/suppliers").len(), 10);
        assert_eq!(executed.len(), 2, "{executed:?}");
        for one in executed {
            assert_eq!(one.indexes(&patterns), ["words"]);
            assert!(one.keys() <= 41, "{}", one.keys());
        }
    });
}

#[test]
fn a_renamed_supplier_is_found_by_its_new_name_only() {
    test(async |app| {
        stock(app).await;
        let id = app
            .query("{ suppliers(search: \"sons\") { nodes { id } } }")
            .await;
        let id = id.text("/suppliers/nodes/0/id");
        let _ = app.query("mutation ($id: ID!) { updateSupplier(input: { id: $id, name: \"Delta Works\" }) { supplier { name } userErrors { message } } }")
            .with("id", id)
            .as_admin()
            .await
            .data();
        for (search, expected) in [("sons", 0), ("work", 1)] {
            let query = format!("{{ suppliers(search: {search:?}) {{ nodes {{ name }} }} }}");
            assert_eq!(
                app.query(&query).await.names("/suppliers").len(),
                expected,
                "{search}"
            );
        }
    });
}

#[test]
fn categories_of_any_level_are_found_from_memory() {
    test(async |app| {
        stock(app).await;
        let cases: [(&str, &[&str]); 5] = [
            ("desk", &["Desk Lamps", "Office Desks"]),
            ("DES off", &["Office Desks"]),
            ("eclair", &["Éclairage"]),
            ("lamps", &["Desk Lamps"]),
            ("amps", &[]),
        ];
        for (search, expected) in cases {
            let query = format!("{{ categories(search: {search:?}) {{ name path }} }}");
            let found = app.query(&query).await;
            found.assert_commands(&[]);
            let names: Vec<&str> = found
                .at("/categories")
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, expected, "{search}");
        }
    });
}

#[test]
fn a_search_of_categories_finds_at_most_twenty_and_costs_as_much() {
    test(async |app| {
        app.has(
            (0..30).map(|n| product(&format!("P{n}")).category([&format!("Shelf {n:02}") as &str])),
        )
        .await;
        let cost = async |query: &str| app.query(query).await.cost()["requested"].as_u64().unwrap();
        let found = app
            .query("{ categories(search: \"shelf\") { name } }")
            .await;
        assert_eq!(found.at("/categories").as_array().unwrap().len(), 20);
        let (all, some) = (
            cost("{ categories { name } }").await,
            cost("{ categories(search: \"shelf\") { name } }").await,
        );
        assert!(some < all, "{some} {all}");
    });
}

#[test]
fn spec_keys_are_found_by_key_label_and_alias() {
    test(async |app| {
        stock(app).await;
        let _ = app.query("mutation { updateSpecKey(input: { key: \"shade\", label: \"Farbe, größer\", aliases: [\"tone_value\"] }) { userErrors { message } } }")
            .as_admin()
            .await
            .data();
        let keys = async |search: &str, admin: bool| {
            let query = format!(
                "{{ specKeys(search: {search:?}) {{ nodes {{ key }} totalCount {{ value }} }} }}"
            );
            let request = app.query(&query);
            let found = if admin {
                request.as_admin().await
            } else {
                request.await
            };
            let nodes = found.at("/specKeys/nodes").as_array().unwrap().clone();
            assert_eq!(*found.at("/specKeys/totalCount/value"), nodes.len());
            let text = |node: &serde_json::Value| node["key"].as_str().unwrap().to_owned();
            nodes.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(keys("shad", false).await, ["lamp_shade", "shade"]);
        assert_eq!(
            keys("shad", true).await,
            ["lamp_shade", "shade", "shading_secret"]
        );
        assert_eq!(keys("lamp_sha", false).await, ["lamp_shade"]);
        assert_eq!(keys("GROSSER", false).await, ["shade"]);
        assert_eq!(keys("tone", false).await, ["shade"]);
        assert_eq!(keys("nothing", true).await, [""; 0]);
    });
}

#[test]
fn a_search_without_words_or_of_too_many_characters_is_refused() {
    test(async |app| {
        for field in [
            "suppliers(S) { nodes { name } }",
            "specKeys(S) { nodes { key } }",
            "categories(S) { name }",
        ] {
            for (search, said) in [
                (String::new(), "letter or digit"),
                ("--".to_owned(), "letter or digit"),
                ("x".repeat(201), "200 characters"),
            ] {
                let query = format!(
                    "{{ {} }}",
                    field.replace('S', &format!("search: {search:?}"))
                );
                let refused = app.query(&query).await;
                refused.assert_commands(&[]);
                let error = refused.errors().join("\n");
                assert!(
                    error.contains("search: ") && error.contains(said),
                    "{field}: {error}"
                );
            }
        }
    });
}
