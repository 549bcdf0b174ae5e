//! A product page: every kind, specs and units, price, supplier, ratings, top reviews, and
//! visibility.

use std::collections::BTreeSet;

use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_harness::pretty;
use vitrine_harness::profile::Executed;
use vitrine_harness::{App, ProductBuilder, product, review, test};
use vitrine_model::product::{
    Apparel, Book, Contributor, Details, Electronics, Grocery, Kind, Measurement, Movie,
    ProductStatus, SizeChartRow,
};
use vitrine_model::review::MAX_TOP_REVIEWS;

#[test]
fn a_product_is_found_by_id_slug_and_sku() {
    test(async |app| {
        app.has([product("Crème Brûlée").sku("CB-1")]).await;
        let by_slug = app
            .query(r#"{ product(slug: "creme-brulee") { id name sku slug } }"#)
            .await;
        insta::assert_snapshot!(by_slug.pretty(), @r#"{ data: { product: { id: [random], name: "Crème Brûlée", sku: "CB-1", slug: "creme-brulee" } } }"#);
        let id = by_slug.text("/product/id");
        let by_id = app
            .query("query($id: ID!) { product(id: $id) { sku } }")
            .with("id", id)
            .await;
        assert_eq!(by_id.text("/product/sku"), "CB-1");
        let by_sku = app.query(r#"{ product(sku: "CB-1") { slug } }"#).await;
        assert_eq!(by_sku.text("/product/slug"), "creme-brulee");
        let nothing = app
            .query(r#"{ a: product(sku: "cb-1") { slug } b: product(slug: "") { slug } }"#)
            .await;
        insta::assert_snapshot!(nothing.pretty(), @"{ data: { a: null, b: null } }");
    });
}

#[test]
fn a_product_is_named_in_exactly_one_way() {
    test(async |app| {
        let answer = app
            .query(
                r#"{ none: product { name } two: product(slug: "a", sku: "b") { name }
            null: product(id: null, slug: null) { name } foreign: product(id: "x") { name }
            empty: product(id: "") { name } }"#,
            )
            .await;
        insta::assert_snapshot!(answer.errors().join("\n"), @r"
        BAD_USER_INPUT at none: give exactly one of id, slug and sku
        BAD_USER_INPUT at two: give exactly one of id, slug and sku
        BAD_USER_INPUT at null: give exactly one of id, slug and sku
        BAD_USER_INPUT at foreign: id: not an id of this service
        BAD_USER_INPUT at empty: id: not an id of this service
        ");
        answer.assert_commands(&[]);
        app.has([product("A")]).await;
        let category = app
            .query("{ categories { id } }")
            .await
            .text("/categories/0/id");
        let other = app
            .query("query($id: ID) { product(id: $id) { name } }")
            .with("id", category)
            .await;
        insta::assert_snapshot!(other.errors().join("\n"), @"BAD_USER_INPUT at product: id: not the id of a product");
    });
}

/// A product with a value in every field that is not computed.
fn monitor() -> ProductBuilder {
    product("Monitor")
        .sku("M-1")
        .kind("monitor")
        .description("Wide.\n\nBright.")
        .brand("Åcme")
        .category(["Electronics", "Screens"])
        .supplier("North", "NO")
        .price("19.99")
        .image("https://example.org/front.jpg", "the front")
        .created_at("2024-02-29T23:59:59.999Z")
}

/// Everything that a product page can show of every kind.
const WHOLE_PAGE: &str = r#"{ product(slug: "monitor") { __typename kind sku slug name description brand status
    category { slug name path } supplier { name country asOf supplier { name } }
    price { amount currency } media { url alt kind } specs { key }
    ratingStats { count average histogram { rating count share } bayesianScore wilsonLowerBound
      dimensions { name } recommendedShare asOf formulaVersion }
    topReviews { title } isOutlier revision createdAt updatedAt } }"#;

#[test]
fn a_page_shows_everything_of_its_product() {
    test(async |app| {
        app.has([monitor()]).await;
        let page = app.query(WHOLE_PAGE).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              __typename: "GenericProduct"
              kind: "monitor"
              sku: "M-1"
              slug: "monitor"
              name: "Monitor"
              description: "Wide.\n\nBright."
              brand: "Åcme"
              status: "ACTIVE"
              category: { slug: "screens", name: "Screens", path: ["Electronics", "Screens"] }
              supplier: {
                name: "North"
                country: "NO"
                asOf: "2026-05-31T12:00:00.000Z"
                supplier: { name: "North" }
              }
              price: { amount: "19.99", currency: "EUR" }
              media: [{ url: "https://example.org/front.jpg", alt: "the front", kind: "IMAGE" }]
              specs: []
              ratingStats: {
                count: 0
                average: null
                histogram: [
                  { rating: 5, count: 0, share: 0.0 }
                  { rating: 4, count: 0, share: 0.0 }
                  { rating: 3, count: 0, share: 0.0 }
                  { rating: 2, count: 0, share: 0.0 }
                  { rating: 1, count: 0, share: 0.0 }
                ]
                bayesianScore: 3.5
                wilsonLowerBound: null
                dimensions: []
                recommendedShare: null
                asOf: null
                formulaVersion: 1
              }
              topReviews: []
              isOutlier: false
              revision: 1
              createdAt: "2024-02-29T23:59:59.999Z"
              updatedAt: "2026-05-31T12:00:00.000Z"
            }
          }
        }
        "#);
    });
}

/// The fields of single kinds.
const OWN: &str = "
    ... on Apparel { fit sizeChart { size measurements { name value unit } } }
    ... on Book { contributors { name role } isbn format pages }
    ... on Electronics { energyLabel warrantyMonths compatibility }
    ... on Grocery { ingredients allergens nutrition { name value unit } }
    ... on Movie { cast { name role } runtimeMinutes }
    ... on Bundle { items { quantity name price { amount } product { slug } } }";

fn contributor(name: &str, role: &str) -> Contributor {
    Contributor {
        name: name.to_owned(),
        role: role.to_owned(),
    }
}

fn measurement(name: &str, value: f64, unit: &str) -> Measurement {
    Measurement {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
    }
}

/// Details of a kind with a value in each field. A bundle has items instead.
pub(crate) fn sample(kind: Kind<'_>) -> Option<Details> {
    Some(match kind {
        Kind::Apparel => Details::Apparel(Apparel {
            fit: Some("slim".to_owned()),
            size_chart: vec![SizeChartRow {
                size: "M".to_owned(),
                measurements: vec![measurement("chest", 96.5, "cm")],
            }],
        }),
        Kind::Book => Details::Book(Book {
            contributors: vec![
                contributor("A. Writer", "author"),
                contributor("B. Other", "translator"),
            ],
            isbn: Some("9783161484100".to_owned()),
            format: Some("paperback".to_owned()),
            pages: Some(320),
        }),
        Kind::Electronics => Details::Electronics(Electronics {
            energy_label: Some("B".to_owned()),
            warranty_months: Some(24),
            compatibility: vec!["USB-C".to_owned()],
        }),
        Kind::Grocery => Details::Grocery(Grocery {
            ingredients: Some("Oats, salt".to_owned()),
            allergens: vec!["gluten".to_owned()],
            nutrition: vec![measurement("protein", 7.5, "g")],
        }),
        Kind::Movie => Details::Movie(Movie {
            cast: vec![contributor("C. Player", "The Detective")],
            runtime_minutes: Some(97),
        }),
        Kind::Bundle | Kind::Other(_) => return None,
    })
}

#[test]
fn every_kind_has_a_type_and_an_input() {
    test(async |app| {
        let found = app
            .query(r#"{ product: __type(name: "Product") { possibleTypes { name } } input: __type(name: "ProductDetailsInput") { inputFields { name } } }"#)
            .await;
        let names = |list: &serde_json::Value| {
            let names = list.as_array().unwrap().iter();
            let name = |one: &serde_json::Value| one["name"].as_str().unwrap().to_lowercase();
            names.map(name).collect::<BTreeSet<String>>()
        };
        let kinds = Kind::TYPED.iter().map(|kind| kind.name().replace('_', ""));
        let mut kinds: BTreeSet<String> = kinds.collect();
        assert_eq!(names(&found.data()["input"]["inputFields"]), kinds);
        let selected = OWN
            .lines()
            .filter_map(|line| line.trim().strip_prefix("... on "));
        let selected = selected.filter_map(|line| line.split(' ').next());
        assert_eq!(
            selected.map(str::to_lowercase).collect::<BTreeSet<_>>(),
            kinds
        );
        kinds.insert("genericproduct".to_owned());
        assert_eq!(names(&found.data()["product"]["possibleTypes"]), kinds);
    });
}

/// A product of each kind, and a bundle of two of them.
async fn one_of_each_kind(app: &App) {
    let kind = |kind: &Kind<'_>| {
        let details = sample(*kind)?;
        Some(product(kind.name()).price("10").details(details))
    };
    app.has(Kind::TYPED.iter().filter_map(kind)).await;
    app.has([
        product("bundle").item("book", 2).item("movie", 1),
        product("lamp").kind("lamp").number("watts", 8.0),
    ])
    .await;
}

/// A page of all kinds by name, each with its own fields.
fn kinds(page: &str) -> String {
    format!(
        "{{ products({page}, sort: [{{ key: NAME }}]) {{ nodes {{ __typename kind name price {{ amount }} {OWN} }} }} }}"
    )
}

#[test]
fn apparel_books_and_bundles_have_their_own_fields() {
    test(async |app| {
        one_of_each_kind(app).await;
        insta::assert_snapshot!(app.query(&kinds("first: 3")).await.pretty(), @r#"
        {
          data: {
            products: {
              nodes: [
                {
                  __typename: "Apparel"
                  kind: "apparel"
                  name: "apparel"
                  price: { amount: "10.00" }
                  fit: "slim"
                  sizeChart: [{ size: "M", measurements: [{ name: "chest", value: 96.5, unit: "cm" }] }]
                }
                {
                  __typename: "Book"
                  kind: "book"
                  name: "book"
                  price: { amount: "10.00" }
                  contributors: [{ name: "A. Writer", role: "author" }, { name: "B. Other", role: "translator" }]
                  isbn: "9783161484100"
                  format: "paperback"
                  pages: 320
                }
                {
                  __typename: "Bundle"
                  kind: "bundle"
                  name: "bundle"
                  price: { amount: "30.00" }
                  items: [
                    { quantity: 2, name: "book", price: { amount: "10.00" }, product: { slug: "book" } }
                    { quantity: 1, name: "movie", price: { amount: "10.00" }, product: { slug: "movie" } }
                  ]
                }
              ]
            }
          }
        }
        "#);
    });
}

#[test]
fn electronics_grocery_movies_and_other_kinds_have_their_own_fields() {
    test(async |app| {
        one_of_each_kind(app).await;
        // All but the three above, and the kind without a type.
        let others = Kind::TYPED.len() - 3 + 1;
        insta::assert_snapshot!(app.query(&kinds(&format!("last: {others}"))).await.pretty(), @r#"
        {
          data: {
            products: {
              nodes: [
                {
                  __typename: "Electronics"
                  kind: "electronics"
                  name: "electronics"
                  price: { amount: "10.00" }
                  energyLabel: "B"
                  warrantyMonths: 24
                  compatibility: ["USB-C"]
                }
                {
                  __typename: "Grocery"
                  kind: "grocery"
                  name: "grocery"
                  price: { amount: "10.00" }
                  ingredients: "Oats, salt"
                  allergens: ["gluten"]
                  nutrition: [{ name: "protein", value: 7.5, unit: "g" }]
                }
                { __typename: "GenericProduct", kind: "lamp", name: "lamp", price: null }
                {
                  __typename: "Movie"
                  kind: "movie"
                  name: "movie"
                  price: { amount: "10.00" }
                  cast: [{ name: "C. Player", role: "The Detective" }]
                  runtimeMinutes: 97
                }
              ]
            }
          }
        }
        "#);
    });
}

#[test]
fn kinds_without_details_have_empty_ones() {
    test(async |app| {
        // A bundle has its items, always.
        let kinds = Kind::TYPED.iter().filter(|kind| **kind != Kind::Bundle);
        app.has(kinds.map(|kind| product(kind.name()).kind(kind.name())))
            .await;
        let list =
            format!("{{ products(sort: [{{ key: NAME }}]) {{ nodes {{ __typename {OWN} }} }} }}");
        let stored = doc! { "details": { "$exists": true } };
        let stored = app.documents("products", stored).await;
        assert!(
            stored.is_empty(),
            "empty details are not stored: {stored:?}"
        );
        insta::assert_snapshot!(app.query(&list).await.pretty(), @r#"
        {
          data: {
            products: {
              nodes: [
                { __typename: "Apparel", fit: null, sizeChart: [] }
                { __typename: "Book", contributors: [], isbn: null, format: null, pages: null }
                { __typename: "Electronics", energyLabel: null, warrantyMonths: null, compatibility: [] }
                { __typename: "Grocery", ingredients: null, allergens: [], nutrition: [] }
                { __typename: "Movie", cast: [], runtimeMinutes: null }
              ]
            }
          }
        }
        "#);
    });
}

async fn bottle(app: &App) {
    app.has([product("Bottle")
        .quantity("volume", 16.9, "fl oz")
        .quantity("height", 25.4, "cm")
        .quantity("width", 3.0, "in")
        .number("pieces", 6.0)
        .text("color", "Navy Blue")
        .boolean("bpa_free", true)
        .date("release", "2024-05-01")
        .qualified("FR")])
        .await;
}

/// The specs of the bottle with everything that can be selected of them.
async fn specs_of_bottle(app: &App) -> Vec<Value> {
    let page = app
        .query(
                r#"{ product(slug: "bottle") { specs { key label text qualifier value { __typename
                ... on TextValue { text } ... on NumberValue { number } ... on BooleanValue { boolean } ... on DateValue { date }
                ... on QuantityValue { value unit displayValue displayUnit canonicalValue canonicalUnit dimension } } } } }"#,
        )
        .await;
    page.at("/product/specs").as_array().unwrap().clone()
}

#[test]
fn a_quantity_has_a_given_a_displayed_and_a_canonical_value() {
    test(async |app| {
        bottle(app).await;
        let specs = specs_of_bottle(app).await;
        insta::assert_snapshot!(pretty(&json!(specs[..3])), @r#"
        [
          {
            key: "volume"
            label: "Volume"
            text: "16.9 fl oz"
            qualifier: null
            value: {
              __typename: "QuantityValue"
              value: 16.9
              unit: "fl oz"
              displayValue: 16.9
              displayUnit: "fl oz"
              canonicalValue: 499.79264960624994
              canonicalUnit: "ml"
              dimension: "volume"
            }
          }
          {
            key: "height"
            label: "Height"
            text: "25.4 cm"
            qualifier: null
            value: {
              __typename: "QuantityValue"
              value: 25.4
              unit: "cm"
              displayValue: 25.4
              displayUnit: "cm"
              canonicalValue: 254.0
              canonicalUnit: "mm"
              dimension: "length"
            }
          }
          {
            key: "width"
            label: "Width"
            text: "3 in"
            qualifier: null
            value: {
              __typename: "QuantityValue"
              value: 3.0
              unit: "in"
              displayValue: 3.0
              displayUnit: "in"
              canonicalValue: 76.19999999999999
              canonicalUnit: "mm"
              dimension: "length"
            }
          }
        ]
        "#);
    });
}

#[test]
fn numbers_texts_booleans_and_dates_have_plain_values() {
    test(async |app| {
        bottle(app).await;
        let specs = specs_of_bottle(app).await;
        insta::assert_snapshot!(pretty(&json!(specs[3..])), @r#"
        [
          {
            key: "pieces"
            label: "Pieces"
            text: "6"
            qualifier: null
            value: { __typename: "NumberValue", number: 6.0 }
          }
          {
            key: "color"
            label: "Color"
            text: "Navy Blue"
            qualifier: null
            value: { __typename: "TextValue", text: "Navy Blue" }
          }
          {
            key: "bpa_free"
            label: "Bpa free"
            text: "yes"
            qualifier: null
            value: { __typename: "BooleanValue", boolean: true }
          }
          {
            key: "release"
            label: "Release"
            text: "2024-05-01"
            qualifier: "FR"
            value: { __typename: "DateValue", date: "2024-05-01T00:00:00.000Z" }
          }
        ]
        "#);
    });
}

#[test]
fn specs_are_shown_in_any_unit_of_their_dimension_and_chosen_by_key() {
    test(async |app| {
        bottle(app).await;
        let specs = |arguments: &str| {
            format!("{{ product(slug: \"bottle\") {{ specs{arguments} {{ key text }} }} }}")
        };
        let all = app.query(&specs(r#"(displayUnits: [{ unit: "ml" }, { unit: "mm" }, { unit: "inch", key: "height" }])"#)).await;
        insta::assert_snapshot!(all.pretty(), @r#"
        {
          data: {
            product: {
              specs: [
                { key: "volume", text: "499.793 ml" }
                { key: "height", text: "10 in" }
                { key: "width", text: "76.2 mm" }
                { key: "pieces", text: "6" }
                { key: "color", text: "Navy Blue" }
                { key: "bpa_free", text: "yes" }
                { key: "release", text: "2024-05-01" }
              ]
            }
          }
        }
        "#);
        let some = app
            .query(&specs(r#"(keys: ["width", "no_such", "color"])"#))
            .await;
        insta::assert_snapshot!(some.pretty(), @r#"
        {
          data: { product: { specs: [{ key: "width", text: "3 in" }, { key: "color", text: "Navy Blue" }] } }
        }
        "#);
    });
}

#[test]
fn a_spec_is_refused_in_a_unit_of_another_dimension() {
    test(async |app| {
        bottle(app).await;
        let one = app
            .query(r#"{ product(slug: "bottle") { spec(key: "volume", displayUnit: "l") { text } none: spec(key: "no_such") { text }
                wrong: spec(key: "volume", displayUnit: "kg") { text } unknown: spec(key: "volume", displayUnit: "furlong") { text }
                plain: spec(key: "color", displayUnit: "cm") { text } } }"#)
            .await;
        insta::assert_snapshot!(one.pretty(), @r#"
        {
          errors: [
            {
              message: "displayUnits.unit: \"kg\" measures mass, not volume"
              locations: [{ line: 2, column: 17 }]
              path: ["product", "wrong"]
              extensions: { code: "BAD_USER_INPUT", retryable: false }
            }
            {
              message: "displayUnits.unit: there is no unit \"furlong\""
              locations: [{ line: 2, column: 72 }]
              path: ["product", "unknown"]
              extensions: { code: "BAD_USER_INPUT", retryable: false }
            }
            {
              message: "displayUnits.key: color holds no quantities"
              locations: [{ line: 3, column: 17 }]
              path: ["product", "plain"]
              extensions: { code: "BAD_USER_INPUT", retryable: false }
            }
          ]
          data: { product: { spec: { text: "0.499793 l" }, none: null, wrong: null, unknown: null, plain: null } }
        }
        "#);
    });
}

#[test]
fn rating_stats_are_computed_from_the_reviews() {
    test(async |app| {
        app.has([product("Dress")]).await;
        let stars = [5, 5, 5, 5, 4, 4, 4, 4, 2, 1];
        app.has_reviews(stars.into_iter().enumerate().map(|(n, stars)| {
            let review = review("Dress", n, stars).dimension("fit", stars);
            if n < 4 {
                review.recommends(n < 3)
            } else {
                review
            }
        }))
        .await;
        let stats = app
            .query(
                r#"{ product(slug: "dress") { ratingStats { count average bayesianScore wilsonLowerBound recommendedShare
                histogram { rating count share } dimensions { name count average } asOf } isOutlier } }"#,
            )
            .await;
        insta::assert_snapshot!(stats.pretty(), @r#"
        {
          data: {
            product: {
              ratingStats: {
                count: 10
                average: 3.9
                bayesianScore: 3.7666666666666666
                wilsonLowerBound: 0.4901624715366418
                recommendedShare: 0.75
                histogram: [
                  { rating: 5, count: 4, share: 0.4 }
                  { rating: 4, count: 4, share: 0.4 }
                  { rating: 3, count: 0, share: 0.0 }
                  { rating: 2, count: 1, share: 0.1 }
                  { rating: 1, count: 1, share: 0.1 }
                ]
                dimensions: [{ name: "fit", count: 10, average: 3.9 }]
                asOf: "2026-05-31T12:00:00.000Z"
              }
              isOutlier: false
            }
          }
        }
        "#);
    });
}

async fn tent_with_reviews(app: &App) {
    app.has([product("Tent")]).await;
    let long = "word ".repeat(100);
    let special = [
        review("Tent", "old", 5)
            .title("old")
            .helpful(7)
            .created_at("2020-01-01"),
        review("Tent", "new", 1)
            .title("new")
            .helpful(7)
            .created_at("2024-01-01")
            .author("Ann"),
        review("Tent", "undated", 2)
            .title("undated")
            .helpful(7)
            .undated(),
        review("Tent", "long", 3)
            .title("long")
            .helpful(9)
            .body(&long),
    ];
    let others = (0..9).map(|n| review("Tent", n, 4).title(&format!("other {n}")).helpful(n));
    app.has_reviews(special.into_iter().chain(others)).await;
}

#[test]
fn top_reviews_are_the_most_helpful_and_of_those_the_newest() {
    test(async |app| {
        tent_with_reviews(app).await;
        let top = "{ product(slug: \"tent\") { topReviews(first: 10) { title helpfulCount rating truncated author { name } createdAt } } }";
        let top = app.query(top).await;
        let reviews = top.at("/product/topReviews").as_array().unwrap().iter();
        let lines: Vec<String> = reviews.map(Value::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"title":"long","helpfulCount":9,"rating":3,"truncated":true,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        {"title":"other 8","helpfulCount":8,"rating":4,"truncated":false,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        {"title":"other 7","helpfulCount":7,"rating":4,"truncated":false,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        {"title":"new","helpfulCount":7,"rating":1,"truncated":false,"author":{"name":"Ann"},"createdAt":"2024-01-01T00:00:00.000Z"}
        {"title":"old","helpfulCount":7,"rating":5,"truncated":false,"author":null,"createdAt":"2020-01-01T00:00:00.000Z"}
        {"title":"undated","helpfulCount":7,"rating":2,"truncated":false,"author":null,"createdAt":null}
        {"title":"other 6","helpfulCount":6,"rating":4,"truncated":false,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        {"title":"other 5","helpfulCount":5,"rating":4,"truncated":false,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        {"title":"other 4","helpfulCount":4,"rating":4,"truncated":false,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        {"title":"other 3","helpfulCount":3,"rating":4,"truncated":false,"author":null,"createdAt":"2026-05-31T12:00:00.000Z"}
        "#);
    });
}

#[test]
fn an_excerpt_ends_with_a_whole_word() {
    test(async |app| {
        tent_with_reviews(app).await;
        let cut = app
            .query(r#"{ product(slug: "tent") { topReviews(first: 1) { excerpt truncated } } }"#)
            .await;
        let excerpt = cut.text("/product/topReviews/0/excerpt");
        assert_eq!(
            excerpt,
            "word ".repeat(60).trim_end(),
            "300 characters, cut where a word ends"
        );
        assert_eq!(*cut.at("/product/topReviews/0/truncated"), true);
    });
}

#[test]
fn a_page_shows_at_least_one_top_review_and_at_most_all() {
    test(async |app| {
        app.has([product("Tent")]).await;
        for first in [0, MAX_TOP_REVIEWS + 1] {
            let query = format!(
                "{{ product(slug: \"tent\") {{ a: topReviews(first: {first}) {{ title }} }} }}"
            );
            let wrong = app.query(&query).await;
            let error = format!(
                "BAD_USER_INPUT at product.a: first: must be 1 to {MAX_TOP_REVIEWS}, not {first}"
            );
            assert_eq!(wrong.errors(), [error]);
            assert!(wrong.pretty().contains("data: { product: null }"));
        }
    });
}

#[test]
fn more_than_a_thousand_reviews_make_an_outlier() {
    test(async |app| {
        app.has([product("Hit"), product("Near")]).await;
        let reviews = |name: &'static str, n: usize| {
            (0..n).map(move |at| review(name, format!("{name} {at}"), 5))
        };
        app.has_reviews(reviews("Hit", 1001).chain(reviews("Near", 1000)))
            .await;
        let answer = app
            .query(r#"{ hit: product(slug: "hit") { isOutlier ratingStats { count } topReviews { rating } } near: product(slug: "near") { isOutlier ratingStats { count } } }"#)
            .await;
        answer.assert_commands(&["find products", "find products"]);
        assert_eq!(*answer.at("/hit/isOutlier"), true);
        assert_eq!(*answer.at("/hit/ratingStats/count"), 1001);
        assert_eq!(*answer.at("/near/isOutlier"), false);
    });
}

#[test]
fn all_reviews_of_a_product_with_many_are_flagged_and_new_ones_as_they_are_stored() {
    test(async |app| {
        app.has([product("Hit"), product("Sudden")]).await;
        app.start_profiler().await;
        // A product, its reviews before and after an import, and how many are changed after they were stored.
        let mut flagged = 0;
        for (name, before, after, later) in [
            ("Hit", 0, 100, 0),
            ("Hit", 100, 150, 100),
            ("Hit", 150, 200, 0),
            ("Sudden", 0, 150, 0),
        ] {
            let reviews = (before..after).map(|at| review(name, format!("{name} {at}"), 5));
            let ((), executed) = app.profile(app.has_reviews(reviews)).await;
            if after > 100 {
                flagged += usize::try_from(later).unwrap() + after - before;
            }
            let found = app.documents("reviews", doc! { "many": true }).await;
            assert_eq!(found.len(), flagged, "{name} {after}");
            let of_reviews = executed.iter().map(Executed::entry).filter(|entry| {
                let collection = entry.get_str("ns").expect("each has one");
                collection.ends_with(".reviews")
            });
            let updated = of_reviews.filter_map(|entry| entry.get_i32("nModified").ok());
            assert_eq!(updated.sum::<i32>(), later, "{executed:?}");
        }
    });
}

/// One product of each status, in a category of their own, and a bundle of all three.
async fn three_states(app: &App) {
    let state = |name: &str, status| product(name).status(status).category(["States"]);
    app.has([
        state("draft", ProductStatus::Draft),
        state("active", ProductStatus::Active),
        state("archived", ProductStatus::Archived),
    ])
    .await;
    app.has([product("set")
        .item("draft", 1)
        .item("active", 1)
        .item("archived", 1)])
        .await;
}

#[test]
fn only_admins_see_products_that_are_not_on_sale() {
    test(async |app| {
        three_states(app).await;
        let pages = r#"{ draft: product(slug: "draft") { name } active: product(slug: "active") { name }
            archived: product(sku: "feed:archived") { name status }
            set: product(slug: "set") { ... on Bundle { items { name product { name } } } }
            products(sort: [{ key: NAME }], filter: { category: ["states"] }) { nodes { name } totalCount { value } }
            category(slug: "states") { productCount } }"#;
        insta::assert_snapshot!(app.query(pages).await.pretty(), @r#"
        {
          data: {
            draft: null
            active: { name: "active" }
            archived: null
            set: { items: [{ name: "active", product: { name: "active" } }] }
            products: { nodes: [{ name: "active" }], totalCount: { value: 1 } }
            category: { productCount: 1 }
          }
        }
        "#);
        insta::assert_snapshot!(app.query(pages).as_admin().await.pretty(), @r#"
        {
          data: {
            draft: { name: "draft" }
            active: { name: "active" }
            archived: { name: "archived", status: "ARCHIVED" }
            set: {
              items: [
                { name: "draft", product: { name: "draft" } }
                { name: "active", product: { name: "active" } }
                { name: "archived", product: { name: "archived" } }
              ]
            }
            products: {
              nodes: [{ name: "active" }, { name: "archived" }, { name: "draft" }]
              totalCount: { value: 3 }
            }
            category: { productCount: 3 }
          }
        }
        "#);
    });
}

#[test]
fn only_admins_find_products_that_are_not_on_sale_by_id() {
    test(async |app| {
        three_states(app).await;
        app.has_reviews([review("draft", 1, 5)]).await;
        let ids = r#"{ a: product(slug: "draft") { id topReviews { reviewId } } b: product(slug: "archived") { id } }"#;
        let ids = app.query(ids).as_admin().await;
        let (draft, archived) = (ids.text("/a/id"), ids.text("/b/id"));
        let nodes = "query($a: ID!, $b: ID!, $r: ID!) { node(id: $a) { __typename } nodes(ids: [$a, $b, $r]) { __typename
            ... on Review { rating product { name } } } product(id: $b) { name } }";
        let request = || {
            let review = ids.text("/a/topReviews/0/reviewId");
            app.query(nodes)
                .with("a", draft.clone())
                .with("b", archived.clone())
                .with("r", review)
        };
        insta::assert_snapshot!(request().await.pretty(), @"{ data: { node: null, nodes: [null, null, null], product: null } }");
        insta::assert_snapshot!(request().as_admin().await.pretty(), @r#"
        {
          data: {
            node: { __typename: "GenericProduct" }
            nodes: [
              { __typename: "GenericProduct" }
              { __typename: "GenericProduct" }
              { __typename: "Review", rating: 5, product: { name: "draft" } }
            ]
            product: { name: "archived" }
          }
        }
        "#);
    });
}
