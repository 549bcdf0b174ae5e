//! The thread that reads and drafts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::draft::{Batch, Drafter};
use crate::feed::{Feed, FeedError};
use crate::mapping::Mapping;

/// A batch, with the reading progress.
pub(super) struct ReadBatch {
    pub(super) file: Arc<str>,
    pub(super) batch: Batch,
    pub(super) bytes_read: u64,
    pub(super) bytes_total: u64,
}

/// Reads all files into batches, until the receiver is dropped.
pub(super) fn read(
    files: &[PathBuf],
    mapping: &Mapping,
    sender: &mpsc::Sender<ReadBatch>,
) -> Result<(), FeedError> {
    let open = |path: &Path| Feed::open(path, mapping.format(), mapping.delimiter());
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
            if sender.blocking_send(read).is_err() {
                return Ok(());
            }
        }
        bytes_before += size;
    }
    Ok(())
}
