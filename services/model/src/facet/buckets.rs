//! Ranges that divide products evenly, at round numbers.
//!
//! Ranges of equal width say nothing about prices of which nearly all are below 100 and one is 25,000.
//! These have about equally many products: each end between two of them may be up to [`LEEWAY`] of a
//! range away from the place that divides the products evenly, and is the roundest number there. No
//! range is empty. The last one has no upper end.

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
        let inside = |n: &N| n.compare(&self.low).is_gt();
        N::steps(self.low, self.high).find_map(|step| {
            let highest = step.at_or_below(self.high).filter(inside)?;
            let even = step.at_or_below(self.even).filter(inside);
            even.or(Some(highest))
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
            window.roundest()
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
    let ends = Ends::choose(windows, (min, max), below, |window| {
        let round = (!standard && !window.is_single()).then(|| window.roundest());
        let end = match round.flatten() {
            Some(round) => round,
            None if standard && window.even > window.low => window.even,
            None => window.high,
        };
        if single_values {
            return Some(end);
        }
        without_digits_of_conversion(end, min, below(end))
    });
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
    let ends = Ends::choose(windows, (min, max), below, |window| {
        if window.is_single() {
            return Some(window.high);
        }
        window.roundest()
    });
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
    let ends = Ends::choose(windows, (min, max), below, |window| {
        if window.is_single() {
            return Some(Calendar::DAY.floor(window.high));
        }
        window.roundest()
    });
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
mod tests {
    use std::iter;

    use proptest::prelude::*;

    use super::*;
    use crate::filter::Range;

    fn numbers(all: impl IntoIterator<Item = f64>) -> Numbers {
        let mut numbers = Numbers::default();
        for (product, n) in (1..).zip(all) {
            numbers.add(n, None, product);
        }
        numbers
    }

    fn prices(all: impl IntoIterator<Item = i64>) -> Numbers<i64> {
        let mut prices = Numbers::default();
        for (product, n) in (1..).zip(all) {
            prices.add(n, None, product);
        }
        prices
    }

    /// The lower ends and the counts of the ranges.
    fn shown(numbers: &Numbers, max_buckets: usize) -> Vec<(f64, u64)> {
        let buckets = number_buckets(numbers, |n| n, true, max_buckets).into_iter();
        let counted = buckets.map(|bucket| bucket.counted(|b| numbers.count(&b.range())));
        counted.map(|c| (c.bucket.low.unwrap(), c.count)).collect()
    }

    #[test]
    fn ends_are_round_and_divide_evenly() {
        let thousand = numbers((0..1000).map(|n| f64::from(n) / 7.0));
        let expected = [
            (0.0, 105),
            (15.0, 105),
            (30.0, 70),
            (40.0, 140),
            (60.0, 105),
            (75.0, 70),
            (85.0, 105),
            (100.0, 105),
            (115.0, 105),
            (130.0, 90),
        ];
        assert_eq!(shown(&thousand, 10), expected);
    }

    #[test]
    fn one_outlier_does_not_decide_the_ranges() {
        let skewed = numbers((0..1000).map(|n| f64::from(n % 100)).chain([25_000.0]));
        let buckets = shown(&skewed, 10);
        assert_eq!(buckets.len(), 10, "{buckets:?}");
        assert!(
            buckets.iter().all(|(_, count)| (70..=140).contains(count)),
            "{buckets:?}"
        );
        let last = number_buckets(&skewed, |n| n, true, 10).pop().unwrap();
        assert_eq!(last.high, None);
    }

    #[test]
    fn values_that_many_products_have_begin_ranges() {
        let memory = [4.0, 8.0, 8.0, 16.0, 16.0, 16.0, 32.0, 64.0, 96.0, 128.0];
        let modules = numbers((0..20).flat_map(|_| memory));
        let expected = [
            (4.0, 20),
            (8.0, 40),
            (16.0, 60),
            (32.0, 20),
            (64.0, 20),
            (96.0, 20),
            (128.0, 20),
        ];
        assert_eq!(shown(&modules, 10), expected);
        let mostly_zero = numbers((0..100).map(|n| if n < 90 { 0.0 } else { f64::from(n) + 0.5 }));
        assert_eq!(shown(&mostly_zero, 10), [(0.0, 90), (90.5, 10)]);
    }

    /// The ends between ranges of quantities.
    fn ends(quantities: &[(f64, usize)]) -> Vec<f64> {
        let each = quantities.iter();
        let all = numbers(each.flat_map(|(n, products)| iter::repeat_n(*n, *products)));
        let buckets = number_buckets(&all, |n| n, false, 10).into_iter();
        buckets.skip(1).map(|bucket| bucket.low.unwrap()).collect()
    }

    #[test]
    fn ends_of_quantities_have_no_digits_of_conversions() {
        // Months and weeks: 6 and 26.1 weeks, 12 and 52.2 weeks are the same to people.
        let shelf_lives = [
            (2.9897, 2),
            (3.0, 50),
            (6.0, 41),
            (6.002_46, 10),
            (9.0, 30),
            (12.0, 35),
            (12.004_9, 5),
            (15.0, 20),
            (20.9971, 40),
        ];
        assert_eq!(ends(&shelf_lives), [6.0, 9.0, 12.0, 15.0, 20.0]);
        // What is written with few digits, or whole, stays.
        let sizes = [(13.3, 30), (14.0, 30), (15.6, 30), (16_384.0, 30)];
        assert_eq!(ends(&sizes), [14.0, 15.6, 16_384.0]);
        let volumes = [(330.0, 30), (473.176, 10), (499.793, 10), (500.0, 30)];
        assert_eq!(ends(&volumes), [400.0, 475.0, 500.0]);
    }

    #[test]
    fn a_few_plain_numbers_are_ranges_of_one_value() {
        let ports = numbers([1.0, 2.0, 4.0, 4.0]);
        let buckets = number_buckets(&ports, |n| n, true, 10);
        assert_eq!(buckets, [1.0, 2.0, 4.0].map(Bucket::single));
        assert!(buckets[1].range().contains(2.0) && !buckets[1].range().contains(1.0));
        let same = numbers([3.0, 3.0]);
        assert_eq!(
            number_buckets(&same, |n| n, false, 10),
            [Bucket::single(3.0)]
        );
        assert!(number_buckets(&numbers([]), |n| n, true, 10).is_empty());
    }

    #[test]
    fn prices_end_at_round_amounts() {
        let prices = prices((0..500).map(|n| 1_999 + n * 37));
        let ends: Vec<_> = price_buckets(&prices, 5)
            .iter()
            .map(|b| (b.bounds().gte, b.bounds().lte))
            .collect();
        assert_eq!(
            ends,
            [
                (Some(1_500), Some(4_999)),
                (Some(5_000), Some(9_999)),
                (Some(10_000), Some(12_499)),
                (Some(12_500), Some(17_499)),
                (Some(17_500), None),
            ]
        );
    }

    fn days(days: impl IntoIterator<Item = &'static str>) -> Numbers {
        #[expect(clippy::cast_precision_loss, reason = "dates stay far below 2^53")]
        let millis = |day| Timestamp::parse_day(day).unwrap().as_millis() as f64;
        numbers(days.into_iter().map(millis))
    }

    fn starts(dates: &Numbers) -> Vec<String> {
        let buckets = date_buckets(dates, 4).into_iter();
        buckets
            .map(|b| b.low.unwrap().to_string()[..10].to_owned())
            .collect()
    }

    #[test]
    fn dates_end_with_calendar_periods() {
        let released = days([
            "1995-05-05",
            "2019-03-01",
            "2020-07-20",
            "2021-01-09",
            "2022-02-02",
            "2022-08-30",
            "2023-06-15",
            "2024-11-30",
            "2025-04-01",
            "2026-01-01",
        ]);
        assert_eq!(
            starts(&released),
            ["1990-01-01", "2020-01-01", "2022-07-01", "2025-01-01"]
        );
        let one_day = days(["2025-01-01", "2025-01-01"]);
        let day = |text| Timestamp::parse_day(text).ok();
        let expected = Bucket {
            low: day("2025-01-01"),
            high: day("2025-01-02"),
            high_included: true,
        };
        assert_eq!(date_buckets(&one_day, 10), [expected]);
    }

    /// How often each number is in a range.
    fn containing(n: f64, ranges: &[Range]) -> usize {
        ranges.iter().filter(|range| range.contains(n)).count()
    }

    proptest! {
        #[test]
        fn every_number_is_in_one_range(
            all in proptest::collection::vec((-1e6_f64..1e6, -12_i32..12), 1..60),
            copies in 1_usize..8,
            max_buckets in 1_usize..=10,
        ) {
            let all: Vec<f64> = all.into_iter().map(|(n, exponent)| n * 10_f64.powi(exponent)).collect();
            let numbers = numbers(all.iter().copied().cycle().take(all.len() * copies));
            let buckets = number_buckets(&numbers, |n| n, false, max_buckets);
            prop_assert!(!buckets.is_empty() && buckets.len() <= max_buckets);
            let ranges: Vec<Range> = buckets.iter().map(Bucket::<f64>::range).collect();
            for n in &all {
                prop_assert_eq!(containing(*n, &ranges), 1, "{} in {:?}", n, buckets);
            }
            for range in &ranges {
                prop_assert!(numbers.count(range) > 0, "{:?} is empty", range);
            }
        }

        #[test]
        fn every_price_is_in_one_range(
            all in proptest::collection::vec(prop_oneof![0..9_000_000_i64, any::<i64>(), 0..20_i64], 1..60),
            max_buckets in 1_usize..=10,
        ) {
            let prices = prices(all.iter().copied());
            let buckets = price_buckets(&prices, max_buckets);
            prop_assert!(!buckets.is_empty() && buckets.len() <= max_buckets);
            let bounds: Vec<_> = buckets.iter().map(Bucket::bounds).collect();
            for price in &all {
                let inside = bounds.iter().filter(|b| b.gte.unwrap() <= *price && b.lte.is_none_or(|lte| *price <= lte));
                prop_assert_eq!(inside.count(), 1, "{} in {:?}", price, buckets);
            }
            prop_assert!(bounds.iter().all(|bounds| prices.count(*bounds) > 0));
        }

        #[test]
        fn every_date_is_in_one_range(
            all in proptest::collection::vec(prop_oneof![-400_000_000..400_000_000_i64, 0..400_i64], 1..60),
            max_buckets in 1_usize..=10,
        ) {
            #[expect(clippy::cast_precision_loss, reason = "dates stay far below 2^53")]
            let millis: Vec<f64> = all.iter().map(|day| (day % 2_900_000 * DAY + 1) as f64).collect();
            let dates = numbers(millis.iter().copied());
            let buckets = date_buckets(&dates, max_buckets);
            prop_assert!(!buckets.is_empty() && buckets.len() <= max_buckets);
            let ranges: Vec<Range> = buckets.iter().map(Bucket::<Timestamp>::range).collect();
            for n in &millis {
                prop_assert_eq!(containing(*n, &ranges), 1, "{} in {:?}", n, buckets);
            }
            prop_assert!(ranges.iter().all(|range| dates.count(range) > 0));
        }
    }
}
