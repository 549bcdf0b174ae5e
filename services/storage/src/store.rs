//! The handle on one database.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::error::Error;
use mongodb::event::{EventHandler, command::CommandEvent};
use mongodb::options::{Acknowledgment, ClientOptions, ReadConcern, WriteConcern};
use mongodb::{Client, Collection, Database};
use tokio::sync::watch;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;

use crate::shards::{Reach, TransactionReach, reaches};
use crate::versions::{self, VersionStep};
use crate::{StorageError, elections, names};

/// A command that was sent to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSeen {
    /// The command: `find`, `aggregate`.
    pub name: String,
    /// The collection it is about, where it is about one.
    pub collection: Option<String>,
    /// What of it would reach all shards of a cluster, or of the transaction that it commits many,
    /// without a reason ([`SCATTER_GATHER`](crate::shards::SCATTER_GATHER),
    /// [`MANY_SHARDS`](crate::shards::MANY_SHARDS)).
    pub scattered: Vec<String>,
}

/// Told of every command as it is sent.
pub type CommandObserver = Arc<dyn Fn(CommandSeen) + Send + Sync>;

/// How to reach a database.
#[derive(Clone)]
pub struct StoreOptions {
    /// The connection string.
    pub uri: String,
    /// The database's name.
    pub database: String,
    /// The most connections. Whoever calls has to keep fewer operations than this under way:
    /// waiting in the driver's own queue does not survive cancellation well.
    pub max_pool: u32,
    /// How long the server may work on one operation.
    pub max_time: Duration,
    /// How long to look for a primary.
    pub server_selection: Duration,
    /// Told of every command as it is sent; for tests and figures.
    pub observer: Option<CommandObserver>,
}

impl StoreOptions {
    /// The defaults for this database.
    #[must_use]
    pub fn new(uri: impl Into<String>, database: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            database: database.into(),
            max_pool: 128,
            max_time: Duration::from_secs(5),
            server_selection: Duration::from_secs(5),
            observer: None,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The connection string may hold a password.
        f.debug_struct("StoreOptions")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// What kind of deployment answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The server's version: `6.0.5`.
    pub version: String,
    /// How the servers are arranged.
    pub topology: Topology,
}

/// How servers can be arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A replica set, of one member or more.
    ReplicaSet,
    /// A sharded cluster.
    Sharded,
    /// A single server without replication: it has no transactions.
    Standalone,
}

/// A handle on one database; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) client: Client,
    pub(crate) db: Database,
    pub(crate) max_time: Duration,
    /// Counts the elections that made another server primary.
    elections: watch::Receiver<u64>,
    /// How many products have a word, of words that very many have.
    pub(crate) common_words: Cache<String, u64>,
    /// The products that names belonged to when they were last resolved; readers verify it.
    pub(crate) name_cache: Cache<String, ProductId>,
    /// How documents get from one version to the next.
    pub(crate) version_steps: Arc<[VersionStep]>,
}

/// What the server knows our connections by.
pub(crate) const APP_NAME: &str = "vitrine";
/// How long a server may take to say what it is.
const LOOK: Duration = Duration::from_secs(1);
/// How long it is taken for true how many products have a common word.
const COMMON_FOR: Duration = Duration::from_mins(1);
/// Of how many words it is remembered.
const MAX_COMMON: u64 = 10_000;

impl Store {
    /// A handle on the database. Connections are made when they are needed.
    ///
    /// # Errors
    /// [`StorageError::Driver`] when the connection string is not one.
    pub async fn connect(options: &StoreOptions) -> Result<Self, StorageError> {
        let mut client = ClientOptions::parse(&options.uri).await?;
        client.app_name = Some(APP_NAME.to_owned());
        client.max_pool_size = Some(options.max_pool);
        client.max_connecting = Some(4);
        client.server_selection_timeout = Some(options.server_selection);
        client.command_event_handler = options.observer.clone().map(observe);
        let (handler, elections) = elections::watched();
        client.sdam_event_handler = Some(handler);
        let client = Client::with_options(client)?;
        let db = client.database(&options.database);
        Ok(Self {
            client,
            db,
            max_time: options.max_time,
            elections,
            common_words: Cache::builder()
                .max_capacity(MAX_COMMON)
                .time_to_live(COMMON_FOR)
                .build(),
            name_cache: Cache::new(names::MAX_CACHED),
            version_steps: versions::steps().into(),
        })
    }

    /// Asks the primary whether it answers. Returns what time its clock shows.
    ///
    /// # Errors
    /// [`StorageError`] when no primary answers.
    pub async fn ping(&self) -> Result<Timestamp, StorageError> {
        let hello = self.db.run_command(doc! { "hello": 1 }).await?;
        let time = hello.get_datetime("localTime").map_err(Error::custom)?;
        Ok(Timestamp::from_millis(time.timestamp_millis()))
    }

    /// Completes when another server than before is elected primary. What was sent to the one
    /// before may never be answered.
    pub fn next_election(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut elections = self.elections.clone();
        elections.mark_unchanged();
        async move {
            if elections.changed().await.is_err() {
                // The client is closed: there will be none.
                std::future::pending::<()>().await;
            }
        }
    }

    /// What kind of deployment answers.
    ///
    /// # Errors
    /// [`StorageError`] when none does.
    pub async fn deployment(&self) -> Result<Deployment, StorageError> {
        let admin = self.client.database("admin");
        let hello = admin.run_command(doc! { "hello": 1 }).await?;
        let info = admin.run_command(doc! { "buildInfo": 1 }).await?;
        let version = info.get_str("version").unwrap_or("unknown").to_owned();
        Ok(Deployment {
            version,
            topology: topology(&hello),
        })
    }

    /// Whether the first server of this address is one without replication. When the address names
    /// a replica set, the driver leaves such a server out and finds none at all.
    pub async fn is_standalone(options: &StoreOptions) -> bool {
        let Ok(mut client) = ClientOptions::parse(&options.uri).await else {
            return false;
        };
        client.repl_set_name = None;
        client.direct_connection = Some(true);
        client.hosts.truncate(1);
        client.server_selection_timeout = Some(LOOK);
        let Ok(client) = Client::with_options(client) else {
            return false;
        };
        let admin = client.database("admin");
        let hello = admin.run_command(doc! { "hello": 1 }).await;
        client.shutdown().await;
        // A server that waits to become a member of a replica set says so.
        hello.is_ok_and(|hello| {
            topology(&hello) == Topology::Standalone && !hello.contains_key("isreplicaset")
        })
    }

    /// Removes the database and everything in it.
    ///
    /// # Errors
    /// [`StorageError`] when the server refuses.
    pub async fn drop_database(&self) -> Result<(), StorageError> {
        Ok(self.db.drop().await?)
    }

    /// The name of the database.
    #[must_use]
    pub fn database_name(&self) -> &str {
        self.db.name()
    }

    /// Closes all connections.
    pub async fn close(self) {
        self.client.shutdown().await;
    }

    pub(crate) fn raw(&self, collection: &str) -> Collection<RawDocumentBuf> {
        self.db.collection(collection)
    }

    pub(crate) fn documents(&self, collection: &str) -> Collection<Document> {
        self.db.collection(collection)
    }
}

/// How long the server waits for a majority of its members before it says that it does not know.
pub(crate) const MAJORITY_WITHIN: Duration = Duration::from_secs(5);

/// Acknowledged by a majority and in the journal: nothing acknowledged is lost.
pub(crate) fn durable() -> WriteConcern {
    WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .w_timeout(MAJORITY_WITHIN)
        .build()
}

/// The same for commands that are spelled out.
pub(crate) fn durable_document() -> Document {
    let millis = i64::try_from(MAJORITY_WITHIN.as_millis()).expect("seconds");
    doc! { "w": "majority", "j": true, "wtimeout": millis }
}

/// Reads that no election can undo.
pub(crate) fn snapshot() -> ReadConcern {
    ReadConcern::snapshot()
}

fn topology(hello: &Document) -> Topology {
    if hello.contains_key("setName") {
        Topology::ReplicaSet
    } else if hello.get_str("msg").ok() == Some("isdbgrid") {
        Topology::Sharded
    } else {
        Topology::Standalone
    }
}

/// The transaction that a command belongs to: its session and its number.
fn transaction_id(command: &Document) -> Option<(String, i64)> {
    command.get_bool("autocommit").ok()?;
    let session = command.get_document("lsid").ok()?.get("id")?;
    Some((session.to_string(), command.get_i64("txnNumber").ok()?))
}

fn observe(observer: CommandObserver) -> EventHandler<CommandEvent> {
    let open = Mutex::<HashMap<_, TransactionReach>>::default();
    EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            let collection = started.command.get_str(&started.command_name);
            let collection = collection.ok().map(str::to_owned);
            let reached = reaches(&started.command_name, &started.command);
            let mut scattered: Vec<String> = reached.iter().filter_map(Reach::fault).collect();
            if let Some(id) = transaction_id(&started.command) {
                let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                match started.command_name.as_str() {
                    "commitTransaction" => {
                        let reach = open.remove(&id);
                        scattered.extend(reach.and_then(|reach| reach.fault()));
                    }
                    "abortTransaction" => drop(open.remove(&id)),
                    _ => open.entry(id).or_default().add(reached),
                }
            }
            observer(CommandSeen {
                scattered,
                name: started.command_name,
                collection,
            });
        }
    })
}
