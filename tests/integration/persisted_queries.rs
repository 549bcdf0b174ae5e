//! Queries that clients name by their hash, shared by the processes of a service and forgotten when
//! nobody uses them.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_harness::{App, eventually, product, test};

use crate::operators::{ask, with_service};

const QUERY: &str = "{ products { nodes { name } } }";
/// `printf '{ products { nodes { name } } }' | sha256sum`
const HASH: &str = "d789a5b2d52851028fc46f566d9759e23b76ed1ddab61e61069177caed8ac114";
const DAY: i64 = 24 * 60 * 60 * 1_000;

async fn stored(app: &App) -> Option<Document> {
    let queries = app.direct().collection::<Document>("persisted_queries");
    queries.find_one(doc! { "_id": HASH }).await.unwrap()
}

/// For how many days the query is still kept.
async fn days_left(app: &App) -> i64 {
    let stored = stored(app).await.expect("the query is stored");
    let expires_at = stored.get_datetime("expires_at").unwrap();
    let now = app.catalog.now().as_millis();
    (expires_at.timestamp_millis() - now) / DAY
}

/// The request of a client that names a query, and sends its text or does not.
fn named(query: Option<&str>) -> Value {
    let mut body =
        json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": HASH } } });
    if let Some(query) = query {
        body["query"] = json!(query);
    }
    body
}

#[test]
fn a_query_that_one_process_has_learnt_is_known_to_another() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        with_service(app, &[], async |one, _| {
            with_service(app, &[], async |other, _| {
                for process in [one, other] {
                    let unknown = ask(process, &named(None), &[]).await.json();
                    let message = &unknown["errors"][0]["message"];
                    assert_eq!(message, "PersistedQueryNotFound", "{unknown}");
                }
                ask(one, &named(Some(QUERY)), &[]).await;
                let known = async || {
                    let answer = ask(other, &named(None), &[]).await.json();
                    let name = answer["data"]["products"]["nodes"][0]["name"].as_str();
                    name.map(str::to_owned)
                };
                let patience = Duration::from_secs(20);
                let name = eventually("the other process knows it", patience, known).await;
                assert_eq!(name, "Lamp");
            })
            .await;
        })
        .await;
    });
}

#[test]
fn a_query_is_kept_for_four_weeks_after_its_last_use() {
    test(async |app| {
        // Ahead of the server's clock, which deletes what has expired.
        app.clock.advance(20 * 365 * DAY);
        app.catalog.persist_query(HASH, QUERY);
        app.catalog.drain().await;
        assert_eq!(days_left(app).await, 30);
        let used = async |again_in: i64| {
            app.clock.advance(again_in);
            // Another process, which has not remembered it.
            let other = app.other_process().await;
            let query = other.persisted_query(HASH).await.unwrap();
            other.drain().await;
            assert_eq!(query.as_deref(), Some(QUERY));
        };
        // Uses of the same day do not write.
        used(DAY / 2).await;
        assert_eq!(days_left(app).await, 29);
        used(DAY).await;
        assert_eq!(days_left(app).await, 30);
        used(28 * DAY).await;
        assert_eq!(days_left(app).await, 30);
        // MongoDB deletes what has expired.
        let queries = app.direct().collection::<Document>("persisted_queries");
        let indexes = queries.list_indexes().await.unwrap();
        let indexes: Vec<_> = indexes.try_collect().await.unwrap();
        let expiring = indexes.iter().any(|index| {
            let options = index
                .options
                .as_ref()
                .and_then(|options| options.expire_after);
            index.keys == doc! { "expires_at": 1 } && options == Some(Duration::ZERO)
        });
        assert!(expiring, "{indexes:?}");
    });
}
