//! Live subscriptions: newly visible reviews and changing ratings of products.
//!
//! A process opens one change stream, however many subscribers it has. Events are distributed by
//! product. Each subscriber has a bounded buffer; one that does not keep up is disconnected. The
//! last events are kept in memory, so that a subscriber that returns within a short time misses
//! nothing; one that returns later reads what it missed from the database, as long as the oplog has
//! it.

mod hub;
mod ratings;
mod reviews;

use std::sync::Arc;

use tokio::sync::OnceCell;
use vitrine_model::cursor::{InvalidCursor, KeyValue, ListFingerprint, Position};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::ProductStatus;
use vitrine_model::rating::RatingStats;
use vitrine_model::review::Review;
use vitrine_storage::feed::{FeedEvent, FeedPosition};

use crate::{Catalog, DomainError};

pub(crate) use hub::Hub;
pub use ratings::{RatingFollower, RatingUpdate};
pub use reviews::{ReviewFollower, ReviewUpdate};

/// An event, with the data it refers to once it has been read.
#[derive(Debug)]
pub(crate) struct Event {
    point: FeedPosition,
    change: FeedEvent,
    /// The review, and whether its product is on sale, once read.
    review: OnceCell<Option<(Arc<Review>, bool)>>,
    /// The rating statistics and the status of the product, once read.
    stats: OnceCell<Option<(Arc<RatingStats>, ProductStatus)>>,
}

impl Event {
    fn new((point, change): (FeedPosition, FeedEvent)) -> Self {
        Self {
            point,
            change,
            review: OnceCell::new(),
            stats: OnceCell::new(),
        }
    }

    fn review_id(&self) -> Option<ReviewId> {
        match self.change {
            FeedEvent::Published { review, .. } => Some(review),
            FeedEvent::Rated { .. } => None,
        }
    }
}

/// The kind of update. A subscription begins with `Started` and sends `Quiet` as a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// From now on every event is sent.
    Started,
    /// An event.
    Happened,
    /// No event for half a minute.
    Quiet,
}

/// Why a subscription ended.
#[derive(Debug, thiserror::Error)]
pub enum FeedEnded {
    /// The product does not exist or is no longer visible.
    #[error("there is no such product, or it is no longer on sale")]
    Gone,
    /// The subscriber did not keep up with the events.
    #[error(
        "too many events are waiting; subscribe again with the last cursor, and read events faster"
    )]
    TooSlow,
    /// The change stream was lost, so events may have been missed.
    #[error("the stream of events was lost; subscribe again with the last cursor")]
    Lost,
    /// Any other error.
    #[error(transparent)]
    Failed(#[from] DomainError),
}

impl Catalog {
    fn feed_cursor(&self, of: &[u8], product: ProductId, key: KeyValue) -> String {
        let list = ListFingerprint::of(&[of, &product.to_bytes()]);
        let position = Position {
            keys: vec![key],
            id: 0,
        };
        self.cursors().encode(list, &position)
    }

    fn read_feed_cursor(
        &self,
        of: &[u8],
        product: ProductId,
        text: &str,
    ) -> Result<KeyValue, DomainError> {
        let list = ListFingerprint::of(&[of, &product.to_bytes()]);
        let position = self.cursors().decode(list, text);
        let key = position.and_then(|mut position| {
            let key = position.keys.pop();
            key.ok_or(InvalidCursor::Damaged)
        });
        let field = "after";
        key.map_err(|source| DomainError::InvalidCursor { field, source })
    }
}
