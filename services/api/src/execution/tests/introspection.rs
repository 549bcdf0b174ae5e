//! Section 4.2, Schema Introspection: a client can rebuild the schema from it.

use apollo_compiler::Schema as ParsedSchema;
use async_graphql::{EmptyMutation, EmptySubscription, Enum, InputObject, Object, Schema};
use serde_json::{Value, json};

use super::cases::{ask, ask_with, assert_data, text};
use super::{rebuilt_schema::rebuilt, vehicle_schema};
use crate::execution::{Engine, GraphqlRequest, Scalars};

/// What graphql-js 16 asks with all of its options.
pub(super) const INTROSPECTION: &str = "query IntrospectionQuery { __schema {
    description queryType { name kind } mutationType { name kind } subscriptionType { name kind }
    types { ...FullType }
    directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL isOneOf
    fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue }
        type { ...TypeRef } isDeprecated deprecationReason }
    inputFields(includeDeprecated: true) { ...InputValue }
    interfaces { ...TypeRef }
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";

async fn introspected(engine: &Engine) -> Value {
    let answer = ask(engine, INTROSPECTION).await;
    assert!(answer.get("errors").is_none(), "{}", answer["errors"]);
    answer["data"]["__schema"].clone()
}

/// The schema without the directives that every service has, which a schema need not define.
fn parsed(sdl: &str) -> String {
    let schema = ParsedSchema::parse_and_validate(sdl, "schema.graphql");
    let mut schema = schema.unwrap().into_inner();
    let built_in = ["deprecated", "include", "oneOf", "skip", "specifiedBy"];
    let directives = &mut schema.directive_definitions;
    directives.retain(|name, _| !built_in.contains(&name.as_str()));
    schema.to_string()
}

#[tokio::test]
async fn introspection_describes_the_whole_schema() {
    let subgraph = crate::graphql::described::subgraph();
    let served = crate::graphql::described::engine();
    for engine in [vehicle_schema::engine(), old_schema(), served, subgraph] {
        let rebuilt = rebuilt(&introspected(&engine).await);
        assert_eq!(parsed(&rebuilt), parsed(engine.sdl()));
    }
}

/// The query of one thing.
struct Query;

/// What is old.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
enum Age {
    /// New.
    New,
    /// Old.
    #[graphql(deprecation = "Use NEW.")]
    Old,
}

/// How to look.
#[derive(InputObject)]
struct Look {
    /// The text.
    #[graphql(default = "a \"quoted\"\ntext")]
    text: String,
    /// The old text.
    #[graphql(deprecation)]
    old: Option<String>,
}

/// The query of one thing.
#[Object]
impl Query {
    /// A thing.
    #[graphql(deprecation = "Look elsewhere.")]
    async fn thing(
        &self,
        #[graphql(desc = "How.")] look: Option<Look>,
        #[graphql(
            desc = "An age.",
            deprecation = "Not any more.",
            default_with = "Age::New"
        )]
        age: Age,
    ) -> Option<bool> {
        Some(look.is_some_and(|look| look.old.unwrap_or(look.text).is_empty()) || age == Age::Old)
    }

    /// Another thing.
    async fn other(&self) -> i32 {
        1
    }
}

/// A schema with deprecated parts and default values.
fn old_schema() -> Engine {
    let builder = Schema::build(Query, EmptyMutation, EmptySubscription);
    Engine::new(builder, Scalars::none()).unwrap()
}

#[tokio::test]
async fn deprecated_parts_are_listed_when_asked_for() {
    let engine = old_schema();
    let query = "query($all: Boolean!) { __type(name: \"Query\") { fields(includeDeprecated: $all) { name
        isDeprecated deprecationReason args(includeDeprecated: $all) { name } } }
        age: __type(name: \"Age\") { enumValues(includeDeprecated: $all) { name } }
        look: __type(name: \"Look\") { inputFields(includeDeprecated: $all) { name deprecationReason } } }";
    let answer = ask_with(&engine, query, json!({ "all": false })).await;
    let other =
        json!({ "name": "other", "isDeprecated": false, "deprecationReason": null, "args": [] });
    assert_data(
        &answer,
        &json!({
            "__type": { "fields": [other] },
            "age": { "enumValues": [{ "name": "NEW" }] },
            "look": { "inputFields": [{ "name": "text", "deprecationReason": null }] },
        }),
    );
    let answer = ask_with(&engine, query, json!({ "all": true })).await;
    let thing = json!({ "name": "thing", "isDeprecated": true, "deprecationReason": "Look elsewhere.",
        "args": [{ "name": "look" }, { "name": "age" }] });
    assert_eq!(answer["data"]["__type"]["fields"], json!([thing, other]));
    assert_eq!(answer["data"]["age"]["enumValues"][1]["name"], "OLD");
    let old = &answer["data"]["look"]["inputFields"][1];
    assert_eq!(old["deprecationReason"], "No longer supported");
}

#[tokio::test]
async fn inputs_of_which_exactly_one_field_is_set_are_visible() {
    let engine = crate::graphql::described::engine();
    let query = "{ one: __type(name: \"TextFilterInput\") { isOneOf }
        all: __type(name: \"ProductFilterInput\") { isOneOf } none: __type(name: \"Query\") { isOneOf } }";
    let expected = json!({ "one": { "isOneOf": true }, "all": { "isOneOf": false }, "none": { "isOneOf": null } });
    assert_data(&ask(&engine, query).await, &expected);
}

#[tokio::test]
async fn scalars_name_their_specification() {
    let engine = crate::graphql::described::engine();
    let answer = ask(
        &engine,
        "{ __schema { types { kind name specifiedByURL } } }",
    )
    .await;
    let types = answer["data"]["__schema"]["types"].as_array().unwrap();
    let built_in = ["Boolean", "Float", "ID", "Int", "String"];
    for scalar in types.iter().filter(|ty| ty["kind"] == "SCALAR") {
        let (name, url) = (
            scalar["name"].as_str().unwrap(),
            scalar["specifiedByURL"].as_str(),
        );
        assert_eq!(url.is_none(), built_in.contains(&name), "{name}");
        assert!(url.is_none_or(|url| url.starts_with("https://")));
    }
}

/// Introspection beside other fields: the order of keys is that of the query.
#[tokio::test]
async fn introspection_is_answered_beside_other_fields() {
    let query = "query($n: String!) { a: __typename car { name } s: __schema { __typename queryType { name } }
        none: __type(name: $n) { name } ...f b: __typename }
        fragment f on Query { s: __schema { k: queryType { kind __typename } } }";
    let request = GraphqlRequest::new(query).variable("n", "Nowhere");
    let answer = vehicle_schema::engine()
        .execute(request, |request| request)
        .await;
    assert_eq!(
        text(&answer),
        r#"{"data":{"a":"Query","car":{"name":"Beetle"},"s":{"__typename":"__Schema","queryType":{"name":"Query"},"k":{"kind":"OBJECT","__typename":"__Type"}},"none":null,"b":"Query"}}"#
    );
}
