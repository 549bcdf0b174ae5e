//! A limit on log lines that strangers can cause.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How often a line is written at most.
const INTERVAL: Duration = Duration::from_secs(10);

/// Limits a log line that strangers can cause to one in ten seconds, so that they cannot fill the
/// disk. The next line says how many were left out.
///
/// ```
/// use vitrine_api::http::LineLimiter;
///
/// static REFUSED: LineLimiter = LineLimiter::new();
///
/// assert_eq!(REFUSED.permit(), Some(0)); // write a line
/// assert_eq!(REFUSED.permit(), None); // write nothing
/// ```
#[derive(Debug)]
pub struct LineLimiter(Mutex<State>);

#[derive(Debug)]
struct State {
    /// When the last line was written.
    written: Option<Instant>,
    left_out: u64,
}

impl LineLimiter {
    /// Returns a limiter that permits the first line.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(State {
            written: None,
            left_out: 0,
        }))
    }

    /// Returns how many lines were left out since the last one if a line may be written now, and
    /// `None` otherwise.
    pub fn permit(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state
            .written
            .is_some_and(|written| now - written < INTERVAL)
        {
            state.left_out += 1;
            return None;
        }
        state.written = Some(now);
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
}
