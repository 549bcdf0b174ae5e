//! Rating statistics by time, and the audit and repair of stored ones.

use std::collections::{BTreeMap, HashMap};

use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::import::digest;
use vitrine_model::rating::{Histogram, RatingStats};
use vitrine_model::review::{TopReview, Traits};
use vitrine_storage::StorageError;
use vitrine_storage::ratings::{Recounted, ReviewTotals};

use super::writing::no_product;
use crate::outcome::Outcome;
pub use vitrine_storage::audit_findings::{AuditFinding, AuditRound};

use crate::{Catalog, DomainError};

/// The maximum number of months of a rating trend.
pub const MAX_MONTHS: i32 = 120;
/// The maximum number of days of recent ratings.
pub const MAX_DAYS: i32 = 366;
/// The maximum number of products audited at once.
pub const MAX_RECOUNTED: i32 = 100;
/// How often a repair is repeated: a concurrent fold may start from numbers so wrong that it drops
/// part of them.
const MAX_REPAIRS: usize = 3;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The ratings of one month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatingMonth {
    /// The month, as [`Timestamp::month`] numbers them.
    pub month: i32,
    /// The reviews of that month, by stars.
    pub histogram: Histogram,
}

/// The result of auditing products.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsAudit {
    /// The number of audited products.
    pub checked: usize,
    /// The audited products with dirty reviews, which cannot be compared.
    pub uncounted: Vec<ProductId>,
    /// The differences between stored and recounted statistics.
    pub differences: Vec<StatsDifference>,
    /// The last audited product; `None` at the end.
    pub last: Option<ProductId>,
}

/// A stored statistic that differs from the recount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsDifference {
    /// The product.
    pub product: ProductId,
    /// The name of the statistic.
    pub field: &'static str,
    /// The stored value.
    pub stored: String,
    /// The recounted value.
    pub expected: String,
}

/// The repair of a product's statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The product.
    pub product: ProductId,
    /// The differences before the repair.
    pub differences: Vec<StatsDifference>,
}

/// What the worker `audit` found, and when it last went through everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditStatus {
    /// The last complete round; `None` before the first one.
    pub last_round: Option<AuditRound>,
    /// The differences that were seen last, latest first.
    pub findings: Vec<AuditFinding>,
}

/// The maximum number of findings that are shown.
pub const MAX_FINDINGS: i32 = 100;

impl Catalog {
    /// What the worker `audit` found lately, at most `first` differences. Two commands.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] unless `first` is 1 to [`MAX_FINDINGS`].
    pub async fn audit_status(&self, first: i32) -> Result<AuditStatus, DomainError> {
        let fits = u32::try_from(first).ok();
        let max = fits.filter(|_| (1..=MAX_FINDINGS).contains(&first));
        let max = max.ok_or_else(|| {
            DomainError::invalid("first", format!("must be 1 to {MAX_FINDINGS}, not {first}"))
        })?;
        let (findings, last_round) = self
            .read(|store| async move {
                futures_util::future::try_join(store.audit_findings(max), store.audit_round()).await
            })
            .await?;
        Ok(AuditStatus {
            last_round,
            findings,
        })
    }

    /// The ratings of products in each of the last `months` months, including the current one,
    /// oldest first; months without reviews are zero. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when `months` is out of range.
    pub async fn rating_trends(
        &self,
        products: Vec<ProductId>,
        months: i32,
    ) -> Result<HashMap<ProductId, Vec<RatingMonth>>, DomainError> {
        let right = 1..=MAX_MONTHS;
        if !right.contains(&months) {
            let reason = format!("must be 1 to {MAX_MONTHS}, not {months}");
            return Err(DomainError::invalid("months", reason));
        }
        let to = self.now().month();
        let from = to - months + 1;
        let ids = products.clone();
        let stored = self
            .read(|store| async move { store.rating_months(&ids, from, to).await })
            .await?;
        let none = BTreeMap::new();
        let trend = |product: ProductId| {
            let known = stored.get(&product).unwrap_or(&none);
            let month = |month| RatingMonth {
                month,
                histogram: known.get(&month).copied().unwrap_or_default(),
            };
            (product, (from..=to).map(month).collect())
        };
        Ok(products.into_iter().map(trend).collect())
    }

    /// The ratings of products in the last `days` days. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when `days` is out of range.
    pub async fn recent_ratings(
        &self,
        products: Vec<ProductId>,
        days: i32,
    ) -> Result<HashMap<ProductId, RatingStats>, DomainError> {
        if !(1..=MAX_DAYS).contains(&days) {
            let reason = format!("must be 1 to {MAX_DAYS}, not {days}");
            return Err(DomainError::invalid("days", reason));
        }
        let since = self.now().plus_millis(-i64::from(days) * DAY_MILLIS);
        let ids = products.clone();
        let histograms = self
            .read(|store| async move { store.ratings_since(&ids, since).await })
            .await?;
        let as_of: Option<Timestamp> = Some(self.now());
        let stats = |product: ProductId| {
            let stats = RatingStats {
                histogram: histograms.get(&product).copied().unwrap_or_default(),
                as_of,
                ..RatingStats::default()
            };
            (product, stats)
        };
        Ok(products.into_iter().map(stats).collect())
    }

    /// Recounts the next `first` products after an id and compares them with the stored statistics;
    /// or with `only`, that product alone. Recount and stored values come from one snapshot; the
    /// recount reads a single index.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when `first` is out of range.
    pub async fn rating_stats_audit(
        &self,
        after: Option<ProductId>,
        first: i32,
        only: Option<ProductId>,
    ) -> Result<StatsAudit, DomainError> {
        let limit = u32::try_from(first)
            .ok()
            .filter(|_| (1..=MAX_RECOUNTED).contains(&first));
        let Some(limit) = limit else {
            let reason = format!("must be 1 to {MAX_RECOUNTED}, not {first}");
            return Err(DomainError::invalid("first", reason));
        };
        let recounted = self
            .maintain(|store| async move {
                match only {
                    Some(only) => store.recount_many(&[only]).await,
                    None => store.recount_products(after, limit).await,
                }
            })
            .await?;
        let full = u32::try_from(recounted.len()).is_ok_and(|n| n == limit);
        let last = recounted.last().map(|one| one.product);
        let uncounted = recounted.iter().filter(|one| one.is_dirty);
        Ok(StatsAudit {
            checked: recounted.len(),
            uncounted: uncounted.map(|one| one.product).collect(),
            differences: recounted.iter().flat_map(differences).collect(),
            last: last.filter(|_| full && only.is_none()),
        })
    }

    /// Recomputes the statistics of a product, however busy it is. Dirty reviews are folded, or
    /// left to the fold worker when there are constant write conflicts.
    ///
    /// Fails when the database fails, or when another process repairs the product.
    pub async fn repair_rating_stats(
        &self,
        product: ProductId,
    ) -> Result<Outcome<Repaired>, DomainError> {
        let before = self.rating_stats_audit(None, 1, Some(product)).await?;
        for _ in 0..MAX_REPAIRS {
            let catalog = self.clone();
            let repaired = self
                .maintain(|store| async move {
                    if !store.repair_product(product, catalog.now()).await? {
                        return Ok(false);
                    }
                    match catalog.fold_all(&[product]).await {
                        Ok(()) | Err(StorageError::Contended(_)) => Ok(true),
                        Err(error) => Err(error),
                    }
                })
                .await?;
            if !repaired {
                return Ok(Outcome::Refused {
                    refusals: vec![no_product()],
                    current: None,
                });
            }
            let after = self.rating_stats_audit(None, 1, Some(product)).await?;
            if after.differences.is_empty() {
                break;
            }
        }
        Ok(Outcome::Done(Repaired {
            product,
            differences: before.differences,
        }))
    }
}

fn differences(one: &Recounted) -> Vec<StatsDifference> {
    if one.is_dirty {
        return Vec::new();
    }
    let Recounted {
        product,
        stored,
        expected,
        ..
    } = one;
    let mut differences = Vec::new();
    let mut compare = |field: &'static str, show: &dyn Fn(&ReviewTotals) -> String| {
        let (stored, expected) = (show(stored), show(expected));
        if stored != expected {
            differences.push(StatsDifference {
                product: *product,
                field,
                stored,
                expected,
            });
        }
    };
    compare("histogram", &|of| format!("{:?}", of.histogram.0));
    compare("recommended", &|of| {
        format!("{} yes, {} no", of.recommended.yes, of.recommended.no)
    });
    compare("dimensions", &|of| {
        let dimension = |(name, d): (&String, &vitrine_model::rating::DimensionStats)| {
            format!("{name} {} of {}", d.sum, d.count)
        };
        let all: Vec<String> = of.dimensions.iter().map(dimension).collect();
        all.join(", ")
    });
    compare("traits", &|of| {
        let alike = |(traits, histogram): (&Traits, &Histogram)| {
            format!("{} {:?}", traits.name().unwrap_or_default(), histogram.0)
        };
        let all: Vec<String> = of.traits.iter().map(alike).collect();
        all.join(", ")
    });
    compare("months", &|of| {
        let month = |(month, histogram): (&i32, &Histogram)| {
            let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
            format!("{year}-{month:02} {:?}", histogram.0)
        };
        let all: Vec<String> = of.months.iter().map(month).collect();
        all.join(", ")
    });
    compare("topReviews", &|of| {
        // Whole copies would be too long.
        let top = |top: &TopReview| {
            let text = digest(&format!("{top:?}"));
            format!("{} {} {}", top.id, top.helpful, &text[..8])
        };
        of.top.iter().map(top).collect::<Vec<_>>().join(", ")
    });
    compare("derived", &|of| of.derived.clone());
    compare("large", &|of| of.large.to_string());
    differences
}
