//! A replica set of three servers, to freeze and to kill.
//!
//! It elects a new primary within seconds; with default settings that takes more than ten. A frozen
//! server keeps its connections open and answers nothing, as if its machine were paused or cut off
//! from the network.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mongodb::bson::doc;
use vitrine_mongod::{ReplicaSet, StartOptions};

use crate::eventually;
use crate::mongod::{RunDirectory, find_mongod};
use crate::process::signal;

/// The election timeout: how long members wait for the primary before they elect another one.
const ELECTION: Duration = Duration::from_secs(2);
/// The timeout of an election on a busy machine.
const ELECTED: Duration = Duration::from_mins(1);
/// The number of members.
const COUNT: usize = 3;

/// A replica set of three members, which are numbered from 0.
#[derive(Debug)]
pub struct Members {
    set: ReplicaSet,
    frozen: [AtomicBool; COUNT],
    killed: [AtomicBool; COUNT],
    directory: RunDirectory,
}

impl Members {
    /// Starts three members and waits for their primary.
    ///
    /// # Errors
    /// When no mongod is found or one does not start.
    pub async fn start() -> anyhow::Result<Self> {
        let directory = RunDirectory::claim("members")?;
        let mongod = find_mongod().await?;
        let options = |number: usize| {
            let mut options = StartOptions::new(directory.path.join(number.to_string()));
            options.cache_mib = 256;
            options.ephemeral = true;
            options.test_commands = true;
            options
        };
        let options: Vec<StartOptions> = (0..COUNT).map(options).collect();
        let set = ReplicaSet::start(&mongod, &options, ELECTION).await?;
        let pids: Vec<u32> = set
            .members()
            .iter()
            .map(vitrine_mongod::Member::pid)
            .collect();
        directory.removed_after(&pids)?;
        Ok(Self {
            set,
            frozen: Default::default(),
            killed: Default::default(),
            directory,
        })
    }

    /// Returns the connection string, with the addresses of all three.
    #[must_use]
    pub fn uri(&self) -> String {
        self.set.uri()
    }

    /// Returns the primary; waits until there is one.
    ///
    /// # Panics
    /// When none is elected in time.
    pub async fn primary(&self) -> usize {
        let look = async || {
            for (number, member) in self.set.members().iter().enumerate() {
                if self.answers(number) && member.is_primary().await {
                    return Some(number);
                }
            }
            None
        };
        eventually("a primary", ELECTED, look).await
    }

    /// Returns the secondaries.
    ///
    /// # Panics
    /// When none is elected in time.
    pub async fn secondaries(&self) -> Vec<usize> {
        let primary = self.primary().await;
        (0..COUNT).filter(|number| *number != primary).collect()
    }

    /// Freezes a member until [`Members::thaw`].
    ///
    /// # Panics
    /// When it is gone.
    pub fn freeze(&self, member: usize) {
        self.signal(member, "STOP");
        self.frozen[member].store(true, Ordering::SeqCst);
    }

    /// Thaws a frozen member.
    ///
    /// # Panics
    /// When it is gone.
    pub fn thaw(&self, member: usize) {
        self.signal(member, "CONT");
        self.frozen[member].store(false, Ordering::SeqCst);
    }

    /// Kills a member. It is not restarted.
    ///
    /// # Panics
    /// When it is gone.
    pub fn kill(&self, member: usize) {
        self.signal(member, "KILL");
        self.killed[member].store(true, Ordering::SeqCst);
    }

    /// Makes a member step down if it is the primary.
    ///
    /// # Panics
    /// When its address is invalid.
    pub async fn step_down(&self, member: usize) {
        let down = doc! { "replSetStepDown": 5, "secondaryCatchUpPeriodSecs": 2, "force": true };
        let admin = self.direct(member).await;
        // The connection may break.
        let _ = admin.run_command(down).await;
    }

    /// Stops the replication of a member until [`Members::resume_replication`]. It still votes, so
    /// the primary stays primary while no write reaches a majority.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn stop_replication(&self, member: usize) {
        self.set_replication(member, "alwaysOn").await;
    }

    /// Resumes the replication of a member.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn resume_replication(&self, member: usize) {
        self.set_replication(member, "off").await;
    }

    /// The fail point stops the member before it applies what it has fetched.
    async fn set_replication(&self, member: usize, mode: &str) {
        let point = doc! { "configureFailPoint": "rsSyncApplyStop", "mode": mode };
        let set = self.direct(member).await.run_command(point).await;
        set.expect("the server has test commands");
    }

    /// Returns the `admin` database of one member, whatever it is.
    async fn direct(&self, member: usize) -> mongodb::Database {
        let host = self.set.members()[member].host();
        let uri = format!("mongodb://{host}/?directConnection=true");
        let client = mongodb::Client::with_uri_str(uri).await;
        client.expect("an address").database("admin")
    }

    /// Thaws all frozen members and waits for a primary.
    pub(crate) async fn recover(&self) {
        self.thaw_all();
        self.primary().await;
    }

    fn thaw_all(&self) {
        for member in 0..COUNT {
            if is(&self.frozen[member]) && !is(&self.killed[member]) {
                self.thaw(member);
            }
        }
    }

    /// Keeps the directory when the process ends; returns where it is.
    pub(crate) fn keep(&self, database: &str) -> String {
        let kept = self.directory.keep(database);
        kept.expect("the directory of the run is there");
        let (uri, path) = (self.uri(), self.directory.path.display());
        format!("the database {database} of {uri} is kept in {path} until the next run")
    }

    /// Kills all members: their data is thrown away.
    pub(crate) fn end(self) {
        for member in 0..COUNT {
            if !is(&self.killed[member]) {
                self.kill(member);
            }
        }
    }

    fn answers(&self, member: usize) -> bool {
        !is(&self.frozen[member]) && !is(&self.killed[member])
    }

    fn signal(&self, member: usize, name: &str) {
        let sent = signal(self.set.members()[member].pid(), name);
        assert!(sent, "member {member} is gone");
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // A frozen member would not end on a signal.
        self.thaw_all();
    }
}

fn is(state: &AtomicBool) -> bool {
    state.load(Ordering::SeqCst)
}
