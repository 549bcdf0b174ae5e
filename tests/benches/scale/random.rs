//! Random numbers that depend on nothing but a seed, and the curve of popularity.

/// What numbers are drawn for, so that drawing more of them for one thing changes no other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Words of the vocabulary.
    Word,
    /// Sentences of reviews and descriptions.
    Sentence,
    /// Keys of a leaf.
    Leaf,
    /// Which products are popular.
    Popularity,
    /// Everything written about a product.
    Product,
    /// The reviews of a product.
    Review,
}

/// A `SplitMix64` generator (Steele, Lea and Flood, 2014).
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

    /// A number from 0 up to, not including, `end`; 0 when there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.next()) * end as u128;
        usize::try_from(wide >> 64).expect("smaller than `end`")
    }

    /// A number from 0 up to, not including, 1.
    pub(crate) fn share(&mut self) -> f64 {
        // A float holds 53 bits.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Yes in this share of all cases.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// One of these. There must be one.
    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Puts these in a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            all.swap(end, self.below(end + 1));
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Shares of things that are not equally likely.
#[derive(Clone, Debug)]
pub(crate) struct Shares(Vec<f64>);

impl Shares {
    /// In proportion to these weights.
    pub(crate) fn of(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let sums = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        Self(sums.collect())
    }

    /// Zipf's law: the weight of the nth of `count` things is 1 / n to the power of `exponent`.
    pub(crate) fn zipf(count: usize, exponent: f64) -> Self {
        Self::of((1..=count).map(|n| (n as f64).powf(-exponent)))
    }

    /// One of the things.
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let at = random.share() * self.0.last().copied().unwrap_or(0.0);
        let found = self.0.partition_point(|sum| *sum <= at);
        found.min(self.0.len().saturating_sub(1))
    }

    /// A total, split to the last one.
    pub(crate) fn split(&self, total: usize) -> Vec<usize> {
        let all = self.0.last().copied().unwrap_or(1.0);
        let mut given = 0;
        let up_to = |sum: &f64| (total as f64 * sum / all).round();
        let counts = self.0.iter().map(|sum| {
            let before = given;
            given = whole(up_to(sum));
            given - before
        });
        counts.collect()
    }
}

/// A number that is not negative, without its fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares of totals are neither negative nor huge"
)]
pub(crate) fn whole(number: f64) -> usize {
    number as usize
}
