//! How much of a list fits a filter, judged by panels that were counted ahead.
//!
//! A list that is sorted by something that no index combines with its filter can be read in two
//! ways: read all that the filter's index gives and sort it, or walk the index of the order and
//! pass over what does not fit. The first costs as many products as have the rarest value; the
//! second as many as must be walked to fill the page. Which is less depends on how many products
//! have the values, and the panels know. They may be a minute old here: a wrong guess takes longer
//! and gives the same rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};
use vitrine_model::derived::{boolean_token, brand_token, country_token, text_token};
use vitrine_model::facet::{CountedBucket, Panel, PanelData, PanelFacet};
use vitrine_model::filter::{Condition, Range};

use super::panel::number_test;
use super::{KEPT_VALUES, KeyCoverage, Scope};
use crate::Catalog;
use crate::products::ProductsQuery;
use crate::reference::Reference;
use crate::single_flight::SingleFlight;

/// How many counts of products are under way at once in a process.
const MAX_COUNTING: usize = 4;
/// How long a panel is judged by.
const MAX_AGE: Duration = Duration::from_mins(1);
/// The most panels that are remembered.
const MAX_REMEMBERED: usize = 200;

/// Panels as this process has seen them.
#[derive(Debug)]
pub(crate) struct PanelMemory {
    remembered: Mutex<HashMap<String, Remembered>>,
    /// The coverage of all keys, counted while callers wait.
    pub(super) coverage: SingleFlight<Arc<HashMap<String, Arc<KeyCoverage>>>>,
    /// Panels of categories, counted while callers wait, by scope.
    panels: Mutex<HashMap<String, Arc<SingleFlight<Arc<Panel>>>>>,
    /// Counting takes the database much longer than anything else that callers ask for.
    turns: Semaphore,
}

impl Default for PanelMemory {
    fn default() -> Self {
        Self {
            remembered: Mutex::default(),
            coverage: SingleFlight::default(),
            panels: Mutex::default(),
            turns: Semaphore::new(MAX_COUNTING),
        }
    }
}

impl PanelMemory {
    /// A turn to count products. Whoever waits for one is served in order.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // Nobody closes the semaphore.
        self.turns.acquire().await.ok()
    }

    /// What callers share who have the panel of a scope counted.
    pub(super) fn panel(&self, scope: &str) -> Arc<SingleFlight<Arc<Panel>>> {
        let mut panels = self.panels.lock().unwrap_or_else(PoisonError::into_inner);
        if panels.len() >= MAX_REMEMBERED {
            // Those that are being counted stay with their callers.
            panels.clear();
        }
        Arc::clone(panels.entry(scope.to_owned()).or_default())
    }
}

#[derive(Clone, Debug)]
struct Remembered {
    shares: Option<Arc<Shares>>,
    at: Instant,
}

/// How many products of a scope have which values.
#[derive(Debug, Default)]
struct Shares {
    products: f64,
    tokens: HashMap<String, f64>,
    /// For keys of which not all values were kept: the count of the rarest that was.
    rarest: HashMap<String, f64>,
    ranges: HashMap<String, Vec<(Range, f64)>>,
}

/// What is judged of a list.
#[derive(Debug)]
struct Judged {
    /// How many products the rarest clause leaves.
    bound: f64,
    /// How many products all clauses together leave.
    matches: f64,
}

impl Catalog {
    /// Whether a page of a list is found sooner by walking the index of its order than by sorting
    /// what the index of its filter gives. `false` when nothing is known.
    pub(crate) fn is_better_walked(
        &self,
        query: &ProductsQuery,
        condition: &Condition,
        reference: &Arc<Reference>,
    ) -> bool {
        let Some(scope) = Scope::around(&query.filter, query.sight, reference) else {
            return false;
        };
        let Some(shares) = self.shares(scope, reference) else {
            return false;
        };
        let mut judged = Judged {
            bound: shares.products,
            matches: shares.products,
        };
        shares.judge(condition, &mut judged);
        let page = f64::from(query.page.first.or(query.page.last).unwrap_or(20).max(1)) + 1.0;
        let walked = page * shares.products / judged.matches.max(0.5);
        walked < judged.bound
    }

    /// The shares of a scope as far as they are known by now; has them read for the next time when
    /// they are not, or are old.
    fn shares(&self, scope: Scope, reference: &Arc<Reference>) -> Option<Arc<Shares>> {
        let mut memory = self
            .panel_memory()
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = memory.get(&scope.name).cloned();
        if known
            .as_ref()
            .is_none_or(|known| known.at.elapsed() > MAX_AGE)
        {
            if memory.len() >= MAX_REMEMBERED {
                memory.clear();
            }
            let shares = known.as_ref().and_then(|known| known.shares.clone());
            let at = Instant::now();
            memory.insert(scope.name.clone(), Remembered { shares, at });
            self.remember(scope, Arc::clone(reference));
        }
        known.and_then(|known| known.shares)
    }

    fn remember(&self, scope: Scope, reference: Arc<Reference>) {
        let catalog = self.clone();
        self.in_background(async move {
            let kept = catalog.kept_panel(&scope, &reference).await;
            // A list is found without; the next one asks again.
            let Ok((Some(kept), _)) = kept else {
                return;
            };
            let remembered = Remembered {
                shares: Some(Arc::new(Shares::of(&kept.panel, &reference))),
                at: Instant::now(),
            };
            let mut memory = catalog
                .panel_memory()
                .remembered
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            memory.insert(scope.name, remembered);
        });
    }
}

impl Shares {
    fn of(panel: &Panel, reference: &Reference) -> Self {
        let mut shares = Self {
            products: number(panel.products),
            ..Self::default()
        };
        for facet in &panel.facets {
            shares.add(facet, reference);
        }
        shares
    }

    fn add(&mut self, facet: &PanelFacet, reference: &Reference) {
        let key = facet.key.as_str();
        match &facet.data {
            PanelData::Text { values } => {
                for value in values {
                    let token = match key {
                        "@brand" => Some(brand_token(&value.value)),
                        "@country" => Some(country_token(&value.value)),
                        key => text_token(key, None, &value.value),
                    };
                    self.tokens
                        .extend(token.map(|token| (token, number(value.count))));
                }
                if values.len() >= KEPT_VALUES {
                    let rarest = values.last().map_or(0.0, |value| number(value.count));
                    self.rarest.insert(key.to_owned(), rarest);
                }
            }
            PanelData::Boolean { yes, no } => {
                self.tokens
                    .insert(boolean_token(key, None, true), number(*yes));
                self.tokens
                    .insert(boolean_token(key, None, false), number(*no));
            }
            PanelData::Number { unit, buckets, .. } => {
                let ranges = buckets.iter().filter_map(|counted| {
                    let range = range(key, counted, unit.as_deref(), reference)?;
                    Some((range, number(counted.count)))
                });
                self.ranges.insert(key.to_owned(), ranges.collect());
            }
            PanelData::Date { buckets, .. } => {
                let ranges = buckets.iter().map(|b| (b.bucket.range(), number(b.count)));
                self.ranges.insert(key.to_owned(), ranges.collect());
            }
            PanelData::Price { .. } | PanelData::Rating { .. } | PanelData::Category { .. } => {}
        }
    }

    /// Takes in every clause that must hold and of which something is known.
    fn judge(&self, condition: &Condition, judged: &mut Judged) {
        match condition {
            Condition::All(parts) => parts.iter().for_each(|part| self.judge(part, judged)),
            Condition::Token(tokens) => {
                let products = tokens.iter().map(|token| self.token(token)).sum();
                self.narrow(products, judged);
            }
            Condition::SpecRange { key, range, .. } => {
                let products = self.ranges.get(key).map(|known| within(known, range));
                self.narrow(products.unwrap_or(0.0), judged);
            }
            _ => {}
        }
    }

    /// As if values were spread independently of each other.
    fn narrow(&self, products: f64, judged: &mut Judged) {
        judged.bound = judged.bound.min(products);
        judged.matches *= products / self.products.max(1.0);
    }

    fn token(&self, token: &str) -> f64 {
        let key = token.split_once('=').map_or(token, |(key, _)| key);
        let known = self.tokens.get(token).or_else(|| self.rarest.get(key));
        known.copied().unwrap_or(0.0)
    }
}

/// How many products have a number within a range, by what is known of parts of the line.
fn within(known: &[(Range, f64)], range: &Range) -> f64 {
    let share = |part: &Range, count: f64| {
        let (low, high) = ends(part);
        let (from, to) = ends(range);
        let common = high.min(to) - low.max(from);
        if common < 0.0 {
            return 0.0;
        }
        if high > low {
            count * (common / (high - low)).min(1.0)
        } else {
            count
        }
    };
    known.iter().map(|(part, count)| share(part, *count)).sum()
}

fn ends(range: &Range) -> (f64, f64) {
    let low = range.min.map_or(f64::NEG_INFINITY, |end| end.at);
    (low, range.max.map_or(f64::INFINITY, |end| end.at))
}

fn range(
    key: &str,
    counted: &CountedBucket,
    unit: Option<&str>,
    reference: &Reference,
) -> Option<Range> {
    let entry = reference.dictionary.get(key)?;
    let unit = unit.and_then(|unit| reference.units.find(unit));
    let bucket = counted.bucket;
    let test = number_test(bucket.low, bucket.high, bucket.high_included, unit);
    crate::filter::number_range(&test, entry, &reference.units).ok()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of products are far below 2^53"
)]
const fn number(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use vitrine_model::filter::End;

    use super::*;

    fn between(low: f64, high: f64) -> Range {
        let end = |at| Some(End { at, included: true });
        Range {
            min: end(low),
            max: end(high),
        }
    }

    #[test]
    fn ranges_take_their_share() {
        let known = [(between(0.0, 10.0), 100.0), (between(10.0, 20.0), 50.0)];
        let found = |low, high| within(&known, &between(low, high));
        assert!((found(5.0, 12.0) - 60.0).abs() < 1e-9);
        assert!(found(30.0, 40.0).abs() < 1e-9);
        assert!((within(&known, &Range::default()) - 150.0).abs() < 1e-9);
    }

    #[test]
    fn values_that_were_not_kept_are_at_most_as_common_as_the_rarest_that_was() {
        let shares = Shares {
            products: 1_000.0,
            tokens: HashMap::from([("color=red".to_owned(), 400.0)]),
            rarest: HashMap::from([("model".to_owned(), 3.0)]),
            ranges: HashMap::new(),
        };
        let judge = |tokens: &[&str]| {
            let clause = |token: &&str| Condition::Token(vec![(*token).to_owned()]);
            let mut judged = Judged {
                bound: shares.products,
                matches: shares.products,
            };
            let condition = Condition::All(tokens.iter().map(clause).collect());
            shares.judge(&condition, &mut judged);
            judged
        };
        let red = judge(&["color=red"]);
        assert!((red.bound - 400.0).abs() < 1e-9 && (red.matches - 400.0).abs() < 1e-9);
        let both = judge(&["color=red", "model=x9"]);
        assert!((both.bound - 3.0).abs() < 1e-9 && (both.matches - 1.2).abs() < 1e-9);
    }
}
