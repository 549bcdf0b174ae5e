//! What happens around products, as it is told.

use async_graphql::{ID, InputObject};
use vitrine_domain::activity::{Event, MAX_EVENTS};
use vitrine_domain::outcome::UserError;
use vitrine_model::clock::Timestamp;
use vitrine_model::idempotency::{InvalidIdempotencyKey, is_printable};

use super::user_errors::{UserErrors, path};
use crate::graphql::scalars::DateTime;
use crate::graphql::types::activity::ActivityKind;

/// Something that happened around a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ActivityEventInput {
    /// The product.
    product_id: ID,
    /// What happened.
    kind: ActivityKind,
    /// When; now when absent. At most a day ago, and at most five minutes ahead, which counts as
    /// now.
    at: Option<DateTime>,
}

/// What happened around products.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RecordActivityInput {
    /// The events: 1 to 500.
    events: Vec<ActivityEventInput>,
    /// Names the batch, so that one that is sent twice within ten minutes is counted once by the
    /// process that took it: 1 to 128 printable ASCII characters, such as a random UUID.
    idempotency_key: Option<String>,
}

/// A range of time.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct ActivityRangeInput {
    /// From this instant on; from the beginning of its hour or day.
    from: DateTime,
    /// Up to before this instant; to the end of the hour or day that it lies in.
    to: DateTime,
}

impl ActivityRangeInput {
    pub(crate) fn range(self) -> (Timestamp, Timestamp) {
        (self.from.0, self.to.0)
    }
}

impl RecordActivityInput {
    /// The events and the name of the batch, or everything that is wrong with them.
    pub(crate) fn asked(self) -> Result<(Vec<Event>, Option<String>), Vec<UserError>> {
        let mut errors = UserErrors::default();
        let long = self.events.len();
        if !(1..=MAX_EVENTS).contains(&long) {
            let message = format!("a batch has 1 to {MAX_EVENTS} events, not {long}");
            errors.add(path(["events"]), message);
            return errors.unless_any(None);
        }
        if self
            .idempotency_key
            .as_deref()
            .is_some_and(|key| !is_printable(key))
        {
            let message = InvalidIdempotencyKey.to_string();
            errors.add(path(["idempotencyKey"]), message);
        }
        let mut events = Vec::with_capacity(long);
        for (at, event) in self.events.into_iter().enumerate() {
            let place = path(["events", &at.to_string(), "productId"]);
            let Some(product) = errors.product(place, &event.product_id) else {
                continue;
            };
            events.push(Event {
                product,
                kind: event.kind.into(),
                at: event.at.map(|at| at.0),
            });
        }
        errors.unless_any(Some((events, self.idempotency_key)))
    }
}
