//! Waking workers by a change stream.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use vitrine_domain::wakeups::Wakeups;
use vitrine_domain::workers::Worker;
use vitrine_domain::{Catalog, DomainError};

use super::board::WorkerBoard;
use super::work_lease::WorkLease;

/// How often to check whether the woken workers have succeeded.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// How often the resume token is saved without changes, so that it does not leave the oplog.
const SAVE_EVERY: Duration = Duration::from_mins(1);
/// The pause before a failed stream is opened again.
const PAUSE: Duration = Duration::from_secs(2);

/// Follows changes while this process holds the work lease.
pub(super) async fn listen(
    catalog: Catalog,
    lease: WorkLease,
    board: Arc<WorkerBoard>,
    stop: CancellationToken,
) {
    stop.run_until_cancelled(async move {
        let mut failing = false;
        loop {
            lease.held().await;
            let follow = super::catching_panics(Box::pin(follow(&catalog, &board, &mut failing)));
            let ended = tokio::select! {
                ended = follow => Some(ended),
                () = lease.lost() => None,
            };
            if let Some(Err(error)) = ended {
                super::log_outcome("changes", Some(&error), &mut failing);
                // Changes may have been missed: the workers do a full sweep.
                for worker in Wakeups::WOKEN {
                    board.wake(worker);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    })
    .await;
}

/// A worker woken by a change, and the number of the run that has to succeed before the resume
/// token may be saved.
type PendingRun = (Worker, u64);

async fn follow(
    catalog: &Catalog,
    board: &WorkerBoard,
    failing: &mut bool,
) -> Result<(), DomainError> {
    let wakeups = catalog.wakeups().await?;
    super::log_outcome("changes", None, failing);
    let (mut pending, mut saved) = (Vec::<PendingRun>::new(), Instant::now());
    if !wakeups.resumed {
        // Earlier changes may have been missed: the workers do a full sweep before the first resume
        // token is saved.
        pending.extend(Wakeups::WOKEN.map(|worker| (worker, board.wake(worker))));
    }
    let mut ticks = tokio::time::interval(CHECK_EVERY);
    let mut resume_token = wakeups.resume_token();
    let mut next = std::pin::pin!(next_wakeup(wakeups));
    loop {
        tokio::select! {
            (wakeups, worker) = next.as_mut() => {
                if let Some(worker) = worker? {
                    let run = board.wake(worker);
                    // One entry per worker: the latest run sees all changes.
                    pending.retain(|(other, _)| *other != worker);
                    pending.push((worker, run));
                }
                resume_token = wakeups.resume_token();
                next.set(next_wakeup(wakeups));
            }
            _ = ticks.tick() => {
                let before = pending.len();
                pending.retain(|(worker, run)| !board.has_succeeded(*worker, *run));
                let completed = before > 0 && pending.is_empty();
                if completed || (pending.is_empty() && saved.elapsed() >= SAVE_EVERY) {
                    // All changes up to here have been processed.
                    if let Some(token) = resume_token.clone() {
                        catalog.save_resume_token(token).await?;
                    }
                    saved = Instant::now();
                }
            }
        }
    }
}

/// Waits for the next change. Takes the stream and returns it, because the resume token cannot be
/// read while the stream is borrowed.
async fn next_wakeup(mut wakeups: Wakeups) -> (Wakeups, Result<Option<Worker>, DomainError>) {
    let worker = wakeups.next().await;
    (wakeups, worker)
}
