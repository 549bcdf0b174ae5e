//! Connections of the real binary: where it listens, TLS, and what happens when it may open no more
//! files. None of this needs a database.

use std::time::Duration;

use tokio::net::TcpStream;
use vitrine_harness::process::{Service, run};
use vitrine_harness::{eventually, http};

use crate::process::block_on;

const LONG: Duration = Duration::from_mins(1);
const ANY: &str = "127.0.0.1:0";

/// The arguments of `serve` with a database that does not exist.
fn serve<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "serve",
        "--listen",
        ANY,
        "--mongodb-uri",
        "mongodb://127.0.0.1:1/?replicaSet=vitrine",
        "--cursor-secret",
        "0123456789abcdef",
        "--token-secret",
        "0123456789abcdef0123456789abcdef",
    ];
    [&common, arguments].concat()
}

/// Waits until the service says where its monitoring is; returns its address.
async fn monitor(service: &Service) -> String {
    let look = async || {
        let output = service.output();
        let (_, after) = output.split_once("metrics are at http://")?;
        Some(after.split('/').next()?.to_owned())
    };
    eventually("the address of metrics", LONG, look).await
}

async fn status(address: &str, path: &str) -> u16 {
    http::get(address, path).await.unwrap().status
}

#[test]
fn metrics_are_at_the_address_of_the_api_only_when_they_are_to_be() {
    block_on(async {
        let service = Service::start(&serve(&["--monitor-listen", ANY]));
        let (api, monitor) = (service.listening().await, monitor(&service).await);
        for path in ["/health/live", "/metrics"] {
            assert_eq!(status(&monitor, path).await, 200, "{path}");
        }
        assert_eq!(status(&api, "/health/live").await, 200);
        assert_eq!(status(&api, "/metrics").await, 404);
        assert_eq!(status(&monitor, "/graphql").await, 404);
        let expected = [
            "vitrine_connections 0",
            "vitrine_connection_events_total{event=\"accepted\"} 2",
            "vitrine_connection_events_total{event=\"refused_by_address\"} 0",
        ];
        // The service notices a moment later than its client that a connection has ended.
        let counted = async || {
            let metrics = http::get(&monitor, "/metrics").await.unwrap().body;
            let lines: Vec<_> = metrics.lines().collect();
            expected
                .iter()
                .all(|line| lines.contains(line))
                .then_some(())
        };
        eventually("two connections that have ended", LONG, counted).await;
        assert!(service.stop().await.success());

        let public = Service::start(&serve(&["--public-metrics"]));
        let api = public.listening().await;
        assert_eq!(status(&api, "/metrics").await, 200);
        assert!(public.stop().await.success());
    });
}

#[test]
fn a_certificate_that_cannot_be_read_is_reported_with_its_setting() {
    let output = run(&serve(&[
        "--tls-certificate",
        "/nowhere/certificate.pem",
        "--tls-key",
        "/nowhere/key.pem",
    ]));
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error: cannot read the certificate in /nowhere/certificate.pem \
                    (--tls-certificate, VITRINE_TLS_CERTIFICATE): No such file";
    assert!(said.contains(expected), "{said}");
}

/// Few lines say so, and the service goes on when there are files again.
#[test]
fn a_process_that_may_open_no_more_files_says_so_and_recovers() {
    const FILES: u32 = 48;
    block_on(async {
        let service = Service::start_with_files(FILES, &serve(&["--public-metrics"]));
        let api = service.listening().await;
        let mut silent = Vec::new();
        for _ in 0..2 * FILES {
            silent.push(TcpStream::connect(&api).await.unwrap());
        }
        let said = async || {
            let output = service.output();
            let lines = output.lines();
            let lines = lines.filter(|line| line.contains("connections cannot be accepted"));
            let count = lines.count();
            (count > 0).then_some(count)
        };
        let lines = eventually("a line about open files", LONG, said).await;
        assert!(
            service.output().contains("raise the limit of this process"),
            "{}",
            service.output()
        );
        drop(silent);
        let answered = async || {
            let reply = http::get(&api, "/metrics").await.ok()?;
            (reply.status == 200).then_some(reply.body)
        };
        let metrics = eventually("an answer", LONG, answered).await;
        let failures = metrics.lines().find_map(|line| {
            let count =
                line.strip_prefix("vitrine_connection_events_total{event=\"accept_failed\"} ");
            count?.parse::<usize>().ok()
        });
        assert!(failures.unwrap() >= lines, "{metrics}");
        assert!(service.stop().await.success());
    });
}
