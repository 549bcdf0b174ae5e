//! The one stream of a process, handed on by product.

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

/// How many events may wait for a follower.
const MAX_WAITING: usize = 256;
/// How long it is looked for what somebody has missed before what was found is told.
const PIECE: Duration = Duration::from_secs(2);
/// How many events that were missed are found before they are told.
const MAX_MISSED: usize = 500;
/// How long the database may look for the next event that was missed.
const MAX_LOOK_TIME: Duration = Duration::from_mins(1);
/// For how many it is looked at once what they have missed: the database may have to read much.
const MAX_CATCHING_UP: usize = 4;
/// How often it is looked whether somebody follows.
const LOOK: Duration = Duration::from_secs(1);
/// For how long the database is followed when nobody follows any more.
const LINGER: Duration = Duration::from_mins(1);

/// The followers of this process. The stream runs while there are some.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// The task that follows the database. Of those who come first at once, one begins it.
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
    /// Where the stream is; `None` when there is none.
    at: Option<FeedPosition>,
    /// Behind which point everything is kept.
    kept_from: Option<FeedPosition>,
    kept: VecDeque<(FeedPosition, FeedEvent)>,
    followers: HashMap<ProductId, Sender<Arc<Event>>>,
}

/// A place among the followers of a product.
#[derive(Debug)]
pub(crate) struct FollowHandle {
    pub(crate) events: Receiver<Arc<Event>>,
    /// Everything behind this point comes by `events`.
    pub(crate) from: FeedPosition,
}

/// What is known of the time since a point.
pub(crate) enum Missed {
    /// These events, and no others.
    These(Vec<Arc<Event>>),
    /// It lies too far back for this process.
    Unknown,
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the stream is, if there is one.
    pub(crate) fn at(&self) -> Option<FeedPosition> {
        self.state().at.clone()
    }

    /// What happened to a product behind one point and up to another.
    pub(crate) fn missed(
        &self,
        product: ProductId,
        after: &FeedPosition,
        to: &FeedPosition,
    ) -> Missed {
        let state = self.state();
        if state.kept_from.as_ref().is_none_or(|from| after < from) {
            return Missed::Unknown;
        }
        let within = |(point, happened): &&(FeedPosition, FeedEvent)| {
            happened.product() == product && point > after && point <= to
        };
        let missed = state.kept.iter().filter(within).cloned();
        Missed::These(missed.map(Event::new).map(Arc::new).collect())
    }

    /// Takes a place, if the stream runs.
    fn seat(&self, product: ProductId) -> Option<FollowHandle> {
        let mut state = self.state();
        let from = state.at.clone()?;
        let sender = state.followers.entry(product);
        let sender = sender.or_insert_with(|| broadcast::channel(MAX_WAITING).0);
        let events = sender.subscribe();
        Some(FollowHandle { events, from })
    }

    fn begin(&self, at: FeedPosition) {
        let mut state = self.state();
        *state = State {
            kept_from: Some(at.clone()),
            at: Some(at),
            ..State::default()
        };
    }

    /// Hands an event on. Where the stream is moves afterwards, so that who reads it knows that
    /// everything before is on its way.
    fn hand_on(&self, (point, happened): (FeedPosition, FeedEvent), kept: usize) {
        let mut state = self.state();
        if let Some(sender) = state.followers.get(&happened.product()) {
            // Nobody may listen any more.
            let _ = sender.send(Arc::new(Event::new((point.clone(), happened))));
        }
        state.at = Some(point.clone());
        if matches!(happened, FeedEvent::Published { .. }) {
            state.kept.push_back((point, happened));
        }
        if state.kept.len() > kept
            && let Some((oldest, _)) = state.kept.pop_front()
        {
            state.kept_from = Some(oldest);
        }
    }

    /// Nothing happened up to a point.
    fn move_on(&self, at: Option<FeedPosition>) {
        let mut state = self.state();
        if at > state.at {
            state.at = at;
        }
    }

    /// Forgets products that nobody follows. Gives whether somebody follows any.
    fn is_followed(&self) -> bool {
        let mut state = self.state();
        state
            .followers
            .retain(|_, sender| sender.receiver_count() > 0);
        !state.followers.is_empty()
    }

    /// Ends if nobody has come meanwhile.
    fn end_unless_followed(&self) -> bool {
        let mut state = self.state();
        let followed = |sender: &Sender<_>| sender.receiver_count() > 0;
        if state.followers.values().any(followed) {
            return false;
        }
        *state = State::default();
        true
    }

    /// Lets all followers go: something may have been missed.
    fn lose(&self) {
        *self.state() = State::default();
    }
}

impl Catalog {
    /// Takes a place among the followers of a product; the stream begins with the first.
    pub(crate) async fn follow(&self, product: ProductId) -> Result<FollowHandle, DomainError> {
        if let Some(seat) = self.hub().seat(product) {
            return Ok(seat);
        }
        let mut task = self.hub().task.lock().await;
        if let Some(seat) = self.hub().seat(product) {
            return Ok(seat);
        }
        let feed = self
            .read(|store| async move { store.feed(None, None).await })
            .await?;
        let at = feed.point().ok_or(DomainError::Unavailable(None))?;
        self.hub().begin(at);
        let seat = self.hub().seat(product);
        let catalog = self.clone();
        // Those before have ended by themselves.
        while task.try_join_next().is_some() {}
        // Ends by itself a minute after the last follower has left.
        task.spawn(async move { catalog.run_feed(feed).await });
        seat.ok_or(DomainError::Unavailable(None))
    }

    /// Lets all who follow go, and follows the database no more until somebody comes.
    pub async fn stop_following(&self) {
        self.hub().task.lock().await.shutdown().await;
        self.hub().lose();
    }

    async fn run_feed(&self, mut feed: Feed) {
        let (mut followed, mut looked) = (Instant::now(), Instant::now());
        loop {
            match feed.next().await {
                Ok(Some(event)) => self.hub().hand_on(event, self.events_kept()),
                Ok(None) => self.hub().move_on(feed.point()),
                Err(error) => {
                    tracing::warn!(%error, "the stream of reviews and ratings was lost");
                    break;
                }
            }
            if looked.elapsed() < LOOK {
                continue;
            }
            looked = Instant::now();
            if self.hub().is_followed() {
                followed = Instant::now();
            } else if followed.elapsed() > LINGER && self.hub().end_unless_followed() {
                return;
            }
        }
        self.hub().lose();
    }

    /// The first events of a product behind one point and up to another, from the database, and
    /// up to where these are all; `None` when they are all there are.
    pub(crate) async fn catch_up(
        &self,
        product: ProductId,
        after: FeedPosition,
        to: FeedPosition,
    ) -> Result<(Vec<Arc<Event>>, Option<FeedPosition>), DomainError> {
        let places = &self.hub().catching_up;
        let _place = places
            .acquire()
            .await
            .map_err(|_| DomainError::Unavailable(None))?;
        // The server says that there is nothing when it has looked at all that is sure, and more
        // than that may have been told.
        self.read(|store| async move { store.await_majority_commit().await })
            .await?;
        let store = self.store().clone();
        let mut missed = Vec::new();
        let looking = async {
            let mut feed = store.feed(Some(&after), Some(product)).await?;
            // Only now: each piece gets further than the one before, however long it took to begin.
            let began = Instant::now();
            while missed.len() < MAX_MISSED && began.elapsed() < PIECE {
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
        let looked = tokio::time::timeout(MAX_LOOK_TIME, looking).await;
        let reached = looked.map_err(|_| StorageError::HistoryLost).flatten()?;
        Ok((missed, reached.filter(|reached| *reached < to)))
    }
}
