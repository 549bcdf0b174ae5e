//! Why an instance could not be started.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::ExitReason;

/// An instance was not started; no process is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data directory cannot be created or written.
    #[error(
        "cannot use the data directory {}: {problem}; make it writable for this user or choose \
         another one", path.display()
    )]
    Unwritable {
        /// The data directory.
        path: PathBuf,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// Another process uses the data directory.
    #[error(
        "cannot use the data directory {}: {holder}; stop that process or choose another \
         directory", path.display()
    )]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The process that uses it.
        holder: Holder,
    },
    /// The disk is nearly full.
    #[error(
        "cannot use the data directory {}: its disk has {free_mib} MiB free and mongod needs \
         {needed_mib} MiB to start; free some space or choose another directory",
        path.display()
    )]
    TooLittleSpace {
        /// The data directory.
        path: PathBuf,
        /// The free space in MiB.
        free_mib: u64,
        /// The required space in MiB.
        needed_mib: u64,
    },
    /// The shell that supervises mongod could not be run.
    #[error("cannot run /bin/sh, which is needed to supervise mongod: {0}")]
    Shell(io::Error),
    /// Other programs took all ports that were tried.
    #[error(
        "no port on 127.0.0.1 could be used: other programs took {attempts} of them first; \
         start again"
    )]
    Ports {
        /// The number of ports tried.
        attempts: usize,
    },
    /// mongod exited instead of becoming ready.
    #[error("mongod did not start: {0}")]
    Exited(ExitReason),
    /// mongod was running but did not become ready.
    #[error(
        "mongod was not ready after {} s and was stopped; its log is {}; if it was recovering \
         much data or the machine is very busy, start again", waited.as_secs(), log_path.display()
    )]
    TimedOut {
        /// The time limit.
        waited: Duration,
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// The replica set could not be configured.
    #[error(
        "the replica set could not be set up; the log of mongod is {}; if the data directory \
         was used by another program, choose another one", log_path.display()
    )]
    ReplicaSet {
        /// The error of the server or the driver.
        source: mongodb::error::Error,
        /// The log of mongod.
        log_path: PathBuf,
    },
}

/// The process that uses a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process of this service, with its process id if known.
    Vitrine(Option<u32>),
    /// A mongod without such a process, with its process id if known: one that was started
    /// manually, or one that takes very long to shut down.
    Mongod(Option<u32>),
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, pid) = match self {
            Self::Vitrine(pid) => ("another vitrine", pid),
            Self::Mongod(pid) => ("a mongod", pid),
        };
        write!(formatter, "{name} is running with it")?;
        pid.map_or(Ok(()), |pid| write!(formatter, " (process {pid})"))
    }
}
