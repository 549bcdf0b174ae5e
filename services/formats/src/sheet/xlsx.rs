//! Workbooks of Excel.

use std::collections::HashMap;

use quick_xml::events::{BytesStart, Event};
use serde_json::Value;

use super::cell::{self, Cell, Shown};
use super::package::{Package, Part, add_text, attribute, ended, flag, local};
use super::{Ended, MAX_COLUMNS, SheetName, Table};

/// The maximum size of the texts that cells share, eight bytes for each of them included.
const MAX_SHARED_BYTES: u64 = 256 * 1024 * 1024;
/// The maximum size of other parts that are held in memory.
const MAX_PART_BYTES: u64 = 16 * 1024 * 1024;
/// The maximum number of styles of cells. Excel has 65,490.
const MAX_STYLES: usize = 65_536;

/// What a workbook says of its sheets.
pub(super) struct Workbook {
    pub(super) sheets: Vec<SheetName>,
    /// The parts of the sheets, in the same order.
    parts: Vec<String>,
    strings: Option<String>,
    styles: Option<String>,
    is_1904: bool,
    /// Whether the results of its formulas are not to be used.
    recalculates: bool,
}

/// A relationship of the workbook: its kind, and the part that it leads to.
type Relationships = HashMap<String, (String, String)>;

impl Workbook {
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn open(package: &Package) -> Result<Self, String> {
        let related = relationships(package)?;
        let of_kind = |kind: &str| {
            let mut parts = related.values().filter(|(known, _)| known == kind);
            parts.next().map(|(_, part)| part.clone())
        };
        let mut book = Self {
            sheets: Vec::new(),
            parts: Vec::new(),
            strings: of_kind("sharedStrings"),
            styles: of_kind("styles"),
            is_1904: false,
            recalculates: false,
        };
        let mut part = needed(package, "xl/workbook.xml", MAX_PART_BYTES)?;
        let mut buffer = Vec::new();
        loop {
            match part.next(&mut buffer)? {
                Event::Start(tag) => book.add(&tag, &related),
                Event::Eof => return Ok(book),
                _ => {}
            }
        }
    }

    fn add(&mut self, tag: &BytesStart<'_>, related: &Relationships) {
        match local(tag) {
            "workbookPr" => self.is_1904 = flag(tag, "date1904"),
            "calcPr" => self.recalculates = flag(tag, "fullCalcOnLoad"),
            "sheet" => {
                let id = attribute(tag, "id").unwrap_or_default();
                let Some((kind, part)) = related.get(&id) else {
                    return;
                };
                // Others are charts and dialogs.
                if kind == "worksheet" {
                    let state = attribute(tag, "state").unwrap_or_default();
                    self.sheets.push(SheetName {
                        name: attribute(tag, "name").unwrap_or_default(),
                        is_hidden: matches!(state.as_str(), "hidden" | "veryHidden"),
                    });
                    self.parts.push(part.clone());
                }
            }
            _ => {}
        }
    }

    /// Reads the cells of a sheet.
    pub(super) fn read(
        &self,
        package: &Package,
        sheet: usize,
        table: &mut Table<'_>,
    ) -> Result<(), Ended> {
        let strings = match &self.strings {
            Some(part) => Strings::read(package, part)?,
            None => Strings::default(),
        };
        let styles = match &self.styles {
            Some(part) => styles(package, part)?,
            None => Vec::new(),
        };
        let name = self.parts.get(sheet).map_or("", String::as_str);
        let cells = Cells {
            part: needed(package, name, u64::MAX)?,
            strings,
            styles,
            is_1904: self.is_1904,
            recalculates: self.recalculates,
        };
        cells.read(table)
    }
}

fn needed(package: &Package, name: &str, max_bytes: u64) -> Result<Part, String> {
    let part = package.part(name, max_bytes)?;
    part.ok_or_else(|| format!("it has no part {name:?}"))
}

fn relationships(package: &Package) -> Result<Relationships, String> {
    let mut related = Relationships::new();
    let mut part = needed(package, "xl/_rels/workbook.xml.rels", MAX_PART_BYTES)?;
    let mut buffer = Vec::new();
    loop {
        match part.next(&mut buffer)? {
            Event::Start(tag) if local(&tag) == "Relationship" => {
                let of = |name| attribute(&tag, name).unwrap_or_default();
                let kind = of("Type").rsplit('/').next().unwrap_or_default().to_owned();
                related.insert(of("Id"), (kind, target(&of("Target"))));
            }
            Event::Eof => return Ok(related),
            _ => {}
        }
    }
}

/// The part that a target of the workbook is.
fn target(target: &str) -> String {
    let target = target.replace('\\', "/");
    let path = match target.strip_prefix('/') {
        Some(path) => path.to_owned(),
        None => format!("xl/{target}"),
    };
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "." | "" => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

/// The texts that cells share, one behind the other.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn read(package: &Package, name: &str) -> Result<Self, String> {
        let mut strings = Self::default();
        let Some(mut part) = package.part(name, MAX_SHARED_BYTES)? else {
            return Ok(strings);
        };
        let (mut buffer, mut text) = (Vec::new(), String::new());
        loop {
            match part.next(&mut buffer)? {
                Event::Start(tag) if local(&tag) == "si" => {
                    text.clear();
                    read_text(&mut part, "si", &mut text)?;
                    strings.text.push_str(&text);
                    strings.ends.push(strings.text.len());
                    strings.check()?;
                }
                Event::Eof => return Ok(strings),
                _ => {}
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let bytes = self.text.len() as u64 + 8 * self.ends.len() as u64;
        if bytes <= MAX_SHARED_BYTES {
            return Ok(());
        }
        let mebibytes = MAX_SHARED_BYTES / (1024 * 1024);
        Err(format!(
            "the texts that its cells share take more than {mebibytes} MiB, and would be held in \
             memory; export it as CSV"
        ))
    }

    fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end])
    }
}

/// Reads the text of an element, without what says how it is pronounced.
fn read_text(part: &mut Part, element: &str, text: &mut String) -> Result<(), String> {
    let (mut buffer, mut in_text, mut in_phonetic) = (Vec::new(), false, false);
    loop {
        match part.next(&mut buffer)? {
            Event::Start(tag) => match local(&tag) {
                "rPh" => in_phonetic = true,
                "t" => in_text = !in_phonetic,
                _ => {}
            },
            Event::End(tag) => match ended(&tag) {
                "rPh" => in_phonetic = false,
                "t" => in_text = false,
                name if name == element => break,
                _ => {}
            },
            Event::Eof => break,
            event if in_text => add_text(text, &event)?,
            _ => {}
        }
    }
    if text.contains("_x") {
        *text = unescaped(text);
    }
    Ok(())
}

/// A text without the escapes for signs that XML does not allow: `_x000D_`.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let code = rest
            .get(2..6)
            .filter(|_| rest.as_bytes().get(6) == Some(&b'_'));
        let letter = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        if let Some(letter) = letter.and_then(char::from_u32) {
            // Excel shows a carriage return as nothing.
            plain.extend((letter != '\r').then_some(letter));
            rest = &rest[7..];
        } else {
            plain.push_str("_x");
            rest = &rest[2..];
        }
    }
    plain + rest
}

/// What the styles of cells show.
fn styles(package: &Package, name: &str) -> Result<Vec<Shown>, String> {
    let (mut styles, mut formats) = (Vec::new(), HashMap::new());
    let Some(mut part) = package.part(name, MAX_PART_BYTES)? else {
        return Ok(styles);
    };
    let (mut buffer, mut in_cells) = (Vec::new(), false);
    loop {
        match part.next(&mut buffer)? {
            Event::Start(tag) => match local(&tag) {
                "numFmt" => {
                    let code = attribute(&tag, "formatCode").unwrap_or_default();
                    formats.insert(format_id(&tag), Shown::of_format(&code));
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells => {
                    let id = format_id(&tag);
                    styles.push(
                        formats
                            .get(&id)
                            .copied()
                            .unwrap_or_else(|| Shown::of_id(id)),
                    );
                }
                _ => {}
            },
            Event::End(tag) if ended(&tag) == "cellXfs" => in_cells = false,
            Event::Eof => return Ok(styles),
            _ => {}
        }
        if styles.len().max(formats.len()) > MAX_STYLES {
            return Err(format!("{name} has more than {MAX_STYLES} styles"));
        }
    }
}

fn format_id(tag: &BytesStart<'_>) -> u32 {
    let id = attribute(tag, "numFmtId");
    id.and_then(|id| id.parse().ok()).unwrap_or_default()
}

/// The cells of a sheet.
struct Cells {
    part: Part,
    strings: Strings,
    styles: Vec<Shown>,
    is_1904: bool,
    recalculates: bool,
}

/// What the tag of a cell says.
#[derive(Default)]
struct Tag {
    /// Its column, if it says which.
    column: Option<usize>,
    kind: Kind,
    shown: Shown,
}

/// The type of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Number,
    Shared,
    Inline,
    /// The result of a formula.
    Text,
    Date,
    Bool,
    Error,
}

impl Cells {
    fn read(mut self, table: &mut Table<'_>) -> Result<(), Ended> {
        let (mut buffer, mut row, mut column) = (Vec::new(), 0, 0);
        loop {
            match self.part.next(&mut buffer)? {
                Event::Start(tag) => match local(&tag) {
                    "row" => {
                        row = match attribute(&tag, "r") {
                            Some(number) => row_number(&number)?,
                            None => row + 1,
                        };
                        column = 0;
                        table.start_row(row)?;
                    }
                    "c" => {
                        let tag = self.tag(&tag)?;
                        column = tag.column.unwrap_or(column);
                        let cell = self.cell(&tag)?;
                        table.cell(column, cell);
                        column = column.saturating_add(1);
                    }
                    _ => {}
                },
                Event::End(tag) if ended(&tag) == "sheetData" => return Ok(()),
                Event::Eof => return Err(Ended::Broken("the sheet has no rows".to_owned())),
                _ => {}
            }
        }
    }

    fn tag(&self, tag: &BytesStart<'_>) -> Result<Tag, String> {
        let mut found = Tag::default();
        for attribute in tag.attributes().with_checks(false).flatten() {
            let value: &str = &attribute.value;
            match attribute.key.as_ref() {
                "r" => found.column = Some(column_of(value)?),
                "s" => {
                    let style = value.parse::<usize>().ok();
                    let shown = style.and_then(|style| self.styles.get(style));
                    found.shown = shown.copied().unwrap_or_default();
                }
                "t" => {
                    found.kind = match value {
                        "s" => Kind::Shared,
                        "inlineStr" => Kind::Inline,
                        "str" => Kind::Text,
                        "d" => Kind::Date,
                        "b" => Kind::Bool,
                        "e" => Kind::Error,
                        _ => Kind::Number,
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Reads the content of a cell.
    fn cell(&mut self, tag: &Tag) -> Result<Cell, String> {
        let (mut buffer, mut text, mut is_formula) = (Vec::new(), String::new(), false);
        let mut in_value = false;
        loop {
            match self.part.next(&mut buffer)? {
                Event::Start(inner) => match local(&inner) {
                    "f" => is_formula = true,
                    "v" => in_value = tag.kind != Kind::Inline,
                    "is" => read_text(&mut self.part, "is", &mut text)?,
                    _ => {}
                },
                Event::End(inner) => match ended(&inner) {
                    "v" => in_value = false,
                    "c" => break,
                    _ => {}
                },
                Event::Eof => break,
                event if in_value => add_text(&mut text, &event)?,
                _ => {}
            }
        }
        // The result of a formula may be an empty text.
        let has_result = !text.is_empty() || tag.kind == Kind::Text;
        let is_computed = !is_formula || (has_result && !self.recalculates);
        if !is_computed && tag.kind != Kind::Error {
            return Ok(Cell::uncomputed());
        }
        Ok(self.value(tag, text))
    }

    fn value(&self, tag: &Tag, text: String) -> Cell {
        if text.is_empty() {
            return Cell::Value(Value::Null);
        }
        match tag.kind {
            Kind::Shared => match text.trim().parse().ok().and_then(|at| self.strings.get(at)) {
                Some(text) => Cell::text(text.to_owned()),
                None => Cell::Problem(format!("names the shared text {text}, which there is not")),
            },
            Kind::Bool => Cell::Value(Value::Bool(matches!(text.trim(), "1" | "true"))),
            Kind::Error => Cell::error(text.trim()),
            Kind::Text if text.contains("_x") => Cell::text(unescaped(&text)),
            Kind::Text | Kind::Inline | Kind::Date => Cell::text(text),
            Kind::Number => cell::number(text.trim(), tag.shown, self.is_1904)
                .unwrap_or_else(|| Cell::Problem(format!("is {text:?}, which is no number"))),
        }
    }
}

fn row_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("a row has the number {text:?}"))
}

/// The column of a place such as `AB12`, from 0; one behind the last if there is no such column.
fn column_of(place: &str) -> Result<usize, String> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic);
    let column = letters.fold(0_usize, |column, letter| {
        let digit = usize::from(letter.to_ascii_uppercase() - b'A') + 1;
        column.saturating_mul(26).saturating_add(digit)
    });
    let column = column.checked_sub(1);
    column
        .map(|column| column.min(MAX_COLUMNS))
        .ok_or_else(|| format!("a cell has the place {place:?}"))
}
