//! The settings for rows that are made of several lines, and for lists that are made of columns.

use serde_json::{Map, Value};

use super::error::MappingError;
use super::section::Section;
use crate::feed::fits;

/// Columns that become the items of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpivot {
    /// The names of the columns, with `*` and `?`.
    columns: Vec<String>,
    /// The name of the list.
    list: String,
    /// The name that items have the name of their column under.
    name: String,
    /// The name that items have the value of their column under.
    value: String,
}

/// Lines of one key that become one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gather {
    /// The column with the key.
    key: String,
    /// The name of the list of the lines.
    pub(crate) list: String,
}

impl Unpivot {
    fn read(section: &Section<'_>) -> Result<Self, MappingError> {
        let columns = section.texts("columns")?;
        if columns.is_empty() {
            let reason = "is required: the names of the columns, with * and ?";
            return Err(section.invalid("columns", reason));
        }
        let unpivot = Self {
            columns: columns.into_iter().map(str::to_owned).collect(),
            list: name(section, "as", "the name of the list")?,
            name: name(section, "name", "what items call the name of their column")?,
            value: name(
                section,
                "value",
                "what items call the value of their column",
            )?,
        };
        if unpivot.name == unpivot.value {
            return Err(section.invalid("value", "must differ from name"));
        }
        Ok(unpivot)
    }

    /// Replaces the columns of a row by the list. Columns without a value make no item.
    ///
    /// # Errors
    /// The row has the list already.
    pub(crate) fn apply(&self, row: &mut Map<String, Value>) -> Result<(), String> {
        if row.contains_key(&self.list) {
            let list = &self.list;
            return Err(format!(
                "has {list:?} itself; give the list of unpivot another name"
            ));
        }
        let mut items = Vec::new();
        let mut kept = Map::new();
        for (name, value) in std::mem::take(row) {
            if !self.columns.iter().any(|column| fits(column, &name)) {
                kept.insert(name, value);
            } else if !is_empty(&value) {
                let item = [
                    (self.name.clone(), Value::String(name)),
                    (self.value.clone(), value),
                ];
                items.push(Value::Object(Map::from_iter(item)));
            }
        }
        kept.insert(self.list.clone(), Value::Array(items));
        *row = kept;
        Ok(())
    }
}

impl Gather {
    /// The key of a row; `None` if it is unknown.
    pub(crate) fn key(&self, row: &Map<String, Value>) -> Option<String> {
        let key = match row.get(&self.key)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (!key.is_empty()).then_some(key)
    }
}

/// Reads the lists that are made of columns.
pub(super) fn unpivots(section: &Section<'_>) -> Result<Vec<Unpivot>, MappingError> {
    let sections = section.tables("unpivot")?.into_iter();
    sections
        .map(|section| {
            let unpivot = Unpivot::read(&section)?;
            section.finish()?;
            Ok(unpivot)
        })
        .collect()
}

/// Reads which lines become one row.
pub(super) fn gather(section: &Section<'_>) -> Result<Option<Gather>, MappingError> {
    let Some(section) = section.section("gather")? else {
        return Ok(None);
    };
    let gather = Gather {
        key: name(&section, "key", "the column with the key of the row")?,
        list: name(&section, "as", "the name of the list of the lines")?,
    };
    section.finish()?;
    Ok(Some(gather))
}

fn name(section: &Section<'_>, setting: &'static str, what: &str) -> Result<String, MappingError> {
    let text = section.text(setting)?.filter(|text| !text.is_empty());
    let required = || section.invalid(setting, format!("is required: {what}"));
    text.map(str::to_owned).ok_or_else(required)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}
