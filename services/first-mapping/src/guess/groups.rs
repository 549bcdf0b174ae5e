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
            .filter(|(_, facts)| !facts.listed)
            .filter_map(|(path, facts)| {
                let (stem, number, piece) = pieces(&facts.heading.words)?;
                // Units may be empty in the first rows.
                let met = facts.known > 0 || piece == Piece::Unit;
                met.then_some((stem, number, piece, path))
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

    /// Rules for these groups, whose columns are no specs by themselves, and the lists that are made
    /// of groups with units.
    pub(super) fn pairs_of_columns(&mut self) -> (Vec<GuessedTable>, Vec<GuessedTable>) {
        let (with_units, plain): (Vec<ColumnGroup>, Vec<ColumnGroup>) = {
            let groups = self.column_groups().into_iter();
            groups.partition(|group| group.unit.is_some())
        };
        let mut rules: Vec<GuessedTable> = plain
            .iter()
            .filter_map(|group| self.rule_of_group(group))
            .collect();
        let mut lists = Vec::new();
        let mut stems: Vec<&str> = with_units.iter().map(|group| group.stem.as_str()).collect();
        stems.dedup();
        for stem in stems {
            let groups: Vec<&ColumnGroup> = with_units
                .iter()
                .filter(|group| group.stem == stem)
                .collect();
            let list = self.list_of_groups(stem, &groups);
            rules.extend(list.iter().map(|_| self.rule_of_list(stem, &groups)));
            lists.extend(list);
        }
        for group in plain.into_iter().chain(with_units) {
            self.taken.extend([group.name, group.value]);
            self.taken.extend(group.unit);
        }
        (lists, rules)
    }

    fn rule_of_group(&self, group: &ColumnGroup) -> Option<GuessedTable> {
        let name = placeholder(&format!("^.{}", group.name))?;
        let facts = self.facts(&group.value)?;
        let mut lines = vec![sure("path", quoted(&group.value))];
        lines.push(sure("template", quoted(&format!("{name}={{.}}"))));
        lines.push(sure("split", "\"{.key}={.}\"".to_owned()));
        if facts.all().any(|text| text.contains(", ")) {
            lines.push(sure("then_cut_at", "\", \"".to_owned()));
        }
        Some(rule(lines))
    }

    /// A list of the numbered columns of these groups, if they are called alike but for the number.
    fn list_of_groups(&self, stem: &str, groups: &[&ColumnGroup]) -> Option<GuessedTable> {
        let first = groups.first()?;
        let unit = first.unit.as_deref()?;
        let pieces = [
            ("name", first.name.as_str()),
            ("value", first.value.as_str()),
            ("unit", unit),
        ];
        let columns: Vec<(&str, String)> =
            pieces.map(|(piece, path)| (piece, numbered(path))).to_vec();
        let same = |group: &&ColumnGroup| {
            let unit = group.unit.as_deref().map(numbered);
            numbered(&group.value) == columns[1].1 && unit.as_ref() == Some(&columns[2].1)
        };
        let list = list_name(stem);
        let is_free = self.facts(&list).is_none() && groups.iter().all(same);
        is_free.then(|| GuessedTable {
            setting: "[[numbered]]".to_owned(),
            lines: vec![
                sure("as", quoted(&list)),
                sure("columns", super::texts::table(&columns)),
            ],
        })
    }

    fn rule_of_list(&self, stem: &str, groups: &[&ColumnGroup]) -> GuessedTable {
        let all = |path: fn(&ColumnGroup) -> Option<&str>| -> Vec<&str> {
            let facts = groups.iter().filter_map(|group| self.facts(path(group)?));
            facts.flat_map(Facts::all).collect()
        };
        let mut lines = vec![
            sure("path", quoted(&list_name(stem))),
            sure("key_from", "\"name\"".to_owned()),
            sure("value_from", "\"value\"".to_owned()),
            sure("unit_from", "\"unit\"".to_owned()),
        ];
        lines.extend(super::pieces::unit_values(
            &all(|group| group.unit.as_deref()),
            &self.units,
        ));
        let values = all(|group| Some(&group.value));
        lines.extend(super::pieces::decimal_comma(&values));
        rule(lines)
    }
}

/// The name of the list of groups.
fn list_name(stem: &str) -> String {
    format!("{stem}_columns")
}

/// The name of a column with `*` for its number.
fn numbered(path: &str) -> String {
    let name = crate::heading::steps(path).concat();
    let mut pattern = String::new();
    for letter in name.chars() {
        let star = letter.is_ascii_digit();
        if !star {
            pattern.push(letter);
        } else if !pattern.ends_with('*') {
            pattern.push('*');
        }
    }
    pattern
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
