//! One running mongod: a replica set of one member on a loopback port.

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

/// How long mongod may take to become the primary: half a second as a rule, more when it
/// recovers data or shares the machine with a build.
const READY_LIMIT: Duration = Duration::from_secs(90);

/// How many ports are tried when other programs are quicker.
const PORT_ATTEMPTS: usize = 5;

/// A running mongod that accepts writes. It ends when this value is dropped or the process
/// ends, in whatever way; [`Instance::stop`] also waits for it.
#[derive(Debug)]
pub struct Instance {
    // Before `directory`: fields are dropped in order, and the directory is given up last.
    process: Supervised,
    directory: DataDir,
    uri: String,
}

/// An instance did not stop as it should. Its data is safe: mongod recovers from its journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// mongod ended with an error, or had ended before.
    #[error("mongod did not stop cleanly: {0}")]
    Died(ExitReason),
    /// mongod or the shell that supervises it did not end.
    #[error(
        "mongod (process {pid}) did not stop in time; end it with `kill -9 {pid}`; its log is {}",
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
    /// Starts `mongod` in `options.data_dir` and waits until it accepts writes. Data of an
    /// earlier run is kept; a predecessor that is still shutting down is waited for.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong and what to do; nothing is left running then.
    pub async fn start(mongod: &Mongod, options: &StartOptions) -> Result<Self, StartError> {
        let mut directory = DataDir::claim(&options.data_dir).await?;
        for _ in 0..PORT_ATTEMPTS {
            let port = directory.free_port()?;
            let log = directory.start_log()?;
            let arguments = arguments(options, &directory, port);
            let process = Supervised::spawn(mongod.path(), &arguments, log);
            let process = process.map_err(StartError::Shell)?;
            match Self::settle(process, directory, port).await? {
                Settled::Ready(instance) => return Ok(instance),
                Settled::PortTaken(unused) => directory = unused,
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

    /// Why mongod has ended by itself, for example because the disk is full; `None` while it
    /// runs.
    pub fn exit(&mut self) -> Option<ExitReason> {
        let status = self.process.ended()?;
        Some(ExitReason::explain(status, self.log_path()))
    }

    /// Shuts mongod down, which takes about a second, and waits for it.
    ///
    /// # Errors
    /// [`StopError`] if it ended otherwise than by a clean shutdown.
    pub async fn stop(mut self) -> Result<(), StopError> {
        match self.process.stop().await {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(StopError::Died(ExitReason::explain(
                status,
                self.log_path(),
            ))),
            None => Err(StopError::TimedOut {
                pid: self.pid(),
                log_path: self.log_path().to_owned(),
            }),
        }
    }

    /// Waits until a mongod that was just started is ready or has failed.
    async fn settle(
        mut process: Supervised,
        directory: DataDir,
        port: u16,
    ) -> Result<Settled, StartError> {
        let log_path = directory.log_path().to_owned();
        match outcome(&mut process, port).await {
            Outcome::Ready => {
                directory.remember_port(port)?;
                Ok(Settled::Ready(Self::new(process, directory, port)))
            }
            Outcome::Ended(status) if port_was_taken(status) => Ok(Settled::PortTaken(directory)),
            Outcome::Ended(status) => Err(StartError::Died(ExitReason::explain(status, &log_path))),
            Outcome::Refused(source) => {
                process.stop().await;
                Err(StartError::ReplicaSet { source, log_path })
            }
            Outcome::TimedOut => {
                process.stop().await;
                let waited = READY_LIMIT;
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

/// What came of one attempt to start.
enum Settled {
    Ready(Instance),
    PortTaken(DataDir),
}

/// What a mongod that was just started did first.
enum Outcome {
    Ready,
    Ended(ExitStatus),
    Refused(mongodb::error::Error),
    TimedOut,
}

async fn outcome(process: &mut Supervised, port: u16) -> Outcome {
    let pid = process.pid();
    tokio::select! {
        status = process.end() => Outcome::Ended(status),
        ready = replica_set::ready(port, pid) => match ready {
            Ok(()) => Outcome::Ready,
            Err(error) => Outcome::Refused(error),
        },
        () = tokio::time::sleep(READY_LIMIT) => Outcome::TimedOut,
    }
}
