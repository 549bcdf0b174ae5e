//! Workers: each calls one reconciler of the domain, on a timer. They take no input and may run in
//! any number of processes: what they do is safe to do twice.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vitrine_domain::facets::PanelUpkeep;
use vitrine_domain::propagation::PropagationUpkeep;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::id::ProductId;

use crate::metrics::{MEDIA_TYPE, Metrics};

/// How often reviews are folded and reference data is looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// How many products are moved to their new popularity in each period.
const MOVED: u32 = 200;

/// How many products are counted anew in each period.
const RECOUNTED: i32 = 20;

/// How long workers may take to stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// The workers of a process.
pub(crate) struct Workers {
    tasks: TaskTracker,
    stop: CancellationToken,
    ready: Arc<AtomicBool>,
    metrics: Metrics,
}

impl Workers {
    /// Keeps this process's view of the database fresh: reference data, and whether it answers.
    pub(crate) fn attend(catalog: &Catalog) -> Self {
        let workers = Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            ready: Arc::new(AtomicBool::new(true)),
            metrics: Metrics::new(),
        };
        let (looked, ready) = (catalog.clone(), Arc::clone(&workers.ready));
        workers.every("reference", move || {
            let (catalog, ready) = (looked.clone(), Arc::clone(&ready));
            async move {
                let outcome = catalog.refresh_reference().await;
                ready.store(outcome.is_ok(), Ordering::Relaxed);
                outcome.map(drop)
            }
        });
        workers
    }

    /// Folds reviews as well, and moves products to their new popularity, some each time.
    pub(crate) fn fold(self, catalog: &Catalog) -> Self {
        let moving = catalog.clone();
        self.every("popularity", move || {
            let catalog = moving.clone();
            async move { catalog.refresh_popularity(MOVED).await.map(drop) }
        });
        let (catalog, metrics) = (catalog.clone(), self.metrics.clone());
        self.every("fold", move || {
            let (catalog, metrics) = (catalog.clone(), metrics.clone());
            async move {
                let folded = catalog.fold_dirty().await?;
                metrics.folded(folded.reviews as u64);
                if folded.reviews > 0 {
                    tracing::info!(
                        reviews = folded.reviews,
                        products = folded.products,
                        "folded reviews"
                    );
                }
                Ok(())
            }
        });
        self
    }

    /// Completes merges of spec keys, carries changes of suppliers to products, and counts ahead what filter panels show.
    pub(crate) fn keep_catalogue(self, catalog: &Catalog) -> Self {
        let merging = catalog.clone();
        self.every("merge", move || {
            let catalog = merging.clone();
            async move {
                let products = catalog.continue_merges().await?;
                if products > 0 {
                    tracing::info!(products, "rewrote products whose spec keys were merged");
                }
                Ok(())
            }
        });
        let (carrying, upkeep) = (
            catalog.clone(),
            Arc::new(Mutex::new(PropagationUpkeep::default())),
        );
        self.every("suppliers", move || {
            let (catalog, upkeep) = (carrying.clone(), Arc::clone(&upkeep));
            async move {
                let mut upkeep = upkeep.lock().await;
                let products = catalog.propagate_suppliers(&mut upkeep).await?;
                if products > 0 {
                    tracing::info!(products, "carried changes of suppliers to products");
                }
                Ok(())
            }
        });
        let (counting, upkeep) = (
            catalog.clone(),
            Arc::new(Mutex::new(PanelUpkeep::default())),
        );
        self.every("panels", move || {
            let (catalog, upkeep) = (counting.clone(), Arc::clone(&upkeep));
            async move {
                let mut upkeep = upkeep.lock().await;
                catalog.refresh_panels(&mut upkeep).await.map(drop)
            }
        });
        self
    }

    /// Completes erasures that were cut off, brings reviews to the newest version, and counts
    /// reviews anew, a few products at a time, to say where the stored numbers are wrong.
    pub(crate) fn keep_reviews(self, catalog: &Catalog) -> Self {
        let erasing = catalog.clone();
        self.every("erasures", move || {
            let catalog = erasing.clone();
            async move {
                let authors = catalog.continue_erasures().await?;
                if authors > 0 {
                    tracing::info!(authors, "completed erasures of authors");
                }
                Ok(())
            }
        });
        let upgrading = catalog.clone();
        self.every("upgrade", move || {
            let catalog = upgrading.clone();
            async move {
                let reviews = catalog.upgrade_reviews().await?;
                if reviews > 0 {
                    tracing::info!(reviews, "brought reviews to the newest version");
                }
                Ok(())
            }
        });
        let rechecking = catalog.clone();
        self.every("purchases", move || {
            let catalog = rechecking.clone();
            async move { catalog.recheck_purchases().await.map(drop) }
        });
        let (counting, last) = (catalog.clone(), Arc::new(Mutex::new(None)));
        let metrics = self.metrics.clone();
        self.every("audit", move || {
            let (catalog, last) = (counting.clone(), Arc::clone(&last));
            let metrics = metrics.clone();
            async move { recount_some(&catalog, &mut *last.lock().await, &metrics).await }
        });
        self
    }

    /// Whether the database answered when it was last asked.
    pub(crate) fn ready(&self) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
        let ready = Arc::clone(&self.ready);
        move || {
            if ready.load(Ordering::Relaxed) {
                Ok(())
            } else {
                Err("the database does not answer".to_owned())
            }
        }
    }

    /// The counters of this process.
    pub(crate) fn metrics(&self) -> vitrine_api::http::Metrics {
        let metrics = self.metrics.clone();
        vitrine_api::http::Metrics::new(MEDIA_TYPE, move || metrics.text())
    }

    /// Stops all workers between two runs.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(PATIENCE, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "a worker did not stop in time; what it had begun is completed by the next"
            );
        }
    }

    fn every<F, W>(&self, name: &'static str, work: F)
    where
        F: Fn() -> W + Send + 'static,
        W: Future<Output = Result<(), DomainError>> + Send + 'static,
    {
        let (stop, metrics) = (self.stop.clone(), self.metrics.clone());
        self.tasks.spawn(async move {
            let mut failing = false;
            while stop
                .run_until_cancelled(tokio::time::sleep(PERIOD))
                .await
                .is_some()
            {
                let outcome = work().await;
                metrics.ran(name, outcome.is_err());
                report(name, &outcome, &mut failing);
            }
        });
    }
}

/// Counts the reviews of the next products anew; behind the last one it begins at the first again.
async fn recount_some(
    catalog: &Catalog,
    last: &mut Option<ProductId>,
    metrics: &Metrics,
) -> Result<(), DomainError> {
    let audit = catalog.rating_stats_audit(*last, RECOUNTED, None).await?;
    metrics.recounted(audit.checked as u64, audit.last.is_none());
    for one in &audit.differences {
        metrics.differed(one.field);
        tracing::warn!(
            product = %one.product,
            field = one.field,
            stored = one.stored,
            expected = one.expected,
            "a number is not what the reviews say; `vitrine audit --repair` makes it so"
        );
    }
    *last = audit.last;
    Ok(())
}

/// Says once that a worker fails, and once that it works again.
fn report(name: &str, outcome: &Result<(), DomainError>, failing: &mut bool) {
    match outcome {
        Ok(()) if *failing => tracing::info!(worker = name, "works again"),
        Err(error) if !*failing => {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(worker = name, %error, cause, "a worker fails; it keeps trying");
        }
        _ => {}
    }
    *failing = outcome.is_err();
}
