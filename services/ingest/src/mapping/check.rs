//! Everything that is wrong with a mapping file at once.
//!
//! Reading a mapping ends at the first mistake. To find all, the setting with the mistake is
//! removed, or given a value if it is required, and the mapping is read again. Its files are read
//! once.

use std::collections::{HashMap, HashSet};

use toml::{Table, Value};

use super::error::MappingError;
use super::{Mapping, ReadTable, VERSION};

/// The maximum number of mistakes that are reported.
const MAX_MISTAKES: usize = 100;
/// The maximum number of times that a mapping is read.
const MAX_READINGS: usize = 400;

/// Returns all mistakes of a mapping, in the order in which they are found; none if it is valid.
pub(super) fn mistakes(text: &str, read_table: &mut ReadTable<'_>) -> Vec<MappingError> {
    let mut table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![MappingError::Syntax(error)],
    };
    let mut files: HashMap<String, Vec<u8>> = HashMap::new();
    let mut read_once = |name: &str| {
        if let Some(content) = files.get(name) {
            return Ok(content.clone());
        }
        let content = read_table(name)?;
        files.insert(name.to_owned(), content.clone());
        Ok(content)
    };
    let mut mistakes = Vec::new();
    let mut repaired = HashSet::new();
    for _ in 0..MAX_READINGS {
        let Err(mistake) = Mapping::of_table(&table, &mut read_once) else {
            break;
        };
        let MappingError::Setting { path, .. } = &mistake else {
            mistakes.push(mistake);
            break;
        };
        let path = path.clone();
        // What is removed may be missed by the settings around it.
        let around = format!("{path}.");
        let follows = repaired
            .iter()
            .any(|inside: &String| inside.starts_with(&around));
        if repaired.insert(path.clone()) && !follows {
            mistakes.push(mistake);
        }
        if mistakes.len() == MAX_MISTAKES || !remove_or_fill(&mut table, &path) {
            break;
        }
    }
    mistakes
}

/// Removes the setting at a path, or adds one that is missing; returns false if nothing changed.
fn remove_or_fill(table: &mut Table, path: &str) -> bool {
    let Some((key, rest)) = longest_key(table, path) else {
        let name = path.split(['.', '[']).next().unwrap_or(path).to_owned();
        return replacement(&name).is_some_and(|value| table.insert(name, value).is_none());
    };
    let repaired = match table.get_mut(&key) {
        Some(Value::Table(inner)) if rest.starts_with('.') => remove_or_fill(inner, &rest[1..]),
        Some(Value::Array(items)) if rest.starts_with('[') => remove_or_fill_item(items, rest),
        _ => false,
    };
    repaired || table.remove(&key).is_some()
}

fn remove_or_fill_item(items: &mut Vec<Value>, path: &str) -> bool {
    let Some((index, rest)) = path[1..].split_once(']') else {
        return false;
    };
    let Some(at) = index.parse().ok().filter(|at| *at < items.len()) else {
        return false;
    };
    if let (Value::Table(inner), Some(rest)) = (&mut items[at], rest.strip_prefix('.'))
        && remove_or_fill(inner, rest)
    {
        return true;
    }
    items.remove(at);
    true
}

/// The longest key of a table that a path begins with, and the rest of the path. Keys may hold
/// dots, and stand in quotation marks in some paths.
fn longest_key<'p>(table: &Table, path: &'p str) -> Option<(String, &'p str)> {
    let keys = table.keys().filter_map(|key| {
        let quoted = format!("{key:?}");
        let rest = path
            .strip_prefix(key.as_str())
            .or(path.strip_prefix(&quoted))?;
        let ends = rest.is_empty() || rest.starts_with(['.', '[']);
        ends.then(|| (key.clone(), rest))
    });
    keys.max_by_key(|(key, _)| key.len())
}

/// A value for a setting that is required.
fn replacement(name: &str) -> Option<Value> {
    let value = |value: &str| {
        let mut field = Table::new();
        field.insert("value".to_owned(), value.into());
        Value::Table(field)
    };
    let fields = |names: &[&str]| {
        let names = names.iter();
        let fields = names.filter_map(|name| Some(((*name).to_owned(), replacement(name)?)));
        Value::Table(fields.collect())
    };
    match name {
        "version" => Some(Value::Integer(VERSION)),
        "system" => Some("system".into()),
        "path" | "value_from" => Some("x".into()),
        "product" => Some(fields(&["external_id", "name", "kind", "category"])),
        "review" => Some(fields(&["external_id", "rating"])),
        "external_id" | "name" | "kind" | "category" | "amount" | "currency" | "url" | "key"
        | "from" => Some(value("x")),
        "rating" => Some(value("5")),
        _ => None,
    }
}
