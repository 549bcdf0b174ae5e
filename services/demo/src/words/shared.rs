//! Values that files either write out or take from a shared table.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value that is written out, or the name of a shared one.
#[derive(Clone, Debug)]
pub(crate) enum Shared<T> {
    /// The name of a value in a shared table.
    Name(String),
    /// A value of its own.
    Own(T),
}

impl<T> Shared<T> {
    /// Returns the value. Panics when the table has none of this name; a test checks all names.
    pub(crate) fn get<'a>(&'a self, table: &'a BTreeMap<String, T>) -> &'a T {
        match self {
            Self::Name(name) => &table[name],
            Self::Own(value) => value,
        }
    }
}

/// Like an untagged enum, except that errors say what is wrong with a value that is written out.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SharedVisitor(PhantomData))
    }
}

struct SharedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SharedVisitor<T> {
    type Value = Shared<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a shared value, or a value")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Shared::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Shared::Own)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(seq)).map(Shared::Own)
    }
}
