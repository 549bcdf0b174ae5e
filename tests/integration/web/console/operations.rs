//! The operations of the console: each is for the role in its first line, and within its limit.

use apollo_compiler::ast::OperationType;
use apollo_compiler::{ExecutableDocument, Schema};
use serde_json::{Value, json};
use vitrine_api::graphql::{Access, access};
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::{product, test};
use vitrine_web::{Operation, console_operations};

/// What staff may ask for at once, in units of cost.
const STAFF_LIMIT: u64 = 100_000;

/// The role in the first line of an operation.
fn role(operation: &Operation) -> &str {
    let line = operation.text.lines().next().unwrap();
    let role = line.strip_prefix("# Role: ");
    role.unwrap_or_else(|| panic!("{} says no role", operation.name))
}

fn schema() -> apollo_compiler::validation::Valid<Schema> {
    let sdl = std::fs::read_to_string(workspace_dir().join("schema/vitrine.graphql")).unwrap();
    Schema::parse_and_validate(sdl, "vitrine.graphql").unwrap()
}

#[test]
fn every_operation_is_open_to_the_role_in_its_first_line() {
    let schema = schema();
    for operation in console_operations() {
        let text = operation.text.as_str();
        let document = ExecutableDocument::parse_and_validate(&schema, text, operation.name);
        let document = document.unwrap();
        let parsed = &document.operations.named[operation.name];
        let root = match parsed.operation_type {
            OperationType::Mutation => "Mutation",
            _ => "Query",
        };
        for field in parsed.root_fields(&document) {
            if field.name.starts_with("__") {
                continue;
            }
            let open = match access(&format!("{root}.{}", field.name)).unwrap() {
                Access::Roles(roles) => roles.iter().any(|one| one.name() == role(operation)),
                _ => true,
            };
            assert!(open, "{}: {} is not open", operation.name, field.name);
        }
    }
}

#[test]
fn the_editor_reads_the_details_of_every_kind() {
    let schema = schema();
    let details = schema.get_input_object("ProductDetailsInput").unwrap();
    let edited = console_operations()
        .iter()
        .find(|one| one.name == "EditProduct");
    let text = &edited.unwrap().text;
    for kind in details.fields.keys() {
        let mut letters = kind.chars();
        let first = letters.next().unwrap().to_ascii_uppercase();
        let fragment = format!("... on {first}{} {{", letters.as_str());
        assert!(text.contains(&fragment), "{fragment}");
    }
}

/// Variables with which an operation costs most.
fn variables(name: &str) -> Value {
    let range = json!({ "from": "2026-01-01T00:00:00Z", "to": "2026-05-01T00:00:00Z" });
    match name {
        "Queue" => json!({ "first": 20 }),
        "OneReview" | "EditProduct" | "PublicProduct" | "OneSupplier" | "SupplierName" => {
            json!({ "id": "x" })
        }
        "Fairness" => range,
        "ProductTable" => {
            json!({ "first": 50, "search": "lamp", "keys": ["a", "b", "c", "d", "e"] })
        }
        "MatchingProducts" | "FindProducts" | "FindCategories" | "FindSuppliers"
        | "FindSpecKeys" => json!({ "search": "lamp" }),
        "ProductNames" => json!({ "ids": ["x"] }),
        "Activity" => json!({ "id": "x", "range": range, "resolution": "DAY" }),
        "OneSpecKey" => json!({ "key": "power" }),
        "SuggestedKeys" => json!({ "kind": "lamp" }),
        "OneImport" => json!({ "id": "aQAAAAAAAAA" }),
        "OneBulkChange" => json!({ "id": "YgAAAAAAAAA" }),
        "History" => json!({ "id": "cAAAAAAAAAA" }),
        "CategoryPath" => json!({ "slug": "x" }),
        "OneCategory" => json!({ "slug": "x", "filter": { "category": ["x"] } }),
        "Trending" => json!({ "window": "WEEK" }),
        "ExportAuthor" => json!({ "authorId": "ada" }),
        _ => json!({}),
    }
}

#[test]
fn every_query_is_within_what_its_role_may_ask_for() {
    test(async |app| {
        app.has([product("Lamp").kind("lamp").number("power", 40.0)])
            .await;
        for operation in console_operations() {
            if operation.text.contains("\nmutation ") {
                continue;
            }
            let mut request = app.query(&operation.text);
            for (name, value) in variables(operation.name).as_object().unwrap() {
                request = request.with(name, value.clone());
            }
            let answer = match role(operation) {
                "moderator" => request.as_moderator("mia").await,
                "admin" => request.as_admin().await,
                other => panic!("{} is for {other}", operation.name),
            };
            let errors = answer.errors();
            let refused = errors.iter().any(|error| {
                ["COST_EXCEEDED", "FORBIDDEN", "GRAPHQL_VALIDATION_FAILED"]
                    .iter()
                    .any(|code| error.starts_with(code))
            });
            assert!(!refused, "{}: {errors:?}", operation.name);
            let cost = answer.cost()["requested"].as_u64().unwrap();
            assert!(cost <= STAFF_LIMIT / 4, "{} costs {cost}", operation.name);
        }
    });
}
