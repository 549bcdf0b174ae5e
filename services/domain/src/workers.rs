//! The background workers: what each does, and how often.
//!
//! A worker is a reconciler: it takes no input, finds its work in the database, does a part of it
//! that takes at most a few seconds (a whole import, for `imports`), and reports what is left. It may
//! run at any time, in any process, and be killed at any point. The server decides who runs it and schedules it.

use std::time::Duration;
use strum::EnumCount;

use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::spec::SpecKey;
use vitrine_model::text::excerpt;
use vitrine_model::worker::{WorkerReport, WorkerRun};
use vitrine_storage::audit_findings::{AuditRound, NewFinding};
use vitrine_storage::batch::Batch;
use vitrine_storage::leases::Lease;

use crate::facets::PanelState;
use crate::maintenance::{FoldRoundState, RanksState};
use crate::propagation::{BundleState, PropagationState};
use crate::reviewing::ratings::StatsAudit;
use crate::trending::TrendingState;
use crate::{Catalog, DomainError};

/// The lease of the process that runs the workers.
const WORK: &str = "work";
/// The number of products audited per run.
const AUDIT_BATCH: i32 = 100;
/// The maximum number of differences of a round that are kept.
const MAX_KEPT_FINDINGS: u64 = 1_000;
/// How often rounds without differences are stored, in milliseconds.
const ROUND_STORED_MILLIS: i64 = 60_000;
/// The maximum length of a value that is kept, in characters.
const MAX_FINDING_TEXT: usize = 500;

/// A background worker. One process at a time runs them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumCount)]
pub enum Worker {
    /// Folds new and changed reviews into the statistics of their products.
    Fold,
    /// Updates the sort positions of products by rating and popularity.
    Ranks,
    /// Updates the copies of suppliers in products.
    Suppliers,
    /// Updates the copies of products in bundles.
    Bundles,
    /// Rewrites products whose spec keys were merged.
    Merges,
    /// Makes bulk changes of products.
    BulkChanges,
    /// Runs the imports that were started by a mutation.
    Imports,
    /// Precomputes filter panels.
    Panels,
    /// Completes interrupted erasures.
    Erasures,
    /// Upgrades reviews to the current schema version.
    ReviewVersions,
    /// Upgrades products to the current schema version.
    ProductVersions,
    /// Aggregates views, carts and purchases into buckets.
    Activity,
    /// Recomputes trending products and activity summaries.
    Trending,
    /// Verifies reviews written while a purchase of the product was recorded.
    Purchases,
    /// Deletes pictures that nothing shows.
    Pictures,
    /// Recounts reviews and compares the result with the stored statistics.
    Audit,
}

/// What workers remember between runs. Lost with the process, and not needed for correctness.
#[derive(Debug, Default)]
pub struct MaintenanceState {
    fold: FoldRoundState,
    propagation: PropagationState,
    bundles: BundleState,
    panels: PanelState,
    ranks: RanksState,
    trending: TrendingState,
    audited: Option<ProductId>,
    audit_round: RoundState,
    /// The result of the audit's last run.
    pub audit: AuditRun,
}

/// The round of the audit that goes on.
#[derive(Debug, Default)]
struct RoundState {
    began_at: Option<Timestamp>,
    products: u64,
    differences: u64,
    /// The last round that was stored.
    stored: Option<AuditRound>,
}

/// The result of a run of the audit.
#[derive(Debug, Default)]
pub struct AuditRun {
    /// The number of products recounted.
    pub products: usize,
    /// Whether these were the last ones, so that the next run begins with the first.
    pub round: bool,
    /// The statistics that differed from the recount.
    pub differences: Vec<&'static str>,
}

/// Whether a round is to be stored: it found something, or the stored one did or is too old.
fn should_store(ended: &AuditRound, stored: Option<&AuditRound>) -> bool {
    ended.differences > 0
        || stored.is_none_or(|stored| {
            let due = stored.ended_at.plus_millis(ROUND_STORED_MILLIS);
            stored.differences > 0 || due <= ended.ended_at
        })
}

impl Worker {
    /// All workers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Fold,
        Self::Ranks,
        Self::Suppliers,
        Self::Bundles,
        Self::Merges,
        Self::BulkChanges,
        Self::Imports,
        Self::Panels,
        Self::Erasures,
        Self::ReviewVersions,
        Self::ProductVersions,
        Self::Activity,
        Self::Trending,
        Self::Purchases,
        Self::Pictures,
        Self::Audit,
    ];

    /// Its name in logs, metrics and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fold => "fold",
            Self::Ranks => "ranks",
            Self::Suppliers => "suppliers",
            Self::Bundles => "bundles",
            Self::Merges => "merges",
            Self::BulkChanges => "bulk_changes",
            Self::Imports => "imports",
            Self::Panels => "panels",
            Self::Erasures => "erasures",
            Self::ReviewVersions => "review_versions",
            Self::ProductVersions => "product_versions",
            Self::Activity => "activity",
            Self::Trending => "trending",
            Self::Purchases => "purchases",
            Self::Pictures => "pictures",
            Self::Audit => "audit",
        }
    }

    /// The worker with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|worker| worker.name() == name)
    }

    /// What it does, in one sentence.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Fold => "Folds new and changed reviews into the statistics of their products.",
            Self::Ranks => {
                "Moves products in lists by rating and popularity, and in filters by rating."
            }
            Self::Suppliers => "Updates the copies of suppliers in products.",
            Self::Bundles => "Updates the copies of products in bundles.",
            Self::Merges => "Rewrites products whose spec keys were merged.",
            Self::BulkChanges => "Makes bulk changes of products.",
            Self::Imports => "Runs the imports that were started by a mutation.",
            Self::Panels => "Precomputes filter panels.",
            Self::Erasures => "Completes interrupted erasures of authors.",
            Self::ReviewVersions => "Upgrades reviews to the current schema version.",
            Self::ProductVersions => "Upgrades products to the current schema version.",
            Self::Activity => "Aggregates views, carts and purchases into buckets.",
            Self::Trending => "Recomputes trending products and activity summaries.",
            Self::Purchases => {
                "Verifies reviews written while a purchase of the product was recorded."
            }
            Self::Pictures => "Deletes uploaded pictures that nothing shows.",
            Self::Audit => "Recounts reviews and compares the result with the stored statistics.",
        }
    }

    /// How long it waits after a run that left no backlog, unless it is woken. After a long run it
    /// waits longer, up to some minutes, so that it works a twentieth of the time; unless it [is
    /// prompt](Self::is_prompt).
    #[must_use]
    pub const fn every(self) -> Duration {
        match self {
            Self::Ranks => Duration::from_secs(1),
            Self::Fold | Self::Activity | Self::Erasures | Self::BulkChanges | Self::Imports => {
                Duration::from_secs(2)
            }
            Self::Panels => Duration::from_secs(3),
            Self::Audit => Duration::from_secs(5),
            Self::Purchases => Duration::from_secs(10),
            Self::Suppliers | Self::Bundles | Self::Merges => Duration::from_secs(15),
            Self::ReviewVersions | Self::ProductVersions | Self::Trending | Self::Pictures => {
                Duration::from_mins(1)
            }
        }
    }

    /// Whether it never waits longer after a long run: somebody is waiting for its work, and an
    /// idle run costs almost nothing.
    #[must_use]
    pub const fn is_prompt(self) -> bool {
        matches!(self, Self::Erasures | Self::BulkChanges | Self::Imports)
    }

    /// Whether a run may take long, and is dropped when its process stops or loses the lease.
    #[must_use]
    pub const fn is_interruptible(self) -> bool {
        matches!(self, Self::Imports)
    }

    /// How long it waits after a run that took `took` and left a backlog. Workers that rewrite many
    /// products leave the database alone for two fifths of the time, so that most reads are
    /// answered during pauses.
    #[must_use]
    pub fn pause(self, took: Duration) -> Duration {
        match self {
            Self::Ranks
            | Self::Suppliers
            | Self::Bundles
            | Self::BulkChanges
            | Self::ProductVersions => (took * 2 / 3).max(Duration::from_millis(20)),
            Self::ReviewVersions | Self::Activity => Duration::from_millis(100),
            _ => Duration::from_secs(1),
        }
    }
}

impl Catalog {
    /// One run of a worker: does a part of the work and reports the backlog. Running it without a
    /// backlog changes nothing.
    ///
    /// # Errors
    /// The first error, after everything else that could be done. Many workers report an error only
    /// once nothing else is left to do.
    pub async fn work(
        &self,
        worker: Worker,
        state: &mut MaintenanceState,
    ) -> Result<WorkerRun, DomainError> {
        match worker {
            Worker::Fold => {
                let (folded, complete) = self.fold_some(&mut state.fold).await?;
                self.fold_run(folded, complete).await
            }
            Worker::Ranks => self.move_ranks(&mut state.ranks).await,
            Worker::Suppliers => self.propagate_suppliers(&mut state.propagation).await,
            Worker::Bundles => self.refresh_bundles(&mut state.bundles).await,
            Worker::Merges => {
                let products = self.continue_merges().await?;
                let keys = self.reference();
                let keys = keys.dictionary.keys();
                let pending =
                    |key: &SpecKey| key.absorbing.len() + usize::from(key.earlier_type.is_some());
                let merging = keys.iter().map(pending).sum::<usize>();
                let backlog = u64::try_from(merging).unwrap_or(u64::MAX);
                Ok(WorkerRun {
                    done: products,
                    backlog,
                    ..WorkerRun::default()
                })
            }
            Worker::BulkChanges => self.continue_bulk_changes().await,
            Worker::Imports => self.run_next_import().await,
            Worker::Panels => self.refresh_panels(&mut state.panels).await,
            Worker::Erasures => self.continue_erasures().await,
            Worker::ReviewVersions => self.upgrade_reviews().await,
            Worker::ProductVersions => self.upgrade_products().await,
            Worker::Activity => self.fill_buckets().await,
            Worker::Trending => self.refresh_trending(&mut state.trending).await,
            Worker::Purchases => self.recheck_purchases().await,
            Worker::Pictures => self.delete_unused_pictures().await,
            Worker::Audit => self.audit_some(state).await,
        }
    }

    /// Runs a worker until there is no backlog. Returns what it has done.
    pub async fn work_off(&self, worker: Worker) -> Result<u64, DomainError> {
        let (mut state, mut done) = (MaintenanceState::default(), 0);
        loop {
            let run = self.work(worker, &mut state).await?;
            done += run.done;
            if run.backlog == 0 {
                return Ok(done);
            }
        }
    }

    /// Audits the next products, starting again after the last one.
    async fn audit_some(&self, state: &mut MaintenanceState) -> Result<WorkerRun, DomainError> {
        let audit = self
            .rating_stats_audit(state.audited, AUDIT_BATCH, None)
            .await?;
        for one in &audit.differences {
            tracing::warn!(
                product = %one.product,
                field = one.field,
                stored = one.stored,
                expected = one.expected,
                "a stored statistic differs from the recount; repair it with `vitrine audit --repair`"
            );
        }
        self.keep_findings(&mut state.audit_round, &audit).await?;
        state.audited = audit.last;
        state.audit = AuditRun {
            products: audit.checked,
            round: audit.last.is_none(),
            differences: audit.differences.iter().map(|one| one.field).collect(),
        };
        Ok(done(audit.checked))
    }

    /// Stores what a run of the audit found, and the round if it was its last run. Writes nothing otherwise. Rounds
    /// without differences are stored once a minute: a small shop has one every few seconds.
    async fn keep_findings(
        &self,
        round: &mut RoundState,
        audit: &StatsAudit,
    ) -> Result<(), DomainError> {
        let now = self.now();
        let began_at = *round.began_at.get_or_insert(now);
        let room = MAX_KEPT_FINDINGS.saturating_sub(round.differences);
        let kept = audit
            .differences
            .iter()
            .take(usize::try_from(room).unwrap_or(0));
        let findings: Vec<NewFinding> = kept
            .map(|one| NewFinding {
                product: one.product,
                field: one.field,
                stored: excerpt(&one.stored, MAX_FINDING_TEXT).text,
                expected: excerpt(&one.expected, MAX_FINDING_TEXT).text,
            })
            .collect();
        round.products += audit.checked as u64;
        round.differences += audit.differences.len() as u64;
        if !findings.is_empty() {
            self.maintain(|store| async move { store.save_findings(&findings, now).await })
                .await?;
        }
        if audit.last.is_some() {
            return Ok(());
        }
        let ended = AuditRound {
            began_at,
            ended_at: now,
            products: round.products,
            differences: round.differences,
        };
        let stored = round.stored;
        *round = RoundState {
            stored,
            ..RoundState::default()
        };
        if !should_store(&ended, stored.as_ref()) {
            return Ok(());
        }
        self.maintain(|store| async move { store.end_audit_round(&ended).await })
            .await?;
        round.stored = Some(ended);
        Ok(())
    }

    /// Acquires or renews the lease for background work. One command.
    ///
    /// # Errors
    /// Fails when the database fails; the holder is then unknown.
    pub async fn take_work(&self, owner: &str, time: Duration) -> Result<Lease, DomainError> {
        let owner = owner.to_owned();
        self.maintain(|store| async move { store.take_lease(WORK, &owner, time).await })
            .await
    }

    /// Releases the lease, so that another process can acquire it at once.
    ///
    /// # Errors
    /// Fails when the database fails; the lease then expires.
    pub async fn release_work(&self, owner: &str) -> Result<(), DomainError> {
        let owner = owner.to_owned();
        self.maintain(|store| async move { store.release_lease(WORK, &owner).await })
            .await
    }

    /// Stores what workers report. One command, none without reports.
    pub async fn save_worker_reports(
        &self,
        reports: Vec<(&'static str, WorkerReport)>,
    ) -> Result<(), DomainError> {
        self.maintain(|store| async move { store.save_worker_reports(&reports).await })
            .await
    }

    /// The holder of the lease and the last report of each worker; three commands. A worker that
    /// has never run has an empty report. The backlog of the fold is current, whoever runs it.
    pub async fn workers(&self) -> Result<WorkerStatuses, DomainError> {
        let (lease, reports, uncounted) = self
            .read(|store| async move {
                let (lease, reports) = (store.lease(WORK), store.reports());
                futures_util::future::try_join3(lease, reports, store.fold_backlog()).await
            })
            .await?;
        let report = |worker: Worker| {
            let own = reports.iter().find(|(name, _)| name == worker.name());
            let mut report = own.map(|(_, report)| report.clone()).unwrap_or_default();
            if worker == Worker::Fold {
                report.waits(uncounted.reviews, uncounted.since, self.now());
            }
            (worker, report)
        };
        Ok(WorkerStatuses {
            lease,
            reports: Worker::ALL.into_iter().map(report).collect(),
        })
    }
}

/// The holder of the lease and the reports of the workers.
#[derive(Clone, Debug)]
pub struct WorkerStatuses {
    /// The current or last holder.
    pub lease: Option<Lease>,
    /// The last report of each worker.
    pub reports: Vec<(Worker, WorkerReport)>,
}

fn done(count: usize) -> WorkerRun {
    WorkerRun {
        done: u64::try_from(count).unwrap_or(u64::MAX),
        ..WorkerRun::default()
    }
}

/// The run of a batch of at most `max`. After a full batch, at least one is left.
pub(crate) fn batch(count: usize, max: u32) -> WorkerRun {
    let done = u64::try_from(count).unwrap_or(u64::MAX);
    WorkerRun {
        done,
        backlog: u64::from(done >= u64::from(max)),
        ..WorkerRun::default()
    }
}

/// The run of a batch of at most `max`, some of which may have failed.
///
/// # Errors
/// The first error, if nothing was written. Otherwise what failed is tried again until nothing else
/// is left.
pub(crate) fn written(written: Batch, max: u32) -> Result<WorkerRun, DomainError> {
    let run = batch(written.written, max);
    match written.failed {
        Some(error) if written.written == 0 => Err(error.into()),
        Some(_) => Ok(WorkerRun { backlog: 1, ..run }),
        None => Ok(run),
    }
}

#[cfg(test)]
mod tests {
    use vitrine_storage::StorageError;

    use super::*;

    #[test]
    fn a_batch_that_fails_in_part_leaves_a_backlog() {
        let run = |done, fails: bool| {
            let batch = Batch {
                found: 500,
                written: done,
                failed: fails.then_some(StorageError::HistoryLost),
            };
            written(batch, 500).map(|run| (run.done, run.backlog))
        };
        assert_eq!(run(2, false).unwrap(), (2, 0));
        assert_eq!(run(500, false).unwrap(), (500, 1));
        assert_eq!(run(2, true).unwrap(), (2, 1));
        assert!(run(0, true).is_err(), "nothing could be written");
    }

    #[test]
    fn a_worker_is_found_by_its_name() {
        for worker in Worker::ALL {
            assert_eq!(Worker::named(worker.name()), Some(worker));
            assert!(worker.purpose().ends_with('.'));
            assert!(worker.pause(Duration::from_secs(1)) <= worker.every());
        }
        assert_eq!(Worker::named("none"), None);
    }
}
