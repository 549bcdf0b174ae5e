//! Instants and where they come from.
//!
//! All times are UTC with millisecond precision, as MongoDB stores them. Code never reads the
//! system time directly: it asks the [`Clock`] it was given.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::Pieces;
use serde::{Deserialize, Serialize};

/// The start of the year -9999 and the end of the year 9999.
const MIN_MILLIS: i64 = -377_705_116_800_000;
const MAX_MILLIS: i64 = 253_402_300_799_999;

/// The start of 1970.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// An instant: milliseconds since 1970-01-01T00:00:00Z, between the years -9999 and 9999.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 date and time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date and time such as 2026-05-31T12:00:00Z")]
pub struct InvalidTimestamp;

/// The earliest year that is believed of a date: two digits read as a year are far below.
const MIN_YEAR: i16 = 1000;
/// How far the clock of another system may be ahead, in milliseconds: a day, which also covers all
/// time zones.
const MAX_AHEAD: i64 = 24 * 60 * 60 * 1000;

/// Why a date that somebody has entered is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImplausibleDate {
    /// The year is before 1000.
    #[error("a date in the year {0} is not possible; years have four digits, from 1000 to 9999")]
    Year(i16),
    /// Something that has happened would happen in more than a day.
    #[error("{0} is more than a day in the future")]
    Future(Timestamp),
}

impl Timestamp {
    /// The instant this many milliseconds after the start of 1970, clamped to the years -9999 to
    /// 9999.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(MIN_MILLIS, MAX_MILLIS))
    }

    /// The instant of a date and time in UTC, without fractions of its milliseconds.
    #[must_use]
    pub fn of_utc(time: DateTime) -> Self {
        let since = time.duration_since(EPOCH);
        let millis = since.as_secs() * 1000 + i64::from(since.subsec_millis());
        // Milliseconds of a time before 1970 are negative, and rounded up.
        let is_rounded_up = since.subsec_nanos() % 1_000_000 < 0;
        Self(millis - i64::from(is_rounded_up))
    }

    /// Milliseconds since the start of 1970.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads `2026-05-31T12:00:00Z`, with or without a fraction, with any offset.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] when the text has another form or names an instant that does not exist.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        let pieces = Pieces::parse(text).map_err(|_| InvalidTimestamp)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
            return Err(InvalidTimestamp);
        };
        let local = pieces.date().to_datetime(time);
        let offset = SignedDuration::from_secs(offset.seconds().into());
        let utc = local.checked_sub(offset).map_err(|_| InvalidTimestamp)?;
        Ok(Self::of_utc(utc))
    }

    /// Reads a calendar day, `2026-05-31`: the instant at which it starts in UTC.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] when the text has another form or names a day that does not exist.
    pub fn parse_day(text: &str) -> Result<Self, InvalidTimestamp> {
        let pieces = Pieces::parse(text).map_err(|_| InvalidTimestamp)?;
        let annotation = pieces.time_zone_annotation();
        if pieces.time().is_some() || pieces.offset().is_some() || annotation.is_some() {
            return Err(InvalidTimestamp);
        }
        Ok(Self::of_utc(pieces.date().into()))
    }

    /// The month of the instant, in UTC, as year times twelve plus month (January is 0).
    /// Consecutive months have consecutive numbers.
    #[must_use]
    pub fn month(self) -> i32 {
        let date = self.to_utc();
        i32::from(date.year()) * 12 + i32::from(date.month()) - 1
    }

    /// The instant at which a month, numbered as by [`Timestamp::month`], starts in UTC; clamped to
    /// the years -9999 to 9999.
    #[must_use]
    pub fn start_of_month(month: i32) -> Self {
        let year = i16::try_from(month.div_euclid(12));
        let year = year.unwrap_or(if month < 0 { i16::MIN } else { i16::MAX });
        let of_year = i8::try_from(month.rem_euclid(12) + 1).expect("1 to 12");
        match Date::new(year, of_year, 1) {
            Ok(day) => Self::of_utc(day.into()),
            Err(_) if month < 0 => Self::from_millis(i64::MIN),
            Err(_) => Self::from_millis(i64::MAX),
        }
    }

    /// This instant plus `millis` milliseconds, which may be negative.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Checks the year of a date that somebody has entered.
    ///
    /// # Errors
    /// [`ImplausibleDate::Year`] before the year 1000, in UTC.
    pub fn check_year(self) -> Result<(), ImplausibleDate> {
        let year = self.to_utc().year();
        if year < MIN_YEAR {
            return Err(ImplausibleDate::Year(year));
        }
        Ok(())
    }

    /// Checks the date of something that has happened, such as the writing of a review.
    ///
    /// # Errors
    /// [`ImplausibleDate`] for what [`Timestamp::check_year`] refuses, and for more than a day after
    /// `now`.
    pub fn check_past(self, now: Self) -> Result<(), ImplausibleDate> {
        self.check_year()?;
        if self > now.plus_millis(MAX_AHEAD) {
            return Err(ImplausibleDate::Future(self));
        }
        Ok(())
    }

    fn to_utc(self) -> DateTime {
        let since = SignedDuration::from_millis(self.0);
        let time = EPOCH.checked_add(since);
        time.expect("the constructors keep the range")
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-05-31T12:00:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}Z", self.to_utc())
    }
}

/// The source of the current time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current instant.
    fn now(&self) -> Timestamp;
}

/// A clock that changes only when it is moved; for tests and for repeatable demo data.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Returns a clock set to `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Moves the clock by `millis` milliseconds; backwards when negative.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_parsed_displayed_and_have_months() {
        let instant = Timestamp::parse("2012-10-26T02:00:00.5+02:00").unwrap();
        assert_eq!(instant.to_string(), "2012-10-26T00:00:00.500Z");
        assert_eq!(instant.month(), 2012 * 12 + 9);
        assert_eq!(
            Timestamp::parse_day("2012-10-26").unwrap().plus_millis(500),
            instant
        );
        assert_eq!(
            Timestamp::parse("2012-13-01T00:00:00Z"),
            Err(InvalidTimestamp)
        );
        assert_eq!(Timestamp::parse_day("2013-02-29"), Err(InvalidTimestamp));
        for end in [
            Timestamp::from_millis(i64::MIN),
            Timestamp::from_millis(i64::MAX),
            Timestamp::parse("9999-12-31T23:59:59.999Z").unwrap(),
            Timestamp::parse_day("9999-12-31").unwrap(),
            Timestamp::parse("-009999-01-01T00:00:00.001Z").unwrap(),
            Timestamp::parse("1969-12-31T23:59:59.9999Z").unwrap(),
        ] {
            assert_eq!(Timestamp::parse(&end.to_string()), Ok(end));
        }
        let ends = [DateTime::MIN, DateTime::MAX].map(Timestamp::of_utc);
        assert_eq!(ends.map(Timestamp::as_millis), [MIN_MILLIS, MAX_MILLIS]);
        for wrong in [
            "2012-10-26T00:00:00",
            "2012-10-26T00:00:00-05:00",
            "2012-10-26[UTC]",
        ] {
            assert_eq!(
                Timestamp::parse_day(wrong),
                Err(InvalidTimestamp),
                "{wrong}"
            );
        }
        let before = Timestamp::parse("1969-12-31T23:59:59.9989Z").unwrap();
        assert_eq!(before.as_millis(), -2);
        for wrong in [
            "2012-10-26",
            "2012-10-26T02:00:00",
            "9999-12-31T23:00:00-05:00",
            "+010000-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(wrong), Err(InvalidTimestamp), "{wrong}");
        }
    }

    #[test]
    fn dates_are_believed_from_the_year_1000_to_a_day_ahead() {
        let at = |text| Timestamp::parse(text).unwrap();
        for (date, year) in [
            ("0026-01-05T00:00:00Z", 26),
            ("0206-01-05T00:00:00Z", 206),
            ("0999-12-31T23:59:59.999Z", 999),
            ("-000001-01-01T00:00:00Z", -1),
        ] {
            assert_eq!(
                at(date).check_year(),
                Err(ImplausibleDate::Year(year)),
                "{date}"
            );
        }
        for date in [
            "1000-01-01T00:00:00Z",
            "1969-05-01T00:00:00Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert_eq!(at(date).check_year(), Ok(()), "{date}");
        }
        let now = at("2026-05-31T12:00:00Z");
        for date in [
            "2026-05-31T12:00:00Z",
            "2026-06-01T12:00:00Z",
            "1998-01-01T00:00:00Z",
        ] {
            assert_eq!(at(date).check_past(now), Ok(()), "{date}");
        }
        for date in [
            "2026-06-01T12:00:00.001Z",
            "2099-01-01T00:00:00Z",
            "2126-01-05T00:00:00Z",
        ] {
            assert_eq!(
                at(date).check_past(now),
                Err(ImplausibleDate::Future(at(date))),
                "{date}"
            );
        }
        assert_eq!(
            at("0026-01-05T00:00:00Z").check_past(now),
            Err(ImplausibleDate::Year(26))
        );
        let reason = ImplausibleDate::Year(26).to_string();
        assert_eq!(
            reason,
            "a date in the year 26 is not possible; years have four digits, from 1000 to 9999"
        );
        let reason = ImplausibleDate::Future(at("2099-01-01T00:00:00Z")).to_string();
        assert_eq!(
            reason,
            "2099-01-01T00:00:00.000Z is more than a day in the future"
        );
    }

    #[test]
    fn months_start_in_utc_and_are_clamped() {
        let at = |text| Timestamp::parse(text).unwrap();
        let month = at("2012-10-26T02:00:00Z").month();
        assert_eq!(Timestamp::start_of_month(month), at("2012-10-01T00:00:00Z"));
        assert_eq!(Timestamp::start_of_month(-1), at("-000001-12-01T00:00:00Z"));
        let beyond = [i32::MIN, -9_999 * 12 - 1, 10_000 * 12, i32::MAX];
        let clamped = beyond.map(|month| Timestamp::start_of_month(month).as_millis());
        let (min, max) = (i64::MIN, i64::MAX);
        let ends = [min, min, max, max].map(|n| Timestamp::from_millis(n).as_millis());
        assert_eq!(clamped, ends);
    }

    #[test]
    fn the_manual_clock_moves_only_when_advanced() {
        let clock = ManualClock::at(Timestamp::from_millis(5));
        assert_eq!(clock.now(), clock.now());
        clock.advance(-3);
        assert_eq!(clock.now().as_millis(), 2);
    }
}
