//! Inputs for recording and reading activity on products.

use async_graphql::{ID, InputObject};
use vitrine_domain::activity::{Event, MAX_EVENTS};
use vitrine_domain::outcome::UserError;
use vitrine_model::clock::Timestamp;
use vitrine_model::idempotency::{InvalidIdempotencyKey, is_printable};

use super::user_errors::{UserErrors, path};
use crate::graphql::scalars::DateTime;
use crate::graphql::types::activity::ActivityKind;

/// An activity event.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ActivityEventInput {
    /// The global id of the product.
    product_id: ID,
    /// The kind of activity.
    kind: ActivityKind,
    /// The time of the event; now when absent. It may be up to one day in the past and up to five
    /// minutes in the future; a future time counts as now.
    at: Option<DateTime>,
}

/// The input of `recordActivity`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RecordActivityInput {
    /// The events: 1 to 500.
    events: Vec<ActivityEventInput>,
    /// The idempotency key of the batch. A batch that is sent again with the same key within ten
    /// minutes is not counted again if it reaches the same server process. 1 to 128 printable ASCII
    /// characters, such as a random UUID.
    idempotency_key: Option<String>,
}

/// A period of time, extended to whole hours or days.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct ActivityRangeInput {
    /// The start; rounded down to the start of its hour or day.
    from: DateTime,
    /// The end, exclusive; rounded up to the end of its hour or day.
    to: DateTime,
}

impl ActivityRangeInput {
    pub(crate) fn range(self) -> (Timestamp, Timestamp) {
        (self.from.0, self.to.0)
    }
}

impl RecordActivityInput {
    /// Returns the events and the idempotency key of the batch, or all errors in the input.
    pub(crate) fn parse(self) -> Result<(Vec<Event>, Option<String>), Vec<UserError>> {
        let mut errors = UserErrors::default();
        let length = self.events.len();
        if !(1..=MAX_EVENTS).contains(&length) {
            let message = format!("a batch has 1 to {MAX_EVENTS} events, not {length}");
            errors.add(path(["events"]), message);
            return errors.finish(None);
        }
        if self
            .idempotency_key
            .as_deref()
            .is_some_and(|key| !is_printable(key))
        {
            let message = InvalidIdempotencyKey.to_string();
            errors.add(path(["idempotencyKey"]), message);
        }
        let mut events = Vec::with_capacity(length);
        for (at, event) in self.events.into_iter().enumerate() {
            let path = path(["events", &at.to_string(), "productId"]);
            let Some(product) = errors.product(path, &event.product_id) else {
                continue;
            };
            events.push(Event {
                product,
                kind: event.kind.into(),
                at: event.at.map(|at| at.0),
            });
        }
        errors.finish(Some((events, self.idempotency_key)))
    }
}
