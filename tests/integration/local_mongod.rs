//! A local mongod: downloaded, started, stopped, killed and started again.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use mongodb::Client;
use mongodb::bson::{Document, doc};
use tempfile::TempDir;
use vitrine_harness::eventually;
use vitrine_harness::mongod::find_mongod;
use vitrine_harness::process::signal;
use vitrine_mongod::{
    ExitReason, Instance, Mongod, ReplicaSet, Search, StartError, StartOptions, StopError,
};

const PINNED: &str = include_str!("../../docker/mongodb-version").trim_ascii();

/// Set for a second process of this test binary, which then runs an instance until it is killed.
const HOLD: &str = "VITRINE_TEST_HOLD";

async fn provisioned_in(cache_dir: &Path) -> Mongod {
    let search = Search {
        cache_dir: cache_dir.to_owned(),
        provision: true,
        ..Search::default()
    };
    Mongod::find(&search, &|_| ()).await.unwrap()
}

/// A script that prints the version as mongod does, and otherwise runs `body`.
async fn fake(directory: &TempDir, body: &str) -> Mongod {
    let path = directory.path().join("fake-mongod");
    let version = r#"if [ "$1" = --version ]; then echo "db version v6.0.5"; exit; fi"#;
    fs::write(&path, format!("#!/bin/sh\n{version}\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let search = Search {
        binary: Some(path),
        ..Search::default()
    };
    Mongod::find(&search, &|_| ()).await.unwrap()
}

fn options(data_dir: &Path) -> StartOptions {
    StartOptions {
        cache_mib: 256,
        ephemeral: true,
        test_commands: true,
        ..StartOptions::new(data_dir)
    }
}

async fn start(data_dir: &Path) -> Instance {
    Instance::start(&find_mongod().await.unwrap(), &options(data_dir))
        .await
        .unwrap()
}

async fn client(instance: &Instance) -> Client {
    Client::with_uri_str(instance.uri()).await.unwrap()
}

async fn insert(instance: &Instance, id: i32) {
    let things = client(instance).await.database("test").collection("things");
    things.insert_one(doc! { "_id": id }).await.unwrap();
}

async fn count(instance: &Instance) -> u64 {
    let database = client(instance).await.database("test");
    let things = database.collection::<Document>("things");
    things.count_documents(doc! {}).await.unwrap()
}

/// Returns true if the process is running and not a zombie.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[tokio::test]
async fn concurrent_downloads_produce_one_binary_of_the_pinned_version() {
    let cache = tempfile::tempdir().unwrap();
    let find = || provisioned_in(cache.path());
    let (first, second) = tokio::join!(find(), find());
    assert_eq!(first.version().to_string(), PINNED);
    assert_eq!(first.path(), second.path());
    let mut names: Vec<_> = fs::read_dir(cache.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            format!("mongod-{PINNED}-f07a739c821e"),
            "provision.lock".into()
        ]
    );
}

#[tokio::test]
async fn an_instance_has_transactions_and_test_commands_and_stops_with_clients_connected() {
    let data = tempfile::tempdir().unwrap();
    let instance = start(data.path()).await;
    let (client, pid) = (client(&instance).await, instance.pid());
    let things = client.database("test").collection("things");

    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    things
        .insert_one(doc! { "_id": 1 })
        .session(&mut session)
        .await
        .unwrap();
    session.abort_transaction().await.unwrap();
    assert_eq!(count(&instance).await, 0);

    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    client.database("admin").run_command(off).await.unwrap();

    assert!(is_running(pid));
    assert!(instance.log_path().is_file());
    instance.stop().await.unwrap();
    assert!(!is_running(pid));
}

/// Transactions of a killed process conflict with others for seconds, not for a minute.
#[tokio::test]
async fn abandoned_transactions_are_aborted_after_20_seconds() {
    let data = tempfile::tempdir().unwrap();
    let instance = start(data.path()).await;
    let admin = client(&instance).await.database("admin");
    let limit = doc! { "getParameter": 1, "transactionLifetimeLimitSeconds": 1 };
    let limit = admin.run_command(limit).await.unwrap();
    assert_eq!(
        limit.get_i32("transactionLifetimeLimitSeconds").ok(),
        Some(20)
    );
    instance.stop().await.unwrap();
}

#[tokio::test]
async fn three_members_elect_one_primary() {
    let data = tempfile::tempdir().unwrap();
    let members = ["a", "b", "c"].map(|name| options(&data.path().join(name)));
    let election = Duration::from_secs(2);
    let set = ReplicaSet::start(&find_mongod().await.unwrap(), &members, election)
        .await
        .unwrap();
    // Until one is elected again, if the machine was too busy for heartbeats.
    let one = async || {
        let mut primaries = 0;
        for member in set.members() {
            primaries += u32::from(member.is_primary().await);
        }
        (primaries == 1).then_some(())
    };
    eventually("one primary", Duration::from_secs(20), one).await;
    let client = Client::with_uri_str(set.uri()).await.unwrap();
    let things = client.database("test").collection("things");
    things.insert_one(doc! { "_id": 1 }).await.unwrap();
}

#[tokio::test]
async fn a_second_start_keeps_the_data_and_the_port() {
    let data = tempfile::tempdir().unwrap();
    let first = start(data.path()).await;
    insert(&first, 1).await;
    let uri = first.uri().to_owned();
    first.stop().await.unwrap();

    let second = start(data.path()).await;
    assert_eq!(second.uri(), uri);
    assert_eq!(count(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_start_at_another_port_keeps_the_data() {
    let data = tempfile::tempdir().unwrap();
    let first = start(data.path()).await;
    insert(&first, 1).await;
    let uri = first.uri().to_owned();
    first.stop().await.unwrap();

    let address = uri
        .trim_start_matches("mongodb://")
        .split('/')
        .next()
        .unwrap();
    occupy(address);
    let second = start(data.path()).await;
    assert_ne!(second.uri(), uri);
    insert(&second, 2).await;
    assert_eq!(count(&second).await, 2);
    second.stop().await.unwrap();
}

/// Occupies a port until the process ends, like a program with another protocol.
fn occupy(address: &str) {
    let listener = TcpListener::bind(address).unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
}

#[tokio::test]
async fn dropping_an_instance_stops_it_and_the_next_start_waits_for_that() {
    let data = tempfile::tempdir().unwrap();
    let first = start(data.path()).await;
    insert(&first, 1).await;
    drop(first);
    let second = start(data.path()).await;
    assert_eq!(count(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_killed_mongod_is_noticed_and_the_next_start_recovers() {
    let data = tempfile::tempdir().unwrap();
    let mut first = start(data.path()).await;
    insert(&first, 1).await;
    assert!(first.exit().is_none());
    assert!(signal(first.pid(), "KILL"));
    let error = first.stop().await.unwrap_err();
    assert!(
        matches!(error, StopError::Exited(ExitReason::Unexplained { status, .. }) if status == "signal 9")
    );
    let second = start(data.path()).await;
    assert_eq!(count(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn after_kill_9_of_the_owner_no_mongod_is_left_and_the_next_start_recovers() {
    let data = tempfile::tempdir().unwrap();
    let (mut owner, pid) = hold_in_another_process(data.path());
    assert!(is_running(pid));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let next = start(data.path()).await;
    let gone = async || (!is_running(pid)).then_some(());
    eventually("the end of mongod", Duration::from_secs(20), gone).await;
    assert_eq!(count(&next).await, 1);
    next.stop().await.unwrap();
}

/// Starts this test binary once more, as a process that owns an instance with one document;
/// returns it with the process id of its mongod.
fn hold_in_another_process(data_dir: &Path) -> (Child, u32) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "local_mongod::holder", "--nocapture"]);
    command.env(HOLD, data_dir).stdout(Stdio::piped());
    let mut owner = command.spawn().unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let pid = lines.map_while(Result::ok).find_map(|line| {
        let (_, pid) = line.split_once("holding process ")?;
        pid.parse().ok()
    });
    (owner, pid.unwrap())
}

/// Not a test: the body of the process that is killed.
#[tokio::test]
async fn holder() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a process has no other argument here"
    )]
    let Some(data_dir) = env::var_os(HOLD) else {
        return;
    };
    let instance = start(Path::new(&data_dir)).await;
    insert(&instance, 1).await;
    println!("\nholding process {}", instance.pid());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_full_disk_is_one_clear_message() {
    let data = tempfile::tempdir().unwrap();
    let line = r#"{"s":"F","msg":"Terminating.","attr":{"reason":"28: No space left on device"}}"#;
    let mongod = fake(&data, &format!("echo '{line}'; exit 14")).await;
    let error = Instance::start(&mongod, &options(data.path()))
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        StartError::Exited(ExitReason::DiskFull { .. })
    ));
    assert!(
        error
            .to_string()
            .starts_with("mongod did not start: its disk is full; free some")
    );
}

#[tokio::test]
async fn no_usable_port_is_one_clear_message() {
    let data = tempfile::tempdir().unwrap();
    let mongod = fake(&data, "exit 48").await;
    let error = Instance::start(&mongod, &options(data.path()))
        .await
        .unwrap_err();
    assert!(matches!(error, StartError::Ports { attempts: 5 }));
}

#[tokio::test]
async fn the_error_of_an_invalid_command_line_is_quoted() {
    let data = tempfile::tempdir().unwrap();
    let mongod = fake(&data, "echo 'Error parsing command line' >&2; exit 2").await;
    let error = Instance::start(&mongod, &options(data.path()))
        .await
        .unwrap_err();
    let message = error.to_string();
    assert!(message.contains("exit code 2"), "{message}");
    assert!(
        message.ends_with("\n  Error parsing command line"),
        "{message}"
    );
}
