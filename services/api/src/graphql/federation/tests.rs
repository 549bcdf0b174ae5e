//! Why the library's own support for federation is not used. If one of these tests fails, a new
//! version of the library may have made this module unnecessary.

use async_graphql::{
    EmptyMutation, EmptySubscription, ID, Interface, Object, Schema, SimpleObject,
};
use serde_json::json;

use crate::execution::{Engine, GraphqlRequest, Scalars, survey};
use crate::graphql::described::{engine, subgraph};

/// A book.
#[derive(SimpleObject)]
struct Volume {
    /// Its id.
    id: ID,
}

/// Something to read.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "&ID", desc = "Its id."))]
enum Readable {
    /// A book.
    Volume(Volume),
}

struct Volumes;

#[Object]
impl Volumes {
    /// Finds books with even ids.
    #[graphql(entity)]
    async fn volume(&self, id: ID) -> Option<Volume> {
        let is_even = id.parse::<i32>().is_ok_and(|number| number % 2 == 0);
        is_even.then_some(Volume { id })
    }
}

struct Readables;

#[Object]
impl Readables {
    /// Finds anything.
    #[graphql(entity)]
    async fn readable(&self, id: ID) -> Option<Readable> {
        Some(Readable::Volume(Volume { id }))
    }
}

#[tokio::test]
async fn with_the_library_one_malformed_representation_fails_all() {
    let schema = Schema::build(Volumes, EmptyMutation, EmptySubscription);
    let engine = Engine::new(schema, Scalars::none()).unwrap();
    let query =
        "query($all: [_Any!]!) { _entities(representations: $all) { ... on Volume { id } } }";
    let ask = async |all: serde_json::Value| {
        let request = GraphqlRequest::new(query).variable("all", all);
        let mut response = engine.execute(request, |request| request).await;
        serde_json::from_slice::<serde_json::Value>(&response.json()).unwrap()
    };
    let by = |id: &str| json!({ "__typename": "Volume", "id": id });
    let unknown = ask(json!([by("2"), by("3")])).await;
    let expected = json!({ "_entities": [{ "id": "2" }, null] });
    assert_eq!(unknown["data"], expected);
    let malformed = ask(json!([by("2"), { "__typename": "Volume" }])).await;
    assert_eq!(malformed["data"], json!(null));
}

#[test]
fn with_the_library_an_interface_with_keys_is_invalid() {
    let schema = Schema::build(Readables, EmptyMutation, EmptySubscription);
    let refused = Engine::new(schema, Scalars::none()).unwrap_err();
    assert!(refused.to_string().contains("_Entity"), "{refused}");
}

/// The fields for routers add two roots that are never null, as their specification has them.
#[test]
fn what_is_for_routers_is_described() {
    let without = survey(engine().sdl()).unwrap();
    let added = survey(subgraph().sdl()).unwrap().into_iter();
    let added = added.filter(|finding| !without.contains(finding));
    assert_eq!(
        added.collect::<Vec<_>>(),
        [
            "Query._entities is not nullable",
            "Query._service is not nullable"
        ]
    );
}
