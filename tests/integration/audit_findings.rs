//! What the worker `audit` found, kept for admins.

use std::fmt::Write as _;

use mongodb::bson::doc;
use serde_json::json;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{Answer, App, product, review, test};

const FINDINGS: &str = "{ auditFindings {
    lastRound { beganAt endedAt products differences }
    findings { product { name } field stored expected firstSeenAt lastSeenAt resolvedAt } } }";

async fn findings(app: &App) -> Answer {
    app.query(FINDINGS).as_admin().await
}

/// Runs the worker until it has gone through all products once more.
async fn round(app: &App, state: &mut MaintenanceState) {
    loop {
        app.clock.advance(1_000);
        app.catalog.work(Worker::Audit, state).await.unwrap();
        if state.audit.round {
            return;
        }
    }
}

async fn set_recommended(app: &App, slug: &str, yes: i64) {
    let products = app
        .direct()
        .collection::<mongodb::bson::Document>("products");
    let set = doc! { "$set": { "stats.recommended.yes": yes } };
    products
        .update_one(doc! { "slug": slug }, set)
        .await
        .unwrap();
}

#[test]
fn what_the_audit_finds_is_kept_until_a_later_round_no_longer_finds_it() {
    test(async |app| {
        app.has([product("Lamp"), product("Torch")]).await;
        app.has_reviews((0..3).map(|n| review("Lamp", n, 4).recommends(true)))
            .await;
        let before = findings(app).await;
        assert_eq!(
            *before.at("/auditFindings"),
            json!({ "lastRound": null, "findings": [] })
        );
        let mut state = MaintenanceState::default();
        set_recommended(app, "lamp", 7).await;
        round(app, &mut state).await;
        let wrong = findings(app).await;
        let first = wrong.at("/auditFindings/findings/0").clone();
        assert_eq!(first["product"], json!({ "name": "Lamp" }));
        assert_eq!(first["field"], "recommended");
        assert_eq!(first["firstSeenAt"], first["lastSeenAt"]);
        assert!(first["resolvedAt"].is_null());
        let last = wrong.at("/auditFindings/lastRound");
        assert_eq!(
            (&last["products"], &last["differences"]),
            (&json!(2), &json!(1))
        );
        // It is seen again, with the value of then.
        set_recommended(app, "lamp", 8).await;
        round(app, &mut state).await;
        let again = findings(app).await;
        let again = again.at("/auditFindings/findings");
        assert_eq!(again.as_array().unwrap().len(), 1);
        assert_eq!(again[0]["firstSeenAt"], first["firstSeenAt"]);
        assert_ne!(again[0]["lastSeenAt"], first["lastSeenAt"]);
        assert_ne!(again[0]["stored"], first["stored"]);
        set_recommended(app, "lamp", 3).await;
        round(app, &mut state).await;
        let resolved = findings(app).await;
        assert!(
            !resolved
                .at("/auditFindings/findings/0/resolvedAt")
                .is_null()
        );
        assert_eq!(resolved.number("/auditFindings/lastRound/differences"), 0);
        assert_eq!(
            resolved.at("/auditFindings/lastRound/endedAt"),
            resolved.at("/auditFindings/findings/0/resolvedAt")
        );
        // A difference that comes back is open again.
        set_recommended(app, "lamp", 9).await;
        round(app, &mut state).await;
        let open = findings(app).await;
        assert!(open.at("/auditFindings/findings/0/resolvedAt").is_null());
        set_recommended(app, "lamp", 3).await;
    });
}

#[test]
fn an_audit_without_differences_writes_at_the_end_of_a_round_only() {
    test(async |app| {
        app.has((0..3).map(|n| product(&format!("Lamp {n}")))).await;
        let mut state = MaintenanceState::default();
        app.forget_commands();
        round(app, &mut state).await;
        let mut writes = String::new();
        for command in app.sent() {
            if command.starts_with("update") {
                let _ = write!(writes, "{command}, ");
            }
        }
        assert_eq!(writes, "update audit_findings, update audit_rounds, ");
        assert_eq!(
            findings(app)
                .await
                .number("/auditFindings/lastRound/products"),
            3
        );
    });
}
