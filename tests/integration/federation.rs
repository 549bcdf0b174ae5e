//! The service as a subgraph of Apollo Federation.

mod entities;
mod supergraph;

use serde_json::{Value, json};
use vitrine_api::graphql::{subgraph, subgraph_sdl};
use vitrine_harness::process::run;
use vitrine_harness::{Answer, App, test};

/// The service as it runs with `--federation`.
fn as_subgraph(app: &App) -> App {
    let mut app = app.clone();
    app.engine = subgraph().unwrap();
    app
}

/// Asks for entities as a router does.
async fn entities(app: &App, selection: &str, representations: &[Value]) -> Answer {
    let query = format!(
        "query($representations: [_Any!]!) {{ _entities(representations: $representations) {{ {selection} }} }}"
    );
    app.query(&query)
        .with("representations", representations.to_vec())
        .await
}

#[test]
fn the_schema_for_routers_is_served_and_printed() {
    let printed = run(&["schema", "--federation"]);
    assert!(printed.status.success());
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(printed.trim_end(), subgraph_sdl().trim_end());
    let imports = r#"import: ["@inaccessible", "@key", "@shareable", "@tag"]"#;
    assert!(printed.contains(imports));
    test(async |app| {
        let app = as_subgraph(app);
        let served = app.query("{ _service { sdl } }").await;
        assert_eq!(served.text("/_service/sdl").trim_end(), printed.trim_end());
        served.assert_commands(&[]);
    });
}

#[test]
fn without_the_setting_no_caller_can_ask_for_entities() {
    test(async |app| {
        let product = json!({ "__typename": "Product", "sku": "a" });
        let refused = entities(app, "__typename", std::slice::from_ref(&product)).await;
        assert!(refused.errors()[0].starts_with("GRAPHQL_VALIDATION_FAILED"));
        let refused = app.query("{ _service { sdl } }").await;
        assert!(refused.errors()[0].starts_with("GRAPHQL_VALIDATION_FAILED"));
        let types = "{ __schema { types { name } } }";
        let listed = |answer: Answer| answer.pretty().contains("_Entity");
        assert!(!listed(app.query(types).await));
        assert!(listed(as_subgraph(app).query(types).await));
    });
}

/// Who may not read the schema may not read it in another form, but may ask for entities.
#[test]
fn a_hidden_schema_is_hidden_from_routers_too() {
    use vitrine_api::execution::GraphqlRequest;
    let engine = subgraph().unwrap();
    let hidden = |query: &str| {
        let prepared = engine.prepare(GraphqlRequest::new(query).hide_schema());
        prepared.err().map(|errors| errors[0].message.clone())
    };
    let message = "Introspection is switched off for this caller.";
    assert_eq!(hidden("{ _service { sdl } }").as_deref(), Some(message));
    assert_eq!(
        hidden("{ ...a } fragment a on Query { b: _service { sdl } }").as_deref(),
        Some(message)
    );
    assert_eq!(
        hidden("{ _entities(representations: []) { __typename } }"),
        None
    );
}
