//! Precomputed panels of categories and of the whole catalogue, and with the latter the coverage of
//! spec keys. A scope without changes is not recounted.
//!
//! A scope is counted in parts, category by category, and the counts are added up over as many runs
//! as needed. Correctness does not depend on it: an outdated panel is recounted on request, or
//! served with its date.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{FacetKey, FacetTally, TallyFields};
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::audit::Difference;
use vitrine_storage::counts::{PanelSummary, TallyRequest};

use super::coverage::panel_of;
use super::{Scope, generation, renamed};
use crate::category_counts::CategoryCounts;
use crate::products::Visibility;
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// The maximum age of rating counts in panels: reviews change them, but no generation.
const RATINGS_MILLIS: i64 = 10 * 60 * 1000;
/// A scope that changes constantly is counted after this time without being quiet.
const MAX_UNQUIET: Duration = Duration::from_mins(2);
/// The server's time limit for one part of a scope.
const MAX_TIME: Duration = Duration::from_mins(1);
/// The maximum number of categories in one part of a scope.
const MAX_CATEGORIES: usize = 500;
/// How much the panel worker counts at once.
#[derive(Clone, Copy, Debug)]
pub struct PanelLimits {
    /// The approximate number of products in one part of a scope.
    pub part: u64,
    /// The time budget per run for a scope of several parts, at least one part; others have twice
    /// as much.
    pub time: Duration,
    /// A scope is next counted after this many times the duration of its last count.
    pub rest: u32,
}

impl Default for PanelLimits {
    fn default() -> Self {
        Self {
            part: 50_000,
            time: Duration::from_secs(2),
            rest: 10,
        }
    }
}

/// What the panel worker remembers between its runs.
#[derive(Debug, Default)]
pub struct PanelState {
    limits: PanelLimits,
    scopes: HashMap<String, ScopeState>,
    /// A scope of several parts that is being counted.
    counting: Option<OngoingCount>,
    reference: Option<Arc<Reference>>,
    /// When it first ran: earlier changes of ratings are unknown.
    started: Option<Timestamp>,
    /// The counter of sort position updates by other processes.
    rank_moves_by_others: Option<i64>,
    /// Scopes whose panels must be checked because the meaning of a key has changed.
    to_check: HashSet<String>,
}

/// What is remembered of a scope.
#[derive(Debug)]
struct ScopeState {
    products: String,
    stale_since: Instant,
    not_before: Option<Instant>,
}

/// A scope that is being counted.
#[derive(Debug)]
struct OngoingCount {
    scope: Scope,
    /// The sum of the scope's generations before the first part.
    sum: i64,
    as_of: Timestamp,
    reference: Arc<Reference>,
    tally: FacetTally,
    left: Vec<Part>,
    spent: Duration,
}

/// Categories that are counted together, or slots of a very large one.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    categories: Vec<CategoryId>,
    slots: Option<(u8, u8)>,
}

impl PanelState {
    /// A state without memory.
    #[must_use]
    pub fn new(limits: PanelLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Takes note of the reference data. A new key changes no panel; one whose meaning changed may
    /// change any.
    fn note_reference(&mut self, reference: &Arc<Reference>) {
        let known = self.reference.replace(Arc::clone(reference));
        let same = known.is_none_or(|known| {
            known.version() == reference.version() || generation::mean_the_same(&known, reference)
        });
        if !same {
            self.to_check
                .extend(scopes(reference).into_iter().map(|scope| scope.name));
        }
    }

    /// Whether a scope is due: it has changed and been quiet since the last run, or has been
    /// changing for too long, or its ratings are old.
    fn is_due(&mut self, scope: &str, products: &str, current: bool, old: bool) -> bool {
        let scope_state = self
            .scopes
            .entry(scope.to_owned())
            .or_insert_with(|| ScopeState {
                products: String::new(),
                stale_since: Instant::now(),
                not_before: None,
            });
        let quiet = scope_state.products == products;
        products.clone_into(&mut scope_state.products);
        if current {
            scope_state.stale_since = Instant::now();
        }
        let waited = scope_state.stale_since.elapsed() > MAX_UNQUIET;
        let early = scope_state.not_before.is_some_and(|at| Instant::now() < at);
        !early && (old || (!current && (quiet || waited)))
    }

    /// Records that a scope was counted, and when it may be counted next.
    fn counted(&mut self, scope: &str, pause: Duration) {
        if let Some(scope_state) = self.scopes.get_mut(scope) {
            scope_state.not_before = Some(Instant::now() + pause);
        }
    }
}

impl Catalog {
    /// Precomputes panels that are outdated and quiet: those of categories, that of the whole
    /// catalogue, and with it the coverage of keys. Runs for at most a few seconds; reports how
    /// many were counted and how many are left.
    pub async fn refresh_panels(&self, state: &mut PanelState) -> Result<WorkerRun, DomainError> {
        self.refresh_reference().await?;
        let reference = self.reference();
        state.note_reference(&reference);
        let (sizes, snapshot) = (
            self.counts_for_maintenance().await?,
            self.panel_summaries().await?,
        );
        self.note_rank_moves(state).await?;
        let (now, started) = (self.now(), Instant::now());
        let mut run = WorkerRun::default();
        let mut worked = false;
        if let Some(counting) = state.counting.take() {
            run.done += self.continue_count(counting, state).await;
            worked = true;
        }
        for scope in scopes(&reference) {
            if state.is_counting(&scope) {
                continue;
            }
            let sum = sizes.generation(scope.categories.as_deref());
            let products = generation::of_products(&scope, sum);
            let changed = self.is_due(&scope, &products, snapshot.get(&scope.name), state);
            if !changed && !state.to_check.contains(&scope.name) {
                continue;
            }
            let parts = parts(scope.among(&sizes), &sizes, state.limits.part);
            let waits = parts.len() > 1 && state.counting.is_some();
            if waits || worked && started.elapsed() > 2 * state.limits.time {
                run.backlog += 1;
                continue;
            }
            state.to_check.remove(&scope.name);
            if !changed && !self.is_outdated(&scope, &reference).await? {
                continue;
            }
            let counting = OngoingCount {
                scope,
                sum,
                as_of: now,
                reference: Arc::clone(&reference),
                tally: FacetTally::new(TallyFields::all()),
                left: parts,
                spent: Duration::ZERO,
            };
            run.done += self.continue_count(counting, state).await;
            worked = true;
        }
        run.backlog += u64::from(state.counting.is_some());
        Ok(run)
    }

    /// Takes note of sort positions updated by other processes.
    async fn note_rank_moves(&self, state: &mut PanelState) -> Result<(), DomainError> {
        let moves = self
            .maintain(|store| async move { store.rank_moves_by_others().await })
            .await?;
        let known = state.rank_moves_by_others.replace(moves);
        if known.is_some_and(|known| known != moves) {
            self.rated().note_any(self.now());
        }
        Ok(())
    }

    async fn panel_summaries(&self) -> Result<HashMap<String, PanelSummary>, DomainError> {
        self.maintain(|store| async move { store.panel_summaries().await })
            .await
    }

    /// Whether a scope is due. Its ratings are old when the panel is some minutes old and products
    /// of the scope were rated since.
    fn is_due(
        &self,
        scope: &Scope,
        products: &str,
        snapshot: Option<&PanelSummary>,
        state: &mut PanelState,
    ) -> bool {
        let now = self.now();
        let started = *state.started.get_or_insert(now);
        let current = snapshot
            .is_some_and(|snapshot| generation::is_of_products(&snapshot.generation, products));
        let old = snapshot.is_some_and(|snapshot| {
            let rated = || {
                self.rated()
                    .since(scope.categories.as_deref(), snapshot.as_of)
            };
            now.as_millis() - snapshot.as_of.as_millis() > RATINGS_MILLIS
                && (snapshot.as_of < started || rated())
        });
        state.is_due(&scope.name, products, current, old)
    }

    /// Whether the stored panel of a scope differs from what a recount would return.
    async fn is_outdated(&self, scope: &Scope, reference: &Reference) -> Result<bool, DomainError> {
        let (snapshot, _) = self.get_snapshot(scope, reference).await?;
        Ok(snapshot.is_none_or(|snapshot| !snapshot.current))
    }

    /// Counts parts of a scope for a while, and stores the panel after the last one. Returns the
    /// number of stored panels. A failing scope does not block the others.
    async fn continue_count(&self, counting: OngoingCount, state: &mut PanelState) -> u64 {
        let (name, spent, started) = (counting.scope.name.clone(), counting.spent, Instant::now());
        let outcome = match self.count_parts(counting, Some(state.limits.time)).await {
            Ok(mut counting) if !counting.left.is_empty() => {
                counting.spent += started.elapsed();
                state.counting = Some(counting);
                return 0;
            }
            Ok(counting) => self.save_counted(counting).await,
            Err(error) => Err(error),
        };
        state.counted(&name, (spent + started.elapsed()) * state.limits.rest);
        if let Err(error) = &outcome {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(scope = name, %error, cause, "a panel could not be precomputed");
        }
        u64::from(outcome.is_ok())
    }

    /// Counts the remaining parts for a limited time, but at least one.
    async fn count_parts(
        &self,
        mut counting: OngoingCount,
        time: Option<Duration>,
    ) -> Result<OngoingCount, DomainError> {
        let started = Instant::now();
        while let Some(part) = counting.left.pop() {
            let request = TallyRequest {
                condition: Condition::All(vec![
                    Condition::Status(Visibility::Public.states().to_vec()),
                    Condition::Category(part.categories),
                ]),
                slots: part.slots,
                max: u64::MAX - 1,
                max_time: Some(MAX_TIME),
                renamed: renamed(&counting.reference),
            };
            let tally = counting.tally;
            let tally = self
                .maintain(|store| async move { store.tally(request, tally).await })
                .await?;
            counting.tally = tally.expect("a count without a limit is whole");
            if time.is_some_and(|time| started.elapsed() >= time) {
                break;
            }
        }
        Ok(counting)
    }

    async fn save_counted(&self, counting: OngoingCount) -> Result<(), DomainError> {
        let OngoingCount {
            scope,
            sum,
            as_of,
            reference,
            tally,
            ..
        } = counting;
        if scope.categories.is_none() {
            self.save_coverage(&tally, sum, as_of, &reference).await?;
        }
        let panel = panel_of(&tally, &reference);
        self.save_panel(&scope, sum, &panel, as_of, &reference)
            .await
    }

    /// Compares precomputed panels that are marked as current with a recount.
    pub(crate) async fn audit_panels(&self) -> Result<Vec<Difference>, DomainError> {
        let reference = self.reference();
        let mut differences = self.audit_category_counts().await?;
        let sizes = self.counts_for_maintenance().await?;
        for scope in scopes(&reference) {
            let (snapshot, sum) = self.get_snapshot(&scope, &reference).await?;
            let Some(snapshot) = snapshot.filter(|snapshot| snapshot.current) else {
                continue;
            };
            let counting = OngoingCount {
                left: parts(scope.among(&sizes), &sizes, PanelLimits::default().part),
                as_of: self.now(),
                reference: Arc::clone(&reference),
                tally: FacetTally::new(TallyFields::all()),
                spent: Duration::ZERO,
                scope,
                sum,
            };
            let counting = self.count_parts(counting, None).await?;
            let mut expected = panel_of(&counting.tally, &reference);
            let mut stored = snapshot.panel;
            // Reviews change rating counts without changing the generation; they are labelled
            // accordingly.
            let rating = FacetKey::Rating;
            stored.facets.retain(|facet| facet.key != rating.name());
            expected.facets.retain(|facet| facet.key != rating.name());
            if stored != expected {
                differences.push(Difference {
                    place: format!("facet_panels {}", counting.scope.name),
                    what: "panel".to_owned(),
                    stored: format!("{stored:?}"),
                    expected: format!("{expected:?}"),
                });
            }
        }
        Ok(differences)
    }
}

impl PanelState {
    fn is_counting(&self, scope: &Scope) -> bool {
        let counting = self.counting.as_ref();
        counting.is_some_and(|counting| counting.scope.name == scope.name)
    }
}

impl Scope {
    /// The scope's categories that have ever held a product.
    fn among(&self, sizes: &CategoryCounts) -> Vec<CategoryId> {
        let mut ids: Vec<CategoryId> = match &self.categories {
            None => sizes.known().collect(),
            Some(ids) => ids.iter().copied().filter(|id| sizes.knows(*id)).collect(),
        };
        ids.sort_unstable();
        ids
    }
}

fn scopes(reference: &Reference) -> Vec<Scope> {
    let categories = reference.categories.all().iter();
    let categories = categories.map(|category| Scope::category(category.id, reference));
    std::iter::once(Scope::all()).chain(categories).collect()
}

/// Divides categories into parts.
fn parts(categories: Vec<CategoryId>, sizes: &CategoryCounts, max: u64) -> Vec<Part> {
    let (mut parts, mut group, mut products) = (Vec::new(), Vec::new(), 0);
    for category in categories {
        let size = sizes.of_category(category, Visibility::Public);
        if size > max {
            parts.extend(slots(size, max).map(|slots| Part {
                categories: vec![category],
                slots: Some(slots),
            }));
            continue;
        }
        if products + size > max || group.len() >= MAX_CATEGORIES {
            parts.push(Part {
                categories: std::mem::take(&mut group),
                slots: None,
            });
            products = 0;
        }
        group.push(category);
        products += size;
    }
    if !group.is_empty() {
        parts.push(Part {
            categories: group,
            slots: None,
        });
    }
    parts
}

/// Divides the slots of a category into ranges.
fn slots(products: u64, max: u64) -> impl Iterator<Item = (u8, u8)> {
    let all = u64::from(vitrine_model::derived::SLOTS);
    let ranges = products.div_ceil(max).min(all);
    let end = move |n: u64| u8::try_from(n * all / ranges).expect("at most a hundred");
    (0..ranges).map(move |n| (end(n), end(n + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_in_one_range() {
        for products in [8, 21, 7_000] {
            let ranges: Vec<(u8, u8)> = slots(products, 7).collect();
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, 100));
            assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0));
            assert!(ranges.iter().all(|(from, to)| from < to));
        }
    }
}
