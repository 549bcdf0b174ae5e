//! The catalogue and the API on a database of their own, and the set-up and audit of a test.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::ClientOptions;
use vitrine_api::execution::Engine;
use vitrine_domain::import::{ImportMode, ImportSummary};
use vitrine_domain::pictures::{PictureOptions, PictureStore};
use vitrine_domain::product_memory::ProductMemoryOptions;
use vitrine_domain::reviewing::Moderation;
use vitrine_domain::workers::Worker;
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_ingest::Importer;
use vitrine_model::clock::{ManualClock, Timestamp};
use vitrine_model::import::{LineOutcome, ProductDraft, ReviewDraft};
use vitrine_model::money::Currency;
use vitrine_storage::audit::Audit;
use vitrine_storage::store::SentCommand;
use vitrine_storage::versions::VersionStep;
use vitrine_storage::{Store, StoreOptions};

use crate::eventually::eventually;
use crate::left_databases::{LeftDatabases, new_name};
use crate::mongod::Server;
use crate::own_server::OwnServer;
use crate::replica_set::Members;
use crate::request::Request;

/// The instant at which the clock of every test stops.
pub const NOW: &str = "2026-05-31T12:00:00Z";

/// How old a product in memory may be in tests: on a busy machine confirmations are late, and the
/// commands that a test sends must not depend on that. Tests of the memory choose another age.
const PRODUCT_AGE: Duration = Duration::from_mins(10);

/// How long the memory of products may take until it is used.
const REMEMBERS: Duration = Duration::from_mins(1);

/// The schema, built once for all tests.
static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| vitrine_api::graphql::engine().expect("the schema is valid"));

/// The commands that a store has sent.
type Commands = Arc<Mutex<Vec<String>>>;

/// The commands that a store has sent and the service must not send, with the reason.
type Refused = Arc<Mutex<BTreeSet<String>>>;

/// The catalogue and the API on a database of their own.
#[derive(Clone)]
pub struct App {
    /// The store under the catalogue.
    pub store: Store,
    /// The use cases of the service.
    pub catalog: Catalog,
    /// The GraphQL engine.
    pub engine: Engine,
    /// The clock; it stands at [`NOW`] until it is moved.
    pub clock: Arc<ManualClock>,
    uri: String,
    commands: Commands,
    refused: Refused,
    direct: mongodb::Database,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("database", &self.store.database_name())
            .finish_non_exhaustive()
    }
}

impl App {
    /// Creates an app on an empty database of the servers at this address: on one that an earlier
    /// test has left, if there is one.
    async fn on(uri: &str, left: &LeftDatabases) -> anyhow::Result<Self> {
        let known = Arc::<OnceLock<Store>>::default();
        let direct = direct_client(uri, Arc::clone(&known)).await?;
        let emptied = left.take(&direct).await;
        let is_new = emptied.is_none();
        let database = emptied.unwrap_or_else(new_name);
        let (store, commands, refused) = observed_store(uri, &database).await?;
        let _ = known.set(store.clone());
        if is_new {
            store.create_schema().await?;
        }
        let direct = direct.database(&database);
        left.learn(&direct).await?;
        let now = Timestamp::parse(NOW).expect("an instant");
        let clock = Arc::new(ManualClock::at(now));
        let catalog = Catalog::open(store.clone(), options_with(Arc::clone(&clock))).await?;
        remembers_products(&catalog).await;
        let (engine, uri) = (ENGINE.clone(), uri.to_owned());
        Ok(Self {
            store,
            catalog,
            engine,
            clock,
            uri,
            commands,
            refused,
            direct,
        })
    }

    /// Builds a query, which is sent when it is awaited.
    #[must_use]
    pub fn query(&self, query: &str) -> Request<'_> {
        Request::new(self, query)
    }

    /// Returns the commands that were sent since the last query began or [`App::forget_commands`].
    ///
    /// # Panics
    /// When a thread panicked while it held the list.
    #[must_use]
    pub fn sent(&self) -> Vec<String> {
        self.commands
            .lock()
            .expect("nobody panics with the lock")
            .clone()
    }

    /// Forgets the commands that were sent so far.
    ///
    /// # Panics
    /// When a thread panicked while it held the list.
    pub fn forget_commands(&self) {
        self.commands
            .lock()
            .expect("nobody panics with the lock")
            .clear();
    }

    /// Returns the database by another client, to read and damage documents.
    #[must_use]
    pub fn direct(&self) -> &mongodb::Database {
        &self.direct
    }

    /// Returns the documents of a collection that match a filter, in the order of their ids.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn documents(&self, collection: &str, filter: Document) -> Vec<Document> {
        let collection = self.direct.collection::<Document>(collection);
        let cursor = collection.find(filter).sort(doc! { "_id": 1 }).await;
        let documents = cursor.expect("the database answers").try_collect().await;
        documents.expect("the database answers")
    }

    /// Returns the connection string of the server.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Opens another catalogue on the same database, as another process would. It has the same
    /// connections, so each hears at once what the other writes of products.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn other_process(&self) -> Catalog {
        let options = options_with(Arc::clone(&self.clock));
        self.reopen_with(options).await.catalog
    }

    /// Opens the service a second time, with connections of its own, as another process. Its products
    /// in memory may be this old.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn on_own_connections(&self, max_age: Duration) -> Self {
        let store = observed_store(&self.uri, self.store.database_name()).await;
        let (store, commands, refused) = store.expect("the database answers");
        let mut options = options_with(Arc::clone(&self.clock));
        options.product_memory = Some(ProductMemoryOptions {
            max_age,
            ..ProductMemoryOptions::default()
        });
        let other = Self {
            store,
            commands,
            refused,
            ..self.clone()
        };
        other.reopen_with(options).await
    }

    /// Opens the service with this memory of products.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_product_memory(&self, memory: Option<ProductMemoryOptions>) -> Self {
        let options = CatalogOptions {
            product_memory: memory,
            ..options_with(Arc::clone(&self.clock))
        };
        self.reopen_with(options).await
    }

    /// Opens the service as it is, with nothing in memory yet.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_empty_memory(&self) -> Self {
        self.reopen_with(options_with(Arc::clone(&self.clock)))
            .await
    }

    /// Opens the service such that it keeps no products in memory: every query reads its products
    /// from the database.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn without_product_memory(&self) -> Self {
        self.with_product_memory(None).await
    }

    /// Opens the service, without products in memory, with another limit of the products that are read for one
    /// answer.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_max_read(&self, most: u32) -> Self {
        self.with_max_read_and(most, None).await
    }

    /// Like [`App::with_max_read`], with this memory of products.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_max_read_and(&self, most: u32, memory: Option<ProductMemoryOptions>) -> Self {
        let options = CatalogOptions {
            max_products_read: most,
            product_memory: memory,
            ..options_with(Arc::clone(&self.clock))
        };
        self.reopen_with(options).await
    }

    /// Opens the service such that it keeps pictures in a directory, and shows them behind `https://cdn.test/p`.
    ///
    /// # Panics
    /// When the database or the directory fails.
    pub async fn with_pictures(&self, directory: &Path) -> Self {
        let store = PictureStore::directory(directory.to_owned()).expect("a directory");
        let options = CatalogOptions {
            pictures: Some(Arc::new(PictureOptions {
                store,
                address: "https://cdn.test/p".to_owned(),
            })),
            ..options_with(Arc::clone(&self.clock))
        };
        self.reopen_with(options).await
    }

    /// Opens the service, without products in memory, with another limit of reads that run and that
    /// wait.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_read_queue(&self, running: usize, waiting: usize) -> Self {
        let options = CatalogOptions {
            concurrency: running,
            queue: waiting,
            product_memory: None,
            ..options_with(Arc::clone(&self.clock))
        };
        self.reopen_with(options).await
    }

    /// Opens the service with another number of events that are buffered for subscribers.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_events_kept(&self, kept: usize) -> Self {
        let options = CatalogOptions {
            events_kept: kept,
            ..options_with(Arc::clone(&self.clock))
        };
        self.reopen_with(options).await
    }

    /// Opens the service such that reviews are published by moderators only.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_moderation_before_publishing(&self) -> Self {
        let options = CatalogOptions {
            moderation: Moderation::Before,
            ..options_with(Arc::clone(&self.clock))
        };
        self.reopen_with(options).await
    }

    /// Opens the service with these steps between versions of documents.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn with_version_steps(&self, steps: Vec<VersionStep>) -> Self {
        let with_steps = Self {
            store: self.store.clone().with_version_steps(steps),
            ..self.clone()
        };
        let options = options_with(Arc::clone(&self.clock));
        with_steps.reopen_with(options).await
    }

    async fn reopen_with(&self, options: CatalogOptions) -> Self {
        let catalog = Catalog::open(self.store.clone(), options).await;
        let catalog = catalog.expect("the database answers");
        remembers_products(&catalog).await;
        Self {
            catalog,
            ..self.clone()
        }
    }

    /// Returns the store under the catalogue.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns an empty database beside the test's own, without collections. The caller drops it.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn empty_database(&self) -> Store {
        let name = format!("{}_empty", self.store.database_name());
        let options = StoreOptions::new(&self.uri, name);
        Store::connect(&options)
            .await
            .expect("the connection string is one")
    }

    /// Imports products; all of them must be new.
    ///
    /// # Panics
    /// When one is not.
    #[track_caller]
    pub fn has<P: Into<ProductDraft>>(
        &self,
        products: impl IntoIterator<Item = P>,
    ) -> impl Future<Output = ()> {
        let products: Vec<ProductDraft> = products.into_iter().map(Into::into).collect();
        self.all_created(products, Vec::new())
    }

    /// Imports reviews; all of them must be new. The ratings of their products are computed, too.
    ///
    /// # Panics
    /// When one is not.
    #[track_caller]
    pub fn has_reviews<R: Into<ReviewDraft>>(
        &self,
        reviews: impl IntoIterator<Item = R>,
    ) -> impl Future<Output = ()> {
        let reviews: Vec<ReviewDraft> = reviews.into_iter().map(Into::into).collect();
        self.all_created(Vec::new(), reviews)
    }

    async fn all_created(&self, products: Vec<ProductDraft>, reviews: Vec<ReviewDraft>) {
        let (outcomes, _) = self.import(ImportMode::Write, products, reviews).await;
        for (at, outcome) in outcomes.iter().enumerate() {
            assert_eq!(*outcome, LineOutcome::Created, "draft {at}");
        }
    }

    /// Imports in one session, batch by batch; returns the outcome of each draft.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn import(
        &self,
        mode: ImportMode,
        products: Vec<ProductDraft>,
        reviews: Vec<ReviewDraft>,
    ) -> (Vec<LineOutcome>, ImportSummary) {
        let mut session = self.catalog.import(mode);
        let mut outcomes = Vec::new();
        for batch in products.chunks(BATCH) {
            outcomes.extend(
                session
                    .products(batch.to_vec())
                    .await
                    .expect("the database answers"),
            );
        }
        for batch in reviews.chunks(BATCH) {
            outcomes.extend(
                session
                    .reviews(batch.to_vec())
                    .await
                    .expect("the database answers"),
            );
        }
        (
            outcomes,
            session.finish().await.expect("the database answers"),
        )
    }

    /// Waits for the background tasks of the service, and runs the workers that follow within
    /// seconds: folds reviews, updates bundles, and puts views and purchases into buckets.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn run_background_work(&self) {
        self.catalog.drain().await;
        let folded = self.catalog.fold_and_move_ranks().await;
        folded.expect("the database answers");
        for worker in [Worker::Bundles, Worker::Activity] {
            let done = self.catalog.work_off(worker).await;
            done.expect("the database answers");
        }
    }

    /// Audits the database. The audit reads everything, from all shards.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn audit_report(&self) -> Audit {
        self.assert_commands_allowed();
        let audit = self.catalog.audit().await;
        self.forget_refused();
        audit.expect("the database answers")
    }

    /// Fails the test when any derived value is wrong or a review is not counted.
    ///
    /// # Panics
    /// With a list of the differences.
    pub async fn audit(&self) {
        let found = self.audit_report().await;
        let line = |d: &vitrine_storage::audit::Difference| {
            format!(
                "{}: {} is {}, should be {}",
                d.place, d.what, d.stored, d.expected
            )
        };
        let mut lines: Vec<String> = found.differences.iter().map(line).collect();
        if found.dirty_reviews > 0 {
            lines.push(format!("{} reviews are not counted", found.dirty_reviews));
        }
        assert!(
            lines.is_empty() && found.count() == 0,
            "the audit found\n  {}",
            lines.join("\n  ")
        );
    }
}

impl App {
    /// Fails the test when a command was sent that the service must not send: one that would reach
    /// all shards of a cluster, a transaction that would reach many, a write that does not wait
    /// for a journaled majority. `SCATTER_GATHER`, `MANY_SHARDS` and `WEAK_WRITES` list the
    /// exceptions.
    ///
    /// # Panics
    /// With a list of such commands.
    pub fn assert_commands_allowed(&self) {
        let refused = self.refused.lock().expect("nobody panics with the lock");
        assert!(
            refused.is_empty(),
            "these commands must not be sent: {refused:#?}"
        );
    }

    /// Fails the test when a write of products was not announced to those who keep products in memory.
    ///
    /// # Panics
    /// With a list of the products.
    pub fn assert_writes_announced(&self) {
        let products = self.store.unannounced_product_writes();
        assert!(
            products.is_empty(),
            "writes of these products were not announced: {products:?}"
        );
    }

    fn forget_refused(&self) {
        let mut refused = self.refused.lock().expect("nobody panics with the lock");
        refused.clear();
    }
}

/// The number of drafts in a batch.
const BATCH: usize = 1000;

/// Databases that tests have left on the server that all share.
static LEFT: LeftDatabases = LeftDatabases::new(4);

/// Runs a test on an empty database of the server that all tests share. Afterwards background work
/// is finished, and the whole database is audited. When the test fails, the database is
/// kept and the way to open it is printed.
///
/// # Panics
/// When the test does, or the audit finds something.
pub fn test<F: AsyncFnOnce(&App)>(body: F) {
    let started = Started::shared();
    started.run(Box::pin(async { body(&started.app).await }));
    started.end();
}

/// Runs a test on a server of its own, for tests that make the server fail.
///
/// # Panics
/// When the test does, or the audit finds something.
pub fn test_on_own_server<F: AsyncFnOnce(&App)>(body: F) {
    let runtime = runtime();
    let own = runtime.block_on(OwnServer::take());
    let own = own.expect("mongod starts");
    let started = Started::on(
        own.server.uri(),
        &own.left,
        Box::new(|name| own.server.keep(name)),
    );
    started.run(Box::pin(async { body(&started.app).await }));
    started.end();
    let reset_or_ended = runtime.block_on(own.leave());
    reset_or_ended.expect("mongod answers or ends");
}

/// Runs a test on a replica set of three servers of its own, for tests in which some of them fail.
/// Frozen servers are thawed before the database is audited.
///
/// # Panics
/// When the test does, or the audit finds something.
pub fn test_on_replica_set<F: AsyncFnOnce(&App, &Members)>(body: F) {
    let runtime = runtime();
    let members = runtime.block_on(Members::start());
    let members = members.expect("three mongods start");
    let left = LeftDatabases::new(0);
    let started = Started::on(&members.uri(), &left, Box::new(|name| members.keep(name)));
    started.run(Box::pin(async {
        body(&started.app, &members).await;
        members.recover().await;
    }));
    started.end();
    members.end();
}

/// The set-up and the audit of a test. Nothing here is generic over the test: otherwise the compiler would make a copy of
/// it, and of the runtime's functions, for each test.
struct Started<'a> {
    app: App,
    runtime: tokio::runtime::Runtime,
    left: &'a LeftDatabases,
    keep: Keep<'a>,
}

/// Keeps a database of this name; returns how to open it.
type Keep<'a> = Box<dyn Fn(&str) -> String + 'a>;

impl Started<'static> {
    fn shared() -> Self {
        let server = Server::shared();
        Self::on(server.uri(), &LEFT, Box::new(|name| server.keep(name)))
    }
}

impl<'a> Started<'a> {
    fn on(uri: &str, left: &'a LeftDatabases, keep: Keep<'a>) -> Self {
        let runtime = runtime();
        let app = runtime
            .block_on(App::on(uri, left))
            .expect("a database can be made");
        Self {
            app,
            runtime,
            left,
            keep,
        }
    }

    /// Runs the test and the audit.
    fn run(&self, body: Pin<Box<dyn Future<Output = ()> + '_>>) {
        let tested = catch_unwind(AssertUnwindSafe(|| {
            self.runtime.block_on(async {
                body.await;
                self.app.run_background_work().await;
                self.app.audit().await;
                self.app.assert_writes_announced();
            });
        }));
        if let Err(failure) = tested {
            eprintln!("{}", (self.keep)(self.app.store.database_name()));
            resume_unwind(failure);
        }
    }

    fn end(self) {
        let Self {
            app, runtime, left, ..
        } = self;
        let database = app.store.database_name().to_owned();
        // With everything that still runs for the app.
        drop((app, runtime));
        left.add(database);
    }
}

/// A runtime for one test: the driver's tasks end with it. It has two workers, so that tasks which a test spawns run at the
/// same time, as in the service.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made")
}

fn options_with(clock: Arc<ManualClock>) -> CatalogOptions {
    let currency = Currency::parse("EUR").expect("a currency");
    CatalogOptions {
        clock,
        importer: Some(Arc::new(Importer::new("a test".to_owned()))),
        product_memory: Some(ProductMemoryOptions {
            max_age: PRODUCT_AGE,
            // Products that were read after a change stay in memory.
            pause: Duration::ZERO,
            ..ProductMemoryOptions::default()
        }),
        ..CatalogOptions::new(currency, b"cursors of the tests".to_vec())
    }
}

/// Waits until products are remembered, if the catalogue does so: from then on the commands of a
/// query are known.
async fn remembers_products(catalog: &Catalog) {
    let ready = async || {
        let usage = catalog.product_memory_use();
        usage.is_none_or(|usage| usage.age.is_some()).then_some(())
    };
    eventually("products in memory", REMEMBERS, ready).await;
}

/// Connects a store; returns the commands that it has sent, and those that it must not send.
async fn observed_store(uri: &str, database: &str) -> anyhow::Result<(Store, Commands, Refused)> {
    let (commands, refused) = (Commands::default(), Refused::default());
    let (seen, refusing) = (Arc::clone(&commands), Arc::clone(&refused));
    let options = StoreOptions {
        observer: Some(Arc::new(move |command| note(&seen, &refusing, command))),
        ..StoreOptions::new(uri, database)
    };
    let store = Store::connect(&options).await?;
    Ok((store, commands, refused))
}

/// Connects the client by which tests read and damage documents. After each of its writes the store
/// forgets its products, as if the greatest age of products had passed.
async fn direct_client(uri: &str, store: Arc<OnceLock<Store>>) -> anyhow::Result<mongodb::Client> {
    const WRITES: [&str; 5] = ["insert", "update", "delete", "findAndModify", "bulkWrite"];
    let mut options = ClientOptions::parse(uri).await?;
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        let name = match &event {
            CommandEvent::Succeeded(event) => &event.command_name,
            CommandEvent::Failed(event) => &event.command_name,
            _ => return,
        };
        if let Some(store) = store.get()
            && WRITES.contains(&name.as_str())
        {
            store.announce_any_product();
        }
    }));
    Ok(mongodb::Client::with_options(options)?)
}

fn note(commands: &Mutex<Vec<String>>, refused: &Mutex<BTreeSet<String>>, command: SentCommand) {
    let SentCommand {
        name,
        collection,
        scattered: everywhere,
        weak,
        follows_products,
    } = command;
    let text = collection.map_or_else(|| name.clone(), |collection| format!("{name} {collection}"));
    let mut refused = refused.lock().expect("nobody panics with the lock");
    refused.extend(
        everywhere
            .into_iter()
            .map(|reach| format!("reaches many shards: {reach}")),
    );
    if weak {
        refused.insert(format!("does not wait for a journaled majority: {text}"));
    }
    if !follows_products {
        let mut commands = commands.lock().expect("nobody panics with the lock");
        commands.push(text);
    }
}
