//! The fields of a record.
//!
//! A field is quoted if a quotation mark is its first sign, blanks before it aside. Its text ends
//! at the next quotation mark that is neither doubled nor, with an escape sign, escaped; only
//! blanks may follow up to the delimiter or the end of the line. In all other fields a quotation
//! mark is text. An escape sign has a meaning only in quoted fields, before a quotation mark or
//! another escape sign.

use std::fmt;

use memchr::{memchr, memchr2};

const MARK: u8 = b'"';

/// The maximum number of columns, which is that of Excel.
pub(super) const MAX_COLUMNS: usize = 16_384;

/// The signs of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// What escapes a quotation mark in a quoted field, which may also be doubled.
    pub(crate) escape: Option<u8>,
}

impl Dialect {
    fn is_blank(self, byte: u8) -> bool {
        byte != self.delimiter && (byte == b' ' || byte == b'\t')
    }

    /// Whether a line has nothing but blanks and delimiters.
    pub(super) fn is_nothing(self, line: &[u8]) -> bool {
        let is_nothing = |byte: &u8| *byte == self.delimiter || byte.is_ascii_whitespace();
        line.iter().all(is_nothing)
    }

    fn blanks(self, text: &[u8]) -> usize {
        let blanks = text.iter().take_while(|byte| self.is_blank(**byte));
        blanks.count()
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delimiter {
            b'\t' => f.write_str("TSV")?,
            b',' => f.write_str("CSV")?,
            other => write!(f, "CSV with {}", char::from(other))?,
        }
        match self.escape {
            Some(escape) => write!(f, " and {} before quotation marks", char::from(escape)),
            None => Ok(()),
        }
    }
}

/// A field: where its text is in the record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    start: usize,
    end: usize,
    pub(super) is_quoted: bool,
    /// Whether its text is not simply what stands there.
    is_coded: bool,
}

/// The fields of a record that is being read.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) fields: Vec<Field>,
    at: usize,
    /// Where the text of the quoted field begins that is open.
    open: Option<usize>,
    is_coded: bool,
    /// Whether the text of a quoted field ended with what may be an escape sign.
    is_doubtful: bool,
}

/// Why a record is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    /// Whether a backslash may have been meant as an escape sign.
    pub(super) is_escaped: bool,
}

/// What follows a field.
enum After {
    /// Another field.
    Field,
    /// The end of the line, inside of a quoted field.
    Open,
    /// The end of the record.
    Nothing,
}

impl Record {
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.at = 0;
        self.open = None;
        self.is_doubtful = false;
    }

    /// Reads on up to the end of a line, which is the end of the text. Returns whether it is the
    /// end of the record.
    ///
    /// # Errors
    /// [`Stray`] if something else than the end of a field follows a closing quotation mark.
    pub(super) fn read(&mut self, text: &[u8], dialect: Dialect) -> Result<bool, Stray> {
        if self.at == 0 && memchr(MARK, text).is_none() {
            self.plain(text, dialect.delimiter);
            return Ok(true);
        }
        // The line end before this line belongs to the field.
        self.is_coded |= self.open.is_some();
        loop {
            let after = match self.open {
                Some(start) => self.quoted(text, start, dialect)?,
                None => self.field(text, dialect)?,
            };
            match after {
                After::Field => {}
                After::Open => return Ok(false),
                After::Nothing => return Ok(true),
            }
        }
    }

    fn push(&mut self, start: usize, end: usize, is_quoted: bool) {
        // One too many shows that there are too many; more are not needed.
        if self.fields.len() > MAX_COLUMNS {
            return;
        }
        self.fields.push(Field {
            start,
            end,
            is_quoted,
            is_coded: is_quoted && self.is_coded,
        });
    }

    /// A line without quotation marks.
    fn plain(&mut self, text: &[u8], delimiter: u8) {
        let mut start = 0;
        for end in memchr::memchr_iter(delimiter, text) {
            self.push(start, end, false);
            start = end + 1;
        }
        self.push(start, text.len(), false);
    }

    /// Reads a field, or the quotation mark that opens it.
    fn field(&mut self, text: &[u8], dialect: Dialect) -> Result<After, Stray> {
        let start = self.at;
        let first = start + dialect.blanks(&text[start..]);
        if text.get(first) == Some(&MARK) {
            self.at = first + 1;
            self.open = Some(self.at);
            self.is_coded = false;
            return Ok(After::Field);
        }
        let end = memchr(dialect.delimiter, &text[start..]);
        let end = end.map_or(text.len(), |end| start + end);
        if self.is_doubtful && memchr(MARK, &text[start..end]).is_some() {
            return Err(Stray { is_escaped: true });
        }
        self.push(start, end, false);
        Ok(self.after(text, end))
    }

    /// Reads on in a quoted field.
    fn quoted(&mut self, text: &[u8], start: usize, dialect: Dialect) -> Result<After, Stray> {
        let escape = dialect.escape.unwrap_or(MARK);
        while let Some(found) = memchr2(MARK, escape, &text[self.at..]) {
            let at = self.at + found;
            let next = text.get(at + 1).copied();
            let is_mark = text[at] == MARK;
            if next == Some(MARK) || (!is_mark && next == Some(escape)) {
                self.is_coded = true;
                self.at = at + 2;
            } else if is_mark {
                return self.close(text, start..at, dialect);
            } else {
                self.at = at + 1;
            }
        }
        self.at = text.len();
        Ok(After::Open)
    }

    /// Reads on after the closing quotation mark of a field.
    fn close(
        &mut self,
        text: &[u8],
        field: std::ops::Range<usize>,
        dialect: Dialect,
    ) -> Result<After, Stray> {
        let is_escaped = dialect.escape.is_none() && text[field.clone()].ends_with(b"\\");
        let rest = &text[field.end + 1..];
        let blanks = dialect.blanks(rest);
        if rest
            .get(blanks)
            .is_some_and(|next| *next != dialect.delimiter)
        {
            return Err(Stray { is_escaped });
        }
        self.is_doubtful |= is_escaped;
        self.open = None;
        self.push(field.start, field.end, true);
        Ok(self.after(text, field.end + 1 + blanks))
    }

    fn after(&mut self, text: &[u8], end: usize) -> After {
        self.at = end + 1;
        if end < text.len() {
            After::Field
        } else {
            After::Nothing
        }
    }
}

impl Field {
    /// Its text. CR LF in it is LF.
    pub(super) fn text(self, record: &str, dialect: Dialect) -> String {
        let text = &record[self.start..self.end];
        if !self.is_coded {
            return text.to_owned();
        }
        let escape = dialect.escape.map_or('"', char::from);
        let mut plain = String::with_capacity(text.len());
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied();
            let drops = match letter {
                '\r' => next == Some('\n'),
                '"' => next == Some('"'),
                letter if letter == escape => next == Some('"') || next == Some(escape),
                _ => false,
            };
            if drops {
                letters.next();
                plain.extend(next);
            } else {
                plain.push(letter);
            }
        }
        plain
    }

    /// Whether it is a text that ends with a quotation mark, although it is not quoted.
    pub(super) fn seems_to_close(self, record: &[u8]) -> bool {
        let text = record[self.start..self.end].trim_ascii_end();
        !self.is_quoted && text.ends_with(&[MARK])
    }

    /// Whether it has nothing but blanks.
    pub(super) fn is_blank(self, record: &[u8]) -> bool {
        record[self.start..self.end].trim_ascii().is_empty()
    }
}
