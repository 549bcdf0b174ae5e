//! What a `serve` process shows strangers, staff and the pages of other origins.

use serde_json::{Value, json};
use vitrine_harness::http::{self, Reply};
use vitrine_harness::{product, test};

use crate::operators::{ask, token, with_service};

const SCHEMA: &str = "{ __schema { queryType { name } } }";
const SHOP: &str = "https://shop.example";

async fn introspect(address: &str, headers: &[(&str, &str)]) -> Value {
    ask(address, &json!({ "query": SCHEMA }), headers)
        .await
        .json()
}

fn is_refused(answer: &Value) -> bool {
    let message = answer["errors"][0]["message"].as_str();
    let refused = message.is_some_and(|message| message.starts_with("Introspection is"));
    assert_eq!(refused, answer["data"].is_null(), "{answer}");
    refused
}

/// Returns what browsers get that open the endpoint.
async fn playground(address: &str) -> Reply {
    let page = http::get_as(address, "/graphql", "text/html").await;
    page.unwrap()
}

#[test]
fn staff_may_read_the_schema_and_strangers_may_not() {
    test(async |app| {
        with_service(app, &[], async |address, _| {
            assert!(is_refused(&introspect(address, &[]).await));
            for (role, refused) in [
                ("shopper", true),
                ("moderator", false),
                ("admin", false),
                ("service", false),
            ] {
                let token = token(role);
                let answer = introspect(address, &[("authorization", &token)]).await;
                assert_eq!(is_refused(&answer), refused, "{role}");
            }
            // Nor do they learn it from what is wrong with their documents.
            let wrong = json!({ "query": "{ prodcts { nodes { id } } }" });
            let told = async |headers: &[(&str, &str)]| {
                let answer = ask(address, &wrong, headers).await;
                answer.body.contains("did you mean")
            };
            assert!(!told(&[]).await);
            assert!(told(&[("authorization", &token("admin"))]).await);
            assert_eq!(playground(address).await.status, 400);
        })
        .await;
    });
}

#[test]
fn introspection_and_graphiql_are_shown_to_strangers_when_switched_on() {
    test(async |app| {
        let options = ["--public-introspection", "--graphiql"];
        with_service(app, &options, async |address, _| {
            assert!(!is_refused(&introspect(address, &[]).await));
            let sent = playground(address).await;
            assert_eq!(
                (sent.status, sent.header("location")),
                (303, Some("/graphiql"))
            );
            let page = http::get_as(address, "/graphiql", "text/html")
                .await
                .unwrap();
            assert_eq!(page.status, 200);
            assert!(page.body.contains("id=\"graphiql\""), "{}", page.body);
        })
        .await;
    });
}

/// Returns the names in a header, in lower case and in order.
fn names(reply: &Reply, header: &str) -> Vec<String> {
    let value = reply.header(header).unwrap_or_default();
    let mut names: Vec<String> = value
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn pages_of_allowed_origins_may_send_requests_and_read_the_headers() {
    test(async |app| {
        let options = ["--allowed-origin", SHOP];
        with_service(app, &options, async |address, _| {
            let preflight = async |origin: &str| {
                let headers = [
                    ("origin", origin),
                    ("access-control-request-method", "POST"),
                    (
                        "access-control-request-headers",
                        "authorization,content-type",
                    ),
                ];
                let reply = http::request(address, "OPTIONS", "/graphql", &headers).await;
                reply.unwrap()
            };
            let allowed = preflight(SHOP).await;
            assert_eq!(allowed.status, 200);
            assert_eq!(allowed.header("access-control-allow-origin"), Some(SHOP));
            assert_eq!(
                names(&allowed, "access-control-allow-methods"),
                ["get", "post"]
            );
            assert_eq!(
                names(&allowed, "access-control-allow-headers"),
                [
                    "accept",
                    "authorization",
                    "content-type",
                    "if-none-match",
                    "x-request-id"
                ]
            );
            let stranger = preflight("https://elsewhere.example").await;
            assert_eq!(stranger.header("access-control-allow-origin"), None);
            let query = json!({ "query": "{ __typename }" });
            let answer = ask(address, &query, &[("origin", SHOP)]).await;
            assert_eq!(answer.header("access-control-allow-origin"), Some(SHOP));
            let shown = names(&answer, "access-control-expose-headers");
            for header in [
                "ratelimit",
                "ratelimit-policy",
                "retry-after",
                "etag",
                "x-request-id",
            ] {
                assert!(shown.iter().any(|name| name == header), "{shown:?}");
            }
            assert!(answer.header("ratelimit").is_some(), "{answer:?}");
        })
        .await;
        with_service(app, &[], async |address, _| {
            let query = json!({ "query": "{ __typename }" });
            let answer = ask(address, &query, &[("origin", SHOP)]).await;
            assert_eq!(answer.header("access-control-allow-origin"), None);
        })
        .await;
    });
}

#[test]
fn a_service_with_trusted_documents_answers_no_others() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let lamps = "query Lamps { products { nodes { name } } }";
        let manifest = json!({
            "format": "apollo-persisted-query-manifest",
            "version": 1,
            "operations": [{ "id": "lamps", "name": "Lamps", "type": "query", "body": lamps }],
        });
        let name = format!("{}-trusted.json", app.store.database_name());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, manifest.to_string()).unwrap();
        let options = ["--trusted-documents", path.to_str().unwrap()];
        with_service(app, &options, async |address, _| {
            for body in [json!({ "documentId": "lamps" }), json!({ "query": lamps })] {
                let answer = ask(address, &body, &[]).await.json();
                let name = &answer["data"]["products"]["nodes"][0]["name"];
                assert_eq!(name, "Lamp", "{answer}");
            }
            let admin = token("admin");
            for body in [
                json!({ "query": "{ products { nodes { id } } }" }),
                json!({ "documentId": "chairs" }),
                json!({ "query": SCHEMA }),
            ] {
                for headers in [&[][..], &[("authorization", admin.as_str())]] {
                    let answer = ask(address, &body, headers).await.json();
                    let code = &answer["errors"][0]["extensions"]["code"];
                    assert_eq!(code, "FORBIDDEN", "{body}");
                }
            }
        })
        .await;
        std::fs::remove_file(path).unwrap();
    });
}
