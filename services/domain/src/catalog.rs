//! The handle, and the shield.
//!
//! Callers may lose interest at any moment: a client hangs up, a sibling field fails. The driver
//! takes it badly when a future that waits for a connection is dropped (every such loss can stall
//! its pool for half a second). So each piece of work that talks to the database runs in a task of
//! its own that its caller only awaits, and waits for its turn in a queue that survives callers
//! leaving: fewer permits than the driver has connections, and a bounded number of waiters.
//!
//! Reads, writes and background work have permits of their own ([`ConcurrencyLimit`]), so that none of them can
//! take the place of another. A read or write that the server does not answer in time gives its
//! permit back and fails; the operation itself goes on until the driver ends it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use vitrine_model::clock::{Clock, Timestamp};
use vitrine_model::cursor::CursorCodec;
use vitrine_model::money::Currency;
use vitrine_storage::products::Encoding;
use vitrine_storage::{StorageError, Store};

use crate::DomainError;
use crate::activity::ActivityBuffer;
use crate::admin::merges::Settling;
use crate::admin::words::KnownWords;
use crate::category_counts::CountMemory;
use crate::clock::SystemClock;
use crate::concurrency::{ConcurrencyLimit, Permit};
use crate::facets::selectivity::PanelMemory;
use crate::feed::Hub;
use crate::recent::{BusyProducts, RatedCategories};
use crate::reference::ReferenceCache;
use crate::reviewing::{HotProducts, Moderation};

/// How long operations under way may take when the service stops.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest that a caller waits for a read: a second more than the server may work on one
/// ([`StoreOptions::max_time`](vitrine_storage::StoreOptions::max_time)).
const MAX_READ: Duration = Duration::from_secs(6);
/// The longest that a caller waits for a write: a second more than the server waits for a majority.
const MAX_WRITE: Duration = Duration::from_secs(6);

/// How a catalogue is set up.
#[derive(Clone, Debug)]
pub struct CatalogOptions {
    /// The currency that prices are filtered and sorted in. The first process to use a database
    /// decides it.
    pub currency: Currency,
    /// What cursors are signed with; the same in all processes of a service.
    pub cursor_secret: Vec<u8>,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Whether reviews are seen before a moderator looked at them.
    pub moderation: Moderation,
    /// How many reads may talk to the database at once. With writes and background work fewer than
    /// the driver's connections.
    pub concurrency: usize,
    /// How many writes may talk to the database at once.
    pub write_concurrency: usize,
    /// How many operations of background work may talk to the database at once.
    pub background_concurrency: usize,
    /// How many more reads, and how many more writes, may wait for their turn before new ones are
    /// turned away.
    pub queue: usize,
    /// How many products facets count one by one, and of searches half as many. Of more a sample
    /// is counted, and a search looks through the most popular.
    pub most_read: u32,
    /// How many reviews that were told to followers are kept for those who fall behind or come
    /// back.
    pub events_kept: usize,
}

impl CatalogOptions {
    /// The defaults: 64 reads, 24 writes and 8 background operations at once, 2,000 waiting, 20,000 products read, 10,000 events kept,
    /// the machine's clock.
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
            most_read: 20_000,
            events_kept: 10_000,
        }
    }
}

/// What the service can do. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    currency: Currency,
    cursors: CursorCodec,
    clock: Arc<dyn Clock>,
    reference: ReferenceCache,
    words: KnownWords,
    settling: Settling,
    panels: PanelMemory,
    counts: CountMemory,
    rated: RatedCategories,
    busy: BusyProducts,
    hot_products: HotProducts,
    desk: ActivityBuffer,
    hub: Hub,
    moderation: Moderation,
    reads: ConcurrencyLimit,
    writes: ConcurrencyLimit,
    background: ConcurrencyLimit,
    most_read: u32,
    events_kept: usize,
    /// Whether a transaction that nobody goes on with may be in the way.
    suspects_abandoned: AtomicBool,
    tasks: TaskTracker,
}

impl Catalog {
    /// A catalogue on a migrated database.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when the database belongs to a shop with another currency;
    /// otherwise when the database fails.
    pub async fn open(store: Store, options: CatalogOptions) -> Result<Self, DomainError> {
        let currency = store.shop_currency(options.currency).await?;
        Self::with_currency(store, options, currency).await
    }

    /// A catalogue to look at: opening it writes nothing, and the database need not be migrated.
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub async fn look(store: Store, options: CatalogOptions) -> Result<Self, DomainError> {
        let currency = store.decided_currency().await?.unwrap_or(options.currency);
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
        Ok(Self(Arc::new(Shared {
            store,
            currency,
            cursors: CursorCodec::new(&options.cursor_secret),
            clock: options.clock,
            reference,
            words: KnownWords::default(),
            settling: Settling::default(),
            panels: PanelMemory::default(),
            counts: CountMemory::default(),
            rated: RatedCategories::default(),
            busy: BusyProducts::default(),
            hot_products: HotProducts::default(),
            desk: ActivityBuffer::default(),
            hub: Hub::default(),
            moderation: options.moderation,
            reads: ConcurrencyLimit::new(options.concurrency, options.queue),
            writes: ConcurrencyLimit::new(options.write_concurrency, options.queue),
            // Workers are few, and wait for each other.
            background: ConcurrencyLimit::new(options.background_concurrency, usize::MAX),
            most_read: options.most_read,
            events_kept: options.events_kept,
            suspects_abandoned: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        })))
    }

    pub(crate) fn events_kept(&self) -> usize {
        self.0.events_kept
    }

    /// How many products are counted one by one.
    pub(crate) fn most_read(&self) -> u32 {
        self.0.most_read
    }

    /// How many products of a search are read: to find them all, and to count them one by one,
    /// since what is counted so must be found when it is clicked.
    pub(crate) fn most_searched(&self) -> u32 {
        self.0.most_read / 2
    }

    /// The currency that prices are filtered and sorted in.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.0.currency
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Whether the database answers, beside the queues of requests and without a time limit. Returns
    /// what time its clock shows.
    pub async fn ping(&self) -> Result<Timestamp, DomainError> {
        Ok(self.store().ping().await?)
    }

    /// Waits for the work that is under way, but not for ever. Call when nothing new will come.
    pub async fn drain(&self) {
        if let Err(error) = self.hand_over_activity().await {
            tracing::warn!(%error, "the last views were not handed over");
        }
        self.0.tasks.close();
        if tokio::time::timeout(PATIENCE, self.0.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("operations on the database did not end in time");
        }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn cursors(&self) -> &CursorCodec {
        &self.0.cursors
    }

    pub(crate) fn reference_cache(&self) -> &ReferenceCache {
        &self.0.reference
    }

    pub(crate) fn words(&self) -> &KnownWords {
        &self.0.words
    }

    pub(crate) fn settling(&self) -> &Settling {
        &self.0.settling
    }

    pub(crate) fn panel_memory(&self) -> &PanelMemory {
        &self.0.panels
    }

    pub(crate) fn count_memory(&self) -> &CountMemory {
        &self.0.counts
    }

    pub(crate) fn rated(&self) -> &RatedCategories {
        &self.0.rated
    }

    pub(crate) fn busy(&self) -> &BusyProducts {
        &self.0.busy
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub(crate) fn desk(&self) -> &ActivityBuffer {
        &self.0.desk
    }

    pub(crate) fn hot_products(&self) -> &HotProducts {
        &self.0.hot_products
    }

    /// Whether reviews are seen before a moderator looked at them.
    #[must_use]
    pub fn moderation(&self) -> Moderation {
        self.0.moderation
    }

    /// Runs work that nobody waits for but [`Catalog::drain`].
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.spawned(work));
    }

    pub(crate) fn encoding<'a>(&self, units: &'a vitrine_model::unit::UnitTable) -> Encoding<'a> {
        Encoding {
            units,
            currency: self.0.currency,
        }
    }

    /// Reads from the database. A caller that leaves does not cut the work off; one whose answer does
    /// not come within [`MAX_READ`], or before another primary is elected, gets an error.
    pub(crate) async fn read<T, Work>(
        &self,
        work: impl FnOnce(Store) -> Work,
    ) -> Result<T, DomainError>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let permit = self.0.reads.permit().await?;
        let work = work(self.store().clone());
        said(self.limited(permit, MAX_READ, work).await)
    }

    /// Writes to the database: as [`Catalog::read`], with permits and a time limit of its own. After
    /// an error the write may still take place.
    pub(crate) async fn write<T, Work>(
        &self,
        work: impl FnOnce(Store) -> Work,
    ) -> Result<T, DomainError>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let permit = self.0.writes.permit().await?;
        let work = work(self.store().clone());
        said(self.limited(permit, MAX_WRITE, work).await)
    }

    /// As [`Catalog::read`], for work that several callers share.
    pub(crate) async fn read_for_many<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<Outcome<T>, DomainError> {
        let permit = self.0.reads.permit().await?;
        Ok(self.limited(permit, MAX_READ, work).await)
    }

    /// As [`Catalog::write`], for work that several callers share.
    pub(crate) async fn write_for_many<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<Outcome<T>, DomainError> {
        let permit = self.0.writes.permit().await?;
        Ok(self.limited(permit, MAX_WRITE, work).await)
    }

    /// Reads and writes in the background, batch by batch, for as long as it takes; each command has
    /// a time limit of its own. Callers that leave do not cut it off.
    pub(crate) async fn maintain<T, Work>(
        &self,
        work: impl FnOnce(Store) -> Work,
    ) -> Result<T, DomainError>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let permit = self.0.background.permit().await?;
        let work = work(self.store().clone());
        let task = self.spawned(async move {
            let result = work.await;
            drop(permit);
            result
        });
        match task.await {
            Ok(result) => Ok(result?),
            Err(lost) => Err(DomainError::Internal(Box::new(lost))),
        }
    }

    /// Runs work to its end in a task of its own; its caller waits for it this long at most.
    async fn limited<T: Send + 'static>(
        &self,
        permit: Permit,
        limit: Duration,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Outcome<T> {
        let (answer, answered) = oneshot::channel();
        let catalog = self.clone();
        let elected = self.store().next_election();
        self.in_background(async move {
            let mut work = pin!(work);
            let overdue = tokio::select! {
                biased;
                result = &mut work => {
                    drop(permit);
                    if matches!(result, Err(StorageError::Contended(_))) {
                        catalog.suspect_abandoned();
                    }
                    // A caller that has left is not told.
                    let _ = answer.send(result);
                    return;
                }
                () = elected => StorageError::LostPrimary,
                () = tokio::time::sleep(limit) => StorageError::NoAnswer,
            };
            drop(permit);
            catalog.suspect_abandoned();
            let _ = answer.send(Err(overdue));
            // The driver would close the connection of a future that is dropped.
            let _ = work.await;
        });
        answered.await
    }

    /// Notes that something was in the way for longer than our own transactions take.
    pub(crate) fn suspect_abandoned(&self) {
        self.0.suspects_abandoned.store(true, Ordering::Relaxed);
    }

    /// Whether something was in the way since this was asked last.
    pub(crate) fn suspects_abandoned(&self) -> bool {
        self.0.suspects_abandoned.swap(false, Ordering::Relaxed)
    }

    /// Runs work to its end whatever becomes of the caller.
    pub(crate) fn spawned<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.0.tasks.spawn(work)
    }
}

/// How work ended; an outer error when it panicked.
pub(crate) type Outcome<T> = Result<Result<T, StorageError>, oneshot::error::RecvError>;

fn said<T>(outcome: Outcome<T>) -> Result<T, DomainError> {
    match outcome {
        Ok(result) => Ok(result?),
        Err(lost) => Err(DomainError::Internal(Box::new(lost))),
    }
}
