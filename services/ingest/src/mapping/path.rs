//! Paths into a row: `a.b`, `images[].url`, `offers[0].price`, `"key.with.dots".x`, `.` for the row
//! itself.

use std::fmt;

use serde_json::Value;

/// The place of a value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(Vec<PathStep>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// Into the value of a key.
    Key(String),
    /// Into every item of a list.
    Each,
    /// Into one item of a list, counted from 0.
    At(usize),
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "." {
            return Ok(Self(Vec::new()));
        }
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            rest = key(rest, &mut steps)?;
            rest = indexes(rest, &mut steps)?;
            match rest.strip_prefix('.') {
                Some(more) => rest = more,
                None if rest.is_empty() => return Ok(Self(steps)),
                None => {
                    return Err(format!(
                        "{rest:?} cannot follow an index; a step starts with ."
                    ));
                }
            }
        }
    }

    /// The steps.
    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// The value at the path; the first one if the path contains lists.
    pub(crate) fn first<'v>(&self, row: &'v Value) -> Option<&'v Value> {
        first(&self.0, row)
    }

    /// All values at the path, in the order of the row. If the path ends at a list, its items are
    /// returned.
    pub(crate) fn all<'v>(&self, row: &'v Value) -> Vec<&'v Value> {
        let mut values = Vec::new();
        all(&self.0, row, &mut values);
        values
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in &self.0 {
            step.push_to(&mut text);
        }
        f.write_str(if text.is_empty() { "." } else { &text })
    }
}

impl PathStep {
    /// Appends the step to the text of a path.
    pub(crate) fn push_to(&self, path: &mut String) {
        match self {
            Self::Key(key) => push_key(path, key),
            Self::Each => path.push_str("[]"),
            Self::At(index) => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
        }
    }
}

/// Appends a key to the text of a path, quoted if it would be ambiguous otherwise.
pub(crate) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    if key.is_empty() || key.contains(['.', '[', ']', '"', '{', '}', ':']) {
        path.push('"');
        path.push_str(&key.replace('\\', "\\\\").replace('"', "\\\""));
        path.push('"');
    } else {
        path.push_str(key);
    }
}

/// Parses a key at the start of the text; returns the rest.
fn key<'t>(text: &'t str, steps: &mut Vec<PathStep>) -> Result<&'t str, String> {
    if text.starts_with('[') && steps.is_empty() {
        return Ok(text);
    }
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted_key(quoted, steps);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    if end == 0 {
        return Err("a step is empty; an empty key is written \"\"".to_owned());
    }
    steps.push(PathStep::Key(text[..end].to_owned()));
    Ok(&text[end..])
}

fn quoted_key<'t>(text: &'t str, steps: &mut Vec<PathStep>) -> Result<&'t str, String> {
    let mut key = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                steps.push(PathStep::Key(key));
                return Ok(&text[at + 1..]);
            }
            '\\' => key.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => key.push(letter),
        }
    }
    Err("a quotation mark is not closed".to_owned())
}

/// Parses `[]` and `[3]` at the start of the text; returns the rest.
fn indexes<'t>(mut text: &'t str, steps: &mut Vec<PathStep>) -> Result<&'t str, String> {
    while let Some(inside) = text.strip_prefix('[') {
        let (index, rest) = inside.split_once(']').ok_or("a [ is not closed")?;
        steps.push(if index.is_empty() {
            PathStep::Each
        } else {
            PathStep::At(
                index
                    .parse()
                    .map_err(|_| format!("[{index}] is not an index"))?,
            )
        });
        text = rest;
    }
    Ok(text)
}

fn first<'v>(steps: &[PathStep], value: &'v Value) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        PathStep::Key(key) => first(rest, value.get(key)?),
        PathStep::At(index) => first(rest, value.get(index)?),
        PathStep::Each => value.as_array()?.iter().find_map(|item| first(rest, item)),
    }
}

fn all<'v>(steps: &[PathStep], value: &'v Value, values: &mut Vec<&'v Value>) {
    let Some((step, rest)) = steps.split_first() else {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Null => {}
            one => values.push(one),
        }
        return;
    };
    let inside: &[Value] = match (step, value) {
        (PathStep::Each, Value::Array(items)) => items,
        (PathStep::Key(key), Value::Object(object)) => {
            object.get(key).map_or(&[], std::slice::from_ref)
        }
        (PathStep::At(index), Value::Array(items)) => {
            items.get(*index).map_or(&[], std::slice::from_ref)
        }
        _ => &[],
    };
    for value in inside {
        all(rest, value, values);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn at(path: &str, row: &Value) -> Vec<Value> {
        let path = Path::parse(path).unwrap();
        path.all(row).into_iter().cloned().collect()
    }

    #[test]
    fn paths_select_values_of_rows() {
        let row = json!({"a": {"b.c": 1, "": 2}, "l": [{"x": 3}, {"y": 4}, {"x": 5}], "n": [6, 7]});
        assert_eq!(at("a.\"b.c\"", &row), [json!(1)]);
        assert_eq!(at("a.\"\"", &row), [json!(2)]);
        assert_eq!(at("l[].x", &row), [json!(3), json!(5)]);
        assert_eq!(at("l[1].y", &row), [json!(4)]);
        assert_eq!(at("n", &row), [json!(6), json!(7)]);
        assert_eq!(at("n[].z", &row), [] as [Value; 0]);
        assert_eq!(Path::parse(".").unwrap().first(&row), Some(&row));
        assert_eq!(Path::parse("l[].y").unwrap().first(&row), Some(&json!(4)));
    }

    #[test]
    fn invalid_paths_are_refused() {
        for text in ["", "a..b", "a.", "a[x]", "a[", "\"a", "a[]b", "\"a\"b"] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_keys_survive_a_round_trip(keys in proptest::collection::vec(".{0,6}", 1..4)) {
            let mut text = String::new();
            for key in &keys { push_key(&mut text, key); }
            prop_assume!(keys.iter().all(|key| !key.is_empty() || keys.len() > 1) || text == "\"\"");
            let steps: Vec<PathStep> = keys.into_iter().map(PathStep::Key).collect();
            prop_assert_eq!(Path::parse(&text).unwrap().0, steps);
        }
    }
}
