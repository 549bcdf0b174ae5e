//! A limit on log lines that strangers can cause.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The length of the interval in which lines are counted.
const INTERVAL: Duration = Duration::from_secs(10);

/// Limits a log line that strangers can cause to one in ten seconds, or a few, so that they cannot fill
/// the disk. The next line says how many were left out.
///
/// ```
/// use vitrine_domain::LineLimiter;
///
/// static REFUSED: LineLimiter = LineLimiter::new();
///
/// assert_eq!(REFUSED.permit(), Some(0)); // write a line
/// assert_eq!(REFUSED.permit(), None); // write nothing
/// ```
#[derive(Debug)]
pub struct LineLimiter {
    lines: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the first line of this interval was written.
    began: Option<Instant>,
    /// The number of lines in this interval.
    written: u32,
    left_out: u64,
}

impl LineLimiter {
    /// Returns a limiter that permits one line in ten seconds.
    #[must_use]
    pub const fn new() -> Self {
        Self::allowing(1)
    }

    /// Returns a limiter that permits this many lines in ten seconds: for lines of which each says
    /// something else.
    #[must_use]
    pub const fn allowing(lines: u32) -> Self {
        Self {
            lines,
            state: Mutex::new(State {
                began: None,
                written: 0,
                left_out: 0,
            }),
        }
    }

    /// Returns how many lines were left out since the last one if a line may be written now, and
    /// `None` otherwise.
    pub fn permit(&self) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.began.is_none_or(|began| now - began >= INTERVAL) {
            state.began = Some(now);
            state.written = 0;
        }
        if state.written >= self.lines {
            state.left_out += 1;
            return None;
        }
        state.written += 1;
        Some(std::mem::take(&mut state.left_out))
    }
}

impl Default for LineLimiter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_line_in_ten_seconds_says_how_many_were_left_out() {
        let limiter = LineLimiter::new();
        assert_eq!(limiter.permit(), Some(0));
        for _ in 0..1_000 {
            assert_eq!(limiter.permit(), None);
        }
        tokio::time::advance(INTERVAL).await;
        assert_eq!(limiter.permit(), Some(1_000));
        assert_eq!(limiter.permit(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_lines_in_ten_seconds_may_be_permitted() {
        let limiter = LineLimiter::allowing(3);
        let permitted = (0..10).filter_map(|_| limiter.permit());
        assert_eq!(permitted.collect::<Vec<_>>(), [0, 0, 0]);
        tokio::time::advance(INTERVAL).await;
        assert_eq!((limiter.permit(), limiter.permit()), (Some(7), Some(0)));
    }
}
