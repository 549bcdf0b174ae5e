//! Rows that a thread of their own reads: formats whose readers borrow from themselves.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::{CellProblem, FeedLine, Row, broken};

/// The number of rows that are read ahead.
const ROWS_AHEAD: usize = 64;

/// Rows from a thread.
pub(super) struct Background {
    rows: Receiver<FeedLine>,
    thread: Option<JoinHandle<()>>,
    number: u64,
}

/// Where a thread sends its rows.
pub(super) struct Sink {
    sender: SyncSender<FeedLine>,
    last: u64,
}

/// Nobody reads any more.
pub(super) struct Unread;

impl Sink {
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
            let line = FeedLine::new(self.last, 0, Row::Blank);
            self.sender.send(line).map_err(|_| Unread)?;
        }
        self.last = number;
        let line = FeedLine {
            cells,
            ..FeedLine::new(number, bytes, row)
        };
        self.sender.send(line).map_err(|_| Unread)
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

impl Background {
    /// Starts a thread.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn start(read: impl FnOnce(&mut Sink) + Send + 'static) -> io::Result<Self> {
        let (sender, rows) = sync_channel(ROWS_AHEAD);
        let mut sink = Sink { sender, last: 0 };
        let thread = Builder::new()
            .name("feed".to_owned())
            .spawn(move || read(&mut sink))?;
        Ok(Self {
            rows,
            thread: Some(thread),
            number: 0,
        })
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        if let Ok(line) = self.rows.recv() {
            self.number = line.number;
            return Some(line);
        }
        // Libraries for binary formats may panic over a damaged file.
        let ended = self.thread.take()?.join();
        let number = self.number + 1;
        let broken = || Row::Broken(broken("it is damaged"));
        ended.err().map(|_| FeedLine::new(number, 0, broken()))
    }
}
