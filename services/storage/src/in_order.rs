//! Collections read side by side, each in the order of the same key.

use mongodb::Cursor;
use mongodb::bson::raw::RawDocumentBuf;

use crate::raw::Read;

/// The rows of a collection in the order of their keys. At most one is held.
pub(crate) struct InOrder<K, V> {
    cursor: Cursor<RawDocumentBuf>,
    read: fn(&RawDocumentBuf) -> Read<(K, V)>,
    ahead: Option<(K, V)>,
}

impl<K: Ord, V> InOrder<K, V> {
    /// The rows of a cursor that is sorted by what `read` takes for the key.
    pub(crate) const fn new(
        cursor: Cursor<RawDocumentBuf>,
        read: fn(&RawDocumentBuf) -> Read<(K, V)>,
    ) -> Self {
        Self {
            cursor,
            read,
            ahead: None,
        }
    }

    /// Returns the key of the next row; `None` at the end.
    pub(crate) async fn key(&mut self) -> Read<Option<&K>> {
        if self.ahead.is_none() && self.cursor.advance().await? {
            let doc = self.cursor.deserialize_current()?;
            self.ahead = Some((self.read)(&doc)?);
        }
        Ok(self.ahead.as_ref().map(|(key, _)| key))
    }

    /// Returns the next row whose key comes before this one.
    pub(crate) async fn before(&mut self, key: &K) -> Read<Option<(K, V)>> {
        let comes = self.key().await?.is_some_and(|next| next < key);
        Ok(if comes { self.ahead.take() } else { None })
    }

    /// Returns the next row with this key. Those with keys before it are to be taken first.
    pub(crate) async fn at(&mut self, key: &K) -> Read<Option<V>> {
        let comes = self.key().await?.is_some_and(|next| next == key);
        let row = if comes { self.ahead.take() } else { None };
        Ok(row.map(|(_, value)| value))
    }

    /// Returns the next row.
    pub(crate) async fn next(&mut self) -> Read<Option<(K, V)>> {
        self.key().await?;
        Ok(self.ahead.take())
    }
}
