//! Activity around products: views, carts and purchases, aggregated before it is written.
//!
//! Single events are never stored. Each process counts them by product and hour, and writes the
//! counts once a second. When a second brings events for more than [`MAX_EXACT_KEYS`] products and
//! hours, events of further products are sampled: one in k is counted, with weight k. Sums remain
//! unbiased, and each sampled count records its rate, so that its error can be stated
//! ([`relative_error`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use strum::EnumCount;

use crate::clock::Timestamp;
use crate::id::ProductId;

/// An hour in milliseconds.
pub const HOUR_MILLIS: i64 = 60 * 60 * 1000;
/// A day in milliseconds.
pub const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;
/// Hourly counts are kept for this many days.
pub const HOURS_KEPT_DAYS: i64 = 90;
/// Daily counts are kept for this many days: three years.
pub const DAYS_KEPT_DAYS: i64 = 1096;
/// The maximum age of an event: older events are rejected.
pub const MAX_EVENT_AGE_MILLIS: i64 = DAY_MILLIS;
/// How far in the future, by this process's clock, an event may be dated; it then counts as of now.
/// Later ones are rejected.
pub const MAX_EVENT_LEAD_MILLIS: i64 = 5 * 60 * 1000;
/// The weight of a view in activity scores.
pub const VIEW_WEIGHT: i64 = 1;
/// The weight of adding a product to a cart, in views.
pub const CART_WEIGHT: i64 = 5;
/// The weight of a unit bought, in views.
pub const PURCHASE_WEIGHT: i64 = 20;

/// The sampling rate beyond the first [`MAX_EXACT_KEYS`]: one event in 16; beyond twice as many one
/// in 16², and so on.
const SAMPLING_BASE: i64 = 16;
/// The largest weight of a sampled event.
const MAX_SAMPLE_WEIGHT: i64 = 65_536;

/// The kind of an activity event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivityKind {
    /// A product was viewed.
    View,
    /// A product was added to a cart.
    Cart,
}

/// Numbers of views, carts and units bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivityCounts {
    /// Number of views.
    pub views: i64,
    /// Number of additions to a cart.
    pub carts: i64,
    /// Number of units bought.
    pub purchases: i64,
}

impl ActivityCounts {
    /// The weighted sum of all activity, in views.
    #[must_use]
    pub const fn weight(self) -> i64 {
        VIEW_WEIGHT * self.views + CART_WEIGHT * self.carts + PURCHASE_WEIGHT * self.purchases
    }

    /// The sum of both counts.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            views: self.views + other.views,
            carts: self.carts + other.carts,
            purchases: self.purchases + other.purchases,
        }
    }
}

/// The activity of a product in an hour or a day, and the rate at which it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledCounts {
    /// The estimated counts: sampled events are already multiplied by their weight.
    pub counts: ActivityCounts,
    /// One in this many events was counted; 1 when all were.
    pub one_in: i64,
}

/// A product and the start of the hour or day in which its activity is counted.
pub type ActivityKey = (ProductId, Timestamp);

/// The number of products and hours that a process counts exactly between two writes; events of
/// further ones are sampled.
pub const MAX_EXACT_KEYS: usize = 5_000;

/// The activity that a process has counted since its last write.
#[derive(Debug)]
pub struct ActivityTally {
    counts: HashMap<ActivityKey, SampledCounts>,
    max_exact: usize,
    /// The state of the generator that selects the sampled events; never 0.
    random_state: u64,
}

impl ActivityTally {
    /// Returns an empty tally that counts up to `max_exact` products and hours exactly. `seed`
    /// determines which events of further ones are sampled.
    #[must_use]
    pub fn new(max_exact: usize, seed: u64) -> Self {
        Self {
            counts: HashMap::new(),
            max_exact: max_exact.max(1),
            // A state of 0 would stay 0.
            random_state: seed | 1,
        }
    }

    /// Counts an event.
    pub fn add(&mut self, product: ProductId, at: Timestamp, kind: ActivityKind) {
        let key = (product, hour(at));
        let one_in = match self.counts.get(&key) {
            Some(counted) => counted.one_in,
            None => self.one_in(),
        };
        if one_in > 1 && !self.is_sampled(one_in) {
            return;
        }
        let counted = match self.counts.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(SampledCounts {
                counts: ActivityCounts::default(),
                one_in,
            }),
        };
        match kind {
            ActivityKind::View => counted.counts.views += one_in,
            ActivityKind::Cart => counted.counts.carts += one_in,
        }
    }

    /// The sampling rate for a product and hour that is counted for the first time.
    fn one_in(&self) -> i64 {
        let excess = u32::try_from(self.counts.len() / self.max_exact).unwrap_or(u32::MAX);
        SAMPLING_BASE
            .checked_pow(excess)
            .map_or(MAX_SAMPLE_WEIGHT, |one_in| one_in.min(MAX_SAMPLE_WEIGHT))
    }

    /// xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
    fn is_sampled(&mut self, one_in: i64) -> bool {
        self.random_state ^= self.random_state << 13;
        self.random_state ^= self.random_state >> 7;
        self.random_state ^= self.random_state << 17;
        self.random_state.is_multiple_of(one_in.unsigned_abs())
    }

    /// Returns true if nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of products and hours counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns the counts and empties the tally.
    #[must_use]
    pub fn take(&mut self) -> Vec<(ActivityKey, SampledCounts)> {
        std::mem::take(&mut self.counts).into_iter().collect()
    }
}

/// The relative error of a count sampled at one in `one_in`: the standard deviation of a sum of
/// independent draws, `sqrt((k - 1) / n)`, as a share of the count. 0 when all events were counted,
/// or none.
#[must_use]
pub fn relative_error(count: i64, one_in: i64) -> f64 {
    if one_in <= 1 || count <= 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "an error, in two digits")]
    ((one_in - 1) as f64 / count as f64).sqrt()
}

/// The start of the hour of this instant, in UTC.
#[must_use]
pub fn hour(at: Timestamp) -> Timestamp {
    start_of(at, HOUR_MILLIS)
}

/// The start of the day of this instant, in UTC.
#[must_use]
pub fn day(at: Timestamp) -> Timestamp {
    start_of(at, DAY_MILLIS)
}

fn start_of(at: Timestamp, length: i64) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(length) * length)
}

/// Why the time of an event is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidEventTime {
    /// More than [`MAX_EVENT_AGE_MILLIS`] (a day) ago.
    TooOld,
    /// More than [`MAX_EVENT_LEAD_MILLIS`] (five minutes) in the future.
    Ahead,
}

/// The time an event is counted at: its own, or `now` when it has none or is dated slightly in the
/// future.
pub fn event_time(at: Option<Timestamp>, now: Timestamp) -> Result<Timestamp, InvalidEventTime> {
    let Some(at) = at else { return Ok(now) };
    let ahead = at.as_millis() - now.as_millis();
    if ahead > MAX_EVENT_LEAD_MILLIS {
        return Err(InvalidEventTime::Ahead);
    }
    if -ahead > MAX_EVENT_AGE_MILLIS {
        return Err(InvalidEventTime::TooOld);
    }
    Ok(at.min(now))
}

/// A product's activity of today and the 30 days before, coarse enough to change rarely. Copied to
/// the product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivitySummary {
    /// Views, rounded to two digits.
    pub views: i64,
    /// Carts, rounded to two digits.
    pub carts: i64,
    /// Units bought, exact.
    pub units: i64,
    /// The trend: four times the binary logarithm of the product's score of the week, rounded down.
    pub trend: i32,
    /// When it was computed; `None` before the first time.
    pub as_of: Option<Timestamp>,
}

impl ActivitySummary {
    /// The summary of these counts and this score.
    #[must_use]
    pub fn of(counts: ActivityCounts, score: f64, as_of: Timestamp) -> Self {
        Self {
            views: two_digits(counts.views),
            carts: two_digits(counts.carts),
            units: counts.purchases.max(0),
            trend: trend(score),
            as_of: Some(as_of),
        }
    }

    /// Returns true if the product need not be written again: the same number of units, the other
    /// numbers within a tenth or two of each other, and the trend at most one step apart.
    #[must_use]
    pub const fn is_near(self, other: Self) -> bool {
        let trend = self.trend.abs_diff(other.trend);
        self.units == other.units
            && (trend == 0 || (trend == 1 && self.trend > 0 && other.trend > 0))
            && near(self.views, other.views)
            && near(self.carts, other.carts)
    }

    /// The number of reviewers that the activity is equivalent to: a unit bought counts one, a cart
    /// a quarter, a view a twentieth.
    #[must_use]
    pub const fn interest(self) -> i64 {
        ActivityCounts {
            views: self.views,
            carts: self.carts,
            purchases: self.units,
        }
        .weight()
            / PURCHASE_WEIGHT
    }
}

const fn near(one: i64, other: i64) -> bool {
    let larger = if one > other { one } else { other };
    let difference = one.abs_diff(other);
    difference <= 2 || difference <= (larger / 10).unsigned_abs()
}

/// Rounds to two significant digits: 1,234 to 1,200.
#[must_use]
pub fn two_digits(count: i64) -> i64 {
    let count = count.max(0);
    let mut unit = 1;
    while count / unit >= 100 {
        unit *= 10;
    }
    (count + unit / 2) / unit * unit
}

fn trend(score: f64) -> i32 {
    if score.is_nan() || score <= 0.0 {
        return 0;
    }
    let steps = (4.0 * score.min(1e12).ln_1p() / std::f64::consts::LN_2).floor();
    #[expect(clippy::cast_possible_truncation, reason = "at most 160")]
    {
        steps as i32
    }
}

/// The time over which trending products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumCount)]
pub enum TrendingWindow {
    /// The current hour and the 24 before.
    Day,
    /// Today and the 7 days before.
    Week,
    /// Today and the 30 days before.
    Month,
}

impl TrendingWindow {
    /// All windows.
    pub const ALL: [Self; Self::COUNT] = [Self::Day, Self::Week, Self::Month];

    /// The name under which it is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The length in milliseconds, without the current hour or day.
    #[must_use]
    pub const fn millis(self) -> i64 {
        match self {
            Self::Day => DAY_MILLIS,
            Self::Week => 7 * DAY_MILLIS,
            Self::Month => 30 * DAY_MILLIS,
        }
    }

    /// The half-life of an event's weight in milliseconds: a quarter of the window.
    #[must_use]
    pub const fn half_life_millis(self) -> i64 {
        self.millis() / 4
    }
}

/// The weight, 0 to 1, of an event of this age: half after each half-life.
#[must_use]
pub fn decay(age_millis: i64, half_life_millis: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    0.5_f64.powf(age_millis.max(0) as f64 / half_life_millis.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> ProductId {
        ProductId::from_i64(n.into())
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    const NOW: &str = "2026-05-31T12:34:56.789Z";

    #[test]
    fn events_are_counted_by_hour() {
        let mut tally = ActivityTally::new(10, 1);
        for _ in 0..3 {
            tally.add(id(1), at(NOW), ActivityKind::View);
        }
        tally.add(id(1), at(NOW), ActivityKind::Cart);
        tally.add(id(1), at("2026-05-31T13:00:00Z"), ActivityKind::View);
        assert_eq!((tally.len(), tally.is_empty()), (2, false));
        let mut counts = tally.take();
        counts.sort_by_key(|(key, _)| *key);
        let ((_, first), counted) = counts[0];
        assert_eq!(first, at("2026-05-31T12:00:00Z"));
        let counts = ActivityCounts {
            views: 3,
            carts: 1,
            purchases: 0,
        };
        assert_eq!(counted, SampledCounts { counts, one_in: 1 });
        assert!(tally.is_empty());
    }

    #[test]
    fn sampled_sums_are_unbiased() {
        let mut tally = ActivityTally::new(100, 0x9E37_79B9_7F4A_7C15);
        for _ in 0..50 {
            for n in 0..2_000 {
                tally.add(id(n), at(NOW), ActivityKind::View);
            }
        }
        let counts = tally.take();
        let exact = counts.iter().filter(|(_, counted)| counted.one_in == 1);
        assert!(exact.clone().all(|(_, counted)| counted.counts.views == 50));
        assert_eq!(exact.count(), 100);
        let sum: i64 = counts.iter().map(|(_, counted)| counted.counts.views).sum();
        assert!((70_000..130_000).contains(&sum), "{sum} of 100,000");
        assert!(counts.len() < 1_000, "{} of 2,000 counts", counts.len());
    }

    #[test]
    fn errors_are_those_of_a_sum_of_draws() {
        assert!(relative_error(1_000, 1).abs() < f64::EPSILON);
        assert!(relative_error(0, 16).abs() < f64::EPSILON);
        assert!((relative_error(1_000, 10) - 0.0949).abs() < 0.0001);
    }

    #[test]
    fn days_and_hours_start_in_utc() {
        assert_eq!(day(at(NOW)), at("2026-05-31T00:00:00Z"));
        assert_eq!(hour(at("1969-12-31T23:59:59Z")), at("1969-12-31T23:00:00Z"));
    }

    #[test]
    fn events_too_old_or_in_the_future_are_rejected() {
        let now = at(NOW);
        assert_eq!(event_time(None, now), Ok(now));
        let soon = now.plus_millis(MAX_EVENT_LEAD_MILLIS);
        assert_eq!(
            event_time(Some(soon), now),
            Ok(now),
            "clocks differ a little"
        );
        assert_eq!(
            event_time(Some(soon.plus_millis(1)), now),
            Err(InvalidEventTime::Ahead)
        );
        let late = now.plus_millis(-MAX_EVENT_AGE_MILLIS);
        assert_eq!(event_time(Some(late), now), Ok(late));
        assert_eq!(
            event_time(Some(late.plus_millis(-1)), now),
            Err(InvalidEventTime::TooOld)
        );
    }

    #[test]
    fn summaries_are_coarse() {
        let counts = |views, purchases| ActivityCounts {
            views,
            carts: 0,
            purchases,
        };
        let summary =
            |views, purchases, score| ActivitySummary::of(counts(views, purchases), score, at(NOW));
        assert_eq!(summary(1_249, 3, 0.0).views, 1_200);
        assert_eq!(
            (summary(99, 0, 0.0).views, summary(995, 0, 0.0).views),
            (99, 1_000)
        );
        assert_eq!(summary(1_249, 3, 1.0).trend, 4);
        assert_eq!(summary(0, 0, f64::NAN).trend, 0);
        assert_eq!(summary(40, 3, 0.0).interest(), 5);
        let later = ActivitySummary {
            as_of: None,
            ..summary(1_249, 3, 1.0)
        };
        assert!(summary(1_230, 3, 1.1).is_near(later));
        assert!(summary(1_300, 3, 1.4).is_near(later), "a tenth, and a step");
        for far in [
            (1_400, 3, 1.0),
            (1_249, 4, 1.0),
            (1_249, 3, 2.0),
            (1_249, 3, 0.0),
        ] {
            assert!(!summary(far.0, far.1, far.2).is_near(later), "{far:?}");
        }
        assert!((decay(50, 50) - 0.5).abs() < 1e-9 && (decay(-1, 50) - 1.0).abs() < 1e-9);
    }
}
