//! Subscriptions to the reviews of a product.
//!
//! The cursor of an event is its resume token, signed and bound to the product and the
//! subscription. With `after`, missed events come from the 10,000 events that the process keeps,
//! or else from a change stream of their own, up to where the common stream began. Tokens are
//! compared, so no event is delivered twice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use vitrine_model::cursor::{InvalidCursor, KeyValue};
use vitrine_model::id::ProductId;
use vitrine_model::review::{Review, ReviewStatus};
use vitrine_storage::feed::FeedPosition;

use super::hub::{Buffered, FollowHandle};
use super::{Event, FeedEnded, UpdateKind};
use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// The heartbeat interval.
pub(super) const QUIET: Duration = Duration::from_secs(30);
/// The list that these cursors belong to.
const LIST: &[u8] = b"reviewAdded";

/// A newly visible review, or a heartbeat.
#[derive(Clone, Debug)]
pub struct ReviewUpdate {
    /// The kind of update.
    pub kind: UpdateKind,
    /// The review; `None` unless `kind` is [`UpdateKind::Happened`].
    pub review: Option<Arc<Review>>,
    /// The cursor to resume after this event without missing any.
    pub cursor: String,
}

/// A subscription to the reviews of a product.
#[derive(Debug)]
pub struct ReviewFollower {
    catalog: Catalog,
    product: ProductId,
    visibility: Visibility,
    handle: FollowHandle,
    /// Missed events that are still to be sent.
    missed: VecDeque<Arc<Event>>,
    /// The position to continue the catch-up from.
    gap: Option<FeedPosition>,
    /// The position up to which everything has been sent.
    sent: FeedPosition,
    started: bool,
    /// When the next heartbeat is due.
    quiet_at: Instant,
}

impl Catalog {
    /// Subscribes to the reviews of a product, from now on or from a cursor.
    ///
    /// # Errors
    /// [`FeedEnded::Gone`] when there is no such product, [`DomainError::InvalidCursor`] for a
    /// cursor of another subscription, or one that is older than the database's change history.
    pub async fn follow_reviews(
        &self,
        product: ProductId,
        after: Option<&str>,
        visibility: Visibility,
    ) -> Result<ReviewFollower, FeedEnded> {
        let after = after
            .map(|text| self.review_point(product, text))
            .transpose()?;
        if self.rating_stats(product, visibility).await?.is_none() {
            return Err(FeedEnded::Gone);
        }
        let handle = self.follow(product).await?;
        let (missed, gap) = match &after {
            Some(after) => self.missed_reviews(product, after, &handle).await?,
            None => (VecDeque::new(), None),
        };
        Ok(ReviewFollower {
            catalog: self.clone(),
            product,
            visibility,
            sent: after.unwrap_or_else(|| handle.from.clone()),
            handle,
            missed,
            gap,
            started: false,
            quiet_at: Instant::now() + QUIET,
        })
    }

    fn review_point(&self, product: ProductId, text: &str) -> Result<FeedPosition, DomainError> {
        match self.read_feed_cursor(LIST, product, text)? {
            KeyValue::Text(point) => Ok(FeedPosition::new(point)),
            _ => Err(damaged()),
        }
    }

    /// The events missed before subscribing, and the position to continue from if there may be
    /// more.
    async fn missed_reviews(
        &self,
        product: ProductId,
        after: &FeedPosition,
        handle: &FollowHandle,
    ) -> Result<(VecDeque<Arc<Event>>, Option<FeedPosition>), DomainError> {
        let to = handle.from.clone();
        if *after >= to {
            return Ok((VecDeque::new(), None));
        }
        let (missed, gap) = match self.hub().buffered_between(product, after, &to) {
            Buffered::Events(events) => (events, None),
            Buffered::TooOld => self.catch_up(product, after.clone(), to).await?,
        };
        let reviews = missed
            .into_iter()
            .filter(|event| event.review_id().is_some());
        Ok((reviews.collect(), gap))
    }
}

impl ReviewFollower {
    /// Waits for the next review and returns it. The first call, and a call without events for half
    /// a minute, returns a heartbeat with a cursor to resume from.
    ///
    /// # Errors
    /// [`FeedEnded`]; no update follows it.
    pub async fn next(&mut self) -> Result<ReviewUpdate, FeedEnded> {
        if !self.started {
            self.started = true;
            return Ok(self.new_update(UpdateKind::Started));
        }
        loop {
            if let Some(event) = self.missed.pop_front() {
                if let Some(update) = self.update_of(&event).await? {
                    return Ok(update);
                }
                continue;
            }
            if let Some(gap) = self.gap.take() {
                let missed = self
                    .catalog
                    .missed_reviews(self.product, &gap, &self.handle);
                (self.missed, self.gap) = missed.await?;
                self.sent = gap.max(self.sent.clone());
                if Instant::now() >= self.quiet_at && self.missed.is_empty() {
                    return Ok(self.new_update(UpdateKind::Quiet));
                }
                continue;
            }
            // All events up to this position have been sent to the handle.
            let at = self.catalog.hub().at();
            match tokio::time::timeout_at(self.quiet_at, self.handle.events.recv()).await {
                Ok(Ok(event)) => {
                    if let Some(update) = self.update_of(&event).await? {
                        return Ok(update);
                    }
                }
                Ok(Err(RecvError::Lagged(_))) => self.missed = self.events_since_last_sent()?,
                Ok(Err(RecvError::Closed)) => return Err(FeedEnded::Lost),
                Err(_) => {
                    self.sent = at.into_iter().fold(self.sent.clone(), FeedPosition::max);
                    return Ok(self.new_update(UpdateKind::Quiet));
                }
            }
        }
    }

    /// The events since the last sent one, if this process still buffers them.
    fn events_since_last_sent(&self) -> Result<VecDeque<Arc<Event>>, FeedEnded> {
        let hub = self.catalog.hub();
        let to = hub.at().ok_or(FeedEnded::Lost)?;
        match hub.buffered_between(self.product, &self.sent, &to) {
            Buffered::Events(events) => Ok(events.into()),
            Buffered::TooOld => Err(FeedEnded::TooSlow),
        }
    }

    /// The update for an event; `None` when there is nothing to send.
    async fn update_of(&mut self, event: &Arc<Event>) -> Result<Option<ReviewUpdate>, FeedEnded> {
        if event.point <= self.sent {
            return Ok(None);
        }
        let review = self.read(event).await?;
        self.sent = event.point.clone();
        Ok(review.map(|review| ReviewUpdate {
            review: Some(review),
            ..self.new_update(UpdateKind::Happened)
        }))
    }

    /// The review of an event, read once for all followers. It may be hidden again.
    async fn read(&self, event: &Arc<Event>) -> Result<Option<Arc<Review>>, DomainError> {
        let Some(id) = event.review_id() else {
            return Ok(None);
        };
        let (catalog, product) = (self.catalog.clone(), self.product);
        let review = event.review.get_or_try_init(|| async move {
            let found = catalog
                .read(|store| async move {
                    let on_sale = Visibility::Public.states();
                    store.get_many_reviews(&[(product, id)], on_sale).await
                })
                .await?;
            let published = |(review, _): &(Review, bool)| review.status == ReviewStatus::Published;
            let found = found.into_iter().find(published);
            Ok::<_, DomainError>(found.map(|(review, on_sale)| (Arc::new(review), on_sale)))
        });
        let all = self.visibility == Visibility::Everything;
        let visible = review
            .await?
            .as_ref()
            .filter(|(_, on_sale)| all || *on_sale);
        Ok(visible.map(|(review, _)| Arc::clone(review)))
    }

    fn new_update(&mut self, kind: UpdateKind) -> ReviewUpdate {
        self.quiet_at = Instant::now() + QUIET;
        let key = KeyValue::Text(self.sent.as_str().to_owned());
        ReviewUpdate {
            kind,
            review: None,
            cursor: self.catalog.feed_cursor(LIST, self.product, key),
        }
    }
}

fn damaged() -> DomainError {
    DomainError::InvalidCursor {
        field: "after",
        source: InvalidCursor::Damaged,
    }
}
