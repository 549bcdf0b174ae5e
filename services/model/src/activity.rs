//! What happens around products: views, carts, purchases; folded before it is written.
//!
//! Single events are never stored. A process counts them by product and hour and hands over what
//! it counted once a second. When more products are seen within that second than it can hand over,
//! events of further products are counted one in so many, each for as many: the sums stay right in
//! the mean, and what was counted so says by how much it may be off.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::clock::Timestamp;
use crate::id::ProductId;

/// The length of an hour.
pub const HOUR_MILLIS: i64 = 60 * 60 * 1000;
/// The length of a day.
pub const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;
/// For how many days hours are kept.
pub const HOURS_KEPT_DAYS: i64 = 90;
/// For how many days days are kept: three years.
pub const DAYS_KEPT_DAYS: i64 = 1096;
/// How late an event may come.
pub const LATEST_MILLIS: i64 = DAY_MILLIS;
/// How far ahead of this clock an event may lie; it counts as of now then.
pub const AHEAD_MILLIS: i64 = 5 * 60 * 1000;
/// One view is worth this much where views, carts and purchases are weighed against each other.
pub const VIEW_WEIGHT: i64 = 1;
/// What putting something into a cart is worth in views.
pub const CART_WEIGHT: i64 = 5;
/// What buying something is worth in views.
pub const PURCHASE_WEIGHT: i64 = 20;

/// One in how many events is counted beyond the bound; of still more its square, and so on.
const STEP: i64 = 16;
/// The largest number of events that one counts for.
const MAX_FOR_ONE: i64 = 65_536;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivityKind {
    /// Somebody looked at a product.
    View,
    /// Somebody put a product into a cart.
    Cart,
}

/// How often things happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivityCounts {
    /// Views.
    pub views: i64,
    /// Carts.
    pub carts: i64,
    /// Units bought.
    pub purchases: i64,
}

impl ActivityCounts {
    /// Everything weighed against each other, in views.
    #[must_use]
    pub const fn weight(self) -> i64 {
        VIEW_WEIGHT * self.views + CART_WEIGHT * self.carts + PURCHASE_WEIGHT * self.purchases
    }

    /// These and others together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            views: self.views + other.views,
            carts: self.carts + other.carts,
            purchases: self.purchases + other.purchases,
        }
    }
}

/// What was counted of a product in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The counts.
    pub counts: ActivityCounts,
    /// One in how many events was counted; 1 when all were.
    pub one_in: i64,
}

/// A product in an hour, by the beginning of the hour.
pub type Slot = (ProductId, Timestamp);

/// How many slots are counted exactly, and then fold by fold.
pub const MAX_SLOTS: usize = 5_000;

/// What a process has counted since it last handed over.
#[derive(Debug)]
pub struct Tally {
    slots: HashMap<Slot, Counted>,
    most: usize,
    /// Draws which events are counted.
    draw: u64,
}

impl Tally {
    /// Nothing counted yet; so many slots are counted exactly. The seed decides which events of
    /// further ones are.
    #[must_use]
    pub fn new(most: usize, seed: u64) -> Self {
        Self {
            slots: HashMap::new(),
            most: most.max(1),
            // Of nothing nothing would be drawn.
            draw: seed | 1,
        }
    }

    /// Counts an event.
    pub fn add(&mut self, product: ProductId, at: Timestamp, kind: ActivityKind) {
        let slot = (product, hour(at));
        let one_in = match self.slots.get(&slot) {
            Some(counted) => counted.one_in,
            None => self.one_in(),
        };
        if one_in > 1 && !self.is_drawn(one_in) {
            return;
        }
        let counted = match self.slots.entry(slot) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Counted {
                counts: ActivityCounts::default(),
                one_in,
            }),
        };
        match kind {
            ActivityKind::View => counted.counts.views += one_in,
            ActivityKind::Cart => counted.counts.carts += one_in,
        }
    }

    /// One in how many events of a slot that is new is counted.
    fn one_in(&self) -> i64 {
        let folds = u32::try_from(self.slots.len() / self.most).unwrap_or(u32::MAX);
        STEP.checked_pow(folds)
            .map_or(MAX_FOR_ONE, |one_in| one_in.min(MAX_FOR_ONE))
    }

    /// xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
    fn is_drawn(&mut self, one_in: i64) -> bool {
        self.draw ^= self.draw << 13;
        self.draw ^= self.draw >> 7;
        self.draw ^= self.draw << 17;
        self.draw.is_multiple_of(one_in.unsigned_abs())
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many slots were counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Gives what was counted, and begins anew.
    #[must_use]
    pub fn take(&mut self) -> Vec<(Slot, Counted)> {
        std::mem::take(&mut self.slots).into_iter().collect()
    }
}

/// By how much a count that was made one in so many is off in the mean, as a share of itself: the
/// standard deviation of a sum of independent draws, `sqrt((k - 1) / n)`. 0 when all were counted, or none.
#[must_use]
pub fn relative_error(count: i64, one_in: i64) -> f64 {
    if one_in <= 1 || count <= 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "an error, in two digits")]
    ((one_in - 1) as f64 / count as f64).sqrt()
}

/// The beginning of the hour, in UTC.
#[must_use]
pub fn hour(at: Timestamp) -> Timestamp {
    begin(at, HOUR_MILLIS)
}

/// The beginning of the day, in UTC.
#[must_use]
pub fn day(at: Timestamp) -> Timestamp {
    begin(at, DAY_MILLIS)
}

fn begin(at: Timestamp, length: i64) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(length) * length)
}

/// Why an event cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It lies more than a day back.
    TooOld,
    /// It lies more than five minutes ahead.
    Ahead,
}

/// When an event counts as having happened.
///
/// # Errors
/// [`Unfit`] when it is too old or lies ahead.
pub fn admitted(at: Option<Timestamp>, now: Timestamp) -> Result<Timestamp, Unfit> {
    let Some(at) = at else { return Ok(now) };
    let ahead = at.as_millis() - now.as_millis();
    if ahead > AHEAD_MILLIS {
        return Err(Unfit::Ahead);
    }
    if -ahead > LATEST_MILLIS {
        return Err(Unfit::TooOld);
    }
    Ok(at.min(now))
}

/// How a product stands after the activity of today and the 30 days before, coarse enough to change rarely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivitySummary {
    /// Views, rounded to two digits.
    pub views: i64,
    /// Carts, rounded to two digits.
    pub carts: i64,
    /// Units bought, exactly.
    pub units: i64,
    /// How much attention it gets now: four times the binary logarithm of its score of the week,
    /// rounded down.
    pub trend: i32,
    /// As of when.
    pub as_of: Option<Timestamp>,
}

impl ActivitySummary {
    /// How a product stands with these counts and this score.
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

    /// Whether both are so near to each other that a product need not be written again: it sold as
    /// much, and other numbers differ by a tenth or by two at most, what it gets of attention by one
    /// step.
    #[must_use]
    pub const fn is_near(self, other: Self) -> bool {
        let trend = self.trend.abs_diff(other.trend);
        self.units == other.units
            && (trend == 0 || (trend == 1 && self.trend > 0 && other.trend > 0))
            && near(self.views, other.views)
            && near(self.carts, other.carts)
    }

    /// For how many people who would write a review its activity stands: a unit bought for one, a
    /// cart for a quarter, a view for a twentieth.
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

/// Rounded to two digits: 1,234 to 1,200.
fn two_digits(count: i64) -> i64 {
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

/// Over which time it is looked what gets attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrendingWindow {
    /// The present hour and the 24 before.
    Day,
    /// Today and the 7 days before.
    Week,
    /// Today and the 30 days before.
    Month,
}

impl TrendingWindow {
    /// All windows.
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// The name it is stored by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Its length, but for the hour or day that it is now.
    #[must_use]
    pub const fn millis(self) -> i64 {
        match self {
            Self::Day => DAY_MILLIS,
            Self::Week => 7 * DAY_MILLIS,
            Self::Month => 30 * DAY_MILLIS,
        }
    }

    /// After which time what happened counts half: a quarter of the window.
    #[must_use]
    pub const fn half_life_millis(self) -> i64 {
        self.millis() / 4
    }
}

/// How much of what happened so long ago still counts: half after each half-life.
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
        let mut tally = Tally::new(10, 1);
        for _ in 0..3 {
            tally.add(id(1), at(NOW), ActivityKind::View);
        }
        tally.add(id(1), at(NOW), ActivityKind::Cart);
        tally.add(id(1), at("2026-05-31T13:00:00Z"), ActivityKind::View);
        assert_eq!((tally.len(), tally.is_empty()), (2, false));
        let mut slots = tally.take();
        slots.sort_by_key(|(slot, _)| *slot);
        let ((_, first), counted) = slots[0];
        assert_eq!(first, at("2026-05-31T12:00:00Z"));
        let counts = ActivityCounts {
            views: 3,
            carts: 1,
            purchases: 0,
        };
        assert_eq!(counted, Counted { counts, one_in: 1 });
        assert!(tally.is_empty());
    }

    #[test]
    fn beyond_the_bound_sums_stay_right_in_the_mean() {
        let mut tally = Tally::new(100, 0x9E37_79B9_7F4A_7C15);
        for _ in 0..50 {
            for n in 0..2_000 {
                tally.add(id(n), at(NOW), ActivityKind::View);
            }
        }
        let slots = tally.take();
        let exact = slots.iter().filter(|(_, counted)| counted.one_in == 1);
        assert!(exact.clone().all(|(_, counted)| counted.counts.views == 50));
        assert_eq!(exact.count(), 100);
        let sum: i64 = slots.iter().map(|(_, counted)| counted.counts.views).sum();
        assert!((70_000..130_000).contains(&sum), "{sum} of 100,000");
        assert!(slots.len() < 1_000, "{} of 2,000 slots", slots.len());
    }

    #[test]
    fn errors_are_those_of_a_sum_of_draws() {
        assert!(relative_error(1_000, 1).abs() < f64::EPSILON);
        assert!(relative_error(0, 16).abs() < f64::EPSILON);
        assert!((relative_error(1_000, 10) - 0.0949).abs() < 0.0001);
    }

    #[test]
    fn days_and_hours_begin_where_they_begin() {
        assert_eq!(day(at(NOW)), at("2026-05-31T00:00:00Z"));
        assert_eq!(hour(at("1969-12-31T23:59:59Z")), at("1969-12-31T23:00:00Z"));
    }

    #[test]
    fn events_of_other_times_are_told_apart() {
        let now = at(NOW);
        assert_eq!(admitted(None, now), Ok(now));
        let soon = now.plus_millis(AHEAD_MILLIS);
        assert_eq!(admitted(Some(soon), now), Ok(now), "clocks differ a little");
        assert_eq!(admitted(Some(soon.plus_millis(1)), now), Err(Unfit::Ahead));
        let late = now.plus_millis(-LATEST_MILLIS);
        assert_eq!(admitted(Some(late), now), Ok(late));
        assert_eq!(
            admitted(Some(late.plus_millis(-1)), now),
            Err(Unfit::TooOld)
        );
    }

    #[test]
    fn standings_are_coarse() {
        let counts = |views, purchases| ActivityCounts {
            views,
            carts: 0,
            purchases,
        };
        let standing =
            |views, purchases, score| ActivitySummary::of(counts(views, purchases), score, at(NOW));
        assert_eq!(standing(1_249, 3, 0.0).views, 1_200);
        assert_eq!(
            (standing(99, 0, 0.0).views, standing(995, 0, 0.0).views),
            (99, 1_000)
        );
        assert_eq!(standing(1_249, 3, 1.0).trend, 4);
        assert_eq!(standing(0, 0, f64::NAN).trend, 0);
        assert_eq!(standing(40, 3, 0.0).interest(), 5);
        let later = ActivitySummary {
            as_of: None,
            ..standing(1_249, 3, 1.0)
        };
        assert!(standing(1_230, 3, 1.1).is_near(later));
        assert!(
            standing(1_300, 3, 1.4).is_near(later),
            "a tenth, and a step"
        );
        for far in [
            (1_400, 3, 1.0),
            (1_249, 4, 1.0),
            (1_249, 3, 2.0),
            (1_249, 3, 0.0),
        ] {
            assert!(!standing(far.0, far.1, far.2).is_near(later), "{far:?}");
        }
        assert!((decay(50, 50) - 0.5).abs() < 1e-9 && (decay(-1, 50) - 1.0).abs() < 1e-9);
    }
}
