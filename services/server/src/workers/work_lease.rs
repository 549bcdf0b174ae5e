//! Holding the lease of the work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vitrine_domain::Catalog;

/// For how long the lease is taken: a process that is killed is followed by another after this and
/// a beat.
const LEASE: Duration = Duration::from_secs(9);
/// How often the lease is renewed, or asked for.
const RENEW_EVERY: Duration = Duration::from_millis(2500);
/// After which time the lease counts as lost unless it was renewed: a second before its end nothing
/// new is begun.
const TRUSTED_FOR: Duration = Duration::from_secs(8);

/// Whether this process holds the lease. Cheap to clone.
#[derive(Clone)]
pub(super) struct WorkLease(Arc<Held>);

struct Held {
    catalog: Catalog,
    owner: String,
    /// Until when the lease is surely held, by a clock that nobody can set.
    until: watch::Sender<Option<Instant>>,
}

impl WorkLease {
    pub(super) fn new(catalog: Catalog, owner: String) -> Self {
        Self(Arc::new(Held {
            catalog,
            owner,
            until: watch::Sender::new(None),
        }))
    }

    /// Whether the lease is held now.
    pub(super) fn holds(&self) -> bool {
        is_ahead(*self.0.until.borrow())
    }

    /// Waits until the lease is held.
    pub(super) async fn held(&self) {
        let mut until = self.0.until.subscribe();
        // The sender lives as long as this handle does.
        let _ = until.wait_for(|until| is_ahead(*until)).await;
    }

    /// Waits until the lease is not held any more.
    pub(super) async fn lost(&self) {
        let mut changes = self.0.until.subscribe();
        loop {
            let until = *changes.borrow_and_update();
            let Some(until) = until.filter(|until| *until > Instant::now()) else {
                return;
            };
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Takes the lease when it is free and renews it, until told to stop.
    pub(super) async fn keep(self, stop: CancellationToken) {
        let mut beats = tokio::time::interval(RENEW_EVERY);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(beats.tick()).await.is_some() {
            self.beat().await;
        }
    }

    async fn beat(&self) {
        // The lease runs from some moment after this one.
        let asked = Instant::now();
        let before = self.holds();
        match super::catching_panics(self.0.catalog.take_work(&self.0.owner, LEASE)).await {
            Ok(lease) if lease.owner == self.0.owner => {
                if !before {
                    tracing::info!(term = lease.term, "works in the background");
                }
                self.0.until.send_replace(Some(asked + TRUSTED_FOR));
            }
            Ok(lease) => {
                if before {
                    tracing::warn!(owner = lease.owner, "another process works now");
                }
                self.0.until.send_replace(None);
            }
            // It is held until it ends; then nothing is begun until it is known who holds it.
            Err(error) => tracing::debug!(%error, "the lease could not be renewed"),
        }
    }

    /// Gives the lease back. Call when nothing runs any more.
    pub(super) async fn release(&self) {
        self.0.until.send_replace(None);
        if let Err(error) = self.0.catalog.release_work(&self.0.owner).await {
            tracing::debug!(%error, "the lease was not given back; it ends by itself");
        }
    }
}

fn is_ahead(until: Option<Instant>) -> bool {
    until.is_some_and(|until| until > Instant::now())
}
