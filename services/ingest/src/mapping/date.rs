//! Dates in feeds.

use jiff::SignedDuration;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use vitrine_model::clock::Timestamp;

use super::number::shortened;

/// A date format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DateFormat {
    /// `2026-05-31T12:00:00Z`, with any offset; in UTC without one.
    Rfc3339,
    /// `2026-05-31`, the start of the day in UTC.
    Day,
    /// Seconds since 1970.
    Unix,
    /// Milliseconds since 1970.
    UnixMillis,
    /// `1999`, `1999-03`, `1999-03-00`, `1999/2000`: the first day that is possible.
    Partial,
    /// A `strptime` pattern; in UTC unless it has an offset.
    Pattern(String),
}

impl DateFormat {
    /// The formats that are tried by default.
    pub(crate) const DEFAULT: [Self; 2] = [Self::Rfc3339, Self::Day];

    /// Parses the name or the pattern of a format.
    ///
    /// # Errors
    /// What would be valid.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        match name {
            "rfc3339" => Ok(Self::Rfc3339),
            "day" => Ok(Self::Day),
            "unix" => Ok(Self::Unix),
            "unix_millis" => Ok(Self::UnixMillis),
            "partial" => Ok(Self::Partial),
            pattern if pattern.contains('%') => {
                check_pattern(pattern)?;
                Ok(Self::Pattern(pattern.to_owned()))
            }
            _ => Err(format!(
                "{name:?} is neither rfc3339, day, partial, unix or unix_millis nor a pattern such as %d.%m.%Y"
            )),
        }
    }

    /// Parses a date of the years 1000 to 9999: an earlier one is a year with missing digits.
    fn parse(&self, text: &str) -> Option<Timestamp> {
        self.parse_any(text)
            .filter(|date| date.check_year().is_ok())
    }

    fn parse_any(&self, text: &str) -> Option<Timestamp> {
        match self {
            Self::Rfc3339 => Timestamp::parse(text).ok().or_else(|| without_offset(text)),
            Self::Day => Timestamp::parse_day(text).ok(),
            Self::Unix => millis(text, 1000),
            Self::UnixMillis => millis(text, 1),
            Self::Partial => partial(text),
            Self::Pattern(pattern) => by_pattern(pattern, text),
        }
    }
}

/// A date and time without an offset, in UTC.
fn without_offset(text: &str) -> Option<Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    let is_utc = pieces.offset().is_none() && pieces.time_zone_annotation().is_none();
    let time = pieces.time().filter(|_| is_utc)?;
    Some(Timestamp::of_utc(pieces.date().to_datetime(time)))
}

/// Parses a date in the first of the formats that matches.
///
/// # Errors
/// What would be valid.
pub(crate) fn parse(text: &str, formats: &[DateFormat]) -> Result<Timestamp, String> {
    let date = formats.iter().find_map(|format| format.parse(text));
    date.ok_or_else(|| {
        let early = formats
            .iter()
            .any(|format| format.parse_any(text).is_some());
        let years = if early {
            "; its year is before 1000, and %Y takes four digits (%y takes two)"
        } else {
            ""
        };
        let formats: Vec<String> = formats.iter().map(name).collect();
        format!(
            "{:?} is not a date in the form {}{years}",
            shortened(text),
            formats.join(" or ")
        )
    })
}

fn name(format: &DateFormat) -> String {
    match format {
        DateFormat::Rfc3339 => "2026-05-31T12:00:00Z".to_owned(),
        DateFormat::Day => "2026-05-31".to_owned(),
        DateFormat::Unix => "of seconds since 1970".to_owned(),
        DateFormat::UnixMillis => "of milliseconds since 1970".to_owned(),
        DateFormat::Partial => "1999 or 1999-03".to_owned(),
        DateFormat::Pattern(pattern) => pattern.clone(),
    }
}

/// A year, a year and a month, or two years that follow each other: the first day of it. A month or day `00` is
/// unknown.
fn partial(text: &str) -> Option<Timestamp> {
    let number = |text: &str, digits: usize| {
        let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i16>().ok().filter(|_| is_number)
    };
    if let Some((first, second)) = text.split_once('/') {
        let first = number(first.trim(), 4)?;
        let second = second.trim();
        let years = [first + 1, (first + 1) % 100];
        let follows = number(second, 4) == Some(years[0]) || number(second, 2) == Some(years[1]);
        return follows.then(|| partial(&first.to_string()))?;
    }
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4)?;
    let mut part = || parts.next().map_or(Some(0), |part| number(part, 2));
    let (month, day) = (part()?, part()?);
    if parts.next().is_some() || (month == 0 && day != 0) {
        return None;
    }
    let first = |number: i16| i8::try_from(number.max(1)).ok();
    let date = jiff::civil::Date::new(year, first(month)?, first(day)?).ok()?;
    Some(Timestamp::of_utc(date.into()))
}

/// A number of milliseconds as a date, up to the year 9999: a larger number is not a date in this
/// unit.
fn millis(text: &str, factor: i64) -> Option<Timestamp> {
    const MAX_MILLIS: i64 = 253_402_300_799_999;
    let number: i64 = text.parse().ok()?;
    let millis = number.checked_mul(factor)?;
    (millis.abs() <= MAX_MILLIS).then(|| Timestamp::from_millis(millis))
}

/// Fails for a pattern that no date matches: one that is not `strptime`, or lacks the year, the month
/// or the day.
fn check_pattern(pattern: &str) -> Result<(), String> {
    let example = jiff::Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let written = jiff::fmt::strtime::format(pattern, &example);
    let written = written.map_err(|error| format!("{pattern:?} is no pattern: {error}"))?;
    if by_pattern(pattern, &written).is_some() {
        return Ok(());
    }
    Err(format!(
        "{pattern:?} lacks the year, the month or the day; a template adds what the feed lacks, \
         such as \"01/{{date}}\" with %d/%m/%Y"
    ))
}

fn by_pattern(pattern: &str, text: &str) -> Option<Timestamp> {
    let parsed = jiff::fmt::strtime::parse(pattern, text);
    let broken_down = match parsed {
        Ok(parsed) => parsed,
        Err(_) => jiff::fmt::strtime::parse(pattern, without_ordinals(text)?).ok()?,
    };
    if let Ok(instant) = broken_down.to_timestamp() {
        return Some(Timestamp::of_utc(Offset::UTC.to_datetime(instant)));
    }
    let day_and_time = broken_down.to_datetime();
    let local = day_and_time.or_else(|_| broken_down.to_date().map(Into::into));
    let offset = broken_down.offset().map_or(0, Offset::seconds);
    let offset = SignedDuration::from_secs(offset.into());
    Some(Timestamp::of_utc(local.ok()?.checked_sub(offset).ok()?))
}

/// Returns a text without the endings of ordinal numbers, `April 4th` as `April 4`; `None` if it has none.
fn without_ordinals(text: &str) -> Option<String> {
    const ENDINGS: [&str; 4] = ["st", "nd", "rd", "th"];
    let mut words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let mut out = String::with_capacity(text.len());
    words.by_ref().for_each(|word| {
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let ending = word.get(digits..digits + 2).filter(|_| digits > 0);
        let is_ordinal = ending.is_some_and(|ending| {
            let known = ENDINGS
                .iter()
                .any(|known| ending.eq_ignore_ascii_case(known));
            known && !word[digits + 2..].starts_with(|c: char| c.is_ascii_alphanumeric())
        });
        out.push_str(&word[..digits]);
        out.push_str(&word[digits + if is_ordinal { 2 } else { 0 }..]);
    });
    (out.len() < text.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_have_as_many_digits_as_the_pattern_says() {
        let day = |text: &str| Some(format!("{text}T00:00:00.000Z"));
        assert_eq!(read("%d.%m.%Y", "05.01.2026"), day("2026-01-05"));
        for text in ["05.01.26", "05.01.0206", "05.01.206", "05.01.0999"] {
            assert_eq!(read("%d.%m.%Y", text), None, "{text}");
        }
        assert_eq!(read("rfc3339", "0206-01-05T00:00:00Z"), None);
        assert_eq!(read("day", "0206-01-05"), None);
        assert_eq!(read("unix", "-62135596800"), None);
        assert_eq!(read("day", "1000-01-01"), day("1000-01-01"));
        let both = ["%d.%m.%Y", "%d.%m.%y"].map(|format| DateFormat::named(format).unwrap());
        let read_both = |text: &str| parse(text, &both).ok().map(|at| at.to_string());
        assert_eq!(read_both("05.01.26"), day("2026-01-05"));
        assert_eq!(read_both("05.01.68"), day("2068-01-05"));
        assert_eq!(read_both("05.01.69"), day("1969-01-05"));
        assert_eq!(read_both("05.01.1968"), day("1968-01-05"));
        let reason = parse("05.01.0206", &both[..1]).unwrap_err();
        assert!(reason.contains("its year is before 1000"), "{reason}");
    }

    #[test]
    fn dates_in_words_are_read() {
        let day = |text: &str| Some(format!("{text}T00:00:00.000Z"));
        assert_eq!(read("%b %d %Y", "Jun 12 1998"), day("1998-06-12"));
        assert_eq!(read("%B %d, %Y", "April 4th, 2015"), day("2015-04-04"));
        assert_eq!(read("%B %d, %Y", "April 21ST, 2015"), day("2015-04-21"));
        assert_eq!(
            read("%A, %d %B %Y", "Friday, 2nd august 2019"),
            day("2019-08-02")
        );
        assert_eq!(read("%B %d, %Y", "April 4thx, 2015"), None);
        assert_eq!(read("%B %d, %Y", "Aprilth 4, 2015"), None);
    }

    #[test]
    fn a_partial_date_is_its_first_day() {
        let day = |text: &str| Some(format!("{text}T00:00:00.000Z"));
        for (text, date) in [
            ("1999", "1999-01-01"),
            ("1999-03", "1999-03-01"),
            ("1999-03-00", "1999-03-01"),
            ("1999-00-00", "1999-01-01"),
            ("1999-03-07", "1999-03-07"),
            ("2014/2015", "2014-01-01"),
            ("2014/15", "2014-01-01"),
            ("1999 / 2000", "1999-01-01"),
        ] {
            assert_eq!(read("partial", text), day(date), "{text}");
        }
        for text in [
            "99",
            "1999-13",
            "1999-00-07",
            "1999-3",
            "2014/2016",
            "0206",
            "1999-03-07-01",
            "-1999",
            "2014/",
        ] {
            assert_eq!(read("partial", text), None, "{text}");
        }
    }

    fn read(format: &str, text: &str) -> Option<String> {
        let format = DateFormat::named(format).unwrap();
        parse(text, &[format]).ok().map(|at| at.to_string())
    }

    #[test]
    fn a_pattern_that_no_date_matches_is_refused() {
        for pattern in ["%m/%Y", "%H:%M", "%Q/%Y", "%", "%!"] {
            assert!(DateFormat::named(pattern).is_err(), "{pattern}");
        }
        for pattern in [
            "%s",
            "%d %b %y",
            "%A, %B %d, %Y",
            "%Y%m%d",
            "%j %Y",
            "%F %T",
        ] {
            assert!(DateFormat::named(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn dates_are_read_in_all_formats() {
        let noon = Some("2012-10-26T12:00:00.000Z".to_owned());
        let midnight = Some("2012-10-26T00:00:00.000Z".to_owned());
        assert_eq!(read("rfc3339", "2012-10-26T14:00:00+02:00"), noon);
        assert_eq!(read("rfc3339", "2012-10-26T12:00:00"), noon);
        assert_eq!(read("day", "2012-10-26"), midnight);
        assert_eq!(read("unix", "1351209600"), midnight);
        assert_eq!(read("unix_millis", "1351209600000"), midnight);
        assert_eq!(read("%d.%m.%Y", "26.10.2012"), midnight);
        assert_eq!(read("%m/%d/%y %I:%M %p", "10/26/12 12:00 PM"), noon);
        assert_eq!(read("%Y-%m-%d %H:%M %z", "2012-10-26 14:00 +0200"), noon);
        let last = Some("9999-12-31T23:30:00.000Z".to_owned());
        assert_eq!(read("rfc3339", "9999-12-31T23:30:00Z"), last);
        assert_eq!(read("unix", "253402299000"), last);
        assert_eq!(read("%Y-%m-%d %H:%M", "9999-12-31 23:30"), last);
        let pattern = "%Y-%m-%d %H:%M %z";
        assert_eq!(read(pattern, "9999-12-31 21:30 -0200"), last);
        let before = Some("1969-12-31T23:59:59.998Z".to_owned());
        let text = "1969-12-31T23:59:59.9989+0000";
        assert_eq!(read("%Y-%m-%dT%H:%M:%S%.f%z", text), before);
    }

    #[test]
    fn other_text_is_not_a_date() {
        assert_eq!(read("unix", "1351209600000000"), None);
        assert_eq!(read("unix", "soon"), None);
        assert_eq!(read("rfc3339", "9999-12-31T23:00:00-05:00"), None);
        assert_eq!(read("day", "2012-10-26T12:00:00"), None);
        assert_eq!(read("%d.%m.%Y", "31.02.2012"), None);
        assert!(DateFormat::named("iso").is_err());
        let reason = parse("soon", &DateFormat::DEFAULT).unwrap_err();
        assert!(
            reason.contains("\"soon\"") && reason.contains("2026-05-31"),
            "{reason}"
        );
    }
}
