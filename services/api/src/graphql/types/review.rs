//! Reviews.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::review::{self, ReviewStatus, TopReview};

use super::common::{Media, count};
use super::details::all;
use super::product::Product;
use crate::execution::{NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// Whether a review is seen and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ReviewStatus", remote = "ReviewStatus")]
pub(crate) enum Status {
    /// Waits for a moderator.
    Pending,
    /// Seen by everyone, and counted.
    Published,
    /// Refused by a moderator.
    Rejected,
    /// Taken back by its author.
    Deleted,
}

/// Who wrote a review.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ReviewAuthor {
    /// The name shown.
    name: String,
}

/// The stars that a review gives one aspect of the product.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct DimensionRating {
    /// The aspect, such as `fit`.
    name: String,
    /// The stars, 1 to 5.
    rating: i32,
}

/// A review in full.
#[derive(Clone)]
pub(crate) struct Review(pub(crate) Arc<review::Review>);

/// A review in full.
#[Object]
impl Review {
    /// Identifies the review.
    pub(crate) async fn id(&self) -> ID {
        GlobalId::Review(self.0.product_id, self.0.id)
            .encode()
            .into()
    }

    /// The product it is about; null when the caller may not see it.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
        let found = ctx.session().loaders.product(self.0.product_id).await;
        found
            .and_then(|view| view.map(Product::of).transpose())
            .nullable_at(ctx)
    }

    /// Who wrote it; null when it is anonymous.
    async fn author(&self) -> Option<ReviewAuthor> {
        author(self.0.author.as_ref())
    }

    /// The stars, 1 to 5.
    async fn rating(&self) -> i32 {
        i32::from(self.0.rating.get())
    }

    /// Whether the author recommends the product; null when not told.
    async fn recommended(&self) -> Option<bool> {
        self.0.recommended
    }

    /// The stars for single aspects, by name.
    async fn dimensions(&self) -> Vec<DimensionRating> {
        let dimensions = self.0.dimensions.iter();
        dimensions
            .map(|(name, stars)| DimensionRating {
                name: name.clone(),
                rating: i32::from(stars.get()),
            })
            .collect()
    }

    /// The title; may be empty. Plain text.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// The text; may be empty. Plain text: markup in it means nothing.
    async fn body(&self) -> &str {
        &self.0.body
    }

    /// The language as an IETF tag, when known.
    async fn language(&self) -> Option<&str> {
        self.0.language.as_deref()
    }

    /// Pictures and films.
    async fn media(&self) -> Vec<Media> {
        all(self.0.media.clone())
    }

    /// Whether the author is known to have bought the product.
    async fn verified(&self) -> bool {
        self.0.verified
    }

    /// Whether the author was given something for the review.
    async fn incentivized(&self) -> bool {
        self.0.incentivized
    }

    /// How many found it helpful.
    async fn helpful_count(&self) -> i32 {
        count(self.0.helpful)
    }

    /// How many did not.
    async fn unhelpful_count(&self) -> i32 {
        count(self.0.unhelpful)
    }

    /// Whether it is seen and counted.
    async fn status(&self) -> Status {
        self.0.status.into()
    }

    /// When it was written; null on imports without a date.
    async fn created_at(&self) -> Option<DateTime> {
        self.0.created_at.map(DateTime)
    }

    /// When its author last changed it; null when never.
    async fn edited_at(&self) -> Option<DateTime> {
        self.0.edited_at.map(DateTime)
    }
}

/// The part of a helpful review that its product carries, so that it costs no look-up.
pub(crate) struct ReviewExcerpt {
    pub(crate) product: ProductId,
    pub(crate) review: TopReview,
}

/// The part of a helpful review that its product carries, so that it costs no look-up.
#[Object]
impl ReviewExcerpt {
    /// The id of the review; `node` gives it in full.
    async fn id(&self) -> ID {
        GlobalId::Review(self.product, self.review.id)
            .encode()
            .into()
    }

    /// The stars, 1 to 5.
    async fn rating(&self) -> i32 {
        i32::from(self.review.rating.get())
    }

    /// The title; may be empty.
    async fn title(&self) -> &str {
        &self.review.title
    }

    /// The beginning of the text, at most 300 characters, cut where a word ends.
    async fn excerpt(&self) -> &str {
        &self.review.excerpt
    }

    /// Whether the text goes on.
    async fn truncated(&self) -> bool {
        self.review.truncated
    }

    /// Who wrote it; null when it is anonymous.
    async fn author(&self) -> Option<ReviewAuthor> {
        author(self.review.author.as_ref())
    }

    /// How many found it helpful.
    async fn helpful_count(&self) -> i32 {
        count(self.review.helpful)
    }

    /// Whether the author is known to have bought the product.
    async fn verified(&self) -> bool {
        self.review.verified
    }

    /// When it was written; null on imports without a date.
    async fn created_at(&self) -> Option<DateTime> {
        self.review.created_at.map(DateTime)
    }
}

fn author(author: Option<&review::Author>) -> Option<ReviewAuthor> {
    author.map(|author| ReviewAuthor {
        name: author.name.clone(),
    })
}
