//! The database server of a test run: started once, shared by all tests, stopped with the process.
//!
//! It is a real mongod, a replica set of one member, in a directory of its own below
//! `target/tmp`. The directory is removed when the process has ended. When a test has failed, it is
//! kept until the next run, so that the database can be inspected.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use vitrine_mongod::{Instance, Mongod, StartOptions};

use crate::environment::{search, target_dir};
use crate::process::signal;

/// The server that all tests share.
static SHARED: LazyLock<Server> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let started = runtime
        .expect("a runtime can be made")
        .block_on(Server::start("shared"));
    started.unwrap_or_else(|error| panic!("no mongod to test with: {error:#}"))
});

/// A running mongod with its directory.
#[derive(Debug)]
pub struct Server {
    instance: Instance,
    mongod: PathBuf,
    directory: RunDirectory,
}

impl Server {
    /// Returns the server that all tests share; the first caller starts it.
    #[must_use]
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// Starts a server for one test, which may make it fail.
    ///
    /// # Errors
    /// When no mongod is found or it does not start.
    pub async fn start(name: &str) -> anyhow::Result<Self> {
        let directory = RunDirectory::claim(name)?;
        let mongod = find_mongod().await?;
        let mut options = StartOptions::new(directory.path.join("data"));
        options.cache_mib = 512;
        options.ephemeral = true;
        options.test_commands = true;
        let instance = Instance::start(&mongod, &options).await?;
        directory.removed_after(&[instance.pid()])?;
        let mongod = mongod.path().to_owned();
        Ok(Self {
            instance,
            mongod,
            directory,
        })
    }

    /// Returns the connection string.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.instance.uri()
    }

    /// Freezes the server until [`Server::thaw`].
    ///
    /// # Panics
    /// When it is gone.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Thaws a frozen server.
    ///
    /// # Panics
    /// When it is gone.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let sent = signal(self.instance.pid(), name);
        assert!(sent, "the server is gone");
    }

    /// Keeps the directory when the process ends; returns how to open a database in it.
    ///
    /// # Panics
    /// When the directory is gone.
    #[must_use]
    pub fn keep(&self, database: &str) -> String {
        let path = &self.directory.path;
        let kept = self.directory.keep(database);
        kept.expect("the directory of the run is there");
        format!(
            "the database {database} is kept until the next run; while this run lasts:\n  \
             mongosh '{}&directConnection=true' --eval 'use {database}' --shell\nafterwards:\n  \
             {} --replSet vitrine --port 27999 --dbpath {}\n  \
             mongosh 'mongodb://127.0.0.1:27999/{database}?directConnection=true'",
            self.uri(),
            self.mongod.display(),
            path.join("data/db").display(),
        )
    }

    /// Stops the server.
    ///
    /// # Errors
    /// When it does not shut down cleanly.
    pub async fn stop(self) -> anyhow::Result<()> {
        Ok(self.instance.stop().await?)
    }
}

/// Finds the mongod that tests use.
///
/// # Errors
/// When there is none.
pub async fn find_mongod() -> anyhow::Result<Mongod> {
    Ok(Mongod::find(&search(), &|line| eprintln!("{line}")).await?)
}

const KEPT: &str = "kept";
const LOCK: &str = "lock";

/// Waits on its standard input, which closes with the test process; then for every mongod; then
/// removes the directory. Its arguments are the directory and the process ids.
const JANITOR: &str = r#"
directory=$1
shift
while read -r _; do :; done
for mongod; do
    while kill -0 "$mongod" 2>/dev/null; do sleep 0.1; done
done
[ -e "$directory/kept" ] || rm -rf "$directory"
"#;

/// A directory that belongs to this process while the process holds the lock in it.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl RunDirectory {
    /// Creates a directory, and removes those of runs that have ended.
    pub(crate) fn claim(name: &str) -> io::Result<Self> {
        let all = target_dir().join("tmp/vitrine-tests");
        fs::create_dir_all(&all)?;
        remove_leftovers(&all)?;
        let name = format!("{name}-{}-{}", std::process::id(), fresh_number());
        let path = all.join(name);
        fs::create_dir(&path)?;
        let lock = File::create(path.join(LOCK))?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// Keeps the directory when the process ends.
    pub(crate) fn keep(&self, database: &str) -> io::Result<()> {
        fs::write(self.path.join(KEPT), database)
    }

    /// Starts a process that removes the directory when this process and then each mongod has
    /// ended.
    pub(crate) fn removed_after(&self, mongods: &[u32]) -> io::Result<()> {
        let mut janitor = Command::new("/bin/sh");
        janitor
            .args(["-c", JANITOR, "janitor"])
            .arg(&self.path)
            .args(mongods.iter().map(u32::to_string));
        janitor
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A process group of its own, so that Ctrl-C in the terminal does not end it too early.
        let mut janitor = janitor.process_group(0).spawn()?;
        // The kernel closes it when this process ends.
        std::mem::forget(janitor.stdin.take());
        Ok(())
    }
}

/// Returns a number that no other directory of this process has.
fn fresh_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Removes directories whose lock is free, because their process has ended.
fn remove_leftovers(all: &Path) -> io::Result<()> {
    for entry in fs::read_dir(all)? {
        let path = entry?.path();
        let unlocked = File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if unlocked {
            // Another run may be doing the same.
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}
