//! Settings as TOML.

use super::{Guess, GuessedTable};

pub(super) fn sure(setting: &str, value: String) -> Guess {
    Guess {
        setting: setting.to_owned(),
        value,
        unsure: None,
    }
}

pub(super) fn unsure(setting: &str, value: String, remark: impl Into<String>) -> Guess {
    Guess {
        unsure: Some(remark.into()),
        ..sure(setting, value)
    }
}

/// A setting with remarks, or without.
pub(super) fn remarked(setting: &str, value: String, remarks: &[String]) -> Guess {
    if remarks.is_empty() {
        sure(setting, value)
    } else {
        unsure(setting, value, remarks.join("; "))
    }
}

/// A text, such as a path, as TOML.
pub(in super::super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Texts as a list of TOML.
pub(super) fn list<T: AsRef<str>>(texts: &[T]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", all.join(", "))
}

/// One text, or a list of several.
pub(super) fn one_or_list<T: AsRef<str>>(texts: &[T]) -> String {
    match texts {
        [one] => quoted(one.as_ref()),
        several => list(several),
    }
}

/// A text as a key of TOML.
pub(super) fn key_of(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

/// A table of words and what each stands for.
pub(super) fn table<A: AsRef<str>, B: AsRef<str>>(entries: &[(A, B)]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(word, value)| format!("{} = {}", key_of(word.as_ref()), quoted(value.as_ref())))
        .collect();
    format!("{{ {} }}", entries.join(", "))
}

/// A field with settings besides its path, which is quoted already.
pub(super) fn field(from: &str, settings: &[String]) -> String {
    if settings.is_empty() {
        from.to_owned()
    } else {
        format!("{{ from = {from}, {} }}", settings.join(", "))
    }
}

/// A path as a placeholder of a template, unless it has signs that mean something there.
pub(super) fn placeholder(path: &str) -> Option<String> {
    let plain = !path.contains(['{', '}', '[', ']', ':']);
    plain.then(|| format!("{{{path}}}"))
}

pub(super) fn rule(lines: Vec<Guess>) -> GuessedTable {
    GuessedTable {
        setting: "[[product.specs.rules]]".to_owned(),
        lines,
    }
}

/// A path without the signs of a list at its end.
pub(super) fn plain(path: &str) -> &str {
    path.strip_suffix("[]").unwrap_or(path)
}
