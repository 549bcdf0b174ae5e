//! The progress of an import.

use std::time::Duration;

use crate::report::Counts;

/// The progress of an import, reported after each batch.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The counts of lines so far.
    pub counts: Counts,
    /// The bytes of the files read so far, before unpacking.
    pub bytes_read: u64,
    /// The size of all files in bytes.
    pub bytes_total: u64,
    /// The time since the start.
    pub elapsed: Duration,
    /// Whether all lines are stored and ratings are being computed.
    pub finishing: bool,
}

impl Progress {
    /// Lines per second so far.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn rate(&self) -> f64 {
        self.counts.lines as f64 / self.elapsed.as_secs_f64().max(1e-3)
    }

    /// The estimated remaining time, at the same rate; `None` before anything was read.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
    pub fn remaining(&self) -> Option<Duration> {
        let done = self.bytes_read as f64 / self.bytes_total.max(1) as f64;
        let left = self.elapsed.as_secs_f64() * (1.0 - done).max(0.0) / done;
        Duration::try_from_secs_f64(left).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_bytes() {
        let mut progress = Progress {
            bytes_read: 25,
            bytes_total: 100,
            elapsed: Duration::from_secs(10),
            ..Progress::default()
        };
        progress.counts.lines = 500;
        assert_eq!(progress.remaining(), Some(Duration::from_secs(30)));
        assert!((progress.rate() - 50.0).abs() < 1e-9);
        assert_eq!(Progress::default().remaining(), None);
    }
}
