//! What one request may read to count facets. Its passes share it, so that a filter with many
//! selections costs no more than a large category.

/// The maximum target size of a sample. It is above 10,000 because the number of further slots is
/// estimated from the first one.
const MAX_SAMPLE_SIZE: u64 = 11_000;
/// The minimum number of products that a sample may read, however little is left.
const MIN_SAMPLE_READS: u64 = 1_000;
/// The maximum number of index entries that the exact counts of selected values read.
const MAX_ENTRIES: u64 = 50_000;

/// What is left of the limits of a request.
#[derive(Debug)]
pub(super) struct ReadBudget {
    products: u64,
    entries: u64,
}

/// What a pass may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All matching products, which are at most this many.
    All(u64),
    /// A sample, which reads at most this many products.
    Sample(u64),
}

impl Share {
    /// The number of products that a sample should have.
    pub(super) fn sample_size(reads: u64) -> u64 {
        reads.min(MAX_SAMPLE_SIZE)
    }
}

impl ReadBudget {
    pub(super) const fn new(products: u64) -> Self {
        Self {
            products,
            entries: MAX_ENTRIES,
        }
    }

    /// Shares the products between passes. `sizes` has how many products each pass reads to count
    /// exactly; `None` if that exceeds the limit. The smallest are counted exactly as long as the
    /// budget lasts, and three quarters of what is left are shared equally by samples. The last
    /// quarter is for keys that few products have.
    pub(super) fn share(&mut self, sizes: &[Option<u64>]) -> Vec<Share> {
        let mut by_size: Vec<usize> = (0..sizes.len()).collect();
        by_size.sort_by_key(|at| sizes[*at].unwrap_or(u64::MAX));
        let mut shares = vec![Share::Sample(0); sizes.len()];
        let mut sampled = sizes.len();
        for at in by_size {
            let Some(size) = sizes[at].filter(|size| self.take(*size)) else {
                break;
            };
            shares[at] = Share::All(size);
            sampled -= 1;
        }
        let samples = u64::try_from(sampled).unwrap_or(u64::MAX);
        let of_samples = self.products - self.products / 4;
        let each = of_samples / samples.max(1);
        for share in &mut shares {
            if let Share::Sample(reads) = share {
                *reads = each.max(MIN_SAMPLE_READS);
                self.products -= each;
            }
        }
        shares
    }

    /// Takes this many products from the budget; returns false if it has not that many.
    pub(super) fn take(&mut self, products: u64) -> bool {
        let left = self.products.checked_sub(products);
        self.products = left.unwrap_or(self.products);
        left.is_some()
    }

    /// How many index entries are left.
    pub(super) const fn entries(&self) -> u64 {
        self.entries
    }

    /// Records that a count has read index entries.
    pub(super) fn spend_entries(&mut self, entries: u64) {
        self.entries = self.entries.saturating_sub(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_passes_are_counted_exactly_and_large_ones_share_the_rest() {
        let mut budget = ReadBudget::new(20_000);
        let shares = budget.share(&[Some(9_000), None, Some(1_000), Some(12_000)]);
        assert_eq!(
            shares,
            [
                Share::All(9_000),
                Share::Sample(3_750),
                Share::All(1_000),
                Share::Sample(3_750)
            ]
        );
        assert!(budget.take(2_500) && !budget.take(1));
    }

    #[test]
    fn one_pass_may_read_nearly_everything() {
        let mut budget = ReadBudget::new(20_000);
        assert_eq!(budget.share(&[None]), [Share::Sample(15_000)]);
        assert_eq!(Share::sample_size(15_000), MAX_SAMPLE_SIZE);
        let mut budget = ReadBudget::new(20_000);
        assert_eq!(budget.share(&[Some(20_000)]), [Share::All(20_000)]);
    }

    #[test]
    fn a_sample_has_a_minimum() {
        let mut budget = ReadBudget::new(20_000);
        let shares = budget.share(&[Some(20_000), Some(20_000)]);
        assert_eq!(
            shares,
            [Share::All(20_000), Share::Sample(MIN_SAMPLE_READS)]
        );
    }

    #[test]
    fn counts_of_selected_values_share_index_entries() {
        let mut budget = ReadBudget::new(0);
        budget.spend_entries(MAX_ENTRIES - 1);
        assert_eq!(budget.entries(), 1);
        budget.spend_entries(2);
        assert_eq!(budget.entries(), 0);
    }
}
