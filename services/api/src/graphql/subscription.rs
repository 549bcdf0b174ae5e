//! The root of following.
//!
//! Each subscription is about one product, begins with a sign that it has begun, and gives with
//! every event a cursor to come back to.

use async_graphql::{Context, Enum, ID, SimpleObject, Subscription as Root};
use futures_util::{Stream, stream};
use vitrine_domain::feed::{Ended, RatingNews, ReviewNews, Told};
use vitrine_model::id::{GlobalId, ProductId};

use super::context::{ContextExt as _, Session};
use super::scalars::DateTime;
use super::types::rating::RatingStats;
use super::types::review::Review;
use crate::execution::{ErrorCode, Failure, Located, Place, R};

/// The root of following.
#[derive(Clone, Copy, Debug)]
pub struct Subscription;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(crate) enum EventKind {
    /// From here on everything is told. The first event, unless something was missed.
    Started,
    /// Something happened.
    Happened,
    /// Nothing has happened for half a minute: a sign of life, with a newer cursor.
    Quiet,
}

/// A review that is seen from now on, or a sign of life.
#[derive(SimpleObject)]
pub(crate) struct ReviewEvent {
    /// What it is.
    kind: EventKind,
    /// The review; null unless something happened.
    review: Option<Review>,
    /// Give it as `after` to go on behind this event after the connection was lost. It holds for as
    /// long as the database remembers its changes: hours to days.
    cursor: String,
    /// When it was told.
    at: DateTime,
}

/// The ratings of a product when they have changed, or a sign of life.
#[derive(SimpleObject)]
pub(crate) struct RatingEvent {
    /// What it is.
    kind: EventKind,
    /// The product.
    product_id: ID,
    /// The ratings as they are now.
    rating_stats: RatingStats,
    /// Give it as `after` to be told at once if they have changed while the connection was lost. It
    /// does not grow old.
    cursor: String,
    /// When it was told.
    at: DateTime,
}

/// The root of following: over web sockets, by the protocol `graphql-transport-ws`. Who takes events
/// too slowly is let go, and comes back with the last cursor.
#[Root]
impl Subscription {
    /// Reviews of a product from the moment on in which they are seen: each once, in that order. One
    /// that was hidden and is seen again is told again.
    async fn review_added(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] product_id: ID,
        #[graphql(desc = "What happened behind this cursor; from now on when absent.")]
        after: Option<String>,
    ) -> Result<impl Stream<Item = R<ReviewEvent>> + use<>, Located> {
        let (session, place) = (ctx.session_arc(), Place::of(ctx));
        let product = product(&product_id).map_err(|failure| failure.in_place(&place))?;
        let follower = session
            .catalog
            .follow_reviews(product, after.as_deref(), session.sight);
        let follower = follower.await.map_err(|end| ended(end).in_place(&place))?;
        let following = Some((follower, session, place));
        Ok(stream::unfold(following, async |following| {
            let (mut follower, session, place) = following?;
            // What events before looked up may have changed.
            let news = follower.next().await;
            session.loaders.forget().await;
            match news {
                Ok(news) => {
                    let event = review_event(news, &session);
                    Some((Ok(event), Some((follower, session, place))))
                }
                Err(end) => Some((Err(ended(end).in_place(&place)), None)),
            }
        }))
    }

    /// The ratings of a product when they have changed; when they change fast, four times a second.
    async fn rating_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] product_id: ID,
        #[graphql(desc = "What the caller has; told at once if it is not so any more.")]
        after: Option<String>,
    ) -> Result<impl Stream<Item = R<RatingEvent>> + use<>, Located> {
        let (session, place) = (ctx.session_arc(), Place::of(ctx));
        let product = product(&product_id).map_err(|failure| failure.in_place(&place))?;
        let follower = session
            .catalog
            .follow_ratings(product, after.as_deref(), session.sight);
        let follower = follower.await.map_err(|end| ended(end).in_place(&place))?;
        let following = Some((follower, session, place));
        Ok(stream::unfold(following, async |following| {
            let (mut follower, session, place) = following?;
            let news = follower.next().await;
            session.loaders.forget().await;
            match news {
                Ok(news) => {
                    let event = rating_event(&news, &session);
                    Some((Ok(event), Some((follower, session, place))))
                }
                Err(end) => Some((Err(ended(end).in_place(&place)), None)),
            }
        }))
    }
}

impl From<Told> for EventKind {
    fn from(told: Told) -> Self {
        match told {
            Told::Started => Self::Started,
            Told::Happened => Self::Happened,
            Told::Quiet => Self::Quiet,
        }
    }
}

fn product(id: &ID) -> Result<ProductId, Failure> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Product(id)) => Ok(id),
        Ok(_) => Err(Failure::bad_input("productId: not the id of a product")),
        Err(wrong) => Err(Failure::bad_input(format!("productId: {wrong}"))),
    }
}

fn review_event(news: ReviewNews, session: &Session) -> ReviewEvent {
    ReviewEvent {
        kind: news.told.into(),
        review: news.review.map(Review),
        cursor: news.cursor,
        at: DateTime(session.catalog.now()),
    }
}

fn rating_event(news: &RatingNews, session: &Session) -> RatingEvent {
    RatingEvent {
        kind: news.told.into(),
        product_id: GlobalId::Product(news.product).encode().into(),
        rating_stats: RatingStats {
            product: news.product,
            stats: (*news.stats).clone(),
        },
        cursor: news.cursor.clone(),
        at: DateTime(session.catalog.now()),
    }
}

fn ended(end: Ended) -> Failure {
    let code = match end {
        Ended::Failed(error) => return error.into(),
        Ended::Gone => ErrorCode::NotFound,
        Ended::TooSlow | Ended::Lost => ErrorCode::Unavailable,
    };
    Failure::new(code, end.to_string())
}
