//! Shared work: one caller does it, and all callers that arrived before it began take its result.
//!
//! No result is older than its caller's request, so a caller sees its own earlier writes; and
//! however many callers arrive at once, only one does the work at a time.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::DomainError;

/// Shared work of one kind.
#[derive(Debug)]
pub(crate) struct SingleFlight<T> {
    /// Numbers the arrivals of callers and the starts of the work in one sequence.
    clock: AtomicU64,
    /// The number of the last start and the result; `None` when it failed.
    last: tokio::sync::Mutex<(u64, Option<T>)>,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self {
            clock: AtomicU64::new(1),
            last: tokio::sync::Mutex::new((0, None)),
        }
    }
}

impl<T: Clone> SingleFlight<T> {
    /// Does the work, or takes the result of work that began after this call. If a caller is
    /// dropped while it works, the next one does the work.
    ///
    /// # Errors
    /// The error of the work; [`DomainError::Unavailable`] when another caller's work failed.
    pub(crate) async fn share(
        &self,
        work: impl Future<Output = Result<T, DomainError>>,
    ) -> Result<T, DomainError> {
        let arrived = self.clock.fetch_add(1, Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if last.0 > arrived {
            return last.1.clone().ok_or(DomainError::Unavailable(None));
        }
        let began = self.clock.fetch_add(1, Ordering::SeqCst);
        let result = work.await;
        *last = (began, result.as_ref().ok().cloned());
        result
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn waiting_callers_share_work_that_began_after_they_arrived() {
        let (single_flight, begun) = (SingleFlight::default(), Cell::new(0));
        let work = async || {
            begun.set(begun.get() + 1);
            tokio::task::yield_now().await;
            Ok(begun.get())
        };
        let ask = || single_flight.share(work());
        let mut results = Vec::new();
        for result in join_all((0..5).map(|_| ask())).await {
            results.push(result.unwrap());
        }
        assert_eq!(results, [1, 2, 2, 2, 2]);
        assert_eq!(
            ask().await.unwrap(),
            3,
            "no result is older than its request"
        );
    }

    #[tokio::test]
    async fn a_failure_is_shared_and_forgotten() {
        let (single_flight, begun) = (SingleFlight::default(), Cell::new(0));
        let fails = async || {
            begun.set(begun.get() + 1);
            tokio::task::yield_now().await;
            Err::<u8, _>(DomainError::invalid("field", "reason"))
        };
        let failed = join_all((0..4).map(|_| single_flight.share(fails()))).await;
        assert!(failed.iter().all(Result::is_err));
        assert_eq!(begun.get(), 2, "waiting callers share the second failure");
        assert_eq!(single_flight.share(async { Ok(7) }).await.unwrap(), 7);
    }
}
