//! Money: a whole number of minor units and the currency that says what they are.

use std::fmt;

use iso_currency::Currency as Iso;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// A currency by its ISO 4217 code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency([u8; 3]);

/// Why a text is not a currency or an amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMoney {
    /// Not an ISO 4217 code.
    #[error("{0:?} is not an ISO 4217 currency code such as EUR")]
    Currency(String),
    /// Not a decimal number.
    #[error("{0:?} is not a decimal number such as 19.99")]
    Amount(String),
    /// More decimals than the currency has.
    #[error("{amount} has more decimals than {currency} allows ({decimals})")]
    Decimals {
        /// The amount given.
        amount: Decimal,
        /// Its currency.
        currency: Currency,
        /// The number of decimals of the currency.
        decimals: u32,
    },
    /// Negative, or above [`Money::MAX`].
    #[error("{0} is out of range: 0 up to 9 * 10^15 minor units")]
    Range(Decimal),
}

impl Currency {
    /// Reads a three-letter code, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidMoney::Currency`] if ISO 4217 has no such code.
    pub fn parse(code: &str) -> Result<Self, InvalidMoney> {
        let upper = code.trim().to_ascii_uppercase();
        let known = Iso::from_code(&upper).ok_or(InvalidMoney::Currency(upper))?;
        let mut bytes = [0; 3];
        bytes.copy_from_slice(known.code().as_bytes());
        Ok(Self(bytes))
    }

    /// Returns the code: three upper-case letters.
    #[must_use]
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("made of ASCII letters")
    }

    /// The number of decimals of an amount: 2 for EUR, 0 for JPY, 3 for KWD.
    #[must_use]
    pub fn decimals(&self) -> u32 {
        Iso::from_code(self.code())
            .and_then(Iso::exponent)
            .map_or(0, u32::from)
    }
}

impl TryFrom<String> for Currency {
    type Error = InvalidMoney;
    fn try_from(code: String) -> Result<Self, InvalidMoney> {
        Self::parse(&code)
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.code().to_owned()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A non-negative amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Money {
    /// The amount in minor units: 1999 is 19.99 EUR.
    pub minor: i64,
    /// The currency.
    pub currency: Currency,
}

impl Money {
    /// The maximum amount in minor units: exact in every client's number type.
    pub const MAX: i64 = 9_000_000_000_000_000;

    /// Reads a decimal amount, `19.99`.
    ///
    /// # Errors
    /// [`InvalidMoney`] if it is not a decimal number, negative, too large, or finer than the
    /// currency's minor unit.
    pub fn parse(amount: &str, currency: Currency) -> Result<Self, InvalidMoney> {
        let decimal: Decimal = amount
            .trim()
            .parse()
            .map_err(|_| InvalidMoney::Amount(amount.to_owned()))?;
        let minor = minor_units(decimal, currency)?;
        Ok(Self { minor, currency })
    }

    /// The amount as a decimal number with the currency's number of decimals.
    #[must_use]
    pub fn amount(&self) -> Decimal {
        Decimal::new(self.minor, self.currency.decimals())
    }
}

/// Converts a decimal amount to minor units of the currency.
///
/// # Errors
/// [`InvalidMoney`] if it is negative, too large, or finer than the currency's minor unit.
pub fn minor_units(amount: Decimal, currency: Currency) -> Result<i64, InvalidMoney> {
    let decimals = currency.decimals();
    if amount.normalize().scale() > decimals {
        return Err(InvalidMoney::Decimals {
            amount,
            currency,
            decimals,
        });
    }
    let scale = Decimal::from(10_i64.pow(decimals));
    let minor = amount
        .checked_mul(scale)
        .and_then(|n| i64::try_from(n).ok());
    minor
        .filter(|n| (0..=Money::MAX).contains(n))
        .ok_or(InvalidMoney::Range(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_follow_the_currency() {
        let eur = Currency::parse("eur").unwrap();
        assert_eq!(Money::parse("19.990", eur).unwrap().minor, 1999);
        assert_eq!(
            Money::parse("19.9", eur).unwrap().amount().to_string(),
            "19.90"
        );
        let jpy = Currency::parse("JPY").unwrap();
        assert_eq!(
            Money::parse("1200", jpy).unwrap().amount().to_string(),
            "1200"
        );
        assert!(matches!(
            Money::parse("1.5", jpy),
            Err(InvalidMoney::Decimals { .. })
        ));
        assert!(matches!(
            Money::parse("-1", eur),
            Err(InvalidMoney::Range(_))
        ));
        assert!(matches!(
            Money::parse("1e400", eur),
            Err(InvalidMoney::Amount(_))
        ));
        assert!(Currency::parse("EURO").is_err());
    }
}
