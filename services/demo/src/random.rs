//! Random numbers that are the same on every platform and in every release.

/// What numbers are drawn for, so that drawing more of them for one thing changes no other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// State, currency and quality of a product.
    Sketch,
    /// The order of the products.
    Order,
    /// How many reviews the less popular products have.
    Popularity,
    /// Which products are the most popular.
    Leaders,
    /// The order of the others.
    Tail,
    /// When a product came into the shop.
    Date,
    /// Everything written about a product.
    Product,
    /// The first name of a leaf.
    Name,
    /// The supplier of a brand.
    Supplier,
    /// The reviews of a product.
    Review,
    /// Who looked at a product, and who bought it.
    Attention,
}

/// A `SplitMix64` generator (Steele, Lea and Flood, 2014): small, fast and fixed for ever, which no
/// library's default generator promises to be.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of one thing of many: equal arguments, equal numbers.
    pub(crate) fn of(seed: u64, purpose: Purpose, index: usize) -> Self {
        let mut start = Self(seed);
        start.0 ^= start.next().wrapping_add(purpose as u64);
        start.0 ^= start.next().wrapping_add(index as u64);
        start.next();
        start
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, not including, `end`; 0 when there is none.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the result is smaller than `end`, which is a usize"
    )]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.next()) * end as u128;
        (wide >> 64) as usize
    }

    /// A number from `from` to `to`, both included.
    pub(crate) fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = u64::try_from(to - from + 1).unwrap_or(1);
        let wide = u128::from(self.next()) * u128::from(span);
        from + i64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Like [`Random::between`], small numbers likelier.
    pub(crate) fn low(&mut self, from: i64, to: i64) -> i64 {
        self.between(from, to).min(self.between(from, to))
    }

    /// Like [`Random::between`], large numbers likelier.
    pub(crate) fn high(&mut self, from: i64, to: i64) -> i64 {
        self.between(from, to).max(self.between(from, to))
    }

    /// Yes in so many of a hundred cases.
    pub(crate) fn percent(&mut self, share: u8) -> bool {
        self.below(100) < usize::from(share)
    }

    /// One of these, each as likely. There must be one.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// One of these, the earlier ones likelier. There must be one.
    pub(crate) fn early<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let index = self.below(all.len()).min(self.below(all.len()));
        &all[index]
    }

    /// The index of one of these weights, in proportion to them.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: usize = weights.iter().map(|weight| *weight as usize).sum();
        let mut at = self.below(total);
        for (index, weight) in weights.iter().enumerate() {
            if at < *weight as usize {
                return index;
            }
            at -= *weight as usize;
        }
        0
    }

    /// Puts these in a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            all.swap(end, self.below(end + 1));
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
        let mut random = Random::of(7, Purpose::Product, 2);
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
