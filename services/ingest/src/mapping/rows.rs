//! Rows as the mapping wants them, before anything else reads them: empty cells that mean the ones above, and numbered columns that become a list.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use vitrine_formats::fits;

use super::error::MappingError;
use super::section::Section;

/// What is changed in each row.
#[derive(Clone, Debug, Default)]
pub(super) struct RowSettings {
    pub(super) fill_down: Option<FillDown>,
    numbered: Vec<Numbered>,
}

/// Which cells mean the ones above if they are empty.
#[derive(Clone, Debug)]
pub(crate) struct FillDown {
    /// The names of the columns, with `*` and `?`.
    columns: Vec<String>,
    /// The column that is empty in lines which continue the one above; without it each empty cell does.
    key: Option<String>,
}

impl FillDown {
    pub(super) fn read(section: &Section<'_>) -> Result<Option<Self>, MappingError> {
        let Some(section) = section.section("fill_down")? else {
            return Ok(None);
        };
        let columns = section.texts("columns")?.into_iter().map(str::to_owned);
        let mut fill_down = Self {
            columns: columns.collect(),
            key: section.text("key")?.map(str::to_owned),
        };
        if fill_down.columns.is_empty() {
            if fill_down.key.is_none() {
                let reason = "is required without key: the names of the columns, with * and ?";
                return Err(section.invalid("columns", reason));
            }
            fill_down.columns.push("*".to_owned());
        }
        section.finish()?;
        Ok(Some(fill_down))
    }

    /// The names of the columns, and the key.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let columns = self
            .columns
            .iter()
            .filter(|name| !name.contains(['*', '?']));
        columns.chain(&self.key).map(String::as_str)
    }

    /// Returns true if a line continues the one above.
    pub(crate) fn continues(&self, row: &Map<String, Value>) -> bool {
        let key = self.key.as_ref().map(|key| row.get(key));
        key.is_none_or(|key| key.is_none_or(is_empty))
    }

    /// Returns true if the empty cells of a column mean the ones above.
    pub(crate) fn fills(&self, column: &str) -> bool {
        self.columns.iter().any(|pattern| fits(pattern, column))
    }
}

/// Columns such as `name1`, `value1`, `name2`, `value2`, which become the items of a list.
#[derive(Clone, Debug)]
struct Numbered {
    list: String,
    /// What items call a value, and what its columns begin and end with around their number.
    columns: Vec<(String, Column)>,
}

#[derive(Clone, Debug)]
struct Column {
    before: String,
    after: String,
}

/// The maximum number of digits of the number of a column.
const MAX_DIGITS: usize = 4;

impl RowSettings {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, MappingError> {
        let sections = section.tables("numbered")?.into_iter();
        let numbered = sections.map(|section| {
            let numbered = Numbered::read(&section)?;
            section.finish()?;
            Ok(numbered)
        });
        Ok(Self {
            fill_down: FillDown::read(section)?,
            numbered: numbered.collect::<Result<_, MappingError>>()?,
        })
    }

    /// The names of the lists, with the names of their columns for reports.
    pub(super) fn lists(&self) -> impl Iterator<Item = (&str, String)> {
        self.numbered.iter().map(|numbered| {
            let columns = numbered.columns.iter();
            let columns: Vec<String> = columns.map(|(_, column)| column.to_string()).collect();
            (numbered.list.as_str(), columns.join(", "))
        })
    }

    /// Changes a row.
    ///
    /// # Errors
    /// The name of a list that the row has itself.
    pub(super) fn apply(&self, row: &mut Value) -> Result<(), String> {
        let Value::Object(object) = row else {
            return Ok(());
        };
        self.numbered
            .iter()
            .try_for_each(|numbered| numbered.apply(object))
    }
}

impl Numbered {
    fn read(section: &Section<'_>) -> Result<Self, MappingError> {
        let list = section.text("as")?.filter(|text| !text.is_empty());
        let columns = section.text_map("columns")?.into_iter();
        let columns = columns.map(|(name, text)| {
            let column = Column::parse(text);
            let column = column.map_err(|reason| section.invalid("columns", reason))?;
            Ok((name.to_owned(), column))
        });
        let columns: Vec<(String, Column)> = columns.collect::<Result<_, MappingError>>()?;
        if columns.is_empty() {
            let reason = "is required: what items call their values, and the columns, such as \
                          { name = \"attributeName*\", value = \"attributeValue*\" }";
            return Err(section.invalid("columns", reason));
        }
        let list =
            list.ok_or_else(|| section.invalid("as", "is required: the name of the list"))?;
        Ok(Self {
            list: list.to_owned(),
            columns,
        })
    }

    /// Replaces the columns of a row by the list, in the order of their numbers. An item without a value is left out.
    fn apply(&self, row: &mut Map<String, Value>) -> Result<(), String> {
        if row.contains_key(&self.list) {
            let list = &self.list;
            return Err(format!(
                "the row has {list:?} itself; give the list of numbered another name"
            ));
        }
        let mut items: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
        let mut kept = Map::new();
        for (name, value) in std::mem::take(row) {
            match self.number_of(&name) {
                None => drop(kept.insert(name, value)),
                Some(_) if is_empty(&value) => {}
                Some((item, number)) => {
                    items
                        .entry(number)
                        .or_default()
                        .insert(item.to_owned(), value);
                }
            }
        }
        if !items.is_empty() {
            let items = items.into_values().map(Value::Object).collect();
            kept.insert(self.list.clone(), Value::Array(items));
        }
        *row = kept;
        Ok(())
    }

    /// What items call the value of a column, and the number of the column.
    fn number_of(&self, name: &str) -> Option<(&str, u32)> {
        let mut columns = self.columns.iter();
        columns.find_map(|(item, column)| Some((item.as_str(), column.number(name)?)))
    }
}

impl Column {
    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('*') {
            Some((before, after)) if !after.contains('*') => Ok(Self {
                before: before.to_owned(),
                after: after.to_owned(),
            }),
            _ => Err(format!(
                "{text:?} needs one *, which stands for the number of the column"
            )),
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        let digits = name.strip_prefix(self.before.as_str())?;
        let digits = digits.strip_suffix(self.after.as_str())?;
        let is_number =
            digits.len() <= MAX_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}*{}", self.before, self.after)
    }
}

/// Returns true for a cell without a value.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(settings: &str, mut row: Value) -> Result<Value, String> {
        let table = settings.parse().unwrap();
        let section = Section::new("", &table);
        let settings = RowSettings::read(&section).unwrap();
        section.finish().unwrap();
        settings.apply(&mut row).map(|()| row)
    }

    const NUMBERED: &str = "[[numbered]]\nas = \"facts\"\n\
                            columns = { name = \"Attribute * name\", value = \"Attribute * value(s)\" }";

    #[test]
    fn numbered_columns_become_a_list_in_their_order() {
        let row = json!({
            "id": 1, "Attribute 10 name": "Size", "Attribute 10 value(s)": "M", "Attribute 2 name": "Colour",
            "Attribute 2 value(s)": "red", "Attribute 3 name": "", "Attribute 3 value(s)": null,
            "Attribute x name": "kept", "Attribute  name": "kept too", "Attribute 1 visible": 1
        });
        let expected = json!({
            "id": 1, "Attribute x name": "kept", "Attribute  name": "kept too", "Attribute 1 visible": 1,
            "facts": [{"name": "Colour", "value": "red"}, {"name": "Size", "value": "M"}]
        });
        assert_eq!(changed(NUMBERED, row), Ok(expected));
        let none = json!({"id": 1});
        assert_eq!(changed(NUMBERED, none.clone()), Ok(none));
        let refused = changed(NUMBERED, json!({"facts": 1})).unwrap_err();
        assert!(refused.contains("has \"facts\" itself"), "{refused}");
    }

    #[test]
    fn columns_of_other_forms_are_refused() {
        for columns in ["{ a = \"name\" }", "{ a = \"*name*\" }", "{}"] {
            let table = format!("[[numbered]]\nas = \"x\"\ncolumns = {columns}")
                .parse()
                .unwrap();
            assert!(
                RowSettings::read(&Section::new("", &table)).is_err(),
                "{columns}"
            );
        }
    }
}
