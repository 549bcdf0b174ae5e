//! Section 6.2.2, Mutation, and hints.

use std::sync::{Arc, Mutex};

use async_graphql::{Context, EmptySubscription, Object, Schema};
use serde_json::{Value, json};

use super::cases::{ask, assert_data, code, paths};
use crate::execution::{At, Engine, Failure, Hint, NullableAt, R, Scalars, hint};

/// The events in the order in which they happened.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(ctx: &Context<'_>, event: String) {
        let log = ctx.data_opt::<Self>().expect("the schema has the log");
        log.0.lock().unwrap().push(event);
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Lets all other tasks run.
async fn pause(times: u32) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

struct Step(String);

#[Object]
impl Step {
    /// Resolves after some time, like a field with a look-up.
    async fn name(&self, ctx: &Context<'_>) -> String {
        pause(5).await;
        Log::note(ctx, format!("read {}", self.0));
        self.0.clone()
    }
}

struct Query;

#[Object]
impl Query {
    async fn odd(&self, ctx: &Context<'_>, words: Vec<String>, pauses: u32) -> Option<bool> {
        pause(pauses).await;
        let hints = words.into_iter().map(|word| Hint {
            path: "words".to_owned(),
            message: format!("what is {word}?"),
        });
        hint(ctx, hints);
        None
    }
}

struct Mutation;

#[Object]
impl Mutation {
    async fn step(&self, ctx: &Context<'_>, name: String, pauses: u32) -> R<Step> {
        Log::note(ctx, format!("begin {name}"));
        pause(pauses).await;
        Log::note(ctx, format!("end {name}"));
        Ok(Step(name))
    }

    async fn fails(&self, ctx: &Context<'_>) -> R<Step> {
        Log::note(ctx, "fail".to_owned());
        Err(Failure::bad_input("No.")).at(ctx)
    }

    async fn may_fail(&self, ctx: &Context<'_>) -> Option<R<Step>> {
        Log::note(ctx, "fail".to_owned());
        Err(Failure::bad_input("No.")).nullable_at(ctx)
    }
}

fn engine() -> (Engine, Log) {
    let log = Log::default();
    let builder = Schema::build(Query, Mutation, EmptySubscription).data(log.clone());
    let engine = Engine::new(builder, Scalars::none()).expect("the schema is valid");
    (engine, log)
}

/// A mutation and everything selected from its result complete before the next one starts.
#[tokio::test]
async fn mutations_do_not_overlap() {
    let (engine, log) = engine();
    let query = "mutation { c: step(name: \"c\", pauses: 9) { name } ...rest }
        fragment rest on Mutation { a: step(name: \"a\", pauses: 0) { name } b: step(name: \"b\", pauses: 3) { name } }";
    let answer = ask(&engine, query).await;
    let expected = json!({ "c": { "name": "c" }, "a": { "name": "a" }, "b": { "name": "b" } });
    assert_data(&answer, &expected);
    let each = |name: &str| ["begin", "end", "read"].map(|what| format!("{what} {name}"));
    assert_eq!(log.read(), [each("c"), each("a"), each("b")].concat());
}

/// A failing non-null field nulls the whole result, and later mutations are not started.
#[tokio::test]
async fn a_failing_non_null_mutation_ends_the_request() {
    let (engine, log) = engine();
    let query = "mutation { a: step(name: \"a\", pauses: 1) { name } b: fails { name }
        c: step(name: \"c\", pauses: 0) { name } }";
    let answer = ask(&engine, query).await;
    assert_eq!(answer["data"], Value::Null);
    assert_eq!(
        (code(&answer), paths(&answer)),
        ("BAD_USER_INPUT", vec!["[\"b\"]".to_owned()])
    );
    assert_eq!(log.read(), ["begin a", "end a", "read a", "fail"]);
}

#[tokio::test]
async fn a_failing_nullable_mutation_does_not_affect_the_next() {
    let (engine, log) = engine();
    let query = "mutation { b: mayFail { name } c: step(name: \"c\", pauses: 0) { name } }";
    let answer = ask(&engine, query).await;
    assert_eq!(answer["data"], json!({ "b": null, "c": { "name": "c" } }));
    assert_eq!(log.read(), ["fail", "begin c", "end c", "read c"]);
}

/// Hints are sorted by field, regardless of which field ran first, and have no duplicates.
#[tokio::test]
async fn hints_are_sent_in_the_extensions() {
    let (engine, _) = engine();
    let query =
        "{ b: odd(words: [\"z\", \"y\"], pauses: 0) a: odd(words: [\"x\", \"z\"], pauses: 9) }";
    let answer = ask(&engine, query).await;
    let hint = |word: &str| json!({ "path": "words", "message": format!("what is {word}?") });
    assert_eq!(
        answer["extensions"],
        json!({ "hints": [hint("x"), hint("z"), hint("y")] })
    );
    let silent = ask(&engine, "{ odd(words: [], pauses: 0) }").await;
    assert_data(&silent, &json!({ "odd": null }));
}

/// Hints of one request do not leak into the next, and their number is limited.
#[tokio::test]
async fn the_number_of_hints_is_limited() {
    let (engine, _) = engine();
    let words: Vec<_> = (0..30).map(|n| format!("\"w{n}\"")).collect();
    let query = format!("{{ odd(words: [{}], pauses: 0) }}", words.join(" "));
    for _ in 0..2 {
        let answer = ask(&engine, &query).await;
        let hints = answer["extensions"]["hints"].as_array().unwrap();
        assert_eq!(hints.len(), 20);
        assert_eq!(hints[19]["message"], "what is w19?");
    }
}
