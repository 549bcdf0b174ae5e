//! Checking a binary by running `mongod --version`.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use tokio::process::Command;

use crate::command::{RunError, last_lines, run};
use crate::version::Version;

/// How long the binary may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The signal for an instruction that the processor does not support.
const SIGILL: i32 = 4;

/// Why a binary cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// There is no file at the path.
    #[error("there is no such file")]
    Missing,
    /// The dynamic loader did not find a library.
    #[error(
        "it needs the shared library {0}, which is not installed; on Debian or Ubuntu run: \
         apt-get install libcurl4 libssl3 liblzma5"
    )]
    MissingLibrary(String),
    /// The C library of this system is older than the one it was built for.
    #[error("it was built for a newer system ({0}); use a mongod built for this one")]
    OldSystem(String),
    /// The processor lacks AVX.
    #[error("this processor lacks instructions it needs (MongoDB needs AVX since 5.0)")]
    OldProcessor,
    /// Its version is older than [`Version::OLDEST`].
    #[error("its version {0} is too old, {oldest} or newer is needed", oldest = Version::OLDEST)]
    TooOld(Version),
    /// Its output is not that of mongod.
    #[error("it is not mongod: the output of `--version` is {0:?}")]
    NotMongod(String),
    /// It cannot be run, or did not finish.
    #[error("{0}")]
    Unrunnable(String),
}

/// Returns the version of the binary at `path` if it runs on this machine and its version is
/// supported.
pub(crate) async fn probe(path: &Path) -> Result<Version, Rejection> {
    let output = run(Command::new(path).arg("--version"), TIMEOUT).await;
    let output = output.map_err(|error| cannot_run(path, &error))?;
    let banner = String::from_utf8_lossy(&output.stdout);
    match Version::from_banner(&banner) {
        Some(version) if version >= Version::OLDEST => Ok(version),
        Some(version) => Err(Rejection::TooOld(version)),
        None => Err(no_banner(&output)),
    }
}

fn cannot_run(path: &Path, error: &RunError) -> Rejection {
    match error {
        RunError::Spawn(error) if error.kind() != io::ErrorKind::NotFound => {
            Rejection::Unrunnable(format!("it cannot be run: {error}"))
        }
        // The kernel reports a missing program loader (glibc's, on a musl system) as a missing
        // file.
        RunError::Spawn(_) if path.is_file() => Rejection::Unrunnable(
            "it cannot be run: its program loader is missing, so it was built for another kind \
             of system"
                .to_owned(),
        ),
        RunError::Spawn(_) => Rejection::Missing,
        RunError::TimedOut(_) => Rejection::Unrunnable(error.to_string()),
    }
}

fn no_banner(output: &Output) -> Rejection {
    if output.status.signal() == Some(SIGILL) {
        return Rejection::OldProcessor;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    loader_error(&stderr).unwrap_or_else(|| {
        let lines = last_lines(&[&*output.stdout, &*output.stderr].concat(), 2);
        Rejection::NotMongod(lines.chars().take(200).collect())
    })
}

/// Recognises two errors of the dynamic loader, which reports them only as text.
fn loader_error(text: &str) -> Option<Rejection> {
    let missing = between(text, "error while loading shared libraries: ", ":");
    let newer = || between(text, "version `", "' not found");
    missing
        .map(Rejection::MissingLibrary)
        .or_else(|| newer().map(Rejection::OldSystem))
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    let (found, _) = rest.split_once(after)?;
    Some(found.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Probes a shell script with this body.
    async fn probe_script(script: &str) -> Result<Version, Rejection> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mongod");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        probe(&path).await
    }

    #[tokio::test]
    async fn an_accepted_version_is_returned() {
        let version = probe_script("echo 'db version v7.0.2'").await.unwrap();
        assert_eq!(version.to_string(), "7.0.2");
    }

    #[tokio::test]
    async fn a_too_old_version_is_named() {
        let error = probe_script("echo 'db version v4.4.29'").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "its version 4.4.29 is too old, 6.0.0 or newer is needed"
        );
    }

    #[tokio::test]
    async fn a_missing_library_is_named_with_the_packages_to_install() {
        let script = "echo \"$0: error while loading shared libraries: libcurl.so.4: cannot \
                      open shared object file: No such file or directory\" >&2; exit 127";
        let message = probe_script(script).await.unwrap_err().to_string();
        assert!(message.contains("libcurl.so.4"), "{message}");
        assert!(message.contains("apt-get install libcurl4"), "{message}");
    }

    #[tokio::test]
    async fn an_old_c_library_is_named() {
        let script = "echo \"$0: /lib/libc.so.6: version \\`GLIBC_2.34' not found\" >&2; exit 1";
        let error = probe_script(script).await.unwrap_err();
        assert!(matches!(error, Rejection::OldSystem(name) if name == "GLIBC_2.34"));
    }

    #[tokio::test]
    async fn an_unsupported_processor_is_recognised() {
        let error = probe_script("kill -ILL $$").await.unwrap_err();
        assert!(matches!(error, Rejection::OldProcessor));
    }

    #[tokio::test]
    async fn another_program_is_quoted() {
        let error = probe_script("echo hello").await.unwrap_err();
        assert!(matches!(error, Rejection::NotMongod(output) if output == "hello"));
    }

    #[tokio::test]
    async fn a_path_without_a_file_is_missing() {
        let error = probe(Path::new("/nonexistent/mongod")).await.unwrap_err();
        assert!(matches!(error, Rejection::Missing));
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_program_is_unrunnable() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = probe(file.path()).await.unwrap_err();
        assert!(matches!(error, Rejection::Unrunnable(_)));
    }
}
