//! The real binary: built once per test run, started with settings, called over HTTP, ended by
//! signals.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use crate::environment::{target_dir, workspace_dir};
use crate::eventually;

/// The timeout of a start, until the service reports that it is ready.
const START: Duration = Duration::from_mins(1);
/// The timeout of an end.
const END: Duration = Duration::from_secs(40);

/// The binary, built by the first test that needs it.
static BINARY: LazyLock<PathBuf> = LazyLock::new(build);

/// A running service.
#[derive(Debug)]
pub struct Service {
    child: Child,
    output: Arc<Mutex<String>>,
}

/// Returns the path of the binary.
#[must_use]
pub fn binary() -> &'static Path {
    &BINARY
}

/// Builds it with the features of the tests; when it is up to date, this takes half a second.
fn build() -> PathBuf {
    let release = !cfg!(debug_assertions);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace_dir());
    // All members, so that their dependencies have the same features as in the tests.
    cargo.args([
        "build",
        "--locked",
        "--workspace",
        "--bin",
        "vitrine",
        "--target-dir",
    ]);
    cargo.arg(target_dir()).args(release.then_some("--release"));
    // What describes the package of the tests. Build scripts that depend on it, such as that of
    // `ring`, would run again, and half of all packages would be compiled again.
    let of_package =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_package) {
            cargo.env_remove(name);
        }
    }
    let built = cargo.output().expect("cargo runs");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    target_dir()
        .join(if release { "release" } else { "debug" })
        .join("vitrine")
}

/// Runs a command of the binary until it ends.
///
/// # Panics
/// When it cannot be run.
#[must_use]
pub fn run(arguments: &[&str]) -> Output {
    Command::new(binary())
        .args(arguments)
        .output()
        .expect("the binary runs")
}

/// Sends a signal to a process: `CONT`, `KILL`, `STOP`, `TERM`, or `0`, which does nothing. Returns false if it is gone.
///
/// # Panics
/// When there is no shell.
#[must_use]
pub fn signal(pid: u32, signal: &str) -> bool {
    let mut shell = Command::new("/bin/sh");
    // Part of the shell: not every machine has a program of this name.
    shell.args(["-c", "kill \"-$0\" \"$1\"", signal, &pid.to_string()]);
    let sent = shell.stderr(Stdio::null()).status();
    sent.expect("a shell runs").success()
}

impl Service {
    /// Starts the binary and collects its output.
    ///
    /// # Panics
    /// When it cannot be run.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        Self::spawn(Command::new(binary()), arguments)
    }

    /// Starts the binary, which may open only this many files at a time.
    ///
    /// # Panics
    /// When it cannot be run.
    #[must_use]
    pub fn start_with_files(files: u32, arguments: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script]).arg(binary());
        Self::spawn(shell, arguments)
    }

    fn spawn(mut command: Command, arguments: &[&str]) -> Self {
        command.args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let output = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), &output);
        collect(child.stderr.take().expect("piped"), &output);
        Self { child, output }
    }

    /// Returns its output so far.
    ///
    /// # Panics
    /// When the thread that reads the output panicked.
    #[must_use]
    pub fn output(&self) -> String {
        self.output
            .lock()
            .expect("nobody panics with the lock")
            .clone()
    }

    /// Waits until it is ready; returns its address.
    ///
    /// # Panics
    /// When it does not become ready in time.
    pub async fn ready(&self) -> String {
        self.address("ready at http://").await
    }

    /// Waits until it listens, ready or not; returns its address.
    ///
    /// # Panics
    /// When it does not listen in time.
    pub async fn listening(&self) -> String {
        self.address("listening at http://").await
    }

    async fn address(&self, before: &str) -> String {
        let look = async || {
            let output = self.output();
            let (_, after) = output.split_once(before)?;
            Some(after.split('/').next()?.to_owned())
        };
        eventually(before, START, look).await
    }

    /// Returns the most memory that it has used, in bytes.
    ///
    /// # Panics
    /// When it is gone.
    #[must_use]
    pub fn peak_memory(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// Returns the memory that it uses, in bytes.
    ///
    /// # Panics
    /// When it is gone.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Returns whether the kernel may give it huge pages of memory.
    ///
    /// # Panics
    /// When it is gone.
    #[must_use]
    pub fn may_have_huge_pages(&self) -> bool {
        may_have_huge_pages(self.child.id())
    }

    fn status(&self, field: &str) -> u64 {
        let value = status_of(self.child.id(), field);
        let kib = value.strip_suffix(" kB").expect("a number of kB");
        1024 * kib.parse::<u64>().expect("a number")
    }

    /// Sends it a signal: `TERM`, `KILL`.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: &str) {
        assert!(self::signal(self.child.id(), signal), "the service is gone");
    }

    /// Returns whether it has ended.
    ///
    /// # Panics
    /// When the system does not know it.
    pub fn has_ended(&mut self) -> bool {
        let status = self.child.try_wait().expect("it is our child");
        status.is_some()
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn ended(&mut self) -> ExitStatus {
        let child = Mutex::new(&mut self.child);
        let look = async || {
            child
                .lock()
                .expect("one thread")
                .try_wait()
                .expect("it is our child")
        };
        eventually("the end of the service", END, look).await
    }

    /// Ends it as an operator would; returns its exit status.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        let status = self.ended().await;
        if !status.success() {
            eprintln!(
                "the service ended with {status}; its output:\n{}",
                self.output()
            );
        }
        status
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("the output of the service:\n{}", self.output());
        }
    }
}

fn collect(from: impl Read + Send + 'static, into: &Arc<Mutex<String>>) {
    let into = Arc::clone(into);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut output = into.lock().expect("nobody panics with the lock");
            output.push_str(&line);
            output.push('\n');
        }
    });
}

/// Returns whether the kernel may give huge pages of memory to a process.
///
/// # Panics
/// When it is gone.
#[must_use]
pub fn may_have_huge_pages(process: u32) -> bool {
    status_of(process, "THP_enabled:") == "1"
}

/// Returns a field of `/proc/PID/status`.
fn status_of(process: u32, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.expect("the process runs");
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let value = value.unwrap_or_else(|| panic!("the kernel reports no {field}"));
    value.trim().to_owned()
}
