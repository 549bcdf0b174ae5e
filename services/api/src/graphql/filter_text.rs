//! Filters outside of requests: commands take them as the JSON that clients send as a variable.

use async_graphql::{InputType as _, Pos};
use serde_json::{Map, Value};
use vitrine_model::filter::ProductFilter;

use super::inputs::ProductFilterInput;
use crate::execution::{Engine, GraphqlRequest};

/// The variable that holds the filter.
const VARIABLE: &str = "filter";
/// A query that takes the filter.
const QUERY: &str =
    "query ($filter: ProductFilterInput!) { products(first: 1, filter: $filter) { nodes { id } } }";

/// Reads the JSON of a `ProductFilterInput`. The engine must be that of the schema.
///
/// # Errors
/// What a client would be told.
pub fn product_filter(engine: &Engine, text: &str) -> Result<ProductFilter, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let request = GraphqlRequest {
        query: QUERY.to_owned(),
        variables: Map::from_iter([(VARIABLE.to_owned(), value)]),
        ..GraphqlRequest::default()
    };
    let prepared = engine.prepare(request).map_err(|errors| {
        let messages = errors.iter().map(|error| error.message.replace('$', ""));
        messages.collect::<Vec<_>>().join(" ")
    })?;
    let value = prepared.variable(VARIABLE);
    let input = ProductFilterInput::parse(value)
        .map_err(|error| error.into_server_error(Pos::default()).message)?;
    input
        .filter()
        .map_err(|failure| failure.message().to_owned())
}

#[cfg(test)]
mod tests {
    use vitrine_model::filter::{NumberTest, SpecTest};

    use super::*;
    use crate::graphql::described::engine;

    #[test]
    fn a_filter_is_what_a_client_would_send() {
        let engine = engine();
        let text = r#"{ "category": "lamps", "not": { "brand": ["Acme"] },
                        "specs": [{ "key": "weight", "number": { "lte": 2, "unit": "kg" } }] }"#;
        let filter = product_filter(&engine, text).unwrap();
        assert_eq!(filter.category, Some(vec!["lamps".to_owned()]));
        assert!(filter.not.is_some());
        let specs = filter.specs.unwrap();
        let SpecTest::Number(NumberTest { lte, unit, .. }) = &specs[0].test else {
            panic!("{specs:?}");
        };
        assert_eq!((*lte, unit.as_deref()), (Some(2.0), Some("kg")));
        assert_eq!(product_filter(&engine, "{}"), Ok(ProductFilter::default()));
    }

    #[test]
    fn a_wrong_filter_is_refused_with_its_path() {
        let engine = engine();
        let refused = |text: &str| product_filter(&engine, text).unwrap_err();
        for (text, said) in [
            ("{", "not JSON"),
            (r#"{ "categry": "x" }"#, "categry"),
            (r#"{ "price": { "gte": "cheap" } }"#, "filter.price.gte"),
            (r#"{ "status": "SOLD" }"#, "filter.status"),
            (
                r#"{ "specs": [{ "key": "a" }] }"#,
                "filter.specs[0]: the filter for the spec \"a\" must give exactly one of text",
            ),
            (
                r#"{ "not": { "and": [{}, { "supplier": ["a"] }] } }"#,
                "filter.not.and[1].supplier[0]",
            ),
            ("null", "filter"),
        ] {
            let message = refused(text);
            assert!(
                message.contains(said) && !message.contains('$'),
                "{text}: {message}"
            );
        }
    }
}
