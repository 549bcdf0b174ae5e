//! Coverage: how many products have each spec key.
//!
//! Coverage of up to 60,000 products on sale is counted while the client waits. For more products
//! the cached coverage is returned, with the time it was counted at. If it was never counted, the
//! request fails with `UNAVAILABLE` until the worker `panels` has counted it. No request counts
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{FacetKey, FacetTally, Panel, TallyFields};
use vitrine_model::filter::Condition;
use vitrine_model::spec::SpecKey;
use vitrine_storage::counts::CountSnapshot;

use super::panel::{self, Units};
use super::{MAX_STORED_VALUES, Scope, generation};
use crate::products::Visibility;
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// Coverage is counted on request for up to this many times as many products as facets read; beyond
/// that, the stored coverage is returned.
const COVERAGE_FACTOR: u64 = 3;
/// The entry that records the generation of the coverage of all keys.
const ALL_KEYS: &str = "@all";
/// The maximum number of suggested keys.
const MAX_SUGGESTED: usize = 100;

/// How many active products have a spec key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCoverage {
    /// The number of products that have it.
    pub products: u64,
    /// The number of different values.
    pub distinct_values: u64,
    /// For each kind with a product that has it: `(kind, products of the kind, those with the
    /// key)`.
    pub kinds: Vec<(String, u64, u64)>,
    /// Up to five of the most common values, as displayed.
    pub samples: Vec<String>,
    /// When it was counted.
    pub as_of: Timestamp,
}

/// A spec key that is common in a category or kind.
#[derive(Clone, Debug, PartialEq)]
pub struct SuggestedKey {
    /// The key.
    pub key: Arc<SpecKey>,
    /// The number of the category's or kind's products that have it.
    pub products: u64,
    /// The number of products in the category or kind.
    pub of: u64,
}

/// The stored coverage of a key.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CoverageSnapshot {
    products: u64,
    distinct_values: u64,
    kinds: Vec<(String, u64, u64)>,
    samples: Vec<String>,
}

impl Catalog {
    /// The coverage of these keys, without those that no active product has. In a very large
    /// catalogue it may be outdated.
    ///
    /// # Errors
    /// [`DomainError::Unavailable`] while a very large catalogue is being counted for the first
    /// time.
    pub async fn coverage(
        &self,
        keys: Vec<String>,
    ) -> Result<HashMap<String, Arc<KeyCoverage>>, DomainError> {
        let reference = self.reference();
        let snapshot = self.get_coverage(keys.clone(), &reference).await?;
        let mut found = snapshot.found;
        if !snapshot.current {
            if self.own_counts().await?.on_sale(None) <= self.max_covered() {
                let counted = self
                    .panel_cache()
                    .coverage
                    .share(self.count_all(&reference));
                let counted = counted.await?;
                let all = counted.iter();
                found = all.map(|(key, of)| (key.clone(), Arc::clone(of))).collect();
            } else if !snapshot.counted {
                return Err(DomainError::Unavailable(None));
            }
        }
        found.retain(|key, _| keys.contains(key));
        Ok(found)
    }

    /// The keys that most products of a category (with its descendants) or of a kind have, most
    /// common first.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] unless exactly one of `category` and `kind` is given, the category
    /// exists, and `first` is in range.
    pub async fn suggested_keys(
        &self,
        category: Option<&str>,
        kind: Option<&str>,
        first: usize,
    ) -> Result<Vec<SuggestedKey>, DomainError> {
        if !(1..=MAX_SUGGESTED).contains(&first) {
            let reason = format!("must be 1 to {MAX_SUGGESTED}, not {first}");
            return Err(DomainError::invalid("first", reason));
        }
        let mut found = match (category, kind) {
            (Some(slug), None) => self.keys_of_category(slug).await?,
            (None, Some(kind)) => self.keys_of_kind(kind).await?,
            _ => {
                return Err(DomainError::invalid(
                    "category",
                    "set exactly one of category and kind",
                ));
            }
        };
        found.retain(|suggested| suggested.products > 0);
        found.sort_by(|a, b| {
            b.products
                .cmp(&a.products)
                .then_with(|| a.key.key.cmp(&b.key.key))
        });
        found.truncate(first);
        Ok(found)
    }

    async fn keys_of_category(&self, slug: &str) -> Result<Vec<SuggestedKey>, DomainError> {
        let reference = self.reference_for_slug(slug).await?;
        let Some(category) = reference.categories.by_slug(slug) else {
            let reason = "there is no category with this slug";
            return Err(DomainError::invalid("category", reason));
        };
        let scope = Scope::category(category.id, &reference);
        let (snapshot, _) = self.get_snapshot(&scope, &reference).await?;
        let panel = match snapshot {
            Some(snapshot) if snapshot.current => snapshot.panel,
            snapshot => match self.count_scope(&scope, &reference).await? {
                Some(counted) => Panel::clone(&counted),
                // Outdated counts are good enough for suggestions.
                None => snapshot.ok_or(DomainError::Unavailable(None))?.panel,
            },
        };
        let of = panel.products;
        let suggested = panel.facets.into_iter().filter_map(|facet| {
            let FacetKey::Spec(key) = FacetKey::parse(&facet.key).ok()? else {
                return None;
            };
            Some(SuggestedKey {
                key: Arc::new(reference.dictionary.get(&key)?.clone()),
                products: facet.products,
                of,
            })
        });
        Ok(suggested.collect())
    }

    async fn keys_of_kind(&self, kind: &str) -> Result<Vec<SuggestedKey>, DomainError> {
        let reference = self.reference();
        let keys = reference
            .dictionary
            .keys()
            .iter()
            .map(|key| key.key.clone());
        let coverage = self.coverage(keys.collect()).await?;
        let suggested = coverage.iter().filter_map(|(key, coverage)| {
            let (_, of, products) = coverage.kinds.iter().find(|(name, ..)| name == kind)?;
            Some(SuggestedKey {
                key: Arc::new(reference.dictionary.get(key)?.clone()),
                products: *products,
                of: *of,
            })
        });
        Ok(suggested.collect())
    }

    fn max_covered(&self) -> u64 {
        COVERAGE_FACTOR * u64::from(self.max_products_read())
    }

    /// Counts a category with its descendants and stores its panel; `None` when it has too many
    /// products. Concurrent callers share one count.
    async fn count_scope(
        &self,
        scope: &Scope,
        reference: &Reference,
    ) -> Result<Option<Arc<Panel>>, DomainError> {
        let own = self.own_counts().await?;
        if own.on_sale(scope.categories.as_deref()) > self.max_covered() {
            return Ok(None);
        }
        let single_flight = self.panel_cache().panel(&scope.name);
        let count = async {
            let (_, sum) = self.get_snapshot(scope, reference).await?;
            let (as_of, tally) = (self.now(), self.tally_scope(scope, reference).await?);
            let panel = panel_of(&tally, reference);
            self.save_panel(scope, sum, &panel, as_of, reference)
                .await?;
            Ok(Arc::new(panel))
        };
        single_flight.share(count).await.map(Some)
    }

    /// Counts all active products, and stores panel and coverage.
    async fn count_all(
        &self,
        reference: &Reference,
    ) -> Result<Arc<HashMap<String, Arc<KeyCoverage>>>, DomainError> {
        let (scope, as_of) = (Scope::all(), self.now());
        let sum = self
            .read(|store| async move { store.generation(None).await })
            .await?;
        let tally = self.tally_scope(&scope, reference).await?;
        let found = self.save_coverage(&tally, sum, as_of, reference).await?;
        self.save_panel(&scope, sum, &panel_of(&tally, reference), as_of, reference)
            .await?;
        Ok(Arc::new(found))
    }

    /// Stores the coverage of all keys, counted after all generations had this sum.
    pub(super) async fn save_coverage(
        &self,
        tally: &FacetTally,
        sum: i64,
        as_of: Timestamp,
        reference: &Reference,
    ) -> Result<HashMap<String, Arc<KeyCoverage>>, DomainError> {
        let generation = generation::of_coverage(sum, reference);
        let (mut found, mut snapshot) = (HashMap::new(), Vec::new());
        for (key, _) in tally.keys() {
            let coverage = coverage_of(tally, key, reference, as_of);
            snapshot.push(to_stored(key, &coverage, &generation));
            found.insert(key.to_owned(), Arc::new(coverage));
        }
        // Last, because it marks the others as complete.
        snapshot.push(to_stored(ALL_KEYS, &KeyCoverage::none(as_of), &generation));
        self.maintain(|store| async move { store.save_coverage(&snapshot).await })
            .await?;
        Ok(found)
    }

    /// Counts a scope on request.
    async fn tally_scope(
        &self,
        scope: &Scope,
        reference: &Reference,
    ) -> Result<FacetTally, DomainError> {
        let mut parts = vec![Condition::Status(Visibility::Public.states().to_vec())];
        parts.extend(scope.categories.clone().map(Condition::Category));
        let (condition, limits) = (Condition::All(parts), (u64::MAX - 1, None));
        let tally = self.tally(&condition, TallyFields::all(), limits, reference);
        Ok(tally.await?.expect("a count without a limit is whole"))
    }

    async fn get_coverage(
        &self,
        mut keys: Vec<String>,
        reference: &Reference,
    ) -> Result<StoredCoverage, DomainError> {
        keys.push(ALL_KEYS.to_owned());
        let (mut snapshot, generation) = self
            .read(|store| async move {
                futures_util::future::try_join(store.get_coverage(&keys), store.generation(None))
                    .await
            })
            .await?;
        let generation = generation::of_coverage(generation, reference);
        let all = snapshot.remove(ALL_KEYS);
        let current = all.as_ref().is_some_and(|all| all.generation == generation);
        let counted = all.is_some();
        // Entries of earlier generations belong to keys that no longer exist.
        let newest = all.map(|all| all.generation);
        let read = |(key, snapshot): (String, CountSnapshot)| {
            let coverage: CoverageSnapshot = serde_json::from_str(&snapshot.counted).ok()?;
            let same = Some(&snapshot.generation) == newest.as_ref();
            same.then(|| (key, Arc::new(KeyCoverage::of(coverage, snapshot.as_of))))
        };
        Ok(StoredCoverage {
            found: snapshot.into_iter().filter_map(read).collect(),
            current,
            counted,
        })
    }
}

/// Stored coverage.
struct StoredCoverage {
    found: HashMap<String, Arc<KeyCoverage>>,
    current: bool,
    /// Whether it has ever been counted.
    counted: bool,
}

impl KeyCoverage {
    fn none(as_of: Timestamp) -> Self {
        Self::of(CoverageSnapshot::default(), as_of)
    }

    fn of(snapshot: CoverageSnapshot, as_of: Timestamp) -> Self {
        Self {
            products: snapshot.products,
            distinct_values: snapshot.distinct_values,
            kinds: snapshot.kinds,
            samples: snapshot.samples,
            as_of,
        }
    }
}

pub(super) fn panel_of(tally: &FacetTally, reference: &Reference) -> Panel {
    panel::panel(tally, reference, &Units::default(), MAX_STORED_VALUES)
}

fn coverage_of(
    tally: &FacetTally,
    key: &str,
    reference: &Reference,
    as_of: Timestamp,
) -> KeyCoverage {
    let coverage = tally.coverage(key, &reference.units);
    let kinds = coverage.kinds.into_iter().filter(|kind| kind.having > 0);
    KeyCoverage {
        products: coverage.products,
        distinct_values: coverage.distinct_values,
        kinds: kinds
            .map(|kind| (kind.kind, kind.products, kind.having))
            .collect(),
        samples: coverage.samples,
        as_of,
    }
}

fn to_stored(key: &str, coverage: &KeyCoverage, generation: &str) -> (String, CountSnapshot) {
    let snapshot = CoverageSnapshot {
        products: coverage.products,
        distinct_values: coverage.distinct_values,
        kinds: coverage.kinds.clone(),
        samples: coverage.samples.clone(),
    };
    let counted = serde_json::to_string(&snapshot).expect("coverage is plain data");
    let snapshot = CountSnapshot {
        generation: generation.to_owned(),
        as_of: coverage.as_of,
        counted,
        products: i64::try_from(coverage.products).unwrap_or(i64::MAX),
    };
    (key.to_owned(), snapshot)
}
