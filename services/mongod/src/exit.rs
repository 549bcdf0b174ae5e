//! Why a mongod ended, read from its exit code and its log.
//!
//! mongod has no other interface for this than the text of its log: one JSON object per line,
//! with a severity in `s`, and before the logger is up plain lines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde_json::Value;

/// Exit code for a socket that cannot be bound (`EXIT_NET_ERROR`).
const EXIT_PORT: i32 = 48;

/// Exit code for data files of another release series (`EXIT_NEED_DOWNGRADE`).
const EXIT_OTHER_VERSION: i32 = 62;

/// How many lines of a log are quoted, and how much of each.
const QUOTED_LINES: usize = 3;
const QUOTED_CHARACTERS: usize = 400;

/// A mongod ended that was meant to run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExitReason {
    /// Its disk is full.
    #[error(
        "its disk is full; free some space and start again, what was written is kept; its log \
         is {}", log_path.display()
    )]
    DiskFull {
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// Files in its data directory cannot be read or written.
    #[error(
        "it may not write in its data directory ({said}); make the files there writable for \
         this user or choose another directory; its log is {}", log_path.display()
    )]
    Forbidden {
        /// The complaint.
        said: String,
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// The data was written by another release series.
    #[error(
        "the data directory was written by another MongoDB release series, which this mongod \
         cannot read; use the mongod it was made with (VITRINE_MONGOD), or remove the directory \
         to begin with an empty one; its log is {}", log_path.display()
    )]
    OtherVersion {
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// Something else; the last complaints of its log are quoted.
    #[error("it ended with {status}; the log {} says:{quoted}", log_path.display())]
    Unexplained {
        /// How it ended, in words.
        status: String,
        /// The last lines of the log that matter, each on a line of its own.
        quoted: String,
        /// The log of mongod.
        log_path: PathBuf,
    },
}

/// Whether mongod ended because somebody else has its port.
pub(crate) fn port_was_taken(status: ExitStatus) -> bool {
    status.code() == Some(EXIT_PORT)
}

impl ExitReason {
    /// Finds the reason for which the mongod with this log ended with this status.
    pub(crate) fn explain(status: ExitStatus, log_path: &Path) -> Self {
        let complaints = complaints(&fs::read(log_path).unwrap_or_default());
        let log_path = log_path.to_owned();
        let find = |text: &str| complaints.iter().find(|line| line.contains(text));
        if find("No space left on device").is_some() {
            return Self::DiskFull { log_path };
        }
        if status.code() == Some(EXIT_OTHER_VERSION) {
            return Self::OtherVersion { log_path };
        }
        let forbidden = find("Permission denied").or_else(|| find("Read-only file system"));
        if let Some(said) = forbidden.cloned() {
            return Self::Forbidden { said, log_path };
        }
        Self::Unexplained {
            status: in_words(status),
            quoted: quote(&complaints),
            log_path,
        }
    }
}

/// The lines of a log that complain, or all if none does, as text for people.
fn complaints(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let severe: Vec<String> = lines()
        .filter(|line| is_complaint(line))
        .map(plain)
        .collect();
    if severe.is_empty() {
        return lines().map(plain).collect();
    }
    severe
}

/// Errors, fatal errors, and whatever was said outside the logger.
fn is_complaint(line: &str) -> bool {
    let parsed = serde_json::from_str::<Value>(line);
    parsed.map_or(true, |entry| matches!(entry["s"].as_str(), Some("E" | "F")))
}

/// The message of a log line with what belongs to it.
fn plain(line: &str) -> String {
    let Ok(entry) = serde_json::from_str::<Value>(line) else {
        return line.to_owned();
    };
    let message = entry["msg"].as_str().unwrap_or_default().trim();
    match &entry["attr"] {
        Value::Null => message.to_owned(),
        attributes => format!("{message} {attributes}"),
    }
}

fn quote(lines: &[String]) -> String {
    let mut quoted = String::new();
    for line in &lines[lines.len().saturating_sub(QUOTED_LINES)..] {
        let line: String = line.chars().take(QUOTED_CHARACTERS).collect();
        // Writing to a string does not fail.
        let _ = write!(quoted, "\n  {line}");
    }
    quoted
}

/// The shell that supervises mongod reports signal N as exit code 128 + N.
fn in_words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) if code > 128 => format!("signal {}", code - 128),
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn explain(code: i32, log: &str) -> ExitReason {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), log).unwrap();
        ExitReason::explain(ExitStatus::from_raw(code << 8), file.path())
    }

    const CALM: &str = r#"{"s":"I","msg":"Build Info","attr":{"version":"6.0.5"}}"#;

    #[test]
    fn a_full_disk_is_recognised_whatever_the_exit_code() {
        let line =
            r#"{"s":"F","msg":"Terminating.","attr":{"reason":"28: No space left on device"}}"#;
        let log = format!("{CALM}\n{line}\n");
        assert!(matches!(explain(14, &log), ExitReason::DiskFull { .. }));
    }

    #[test]
    fn another_release_series_is_recognised_by_the_exit_code() {
        let message = explain(62, CALM).to_string();
        assert!(message.contains("VITRINE_MONGOD"), "{message}");
    }

    #[test]
    fn a_forbidden_file_is_quoted() {
        let line =
            r#"{"s":"E","msg":"open","attr":{"message":"WiredTiger.wt: Permission denied"}}"#;
        let message = explain(100, line).to_string();
        assert!(
            message.contains("WiredTiger.wt: Permission denied"),
            "{message}"
        );
    }

    #[test]
    fn the_last_complaints_are_quoted_and_calm_lines_are_not() {
        let fatal = r#"{"s":"F","msg":"Fatal assertion","attr":{"msgid":28595}}"#;
        let log = format!("{CALM}\nplain words\n{fatal}\n{CALM}\n");
        let message = explain(134, &log).to_string();
        assert!(
            message.starts_with("it ended with signal 6; the log "),
            "{message}"
        );
        let quoted = "says:\n  plain words\n  Fatal assertion {\"msgid\":28595}";
        assert!(message.ends_with(quoted), "{message}");
    }

    #[test]
    fn a_log_without_complaints_is_quoted_as_it_is() {
        let message = explain(1, CALM).to_string();
        assert!(
            message.ends_with("\n  Build Info {\"version\":\"6.0.5\"}"),
            "{message}"
        );
    }
}
