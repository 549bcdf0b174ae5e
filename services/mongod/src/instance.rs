//! A running mongod: a replica set of one member on a loopback port.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::data_dir::DataDir;
use crate::exit::{ExitReason, port_was_taken};
use crate::find::Mongod;
use crate::options::{StartOptions, arguments};
use crate::replica_set;
use crate::start_error::StartError;
use crate::wrapper::Supervised;

/// How long mongod may take to become primary: usually half a second, longer if it recovers data or
/// the machine is busy.
const READY_TIMEOUT: Duration = Duration::from_secs(90);

/// How many ports are tried if other programs take them first.
const PORT_ATTEMPTS: usize = 5;

/// A running mongod that accepts writes. It is stopped when this value is dropped or the process
/// ends for any reason; [`Instance::stop`] also waits for it to exit.
#[derive(Debug)]
pub struct Instance {
    // Before `directory`: fields are dropped in order, and the directory must be released last.
    process: Supervised,
    directory: DataDir,
    uri: String,
}

/// A data directory that this process owns, before an instance is started in it. No other process
/// can start one there until this value is dropped.
#[derive(Debug)]
pub struct Claim(DataDir);

impl Claim {
    /// Creates the directory if needed and takes it. Waits for a previous owner that is shutting
    /// down.
    ///
    /// # Errors
    /// [`StartError`] if the directory cannot be used, for example because another process owns it.
    pub async fn new(data_dir: &Path) -> Result<Self, StartError> {
        Ok(Self(DataDir::claim(data_dir).await?))
    }
}

/// An instance did not stop cleanly. Its data is safe: mongod recovers from its journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// mongod exited with an error, or had exited before.
    #[error("mongod did not stop cleanly: {0}")]
    Exited(ExitReason),
    /// mongod or the shell that supervises it did not exit.
    #[error(
        "mongod (process {pid}) did not stop in time; stop it with `kill -9 {pid}`; its log is {}",
        log_path.display()
    )]
    TimedOut {
        /// The process id of mongod.
        pid: u32,
        /// The log of mongod.
        log_path: PathBuf,
    },
}

impl Instance {
    /// Starts `mongod` in `options.data_dir` and waits until it accepts writes. Existing data is
    /// kept. Waits for a previous owner of the directory that is shutting down.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong and what to do; no process is left running.
    pub async fn start(mongod: &Mongod, options: &StartOptions) -> Result<Self, StartError> {
        let claim = Claim::new(&options.data_dir).await?;
        Self::start_on(claim, mongod, options).await
    }

    /// Like [`Instance::start`], in a directory that was claimed before.
    ///
    /// # Errors
    /// As [`Instance::start`].
    pub async fn start_on(
        claim: Claim,
        mongod: &Mongod,
        options: &StartOptions,
    ) -> Result<Self, StartError> {
        let mut directory = claim.0;
        for _ in 0..PORT_ATTEMPTS {
            let port = directory.free_port()?;
            let log = directory.start_log()?;
            let arguments = arguments(options, &directory, port);
            let process = Supervised::spawn(mongod.path(), &arguments, log);
            let process = process.map_err(StartError::Shell)?;
            match Self::wait_for_startup(process, directory, port).await? {
                StartAttempt::Ready(instance) => return Ok(instance),
                StartAttempt::PortTaken(unused) => directory = unused,
            }
        }
        Err(StartError::Ports {
            attempts: PORT_ATTEMPTS,
        })
    }

    /// The connection string, `mongodb://127.0.0.1:PORT/?replicaSet=vitrine`.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The process id of mongod.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The log of mongod in this run.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        self.directory.log_path()
    }

    /// Why mongod has exited, for example because the disk is full; `None` while it is running.
    pub fn exit(&mut self) -> Option<ExitReason> {
        let status = self.process.try_wait()?;
        Some(ExitReason::explain(status, self.log_path()))
    }

    /// Shuts mongod down, which takes about a second, and waits until it has exited.
    ///
    /// # Errors
    /// [`StopError`] if it did not shut down cleanly.
    pub async fn stop(mut self) -> Result<(), StopError> {
        match self.process.stop().await {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(StopError::Exited(ExitReason::explain(
                status,
                self.log_path(),
            ))),
            None => Err(StopError::TimedOut {
                pid: self.pid(),
                log_path: self.log_path().to_owned(),
            }),
        }
    }

    /// Waits until a mongod that has just been started is ready or has failed.
    async fn wait_for_startup(
        mut process: Supervised,
        directory: DataDir,
        port: u16,
    ) -> Result<StartAttempt, StartError> {
        let log_path = directory.log_path().to_owned();
        match first_event(&mut process, port).await {
            Startup::Ready => {
                directory.save_port(port)?;
                Ok(StartAttempt::Ready(Self::new(process, directory, port)))
            }
            Startup::Ended(status) if port_was_taken(status) => {
                Ok(StartAttempt::PortTaken(directory))
            }
            Startup::Ended(status) => {
                Err(StartError::Exited(ExitReason::explain(status, &log_path)))
            }
            Startup::Refused(source) => {
                process.stop().await;
                Err(StartError::ReplicaSet { source, log_path })
            }
            Startup::TimedOut => {
                process.stop().await;
                let waited = READY_TIMEOUT;
                Err(StartError::TimedOut { waited, log_path })
            }
        }
    }

    fn new(process: Supervised, directory: DataDir, port: u16) -> Self {
        let name = replica_set::NAME;
        let uri = format!("mongodb://127.0.0.1:{port}/?replicaSet={name}");
        tracing::debug!(uri, pid = process.pid(), "mongod is ready");
        Self {
            process,
            directory,
            uri,
        }
    }
}

/// The outcome of one attempt to start, on one port.
enum StartAttempt {
    Ready(Instance),
    PortTaken(DataDir),
}

/// The first event after mongod was started.
enum Startup {
    Ready,
    Ended(ExitStatus),
    Refused(mongodb::error::Error),
    TimedOut,
}

async fn first_event(process: &mut Supervised, port: u16) -> Startup {
    let pid = process.pid();
    tokio::select! {
        status = process.wait() => Startup::Ended(status),
        ready = replica_set::wait_until_primary(port, pid) => match ready {
            Ok(()) => Startup::Ready,
            Err(error) => Startup::Refused(error),
        },
        () = tokio::time::sleep(READY_TIMEOUT) => Startup::TimedOut,
    }
}
