//! Fewer ranges than were counted.

use serde::{Deserialize, Serialize};

use super::{Bucket, CountedBucket};

/// How many products have a value in one of several adjacent ranges: for each range but the last, from
/// the first, the counts of it together with the next, the next two, and so on. Empty if no product has
/// values in two ranges: then the counts of the ranges can be added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Joined(Vec<u64>);

impl Joined {
    /// Counts all adjacent ranges together.
    #[must_use]
    pub fn count<T: Copy>(buckets: &[Bucket<T>], count: impl Fn(&Bucket<T>) -> u64) -> Self {
        let all = (0..buckets.len()).flat_map(|from| {
            let count = &count;
            let after = buckets.iter().skip(from + 1);
            after.map(move |last| count(&join(&buckets[from], last)))
        });
        Self(all.collect())
    }

    /// Returns true if counts of ranges can be added.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Joins adjacent ranges until at most `max` are left, at least one: always the two that have the
    /// fewest products together.
    #[must_use]
    pub fn at_most<T: Copy>(
        &self,
        max: usize,
        buckets: &[CountedBucket<T>],
    ) -> Vec<CountedBucket<T>> {
        // The first and the last range of each group.
        let mut groups: Vec<(usize, usize)> = (0..buckets.len()).map(|at| (at, at)).collect();
        while groups.len() > max.max(1) {
            let together = |at: &usize| self.products(groups[*at].0, groups[at + 1].1, buckets);
            let Some(at) = (0..groups.len() - 1).min_by_key(together) else {
                break;
            };
            groups[at].1 = groups.remove(at + 1).1;
        }
        let joined = groups.into_iter().map(|(first, last)| CountedBucket {
            bucket: join(&buckets[first].bucket, &buckets[last].bucket),
            count: self.products(first, last, buckets),
        });
        joined.collect()
    }

    /// The number of products with a value from the first to the last of these ranges.
    fn products<T>(&self, first: usize, last: usize, buckets: &[CountedBucket<T>]) -> u64 {
        let before: usize = (0..first).map(|from| buckets.len() - 1 - from).sum();
        let stored = (first < last).then(|| self.0.get(before + last - first - 1));
        let added = || {
            buckets[first..=last]
                .iter()
                .map(|bucket| bucket.count)
                .sum()
        };
        stored.flatten().copied().unwrap_or_else(added)
    }
}

/// The range from the beginning of one to the end of another.
fn join<T: Copy>(first: &Bucket<T>, last: &Bucket<T>) -> Bucket<T> {
    Bucket {
        low: first.low,
        ..*last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facet::{Numbers, number_buckets};

    fn numbers(of_products: &[&[f64]]) -> Numbers {
        let mut numbers = Numbers::default();
        for (product, own) in (1..).zip(of_products) {
            own.iter().for_each(|n| numbers.add(*n, None, product));
        }
        numbers
    }

    fn counted(numbers: &Numbers) -> (Vec<CountedBucket>, Joined) {
        let buckets = number_buckets(numbers, |n| n, true, 10);
        let count = |bucket: &Bucket<f64>| numbers.count(&bucket.range());
        let joined = Joined::count(&buckets, count);
        (
            buckets.into_iter().map(|b| b.counted(count)).collect(),
            joined,
        )
    }

    #[test]
    fn the_smallest_neighbours_are_joined() {
        let (buckets, _) = counted(&numbers(&[
            &[1.0],
            &[1.0],
            &[1.0],
            &[2.0],
            &[4.0],
            &[8.0],
            &[8.0],
        ]));
        let shown = |max| {
            let joined = Joined::default().at_most(max, &buckets).into_iter();
            joined
                .map(|c| (c.bucket.low.unwrap(), c.bucket.high.unwrap(), c.count))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(4),
            [(1.0, 1.0, 3), (2.0, 2.0, 1), (4.0, 4.0, 1), (8.0, 8.0, 2)]
        );
        assert_eq!(shown(3), [(1.0, 1.0, 3), (2.0, 4.0, 2), (8.0, 8.0, 2)]);
        assert_eq!(shown(2), [(1.0, 1.0, 3), (2.0, 8.0, 4)]);
        assert_eq!(shown(1), [(1.0, 8.0, 7)]);
    }

    #[test]
    fn a_product_with_values_in_two_ranges_counts_once() {
        let numbers = numbers(&[&[1.0, 2.0], &[2.0, 3.0], &[1.0, 3.0], &[5.0]]);
        let (buckets, joined) = counted(&numbers);
        for max in 1..=buckets.len() {
            for counted in joined.at_most(max, &buckets) {
                assert_eq!(
                    counted.count,
                    numbers.count(&counted.bucket.range()),
                    "{counted:?}"
                );
            }
        }
        assert_eq!(joined.at_most(1, &buckets)[0].count, 4);
    }
}
