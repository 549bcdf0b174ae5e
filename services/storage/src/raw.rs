//! Typed access to fields of raw documents. Each error names the document and the field.

use mongodb::bson::raw::{RawBsonRef, RawDocument};
use mongodb::bson::{Bson, doc};
use vitrine_model::clock::Timestamp;

use self::element::Unread;
pub(crate) use self::element::{Element, Elements};
use crate::StorageError;

mod element;

/// The expected number of fields of a document that is indexed.
const EXPECTED_FIELDS: usize = 40;

/// An element with its name.
pub(crate) type Named<'a> = (&'a [u8], Element<'a>);

/// A raw document, or a part of one, with its collection and id.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    collection: &'static str,
    id: i64,
    doc: &'a RawDocument,
    /// The elements of the document, if many of them will be looked up; otherwise empty.
    index: &'a [Named<'a>],
}

pub(crate) type Read<T> = Result<T, StorageError>;

impl<'a> Fields<'a> {
    /// Wraps a document whose id is a number (errors show 0 for any other id).
    pub(crate) fn of(collection: &'static str, doc: &'a RawDocument) -> Self {
        let id = element::find(doc, "_id").ok().flatten();
        let id = id.and_then(Element::int64).unwrap_or_default();
        Self {
            collection,
            id,
            doc,
            index: &[],
        }
    }

    /// Returns the elements of the document, for [`Fields::indexed`]; none if the document cannot be read.
    pub(crate) fn index(&self) -> Vec<Named<'a>> {
        let mut index = Vec::with_capacity(EXPECTED_FIELDS);
        for element in Elements::of(self.doc) {
            match element {
                Ok(element) => index.push(element),
                Err(Unread) => return Vec::new(),
            }
        }
        index
    }

    /// Returns the document with an index of its elements, for those who look up most of them.
    pub(crate) fn indexed<'i>(&self, index: &'i [Named<'i>]) -> Fields<'i>
    where
        'a: 'i,
    {
        Fields { index, ..*self }
    }

    fn find(&self, field: &str) -> Read<Option<Element<'a>>> {
        if self.index.is_empty() {
            return element::find(self.doc, field).map_err(|Unread| self.corrupt(field));
        }
        let named = self
            .index
            .iter()
            .find(|(name, _)| *name == field.as_bytes());
        Ok(named.map(|(_, element)| *element))
    }

    pub(crate) fn corrupt(&self, field: &str) -> StorageError {
        StorageError::Corrupt {
            collection: self.collection,
            id: self.id.to_string(),
            field: field.to_owned(),
        }
    }

    pub(crate) fn get(&self, field: &str) -> Read<Option<RawBsonRef<'a>>> {
        let value = self.doc.get(field).map_err(|_| self.corrupt(field))?;
        Ok(value.filter(|value| !matches!(value, RawBsonRef::Null)))
    }

    fn typed<T>(
        &self,
        field: &str,
        read: impl FnOnce(Element<'a>) -> Option<T>,
    ) -> Read<Option<T>> {
        let value = self.find(field)?.filter(|value| !value.is_null());
        value
            .map(|value| read(value).ok_or_else(|| self.corrupt(field)))
            .transpose()
    }

    fn required<T>(&self, field: &str, value: Option<T>) -> Read<T> {
        value.ok_or_else(|| self.corrupt(field))
    }

    pub(crate) fn opt_str(&self, field: &str) -> Read<Option<&'a str>> {
        self.typed(field, Element::str)
    }

    pub(crate) fn str(&self, field: &str) -> Read<&'a str> {
        self.required(field, self.opt_str(field)?)
    }

    pub(crate) fn string(&self, field: &str) -> Read<String> {
        self.str(field).map(str::to_owned)
    }

    pub(crate) fn opt_string(&self, field: &str) -> Read<Option<String>> {
        Ok(self.opt_str(field)?.map(str::to_owned))
    }

    pub(crate) fn opt_i64(&self, field: &str) -> Read<Option<i64>> {
        self.typed(field, Element::integer)
    }

    pub(crate) fn i64(&self, field: &str) -> Read<i64> {
        self.required(field, self.opt_i64(field)?)
    }

    pub(crate) fn opt_bool(&self, field: &str) -> Read<Option<bool>> {
        self.typed(field, Element::bool)
    }

    pub(crate) fn bool(&self, field: &str) -> Read<bool> {
        self.required(field, self.opt_bool(field)?)
    }

    pub(crate) fn opt_date(&self, field: &str) -> Read<Option<Timestamp>> {
        self.typed(field, |value| value.date().map(Timestamp::from_millis))
    }

    pub(crate) fn date(&self, field: &str) -> Read<Timestamp> {
        self.required(field, self.opt_date(field)?)
    }

    pub(crate) fn opt_id(&self, field: &str) -> Read<Option<i64>> {
        self.typed(field, Element::int64)
    }

    pub(crate) fn id(&self, field: &str) -> Read<i64> {
        self.required(field, self.opt_id(field)?)
    }

    pub(crate) fn opt_doc(&self, field: &str) -> Read<Option<Fields<'a>>> {
        let doc = self.typed(field, Element::document)?;
        Ok(doc.map(|doc| Fields {
            doc,
            index: &[],
            ..*self
        }))
    }

    pub(crate) fn doc(&self, field: &str) -> Read<Fields<'a>> {
        self.required(field, self.opt_doc(field)?)
    }

    /// Returns the items of an array, each decoded by `read`; empty without the array.
    pub(crate) fn items<T>(
        &self,
        field: &str,
        read: impl Fn(RawBsonRef<'a>) -> Option<T>,
    ) -> Read<Vec<T>> {
        let Some(array) = self.get(field)? else {
            return Ok(Vec::new());
        };
        let items = array.as_array().ok_or_else(|| self.corrupt(field))?;
        let items = items.into_iter();
        items
            .map(|item| item.ok().and_then(&read).ok_or_else(|| self.corrupt(field)))
            .collect()
    }

    /// Returns the documents of an array, each decoded by `read`; empty without the array.
    pub(crate) fn docs<T>(
        &self,
        field: &str,
        read: impl Fn(Fields<'a>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let docs = self.typed(field, Element::array)?;
        let doc = |item: Result<(_, Element<'a>), Unread>| {
            let doc = item.ok().and_then(|(_, item)| item.document());
            read(Fields {
                doc: doc.ok_or_else(|| self.corrupt(field))?,
                index: &[],
                ..*self
            })
        };
        docs.into_iter().flatten().map(doc).collect()
    }

    /// Calls `read` with the elements of each document of an array, if there is one.
    pub(crate) fn each_doc(
        &self,
        field: &str,
        mut read: impl FnMut(Elements<'a>) -> Option<()>,
    ) -> Read<()> {
        for item in self.typed(field, Element::array)?.into_iter().flatten() {
            let doc = item.ok().and_then(|(_, item)| item.document());
            let read = doc.and_then(|doc| read(Elements::of(doc)));
            read.ok_or_else(|| self.corrupt(field))?;
        }
        Ok(())
    }

    /// Returns the names and values of the fields.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Read<(&'a str, RawBsonRef<'a>)>> {
        let at = *self;
        self.doc.iter().map(move |entry| {
            entry
                .map(|(key, value)| (key.as_str(), value))
                .map_err(|_| at.corrupt("entries"))
        })
    }

    /// Deserializes the whole document.
    pub(crate) fn deserialize<T: serde::de::DeserializeOwned>(&self, field: &str) -> Read<T> {
        mongodb::bson::deserialize_from_slice(self.doc.as_bytes()).map_err(|_| self.corrupt(field))
    }

    pub(crate) const fn raw(&self) -> &'a RawDocument {
        self.doc
    }

    pub(crate) fn owned(self) -> mongodb::bson::RawDocumentBuf {
        self.doc.to_owned()
    }

    pub(crate) fn within(&self, doc: &'a RawDocument) -> Fields<'a> {
        Fields {
            doc,
            index: &[],
            ..*self
        }
    }
}

pub(crate) fn integer(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(n) => Some(i64::from(n)),
        RawBsonRef::Int64(n) => Some(n),
        _ => None,
    }
}

pub(crate) fn number(value: RawBsonRef<'_>) -> Option<f64> {
    match value {
        RawBsonRef::Double(n) => Some(n),
        RawBsonRef::Int32(n) => Some(f64::from(n)),
        _ => None,
    }
}

/// Encodes an id.
pub(crate) const fn stored_id(number: i64) -> Bson {
    Bson::Int64(number)
}

/// Returns a condition that an id is one of these. A lone one is found without planning, which looks at
/// all indexes of the collection.
pub(crate) fn one_of(ids: Vec<Bson>) -> Bson {
    match <[Bson; 1]>::try_from(ids) {
        Ok([id]) => id,
        Err(ids) => Bson::Document(doc! { "$in": ids }),
    }
}

/// Encodes an instant.
pub(crate) fn date(at: Timestamp) -> Bson {
    Bson::DateTime(mongodb::bson::DateTime::from_millis(at.as_millis()))
}
