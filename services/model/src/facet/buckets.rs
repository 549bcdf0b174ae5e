//! Ranges with round boundaries.

use super::{Bucket, MAX_SINGLE_VALUES, NumberBucket};
use crate::clock::Timestamp;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Round boundaries from at or below `min` to at or above `max`, for at most `max_buckets` ranges:
/// multiples of 1, 2, 2.5 or 5 times a power of ten, with the smallest such step that suffices.
/// Returns `min` and `max` themselves if they are equal, or so close together that floating-point
/// numbers have no round ones between them. Empty if `min` exceeds `max` or one is not finite.
#[must_use]
pub fn nice_bounds(min: f64, max: f64, max_buckets: usize) -> Vec<f64> {
    /// More powers of ten than a number has digits.
    const TRIES: i32 = 25;
    if !(min.is_finite() && max.is_finite()) || min > max || max_buckets == 0 {
        return Vec::new();
    }
    let exponent = ((max - min) / as_number(max_buckets)).log10().floor();
    if !exponent.is_finite() {
        return vec![min, max];
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -330 and 310")]
    let exponent = exponent as i32;
    let steps = (exponent..exponent + TRIES)
        .flat_map(|exponent| [10.0, 20.0, 25.0, 50.0].map(|tenths| RoundStep { tenths, exponent }));
    let mut bounds = steps.filter_map(|step| step.bounds(min, max, max_buckets));
    bounds.next().unwrap_or_else(|| vec![min, max])
}

/// `tenths / 10 * 10^exponent`.
#[derive(Clone, Copy)]
struct RoundStep {
    tenths: f64,
    exponent: i32,
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

    /// The multiples of this step that cover the range; `None` if they are too many, or if
    /// floating-point numbers of this size are further apart than the step.
    fn bounds(self, min: f64, max: f64, max_buckets: usize) -> Option<Vec<f64>> {
        // 2^46: this many steps of fifty are still exact.
        const EXACT: f64 = 70_368_744_177_664.0;
        let one = self.times(1.0);
        let mut first = (min / one).floor();
        let mut last = (max / one).ceil();
        if !(first.abs() < EXACT && last.abs() < EXACT) {
            return None;
        }
        // The divisions round: correct the ends by one step where necessary.
        first += f64::from(self.times(first + 1.0) <= min);
        first -= f64::from(self.times(first) > min);
        last -= f64::from(self.times(last - 1.0) >= max);
        last += f64::from(self.times(last) < max || last <= first);
        let finite = self.times(first).is_finite() && self.times(last).is_finite();
        if !finite || last - first > as_number(max_buckets) {
            return None;
        }
        let steps = std::iter::successors(Some(first), |step| Some(step + 1.0));
        let bounds = steps
            .take_while(|step| *step <= last)
            .map(|step| self.times(step));
        Some(bounds.collect())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
const fn as_number(n: usize) -> f64 {
    n as f64
}

/// The ranges for numbers, in their unit. `values` are all distinct numbers in ascending order if
/// they are known to be few: up to [`MAX_SINGLE_VALUES`] are each shown as a range of one value.
/// Pass none for quantities, whose equality is approximate ([`crate::filter::equality_band`]).
#[must_use]
pub fn number_buckets(min: f64, max: f64, values: &[f64], max_buckets: usize) -> Vec<NumberBucket> {
    if (1..=MAX_SINGLE_VALUES).contains(&values.len()) {
        return values.iter().map(|value| Bucket::single(*value)).collect();
    }
    Bucket::between(&nice_bounds(min, max, max_buckets))
}

/// Round boundaries for prices in minor units, as [`nice_bounds`], at least one minor unit apart.
#[must_use]
pub fn price_bounds(min: i64, max: i64, max_buckets: usize) -> Vec<i64> {
    let Some(max_buckets) = i128::try_from(max_buckets)
        .ok()
        .filter(|max_buckets| *max_buckets > 0 && min <= max)
    else {
        return Vec::new();
    };
    if min == max {
        return vec![min, max];
    }
    let ends = vec![min, max];
    let (min, max) = (i128::from(min), i128::from(max));
    // Prices are below 10^20 minor units.
    let powers = std::iter::successors(Some(1_i128), |power| Some(power * 10)).take(21);
    let mut steps = powers.flat_map(|power| [power, 2 * power, 5 * power / 2, 5 * power]);
    let count = |step: i128| covering(min, max, step).1 - covering(min, max, step).0;
    let Some(step) = steps.find(|step| count(*step) <= max_buckets) else {
        return ends;
    };
    let (first, last) = covering(min, max, step);
    let (lowest, highest) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let bounds = (first..=last).map(|n| (n * step).clamp(lowest, highest));
    bounds
        .filter_map(|bound| i64::try_from(bound).ok())
        .collect()
}

/// The multiples of a step at or below `min` and at or above `max`.
fn covering(min: i128, max: i128, step: i128) -> (i128, i128) {
    (min.div_euclid(step), -(-max).div_euclid(step))
}

/// The ranges for prices in minor units.
#[must_use]
pub fn price_buckets(min: i64, max: i64, max_buckets: usize) -> Vec<Bucket<i64>> {
    Bucket::between(&price_bounds(min, max, max_buckets))
}

/// Boundaries for dates from at or before `min` to after `max`, for at most `max_buckets` ranges:
/// starts of days, weeks (Mondays), months, quarters, years, or round numbers of years, in UTC.
#[must_use]
pub fn date_bounds(min: Timestamp, max: Timestamp, max_buckets: usize) -> Vec<Timestamp> {
    if min > max || max_buckets == 0 {
        return Vec::new();
    }
    let by_days = [1, 7].into_iter().map(Calendar::Days);
    let years = [1, 2, 5]
        .into_iter()
        .flat_map(|n| [1, 10, 100, 1000, 10_000].map(|p| n * p));
    let mut years: Vec<i32> = years.collect();
    years.sort_unstable();
    let by_months = [1, 3].into_iter().chain(years.into_iter().map(|n| n * 12));
    let mut steps = by_days.chain(by_months.map(Calendar::Months));
    let enough = |step: &Calendar| {
        usize::try_from(step.number(max) - step.number(min)).is_ok_and(|n| n < max_buckets)
    };
    let step = steps.find(enough).unwrap_or(Calendar::Months(600_000));
    let numbers = step.number(min)..=step.number(max) + 1;
    numbers.map(|number| step.start(number)).collect()
}

/// The ranges for dates.
#[must_use]
pub fn date_buckets(min: Timestamp, max: Timestamp, max_buckets: usize) -> Vec<Bucket<Timestamp>> {
    Bucket::between(&date_bounds(min, max, max_buckets))
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn boundaries_are_round() {
        assert_eq!(nice_bounds(0.31, 0.69, 4), [0.3, 0.4, 0.5, 0.6, 0.7]);
        assert_eq!(
            nice_bounds(13.3, 17.3, 10),
            [13.0, 13.5, 14.0, 14.5, 15.0, 15.5, 16.0, 16.5, 17.0, 17.5]
        );
        assert_eq!(nice_bounds(0.0, 1000.0, 10).len(), 11);
        assert_eq!(
            nice_bounds(-18.0, 25.0, 5),
            [-20.0, -10.0, 0.0, 10.0, 20.0, 30.0]
        );
        assert_eq!(
            nice_bounds(100.0, 1000.0, 4),
            [0.0, 250.0, 500.0, 750.0, 1000.0]
        );
        assert_eq!(nice_bounds(3.0, 3.0, 10), [3.0, 3.0]);
        assert_eq!(nice_bounds(1.0, 3.0, 1), [0.0, 5.0]);
        assert_eq!(
            nice_bounds(-1.0, 1.0, 1),
            [-1.0, 1.0],
            "no round step has zero inside"
        );
        for (min, max, max_buckets) in [
            (2.0, 1.0, 5),
            (f64::NAN, 1.0, 5),
            (0.0, f64::INFINITY, 5),
            (0.0, 1.0, 0),
        ] {
            assert!(nice_bounds(min, max, max_buckets).is_empty());
        }
    }

    #[test]
    fn a_few_plain_numbers_are_ranges_of_one_value() {
        let ports = number_buckets(1.0, 4.0, &[1.0, 2.0, 4.0], 10);
        assert_eq!(ports, [1.0, 2.0, 4.0].map(Bucket::single));
        assert!(ports[1].range().contains(2.0) && !ports[1].range().contains(1.0));
        let many = number_buckets(1.0, 7.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 10);
        assert_eq!(many.len(), 6);
        assert!(many[5].high_included && !many[4].high_included);
    }

    #[test]
    fn prices_are_whole() {
        assert_eq!(price_bounds(3, 5, 10), [3, 4, 5]);
        assert_eq!(
            price_bounds(1_999, 24_900, 10),
            [
                0, 2_500, 5_000, 7_500, 10_000, 12_500, 15_000, 17_500, 20_000, 22_500, 25_000
            ]
        );
        assert_eq!(price_bounds(700, 700, 10), [700, 700]);
        assert_eq!(price_bounds(2, 1, 10), [0; 0]);
        assert_eq!(
            price_bounds(-5, 5, 1),
            [-5, 5],
            "no round step has zero inside"
        );
        assert_eq!(price_bounds(i64::MIN, i64::MAX, 10).len(), 11);
        let buckets = price_buckets(1, 4, 2);
        let bounds: Vec<_> = buckets
            .iter()
            .map(|b| (b.bounds().gte, b.bounds().lte))
            .collect();
        assert_eq!(bounds, [(Some(0), Some(1)), (Some(2), Some(4))]);
    }

    fn dates(min: &str, max: &str) -> Vec<String> {
        let day = |text| Timestamp::parse_day(text).unwrap();
        let bounds = date_bounds(day(min), day(max), 10);
        bounds
            .iter()
            .map(|at| at.to_string()[..10].to_owned())
            .collect()
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(
            dates("2024-02-28", "2024-03-01"),
            ["2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"]
        );
        let weeks = dates("2026-06-03", "2026-06-30");
        assert_eq!((weeks[0].as_str(), weeks.len()), ("2026-06-01", 6));
        assert_eq!(dates("2025-01-10", "2025-10-31").len(), 11);
        assert_eq!(
            dates("2024-11-30", "2025-10-01"),
            [
                "2024-10-01",
                "2025-01-01",
                "2025-04-01",
                "2025-07-01",
                "2025-10-01",
                "2026-01-01"
            ]
        );
        assert_eq!(
            dates("1995-05-05", "2026-01-01"),
            [
                "1995-01-01",
                "2000-01-01",
                "2005-01-01",
                "2010-01-01",
                "2015-01-01",
                "2020-01-01",
                "2025-01-01",
                "2030-01-01"
            ]
        );
        assert_eq!(
            dates("2025-01-01", "2025-01-01"),
            ["2025-01-01", "2025-01-02"]
        );
        assert_eq!(dates("2025-01-02", "2025-01-01"), [""; 0]);
    }

    /// The number of ranges that contain a value.
    fn count_containing(value: f64, buckets: &[NumberBucket]) -> usize {
        buckets
            .iter()
            .filter(|bucket| bucket.range().contains(value))
            .count()
    }

    proptest! {
        #[test]
        fn every_number_is_in_one_range(
            a in -1e6_f64..1e6,
            spread in 0.0_f64..1.0,
            exponent in -12_i32..12,
            at in 0.0_f64..=1.0,
            max_buckets in 1_usize..=10,
        ) {
            let (min, max) = (a, a + spread * 10_f64.powi(exponent));
            let buckets = number_buckets(min, max, &[], max_buckets);
            prop_assert!(!buckets.is_empty() && buckets.len() <= max_buckets);
            for value in [min, max, (min + (max - min) * at).clamp(min, max)] {
                prop_assert_eq!(count_containing(value, &buckets), 1, "{} in {:?}", value, buckets);
            }
            for bucket in &buckets {
                prop_assert_eq!(count_containing(bucket.low.unwrap(), &buckets), 1);
            }
        }

        #[test]
        fn numbers_of_any_size_have_boundaries(min in any::<f64>(), max in any::<f64>()) {
            let bounds = nice_bounds(min, max, 10);
            if min <= max && min.is_finite() && max.is_finite() {
                prop_assert!((2..=11).contains(&bounds.len()), "{:?}", bounds);
                prop_assert!(bounds[0] <= min && bounds[bounds.len() - 1] >= max);
                prop_assert!(bounds.iter().all(|bound| bound.is_finite()));
            }
        }

        #[test]
        fn every_price_is_in_one_range(min in 0..9_000_000_i64, spread in 0..9_000_000_i64, at in 0.0..=1.0_f64, max_buckets in 1_usize..=10) {
            let max = min + spread;
            let buckets = price_buckets(min, max, max_buckets);
            prop_assert!(!buckets.is_empty() && buckets.len() <= max_buckets);
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "millions")]
            let inner = min + (spread as f64 * at) as i64;
            for price in [min, inner, max] {
                let bounds = buckets.iter().map(Bucket::bounds);
                let containing = bounds.filter(|b| b.gte.unwrap() <= price && price <= b.lte.unwrap());
                prop_assert_eq!(containing.count(), 1, "{} in {:?}", price, buckets);
            }
        }

        #[test]
        fn every_date_is_in_one_range(a in any::<i64>(), b in any::<i64>(), near in 0..400 * DAY, close in any::<bool>(), max_buckets in 1_usize..=10) {
            let first = Timestamp::from_millis(a % (400_000_000 * 1_000_000));
            let second = if close { first.plus_millis(near) } else { Timestamp::from_millis(b % (400_000_000 * 1_000_000)) };
            let (min, max) = (first.min(second), first.max(second));
            let buckets = date_buckets(min, max, max_buckets);
            if max_buckets > 1 {
                prop_assert!(!buckets.is_empty() && buckets.len() <= max_buckets, "{:?}", buckets);
            }
            for at in [min, max] {
                let containing = buckets.iter().filter(|bucket| {
                    bucket.low.unwrap() <= at && (at < bucket.high.unwrap() || (bucket.high_included && Some(at) == bucket.high))
                });
                prop_assert_eq!(containing.count(), 1, "{} in {:?}", at, buckets);
            }
        }
    }
}
