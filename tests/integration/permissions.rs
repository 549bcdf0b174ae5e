//! Who may use which field: the table of the service, compared with what it does.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vitrine_api::graphql::{Access, PERMISSIONS, Role, access};
use vitrine_harness::documents::Document;
use vitrine_harness::mutations::MUTATIONS;
use vitrine_harness::{Answer, App, http, product, test, token};
use vitrine_model::id::GlobalId;
use vitrine_model::import_run::NewImportRun;

use crate::mutations::input_of;
use crate::operators::with_service;

/// A query of each field in the table that is no mutation and no subscription, and where its value
/// is. `PRODUCT`, `REVIEW` and `SUPPLIER` stand for ids. The review is Ben's, about a product that
/// Ada has reviewed, too; she has voted for his.
const READS: &[(&str, &str, &str)] = &[
    ("Query.categories", "{ categories { slug } }", "/categories"),
    (
        "Query.category",
        r#"{ category(slug: "things") { slug } }"#,
        "/category",
    ),
    (
        "Query.dataVersions",
        "{ dataVersions { __typename } }",
        "/dataVersions",
    ),
    (
        "Query.auditFindings",
        "{ auditFindings { lastRound { products } } }",
        "/auditFindings",
    ),
    (
        "Query.bulkChange",
        r#"{ bulkChange(id: "BULK") { id } }"#,
        "/bulkChange",
    ),
    (
        "Query.bulkChanges",
        "{ bulkChanges { nodes { id } } }",
        "/bulkChanges",
    ),
    (
        "Query.exportAuthor",
        r#"{ exportAuthor(authorId: "ben") { lines } }"#,
        "/exportAuthor",
    ),
    (
        "Query.fairnessReport",
        r#"{ fairnessReport(from: "2026-05-01", to: "2026-05-02") { __typename } }"#,
        "/fairnessReport",
    ),
    (
        "Query.history",
        r#"{ history(id: "PRODUCT") { nodes { revision } } }"#,
        "/history",
    ),
    (
        "Query.import",
        r#"{ import(id: "IMPORT") { id } }"#,
        "/import",
    ),
    ("Query.imports", "{ imports { nodes { id } } }", "/imports"),
    (
        "Query.moderationCounts",
        "{ moderationCounts { total { value } } }",
        "/moderationCounts",
    ),
    (
        "Query.moderationQueue",
        "{ moderationQueue { nodes { id } } }",
        "/moderationQueue",
    ),
    ("Query.node", r#"{ node(id: "PRODUCT") { id } }"#, "/node"),
    (
        "Query.nodes",
        r#"{ nodes(ids: ["PRODUCT"]) { id } }"#,
        "/nodes",
    ),
    (
        "Query.product",
        r#"{ product(id: "PRODUCT") { id } }"#,
        "/product",
    ),
    (
        "Query.products",
        "{ products { nodes { id } } }",
        "/products",
    ),
    (
        "Query.ratingStatsAudit",
        "{ ratingStatsAudit { checked } }",
        "/ratingStatsAudit",
    ),
    (
        "Query.searchSuggestions",
        r#"{ searchSuggestions(prefix: "la") }"#,
        "/searchSuggestions",
    ),
    (
        "Query.specKey",
        r#"{ specKey(key: "color") { key } }"#,
        "/specKey",
    ),
    (
        "Query.specKeys",
        "{ specKeys { nodes { key } } }",
        "/specKeys",
    ),
    (
        "Query.suggestedSpecKeys",
        r#"{ suggestedSpecKeys(category: "things") { specKey { key } } }"#,
        "/suggestedSpecKeys",
    ),
    (
        "Query.supplier",
        r#"{ supplier(id: "SUPPLIER") { id } }"#,
        "/supplier",
    ),
    (
        "Query.suppliers",
        "{ suppliers { nodes { id } } }",
        "/suppliers",
    ),
    (
        "Query.trending",
        "{ trending(window: DAY) { rank } }",
        "/trending",
    ),
    ("Query.units", "{ units { symbol } }", "/units"),
    ("Query.viewer", "{ viewer { subject } }", "/viewer"),
    ("Query.workers", "{ workers { name } }", "/workers"),
    (
        "Product.activity",
        r#"{ product(id: "PRODUCT") { activity(range: { from: "2026-05-01", to: "2026-05-02" }, resolution: DAY) { views { value } } } }"#,
        "/product/activity",
    ),
    (
        "Category.feedPaths",
        r#"{ product(id: "PRODUCT") { category { feedPaths { names } } } }"#,
        "/product/category/feedPaths",
    ),
    (
        "Product.feeds",
        r#"{ product(id: "PRODUCT") { feeds } }"#,
        "/product/feeds",
    ),
    (
        "Product.outlier",
        r#"{ product(id: "PRODUCT") { outlier { hot } } }"#,
        "/product/outlier",
    ),
    (
        "Product.overrides",
        r#"{ product(id: "PRODUCT") { overrides { by } } }"#,
        "/product/overrides",
    ),
    (
        "Product.viewerReview",
        r#"{ product(id: "PRODUCT") { viewerReview { id } } }"#,
        "/product/viewerReview",
    ),
    (
        "ProductCounters.unitsSold",
        r#"{ product(id: "PRODUCT") { counters { unitsSold { value relation } } } }"#,
        "/product/counters/unitsSold",
    ),
    (
        "ProductCounters.unitsSoldInMonth",
        r#"{ product(id: "PRODUCT") { counters { unitsSoldInMonth { value relation } } } }"#,
        "/product/counters/unitsSoldInMonth",
    ),
    (
        "Review.moderation",
        r#"{ node(id: "REVIEW") { ... on Review { moderation { by } } } }"#,
        "/node/moderation",
    ),
    (
        "Review.queueReason",
        r#"{ node(id: "REVIEW") { ... on Review { queueReason } } }"#,
        "/node/queueReason",
    ),
    (
        "Review.queuedSince",
        r#"{ node(id: "REVIEW") { ... on Review { queuedSince } } }"#,
        "/node/queuedSince",
    ),
    (
        "Review.reports",
        r#"{ node(id: "REVIEW") { ... on Review { reports { by } } } }"#,
        "/node/reports",
    ),
    (
        "Review.versions",
        r#"{ node(id: "REVIEW") { ... on Review { versions { revision } } } }"#,
        "/node/versions",
    ),
    (
        "Review.viewerVote",
        r#"{ node(id: "REVIEW") { ... on Review { viewerVote } } }"#,
        "/node/viewerVote",
    ),
    (
        "ReviewReply.by",
        r#"{ node(id: "REVIEW") { ... on Review { reply { by } } } }"#,
        "/node/reply/by",
    ),
    (
        "Supplier.propagation",
        r#"{ supplier(id: "SUPPLIER") { propagation { productsBehind } } }"#,
        "/supplier/propagation",
    ),
    (
        "Supplier.source",
        r#"{ supplier(id: "SUPPLIER") { source { system } } }"#,
        "/supplier/source",
    ),
];

/// What a caller gets from a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    Value,
    Estimate,
    Null,
    Unauthenticated,
    Forbidden,
}

/// What a caller with this role must get; `None` stands for one without a token. The caller is
/// neither the author of what the field is about, nor unknown to it.
fn promised(access: Access, role: Option<Role>) -> Got {
    let has_role = |roles: &[Role]| role.is_some_and(|role| roles.contains(&role));
    match access {
        Access::Everyone => Got::Value,
        Access::Own if role.is_some() => Got::Value,
        Access::Roles(roles) | Access::ShownTo(roles) | Access::AuthorAnd(roles)
            if has_role(roles) =>
        {
            Got::Value
        }
        Access::Roles(_) if role.is_none() => Got::Unauthenticated,
        Access::Roles(_) => Got::Forbidden,
        Access::Own | Access::ShownTo(_) | Access::AuthorAnd(_) => Got::Null,
        Access::ExactFor(roles) if has_role(roles) => Got::Value,
        Access::ExactFor(_) => Got::Estimate,
    }
}

fn got(answer: &Answer, pointer: &str) -> Got {
    let error = answer.errors().first().cloned().unwrap_or_default();
    match error.split(' ').next().unwrap_or_default() {
        "UNAUTHENTICATED" => Got::Unauthenticated,
        "FORBIDDEN" => Got::Forbidden,
        "" => match answer.at(pointer) {
            Value::Null => Got::Null,
            value if value["relation"] == "ESTIMATE" => Got::Estimate,
            _ => Got::Value,
        },
        _ => panic!("{error}"),
    }
}

/// All callers: without a token, and Ada in each role.
fn callers() -> impl Iterator<Item = Option<Role>> {
    std::iter::once(None).chain(Role::ALL.map(Some))
}

async fn ask(app: &App, query: &str, role: Option<Role>) -> Answer {
    match role {
        None => app.query(query).await,
        Some(role) => app.query(query).with_roles("ada", &[role]).await,
    }
}

/// What the queries are about. Returns the ids by the words that stand for them.
async fn stock(app: &App) -> [(&'static str, String); 5] {
    let lamp = product("lamp").text("color", "red").supplier("North", "NO");
    app.has([lamp.supplier_id("7")]).await;
    let found = app
        .query(r#"{ product(slug: "lamp") { id supplier { supplierId } } }"#)
        .await;
    let lamp = found.text("/product/id");
    let review = |rating: i32| json!({ "productId": lamp, "rating": rating, "body": "Bright." });
    app.mutate_by("ada", "submitReview", review(5)).await;
    let of_ben = app.mutate_by("ben", "submitReview", review(4)).await;
    let id = of_ben.text("/review/id");
    let edited = json!({ "id": id, "title": "Bright", "expectedRevision": 1 });
    app.mutate_by("ben", "editReview", edited).await;
    for (by, mutation, input) in [
        ("ada", "voteReview", json!({ "id": id, "vote": "HELPFUL" })),
        ("ada", "reportReview", json!({ "id": id, "reason": "SPAM" })),
        (
            "max",
            "replyToReview",
            json!({ "id": id, "text": "Thank you." }),
        ),
    ] {
        app.mutate_by(by, mutation, input).await;
    }
    let import = app.catalog.record_import(NewImportRun::default(), 1).await;
    app.run_background_work().await;
    let bulk = json!({ "ids": [], "change": { "brand": "Silo" } });
    let bulk = app.mutate("startBulkChange", bulk).await;
    [
        ("PRODUCT", lamp.clone()),
        ("REVIEW", id),
        ("SUPPLIER", found.text("/product/supplier/supplierId")),
        ("IMPORT", GlobalId::Import(import.unwrap().id()).encode()),
        ("BULK", bulk.text("/bulkChange/id")),
    ]
}

#[test]
fn every_field_is_for_those_whom_the_table_names() {
    test(async |app| {
        let ids = stock(app).await;
        for (field, query, pointer) in READS {
            let mut query = (*query).to_owned();
            for (word, id) in &ids {
                query = query.replace(word, id);
            }
            let access = access(field).unwrap_or_else(|| panic!("{field} has no row"));
            for role in callers() {
                let got = got(&ask(app, &query, role).await, pointer);
                assert_eq!(got, promised(access, role), "{field} for {role:?}");
            }
        }
        // An author sees the versions of the own review in any role.
        let query = format!(
            r#"{{ node(id: "{}") {{ ... on Review {{ versions {{ revision }} }} }} }}"#,
            ids[1].1
        );
        let own = app.query(&query).as_shopper("ben").await;
        assert_eq!(own.at("/node/versions").as_array().unwrap().len(), 1);
    });
}

#[test]
fn every_mutation_is_for_those_whom_the_table_names() {
    test(async |app| {
        for mutation in MUTATIONS {
            let access = access(&format!("Mutation.{}", mutation.name)).unwrap();
            let input = match mutation.name {
                "recordActivity" => json!({ "events": [] }),
                name => input_of(name),
            };
            for role in callers() {
                let request = app.query(&mutation.document()).with("input", input.clone());
                let answer = match role {
                    None => request.await,
                    Some(role) => request.with_roles("ada", &[role]).await,
                };
                let got = got(&answer, "/it");
                assert_eq!(
                    got,
                    promised(access, role),
                    "{} for {role:?}",
                    mutation.name
                );
                if got != Got::Value {
                    assert_eq!(answer.sent_for_query(), [""; 0], "{}", mutation.name);
                }
            }
        }
    });
}

#[test]
fn everybody_may_subscribe() {
    test(async |app| {
        let [(_, lamp), ..] = stock(app).await;
        for field in ["ratingChanged", "reviewAdded"] {
            let row = access(&format!("Subscription.{field}"));
            assert_eq!(row, Some(Access::Everyone));
            let text = format!(r#"subscription {{ {field}(productId: "{lamp}") {{ kind }} }}"#);
            assert_eq!(app.subscribe(&text).event().await["kind"], "STARTED");
            let mut admin = app.subscribe_as_admin(&text);
            assert_eq!(admin.event().await["kind"], "STARTED");
        }
    });
}

#[test]
fn every_row_of_the_table_is_tried() {
    let tried = READS.iter().map(|(field, ..)| (*field).to_owned());
    let mutations = MUTATIONS.iter().map(|one| format!("Mutation.{}", one.name));
    let subscriptions = ["ratingChanged", "reviewAdded"].map(|one| format!("Subscription.{one}"));
    let tried: BTreeSet<String> = tried.chain(mutations).chain(subscriptions).collect();
    let rows: BTreeSet<String> = PERMISSIONS
        .iter()
        .map(|(row, _)| (*row).to_owned())
        .collect();
    assert_eq!(tried, rows);
}

/// The table as the guide for operators has it.
fn table() -> String {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (row, access) in PERMISSIONS {
        let (parent, field) = row.split_once('.').unwrap();
        let key = format!("{parent} | {}", words(*access));
        let field = format!("`{field}`");
        match lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, fields)) => fields.push(field),
            None => lines.push((key, vec![field])),
        }
    }
    let mut text =
        "| type | fields | who gets a value | what others get |\n|---|---|---|---|\n".to_owned();
    for (key, fields) in lines {
        let (parent, words) = key.split_once(" | ").unwrap();
        let line = format!("| `{parent}` | {} | {words} |\n", fields.join(", "));
        text.push_str(&line);
    }
    text
}

fn words(access: Access) -> String {
    let roles: Vec<_> = access
        .roles()
        .iter()
        .map(|role| format!("`{}`", role.name()))
        .collect();
    let roles = roles.join(", ");
    match access {
        Access::Everyone => "every caller | ".to_owned(),
        Access::Roles(_) => format!("{roles} | an error"),
        Access::ShownTo(_) => format!("{roles} | null"),
        Access::AuthorAnd(_) => format!("the author, {roles} | null"),
        Access::ExactFor(_) => format!("{roles}: exact | two significant digits"),
        Access::Own => "every caller with a token, about itself | null".to_owned(),
    }
}

#[test]
fn the_guide_shows_the_table() {
    let guide = Document::read("docs/operations.md");
    let table = table();
    assert!(
        guide.text.contains(&table),
        "docs/operations.md should have\n\n{table}"
    );
}

/// Caches may keep what strangers get for others: it must not depend on which of them asked. What
/// callers with a token get is theirs, whatever they asked for.
#[test]
fn caches_may_share_what_strangers_get_and_nothing_else() {
    test(async |app| {
        let ids = stock(app).await;
        let options = ["--cache-max-age", "60", "--trusted-proxy", "127.0.0.0/8"];
        with_service(app, &options, async |address, _| {
            let ada = format!("Bearer {}", token::token("ada", "shopper"));
            for (field, query, pointer) in READS {
                let mut query = (*query).to_owned();
                for (word, id) in &ids {
                    query = query.replace(word, id);
                }
                let get = async |headers: &[(&str, &str)]| {
                    let reply = http::get_graphql(address, &query, headers).await;
                    reply.unwrap()
                };
                let one = get(&[("x-forwarded-for", "192.0.2.1"), ("cookie", "who=ada")]).await;
                let other = get(&[("x-forwarded-for", "192.0.2.2")]).await;
                let access = access(field).unwrap();
                if let Access::Roles(_) = access {
                    assert_eq!(one.header("cache-control"), Some("no-store"), "{field}");
                    continue;
                }
                let public = Some("public, max-age=60");
                assert_eq!(one.header("cache-control"), public, "{field}: {one:?}");
                assert_eq!(
                    (&one.body, one.header("etag")),
                    (&other.body, other.header("etag"))
                );
                if let Access::Own | Access::ShownTo(_) | Access::AuthorAnd(_) = access {
                    let pointer = format!("/data{pointer}");
                    assert_eq!(one.json().pointer(&pointer), Some(&Value::Null), "{field}");
                }
                assert!(one.head.contains("vary: authorization"), "{one:?}");
                let own = get(&[("authorization", &ada)]).await;
                let private = Some("private, no-cache");
                assert_eq!(own.header("cache-control"), private, "{field}: {own:?}");
            }
        })
        .await;
    });
}
