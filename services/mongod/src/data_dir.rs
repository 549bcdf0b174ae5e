//! The data directory of an instance: its layout and its owner.
//!
//! ```text
//! db/                   the database files of mongod
//! mongod.log            the output of mongod in this run
//! mongod.previous.log   the output of the previous run
//! port                  the port of the last run
//! owner.lock            locked by the owning process; contains its process id
//! ```

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::lock;
use crate::space;
use crate::start_error::{Holder, StartError};

/// The minimum free space: the first start writes 300 MiB, nearly all of it preallocated journal
/// files.
const MIN_FREE_MIB: u64 = 512;

/// How long to wait for a previous owner that is shutting down.
const OWNER_GRACE: Duration = Duration::from_secs(2);

/// How long to wait for a mongod whose owner was killed.
const MONGOD_GRACE: Duration = Duration::from_secs(15);

/// A data directory that this process owns until the value is dropped.
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    log_path: PathBuf,
    _owner: File,
}

impl DataDir {
    /// Creates the directory if needed and locks it for this process.
    pub(crate) async fn claim(root: &Path) -> Result<Self, StartError> {
        let unwritable = |problem| StartError::Unwritable {
            path: root.to_owned(),
            problem,
        };
        // Absolute, so that messages contain the full path.
        let root = std::path::absolute(root).map_err(unwritable)?;
        fs::create_dir_all(root.join("db")).map_err(unwritable)?;
        let mut owner = lock::open(&root.join("owner.lock")).map_err(unwritable)?;
        lock_or_fail(&root, &owner, OWNER_GRACE, Holder::Vitrine).await?;
        require_space(&root).await?;
        write_pid(&mut owner).map_err(unwritable)?;
        wait_for_mongod(&root).await?;
        let claimed = Self {
            log_path: root.join("mongod.log"),
            root,
            _owner: owner,
        };
        Ok(claimed)
    }

    /// The directory for mongod's `--dbpath`.
    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("db")
    }

    /// The log of mongod in this run.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Creates an empty log and keeps the previous one under another name.
    pub(crate) fn start_log(&self) -> Result<File, StartError> {
        if self.log_path.exists() {
            fs::rename(&self.log_path, self.root.join("mongod.previous.log"))
                .map_err(|problem| self.unwritable(problem))?;
        }
        File::create(&self.log_path).map_err(|problem| self.unwritable(problem))
    }

    /// Returns a port that is free now: that of the last run if possible, since the replica set
    /// then needs no reconfiguration, otherwise one chosen by the kernel. Another program may take
    /// it before mongod does.
    pub(crate) fn free_port(&self) -> Result<u16, StartError> {
        let last = fs::read_to_string(self.port_path()).unwrap_or_default();
        let last = last.trim().parse().ok();
        let port = last.map_or_else(
            || probe_port(0),
            |last| probe_port(last).or_else(|_| probe_port(0)),
        );
        port.map_err(|problem| self.unwritable(problem))
    }

    /// Saves the port for the next run.
    pub(crate) fn save_port(&self, port: u16) -> Result<(), StartError> {
        fs::write(self.port_path(), port.to_string()).map_err(|problem| self.unwritable(problem))
    }

    fn port_path(&self) -> PathBuf {
        self.root.join("port")
    }

    fn unwritable(&self, problem: io::Error) -> StartError {
        StartError::Unwritable {
            path: self.root.clone(),
            problem,
        }
    }
}

/// Binds a port and releases it; the kernel chooses it if `port` is 0.
fn probe_port(port: u16) -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, port))?
        .local_addr()?
        .port())
}

/// Locks `file`, or fails with its holder. The file contains the holder's process id.
async fn lock_or_fail(
    root: &Path,
    file: &File,
    grace: Duration,
    holder: impl Fn(Option<u32>) -> Holder,
) -> Result<(), StartError> {
    let path = || root.to_owned();
    match lock::lock_within(file, grace).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(StartError::InUse {
            path: path(),
            holder: holder(read_pid(file)),
        }),
        Err(problem) => Err(StartError::Unwritable {
            path: path(),
            problem,
        }),
    }
}

/// Waits until no mongod holds the database files. If the owner was killed, its mongod exits
/// shortly after; starting another one before that would fail.
async fn wait_for_mongod(root: &Path) -> Result<(), StartError> {
    // Opened without creating it: mongod creates the file at its first start.
    let path = root.join("db/mongod.lock");
    match File::options().read(true).write(true).open(path) {
        Ok(file) => lock_or_fail(root, &file, MONGOD_GRACE, Holder::Mongod).await,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(problem) => Err(StartError::Unwritable {
            path: root.to_owned(),
            problem,
        }),
    }
}

async fn require_space(root: &Path) -> Result<(), StartError> {
    match space::free_mib(root).await {
        Some(free_mib) if free_mib < MIN_FREE_MIB => Err(StartError::TooLittleSpace {
            path: root.to_owned(),
            free_mib,
            needed_mib: MIN_FREE_MIB,
        }),
        _ => Ok(()),
    }
}

fn read_pid(file: &File) -> Option<u32> {
    io::read_to_string(file).ok()?.trim().parse().ok()
}

fn write_pid(mut file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(&mut file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_owner_is_refused_with_the_id_of_the_first() {
        let root = tempfile::tempdir().unwrap();
        let first = DataDir::claim(root.path()).await.unwrap();
        let error = DataDir::claim(root.path()).await.unwrap_err();
        let me = Holder::Vitrine(Some(std::process::id()));
        assert!(matches!(error, StartError::InUse { holder, .. } if holder == me));
        drop(first);
        DataDir::claim(root.path()).await.unwrap();
    }

    #[tokio::test]
    async fn a_directory_below_a_file_is_unwritable() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let root = file.path().join("data");
        let message = DataDir::claim(&root).await.unwrap_err().to_string();
        let expected = format!("cannot use the data directory {}: ", root.display());
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.contains("make it writable"), "{message}");
    }

    #[tokio::test]
    async fn the_last_port_is_used_again_unless_it_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let directory = DataDir::claim(root.path()).await.unwrap();
        let port = directory.free_port().unwrap();
        directory.save_port(port).unwrap();
        assert_eq!(directory.free_port().unwrap(), port);
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert_ne!(directory.free_port().unwrap(), port);
    }

    #[tokio::test]
    async fn the_log_of_the_previous_run_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let directory = DataDir::claim(root.path()).await.unwrap();
        directory.start_log().unwrap().write_all(b"first").unwrap();
        directory.start_log().unwrap();
        let previous = fs::read_to_string(root.path().join("mongod.previous.log"));
        assert_eq!(previous.unwrap(), "first");
        assert_eq!(fs::read_to_string(directory.log_path()).unwrap(), "");
    }
}
