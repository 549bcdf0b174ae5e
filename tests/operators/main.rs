//! What operators rely on: least privileges, reasons that say what to do, alerts, proxies. Against the programs that
//! operators run; tests are left out where one is missing.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod monitoring;
mod obstacles;
mod privileges;
mod programs;
mod proxies;
mod secured;
mod settings;
mod tokens;

use tokio::runtime::Builder;
use vitrine_harness::process::Service;
use vitrine_harness::{eventually, http};

/// A generous deadline for a busy machine.
const WITHIN: std::time::Duration = std::time::Duration::from_mins(1);
/// The secrets of processes of the tests.
const SECRETS: [&str; 4] = [
    "--cursor-secret",
    "0123456789abcdef",
    "--token-secret",
    "0123456789abcdef0123456789abcdef",
];

/// Runs the body of a test.
fn block_on(test: impl Future<Output = ()>) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.unwrap().block_on(test);
}

/// The arguments of a command on the database `shop` at this address.
fn at<'a>(uri: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    let database = ["--mongodb-uri", uri, "--database", "shop"];
    [command, &database, &SECRETS].concat()
}

/// Waits until a page has this status.
async fn has_status(address: &str, path: &str, status: u16) {
    let look = async || {
        let reply = http::get(address, path).await.ok()?;
        (reply.status == status).then_some(())
    };
    eventually(&format!("{path} that says {status}"), WITHIN, look).await;
}

/// Starts `serve` on the database `shop` at this address; returns it with its own address when it is ready.
async fn serve(uri: &str, options: &[&str]) -> (Service, String) {
    let command = ["serve", "--listen", "127.0.0.1:0", "--public-metrics"];
    let service = Service::start(&at(uri, &[&command, options].concat()));
    let address = service.listening().await;
    has_status(&address, "/health/ready", 200).await;
    (service, address)
}
