//! Counting numbers.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::texts::ProductCounter;
use crate::clock::Timestamp;
use crate::filter::{Bounds, Range};

/// The numbers that products have: `f64` for canonical numbers of specs, `i64` for prices in minor
/// units.
#[derive(Clone, Debug)]
pub struct Numbers<N = f64> {
    products: ProductCounter,
    /// Each number with the number of its product.
    all: Vec<(N, u64)>,
    /// Numbers of products that have no other number, each with how many those are.
    alone: Vec<(N, u64)>,
    units: Vec<(String, u64)>,
    sorted: OnceLock<Sorted<N>>,
}

#[derive(Clone, Debug)]
struct Sorted<N> {
    /// Every number, in ascending order, with how many products have it, and how many the lower ones and it together.
    /// A product with two numbers counts twice in the latter.
    runs: Vec<Run<N>>,
    /// The numbers of products that may have several, sorted by number, then by product, each once; empty if no product
    /// has two numbers.
    pairs: Vec<(N, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Run<N> {
    number: N,
    count: u64,
    until: u64,
}

/// A number with a total order.
pub(super) trait Ordered: Copy + PartialEq {
    fn compare(&self, other: &Self) -> std::cmp::Ordering;
}

impl Ordered for f64 {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.total_cmp(other)
    }
}

impl Ordered for i64 {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.cmp(other)
    }
}

impl Ordered for Timestamp {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.cmp(other)
    }
}

impl<N> Default for Numbers<N> {
    fn default() -> Self {
        Self {
            products: ProductCounter::default(),
            all: Vec::new(),
            alone: Vec::new(),
            units: Vec::new(),
            sorted: OnceLock::new(),
        }
    }
}

#[expect(
    private_bounds,
    reason = "there are numbers of two types only, and others could not be added"
)]
impl<N: Ordered> Numbers<N> {
    /// The number of products that have a number.
    #[must_use]
    pub const fn products(&self) -> u64 {
        self.products.count
    }

    /// The lowest number.
    #[must_use]
    pub fn min(&self) -> Option<N> {
        self.sorted().runs.first().map(|run| run.number)
    }

    /// The highest number.
    #[must_use]
    pub fn max(&self) -> Option<N> {
        self.sorted().runs.last().map(|run| run.number)
    }

    /// The number of distinct numbers.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.sorted().runs.len()
    }

    /// Returns true if no product has two numbers, so that the counts of ranges can be added.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.sorted().pairs.is_empty()
    }

    /// How many numbers products have together, equal ones of a product counted once.
    pub(super) fn total(&self) -> usize {
        let total = self.sorted().runs.last().map_or(0, |run| run.until);
        usize::try_from(total).unwrap_or(usize::MAX)
    }

    /// The number at this place of all numbers that products have, in ascending order.
    pub(super) fn nth(&self, place: usize) -> Option<N> {
        let runs = &self.sorted().runs;
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        let at = runs.partition_point(|run| run.until <= place);
        runs.get(at).map(|run| run.number)
    }

    /// The highest number that is below something.
    pub(super) fn highest_below(&self, is_below: impl Fn(N) -> bool) -> Option<N> {
        let runs = &self.sorted().runs;
        let count = runs.partition_point(|run| is_below(run.number));
        runs[..count].last().map(|run| run.number)
    }

    /// Returns true if all numbers pass a test.
    pub(super) fn all(&self, test: impl Fn(N) -> bool) -> bool {
        self.sorted().runs.iter().all(|run| test(run.number))
    }

    /// Every distinct number with the number of products that have it, lowest first.
    #[must_use]
    pub fn values(&self) -> Vec<(N, u64)> {
        let runs = self.sorted().runs.iter();
        runs.map(|run| (run.number, run.count)).collect()
    }

    /// The unit in which most numbers were entered; of equally frequent ones the first in
    /// alphabetical order.
    #[must_use]
    pub fn common_unit(&self) -> Option<&str> {
        let best = self
            .units
            .iter()
            .min_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        best.map(|(unit, _)| unit.as_str())
    }

    pub(super) fn add(&mut self, n: N, unit: Option<&str>, product: u64) {
        self.sorted.take();
        self.products.add(product);
        self.all.push((n, product));
        if let Some(unit) = unit {
            self.add_unit(unit, 1);
        }
    }

    /// Adds numbers of products that have no other one, each with how many those are.
    pub(super) fn add_alone(&mut self, numbers: impl IntoIterator<Item = (N, u64)>) {
        self.sorted.take();
        let known = self.alone.len();
        self.alone.extend(numbers);
        let added = self.alone[known..].iter().map(|(_, products)| products);
        self.products.count += added.sum::<u64>();
    }

    /// Notes that this many numbers were entered in a unit.
    pub(super) fn add_unit(&mut self, unit: &str, count: u64) {
        match self.units.iter_mut().find(|(known, _)| known == unit) {
            Some((_, known)) => *known += count,
            None => self.units.push((unit.to_owned(), count)),
        }
    }

    /// The number of products with a number that is neither `below` nor `above` the range. Both
    /// must be monotonic.
    fn count_within(&self, below: impl Fn(N) -> bool, above: impl Fn(N) -> bool) -> u64 {
        let sorted = self.sorted();
        let runs = within(
            &sorted.runs,
            |run| below(run.number),
            |run| above(run.number),
        );
        let all: u64 = match (runs.first(), runs.last()) {
            (Some(first), Some(last)) => last.until + first.count - first.until,
            _ => 0,
        };
        let pairs = within(&sorted.pairs, |pair| below(pair.0), |pair| above(pair.0));
        let products = distinct(pairs.iter().map(|(_, product)| *product).collect());
        all + products - length(pairs)
    }

    fn sorted(&self) -> &Sorted<N> {
        self.sorted.get_or_init(|| {
            let mut pairs = self.all.clone();
            pairs.sort_unstable_by(|a, b| a.0.compare(&b.0).then_with(|| a.1.cmp(&b.1)));
            pairs.dedup_by(|a, b| a == b);
            let alone: u64 = self.alone.iter().map(|(_, products)| products).sum();
            let single = alone + length(&pairs) == self.products.count;
            let are_in_order = self.alone.is_sorted_by(|a, b| a.0.compare(&b.0).is_le());
            let counts = if are_in_order && pairs.is_empty() {
                Cow::Borrowed(self.alone.as_slice())
            } else {
                let of_pairs = pairs.chunk_by(|a, b| a.0 == b.0);
                let of_pairs = of_pairs.map(|run| (run[0].0, length(run)));
                let mut counts: Vec<(N, u64)> = of_pairs.collect();
                counts.extend_from_slice(&self.alone);
                // Fast for numbers that come in order.
                counts.sort_by(|a, b| a.0.compare(&b.0));
                Cow::Owned(counts)
            };
            if single {
                pairs = Vec::new();
            }
            let mut runs: Vec<Run<N>> = Vec::with_capacity(counts.len());
            let mut until = 0;
            for &(number, count) in &*counts {
                until += count;
                match runs.last_mut().filter(|run| run.number == number) {
                    Some(run) => {
                        run.count += count;
                        run.until = until;
                    }
                    None => runs.push(Run {
                        number,
                        count,
                        until,
                    }),
                }
            }
            Sorted { runs, pairs }
        })
    }
}

/// Those that are neither below nor above something.
fn within<T>(sorted: &[T], below: impl Fn(&T) -> bool, above: impl Fn(&T) -> bool) -> &[T] {
    let begin = sorted.partition_point(below);
    let end = sorted.partition_point(|one| !above(one));
    sorted.get(begin..end).unwrap_or_default()
}

impl Numbers<f64> {
    /// The number of products with a number in this range.
    #[must_use]
    pub fn count(&self, range: &Range) -> u64 {
        self.count_within(|n| range.side(n).is_lt(), |n| range.side(n).is_gt())
    }
}

impl Numbers<i64> {
    /// The number of products with a price in this range.
    #[must_use]
    pub fn count(&self, bounds: Bounds<i64>) -> u64 {
        let below = |n| bounds.gte.is_some_and(|gte| n < gte);
        let above = |n| bounds.lte.is_some_and(|lte| n > lte);
        self.count_within(below, above)
    }
}

fn distinct(mut products: Vec<u64>) -> u64 {
    products.sort_unstable();
    products.dedup();
    length(&products)
}

fn length<T>(all: &[T]) -> u64 {
    all.len().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::filter::End;

    fn end() -> impl Strategy<Value = Option<End>> {
        let end = (-6_i8..6, any::<bool>()).prop_map(|(at, included)| End {
            at: f64::from(at) / 2.0,
            included,
        });
        proptest::option::of(end)
    }

    proptest! {
        #[test]
        fn counts_products_with_a_number_in_the_range(
            per_product in proptest::collection::vec(proptest::collection::vec(-3_i8..3, 0..4), 0..12),
            min in end(),
            max in end(),
        ) {
            let mut numbers = Numbers::default();
            let mut prices: Numbers<i64> = Numbers::default();
            for (product, own) in (1..).zip(&per_product) {
                // Products with one number may be added together.
                if let ([n], true) = (own.as_slice(), product % 2 == 0) {
                    numbers.add_alone([(f64::from(*n), 1)]);
                    prices.add_alone([(i64::from(*n), 1)]);
                    continue;
                }
                for n in own {
                    numbers.add(f64::from(*n), None, product);
                    prices.add(i64::from(*n), None, product);
                }
            }
            let range = Range { min, max };
            let having = |test: &dyn Fn(i8) -> bool| {
                u64::try_from(per_product.iter().filter(|own| own.iter().any(|n| test(*n))).count()).unwrap()
            };
            prop_assert_eq!(numbers.count(&range), having(&|n| range.contains(f64::from(n))));
            let bounds = Bounds { gte: Some(-1), lte: Some(1) };
            prop_assert_eq!(prices.count(bounds), having(&|n| (-1..=1).contains(&n)));
            prop_assert_eq!(numbers.products(), having(&|_| true));
            let all: BTreeSet<i8> = per_product.iter().flatten().copied().collect();
            prop_assert_eq!(numbers.distinct(), all.len());
            prop_assert_eq!(numbers.min(), all.first().map(|n| f64::from(*n)));
            prop_assert_eq!(numbers.max(), all.last().map(|n| f64::from(*n)));
            for (n, count) in prices.values() {
                prop_assert_eq!(count, having(&|own| i64::from(own) == n));
            }
        }
    }

    #[test]
    fn numbers_added_after_a_query_count_too() {
        let mut numbers = Numbers::default();
        numbers.add(1.0, Some("cm"), 1);
        assert_eq!(numbers.max(), Some(1.0));
        numbers.add(2.0, Some("in"), 2);
        assert_eq!(numbers.max(), Some(2.0));
        assert_eq!(numbers.common_unit(), Some("cm"), "the first of equals");
        numbers.add(3.0, Some("in"), 3);
        assert_eq!(numbers.common_unit(), Some("in"));
        assert_eq!(numbers.count(&Range::default()), 3);
    }
}
