//! The thread that reads and drafts.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::draft::{Batch, Drafter, Repeats};
use crate::feed::{FeedError, Feeds};
use crate::mapping::{Mapping, Unmatched};

/// What the thread has read.
pub(super) enum Read {
    /// A batch.
    Batch(ReadBatch),
    /// The end of a file, with how it was read and the ids that repeat in it.
    End {
        file: Arc<str>,
        read_as: String,
        repeats: Repeats,
    },
}

/// A batch, with the reading progress.
pub(super) struct ReadBatch {
    pub(super) file: Arc<str>,
    pub(super) batch: Batch,
    pub(super) bytes_read: u64,
    pub(super) bytes_total: u64,
}

/// Reads all feeds into batches, until the receiver is dropped. Returns the paths of the mapping
/// that no row has.
pub(super) fn read(
    files: &[PathBuf],
    mapping: &Mapping,
    sender: &mpsc::Sender<Read>,
) -> Result<Vec<Unmatched>, FeedError> {
    let mut feeds = Feeds::open(files, mapping.form())?;
    let mut drafter = Drafter::new(mapping);
    while let Some(feed) = feeds.next() {
        let mut feed = feed?;
        let file: Arc<str> = feed.name().into();
        while let Some(batch) = drafter.batch(&mut feed) {
            let (bytes_read, bytes_total) = feeds.position();
            let read = ReadBatch {
                file: Arc::clone(&file),
                batch,
                bytes_read,
                bytes_total,
            };
            if sender.blocking_send(Read::Batch(read)).is_err() {
                return Ok(Vec::new());
            }
        }
        let end = Read::End {
            file,
            read_as: feed.described().to_owned(),
            repeats: drafter.end_of_file(),
        };
        if sender.blocking_send(end).is_err() {
            return Ok(Vec::new());
        }
    }
    Ok(drafter.unmatched())
}
