//! JSON as text for snapshots: short values are on one line, and values that differ from run to run
//! are left out.

use std::fmt::Write as _;

use serde_json::Value;

/// The maximum width of a line, in characters.
const WIDTH: usize = 100;

/// Ids and cursors are random and signed: snapshots show only their presence.
const RANDOM: [&str; 6] = [
    "id",
    "reviewId",
    "supplierId",
    "cursor",
    "startCursor",
    "endCursor",
];

/// Formats a value as text, with the keys in their order.
#[must_use]
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

fn write(out: &mut String, value: &Value, depth: usize) {
    let line = one_line(value);
    match value {
        Value::Object(fields) if 2 * depth + line.chars().count() > WIDTH => {
            let rows = fields
                .iter()
                .map(|(key, value)| (Some(key.as_str()), value));
            block(out, ['{', '}'], rows, depth);
        }
        Value::Array(items) if 2 * depth + line.chars().count() > WIDTH => {
            block(
                out,
                ['[', ']'],
                items.iter().map(|item| (None, item)),
                depth,
            );
        }
        _ => out.push_str(&line),
    }
}

fn block<'a>(
    out: &mut String,
    [open, close]: [char; 2],
    rows: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    depth: usize,
) {
    out.push(open);
    for (key, value) in rows {
        out.push('\n');
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            let _ = write!(out, "{key}: ");
        }
        match key {
            Some(key) if is_random(key, value) => out.push_str("[random]"),
            _ => write(out, value, depth + 1),
        }
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let random = is_random(key, value);
                let value = if random {
                    "[random]".to_owned()
                } else {
                    one_line(value)
                };
                format!("{key}: {value}")
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", items.join(", "))
        }
        plain => plain.to_string(),
    }
}

fn is_random(key: &str, value: &Value) -> bool {
    value.is_string() && RANDOM.contains(&key)
}
