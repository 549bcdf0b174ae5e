//! Counting ahead: panels of categories and of the whole catalogue, and with the latter the coverage
//! of spec keys. A scope in which nothing has changed is not counted again.
//!
//! A scope is counted some products at a time, category by category, and what was counted is added up
//! over as many runs as it takes. Nothing of it is needed for correctness: what is out of date is
//! counted when it is asked for, or given as it was counted last.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{FacetKey, FacetTally, TallyFields};
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::audit::Difference;
use vitrine_storage::counts::{CountOrder, PanelSummary};

use super::coverage::panel_of;
use super::{Scope, generation, renamed};
use crate::category_counts::CategoryCounts;
use crate::products::Visibility;
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// How old the counts of ratings in panels may be: reviews change them and no generation.
const RATINGS_MILLIS: i64 = 10 * 60 * 1000;
/// A scope that changes all the time is counted although it is not quiet after so long.
const MAX_STALE: Duration = Duration::from_mins(2);
/// How long the server may work on one part of a scope.
const MAX_TIME: Duration = Duration::from_mins(1);
/// How many categories one part of a scope has at most.
const MAX_CATEGORIES: usize = 500;
/// How much the worker that counts ahead does at once.
#[derive(Clone, Copy, Debug)]
pub struct PanelLimits {
    /// How many products one part of a scope has, about.
    pub part: u64,
    /// For how long a scope of many parts is counted in one run, at least one part; others are counted
    /// for twice as long.
    pub time: Duration,
    /// A scope is left alone for so many times as long as it took to be counted.
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

/// What the worker that counts ahead remembers between its passes.
#[derive(Debug, Default)]
pub struct PanelUpkeep {
    limits: PanelLimits,
    scopes: HashMap<String, Seen>,
    /// A scope of many parts that is being counted.
    counting: Option<Counting>,
    reference: Option<Arc<Reference>>,
    /// When it looked first: what was rated before is not known.
    began: Option<Timestamp>,
    /// How often other processes had moved products by ratings then.
    moves_by_others: Option<i64>,
    /// Scopes whose panels are to be looked at, because some key means something else than before.
    in_doubt: HashSet<String>,
}

/// What is remembered of a scope.
#[derive(Debug)]
struct Seen {
    products: String,
    stale_since: Instant,
    not_before: Option<Instant>,
}

/// A scope of which some parts are counted.
#[derive(Debug)]
struct Counting {
    scope: Scope,
    /// The sum of the counters of the scope before the first part was counted.
    sum: i64,
    as_of: Timestamp,
    reference: Arc<Reference>,
    tally: FacetTally,
    left: Vec<Part>,
    spent: Duration,
}

/// Categories that are counted together, or the slots of one that is very large.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    categories: Vec<CategoryId>,
    slots: Option<(u8, u8)>,
}

impl PanelUpkeep {
    /// Nothing is remembered yet.
    #[must_use]
    pub fn new(limits: PanelLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Takes note of the reference data: a key that is learnt changes no panel, one that means
    /// something else than before may change any.
    fn learn(&mut self, reference: &Arc<Reference>) {
        let known = self.reference.replace(Arc::clone(reference));
        let same = known.is_none_or(|known| {
            known.version() == reference.version() || generation::mean_the_same(&known, reference)
        });
        if !same {
            self.in_doubt
                .extend(scopes(reference).into_iter().map(|scope| scope.name));
        }
    }

    /// Whether a scope is to be counted: it changed and is quiet since the last pass, or has been
    /// changing for so long that it cannot be waited for, or its ratings are old.
    fn is_due(&mut self, scope: &str, products: &str, current: bool, old: bool) -> bool {
        let seen = self.scopes.entry(scope.to_owned()).or_insert_with(|| Seen {
            products: String::new(),
            stale_since: Instant::now(),
            not_before: None,
        });
        let quiet = seen.products == products;
        products.clone_into(&mut seen.products);
        if current {
            seen.stale_since = Instant::now();
        }
        let waited = seen.stale_since.elapsed() > MAX_STALE;
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
    /// Counts ahead what has changed and is quiet again: panels of categories, that of the whole
    /// catalogue, and with it the coverage of keys. For seconds at most; says how many were counted,
    /// and how many are still to be.
    pub async fn refresh_panels(
        &self,
        maintenance: &mut PanelUpkeep,
    ) -> Result<WorkerRun, DomainError> {
        self.refresh_reference().await?;
        let reference = self.reference();
        maintenance.learn(&reference);
        let (sizes, kept) = (
            self.counts_for_upkeep().await?,
            self.panel_summaries().await?,
        );
        self.learn_of_moves(maintenance).await?;
        let (now, began) = (self.now(), Instant::now());
        let mut run = WorkerRun::default();
        let mut worked = false;
        if let Some(counting) = maintenance.counting.take() {
            run.done += self.count_on(counting, maintenance).await;
            worked = true;
        }
        for scope in scopes(&reference) {
            if maintenance.is_counting(&scope) {
                continue;
            }
            let sum = sizes.generation(scope.categories.as_deref());
            let products = generation::of_products(&scope, sum);
            let changed = self.is_due(&scope, &products, kept.get(&scope.name), maintenance);
            if !changed && !maintenance.in_doubt.contains(&scope.name) {
                continue;
            }
            let parts = parts(scope.among(&sizes), &sizes, maintenance.limits.part);
            let waits = parts.len() > 1 && maintenance.counting.is_some();
            if waits || worked && began.elapsed() > 2 * maintenance.limits.time {
                run.backlog += 1;
                continue;
            }
            maintenance.in_doubt.remove(&scope.name);
            if !changed && !self.is_outdated(&scope, &reference).await? {
                continue;
            }
            let counting = Counting {
                scope,
                sum,
                as_of: now,
                reference: Arc::clone(&reference),
                tally: FacetTally::new(TallyFields::all()),
                left: parts,
                spent: Duration::ZERO,
            };
            run.done += self.count_on(counting, maintenance).await;
            worked = true;
        }
        run.backlog += u64::from(maintenance.counting.is_some());
        Ok(run)
    }

    /// Takes note of products that other processes have moved by ratings.
    async fn learn_of_moves(&self, maintenance: &mut PanelUpkeep) -> Result<(), DomainError> {
        let moves = self
            .maintain(|store| async move { store.moves_by_others().await })
            .await?;
        let known = maintenance.moves_by_others.replace(moves);
        if known.is_some_and(|known| known != moves) {
            self.rated().note_any(self.now());
        }
        Ok(())
    }

    async fn panel_summaries(&self) -> Result<HashMap<String, PanelSummary>, DomainError> {
        self.maintain(|store| async move { store.panel_summaries().await })
            .await
    }

    /// Whether a scope is to be counted. Its ratings are old when products of it were rated since,
    /// minutes ago.
    fn is_due(
        &self,
        scope: &Scope,
        products: &str,
        kept: Option<&PanelSummary>,
        maintenance: &mut PanelUpkeep,
    ) -> bool {
        let now = self.now();
        let began = *maintenance.began.get_or_insert(now);
        let current =
            kept.is_some_and(|kept| generation::is_of_products(&kept.generation, products));
        let old = kept.is_some_and(|kept| {
            let rated = || self.rated().since(scope.categories.as_deref(), kept.as_of);
            now.as_millis() - kept.as_of.as_millis() > RATINGS_MILLIS
                && (kept.as_of < began || rated())
        });
        maintenance.is_due(&scope.name, products, current, old)
    }

    /// Whether the kept panel of a scope is not what a new count would be.
    async fn is_outdated(&self, scope: &Scope, reference: &Reference) -> Result<bool, DomainError> {
        let (kept, _) = self.kept_panel(scope, reference).await?;
        Ok(kept.is_none_or(|kept| !kept.current))
    }

    /// Counts parts of a scope for a while, and keeps the panel when it was the last. Returns how many
    /// panels were kept. A scope that cannot be counted does not keep others from it.
    async fn count_on(&self, counting: Counting, maintenance: &mut PanelUpkeep) -> u64 {
        let (name, spent, began) = (counting.scope.name.clone(), counting.spent, Instant::now());
        let outcome = match self
            .count_parts(counting, Some(maintenance.limits.time))
            .await
        {
            Ok(mut counting) if !counting.left.is_empty() => {
                counting.spent += began.elapsed();
                maintenance.counting = Some(counting);
                return 0;
            }
            Ok(counting) => self.keep_counted(counting).await,
            Err(error) => Err(error),
        };
        maintenance.counted(&name, (spent + began.elapsed()) * maintenance.limits.rest);
        if let Err(error) = &outcome {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(scope = name, %error, cause, "a panel could not be counted ahead");
        }
        u64::from(outcome.is_ok())
    }

    /// Counts the parts that are left, for so long, but at least one.
    async fn count_parts(
        &self,
        mut counting: Counting,
        time: Option<Duration>,
    ) -> Result<Counting, DomainError> {
        let began = Instant::now();
        while let Some(part) = counting.left.pop() {
            let order = CountOrder {
                condition: Condition::All(vec![
                    Condition::Status(Visibility::Public.states().to_vec()),
                    Condition::Category(part.categories),
                ]),
                slots: part.slots,
                most: u64::MAX - 1,
                max_time: Some(MAX_TIME),
                renamed: renamed(&counting.reference),
            };
            let tally = counting.tally;
            let tally = self
                .maintain(|store| async move { store.tally(order, tally).await })
                .await?;
            counting.tally = tally.expect("a count without a limit is whole");
            if time.is_some_and(|time| began.elapsed() >= time) {
                break;
            }
        }
        Ok(counting)
    }

    async fn keep_counted(&self, counting: Counting) -> Result<(), DomainError> {
        let Counting {
            scope,
            sum,
            as_of,
            reference,
            tally,
            ..
        } = counting;
        if scope.categories.is_none() {
            self.keep_coverage(&tally, sum, as_of, &reference).await?;
        }
        let panel = panel_of(&tally, &reference);
        self.keep_panel(&scope, sum, &panel, as_of, &reference)
            .await
    }

    /// Compares what was counted ahead and counts as current with a new count.
    pub(crate) async fn audit_panels(&self) -> Result<Vec<Difference>, DomainError> {
        let reference = self.reference();
        let mut differences = self.audit_category_counts().await?;
        let sizes = self.counts_for_upkeep().await?;
        for scope in scopes(&reference) {
            let (kept, sum) = self.kept_panel(&scope, &reference).await?;
            let Some(kept) = kept.filter(|kept| kept.current) else {
                continue;
            };
            let counting = Counting {
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
            let mut stored = kept.panel;
            // Reviews change ratings without touching the generation, which is why they are labelled.
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

impl PanelUpkeep {
    fn is_counting(&self, scope: &Scope) -> bool {
        let counting = self.counting.as_ref();
        counting.is_some_and(|counting| counting.scope.name == scope.name)
    }
}

impl Scope {
    /// Its categories, of those that ever held a product.
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

/// The parts that categories are counted in.
fn parts(categories: Vec<CategoryId>, sizes: &CategoryCounts, most: u64) -> Vec<Part> {
    let (mut parts, mut some, mut products) = (Vec::new(), Vec::new(), 0);
    for category in categories {
        let size = sizes.of_category(category, Visibility::Public);
        if size > most {
            parts.extend(slots(size, most).map(|slots| Part {
                categories: vec![category],
                slots: Some(slots),
            }));
            continue;
        }
        if products + size > most || some.len() >= MAX_CATEGORIES {
            parts.push(Part {
                categories: std::mem::take(&mut some),
                slots: None,
            });
            products = 0;
        }
        some.push(category);
        products += size;
    }
    if !some.is_empty() {
        parts.push(Part {
            categories: some,
            slots: None,
        });
    }
    parts
}

/// The ranges of slots that products of a category are counted in.
fn slots(products: u64, most: u64) -> impl Iterator<Item = (u8, u8)> {
    let all = u64::from(vitrine_model::derived::SLOTS);
    let ranges = products.div_ceil(most).min(all);
    let end = move |n: u64| u8::try_from(n * all / ranges).expect("at most a hundred");
    (0..ranges).map(move |n| (end(n), end(n + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_once_each() {
        for products in [8, 21, 7_000] {
            let ranges: Vec<(u8, u8)> = slots(products, 7).collect();
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, 100));
            assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0));
            assert!(ranges.iter().all(|(from, to)| from < to));
        }
    }
}
