//! Readiness: a process starts without its database, reports when the database does not answer, and
//! recovers when it does. And the clocks of processes and database.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;
use vitrine_domain::clock::DatabaseClock;
use vitrine_harness::mongod::{Server, find_mongod};
use vitrine_harness::process::{Service, run};
use vitrine_harness::{App, eventually, http, test};
use vitrine_model::clock::{Clock, ManualClock};
use vitrine_mongod::{Instance, StartOptions};

use crate::process::block_on;

/// A generous deadline for a busy machine, but shorter than the timeout of a frozen connection.
const SOON: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_mins(1);

const SECRETS: [&str; 4] = [
    "--cursor-secret",
    "0123456789abcdef",
    "--token-secret",
    "0123456789abcdef0123456789abcdef",
];

const PRODUCTS: &str = "{ products { nodes { name } } }";

/// The arguments of a command on the database at this address.
fn at<'a>(uri: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    [command, &["--mongodb-uri", uri], SECRETS.as_slice()].concat()
}

/// Waits until a page has this status.
async fn status(address: &str, path: &str, status: u16, within: Duration) {
    let look = async || {
        let reply = http::get(address, path).await.ok()?;
        (reply.status == status).then_some(())
    };
    eventually(&format!("{path} that says {status}"), within, look).await;
}

/// A migrated database that is stopped; it is started again at the same address.
struct Away {
    data: TempDir,
    uri: String,
}

impl Away {
    async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut away = Self {
            data,
            uri: String::new(),
        };
        let instance = away.come().await;
        instance.uri().clone_into(&mut away.uri);
        assert!(
            run(&at(instance.uri(), &["migrate", "up"]))
                .status
                .success()
        );
        instance.stop().await.unwrap();
        away
    }

    async fn come(&self) -> Instance {
        let mut options = StartOptions::new(self.data.path());
        options.cache_mib = 256;
        options.ephemeral = true;
        let mongod = find_mongod().await.unwrap();
        Instance::start(&mongod, &options).await.unwrap()
    }
}

/// Asserts that it reports in one sentence that it waits, without details of the driver.
fn assert_waits_quietly(service: &Service) {
    let said = service.output();
    let mut waits = said.lines().filter(|line| line.contains("waiting for"));
    assert!(
        waits.all(|line| line.ends_with("the server is running and reachable from here")),
        "{said}"
    );
    assert!(!said.contains("Topology"), "{said}");
    assert!(!said.contains("Kind:"), "{said}");
}

#[test]
fn processes_that_start_before_their_database_wait_for_it() {
    block_on(async {
        let away = Away::new().await;
        let listen = "127.0.0.1:0";
        let serve = Service::start(&at(&away.uri, &["serve", "--listen", listen]));
        let work = Service::start(&at(&away.uri, &["work", "--monitor-listen", listen]));
        let mut migrate = Service::start(&at(&away.uri, &["migrate", "status"]));
        let (api, monitor) = (serve.listening().await, work.listening().await);
        for address in [&api, &monitor] {
            let live = http::get(address, "/health/live").await.unwrap();
            assert_eq!(live.status, 200);
            let ready = http::get(address, "/health/ready").await.unwrap();
            assert_eq!(ready.status, 503);
            assert_eq!(ready.json()["reason"], "waiting for the database");
        }
        let metrics = http::get(&monitor, "/metrics").await.unwrap();
        assert_eq!(metrics.status, 200);
        let refused = http::graphql(&api, PRODUCTS, None).await.unwrap();
        assert_eq!(refused.status, 503);
        let error = &refused.json()["errors"][0]["extensions"];
        assert_eq!(error["code"], "UNAVAILABLE");
        assert_eq!(error["retryable"], true);
        for service in [&serve, &work, &migrate] {
            let waits = async || service.output().contains("waiting for").then_some(());
            eventually("a process that says that it waits", LONG, waits).await;
            assert_waits_quietly(service);
        }
        let instance = away.come().await;
        assert_eq!(instance.uri(), away.uri);
        for address in [&api, &monitor] {
            status(address, "/health/ready", 200, LONG).await;
        }
        let answer = http::graphql(&api, PRODUCTS, None).await.unwrap();
        let none = json!({ "data": { "products": { "nodes": [] } } });
        assert_eq!(answer.json()["data"], none["data"]);
        assert!(migrate.ended().await.success());
        assert!(serve.stop().await.success());
        assert!(work.stop().await.success());
        instance.stop().await.unwrap();
    });
}

/// Runs `serve` on an empty database beside that of the test.
async fn with_production_service(app: &App, options: &[&str], body: impl AsyncFnOnce(&str)) {
    let name = format!("{}_served", app.store.database_name());
    let migrated = run(&at(app.uri(), &["migrate", "up", "--database", &name]));
    assert!(migrated.status.success());
    let command = ["serve", "--listen", "127.0.0.1:0", "--database", &name];
    let service = Service::start(&at(app.uri(), &[&command, options].concat()));
    let address = service.listening().await;
    status(&address, "/health/ready", 200, LONG).await;
    body(&address).await;
    assert!(service.stop().await.success());
    let made = app.direct().client().database(&name);
    made.drop().await.unwrap();
}

#[test]
fn a_caller_that_has_spent_its_budget_is_told_how_long_to_wait() {
    test(async |app| {
        let options = ["--cost-per-second", "1", "--cost-limit", "200"];
        with_production_service(app, &options, async |address| {
            let ask = async || {
                let reply = http::graphql(address, PRODUCTS, None).await.unwrap();
                (reply.status, reply.json())
            };
            let (status, first) = ask().await;
            assert_eq!(
                (status, &first["extensions"]["cost"]["limit"]),
                (200, &json!(200))
            );
            let spent = async || {
                let (status, answer) = ask().await;
                (status == 429).then_some(answer)
            };
            let refused = eventually("a refusal", LONG, spent).await;
            let error = &refused["errors"][0]["extensions"];
            assert_eq!(error["code"], "RATE_LIMITED");
            assert!(error["retryAfter"].as_u64() > Some(0), "{refused}");
        })
        .await;
    });
}

#[test]
fn a_production_service_serves_no_graphiql_page() {
    test(async |app| {
        with_production_service(app, &[], async |address| {
            let page = http::get_as(address, "/graphql", "text/html")
                .await
                .unwrap();
            assert_eq!(page.status, 400, "{}", page.body);
            assert!(!page.body.contains("<html"), "{}", page.body);
        })
        .await;
    });
}

#[test]
fn a_process_that_waits_for_its_database_ends_on_a_signal() {
    block_on(async {
        // Nothing listens on port 1.
        let nobody = "mongodb://127.0.0.1:1/?replicaSet=vitrine";
        let listen = "127.0.0.1:0";
        let serve = Service::start(&at(nobody, &["serve", "--listen", listen]));
        let work = Service::start(&at(nobody, &["work", "--monitor-listen", listen]));
        serve.listening().await;
        work.listening().await;
        assert!(serve.stop().await.success());
        assert!(work.stop().await.success());
    });
}

/// Clients that send queries until they are dropped.
fn pressing_clients(address: &str) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for _ in 0..150 {
        let address = address.to_owned();
        clients.spawn(async move {
            loop {
                // A client that is refused tries again.
                let _ = http::graphql(&address, PRODUCTS, None).await;
                tokio::task::yield_now().await;
            }
        });
    }
    clients
}

/// Asserts that `/health/ready` of both roles follows a database that freezes and continues.
async fn readiness_follows(server: &Server, press: bool) {
    let listen = "127.0.0.1:0";
    let serve = Service::start(&at(server.uri(), &["serve", "--listen", listen]));
    let work = Service::start(&at(server.uri(), &["work", "--monitor-listen", listen]));
    let addresses = [serve.listening().await, work.listening().await];
    for address in &addresses {
        status(address, "/health/ready", 200, LONG).await;
    }
    let clients = if press {
        pressing_clients(&addresses[0])
    } else {
        JoinSet::new()
    };
    server.freeze();
    for address in &addresses {
        status(address, "/health/ready", 503, SOON).await;
        status(address, "/health/live", 200, SOON).await;
    }
    let reply = http::get(&addresses[0], "/health/ready").await.unwrap();
    assert_eq!(reply.json()["reason"], "the database does not answer");
    drop(clients);
    server.thaw();
    for address in &addresses {
        status(address, "/health/ready", 200, LONG).await;
    }
    assert!(serve.stop().await.success());
    assert!(work.stop().await.success());
}

#[test]
fn a_frozen_database_makes_a_process_unready_with_and_without_clients() {
    block_on(async {
        let server = Server::start("frozen").await.unwrap();
        assert!(run(&at(server.uri(), &["migrate", "up"])).status.success());
        readiness_follows(&server, false).await;
        readiness_follows(&server, true).await;
        server.stop().await.unwrap();
    });
}

#[test]
fn clocks_that_are_hours_apart_show_the_time_of_the_database() {
    test(async |app| {
        for hours in [-2, 2] {
            let before = app.store.ping().await.unwrap();
            let machine = ManualClock::at(before.plus_millis(hours * 3_600_000));
            let clock = DatabaseClock::new(Arc::new(machine));
            let server = app.store.ping().await.unwrap();
            clock.measured(clock.machine_now(), Duration::ZERO, server);
            assert_eq!(clock.now(), server);
            assert!(before <= server, "{before} {server}");
        }
    });
}

/// A secondary may lack what a client has just been told. This server has none to read from.
#[test]
fn reads_go_to_the_primary_whatever_the_address_says() {
    test(async |app| {
        let sign = if app.uri().contains('?') { '&' } else { '?' };
        let uri = format!("{}{sign}readPreference=secondary", app.uri());
        let options = vitrine_storage::StoreOptions::new(&uri, app.store.database_name());
        let store = vitrine_storage::Store::connect(&options).await.unwrap();
        assert_eq!(
            store.generation(None).await.unwrap(),
            app.store.generation(None).await.unwrap()
        );
    });
}
