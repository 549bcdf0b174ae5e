//! What workers call: reconcilers that take no input, may run at any time and any number of times,
//! and say what they did.

use std::time::{Duration, Instant};

use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::worker::Run;
use vitrine_storage::audit::Difference;
use vitrine_storage::fold::Folded;
use vitrine_storage::versions::VersionCounts;
use vitrine_storage::{StorageError, Store};

use crate::workers::{Worker, batch};
use crate::{Catalog, DomainError};

/// How many products are moved to their new popularity with one command.
const MOVED: u32 = 100;
/// How many reviews are brought to the newest version at once.
pub(crate) const UPGRADED: u32 = 500;
/// How many products are folded in one transaction when many wait.
const GROUP: usize = 100;
/// For how long products are folded in one run; what still waits is for the next.
const FOLDED: Duration = Duration::from_secs(4);

/// What the fold remembers of a round, in which every product that waits has one turn.
#[derive(Debug, Default)]
pub struct FoldUpkeep {
    /// Which product had its turn last.
    after: Option<ProductId>,
    /// How many reviews were folded.
    reviews: usize,
    /// The first failure.
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
    /// Brings the computed data of all products up to date with their reviews, popularity as well.
    /// Reads two small indexes when nothing is to be done. A product that cannot be folded does not
    /// keep others from it.
    ///
    /// # Errors
    /// The first [`DomainError`] met; what could be folded is folded.
    pub async fn fold_pending(&self) -> Result<Folded, DomainError> {
        let folded = self.fold_dirty().await?;
        while self.refresh_popularity(MOVED).await? > 0 {}
        Ok(folded)
    }

    /// Moves some products to the popularity that their reviews give them. Gives how many.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn refresh_popularity(&self, most: u32) -> Result<usize, DomainError> {
        let store = self.store().clone();
        self.shielded(async move { store.refresh_popularity(most).await })
            .await
    }

    /// Brings some reviews of an older version to the newest: the fold does it, and counts them by
    /// what they can be filtered by from then on. Gives how many; reads one empty index when there
    /// are none.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call goes on.
    pub async fn upgrade_reviews(&self) -> Result<usize, DomainError> {
        let store = self.store().clone();
        let upgraded = self
            .shielded(async move { store.upgrade_reviews(UPGRADED).await })
            .await?;
        if upgraded > 0 {
            self.fold_some(&mut FoldUpkeep::default()).await?;
        }
        Ok(upgraded)
    }

    /// Brings some products of an older version to the newest. Reads one empty index when there are
    /// none.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails, or none of them can be written; the next call goes
    /// on.
    pub async fn upgrade_products(&self) -> Result<Run, DomainError> {
        let store = self.store().clone();
        let upgraded = self.shielded(async move { store.upgrade_products(UPGRADED).await });
        let upgraded = upgraded.await?;
        match upgraded.failed {
            Some(error) if upgraded.written == 0 => Err(error.into()),
            // Those that cannot be written are met again, when no others are left.
            Some(_) => Ok(Run {
                backlog: 1,
                ..batch(upgraded.written, UPGRADED)
            }),
            None => Ok(batch(upgraded.written, UPGRADED)),
        }
    }

    /// How far products and reviews are on their way to the newest version.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn data_versions(&self) -> Result<Vec<DataVersions>, DomainError> {
        let store = self.store().clone();
        let (products, reviews, reports) = self
            .shielded(async move {
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

    /// As [`Catalog::fold_pending`], but for popularity.
    ///
    /// # Errors
    /// As there.
    pub async fn fold_dirty(&self) -> Result<Folded, DomainError> {
        let (mut total, mut upkeep) = (Folded::default(), FoldUpkeep::default());
        loop {
            let (folded, all) = self.fold_some(&mut upkeep).await?;
            total.reviews += folded.reviews;
            total.products += folded.products;
            if all {
                return Ok(total);
            }
        }
    }

    /// Folds products that wait, each once, and each before any is folded again; for seconds at
    /// most. Gives what was folded, and whether nothing waited any more.
    ///
    /// # Errors
    /// The first [`DomainError`] met since all products had their turn, if nothing could be folded.
    pub(crate) async fn fold_some(
        &self,
        upkeep: &mut FoldUpkeep,
    ) -> Result<(Folded, bool), DomainError> {
        let (began, mut total) = (Instant::now(), Folded::default());
        let mut round = std::mem::take(upkeep);
        while began.elapsed() < FOLDED {
            let (store, after) = (self.store().clone(), round.after);
            let waiting = self
                .shielded(async move { store.products_to_fold(after, GROUP).await })
                .await?;
            let Some(last) = waiting.last() else {
                return match round.failed {
                    Some(error) if round.reviews == 0 => Err(error.into()),
                    _ => Ok((total, round.reviews == 0)),
                };
            };
            round.after = Some(*last);
            let (folded, error) = self.fold_group(waiting).await?;
            round.reviews += folded.reviews;
            round.failed = round.failed.or(error);
            total.reviews += folded.reviews;
            total.products += folded.products;
        }
        *upkeep = round;
        Ok((total, false))
    }

    /// Folds some products together, or each alone when together nothing comes of it. Gives what was folded
    /// and the first failure.
    async fn fold_group(
        &self,
        products: Vec<ProductId>,
    ) -> Result<(Folded, Option<StorageError>), DomainError> {
        let (store, now) = (self.store().clone(), self.now());
        self.shielded(async move {
            match store.fold(&products, now).await {
                // Many reviews that cannot be counted may have hidden those of other products.
                Ok(folded) if folded.reviews > 0 || products.len() == 1 => Ok((folded, None)),
                Err(error @ StorageError::Unavailable(_)) => Err(error),
                _ => fold_each(&store, &products, now).await,
            }
        })
        .await
    }

    /// Compares everything computed or copied with where it comes from. Empty when all is well.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn audit(&self) -> Result<Vec<Difference>, DomainError> {
        let (store, reference, currency) =
            (self.store().clone(), self.reference(), self.currency());
        let now = self.now();
        let audit = self.shielded(async move {
            let encoding = vitrine_storage::products::Encoding {
                units: &reference.units,
                currency,
            };
            store.audit(encoding, now).await
        });
        let mut differences = audit.await?;
        differences.extend(self.audit_panels().await?);
        Ok(differences)
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
            Err(error @ StorageError::Unavailable(_)) => return Err(error),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    Ok((total, failed))
}
