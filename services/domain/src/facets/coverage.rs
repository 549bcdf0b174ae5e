//! How far products have each spec key, and counting ahead.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{FacetKey, Panel, Tally, Wanted};
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::spec::SpecKey;
use vitrine_storage::audit::Difference;
use vitrine_storage::counts::{Kept, PanelSummary};

use super::panel::{self, Units};
use super::{KEPT_VALUES, Scope, stamp_text};
use crate::products::Sight;
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// Up to so many products the coverage of keys is counted while the caller waits; with more, what
/// was counted last is given until the next count is done.
const MOST_COVERED: u64 = 60_000;
/// The entry that says what the coverage of all keys was counted from.
const ALL_KEYS: &str = "@all";
/// A scope is counted again at most so often that counting takes one part in this of the time.
const SHARE: u32 = 10;
/// How old the counts of ratings in panels may be: reviews change them and no stamp.
const RATINGS_MILLIS: i64 = 10 * 60 * 1000;
/// A scope that changes all the time is counted although it is not quiet after so long.
const LONGEST_STALE: Duration = Duration::from_mins(2);
/// How long the server may work on counting a scope ahead.
const PATIENCE: Duration = Duration::from_mins(2);
/// The most keys that are suggested.
const MOST_SUGGESTED: usize = 100;

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
struct KeptCoverage {
    products: u64,
    distinct_values: u64,
    kinds: Vec<(String, u64, u64)>,
    samples: Vec<String>,
}

/// What the worker that counts ahead remembers between its passes.
#[derive(Debug, Default)]
pub struct PanelUpkeep {
    scopes: HashMap<String, Seen>,
}

/// What is remembered of a scope.
#[derive(Debug)]
struct Seen {
    stamp: String,
    stale_since: Instant,
    not_before: Option<Instant>,
}

impl PanelUpkeep {
    /// Whether a scope is to be counted: it changed and is quiet since the last pass, or has been
    /// changing for so long that it cannot be waited for, or its ratings are old.
    fn is_due(
        &mut self,
        scope: &str,
        stamp: &str,
        kept: Option<&PanelSummary>,
        now: Timestamp,
    ) -> bool {
        let current = kept.is_some_and(|kept| kept.stamp == stamp);
        let old =
            kept.is_some_and(|kept| now.as_millis() - kept.as_of.as_millis() > RATINGS_MILLIS);
        let seen = self.scopes.entry(scope.to_owned()).or_insert_with(|| Seen {
            stamp: String::new(),
            stale_since: Instant::now(),
            not_before: None,
        });
        let quiet = seen.stamp == stamp;
        stamp.clone_into(&mut seen.stamp);
        if current {
            seen.stale_since = Instant::now();
        }
        let waited = seen.stale_since.elapsed() > LONGEST_STALE;
        let early = seen.not_before.is_some_and(|at| Instant::now() < at);
        !early && (old || (!current && (quiet || waited)))
    }

    /// Notes that a scope was counted, and for how long it is to be left alone.
    fn counted(&mut self, scope: &str, pause: Duration) {
        if let Some(seen) = self.scopes.get_mut(scope) {
            seen.not_before = Some(Instant::now() + pause);
        }
    }
}

impl Catalog {
    /// The coverage of these keys; those no product on sale has are absent.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn coverage(
        &self,
        keys: Vec<String>,
    ) -> Result<HashMap<String, Arc<KeyCoverage>>, DomainError> {
        let reference = self.reference();
        let kept = self.kept_coverage(keys.clone(), &reference).await?;
        let Ahead {
            mut found, current, ..
        } = kept;
        if !current {
            // Of those who ask at once, one counts.
            let _counting = self.panel_memory().counting.lock().await;
            let again = self.kept_coverage(keys.clone(), &reference).await?;
            if again.current {
                return Ok(again.found);
            }
            let on_sale = Condition::Status(Sight::Public.states().to_vec());
            let store = self.store().clone();
            let products = self
                .shielded(async move { store.count_products(&on_sale, MOST_COVERED + 1).await })
                .await?;
            // Of more products the last count is given, unless there was none: then the caller has
            // to wait for once.
            if products <= MOST_COVERED || !again.counted {
                found = self.count_all(&reference, None).await?;
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
        if !(1..=MOST_SUGGESTED).contains(&first) {
            let reason = format!("must be 1 to {MOST_SUGGESTED}, not {first}");
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
        let (kept, stamp) = self.kept_panel(&scope, &reference).await?;
        let panel = match kept {
            Some((kept, panel)) if kept.stamp == stamp => panel,
            // What suits a category does not change from one product to the next.
            Some((_, panel)) if panel.products > MOST_COVERED => panel,
            _ => {
                let _counting = self.panel_memory().counting.lock().await;
                // Of those who ask at once, one counts.
                let (kept, stamp) = self.kept_panel(&scope, &reference).await?;
                match kept {
                    Some((kept, panel)) if kept.stamp == stamp => panel,
                    _ => self.count_scope(&scope, &stamp, &reference, None).await?,
                }
            }
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

    /// Counts ahead what has changed and is quiet again: categories, the whole catalogue, and with
    /// it the coverage of keys. Gives how many were counted. Never needed for correctness: what is
    /// out of date is counted when it is asked for.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn refresh_panels(&self, upkeep: &mut PanelUpkeep) -> Result<usize, DomainError> {
        self.refresh_reference().await?;
        let reference = self.reference();
        let store = self.store().clone();
        let (stamps, kept) = self
            .shielded(async move {
                futures_util::future::try_join(store.stamps(), store.panel_summaries()).await
            })
            .await?;
        let (now, mut counted) = (self.now(), 0);
        for scope in scopes(&reference) {
            let stamp = stamp_text(scope.stamp(&stamps), &reference);
            let kept = kept.get(&scope.name);
            if upkeep.is_due(&scope.name, &stamp, kept, now)
                && self.recount(&scope, &stamp, &reference, upkeep).await
            {
                counted += 1;
            }
        }
        Ok(counted)
    }

    /// Counts a scope ahead. One that fails does not keep others from it.
    async fn recount(
        &self,
        scope: &Scope,
        stamp: &str,
        reference: &Reference,
        upkeep: &mut PanelUpkeep,
    ) -> bool {
        let began = Instant::now();
        let outcome = if scope.categories.is_none() {
            self.count_all(reference, Some(PATIENCE)).await.map(drop)
        } else {
            let counted = self.count_scope(scope, stamp, reference, Some(PATIENCE));
            counted.await.map(drop)
        };
        upkeep.counted(&scope.name, began.elapsed() * SHARE);
        if let Err(error) = &outcome {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(scope = scope.name, %error, cause, "a panel could not be counted ahead");
        }
        outcome.is_ok()
    }

    /// Compares what was counted ahead and counts as current with a new count.
    pub(crate) async fn audit_panels(&self) -> Result<Vec<Difference>, DomainError> {
        let reference = self.reference();
        let mut differences = Vec::new();
        for scope in scopes(&reference) {
            let (kept, stamp) = self.kept_panel(&scope, &reference).await?;
            let Some((_, stored)) = kept.filter(|(kept, _)| kept.stamp == stamp) else {
                continue;
            };
            let tally = self.tally_scope(&scope, &reference, None).await?;
            let mut expected = panel_of(&tally, &reference);
            let mut stored = stored;
            // Reviews change ratings without touching the stamp, which is why they are labelled.
            let rating = FacetKey::Rating;
            stored.facets.retain(|facet| facet.key != rating.name());
            expected.facets.retain(|facet| facet.key != rating.name());
            if stored != expected {
                differences.push(Difference {
                    place: format!("facet_panels {}", scope.name),
                    what: "panel".to_owned(),
                    stored: format!("{stored:?}"),
                    expected: format!("{expected:?}"),
                });
            }
        }
        Ok(differences)
    }

    async fn count_scope(
        &self,
        scope: &Scope,
        stamp: &str,
        reference: &Reference,
        max_time: Option<Duration>,
    ) -> Result<Panel, DomainError> {
        let as_of = self.now();
        let tally = self.tally_scope(scope, reference, max_time).await?;
        let panel = panel_of(&tally, reference);
        self.keep_panel(scope, stamp.to_owned(), &panel, as_of)
            .await?;
        Ok(panel)
    }

    /// Counts everything on sale and keeps panel and coverage.
    async fn count_all(
        &self,
        reference: &Reference,
        max_time: Option<Duration>,
    ) -> Result<HashMap<String, Arc<KeyCoverage>>, DomainError> {
        let (scope, as_of, store) = (Scope::all(), self.now(), self.store().clone());
        let stamp = self
            .shielded(async move { store.stamp(None).await })
            .await?;
        let stamp = stamp_text(stamp, reference);
        let tally = self.tally_scope(&scope, reference, max_time).await?;
        let mut found = HashMap::new();
        let mut kept = Vec::new();
        for (key, _) in tally.keys() {
            let coverage = coverage_of(&tally, key, reference, as_of);
            kept.push(keep(key, &coverage, &stamp));
            found.insert(key.to_owned(), Arc::new(coverage));
        }
        // Last, because it says that the others are there.
        kept.push(keep(ALL_KEYS, &KeyCoverage::none(as_of), &stamp));
        let store = self.store().clone();
        self.shielded(async move { store.keep_coverage(&kept).await })
            .await?;
        self.keep_panel(&scope, stamp, &panel_of(&tally, reference), as_of)
            .await?;
        Ok(found)
    }

    /// How many products on sale each category holds itself: as counted ahead for those where
    /// nothing has changed since, counted anew for the others.
    pub(super) async fn category_counts_ahead(
        &self,
        reference: &Reference,
    ) -> Result<Vec<(CategoryId, u64)>, DomainError> {
        let store = self.store().clone();
        let (stamps, kept) = self
            .shielded(async move {
                futures_util::future::try_join(store.stamps(), store.panel_summaries()).await
            })
            .await?;
        let (mut counts, mut stale) = (Vec::new(), Vec::new());
        for category in reference.categories.all() {
            let scope = Scope::category(category.id, reference);
            let stamp = stamp_text(scope.stamp(&stamps), reference);
            let is_leaf = reference
                .categories
                .children(Some(category.id))
                .next()
                .is_none();
            match kept.get(&scope.name) {
                Some(kept) if is_leaf && kept.stamp == stamp => {
                    counts.push((category.id, kept.products));
                }
                _ if stamps.contains_key(&category.id) => stale.push(category.id),
                // No product was ever in it.
                _ => {}
            }
        }
        if !stale.is_empty() {
            let store = self.store().clone();
            let states = Sight::Public.states();
            let counted = self
                .shielded(async move { store.count_by_category(states, &stale).await })
                .await?;
            counts.extend(counted);
        }
        counts.retain(|(_, count)| *count > 0);
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(counts)
    }

    async fn tally_scope(
        &self,
        scope: &Scope,
        reference: &Reference,
        max_time: Option<Duration>,
    ) -> Result<Tally, DomainError> {
        let mut parts = vec![Condition::Status(Sight::Public.states().to_vec())];
        parts.extend(scope.categories.clone().map(Condition::Category));
        let (condition, limits) = (Condition::All(parts), (u64::MAX - 1, max_time));
        let tally = self.tally(&condition, Wanted::all(), limits, reference);
        Ok(tally.await?.expect("a count without a limit is whole"))
    }

    async fn kept_coverage(
        &self,
        mut keys: Vec<String>,
        reference: &Reference,
    ) -> Result<Ahead, DomainError> {
        keys.push(ALL_KEYS.to_owned());
        let store = self.store().clone();
        let (mut kept, stamp) = self
            .shielded(async move {
                futures_util::future::try_join(store.kept_coverage(&keys), store.stamp(None)).await
            })
            .await?;
        let stamp = stamp_text(stamp, reference);
        let all = kept.remove(ALL_KEYS);
        let current = all.as_ref().is_some_and(|all| all.stamp == stamp);
        let counted = all.is_some();
        // What other passes left behind of keys that have gone since is not given.
        let newest = all.map(|all| all.stamp);
        let read = |(key, kept): (String, Kept)| {
            let coverage: KeptCoverage = serde_json::from_str(&kept.counted).ok()?;
            let same = Some(&kept.stamp) == newest.as_ref();
            same.then(|| (key, Arc::new(KeyCoverage::of(coverage, kept.as_of))))
        };
        Ok(Ahead {
            found: kept.into_iter().filter_map(read).collect(),
            current,
            counted,
        })
    }
}

/// Coverage that was counted ahead, and whether nothing has changed since.
struct Ahead {
    found: HashMap<String, Arc<KeyCoverage>>,
    current: bool,
    /// Whether it was counted ever.
    counted: bool,
}

impl KeyCoverage {
    fn none(as_of: Timestamp) -> Self {
        Self::of(KeptCoverage::default(), as_of)
    }

    fn of(kept: KeptCoverage, as_of: Timestamp) -> Self {
        Self {
            products: kept.products,
            distinct_values: kept.distinct_values,
            kinds: kept.kinds,
            samples: kept.samples,
            as_of,
        }
    }
}

impl Scope {
    fn stamp(&self, stamps: &HashMap<CategoryId, i64>) -> i64 {
        match &self.categories {
            None => stamps.values().sum(),
            Some(ids) => ids.iter().filter_map(|id| stamps.get(id)).sum(),
        }
    }
}

fn scopes(reference: &Reference) -> Vec<Scope> {
    let categories = reference.categories.all().iter();
    let categories = categories.map(|category| Scope::category(category.id, reference));
    std::iter::once(Scope::all()).chain(categories).collect()
}

fn panel_of(tally: &Tally, reference: &Reference) -> Panel {
    panel::panel(tally, reference, &Units::default(), KEPT_VALUES)
}

fn coverage_of(tally: &Tally, key: &str, reference: &Reference, as_of: Timestamp) -> KeyCoverage {
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

fn keep(key: &str, coverage: &KeyCoverage, stamp: &str) -> (String, Kept) {
    let kept = KeptCoverage {
        products: coverage.products,
        distinct_values: coverage.distinct_values,
        kinds: coverage.kinds.clone(),
        samples: coverage.samples.clone(),
    };
    let counted = serde_json::to_string(&kept).expect("coverage is plain data");
    let kept = Kept {
        stamp: stamp.to_owned(),
        as_of: coverage.as_of,
        counted,
        products: i64::try_from(coverage.products).unwrap_or(i64::MAX),
    };
    (key.to_owned(), kept)
}
