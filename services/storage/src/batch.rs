//! Writing many documents together although some of them may be impossible to write.

use mongodb::bson::{Document, doc};

use crate::error::DUPLICATE_KEY;
use crate::store::durable_document;
use crate::{StorageError, Store};

/// What became of updates that were sent together.
#[derive(Debug, Default)]
pub(crate) struct Updated {
    /// How many documents they met.
    pub(crate) matched: usize,
    /// Which updates the server refused, by their place, and why.
    pub(crate) refused: Vec<(usize, StorageError)>,
}

impl Store {
    /// Sends updates that do not depend on each other; one that is refused keeps no other from being
    /// carried out.
    pub(crate) async fn update_unordered(
        &self,
        collection: &str,
        updates: Vec<Document>,
    ) -> Result<Updated, StorageError> {
        let command = doc! {
            "update": collection,
            "updates": updates,
            "ordered": false,
            "writeConcern": durable_document(),
        };
        let reply = self.db.run_command(command).await?;
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

/// What became of things that were to be written together.
#[derive(Debug, Default)]
pub struct Batch {
    /// How many there were.
    pub found: usize,
    /// How many of them were written.
    pub written: usize,
    /// Why others were not; the first reason.
    pub failed: Option<StorageError>,
}

impl Batch {
    /// Both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            found: self.found + other.found,
            written: self.written + other.written,
            failed: self.failed.or(other.failed),
        }
    }
}

/// Writes things together; in halves when they cannot be, so that one that cannot be written keeps
/// no other from it. Once the database cannot be reached, the rest is not tried.
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

    /// Writes numbers; refuses what holds one of these.
    async fn written(refused: &[u8], error: fn() -> StorageError) -> (Batch, Vec<u8>) {
        let kept = RefCell::new(Vec::new());
        let all: Vec<u8> = (0..7).collect();
        let batch = in_parts(&all, |part| {
            let refuse = part.iter().any(|one| refused.contains(one));
            if !refuse {
                kept.borrow_mut().extend_from_slice(part);
            }
            std::future::ready(if refuse { Err(error()) } else { Ok(()) })
        });
        (batch.await, kept.into_inner())
    }

    fn refused() -> StorageError {
        mongodb::error::Error::custom("refused").into()
    }

    #[tokio::test]
    async fn one_that_cannot_be_written_keeps_no_other_from_it() {
        let (batch, kept) = written(&[], refused).await;
        assert_eq!((batch.found, batch.written, kept.len()), (7, 7, 7));
        assert!(batch.failed.is_none());
        let (batch, kept) = written(&[0, 4], refused).await;
        assert_eq!((batch.found, batch.written), (7, 5));
        assert_eq!(kept, [1, 2, 3, 5, 6]);
        assert!(matches!(batch.failed, Some(StorageError::Driver(_))));
        let (batch, kept) = written(&[0, 1, 2, 3, 4, 5, 6], refused).await;
        assert_eq!((batch.found, batch.written, kept.len()), (7, 0, 0));
    }

    #[tokio::test]
    async fn nothing_is_tried_in_vain() {
        let (batch, kept) = written(&[4], || StorageError::TooFarBack).await;
        assert_eq!((batch.written, kept.len()), (0, 0));
        assert!(matches!(batch.failed, Some(StorageError::TooFarBack)));
        let both = batch.and(written(&[], refused).await.0);
        assert_eq!((both.found, both.written), (14, 7));
        assert!(matches!(both.failed, Some(StorageError::TooFarBack)));
    }
}
