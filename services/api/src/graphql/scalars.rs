//! The custom scalars. All are strings on the wire.

use async_graphql::{
    Context, InputValueError, InputValueResult, Scalar, ScalarType, ServerResult, Value,
};
use rust_decimal::Decimal as Number;
use vitrine_model::clock::{InvalidTimestamp, Timestamp};

use crate::execution::direct::{DirectValue, Out, Plans, Selected};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateTime(pub(crate) Timestamp);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal(pub(crate) Number);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url(pub(crate) String);

/// Parses a date and time, or a calendar day as its start in UTC.
pub(crate) fn instant(text: &str) -> Result<Timestamp, InvalidTimestamp> {
    Timestamp::parse(text).or_else(|_| Timestamp::parse_day(text))
}

/// Parses a number as XML Schema writes decimals: digits with a sign and a point, and no exponent.
pub(crate) fn decimal(text: &str) -> Result<Number, String> {
    let is_decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.');
    let number = text.bytes().all(is_decimal).then(|| text.parse().ok());
    number
        .flatten()
        .ok_or_else(|| "not a decimal number such as 19.99".to_owned())
}

/// A date and time in the format of RFC 3339, in UTC with milliseconds: `2026-05-31T12:00:00.000Z`.
/// An input needs an offset, which may be any; a calendar day, such as `2026-05-31`, means its start in UTC.
#[Scalar(
    name = "DateTime",
    specified_by_url = "https://scalars.graphql.org/andimarek/date-time.html"
)]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        let text = string(&value)?;
        instant(text)
            .map(Self)
            .map_err(|error| InputValueError::custom(error.to_string()))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// A decimal number as a string, so that no digits are lost: `"19.99"`. It has no exponent.
#[Scalar(
    name = "Decimal",
    specified_by_url = "https://www.w3.org/TR/xmlschema11-2/#decimal"
)]
impl ScalarType for Decimal {
    fn parse(value: Value) -> InputValueResult<Self> {
        decimal(string(&value)?)
            .map(Self)
            .map_err(InputValueError::custom)
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// An absolute URL.
#[Scalar(
    name = "URL",
    specified_by_url = "https://www.rfc-editor.org/rfc/rfc3986"
)]
impl ScalarType for Url {
    fn parse(value: Value) -> InputValueResult<Self> {
        string(&value).map(|text| Self(text.to_owned()))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

impl DirectValue for DateTime {
    fn is_direct(_: Selected<'_>) -> bool {
        true
    }

    fn write(&self, _: &Context<'_>, _: &Plans, out: &mut Out) -> ServerResult<()> {
        out.display(self.0);
        Ok(())
    }
}

impl DirectValue for Decimal {
    fn is_direct(_: Selected<'_>) -> bool {
        true
    }

    fn write(&self, _: &Context<'_>, _: &Plans, out: &mut Out) -> ServerResult<()> {
        out.display(self.0);
        Ok(())
    }
}

impl DirectValue for Url {
    fn is_direct(_: Selected<'_>) -> bool {
        true
    }

    fn write(&self, _: &Context<'_>, _: &Plans, out: &mut Out) -> ServerResult<()> {
        out.text(&self.0);
        Ok(())
    }
}

fn string<T: async_graphql::InputType>(value: &Value) -> Result<&str, InputValueError<T>> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(InputValueError::custom("must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_digits_a_sign_and_a_point() {
        for text in ["19.99", "-1", "+0.5", "100"] {
            assert!(decimal(text).is_ok(), "{text}");
        }
        for text in ["1e3", "1E3", "1_000", "", "-", "NaN", "1,5", " 1"] {
            assert!(decimal(text).is_err(), "{text}");
        }
    }
}
