//! Estimating counts from a sample of the products.

use crate::derived::SLOTS;

/// Values of fewer sampled products than this are not estimated: the estimate would be too
/// imprecise.
pub const MIN_ESTIMATED: u64 = 25;

/// A sample of all products: those of some of the [`SLOTS`] slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    slots: u8,
}

/// A number of products, estimated from a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate.
    pub value: u64,
    /// The true number is at most this far from the estimate, in either direction.
    pub margin: u64,
}

impl Sample {
    /// The sample of the products of `slots` slots, clamped to 1 to [`SLOTS`].
    #[must_use]
    pub fn of_slots(slots: u8) -> Self {
        Self {
            slots: slots.clamp(1, SLOTS),
        }
    }

    /// Returns true if the sample contains all products.
    #[must_use]
    pub const fn is_all(self) -> bool {
        self.slots == SLOTS
    }

    /// Estimates the number of all products from `counted` products of the sample.
    ///
    /// A product's slot is a hash of its id, so each product is in the sample independently with
    /// the same probability `f`: a Bernoulli sample. The value is the Horvitz-Thompson estimator `c
    /// / f` (Horvitz and Thompson 1952, *A Generalization of Sampling Without Replacement From a
    /// Finite Universe*). The margin is the longer side of the score interval (Wilson 1927,
    /// *Probable Inference, the Law of Succession, and Statistical Inference*) of `z = 4` standard
    /// deviations: with `q = 1 - f`
    ///
    /// `margin = (z² q / 2 + z √(q c + z² q² / 4)) / f`, rounded up, and 1 for rounding the value.
    ///
    /// For counts of at least [`MIN_ESTIMATED`], the true number is within the margin in 99.99 % of
    /// all samples. The simpler `z √(c q) / f` fails seven times as often for low counts.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "numbers of products are far below 2^53 and never negative"
    )]
    pub fn estimate(self, counted: u64) -> Estimate {
        const Z: f64 = 4.0;
        if self.is_all() {
            return Estimate {
                value: counted,
                margin: 0,
            };
        }
        let share = f64::from(self.slots) / f64::from(SLOTS);
        let (c, q) = (counted as f64, 1.0 - share);
        let reach = (Z * Z * q / 2.0 + Z * (q * c + Z * Z * q * q / 4.0).sqrt()) / share;
        Estimate {
            value: (c / share).round() as u64,
            margin: reach.ceil() as u64 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_all_is_exact() {
        let all = Sample::of_slots(SLOTS);
        assert!(all.is_all() && Sample::of_slots(255).is_all());
        let exact = Estimate {
            value: 31,
            margin: 0,
        };
        assert_eq!(all.estimate(31), exact);
        assert_eq!(Sample::of_slots(0), Sample::of_slots(1));
    }

    #[test]
    fn margins_shrink_as_samples_grow() {
        let estimate = Sample::of_slots(10).estimate(10_000);
        assert_eq!(estimate.value, 100_000);
        assert!((3_795..=3_900).contains(&estimate.margin), "{estimate:?}");
        let margins = [10, 50, 90].map(|slots| {
            let counted = 1_000 * u64::from(slots);
            Sample::of_slots(slots).estimate(counted).margin
        });
        assert!(margins.is_sorted_by(|a, b| a > b), "{margins:?}");
    }

    /// A generator of uniformly distributed 64-bit numbers (Steele, Lea and Flood 2014,
    /// `SplitMix64`).
    struct SplitMix64(u64);

    impl SplitMix64 {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[test]
    fn the_true_number_is_within_the_margin() {
        let mut random = SplitMix64(7);
        let (mut tried, mut missed, mut far) = (0, 0, 0);
        for slots in [5_u8, 10, 20, 50, 90] {
            for expected in [25_u64, 30, 50, 80, 150, 400] {
                let all = expected * u64::from(SLOTS) / u64::from(slots);
                for _ in 0..500 {
                    let read =
                        (0..all).filter(|_| random.next() % u64::from(SLOTS) < u64::from(slots));
                    let counted = u64::try_from(read.count()).unwrap();
                    if counted < MIN_ESTIMATED {
                        continue;
                    }
                    let estimate = Sample::of_slots(slots).estimate(counted);
                    let off = estimate.value.abs_diff(all);
                    tried += 1;
                    missed += u32::from(off > estimate.margin);
                    far += u32::from(off * 8 > estimate.margin);
                }
            }
        }
        assert!(tried > 10_000);
        assert!(missed <= 3, "{missed} of {tried}");
        assert!(
            far > tried / 4,
            "margins are not so wide that they say nothing: {far} of {tried}"
        );
    }
}
