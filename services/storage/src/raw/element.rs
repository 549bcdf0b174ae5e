//! The elements of a raw document, without decoding those that nobody asks for.
//!
//! The library's iterator checks the text of every name and the end of every document that it
//! passes. A field far behind in a document is found here in a quarter of the time, and only its own
//! value is checked. Kinds of values that no collection stores are left to the library.

use mongodb::bson::raw::RawDocument;

/// One element: the kind of its value and the bytes of the value. See <https://bsonspec.org/spec.html>.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    kind: u8,
    value: &'a [u8],
}

/// The document does not follow the format, or has a kind of value that is not read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unread;

/// The elements of a document or array, each with its name.
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    pub(super) fn of(doc: &'a RawDocument) -> Self {
        // The library has checked the length and the last byte.
        let bytes = doc.as_bytes();
        let rest = bytes.get(4..bytes.len() - 1).unwrap_or_default();
        Self { rest }
    }

    fn read(&mut self, kind: u8, after: &'a [u8]) -> Result<(&'a [u8], Element<'a>), Unread> {
        let end = after.iter().position(|byte| *byte == 0).ok_or(Unread)?;
        let (name, value) = (&after[..end], &after[end + 1..]);
        let size = size(kind, value).ok_or(Unread)?;
        let (value, rest) = value.split_at_checked(size).ok_or(Unread)?;
        self.rest = rest;
        Ok((name, Element { kind, value }))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(&'a [u8], Element<'a>), Unread>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, after) = self.rest.split_first()?;
        let read = self.read(*kind, after);
        if read.is_err() {
            self.rest = &[];
        }
        Some(read)
    }
}

/// Returns the first element with this name.
pub(super) fn find<'a>(doc: &'a RawDocument, name: &str) -> Result<Option<Element<'a>>, Unread> {
    for element in Elements::of(doc) {
        let (found, element) = element?;
        if found == name.as_bytes() {
            return Ok(Some(element));
        }
    }
    Ok(None)
}

/// Returns the size of a value, whose bytes come first in `from`.
fn size(kind: u8, from: &[u8]) -> Option<usize> {
    let length = || {
        let length = i32::from_le_bytes(*from.first_chunk()?);
        usize::try_from(length).ok()
    };
    match kind {
        DOUBLE | DATE | INT64 | TIMESTAMP => Some(8),
        STRING => length()?.checked_add(4),
        DOCUMENT | ARRAY => length(),
        OBJECT_ID => Some(12),
        BOOLEAN => Some(1),
        NULL => Some(0),
        INT32 => Some(4),
        BINARY => length()?.checked_add(5),
        DECIMAL => Some(16),
        _ => None,
    }
}

const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const OBJECT_ID: u8 = 0x07;
const BOOLEAN: u8 = 0x08;
const DATE: u8 = 0x09;
const NULL: u8 = 0x0A;
const INT32: u8 = 0x10;
const TIMESTAMP: u8 = 0x11;
const INT64: u8 = 0x12;
const DECIMAL: u8 = 0x13;

impl<'a> Element<'a> {
    pub(super) const fn is_null(self) -> bool {
        self.kind == NULL
    }

    fn of_kind<const N: usize>(self, kind: u8) -> Option<[u8; N]> {
        (self.kind == kind).then(|| self.value.try_into().ok())?
    }

    pub(crate) fn str(self) -> Option<&'a str> {
        let (text, end) = match self.value.get(4..)? {
            [text @ .., end] if self.kind == STRING => (text, *end),
            _ => return None,
        };
        if end != 0 {
            return None;
        }
        std::str::from_utf8(text).ok()
    }

    pub(crate) fn bool(self) -> Option<bool> {
        match self.of_kind(BOOLEAN)? {
            [0] => Some(false),
            [1] => Some(true),
            [_] => None,
        }
    }

    pub(super) fn int64(self) -> Option<i64> {
        self.of_kind(INT64).map(i64::from_le_bytes)
    }

    /// Returns a whole number of either size.
    pub(super) fn integer(self) -> Option<i64> {
        let small = self.of_kind(INT32).map(i32::from_le_bytes);
        small.map(i64::from).or_else(|| self.int64())
    }

    /// Returns a number, unless it is one of 64 bits.
    pub(crate) fn number(self) -> Option<f64> {
        let small = self.of_kind(INT32).map(i32::from_le_bytes);
        let double = || self.of_kind(DOUBLE).map(f64::from_le_bytes);
        small.map(f64::from).or_else(double)
    }

    /// Returns an instant in milliseconds since 1970.
    pub(crate) fn date(self) -> Option<i64> {
        self.of_kind(DATE).map(i64::from_le_bytes)
    }

    pub(super) fn document(self) -> Option<&'a RawDocument> {
        (self.kind == DOCUMENT).then(|| self.nested())?
    }

    /// Returns the elements of an array. Their names are their positions.
    pub(super) fn array(self) -> Option<Elements<'a>> {
        let items = (self.kind == ARRAY).then(|| self.nested())?;
        items.map(Elements::of)
    }

    fn nested(self) -> Option<&'a RawDocument> {
        RawDocument::from_bytes(self.value).ok()
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::oid::ObjectId;
    use mongodb::bson::raw::{RawBsonRef, RawDocumentBuf};
    use mongodb::bson::{Binary, Bson, DateTime, Decimal128, Document, Timestamp, doc};

    use super::*;

    fn every_kind() -> Document {
        doc! {
            "double": 1.5,
            "text": "straße \u{0} \u{1F980}",
            "empty": "",
            "document": { "in": { "it": true } },
            "array": [1, 2_i64, "three", [4], Bson::Null],
            "binary": Binary { subtype: mongodb::bson::spec::BinarySubtype::Generic, bytes: vec![0, 1, 2] },
            "id": ObjectId::from_bytes([7; 12]),
            "yes": true,
            "no": false,
            "date": DateTime::from_millis(-5),
            "null": Bson::Null,
            "int32": i32::MIN,
            "timestamp": Timestamp { time: 1, increment: 2 },
            "int64": i64::MAX,
            "decimal": Decimal128::from_bytes([9; 16]),
            "": "nameless",
        }
    }

    fn raw(doc: &Document) -> RawDocumentBuf {
        RawDocumentBuf::try_from(doc).unwrap()
    }

    /// Compares one element with what the library reads.
    fn is_as_read(name: &str, doc: &RawDocument) {
        let known = doc.get(name).unwrap();
        let found = find(doc, name).unwrap();
        assert_eq!(found.is_some(), known.is_some(), "{name}");
        let (Some(found), Some(known)) = (found, known) else {
            return;
        };
        assert_eq!(found.str(), known.as_str(), "{name}");
        assert_eq!(found.bool(), known.as_bool(), "{name}");
        assert_eq!(found.int64(), known.as_i64(), "{name}");
        assert_eq!(found.integer(), super::super::integer(known), "{name}");
        let date = known.as_datetime().map(DateTime::timestamp_millis);
        assert_eq!(found.date(), date, "{name}");
        assert_eq!(found.document(), known.as_document(), "{name}");
        assert_eq!(found.is_null(), known == RawBsonRef::Null, "{name}");
        assert_eq!(found.number(), super::super::number(known), "{name}");
        let items = found.array().map(Iterator::count);
        let known = known.as_array().map(|items| items.into_iter().count());
        assert_eq!(items, known, "{name}");
    }

    #[test]
    fn every_kind_is_read_as_the_library_reads_it() {
        let all = every_kind();
        let doc = raw(&all);
        for name in all
            .keys()
            .map(String::as_str)
            .chain(["absent", "tex", "textt"])
        {
            is_as_read(name, &doc);
        }
    }

    #[test]
    fn kinds_that_are_not_stored_are_left_to_the_library() {
        let doc = raw(&doc! {
            "first": 1,
            "code": Bson::JavaScriptCode("x".into()),
            "last": 2,
        });
        assert!(find(&doc, "first").is_ok_and(|found| found.is_some()));
        assert_eq!(find(&doc, "code").err(), Some(Unread));
        assert_eq!(find(&doc, "last").err(), Some(Unread));
    }

    /// Damage inside a document may be read as something else, but never beyond its end.
    #[test]
    fn damaged_documents_are_survived() {
        let all = every_kind();
        let bytes = raw(&all).into_bytes();
        for at in 4..bytes.len() - 1 {
            for with in [0, 1, 2, 3, 4, 5, 7, 0x10, 0x12, 0x7F, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] = with;
                let doc = RawDocument::from_bytes(&damaged).unwrap();
                for name in all.keys() {
                    if let Ok(Some(found)) = find(doc, name) {
                        let _ = (found.str(), found.bool(), found.integer(), found.date());
                        let _ = (found.document(), found.array().map(Iterator::count));
                    }
                }
            }
        }
    }
}
