//! What the users of the database must be allowed to do, and what happens when they are not.

use std::process::Output;

use mongodb::bson::doc;
use vitrine_harness::documents::Document;
use vitrine_harness::process::{Service, run};
use vitrine_harness::{eventually, http};

use crate::secured::{Secured, User};
use crate::{SECRETS, WITHIN, at, block_on, has_status, serve};

/// The table in docs/operations.md: the roles of the user of each command.
const TABLE: [(&str, &str); 3] = [
    ("`serve`, `work`, `import`, `audit`", "`readWrite`"),
    (
        "`migrate up`",
        "`readWrite`, and the action `collMod` on the database",
    ),
    (
        "`export`, `migrate status`, `migrate up --dry-run`",
        "`read`",
    ),
];

const SHOP: User<'_> = User {
    name: "shop",
    roles: &[("readWrite", "shop")],
    actions: &[],
};
const MIGRATOR: User<'_> = User {
    name: "migrator",
    roles: &[("readWrite", "shop")],
    actions: &["collMod"],
};
const READER: User<'_> = User {
    name: "reader",
    roles: &[("read", "shop")],
    actions: &[],
};

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

/// Runs a command that must succeed; returns what it prints.
#[track_caller]
fn succeeds(uri: &str, command: &[&str]) -> String {
    let output = run(&at(uri, command));
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    text(&output)
}

/// Runs a command that must fail; returns its error.
#[track_caller]
fn fails(uri: &str, command: &[&str]) -> String {
    let output = run(&at(uri, command));
    assert!(!output.status.success(), "{command:?}: {}", text(&output));
    let said = text(&output);
    let error = said.lines().find(|line| line.starts_with("error: "));
    error
        .unwrap_or_else(|| panic!("no error in {said}"))
        .to_owned()
}

#[test]
fn the_table_of_privileges_is_what_the_test_grants() {
    let rows = Document::read("docs/operations.md").rows("Privileges");
    let shown: Vec<(&str, &str)> = rows.iter().map(|row| (&*row[0], &*row[1])).collect();
    assert_eq!(shown, TABLE);
}

#[test]
fn every_command_works_with_the_privileges_of_its_row() {
    block_on(async {
        let server = Secured::start(&[SHOP, MIGRATOR, READER], &[]).await;
        let [shop, migrator, reader] = ["shop", "migrator", "reader"].map(|user| server.uri(user));
        succeeds(&migrator, &["migrate", "up"]);
        let (service, address) = serve(&shop, &[]).await;
        let work = Service::start(&at(&shop, &["work", "--monitor-listen", "127.0.0.1:0"]));
        let monitor = work.listening().await;
        let ran = async || {
            let metrics = http::get(&monitor, "/metrics").await.ok()?.body;
            metrics
                .contains("vitrine_worker_runs_total{worker=\"trending\"}")
                .then_some(())
        };
        eventually("a worker that has run", WITHIN, ran).await;
        let token = run(&["token", "--token-secret", SECRETS[3]]).stdout;
        let token = String::from_utf8(token).unwrap();
        let create =
            "mutation { createCategory(input: { name: \"Lamps\" }) { category { slug } } }";
        let created = http::graphql(&address, create, Some(token.trim())).await;
        let created = created.unwrap().json();
        assert_eq!(
            created["data"]["createCategory"]["category"]["slug"],
            "lamps"
        );
        let out = server.directory().join("out.jsonl");
        let out = out.to_str().unwrap();
        succeeds(&reader, &["export", "--out", out]);
        succeeds(&shop, &["import", out]);
        succeeds(&shop, &["audit"]);
        succeeds(&reader, &["export", "--digest"]);
        succeeds(&reader, &["migrate", "status"]);
        let dry = succeeds(&reader, &["migrate", "up", "--dry-run"]);
        assert!(dry.contains("nothing to migrate"), "{dry}");
        for mut process in [service, work] {
            assert!(!process.output().contains("failed"), "{}", process.output());
            process.signal("TERM");
            assert!(process.ended().await.success());
            assert!(
                process.output().contains("stopping after SIGTERM"),
                "{}",
                process.output()
            );
        }
    });
}

#[test]
fn missing_privileges_are_noticed_before_anything_is_made() {
    block_on(async {
        let server = Secured::start(&[SHOP, MIGRATOR, READER], &[]).await;
        let (shop, reader) = (server.uri("shop"), server.uri("reader"));
        let admin = server.admin().await;
        let made = async || {
            let database = admin.client().database("shop");
            database.list_collection_names().await.unwrap()
        };
        for (uri, lacking) in [
            (&shop, "collMod"),
            (
                &reader,
                "collMod, createCollection, createIndex, insert, update",
            ),
        ] {
            for command in [
                ["migrate", "up"].as_slice(),
                &["migrate", "up", "--dry-run"],
            ] {
                let said = fails(uri, command);
                let expected = format!(
                    "lacks privileges that a migration of shop needs: {lacking}; nothing was changed"
                );
                assert!(said.contains(&expected), "{said}");
                assert_eq!(made().await, [""; 0], "{command:?}");
            }
        }
        let status = run(&at(&reader, &["migrate", "status"]));
        assert_eq!(status.status.code(), Some(1), "{}", text(&status));
        let feed = server.directory().join("feed.csv");
        std::fs::write(&feed, "Handle,Title\n").unwrap();
        let rejects = server.directory().join("rejects.jsonl");
        let (feed, rejects) = (feed.to_str().unwrap(), rejects.to_str().unwrap());
        let import = ["import", feed, "--mapping", "shopify", "--rejects", rejects];
        let said = fails(&shop, &import);
        assert!(said.contains("lacks privileges"), "{said}");
        assert_eq!(made().await, [""; 0]);
    });
}

/// The server answers pings without a user, so they do not show that the user is gone.
#[test]
fn a_process_whose_user_is_removed_is_not_ready_and_says_why() {
    block_on(async {
        let server = Secured::start(&[SHOP, MIGRATOR], &[]).await;
        succeeds(&server.uri("migrator"), &["migrate", "up"]);
        let (service, address) = serve(&server.uri("shop"), &[]).await;
        let admin = server.admin().await;
        admin
            .run_command(doc! { "dropUser": "shop" })
            .await
            .unwrap();
        has_status(&address, "/health/ready", 503).await;
        let reply = http::get(&address, "/health/ready").await.unwrap();
        let reason = "the database refuses this process; the log says why";
        assert_eq!(reply.json()["reason"], reason);
        let refused = async || {
            let query = "{ categories { slug } }";
            let reply = http::graphql(&address, query, None).await.ok()?;
            (reply.status == 503).then(|| reply.json())
        };
        let answer = eventually("requests that are refused", WITHIN, refused).await;
        let error = &answer["errors"][0]["extensions"];
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&"UNAVAILABLE".into(), &true.into())
        );
        let said = service.output();
        let line = said
            .lines()
            .find(|line| line.contains("worker failed"))
            .unwrap();
        assert!(
            line.contains("is not signed in any more: it was removed"),
            "{line}"
        );
        assert!(!said.contains("RawDocumentBuf"), "{said}");
        let made = doc! { "createUser": "shop", "pwd": crate::secured::PASSWORD, "roles": [{ "role": "readWrite", "db": "shop" }] };
        admin.run_command(made).await.unwrap();
        has_status(&address, "/health/ready", 200).await;
        assert!(service.stop().await.success());
    });
}
