//! Violations of the rules for resolvers are detected.

use std::{fs, path::Path};

use async_graphql::{Context, EmptyMutation, EmptySubscription, Object, Schema};

use super::cases::{ask, boom, code, json_of};
use crate::execution::{At, Engine, ErrorCode, Failure, GraphqlRequest, R, Scalars};

struct Careless;

#[Object]
impl Careless {
    /// Nullable, but an error nulls the parent.
    async fn swallows(&self, ctx: &Context<'_>) -> R<Option<i32>> {
        Err(Failure::new(ErrorCode::NotFound, "It is broken.")).at(ctx)
    }
    async fn fine(&self) -> i32 {
        1
    }
}

struct Query;

#[Object]
impl Query {
    async fn careless(&self) -> Option<Careless> {
        Some(Careless)
    }
}

fn engine() -> Engine {
    let builder = Schema::build(Query, EmptyMutation, EmptySubscription);
    Engine::new(builder, Scalars::none()).unwrap()
}

/// Tests run in debug builds, where the engine checks this.
#[tokio::test]
async fn a_nullable_field_that_nulls_its_parent_is_detected() {
    let answer = ask(&engine(), "{ careless { fine swallows } }").await;
    assert_eq!(
        code(&answer),
        if cfg!(debug_assertions) {
            "INTERNAL"
        } else {
            "NOT_FOUND"
        }
    );
    let answer = ask(&engine(), "{ careless { fine } }").await;
    assert!(answer.get("errors").is_none());
}

/// Patterns that the compiler cannot forbid in the crate's resolvers, with the reason.
const FORBIDDEN: &[(&str, &str)] = &[
    (
        "R<Option<",
        "an error of a nullable field would null its parent: Option<R<T>>",
    ),
    (
        "guard =",
        "a guard on a nullable field nulls its parent: check in the resolver",
    ),
    (
        "validator(",
        "its message is the library's: check in the resolver",
    ),
    (
        "async_graphql::Result",
        "its errors have no code and lose their path: R<T>",
    ),
    (
        "async_graphql::Error",
        "its errors have no code and lose their path: Failure",
    ),
    (
        "ctx.data::<",
        "its error names our types: data_opt or data_unchecked",
    ),
];

#[test]
fn resolvers_keep_the_rules() {
    let mut pending = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/graphql")];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                for (forbidden, reason) in FORBIDDEN {
                    let file = path.display();
                    assert!(
                        !line.contains(forbidden),
                        "{file}:{}: {forbidden} {reason}",
                        number + 1
                    );
                }
            }
        }
    }
}

/// A schema with wrong context data makes the request fail, not the process.
#[tokio::test]
async fn a_panic_while_building_the_request_is_an_internal_error() {
    let request = GraphqlRequest::new("{ careless { fine } }");
    let response = engine().execute(request, |_| boom("no data")).await;
    assert_eq!(code(&json_of(&response)), "INTERNAL");
}
