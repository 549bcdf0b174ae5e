//! A replica set of several members on this machine, for tests of what happens when some of them
//! fail.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::data_dir::DataDir;
use crate::exit::{ExitReason, port_was_taken};
use crate::find::Mongod;
use crate::options::{StartOptions, arguments};
use crate::replica_set::{self, Direct};
use crate::start_error::StartError;
use crate::wrapper::Supervised;

/// How long the members may take to start, and then to elect a primary.
const READY_LIMIT: Duration = Duration::from_secs(90);
/// How long one member is waited for when it is asked whether it is the primary.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// How many ports are tried for a member when other programs are quicker.
const PORT_ATTEMPTS: usize = 5;
const POLL: Duration = Duration::from_millis(50);

/// Running members of one replica set. All of them end when this value is dropped or the process
/// ends, in whatever way.
#[derive(Debug)]
pub struct ReplicaSet {
    members: Vec<Member>,
}

/// One running member of a [`ReplicaSet`].
#[derive(Debug)]
pub struct Member {
    // Before `directory`: fields are dropped in order, and the directory is given up last.
    process: Supervised,
    directory: DataDir,
    port: u16,
}

impl ReplicaSet {
    /// Starts a member in each of the directories that `members` name, and waits until they have
    /// elected a primary. The directories must be empty. `election` is how long the others do
    /// without a primary before they elect another one.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong and what to do; nothing is left running then.
    pub async fn start(
        mongod: &Mongod,
        members: &[StartOptions],
        election: Duration,
    ) -> Result<Self, StartError> {
        let mut started = Vec::new();
        for options in members {
            started.push(Member::start(mongod, options).await?);
        }
        let set = Self { members: started };
        let first = &set.members[0];
        let ports: Vec<u16> = set.members.iter().map(|member| member.port).collect();
        let initiated = replica_set::initiate(&ports, election).await;
        initiated.map_err(|source| StartError::ReplicaSet {
            source,
            log_path: first.log_path().to_owned(),
        })?;
        let elected = timeout(READY_LIMIT, set.elected()).await;
        elected.map_err(|_| StartError::TimedOut {
            waited: READY_LIMIT,
            log_path: first.log_path().to_owned(),
        })?;
        Ok(set)
    }

    /// The connection string, with the addresses of all members.
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

    async fn elected(&self) {
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
                status = process.end() => Some(status),
                () = replica_set::answers(port, pid) => None,
                () = sleep(READY_LIMIT) => {
                    process.stop().await;
                    let log_path = directory.log_path().to_owned();
                    return Err(StartError::TimedOut { waited: READY_LIMIT, log_path });
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
                    return Err(StartError::Died(exit));
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

    /// Whether this member says that it is the primary. One that does not answer is none; one that
    /// was cut off from the others may believe that it still is.
    pub async fn is_primary(&self) -> bool {
        let asked = async {
            let direct = Direct::connect(self.port)?;
            let answer = direct.is_primary().await;
            direct.close().await;
            answer
        };
        matches!(timeout(ANSWER_LIMIT, asked).await, Ok(Ok(true)))
    }
}
