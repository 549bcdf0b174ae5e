//! Cells: what a person sees in them.

use jiff::civil::Date;
use serde_json::{Number, Value};

/// A cell of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Value(Value),
    /// It has no value, for this reason.
    Problem(String),
}

impl Cell {
    pub(super) fn text(text: String) -> Self {
        Self::Value(if text.is_empty() {
            Value::Null
        } else {
            Value::String(text)
        })
    }

    /// An error such as #N/A.
    pub(super) fn error(name: &str) -> Self {
        Self::Problem(format!("is the error {name}"))
    }

    /// A formula that no program has computed since it was written.
    pub(super) fn uncomputed() -> Self {
        let reason = "is a formula without a computed result; open the file in a spreadsheet program \
                      and save it once";
        Self::Problem(reason.to_owned())
    }
}

/// How the number of a cell is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shown {
    #[default]
    Number,
    /// With zeros up to so many digits.
    Padded(usize),
    Date,
    DateTime,
    Time,
    /// Hours that go on after 24.
    Duration,
    /// A hundred times the number, with the sign.
    Percent,
}

impl Shown {
    /// What a format of Excel shows.
    pub(super) fn of_format(code: &str) -> Self {
        let code = code.split(';').next().unwrap_or(code);
        if code.len() > 1 && code.bytes().all(|sign| sign == b'0') {
            return Self::Padded(code.len());
        }
        let signs = Signs::of(code);
        match (signs.other, signs.date, signs.time) {
            (Some(Self::Duration), ..) => Self::Duration,
            (_, true, true) => Self::DateTime,
            (_, true, false) => Self::Date,
            (_, false, true) => Self::Time,
            (other, false, false) => other.unwrap_or_default(),
        }
    }

    /// What a format that is built in shows.
    pub(super) fn of_id(id: u32) -> Self {
        match id {
            9 | 10 => Self::Percent,
            14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => Self::Date,
            18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Self::Time,
            22 => Self::DateTime,
            46 => Self::Duration,
            _ => Self::Number,
        }
    }
}

/// Which signs of dates, times and percentages a format has.
#[derive(Default)]
struct Signs {
    date: bool,
    time: bool,
    /// A duration or a percentage.
    other: Option<Shown>,
}

impl Signs {
    fn of(code: &str) -> Self {
        let mut signs = Self::default();
        let mut months_or_minutes = false;
        let mut letters = code.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => drop(letters.by_ref().find(|letter| *letter == '"')),
                '\\' | '_' | '*' => drop(letters.next()),
                '[' => {
                    let inside: String = letters
                        .by_ref()
                        .take_while(|letter| *letter != ']')
                        .collect();
                    let inside = inside.to_ascii_lowercase();
                    let units = inside.trim_end_matches(['h', 'm', 's']);
                    if units.is_empty() && !inside.is_empty() {
                        signs.other = Some(Shown::Duration);
                    }
                }
                'y' | 'Y' | 'd' | 'D' => signs.date = true,
                'h' | 'H' | 's' | 'S' => signs.time = true,
                'm' | 'M' => months_or_minutes = true,
                '%' => signs.other = signs.other.or(Some(Shown::Percent)),
                // `General` has none of them; AM/PM has an M.
                'A' | 'a' => {
                    signs.time |= letters.as_str().to_ascii_lowercase().starts_with("m/pm");
                }
                _ => {}
            }
        }
        signs.date |= months_or_minutes && !signs.time;
        signs
    }
}

/// The days before 1970 at which the calendars of workbooks begin.
const DAYS_FROM_1900: i64 = 25_569;
const DAYS_FROM_1904: i64 = 24_107;
const MILLIS: f64 = 86_400_000.0;
/// The day after 9999-12-31.
const END: f64 = 2_958_466.0;

/// The number of digits that are shown of a number.
const SHOWN_DIGITS: usize = 15;

/// The value of a number, which may be a date or a time.
pub(super) fn number(written: &str, shown: Shown, is_1904: bool) -> Option<Cell> {
    let whole = written.parse::<i64>().map(Number::from);
    let whole = whole
        .or_else(|_| written.parse::<u64>().map(Number::from))
        .ok();
    let number: f64 = written.parse().ok()?;
    let value = match (shown, whole) {
        (Shown::Padded(digits), Some(whole)) if number >= 0.0 => {
            Value::String(format!("{:0>digits$}", whole.to_string()))
        }
        (Shown::Number | Shown::Padded(_), Some(whole)) => Value::Number(whole),
        // So few digits are all shown.
        (Shown::Number | Shown::Padded(_), None)
            if written.len() <= SHOWN_DIGITS && number.fract() != 0.0 =>
        {
            Value::Number(Number::from_f64(number)?)
        }
        (Shown::Number | Shown::Padded(_), None) => as_shown(number)?,
        (Shown::Percent, _) => Value::String(format!("{}%", as_shown(number * 100.0)?)),
        (Shown::Duration, _) => clock_time(number)?,
        (Shown::Time, _) if (0.0..1.0).contains(&number) => clock_time(number)?,
        (Shown::DateTime, _) if (0.0..1.0).contains(&number) && !is_1904 => clock_time(number)?,
        (shown, _) => return Some(date(number, shown, is_1904)),
    };
    Some(Cell::Value(value))
}

/// A number with the 15 digits that a person sees. Whole numbers are integers, as far as each of
/// them can be told from the next.
pub(super) fn as_shown(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number: f64 = if number.fract() == 0.0 && number.abs() <= EXACT {
        number
    } else {
        format!("{number:.14e}").parse().ok()?
    };
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole, and small enough"
        )]
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}

/// Hours, minutes and seconds: 14:30:00, also of more than a day.
fn clock_time(days: f64) -> Option<Value> {
    let millis = (days.abs() * MILLIS).round();
    if millis.is_nan() || millis >= 1e15 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and small enough"
    )]
    let millis = millis as i64;
    let sign = if days < 0.0 && millis > 0 { "-" } else { "" };
    Some(Value::String(format!("{sign}{}", of_millis(millis))))
}

/// So many milliseconds as hours, minutes and seconds.
fn of_millis(millis: i64) -> String {
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let rest = match millis {
        0 => String::new(),
        millis => format!(".{millis:03}"),
    };
    format!("{hours:02}:{minutes:02}:{seconds:02}{rest}")
}

/// A date, with the time of day if it has one.
fn date(days: f64, shown: Shown, is_1904: bool) -> Cell {
    let first = if is_1904 { 0.0 } else { 1.0 };
    if !(first..END).contains(&days) {
        return Cell::Problem(format!(
            "is {days}, shown as a date, and there is no such day"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is less than the days up to the year 9999"
    )]
    let millis = (days * MILLIS).round() as i64;
    let (day, millis) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let since_1970 = match day {
        _ if is_1904 => day - DAYS_FROM_1904,
        // Excel has a 29th of February 1900, which is day 60.
        60 => return Cell::Problem("is the 29th of February 1900, which there was not".to_owned()),
        day if day < 60 => day + 1 - DAYS_FROM_1900,
        day => day - DAYS_FROM_1900,
    };
    let start = Date::constant(1970, 1, 1);
    let Ok(date) = start.checked_add(jiff::Span::new().days(since_1970)) else {
        return Cell::Problem(format!(
            "is {days}, shown as a date, and there is no such day"
        ));
    };
    let has_time = millis > 0 || shown == Shown::Time;
    Cell::Value(Value::String(if has_time {
        format!("{date}T{}Z", of_millis(millis))
    } else {
        date.to_string()
    }))
}

/// A time or duration as ISO 8601 writes it, `PT14H30M00S`, in hours, minutes and seconds.
pub(super) fn of_iso(text: &str) -> Option<String> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ("-", text),
        None => ("", text),
    };
    let mut rest = text.strip_prefix('P')?;
    let (mut millis, mut in_time) = (0.0, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (in_time, rest) = (true, time);
            continue;
        }
        let end = rest.find(|sign: char| sign.is_ascii_alphabetic())?;
        let count: f64 = rest[..end].replace(',', ".").parse().ok()?;
        let unit = match (&rest[end..=end], in_time) {
            ("D", false) => 86_400.0,
            ("H", true) => 3600.0,
            ("M", true) => 60.0,
            ("S", true) => 1.0,
            _ => return None,
        };
        millis += count * unit * 1000.0;
        rest = &rest[end + 1..];
    }
    if millis.is_nan() || millis >= 1e15 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is small enough")]
    let millis = millis.round() as i64;
    Some(format!("{sign}{}", of_millis(millis)))
}

/// Whether a text is an error as spreadsheets show it.
pub(super) fn is_error(text: &str) -> bool {
    let is_code = |text: &str| !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit());
    matches!(
        text,
        "#N/A" | "#DIV/0!" | "#VALUE!" | "#REF!" | "#NAME?" | "#NUM!" | "#NULL!"
    ) || text.strip_prefix("Err:").is_some_and(is_code)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_show_dates_times_and_zeros() {
        for (code, expected) in [
            ("General", Shown::Number),
            ("0", Shown::Number),
            ("0.00", Shown::Number),
            ("#,##0.00 \"m\"", Shown::Number),
            ("[Red]0.00", Shown::Number),
            ("00000", Shown::Padded(5)),
            ("dd.mm.yyyy", Shown::Date),
            ("[$-407]d. mmmm yyyy", Shown::Date),
            ("mmm yy", Shown::Date),
            ("mmmm", Shown::Date),
            ("yyyy-mm-dd hh:mm:ss", Shown::DateTime),
            ("hh:mm", Shown::Time),
            ("h:mm AM/PM", Shown::Time),
            ("mm:ss.0", Shown::Time),
            ("[h]:mm", Shown::Duration),
            ("[mm]:ss", Shown::Duration),
            ("0\\d", Shown::Number),
            ("0.0%", Shown::Percent),
            ("0%;[Red]-0%", Shown::Percent),
            ("0.0\\%", Shown::Number),
            ("0\"%\"", Shown::Number),
            ("0;dd", Shown::Number),
        ] {
            assert_eq!(Shown::of_format(code), expected, "{code}");
        }
    }

    #[test]
    fn numbers_are_what_a_person_sees() {
        let value = |written, shown, is_1904| match number(written, shown, is_1904) {
            Some(Cell::Value(value)) => value,
            other => panic!("{written}: {other:?}"),
        };
        for (written, expected) in [
            ("5.170000000000001", json!(5.17)),
            ("0.30000000000000004", json!(0.3)),
            ("21.989", json!(21.989)),
            ("3.0", json!(3)),
            ("-0.1", json!(-0.1)),
            ("1E-3", json!(0.001)),
            ("9007199254740993", json!(9_007_199_254_740_993_u64)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.2345678901234568E+18", json!(1.234_567_890_123_46e18)),
            ("999999999999999.9", json!(1_000_000_000_000_000_u64)),
        ] {
            assert_eq!(value(written, Shown::Number, false), expected, "{written}");
        }
        for (written, shown, is_1904, expected) in [
            ("4006381333931", Shown::Padded(14), false, "04006381333931"),
            ("46173", Shown::Date, false, "2026-05-31"),
            ("44711", Shown::Date, true, "2026-05-31"),
            (
                "46173.33333333334",
                Shown::DateTime,
                false,
                "2026-05-31T08:00:00Z",
            ),
            ("0.6041666666666666", Shown::Time, false, "14:30:00"),
            ("0.6041666666666666", Shown::Time, true, "14:30:00"),
            ("0.5", Shown::DateTime, false, "12:00:00"),
            ("0.9999999999", Shown::Time, false, "24:00:00"),
            ("1.5", Shown::Duration, true, "36:00:00"),
            ("-0.25", Shown::Duration, true, "-06:00:00"),
            ("0.0000000116", Shown::Duration, false, "00:00:00.001"),
            ("46173.5", Shown::Time, false, "2026-05-31T12:00:00Z"),
            ("1", Shown::Date, false, "1900-01-01"),
            ("0", Shown::Date, true, "1904-01-01"),
            ("2958465", Shown::Date, false, "9999-12-31"),
        ] {
            assert_eq!(
                value(written, shown, is_1904),
                json!(expected),
                "{written} {shown:?}"
            );
        }
        for (written, shown) in [
            ("0", Shown::Date),
            ("60", Shown::Date),
            ("-1", Shown::DateTime),
            ("1e9", Shown::Date),
        ] {
            let cell = number(written, shown, false);
            assert!(
                matches!(cell, Some(Cell::Problem(_))),
                "{written}: {cell:?}"
            );
        }
        assert_eq!(number("many", Shown::Number, false), None);
    }

    #[test]
    fn percentages_keep_all_their_digits() {
        for (written, expected) in [("0.125", "12.5%"), ("0.07", "7%"), ("-1", "-100%")] {
            let shown = number(written, Shown::Percent, false);
            assert_eq!(shown, Some(Cell::text(expected.to_owned())), "{written}");
        }
    }

    #[test]
    fn iso_times_become_hours_minutes_and_seconds() {
        for (text, expected) in [
            ("PT14H30M00S", Some("14:30:00")),
            ("PT36H00M00.5S", Some("36:00:00.500")),
            ("P1DT1H", Some("25:00:00")),
            ("-PT1M", Some("-00:01:00")),
            ("P1Y", None),
            ("noon", None),
        ] {
            assert_eq!(of_iso(text).as_deref(), expected, "{text}");
        }
    }
}
