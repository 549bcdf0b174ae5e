//! Subscriptions to the ratings of a product.
//!
//! Ratings are a state, not events: a resumed subscription sends the current statistics once if
//! they have changed since the cursor; intermediate values are skipped when they change fast.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::Instant;
use vitrine_model::cursor::{InvalidCursor, KeyValue};
use vitrine_model::id::ProductId;
use vitrine_model::rating::RatingStats;
use vitrine_storage::feed::FeedEvent;

use super::hub::FollowHandle;
use super::reviews::QUIET;
use super::{Event, FeedEnded, UpdateKind};
use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// The minimum interval between updates of fast-changing ratings.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(250);
/// The list that these cursors belong to.
const LIST: &[u8] = b"ratingChanged";

/// The current rating statistics.
#[derive(Clone, Debug)]
pub struct RatingUpdate {
    /// Whether they have changed, or why they are sent.
    pub kind: UpdateKind,
    /// The product.
    pub product: ProductId,
    /// The statistics.
    pub stats: Arc<RatingStats>,
    /// The cursor of these statistics.
    pub cursor: String,
}

/// A subscription to the ratings of a product.
#[derive(Debug)]
pub struct RatingFollower {
    catalog: Catalog,
    product: ProductId,
    visibility: Visibility,
    handle: FollowHandle,
    stats: Arc<RatingStats>,
    /// The kind of the first update.
    first: Option<UpdateKind>,
    sent_at: Instant,
}

impl Catalog {
    /// Subscribes to the ratings of a product, from now on or from a cursor.
    ///
    /// # Errors
    /// [`FeedEnded::Gone`] when there is no such product, [`DomainError::InvalidCursor`] for a
    /// cursor of another subscription.
    pub async fn follow_ratings(
        &self,
        product: ProductId,
        after: Option<&str>,
        visibility: Visibility,
    ) -> Result<RatingFollower, FeedEnded> {
        let after = after
            .map(|text| self.rating_point(product, text))
            .transpose()?;
        // Subscribes first, so that changes after the statistics were read are not missed.
        let handle = self.follow(product).await?;
        let stats = self.rating_stats(product, visibility).await?;
        let stats = stats.ok_or(FeedEnded::Gone)?;
        let missed = after.is_some_and(|after| after != stats.fold_seq);
        Ok(RatingFollower {
            catalog: self.clone(),
            product,
            visibility,
            handle,
            stats: Arc::new(stats),
            first: Some(if missed {
                UpdateKind::Happened
            } else {
                UpdateKind::Started
            }),
            sent_at: Instant::now(),
        })
    }

    /// The rating statistics of a product, if it is visible. One command.
    pub(crate) async fn rating_stats(
        &self,
        product: ProductId,
        visibility: Visibility,
    ) -> Result<Option<RatingStats>, DomainError> {
        let read = self.read(|store| async move { store.rating_stats(product).await });
        let found = read.await?;
        let visible = found.filter(|(_, status)| visibility.states().contains(status));
        Ok(visible.map(|(stats, _)| stats))
    }

    fn rating_point(&self, product: ProductId, text: &str) -> Result<i64, DomainError> {
        match self.read_feed_cursor(LIST, product, text)? {
            KeyValue::Int(seq) => Ok(seq),
            _ => Err(DomainError::InvalidCursor {
                field: "after",
                source: InvalidCursor::Damaged,
            }),
        }
    }
}

impl RatingFollower {
    /// Waits for changed statistics and returns them. The first call, and a call without changes
    /// for half a minute, returns the current statistics.
    ///
    /// # Errors
    /// [`FeedEnded`]; no update follows it.
    pub async fn next(&mut self) -> Result<RatingUpdate, FeedEnded> {
        if let Some(first) = self.first.take() {
            return Ok(self.new_update(first));
        }
        loop {
            // Only waiting for a first change can time out, so no change is lost.
            let event =
                match tokio::time::timeout_at(self.sent_at + QUIET, self.next_change()).await {
                    Ok(event) => event?,
                    Err(_) => return Ok(self.new_update(UpdateKind::Quiet)),
                };
            tokio::time::sleep_until(self.sent_at + MIN_UPDATE_INTERVAL).await;
            let event = self.last_change(event);
            let stats = self.read(&event).await?.ok_or(FeedEnded::Gone)?;
            // The value shared with other followers may be older.
            if stats.fold_seq > self.stats.fold_seq {
                self.stats = stats;
                return Ok(self.new_update(UpdateKind::Happened));
            }
        }
    }

    /// The next change.
    async fn next_change(&mut self) -> Result<Arc<Event>, FeedEnded> {
        loop {
            match self.handle.events.recv().await {
                Ok(event) if is_rating(&event) => return Ok(event),
                // Only the last change matters.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(FeedEnded::Lost),
            }
        }
    }

    /// The last of the changes received since.
    fn last_change(&mut self, first: Arc<Event>) -> Arc<Event> {
        let mut last = first;
        loop {
            match self.handle.events.try_recv() {
                Ok(event) if is_rating(&event) => last = event,
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return last,
            }
        }
    }

    /// The statistics, read once for all followers.
    async fn read(&self, event: &Arc<Event>) -> Result<Option<Arc<RatingStats>>, DomainError> {
        let (catalog, product) = (self.catalog.clone(), self.product);
        let stats = event.stats.get_or_try_init(|| async move {
            let read = catalog.read(|store| async move { store.rating_stats(product).await });
            let shared = |(stats, status)| (Arc::new(stats), status);
            Ok::<_, DomainError>(read.await?.map(shared))
        });
        let visible = self.visibility.states();
        let stats = stats.await?.as_ref();
        let stats = stats.filter(|(_, status)| visible.contains(status));
        Ok(stats.map(|(stats, _)| Arc::clone(stats)))
    }

    fn new_update(&mut self, kind: UpdateKind) -> RatingUpdate {
        self.sent_at = Instant::now();
        let key = KeyValue::Int(self.stats.fold_seq);
        RatingUpdate {
            kind,
            product: self.product,
            stats: Arc::clone(&self.stats),
            cursor: self.catalog.feed_cursor(LIST, self.product, key),
        }
    }
}

fn is_rating(event: &Event) -> bool {
    matches!(event.change, FeedEvent::Rated { .. })
}
