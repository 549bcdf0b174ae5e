//! Which pattern the dates of a column have.

/// Shapes of dates and the patterns that read them: `Y` is a year, `D` one or two digits, `M` the
/// name of a month.
const PATTERNS: [(&str, &str); 29] = [
    ("Y-D-D D:D:D UTC", "%Y-%m-%d %H:%M:%S UTC"),
    ("Y-D-D D:D:D", "%Y-%m-%d %H:%M:%S"),
    ("Y-D-D D:D", "%Y-%m-%d %H:%M"),
    ("Y/D/D", "%Y/%m/%d"),
    ("Y/D/D D:D:D", "%Y/%m/%d %H:%M:%S"),
    ("Y.D.D", "%Y.%m.%d"),
    ("D.D.Y", "%d.%m.%Y"),
    ("D.D.Y D:D", "%d.%m.%Y %H:%M"),
    ("D.D.Y, D:D", "%d.%m.%Y, %H:%M"),
    ("D.D.Y D:D:D", "%d.%m.%Y %H:%M:%S"),
    ("D.D.D", "%d.%m.%y"),
    ("D/D/D", "%d/%m/%y"),
    ("D/D/D", "%m/%d/%y"),
    ("D-D-Y", "%d-%m-%Y"),
    ("D-D-Y D:D", "%d-%m-%Y %H:%M"),
    ("D/D/Y", "%d/%m/%Y"),
    ("D/D/Y", "%m/%d/%Y"),
    ("D/D/Y D:D", "%d/%m/%Y %H:%M"),
    ("D/D/Y D:D", "%m/%d/%Y %H:%M"),
    ("D/D/Y D:D:D", "%d/%m/%Y %H:%M:%S"),
    ("D/D/Y D:D:D", "%m/%d/%Y %H:%M:%S"),
    ("M D Y", "%b %d %Y"),
    ("M D, Y", "%b %d, %Y"),
    ("D M Y", "%d %b %Y"),
    ("D-M-Y", "%d-%b-%Y"),
    ("L D Y", "%B %d %Y"),
    ("L D, Y", "%B %d, %Y"),
    ("D L Y", "%d %B %Y"),
    ("D. L Y", "%d. %B %Y"),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// How the dates of a column are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dates {
    /// The patterns; none where the values are read without one.
    pub(super) patterns: Vec<&'static str>,
    /// Whether the day may be the month.
    pub(super) unsure: bool,
}

impl Dates {
    /// How these values are read, if all are dates.
    pub(super) fn of<'v>(values: impl Iterator<Item = &'v str>) -> Option<Self> {
        let values: Vec<&str> = values.collect();
        if values.is_empty() {
            return None;
        }
        let unknown = |value: &&str| value.contains("-00");
        if values.iter().all(|value| is_iso(value)) && !values.iter().any(unknown) {
            return Some(Self {
                patterns: Vec::new(),
                unsure: false,
            });
        }
        if are_partial(&values) {
            return Some(Self {
                patterns: vec!["partial"],
                unsure: false,
            });
        }
        let mut patterns: Vec<&'static str> = Vec::new();
        let mut unsure = false;
        for shape in shapes(&values) {
            let fits = |(_, pattern): &&(&str, &str)| {
                let of_shape = values.iter().filter(|value| self::shape(value) == shape);
                of_shape.clone().all(|value| has_days(value, pattern))
            };
            let found: Vec<_> = PATTERNS
                .iter()
                .filter(|(known, _)| *known == shape)
                .filter(fits)
                .collect();
            unsure |= found.len() > 1;
            patterns.push(found.first()?.1);
        }
        Some(Self { patterns, unsure })
    }

    /// What is unsure about them.
    pub(super) fn remark(&self) -> Option<&'static str> {
        if self.unsure {
            Some("the day may be the month")
        } else if self.patterns == ["partial"] {
            Some("years and months without a day become their first day")
        } else {
            None
        }
    }
}

/// Returns true for days of which some lack the day or the month.
fn are_partial(values: &[&str]) -> bool {
    let shapes: Vec<String> = values.iter().map(|value| shape(value)).collect();
    let known = shapes
        .iter()
        .all(|shape| ["Y", "Y-D", "Y-D-D"].contains(&shape.as_str()));
    known && shapes.iter().any(|shape| shape != "Y")
}

fn shapes(values: &[&str]) -> Vec<String> {
    let mut shapes: Vec<String> = Vec::new();
    for value in values {
        let shape = shape(value);
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

/// The shape of a text.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let same = |c: char| {
            if is_digit {
                c.is_ascii_digit()
            } else {
                c.is_alphabetic()
            }
        };
        let end = rest
            .find(|c| !same(c))
            .unwrap_or(rest.len())
            .max(first.len_utf8());
        let (piece, after) = rest.split_at(end);
        match piece.len() {
            4 if is_digit => shape.push('Y'),
            1 | 2 if is_digit => shape.push('D'),
            // The end of a number that is counted: 4th.
            2 if shape.ends_with('D') && ["st", "nd", "rd", "th"].contains(&piece) => {}
            _ => shape.push_str(month(piece).unwrap_or(piece)),
        }
        rest = after;
    }
    shape
}

/// The sign for the name of a month: short, or as a whole.
fn month(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let mut months = MONTHS.iter();
    if MONTHS.contains(&word.as_str()) {
        return Some("L");
    }
    (word.len() == 3 && months.any(|month| month.starts_with(&word))).then_some("M")
}

/// Whether a date with numbers has a month of the year by a pattern.
fn has_days(value: &str, pattern: &str) -> bool {
    let numbers: Vec<u32> = value
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let are_days = |month: &u32, day: &u32| (1..=12).contains(month) && (1..=31).contains(day);
    // 5.1.2 is the number of a version.
    let mut pieces = value.split(|c: char| !c.is_ascii_digit());
    let is_short = !pattern.ends_with("%y")
        || (pieces
            .clone()
            .next_back()
            .is_some_and(|year| year.len() == 2)
            && (value.contains('/') || pieces.all(|digits| digits.len() == 2)));
    is_short
        && match (pattern.get(..2), numbers.as_slice()) {
            (Some("%d"), [day, month, ..]) if pattern.contains("%m") => are_days(month, day),
            (Some("%m"), [month, day, ..]) => are_days(month, day),
            _ => true,
        }
}

/// Returns true for a day, or an instant that begins with one: `2026-05-31T12:00:00Z`.
pub(super) fn is_iso(text: &str) -> bool {
    let shape = shape(text);
    let instant = shape.strip_prefix("Y-D-DTD:D:D");
    let is_instant = instant.is_some_and(|rest| {
        rest.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | ':'))
    });
    text.len() >= 10 && (shape == "Y-D-D" || is_instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(values: &[&str]) -> Option<(Vec<&'static str>, bool)> {
        let dates = Dates::of(values.iter().copied())?;
        Some((dates.patterns, dates.unsure))
    }

    #[test]
    fn patterns_are_found_by_the_shape_of_the_values() {
        let one = |pattern| Some((vec![pattern], false));
        assert_eq!(
            patterns(&["2026-05-31", "2026-05-31T12:00:00.5Z"]),
            Some((vec![], false))
        );
        assert_eq!(
            patterns(&["2026-01-05 10:11:12 UTC"]),
            one("%Y-%m-%d %H:%M:%S UTC")
        );
        assert_eq!(patterns(&["31.5.2026", "01.12.2026"]), one("%d.%m.%Y"));
        assert_eq!(patterns(&["31/05/2026"]), one("%d/%m/%Y"));
        assert_eq!(patterns(&["05/31/2026", "01/02/2026"]), one("%m/%d/%Y"));
        assert_eq!(patterns(&["05/06/2026"]), Some((vec!["%d/%m/%Y"], true)));
        assert_eq!(patterns(&["31/12/25", "01/02/24"]), one("%d/%m/%y"));
        assert_eq!(patterns(&["31.12.25"]), one("%d.%m.%y"));
        assert_eq!(patterns(&["1/15/26", "12/5/25"]), one("%m/%d/%y"));
        assert_eq!(patterns(&["10/20/30", "40/50/60"]), None);
        assert_eq!(patterns(&["5.1.2"]), None);
        assert_eq!(patterns(&["Jun 12 1998"]), one("%b %d %Y"));
        assert_eq!(
            patterns(&["April 4th, 2015", "May 31st, 2010"]),
            one("%B %d, %Y")
        );
        assert_eq!(patterns(&["1999-03-00", "2001"]), one("partial"));
        assert_eq!(patterns(&["1999", "2001"]), None);
        assert_eq!(patterns(&["soon"]), None);
        assert_eq!(patterns(&["12"]), None);
    }
}
