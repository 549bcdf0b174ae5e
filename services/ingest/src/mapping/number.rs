//! Numbers in feeds.

mod decimal;

pub(crate) use decimal::{Decimal, Factor, Round};

/// The format of numbers in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    /// The decimal separator.
    pub(crate) decimal: char,
    /// The separator of groups of three digits; a blank stands for any white space.
    pub(crate) thousands: Option<char>,
}

impl Default for NumberFormat {
    fn default() -> Self {
        Self {
            decimal: '.',
            thousands: None,
        }
    }
}

/// The largest integer that no other integer becomes as `f64`, 2^53 - 1.
pub(crate) const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// Signs that people write for a minus: the minus sign of typography, and an en dash.
const MINUS: [char; 2] = ['\u{2212}', '\u{2013}'];

impl NumberFormat {
    /// Normalises a number: digits, at most one `.`, at most one leading `-`, at most one exponent.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn plain(self, text: &str) -> Result<String, String> {
        let minus = text.contains(MINUS).then(|| text.replace(MINUS, "-"));
        let ungrouped = self.ungroup(minus.as_deref().unwrap_or(text).trim())?;
        let plain = ungrouped.replace(self.decimal, ".");
        let foreign = self.decimal != '.' && ungrouped.contains('.');
        if foreign || !is_number(&plain) {
            return Err(format!(
                "{:?} is not a number{}",
                shortened(text),
                self.example()
            ));
        }
        Ok(plain)
    }

    /// Parses a number.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse(self, text: &str) -> Result<f64, String> {
        let plain = self.plain(text)?;
        let number: f64 = plain
            .parse()
            .map_err(|_| format!("{:?} is not a number", shortened(text)))?;
        exact(number).map_err(|reason| format!("{} {reason}", shortened(text)))
    }

    /// Returns true if a text is a number.
    pub(crate) fn is_number(self, text: &str) -> bool {
        // Most other texts end in a letter. They are told apart without making a reason that nobody reads.
        let other = |c: char| c.is_alphabetic() && c != self.decimal && Some(c) != self.thousands;
        !text.ends_with(other) && self.parse(text).is_ok()
    }

    /// Removes the group separators. Each must precede exactly three digits; before the first are one
    /// to three, without a leading zero: otherwise `0.375` would be 375 where a dot separates groups.
    fn ungroup(self, text: &str) -> Result<String, String> {
        let Some(thousands) = self.thousands else {
            return Ok(text.to_owned());
        };
        let is_separator = |c: char| c == thousands || (thousands == ' ' && c.is_whitespace());
        let whole = text.split(self.decimal).next().unwrap_or(text);
        let digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
        let mut groups = whole.split(is_separator);
        let first = groups.next().unwrap_or_default();
        let first = first.strip_prefix(['-', '+']).unwrap_or(first);
        let mut groups = groups.peekable();
        let begins = matches!(first.len(), 1..=3) && digits(first) && !first.starts_with('0');
        let grouped = groups.peek().is_none()
            || (begins && groups.all(|group| group.len() == 3 && digits(group)));
        let later = text[whole.len()..].contains(is_separator);
        if grouped && !later {
            Ok(text.replace(is_separator, ""))
        } else {
            Err(format!(
                "{:?} has {thousands:?}, but not between groups of three digits{}",
                shortened(text),
                self.example()
            ))
        }
    }

    fn example(self) -> String {
        match (self.decimal, self.thousands) {
            ('.', None) => String::new(),
            (decimal, None) => format!(" such as 1{decimal}5"),
            (decimal, Some(thousands)) => format!(" such as 1{thousands}234{decimal}5"),
        }
    }
}

/// Fails for numbers that are not finite, or too large to be exact.
pub(crate) fn exact(number: f64) -> Result<f64, String> {
    if !number.is_finite() {
        Err("is too large for a number".to_owned())
    } else if number.abs() > MAX_EXACT {
        Err("is too large to be stored exactly; map it as text".to_owned())
    } else {
        Ok(number)
    }
}

fn is_number(text: &str) -> bool {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole)
        && all_digits(decimals)
        && !(whole.is_empty() && decimals.is_empty())
        && all_digits(exponent)
        && !exponent.is_empty()
}

/// Shortens a text for messages.
#[must_use]
pub fn shortened(text: &str) -> String {
    const MAX_SHOWN_CHARACTERS: usize = 60;
    let cut: String = text.chars().take(MAX_SHOWN_CHARACTERS).collect();
    if cut.len() < text.len() {
        cut + "…"
    } else {
        cut
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GERMAN: NumberFormat = NumberFormat {
        decimal: ',',
        thousands: Some('.'),
    };

    #[test]
    fn numbers_are_read_in_all_formats() {
        let plain = NumberFormat::default();
        assert_eq!(plain.parse(" 1.50 "), Ok(1.5));
        assert_eq!(plain.parse("-.5"), Ok(-0.5));
        assert_eq!(plain.parse("1e3"), Ok(1000.0));
        assert_eq!(GERMAN.parse("1.234,50"), Ok(1234.5));
        assert_eq!(GERMAN.parse("12.345.678"), Ok(12_345_678.0));
        let swiss = NumberFormat {
            decimal: '.',
            thousands: Some('\''),
        };
        assert_eq!(swiss.parse("1'234.5"), Ok(1234.5));
        let french = NumberFormat {
            decimal: ',',
            thousands: Some(' '),
        };
        assert_eq!(french.parse("1\u{202f}234,5"), Ok(1234.5));
        assert_eq!(french.parse(",33"), Ok(0.33));
        assert_eq!(plain.parse("\u{2212}5"), Ok(-5.0));
        assert_eq!(GERMAN.parse("\u{2212}1.234,5"), Ok(-1234.5));
        assert_eq!(plain.parse("2e\u{2212}3"), Ok(0.002));
    }

    #[test]
    fn other_text_is_not_a_number() {
        let plain = NumberFormat::default();
        for text in [
            "",
            "NaN",
            "inf",
            "1,5",
            "1e400",
            "0x10",
            "1 000",
            "--1",
            "1.2.3",
            "1e",
            "٣",
            "9007199254740993e1",
        ] {
            assert!(plain.parse(text).is_err(), "{text}");
        }
        for text in [
            "1.5", "1.2345", "1,234.5", "1,5.000", "0.375", "000.375", ".375", "-.375", "01.234",
            "1234.567", "-0.375",
        ] {
            assert!(GERMAN.parse(text).is_err(), "{text}");
        }
        assert_eq!(GERMAN.parse("-1.234"), Ok(-1234.0));
        assert_eq!(GERMAN.parse("0,375"), Ok(0.375));
    }

    #[test]
    fn integers_are_exact_or_refused() {
        let plain = NumberFormat::default();
        assert_eq!(plain.parse("9007199254740991"), Ok(MAX_EXACT));
        assert_eq!(plain.parse("-9007199254740991"), Ok(-MAX_EXACT));
        for text in [
            "9007199254740992",
            "9007199254740993",
            "-9007199254740993",
            "9007199254740991.7",
        ] {
            assert!(plain.parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn numbers_survive_a_round_trip(number in -1e12_f64..1e12) {
            prop_assert_eq!(NumberFormat::default().parse(&number.to_string()), Ok(number));
            let german = number.to_string().replace('.', ",");
            prop_assert_eq!(GERMAN.parse(&german), Ok(number));
        }

        #[test]
        fn any_other_text_is_refused_without_panic(text in ".{0,12}") {
            if let Ok(number) = GERMAN.parse(&text) { prop_assert!(number.is_finite()); }
        }

        #[test]
        fn a_number_is_what_can_be_read(text in "[-+0-9.,ex ]{0,8}") {
            for numbers in [GERMAN, NumberFormat { decimal: 'x', thousands: Some('e') }] {
                prop_assert_eq!(numbers.is_number(&text), numbers.parse(&text).is_ok());
            }
        }
    }
}
