//! Exact arithmetic with decimal numbers: 1999 cents are 19.99 exactly.

use std::fmt;

use super::{exact, shortened};

/// A decimal number: `digits / 10^decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    decimals: i32,
}

/// How a number becomes one with fewer decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// To the nearest number; halves away from zero.
    Nearest,
    /// Up.
    Up,
    /// Down.
    Down,
}

/// What a number is multiplied by and divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Factor {
    /// Multiplied by first.
    pub(crate) multiply: Option<Decimal>,
    /// Divided by then.
    pub(crate) divide: Option<Decimal>,
}

/// More digits than any quotient needs to be rounded correctly, and few enough to calculate with.
const MAX_QUOTIENT: i128 = 10_i128.pow(30);

impl Decimal {
    /// Parses a plain number: digits, at most one `.`, at most one sign, at most one exponent.
    ///
    /// # Errors
    /// If it has too many digits.
    pub(crate) fn parse(plain: &str) -> Result<Self, String> {
        let too_long = || {
            format!(
                "{} has too many digits for exact arithmetic",
                shortened(plain)
            )
        };
        let (number, exponent) = plain.split_once(['e', 'E']).unwrap_or((plain, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| too_long())?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let decimals = decimals.trim_end_matches('0');
        let digits = format!("{whole}{decimals}");
        let digits = if digits.ends_with(|c: char| c.is_ascii_digit()) {
            digits.parse().map_err(|_| too_long())?
        } else {
            0
        };
        let decimals = i32::try_from(decimals.len()).map_err(|_| too_long())?;
        let decimals = decimals.checked_sub(exponent).ok_or_else(too_long)?;
        Ok(Self { digits, decimals })
    }

    /// The number of a setting, by the digits that its shortest spelling has; `None` unless it is
    /// one above 0.
    pub(crate) fn of_setting(value: &toml::Value) -> Option<Self> {
        let number = match value {
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) if number.is_finite() => number.to_string(),
            _ => return None,
        };
        let number = Self::parse(&number).ok()?;
        (number.digits > 0).then_some(number)
    }

    /// Returns true if this is 1.
    pub(crate) fn is_one(self) -> bool {
        self.digits == 1 && self.decimals == 0
    }

    /// The number with at most this many decimals.
    pub(crate) fn rounded(self, round: Round, decimals: u32) -> Self {
        let wanted = i32::try_from(decimals).unwrap_or(i32::MAX);
        let excess = self.decimals.saturating_sub(wanted);
        let Ok(excess @ 1..) = u32::try_from(excess) else {
            return self;
        };
        let power = 10_i128.checked_pow(excess);
        // Without a power, the number has fewer digits than decimals to leave out: it is nearly 0.
        let (digits, rest) = match power {
            Some(power) => (self.digits / power, self.digits % power),
            None => (0, self.digits),
        };
        let away = match round {
            Round::Nearest => power.is_some_and(|power| rest.abs() >= power - rest.abs()),
            Round::Up => rest > 0,
            Round::Down => rest < 0,
        };
        let step = if away { self.digits.signum() } else { 0 };
        Self {
            digits: digits + step,
            decimals: wanted,
        }
    }

    /// The nearest number that programs calculate with.
    ///
    /// # Errors
    /// If it is too large for one.
    pub(crate) fn to_number(self) -> Result<f64, String> {
        let text = format!("{}e{}", self.digits, -i64::from(self.decimals));
        let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
        exact(number).map_err(|reason| format!("{number} {reason}"))
    }

    fn times(self, other: Self) -> Option<Self> {
        Some(Self {
            digits: self.digits.checked_mul(other.digits)?,
            decimals: self.decimals.checked_add(other.decimals)?,
        })
    }

    /// The quotient. One that never ends has more digits than can be asked for, and does not end in
    /// a half.
    fn over(self, other: Self) -> Option<Self> {
        let mut digits = self.digits / other.digits;
        let mut rest = self.digits % other.digits;
        let mut decimals = self.decimals.checked_sub(other.decimals)?;
        while rest != 0 && digits.abs() < MAX_QUOTIENT {
            rest = rest.checked_mul(10)?;
            digits = digits * 10 + rest / other.digits;
            rest %= other.digits;
            decimals = decimals.checked_add(1)?;
        }
        if rest != 0 {
            digits = digits.checked_mul(10)?.checked_add(rest.signum())?;
            decimals = decimals.checked_add(1)?;
        }
        Some(Self { digits, decimals })
    }
}

impl Factor {
    /// Multiplies and divides a plain number.
    ///
    /// # Errors
    /// If it has too many digits.
    pub(crate) fn apply(self, plain: &str) -> Result<Decimal, String> {
        let number = Decimal::parse(plain)?;
        let product = match self.multiply {
            Some(multiply) => number.times(multiply),
            None => Some(number),
        };
        let quotient = match self.divide {
            Some(divide) => product.and_then(|product| product.over(divide)),
            None => product,
        };
        quotient.ok_or_else(|| {
            format!(
                "{} has too many digits for exact arithmetic",
                shortened(plain)
            )
        })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = self.digits.unsigned_abs().to_string();
        let sign = if self.digits < 0 { "-" } else { "" };
        let Ok(decimals @ 1..) = usize::try_from(self.decimals) else {
            if self.digits != 0 {
                let zeros = usize::try_from(self.decimals.unsigned_abs()).unwrap_or(0);
                digits.extend(std::iter::repeat_n('0', zeros));
            }
            return write!(f, "{sign}{digits}");
        };
        if digits.len() <= decimals {
            digits.insert_str(0, &"0".repeat(decimals + 1 - digits.len()));
        }
        let (whole, decimals) = digits.split_at(digits.len() - decimals);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{sign}{whole}"),
            decimals => write!(f, "{sign}{whole}.{decimals}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    fn factor(multiply: &str, divide: &str) -> Factor {
        let part = |text: &str| (!text.is_empty()).then(|| decimal(text));
        Factor {
            multiply: part(multiply),
            divide: part(divide),
        }
    }

    fn calculated(number: &str, multiply: &str, divide: &str) -> String {
        factor(multiply, divide).apply(number).unwrap().to_string()
    }

    #[test]
    fn decimals_are_multiplied_and_divided_exactly() {
        assert_eq!(calculated("1999", "0.01", ""), "19.99");
        assert_eq!(calculated("1999", "", "100"), "19.99");
        assert_eq!(calculated("-1.10", "3", ""), "-3.3");
        assert_eq!(calculated("0.1", "0.2", ""), "0.02");
        assert_eq!(calculated("5", "", "1000"), "0.005");
        assert_eq!(calculated("1e3", "2.54", ""), "2540");
        assert_eq!(calculated("15e-1", "2", ""), "3");
        assert_eq!(calculated("212", "5", "9"), calculated("1060", "", "9"));
        assert_eq!(calculated("0", "7", "3"), "0");
        assert_eq!(calculated(".5", "", "2"), "0.25");
    }

    #[test]
    fn quotients_without_end_are_rounded_as_if_they_had_all_digits() {
        let third = factor("", "3").apply("1").unwrap();
        assert_eq!(third.rounded(Round::Nearest, 2).to_string(), "0.33");
        assert_eq!(third.rounded(Round::Up, 2).to_string(), "0.34");
        assert_eq!(third.to_number(), Ok(1.0 / 3.0));
        // 0.005 and a bit: above the half, also when it is cut.
        let above = factor("", "199999999999999999").apply("1000000000000000");
        let above = above.unwrap().rounded(Round::Nearest, 2);
        assert_eq!(above.to_string(), "0.01");
    }

    #[test]
    fn numbers_are_rounded_at_their_decimals() {
        let rounded = |text: &str, round| decimal(text).rounded(round, 2).to_string();
        for (text, nearest, up, down) in [
            ("0.125", "0.13", "0.13", "0.12"),
            ("0.124", "0.12", "0.13", "0.12"),
            ("-0.125", "-0.13", "-0.12", "-0.13"),
            ("2.5", "2.5", "2.5", "2.5"),
            ("1e-60", "0", "0.01", "0"),
            ("3e4", "30000", "30000", "30000"),
        ] {
            let all = [Round::Nearest, Round::Up, Round::Down];
            assert_eq!(
                all.map(|round| rounded(text, round)),
                [nearest, up, down],
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_calculated_exactly_is_refused() {
        let long = "1".repeat(40);
        assert!(Decimal::parse(&long).is_err());
        assert!(
            factor("12345678901234567890", "")
                .apply(&long[..30])
                .is_err()
        );
        assert!(Decimal::parse("1e99999999999").is_err());
        assert!(decimal("1e20").to_number().is_err());
    }

    proptest! {
        #[test]
        fn dividing_by_what_was_multiplied_with_changes_nothing(
            number in -1_000_000_000_i64..1_000_000_000,
            decimals in 0_i32..6,
            by in 1_i64..1_000_000,
        ) {
            let number = Decimal { digits: number.into(), decimals };
            let by = Decimal { digits: by.into(), decimals: 3 };
            let there = number.times(by).unwrap();
            prop_assert_eq!(there.over(by).unwrap().to_string(), number.to_string());
        }

        #[test]
        fn any_number_is_calculated_with_without_panic(
            number in "-?[0-9]{1,40}(\\.[0-9]{1,40})?(e-?[0-9]{1,9})?",
            by in "[0-9]{0,18}[1-9](e-?[0-9]{1,9})?",
        ) {
            if let (Ok(_), Ok(by)) = (Decimal::parse(&number), Decimal::parse(&by)) {
                for factor in [
                    Factor { multiply: Some(by), divide: None },
                    Factor { multiply: None, divide: Some(by) },
                ] {
                    if let Ok(result) = factor.apply(&number) {
                        let _ = (result.rounded(Round::Nearest, 2), result.to_number());
                    }
                }
            }
        }
    }
}
