//! The workers: what each does, and when.
//!
//! A worker is a reconciler. It takes no input, finds out by itself what is to be done, does a
//! part of it that takes seconds at most, and says what is left. It may run at any time, in any
//! process, and be killed at any point. Who runs it and waits is the server's business.

use std::time::Duration;

use vitrine_model::id::ProductId;
use vitrine_model::worker::{WorkerReport, WorkerRun};
use vitrine_storage::leases::Lease;

use crate::facets::PanelUpkeep;
use crate::maintenance::{FoldUpkeep, RanksUpkeep};
use crate::propagation::{BundleUpkeep, PropagationUpkeep};
use crate::trending::TrendingUpkeep;
use crate::{Catalog, DomainError};

/// The lease of whoever does the work in the background.
const WORK: &str = "work";
/// How many products are counted anew in one run.
const RECOUNTED: i32 = 100;

/// What is done in the background, by one process at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Worker {
    /// Counts reviews that wait.
    Fold,
    /// Moves products in lists by rating and popularity.
    Ranks,
    /// Carries changes of suppliers to their products.
    Suppliers,
    /// Carries changes of products to the bundles they are in.
    Bundles,
    /// Rewrites products whose spec keys were merged.
    Merges,
    /// Counts ahead what filter panels show.
    Panels,
    /// Completes erasures that were cut off.
    Erasures,
    /// Brings reviews to the newest version.
    ReviewVersions,
    /// Brings products to the newest version.
    ProductVersions,
    /// Puts views, carts and purchases into buckets.
    Activity,
    /// Counts anew what gets attention.
    Trending,
    /// Looks again at purchases that were recorded while a review was written.
    Purchases,
    /// Counts reviews anew and compares.
    Audit,
}

/// What workers remember between their runs, each its own; lost with the process, and not needed
/// for correctness.
#[derive(Debug, Default)]
pub struct Maintenance {
    fold: FoldUpkeep,
    propagation: PropagationUpkeep,
    bundles: BundleUpkeep,
    panels: PanelUpkeep,
    ranks: RanksUpkeep,
    trending: TrendingUpkeep,
    audited: Option<ProductId>,
    /// What the audit found in its last run.
    pub audit: Audited,
}

/// What a run of the audit found.
#[derive(Debug, Default)]
pub struct Audited {
    /// How many products were counted anew.
    pub products: usize,
    /// Whether these were the last ones, so that it begins at the first again.
    pub round: bool,
    /// Which fields were not what the reviews say.
    pub differences: Vec<&'static str>,
}

impl Worker {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Fold,
        Self::Ranks,
        Self::Suppliers,
        Self::Bundles,
        Self::Merges,
        Self::Panels,
        Self::Erasures,
        Self::ReviewVersions,
        Self::ProductVersions,
        Self::Activity,
        Self::Trending,
        Self::Purchases,
        Self::Audit,
    ];

    /// Its name, in logs, counters and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fold => "fold",
            Self::Ranks => "ranks",
            Self::Suppliers => "suppliers",
            Self::Bundles => "bundles",
            Self::Merges => "merges",
            Self::Panels => "panels",
            Self::Erasures => "erasures",
            Self::ReviewVersions => "review_versions",
            Self::ProductVersions => "product_versions",
            Self::Activity => "activity",
            Self::Trending => "trending",
            Self::Purchases => "purchases",
            Self::Audit => "audit",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|worker| worker.name() == name)
    }

    /// What it does, in a sentence.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Fold => "Counts reviews that wait in the numbers of their products.",
            Self::Ranks => "Moves products in lists by rating and popularity.",
            Self::Suppliers => "Carries changes of suppliers to the products that name them.",
            Self::Bundles => "Carries names and prices of products to the bundles they are in.",
            Self::Merges => "Rewrites products whose spec keys were merged.",
            Self::Panels => "Counts ahead what filter panels show.",
            Self::Erasures => "Completes erasures of authors that were cut off.",
            Self::ReviewVersions => "Brings reviews of older versions to the newest.",
            Self::ProductVersions => "Brings products of older versions to the newest.",
            Self::Activity => "Puts views, carts and purchases into buckets.",
            Self::Trending => "Counts anew what gets attention, and how products stand with it.",
            Self::Purchases => "Looks again at purchases recorded while a review was written.",
            Self::Audit => "Counts reviews anew, some products at a time, and compares.",
        }
    }

    /// How long it rests after a run that left nothing, unless it is woken. After one that took long
    /// it rests longer, for some minutes at most, so that it works a twentieth of the time; unless
    /// it [is prompt](Self::is_prompt).
    #[must_use]
    pub const fn every(self) -> Duration {
        match self {
            Self::Ranks => Duration::from_secs(1),
            Self::Fold | Self::Activity | Self::Erasures => Duration::from_secs(2),
            Self::Panels => Duration::from_secs(3),
            Self::Audit => Duration::from_secs(5),
            Self::Purchases => Duration::from_secs(10),
            Self::Suppliers | Self::Bundles | Self::Merges => Duration::from_secs(15),
            Self::ReviewVersions | Self::ProductVersions | Self::Trending => Duration::from_mins(1),
        }
    }

    /// Whether it rests no longer after a run that took long: what it does next was promised to
    /// somebody, and costs nearly nothing when there is nothing to do.
    #[must_use]
    pub const fn is_prompt(self) -> bool {
        matches!(self, Self::Erasures)
    }

    /// How long it rests after a run that took so long and left something: enough for readers not
    /// to notice. Those that rewrite many products leave the database alone for two fifths of the
    /// time, so that most reads are answered while they rest.
    #[must_use]
    pub fn pause(self, took: Duration) -> Duration {
        match self {
            Self::Ranks | Self::Suppliers | Self::Bundles | Self::ProductVersions => {
                (took * 2 / 3).max(Duration::from_millis(20))
            }
            Self::ReviewVersions | Self::Activity => Duration::from_millis(100),
            _ => Duration::from_secs(1),
        }
    }
}

impl Catalog {
    /// One run of a worker: it does some of what is to be done, and says what is left. Running it
    /// again changes nothing when nothing is left.
    ///
    /// # Errors
    /// The first [`DomainError`] met; what could be done is done. Many workers fail only once nothing
    /// else is to be done.
    pub async fn work(
        &self,
        worker: Worker,
        maintenance: &mut Maintenance,
    ) -> Result<WorkerRun, DomainError> {
        match worker {
            Worker::Fold => {
                let (folded, all) = self.fold_some(&mut maintenance.fold).await?;
                self.fold_run(folded, all).await
            }
            Worker::Ranks => self.move_ranks(&mut maintenance.ranks).await,
            Worker::Suppliers => self.propagate_suppliers(&mut maintenance.propagation).await,
            Worker::Bundles => self.refresh_bundles(&mut maintenance.bundles).await,
            Worker::Merges => {
                let products = self.continue_merges().await?;
                let keys = self.reference();
                let keys = keys.dictionary.keys();
                let merging = keys.iter().map(|key| key.absorbing.len()).sum::<usize>();
                let backlog = u64::try_from(merging).unwrap_or(u64::MAX);
                Ok(WorkerRun {
                    done: products,
                    backlog,
                    ..WorkerRun::default()
                })
            }
            Worker::Panels => self.refresh_panels(&mut maintenance.panels).await,
            Worker::Erasures => self.continue_erasures().await,
            Worker::ReviewVersions => self.upgrade_reviews().await,
            Worker::ProductVersions => self.upgrade_products().await,
            Worker::Activity => self.fill_buckets().await,
            Worker::Trending => self.refresh_trending(&mut maintenance.trending).await,
            Worker::Purchases => self.recheck_purchases().await,
            Worker::Audit => self.recount_some(maintenance).await,
        }
    }

    /// Runs a worker until nothing is left.
    pub async fn work_off(&self, worker: Worker) -> Result<u64, DomainError> {
        let (mut maintenance, mut done) = (Maintenance::default(), 0);
        loop {
            let run = self.work(worker, &mut maintenance).await?;
            done += run.done;
            if run.backlog == 0 {
                return Ok(done);
            }
        }
    }

    /// Counts the reviews of the next products anew; behind the last one it begins at the first
    /// again.
    async fn recount_some(&self, maintenance: &mut Maintenance) -> Result<WorkerRun, DomainError> {
        let audit = self
            .rating_stats_audit(maintenance.audited, RECOUNTED, None)
            .await?;
        for one in &audit.differences {
            tracing::warn!(
                product = %one.product,
                field = one.field,
                stored = one.stored,
                expected = one.expected,
                "a number is not what the reviews say; `vitrine audit --repair` makes it so"
            );
        }
        maintenance.audited = audit.last;
        maintenance.audit = Audited {
            products: audit.checked,
            round: audit.last.is_none(),
            differences: audit.differences.iter().map(|one| one.field).collect(),
        };
        Ok(done(audit.checked))
    }

    /// Takes the lease of the work in the background, or renews it. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; it is not known then who holds it.
    pub async fn take_work(&self, owner: &str, time: Duration) -> Result<Lease, DomainError> {
        let owner = owner.to_owned();
        self.maintain(|store| async move { store.take_lease(WORK, &owner, time).await })
            .await
    }

    /// Gives the lease of the work back, so that another process may take it at once.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the lease ends by itself then.
    pub async fn release_work(&self, owner: &str) -> Result<(), DomainError> {
        let owner = owner.to_owned();
        self.maintain(|store| async move { store.release_lease(WORK, &owner).await })
            .await
    }

    /// Keeps what workers report. One command, none when there is nothing.
    pub async fn keep_reports(
        &self,
        reports: Vec<(&'static str, WorkerReport)>,
    ) -> Result<(), DomainError> {
        self.maintain(|store| async move { store.keep_reports(&reports).await })
            .await
    }

    /// Who does the work, and what each worker reported last; three commands. A worker that never
    /// ran has an empty report. What waits for the fold is as of now, whoever runs it.
    pub async fn workers(&self) -> Result<WorkersSeen, DomainError> {
        let (lease, reports, uncounted) = self
            .read(|store| async move {
                let (lease, reports) = (store.lease(WORK), store.reports());
                futures_util::future::try_join3(lease, reports, store.uncounted()).await
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
        Ok(WorkersSeen {
            lease,
            reports: Worker::ALL.into_iter().map(report).collect(),
        })
    }
}

/// Who does the work, and what became of it.
#[derive(Clone, Debug)]
pub struct WorkersSeen {
    /// The process that does it, or did last.
    pub lease: Option<Lease>,
    /// What each worker reported last.
    pub reports: Vec<(Worker, WorkerReport)>,
}

fn done(count: usize) -> WorkerRun {
    WorkerRun {
        done: u64::try_from(count).unwrap_or(u64::MAX),
        ..WorkerRun::default()
    }
}

/// A full batch leaves at least one.
pub(crate) fn batch(count: usize, most: u32) -> WorkerRun {
    let done = u64::try_from(count).unwrap_or(u64::MAX);
    WorkerRun {
        done,
        backlog: u64::from(done >= u64::from(most)),
        ..WorkerRun::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for worker in Worker::ALL {
            assert_eq!(Worker::named(worker.name()), Some(worker));
            assert!(worker.purpose().ends_with('.'));
            assert!(worker.pause(Duration::from_secs(1)) <= worker.every());
        }
        assert_eq!(Worker::named("none"), None);
    }
}
