//! The database server of a test run: started once, shared by all tests, gone with the process.
//!
//! It is a real mongod, a replica set of one member, in a directory of its own below
//! `target/tmp`. The directory goes when the process has ended, unless a test has failed: then it
//! stays until the next run, so that the database can be looked at.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use vitrine_mongod::{Instance, Mongod, StartOptions};

use crate::surroundings::{search, target_dir};

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
    /// The server that all tests share, started by whoever comes first.
    #[must_use]
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// A server of its own, for tests that make it fail. Other tests do not notice.
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

    /// The connection string.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.instance.uri()
    }

    /// Stops the server from doing anything at all, until [`Server::thaw`].
    ///
    /// # Panics
    /// When it is gone.
    pub fn freeze(&self) {
        signal(self.instance.pid(), "STOP");
    }

    /// Lets a frozen server go on.
    ///
    /// # Panics
    /// When it is gone.
    pub fn thaw(&self) {
        signal(self.instance.pid(), "CONT");
    }

    /// Keeps the directory when the process ends, and says how to look at a database in it.
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

    /// Ends the server.
    ///
    /// # Errors
    /// When it does not end as it should.
    pub async fn stop(self) -> anyhow::Result<()> {
        Ok(self.instance.stop().await?)
    }
}

/// The mongod that tests use.
///
/// # Errors
/// When there is none.
pub async fn find_mongod() -> anyhow::Result<Mongod> {
    Ok(Mongod::find(&search(), &|line| eprintln!("{line}")).await?)
}

/// Sends a signal to a process: `STOP`, `CONT`, `KILL`.
///
/// # Panics
/// When the process is gone.
pub(crate) fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status();
    assert!(sent.expect("kill runs").success(), "process {pid} is gone");
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

/// A directory that belongs to this process while it holds the lock in it.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl RunDirectory {
    /// Makes a directory, and removes those that dead runs have left.
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

    /// Has the directory removed when this process and then each mongod has ended.
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
        // A group of its own, so that Ctrl-C in the terminal does not end it before its work.
        let mut janitor = janitor.process_group(0).spawn()?;
        // Never closed by this process: the kernel does it.
        std::mem::forget(janitor.stdin.take());
        Ok(())
    }
}

/// Tells apart the directories of one process.
fn fresh_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Removes directories whose process is dead: nobody holds their locks.
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
