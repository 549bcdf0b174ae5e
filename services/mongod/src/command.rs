//! Running helper programs with a time limit.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// Why a program produced no output. The exit status is left to the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("it cannot be run: {0}")]
    Spawn(io::Error),
    #[error("it did not finish within {0:?}")]
    TimedOut(Duration),
}

/// Runs `command` without input and collects its output. The program is killed when the limit is
/// exceeded or the future is dropped.
pub(crate) async fn run(command: &mut Command, limit: Duration) -> Result<Output, RunError> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(limit, output_unless_busy(command)).await;
    output
        .map_err(|_| RunError::TimedOut(limit))?
        .map_err(RunError::Spawn)
}

/// Repeats the attempt while the file is busy. A file that has just been written counts as busy as
/// long as a child process, forked in the meantime, has not reached its own `exec`: for
/// microseconds.
async fn output_unless_busy(command: &mut Command) -> io::Result<Output> {
    loop {
        match command.output().await {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                sleep(Duration::from_millis(5)).await;
            }
            finished => return finished,
        }
    }
}

/// Returns the last non-empty lines of `text`, joined into one line.
pub(crate) fn last_lines(text: &[u8], lines: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let non_empty: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    non_empty[non_empty.len().saturating_sub(lines)..].join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_are_skipped() {
        assert_eq!(last_lines(b"one\n\n two\nthree\n\n", 2), "two / three");
        assert_eq!(last_lines(b"", 2), "");
    }

    #[tokio::test]
    async fn a_program_that_hangs_times_out() {
        let error = run(Command::new("sleep").arg("60"), Duration::from_millis(50)).await;
        assert!(matches!(error, Err(RunError::TimedOut(_))));
    }
}
