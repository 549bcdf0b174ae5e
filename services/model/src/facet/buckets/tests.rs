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
fn ranges_of_whole_numbers_end_at_whole_numbers() {
    let years = || (0..40).map(|n| 1988.0 + f64::from(n));
    let ends = |shown: &[(f64, u64)]| shown.iter().map(|(low, _)| *low).collect::<Vec<_>>();
    let whole = shown(&numbers(years()), 8);
    assert_eq!(
        ends(&whole),
        [
            1988.0, 1992.0, 1998.0, 2002.0, 2008.0, 2012.0, 2018.0, 2022.0
        ]
    );
    // One that is not allows halves.
    let halves = shown(&numbers(years().chain([1990.5])), 8);
    assert!(ends(&halves).contains(&1992.5), "{halves:?}");
    let tracks = numbers([
        4.0, 6.0, 6.0, 7.0, 7.0, 8.0, 8.0, 8.0, 9.0, 10.0, 11.0, 12.0, 14.0, 21.0, 30.0,
    ]);
    let tracks = number_buckets(&tracks, |n| n, true, 4);
    let is_whole = |end: Option<f64>| end.is_none_or(|end| end.fract() == 0.0);
    assert!(
        tracks
            .iter()
            .all(|bucket| is_whole(bucket.low) && is_whole(bucket.high)),
        "{tracks:?}"
    );
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
    fn every_whole_number_is_in_one_range_with_whole_ends(
        all in proptest::collection::vec(prop_oneof![1_900..2_030_i32, 0..12_i32, any::<i32>()], 1..80),
        plain in any::<bool>(),
        max_buckets in 1_usize..=10,
    ) {
        let numbers = numbers(all.iter().map(|n| f64::from(*n)));
        let buckets = number_buckets(&numbers, |n| n, plain, max_buckets);
        let ranges: Vec<Range> = buckets.iter().map(Bucket::<f64>::range).collect();
        for n in &all {
            prop_assert_eq!(containing(f64::from(*n), &ranges), 1, "{} in {:?}", n, buckets);
        }
        for bucket in &buckets {
            let ends = [bucket.low, bucket.high].into_iter().flatten();
            prop_assert!(ends.into_iter().all(|end| end.fract() == 0.0), "{:?}", bucket);
            prop_assert!(numbers.count(&bucket.range()) > 0, "{:?} is empty", bucket);
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
