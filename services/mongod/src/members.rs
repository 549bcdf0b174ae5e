//! A replica set of several members on this machine, for tests of failovers.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::data_dir::DataDir;
use crate::exit::{ExitReason, port_was_taken};
use crate::find::Mongod;
use crate::options::{StartOptions, arguments};
use crate::replica_set::{self, DirectConnection};
use crate::start_error::StartError;
use crate::wrapper::Supervised;

/// How long the members may take to start, and again to elect a primary.
const READY_TIMEOUT: Duration = Duration::from_secs(90);
/// How long to wait for a member's answer whether it is the primary.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How many ports are tried for a member if other programs take them first.
const PORT_ATTEMPTS: usize = 5;
const POLL: Duration = Duration::from_millis(50);

/// The running members of a replica set. All of them are stopped when this value is dropped or the
/// process ends for any reason.
#[derive(Debug)]
pub struct ReplicaSet {
    members: Vec<Member>,
}

/// A running member of a [`ReplicaSet`].
#[derive(Debug)]
pub struct Member {
    // Before `directory`: fields are dropped in order, and the directory must be released last.
    process: Supervised,
    directory: DataDir,
    port: u16,
}

impl ReplicaSet {
    /// Starts a member for each of `members` and waits until they have elected a primary. Their
    /// data directories must be empty. `election_timeout` is how long members wait without a
    /// primary before they elect another.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong and what to do; no process is left running.
    pub async fn start(
        mongod: &Mongod,
        members: &[StartOptions],
        election_timeout: Duration,
    ) -> Result<Self, StartError> {
        let mut started = Vec::new();
        for options in members {
            started.push(Member::start(mongod, options).await?);
        }
        let set = Self { members: started };
        let first = &set.members[0];
        let ports: Vec<u16> = set.members.iter().map(|member| member.port).collect();
        let initiated = replica_set::initiate(&ports, election_timeout).await;
        initiated.map_err(|source| StartError::ReplicaSet {
            source,
            log_path: first.log_path().to_owned(),
        })?;
        let elected = timeout(READY_TIMEOUT, set.wait_for_election()).await;
        elected.map_err(|_| StartError::TimedOut {
            waited: READY_TIMEOUT,
            log_path: first.log_path().to_owned(),
        })?;
        Ok(set)
    }

    /// The connection string with the addresses of all members.
    #[must_use]
    pub fn uri(&self) -> String {
        let hosts: Vec<String> = self.members.iter().map(Member::host).collect();
        let name = replica_set::NAME;
        format!("mongodb://{}/?replicaSet={name}", hosts.join(","))
    }

    /// The members, in the order in which they were started.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    async fn wait_for_election(&self) {
        loop {
            for member in &self.members {
                if member.is_primary().await {
                    return;
                }
            }
            sleep(POLL).await;
        }
    }
}

impl Member {
    async fn start(mongod: &Mongod, options: &StartOptions) -> Result<Self, StartError> {
        let directory = DataDir::claim(&options.data_dir).await?;
        for _ in 0..PORT_ATTEMPTS {
            let port = directory.free_port()?;
            let log = directory.start_log()?;
            let arguments: Vec<OsString> = arguments(options, &directory, port);
            let process = Supervised::spawn(mongod.path(), &arguments, log);
            let mut process = process.map_err(StartError::Shell)?;
            let pid = process.pid();
            let ended = tokio::select! {
                status = process.wait() => Some(status),
                () = replica_set::wait_until_answering(port, pid) => None,
                () = sleep(READY_TIMEOUT) => {
                    process.stop().await;
                    let log_path = directory.log_path().to_owned();
                    return Err(StartError::TimedOut { waited: READY_TIMEOUT, log_path });
                }
            };
            match ended {
                None => {
                    return Ok(Self {
                        process,
                        directory,
                        port,
                    });
                }
                Some(status) if port_was_taken(status) => {}
                Some(status) => {
                    let exit = ExitReason::explain(status, directory.log_path());
                    return Err(StartError::Exited(exit));
                }
            }
        }
        Err(StartError::Ports {
            attempts: PORT_ATTEMPTS,
        })
    }

    /// The process id of this mongod.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The address, `127.0.0.1:PORT`.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The log of this mongod.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        self.directory.log_path()
    }

    /// Returns true if this member reports itself as primary. A member that does not answer is not
    /// primary; one that is cut off from the others may still consider itself primary.
    pub async fn is_primary(&self) -> bool {
        let answer = async {
            let direct = DirectConnection::connect(self.port)?;
            let is_primary = direct.is_primary().await;
            direct.close().await;
            is_primary
        };
        matches!(timeout(ANSWER_TIMEOUT, answer).await, Ok(Ok(true)))
    }
}
