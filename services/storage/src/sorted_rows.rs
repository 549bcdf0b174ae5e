//! Merge-joins: several collections read side by side in the order of one key.

use mongodb::Cursor;
use mongodb::bson::raw::RawDocumentBuf;

use crate::raw::Read;

/// The rows of a collection in key order. Buffers at most one row.
pub(crate) struct SortedRows<K, V> {
    cursor: Cursor<RawDocumentBuf>,
    read: fn(&RawDocumentBuf) -> Read<(K, V)>,
    peeked: Option<(K, V)>,
}

impl<K: Ord, V> SortedRows<K, V> {
    /// Wraps a cursor that is sorted by the key that `read` returns.
    pub(crate) const fn new(
        cursor: Cursor<RawDocumentBuf>,
        read: fn(&RawDocumentBuf) -> Read<(K, V)>,
    ) -> Self {
        Self {
            cursor,
            read,
            peeked: None,
        }
    }

    /// Returns the key of the next row; `None` at the end.
    pub(crate) async fn key(&mut self) -> Read<Option<&K>> {
        if self.peeked.is_none() && self.cursor.advance().await? {
            let doc = self.cursor.deserialize_current()?;
            self.peeked = Some((self.read)(&doc)?);
        }
        Ok(self.peeked.as_ref().map(|(key, _)| key))
    }

    /// Returns the next row if its key is smaller than this one.
    pub(crate) async fn before(&mut self, key: &K) -> Read<Option<(K, V)>> {
        let comes = self.key().await?.is_some_and(|next| next < key);
        Ok(if comes { self.peeked.take() } else { None })
    }

    /// Returns the next row if it has this key. Rows with smaller keys have to be taken first.
    pub(crate) async fn at(&mut self, key: &K) -> Read<Option<V>> {
        let comes = self.key().await?.is_some_and(|next| next == key);
        let row = if comes { self.peeked.take() } else { None };
        Ok(row.map(|(_, value)| value))
    }

    /// Skips all rows up to this key. Returns whether one has it.
    pub(crate) async fn skip_past(&mut self, key: &K) -> Read<bool> {
        while self.before(key).await?.is_some() {}
        let mut has_key = false;
        while self.at(key).await?.is_some() {
            has_key = true;
        }
        Ok(has_key)
    }

    /// Returns the next row.
    pub(crate) async fn next(&mut self) -> Read<Option<(K, V)>> {
        self.key().await?;
        Ok(self.peeked.take())
    }
}
