//! Inputs of the moderation queue.

use async_graphql::{Enum, ID, InputObject};
use vitrine_model::id::GlobalId;
use vitrine_model::moderation;

use super::{language, ratings};
use crate::execution::Failure;
use crate::graphql::scalars::DateTime;

/// A filter for the moderation queue. All given conditions must match.
#[derive(Clone, Debug, Default, InputObject)]
pub(crate) struct ModerationQueueFilterInput {
    /// Reviews of this product; its global id.
    product: Option<ID>,
    /// Reviews with one of these ratings, 1 to 5 stars.
    ratings: Option<Vec<i32>>,
    /// Reviews in this language: a two-letter ISO 639-1 code, or an IETF language tag that begins
    /// with one.
    language: Option<String>,
    /// Reviews that have waited since this time or later.
    queued_since: Option<DateTime>,
    /// Reviews that have waited since before this time.
    queued_before: Option<DateTime>,
}

/// The sorts of the moderation queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "moderation::QueueSort")]
pub(crate) enum ModerationQueueSort {
    /// Longest-waiting first.
    Oldest,
    /// Shortest-waiting first.
    Newest,
}

impl ModerationQueueFilterInput {
    /// Converts the filter to its domain type.
    pub(crate) fn list(self) -> Result<moderation::QueueList, Failure> {
        let product = |id: ID| match GlobalId::decode(&id) {
            Ok(GlobalId::Product(id)) => Ok(id),
            Ok(_) => Err(Failure::bad_input(
                "filter.product: is not the id of a product",
            )),
            Err(error) => Err(Failure::bad_input(format!("filter.product: {error}"))),
        };
        Ok(moderation::QueueList {
            product: self.product.map(product).transpose()?,
            ratings: self.ratings.map(ratings).transpose()?,
            language: self.language.as_deref().map(language).transpose()?,
            since: self.queued_since.map(|at| at.0),
            before: self.queued_before.map(|at| at.0),
            ..moderation::QueueList::default()
        })
    }
}
