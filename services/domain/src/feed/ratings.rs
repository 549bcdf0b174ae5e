//! Following the ratings of a product.
//!
//! Ratings are a state, not events: who comes back gets the numbers as they are now, once, if they
//! are others than those they had; numbers in between are skipped when they change fast.

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
use super::{Ended, Event, Told};
use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// How often numbers that change fast are told.
const PACE: Duration = Duration::from_millis(250);
/// What cursors of this list are made for.
const LIST: &[u8] = b"ratingChanged";

/// Rating numbers as they are now.
#[derive(Clone, Debug)]
pub struct RatingNews {
    /// Whether they are others than before.
    pub told: Told,
    /// The product.
    pub product: ProductId,
    /// The numbers.
    pub stats: Arc<RatingStats>,
    /// Stands for these numbers.
    pub cursor: String,
}

/// Somebody who follows the ratings of a product.
#[derive(Debug)]
pub struct RatingFollower {
    catalog: Catalog,
    product: ProductId,
    visibility: Visibility,
    seat: FollowHandle,
    stats: Arc<RatingStats>,
    /// What is to be told first.
    first: Option<Told>,
    told_at: Instant,
}

impl Catalog {
    /// Follows the ratings of a product: from now on, or from the numbers that a cursor stands for.
    ///
    /// # Errors
    /// [`Ended::Gone`] when there is no such product, [`DomainError::InvalidCursor`] for a foreign
    /// cursor.
    pub async fn follow_ratings(
        &self,
        product: ProductId,
        after: Option<&str>,
        visibility: Visibility,
    ) -> Result<RatingFollower, Ended> {
        let after = after
            .map(|text| self.rating_point(product, text))
            .transpose()?;
        // First the seat: what changes after the numbers were read is told.
        let seat = self.follow(product).await?;
        let stats = self.rating_stats(product, visibility).await?;
        let stats = stats.ok_or(Ended::Gone)?;
        let missed = after.is_some_and(|after| after != stats.fold_seq);
        Ok(RatingFollower {
            catalog: self.clone(),
            product,
            visibility,
            seat,
            stats: Arc::new(stats),
            first: Some(if missed {
                Told::FeedEvent
            } else {
                Told::Started
            }),
            told_at: Instant::now(),
        })
    }

    /// The rating numbers of a product, if it is seen. One command.
    pub(crate) async fn rating_stats(
        &self,
        product: ProductId,
        visibility: Visibility,
    ) -> Result<Option<RatingStats>, DomainError> {
        let read = self.read(|store| async move { store.rating_stats(product).await });
        let found = read.await?;
        let seen = found.filter(|(_, status)| visibility.states().contains(status));
        Ok(seen.map(|(stats, _)| stats))
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
    /// The numbers when they have changed; waits for it. At first, and when they have not changed
    /// for half a minute, the numbers as they are.
    ///
    /// # Errors
    /// [`Ended`]; then there is nothing more.
    pub async fn next(&mut self) -> Result<RatingNews, Ended> {
        if let Some(first) = self.first.take() {
            return Ok(self.tell(first));
        }
        loop {
            // Only the waiting for a first change is given up, so that none is lost.
            let event = match tokio::time::timeout_at(self.told_at + QUIET, self.changed()).await {
                Ok(event) => event?,
                Err(_) => return Ok(self.tell(Told::Quiet)),
            };
            tokio::time::sleep_until(self.told_at + PACE).await;
            let event = self.last_change(event);
            let stats = self.read(&event).await?.ok_or(Ended::Gone)?;
            // What another follower has read may be older.
            if stats.fold_seq > self.stats.fold_seq {
                self.stats = stats;
                return Ok(self.tell(Told::FeedEvent));
            }
        }
    }

    /// The next change.
    async fn changed(&mut self) -> Result<Arc<Event>, Ended> {
        loop {
            match self.seat.events.recv().await {
                Ok(event) if is_rating(&event) => return Ok(event),
                // Only the last one counts.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(Ended::Lost),
            }
        }
    }

    /// The last of the changes that came since.
    fn last_change(&mut self, first: Arc<Event>) -> Arc<Event> {
        let mut last = first;
        loop {
            match self.seat.events.try_recv() {
                Ok(event) if is_rating(&event) => last = event,
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return last,
            }
        }
    }

    /// The numbers, read once for all who follow.
    async fn read(&self, event: &Arc<Event>) -> Result<Option<Arc<RatingStats>>, DomainError> {
        let (catalog, product) = (self.catalog.clone(), self.product);
        let stats = event.stats.get_or_try_init(|| async move {
            let read = catalog.read(|store| async move { store.rating_stats(product).await });
            let shared = |(stats, status)| (Arc::new(stats), status);
            Ok::<_, DomainError>(read.await?.map(shared))
        });
        let seen = self.visibility.states();
        let stats = stats.await?.as_ref();
        let stats = stats.filter(|(_, status)| seen.contains(status));
        Ok(stats.map(|(stats, _)| Arc::clone(stats)))
    }

    fn tell(&mut self, told: Told) -> RatingNews {
        self.told_at = Instant::now();
        let key = KeyValue::Int(self.stats.fold_seq);
        RatingNews {
            told,
            product: self.product,
            stats: Arc::clone(&self.stats),
            cursor: self.catalog.feed_cursor(LIST, self.product, key),
        }
    }
}

fn is_rating(event: &Event) -> bool {
    matches!(event.happened, FeedEvent::Rated { .. })
}
