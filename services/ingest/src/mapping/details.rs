//! Mapping rows to details, the fields of one kind of product: a book's contributors, a warranty in
//! months.
//!
//! A mapping uses the field names of the model's structures. A line is rejected if its kind has no
//! such field.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use vitrine_model::product::{Apparel, Book, Details, Electronics, Grocery, Kind, Movie};

use super::error::MappingError;
use super::field::Field;
use super::path::Row;
use super::problems::Problems;
use super::reading::{OnBad, Reading};
use super::section::Section;
use super::uses::UsedPath;

/// The details: fields of the kind's structure, each with its source.
#[derive(Clone, Debug, Default)]
pub(super) struct DetailFields {
    fields: Vec<(String, Detail)>,
    on_bad: OnBad,
}

#[derive(Clone, Debug)]
enum Detail {
    Text(Field),
    Number(Field),
    /// All items of a list, as text.
    List(UsedPath, Field),
    /// All items of a list, each as a structure with these fields.
    Structures(UsedPath, Vec<(String, Detail)>),
}

impl DetailFields {
    pub(super) fn read(
        entries: Vec<(String, &String, &toml::Value)>,
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        Ok(Self {
            fields: fields(entries, defaults)?,
            on_bad: defaults.on_bad,
        })
    }

    /// Returns true if bad details are left out.
    pub(super) fn drops_bad(&self) -> bool {
        self.on_bad.drops()
    }

    /// Returns true if no field is mapped.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns the details of a product of this kind.
    pub(super) fn details(&self, kind: &str, row: Row<'_>, problems: &mut Problems) -> Details {
        let kind = Kind::of(kind);
        let object = structure(&self.fields, row, problems);
        if object.is_empty() {
            return Details::empty(kind);
        }
        typed(kind, Value::Object(object)).unwrap_or_else(|reason| {
            problems.bad(self.on_bad, "details", reason);
            Details::empty(kind)
        })
    }
}

fn fields(
    entries: Vec<(String, &String, &toml::Value)>,
    defaults: &Reading,
) -> Result<Vec<(String, Detail)>, MappingError> {
    entries
        .into_iter()
        .map(|(path, name, value)| Ok((name.clone(), detail(path, value, defaults)?)))
        .collect()
}

fn detail(path: String, value: &toml::Value, defaults: &Reading) -> Result<Detail, MappingError> {
    let toml::Value::Table(table) = value else {
        return Ok(Detail::Text(Field::read(path, value, defaults)?));
    };
    let section = Section::new(path, table);
    let each = section.text("each")?;
    let detail = match each {
        Some(each) => list(&section, each, defaults)?,
        None => single(&section, defaults)?,
    };
    section.finish()?;
    Ok(detail)
}

fn single(section: &Section<'_>, defaults: &Reading) -> Result<Detail, MappingError> {
    let number = section.choice("type", &[("text", false), ("number", true)])?;
    Ok(if number.unwrap_or(false) {
        Detail::Number(Field::of(section, &defaults.of_numbers())?)
    } else {
        Detail::Text(Field::of(section, defaults)?)
    })
}

fn list(section: &Section<'_>, each: &str, defaults: &Reading) -> Result<Detail, MappingError> {
    let path = UsedPath::parse(each, &section.at("each"), &defaults.uses);
    let path = path.map_err(|reason| section.invalid("each", reason))?;
    let entries = section.entries("fields")?;
    if entries.is_empty() {
        let field = Field::of_item(section.at("each"), each, defaults);
        return Ok(Detail::List(path, field));
    }
    Ok(Detail::Structures(path, fields(entries, defaults)?))
}

fn structure(
    fields: &[(String, Detail)],
    row: Row<'_>,
    problems: &mut Problems,
) -> Map<String, Value> {
    fields
        .iter()
        .filter_map(|(name, detail)| Some((name.clone(), detail.value(row, problems)?)))
        .collect()
}

impl Detail {
    fn value(&self, row: Row<'_>, problems: &mut Problems) -> Option<Value> {
        match self {
            Self::Text(field) => field.text(row, problems).map(Value::String),
            Self::Number(field) => field.number(row, problems).map(number),
            Self::List(path, field) => listed(path, row, |item| {
                field.text(item, problems).map(Value::String)
            }),
            Self::Structures(path, fields) => listed(path, row, |item| {
                let object = structure(fields, item, problems);
                (!object.is_empty()).then_some(Value::Object(object))
            }),
        }
    }
}

fn listed(
    path: &UsedPath,
    row: Row<'_>,
    mut read: impl FnMut(Row<'_>) -> Option<Value>,
) -> Option<Value> {
    let items = path.all(row).into_iter();
    let items: Vec<Value> = items.filter_map(|item| read(row.at(item))).collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

/// Writes whole numbers without a decimal point, as integer fields require.
fn number(number: f64) -> Value {
    if number.fract() == 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "readings stay below 2^53")]
        let whole = number as i64;
        return whole.into();
    }
    number.into()
}

fn typed(kind: Kind<'_>, object: Value) -> Result<Details, String> {
    let details = match kind {
        Kind::Apparel => strict::<Apparel>(object).map(Details::Apparel),
        Kind::Book => strict::<Book>(object).map(Details::Book),
        Kind::Electronics => strict::<Electronics>(object).map(Details::Electronics),
        Kind::Grocery => strict::<Grocery>(object).map(Details::Grocery),
        Kind::Movie => strict::<Movie>(object).map(Details::Movie),
        // The items of a bundle are not details.
        Kind::Bundle | Kind::Other(_) => {
            return Err(format!(
                "a product of kind {:?} has no details, only specs",
                kind.name()
            ));
        }
    };
    details.map_err(|reason| format!("a product of kind {}: {reason}", kind.name()))
}

/// Deserializes a structure and refuses unknown fields. Stored documents may have unknown fields,
/// written by a newer release; mappings may not.
fn strict<T: DeserializeOwned>(object: Value) -> Result<T, String> {
    let mut unknown = None;
    let read = serde_ignored::deserialize(object, |path| {
        unknown.get_or_insert_with(|| path.to_string());
    });
    match (read, unknown) {
        (Err(error), _) => Err(error.to_string()),
        (Ok(_), Some(field)) => Err(format!("unknown field `{field}`")),
        (Ok(read), None) => Ok(read),
    }
}
