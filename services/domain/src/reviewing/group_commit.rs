//! Group commit: concurrent submissions are looked up and stored in batches, because a batch costs
//! the database little more than a single one.
//!
//! A request that arrives while no batch is running gets one of its own at once, and so does one
//! that arrives while one batch is running and enough others wait ([`Batched::MIN_WAITING`]). Any other
//! waits for the next batch and shares it with all others waiting.
//!
//! Programs that write in a loop send their next request as soon as they have an answer. After a batch whose requests
//! met others, the next one therefore waits until as many have come, for [`Batched::PAUSE`] at most, and requests that
//! arrive meanwhile join it. A client that writes alone is never delayed. After a pause in which none came, the
//! next pauses are left out.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, ProductId};
use vitrine_model::product::ProductStatus;
use vitrine_model::review::Review;
use vitrine_storage::claims::Claim;
use vitrine_storage::reviewing::{
    ReactionOutcome, ReviewTarget, ReviewedProduct, SubmitOptions, SubmitOutcome,
};
use vitrine_storage::votes::NewVote;
use vitrine_storage::{StorageError, Store, backoff};

use crate::catalog::WRITE_TIMEOUT;
use crate::reference::Reference;
use crate::{Catalog, DomainError, LineLimiter};

/// The maximum number of waiting items of one type.
const MAX_WAITING: usize = 2_000;
/// How long after its caller began an item may still get a batch. While the database acknowledges nothing, each batch takes
/// its whole time limit, and a caller with several steps would wait for one after the other.
const MAX_WAIT: Duration = WRITE_TIMEOUT;
/// How long a batch waits for more requests. The timer adds up to a millisecond.
const PAUSE: Duration = Duration::from_millis(1);
/// The number of pauses that are left out after one in which no request came.
const PAUSES_LEFT_OUT: u32 = 4;

/// An item that is looked up or stored in a batch.
pub(super) trait Batched: Send + Sized + 'static {
    /// The result of one item.
    type Outcome: Send + 'static;

    /// The maximum size of a batch.
    const MAX_BATCH: usize;

    /// The maximum number of concurrent batches.
    const MAX_CONCURRENT: u32;

    /// The number of waiting items from which on a further batch starts beside one that is running.
    const MIN_WAITING: usize = 1;

    /// How long a batch waits for as many items as met during the last one. Zero where that was not measured to pay.
    const PAUSE: Duration = Duration::ZERO;

    /// Whether a batch writes to the database.
    const WRITES: bool;

    /// The queue of this type.
    fn queue(catalog: &Catalog) -> &BatchQueue<Self>;

    /// Looks up or stores all items; returns one result for each.
    fn execute_batch(
        catalog: &Catalog,
        items: Vec<Self>,
    ) -> impl Future<Output = Vec<Result<Self::Outcome, StorageError>>> + Send;
}

/// The items waiting for a batch.
pub(super) struct BatchQueue<T: Batched>(Mutex<Waiting<T>>);

struct Waiting<T: Batched> {
    items: VecDeque<Waiter<T>>,
    /// The number of tasks that run batches.
    running: u32,
    /// The pause of one of these tasks.
    pause: Option<Pause>,
    /// The number of pauses that are still to be left out.
    left_out: u32,
}

struct Pause {
    /// The number of items that have not come yet.
    missing: usize,
    end: oneshot::Sender<()>,
}

struct Waiter<T: Batched> {
    item: T,
    /// When its caller began.
    began: Instant,
    answer: oneshot::Sender<Result<T::Outcome, DomainError>>,
}

impl<T: Batched> Waiter<T> {
    fn is_late(&self) -> bool {
        self.began.elapsed() >= MAX_WAIT
    }
}

impl<T: Batched> Default for BatchQueue<T> {
    fn default() -> Self {
        Self(Mutex::new(Waiting {
            items: VecDeque::new(),
            running: 0,
            pause: None,
            left_out: 0,
        }))
    }
}

impl<T: Batched> BatchQueue<T> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item; returns whether the caller must start a batch. Fails when the queue is full, or the item is late.
    fn add(&self, waiter: Waiter<T>) -> Result<bool, DomainError> {
        let mut waiting = self.waiting();
        if waiting.items.len() >= MAX_WAITING || waiter.is_late() {
            return Err(DomainError::Unavailable(None));
        }
        waiting.items.push_back(waiter);
        if let Some(mut pause) = waiting.pause.take() {
            pause.missing -= 1;
            if pause.missing > 0 {
                waiting.pause = Some(pause);
            } else {
                // If the pause is over, its task already goes on.
                let _ = pause.end.send(());
            }
            return Ok(false);
        }
        let are_many = waiting.items.len() >= T::MIN_WAITING;
        let starts = waiting.running == 0 || are_many && waiting.running < T::MAX_CONCURRENT;
        waiting.running += u32::from(starts);
        Ok(starts)
    }

    /// Returns the next batch; an empty one ends the task that asked for it. Late items are refused.
    fn next(&self) -> Vec<Waiter<T>> {
        let mut waiting = self.waiting();
        if waiting.items.iter().any(Waiter::is_late) {
            let all = std::mem::take(&mut waiting.items).into_iter();
            let (late, in_time): (VecDeque<_>, _) = all.partition(Waiter::is_late);
            waiting.items = in_time;
            for waiter in late {
                // A caller may be gone.
                let _ = waiter.answer.send(Err(DomainError::Unavailable(None)));
            }
        }
        let batch = waiting.items.len().min(T::MAX_BATCH);
        if batch == 0 {
            waiting.running -= 1;
        }
        waiting.items.drain(..batch).collect()
    }

    /// Waits after a batch until as many items wait as met during it. Returns false if another task does so
    /// already and runs the next batch.
    async fn pause(&self, answered: usize, longest: Duration) -> bool {
        let (missing, ended) = {
            let mut waiting = self.waiting();
            if waiting.pause.is_some() {
                waiting.running -= 1;
                return false;
            }
            let met = (answered + waiting.items.len()).min(T::MAX_BATCH);
            let missing = met.saturating_sub(waiting.items.len());
            if met < 2 || missing == 0 || longest.is_zero() {
                return true;
            }
            if waiting.left_out > 0 {
                waiting.left_out -= 1;
                return true;
            }
            let (end, ended) = oneshot::channel();
            waiting.pause = Some(Pause { missing, end });
            (missing, ended)
        };
        // When the time is over, fewer share the batch.
        let _ = timeout(longest, ended).await;
        let mut waiting = self.waiting();
        let unfinished = waiting.pause.take();
        if unfinished.is_some_and(|pause| pause.missing == missing) {
            waiting.left_out = PAUSES_LEFT_OUT;
        }
        true
    }
}

impl Catalog {
    /// Executes an item in a batch with others, for a caller that began at this moment; it may have had other items before.
    /// Continues even if the caller goes away.
    pub(super) async fn batched<T: Batched>(
        &self,
        item: T,
        began: Instant,
    ) -> Result<T::Outcome, DomainError> {
        let (answer, answered) = oneshot::channel();
        let waiter = Waiter {
            item,
            began,
            answer,
        };
        if T::queue(self).add(waiter)? {
            let catalog = self.clone();
            self.in_background(async move {
                loop {
                    let batch = T::queue(&catalog).next();
                    let size = batch.len();
                    if size == 0 {
                        return;
                    }
                    catalog.run_batch(batch).await;
                    if !T::queue(&catalog).pause(size, T::PAUSE).await {
                        return;
                    }
                }
            });
        }
        answered
            .await
            .unwrap_or_else(|lost| Err(DomainError::Internal(Box::new(lost))))
    }

    /// Runs a batch with one permit and one time limit. A panic fails this batch only.
    async fn run_batch<T: Batched>(&self, batch: Vec<Waiter<T>>) {
        let (mut items, mut senders) = (Vec::new(), Vec::new());
        for waiter in batch {
            items.push(waiter.item);
            senders.push(waiter.answer);
        }
        let catalog = self.clone();
        let work = async move { Ok(T::execute_batch(&catalog, items).await) };
        let done = if T::WRITES {
            self.write_for_many(work).await
        } else {
            self.read_for_many(work).await
        };
        // A caller may be gone.
        match done {
            Ok(Ok(Ok(done))) => {
                for (answer, one) in senders.into_iter().zip(done) {
                    let _ = answer.send(one.map_err(DomainError::from));
                }
            }
            Ok(Ok(Err(error))) => {
                for answer in senders {
                    let _ = answer.send(Err(error.clone().into()));
                }
            }
            Err(_) => {
                for answer in senders {
                    let _ = answer.send(Err(DomainError::Unavailable(None)));
                }
            }
            // Dropping the senders ends the wait of the callers with an error.
            Ok(Err(lost)) => {
                static LOST: LineLimiter = LineLimiter::new();
                if let Some(left_out) = LOST.permit() {
                    tracing::error!(error = %lost, left_out, "a batch of look-ups or writes of reviews was lost; its callers received an error");
                }
            }
        }
    }
}

/// A review that is stored and folded in the same transaction.
pub(super) struct CountedInsert {
    pub(super) review: Review,
    /// Whether it must be looked up if the author bought the product.
    pub(super) check_purchase: bool,
    /// The idempotency key to store with it.
    pub(super) claim: Option<Claim>,
}

impl Batched for CountedInsert {
    /// The outcome, with the review as it was stored.
    type Outcome = (SubmitOutcome, Review);

    // A transaction locks all of its products until it commits.
    const MAX_BATCH: usize = 32;
    // The server processes each transaction with one thread.
    const MAX_CONCURRENT: u32 = 2;
    // Most of a transaction's cost is its commands, whose number does not grow with its reviews.
    const MIN_WAITING: usize = 8;
    const PAUSE: Duration = PAUSE;
    const WRITES: bool = true;

    fn queue(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().counted
    }

    async fn execute_batch(
        catalog: &Catalog,
        items: Vec<Self>,
    ) -> Vec<Result<Self::Outcome, StorageError>> {
        let number = items.len();
        // A duplicate within the batch would abort the transaction for all.
        let (mut pairs, mut keys) = (HashSet::new(), HashSet::new());
        let mut is_first = |item: &Self| {
            let author = item.review.author.as_ref().map(|author| author.id.clone());
            let key = item.claim.as_ref().map(|claim| claim.name.clone());
            pairs.insert((item.review.product_id, author)) && key.is_none_or(|key| keys.insert(key))
        };
        let firsts: Vec<bool> = items.iter().map(&mut is_first).collect();
        let (mut reviews, mut claims) = (Vec::new(), Vec::new());
        for (item, first) in items.into_iter().zip(&firsts) {
            reviews.push((item.review, item.check_purchase));
            claims.extend(item.claim.filter(|_| *first));
        }
        let reviews = match with_purchases(catalog.store(), reviews).await {
            Ok(reviews) => reviews,
            Err(error) => return vec![Err(error); number],
        };
        let stored = reviews.iter().zip(&firsts).filter(|(_, first)| **first);
        let stored: Vec<Review> = stored.map(|(review, _)| review.clone()).collect();
        let stored = store_counted(catalog, &stored, &claims).await;
        let mut stored = stored.into_iter();
        let outcome = |(review, first): (Review, bool)| {
            let stored = first.then(|| stored.next()).flatten();
            let stored = stored.unwrap_or(Ok(SubmitOutcome::Refused));
            stored.map(|outcome| (outcome, review))
        };
        reviews.into_iter().zip(firsts).map(outcome).collect()
    }
}

/// Looks up whether the authors of these reviews bought their products, where that is still to be
/// done. One command, or none.
async fn with_purchases(
    store: &Store,
    items: Vec<(Review, bool)>,
) -> Result<Vec<Review>, StorageError> {
    let unknown = items.iter().filter(|(_, check_purchase)| *check_purchase);
    let unknown = unknown.filter_map(|(review, _)| {
        let author = review.author.as_ref()?;
        Some((review.product_id, author.id.clone()))
    });
    let buyers = store.known_buyers(&unknown.collect::<Vec<_>>()).await?;
    let known = |(review, _): (Review, bool)| {
        let author = review.author.as_ref();
        let pair = author.map(|author| (review.product_id, author.id.clone()));
        let verified = review.verified || pair.is_some_and(|pair| buyers.contains(&pair));
        Review { verified, ..review }
    };
    Ok(items.into_iter().map(known).collect())
}

/// Stores reviews and counts them, together if possible.
async fn store_counted(
    catalog: &Catalog,
    reviews: &[Review],
    claims: &[Claim],
) -> Vec<Result<SubmitOutcome, StorageError>> {
    let (reference, now) = (catalog.reference(), catalog.now());
    let accepts = |review: &Review, product: &ReviewedProduct| {
        catalog.hot_products().remember(review.product_id, product);
        // A review of a hot product is stored first and counted later.
        !product.outlier.is_hot(now) && accepts(&reference, review, product)
    };
    let options = SubmitOptions {
        accepts: &accepts,
        claims,
    };
    let store = catalog.store();
    let stored = in_parts(reviews, |part| store.submit_counted(part, &options, now));
    let outcome = |stored| match stored {
        Ok(Some(true)) => Ok(SubmitOutcome::Stored),
        Ok(Some(false) | None) => Ok(SubmitOutcome::Refused),
        Err(StorageError::Contended(_)) => Ok(SubmitOutcome::Contended),
        Err(error) => Err(error),
    };
    stored.await.into_iter().map(outcome).collect()
}

/// Stores items in one transaction. If that fails, splits them in halves, so that none fails because
/// of another. `attempt` returns the outcomes of these items, or `None` if one of them is a duplicate.
async fn in_parts<'a, T, O, Fut>(
    items: &'a [T],
    attempt: impl Fn(&'a [T]) -> Fut,
) -> Vec<Result<Option<O>, StorageError>>
where
    Fut: Future<Output = Result<Option<Vec<O>>, StorageError>>,
{
    let mut done = Vec::with_capacity(items.len());
    // The items left to store; the next part is the last.
    let mut parts = vec![items];
    let mut attempts = 0;
    while let Some(part) = parts.pop() {
        attempts += 1;
        let (is_first, is_single) = (attempts == 1, part.len() == 1);
        match attempt(part).await {
            Ok(Some(outcomes)) => done.extend(outcomes.into_iter().map(|one| Ok(Some(one)))),
            // The connection broke before the commit.
            Err(StorageError::Interrupted(_)) if is_first => parts.push(part),
            // Another batch of this process may be the reason.
            Err(StorageError::Contended(_)) if is_first && !is_single => {
                tokio::time::sleep(backoff(1)).await;
                parts.push(part);
            }
            // The rest would fail as well, each time after a delay.
            Err(error) if error.is_outage() => {
                let left = items.len() - done.len();
                done.extend((0..left).map(|_| Err(error.clone())));
                return done;
            }
            Err(error) if is_single => done.push(Err(error)),
            Ok(None) if is_single => done.push(Ok(None)),
            _ => {
                let (one, other) = part.split_at(part.len() / 2);
                parts.extend([other, one]);
            }
        }
    }
    done
}

/// Whether a product accepts a review, as far as the review does not depend on its author.
pub(super) fn accepts(reference: &Reference, review: &Review, product: &ReviewedProduct) -> bool {
    if product.status != ProductStatus::Active {
        return false;
    }
    if review.dimensions.is_empty() {
        return true;
    }
    let known = reference.review_dimensions_of(&product.kind, product.category);
    review.dimensions.keys().all(|name| known.contains(name))
}

/// A review that is stored first and folded later.
pub(super) struct DeferredInsert {
    pub(super) review: Review,
    /// Whether it must be looked up if the author bought the product.
    pub(super) check_purchase: bool,
}

impl Batched for DeferredInsert {
    /// The stored review; `None` when it was refused.
    type Outcome = Option<Review>;

    const MAX_BATCH: usize = 64;
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = true;

    fn queue(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().deferred
    }

    async fn execute_batch(
        catalog: &Catalog,
        items: Vec<Self>,
    ) -> Vec<Result<Self::Outcome, StorageError>> {
        let number = items.len();
        match store_deferred(catalog.store(), items, catalog.now()).await {
            Ok(stored) => stored.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); number],
        }
    }
}

async fn store_deferred(
    store: &Store,
    items: Vec<DeferredInsert>,
    now: Timestamp,
) -> Result<Vec<Option<Review>>, StorageError> {
    let items = items
        .into_iter()
        .map(|one| (one.review, one.check_purchase));
    let reviews = with_purchases(store, items.collect()).await?;
    let stored = store.submit_uncounted(&reviews, now).await?;
    let outcome = |(review, stored)| (stored == SubmitOutcome::Stored).then_some(review);
    Ok(reviews.into_iter().zip(stored).map(outcome).collect())
}

/// An idempotency key to be claimed for a review.
impl Batched for Claim {
    /// Whether the key was free.
    type Outcome = bool;

    const MAX_BATCH: usize = 64;
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = true;

    fn queue(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().claims
    }

    async fn execute_batch(
        catalog: &Catalog,
        items: Vec<Self>,
    ) -> Vec<Result<Self::Outcome, StorageError>> {
        match catalog.store().claim_keys(&items).await {
            Ok(free) => free.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); items.len()],
        }
    }
}

/// A vote on a review.
impl Batched for NewVote {
    /// `None` if it was not stored because of a write conflict.
    type Outcome = Option<ReactionOutcome>;

    // As for reviews.
    const MAX_BATCH: usize = 32;
    // Two batches would often write the same reviews.
    const MAX_CONCURRENT: u32 = 1;
    const PAUSE: Duration = PAUSE;
    const WRITES: bool = true;

    fn queue(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().votes
    }

    async fn execute_batch(
        catalog: &Catalog,
        items: Vec<Self>,
    ) -> Vec<Result<Self::Outcome, StorageError>> {
        let (store, now) = (catalog.store(), catalog.now());
        let stored = in_parts(&items, |part| async move {
            store.write_votes(part, now).await.map(Some)
        });
        let outcome = |stored| match stored {
            Err(StorageError::Contended(_)) => Ok(None),
            stored => stored,
        };
        stored.await.into_iter().map(outcome).collect()
    }
}

/// What must be known of a product before an author reviews it.
pub(super) struct TargetLookup(pub(super) ProductId, pub(super) AuthorId);

impl Batched for TargetLookup {
    /// `None` if there is no such product.
    type Outcome = Option<ReviewTarget>;

    const MAX_BATCH: usize = 64;
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = false;

    fn queue(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().look_ups
    }

    async fn execute_batch(
        catalog: &Catalog,
        items: Vec<Self>,
    ) -> Vec<Result<Self::Outcome, StorageError>> {
        let store = catalog.store();
        let pairs: Vec<_> = items
            .into_iter()
            .map(|Self(product, author)| (product, author))
            .collect();
        match store.review_targets(&pairs).await {
            Ok(targets) => {
                let found = |pair| Ok(targets.get(pair).cloned());
                pairs.iter().map(found).collect()
            }
            Err(error) if pairs.len() == 1 || error.is_outage() => {
                vec![Err(error); pairs.len()]
            }
            // One of them cannot be read; the others are read one by one.
            Err(_) => {
                let mut found = Vec::with_capacity(pairs.len());
                for pair in &pairs {
                    let target = store.review_targets(std::slice::from_ref(pair)).await;
                    found.push(target.map(|mut target| target.remove(pair)));
                }
                found
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);

    struct Number(u32);

    impl Batched for Number {
        type Outcome = ();

        const MAX_BATCH: usize = 2;
        const MAX_CONCURRENT: u32 = 1;
        const WRITES: bool = true;

        fn queue(_: &Catalog) -> &BatchQueue<Self> {
            unreachable!("the test has it")
        }

        async fn execute_batch(_: &Catalog, items: Vec<Self>) -> Vec<Result<(), StorageError>> {
            items.iter().map(|_| Ok(())).collect()
        }
    }

    type Answer = oneshot::Receiver<Result<(), DomainError>>;

    fn waiter(number: u32) -> (Waiter<Number>, Answer) {
        let (item, began) = (Number(number), Instant::now());
        let (answer, answered) = oneshot::channel();
        let waiter = Waiter {
            item,
            began,
            answer,
        };
        (waiter, answered)
    }

    fn arrive(queue: &BatchQueue<Number>) -> bool {
        queue.add(waiter(0).0).unwrap()
    }

    #[test]
    fn items_that_arrive_during_a_batch_share_the_next() {
        let queue = BatchQueue::<Number>::default();
        let add = |number| queue.add(waiter(number).0).unwrap();
        let next = || -> Vec<u32> {
            let batch = queue.next();
            batch.iter().map(|waiter| waiter.item.0).collect()
        };
        assert!(add(1), "no batch is running");
        assert_eq!(next(), [1]);
        assert!(!add(2) && !add(3) && !add(4), "a batch is running");
        assert_eq!(next(), [2, 3], "at most the size of a batch");
        assert_eq!(next(), [4]);
        assert_eq!(next(), [0; 0], "the queue is empty");
        assert!(add(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_when_as_many_have_come_as_met_before() {
        let queue = BatchQueue::<Number>::default();
        let start = Instant::now();
        arrive(&queue);
        let come = async { assert!(!arrive(&queue), "the paused task runs the batch") };
        tokio::join!(queue.pause(1, SHORT), come);
        assert_eq!(start.elapsed(), Duration::ZERO, "both have come");
        assert_eq!(queue.next().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_no_pause_where_none_pays() {
        let queue = BatchQueue::<Number>::default();
        let start = Instant::now();
        assert!(queue.pause(1, SHORT).await, "it met no other");
        assert!(queue.pause(2, Duration::ZERO).await, "it is turned off");
        let _ = (arrive(&queue), arrive(&queue));
        assert!(queue.pause(2, SHORT).await, "a full batch waits");
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_tasks_one_pauses_and_the_other_ends() {
        let queue = BatchQueue::<Number>::default();
        queue.waiting().running = 2;
        let goes_on = tokio::join!(queue.pause(2, SHORT), queue.pause(2, SHORT));
        assert_eq!(goes_on, (true, false));
        assert_eq!(queue.waiting().running, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_are_left_out_after_one_in_which_nobody_came() {
        let queue = BatchQueue::<Number>::default();
        let start = Instant::now();
        for _ in 0..=PAUSES_LEFT_OUT {
            queue.pause(2, SHORT).await;
            assert_eq!(start.elapsed(), SHORT);
        }
        let _ = tokio::join!(queue.pause(2, SHORT), async { arrive(&queue) });
        assert_eq!(start.elapsed(), 2 * SHORT, "one of two came");
        queue.pause(2, SHORT).await;
        assert_eq!(start.elapsed(), 3 * SHORT, "the next pause is not left out");
    }

    #[tokio::test(start_paused = true)]
    async fn late_items_are_refused_wherever_they_wait() {
        let queue = BatchQueue::<Number>::default();
        // The caller of the third began first.
        let (late, mut refused) = waiter(3);
        advance(SHORT).await;
        let (in_time, mut waits) = waiter(1);
        assert!(queue.add(in_time).unwrap());
        assert!(!queue.add(late).unwrap());
        let (too_late, _) = waiter(4);
        advance(MAX_WAIT.saturating_sub(SHORT)).await;
        let batch = queue.next();
        assert_eq!(batch.iter().map(|one| one.item.0).collect::<Vec<_>>(), [1]);
        let refused = refused.try_recv().unwrap();
        assert!(matches!(refused, Err(DomainError::Unavailable(None))));
        assert!(waits.try_recv().is_err(), "it is not answered yet");
        advance(SHORT).await;
        let added = queue.add(too_late);
        assert!(matches!(added, Err(DomainError::Unavailable(None))));
    }

    #[test]
    fn a_full_queue_refuses_items() {
        let queue = BatchQueue::<Number>::default();
        let add = || queue.add(waiter(0).0);
        for _ in 0..MAX_WAITING {
            add().unwrap();
        }
        assert!(matches!(add(), Err(DomainError::Unavailable(None))));
    }
}
