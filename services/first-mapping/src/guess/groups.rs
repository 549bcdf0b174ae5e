//! Guesses about numbered groups of columns: `Attribute 1 name` with `Attribute 1 value(s)`.

use super::texts::{placeholder, quoted, rule, sure};
use super::{Finder, GuessedTable};
use crate::paths::Facts;

/// The words of a heading that say which piece of a spec the column has.
const PIECES: [(Piece, &[&str]); 3] = [
    (
        Piece::Name,
        &["name", "key", "label", "merkmal", "nom", "bezeichnung"],
    ),
    (
        Piece::Value,
        &["value", "values", "value_s", "wert", "valeur"],
    ),
    (Piece::Unit, &["unit", "uom", "einheit", "unite"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Name,
    Value,
    Unit,
}

/// The columns of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnGroup {
    /// What they are called besides their number and their piece: `attribute`.
    pub(super) stem: String,
    pub(super) value: String,
    name: String,
    unit: Option<String>,
}

impl Finder<'_> {
    /// The groups of columns that have the name and the value of a spec.
    pub(super) fn column_groups(&self) -> Vec<ColumnGroup> {
        let columns: Vec<(String, String, Piece, &str)> = self
            .paths
            .all()
            .filter(|(_, facts)| facts.known > 0 && !facts.listed)
            .filter_map(|(path, facts)| {
                let (stem, number, piece) = pieces(&facts.heading.words)?;
                Some((stem, number, piece, path))
            })
            .collect();
        let with = |stem: &str, number: &str, piece: Piece| {
            let mut columns = columns.iter();
            let found =
                columns.find(|column| column.0 == stem && column.1 == number && column.2 == piece);
            found.map(|column| column.3.to_owned())
        };
        let values = columns.iter().filter(|column| column.2 == Piece::Value);
        let groups = values.filter_map(|(stem, number, _, value)| {
            Some(ColumnGroup {
                stem: stem.clone(),
                value: (*value).to_owned(),
                name: with(stem, number, Piece::Name)?,
                unit: with(stem, number, Piece::Unit),
            })
        });
        groups.collect()
    }

    /// Rules for these groups, whose columns are no specs by themselves.
    pub(super) fn pairs_of_columns(&mut self) -> Vec<GuessedTable> {
        let groups = self.column_groups();
        let rules = groups
            .iter()
            .filter_map(|group| self.rule_of_group(group))
            .collect();
        for group in groups {
            self.taken.extend([group.name, group.value]);
            self.taken.extend(group.unit);
        }
        rules
    }

    fn rule_of_group(&self, group: &ColumnGroup) -> Option<GuessedTable> {
        let name = placeholder(&format!("^.{}", group.name))?;
        let facts = self.facts(&group.value)?;
        let mut lines = vec![sure("path", quoted(&group.value))];
        let clean = self.apostrophes(&group.value);
        let clean = clean
            .iter()
            .filter_map(|setting| setting.strip_prefix("replace = "));
        lines.extend(clean.map(|value| sure("replace", value.to_owned())));
        if let Some(unit) = &group.unit {
            let unit = placeholder(&format!("^.{unit}"))?;
            lines.push(sure(
                "template",
                quoted(&format!("{name}={{.}}[ | {unit}]")),
            ));
            lines.push(sure(
                "split",
                "[\"{.key}={.} | {.unit}\", \"{.key}={.}\"]".to_owned(),
            ));
            let words: Vec<&str> = group
                .unit
                .iter()
                .filter_map(|unit| self.facts(unit))
                .flat_map(Facts::all)
                .collect();
            lines.extend(super::pieces::unit_values(&words, &self.units));
        } else {
            lines.push(sure("template", quoted(&format!("{name}={{.}}"))));
            lines.push(sure("split", "\"{.key}={.}\"".to_owned()));
        }

        if group.unit.is_none() && facts.all().any(|text| text.contains(", ")) {
            lines.push(sure("then_cut_at", "\", \"".to_owned()));
        }
        Some(rule(lines))
    }
}

/// The stem, the number and the piece of a heading: `attribute_1_name`, `attribute_name1`.
fn pieces(words: &str) -> Option<(String, String, Piece)> {
    let digits = |text: &str| {
        text.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    let number = digits(words);
    if number.is_empty() {
        return None;
    }
    let plain: String = words.chars().filter(|c| !c.is_ascii_digit()).collect();
    let plain = plain.replace("__", "_");
    let plain = plain.trim_matches('_');
    for (piece, names) in PIECES {
        for name in names {
            if let Some(stem) = plain.strip_suffix(name) {
                let stem = stem.trim_matches('_').to_owned();
                return (!stem.is_empty()).then_some((stem, number, piece));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_groups_have_a_number_and_a_piece() {
        let read = |words: &str| {
            pieces(words).map(|(stem, number, piece)| format!("{stem} {number} {piece:?}"))
        };
        assert_eq!(
            read("attribute_1_value_s").as_deref(),
            Some("attribute 1 Value")
        );
        assert_eq!(
            read("attribute_name12").as_deref(),
            Some("attribute 12 Name")
        );
        assert_eq!(read("option1_name").as_deref(), Some("option 1 Name"));
        assert_eq!(read("merkmal_2_einheit").as_deref(), Some("merkmal 2 Unit"));
        assert_eq!(read("image_1_url"), None);
        assert_eq!(read("name"), None);
    }
}
