//! The dashboard, the alerts and the optional containers.

use std::collections::BTreeSet;
use std::fs;

use saphyr::{LoadableYamlNode as _, YamlOwned};
use serde_json::Value;
use vitrine_harness::documents::Document;
use vitrine_harness::environment::workspace_dir;

fn read(path: &str) -> String {
    fs::read_to_string(workspace_dir().join(path)).unwrap()
}

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

/// Asserts that the program exports every metric that a text names, and that it names some.
fn assert_exported(path: &str, text: &str) {
    let exported = vitrine_server::metric_names();
    let is_sign = |sign: char| !sign.is_ascii_alphanumeric() && sign != '_';
    let words = text.split(is_sign);
    let named: BTreeSet<&str> = words.filter(|word| word.starts_with("vitrine_")).collect();
    assert!(!named.is_empty(), "{path} names metrics");
    for name in named {
        // A histogram is several series.
        let endings = ["", "_bucket", "_sum", "_count"];
        let known = endings.iter().any(|ending| {
            let of = name.strip_suffix(ending);
            of.is_some_and(|of| exported.iter().any(|known| known == of))
        });
        assert!(
            known,
            "{path} names {name}, which the program does not export"
        );
    }
}

/// The queries of a dashboard, at any depth.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let ("expr" | "query", Value::String(text)) = (key.as_str(), value) {
                    found.push(text.clone());
                }
                queries(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_shows_metrics_that_the_program_exports() {
    let path = "docker/grafana/dashboard.json";
    let mut found = Vec::new();
    queries(&json(path), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for query in &found {
        assert_exported(path, query);
    }
}

/// Reads a file of one YAML document.
fn yaml(path: &str) -> YamlOwned {
    let mut documents = YamlOwned::load_from_str(&read(path)).unwrap();
    assert_eq!(documents.len(), 1, "{path}");
    documents.remove(0)
}

/// The items of a list.
fn items(list: &YamlOwned) -> impl Iterator<Item = &YamlOwned> {
    list.as_sequence().into_iter().flatten()
}

#[test]
fn every_alert_has_a_metric_of_the_program_and_a_symptom_with_advice() {
    let path = "docker/prometheus/alerts.yaml";
    let file = yaml(path);
    let symptoms: Vec<String> = Document::read("docs/operations.md")
        .rows("Symptoms")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    let rules: Vec<&YamlOwned> = items(&file["groups"])
        .flat_map(|group| items(&group["rules"]))
        .collect();
    assert!(rules.len() > 5);
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        // `up` is of Prometheus itself.
        if name != "ProcessDown" {
            assert_exported(path, rule["expr"].as_str().unwrap());
        }
        let symptom = rule["annotations"]["symptom"].as_str().unwrap();
        assert!(
            symptoms.iter().any(|known| known == symptom),
            "{name}: docs/operations.md has no symptom {symptom:?}"
        );
    }
}

/// What is wrong with the volumes of a container.
fn wrong_volumes(name: &str, container: &YamlOwned, named: &YamlOwned) -> Vec<String> {
    let volumes = items(&container["volumes"]).map(|volume| volume.as_str().unwrap());
    // A directory of the operator's, which does not come with the file.
    let volumes = volumes.filter(|volume| !volume.starts_with("${VITRINE_FILES:-"));
    let wrong = volumes.filter(|volume| {
        let source = volume.split(':').next().unwrap();
        match source.strip_prefix("./") {
            Some(file) => !workspace_dir().join("docker").join(file).is_file(),
            None => named.as_mapping_get(source).is_none(),
        }
    });
    wrong.map(|volume| format!("{name}: {volume}")).collect()
}

#[test]
fn containers_mount_files_and_volumes_that_exist() {
    let compose = yaml("docker/compose.yaml");
    let containers = compose["services"].as_mapping().unwrap();
    let mut wrong = Vec::new();
    for (name, container) in containers {
        let name = name.as_str().unwrap();
        if container.as_mapping_get("volumes").is_some() {
            wrong.extend(wrong_volumes(name, container, &compose["volumes"]));
        }
        let is_optional = container.as_mapping_get("profiles").is_some();
        assert_eq!(
            is_optional,
            ["prometheus", "grafana"].contains(&name),
            "{name}"
        );
    }
    assert_eq!(wrong, [""; 0]);
    let rules = yaml("docker/prometheus/prometheus.yaml");
    let targets = &rules["scrape_configs"][0]["static_configs"][0]["targets"];
    for target in items(targets) {
        let host = target.as_str().unwrap().strip_suffix(":9090").unwrap();
        let container = &compose["services"][host];
        assert_eq!(container["expose"][0].as_str(), Some("9090"), "{host}");
    }
    for path in ["datasource.yaml", "dashboards.yaml"] {
        yaml(&format!("docker/grafana/provisioning/{path}"));
    }
}
