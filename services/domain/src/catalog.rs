//! The [`Catalog`] handle; concurrency and time limits for database work.
//!
//! A caller may go away at any moment: a client disconnects, a sibling field fails. Dropping a
//! future that waits for a connection can stall the driver's pool for half a second. Each database
//! operation therefore runs in a task of its own, which the caller only awaits, after it has
//! obtained a permit. There are fewer permits than connections, and the number of waiting callers
//! is bounded.
//!
//! Reads, writes and background work have separate permits (`ConcurrencyLimit`), so none can
//! starve another, and each request has a share of those for reads ([`Catalog::for_request`]). A read or write that exceeds its time limit releases its permit and fails; the
//! operation itself continues until the driver ends it.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;
use vitrine_model::clock::{Clock, Timestamp};
use vitrine_model::cursor::CursorCodec;
use vitrine_model::money::Currency;
use vitrine_storage::products::Encoding;
use vitrine_storage::work::{CommandTimes, PoolUse, Work, within};
use vitrine_storage::{StorageError, Store};

use crate::DomainError;
use crate::activity::ActivityBuffer;
use crate::admin::imports::FeedImporter;
use crate::admin::merges::MergeTracker;
use crate::admin::words::KnownWords;
use crate::category_counts::SharedCounts;
use crate::clock::SystemClock;
use crate::concurrency::{ConcurrencyLimit, Permit, PermitUse};
use crate::facets::memory::FacetMemory;
use crate::facets::selectivity::PanelCache;
use crate::feed::Hub;
use crate::persisted_queries::PersistedQueryLimit;
use crate::pictures::PictureOptions;
use crate::product_memory::{ProductMemory, ProductMemoryOptions, ProductMemoryUse, Remembering};
use crate::recent::{BusyProducts, RatedCategories};
use crate::reference::ReferenceCache;
use crate::reviewing::{HotProducts, Moderation};

/// How long [`Catalog::drain`] waits for running operations.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of a read: one second above the server's own limit
/// ([`StoreOptions::max_time`](vitrine_storage::StoreOptions::max_time)).
const READ_TIMEOUT: Duration = Duration::from_secs(6);
/// The time limit of a write: one second above the server's limit for majority acknowledgement.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(6);

/// How many reads of one request may use the database at a time. A product page needs at most
/// four, a list with facets six.
const MAX_READS_OF_REQUEST: usize = 8;

/// The permits of a read: of the process, and of its request if it is part of one.
type ReadPermit = (Permit, Option<OwnedSemaphorePermit>);

/// Settings of a [`Catalog`].
#[derive(Clone, Debug)]
pub struct CatalogOptions {
    /// The currency that prices are filtered and sorted in. The first process that opens a database
    /// fixes it.
    pub currency: Currency,
    /// The key that cursors are signed with; the same in all processes of a service.
    pub cursor_secret: Vec<u8>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Whether reviews are visible before a moderator approves them.
    pub moderation: Moderation,
    /// The maximum number of concurrent reads. The sum with writes and background work must be
    /// below the driver's connection limit.
    pub concurrency: usize,
    /// The maximum number of concurrent writes.
    pub write_concurrency: usize,
    /// The maximum number of concurrent background operations.
    pub background_concurrency: usize,
    /// How many further reads, and how many further writes, may wait for a permit before new ones
    /// fail with [`DomainError::Unavailable`].
    pub queue: usize,
    /// How many products an exact facet count may read; half as many in a search. Larger sets are
    /// sampled, and a search considers only its most popular matches.
    pub max_products_read: u32,
    /// How many published review events are kept for followers that fall behind or resubscribe.
    pub events_kept: usize,
    /// How many products are kept in memory; `None` for none.
    pub product_memory: Option<ProductMemoryOptions>,
    /// What runs the imports that a mutation starts; `None` if this process cannot.
    pub importer: Option<Arc<dyn FeedImporter>>,
    /// Where uploaded pictures are kept; `None` if this process takes and shows none.
    pub pictures: Option<Arc<PictureOptions>>,
}

impl CatalogOptions {
    /// The defaults: 64 concurrent reads, 24 writes and 8 background operations, a queue of 2,000,
    /// 10,000 products read, 10,000 events kept, no products in memory, the system clock.
    #[must_use]
    pub fn new(currency: Currency, cursor_secret: Vec<u8>) -> Self {
        Self {
            currency,
            cursor_secret,
            clock: Arc::new(SystemClock),
            moderation: Moderation::default(),
            concurrency: 64,
            write_concurrency: 24,
            background_concurrency: 8,
            queue: 2_000,
            max_products_read: 10_000,
            events_kept: 10_000,
            product_memory: None,
            importer: None,
            pictures: None,
        }
    }
}

/// The service's operations. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog {
    shared: Arc<Shared>,
    /// `None` for work that is not part of a request.
    request: Option<Arc<RequestScope>>,
}

/// What belongs to one request.
#[derive(Debug)]
struct RequestScope {
    /// The permits that it may have at a time.
    reads: Arc<Semaphore>,
    /// What the database does for it.
    work: Arc<Work>,
    /// A handle that counts replies, for a request that asks what it costs.
    inspected: Option<Store>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    currency: Currency,
    cursors: CursorCodec,
    clock: Arc<dyn Clock>,
    reference: ReferenceCache,
    words: KnownWords,
    merge_tracker: MergeTracker,
    panels: PanelCache,
    facets: FacetMemory,
    counts: SharedCounts,
    rated: RatedCategories,
    busy: BusyProducts,
    hot_products: HotProducts,
    persisted_query_limit: PersistedQueryLimit,
    activity_buffer: ActivityBuffer,
    hub: Hub,
    remembering: Option<Remembering>,
    moderation: Moderation,
    importer: Option<Arc<dyn FeedImporter>>,
    pictures: Option<Arc<PictureOptions>>,
    reads: ConcurrencyLimit,
    writes: ConcurrencyLimit,
    background: ConcurrencyLimit,
    max_products_read: u32,
    events_kept: usize,
    /// Whether an abandoned transaction may be holding locks.
    suspects_abandoned: AtomicBool,
    tasks: TaskTracker,
}

impl Catalog {
    /// Opens a catalogue on a migrated database.
    pub async fn open(store: Store, options: CatalogOptions) -> Result<Self, DomainError> {
        let currency = store.shop_currency(options.currency).await?;
        Self::with_currency(store, options, currency).await
    }

    /// Opens a catalogue for reading: writes nothing, and the database need not be migrated.
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub async fn open_read_only(
        store: Store,
        options: CatalogOptions,
    ) -> Result<Self, DomainError> {
        let currency = store.stored_currency().await?.unwrap_or(options.currency);
        Self::with_currency(store, options, currency).await
    }

    async fn with_currency(
        store: Store,
        options: CatalogOptions,
        currency: Currency,
    ) -> Result<Self, DomainError> {
        if currency != options.currency {
            let reason = format!(
                "this database belongs to a shop that sells in {currency}, not {}; use that \
                 currency or another database",
                options.currency
            );
            return Err(DomainError::invalid("currency", reason));
        }
        let reference = ReferenceCache::load(&store).await?;
        let remembering = options.product_memory;
        let product_bytes = remembering
            .as_ref()
            .map_or(0, |products| products.max_bytes);
        let remembering = remembering.map(|options| Remembering::begin(&store, options));
        let shared = Shared {
            store,
            currency,
            cursors: CursorCodec::new(&options.cursor_secret),
            clock: options.clock,
            reference,
            words: KnownWords::default(),
            merge_tracker: MergeTracker::default(),
            panels: PanelCache::default(),
            facets: FacetMemory::new(product_bytes),
            counts: SharedCounts::default(),
            rated: RatedCategories::default(),
            busy: BusyProducts::default(),
            hot_products: HotProducts::default(),
            persisted_query_limit: PersistedQueryLimit::default(),
            activity_buffer: ActivityBuffer::default(),
            hub: Hub::default(),
            remembering,
            moderation: options.moderation,
            importer: options.importer,
            pictures: options.pictures,
            reads: ConcurrencyLimit::new(options.concurrency, options.queue),
            writes: ConcurrencyLimit::new(options.write_concurrency, options.queue),
            // Background work is bounded by the number of workers, so its queue is not.
            background: ConcurrencyLimit::new(options.background_concurrency, usize::MAX),
            max_products_read: options.max_products_read,
            events_kept: options.events_kept,
            suspects_abandoned: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            request: None,
        })
    }

    /// Returns a handle for one request. All reads through it and its clones together use at most
    /// [`MAX_READS_OF_REQUEST`] permits at a time, so that one request cannot fill the queue that
    /// all share.
    #[must_use]
    pub fn for_request(&self) -> Self {
        self.scoped(None)
    }

    /// Like [`Catalog::for_request`], for a request that asks what it costs: its [`Work`] includes
    /// documents and bytes. Each of its replies is decoded twice.
    #[must_use]
    pub fn for_inspected_request(&self) -> Self {
        // The options have made a client before.
        self.scoped(self.shared.store.inspected().ok())
    }

    /// Returns a handle for work that a request begins but does not wait for.
    pub(crate) fn without_request(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            request: None,
        }
    }

    fn scoped(&self, inspected: Option<Store>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            request: Some(Arc::new(RequestScope {
                reads: Arc::new(Semaphore::new(MAX_READS_OF_REQUEST)),
                work: Arc::default(),
                inspected,
            })),
        }
    }

    /// Returns what the database has done for the request of this handle so far; `None` if it is not
    /// part of one.
    #[must_use]
    pub fn database_work(&self) -> Option<Arc<Work>> {
        let request = self.request.as_ref()?;
        Some(Arc::clone(&request.work))
    }

    /// Returns the use of the permits for reads, writes and background work.
    #[must_use]
    pub fn permit_use(&self) -> [(&'static str, PermitUse); 3] {
        let shared = &self.shared;
        [
            ("read", shared.reads.usage()),
            ("write", shared.writes.usage()),
            ("background", shared.background.usage()),
        ]
    }

    /// Returns the use of the connections to the database.
    #[must_use]
    pub fn pool_use(&self) -> PoolUse {
        self.shared.store.pool_use()
    }

    /// Returns how many database commands this process has sent, and how long they took.
    #[must_use]
    pub fn command_times(&self) -> Vec<CommandTimes> {
        self.shared.store.command_times()
    }

    /// Waits for a permit to read: first for one of the request, then for one of the process.
    async fn read_permit(&self) -> Result<ReadPermit, DomainError> {
        let of_request = match &self.request {
            None => None,
            Some(request) => {
                let permit = Arc::clone(&request.reads).acquire_owned().await;
                Some(permit.map_err(|_| DomainError::Unavailable(None))?)
            }
        };
        // The permit of the process is first because a tuple drops its fields in order. Otherwise the next
        // read of the request could get its permit while no permit of the process is free.
        Ok((self.shared.reads.permit().await?, of_request))
    }

    /// Where uploaded pictures are kept; `None` if this process takes and shows none.
    #[must_use]
    pub fn pictures(&self) -> Option<&PictureOptions> {
        self.shared.pictures.as_deref()
    }

    pub(crate) fn events_kept(&self) -> usize {
        self.shared.events_kept
    }

    /// The maximum number of products that an exact count reads.
    pub(crate) fn max_products_read(&self) -> u32 {
        self.shared.max_products_read
    }

    /// The maximum number of matches that a search reads. Its exact counts use the same limit, so
    /// that every counted product can also be found by clicking the facet.
    pub(crate) fn max_searched(&self) -> u32 {
        self.shared.max_products_read / 2
    }

    /// The currency that prices are filtered and sorted in.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.shared.currency
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Checks that the database answers, without a permit or a time limit. Returns the server's
    /// time.
    pub async fn ping(&self) -> Result<Timestamp, DomainError> {
        Ok(self.store().ping().await?)
    }

    /// Waits for running operations, at most ten seconds. To be called when no new requests
    /// arrive.
    pub async fn drain(&self) {
        if let Err(error) = self.flush_activity().await {
            tracing::warn!(%error, "the last buffered activity could not be stored");
        }
        self.shared.tasks.close();
        if tokio::time::timeout(DRAIN_TIMEOUT, self.shared.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("database operations did not finish within the shutdown limit");
        }
    }

    pub(crate) fn store(&self) -> &Store {
        let inspected = self.request.as_ref().and_then(|one| one.inspected.as_ref());
        inspected.unwrap_or(&self.shared.store)
    }

    pub(crate) fn cursors(&self) -> &CursorCodec {
        &self.shared.cursors
    }

    pub(crate) fn reference_cache(&self) -> &ReferenceCache {
        &self.shared.reference
    }

    pub(crate) fn words(&self) -> &KnownWords {
        &self.shared.words
    }

    pub(crate) fn merge_tracker(&self) -> &MergeTracker {
        &self.shared.merge_tracker
    }

    pub(crate) fn panel_cache(&self) -> &PanelCache {
        &self.shared.panels
    }

    pub(crate) fn facet_memory(&self) -> &FacetMemory {
        &self.shared.facets
    }

    pub(crate) fn shared_counts(&self) -> &SharedCounts {
        &self.shared.counts
    }

    pub(crate) fn rated(&self) -> &RatedCategories {
        &self.shared.rated
    }

    pub(crate) fn busy(&self) -> &BusyProducts {
        &self.shared.busy
    }

    pub(crate) fn product_memory(&self) -> Option<&Arc<ProductMemory>> {
        let remembering = self.shared.remembering.as_ref()?;
        Some(&remembering.memory)
    }

    /// Returns the use of the memory of products; `None` if it is switched off.
    #[must_use]
    pub fn product_memory_use(&self) -> Option<ProductMemoryUse> {
        self.product_memory().map(|memory| memory.usage())
    }

    /// Empties the memory of products. Nothing but tests needs this.
    pub fn forget_products(&self) {
        if let Some(memory) = self.product_memory() {
            memory.forget_all();
        }
    }

    /// Keeps no products in memory from now on, and stops following their changes. To be called before
    /// the connections are closed.
    pub async fn stop_remembering(&self) {
        if let Some(remembering) = &self.shared.remembering {
            remembering.end().await;
        }
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.shared.hub
    }

    pub(crate) fn activity_buffer(&self) -> &ActivityBuffer {
        &self.shared.activity_buffer
    }

    pub(crate) fn hot_products(&self) -> &HotProducts {
        &self.shared.hot_products
    }

    pub(crate) fn persisted_query_limit(&self) -> &PersistedQueryLimit {
        &self.shared.persisted_query_limit
    }

    /// Whether reviews are visible before a moderator approves them.
    #[must_use]
    pub fn moderation(&self) -> Moderation {
        self.shared.moderation
    }

    /// Runs work that only [`Catalog::drain`] waits for.
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work: BoxFuture<'static, ()> = Box::pin(work);
        drop(self.shared.tasks.spawn(work));
    }

    pub(crate) fn encoding<'a>(&self, units: &'a vitrine_model::unit::UnitTable) -> Encoding<'a> {
        Encoding {
            units,
            currency: self.shared.currency,
        }
    }

    /// Reads from the database. The work continues when the caller goes away. Fails when there is
    /// no answer within [`READ_TIMEOUT`], or when another primary is elected meanwhile.
    pub(crate) fn read<T, Work>(
        &self,
        work: impl FnOnce(Store) -> Work,
    ) -> impl Future<Output = Result<T, DomainError>>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let work = erased(work(self.store().clone()));
        let done = self.run_read(work);
        async move { Ok(typed(flatten(done.await?)?)) }
    }

    /// Writes to the database like [`Catalog::read`], with the permits and the time limit of
    /// writes. After an error the write may still be applied.
    pub(crate) fn write<T, Work>(
        &self,
        work: impl FnOnce(Store) -> Work,
    ) -> impl Future<Output = Result<T, DomainError>>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let work = erased(work(self.store().clone()));
        let done = self.run_write(work);
        async move { Ok(typed(flatten(done.await?)?)) }
    }

    /// Like [`Catalog::read`], for work whose result several callers share.
    pub(crate) fn read_for_many<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> impl Future<Output = Result<TaskResult<T>, DomainError>> {
        let done = self.run_read(erased(work));
        async move { Ok(done.await?.map(|result| result.map(typed))) }
    }

    /// Like [`Catalog::write`], for work whose result several callers share.
    pub(crate) fn write_for_many<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> impl Future<Output = Result<TaskResult<T>, DomainError>> {
        let done = self.run_write(erased(work));
        async move { Ok(done.await?.map(|result| result.map(typed))) }
    }

    async fn run_read(&self, work: ErasedWork) -> Result<TaskResult<Erased>, DomainError> {
        let permit = self.read_permit().await?;
        Ok(self.with_timeout(permit, READ_TIMEOUT, work).await)
    }

    async fn run_write(&self, work: ErasedWork) -> Result<TaskResult<Erased>, DomainError> {
        let permit = self.shared.writes.permit().await?;
        Ok(self.with_timeout((permit, None), WRITE_TIMEOUT, work).await)
    }

    /// Returns what runs the imports that a mutation starts.
    pub(crate) fn importer(&self) -> Option<Arc<dyn FeedImporter>> {
        self.shared.importer.clone()
    }

    /// Runs background work in batches. There is no limit for the whole; each command has its own.
    /// The work continues when the caller goes away.
    pub(crate) fn maintain<T, Work>(
        &self,
        work: impl FnOnce(Store) -> Work,
    ) -> impl Future<Output = Result<T, DomainError>>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let work = erased(work(self.store().clone()));
        let done = self.run_maintenance(work);
        async move { Ok(typed(done.await?)) }
    }

    async fn run_maintenance(&self, work: ErasedWork) -> Result<Erased, DomainError> {
        let permit = self.shared.background.permit().await?;
        let task = self.detached(async move {
            let result = work.await;
            drop(permit);
            result
        });
        match task.await {
            Ok(result) => Ok(result?),
            Err(lost) => Err(DomainError::Internal(Box::new(lost))),
        }
    }

    /// Runs work to completion in a task of its own; the caller waits at most `limit`.
    async fn with_timeout(
        &self,
        permit: ReadPermit,
        limit: Duration,
        mut work: ErasedWork,
    ) -> TaskResult<Erased> {
        let (answer, answered) = oneshot::channel();
        let catalog = self.clone();
        let elected = self.store().next_election();
        let span = crate::spans::of_current_field();
        let task = async move {
            let overdue = tokio::select! {
                biased;
                result = &mut work => {
                    drop(permit);
                    if matches!(result, Err(StorageError::Contended(_))) {
                        catalog.suspect_abandoned();
                    }
                    // The caller may be gone.
                    let _ = answer.send(result);
                    return;
                }
                () = elected => StorageError::LostPrimary,
                () = tokio::time::sleep(limit) => StorageError::NoAnswer,
            };
            drop(permit);
            catalog.suspect_abandoned();
            let _ = answer.send(Err(overdue));
            // Dropping the future would make the driver close the connection.
            let _ = work.await;
        };
        self.in_background(within(self.database_work(), task.instrument(span)));
        answered.await
    }

    /// Waits for what another caller reads, with the time limit of a read.
    pub(crate) async fn within_read_limit<T>(
        &self,
        reading: impl Future<Output = T>,
    ) -> Result<T, DomainError> {
        let elected = self.store().next_election();
        tokio::select! {
            biased;
            result = reading => Ok(result),
            () = elected => Err(StorageError::LostPrimary.into()),
            () = tokio::time::sleep(READ_TIMEOUT) => Err(StorageError::NoAnswer.into()),
        }
    }

    /// Notes that something held locks for longer than our own transactions take.
    pub(crate) fn suspect_abandoned(&self) {
        self.shared
            .suspects_abandoned
            .store(true, Ordering::Relaxed);
    }

    /// Whether that was noted since the last call.
    pub(crate) fn suspects_abandoned(&self) -> bool {
        self.shared
            .suspects_abandoned
            .swap(false, Ordering::Relaxed)
    }

    /// Runs work to completion even if the caller goes away.
    pub(crate) fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        let work: BoxFuture<'static, T> = Box::pin(work);
        self.shared.tasks.spawn(work)
    }
}

/// The result of a task; the outer error means that the task panicked.
pub(crate) type TaskResult<T> = Result<Result<T, StorageError>, oneshot::error::RecvError>;

/// A result without its type. What runs work is compiled once, and not for every type of result.
type Erased = Box<dyn Any + Send>;

type ErasedWork = BoxFuture<'static, Result<Erased, StorageError>>;

fn erased<T: Send + 'static>(
    work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
) -> ErasedWork {
    Box::pin(async move {
        let result: Erased = Box::new(work.await?);
        Ok(result)
    })
}

fn typed<T: 'static>(result: Erased) -> T {
    *result
        .downcast()
        .expect("a result has the type that its work returned")
}

fn flatten<T>(outcome: TaskResult<T>) -> Result<T, DomainError> {
    match outcome {
        Ok(result) => Ok(result?),
        Err(lost) => Err(DomainError::Internal(Box::new(lost))),
    }
}
