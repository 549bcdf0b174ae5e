//! What operators learn of a running service: metrics, slow operations, the work of a request, traces.

mod monitoring;
mod receiver;

use std::time::Duration;

use ring::digest;
use serde_json::{Value, json};
use vitrine_harness::http::{self, Reply};
use vitrine_harness::process::{Service, run};
use vitrine_harness::{App, eventually, product, test};
use vitrine_storage::migrations::FILES;

use self::receiver::{Receiver, Span};

const LONG: Duration = Duration::from_mins(1);
const TOKEN_SECRET: &str = "0123456789abcdef0123456789abcdef";
/// A document whose variables have values that must not be found anywhere else.
const PAGE: &str = "query Page($first: Int, $brand: String!) { \
                    products(first: $first, filter: { brand: [$brand] }) { nodes { name } } }";
/// Such a value.
const SECRET: &str = "a-brand-nobody-else-names";

/// Runs `serve` on the database of the test.
pub(crate) async fn with_service(
    app: &App,
    options: &[&str],
    body: impl AsyncFnOnce(&str, &Service),
) {
    let (service, address) = started(app, options).await;
    body(&address, &service).await;
    assert!(service.stop().await.success());
}

/// Starts `serve` on the database of the test; returns it with its address when it is ready.
pub(crate) async fn started(app: &App, options: &[&str]) -> (Service, String) {
    app.store
        .migrate(FILES, "test", false, &|_| {})
        .await
        .unwrap();
    let common = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--public-metrics",
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
        "--cursor-secret",
        "0123456789abcdef",
        "--token-secret",
        TOKEN_SECRET,
    ];
    let service = Service::start(&[&common, options].concat());
    let address = service.listening().await;
    let ready = async || {
        let reply = http::get(&address, "/health/ready").await.ok()?;
        (reply.status == 200).then_some(())
    };
    eventually("a ready service", LONG, ready).await;
    (service, address)
}

pub(crate) fn token(role: &str) -> String {
    let issued = run(&["token", "--token-secret", TOKEN_SECRET, "--role", role]);
    assert!(issued.status.success());
    let token = String::from_utf8(issued.stdout).unwrap();
    format!("Bearer {}", token.trim())
}

pub(crate) async fn ask(address: &str, body: &Value, headers: &[(&str, &str)]) -> Reply {
    http::graphql_with(address, body, headers).await.unwrap()
}

fn page() -> Value {
    let variables = json!({ "first": 5, "brand": SECRET });
    json!({ "query": PAGE, "variables": variables })
}

/// Returns the value of a series, a whole number.
fn value(metrics: &str, series: &str) -> u64 {
    let mut lines = metrics.lines();
    let found = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let found = found.unwrap_or_else(|| panic!("there is no {series} in {metrics}"));
    found.parse().unwrap()
}

#[test]
fn metrics_count_requests_commands_connections_and_caches() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        with_service(app, &[], async |address, _| {
            let query = json!({ "query": "query Lamps { products { nodes { name } } }" });
            for _ in 0..3 {
                let answer = ask(address, &query, &[]).await.json();
                assert_eq!(answer["data"]["products"]["nodes"][0]["name"], "Lamp");
            }
            ask(address, &json!({ "query": "{ nothing }" }), &[]).await;
            let metrics = http::get(address, "/metrics").await.unwrap().body;
            let of_lamps = "{operation=\"Lamps\",type=\"query\"}";
            let count = |name: &str| value(&metrics, name);
            assert_eq!(
                count(&format!("vitrine_request_duration_seconds_count{of_lamps}")),
                3
            );
            assert!(count(&format!("vitrine_request_cost_total{of_lamps}")) >= 3);
            assert_eq!(
                count("vitrine_request_errors_total{code=\"GRAPHQL_VALIDATION_FAILED\"}"),
                1
            );
            assert!(
                count("vitrine_database_command_duration_seconds_count{command=\"find\"}") >= 1
            );
            assert!(count("vitrine_database_connections") >= 1);
            assert_eq!(count("vitrine_permits{class=\"read\"}"), 64);
            for queue in [
                "requests_running",
                "requests_waiting",
                "large_requests_running",
                "large_requests_waiting",
            ] {
                assert_eq!(count(&format!("vitrine_{queue}")), 0);
            }
            assert!(count("vitrine_permits_in_use{class=\"read\"}") <= 64);
            assert!(count("vitrine_cache_hits_total{cache=\"documents\"}") >= 2);
            assert!(count("vitrine_cache_misses_total{cache=\"documents\"}") >= 2);
        })
        .await;
    });
}

#[test]
fn a_slow_operation_is_logged_without_values() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        with_service(app, &["--slow-operation", "1"], async |address, service| {
            let line = async || {
                ask(address, &page(), &[]).await;
                let output = service.output();
                let mut lines = output.lines();
                lines
                    .find(|line| line.contains("an operation was slow"))
                    .map(str::to_owned)
            };
            let line = eventually("the line of a slow operation", LONG, line).await;
            // Of the text, only the first eight bytes of its hash.
            let hash = digest::digest(&digest::SHA256, PAGE.as_bytes());
            let digits = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}"));
            let hash: String = digits.collect();
            let shape = format!("$brand: String({})", SECRET.len());
            for part in [
                "Page",
                "query",
                &shape,
                &hash,
                "$first: Int",
                "took_ms=",
                "cost=",
                "commands=",
                "left_out=0",
            ] {
                assert!(line.contains(part), "{part}: {line}");
            }
            assert!(!service.output().contains(SECRET), "{line}");
        })
        .await;
    });
}

#[test]
fn only_admins_who_ask_learn_what_a_request_costs_the_database() {
    test(async |app| {
        app.has([product("Lamp"), product("Chair")]).await;
        with_service(app, &["--product-memory", "0"], async |address, _| {
            let (admin, service) = (token("admin"), token("service"));
            let query = json!({ "query": "{ products { nodes { name } } }" });
            let work = async |headers: &[(&str, &str)]| {
                let mut answer = ask(address, &query, headers).await.json();
                assert!(answer["errors"].is_null(), "{answer}");
                answer["extensions"]["work"].take()
            };
            let asks = ("x-vitrine-work", "1");
            let admin = ("authorization", admin.as_str());
            assert_eq!(work(&[asks]).await, Value::Null);
            assert_eq!(work(&[admin]).await, Value::Null);
            assert_eq!(
                work(&[asks, ("authorization", &service)]).await,
                Value::Null
            );
            let shown = work(&[asks, admin]).await;
            assert_eq!(
                (&shown["commands"], &shown["documents"]),
                (&json!(1), &json!(2))
            );
            assert_eq!(shown["documentCached"], true);
            assert!(shown["bytes"].as_u64() > Some(200), "{shown}");
            assert!(
                shown["databaseMillis"].as_f64() <= shown["millis"].as_f64(),
                "{shown}"
            );
        })
        .await;
    });
}

/// Follows the parents of a span to the first one.
fn root<'a>(spans: &'a [Span], of: &'a Span) -> &'a Span {
    let parent = spans.iter().find(|span| span.id == of.parent);
    parent.map_or(of, |parent| root(spans, parent))
}

#[test]
fn a_trace_of_the_caller_goes_on_in_spans_of_requests_resolvers_and_commands() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let receiver = Receiver::start().await;
        let collector = format!("http://{}", receiver.address);
        let options = ["--otlp-endpoint", collector.as_str()];
        with_service(app, &options, async |address, _| {
            let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let headers = [("traceparent", caller), ("tracestate", "shop=1")];
            let reply = ask(address, &page(), &headers).await;
            assert_eq!(reply.json()["data"]["products"]["nodes"], json!([]));
        })
        .await;
        // The service has sent its last spans before it ended.
        let spans = receiver.spans();
        let named = |name: &str| {
            let found = spans.iter().find(|span| span.name == name);
            found.unwrap_or_else(|| panic!("no span {name} in {spans:#?}"))
        };
        let request = named("POST /graphql");
        assert_eq!(request.trace, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(request.parent, "b7ad6b7169203331");
        for (key, expected) in [
            ("http.route", "/graphql"),
            ("http.response.status_code", "200"),
            ("graphql.operation.name", "Page"),
            ("graphql.operation.type", "query"),
        ] {
            assert_eq!(request.attributes[key], expected, "{request:#?}");
        }
        assert!(request.attributes.contains_key("vitrine.cost"));
        let resolver = named("Query.products");
        let command = spans.iter().find(|span| span.parent == resolver.id);
        let command = command.expect("a command of the resolver");
        assert_eq!(command.attributes["db.system"], "mongodb");
        assert!(
            command.attributes.contains_key("db.operation"),
            "{command:#?}"
        );
        assert_eq!(root(&spans, command).id, request.id);
        let all = format!("{spans:?}");
        assert!(!all.contains(SECRET), "{all}");
    });
}

/// Who sends nonsense gets answers, and does not fill the disk.
#[test]
fn strangers_cannot_fill_the_log() {
    test(async |app| {
        with_service(app, &[], async |address, service| {
            let lines = || service.output().lines().count();
            let before = lines();
            let query = json!({ "query": "{ __typename }" });
            let wrong = json!({ "query": "{ nothing" });
            let none = token("shopper").replace("Bearer ", "");
            for n in 0..500 {
                let (header, claims) = none.rsplit_once('.').unwrap();
                let forged = match n % 3 {
                    0 => format!("Bearer {header}.{}", claims.to_lowercase()),
                    1 => format!("Bearer {n}"),
                    _ => format!("Basic {n}"),
                };
                let refused = ask(address, &query, &[("authorization", &forged)]).await;
                assert_eq!(refused.status, 401, "{}", refused.body);
                let invalid = ask(address, &wrong, &[]).await;
                assert!(invalid.body.contains("GRAPHQL_PARSE_FAILED"));
            }
            let lines = lines() - before;
            assert!(lines <= 20, "{lines} lines: {}", service.output());
        })
        .await;
    });
}
