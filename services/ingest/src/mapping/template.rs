//! Templates: text composed of several values, `"{Class Name} {Clothing ID}"`.
//!
//! A placeholder is the name of one of the template's parts, or a path. `{path:-4}` is the last
//! four characters. Text in square brackets, `[, {color}]`, is omitted if a value in it is unknown;
//! if any other value is unknown, so is the whole text. `{{`, `}}`, `[[` and `]]` are escapes for
//! the single characters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use vitrine_model::text::collapse;

use super::error::MappingError;
use super::field::Field;
use super::path::Row;
use super::reading::Reading;
use super::uses::{UsedPath, Uses};

/// A text with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

/// The named fields of a template.
pub(crate) type Parts = BTreeMap<String, Field>;

#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    Path(UsedPath, Option<usize>),
    Part(Box<Field>, Option<usize>),
    /// Omitted if one of its values is unknown.
    Optional(Vec<Piece>),
}

/// Reads the named parts of a template.
pub(super) fn parts(
    entries: Vec<(String, &String, &toml::Value)>,
    defaults: &Reading,
) -> Result<Parts, MappingError> {
    let reading = defaults.refusing_on_bad(ON_BAD).refusing_factor(NO_FACTOR);
    entries
        .into_iter()
        .map(|(path, name, value)| Ok((name.clone(), Field::read(path, value, &reading)?)))
        .collect()
}

const ON_BAD: &str = "has no effect in a part: a bad part makes the whole text bad, and on_bad beside \
                      the template says what happens then";

const NO_FACTOR: &str = "has no effect in a part, which is text; beside the template it changes the number that the \
                         text is";

impl Template {
    /// Parses the template of a setting.
    ///
    /// # Errors
    /// What is wrong with the template.
    pub(crate) fn parse(
        text: &str,
        parts: &Parts,
        setting: &str,
        uses: &Uses,
    ) -> Result<Self, String> {
        let mut parser = Parser {
            rest: text,
            parts,
            setting,
            uses,
        };
        let pieces = parser.pieces(false)?;
        match parts.keys().find(|name| !mentions(text, name)) {
            Some(unused) => Err(format!("part {unused:?} is not in the template")),
            None => Ok(Self { pieces }),
        }
    }

    /// Returns the text for a row; `None` if one of its values is unknown.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub(crate) fn fill(&self, row: Row<'_>, reading: &Reading) -> Result<Option<String>, String> {
        let text = fill(&self.pieces, row, reading)?;
        Ok(text
            .map(|text| collapse(&text))
            .filter(|text| !text.is_empty()))
    }
}

fn fill(pieces: &[Piece], row: Row<'_>, reading: &Reading) -> Result<Option<String>, String> {
    let mut out = String::new();
    for piece in pieces {
        let Some(text) = piece.text(row, reading)? else {
            return Ok(None);
        };
        out.push_str(&text);
    }
    Ok(Some(out))
}

impl Piece {
    fn text<'t>(&'t self, row: Row<'t>, reading: &Reading) -> Result<Option<Cow<'t, str>>, String> {
        let (text, last) = match self {
            Self::Literal(literal) => (Some(Cow::Borrowed(literal.as_str())), None),
            Self::Path(path, last) => (at(path, row, reading)?, *last),
            Self::Part(field, last) => (field.try_text(row)?.map(Cow::Owned), *last),
            Self::Optional(pieces) => {
                let text = fill(pieces, row, reading)?.unwrap_or_default();
                (Some(Cow::Owned(text)), None)
            }
        };
        Ok(match (text, last) {
            (Some(text), Some(last)) => Some(Cow::Owned(tail(&text, last).to_owned())),
            (text, _) => text,
        })
    }
}

/// The parser of a template.
struct Parser<'t> {
    rest: &'t str,
    parts: &'t Parts,
    /// The setting and the paths of the mapping, for the paths of the template.
    setting: &'t str,
    uses: &'t Uses,
}

impl Parser<'_> {
    /// Parses the pieces up to the end, or to the bracket that closes an optional piece.
    fn pieces(&mut self, optional: bool) -> Result<Vec<Piece>, String> {
        let mut pieces = Vec::new();
        loop {
            let (literal, delimiter) = self.next_delimiter();
            pieces.push(Piece::Literal(literal));
            match delimiter {
                None if optional => return Err("a [ is not closed".to_owned()),
                None => return Ok(pieces),
                Some('{') => pieces.push(self.placeholder()?),
                Some('[') if !optional => pieces.push(Piece::Optional(self.pieces(true)?)),
                Some(']') if optional => return Ok(pieces),
                Some(delimiter) => {
                    return Err(format!(
                        "{delimiter} has no counterpart, or is nested in another"
                    ));
                }
            }
        }
    }

    /// Returns the text up to the next delimiter that is not doubled, and that delimiter.
    fn next_delimiter(&mut self) -> (String, Option<char>) {
        let mut literal = String::new();
        while let Some(at) = self.rest.find(['{', '}', '[', ']']) {
            let delimiter = char::from(self.rest.as_bytes()[at]);
            literal.push_str(&self.rest[..at]);
            self.rest = &self.rest[at + 1..];
            match self.rest.strip_prefix(delimiter) {
                None => return (literal, Some(delimiter)),
                Some(rest) => self.rest = rest,
            }
            literal.push(delimiter);
        }
        literal.push_str(std::mem::take(&mut self.rest));
        (literal, None)
    }

    /// Parses the content of braces: `path`, `part`, `path:-4`.
    fn placeholder(&mut self) -> Result<Piece, String> {
        let (inside, after) = self.rest.split_once('}').ok_or("a { is not closed")?;
        self.rest = after;
        let (name, last) = match inside.rsplit_once(":-") {
            Some((name, count)) => {
                let count = count.parse();
                (
                    name,
                    Some(count.map_err(|_| format!("{inside:?}: a number must follow :-"))?),
                )
            }
            None => (inside, None),
        };
        match self.parts.get(name) {
            Some(field) => Ok(Piece::Part(Box::new(field.clone()), last)),
            None => Ok(Piece::Path(self.path(name)?, last)),
        }
    }

    /// Parses a path to one value.
    fn path(&self, name: &str) -> Result<UsedPath, String> {
        let path = UsedPath::parse(name, self.setting, self.uses)?;
        if path.path().has_items() {
            return Err(format!(
                "{{{name}}} may have several values; a part with from = {name:?} and list = \"join\" \
                 takes all of them"
            ));
        }
        Ok(path)
    }
}

fn at<'v>(
    path: &UsedPath,
    row: Row<'v>,
    reading: &Reading,
) -> Result<Option<Cow<'v, str>>, String> {
    path.first(row).map_or(Ok(None), |raw| {
        let text = reading.text(raw);
        text.map_err(|reason| format!("{} {reason}", path.path()))
    })
}

fn mentions(template: &str, part: &str) -> bool {
    template.contains(&format!("{{{part}}}")) || template.contains(&format!("{{{part}:"))
}

/// Returns the last characters of a text.
fn tail(text: &str, last: usize) -> &str {
    let skipped = text.chars().count().saturating_sub(last);
    let start = text
        .char_indices()
        .nth(skipped)
        .map_or(text.len(), |(at, _)| at);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(text: &str) -> Result<Template, String> {
        Template::parse(text, &Parts::new(), "name", &Uses::default())
    }

    fn fill(template: &str, row: &Value) -> Option<String> {
        let template = parse(template).unwrap();
        template.fill(row.into(), &Reading::default()).unwrap()
    }

    #[test]
    fn placeholders_are_filled() {
        let row = json!({"a": " x  y ", "n": {"b c": 7}, "id": "AÉB12é", "none": null});
        assert_eq!(fill("{a}: {n.b c}!", &row).as_deref(), Some("x y: 7!"));
        assert_eq!(fill("{id:-4} {{x}}", &row).as_deref(), Some("B12é {x}"));
        assert_eq!(fill("{a} {none}", &row), None);
        assert_eq!(fill("{a} {gone}", &row), None);
        assert_eq!(
            fill("{n.b c}[, {a}][, {none}]", &row).as_deref(),
            Some("7, x y")
        );
        assert_eq!(fill("[{none}]", &row), None);
        assert_eq!(fill("[[{a}]]}}", &row).as_deref(), Some("[x y]}"));
    }

    #[test]
    fn invalid_templates_are_refused() {
        for text in [
            "{a",
            "a}",
            "{a:-x}",
            "{}",
            "[{a}",
            "{a}]",
            "[{a}[{b}]]",
            "{a[].b}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
