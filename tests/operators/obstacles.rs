//! One sentence for each way in which a connection string can be wrong: which of them it is, and what to do.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::process::{Service, run};
use vitrine_harness::{Members, eventually};

use crate::programs::free_port;
use crate::secured::{PASSWORD, Secured, User};
use crate::{WITHIN, at, block_on};

const SHOP: User<'_> = User {
    name: "shop",
    roles: &[("readWrite", "shop")],
    actions: &[],
};
const NOBODY: User<'_> = User {
    name: "nobody",
    roles: &[],
    actions: &[],
};

/// What `serve` says of this connection string: that it waits, or why it ends.
async fn complaint(uri: &str) -> String {
    let service = Service::start(&at(uri, &["serve", "--listen", "127.0.0.1:0"]));
    let look = async || {
        let output = service.output();
        let mut lines = output.lines();
        let line = lines.find_map(|line| {
            let waits = line
                .split_once("waiting for MongoDB: ")
                .map(|(_, what)| what);
            waits.or_else(|| line.strip_prefix("error: "))
        });
        line.map(str::to_owned)
    };
    let said = eventually("a complaint", WITHIN, look).await;
    assert!(
        !said.contains("Kind:") && !said.contains("Topology"),
        "{said}"
    );
    assert!(!said.contains(PASSWORD) && said.len() < 400, "{said}");
    said
}

/// Asserts what is said of each connection string.
async fn complaints(expected: &[(String, &str)]) {
    for (uri, sentence) in expected {
        let said = complaint(uri).await;
        assert!(said.contains(sentence), "{uri}: {said}");
    }
}

const REACH: &str =
    "check VITRINE_MONGODB_URI, and that the server is running and reachable from here";

#[test]
fn a_wrong_address_or_set_is_named() {
    block_on(async {
        let members = Members::start().await.unwrap();
        let uri = members.uri();
        let hosts = uri
            .trim_start_matches("mongodb://")
            .split('/')
            .next()
            .unwrap();
        let hosts: Vec<&str> = hosts.split(',').collect();
        let secondary = members.secondaries().await[0];
        let closed = free_port();
        complaints(&[
            (
                format!("mongodb://127.0.0.1:{closed}/?replicaSet=vitrine"),
                &format!("nothing listens at 127.0.0.1:{closed}; {REACH}"),
            ),
            (
                "mongodb://db.invalid/?replicaSet=vitrine".to_owned(),
                &format!("no machine is called db.invalid; {REACH}"),
            ),
            (
                format!("mongodb://{}/?replicaSet=other", hosts[0]),
                &format!("the replica set at {} is called vitrine, not other; set replicaSet=vitrine in VITRINE_MONGODB_URI", hosts[0]),
            ),
            (
                format!("mongodb://{}/?directConnection=true", hosts[secondary]),
                &format!("{} is a secondary, and directConnection", hosts[secondary]),
            ),
            (
                format!("mongodb://{}/?replicaSet=vitrine&tls=true", hosts[0]),
                &format!("the server at {} does not use TLS; remove tls=true from VITRINE_MONGODB_URI", hosts[0]),
            ),
            (
                hosts[0].to_owned(),
                "VITRINE_MONGODB_URI is not a connection string",
            ),
            (
                format!("mongodb://{}/?tls=true&tlsCAFile=/missing.pem", hosts[0]),
                "the TLS files in VITRINE_MONGODB_URI cannot be used",
            ),
        ])
        .await;
        // Without a majority, the last member cannot stay or become primary.
        members.kill(secondary);
        members.kill(members.primary().await);
        assert_names_the_dead(&uri, hosts[secondary]).await;
    });
}

/// Asserts that a set without a primary is said to have none, and which member does not answer.
async fn assert_names_the_dead(uri: &str, dead: &str) {
    let look = async || {
        let said = complaint(uri).await;
        said.contains("has no primary").then_some(said)
    };
    let said = eventually("no primary", WITHIN, look).await;
    for part in [
        "the replica set vitrine has no primary; these members do not answer: ",
        dead,
        "; start its members: a majority of them elects the primary",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_wrong_user_password_or_privilege_is_named() {
    block_on(async {
        let server = Secured::start(&[SHOP, NOBODY], &[]).await;
        let wrong = "the server does not accept the user";
        complaints(&[
            (
                server.uri_with("shop", "wrong", ""),
                &format!("{wrong} shop of the database admin: correct the name, the password or the authSource in VITRINE_MONGODB_URI"),
            ),
            (
                server.uri_with("ada", PASSWORD, ""),
                &format!("{wrong} ada of the database admin"),
            ),
            (
                server.uri("shop").replace("authSource=admin", "authSource=shop"),
                &format!("{wrong} shop of the database shop"),
            ),
            (
                format!("mongodb://{}/?replicaSet=vitrine", server.host),
                "the server expects a user: set VITRINE_MONGODB_URI to mongodb://USER:PASSWORD@HOST/?authSource=admin",
            ),
            (
                server.uri("nobody"),
                "the user nobody of the database admin may not run",
            ),
        ])
        .await;
        for command in [
            ["audit"].as_slice(),
            &["migrate", "status"],
            &["migrate", "up"],
        ] {
            let output = run(&at(&server.uri_with("shop", "wrong", ""), command));
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains(wrong) && said.len() < 600, "{said}");
        }
    });
}

#[test]
fn tls_that_is_missing_or_not_trusted_is_named() {
    block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let (authority, pair) = certificate(directory.path());
        let pair = pair.to_str().unwrap();
        let server = Secured::start(
            &[SHOP],
            &["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", pair],
        )
        .await;
        let host = &server.host;
        let trusted = format!("&tls=true&tlsCAFile={}", authority.display());
        complaints(&[
            (
                server.uri("shop"),
                &format!("the server at {host} expects TLS; add tls=true to VITRINE_MONGODB_URI"),
            ),
            (
                server.uri_with("shop", PASSWORD, "&tls=true"),
                &format!("the certificate of {host} is not trusted: "),
            ),
            (
                server.uri_with("shop", PASSWORD, &trusted),
                &format!("the certificate of {host} is not trusted: "),
            ),
            (
                // The members call themselves 127.0.0.1.
                server
                    .uri_with("shop", PASSWORD, &trusted)
                    .replace("127.0.0.1", "localhost"),
                &format!("the certificate of {host} is not trusted: "),
            ),
            (
                server
                    .uri_with("shop", "wrong", &format!("{trusted}&directConnection=true"))
                    .replace("127.0.0.1", "localhost"),
                "the server does not accept the user shop",
            ),
        ])
        .await;
    });
}

/// Writes a certificate that is its own authority, and the same with its key, as `mongod` wants them.
fn certificate(directory: &Path) -> (PathBuf, PathBuf) {
    let fixtures = workspace_dir().join("services/server/src/auth/fixtures");
    let read = |name: &str| BASE64_STANDARD.encode(fs::read(fixtures.join(name)).unwrap());
    let pem = |label: &str, body: &str| {
        let lines: Vec<&str> = body
            .as_bytes()
            .chunks(64)
            .map(|line| str::from_utf8(line).unwrap())
            .collect();
        format!(
            "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
            lines.join("\n")
        )
    };
    let certificate = pem("CERTIFICATE", &read("tls-test-certificate.der"));
    let key = pem("PRIVATE KEY", &read("tls-test-key.pk8"));
    let (authority, pair) = (directory.join("authority.pem"), directory.join("pair.pem"));
    fs::write(&authority, &certificate).unwrap();
    fs::write(&pair, certificate + &key).unwrap();
    (authority, pair)
}
