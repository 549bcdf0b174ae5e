//! Ranges that divide products evenly, at round numbers.
//!
//! Ranges of equal width say nothing about prices of which nearly all are below 100 and one is 25,000.
//! These have about equally many products: each end between two of them may be up to [`LEEWAY`] of a
//! range away from the place that divides the products evenly, and is the roundest number there. No
//! range is empty. The last one has no upper end. Ranges of whole numbers, such as years, end at whole
//! numbers.

use std::cell::OnceCell;

use super::numbers::{Numbers, Ordered};
use super::{Bucket, MAX_SINGLE_VALUES, NumberBucket};
use crate::clock::Timestamp;
use crate::significant::round_to_digits;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// How far an end may be from the place that divides the products evenly, in hundredths of the
/// products of a range. Less than fifty, so that ends keep their order.
const LEEWAY: usize = 25;
/// Fewer products are divided into fewer ranges, with this many products on average ...
const MIN_PRODUCTS: usize = 5;
/// ... but not into fewer than these.
const FEW_BUCKETS: usize = 4;
/// Up to this many distinct numbers that repeat often, such as sizes of memory, are ends themselves.
const MAX_STANDARD_VALUES: usize = 20;
/// How often they repeat on average.
const MIN_REPEATED: usize = 5;

/// People take quantities that differ by less than this share, half a percent, for the same.
const SAME: f64 = 0.005;

/// The numbers between which a range may end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window<N> {
    /// Excluded.
    low: N,
    /// The number that divides the products evenly.
    even: N,
    /// Included.
    high: N,
}

/// The windows for the ends between at most `max_buckets` ranges.
fn windows<N: Ordered>(numbers: &Numbers<N>, max_buckets: usize) -> Vec<Window<N>> {
    let total = numbers.total();
    let enough = (total / MIN_PRODUCTS).max(FEW_BUCKETS);
    let buckets = max_buckets.min(enough);
    let at = |hundredths: usize| {
        let place = hundredths * total / (100 * buckets);
        numbers.nth(place).or(numbers.max())
    };
    let windows = (1..buckets).filter_map(|end| {
        Some(Window {
            low: at(100 * end - LEEWAY)?,
            even: at(100 * end)?,
            high: at(100 * end + LEEWAY)?,
        })
    });
    windows.collect()
}

/// A step whose multiples are round.
trait Step<N>: Copy {
    /// The highest multiple that is not above a number; `None` if numbers of this size are further
    /// apart than the step.
    fn at_or_below(self, n: N) -> Option<N>;
}

/// Numbers of which some are round.
trait Round: Ordered {
    /// The steps, coarse to fine, for numbers between these.
    fn steps(low: Self, high: Self) -> impl Iterator<Item = impl Step<Self>>;

    /// The number that is below `min` by a quarter of the difference to `end`.
    fn quarter_below(min: Self, end: Self) -> Self;
}

impl<N: Round> Window<N> {
    /// The roundest number of the window: a multiple of the coarsest step that has one there.
    fn roundest(self) -> Option<N> {
        self.roundest_of(|_| true)
    }

    /// The roundest number of the window among those that may be ends.
    fn roundest_of(self, may_end: impl Fn(N) -> bool) -> Option<N> {
        let fits = |n: &N| n.compare(&self.low).is_gt() && may_end(*n);
        N::steps(self.low, self.high).find_map(|step| {
            let at = |n| step.at_or_below(n).filter(fits);
            at(self.even).or_else(|| at(self.high))
        })
    }

    /// Whether the window contains one number only: so many products have it that a range begins
    /// with it.
    fn is_single(self) -> bool {
        self.low.compare(&self.high).is_eq()
    }
}

/// Ends of ranges, in ascending order, and the lower end of the first range.
struct Ends<N> {
    first: N,
    between: Vec<N>,
}

impl<N: Round> Ends<N> {
    /// Chooses the ends of ranges for numbers from `min` to `max`, of which `below` returns the highest
    /// below another.
    fn choose(
        windows: impl IntoIterator<Item = Window<N>>,
        (min, max): (N, N),
        below: impl Fn(N) -> Option<N>,
        choose: impl Fn(Window<N>) -> Option<N>,
        may_end: impl Fn(N) -> bool,
    ) -> Self {
        let mut between: Vec<N> = Vec::new();
        for end in windows.into_iter().filter_map(choose) {
            let last = between.last().unwrap_or(&min);
            let is_empty = below(end).is_none_or(|n| n.compare(last).is_lt());
            if !is_empty && end.compare(&max).is_le() {
                between.push(end);
            }
        }
        let first = between.first().and_then(|end| {
            let window = Window {
                low: N::quarter_below(min, *end),
                even: min,
                high: min,
            };
            window.roundest_of(may_end)
        });
        Self {
            first: first.unwrap_or(min),
            between,
        }
    }

    /// The ranges; the last one has no upper end, unless it is the only one.
    fn buckets(self, max: N) -> Vec<Bucket<N>> {
        let Some(last) = self.between.last().copied() else {
            return vec![Bucket {
                low: Some(self.first),
                high: Some(max),
                high_included: true,
            }];
        };
        let lows = std::iter::once(self.first).chain(self.between.iter().copied());
        let mut buckets: Vec<Bucket<N>> = lows
            .zip(&self.between)
            .map(|(low, high)| Bucket {
                low: Some(low),
                high: Some(*high),
                high_included: false,
            })
            .collect();
        buckets.push(Bucket {
            low: Some(last),
            high: None,
            high_included: false,
        });
        buckets
    }
}

/// The ranges for numbers, in a unit: `shown` converts into it. Up to [`MAX_SINGLE_VALUES`] distinct
/// plain numbers are each shown as a range of one value; pass `single_values: false` for quantities,
/// whose equality is approximate ([`crate::filter::equality_band`]) and of which many are conversions: where a range would
/// end at a number with more than four digits, it ends at a rounder one. Empty without numbers.
#[must_use]
pub fn number_buckets(
    numbers: &Numbers,
    shown: impl Fn(f64) -> f64,
    single_values: bool,
    max_buckets: usize,
) -> Vec<NumberBucket> {
    let (Some(min), Some(max)) = (numbers.min(), numbers.max()) else {
        return Vec::new();
    };
    let distinct = numbers.distinct();
    if single_values && distinct <= MAX_SINGLE_VALUES {
        let values = numbers.values().into_iter();
        return values.map(|(n, _)| Bucket::single(shown(n))).collect();
    }
    let standard = distinct <= MAX_STANDARD_VALUES && numbers.total() >= distinct * MIN_REPEATED;
    let windows = windows(numbers, max_buckets).into_iter();
    let windows = windows.map(|window| Window {
        low: shown(window.low),
        even: shown(window.even),
        high: shown(window.high),
    });
    let (min, max) = (shown(min), shown(max));
    let below = |end: f64| numbers.highest_below(|n| shown(n) < end).map(&shown);
    let are_whole = OnceCell::new();
    let are_whole = || *are_whole.get_or_init(|| numbers.all(|n| shown(n).fract() == 0.0));
    let may_end = |end: f64| end.fract() == 0.0 || !are_whole();
    let ends = Ends::choose(
        windows,
        (min, max),
        below,
        |window| {
            let round = (!standard && !window.is_single()).then(|| window.roundest_of(may_end));
            let end = match round.flatten() {
                Some(round) => round,
                None if standard && window.even > window.low => window.even,
                None => window.high,
            };
            if single_values {
                return Some(end);
            }
            without_digits_of_conversion(end, min, below(end))
        },
        may_end,
    );
    ends.buckets(max)
}

/// Returns the roundest end that divides quantities like this one, or less than [`SAME`] below it. `below` is the highest
/// quantity below the end. Returns `None` if even the lowest quantity, `min`, is that near.
fn without_digits_of_conversion(end: f64, min: f64, below: Option<f64>) -> Option<f64> {
    let same = end - end.abs() * SAME;
    if same <= min {
        return None;
    }
    if is_plain(end) {
        return Some(end);
    }
    let window = Window {
        low: below.unwrap_or(min).min(same),
        even: end,
        high: end,
    };
    window.roundest().or(Some(end))
}

/// Whether people write a number like this: whole, or with at most four significant digits.
fn is_plain(n: f64) -> bool {
    n.fract() == 0.0 || round_to_digits::<4>(n).to_bits() == n.to_bits()
}

/// `tenths / 10 * 10^exponent`.
#[derive(Clone, Copy)]
struct RoundStep {
    tenths: f64,
    exponent: i32,
}

impl Round for f64 {
    /// 5, 2.5, 2 and 1 times powers of ten, down to the precision of numbers of this size.
    fn steps(low: Self, high: Self) -> impl Iterator<Item = impl Step<Self>> {
        /// More powers of ten than a number has digits.
        const POWERS: i32 = 25;
        let exponent = low.abs().max(high.abs()).log10().floor();
        #[expect(clippy::cast_possible_truncation, reason = "between -330 and 310")]
        let highest = if exponent.is_finite() {
            exponent as i32
        } else {
            0
        };
        let exponents = (highest - POWERS..=highest).rev();
        let steps =
            |exponent| [50.0, 25.0, 20.0, 10.0].map(|tenths| RoundStep { tenths, exponent });
        exponents.flat_map(steps)
    }

    fn quarter_below(min: Self, end: Self) -> Self {
        min - (end - min) / 4.0
    }
}

impl RoundStep {
    /// This many steps, as exact as possible: a whole number multiplied or divided by a power of
    /// ten, so that three steps of 0.1 are 0.3.
    fn times(self, steps: f64) -> f64 {
        let power = self.exponent - 1;
        let scale = 10_f64.powi(power.abs());
        if power < 0 {
            steps * self.tenths / scale
        } else {
            steps * self.tenths * scale
        }
    }
}

impl Step<f64> for RoundStep {
    fn at_or_below(self, n: f64) -> Option<f64> {
        // 2^46: this many steps of fifty are still exact.
        const EXACT: f64 = 70_368_744_177_664.0;
        let mut steps = (n / self.times(1.0)).floor();
        if steps.abs() >= EXACT || !steps.is_finite() {
            return None;
        }
        // The division rounds: correct the result by one step where necessary.
        steps += f64::from(self.times(steps + 1.0) <= n);
        steps -= f64::from(self.times(steps) > n);
        // Zero has no sign.
        Some(self.times(steps) + 0.0).filter(|multiple| multiple.is_finite())
    }
}

/// The ranges for prices in minor units. Empty without prices.
#[must_use]
pub fn price_buckets(prices: &Numbers<i64>, max_buckets: usize) -> Vec<Bucket<i64>> {
    let (Some(min), Some(max)) = (prices.min(), prices.max()) else {
        return Vec::new();
    };
    let windows = windows(prices, max_buckets);
    let below = |end| prices.highest_below(|n| n < end);
    let ends = Ends::choose(
        windows,
        (min, max),
        below,
        |window| {
            if window.is_single() {
                return Some(window.high);
            }
            window.roundest()
        },
        |_| true,
    );
    ends.buckets(max)
}

/// A number of minor units.
#[derive(Clone, Copy)]
struct MinorUnits(i64);

impl Round for i64 {
    /// 5, 2.5, 2 and 1 times powers of ten, down to one minor unit.
    fn steps(_: Self, _: Self) -> impl Iterator<Item = impl Step<Self>> {
        let powers = std::iter::successors(Some(1_i64), |power| power.checked_mul(10));
        let powers: Vec<i64> = powers
            .filter(|power| power.checked_mul(5).is_some())
            .collect();
        let steps = |power: i64| [5 * power, 5 * power / 2, 2 * power, power];
        powers.into_iter().rev().flat_map(steps).map(MinorUnits)
    }

    fn quarter_below(min: Self, end: Self) -> Self {
        min.saturating_sub(end.saturating_sub(min) / 4)
    }
}

impl Step<i64> for MinorUnits {
    fn at_or_below(self, n: i64) -> Option<i64> {
        n.div_euclid(self.0).checked_mul(self.0)
    }
}

/// The ranges for dates, whose numbers are milliseconds: they end at starts of days, weeks (Mondays),
/// months, quarters, years, or round numbers of years, in UTC. Empty without dates.
#[must_use]
pub fn date_buckets(dates: &Numbers, max_buckets: usize) -> Vec<Bucket<Timestamp>> {
    let (Some(min), Some(max)) = (dates.min(), dates.max()) else {
        return Vec::new();
    };
    let (min, max) = (timestamp(min), timestamp(max));
    let windows = windows(dates, max_buckets).into_iter();
    let windows = windows.map(|window| Window {
        low: timestamp(window.low),
        even: timestamp(window.even),
        high: timestamp(window.high),
    });
    let below = |end| dates.highest_below(|n| timestamp(n) < end).map(timestamp);
    let ends = Ends::choose(
        windows,
        (min, max),
        below,
        |window| {
            if window.is_single() {
                return Some(Calendar::DAY.floor(window.high));
            }
            window.roundest()
        },
        |_| true,
    );
    if ends.between.is_empty() {
        return Bucket::between(&[Calendar::DAY.floor(min), Calendar::DAY.after(max)]);
    }
    ends.buckets(max)
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds are whole")]
fn timestamp(millis: f64) -> Timestamp {
    Timestamp::from_millis(millis as i64)
}

/// Calendar periods, numbered consecutively.
#[derive(Clone, Copy)]
enum Calendar {
    /// Periods of this many days; periods of seven start on a Monday.
    Days(i64),
    /// Periods of this many months.
    Months(i32),
}

impl Calendar {
    const DAY: Self = Self::Days(1);
    /// The Monday before 1970-01-01 was three days earlier.
    const MONDAY: i64 = 3;

    fn number(self, at: Timestamp) -> i64 {
        match self {
            Self::Days(days) => (at.as_millis().div_euclid(DAY) + Self::MONDAY).div_euclid(days),
            Self::Months(months) => i64::from(at.month().div_euclid(months)),
        }
    }

    fn start(self, number: i64) -> Timestamp {
        match self {
            Self::Days(days) => Timestamp::from_millis((number * days - Self::MONDAY) * DAY),
            Self::Months(months) => {
                let number = i32::try_from(number).expect("the calendar has no more months");
                Timestamp::start_of_month(number.saturating_mul(months))
            }
        }
    }

    /// The start of the period of an instant.
    fn floor(self, at: Timestamp) -> Timestamp {
        self.start(self.number(at))
    }

    /// The start of the next period.
    fn after(self, at: Timestamp) -> Timestamp {
        self.start(self.number(at) + 1)
    }
}

impl Round for Timestamp {
    /// Calendar periods.
    fn steps(_: Self, _: Self) -> impl Iterator<Item = impl Step<Self>> {
        let years = [
            10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10, 5, 2, 1,
        ];
        let months = years.map(|years| years * 12).into_iter().chain([3, 1]);
        let months = months.map(Calendar::Months);
        months.chain([Calendar::Days(7), Calendar::DAY])
    }

    fn quarter_below(min: Self, end: Self) -> Self {
        min.plus_millis((min.as_millis() - end.as_millis()) / 4)
    }
}

impl Step<Timestamp> for Calendar {
    fn at_or_below(self, at: Timestamp) -> Option<Timestamp> {
        Some(self.floor(at))
    }
}

#[cfg(test)]
mod tests;
