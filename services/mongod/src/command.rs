//! Runs a helper program to its end, within a time limit.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// Why a program gave no answer; what it answered is for the caller to judge.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("it cannot be run: {0}")]
    Spawn(io::Error),
    #[error("it gave no answer within {0:?}")]
    TimedOut(Duration),
}

/// Runs `command` without input and collects its output; the program is killed when the time
/// is up or the future is dropped.
pub(crate) async fn run(command: &mut Command, limit: Duration) -> Result<Output, RunError> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(limit, output_when_free(command)).await;
    output
        .map_err(|_| RunError::TimedOut(limit))?
        .map_err(RunError::Spawn)
}

/// A file that was written a moment ago counts as busy while any child that was forked
/// meanwhile has not yet reached its own `exec`, which is a matter of microseconds.
async fn output_when_free(command: &mut Command) -> io::Result<Output> {
    loop {
        match command.output().await {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                sleep(Duration::from_millis(5)).await;
            }
            finished => return finished,
        }
    }
}

/// The last lines that `text` has to say, on one line.
pub(crate) fn last_words(text: &[u8], lines: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let spoken: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    spoken[spoken.len().saturating_sub(lines)..].join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_leave_out_empty_lines() {
        assert_eq!(last_words(b"one\n\n two\nthree\n\n", 2), "two / three");
        assert_eq!(last_words(b"", 2), "");
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_given_up() {
        let error = run(Command::new("sleep").arg("60"), Duration::from_millis(50)).await;
        assert!(matches!(error, Err(RunError::TimedOut(_))));
    }
}
