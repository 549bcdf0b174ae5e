//! The handle on one database.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::error::Error;
use mongodb::event::{EventHandler, command::CommandEvent};
use mongodb::options::{ClientOptions, ReadConcern, ReadPreference, SelectionCriteria};
use mongodb::{Client, Collection, Database};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;

use crate::durability::{durable, durable_document, is_weak};
use crate::elections::PrimaryWatch;
use crate::product_changes::COMMENT;
use crate::product_writes::ProductWrites;
use crate::shards::{Reach, TransactionReach, reaches};
use crate::versions::{self, VersionStep};
use crate::work::{self, Commands, Pool};
use crate::{StorageError, elections, names};

/// A command that was sent to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCommand {
    /// The command's name, such as `find` or `aggregate`.
    pub name: String,
    /// The collection, for commands that have one.
    pub collection: Option<String>,
    /// Unexpected reach on a sharded cluster: the parts of this command that would be sent to all
    /// shards without a listed reason ([`SCATTER_GATHER`](crate::shards::SCATTER_GATHER)), or the
    /// transaction that it commits if that spans too many shards
    /// ([`MANY_SHARDS`](crate::shards::MANY_SHARDS)).
    pub scattered: Vec<String>,
    /// Whether the command confirms a write before a majority has it in its journal, and
    /// [`WEAK_WRITES`](crate::durability::WEAK_WRITES) does not list it.
    pub weak: bool,
    /// Whether it belongs to the stream of [`ProductChanges`](crate::product_changes::ProductChanges), which runs in
    /// the background.
    pub follows_products: bool,
}

/// Called with every command as it is sent.
pub type CommandObserver = Arc<dyn Fn(SentCommand) + Send + Sync>;

/// Connection options of a database.
#[derive(Clone)]
pub struct StoreOptions {
    /// The connection string.
    pub uri: String,
    /// The name of the database.
    pub database: String,
    /// The maximum size of the connection pool. The caller has to run fewer operations than this at
    /// a time: waiting in the driver's own queue does not survive cancellation well.
    pub max_pool: u32,
    /// The server's time limit (`maxTimeMS`) for one operation.
    pub max_time: Duration,
    /// The time limit for server selection.
    pub server_selection: Duration,
    /// Called with every command as it is sent; for tests. Decodes each command and each reply.
    pub observer: Option<CommandObserver>,
}

impl StoreOptions {
    /// Returns the default options for this database.
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

/// The server that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The server's version, such as `6.0.5`.
    pub version: String,
    /// How the servers are arranged.
    pub topology: Topology,
}

/// The arrangement of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A replica set of one or more members.
    ReplicaSet,
    /// A sharded cluster.
    Sharded,
    /// A single server without replication; it does not support transactions.
    Standalone,
}

/// A handle on one database; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) client: Client,
    pub(crate) db: Database,
    pub(crate) max_time: Duration,
    primary: PrimaryWatch,
    pub(crate) product_writes: Arc<ProductWrites>,
    pub(crate) commands: Arc<Commands>,
    pub(crate) pool: Arc<Pool>,
    /// The options of the client, and the client whose replies are counted once it is needed.
    inspected: Arc<(ClientOptions, OnceLock<Client>)>,
    /// Large numbers of products that match a part of a condition, by the part.
    pub(crate) common_counts: Cache<String, u64>,
    /// The products that names belonged to when they were last resolved; readers verify the entry.
    pub(crate) name_cache: Cache<String, ProductId>,
    /// The upgrades from one schema version to the next.
    pub(crate) version_steps: Arc<[VersionStep]>,
}

/// The `appName` of our connections.
pub(crate) const APP_NAME: &str = "vitrine";
/// How long a large count of products is cached.
const COMMON_COUNT_TTL: Duration = Duration::from_mins(1);
/// The maximum size of all large counts that are cached.
const MAX_COMMON_COUNT_BYTES: u64 = 4_000_000;
/// What a cached count takes beside its name, about.
const COMMON_COUNT_BYTES: usize = 100;

impl Store {
    /// Creates a handle on a database. Connections are opened when they are needed.
    ///
    /// # Errors
    /// [`StorageError::Driver`] when the connection string is invalid.
    pub async fn connect(options: &StoreOptions) -> Result<Self, StorageError> {
        let mut client = ClientOptions::parse(&options.uri).await?;
        client.app_name = Some(APP_NAME.to_owned());
        client.max_pool_size = Some(options.max_pool);
        client.write_concern = Some(durable());
        // Whatever the address says: a secondary may lack what a client has just been told.
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        client.selection_criteria = Some(primary);
        client.max_connecting = Some(4);
        client.server_selection_timeout = Some(options.server_selection);
        let product_writes = Arc::<ProductWrites>::default();
        let observer = options.observer.clone();
        client.command_event_handler = observer.map(|to| observe(to, Arc::clone(&product_writes)));
        let (handler, primary) = elections::monitor();
        client.sdam_event_handler = Some(handler);
        let (commands, pool) = (Arc::default(), Arc::default());
        work::observe(&mut client, &commands, &pool);
        let inspected = Arc::new((client.clone(), OnceLock::new()));
        let client = Client::with_options(client)?;
        let db = client.database(&options.database);
        Ok(Self {
            client,
            db,
            max_time: options.max_time,
            primary,
            product_writes,
            commands,
            pool,
            inspected,
            common_counts: Cache::builder()
                .max_capacity(MAX_COMMON_COUNT_BYTES)
                .weigher(|name: &String, _| {
                    u32::try_from(name.len() + COMMON_COUNT_BYTES).unwrap_or(u32::MAX)
                })
                .time_to_live(COMMON_COUNT_TTL)
                .build(),
            name_cache: Cache::new(names::MAX_CACHED),
            version_steps: versions::STEPS.into(),
        })
    }

    /// Returns a handle on the same database that also counts the documents and bytes of replies as
    /// [`Work`](crate::work::Work), at the price of decoding them twice. It has connections of its own.
    pub fn inspected(&self) -> Result<Self, StorageError> {
        let (options, client) = &*self.inspected;
        let client = if let Some(client) = client.get() {
            client.clone()
        } else {
            let mut options = options.clone();
            work::inspect(&mut options);
            let made = Client::with_options(options)?;
            client.get_or_init(|| made).clone()
        };
        Ok(Self {
            db: client.database(self.db.name()),
            client,
            ..self.clone()
        })
    }

    /// Pings the primary. Returns the time of the server's clock.
    pub async fn ping(&self) -> Result<Timestamp, StorageError> {
        let hello = self.db.run_command(doc! { "hello": 1 }).await?;
        let time = hello.get_datetime("localTime").map_err(Error::custom)?;
        Ok(Timestamp::from_millis(time.timestamp_millis()))
    }

    /// Completes when another server is elected primary. Commands sent to the previous primary may
    /// never be answered.
    pub fn next_election(&self) -> impl Future<Output = ()> + Send + 'static {
        self.primary.next_election()
    }

    /// Completes when the driver loses sight of the primary, or when another server is elected.
    /// What was read before may be rolled back.
    pub fn next_loss_of_primary(&self) -> impl Future<Output = ()> + Send + 'static {
        self.primary.next_loss()
    }

    /// Returns the version and topology of the server.
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

    /// Drops the database with everything in it.
    pub async fn drop_database(&self) -> Result<(), StorageError> {
        Ok(self.db.drop().await?)
    }

    /// Returns the name of the database.
    #[must_use]
    pub fn database_name(&self) -> &str {
        self.db.name()
    }

    /// Closes all connections.
    pub async fn close(self) {
        if let Some(inspected) = self.inspected.1.get() {
            inspected.clone().shutdown().await;
        }
        self.client.shutdown().await;
    }

    /// Runs a write that is written out as a command, with the durable write concern unless it names
    /// another. Announces the products that it names ([`ProductWrite`](crate::product_writes::ProductWrite)). Its reply
    /// may have write errors. Fails when the writes may be rolled back.
    pub(crate) async fn write(&self, mut command: Document) -> Result<Document, StorageError> {
        if !command.contains_key("writeConcern") {
            command.insert("writeConcern", durable_document());
        }
        let _write = self.write_of(&command);
        let reply = self.db.run_command(command).await?;
        match reply.get_document("writeConcernError") {
            Ok(error) => {
                let error = mongodb::error::Error::custom(error.clone());
                Err(StorageError::Unavailable(error))
            }
            Err(_) => Ok(reply),
        }
    }

    pub(crate) fn raw(&self, collection: &str) -> Collection<RawDocumentBuf> {
        self.db.collection(collection)
    }

    pub(crate) fn documents(&self, collection: &str) -> Collection<Document> {
        self.db.collection(collection)
    }
}

/// Read concern `snapshot`: majority-committed data that no election can roll back.
pub(crate) fn snapshot() -> ReadConcern {
    ReadConcern::snapshot()
}

pub(crate) fn topology(hello: &Document) -> Topology {
    if hello.contains_key("setName") {
        Topology::ReplicaSet
    } else if hello.get_str("msg").ok() == Some("isdbgrid") {
        Topology::Sharded
    } else {
        Topology::Standalone
    }
}

/// Returns the id of the transaction of a command: its session and its transaction number.
pub(crate) fn transaction_id(command: &Document) -> Option<(String, i64)> {
    command.get_bool("autocommit").ok()?;
    let session = command.get_document("lsid").ok()?.get("id")?;
    Some((session.to_string(), command.get_i64("txnNumber").ok()?))
}

fn observe(
    observer: CommandObserver,
    product_writes: Arc<ProductWrites>,
) -> EventHandler<CommandEvent> {
    let transactions = Mutex::<HashMap<_, TransactionReach>>::default();
    EventHandler::callback(move |event| {
        product_writes.unannounced.observe(&event);
        if let CommandEvent::Started(started) = event {
            let collection = started.command.get_str(&started.command_name);
            let collection = collection.ok().map(str::to_owned);
            let reached = reaches(&started.command_name, &started.command);
            let mut scattered: Vec<String> = reached.iter().filter_map(Reach::fault).collect();
            if let Some(id) = transaction_id(&started.command) {
                let mut transactions = transactions.lock().unwrap_or_else(PoisonError::into_inner);
                match started.command_name.as_str() {
                    "commitTransaction" => {
                        let reach = transactions.remove(&id);
                        scattered.extend(reach.and_then(|reach| reach.fault()));
                    }
                    "abortTransaction" => drop(transactions.remove(&id)),
                    _ => transactions.entry(id).or_default().add(reached),
                }
            }
            observer(SentCommand {
                follows_products: started.command.get_str("comment").ok() == Some(COMMENT),
                weak: is_weak(&started.command_name, &started.command),
                scattered,
                name: started.command_name,
                collection,
            });
        }
    })
}
