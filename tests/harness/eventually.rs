//! Waiting for something to become true, with a deadline.

use std::time::{Duration, Instant};

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Calls the closure until it returns a value, and returns that value. Deadlines are generous: they
/// end a test that hangs, and a busy machine must not exceed them.
///
/// # Panics
/// When the deadline passes.
pub async fn eventually<T>(what: &str, within: Duration, check: impl AsyncFn() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(value) = check().await {
            return value;
        }
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        tokio::time::sleep(PAUSE).await;
    }
}
