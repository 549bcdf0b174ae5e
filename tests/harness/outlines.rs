//! What an example shows of an answer: `…` marks what is left out, and ids differ from run to run.
//!
//! | shown | stands for |
//! |---|---|
//! | `"…"` | any value |
//! | `"The stand moves …"` | any text that fits |
//! | `{ "a": 1, "…": "…" }` | an object with further fields |
//! | `[1, "…"]` | a list with further items |
//! | an id or a cursor | another one, everywhere the same |

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The sign for what is left out.
const MORE: &str = "…";

/// Fields that hold what the service makes at random.
const RANDOM: [&str; 4] = ["id", "cursor", "startCursor", "endCursor"];

/// The ids that examples show, and those they stand for.
#[derive(Clone, Debug, Default)]
pub struct Ids(BTreeMap<String, String>);

impl Ids {
    /// A text of an example with the ids of this run.
    #[must_use]
    pub fn real(&self, text: &str) -> String {
        let ids = self.0.iter();
        ids.fold(text.to_owned(), |text, (shown, real)| {
            text.replace(shown, real)
        })
    }

    /// Where an answer is not what is shown of it. Ids that are shown for the first time stand for
    /// those of the answer from now on.
    pub fn differences(&mut self, shown: &Value, answer: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.compare("", shown, answer, &mut found);
        found
    }

    fn compare(&mut self, path: &str, shown: &Value, answer: &Value, found: &mut Vec<String>) {
        match (shown, answer) {
            (Value::String(shown), _) if shown == MORE => {}
            (Value::Object(shown), Value::Object(answer)) => {
                self.compare_fields(path, shown, answer, found);
            }
            (Value::Array(shown), Value::Array(answer)) => {
                self.compare_items(path, shown, answer, found);
            }
            (Value::String(shown), Value::String(answer))
                if is_random(path) && !shown.contains(MORE) =>
            {
                let real = self
                    .0
                    .entry(shown.clone())
                    .or_insert_with(|| answer.clone());
                if real != answer {
                    found.push(format!("{path} is not the id that {shown} was before"));
                }
            }
            (Value::String(shown), Value::String(answer)) if fits(shown, answer) => {}
            _ if shown == answer => {}
            _ => found.push(format!("{path} is {answer}, shown as {shown}")),
        }
    }

    fn compare_fields(
        &mut self,
        path: &str,
        shown: &Map<String, Value>,
        answer: &Map<String, Value>,
        found: &mut Vec<String>,
    ) {
        for (field, shown) in shown.iter().filter(|(field, _)| *field != MORE) {
            let path = format!("{path}/{field}");
            match answer.get(field) {
                Some(answer) => self.compare(&path, shown, answer, found),
                None => found.push(format!("{path} is shown and not there")),
            }
        }
        let more = answer.keys().any(|field| !shown.contains_key(field));
        if more != shown.contains_key(MORE) {
            found.push(format!("{path}: further fields? {more}"));
        }
    }

    fn compare_items(
        &mut self,
        path: &str,
        shown: &[Value],
        answer: &[Value],
        found: &mut Vec<String>,
    ) {
        let (shown, shortened) = match shown {
            [first @ .., Value::String(last)] if last == MORE => (first, true),
            all => (all, false),
        };
        if answer.len() < shown.len() || (answer.len() > shown.len()) != shortened {
            found.push(format!("{path} has {} items", answer.len()));
        }
        for (at, (shown, answer)) in shown.iter().zip(answer).enumerate() {
            self.compare(&format!("{path}/{at}"), shown, answer, found);
        }
    }
}

fn is_random(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|field| RANDOM.contains(&field))
}

/// Whether a text is what is shown of it: `…` stands for any part of it.
#[must_use]
pub fn fits(shown: &str, text: &str) -> bool {
    let Some((first, rest)) = shown.split_once(MORE) else {
        return shown == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split(MORE).collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(last)
}

/// Whether the lines of an output are those that are shown of it: a line `…` stands for any lines.
#[must_use]
pub fn lines_fit(shown: &[&str], output: &[&str]) -> bool {
    match shown {
        [] => output.is_empty(),
        [more, rest @ ..] if *more == MORE => {
            (0..=output.len()).any(|skipped| lines_fit(rest, &output[skipped..]))
        }
        [first, rest @ ..] => match output {
            [line, others @ ..] => fits(first, line.trim_end()) && lines_fit(rest, others),
            [] => false,
        },
    }
}
