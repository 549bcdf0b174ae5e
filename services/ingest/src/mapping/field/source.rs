//! Where the value of a field comes from.

use std::sync::Arc;

use serde_json::Value;

use super::super::error::MappingError;
use super::super::path::{Path, Row};
use super::super::reading::Reading;
use super::super::section::Section;
use super::super::template::Template;
use super::super::uses::{Use, UsedPath};
use super::{Source, SourceValue, Steps};

/// What a section gives as the source of a value.
pub(super) enum Given {
    /// The first of these paths that has a known value.
    Paths(Vec<NamedPath>),
    /// Something made by the mapping.
    Made(Source),
}

/// A path of the feed, with its name in messages.
pub(super) struct NamedPath {
    pub(super) name: String,
    pub(super) path: Path,
    pub(super) used: Arc<Use>,
}

/// Reads the source that a section specifies.
pub(super) fn source(
    section: &Section<'_>,
    steps: &Steps,
    defaults: &Reading,
) -> Result<Given, MappingError> {
    let from = section.texts("from")?;
    let template = section.text("template")?;
    let digest = section.texts("digest")?;
    let constant = section.value("value");
    let parts = section.entries("parts")?;
    match (from.as_slice(), template, digest.as_slice(), constant) {
        ([_, ..], None, [], None) => {
            let setting = section.at("from");
            let paths = paths(
                section.path(),
                &setting,
                &from,
                steps.takes_lists(),
                defaults,
            )?;
            Ok(Given::Paths(paths))
        }
        ([], Some(template), [], None) => {
            let parts = super::super::template::parts(parts, defaults)?;
            let template = Template::parse(template, &parts, section.path(), &defaults.uses);
            let template = template.map_err(|reason| section.invalid("template", reason))?;
            no_steps(section, steps)?;
            Ok(Given::Made(Source::Template(template)))
        }
        ([], None, [_, ..], None) => {
            let used = |path: &&str| UsedPath::parse(path, section.path(), &defaults.uses);
            let parsed: Result<_, _> = digest.iter().map(used).collect();
            let parsed = parsed.map_err(|reason| section.invalid("digest", reason))?;
            no_steps(section, steps)?;
            Ok(Given::Made(Source::Digest(parsed)))
        }
        ([], None, [], Some(value)) => {
            no_steps(section, steps)?;
            Ok(Given::Made(Source::Constant(json(value))))
        }
        _ => Err(MappingError::setting(
            section.path(),
            "must have exactly one of from, template, digest and value",
        )),
    }
}

fn no_steps(section: &Section<'_>, steps: &Steps) -> Result<(), MappingError> {
    if steps.is_none() {
        return Ok(());
    }
    let reason = "list, cut_at and split are for values of the feed; they need from";
    Err(MappingError::setting(section.path(), reason))
}

/// Reads the paths of a field. Those that go into every item of a list need to say what becomes of
/// several values.
pub(super) fn paths(
    field: &str,
    setting: &str,
    paths: &[&str],
    takes_lists: bool,
    defaults: &Reading,
) -> Result<Vec<NamedPath>, MappingError> {
    let read = |text: &&str| -> Result<NamedPath, MappingError> {
        let path = defaults
            .uses
            .path(text)
            .map_err(|reason| MappingError::setting(setting, reason))?;
        if path.has_items() && !takes_lists {
            let reason = format!(
                "{text:?} may have several values; list = \"first\" takes the first that is known, \
                 list = \"join\" all of them"
            );
            return Err(MappingError::setting(setting, reason));
        }
        let used = defaults.uses.add(field, path.to_string());
        Ok(NamedPath {
            name: (*text).to_owned(),
            path,
            used,
        })
    };
    paths.iter().map(read).collect()
}

/// The digest of the values at some paths; unknown if none is known.
pub(super) fn digest<'v>(
    paths: &[UsedPath],
    row: Row<'_>,
    reading: &Reading,
) -> Option<SourceValue<'v>> {
    let values: Vec<Vec<&Value>> = paths.iter().map(|path| path.all(row)).collect();
    let known = values.iter().flatten().any(|value| reading.is_known(value));
    known.then(|| SourceValue::Text(vitrine_model::import::digest(&values)))
}

/// Converts a value of a mapping file to a value of a row.
pub(crate) fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => {
            let entries = table
                .iter()
                .map(|(name, value)| (name.clone(), json(value)));
            Value::Object(entries.collect())
        }
    }
}
