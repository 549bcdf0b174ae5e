//! Lists of reviews: five sort orders, both directions, by stars, dated and undated.

use vitrine_harness::{App, ReviewBuilder, product, review, test};

const ORDERS: [&str; 5] = ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"];

/// Nine reviews with stars, votes and year in their titles. No two tie.
async fn nine(app: &App) {
    app.has([product("Tent"), product("Other")]).await;
    let dated = |n: i64, stars: i64, helpful: i64, year: i64| {
        review("Tent", n, stars)
            .title(&format!("{stars}* {helpful}v {year}"))
            .helpful(helpful)
            .created_at(&format!("{year}-01-01"))
    };
    app.has_reviews([
        dated(1, 5, 0, 2020),
        dated(2, 4, 3, 2021),
        dated(3, 5, 9, 2022),
        dated(4, 1, 3, 2019),
        dated(5, 3, 0, 2024),
        dated(6, 4, 1, 2018),
        dated(7, 1, 7, 2023),
        review("Tent", 8, 5).title("5* 1v -").helpful(1).undated(),
        review("Other", 9, 2).title("of another product"),
    ])
    .await;
}

/// The titles of a list with these arguments.
async fn titles(app: &App, arguments: &str) -> Vec<String> {
    let query =
        format!("{{ product(slug: \"tent\") {{ reviews({arguments}) {{ nodes {{ title }} }} }} }}");
    let answer = app.query(&query).await;
    let nodes = answer.at("/product/reviews/nodes").as_array().unwrap();
    nodes
        .iter()
        .map(|node| node["title"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn reviews_are_sorted_in_five_ways() {
    test(async |app| {
        nine(app).await;
        let mut lines = Vec::new();
        for order in ORDERS {
            lines.push(format!(
                "{order}: {}",
                titles(app, &format!("sort: {order}")).await.join(", ")
            ));
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        NEWEST: 3* 0v 2024, 1* 7v 2023, 5* 9v 2022, 4* 3v 2021, 5* 0v 2020, 1* 3v 2019, 4* 1v 2018, 5* 1v -
        OLDEST: 4* 1v 2018, 1* 3v 2019, 5* 0v 2020, 4* 3v 2021, 5* 9v 2022, 1* 7v 2023, 3* 0v 2024, 5* 1v -
        MOST_HELPFUL: 5* 9v 2022, 1* 7v 2023, 4* 3v 2021, 1* 3v 2019, 4* 1v 2018, 5* 1v -, 3* 0v 2024, 5* 0v 2020
        HIGHEST: 5* 9v 2022, 5* 0v 2020, 5* 1v -, 4* 3v 2021, 4* 1v 2018, 3* 0v 2024, 1* 7v 2023, 1* 3v 2019
        LOWEST: 1* 3v 2019, 1* 7v 2023, 3* 0v 2024, 4* 1v 2018, 4* 3v 2021, 5* 1v -, 5* 0v 2020, 5* 9v 2022
        ");
        let usual = titles(app, "first: 100").await;
        assert_eq!(usual, titles(app, "sort: NEWEST, first: 100").await);
        let mut lowest = titles(app, "sort: LOWEST").await;
        lowest.reverse();
        assert_eq!(
            lowest,
            titles(app, "sort: HIGHEST").await,
            "one is the other read backwards"
        );
    });
}

#[test]
fn reviews_are_filtered_by_stars_in_every_sort_order() {
    test(async |app| {
        nine(app).await;
        let mut lines = Vec::new();
        for order in ORDERS {
            for stars in ["5", "5, 1", "2"] {
                let found = titles(
                    app,
                    &format!("sort: {order}, filter: {{ ratings: [{stars}] }}"),
                )
                .await;
                let found = if found.is_empty() {
                    "none".to_owned()
                } else {
                    found.join(", ")
                };
                lines.push(format!("{order} of {stars}: {found}"));
            }
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        NEWEST of 5: 5* 9v 2022, 5* 0v 2020, 5* 1v -
        NEWEST of 5, 1: 1* 7v 2023, 5* 9v 2022, 5* 0v 2020, 1* 3v 2019, 5* 1v -
        NEWEST of 2: none
        OLDEST of 5: 5* 0v 2020, 5* 9v 2022, 5* 1v -
        OLDEST of 5, 1: 1* 3v 2019, 5* 0v 2020, 5* 9v 2022, 1* 7v 2023, 5* 1v -
        OLDEST of 2: none
        MOST_HELPFUL of 5: 5* 9v 2022, 5* 1v -, 5* 0v 2020
        MOST_HELPFUL of 5, 1: 5* 9v 2022, 1* 7v 2023, 1* 3v 2019, 5* 1v -, 5* 0v 2020
        MOST_HELPFUL of 2: none
        HIGHEST of 5: 5* 9v 2022, 5* 0v 2020, 5* 1v -
        HIGHEST of 5, 1: 5* 9v 2022, 5* 0v 2020, 5* 1v -, 1* 7v 2023, 1* 3v 2019
        HIGHEST of 2: none
        LOWEST of 5: 5* 1v -, 5* 0v 2020, 5* 9v 2022
        LOWEST of 5, 1: 1* 3v 2019, 1* 7v 2023, 5* 1v -, 5* 0v 2020, 5* 9v 2022
        LOWEST of 2: none
        ");
    });
}

#[test]
fn reviews_are_paged_both_ways_in_every_sort_order() {
    test(async |app| {
        nine(app).await;
        for order in ORDERS {
            for filter in ["null", "{ ratings: [5, 1] }", "{ ratings: [5] }"] {
                let list = format!("sort: {order}, filter: {filter}");
                let whole = titles(app, &format!("first: 100, {list}")).await;
                assert_eq!(walk(app, &list, true).await, whole, "{list}");
                assert_eq!(walk(app, &list, false).await, whole, "{list}");
            }
        }
    });
}

/// All titles in pages of three, forwards or backwards.
async fn walk(app: &App, list: &str, forwards: bool) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut cursor = String::new();
    loop {
        let (size, on, end) = if forwards {
            ("first", "hasNextPage", "endCursor")
        } else {
            ("last", "hasPreviousPage", "startCursor")
        };
        let query = format!(
            "{{ product(slug: \"tent\") {{ reviews({size}: 3, {list}{cursor}) {{ nodes {{ title }} pageInfo {{ {on} {end} }} }} }} }}"
        );
        let page = app.query(&query).await;
        let nodes = page.at("/product/reviews/nodes").as_array().unwrap();
        let titles = nodes
            .iter()
            .map(|node| node["title"].as_str().unwrap().to_owned());
        let at = if forwards { all.len() } else { 0 };
        all.splice(at..at, titles);
        if *page.at(&format!("/product/reviews/pageInfo/{on}")) == false {
            return all;
        }
        let from = if forwards { "after" } else { "before" };
        cursor = format!(
            ", {from}: \"{}\"",
            page.text(&format!("/product/reviews/pageInfo/{end}"))
        );
    }
}

#[test]
fn totals_of_reviews_come_from_the_histogram() {
    test(async |app| {
        nine(app).await;
        let totals = app
            .query(
                r#"{ product(slug: "tent") { all: reviews(first: 1) { totalCount { value relation } }
                best: reviews(first: 1, filter: { ratings: [5, 5] }) { totalCount { value } }
                some: reviews(first: 1, filter: { ratings: [1, 4] }) { totalCount { value } }
                none: reviews(first: 1, filter: { ratings: [] }) { nodes { title } totalCount { value } pageInfo { hasNextPage startCursor } }
                cut: reviews(first: 1) { totalCount(upTo: 7) { value relation } } } }"#,
            )
            .await;
        insta::assert_snapshot!(totals.pretty(), @r#"
        {
          data: {
            product: {
              all: { totalCount: { value: 8, relation: "EXACT" } }
              best: { totalCount: { value: 3 } }
              some: { totalCount: { value: 4 } }
              none: { nodes: [], totalCount: { value: 0 }, pageInfo: { hasNextPage: false, startCursor: null } }
              cut: { totalCount: { value: 7, relation: "AT_LEAST" } }
            }
          }
        }
        "#);
    });
}

/// A review with a value in every field, and one without.
fn full_and_bare() -> [ReviewBuilder; 2] {
    [
        review("Tent", 1, 4)
            .author("Ann")
            .title("Nice")
            .body("Dry <b>inside</b>.\nSmall.")
            .helpful(3)
            .unhelpful(1)
            .recommends(true)
            .dimension("space", 2)
            .dimension("build", 5)
            .created_at("2024-02-29T12:00:00Z"),
        review("Tent", 2, 1).undated(),
    ]
}

/// Everything that can be selected of a review.
const WHOLE_REVIEW: &str = r#"{ product(slug: "tent") { reviews { nodes { id author { name } rating recommended dimensions { name rating } title body
    language media { url } verified incentivized helpfulCount unhelpfulCount status createdAt editedAt product { name } } } } }"#;

#[test]
fn a_review_shows_all_its_fields() {
    test(async |app| {
        app.has([product("Tent")]).await;
        app.has_reviews(full_and_bare()).await;
        let page = app.query(WHOLE_REVIEW).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              reviews: {
                nodes: [
                  {
                    id: [random]
                    author: { name: "Ann" }
                    rating: 4
                    recommended: true
                    dimensions: [{ name: "build", rating: 5 }, { name: "space", rating: 2 }]
                    title: "Nice"
                    body: "Dry <b>inside</b>.\nSmall."
                    language: null
                    media: []
                    verified: false
                    incentivized: false
                    helpfulCount: 3
                    unhelpfulCount: 1
                    status: "PUBLISHED"
                    createdAt: "2024-02-29T12:00:00.000Z"
                    editedAt: null
                    product: { name: "Tent" }
                  }
                  {
                    id: [random]
                    author: null
                    rating: 1
                    recommended: null
                    dimensions: []
                    title: ""
                    body: ""
                    language: null
                    media: []
                    verified: false
                    incentivized: false
                    helpfulCount: 0
                    unhelpfulCount: 0
                    status: "PUBLISHED"
                    createdAt: null
                    editedAt: null
                    product: { name: "Tent" }
                  }
                ]
              }
            }
          }
        }
        "#);
    });
}

#[test]
fn a_review_is_a_node() {
    test(async |app| {
        app.has([product("Tent")]).await;
        app.has_reviews(full_and_bare()).await;
        let page = app.query(WHOLE_REVIEW).await;
        let id = page.text("/product/reviews/nodes/0/id");
        let node = app
            .query("query($id: ID!) { node(id: $id) { __typename ... on Review { title } } }")
            .with("id", id)
            .await;
        assert_eq!(node.text("/node/title"), "Nice");
    });
}

#[test]
fn wrong_arguments_of_reviews_are_refused() {
    test(async |app| {
        nine(app).await;
        let cursor = app
            .query(r#"{ product(slug: "tent") { reviews(first: 1) { pageInfo { endCursor } } } }"#)
            .await;
        let cursor = cursor.text("/product/reviews/pageInfo/endCursor");
        let mut lines = Vec::new();
        for (what, arguments) in [
            ("no stars", "filter: { ratings: [0] }".to_owned()),
            ("six stars", "filter: { ratings: [6] }".to_owned()),
            ("too many", "first: 101".to_owned()),
            ("both ends", "first: 1, last: 1".to_owned()),
            (
                "another order",
                format!("sort: OLDEST, after: \"{cursor}\""),
            ),
            (
                "another filter",
                format!("filter: {{ ratings: [1] }}, after: \"{cursor}\""),
            ),
        ] {
            let query = format!(
                "{{ product(slug: \"tent\") {{ reviews({arguments}) {{ nodes {{ title }} }} }} }}"
            );
            lines.push(format!(
                "{what}: {}",
                app.query(&query).await.errors().join("\n")
            ));
        }
        let other = format!(
            "{{ product(slug: \"other\") {{ reviews(first: 1, after: \"{cursor}\") {{ nodes {{ title }} }} }} }}"
        );
        lines.push(format!(
            "another product: {}",
            app.query(&other).await.errors().join("\n")
        ));
        insta::assert_snapshot!(lines.join("\n"), @r"
        no stars: BAD_USER_INPUT at product.reviews: filter.ratings: a rating is a whole number of stars from 1 to 5, not 0
        six stars: BAD_USER_INPUT at product.reviews: filter.ratings: a rating is a whole number of stars from 1 to 5, not 6
        too many: BAD_USER_INPUT at product.reviews: first: must be 1 to 100, not 101
        both ends: BAD_USER_INPUT at product.reviews: first: give first or last, not both
        another order: INVALID_CURSOR at product.reviews: after: the cursor belongs to another list, or to one with another sort order or filter
        another filter: INVALID_CURSOR at product.reviews: after: the cursor belongs to another list, or to one with another sort order or filter
        another product: INVALID_CURSOR at product.reviews: after: the cursor belongs to another list, or to one with another sort order or filter
        ");
    });
}

#[test]
fn paging_reaches_all_of_a_thousand_reviews() {
    test(async |app| {
        app.has([product("Tent")]).await;
        app.has_reviews((0..1024_i64).map(|n| {
            let review = review("Tent", n, 1 + n % 5)
                .title(&n.to_string())
                .helpful(n % 7);
            if n % 10 == 0 {
                review.undated()
            } else {
                review.created_at(&format!("20{:02}-01-01", n % 20))
            }
        }))
        .await;
        for order in ["NEWEST", "MOST_HELPFUL"] {
            let (there, back) = (
                walk_all(app, order, true).await,
                walk_all(app, order, false).await,
            );
            assert_eq!(there, back, "{order}");
            let mut titles = there;
            titles.sort();
            titles.dedup();
            assert_eq!(titles.len(), 1024, "{order}");
        }
    });
}

/// All titles in pages of a hundred.
async fn walk_all(app: &App, order: &str, forwards: bool) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut cursor = String::new();
    loop {
        let size = if forwards { "first" } else { "last" };
        let query = format!(
            "{{ product(slug: \"tent\") {{ reviews({size}: 100, sort: {order}{cursor}) {{ edges {{ cursor node {{ title }} }} }} }} }}"
        );
        let page = app.query(&query).await;
        let edges = page.at("/product/reviews/edges").as_array().unwrap();
        let end = if forwards {
            edges.last()
        } else {
            edges.first()
        };
        let Some(end) = end else { return all };
        let from = if forwards { "after" } else { "before" };
        cursor = format!(", {from}: {}", end["cursor"]);
        let at = if forwards { all.len() } else { 0 };
        all.splice(
            at..at,
            edges
                .iter()
                .map(|edge| edge["node"]["title"].as_str().unwrap().to_owned()),
        );
    }
}
