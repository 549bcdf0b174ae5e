//! The check that each event of a subscription passes before anything is resolved for it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use async_graphql::ContextBase;

use super::{Failure, FieldPath, Located};

type Check = dyn Fn() -> Result<(), Failure> + Send + Sync;

/// Decides whether the next event of a subscription may be resolved. The first one always may: its
/// cost was checked when the subscription started. Cheap to clone; clones share what was decided.
#[derive(Clone)]
pub struct EventGate(Arc<Gate>);

struct Gate {
    check: Box<Check>,
    has_passed: AtomicBool,
    refused: Mutex<Option<Failure>>,
}

impl EventGate {
    /// Creates a gate whose check is called for every event but the first.
    pub fn new(check: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Gate {
            check: Box::new(check),
            has_passed: AtomicBool::new(false),
            refused: Mutex::default(),
        }))
    }

    /// Creates a gate that all events pass.
    #[must_use]
    pub fn free() -> Self {
        Self::new(|| Ok(()))
    }

    /// Returns the gate of the subscription that `ctx` starts.
    #[must_use]
    pub fn of<T>(ctx: &ContextBase<'_, T>) -> Self {
        ctx.data_opt::<Self>().cloned().unwrap_or_else(Self::free)
    }

    /// Called by a stream that has an update, before it turns it into an event. If this fails, the stream
    /// ends with the failure.
    pub fn pass(&self, path: &FieldPath) -> Result<(), Located> {
        if !self.0.has_passed.swap(true, Relaxed) {
            return Ok(());
        }
        (self.0.check)().map_err(|failure| {
            let refused = self.0.refused.lock();
            *refused.unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
            failure.at_path(path)
        })
    }

    /// Returns the failure of the event that did not pass.
    pub(super) fn refused(&self) -> Option<Failure> {
        let refused = self.0.refused.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for EventGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventGate")
            .field("refused", &self.refused())
            .finish_non_exhaustive()
    }
}
