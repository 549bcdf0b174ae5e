//! The real binary, as an operator sees it.

use std::net::TcpListener;
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mongodb::bson::{Document, doc};
use tempfile::TempDir;
use vitrine_domain::import::ImportMode;
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::process::{Service, binary, may_have_huge_pages, run, signal};
use vitrine_harness::{eventually, http, mongod, product, test};
use vitrine_model::money::Currency;
use vitrine_mongod::Claim;
use vitrine_storage::{Store, StoreOptions};

use crate::operators::with_service;

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        // As a trait object: otherwise the runtime's functions would be compiled once for each caller.
        .block_on(pin!(work) as Pin<&mut dyn Future<Output = T>>)
}

/// Starts a service on a data directory, with an empty catalogue, on a port that the kernel
/// chooses.
fn start(data: &TempDir) -> Service {
    let data = data.path().to_str().unwrap();
    Service::start(&[
        "--data-dir",
        data,
        "--listen",
        "127.0.0.1:0",
        "--catalogue",
        "empty",
    ])
}

/// The address of the mongod of a data directory.
fn uri(data: &Path) -> String {
    std::fs::read_to_string(data.join("running")).unwrap()
}

/// Imports a product as another process would.
async fn add_product(uri: &str, name: &str) {
    add_products(uri, &[name.to_owned()]).await;
}

pub(crate) async fn add_products(uri: &str, names: &[String]) {
    let store = Store::connect(&StoreOptions::new(uri, "vitrine"))
        .await
        .unwrap();
    let options = CatalogOptions::new(
        Currency::parse("EUR").unwrap(),
        b"0123456789abcdef".to_vec(),
    );
    let catalog = Catalog::open(store, options).await.unwrap();
    let mut session = catalog.import(ImportMode::Write);
    let products = names.iter().map(|name| product(name).into());
    session.products(products.collect()).await.unwrap();
    session.finish().await.unwrap();
}

/// The process id of the mongod at this address.
async fn mongod_pid(uri: &str) -> u32 {
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let status = client
        .database("admin")
        .run_command(doc! { "serverStatus": 1 })
        .await
        .unwrap();
    status.get_i64("pid").unwrap().try_into().unwrap()
}

fn runs(pid: u32) -> bool {
    signal(pid, "0")
}

async fn names(address: &str) -> Vec<String> {
    let reply = http::graphql(
        address,
        "{ products(sort: [{ key: NAME }]) { nodes { name } } }",
        None,
    )
    .await
    .unwrap();
    let reply = reply.json();
    let nodes = reply["data"]["products"]["nodes"].as_array().unwrap();
    nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_first_start_answers_and_a_second_keeps_the_data() {
    let data = tempfile::tempdir().unwrap();
    block_on(async {
        let service = start(&data);
        let address = service.ready().await;
        let said = service.output();
        assert!(!said.contains('\u{1b}'), "no colours in a file: {said}");
        let created: Vec<&str> = said.lines().filter(|line| line.contains("creat")).collect();
        assert_eq!(created.len(), 1, "{created:?}");
        assert_eq!(names(&address).await, [""; 0]);
        for path in ["/health/live", "/health/ready"] {
            assert_eq!(
                http::get(&address, path).await.unwrap().status,
                200,
                "{path}"
            );
        }
        let counters = http::get(&address, "/metrics").await.unwrap();
        assert_eq!(counters.status, 200);
        let mut lines = counters.body.lines();
        let line = "vitrine_folded_reviews_total 0";
        assert!(lines.any(|found| found == line), "{}", counters.body);
        let token = service.output();
        let token = token
            .lines()
            .find(|line| line.trim().starts_with("eyJ"))
            .unwrap()
            .trim()
            .to_owned();
        let drafts = http::graphql(
            &address,
            "{ products(filter: { status: [DRAFT] }) { nodes { name } } }",
            Some(&token),
        )
        .await;
        assert_eq!(
            drafts.unwrap().json()["data"]["products"]["nodes"],
            serde_json::json!([])
        );
        add_product(&uri(data.path()), "Kept").await;
        assert_eq!(names(&address).await, ["Kept"]);
        let pid = mongod_pid(&uri(data.path())).await;
        assert!(service.stop().await.success());
        assert!(!runs(pid), "mongod ends before the service does");

        let service = start(&data);
        let address = service.ready().await;
        assert_eq!(names(&address).await, ["Kept"]);
        assert!(service.stop().await.success());
    });
}

#[test]
fn a_killed_service_leaves_no_mongod_and_the_next_start_recovers() {
    let data = tempfile::tempdir().unwrap();
    block_on(async {
        let mut service = start(&data);
        service.ready().await;
        add_product(&uri(data.path()), "Survivor").await;
        let pid = mongod_pid(&uri(data.path())).await;
        assert!(runs(pid));
        service.signal("KILL");
        service.ended().await;
        let gone = async || (!runs(pid)).then_some(());
        eventually("the end of mongod", Duration::from_secs(25), gone).await;

        let service = start(&data);
        let address = service.ready().await;
        assert_eq!(names(&address).await, ["Survivor"]);
        assert!(service.stop().await.success());
    });
}

/// Runs a command that must fail; returns its only message.
fn complaint(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error"))
        .collect();
    assert_eq!(errors.len(), 1, "one message, not {said}");
    said
}

#[test]
fn a_port_in_use_is_reported_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let said = complaint(&[
        "--data-dir",
        data.path().to_str().unwrap(),
        "--listen",
        &address,
    ]);
    assert!(
        said.contains(&format!("cannot listen on {address}")) && said.contains("--listen"),
        "{said}"
    );
    assert!(
        !data.path().join("mongodb").exists(),
        "nothing was started for it"
    );
}

#[test]
fn a_data_directory_that_cannot_be_created_is_reported_in_one_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("data");
    let said = complaint(&[
        "--data-dir",
        below.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
    ]);
    assert!(
        said.contains(below.to_str().unwrap()) && said.contains("--data-dir"),
        "{said}"
    );
}

/// Nothing is looked for or downloaded that could not be used.
#[test]
fn a_data_directory_that_is_in_use_is_reported_before_mongod_is_looked_for() {
    let data = tempfile::tempdir().unwrap();
    let _claim = block_on(Claim::new(&data.path().join("mongodb"))).unwrap();
    let said = complaint(&[
        "--data-dir",
        data.path().to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
        "--mongod",
        "/nowhere/mongod",
    ]);
    assert!(said.contains("another vitrine"), "{said}");
}

/// A mongod without a replica set, which ends with the test.
struct Standalone(Child);

impl Drop for Standalone {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a bare server with further arguments; returns its port.
fn bare_server(data: &TempDir, further: &[&str]) -> (Standalone, String) {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
        .to_string();
    let binary = block_on(mongod::find_mongod()).unwrap();
    let mut server = Command::new(binary.path());
    server.args(further).args([
        "--bind_ip",
        "127.0.0.1",
        "--nounixsocket",
        "--wiredTigerCacheSizeGB",
        "0.25",
        "--port",
        &port,
        "--dbpath",
    ]);
    let server = server
        .arg(data.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (Standalone(server), port)
}

#[test]
fn a_replica_set_that_nobody_has_founded_is_waited_for_with_the_reason() {
    let data = tempfile::tempdir().unwrap();
    let (_server, port) = bare_server(&data, &["--replSet", "vitrine"]);
    let uri = format!("mongodb://127.0.0.1:{port}/?replicaSet=vitrine");
    block_on(async {
        let work = Service::start(&["work", "--mongodb-uri", &uri]);
        // The first attempt may come before the server listens; the log repeats what it waits for.
        let said = async || work.output().contains("call rs.initiate()").then_some(());
        eventually("the advice", Duration::from_mins(2), said).await;
        let direct = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
        let client = mongodb::Client::with_uri_str(direct).await.unwrap();
        let host = format!("127.0.0.1:{port}");
        let members = doc! { "_id": "vitrine", "members": [{ "_id": 0, "host": host }] };
        let admin = client.database("admin");
        admin
            .run_command(doc! { "replSetInitiate": members })
            .await
            .unwrap();
        // It has no schema: the process goes on to the next complaint.
        let found = async || work.output().contains("vitrine migrate up").then_some(());
        eventually(
            "a process that has found its database",
            Duration::from_mins(1),
            found,
        )
        .await;
    });
}

#[test]
fn a_standalone_server_is_refused_with_the_reason() {
    let data = tempfile::tempdir().unwrap();
    let (_server, port) = bare_server(&data, &[]);
    let secrets = [
        "--cursor-secret",
        "0123456789abcdef",
        "--token-secret",
        "0123456789abcdef0123456789abcdef",
    ];
    // Also if the address names a replica set.
    for query in ["", "/?replicaSet=vitrine"] {
        let uri = format!("mongodb://127.0.0.1:{port}{query}");
        let said = complaint(
            &[
                &["serve", "--listen", "127.0.0.1:0", "--mongodb-uri", &uri],
                secrets.as_slice(),
            ]
            .concat(),
        );
        assert!(
            said.contains("standalone server") && said.contains("--replSet"),
            "{said}"
        );
    }
}

/// Huge pages would make a small process larger and not faster.
#[test]
fn a_service_has_huge_pages_only_for_a_large_memory_of_products() {
    // Services inherit it from the tests.
    let may_have = may_have_huge_pages(std::process::id());
    test(async |app| {
        with_service(app, &[], async |_, service| {
            assert!(!service.may_have_huge_pages());
        })
        .await;
        with_service(app, &["--product-memory", "256"], async |_, service| {
            assert_eq!(service.may_have_huge_pages(), may_have);
        })
        .await;
    });
}

/// The driver closes the connection of a dropped future, which stalls its pool. A request that runs
/// on after its client has left needs no new connection, however many clients leave.
#[test]
fn clients_that_hang_up_cost_no_connection_to_the_database() {
    const CLIENTS: usize = 500;
    const ROUNDS: usize = 7;
    const PRODUCTS: usize = 100;
    let data = tempfile::tempdir().unwrap();
    block_on(async {
        let service = start(&data);
        let address = service.ready().await;
        let uri = uri(data.path());
        let names: Vec<String> = (0..PRODUCTS).map(|n| format!("Thing {n}")).collect();
        add_products(&uri, &names).await;
        let query = |client: usize| {
            let slug = client % PRODUCTS;
            format!(r#"{{ product(slug: "thing-{slug}") {{ name specs {{ text }} }} }}"#)
        };
        let before = connections_created(&uri).await;
        for (round, expected) in names.iter().enumerate().take(ROUNDS) {
            let queries: Vec<String> = (0..CLIENTS).map(query).collect();
            let asking = queries
                .iter()
                .map(|query| http::send_graphql(&address, query));
            let connections = futures_util::future::join_all(asking).await;
            let sent = connections.iter().filter(|sent| sent.is_ok()).count();
            assert_eq!(sent, CLIENTS);
            drop(connections);
            // Until these requests are finished, further ones may be refused.
            let answer = async || {
                let reply = http::graphql(&address, &query(round), None).await.ok()?;
                let name = reply.json()["data"]["product"]["name"].as_str()?.to_owned();
                Some(name)
            };
            let name = eventually("an answer", Duration::from_mins(1), answer).await;
            assert_eq!(name, *expected);
        }
        let created = connections_created(&uri).await - before;
        // The size of the pool, and a few connections of monitors.
        let pool = i64::from(StoreOptions::new(&uri, "vitrine").max_pool);
        assert!(created <= pool + 8, "{created} connections");
        assert!(service.stop().await.success());
    });
}

/// The number of connections that this mongod has accepted so far.
async fn connections_created(uri: &str) -> i64 {
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let status = doc! { "serverStatus": 1 };
    let status = client.database("admin").run_command(status).await.unwrap();
    let connections = status.get_document("connections").unwrap();
    let created = connections.get("totalCreated");
    let created = created.and_then(|n| n.as_i64().or_else(|| n.as_i32().map(i64::from)));
    created.expect("a count of connections")
}

#[test]
fn the_audit_reports_damage() {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().to_str().unwrap().to_owned();
    block_on(async {
        let service = start(&data);
        service.ready().await;
        let uri = uri(data.path());
        add_product(&uri, "Damaged").await;
        let audit = || run(&["audit", "--data-dir", &directory]);
        let clean = audit();
        assert!(clean.status.success());
        assert_eq!(
            String::from_utf8(clean.stdout).unwrap().lines().last(),
            Some("0 differences")
        );
        let client = mongodb::Client::with_uri_str(&uri).await.unwrap();
        let products = client
            .database("vitrine")
            .collection::<Document>("products");
        products
            .update_many(
                doc! {},
                doc! { "$set": { "stats.histogram": [1_i64, 0_i64, 0_i64, 0_i64, 0_i64] } },
            )
            .await
            .unwrap();
        let found = audit();
        assert!(!found.status.success());
        let said = String::from_utf8(found.stdout).unwrap();
        assert!(
            said.contains("stats is ") && said.ends_with("differences\n"),
            "{said}"
        );
        // Values derived from the numbers are repaired, too.
        let wrong = doc! { "$set": { "rank.rating": 98, "stats.sum": 77_i64 } };
        products.update_many(doc! {}, wrong).await.unwrap();
        let mended = run(&["audit", "--repair", "--data-dir", &directory]);
        let said = String::from_utf8(mended.stdout).unwrap();
        assert!(mended.status.success(), "{said}");
        assert!(said.contains("1 products repaired"), "{said}");
        assert!(said.ends_with("0 differences\n"), "{said}");
        assert!(audit().status.success());
        assert!(service.stop().await.success());
    });
}

#[test]
fn a_database_with_a_missing_index_is_not_served() {
    test(async |app| {
        let name = format!("{}_new", app.store.database_name());
        let at = [
            "--mongodb-uri",
            app.uri(),
            "--database",
            &name,
            "--cursor-secret",
            "0123456789abcdef",
            "--token-secret",
            "0123456789abcdef0123456789abcdef",
        ];
        let serve = [&["serve", "--listen", "127.0.0.1:0"], at.as_slice()].concat();
        let migrate = [&["migrate", "up"], at.as_slice()].concat();
        let said = complaint(&serve);
        let last = said.lines().last().unwrap();
        assert!(last.ends_with("run `vitrine migrate up`"), "{said}");
        assert!(
            said.contains("the database lacks collection products\n"),
            "{said}"
        );
        assert!(run(&migrate).status.success());
        let database = app.direct().client().database(&name);
        let products = database.collection::<Document>("products");
        products.drop_index("popularity").await.unwrap();
        let said = complaint(&serve);
        assert!(
            said.contains("the database lacks index products.popularity\n"),
            "{said}"
        );
        let mended = run(&migrate);
        assert!(mended.status.success());
        let said = String::from_utf8(mended.stdout).unwrap();
        assert_eq!(
            said,
            "done: build indexes of products over 0 documents: popularity\n"
        );
        database.drop().await.unwrap();
    });
}

#[test]
fn an_import_says_by_its_exit_code_whether_all_was_read() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let mapping = r#"
            version = 1
            system = "shop"
            [product]
            external_id = "id"
            name = "name"
            kind = { value = "lamp" }
            category = { from = "category" }
        "#;
        let mapping = file("shop.toml", mapping.as_bytes());
        let whole = file(
            "whole.csv",
            b"id,name,category\n1,Lamp,Light\n2,Desk,Wood\n",
        );
        // A gzip file that ends after its header.
        let broken = file("broken.csv.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
        let code = |feed: &str, mapping: &str| {
            let rejects = format!("{feed}.rejects.jsonl");
            let database = app.store.database_name();
            let arguments = ["import", feed, "--mapping", mapping, "--rejects", &rejects];
            let at = ["--mongodb-uri", app.uri(), "--database", database];
            let output = run(&[arguments.as_slice(), at.as_slice()].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), said)
        };
        let (complete, said) = code(&whole, &mapping);
        assert_eq!(complete, Some(0), "{said}");
        let (cut_off, said) = code(&broken, &mapping);
        assert_eq!(cut_off, Some(2), "{said}");
        let (without_mapping, said) = code(&whole, "missing.toml");
        assert_eq!(without_mapping, Some(1), "{said}");
    });
}

#[test]
fn the_requests_that_an_image_is_trained_with_succeed() {
    let trained = Command::new(workspace_dir().join("docker/train"))
        .args([binary().as_os_str(), "2".as_ref()])
        .output()
        .expect("Python 3 is installed");
    let said = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{said}");
    let said = String::from_utf8_lossy(&trained.stdout);
    let pages = said.trim().strip_prefix("train: ");
    let pages = pages.and_then(|said| said.strip_suffix(" pages visited"));
    let pages: u64 = pages.expect("it says how many pages").parse().unwrap();
    assert!(pages > 0);
}
