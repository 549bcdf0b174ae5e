//! The change stream of a process, distributed by product.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::task::JoinSet;
use vitrine_model::id::ProductId;
use vitrine_storage::StorageError;
use vitrine_storage::feed::{Feed, FeedEvent, FeedPosition};

use super::Event;
use crate::{Catalog, DomainError};

/// The maximum number of events waiting for a follower.
const MAX_WAITING: usize = 256;
/// The maximum time for which a step of a catch-up reads missed events before they are sent.
const MAX_STEP_TIME: Duration = Duration::from_secs(2);
/// The maximum number of missed events per step.
const MAX_MISSED: usize = 500;
/// How long the database may take to find the next missed event.
const MAX_WAIT_FOR_EVENT: Duration = Duration::from_mins(1);
/// The maximum number of concurrent catch-ups: the database may have to read much.
const MAX_CATCHING_UP: usize = 4;
/// How often the hub checks whether it still has followers.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long the stream continues without followers.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The followers in this process. The stream runs while there are any.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// The task that reads the stream. The lock lets one of several first followers start it.
    task: tokio::sync::Mutex<JoinSet<()>>,
    catching_up: Semaphore,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            task: tokio::sync::Mutex::default(),
            catching_up: Semaphore::new(MAX_CATCHING_UP),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// The current position of the stream; `None` when it is not running.
    at: Option<FeedPosition>,
    /// The position after which all events are buffered.
    buffered_from: Option<FeedPosition>,
    buffer: VecDeque<(FeedPosition, FeedEvent)>,
    followers: HashMap<ProductId, Sender<Arc<Event>>>,
}

/// A subscription to the events of a product.
#[derive(Debug)]
pub(crate) struct FollowHandle {
    pub(crate) events: Receiver<Arc<Event>>,
    /// All events after this position arrive through `events`.
    pub(crate) from: FeedPosition,
}

/// The events since a position, if buffered.
pub(crate) enum Buffered {
    /// All events since then.
    Events(Vec<Arc<Event>>),
    /// The position is older than the buffer.
    TooOld,
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current position of the stream, if it is running.
    pub(crate) fn at(&self) -> Option<FeedPosition> {
        self.state().at.clone()
    }

    /// The buffered events of a product between two positions.
    pub(crate) fn buffered_between(
        &self,
        product: ProductId,
        after: &FeedPosition,
        to: &FeedPosition,
    ) -> Buffered {
        let state = self.state();
        if state.buffered_from.as_ref().is_none_or(|from| after < from) {
            return Buffered::TooOld;
        }
        let within = |(point, event): &&(FeedPosition, FeedEvent)| {
            event.product() == product && point > after && point <= to
        };
        let missed = state.buffer.iter().filter(within).cloned();
        Buffered::Events(missed.map(Event::new).map(Arc::new).collect())
    }

    /// Subscribes, if the stream is running.
    fn subscribe(&self, product: ProductId) -> Option<FollowHandle> {
        let mut state = self.state();
        let from = state.at.clone()?;
        let sender = state.followers.entry(product);
        let sender = sender.or_insert_with(|| broadcast::channel(MAX_WAITING).0);
        let events = sender.subscribe();
        Some(FollowHandle { events, from })
    }

    fn start(&self, at: FeedPosition) {
        let mut state = self.state();
        *state = State {
            buffered_from: Some(at.clone()),
            at: Some(at),
            ..State::default()
        };
    }

    /// Distributes an event. The stream's position advances afterwards, so that all events up to a
    /// position that was read have been sent.
    fn publish(&self, (point, event): (FeedPosition, FeedEvent), max_buffered: usize) {
        let mut state = self.state();
        if let Some(sender) = state.followers.get(&event.product()) {
            // There may be no receivers left.
            let _ = sender.send(Arc::new(Event::new((point.clone(), event))));
        }
        state.at = Some(point.clone());
        if matches!(event, FeedEvent::Published { .. }) {
            state.buffer.push_back((point, event));
        }
        if state.buffer.len() > max_buffered
            && let Some((oldest, _)) = state.buffer.pop_front()
        {
            state.buffered_from = Some(oldest);
        }
    }

    /// Advances the position past a period without events.
    fn advance(&self, at: Option<FeedPosition>) {
        let mut state = self.state();
        if at > state.at {
            state.at = at;
        }
    }

    /// Removes products without followers. Returns whether any followers are left.
    fn is_followed(&self) -> bool {
        let mut state = self.state();
        state
            .followers
            .retain(|_, sender| sender.receiver_count() > 0);
        !state.followers.is_empty()
    }

    /// Stops unless a follower has subscribed meanwhile.
    fn stop_unless_followed(&self) -> bool {
        let mut state = self.state();
        let followed = |sender: &Sender<_>| sender.receiver_count() > 0;
        if state.followers.values().any(followed) {
            return false;
        }
        *state = State::default();
        true
    }

    /// Disconnects all followers, because events may have been missed.
    fn disconnect_all(&self) {
        *self.state() = State::default();
    }
}

impl Catalog {
    /// Subscribes to the events of a product; the first follower starts the stream.
    pub(crate) async fn follow(&self, product: ProductId) -> Result<FollowHandle, DomainError> {
        if let Some(handle) = self.hub().subscribe(product) {
            return Ok(handle);
        }
        let mut task = self.hub().task.lock().await;
        if let Some(handle) = self.hub().subscribe(product) {
            return Ok(handle);
        }
        let feed = self
            .read(|store| async move { store.feed(None, None).await })
            .await?;
        let at = feed.point().ok_or(DomainError::Unavailable(None))?;
        self.hub().start(at);
        let handle = self.hub().subscribe(product);
        let catalog = self.clone();
        // Earlier tasks have ended.
        while task.try_join_next().is_some() {}
        // Ends a minute after the last follower has left.
        task.spawn(async move { catalog.run_feed(feed).await });
        handle.ok_or(DomainError::Unavailable(None))
    }

    /// Disconnects all followers and stops the stream until somebody subscribes again.
    pub async fn stop_following(&self) {
        self.hub().task.lock().await.shutdown().await;
        self.hub().disconnect_all();
    }

    /// A follower that reads the product of an event must not find it older than the event.
    fn forget_product(&self, product: ProductId) {
        if let Some(memory) = self.product_memory() {
            memory.forget(&[product]);
        }
    }

    async fn run_feed(&self, mut feed: Feed) {
        let (mut followed, mut checked) = (Instant::now(), Instant::now());
        loop {
            match feed.next().await {
                Ok(Some(event)) => {
                    self.forget_product(event.1.product());
                    self.hub().publish(event, self.events_kept());
                }
                Ok(None) => self.hub().advance(feed.point()),
                Err(error) => {
                    tracing::warn!(%error, "the stream of reviews and ratings was lost");
                    break;
                }
            }
            if checked.elapsed() < CHECK_EVERY {
                continue;
            }
            checked = Instant::now();
            if self.hub().is_followed() {
                followed = Instant::now();
            } else if followed.elapsed() > IDLE_TIMEOUT && self.hub().stop_unless_followed() {
                return;
            }
        }
        self.hub().disconnect_all();
    }

    /// The first events of a product between two positions, from the database, and the position
    /// reached; `None` if these are all.
    pub(crate) async fn catch_up(
        &self,
        product: ProductId,
        after: FeedPosition,
        to: FeedPosition,
    ) -> Result<(Vec<Arc<Event>>, Option<FeedPosition>), DomainError> {
        let permits = &self.hub().catching_up;
        let _permit = permits
            .acquire()
            .await
            .map_err(|_| DomainError::Unavailable(None))?;
        // The server reports the end of the stream at the last majority-committed event, but later
        // events may have been sent.
        self.read(|store| async move { store.await_majority_commit().await })
            .await?;
        let store = self.store().clone();
        let mut missed = Vec::new();
        let looking = async {
            let mut feed = store.feed(Some(&after), Some(product)).await?;
            // Started only now, so that each step advances, however long the stream took to open.
            let began = Instant::now();
            while missed.len() < MAX_MISSED && began.elapsed() < MAX_STEP_TIME {
                match feed.next().await? {
                    Some((point, _)) if point > to => return Ok(None),
                    Some(event) if event.1.product() == product => {
                        missed.push(Arc::new(Event::new(event)));
                    }
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
            Ok(feed.point())
        };
        let outcome = tokio::time::timeout(MAX_WAIT_FOR_EVENT, looking).await;
        let reached = outcome.map_err(|_| StorageError::HistoryLost).flatten()?;
        self.forget_product(product);
        Ok((missed, reached.filter(|reached| *reached < to)))
    }
}
