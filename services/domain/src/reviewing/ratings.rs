//! Rating numbers by time, and the proof that the stored ones are right.

use std::collections::{BTreeMap, HashMap};

use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::import::digest;
use vitrine_model::rating::{Histogram, RatingStats};
use vitrine_model::review::{TopReview, Traits};
use vitrine_storage::StorageError;
use vitrine_storage::ratings::{Counted, Recounted};

use super::writing::no_product;
use crate::outcome::Outcome;
use crate::{Catalog, DomainError};

/// The most months that are read at once.
pub const MAX_MONTHS: i32 = 120;
/// The most days of recent ratings.
pub const MAX_DAYS: i32 = 366;
/// The most products that are counted anew at once.
pub const MAX_RECOUNTED: i32 = 100;
/// How often a product is repaired when its numbers are wrong still: a fold between may have met
/// numbers so wrong that it dropped a part of them.
const MAX_REPAIRS: usize = 3;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The ratings of one month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatingMonth {
    /// The month, as [`Timestamp::month`] counts them.
    pub month: i32,
    /// The reviews written in it, by stars.
    pub histogram: Histogram,
}

/// What a recount of some products found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsAudit {
    /// How many products were counted.
    pub checked: usize,
    /// How many of them have reviews that are still to be counted, so that nothing can be said.
    pub pending: usize,
    /// These products.
    pub waiting: Vec<ProductId>,
    /// What differs.
    pub differences: Vec<StatsDifference>,
    /// The last product that was looked at; `None` at the end.
    pub last: Option<ProductId>,
}

/// A number that is not what the reviews say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsDifference {
    /// The product.
    pub product: ProductId,
    /// Which number.
    pub field: &'static str,
    /// What is stored.
    pub stored: String,
    /// What the reviews say.
    pub expected: String,
}

/// A repair of a product's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The product.
    pub product: ProductId,
    /// What differed before.
    pub differences: Vec<StatsDifference>,
}

impl Catalog {
    /// The ratings of products in each of the last so many months, this one included, oldest
    /// first; months without reviews have zeros. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a number of months that is not possible.
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
        let asked = products.clone();
        let found = self
            .read(|store| async move { store.rating_months(&asked, from, to).await })
            .await?;
        let none = BTreeMap::new();
        let trend = |product: ProductId| {
            let known = found.get(&product).unwrap_or(&none);
            let month = |month| RatingMonth {
                month,
                histogram: known.get(&month).copied().unwrap_or_default(),
            };
            (product, (from..=to).map(month).collect())
        };
        Ok(products.into_iter().map(trend).collect())
    }

    /// The ratings of products in the last so many days. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a number of days that is not possible.
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
        let asked = products.clone();
        let found = self
            .read(|store| async move { store.ratings_since(&asked, since).await })
            .await?;
        let as_of: Option<Timestamp> = Some(self.now());
        let stats = |product: ProductId| {
            let stats = RatingStats {
                histogram: found.get(&product).copied().unwrap_or_default(),
                as_of,
                ..RatingStats::default()
            };
            (product, stats)
        };
        Ok(products.into_iter().map(stats).collect())
    }

    /// Counts the next products behind this one anew and compares, in the order of ids; or, with
    /// `only`, that product alone. What reviews say comes from one index, in one snapshot with what
    /// is stored.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a number of products that is not possible.
    pub async fn rating_stats_audit(
        &self,
        after: Option<ProductId>,
        first: i32,
        only: Option<ProductId>,
    ) -> Result<StatsAudit, DomainError> {
        let most = u32::try_from(first)
            .ok()
            .filter(|_| (1..=MAX_RECOUNTED).contains(&first));
        let Some(most) = most else {
            let reason = format!("must be 1 to {MAX_RECOUNTED}, not {first}");
            return Err(DomainError::invalid("first", reason));
        };
        let recounted = self
            .maintain(|store| async move {
                match only {
                    Some(only) => store.recount_these(&[only]).await,
                    None => store.recount_products(after, most).await,
                }
            })
            .await?;
        let full = u32::try_from(recounted.len()).is_ok_and(|n| n == most);
        let last = recounted.last().map(|one| one.product);
        let waiting = recounted.iter().filter(|one| one.pending);
        let waiting: Vec<ProductId> = waiting.map(|one| one.product).collect();
        Ok(StatsAudit {
            checked: recounted.len(),
            pending: waiting.len(),
            waiting,
            differences: recounted.iter().flat_map(differences).collect(),
            last: last.filter(|_| full && only.is_none()),
        })
    }

    /// Makes the numbers of a product what its reviews say, however busy it is. Reviews that wait for
    /// the fold are folded, or left to the worker that folds when others write them all the time.
    ///
    /// Fails when the database does, or when another process repairs the product.
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
    if one.pending {
        return Vec::new();
    }
    let Recounted {
        product,
        stored,
        expected,
        ..
    } = one;
    let mut found = Vec::new();
    let mut compare = |field: &'static str, show: &dyn Fn(&Counted) -> String| {
        let (stored, expected) = (show(stored), show(expected));
        if stored != expected {
            found.push(StatsDifference {
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
        // The copies are too long to be shown whole.
        let top = |top: &TopReview| {
            let text = digest(&format!("{top:?}"));
            format!("{} {} {}", top.id, top.helpful, &text[..8])
        };
        of.top.iter().map(top).collect::<Vec<_>>().join(", ")
    });
    compare("derived", &|of| of.derived.clone());
    compare("large", &|of| of.large.to_string());
    found
}
