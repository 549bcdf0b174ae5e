//! Callers who want to do harm, and callers who send anything.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::fuzzer::Fuzzer;
use super::{Report, Stage};
use vitrine_harness::expensive::EXPENSIVE;
use vitrine_harness::http::{Connection, Reply};
use vitrine_harness::token::token;

/// How long a caller who is over its limit, or finds no process, waits.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends expensive requests; leaves now and then before the answer comes, or within a request.
pub(super) async fn attack(stage: &Stage, number: usize) {
    let from = format!("198.51.100.{}", number % 250);
    let mut connection = None;
    let mut sent = number;
    while !stage.is_over() {
        sent += 1;
        let body = json!({ "query": EXPENSIVE[sent % EXPENSIVE.len()] }).to_string();
        let leaves = sent.is_multiple_of(7);
        let asked = async {
            let mut kept = match connection.take() {
                Some(kept) => kept,
                None => Connection::open(&stage.address(sent), &from).await?,
            };
            if leaves && sent.is_multiple_of(2) {
                kept.write(b"POST /graphql HTTP/1.1\r\nhost: shop\r\ncontent-")
                    .await?;
                return anyhow::Ok(None);
            }
            if leaves {
                kept.send(body.as_bytes(), None).await?;
                return anyhow::Ok(None);
            }
            let reply = kept.ask(body.as_bytes(), None).await?;
            connection = Some(kept);
            anyhow::Ok(Some(reply))
        };
        let reply = asked.await;
        let refused = stage.report(|report| note(report, &reply, &body));
        if refused {
            sleep(PAUSE).await;
        }
    }
}

/// Sends random requests, one of three of them with the token of an admin.
pub(super) async fn fuzz(stage: &Stage, mut fuzzer: Fuzzer, number: usize) {
    let from = format!("203.0.113.{}", number % 250);
    let admin = token("fuzzer", "admin");
    let mut sent = number;
    while !stage.is_over() {
        sent += 1;
        let body = fuzzer.request();
        let token = sent.is_multiple_of(3).then_some(admin.as_str());
        let asked = async {
            let mut connection = Connection::open(&stage.address(sent), &from).await?;
            anyhow::Ok(Some(connection.ask(&body, token).await?))
        };
        // A subscription has no answer of a known length.
        let reply = timeout(Duration::from_secs(20), asked).await;
        let reply = reply.unwrap_or(Ok(None));
        let body = String::from_utf8_lossy(&body);
        if stage.report(|report| note(report, &reply, &body)) {
            sleep(PAUSE).await;
        }
    }
}

/// Counts an answer by its code; returns true if the caller must wait.
fn note(report: &mut Report, reply: &anyhow::Result<Option<Reply>>, request: &str) -> bool {
    let code = match reply {
        Ok(None) => "none".to_owned(),
        Err(_) => "no connection".to_owned(),
        Ok(Some(reply)) => {
            let answer: Value = serde_json::from_str(&reply.body).unwrap_or_default();
            let errors = answer["errors"].as_array().map_or(&[][..], Vec::as_slice);
            let codes = errors.iter().map(|error| &error["extensions"]["code"]);
            let codes: Vec<&str> = codes.filter_map(Value::as_str).collect();
            if reply.status == 500 || codes.contains(&"INTERNAL") {
                let (status, body) = (reply.status, &reply.body);
                let request: String = request.chars().take(4_000).collect();
                let wrong = format!("{request}\nhad the answer {status} {body}");
                if report.wrong.len() < 5 {
                    report.wrong.push(wrong);
                }
            }
            let without = match reply.status {
                200 => "OK".to_owned(),
                status => format!("status {status}"),
            };
            codes.first().map_or(without, |code| (*code).to_owned())
        }
    };
    let waits = matches!(
        code.as_str(),
        "RATE_LIMITED" | "UNAVAILABLE" | "no connection"
    );
    *report.codes.entry(code).or_default() += 1;
    waits
}
