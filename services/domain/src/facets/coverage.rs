//! How far products have each spec key.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{FacetKey, FacetTally, Panel, TallyFields};
use vitrine_model::filter::Condition;
use vitrine_model::spec::SpecKey;
use vitrine_storage::counts::Kept;

use super::panel::{self, Units};
use super::{KEPT_VALUES, Scope, generation};
use crate::products::Visibility;
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// The coverage of keys is counted while the caller waits of so many times as many products as facets
/// read; of more it is given as it was counted last.
const MAX_COVERED: u64 = 3;
/// The entry that says what the coverage of all keys was counted from.
const ALL_KEYS: &str = "@all";
/// The most keys that are suggested.
const MAX_SUGGESTED: usize = 100;

/// How far the products on sale have a spec key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCoverage {
    /// How many products have it.
    pub products: u64,
    /// How many different values they have.
    pub distinct_values: u64,
    /// For each kind some product of which has it: `(kind, products of the kind, those with the
    /// key)`.
    pub kinds: Vec<(String, u64, u64)>,
    /// Up to five of the most common values, as they are shown.
    pub samples: Vec<String>,
    /// As of when.
    pub as_of: Timestamp,
}

/// A spec key that suits a category or kind.
#[derive(Clone, Debug, PartialEq)]
pub struct SuggestedKey {
    /// The key.
    pub key: Arc<SpecKey>,
    /// How many of its products have it.
    pub products: u64,
    /// Of how many.
    pub of: u64,
}

/// What is kept of the coverage of a key.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CoverageSnapshot {
    products: u64,
    distinct_values: u64,
    kinds: Vec<(String, u64, u64)>,
    samples: Vec<String>,
}

impl Catalog {
    /// The coverage of these keys; those no product on sale has are absent. Of very many products as
    /// it was counted last.
    ///
    /// # Errors
    /// [`DomainError::Unavailable`] while so many products are counted for the first time.
    pub async fn coverage(
        &self,
        keys: Vec<String>,
    ) -> Result<HashMap<String, Arc<KeyCoverage>>, DomainError> {
        let reference = self.reference();
        let kept = self.kept_coverage(keys.clone(), &reference).await?;
        let mut found = kept.found;
        if !kept.current {
            if self.own_counts().await?.on_sale(None) <= self.most_covered() {
                let counted = self
                    .panel_memory()
                    .coverage
                    .share(self.count_all(&reference));
                let counted = counted.await?;
                let all = counted.iter();
                found = all.map(|(key, of)| (key.clone(), Arc::clone(of))).collect();
            } else if !kept.counted {
                return Err(DomainError::Unavailable(None));
            }
        }
        found.retain(|key, _| keys.contains(key));
        Ok(found)
    }

    /// The keys that most products of a category (with all below it) or kind have, the most common
    /// first.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] unless exactly one of the two is given, the category exists, and
    /// `first` is in range.
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
                    "give exactly one of category and kind",
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
        let (kept, _) = self.kept_panel(&scope, &reference).await?;
        let panel = match kept {
            Some(kept) if kept.current => kept.panel,
            kept => match self.count_scope(&scope, &reference).await? {
                Some(counted) => Panel::clone(&counted),
                // What suits a category does not change from one product to the next.
                None => kept.ok_or(DomainError::Unavailable(None))?.panel,
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

    fn most_covered(&self) -> u64 {
        MAX_COVERED * u64::from(self.most_read())
    }

    /// Counts a category with all below it, and keeps its panel; `None` when it holds too many
    /// products for that. Of those who ask at once, one counts.
    async fn count_scope(
        &self,
        scope: &Scope,
        reference: &Reference,
    ) -> Result<Option<Arc<Panel>>, DomainError> {
        let own = self.own_counts().await?;
        if own.on_sale(scope.categories.as_deref()) > self.most_covered() {
            return Ok(None);
        }
        let single_flight = self.panel_memory().panel(&scope.name);
        let count = async {
            let (_, sum) = self.kept_panel(scope, reference).await?;
            let (as_of, tally) = (self.now(), self.tally_scope(scope, reference).await?);
            let panel = panel_of(&tally, reference);
            self.keep_panel(scope, sum, &panel, as_of, reference)
                .await?;
            Ok(Arc::new(panel))
        };
        single_flight.share(count).await.map(Some)
    }

    /// Counts everything on sale and keeps panel and coverage.
    async fn count_all(
        &self,
        reference: &Reference,
    ) -> Result<Arc<HashMap<String, Arc<KeyCoverage>>>, DomainError> {
        let (scope, as_of) = (Scope::all(), self.now());
        let sum = self
            .read(|store| async move { store.generation(None).await })
            .await?;
        let tally = self.tally_scope(&scope, reference).await?;
        let found = self.keep_coverage(&tally, sum, as_of, reference).await?;
        self.keep_panel(&scope, sum, &panel_of(&tally, reference), as_of, reference)
            .await?;
        Ok(Arc::new(found))
    }

    /// Keeps the coverage of all keys, counted after the counters of everything had this sum.
    pub(super) async fn keep_coverage(
        &self,
        tally: &FacetTally,
        sum: i64,
        as_of: Timestamp,
        reference: &Reference,
    ) -> Result<HashMap<String, Arc<KeyCoverage>>, DomainError> {
        let generation = generation::of_coverage(sum, reference);
        let (mut found, mut kept) = (HashMap::new(), Vec::new());
        for (key, _) in tally.keys() {
            let coverage = coverage_of(tally, key, reference, as_of);
            kept.push(keep(key, &coverage, &generation));
            found.insert(key.to_owned(), Arc::new(coverage));
        }
        // Last, because it says that the others are there.
        kept.push(keep(ALL_KEYS, &KeyCoverage::none(as_of), &generation));
        self.maintain(|store| async move { store.keep_coverage(&kept).await })
            .await?;
        Ok(found)
    }

    /// Counts a scope while a caller waits.
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

    async fn kept_coverage(
        &self,
        mut keys: Vec<String>,
        reference: &Reference,
    ) -> Result<Ahead, DomainError> {
        keys.push(ALL_KEYS.to_owned());
        let (mut kept, generation) = self
            .read(|store| async move {
                futures_util::future::try_join(store.kept_coverage(&keys), store.generation(None))
                    .await
            })
            .await?;
        let generation = generation::of_coverage(generation, reference);
        let all = kept.remove(ALL_KEYS);
        let current = all.as_ref().is_some_and(|all| all.generation == generation);
        let counted = all.is_some();
        // What other passes left behind of keys that have gone since is not given.
        let newest = all.map(|all| all.generation);
        let read = |(key, kept): (String, Kept)| {
            let coverage: CoverageSnapshot = serde_json::from_str(&kept.counted).ok()?;
            let same = Some(&kept.generation) == newest.as_ref();
            same.then(|| (key, Arc::new(KeyCoverage::of(coverage, kept.as_of))))
        };
        Ok(Ahead {
            found: kept.into_iter().filter_map(read).collect(),
            current,
            counted,
        })
    }
}

/// Coverage that was precomputed, and whether nothing has changed since.
struct Ahead {
    found: HashMap<String, Arc<KeyCoverage>>,
    current: bool,
    /// Whether it was counted ever.
    counted: bool,
}

impl KeyCoverage {
    fn none(as_of: Timestamp) -> Self {
        Self::of(CoverageSnapshot::default(), as_of)
    }

    fn of(kept: CoverageSnapshot, as_of: Timestamp) -> Self {
        Self {
            products: kept.products,
            distinct_values: kept.distinct_values,
            kinds: kept.kinds,
            samples: kept.samples,
            as_of,
        }
    }
}

pub(super) fn panel_of(tally: &FacetTally, reference: &Reference) -> Panel {
    panel::panel(tally, reference, &Units::default(), KEPT_VALUES)
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

fn keep(key: &str, coverage: &KeyCoverage, generation: &str) -> (String, Kept) {
    let kept = CoverageSnapshot {
        products: coverage.products,
        distinct_values: coverage.distinct_values,
        kinds: coverage.kinds.clone(),
        samples: coverage.samples.clone(),
    };
    let counted = serde_json::to_string(&kept).expect("coverage is plain data");
    let kept = Kept {
        generation: generation.to_owned(),
        as_of: coverage.as_of,
        counted,
        products: i64::try_from(coverage.products).unwrap_or(i64::MAX),
    };
    (key.to_owned(), kept)
}
