//! Reviews that are submitted at the same time are looked up and stored together, because some at
//! once cost the database little more than one.
//!
//! Who comes while less than two turns are under way has one at once, alone. Who comes meanwhile
//! waits for the next turn, and shares it with all others who came. So nobody waits for company.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, ProductId};
use vitrine_model::review::Review;
use vitrine_storage::claims::Claim;
use vitrine_storage::reviewing::{ReviewTarget, Submitted};
use vitrine_storage::{StorageError, Store};

use crate::{Catalog, DomainError};

/// How many may wait for a turn of one sort.
const MAX_WAITING: usize = 2_000;

/// Something that is looked up or stored together with others of its kind.
pub(super) trait Batched: Send + Sized + 'static {
    /// What became of it.
    type Outcome: Send + 'static;

    /// The most that share a turn.
    const MAX_BATCH: usize;

    /// How many turns may be under way at a time.
    const MAX_CONCURRENT: u32;

    /// Whether it changes the database.
    const WRITES: bool;

    /// Where it waits.
    fn gathering(catalog: &Catalog) -> &BatchQueue<Self>;

    /// Looks up or stores all of them, and says of each what became of it.
    fn all(
        catalog: &Catalog,
        all: Vec<Self>,
    ) -> impl Future<Output = Vec<Result<Self::Outcome, StorageError>>> + Send;
}

/// Those who wait for a turn.
pub(super) struct BatchQueue<T: Batched>(Mutex<Waiting<T>>);

struct Waiting<T: Batched> {
    all: VecDeque<Waiter<T>>,
    /// How many turns are under way.
    turns: u32,
}

struct Waiter<T: Batched> {
    item: T,
    answer: oneshot::Sender<Result<T::Outcome, DomainError>>,
}

impl<T: Batched> Default for BatchQueue<T> {
    fn default() -> Self {
        Self(Mutex::new(Waiting {
            all: VecDeque::new(),
            turns: 0,
        }))
    }
}

impl<T: Batched> BatchQueue<T> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; returns whether somebody has to begin a turn for it. Fails when too many wait
    /// already.
    fn add(&self, waiter: Waiter<T>) -> Result<bool, DomainError> {
        let mut waiting = self.waiting();
        if waiting.all.len() >= MAX_WAITING {
            return Err(DomainError::Unavailable(None));
        }
        waiting.all.push_back(waiter);
        let begins = waiting.turns < T::MAX_CONCURRENT;
        waiting.turns += u32::from(begins);
        Ok(begins)
    }

    /// Those whose turn it is; none ends the turn.
    fn next(&self) -> Vec<Waiter<T>> {
        let mut waiting = self.waiting();
        let some = waiting.all.len().min(T::MAX_BATCH);
        if some == 0 {
            waiting.turns -= 1;
        }
        waiting.all.drain(..some).collect()
    }
}

impl Catalog {
    /// Does something together with what others do in the same moment. No caller can cut it
    /// off.
    pub(super) async fn together<T: Batched>(&self, item: T) -> Result<T::Outcome, DomainError> {
        let (answer, answered) = oneshot::channel();
        if T::gathering(self).add(Waiter { item, answer })? {
            let catalog = self.clone();
            self.in_background(async move {
                loop {
                    let some = T::gathering(&catalog).next();
                    if some.is_empty() {
                        return;
                    }
                    catalog.take_turn(some).await;
                }
            });
        }
        answered
            .await
            .unwrap_or_else(|lost| Err(DomainError::Internal(Box::new(lost))))
    }

    /// One permit and one time limit for all who share the turn. A panic ends this turn and not
    /// those after it.
    async fn take_turn<T: Batched>(&self, some: Vec<Waiter<T>>) {
        let (mut items, mut callers) = (Vec::new(), Vec::new());
        for waiter in some {
            items.push(waiter.item);
            callers.push(waiter.answer);
        }
        let catalog = self.clone();
        let work = async move { Ok(T::all(&catalog, items).await) };
        let done = if T::WRITES {
            self.write_for_many(work).await
        } else {
            self.read_for_many(work).await
        };
        // A caller that has left is not told.
        match done {
            Ok(Ok(Ok(done))) => {
                for (answer, one) in callers.into_iter().zip(done) {
                    let _ = answer.send(one.map_err(DomainError::from));
                }
            }
            Ok(Ok(Err(error))) => {
                for answer in callers {
                    let _ = answer.send(Err(error.clone().into()));
                }
            }
            Err(_) => {
                for answer in callers {
                    let _ = answer.send(Err(DomainError::Unavailable(None)));
                }
            }
            // Whoever waits learns that its answer is lost.
            Ok(Err(lost)) => {
                tracing::error!(error = %lost, "reviews may not have been looked up or stored");
            }
        }
    }
}

/// A review that is counted with its product in the transaction that stores it.
pub(super) struct CountedInsert(pub(super) Review);

impl Batched for CountedInsert {
    type Outcome = Submitted;

    // A transaction holds all of its products until it is committed.
    const MAX_BATCH: usize = 32;
    // The server works on each transaction with one thread.
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = true;

    fn gathering(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().counted
    }

    async fn all(catalog: &Catalog, all: Vec<Self>) -> Vec<Result<Self::Outcome, StorageError>> {
        // Who sends the same twice would have the transaction refused for all.
        let (mut pairs, mut firsts) = (HashSet::new(), Vec::with_capacity(all.len()));
        let mut again = Vec::with_capacity(all.len());
        for Self(review) in all {
            let author = review.author.as_ref().map(|author| author.id.clone());
            let first = pairs.insert((review.product_id, author));
            again.push(!first);
            if first {
                firsts.push(review);
            }
        }
        let stored = store_counted(catalog.store(), &firsts, catalog.now()).await;
        let mut stored = stored.into_iter();
        let outcome = |again: bool| {
            let first = if again { None } else { stored.next() };
            first.unwrap_or(Ok(Submitted::Refused))
        };
        again.into_iter().map(outcome).collect()
    }
}

/// Stores them in one transaction; or where that is refused, each half of them in one, so that none
/// is refused for another's sake.
async fn store_counted(
    store: &Store,
    reviews: &[Review],
    now: Timestamp,
) -> Vec<Result<Submitted, StorageError>> {
    let mut stored = Vec::with_capacity(reviews.len());
    // What is still to be stored, the next of it last.
    let mut parts = vec![reviews];
    while let Some(part) = parts.pop() {
        let outcome = store.submit_counted(part, now).await;
        if outcome.as_ref().is_err_and(StorageError::is_outage) {
            // The same would happen to the rest, a while later each time.
            stored.resize(reviews.len(), outcome);
            return stored;
        }
        if part.len() == 1 || matches!(outcome, Ok(Submitted::Stored)) {
            stored.extend(part.iter().map(|_| outcome.clone()));
        } else {
            let (one, other) = part.split_at(part.len() / 2);
            parts.extend([other, one]);
        }
    }
    stored
}

/// A review that is counted later.
pub(super) struct DeferredInsert {
    pub(super) review: Review,
    /// Whether it has to be looked up if its author is a buyer.
    pub(super) look_up: bool,
}

impl Batched for DeferredInsert {
    /// The review as it was stored; none when it was refused.
    type Outcome = Option<Review>;

    const MAX_BATCH: usize = 64;
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = true;

    fn gathering(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().uncounted
    }

    async fn all(catalog: &Catalog, all: Vec<Self>) -> Vec<Result<Self::Outcome, StorageError>> {
        let number = all.len();
        match store_uncounted(catalog.store(), all, catalog.now()).await {
            Ok(stored) => stored.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); number],
        }
    }
}

async fn store_uncounted(
    store: &Store,
    all: Vec<DeferredInsert>,
    now: Timestamp,
) -> Result<Vec<Option<Review>>, StorageError> {
    let unknown = all.iter().filter(|one| one.look_up);
    let unknown = unknown.filter_map(|one| {
        let author = one.review.author.as_ref()?;
        Some((one.review.product_id, author.id.clone()))
    });
    let buyers = store.known_buyers(&unknown.collect::<Vec<_>>()).await?;
    let known = |one: DeferredInsert| {
        let author = one.review.author.as_ref();
        let pair = author.map(|author| (one.review.product_id, author.id.clone()));
        let verified = one.review.verified || pair.is_some_and(|pair| buyers.contains(&pair));
        Review {
            verified,
            ..one.review
        }
    };
    let reviews: Vec<Review> = all.into_iter().map(known).collect();
    let stored = store.submit_uncounted(&reviews, now).await?;
    let outcome = |(review, stored)| (stored == Submitted::Stored).then_some(review);
    Ok(reviews.into_iter().zip(stored).map(outcome).collect())
}

/// An idempotency key that is claimed for a review.
impl Batched for Claim {
    /// Whether it was free.
    type Outcome = bool;

    const MAX_BATCH: usize = 64;
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = true;

    fn gathering(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().claims
    }

    async fn all(catalog: &Catalog, all: Vec<Self>) -> Vec<Result<Self::Outcome, StorageError>> {
        match catalog.store().claim_keys(&all).await {
            Ok(free) => free.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); all.len()],
        }
    }
}

/// What has to be known of a product before this author reviews it.
pub(super) struct TargetLookup(pub(super) ProductId, pub(super) AuthorId);

impl Batched for TargetLookup {
    /// None where there is no such product.
    type Outcome = Option<ReviewTarget>;

    const MAX_BATCH: usize = 64;
    const MAX_CONCURRENT: u32 = 2;
    const WRITES: bool = false;

    fn gathering(catalog: &Catalog) -> &BatchQueue<Self> {
        &catalog.hot_products().look_ups
    }

    async fn all(catalog: &Catalog, all: Vec<Self>) -> Vec<Result<Self::Outcome, StorageError>> {
        let store = catalog.store();
        let pairs: Vec<_> = all
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
            // One of them cannot be read; the others can.
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
    use super::*;

    struct Number(u32);

    impl Batched for Number {
        type Outcome = ();

        const MAX_BATCH: usize = 2;
        const MAX_CONCURRENT: u32 = 1;
        const WRITES: bool = true;

        fn gathering(_: &Catalog) -> &BatchQueue<Self> {
            unreachable!("the test has it")
        }

        async fn all(_: &Catalog, all: Vec<Self>) -> Vec<Result<(), StorageError>> {
            all.iter().map(|_| Ok(())).collect()
        }
    }

    #[test]
    fn who_comes_during_a_turn_shares_the_next() {
        let gathering = BatchQueue::<Number>::default();
        let add = |number| {
            let waiter = Waiter {
                item: Number(number),
                answer: oneshot::channel().0,
            };
            gathering.add(waiter).unwrap()
        };
        let next = || -> Vec<u32> {
            let some = gathering.next();
            some.iter().map(|waiter| waiter.item.0).collect()
        };
        assert!(add(1), "nobody is under way");
        assert_eq!(next(), [1]);
        assert!(!add(2) && !add(3) && !add(4), "somebody is under way");
        assert_eq!(next(), [2, 3], "no more than may share a turn");
        assert_eq!(next(), [4]);
        assert_eq!(next(), [0; 0], "the turn is over");
        assert!(add(5));
    }

    #[test]
    fn no_more_wait_than_may() {
        let gathering = BatchQueue::<Number>::default();
        let add = || {
            gathering.add(Waiter {
                item: Number(0),
                answer: oneshot::channel().0,
            })
        };
        for _ in 0..MAX_WAITING {
            add().unwrap();
        }
        assert!(matches!(add(), Err(DomainError::Unavailable(None))));
    }
}
