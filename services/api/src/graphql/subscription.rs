//! The subscription root.
//!
//! Each subscription is about one product. Its first event says that it has started, and every
//! event has a cursor from which the subscription can be resumed.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, SimpleObject, Subscription as Root};
use futures_util::{Stream, stream};
use vitrine_domain::feed::{FeedEnded, RatingUpdate, ReviewUpdate, UpdateKind};
use vitrine_model::id::{GlobalId, ProductId};

use super::context::{ContextExt as _, Session};
use super::scalars::DateTime;
use super::types::rating::RatingStats;
use super::types::review::Review;
use crate::execution::{ErrorCode, EventGate, Failure, FieldPath, Located, R};

/// The subscription root.
#[derive(Clone, Copy, Debug)]
pub struct Subscription;

/// The kind of a subscription event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(crate) enum EventKind {
    /// The subscription has started; later changes will be reported. The first event, unless
    /// changes were missed since the cursor.
    Started,
    /// The data changed.
    Happened,
    /// A heartbeat with a newer cursor, sent if nothing has changed for half a minute.
    Quiet,
}

/// A newly visible review, or a status event of the subscription.
#[derive(SimpleObject)]
pub(crate) struct ReviewEvent {
    /// The kind of the event.
    kind: EventKind,
    /// The review; null unless `kind` is `HAPPENED`.
    review: Option<Review>,
    /// The cursor to pass as `after` to resume after this event when the connection was lost. Valid
    /// for as long as the database keeps its change history, which is hours to days.
    cursor: String,
    /// When the event was sent.
    at: DateTime,
}

/// Changed ratings of a product, or a status event of the subscription.
#[derive(SimpleObject)]
pub(crate) struct RatingEvent {
    /// The kind of the event.
    kind: EventKind,
    /// The global id of the product.
    product_id: ID,
    /// The current rating numbers.
    rating_stats: RatingStats,
    /// The cursor to pass as `after` when the connection was lost: the current ratings are then
    /// sent at once if they have changed. It does not expire.
    cursor: String,
    /// When the event was sent.
    at: DateTime,
}

/// The subscription root. Subscriptions are delivered over WebSockets with the protocol
/// `graphql-transport-ws`, or as server-sent events with the protocol `graphql-sse`. A client that
/// reads too slowly is disconnected and can resume with its last cursor.
#[Root]
impl Subscription {
    /// The reviews of a product as they become visible, each once, in that order. A review that was
    /// hidden and becomes visible again is sent again.
    async fn review_added(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the product.")] product_id: ID,
        #[graphql(desc = "The cursor to resume from; only new reviews when absent.")] after: Option<
            String,
        >,
    ) -> Result<impl Stream<Item = R<ReviewEvent>> + use<>, Located> {
        let (session, path) = (ctx.session_arc(), FieldPath::of(ctx));
        let product = product(&product_id).map_err(|failure| failure.at_path(&path))?;
        let follower =
            session
                .catalog
                .follow_reviews(product, after.as_deref(), session.visibility);
        let follower = follower.await.map_err(|end| ended(end).at_path(&path))?;
        let following = Some((follower, session, path, EventGate::of(ctx)));
        Ok(stream::unfold(following, async |following| {
            let (mut follower, session, path, gate) = following?;
            // The results cached for earlier events may be out of date.
            let update = follower.next().await;
            session.loaders.forget().await;
            match passed(update, &gate, &path) {
                Ok(update) => {
                    let event = review_event(update, &session);
                    Some((Ok(event), Some((follower, session, path, gate))))
                }
                Err(end) => Some((Err(end), None)),
            }
        }))
    }

    /// The ratings of a product whenever they change, at most four times a second.
    async fn rating_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the product.")] product_id: ID,
        #[graphql(
            desc = "The cursor of the last received event. If the ratings have changed since, they are sent at once."
        )]
        after: Option<String>,
    ) -> Result<impl Stream<Item = R<RatingEvent>> + use<>, Located> {
        let (session, path) = (ctx.session_arc(), FieldPath::of(ctx));
        let product = product(&product_id).map_err(|failure| failure.at_path(&path))?;
        let follower =
            session
                .catalog
                .follow_ratings(product, after.as_deref(), session.visibility);
        let follower = follower.await.map_err(|end| ended(end).at_path(&path))?;
        let following = Some((follower, session, path, EventGate::of(ctx)));
        Ok(stream::unfold(following, async |following| {
            let (mut follower, session, path, gate) = following?;
            let update = follower.next().await;
            session.loaders.forget().await;
            match passed(update, &gate, &path) {
                Ok(update) => {
                    let event = rating_event(&update, &session);
                    Some((Ok(event), Some((follower, session, path, gate))))
                }
                Err(end) => Some((Err(end), None)),
            }
        }))
    }
}

impl From<UpdateKind> for EventKind {
    fn from(kind: UpdateKind) -> Self {
        match kind {
            UpdateKind::Started => Self::Started,
            UpdateKind::Happened => Self::Happened,
            UpdateKind::Quiet => Self::Quiet,
        }
    }
}

fn product(id: &ID) -> Result<ProductId, Failure> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Product(id)) => Ok(id),
        Ok(_) => Err(Failure::bad_input("productId: not the id of a product")),
        Err(error) => Err(Failure::bad_input(format!("productId: {error}"))),
    }
}

/// Returns the update if the caller can pay for it. Nothing has been resolved for it yet.
fn passed<T>(update: Result<T, FeedEnded>, gate: &EventGate, path: &FieldPath) -> R<T> {
    let update = update.map_err(|end| ended(end).at_path(path))?;
    gate.pass(path)?;
    Ok(update)
}

fn review_event(update: ReviewUpdate, session: &Session) -> ReviewEvent {
    ReviewEvent {
        kind: update.kind.into(),
        review: update.review.map(Review),
        cursor: update.cursor,
        at: DateTime(session.catalog.now()),
    }
}

fn rating_event(update: &RatingUpdate, session: &Session) -> RatingEvent {
    RatingEvent {
        kind: update.kind.into(),
        product_id: GlobalId::Product(update.product).encode().into(),
        rating_stats: RatingStats {
            product: update.product,
            stats: Arc::clone(&update.stats),
        },
        cursor: update.cursor.clone(),
        at: DateTime(session.catalog.now()),
    }
}

fn ended(end: FeedEnded) -> Failure {
    let code = match end {
        FeedEnded::Failed(error) => return error.into(),
        FeedEnded::Gone => ErrorCode::NotFound,
        FeedEnded::TooSlow | FeedEnded::Lost => ErrorCode::Unavailable,
    };
    Failure::new(code, end.to_string())
}
