//! Batch writes in which single documents may fail.

use mongodb::bson::{Document, doc};

use crate::error::DUPLICATE_KEY;
use crate::{StorageError, Store};

/// The outcome of updates that were sent together.
#[derive(Debug, Default)]
pub(crate) struct Updated {
    /// The number of documents that matched.
    pub(crate) matched: usize,
    /// The index of each update that the server refused, with the error.
    pub(crate) refused: Vec<(usize, StorageError)>,
}

impl Store {
    /// Sends independent updates with one unordered command: a refused update does not stop the
    /// others.
    pub(crate) async fn update_unordered(
        &self,
        collection: &str,
        updates: Vec<Document>,
    ) -> Result<Updated, StorageError> {
        let command = doc! {
            "update": collection,
            "updates": updates,
            "ordered": false,
        };
        let reply = self.write(command).await?;
        let matched = reply.get_i32("n").unwrap_or(0);
        let refused = reply.get_array("writeErrors").into_iter().flatten();
        let refused = refused.filter_map(|refused| {
            let refused = refused.as_document()?;
            let at = usize::try_from(refused.get_i32("index").ok()?).ok()?;
            let error = match refused.get_i32("code") {
                Ok(DUPLICATE_KEY) => StorageError::Conflict {
                    key: "unique".to_owned(),
                },
                _ => StorageError::Driver(mongodb::error::Error::custom(refused.clone())),
            };
            Some((at, error))
        });
        Ok(Updated {
            matched: usize::try_from(matched).unwrap_or(0),
            refused: refused.collect(),
        })
    }
}

/// The outcome of a batch.
#[derive(Debug, Default)]
pub struct Batch {
    /// The number of documents to write.
    pub found: usize,
    /// The number of documents written.
    pub written: usize,
    /// The first error, if some were not written.
    pub failed: Option<StorageError>,
}

impl Batch {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            found: self.found + other.found,
            written: self.written + other.written,
            failed: self.failed.or(other.failed),
        }
    }
}

/// Writes items together and bisects the batch on failure, so that one item that cannot be written
/// does not block the rest. Stops when the database cannot be reached.
pub(crate) async fn in_parts<'a, T, F>(all: &'a [T], write: impl Fn(&'a [T]) -> F) -> Batch
where
    F: Future<Output = Result<(), StorageError>>,
{
    let mut batch = Batch {
        found: all.len(),
        ..Batch::default()
    };
    let mut parts = vec![all];
    while let Some(part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        let Err(error) = write(part).await else {
            batch.written += part.len();
            continue;
        };
        let refused = matches!(error, StorageError::Contended(_) | StorageError::Driver(_));
        if refused && part.len() > 1 {
            let (one, other) = part.split_at(part.len() / 2);
            parts.extend([other, one]);
            continue;
        }
        batch.failed = batch.failed.or(Some(error));
        if !refused {
            break;
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Writes numbers; refuses parts that contain one of `refused`.
    async fn write_all(refused: &[u8], error: fn() -> StorageError) -> (Batch, Vec<u8>) {
        let written = RefCell::new(Vec::new());
        let all: Vec<u8> = (0..7).collect();
        let batch = in_parts(&all, |part| {
            let refuse = part.iter().any(|one| refused.contains(one));
            if !refuse {
                written.borrow_mut().extend_from_slice(part);
            }
            std::future::ready(if refuse { Err(error()) } else { Ok(()) })
        });
        (batch.await, written.into_inner())
    }

    fn refused() -> StorageError {
        mongodb::error::Error::custom("refused").into()
    }

    #[tokio::test]
    async fn an_item_that_cannot_be_written_does_not_block_the_rest() {
        let (batch, written) = write_all(&[], refused).await;
        assert_eq!((batch.found, batch.written, written.len()), (7, 7, 7));
        assert!(batch.failed.is_none());
        let (batch, written) = write_all(&[0, 4], refused).await;
        assert_eq!((batch.found, batch.written), (7, 5));
        assert_eq!(written, [1, 2, 3, 5, 6]);
        assert!(matches!(batch.failed, Some(StorageError::Driver(_))));
        let (batch, written) = write_all(&[0, 1, 2, 3, 4, 5, 6], refused).await;
        assert_eq!((batch.found, batch.written, written.len()), (7, 0, 0));
    }

    #[tokio::test]
    async fn an_outage_stops_the_batch() {
        let (batch, written) = write_all(&[4], || StorageError::HistoryLost).await;
        assert_eq!((batch.written, written.len()), (0, 0));
        assert!(matches!(batch.failed, Some(StorageError::HistoryLost)));
        let both = batch.and(write_all(&[], refused).await.0);
        assert_eq!((both.found, both.written), (14, 7));
        assert!(matches!(both.failed, Some(StorageError::HistoryLost)));
    }
}
