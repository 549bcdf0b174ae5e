//! The real binary: built once per test run, started with settings, asked over HTTP, ended by
//! signals.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use crate::eventually;
use crate::surroundings::{target_dir, workspace_dir};

/// How long the service may take to say that it is ready.
const START: Duration = Duration::from_mins(1);
/// How long it may take to end.
const END: Duration = Duration::from_secs(40);

/// The binary, built by whoever comes first.
static BINARY: LazyLock<PathBuf> = LazyLock::new(build);

/// A running service.
#[derive(Debug)]
pub struct Service {
    child: Child,
    said: Arc<Mutex<String>>,
}

/// The path of the binary.
#[must_use]
pub fn binary() -> &'static Path {
    &BINARY
}

/// Cargo builds it as it builds the tests; with nothing to do this takes half a second.
fn build() -> PathBuf {
    let release = !cfg!(debug_assertions);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace_dir());
    // All members, so that their dependencies have the features they have in the tests.
    cargo.args([
        "build",
        "--locked",
        "--workspace",
        "--bin",
        "vitrine",
        "--target-dir",
    ]);
    cargo.arg(target_dir()).args(release.then_some("--release"));
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

/// A command of the binary that ends by itself.
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

impl Service {
    /// Starts the binary. What it says is collected.
    ///
    /// # Panics
    /// When it cannot be run.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let said = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), &said);
        collect(child.stderr.take().expect("piped"), &said);
        Self { child, said }
    }

    /// Everything it has said so far.
    ///
    /// # Panics
    /// When the thread that listens panicked.
    #[must_use]
    pub fn said(&self) -> String {
        self.said
            .lock()
            .expect("nobody panics with the lock")
            .clone()
    }

    /// Waits until it is ready and gives the address it serves on.
    ///
    /// # Panics
    /// When it does not become ready in time.
    pub async fn ready(&self) -> String {
        self.address("ready at http://").await
    }

    /// Waits until it listens, ready or not, and gives the address.
    ///
    /// # Panics
    /// When it does not listen in time.
    pub async fn listening(&self) -> String {
        self.address("listening at http://").await
    }

    async fn address(&self, before: &str) -> String {
        let look = async || {
            let said = self.said();
            let (_, after) = said.split_once(before)?;
            Some(after.split('/').next()?.to_owned())
        };
        eventually(before, START, look).await
    }

    /// Sends it a signal: `TERM`, `KILL`.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.expect("kill runs").success(), "the service is gone");
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
                .expect("a child of ours")
        };
        eventually("the end of the service", END, look).await
    }

    /// Ends it as an operator would, and says whether it ended well.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        let status = self.ended().await;
        if !status.success() {
            eprintln!("the service ended with {status} and said:\n{}", self.said());
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
            eprintln!("the service said:\n{}", self.said());
        }
    }
}

fn collect(from: impl Read + Send + 'static, into: &Arc<Mutex<String>>) {
    let into = Arc::clone(into);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut said = into.lock().expect("nobody panics with the lock");
            said.push_str(&line);
            said.push('\n');
        }
    });
}
