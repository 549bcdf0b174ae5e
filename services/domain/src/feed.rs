//! Following products: reviews that are seen from now on, and ratings that change.
//!
//! However many follow, a process follows the database once. Events are handed on by product; each
//! follower has a place for some that wait, and one that does not keep up is let go instead of
//! being remembered for. The last events are kept in memory, so that whoever comes back after a
//! moment, or a minute, misses nothing; whoever comes back later gets what was missed from the
//! database, as long as that remembers it.

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
pub use ratings::{RatingFollower, RatingNews};
pub use reviews::{ReviewFollower, ReviewNews};

/// An event, and what it stands for once somebody has read it.
#[derive(Debug)]
pub(crate) struct Event {
    point: FeedPosition,
    happened: FeedEvent,
    /// The review, and whether its product is on sale.
    review: OnceCell<Option<(Arc<Review>, bool)>>,
    /// The numbers, and the state of the product.
    stats: OnceCell<Option<(Arc<RatingStats>, ProductStatus)>>,
}

impl Event {
    fn new((point, happened): (FeedPosition, FeedEvent)) -> Self {
        Self {
            point,
            happened,
            review: OnceCell::new(),
            stats: OnceCell::new(),
        }
    }

    fn review_id(&self) -> Option<ReviewId> {
        match self.happened {
            FeedEvent::Published { review, .. } => Some(review),
            FeedEvent::Rated { .. } => None,
        }
    }
}

/// What a follower is told first, and again when nothing has happened for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// From here on everything is told.
    Started,
    /// Something happened.
    FeedEvent,
    /// Nothing has happened for half a minute.
    Quiet,
}

/// Why following ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The product is not there, or not seen any more.
    #[error("there is no such product, or it is not on sale any more")]
    Gone,
    /// So much happened that the follower could not take it.
    #[error(
        "more happened than was taken; follow again after the last cursor, and take events faster"
    )]
    TooSlow,
    /// The database was lost, so that something may have been missed.
    #[error("the stream of events was lost; follow again after the last cursor")]
    Lost,
    /// Anything else.
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
