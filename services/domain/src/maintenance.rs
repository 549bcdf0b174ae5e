//! What workers call: reconcilers that take no input, may run at any time and any number of times,
//! and say what they did.

use std::time::{Duration, Instant};

use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::audit::Audit;
use vitrine_storage::batch::Batch;
use vitrine_storage::fold::{Folded, Uncounted};
use vitrine_storage::versions::VersionCounts;
use vitrine_storage::{StorageError, Store};

use crate::workers::{Worker, batch};
use crate::{Catalog, DomainError};

/// How many products are moved in lists with one command.
const MOVED: u32 = 200;
/// For how long products are moved in one run; what still waits is for the next.
const MOVING: Duration = Duration::from_secs(1);
/// How many products that cannot be moved are passed over before moving is given up for a while.
const MAX_REFUSED: usize = 10_000;
/// How many reviews are brought to the newest version at once.
const UPGRADED: u32 = 500;
/// How many products are folded in one transaction when many wait.
const GROUP: usize = 100;
/// How many waiting reviews are looked at to see which are left to a newer release.
const LEFT_ALONE: u32 = 10_000;
/// How long a review may wait to be counted before every process helps.
const LATE_MILLIS: i64 = 2_000;
/// How long a process does not help again when nothing of what waits could be counted: a newer release
/// has to do it.
const IN_VAIN: Duration = Duration::from_secs(30);
/// How many products every process helps with at a time.
const HELPED: u32 = 20;
/// For how long products are folded in one run; what still waits is for the next.
const FOLDED: Duration = Duration::from_secs(4);

/// What the fold remembers of a round, in which every product that waits has one turn.
#[derive(Debug, Default)]
pub struct FoldUpkeep {
    /// Which product had its turn last.
    after: Option<ProductId>,
    /// How many products had reviews that wait.
    waiting: usize,
    /// How many reviews were folded.
    reviews: usize,
    /// The first failure.
    failed: Option<StorageError>,
}

/// What a process remembers between two looks at reviews that wait.
#[derive(Debug, Default)]
pub struct UncountedWatch {
    /// Until when it does not help, because nothing could be counted the last time.
    rests_until: Option<Instant>,
}

/// What moving products in lists remembers of a round, in which every product that waits has one
/// turn.
#[derive(Debug, Default)]
pub struct RanksUpkeep {
    /// Those that cannot be moved.
    refused: Vec<ProductId>,
    /// Those that only a newer release may move.
    left_alone: Vec<ProductId>,
    /// Why some cannot; the first reason.
    failed: Option<StorageError>,
}

/// How far the documents of a collection are on their way to the newest version.
#[derive(Clone, Debug, PartialEq)]
pub struct DataVersions {
    /// The collection.
    pub collection: &'static str,
    /// How many are of which version.
    pub counts: VersionCounts,
    /// How many a second are brought to the newest, while some are left.
    pub rate: Option<f64>,
}

impl Catalog {
    /// Brings the computed data of all products up to date with the reviews that wait now, and moves
    /// the products in lists. What others write meanwhile is not waited for. Reads two small indexes when nothing is
    /// to be done. A product that cannot be folded does not keep others from it.
    ///
    /// # Errors
    /// The first [`DomainError`] met; what could be folded is folded.
    pub async fn fold_pending(&self) -> Result<Folded, DomainError> {
        let folded = self.fold_dirty().await?;
        let mut maintenance = RanksUpkeep::default();
        let mut run = self.move_ranks(&mut maintenance).await?;
        // No more than wait now.
        let (mut moved, due) = (run.done, run.done + run.backlog);
        while run.backlog > 0 && moved < due {
            run = self.move_ranks(&mut maintenance).await?;
            moved += run.done;
        }
        if moved > 0 {
            // The process that counts panels may be another one.
            self.maintain(|store| async move { store.note_moves().await })
                .await?;
        }
        Ok(folded)
    }

    /// Moves products in lists to where their reviews and activity put them, for a second or so.
    /// Returns how many were moved, and how many wait since when.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails. The first failure of a product that cannot be moved,
    /// when no others wait any more.
    pub async fn move_ranks(
        &self,
        maintenance: &mut RanksUpkeep,
    ) -> Result<WorkerRun, DomainError> {
        let (began, mut done) = (Instant::now(), 0);
        loop {
            let skipped = [maintenance.refused.as_slice(), &maintenance.left_alone].concat();
            let moved = self
                .maintain(|store| async move { store.move_ranks(MOVED, &skipped).await })
                .await;
            // It may have gone through, and then no note is left of what was moved.
            let moved = moved.inspect_err(|_| self.rated().note_any(self.now()))?;
            done += whole(moved.moved);
            self.rated().note(moved.categories, self.now());
            let dealt_with = moved.moved + moved.refused.len() + moved.left_alone.len();
            maintenance.left_alone.extend(moved.left_alone);
            for (product, error) in moved.refused {
                maintenance.refused.push(product);
                maintenance.failed.get_or_insert(error);
            }
            let passed_over = maintenance.refused.len() + maintenance.left_alone.len();
            if moved.found < MOVED as usize && dealt_with == moved.found
                || passed_over > MAX_REFUSED
            {
                let round = std::mem::take(maintenance);
                let run = WorkerRun {
                    done,
                    left_alone: whole(round.left_alone.len()),
                    ..WorkerRun::default()
                };
                return match round.failed {
                    None => Ok(run),
                    Some(error) if done == 0 => Err(error.into()),
                    Some(_) => {
                        let backlog = whole(round.refused.len());
                        *maintenance = round;
                        Ok(WorkerRun { backlog, ..run })
                    }
                };
            }
            if dealt_with == 0 || began.elapsed() >= MOVING {
                let due = self.maintain(|store| async move { store.count_stale_ranks().await });
                let due = due.await?;
                let left_alone = whole(maintenance.left_alone.len());
                return Ok(WorkerRun {
                    done,
                    backlog: due.products.saturating_sub(left_alone).max(1),
                    left_alone,
                    waiting_since: due.since,
                });
            }
        }
    }

    /// Brings some reviews of an older version to the newest, as [`Catalog::upgrade_products`] does.
    pub async fn upgrade_reviews(&self) -> Result<WorkerRun, DomainError> {
        let upgraded = self.maintain(|store| async move { store.upgrade_reviews(UPGRADED).await });
        upgraded_run(upgraded.await?)
    }

    /// Brings some products of an older version to the newest. No command where no older version
    /// exists.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails, or none of them can be written; the next call goes
    /// on.
    pub async fn upgrade_products(&self) -> Result<WorkerRun, DomainError> {
        let upgraded = self.maintain(|store| async move { store.upgrade_products(UPGRADED).await });
        upgraded_run(upgraded.await?)
    }

    /// How far products and reviews are on their way to the newest version.
    pub async fn data_versions(&self) -> Result<Vec<DataVersions>, DomainError> {
        let (products, reviews, reports) = self
            .maintain(|store| async move {
                let (products, reviews) =
                    (store.product_versions(), store.review_versions_stored());
                futures_util::future::try_join3(products, reviews, store.reports()).await
            })
            .await?;
        let of = |collection, worker: Worker, counts| {
            let report = reports.iter().find(|(name, _)| name == worker.name());
            DataVersions {
                collection,
                counts,
                rate: report.and_then(|(_, report)| report.rate()),
            }
        };
        Ok(vec![
            of("products", Worker::ProductVersions, products),
            of("reviews", Worker::ReviewVersions, reviews),
        ])
    }

    /// As [`Catalog::fold_pending`], but moves no product in lists.
    pub async fn fold_dirty(&self) -> Result<Folded, DomainError> {
        let (mut total, mut maintenance) = (Folded::default(), FoldUpkeep::default());
        let began = self.now();
        loop {
            let (folded, all) = self.fold_some(&mut maintenance).await?;
            total.reviews += folded.reviews;
            total.products += folded.products;
            if all
                || self
                    .uncounted()
                    .await?
                    .since
                    .is_some_and(|since| since > began)
            {
                return Ok(total);
            }
        }
    }

    /// What every process does each second: looks whether reviews wait too long to be counted. If they
    /// do, whoever should count them is gone or held up, so this process counts those that wait
    /// longest, and ends transactions that nobody goes on with. Returns what waited. One command when
    /// nothing waits long.
    pub async fn watch_uncounted(
        &self,
        watch: &mut UncountedWatch,
    ) -> Result<Uncounted, DomainError> {
        let waiting = self.uncounted().await?;
        let late = waiting
            .since
            .is_some_and(|since| since.plus_millis(LATE_MILLIS) <= self.now());
        let late = late
            && watch
                .rests_until
                .is_none_or(|until| until <= Instant::now());
        if self.suspects_abandoned() || late {
            self.end_abandoned_transactions().await?;
        }
        if late {
            let now = self.now();
            let folded = self.maintain(|store| async move {
                let products = store.products_waiting_longest(HELPED).await?;
                fold_each(&store, &products, now).await
            });
            let (folded, failed) = folded.await?;
            if folded.reviews == 0 && failed.is_none() {
                watch.rests_until = Some(Instant::now() + IN_VAIN);
            }
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        Ok(waiting)
    }

    /// Ends transactions that a process has left open which was killed, frozen or cut off. Returns how
    /// many.
    pub async fn end_abandoned_transactions(&self) -> Result<usize, DomainError> {
        let ended = self
            .maintain(|store| async move { store.end_abandoned_transactions().await })
            .await?;
        if ended > 0 {
            tracing::warn!(ended, "ended transactions that nobody went on with");
        }
        Ok(ended)
    }

    /// How many reviews are not counted yet, and since when the oldest of them waits. One command.
    pub async fn uncounted(&self) -> Result<Uncounted, DomainError> {
        self.maintain(|store| async move { store.uncounted().await })
            .await
    }

    /// Folds products that wait, each once, and each before any is folded again; for seconds at
    /// most. Gives what was folded, and whether nothing waited any more.
    ///
    /// # Errors
    /// The first [`DomainError`] met since all products had their turn, if nothing could be folded.
    pub(crate) async fn fold_some(
        &self,
        maintenance: &mut FoldUpkeep,
    ) -> Result<(Folded, bool), DomainError> {
        let (began, mut total) = (Instant::now(), Folded::default());
        let mut round = std::mem::take(maintenance);
        while began.elapsed() < FOLDED {
            let after = round.after;
            let waiting = self
                .maintain(|store| async move { store.products_to_fold(after, GROUP).await })
                .await?;
            let Some(last) = waiting.last() else {
                return match round.failed {
                    Some(error) if round.reviews == 0 => Err(error.into()),
                    _ => {
                        // Where nothing could be counted, what waits is left alone.
                        total.left_alone = total.left_alone.max(round.waiting);
                        Ok((total, round.reviews == 0))
                    }
                };
            };
            round.after = Some(*last);
            round.waiting += waiting.len();
            let (folded, error) = self.fold_group(waiting).await?;
            round.reviews += folded.reviews;
            round.failed = round.failed.or(error);
            total.reviews += folded.reviews;
            total.products += folded.products;
        }
        *maintenance = round;
        Ok((total, false))
    }

    /// What a run of the fold did, and what it leaves.
    pub(crate) async fn fold_run(
        &self,
        folded: Folded,
        all: bool,
    ) -> Result<WorkerRun, DomainError> {
        let run = WorkerRun {
            done: u64::try_from(folded.reviews).unwrap_or(u64::MAX),
            ..WorkerRun::default()
        };
        if all && folded.left_alone == 0 {
            return Ok(run);
        }
        let (waiting, left_alone) = self
            .maintain(|store| async move {
                let left_alone = store.left_alone_by_folds(LEFT_ALONE);
                futures_util::future::try_join(store.uncounted(), left_alone).await
            })
            .await?;
        let backlog = waiting.reviews.saturating_sub(left_alone);
        Ok(WorkerRun {
            // A round that counted nothing more leaves nothing that can be counted.
            backlog: if all { 0 } else { backlog.max(1) },
            left_alone,
            waiting_since: waiting.since,
            ..run
        })
    }

    /// Folds some products together, or each alone when together nothing comes of it. Gives what was folded
    /// and the first failure.
    async fn fold_group(
        &self,
        products: Vec<ProductId>,
    ) -> Result<(Folded, Option<StorageError>), DomainError> {
        let now = self.now();
        self.maintain(|store| async move {
            match store.fold(&products, now).await {
                // Many reviews that cannot be counted may have hidden those of other products.
                Ok(folded) if folded.reviews > 0 || products.len() == 1 => Ok((folded, None)),
                Err(error) if error.is_outage() => Err(error),
                _ => fold_each(&store, &products, now).await,
            }
        })
        .await
    }

    /// Compares everything computed or copied with where it comes from. Reviews that wait to be
    /// counted are told apart from what differs.
    pub async fn audit(&self) -> Result<Audit, DomainError> {
        let (reference, currency) = (self.reference(), self.currency());
        let now = self.now();
        let audit = self.maintain(|store| async move {
            let encoding = vitrine_storage::products::Encoding {
                units: &reference.units,
                currency,
            };
            store.audit(encoding, now).await
        });
        let mut audit = audit.await?;
        audit.extend(self.audit_panels().await?);
        Ok(audit)
    }
}

/// Folds products one by one.
async fn fold_each(
    store: &Store,
    products: &[ProductId],
    now: Timestamp,
) -> Result<(Folded, Option<StorageError>), StorageError> {
    let (mut total, mut failed) = (Folded::default(), None);
    for product in products {
        match store.fold(&[*product], now).await {
            Ok(folded) => {
                total.reviews += folded.reviews;
                total.products += folded.products;
            }
            Err(error) if error.is_outage() => return Err(error),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    Ok((total, failed))
}

fn whole(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn upgraded_run(upgraded: Batch) -> Result<WorkerRun, DomainError> {
    match upgraded.failed {
        Some(error) if upgraded.written == 0 => Err(error.into()),
        // Those that cannot be written are met again, when no others are left.
        Some(_) => Ok(WorkerRun {
            backlog: 1,
            ..batch(upgraded.written, UPGRADED)
        }),
        None => Ok(batch(upgraded.written, UPGRADED)),
    }
}
