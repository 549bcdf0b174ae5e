//! Why an instance could not be started.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::ExitReason;

/// An instance was not started; nothing of it is left running.
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
        /// What the system said.
        problem: io::Error,
    },
    /// Somebody else works in the data directory.
    #[error(
        "cannot use the data directory {}: {holder}; stop that process or choose another \
         directory", path.display()
    )]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// Who works in it.
        holder: Holder,
    },
    /// The disk is as good as full.
    #[error(
        "cannot use the data directory {}: its disk has {free_mib} MiB free and mongod needs \
         {needed_mib} MiB to start; free some space or choose another directory",
        path.display()
    )]
    TooLittleSpace {
        /// The data directory.
        path: PathBuf,
        /// What is free, in MiB.
        free_mib: u64,
        /// What is needed, in MiB.
        needed_mib: u64,
    },
    /// The shell that supervises mongod did not run.
    #[error("cannot run /bin/sh, which is needed to supervise mongod: {0}")]
    Shell(io::Error),
    /// Other programs took one port after the other.
    #[error(
        "no free port on 127.0.0.1 could be kept: other programs took {attempts} of them first; \
         start again"
    )]
    Ports {
        /// How many ports were tried.
        attempts: usize,
    },
    /// mongod ended instead of becoming ready.
    #[error("mongod did not start: {0}")]
    Died(ExitReason),
    /// mongod runs but did not become ready.
    #[error(
        "mongod was not ready after {} s and was stopped; its log is {}; if it was recovering \
         much data or the machine is very busy, start again", waited.as_secs(), log_path.display()
    )]
    TimedOut {
        /// How long it was waited for.
        waited: Duration,
        /// The log of mongod.
        log_path: PathBuf,
    },
    /// A command that sets up the replica set was refused.
    #[error(
        "the replica set could not be set up; the log of mongod is {}; if the data directory \
         was used by something else, choose another one", log_path.display()
    )]
    ReplicaSet {
        /// What the server or the driver said.
        source: mongodb::error::Error,
        /// The log of mongod.
        log_path: PathBuf,
    },
}

/// Who holds a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process of this service, with its id if that could be read.
    Vitrine(Option<u32>),
    /// A mongod that no such process owns: one that was started by hand, or one that takes
    /// very long to shut down.
    Mongod(Option<u32>),
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, pid) = match self {
            Self::Vitrine(pid) => ("another vitrine", pid),
            Self::Mongod(pid) => ("a mongod", pid),
        };
        write!(formatter, "{who} is running with it")?;
        pid.map_or(Ok(()), |pid| write!(formatter, " (process {pid})"))
    }
}
