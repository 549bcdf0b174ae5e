//! Estimates, from precomputed panels, how many products of a list match a filter.
//!
//! A list whose sort and filter have no common index can be read in two ways: read everything from
//! the filter's index and sort it, or scan the sort's index and skip what does not match. The first
//! reads as many products as have the rarest value; the second as many as it scans to fill the
//! page. Panels tell how many products have each value. They may be a minute old here: a wrong
//! estimate takes longer but returns the same rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};
use vitrine_model::derived::{boolean_token, brand_token, country_token, text_token};
use vitrine_model::facet::{CountedBucket, Panel, PanelData, PanelFacet};
use vitrine_model::filter::{Condition, Range};

use super::panel::number_test;
use super::{KeyCoverage, MAX_STORED_VALUES, Scope};
use crate::Catalog;
use crate::products::ProductsQuery;
use crate::reference::Reference;
use crate::single_flight::SingleFlight;

/// The maximum number of concurrent counts in a process.
const MAX_CONCURRENT_COUNTS: usize = 4;
/// How long a cached panel is used.
const MAX_AGE: Duration = Duration::from_mins(1);
/// The maximum number of cached panels.
const MAX_CACHED: usize = 200;

/// Panels cached by this process.
#[derive(Debug)]
pub(crate) struct PanelCache {
    cached: Mutex<HashMap<String, CachedCounts>>,
    /// The coverage of all keys, counted on request.
    pub(super) coverage: SingleFlight<Arc<HashMap<String, Arc<KeyCoverage>>>>,
    /// Panels of categories, counted on request, by scope.
    panels: Mutex<HashMap<String, Arc<SingleFlight<Arc<Panel>>>>>,
    /// Counting is by far the most expensive request for the database.
    permits: Semaphore,
}

impl Default for PanelCache {
    fn default() -> Self {
        Self {
            cached: Mutex::default(),
            coverage: SingleFlight::default(),
            panels: Mutex::default(),
            permits: Semaphore::new(MAX_CONCURRENT_COUNTS),
        }
    }
}

impl PanelCache {
    /// Waits for a permit to count products, first come, first served.
    pub(super) async fn counting_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.permits.acquire().await.ok()
    }

    /// The shared count of a scope's panel.
    pub(super) fn panel(&self, scope: &str) -> Arc<SingleFlight<Arc<Panel>>> {
        let mut panels = self.panels.lock().unwrap_or_else(PoisonError::into_inner);
        if panels.len() >= MAX_CACHED {
            // Running counts stay alive with their callers.
            panels.clear();
        }
        Arc::clone(panels.entry(scope.to_owned()).or_default())
    }
}

#[derive(Clone, Debug)]
struct CachedCounts {
    value_counts: Option<Arc<ValueCounts>>,
    at: Instant,
}

/// How many products of a scope have each value.
#[derive(Debug, Default)]
struct ValueCounts {
    products: f64,
    tokens: HashMap<String, f64>,
    /// For keys with more values than are stored: the count of the rarest stored one.
    rarest: HashMap<String, f64>,
    ranges: HashMap<String, Vec<(Range, f64)>>,
}

/// The estimate for a list.
#[derive(Debug)]
struct Estimate {
    /// The number of products that match the rarest clause.
    bound: f64,
    /// The number of products that match all clauses.
    matches: f64,
}

impl Catalog {
    /// Orders the tokens of a condition by how few products have them: the first one bounds the
    /// index. Returns whether scanning the index of the sort is estimated to be cheaper than sorting
    /// what the index of the filter returns. Without data nothing is ordered, and `false` returned.
    /// Reads no panel when there is nothing to decide: no rows to sort, and no values to order.
    pub(crate) fn prefers_sort_index(
        &self,
        query: &ProductsQuery,
        condition: &mut Condition,
        reference: &Arc<Reference>,
    ) -> bool {
        if query.fields.is_none() && !has_values(condition) {
            return false;
        }
        let Some(scope) = Scope::around(&query.filter, query.visibility, reference) else {
            return false;
        };
        let Some(value_counts) = self.value_counts(scope, reference) else {
            return false;
        };
        value_counts.put_rarest_first(condition);
        let mut estimate = Estimate {
            bound: value_counts.products,
            matches: value_counts.products,
        };
        value_counts.estimate(condition, &mut estimate);
        let page = f64::from(query.page.first.or(query.page.last).unwrap_or(20).max(1)) + 1.0;
        let scanned = page * value_counts.products / estimate.matches.max(0.5);
        scanned < estimate.bound
    }

    /// The cached counts of a scope; refreshes them in the background if they are missing or old.
    fn value_counts(&self, scope: Scope, reference: &Arc<Reference>) -> Option<Arc<ValueCounts>> {
        let mut memory = self
            .panel_cache()
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = memory.get(&scope.name).cloned();
        if known
            .as_ref()
            .is_none_or(|known| known.at.elapsed() > MAX_AGE)
        {
            if memory.len() >= MAX_CACHED {
                memory.clear();
            }
            let value_counts = known.as_ref().and_then(|known| known.value_counts.clone());
            let at = Instant::now();
            memory.insert(scope.name.clone(), CachedCounts { value_counts, at });
            self.refresh(scope, Arc::clone(reference));
        }
        known.and_then(|known| known.value_counts)
    }

    fn refresh(&self, scope: Scope, reference: Arc<Reference>) {
        let catalog = self.clone();
        self.in_background(async move {
            let snapshot = catalog.get_snapshot(&scope, &reference).await;
            // This request does without; the next one tries again.
            let Ok((Some(snapshot), _)) = snapshot else {
                return;
            };
            let cached = CachedCounts {
                value_counts: Some(Arc::new(ValueCounts::of(&snapshot.panel, &reference))),
                at: Instant::now(),
            };
            let mut memory = catalog
                .panel_cache()
                .cached
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            memory.insert(scope.name, cached);
        });
    }
}

/// Whether a condition has mandatory clauses whose products panels count.
fn has_values(condition: &Condition) -> bool {
    match condition {
        Condition::All(parts) => parts.iter().any(has_values),
        Condition::Token(_) | Condition::SpecRange { .. } => true,
        _ => false,
    }
}

impl ValueCounts {
    fn of(panel: &Panel, reference: &Reference) -> Self {
        let mut value_counts = Self {
            products: number(panel.products),
            ..Self::default()
        };
        for facet in &panel.facets {
            value_counts.add(facet, reference);
        }
        value_counts
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
                if values.len() >= MAX_STORED_VALUES {
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

    /// Orders the tokens of a condition by how many products have them, behind everything else.
    fn put_rarest_first(&self, condition: &mut Condition) {
        if let Condition::All(parts) = condition {
            for part in parts.iter_mut() {
                self.put_rarest_first(part);
            }
            let place = |part: &Condition| match part {
                Condition::Token(tokens) => tokens.iter().map(|token| self.token(token)).sum(),
                _ => -1.0_f64,
            };
            parts.sort_by(|one, other| place(one).total_cmp(&place(other)));
        }
    }

    /// Applies every mandatory clause with known counts.
    fn estimate(&self, condition: &Condition, estimate: &mut Estimate) {
        match condition {
            Condition::All(parts) => parts.iter().for_each(|part| self.estimate(part, estimate)),
            Condition::Token(tokens) => {
                let products = tokens.iter().map(|token| self.token(token)).sum();
                self.narrow(products, estimate);
            }
            Condition::SpecRange { key, range, .. } => {
                let products = self.ranges.get(key).map(|known| within(known, range));
                self.narrow(products.unwrap_or(0.0), estimate);
            }
            _ => {}
        }
    }

    /// Assumes that values are distributed independently.
    fn narrow(&self, products: f64, estimate: &mut Estimate) {
        estimate.bound = estimate.bound.min(products);
        estimate.matches *= products / self.products.max(1.0);
    }

    fn token(&self, token: &str) -> f64 {
        let key = token.split_once('=').map_or(token, |(key, _)| key);
        let known = self.tokens.get(token).or_else(|| self.rarest.get(key));
        known.copied().unwrap_or(0.0)
    }
}

/// The number of products with a number in a range, interpolated from counted ranges.
fn within(known: &[(Range, f64)], range: &Range) -> f64 {
    let share = |part: &Range, count: f64| {
        let (low, high) = ends(part);
        let (from, to) = ends(range);
        let common = high.min(to) - low.max(from);
        if common < 0.0 {
            return 0.0;
        }
        if high > low && high.is_finite() {
            count * (common / (high - low)).min(1.0)
        } else {
            // Where in a range without an upper end its numbers are is not known.
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
    fn ranges_are_interpolated() {
        let known = [(between(0.0, 10.0), 100.0), (between(10.0, 20.0), 50.0)];
        let found = |low, high| within(&known, &between(low, high));
        assert!((found(5.0, 12.0) - 60.0).abs() < 1e-9);
        assert!(found(30.0, 40.0).abs() < 1e-9);
        assert!((within(&known, &Range::default()) - 150.0).abs() < 1e-9);
    }

    #[test]
    fn the_rarest_token_comes_first() {
        let value_counts = ValueCounts {
            tokens: HashMap::from([("a=1".to_owned(), 400.0), ("b=1".to_owned(), 7.0)]),
            ..ValueCounts::default()
        };
        let token = |text: &str| Condition::Token(vec![text.to_owned()]);
        let other = || Condition::Name("x".to_owned());
        let mut condition = Condition::All(vec![token("a=1"), other(), token("b=1")]);
        value_counts.put_rarest_first(&mut condition);
        let expected = Condition::All(vec![other(), token("b=1"), token("a=1")]);
        assert_eq!(condition, expected);
    }

    #[test]
    fn unknown_values_are_at_most_as_common_as_the_rarest_stored_one() {
        let value_counts = ValueCounts {
            products: 1_000.0,
            tokens: HashMap::from([("color=red".to_owned(), 400.0)]),
            rarest: HashMap::from([("model".to_owned(), 3.0)]),
            ranges: HashMap::new(),
        };
        let estimate = |tokens: &[&str]| {
            let clause = |token: &&str| Condition::Token(vec![(*token).to_owned()]);
            let mut estimate = Estimate {
                bound: value_counts.products,
                matches: value_counts.products,
            };
            let condition = Condition::All(tokens.iter().map(clause).collect());
            value_counts.estimate(&condition, &mut estimate);
            estimate
        };
        let red = estimate(&["color=red"]);
        assert!((red.bound - 400.0).abs() < 1e-9 && (red.matches - 400.0).abs() < 1e-9);
        let both = estimate(&["color=red", "model=x9"]);
        assert!((both.bound - 3.0).abs() < 1e-9 && (both.matches - 1.2).abs() < 1e-9);
    }
}
