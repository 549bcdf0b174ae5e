//! Mapping rows to details, the fields of one kind of product: a book's contributors, a warranty in
//! months.
//!
//! A mapping uses the field names of the model's structures. A line is rejected if its kind has no
//! such field.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use vitrine_model::product::{Apparel, Book, Details, Electronics, Grocery, Kind, Movie};

use super::condition::Condition;
use super::error::MappingError;
use super::field::Field;
use super::path::Row;
use super::pieces::pieces;
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
    List(Items, Field),
    /// All items of a list, each as a structure with these fields.
    Structures(Items, Vec<(String, Detail)>),
    /// A list of structures whose fields are in the row itself.
    Fixed(Vec<Structure>),
}

/// A structure with these fields.
type Structure = Vec<(String, Detail)>;

/// The items of a list.
#[derive(Clone, Debug)]
struct Items {
    path: UsedPath,
    condition: Option<Condition>,
    /// What separates several items in one text.
    cut_at: Option<String>,
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
        None if section.has("items") => Detail::Fixed(fixed(&section, defaults)?),
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
    let mut items = Items {
        path: path.map_err(|reason| section.invalid("each", reason))?,
        condition: Condition::of_items(section, defaults)?,
        cut_at: None,
    };
    let entries = section.entries("fields")?;
    if entries.is_empty() && (section.has("from") || section.has("template")) {
        return Ok(Detail::List(items, Field::of(section, defaults)?));
    }
    let cut_at = section.text("cut_at")?.filter(|text| !text.is_empty());
    items.cut_at = cut_at.map(str::to_owned);
    if entries.is_empty() {
        let reading = defaults.with(section)?;
        let field = Field::of_item(section.at("each"), each, &reading);
        return Ok(Detail::List(items, field));
    }
    Ok(Detail::Structures(items, fields(entries, defaults)?))
}

/// Reads a list whose items stand in the row as single values: `fat_100g`, `fat_unit`.
fn fixed(section: &Section<'_>, defaults: &Reading) -> Result<Vec<Structure>, MappingError> {
    let items = section.tables("items")?.into_iter();
    items
        .map(|item| fields(item.own_entries(), defaults))
        .collect()
}

impl Items {
    /// Reads each item for which the condition holds.
    fn read(&self, row: Row<'_>, mut read: impl FnMut(Row<'_>) -> Option<Value>) -> Option<Value> {
        let mut list = Vec::new();
        let items = self.path.all(row).into_iter().map(|item| row.at(item));
        let condition = self.condition.as_ref();
        for item in items.filter(|item| condition.is_none_or(|condition| condition.holds(*item))) {
            match (&self.cut_at, item.here) {
                (Some(separator), Value::String(text)) => {
                    let cut = pieces(text, separator).into_iter().map(Value::from);
                    list.extend(cut.filter_map(|piece| read(row.at(&piece))));
                }
                _ => list.extend(read(item)),
            }
        }
        (!list.is_empty()).then_some(Value::Array(list))
    }
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
            Self::List(items, field) => {
                items.read(row, |item| field.text(item, problems).map(Value::String))
            }
            Self::Structures(items, fields) => {
                items.read(row, |item| object(fields, item, problems))
            }
            Self::Fixed(structures) => {
                let items = structures.iter();
                let items = items.filter_map(|fields| object_with_values(fields, row, problems));
                let items: Vec<Value> = items.collect();
                (!items.is_empty()).then_some(Value::Array(items))
            }
        }
    }

    /// Returns true for a value that is the same for every row.
    fn is_constant(&self) -> bool {
        match self {
            Self::Text(field) | Self::Number(field) => field.is_constant(),
            _ => false,
        }
    }
}

fn object(fields: &[(String, Detail)], row: Row<'_>, problems: &mut Problems) -> Option<Value> {
    let object = structure(fields, row, problems);
    (!object.is_empty()).then_some(Value::Object(object))
}

/// The structure, unless the row has none of its values: then it has nothing but constants.
fn object_with_values(
    fields: &[(String, Detail)],
    row: Row<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    let object = structure(fields, row, problems);
    let has_value =
        |(name, detail): &(String, Detail)| !detail.is_constant() && object.contains_key(name);
    let has_values = fields.iter().any(has_value);
    has_values.then_some(Value::Object(object))
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
