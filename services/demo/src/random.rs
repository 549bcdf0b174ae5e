//! Random numbers that are the same on every platform and in every release.

/// What numbers are drawn for. Each purpose has its own stream of numbers, so that drawing more for
/// one changes no other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    /// The status, currency and quality of a product.
    ProductPlan,
    /// The order of the products.
    ProductOrder,
    /// The review counts of the less popular products.
    ReviewCounts,
    /// Which products are the most popular.
    MostPopular,
    /// The popularity of the others.
    LessPopular,
    /// When a product came into the shop.
    CreationDate,
    /// Everything written about a product.
    Product,
    /// The first name in a leaf category.
    FirstName,
    /// The main supplier of a brand.
    BrandSupplier,
    /// The reviews of a product.
    Reviews,
    /// The views, carts and orders of a product.
    Activity,
}

/// A `SplitMix64` generator (Steele, Lea and Flood, 2014). It is fixed for ever, which no library's
/// default generator promises.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator of one of many things. Equal arguments give equal numbers.
    pub(crate) fn new(seed: u64, stream: Stream, index: usize) -> Self {
        let mut start = Self(seed);
        start.0 ^= start.next().wrapping_add(stream as u64);
        start.0 ^= start.next().wrapping_add(index as u64);
        start.next();
        start
    }

    /// Returns the next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 up to, not including, `end`; 0 when there is none.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the result is smaller than `end`, which is a usize"
    )]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.next()) * end as u128;
        (wide >> 64) as usize
    }

    /// Returns a number from `min` to `max`, both included.
    pub(crate) fn between(&mut self, min: i64, max: i64) -> i64 {
        let span = u64::try_from(max - min + 1).unwrap_or(1);
        let wide = u128::from(self.next()) * u128::from(span);
        min + i64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Returns a number from `min` to `max`, small ones likelier.
    pub(crate) fn skewed_low(&mut self, min: i64, max: i64) -> i64 {
        self.between(min, max).min(self.between(min, max))
    }

    /// Returns a number from `min` to `max`, large ones likelier.
    pub(crate) fn skewed_high(&mut self, min: i64, max: i64) -> i64 {
        self.between(min, max).max(self.between(min, max))
    }

    /// Returns true in this many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < usize::from(percent)
    }

    /// Returns one of the items, each as likely. There must be one.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns one of the items, the earlier ones likelier. There must be one.
    pub(crate) fn pick_early<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let index = self.below(items.len()).min(self.below(items.len()));
        &items[index]
    }

    /// Returns the index of one of the weights, in proportion to them.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: usize = weights.iter().map(|weight| *weight as usize).sum();
        let mut rest = self.below(total);
        for (index, weight) in weights.iter().enumerate() {
            if rest < *weight as usize {
                return index;
            }
            rest -= *weight as usize;
        }
        0
    }

    /// Puts the items in a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_fixed() {
        let mut zero = Random(0);
        assert_eq!(zero.next(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(zero.next(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn ranges_are_kept() {
        let mut random = Random::new(7, Stream::Product, 2);
        for _ in 0..1000 {
            assert!((-3..=3).contains(&random.between(-3, 3)));
            assert!(random.below(4) < 4);
            assert_ne!(random.weighted(&[1, 0, 5]), 1);
        }
        let mut all: Vec<u32> = (0..50).collect();
        random.shuffle(&mut all);
        assert_ne!(all, (0..50).collect::<Vec<u32>>());
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<u32>>());
    }
}
