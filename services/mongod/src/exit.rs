//! Why a mongod exited, derived from its exit code and its log.
//!
//! mongod reports this only in the text of its log: one JSON object per line, with the severity in
//! `s`, and plain lines before the logger starts.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde_json::Value;

/// The exit code for a socket that cannot be bound (`EXIT_NET_ERROR`).
const EXIT_PORT: i32 = 48;

/// The exit code for data files of another release series (`EXIT_NEED_DOWNGRADE`).
const EXIT_OTHER_VERSION: i32 = 62;

/// The maximum number of quoted lines of a log, and of characters of each.
const MAX_QUOTED_LINES: usize = 3;
const MAX_QUOTED_CHARACTERS: usize = 400;

/// Why a mongod exited unexpectedly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExitReason {
    /// Its disk is full.
    #[error(
        "its disk is full; free some space and start again (the data is kept); its log is {}", log_path.display()
    )]
    DiskFull {
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// Files in its data directory cannot be read or written.
    #[error(
        "it cannot write to its data directory ({message}); make the files there writable for \
         this user or choose another directory; its log is {}", log_path.display()
    )]
    Forbidden {
        /// The error in its log.
        message: String,
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// The data was written by another release series.
    #[error(
        "the data directory was written by another MongoDB release series, which this mongod \
         cannot read; use the mongod that wrote it (VITRINE_MONGOD), or delete the directory to \
         start with an empty one; its log is {}", log_path.display()
    )]
    OtherVersion {
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// Another reason; the last errors of its log are quoted.
    #[error("it exited with {status}; its log {} ends with:{quoted}", log_path.display())]
    Unexplained {
        /// The exit code or signal, as text.
        status: String,
        /// The last errors of the log, or its last lines if there are none; each on a separate
        /// line.
        quoted: String,
        /// The log of mongod.
        log_path: PathBuf,
    },
}

/// Returns true if mongod exited because another program has its port.
pub(crate) fn port_was_taken(status: ExitStatus) -> bool {
    status.code() == Some(EXIT_PORT)
}

impl ExitReason {
    /// Determines why the mongod with this log exited with this status.
    pub(crate) fn explain(status: ExitStatus, log_path: &Path) -> Self {
        let errors = errors(&fs::read(log_path).unwrap_or_default());
        let log_path = log_path.to_owned();
        let find = |text: &str| errors.iter().find(|line| line.contains(text));
        if find("No space left on device").is_some() {
            return Self::DiskFull { log_path };
        }
        if status.code() == Some(EXIT_OTHER_VERSION) {
            return Self::OtherVersion { log_path };
        }
        let forbidden = find("Permission denied").or_else(|| find("Read-only file system"));
        if let Some(message) = forbidden.cloned() {
            return Self::Forbidden { message, log_path };
        }
        Self::Unexplained {
            status: describe(status),
            quoted: quote(&errors),
            log_path,
        }
    }
}

/// Returns the errors of a log, or all lines if there are none, as plain text.
fn errors(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let severe: Vec<String> = lines()
        .filter(|line| is_error(line))
        .map(plain_text)
        .collect();
    if severe.is_empty() {
        return lines().map(plain_text).collect();
    }
    severe
}

/// Returns true for errors, fatal errors, and lines written outside the logger.
fn is_error(line: &str) -> bool {
    let parsed = serde_json::from_str::<Value>(line);
    parsed.map_or(true, |entry| matches!(entry["s"].as_str(), Some("E" | "F")))
}

/// Returns the message of a log line with its attributes.
fn plain_text(line: &str) -> String {
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
    for line in &lines[lines.len().saturating_sub(MAX_QUOTED_LINES)..] {
        let line: String = line.chars().take(MAX_QUOTED_CHARACTERS).collect();
        // Writing to a string does not fail.
        let _ = write!(quoted, "\n  {line}");
    }
    quoted
}

/// The shell that supervises mongod reports signal N as exit code 128 + N.
fn describe(status: ExitStatus) -> String {
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

    const INFO: &str = r#"{"s":"I","msg":"Build Info","attr":{"version":"6.0.5"}}"#;

    #[test]
    fn a_full_disk_is_recognised_whatever_the_exit_code() {
        let line =
            r#"{"s":"F","msg":"Terminating.","attr":{"reason":"28: No space left on device"}}"#;
        let log = format!("{INFO}\n{line}\n");
        assert!(matches!(explain(14, &log), ExitReason::DiskFull { .. }));
    }

    #[test]
    fn another_release_series_is_recognised_by_the_exit_code() {
        let message = explain(62, INFO).to_string();
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
    fn the_last_errors_are_quoted_and_other_lines_are_not() {
        let fatal = r#"{"s":"F","msg":"Fatal assertion","attr":{"msgid":28595}}"#;
        let log = format!("{INFO}\nplain words\n{fatal}\n{INFO}\n");
        let message = explain(134, &log).to_string();
        assert!(
            message.starts_with("it exited with signal 6; its log "),
            "{message}"
        );
        let quoted = "ends with:\n  plain words\n  Fatal assertion {\"msgid\":28595}";
        assert!(message.ends_with(quoted), "{message}");
    }

    #[test]
    fn a_log_without_errors_is_quoted_as_it_is() {
        let message = explain(1, INFO).to_string();
        assert!(
            message.ends_with("\n  Build Info {\"version\":\"6.0.5\"}"),
            "{message}"
        );
    }
}
