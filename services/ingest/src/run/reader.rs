//! The thread that reads and drafts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::draft::{Batch, Drafter, Repeats};
use crate::feed::{Feed, FeedError};
use crate::mapping::{Mapping, Unmatched};

/// What the thread has read.
pub(super) enum Read {
    /// A batch.
    Batch(ReadBatch),
    /// The end of a file, with the ids that repeat in it.
    End { file: Arc<str>, repeats: Repeats },
}

/// A batch, with the reading progress.
pub(super) struct ReadBatch {
    pub(super) file: Arc<str>,
    pub(super) batch: Batch,
    pub(super) bytes_read: u64,
    pub(super) bytes_total: u64,
}

/// Reads all files into batches, until the receiver is dropped. Returns the paths of the mapping
/// that no row has.
pub(super) fn read(
    files: &[PathBuf],
    mapping: &Mapping,
    sender: &mpsc::Sender<Read>,
) -> Result<Vec<Unmatched>, FeedError> {
    let open = |path: &Path| Feed::open(path, mapping.form());
    let mut sizes = Vec::new();
    for path in files {
        sizes.push(open(path)?.position().1);
    }
    let bytes_total = sizes.iter().sum();
    let mut drafter = Drafter::new(mapping);
    let mut bytes_before = 0;
    for (path, size) in files.iter().zip(sizes) {
        let mut feed = open(path)?;
        let file: Arc<str> = path.display().to_string().into();
        while let Some(batch) = drafter.batch(&mut feed) {
            let read = ReadBatch {
                file: Arc::clone(&file),
                batch,
                bytes_read: bytes_before + feed.position().0,
                bytes_total,
            };
            if sender.blocking_send(Read::Batch(read)).is_err() {
                return Ok(Vec::new());
            }
        }
        let repeats = drafter.end_of_file();
        if sender.blocking_send(Read::End { file, repeats }).is_err() {
            return Ok(Vec::new());
        }
        bytes_before += size;
    }
    Ok(drafter.unmatched())
}
