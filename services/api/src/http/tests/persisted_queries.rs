//! Queries that clients name: Apollo's protocol, and trusted documents.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::sockets::{Client, subscribe};
use super::{Answer, JSON, STRICT, Server, query};
use crate::execution::{CostCheck, ErrorCode, Failure};
use crate::http::{
    Capacity, PersistedQueries, PersistedQueryStore, RequestContext, TrustedDocuments,
};

const QUERY: &str = "{ ok }";
/// `printf '{ ok }' | sha256sum`
const HASH: &str = "991699baaf03398aa334a75f133c0f259a70906e7405484c2c5218cf9fb61def";

fn named(hash: &str) -> Value {
    json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": hash } } })
}

fn with_text(hash: &str, query: &str) -> Value {
    let mut request = named(hash);
    request["query"] = json!(query);
    request
}

async fn send(server: &Server, request: &Value) -> Answer {
    server.post(JSON, &request.to_string()).await
}

/// What Apollo's and urql's clients do: the hash first, the text if the service does not know it,
/// from then on the hash.
#[tokio::test]
async fn a_query_is_registered_by_its_hash() {
    let server = Server::plain().await;
    let unknown = send(&server, &named(HASH)).await;
    assert_eq!(unknown.status, 200);
    assert_eq!(unknown.code(), "PERSISTED_QUERY_NOT_FOUND");
    let message = &unknown.json()["errors"][0]["message"];
    assert_eq!(*message, "PersistedQueryNotFound");
    let strict = server.post(STRICT, &named(HASH).to_string()).await;
    assert_eq!(strict.status, 400, "there is no data");
    let registered = send(&server, &with_text(HASH, QUERY)).await;
    assert_eq!(registered.body, r#"{"data":{"ok":1}}"#);
    let known = send(&server, &named(HASH)).await;
    assert_eq!(known.body, r#"{"data":{"ok":1}}"#);
    let prefixed = format!("sha256:{HASH}");
    let known = send(&server, &named(&prefixed)).await;
    assert_eq!(known.body, r#"{"data":{"ok":1}}"#);
    let registered = send(&server, &with_text(&prefixed, QUERY)).await;
    assert_eq!(registered.status, 200);
    let extensions = named(HASH)["extensions"].to_string();
    let encoded = extensions.replace('"', "%22");
    let target = format!("/graphql?extensions={encoded}");
    assert_eq!(server.get(&target, "").await.body, r#"{"data":{"ok":1}}"#);
}

#[tokio::test]
async fn a_wrong_hash_is_refused() {
    let server = Server::plain().await;
    for (request, message) in [
        (
            with_text(HASH, "{ b: ok }"),
            "provided sha does not match query",
        ),
        (with_text("xyz", QUERY), "must be a SHA-256 hash"),
        (
            json!({ "extensions": { "persistedQuery": { "version": 2, "sha256Hash": HASH } } }),
            "version: must be 1",
        ),
        (json!({ "documentId": "1" }), "no trusted documents"),
    ] {
        let answer = send(&server, &request).await;
        assert_eq!(answer.code(), "BAD_USER_INPUT");
        assert!(answer.body.contains(message), "{answer:?}");
    }
    let unknown = send(&server, &named(HASH)).await;
    assert_eq!(unknown.code(), "PERSISTED_QUERY_NOT_FOUND");
}

#[tokio::test]
async fn an_invalid_query_is_not_registered() {
    let server = Server::plain().await;
    // `printf '{ nowhere }' | sha256sum`
    let hash = "1d1116d465a6c5269c0bf9d0094ef2b3fccdf177f9e23cbce78ccdee8b399449";
    let refused = send(&server, &with_text(hash, "{ nowhere }")).await;
    assert_eq!(refused.code(), "GRAPHQL_VALIDATION_FAILED");
    let unknown = send(&server, &named(hash)).await;
    assert_eq!(unknown.code(), "PERSISTED_QUERY_NOT_FOUND");
}

/// A store that several servers share.
#[derive(Clone, Default)]
struct Shared {
    queries: Arc<Mutex<HashMap<String, String>>>,
    loads: Arc<AtomicUsize>,
}

impl PersistedQueryStore for Shared {
    fn load(&self, hash: String) -> BoxFuture<'static, Result<Option<String>, Failure>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let found = self.queries.lock().unwrap().get(&hash).cloned();
        Box::pin(async { Ok(found) })
    }

    fn save(&self, hash: String, query: String) {
        self.queries.lock().unwrap().insert(hash, query);
    }
}

#[tokio::test]
async fn processes_share_registered_queries() {
    let store = Shared::default();
    let start = async || {
        let queries = PersistedQueries::in_memory().shared(store.clone());
        Server::start(Capacity::default(), |api| api.persisted_queries(queries)).await
    };
    let (one, other) = (start().await, start().await);
    assert_eq!(send(&one, &with_text(HASH, QUERY)).await.status, 200);
    assert_eq!(
        send(&other, &named(HASH)).await.body,
        r#"{"data":{"ok":1}}"#
    );
}

/// Hashes cost strangers nothing to invent: the database is asked only for callers that can pay.
#[tokio::test]
async fn an_unknown_hash_is_charged_before_the_store_is_asked() {
    let (store, budget) = (Shared::default(), Arc::new(AtomicUsize::new(2)));
    let left = Arc::clone(&budget);
    let queries = PersistedQueries::in_memory().shared(store.clone());
    let server = Server::start(Capacity::default(), |api| {
        api.persisted_queries(queries).authenticate(move |_| {
            let left = Arc::clone(&left);
            Ok(RequestContext::new().invalid_check(move || charge(&left)))
        })
    })
    .await;
    for _ in 0..2 {
        let unknown = send(&server, &named(HASH)).await;
        assert_eq!(unknown.code(), "PERSISTED_QUERY_NOT_FOUND");
    }
    let refused = send(&server, &named(HASH)).await;
    assert_eq!(
        (refused.status, refused.code()),
        (429, "RATE_LIMITED".to_owned())
    );
    assert_eq!(store.loads.load(Ordering::SeqCst), 2);
}

fn charge(left: &AtomicUsize) -> CostCheck {
    let paid = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    });
    let refused = || Failure::new(ErrorCode::RateLimited, "Slow down.");
    CostCheck {
        outcome: paid.map(|_| ()).map_err(|_| refused()),
        ..CostCheck::free()
    }
}

/// An invalid document costs the same over each transport.
#[tokio::test]
async fn invalid_documents_are_charged_over_all_transports() {
    let budget = Arc::new(AtomicUsize::new(3));
    let left = Arc::clone(&budget);
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(move |_| {
            let left = Arc::clone(&left);
            Ok(RequestContext::new().invalid_check(move || charge(&left)))
        })
    })
    .await;
    let invalid = server.post(JSON, &query("{ nowhere }")).await;
    assert_eq!(invalid.code(), "GRAPHQL_VALIDATION_FAILED");
    let head = "Accept: text/event-stream\r\nContent-Type: application/json\r\n";
    let streamed = server.post(head, &query("{ nowhere }")).await;
    assert!(
        streamed.body.contains("GRAPHQL_VALIDATION_FAILED"),
        "{streamed:?}"
    );
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "{ nowhere }")).await;
    let code = |message: Value| message["payload"][0]["extensions"]["code"].clone();
    let invalid = code(client.next_message().await);
    assert_eq!(invalid, "GRAPHQL_VALIDATION_FAILED");
    assert_eq!(budget.load(Ordering::SeqCst), 0);
    client.send(&subscribe("b", "{ nowhere }")).await;
    assert_eq!(code(client.next_message().await), "RATE_LIMITED");
}

const APOLLO: &str = r#"{ "format": "apollo-persisted-query-manifest", "version": 1, "operations": [
    { "id": "one", "body": "{ ok }", "name": "Ok", "type": "query" },
    { "id": "two", "body": "mutation { change }", "name": "Change", "type": "mutation" } ] }"#;
const RELAY: &str = r#"{ "one": "{ ok }", "two": "mutation { change }" }"#;

#[tokio::test]
async fn only_trusted_documents_run_if_there_is_a_list() {
    for list in [APOLLO, RELAY] {
        let trusted = TrustedDocuments::parse(list).unwrap();
        let queries = PersistedQueries::in_memory().only(trusted);
        let server = Server::start(Capacity::default(), |api| api.persisted_queries(queries)).await;
        for request in [
            json!({ "documentId": "one" }),
            json!({ "doc_id": "one" }),
            json!({ "query": QUERY }),
            named(HASH),
            with_text(HASH, QUERY),
            named("one"),
            named(&format!("sha256:{HASH}")),
            json!({ "documentId": format!("sha256:{HASH}") }),
            json!({ "documentId": HASH }),
        ] {
            let answer = send(&server, &request).await;
            assert_eq!(answer.body, r#"{"data":{"ok":1}}"#, "{request}");
        }
        let changed = send(&server, &json!({ "documentId": "two" })).await;
        assert_eq!(changed.body, r#"{"data":{"change":2}}"#);
        for request in [
            json!({ "query": "{ b: ok }" }),
            json!({ "documentId": "three" }),
            with_text(HASH, "{ b: ok }"),
        ] {
            let answer = send(&server, &request).await;
            assert_ne!(answer.body, r#"{"data":{"b":1}}"#);
            assert!(["FORBIDDEN", "BAD_USER_INPUT"].contains(&answer.code().as_str()));
        }
        assert_eq!(server.get("/graphql?documentId=one", "").await.status, 200);
    }
}

#[test]
fn a_list_of_trusted_documents_is_refused_with_the_reason() {
    for (list, reason) in [
        ("", "not JSON"),
        ("[]", "not an object"),
        ("{}", "no documents"),
        (r#"{ "one": 1 }"#, "one: must be a string"),
        (r#"{ "operations": [] }"#, "format: must be"),
        (
            r#"{ "format": "apollo-persisted-query-manifest", "operations": [{ "id": "a" }] }"#,
            "operations[0].body: must be a string",
        ),
    ] {
        let error = TrustedDocuments::parse(list).unwrap_err();
        assert!(error.contains(reason), "{list}: {error}");
    }
}
