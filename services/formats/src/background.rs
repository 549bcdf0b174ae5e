//! Rows that a thread of their own reads: formats whose readers borrow from themselves.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::{CellProblem, FeedLine, Row, broken};

/// The number of parts that are read ahead.
const PARTS_AHEAD: usize = 2;
/// The number of rows in a part, and the size in bytes after which none is added.
const PART_ROWS: usize = 32;
const PART_BYTES: usize = 256 * 1024;

/// Rows from a thread.
pub(super) struct Background {
    parts: Receiver<Vec<FeedLine>>,
    part: std::vec::IntoIter<FeedLine>,
    thread: Option<JoinHandle<()>>,
    number: u64,
}

/// Where a thread sends its rows. They are sent in parts, the last one when the thread ends.
pub(super) struct Sink {
    sender: SyncSender<Vec<FeedLine>>,
    part: Vec<FeedLine>,
    bytes: usize,
    last: u64,
}

/// Nobody reads any more.
pub(super) struct Unread;

impl Drop for Sink {
    fn drop(&mut self) {
        // If nobody reads it, nobody wants to know.
        let _ = self.sender.send(std::mem::take(&mut self.part));
    }
}

impl Sink {
    fn send(&mut self, line: FeedLine) -> Result<(), Unread> {
        self.bytes += line.bytes;
        self.part.push(line);
        if self.part.len() < PART_ROWS && self.bytes < PART_BYTES {
            return Ok(());
        }
        self.bytes = 0;
        self.sender
            .send(std::mem::take(&mut self.part))
            .map_err(|_| Unread)
    }

    /// Sends a row. Numbers that were left out are those of blank rows.
    ///
    /// # Errors
    /// [`Unread`] if nobody reads it.
    pub(super) fn row(&mut self, number: u64, bytes: usize, row: Row) -> Result<(), Unread> {
        self.row_with(number, bytes, row, Vec::new())
    }

    /// Sends a row of which some cells have problems.
    ///
    /// # Errors
    /// [`Unread`] if nobody reads it.
    pub(super) fn row_with(
        &mut self,
        number: u64,
        bytes: usize,
        row: Row,
        cells: Vec<CellProblem>,
    ) -> Result<(), Unread> {
        while self.last + 1 < number {
            self.last += 1;
            self.send(FeedLine::new(self.last, 0, Row::Blank))?;
        }
        self.last = number;
        self.send(FeedLine {
            cells,
            ..FeedLine::new(number, bytes, row)
        })
    }

    /// Says that the rows begin after this one.
    pub(super) fn start_after(&mut self, number: u64) {
        self.last = number;
    }

    /// Says that the rest cannot be read.
    pub(super) fn broken(&mut self, reason: &str) {
        // If nobody reads it, nobody wants to know.
        let _ = self.row(self.last + 1, 0, Row::Broken(broken(reason)));
    }
}

/// Ends the thread, so that the memory of a file that nobody reads any more is not held beside that of
/// the next one.
impl Drop for Background {
    fn drop(&mut self) {
        // What it sends is refused from now on.
        drop(std::mem::replace(&mut self.parts, sync_channel(0).1));
        if let Some(thread) = self.thread.take() {
            // A panic is reported where rows are read; here nobody reads them.
            let _ = thread.join();
        }
    }
}

impl Background {
    /// Starts a thread.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn start(read: impl FnOnce(&mut Sink) + Send + 'static) -> io::Result<Self> {
        let (sender, parts) = sync_channel(PARTS_AHEAD);
        let mut sink = Sink {
            sender,
            part: Vec::new(),
            bytes: 0,
            last: 0,
        };
        let thread = Builder::new()
            .name("feed".to_owned())
            .spawn(move || read(&mut sink))?;
        Ok(Self {
            parts,
            part: Vec::new().into_iter(),
            thread: Some(thread),
            number: 0,
        })
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        loop {
            if let Some(line) = self.part.next() {
                self.number = line.number;
                return Some(line);
            }
            match self.parts.recv() {
                Ok(part) => self.part = part.into_iter(),
                Err(_) => break,
            }
        }
        // Libraries for binary formats may panic over a damaged file.
        let ended = self.thread.take()?.join();
        let number = self.number + 1;
        let broken = || Row::Broken(broken("it is damaged"));
        ended.err().map(|_| FeedLine::new(number, 0, broken()))
    }
}
