//! The threads that read and map.
//!
//! One thread reads lines and deals them out to the mappers in turn, a small part each time. Another one makes
//! batches of the parts in the same order, and does what depends on the order of lines. So a batch is the same
//! with any number of mappers. The channels between them hold few parts, which are still in the caches of the
//! processor when the next thread takes them.

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use tokio::sync::mpsc;
use vitrine_formats::{FeedError, FeedLine, Feeds};
use vitrine_model::clock::Timestamp;

use crate::draft::{Batch, Continued, Drafter, Mapper, Part, Repeats, Room};
use crate::mapping::{Mapping, Unmatched};

/// The maximum number of mappers without a setting. More would wait for the thread that reads.
const MAX_MAPPERS: usize = 8;
/// The number of lines in a part.
const PART_LINES: usize = 64;
/// The size of a part in bytes after which no line is added.
const PART_BYTES: usize = 256 * 1024;

/// What the threads have read.
#[derive(Debug)]
pub(super) enum Read {
    /// A batch.
    Batch(ReadBatch),
    /// The end of a file.
    End(FileEnd),
}

/// What is known when all files have been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AllRead {
    /// The paths of the mapping that no row has.
    pub(super) unmatched: Vec<Unmatched>,
    /// The spec keys that several names of the feed make.
    pub(super) shared_keys: BTreeMap<String, Vec<String>>,
}

/// The end of a file, with how it was read and the ids that repeat in it.
#[derive(Debug)]
pub(super) struct FileEnd {
    pub(super) file: Arc<str>,
    pub(super) read_as: String,
    /// The number of its lines.
    pub(super) lines: u64,
    pub(super) repeats: Repeats,
}

/// A batch, with the reading progress.
#[derive(Debug)]
pub(super) struct ReadBatch {
    pub(super) file: Arc<str>,
    pub(super) batch: Batch,
    pub(super) bytes_read: u64,
    pub(super) bytes_total: u64,
}

/// What was read of a file, in the order of the file.
enum Step {
    /// Some lines; the next mapper has them.
    Part,
    /// The end of a batch.
    Batch {
        file: Arc<str>,
        bytes_read: u64,
        bytes_total: u64,
    },
    /// The end of the file.
    End {
        file: Arc<str>,
        read_as: String,
        lines: u64,
    },
}

/// Nobody wants any more.
struct Unwanted;

/// The number of mappers for this machine.
pub(super) fn mappers() -> NonZero<usize> {
    let processors = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let max = NonZero::new(MAX_MAPPERS).unwrap_or(NonZero::<usize>::MIN);
    processors.min(max)
}

/// Reads all feeds into batches, until the receiver is dropped. `now` is the time at which they are read.
pub(super) fn read(
    files: &[PathBuf],
    mapping: &Mapping,
    mappers: NonZero<usize>,
    now: Timestamp,
    sender: &mpsc::Sender<Read>,
) -> Result<AllRead, FeedError> {
    let feeds = Feeds::open(files, mapping.form())?;
    let mapping = &mapping.with_feed(files)?;
    let drafter = Drafter::new(mapping).read_at(now);
    thread::scope(|scope| {
        let started = (0..mappers.get()).map(|_| start(scope, drafter.another_mapper()));
        let (threads, (work, parts)): (Vec<_>, (Vec<_>, Vec<_>)) = started.unzip();
        let (steps, order) = sync_channel(2 * mappers.get());
        let drafting = scope.spawn(move || draft(drafter, &order, &parts, sender));
        let read = deal_out(feeds, mapping, &work, &steps);
        // The threads end when nothing follows.
        drop((work, steps));
        let all_read = ended(drafting);
        threads.into_iter().for_each(ended);
        read.map(|()| all_read)
    })
}

type Lines = SyncSender<Vec<FeedLine>>;
type Parts = Receiver<Part>;
type Started<'scope> = (ScopedJoinHandle<'scope, ()>, (Lines, Parts));

/// Starts a mapper.
fn start<'scope>(scope: &'scope Scope<'scope, '_>, mut mapper: Mapper<'scope>) -> Started<'scope> {
    let (lines, to_map) = sync_channel(1);
    let (mapped, parts) = sync_channel(1);
    let thread = scope.spawn(move || {
        while let Ok(lines) = to_map.recv() {
            if mapped.send(mapper.map(lines)).is_err() {
                return;
            }
        }
    });
    (thread, (lines, parts))
}

/// Returns what a thread returns, or panics as it has.
fn ended<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    let resume = |panic: Box<dyn Any + Send>| std::panic::resume_unwind(panic);
    thread.join().unwrap_or_else(resume)
}

/// Reads all feeds, and deals their lines out to the mappers.
fn deal_out(
    mut feeds: Feeds,
    mapping: &Mapping,
    work: &[Lines],
    steps: &SyncSender<Step>,
) -> Result<(), FeedError> {
    let mut mappers = work.iter().cycle();
    while let Some(feed) = feeds.next() {
        let mut feed = feed?;
        let file: Arc<str> = feed.name().into();
        let mut lines = 0;
        let mut continued = Continued::new(mapping);
        loop {
            let mut counted = feed.by_ref().inspect(|_| lines += 1);
            match deal_batch(&mut continued.of(&mut counted), &mut mappers, steps) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Unwanted) => return Ok(()),
            }
            let (bytes_read, bytes_total) = feeds.position();
            let step = Step::Batch {
                file: Arc::clone(&file),
                bytes_read,
                bytes_total,
            };
            if steps.send(step).is_err() {
                return Ok(());
            }
        }
        let read_as = feed.described().to_owned();
        let end = Step::End {
            file,
            read_as,
            lines,
        };
        if steps.send(end).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Deals the lines of a batch out, in parts. Returns whether there were any.
fn deal_batch<'w>(
    feed: &mut impl Iterator<Item = FeedLine>,
    mappers: &mut impl Iterator<Item = &'w Lines>,
    steps: &SyncSender<Step>,
) -> Result<bool, Unwanted> {
    let mut room = Room::of_batch();
    loop {
        let lines = room.lines(feed, PART_LINES, PART_BYTES);
        if lines.is_empty() {
            return Ok(room.is_taken());
        }
        let mapper = mappers.next().ok_or(Unwanted)?;
        steps.send(Step::Part).map_err(|_| Unwanted)?;
        mapper.send(lines).map_err(|_| Unwanted)?;
    }
}

/// Makes batches of the parts, until nothing follows or nobody wants any more.
fn draft(
    mut drafter: Drafter<'_>,
    order: &Receiver<Step>,
    parts: &[Parts],
    sender: &mpsc::Sender<Read>,
) -> AllRead {
    let (mut parts, mut batch) = (parts.iter().cycle(), Batch::default());
    while let Ok(step) = order.recv() {
        let read = match step {
            Step::Part => {
                let Some(Ok(part)) = parts.next().map(Receiver::recv) else {
                    return AllRead::default();
                };
                drafter.add_part(&mut batch, part);
                continue;
            }
            Step::Batch {
                file,
                bytes_read,
                bytes_total,
            } => Read::Batch(ReadBatch {
                file,
                batch: std::mem::take(&mut batch),
                bytes_read,
                bytes_total,
            }),
            Step::End {
                file,
                read_as,
                lines,
            } => Read::End(FileEnd {
                file,
                read_as,
                lines,
                repeats: drafter.end_of_file(),
            }),
        };
        if sender.blocking_send(read).is_err() {
            return AllRead::default();
        }
    }
    AllRead {
        unmatched: drafter.unmatched(),
        shared_keys: drafter.shared_keys(),
    }
}

#[cfg(test)]
mod tests;
