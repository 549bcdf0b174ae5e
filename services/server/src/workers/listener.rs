//! Waking workers when the database says that something changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use vitrine_domain::wakeups::Wakeups;
use vitrine_domain::workers::Worker;
use vitrine_domain::{Catalog, DomainError};

use super::board::WorkerBoard;
use super::work_lease::WorkLease;

/// How often it is looked whether what workers were woken for is done.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// How often the place in the stream is kept although nothing happened, so that it stays within
/// what the database remembers.
const KEPT: Duration = Duration::from_mins(1);
/// How long to wait before a stream that was lost is opened again.
const PAUSE: Duration = Duration::from_secs(2);

/// Follows changes whenever this process works.
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
                super::report("changes", Some(&error), &mut failing);
                // Whatever was missed is found by looking.
                for worker in Wakeups::WOKEN {
                    board.wake(worker);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    })
    .await;
}

/// A change whose worker has not dealt with it yet.
type Waiting = (Worker, u64);

async fn follow(
    catalog: &Catalog,
    board: &WorkerBoard,
    failing: &mut bool,
) -> Result<(), DomainError> {
    let wakeups = catalog.wakeups().await?;
    super::report("changes", None, failing);
    let (mut waiting, mut kept) = (Vec::<Waiting>::new(), Instant::now());
    if !wakeups.resumed {
        // What happened before the stream is found by looking; then its place is worth keeping.
        waiting.extend(Wakeups::WOKEN.map(|worker| (worker, board.wake(worker))));
    }
    let mut beats = tokio::time::interval(RENEW_EVERY);
    let mut point = wakeups.point();
    let mut hearing = std::pin::pin!(hear(wakeups));
    loop {
        tokio::select! {
            (wakeups, heard) = hearing.as_mut() => {
                if let Some(worker) = heard? {
                    let run = board.wake(worker);
                    // One entry for each worker: the latest run sees everything.
                    waiting.retain(|(other, _)| *other != worker);
                    waiting.push((worker, run));
                }
                point = wakeups.point();
                hearing.set(hear(wakeups));
            }
            _ = beats.tick() => {
                let before = waiting.len();
                waiting.retain(|(worker, run)| !board.has_succeeded(*worker, *run));
                let news = before > 0 && waiting.is_empty();
                if news || (waiting.is_empty() && kept.elapsed() >= KEPT) {
                    // All that came before is dealt with.
                    if let Some(point) = point.clone() {
                        catalog.keep_wakeups(point).await?;
                    }
                    kept = Instant::now();
                }
            }
        }
    }
}

/// What is heard next. While that is under way nobody else can ask the stream for its place, so it
/// takes the stream along and gives it back.
async fn hear(mut wakeups: Wakeups) -> (Wakeups, Result<Option<Worker>, DomainError>) {
    let heard = wakeups.next().await;
    (wakeups, heard)
}
