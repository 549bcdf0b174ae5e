//! Advisory file locks with a deadline.
//!
//! The lock is `flock(2)`, as mongod takes it on its `mongod.lock`. The kernel releases it with the
//! process, however the process ends, so there are no stale locks.

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

use tokio::time::sleep;

const RETRY: Duration = Duration::from_millis(20);

/// Acquires the exclusive lock on `file`; returns `false` if another process still holds it after
/// `limit`. The lock is released when `file` is dropped.
pub(crate) async fn lock_within(file: &File, limit: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(false),
            Err(TryLockError::WouldBlock) => sleep(RETRY).await,
        }
    }
}

/// Opens a lock file, creating it if needed, without changing its content.
pub(crate) fn open(path: &std::path::Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_process_waits_and_times_out_or_acquires_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = open(file.path()).unwrap();
        let second = open(file.path()).unwrap();
        assert!(lock_within(&first, Duration::ZERO).await.unwrap());
        assert!(!lock_within(&second, RETRY).await.unwrap());
        drop(first);
        // Not at once: a child that another thread has just forked shares the lock until its
        // `exec`.
        assert!(lock_within(&second, Duration::from_secs(5)).await.unwrap());
    }
}
