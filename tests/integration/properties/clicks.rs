//! The count of a facet value is the number of products after the value is chosen. For random
//! filters over random products every value of every facet is chosen, with the rest of the filter
//! unchanged, and the list is counted.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use vitrine_domain::products::TotalRelation;
use vitrine_harness::{App, test};

use super::check;
use super::filters::{Filter, filter, leaf, stock};

/// A query of facets, with filters that can be sent back unchanged.
pub(crate) const FACETS: &str = "query($filter: ProductFilterInput, $search: String, $keys: [String!], $limit: Int, $units: [DisplayUnitInput!]) {
    products(first: 1, filter: $filter, search: $search) { totalCount(upTo: 1000000) { value }
      facets(keys: $keys, limit: $limit, displayUnits: $units) { key accuracy productCount productCountMargin
        values { label count margin selected filter { category brand country price { gte lte } rating { gte }
          specs { key qualifier text { eq } number { eq gte lte gt lt unit } boolean date { gte lte gt lt } } } } } } }";

/// The number of products after choosing a value, with the rest of the filter. It is at least so many if no
/// index bounds the filter, and the shop is large.
pub(crate) async fn click(
    app: &App,
    rest: &Value,
    value: &Value,
    search: &Value,
) -> (i64, TotalRelation) {
    let query = "query($filter: ProductFilterInput, $search: String) { products(first: 1, filter: $filter, search: $search) { totalCount(upTo: 1000000) { value relation } } }";
    // Beside the other parts, so that nothing is nested deeper.
    let mut both = rest.clone();
    let parts = both["and"].as_array_mut().unwrap();
    parts.push(value["filter"].clone());
    let answer = app
        .query(query)
        .with("filter", both)
        .with("search", search.clone())
        .as_admin()
        .await;
    let relation = match &*answer.text("/products/totalCount/relation") {
        "EXACT" => TotalRelation::Exact,
        "AT_LEAST" => TotalRelation::AtLeast,
        other => panic!("{other} after a click"),
    };
    (answer.number("/products/totalCount/value"), relation)
}

/// All keys of the random products, and all built-in facets.
const KEYS: [&str; 11] = [
    "@category",
    "@brand",
    "@price",
    "@rating",
    "@country",
    "color",
    "length",
    "ports",
    "lid",
    "release",
    "weight",
];

/// The parts of a filter, which are combined with and. Each leaf is a choice of one key; other
/// parts are not.
#[derive(Clone, Debug)]
struct Parts {
    parts: Vec<Filter>,
    /// Whether the parts are nested one more level.
    nested: bool,
}

fn parts() -> impl Strategy<Value = Parts> {
    let part = prop_oneof![4 => leaf(), 1 => filter()];
    (prop::collection::vec(part, 0..4), any::<bool>())
        .prop_map(|(parts, nested)| Parts { parts, nested })
}

impl Parts {
    /// Removes the choices of this key.
    fn without(&self, key: &str) -> Value {
        let kept = self.parts.iter().filter_map(|part| part.without(key));
        let kept: Vec<Value> = kept.collect();
        if self.nested {
            json!({ "and": [{ "and": kept }] })
        } else {
            json!({ "and": kept })
        }
    }

    fn whole(&self) -> Value {
        self.without("")
    }
}

impl Filter {
    /// The key of which a leaf is a choice; `None` if it is not a choice.
    fn choice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Category(_) => "@category",
            Self::Brand(_) => "@brand",
            Self::Price(..) => "@price",
            Self::Rating(_) => "@rating",
            Self::Color(_) => "color",
            Self::Length { .. } | Self::LengthEqual(..) => "length",
            Self::Ports(..) | Self::PortsEqual(_) => "ports",
            Self::Lid(_) => "lid",
            Self::Day(..) => "release",
            Self::Weight(..) => "weight",
            Self::Exists(..) | Self::And(_) | Self::Or(_) | Self::Not(_) => return None,
        })
    }

    /// The input without the choices of this key.
    fn without(&self, key: &str) -> Option<Value> {
        match self {
            Self::And(parts) => {
                let kept: Vec<Value> = parts.iter().filter_map(|part| part.without(key)).collect();
                Some(json!({ "and": kept }))
            }
            leaf if leaf.choice() == Some(key) => None,
            other => Some(other.value()),
        }
    }

    /// The input as the value of a variable.
    fn value(&self) -> Value {
        literal(&self.graphql())
    }
}

/// A literal of GraphQL without enums and variables as JSON: names of fields in quotes.
fn literal(text: &str) -> Value {
    let mut json = String::new();
    let (mut quoted, mut name) = (false, String::new());
    for c in text.chars() {
        if !quoted && (c.is_ascii_alphabetic() || (!name.is_empty() && c == '_')) {
            name.push(c);
            continue;
        }
        if !name.is_empty() {
            let word = std::mem::take(&mut name);
            match word.as_str() {
                "true" | "false" | "null" => json.push_str(&word),
                field => {
                    let _ = write!(json, "{field:?}");
                }
            }
        }
        quoted ^= c == '"';
        json.push(c);
    }
    // GraphQL allows a trailing comma.
    let json = json.replace(",  }", " }").replace(", }", " }");
    serde_json::from_str(&json).unwrap_or_else(|wrong| panic!("{wrong}: {json}"))
}

#[test]
fn every_count_of_a_facet_is_the_number_of_products_after_the_click() {
    test(async |app| {
        stock(app).await;
        let units = prop::sample::select(vec![
            json!([]),
            json!([{ "unit": "in" }]),
            json!([{ "unit": "mm" }, { "unit": "g" }]),
        ]);
        let cases = (parts(), units, any::<bool>());
        check(80, &cases, app, async |app, (parts, units, named)| {
            let keys = if named { json!(KEYS) } else { Value::Null };
            let answer = app
                .query(FACETS)
                .with("filter", parts.whole())
                .with("keys", keys)
                .with("limit", 50)
                .with("units", units)
                .as_admin()
                .await;
            for facet in answer.at("/products/facets").as_array().unwrap() {
                prop_assert_eq!(
                    &facet["accuracy"] == "ESTIMATE",
                    false,
                    "a hundred products are counted"
                );
                let key = facet["key"].as_str().unwrap();
                let rest = parts.without(key);
                for value in facet["values"].as_array().unwrap() {
                    let (clicked, relation) = click(app, &rest, value, &Value::Null).await;
                    prop_assert_eq!(relation, TotalRelation::Exact);
                    prop_assert_eq!(
                        &value["count"],
                        clicked,
                        "{} of {} in {}",
                        value,
                        key,
                        parts.whole()
                    );
                    prop_assert_eq!(&value["margin"], 0);
                }
            }
            Ok(())
        });
    });
}

#[test]
fn facets_are_counted_alike_in_memory_and_in_the_database() {
    test(async |app| {
        stock(app).await;
        let without = app.without_product_memory().await;
        let cases = (parts(), any::<bool>());
        check(80, &cases, app, async |app, (parts, named)| {
            let keys = if named { json!(KEYS) } else { Value::Null };
            let counts = async |app: &App| {
                // A stranger may not have more counted.
                let query = FACETS.replace("(upTo: 1000000)", "");
                let query = app.query(&query).with("filter", parts.whole());
                let answer = query.with("keys", keys.clone()).with("limit", 5).await;
                let mut data = answer.data().clone();
                for facet in data["products"]["facets"].as_array_mut().unwrap() {
                    // The second to ask may find a panel that the first has stored.
                    assert_ne!(
                        facet["accuracy"].take(),
                        "ESTIMATE",
                        "a hundred products are counted"
                    );
                }
                data
            };
            prop_assert_eq!(counts(app).await, counts(&without).await);
            Ok(())
        });
    });
}

#[test]
fn graphql_literals_are_parsed() {
    let text = r#"{ and: [{ specs: [{ key: "a_b", number: { gte: 1.5,  unit: "in" } }] }, { rating: { gte: 2.0 } }, { specs: [{ key: "x", boolean: true }] }] }"#;
    let expected = json!({ "and": [
        { "specs": [{ "key": "a_b", "number": { "gte": 1.5, "unit": "in" } }] },
        { "rating": { "gte": 2.0 } },
        { "specs": [{ "key": "x", "boolean": true }] },
    ] });
    assert_eq!(literal(text), expected);
}
