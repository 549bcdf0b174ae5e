//! Damaged variants of feeds that the shipped mappings are for: every line is accounted for.

use std::fmt::Write as _;

use fastrand::Rng;
use serde_json::{Value, json};

use super::*;

/// The number of damaged variants of each feed.
const VARIANTS: u64 = 100;
const ROWS: usize = 20;

/// A row of the feed of a shipped mapping.
type Sample = fn(usize) -> Value;

const FEEDS: [(&str, Sample, &str); 5] = [
    ("opendb", opendb, "jsonl"),
    ("clothing-reviews", clothing, "jsonl"),
    ("clothing-reviews", clothing, "csv"),
    ("fine-food-reviews", food, "jsonl"),
    ("fine-food-reviews", food, "csv"),
];

fn opendb(row: usize) -> Value {
    let category = ["RAM", "Monitor", "Keyboard"][row % 3];
    json!({
        "category": category, "file": format!("{row}.json"),
        "product": {
            "opendb_id": format!("id-{row}"),
            "metadata": {"name": format!("Tarn {row}"), "manufacturer": "Tarn", "releaseYear": 2026},
            "speed": 3200 + row, "screen_size": 27.5, "size": "60%", "colors": ["black", "gr\u{e9}y"],
        },
    })
}

fn clothing(row: usize) -> Value {
    json!({
        "": row.to_string(), "Clothing ID": (row % 4).to_string(), "Age": "33", "Title": "Fits",
        "Review Text": "Light & comfortable caf\u{e9} dress", "Rating": "4", "Recommended IND": "1",
        "Positive Feedback Count": "2", "Division Name": "General", "Department Name": "Dresses",
        "Class Name": "Dresses",
    })
}

fn food(row: usize) -> Value {
    json!({
        "Id": row.to_string(), "ProductId": format!("B{}", row % 4), "UserId": format!("A{row}"),
        "ProfileName": "x", "HelpfulnessNumerator": "1", "HelpfulnessDenominator": "2", "Score": "5",
        "Time": "1303862400", "Summary": "Good cr\u{e8}me", "Text": "Good br\u{fb}l\u{e9}e",
    })
}

/// The text of rows, as JSON Lines or as CSV without quotation marks.
fn written(rows: &[Value], form: &str) -> String {
    let mut text = String::new();
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string().replace(['"', ','], " "),
    };
    if form == "csv" {
        let keys = rows.iter().find_map(Value::as_object).unwrap();
        let keys: Vec<&str> = keys.keys().map(String::as_str).collect();
        let _ = writeln!(text, "{}", keys.join(","));
    }
    for row in rows {
        let Value::Object(object) = row else {
            let _ = writeln!(text, "{row}");
            continue;
        };
        if form == "csv" {
            let cells: Vec<String> = object.values().map(cell).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        } else {
            let _ = writeln!(text, "{row}");
        }
    }
    text
}

/// A value of another type than any before.
fn wrong_value(random: &mut Rng) -> Value {
    match random.usize(..8) {
        0 => Value::Null,
        1 => json!(-1e300),
        2 => json!([[], {}]),
        3 => json!({"a": {"b": [null]}}),
        4 => json!(true),
        5 => json!("\u{0}\u{85}\u{202e}"),
        6 => json!(u64::MAX),
        _ => Value::Array(vec![Value::Null; 27_000]),
    }
}

/// Puts a value somewhere into another.
fn misplace(value: &mut Value, random: &mut Rng) {
    let inner = match value {
        Value::Object(object) if !object.is_empty() => {
            let at = random.usize(..object.len());
            object.values_mut().nth(at)
        }
        Value::Array(items) if !items.is_empty() => {
            let at = random.usize(..items.len());
            items.get_mut(at)
        }
        _ => None,
    };
    match inner {
        Some(inner) if random.u8(..4) > 0 => misplace(inner, random),
        _ => *value = wrong_value(random),
    }
}

/// A damaged variant of a feed.
fn damaged(sample: Sample, form: &str, random: &mut Rng) -> Vec<u8> {
    let mut rows: Vec<Value> = (0..ROWS).map(sample).collect();
    let kind = random.u8(..6);
    if kind == 0 {
        // Not the first one, whose keys are the header.
        for _ in 0..5 {
            let at = random.usize(1..ROWS);
            misplace(&mut rows[at], random);
        }
    }
    let text = written(&rows, form);
    let mut bytes = text.clone().into_bytes();
    let at = random.usize(text.find('\n').unwrap() + 1..bytes.len());
    match kind {
        0 => {}
        1 => bytes.truncate(at),
        2 => {
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            random.shuffle(&mut lines[1..]);
            bytes = lines.concat().into_bytes();
        }
        3 => bytes = encoding_rs::WINDOWS_1252.encode(&text).0.into_owned(),
        4 => {
            for _ in 0..5 {
                let at = random.usize(at..bytes.len());
                bytes[at] = 0xff;
            }
        }
        _ => drop(bytes.splice(at..at, std::iter::repeat_n(0, 27_000))),
    }
    bytes
}

/// Checks that each line of a feed ends as something, with a reason if it is rejected.
fn check(mapping: &Mapping, name: &str, bytes: &[u8], form: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("feed.{form}"));
    std::fs::write(&path, bytes).unwrap();
    let mut feed = Feed::open(&path, mapping.form()).unwrap();
    let mut drafter = Drafter::new(mapping);
    let mut numbers = Vec::new();
    while let Some(batch) = drafter.batch(&mut feed) {
        // A file may end within its last line, or have no line that is JSON.
        let is_whole = bytes.ends_with(b"\n");
        let broken = batch.broken.unwrap_or_default();
        assert!(
            broken.is_empty() || !is_whole || broken.contains("no row"),
            "{name}: {broken}"
        );
        for line in batch.lines {
            numbers.push(line.number);
            match line.status {
                LineStatus::Rejected(reasons) => {
                    assert!(reasons.iter().all(|one| !one.reason.is_empty()), "{name}");
                    assert!(!reasons.is_empty(), "{name}: line {}", line.number);
                }
                LineStatus::Drafted(records) => assert!(records.products + records.reviews > 0),
                LineStatus::Blank | LineStatus::Skipped | LineStatus::Gathered => {}
            }
        }
    }
    let last = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = last.split(|byte| *byte == b'\n').count() as u64;
    let first = if form == "csv" { 2 } else { 1 };
    let all: Vec<u64> = (first..=lines).collect();
    // That a file has no row is said behind its last line.
    numbers.retain(|number| *number <= lines);
    assert_eq!(numbers, all, "{name}.{form}: each line once");
}

#[test]
fn every_line_of_a_damaged_feed_is_accounted_for() {
    for (name, sample, form) in FEEDS {
        let mapping = Mapping::load(name).unwrap();
        for seed in 0..VARIANTS {
            let bytes = damaged(sample, form, &mut Rng::with_seed(seed));
            check(&mapping, &format!("{name}, seed {seed}"), &bytes, form);
        }
    }
}
