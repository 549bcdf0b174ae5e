//! The metrics, alerts and dashboard, judged by the programs that read them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use saphyr::{LoadableYamlNode as _, YamlOwned};
use serde_json::{Value, json};
use vitrine_harness::documents::Document;
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::process::{Service, run};
use vitrine_harness::{Members, eventually, http, tools};

use crate::programs::{Program, ask, program};
use crate::{WITHIN, at, block_on, has_status, serve};

const ALERTS: &str = "docker/prometheus/alerts.yaml";

fn read(path: &str) -> String {
    fs::read_to_string(workspace_dir().join(path)).unwrap()
}

/// The expressions of all alerts, by name.
fn alerts() -> BTreeMap<String, String> {
    let file = YamlOwned::load_from_str(&read(ALERTS)).unwrap().remove(0);
    let groups = file["groups"].as_sequence().unwrap();
    let rules = groups
        .iter()
        .flat_map(|group| group["rules"].as_sequence().unwrap());
    let text = |rule: &YamlOwned, field: &str| rule[field].as_str().unwrap().to_owned();
    rules
        .map(|rule| (text(rule, "alert"), text(rule, "expr")))
        .collect()
}

/// The queries of the dashboard, with an interval instead of Grafana's variable.
fn dashboard() -> Vec<String> {
    fn find(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(query)) = fields.get("expr") {
                    found.push(query.replace("$__rate_interval", "30s"));
                }
                fields.values().for_each(|value| find(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| find(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let file = read("docker/grafana/dashboard.json");
    find(&serde_json::from_str(&file).unwrap(), &mut found);
    assert!(found.len() > 20, "{found:?}");
    found
}

#[test]
fn the_table_of_metrics_names_every_alert_beside_its_metric() {
    let rows = Document::read("docs/operations.md").rows("Watch it");
    let mut named = Vec::new();
    let all = alerts();
    for row in rows.iter().filter(|row| row.len() == 4) {
        let metric = row[0].split('`').nth(1).unwrap_or_default();
        let words = row[2].split('`').skip(1).step_by(2);
        for alert in words.filter(|word| word.starts_with(|sign: char| sign.is_ascii_uppercase())) {
            let Some(expression) = all.get(alert) else {
                continue;
            };
            assert!(
                expression.contains(metric),
                "{alert} says nothing of {metric}"
            );
            named.push(alert.to_owned());
        }
        // What has no alert is not said to have one.
        let is_named = all
            .keys()
            .any(|alert| row[2].contains(&format!("`{alert}`")));
        assert_eq!(is_named, !row[2].trim().is_empty(), "{metric}: {}", row[2]);
    }
    named.sort_unstable();
    named.dedup();
    assert_eq!(named, all.into_keys().collect::<Vec<_>>());
}

/// Prometheus with the shipped alerts, which fire at once, and every second asks these processes.
struct Prometheus(Program);

impl Prometheus {
    async fn start(targets: &[&str]) -> Option<Self> {
        let binary = program("prometheus", "prometheus")?;
        let rules = read(ALERTS);
        let waits = |line: &&str| !line.trim_start().starts_with("for: ");
        let rules: Vec<&str> = rules.lines().filter(waits).collect();
        let config = json!({
            "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
            "rule_files": ["alerts.yaml"],
            "scrape_configs": [{ "job_name": "vitrine", "static_configs": [{ "targets": targets }] }],
        });
        let prepare = |directory: &Path, address: &str| {
            fs::write(directory.join("alerts.yaml"), rules.join("\n")).unwrap();
            fs::write(directory.join("prometheus.yaml"), config.to_string()).unwrap();
            let listen = format!("--web.listen-address={address}");
            let arguments = [
                "--config.file=prometheus.yaml",
                "--storage.tsdb.path=data",
                &listen,
            ];
            arguments.map(str::to_owned).to_vec()
        };
        let program = Program::start(&binary, prepare).await;
        has_status(&program.address, "/-/ready", 200).await;
        Some(Self(program))
    }

    /// Asks its API.
    async fn get(&self, path: &str) -> Value {
        ask(&self.0.address, &format!("GET {path}"), &[], "")
            .await
            .json()
    }

    /// The series that a query finds now, with their values.
    async fn ask(&self, query: &str) -> Vec<(Value, f64)> {
        let encoded: Vec<String> = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/v1/query?query={}", encoded.concat());
        let answer = self.get(&path).await;
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let found = answer["data"]["result"].as_array().unwrap().iter();
        let number = |text: &str| text.parse().unwrap();
        found
            .map(|one| {
                (
                    one["metric"].clone(),
                    number(one["value"][1].as_str().unwrap()),
                )
            })
            .collect()
    }

    /// The names of the alerts that fire.
    async fn fires(&self) -> Vec<String> {
        let answer = self.get("/api/v1/alerts").await;
        let alerts = answer["data"]["alerts"].as_array().unwrap().iter();
        let firing = alerts.filter(|alert| alert["state"] == "firing");
        let names = firing.map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Waits until all of these alerts fire.
    async fn fire(&self, expected: &[&str]) {
        let look = async || {
            let names = self.fires().await;
            expected
                .iter()
                .all(|name| names.iter().any(|one| one == name))
                .then_some(())
        };
        eventually(&format!("{expected:?}"), WITHIN, look).await;
    }

    /// Waits until no alert fires.
    async fn is_quiet(&self) {
        let look = async || {
            let has_looked = !self
                .ask("vitrine_worker_last_run_timestamp_seconds")
                .await
                .is_empty();
            (has_looked && self.fires().await.is_empty()).then_some(())
        };
        eventually("no alert", WITHIN, look).await;
    }
}

/// A service and a worker on a database of three members, and Prometheus that watches them.
struct Shop {
    members: Members,
    serve: Service,
    address: String,
    work: Service,
    prometheus: Prometheus,
}

impl Shop {
    async fn open() -> Option<Self> {
        program("prometheus", "prometheus")?;
        let members = Members::start().await.unwrap();
        let uri = members.uri();
        assert!(run(&at(&uri, &["migrate", "up"])).status.success());
        let work = Service::start(&at(&uri, &["work", "--monitor-listen", "127.0.0.1:0"]));
        let monitor = work.listening().await;
        has_status(&monitor, "/health/ready", 200).await;
        let (serve, address) = serve(&uri, &[]).await;
        let prometheus = Prometheus::start(&[&address, &monitor]).await?;
        prometheus.is_quiet().await;
        Some(Self {
            members,
            serve,
            address,
            work,
            prometheus,
        })
    }

    /// Sends a query; returns the status of the answer.
    async fn query(&self) -> u16 {
        let query = "query Page { products { nodes { name } facets { key } } categories { slug } }";
        http::graphql(&self.address, query, None)
            .await
            .unwrap()
            .status
    }
}

/// The numbers that an alert compares, without the comparisons.
fn compared(expression: &str) -> Vec<String> {
    let parts = expression
        .split(" or ")
        .filter(|part| !part.starts_with("absent("));
    let sides = parts.filter_map(|part| part.split(" > ").next()?.split(" == ").next());
    sides.map(str::to_owned).collect()
}

#[test]
fn every_query_of_alerts_and_dashboard_finds_numbers() {
    block_on(async {
        let Some(shop) = Shop::open().await else {
            return;
        };
        let mut queries = dashboard();
        queries.extend(
            alerts()
                .values()
                .flat_map(|expression| compared(expression)),
        );
        for query in queries {
            let look = async || {
                shop.query().await;
                let found = shop.prometheus.ask(&query).await;
                let wrong = found.iter().find(|(_, value)| value.is_nan());
                assert_eq!(
                    wrong.map(|(labels, _)| labels),
                    None,
                    "{query} is not a number"
                );
                (!found.is_empty()).then_some(())
            };
            eventually(&query, WITHIN, look).await;
        }
    });
}

#[test]
fn alerts_fire_when_a_process_or_the_primary_is_gone() {
    block_on(async {
        let Some(mut shop) = Shop::open().await else {
            return;
        };
        shop.work.signal("KILL");
        shop.work.ended().await;
        let of_workers = [
            "ProcessDown",
            "WorkersUnattended",
            "ListsOutOfOrder",
            "ErasuresBehind",
        ];
        shop.prometheus.fire(&of_workers).await;
        assert_eq!(shop.query().await, 200);
        // Two of three: the last one cannot become primary.
        shop.members.kill(shop.members.secondaries().await[0]);
        shop.members.kill(shop.members.primary().await);
        shop.prometheus.fire(&["DatabaseDown"]).await;
        has_status(&shop.address, "/health/ready", 503).await;
        let refused = async || (shop.query().await == 503).then_some(());
        eventually("requests that get 503", WITHIN, refused).await;
        let unavailable = async || {
            shop.query().await;
            let names = shop.prometheus.fires().await;
            names
                .iter()
                .any(|name| name == "RequestsUnavailable")
                .then_some(())
        };
        eventually("RequestsUnavailable", WITHIN, unavailable).await;
        // An outage passes: nothing in this process is wrong.
        let said = shop.serve.output();
        let mut failures = said.lines().filter(|line| line.contains("worker failed"));
        assert!(failures.all(|line| line.contains("WARN")), "{said}");
    });
}

/// Prints the names of the metrics that it reads from standard input, and fails if one breaks a rule of OpenMetrics.
const STRICT: &str = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
for family in read(sys.stdin.read()):
    print(family.name)
";

/// A Python that has the parser: that of Debian may not be the first on the path.
fn parser() -> Option<&'static str> {
    let has_parser = |python: &&str| {
        let mut python = Command::new(python);
        python.args(["-c", "import prometheus_client.openmetrics.parser"]);
        let found = python.stdin(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_parser);
    let package = "python3-prometheus-client";
    tools::needed(found.ok_or_else(|| {
        format!(
            "there is no strict parser of OpenMetrics (Debian, Ubuntu: `apt-get install {package}`)"
        )
    }))
}

/// The names that a strict parser reads from a page.
fn parsed(python: &str, page: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page");
    fs::write(&file, page).unwrap();
    let mut python = Command::new(python);
    python
        .args(["-c", STRICT])
        .stdin(fs::File::open(&file).unwrap());
    let output = python.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{page}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Asserts that the last bucket of each histogram has all that it counts.
fn assert_complete_histograms(page: &str) {
    let values: BTreeMap<&str, &str> = page
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .collect();
    let mut checked = 0;
    for (series, count) in &values {
        let Some((name, labels)) = series.split_once("_count{") else {
            continue;
        };
        let last = format!("{name}_bucket{{le=\"+Inf\",{labels}");
        assert_eq!(values.get(last.as_str()), Some(count), "{last} in {page}");
        checked += 1;
    }
    assert!(checked > 0, "a histogram in {page}");
}

#[test]
fn metrics_are_what_a_strict_parser_accepts() {
    block_on(async {
        let members = Members::start().await.unwrap();
        let uri = members.uri();
        assert!(run(&at(&uri, &["migrate", "up"])).status.success());
        let (serve, address) = serve(&uri, &[]).await;
        let work = Service::start(&at(&uri, &["work", "--monitor-listen", "127.0.0.1:0"]));
        let monitor = work.listening().await;
        has_status(&monitor, "/health/ready", 200).await;
        http::graphql(&address, "query A { products { nodes { name } } }", None)
            .await
            .unwrap();
        for address in [&address, &monitor] {
            let page = http::get(address, "/metrics").await.unwrap().body;
            assert_complete_histograms(&page);
            if let Some(python) = parser() {
                let names = parsed(python, &page);
                let commands = "vitrine_database_command_duration_seconds";
                assert!(names.iter().any(|name| name == commands), "{names:?}");
            }
        }
        assert!(serve.stop().await.success());
        assert!(work.stop().await.success());
    });
}
