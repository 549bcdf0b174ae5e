//! Waiting for something to become true, with a deadline.

use std::time::{Duration, Instant};

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(10);

/// Asks until the closure gives something, and gives that; fails the test when the time is over.
///
/// # Panics
/// When the deadline passes.
pub async fn eventually<T>(what: &str, within: Duration, look: impl AsyncFn() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        tokio::time::sleep(PAUSE).await;
    }
}
