//! Subscriptions whose events are sent by tests, and whose end tests can observe.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_graphql::{Context, Object, Subscription};
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    sync::{Semaphore, broadcast},
    time::timeout,
};

use crate::execution::{EventGate, Failure, FieldPath, R};

/// Sends events and counts the streams that deliver them.
#[derive(Clone)]
pub(super) struct Feed {
    events: broadcast::Sender<i32>,
    followed: Arc<Semaphore>,
    dropped: Arc<Semaphore>,
    produced: Arc<AtomicUsize>,
    resolved: Arc<AtomicUsize>,
}

/// Part of a stream, dropped together with it.
struct Guard(Arc<Semaphore>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

impl Feed {
    pub(super) fn new() -> Self {
        Self {
            events: broadcast::Sender::new(64),
            followed: Arc::new(Semaphore::new(0)),
            dropped: Arc::new(Semaphore::new(0)),
            produced: Arc::default(),
            resolved: Arc::default(),
        }
    }

    /// Sends an event to all subscribers.
    pub(super) fn send(&self, event: i32) {
        assert!(self.events.send(event).is_ok(), "there is no subscriber");
    }

    /// Waits until `count` more streams are subscribed.
    pub(super) async fn followed(&self, count: u32) {
        take(&self.followed, count).await;
    }

    /// Waits until `count` more streams are dropped.
    pub(super) async fn dropped(&self, count: u32) {
        take(&self.dropped, count).await;
    }

    /// Returns the number of flood events that were polled.
    pub(super) fn produced(&self) -> usize {
        self.produced.load(Ordering::SeqCst)
    }

    /// Returns the number of events whose content was resolved.
    pub(super) fn resolved(&self) -> usize {
        self.resolved.load(Ordering::SeqCst)
    }

    fn of(ctx: &Context<'_>) -> Self {
        let feed = ctx.data_opt::<Self>();
        feed.expect("the feed is in the schema").clone()
    }

    /// Counts a stream as subscribed now, and as dropped when the guard is dropped.
    fn guard(&self) -> Guard {
        self.followed.add_permits(1);
        Guard(Arc::clone(&self.dropped))
    }
}

async fn take(semaphore: &Semaphore, count: u32) {
    let taken = timeout(Duration::from_secs(20), semaphore.acquire_many(count)).await;
    taken.expect("the event happens in time").unwrap().forget();
}

/// An event whose content has to be resolved.
pub(super) struct Priced(i32);

#[Object]
impl Priced {
    async fn number(&self, ctx: &Context<'_>) -> i32 {
        Feed::of(ctx).resolved.fetch_add(1, Ordering::SeqCst);
        self.0
    }
}

pub(super) struct Subscription;

#[Subscription]
impl Subscription {
    /// The events sent by the test.
    async fn ticks(&self, ctx: &Context<'_>) -> impl Stream<Item = i32> + use<> {
        let feed = Feed::of(ctx);
        let state = (feed.events.subscribe(), feed.guard());
        stream::unfold(state, async |(mut events, guard)| {
            let event = events.recv().await.ok()?;
            Some((event, (events, guard)))
        })
    }
    /// A finite stream of events that pass the gate.
    async fn numbers(&self, ctx: &Context<'_>, to: i32) -> impl Stream<Item = R<i32>> + use<> {
        let (gate, path) = (EventGate::of(ctx), FieldPath::of(ctx));
        stream::iter(0..to).map(move |number| gate.pass(&path).map(|()| number))
    }
    /// The same, with content.
    async fn priced(&self, ctx: &Context<'_>, to: i32) -> impl Stream<Item = R<Priced>> + use<> {
        let (gate, path) = (EventGate::of(ctx), FieldPath::of(ctx));
        stream::iter(0..to).map(move |number| gate.pass(&path).map(|()| Priced(number)))
    }
    /// An endless stream that is always ready.
    async fn flood(&self, ctx: &Context<'_>, bytes: usize) -> impl Stream<Item = String> + use<> {
        let feed = Feed::of(ctx);
        let guard = feed.guard();
        stream::repeat_with(move || {
            let _ = &guard;
            feed.produced.fetch_add(1, Ordering::SeqCst);
            "x".repeat(bytes)
        })
    }
    /// A stream that panics at the second event.
    async fn panics(&self) -> impl Stream<Item = i32> + use<> {
        stream::iter(0..3).inspect(|number| assert_eq!(*number, 0, "a fault in a stream"))
    }
    /// A stream that fails at its only event.
    async fn fails(&self, ctx: &Context<'_>) -> impl Stream<Item = R<i32>> + use<> {
        let failure = Failure::internal("a secret cause").at(ctx);
        stream::iter([Err(failure)])
    }
}
