//! Following the reviews of a product.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use vitrine_model::cursor::{InvalidCursor, KeyValue};
use vitrine_model::id::ProductId;
use vitrine_model::review::{Review, ReviewStatus};
use vitrine_storage::feed::FeedPosition;

use super::hub::{FollowHandle, Missed};
use super::{Ended, Event, Told};
use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// How long nothing happens before the follower is told so.
pub(super) const QUIET: Duration = Duration::from_secs(30);
/// What cursors of this list are made for.
const LIST: &[u8] = b"reviewAdded";

/// A review that is seen from now on, or a sign of life.
#[derive(Clone, Debug)]
pub struct ReviewNews {
    /// What it is.
    pub told: Told,
    /// The review; `None` in a sign of life.
    pub review: Option<Arc<Review>>,
    /// Behind which nothing has been missed so far.
    pub cursor: String,
}

/// Somebody who follows the reviews of a product.
#[derive(Debug)]
pub struct ReviewFollower {
    catalog: Catalog,
    product: ProductId,
    visibility: Visibility,
    seat: FollowHandle,
    /// What happened before the seat was taken, as far as it was found.
    missed: VecDeque<Arc<Event>>,
    /// Behind where it is to be looked for more of it.
    gap: Option<FeedPosition>,
    /// Up to where everything was told.
    told: FeedPosition,
    started: bool,
    /// When it is time for a sign of life.
    quiet_at: Instant,
}

impl Catalog {
    /// Follows the reviews of a product: from now on, or behind a cursor.
    ///
    /// # Errors
    /// [`Ended::Gone`] when there is no such product, [`DomainError::InvalidCursor`] for a cursor
    /// that is foreign, or so old that the database has forgotten what came behind it.
    pub async fn follow_reviews(
        &self,
        product: ProductId,
        after: Option<&str>,
        visibility: Visibility,
    ) -> Result<ReviewFollower, Ended> {
        let after = after
            .map(|text| self.review_point(product, text))
            .transpose()?;
        if self.rating_stats(product, visibility).await?.is_none() {
            return Err(Ended::Gone);
        }
        let seat = self.follow(product).await?;
        let (missed, gap) = match &after {
            Some(after) => self.missed_reviews(product, after, &seat).await?,
            None => (VecDeque::new(), None),
        };
        Ok(ReviewFollower {
            catalog: self.clone(),
            product,
            visibility,
            told: after.unwrap_or_else(|| seat.from.clone()),
            seat,
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

    /// What was missed before a seat was taken, and behind where there may be more.
    async fn missed_reviews(
        &self,
        product: ProductId,
        after: &FeedPosition,
        seat: &FollowHandle,
    ) -> Result<(VecDeque<Arc<Event>>, Option<FeedPosition>), DomainError> {
        let to = seat.from.clone();
        if *after >= to {
            return Ok((VecDeque::new(), None));
        }
        let (missed, gap) = match self.hub().missed(product, after, &to) {
            Missed::These(events) => (events, None),
            Missed::Unknown => self.catch_up(product, after.clone(), to).await?,
        };
        let reviews = missed
            .into_iter()
            .filter(|event| event.review_id().is_some());
        Ok((reviews.collect(), gap))
    }
}

impl ReviewFollower {
    /// What happens next; waits for it. At first, and when nothing has happened for half a minute,
    /// a sign of life with a cursor to come back to.
    ///
    /// # Errors
    /// [`Ended`]; then there is nothing more.
    pub async fn next(&mut self) -> Result<ReviewNews, Ended> {
        if !self.started {
            self.started = true;
            return Ok(self.sign(Told::Started));
        }
        loop {
            if let Some(event) = self.missed.pop_front() {
                if let Some(news) = self.tell(&event).await? {
                    return Ok(news);
                }
                continue;
            }
            if let Some(gap) = self.gap.take() {
                let missed = self.catalog.missed_reviews(self.product, &gap, &self.seat);
                (self.missed, self.gap) = missed.await?;
                self.told = gap.max(self.told.clone());
                if Instant::now() >= self.quiet_at && self.missed.is_empty() {
                    return Ok(self.sign(Told::Quiet));
                }
                continue;
            }
            // Everything up to here is on its way already.
            let at = self.catalog.hub().at();
            match tokio::time::timeout_at(self.quiet_at, self.seat.events.recv()).await {
                Ok(Ok(event)) => {
                    if let Some(news) = self.tell(&event).await? {
                        return Ok(news);
                    }
                }
                Ok(Err(RecvError::Lagged(_))) => self.missed = self.fallen_behind()?,
                Ok(Err(RecvError::Closed)) => return Err(Ended::Lost),
                Err(_) => {
                    self.told = at.into_iter().fold(self.told.clone(), FeedPosition::max);
                    return Ok(self.sign(Told::Quiet));
                }
            }
        }
    }

    /// What has come since the last event that was told, as long as this process remembers it.
    fn fallen_behind(&self) -> Result<VecDeque<Arc<Event>>, Ended> {
        let hub = self.catalog.hub();
        let to = hub.at().ok_or(Ended::Lost)?;
        match hub.missed(self.product, &self.told, &to) {
            Missed::These(events) => Ok(events.into()),
            Missed::Unknown => Err(Ended::TooSlow),
        }
    }

    /// The news of an event; `None` when there is nothing to tell.
    async fn tell(&mut self, event: &Arc<Event>) -> Result<Option<ReviewNews>, Ended> {
        if event.point <= self.told {
            return Ok(None);
        }
        let review = self.read(event).await?;
        self.told = event.point.clone();
        Ok(review.map(|review| ReviewNews {
            review: Some(review),
            ..self.sign(Told::FeedEvent)
        }))
    }

    /// The review of an event, read once for all who follow. It may be gone again.
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
        let seen = review
            .await?
            .as_ref()
            .filter(|(_, on_sale)| all || *on_sale);
        Ok(seen.map(|(review, _)| Arc::clone(review)))
    }

    fn sign(&mut self, told: Told) -> ReviewNews {
        self.quiet_at = Instant::now() + QUIET;
        let key = KeyValue::Text(self.told.as_str().to_owned());
        ReviewNews {
            told,
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
