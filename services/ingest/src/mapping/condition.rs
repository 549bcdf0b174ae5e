//! Conditions: for which rows a part of the mapping holds.
//!
//! `{ type = "product", "offer.price" = { known = true } }`: every path must have one of its values.
//! Of a list of such tables one must hold.

use serde_json::Value;

use super::error::MappingError;
use super::path::Row;
use super::reading::{Reading, same};
use super::section::Section;
use super::uses::UsedPath;

/// A condition on rows: of these lists of tests one must hold, with all its tests.
#[derive(Clone, Debug)]
pub(crate) struct Condition(Vec<Vec<(UsedPath, Test)>>);

#[derive(Clone, Debug)]
enum Test {
    /// A value is one of these.
    Is(Vec<toml::Value>),
    /// No value is one of these.
    Not(Vec<toml::Value>),
    /// There is a known value, or there is none.
    Known(bool, Box<Reading>),
}

impl Condition {
    /// Reads the setting `where` of a section, a condition on the row.
    pub(super) fn read(
        section: &Section<'_>,
        reading: &Reading,
    ) -> Result<Option<Self>, MappingError> {
        Self::named("where", section, reading)
    }

    /// Reads the setting `where_item` of a section, a condition on an item of a list.
    pub(super) fn of_items(
        section: &Section<'_>,
        reading: &Reading,
    ) -> Result<Option<Self>, MappingError> {
        Self::named("where_item", section, reading)
    }

    fn named(
        name: &'static str,
        section: &Section<'_>,
        reading: &Reading,
    ) -> Result<Option<Self>, MappingError> {
        let mut any = Vec::new();
        for table in section.tables(name)? {
            let entries = table.own_entries().into_iter();
            let tests = entries.map(|(setting, path, value)| {
                let parsed = UsedPath::parse(path, &section.at(name), &reading.uses);
                let parsed = parsed.map_err(|reason| MappingError::setting(&setting, reason))?;
                Ok((parsed, test(setting, value, reading)?))
            });
            any.push(tests.collect::<Result<Vec<_>, MappingError>>()?);
        }
        // What asks for nothing is no condition.
        let asks = !any.is_empty() && any.iter().all(|tests| !tests.is_empty());
        Ok(asks.then_some(Self(any)))
    }

    /// Returns true if the condition holds for a row.
    pub(crate) fn holds(&self, row: Row<'_>) -> bool {
        let holds = |(path, test): &(UsedPath, Test)| test.holds(&path.all(row));
        self.0.iter().any(|tests| tests.iter().all(holds))
    }
}

impl Test {
    /// Returns true if these values of a path pass.
    fn holds(&self, values: &[&Value]) -> bool {
        let mut values = values.iter();
        match self {
            Self::Is(wanted) => values.any(|value| is_one_of(value, wanted)),
            Self::Not(unwanted) => !values.any(|value| is_one_of(value, unwanted)),
            Self::Known(known, reading) => values.any(|value| reading.is_known(value)) == *known,
        }
    }
}

fn is_one_of(value: &Value, markers: &[toml::Value]) -> bool {
    markers.iter().any(|marker| same(marker, value))
}

fn test(setting: String, value: &toml::Value, reading: &Reading) -> Result<Test, MappingError> {
    match value {
        toml::Value::Table(table) => {
            let section = Section::new(setting, table);
            let unwanted = section.values("not");
            let known = section.value("known").map(toml::Value::as_bool);
            let test = match (unwanted, known) {
                ([], Some(Some(known))) => Test::Known(known, Box::new(reading.clone())),
                ([_, ..], None) => Test::Not(unwanted.to_vec()),
                _ => {
                    return Err(MappingError::setting(
                        section.path(),
                        "must be a value, a list of values, { not = … } or { known = true }",
                    ));
                }
            };
            section.finish()?;
            Ok(test)
        }
        toml::Value::Array(values) => Ok(Test::Is(values.clone())),
        value => Ok(Test::Is(vec![value.clone()])),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(toml: &str, row: &Value) -> bool {
        let table = toml.parse().unwrap();
        let section = Section::new("test", &table);
        let condition = Condition::read(&section, &Reading::default()).unwrap();
        section.finish().unwrap();
        condition.unwrap().holds(row.into())
    }

    #[test]
    fn all_parts_of_a_condition_must_hold() {
        let row = json!({"type": "product", "n": "3", "tags": ["a", "b"], "empty": " "});
        for yes in [
            "where = { type = \"product\" }",
            "where = { type = [\"x\", \"product\"], n = 3 }",
            "where = { tags = \"b\" }",
            "where = { type = { not = [\"variant\"] } }",
            "where = { n = { known = true }, empty = { known = false }, gone = { known = false } }",
            "where = [{ type = \"variant\" }, { n = 3, tags = \"a\" }]",
        ] {
            assert!(holds(yes, &row), "{yes}");
        }
        for no in [
            "where = { type = \"variant\" }",
            "where = { type = \"product\", n = 4 }",
            "where = { tags = { not = \"a\" } }",
            "where = { empty = { known = true } }",
            "where = [{ type = \"variant\" }, { n = 3, tags = \"c\" }]",
        ] {
            assert!(!holds(no, &row), "{no}");
        }
    }

    #[test]
    fn other_conditions_are_refused() {
        for text in [
            "where = { a = { is = 1 } }",
            "where = { a = {} }",
            "where = { \"a.*\" = 1 }",
            "where = [1]",
        ] {
            let table = text.parse().unwrap();
            let section = Section::new("test", &table);
            assert!(
                Condition::read(&section, &Reading::default()).is_err(),
                "{text}"
            );
        }
    }
}
