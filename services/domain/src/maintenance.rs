//! Reconcilers that workers call: they take no input, may run at any time and any number of times,
//! and report what they did.

use std::time::{Duration, Instant};

use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::audit::Audit;
use vitrine_storage::fold::{FoldBacklog, Folded};
use vitrine_storage::versions::VersionCounts;
use vitrine_storage::{StorageError, Store};

use crate::workers::{Worker, written};
use crate::{Catalog, DomainError};

/// The number of sort positions updated per command.
const RANK_BATCH: u32 = 200;
/// The time budget of a run that updates sort positions.
const RANK_RUN_TIME: Duration = Duration::from_secs(1);
/// After this many products that could not be updated, the rest waits for a later run.
const MAX_SKIPPED: usize = 10_000;
/// The number of reviews upgraded per batch.
const UPGRADE_BATCH: u32 = 500;
/// The number of products folded in one transaction when many have dirty reviews.
const FOLD_GROUP: usize = 100;
/// How many dirty reviews are examined to count those that only a newer release can fold.
const MAX_EXAMINED: u32 = 10_000;
/// When a review has been dirty for this long, every process helps to fold.
const LATE_MILLIS: i64 = 2_000;
/// How long a process stops helping after it could not fold anything: only a newer release can.
const HELP_PAUSE: Duration = Duration::from_secs(30);
/// The number of products that a helping process folds at a time.
const HELP_BATCH: u32 = 20;
/// The time budget of a run of the fold.
const FOLD_RUN_TIME: Duration = Duration::from_secs(4);

/// The state of a round of folds, in which every product with dirty reviews has one turn.
#[derive(Debug, Default)]
pub struct FoldRoundState {
    /// The product that had the last turn.
    after: Option<ProductId>,
    /// The number of products with dirty reviews.
    waiting: usize,
    /// The number of folded reviews.
    reviews: usize,
    /// The first error.
    failed: Option<StorageError>,
}

/// What a process remembers between two checks of dirty reviews.
#[derive(Debug, Default)]
pub struct UncountedWatch {
    /// Until when it does not help, because the last attempt folded nothing.
    paused_until: Option<Instant>,
}

/// The state of a round of updates of sort positions, in which every pending product has one turn.
#[derive(Debug, Default)]
pub struct RanksState {
    /// Products that could not be updated.
    refused: Vec<ProductId>,
    /// Products that only a newer release may update.
    left_alone: Vec<ProductId>,
    /// The first error.
    failed: Option<StorageError>,
}

/// The progress of schema upgrades of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct DataVersions {
    /// The collection.
    pub collection: &'static str,
    /// The number of documents per schema version.
    pub counts: VersionCounts,
    /// Documents upgraded per second, while some are left.
    pub rate: Option<f64>,
}

impl Catalog {
    /// Folds all reviews that are dirty now, and updates the sort positions of their products. Does
    /// not wait for concurrent writes. Without dirty reviews, reads two small indexes. A product
    /// that cannot be folded does not block the others.
    ///
    /// # Errors
    /// The first error, after everything that could be folded has been.
    pub async fn fold_and_move_ranks(&self) -> Result<Folded, DomainError> {
        let folded = self.fold_dirty().await?;
        let mut state = RanksState::default();
        let mut run = self.move_ranks(&mut state).await?;
        // At most what is dirty now.
        let (mut moved, due) = (run.done, run.done + run.backlog);
        while run.backlog > 0 && moved < due {
            run = self.move_ranks(&mut state).await?;
            moved += run.done;
        }
        if moved > 0 {
            // The panels may be computed in another process.
            self.maintain(|store| async move { store.record_rank_moves().await })
                .await?;
        }
        Ok(folded)
    }

    /// Updates the sort positions of products by reviews and activity, for about a second. Returns
    /// how many were updated, how many are pending, and since when.
    ///
    /// # Errors
    /// Fails when the database fails; and with the first error of a product that cannot be updated, once
    /// no others are pending.
    pub async fn move_ranks(&self, state: &mut RanksState) -> Result<WorkerRun, DomainError> {
        let (began, mut done) = (Instant::now(), 0);
        loop {
            let skipped = [state.refused.as_slice(), &state.left_alone].concat();
            let moved = self
                .maintain(|store| async move { store.move_ranks(RANK_BATCH, &skipped).await })
                .await;
            // The write may have been applied, and then the record of what moved is gone.
            let moved = moved.inspect_err(|_| self.rated().note_any(self.now()))?;
            done += whole(moved.moved);
            self.rated().note(moved.categories, self.now());
            let handled = moved.moved + moved.refused.len() + moved.left_alone.len();
            state.left_alone.extend(moved.left_alone);
            for (product, error) in moved.refused {
                state.refused.push(product);
                state.failed.get_or_insert(error);
            }
            let skipped_in_total = state.refused.len() + state.left_alone.len();
            if moved.is_last && handled == moved.found || skipped_in_total > MAX_SKIPPED {
                let round = std::mem::take(state);
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
                        *state = round;
                        Ok(WorkerRun { backlog, ..run })
                    }
                };
            }
            if handled == 0 || began.elapsed() >= RANK_RUN_TIME {
                let due = self.maintain(|store| async move { store.count_stale_ranks().await });
                let due = due.await?;
                let left_alone = whole(state.left_alone.len());
                return Ok(WorkerRun {
                    done,
                    backlog: due.rows.saturating_sub(left_alone).max(1),
                    left_alone,
                    waiting_since: due.since,
                });
            }
        }
    }

    /// Upgrades a batch of reviews to the current schema version, like
    /// [`Catalog::upgrade_products`].
    pub async fn upgrade_reviews(&self) -> Result<WorkerRun, DomainError> {
        let upgraded =
            self.maintain(|store| async move { store.upgrade_reviews(UPGRADE_BATCH).await });
        written(upgraded.await?, UPGRADE_BATCH)
    }

    /// Upgrades a batch of products to the current schema version. Sends no command if there are no
    /// older versions.
    ///
    /// # Errors
    /// Fails when the database fails, or when none of the batch can be written; the next call continues.
    pub async fn upgrade_products(&self) -> Result<WorkerRun, DomainError> {
        let upgraded =
            self.maintain(|store| async move { store.upgrade_products(UPGRADE_BATCH).await });
        written(upgraded.await?, UPGRADE_BATCH)
    }

    /// The progress of schema upgrades of products and reviews.
    pub async fn data_versions(&self) -> Result<Vec<DataVersions>, DomainError> {
        let (products, reviews, reports) = self
            .maintain(|store| async move {
                let (products, reviews) = (
                    store.product_schema_versions(),
                    store.review_schema_versions(),
                );
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

    /// Like [`Catalog::fold_and_move_ranks`], without updating sort positions.
    pub async fn fold_dirty(&self) -> Result<Folded, DomainError> {
        let (mut total, mut state) = (Folded::default(), FoldRoundState::default());
        let began = self.now();
        loop {
            let (folded, complete) = self.fold_some(&mut state).await?;
            total.reviews += folded.reviews;
            total.products += folded.products;
            if complete
                || self
                    .fold_backlog()
                    .await?
                    .since
                    .is_some_and(|since| since > began)
            {
                return Ok(total);
            }
        }
    }

    /// Checks, in every process each second, whether reviews have been dirty for too long. If so,
    /// the process that should fold them is gone or stuck: this one folds the oldest and aborts
    /// abandoned transactions. Returns what is dirty. One command when nothing is late.
    pub async fn watch_uncounted(
        &self,
        watch: &mut UncountedWatch,
    ) -> Result<FoldBacklog, DomainError> {
        let waiting = self.fold_backlog().await?;
        let late = waiting
            .since
            .is_some_and(|since| since.plus_millis(LATE_MILLIS) <= self.now());
        let late = late
            && watch
                .paused_until
                .is_none_or(|until| until <= Instant::now());
        if self.suspects_abandoned() || late {
            self.end_abandoned_transactions().await?;
        }
        if late {
            let now = self.now();
            let folded = self.maintain(|store| async move {
                let products = store.products_waiting_longest(HELP_BATCH).await?;
                fold_each(&store, &products, now).await
            });
            let (folded, failed) = folded.await?;
            if folded.reviews == 0 && failed.is_none() {
                watch.paused_until = Some(Instant::now() + HELP_PAUSE);
            }
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        Ok(waiting)
    }

    /// Aborts transactions left open by a process that was killed, frozen or disconnected. Returns
    /// how many.
    pub async fn end_abandoned_transactions(&self) -> Result<usize, DomainError> {
        let ended = self
            .maintain(|store| async move { store.end_abandoned_transactions().await })
            .await?;
        if ended > 0 {
            tracing::warn!(ended, "aborted abandoned transactions");
        }
        Ok(ended)
    }

    /// The number of dirty reviews and the age of the oldest. One command.
    pub async fn fold_backlog(&self) -> Result<FoldBacklog, DomainError> {
        self.maintain(|store| async move { store.fold_backlog().await })
            .await
    }

    /// Folds products with dirty reviews, each once before any is folded again, for at most a few seconds.
    /// Returns what was folded, and whether the round is complete with nothing left to fold.
    ///
    /// # Errors
    /// The first error of the round, if nothing could be folded.
    pub(crate) async fn fold_some(
        &self,
        state: &mut FoldRoundState,
    ) -> Result<(Folded, bool), DomainError> {
        let (began, mut total) = (Instant::now(), Folded::default());
        let mut round = std::mem::take(state);
        while began.elapsed() < FOLD_RUN_TIME {
            let after = round.after;
            let waiting = self
                .maintain(|store| async move { store.products_to_fold(after, FOLD_GROUP).await })
                .await?;
            let Some(last) = waiting.last() else {
                return match round.failed {
                    Some(error) if round.reviews == 0 => Err(error.into()),
                    _ => {
                        // A round without any fold: what is dirty is left to a newer release.
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
        *state = round;
        Ok((total, false))
    }

    /// The report of a run of the fold.
    pub(crate) async fn fold_run(
        &self,
        folded: Folded,
        complete: bool,
    ) -> Result<WorkerRun, DomainError> {
        let run = WorkerRun {
            done: u64::try_from(folded.reviews).unwrap_or(u64::MAX),
            ..WorkerRun::default()
        };
        if complete && folded.left_alone == 0 {
            return Ok(run);
        }
        let (waiting, left_alone) = self
            .maintain(|store| async move {
                let left_alone = store.count_unfoldable_reviews(MAX_EXAMINED);
                futures_util::future::try_join(store.fold_backlog(), left_alone).await
            })
            .await?;
        let backlog = waiting.reviews.saturating_sub(left_alone);
        Ok(WorkerRun {
            // A round that folded nothing leaves nothing to fold.
            backlog: if complete { 0 } else { backlog.max(1) },
            left_alone,
            waiting_since: waiting.since,
            ..run
        })
    }

    /// Folds a group of products in one transaction, or one by one if that folds nothing. Returns
    /// what was folded and the first error.
    async fn fold_group(
        &self,
        products: Vec<ProductId>,
    ) -> Result<(Folded, Option<StorageError>), DomainError> {
        let now = self.now();
        self.maintain(|store| async move {
            match store.fold(&products, now).await {
                // Many reviews that cannot be folded may have hidden those of other products.
                Ok(folded) if folded.reviews > 0 || products.len() == 1 => Ok((folded, None)),
                Err(error) if error.is_outage() => Err(error),
                _ => fold_each(&store, &products, now).await,
            }
        })
        .await
    }

    /// Compares everything computed or copied with its source. Pending reviews are reported
    /// separately from differences.
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
            Err(error) => {
                tracing::error!(%product, %error, "the reviews of a product cannot be folded");
                failed = failed.or(Some(error));
            }
        }
    }
    Ok((total, failed))
}

fn whole(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
