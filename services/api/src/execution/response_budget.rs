//! The size limits of a response. They hold also when the estimated cost of a request was too low.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_graphql::ContextBase;

use super::{ErrorCode, Failure, Located};

/// The maximum size of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Objects in lists, and the fields that are selected on them.
    pub values: usize,
    /// Bytes of JSON.
    pub bytes: usize,
}

impl ResponseLimits {
    /// No limits.
    pub const NONE: Self = Self {
        values: usize::MAX,
        bytes: usize::MAX,
    };

    /// Returns the failure of a response with too many bytes.
    pub(super) fn too_many_bytes(self) -> Failure {
        let message = format!(
            "The answer is larger than {} bytes. Ask for smaller pages or fewer fields.",
            self.bytes
        );
        Failure::new(ErrorCode::CostExceeded, message)
    }

    fn too_many_values(self) -> Failure {
        let message = format!(
            "The answer has more than {} values. Ask for smaller pages or fewer fields.",
            self.values
        );
        Failure::new(ErrorCode::CostExceeded, message)
    }
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self::NONE
    }
}

/// What the values resolved so far leave of the limits. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub(super) struct ResponseBudget(Arc<Spent>);

#[derive(Debug)]
struct Spent {
    limits: ResponseLimits,
    values: AtomicUsize,
    bytes: AtomicUsize,
}

impl ResponseBudget {
    pub(super) fn new(limits: ResponseLimits) -> Self {
        Self(Arc::new(Spent {
            limits,
            values: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }))
    }

    /// Forgets what was spent, for the next response of a subscription.
    pub(super) fn reset(&self) {
        self.0.values.store(0, Relaxed);
        self.0.bytes.store(0, Relaxed);
    }

    /// Returns the failure of the whole response, if it exceeds a limit.
    pub(super) fn exceeded(&self) -> Option<Failure> {
        let Spent {
            limits,
            values,
            bytes,
        } = &*self.0;
        if values.load(Relaxed) > limits.values {
            return Some(limits.too_many_values());
        }
        (bytes.load(Relaxed) > limits.bytes).then(|| limits.too_many_bytes())
    }

    fn add(&self, values: usize, bytes: usize) -> Result<(), Failure> {
        self.0.values.fetch_add(values, Relaxed);
        self.0.bytes.fetch_add(bytes, Relaxed);
        self.exceeded().map_or(Ok(()), Err)
    }
}

/// Counts values and bytes of text that the field of `ctx` is about to add to the response.
pub(super) fn spend<T>(
    ctx: &ContextBase<'_, T>,
    values: usize,
    bytes: usize,
) -> Result<(), Located> {
    let Some(budget) = ctx.data_opt::<ResponseBudget>() else {
        return Ok(());
    };
    budget.add(values, bytes).map_err(|failure| failure.at(ctx))
}
