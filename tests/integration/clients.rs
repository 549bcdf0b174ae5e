//! The client libraries of storefronts, and the audits of the specifications, against the real
//! service. Needs Node.js; see `tests/clients`.

use std::time::Duration;

use serde_json::{Value, json};
use vitrine_harness::node::Scripts;
use vitrine_harness::process::Service;
use vitrine_harness::{App, eventually, http, product, review, test};
use vitrine_storage::migrations::FILES;

/// Starts the service on the database of a test, as strangers see it.
async fn serve(app: &App) -> (Service, String) {
    let migrated = app.store.migrate(FILES, "test", false, &|_| {}).await;
    migrated.unwrap();
    let service = Service::start(&[
        "serve",
        "--public-introspection",
        "--cost-per-second",
        "0",
        "--listen",
        "127.0.0.1:0",
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
        "--cursor-secret",
        "0123456789abcdef",
        "--token-secret",
        "0123456789abcdef0123456789abcdef",
    ]);
    let address = service.listening().await;
    let open = async || {
        let answer = http::graphql(&address, "{ __typename }", None).await.ok()?;
        (answer.status == 200).then_some(())
    };
    eventually("a service that answers", Duration::from_mins(1), open).await;
    (service, address)
}

#[test]
fn client_libraries_and_audits_are_satisfied() {
    let Some(scripts) = Scripts::of("clients") else {
        return;
    };
    test(async |app| {
        let thing =
            |name: &str, brand: &str, color: &str| product(name).brand(brand).text("color", color);
        app.has([
            thing("lamp", "North", "red").supplier("North", "NO"),
            thing("chair", "North", "blue"),
            thing("table", "South", "red"),
        ])
        .await;
        app.has_reviews([review("lamp", 1, 5)]).await;
        app.run_background_work().await;
        let (service, address) = serve(app).await;
        let input = json!({
            "service": format!("http://{address}/graphql"),
            "sdl": app.engine.sdl(),
            "product": "lamp",
        });
        let results = scripts.run("run.mjs", &input);
        assert!(service.stop().await.success());
        let results = results.as_array().unwrap();
        let failed: Vec<&Value> = results
            .iter()
            .filter(|one| !one["error"].is_null())
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
        assert!(results.len() > 60, "{} checks", results.len());
    });
}
