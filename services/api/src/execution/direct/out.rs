//! The bytes of a response, or of a part of it.

use async_graphql::Value;
use serde::Serialize;

/// Bytes of JSON.
#[derive(Debug, Default)]
pub(crate) struct Out(Vec<u8>);

impl Out {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes what was written after `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(super) fn between(&self, begin: usize, end: usize) -> &[u8] {
        &self.0[begin..end]
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn null(&mut self) {
        self.bytes(b"null");
    }

    /// Ends an object; `before` is what would have come before its next key.
    pub(super) fn end_object(&mut self, before: u8) {
        self.bytes(if before == b'{' { b"{}" } else { b"}" });
    }

    /// Writes a string.
    pub(crate) fn text(&mut self, text: &str) {
        self.json(text);
    }

    /// Writes a string that needs no escapes.
    pub(crate) fn plain(&mut self, text: &str) {
        self.byte(b'"');
        self.bytes(text.as_bytes());
        self.byte(b'"');
    }

    /// Writes what is formatted, as a string that needs no escapes.
    pub(crate) fn display(&mut self, value: impl std::fmt::Display) {
        use std::io::Write as _;
        self.byte(b'"');
        // Writing to a vector does not fail.
        let _ = write!(self.0, "{value}");
        self.byte(b'"');
    }

    /// Writes a number, a truth value or a string in the format of `serde_json`.
    pub(super) fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        serde_json::to_writer(&mut self.0, value).expect("leaves can be written as JSON");
    }

    /// Writes a value of the library.
    pub(super) fn value(&mut self, value: &Value) {
        crate::execution::json::append(value, &mut self.0);
    }

    pub(super) fn into_value(self) -> Value {
        Value::Binary(self.0.into())
    }
}
