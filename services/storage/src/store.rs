//! The handle on one database.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::event::{EventHandler, command::CommandEvent};
use mongodb::options::{Acknowledgment, ClientOptions, ReadConcern, WriteConcern};
use mongodb::{Client, Collection, Database};

use crate::StorageError;

/// A command that was sent to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSeen {
    /// The command: `find`, `aggregate`.
    pub name: String,
    /// The collection it is about, where it is about one.
    pub collection: Option<String>,
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
            max_pool: 100,
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
    /// How many products have a word, of words that very many have.
    pub(crate) common_words: Cache<String, u64>,
}

/// How long it is taken for true how many products have a common word.
const COMMON_FOR: Duration = Duration::from_mins(1);
/// Of how many words it is remembered.
const MOST_COMMON: u64 = 10_000;

impl Store {
    /// A handle on the database. Connections are made when they are needed.
    ///
    /// # Errors
    /// [`StorageError::Driver`] when the connection string is not one.
    pub async fn connect(options: &StoreOptions) -> Result<Self, StorageError> {
        let mut client = ClientOptions::parse(&options.uri).await?;
        client.app_name = Some("vitrine".to_owned());
        client.max_pool_size = Some(options.max_pool);
        client.max_connecting = Some(4);
        client.server_selection_timeout = Some(options.server_selection);
        client.command_event_handler = options.observer.clone().map(observe);
        let client = Client::with_options(client)?;
        let db = client.database(&options.database);
        Ok(Self {
            client,
            db,
            max_time: options.max_time,
            common_words: Cache::builder()
                .max_capacity(MOST_COMMON)
                .time_to_live(COMMON_FOR)
                .build(),
        })
    }

    /// Whether a primary answers.
    ///
    /// # Errors
    /// [`StorageError`] when none does.
    pub async fn ping(&self) -> Result<(), StorageError> {
        self.db.run_command(doc! { "ping": 1 }).await?;
        Ok(())
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

/// Acknowledged by a majority and in the journal: nothing acknowledged is lost.
pub(crate) fn durable() -> WriteConcern {
    WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .build()
}

/// The same for commands that are spelled out.
pub(crate) fn durable_document() -> Document {
    doc! { "w": "majority", "j": true }
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

fn observe(observer: CommandObserver) -> EventHandler<CommandEvent> {
    EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            let collection = started.command.get_str(&started.command_name);
            let collection = collection.ok().map(str::to_owned);
            observer(CommandSeen {
                name: started.command_name,
                collection,
            });
        }
    })
}
