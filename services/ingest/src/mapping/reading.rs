//! Reading a value of a row: markers for unknown values, cleaning of text, translations of words,
//! and the formats of numbers, dates and booleans.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use vitrine_model::clock::Timestamp;
use vitrine_model::money::{Currency, InvalidMoney, Money};

use super::clean::{Clean, Html};
use super::date::{self, DateFormat};
use super::number::{self, Factor, NumberFormat, Round, shortened};
use super::uses::Uses;

mod settings;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use words::same;

/// What happens to a line with an invalid value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnBad {
    /// The whole line is rejected.
    #[default]
    RejectLine,
    /// The value is dropped, and reported.
    DropValue,
    /// The value is dropped silently; for second readings of values that are also read otherwise.
    Ignore,
    /// The next field of a list is read. The line is rejected if none of those that follow has a
    /// value.
    NextField,
}

impl OnBad {
    /// Returns true if the value is left out.
    pub(crate) fn drops(self) -> bool {
        matches!(self, Self::DropValue | Self::Ignore)
    }

    /// What happens if no field follows.
    pub(crate) fn of_last(self) -> Self {
        match self {
            Self::NextField => Self::RejectLine,
            other => other,
        }
    }
}

/// How a value is read, as determined by the settings of a field or a rule.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    unknown: Vec<toml::Value>,
    words: HashMap<String, String>,
    otherwise: Option<String>,
    spellings: HashMap<String, String>,
    replace: Vec<(String, String)>,
    replace_start: Vec<(String, String)>,
    clean: Clean,
    html: Html,
    numbers: NumberFormat,
    dates: Vec<DateFormat>,
    yes: Vec<String>,
    no: Vec<String>,
    min: Option<f64>,
    max: Option<f64>,
    factor: Option<Factor>,
    /// Why `multiply` and `divide` are refused, if they have no effect on the value.
    no_factor: Option<&'static str>,
    round: Option<Round>,
    /// What happens if the value is invalid.
    pub(crate) on_bad: OnBad,
    /// Whether the mapping says so.
    on_bad_is_set: bool,
    /// Why `on_bad` is refused, if it has no effect on the value.
    no_on_bad: Option<&'static str>,
    /// Whether another field of a list follows, for `NextField`.
    followed: bool,
    /// The paths of the mapping that this is a part of.
    pub(crate) uses: Uses,
}

/// A value before it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'v> {
    /// As the feed has it.
    Raw(&'v Value),
    /// A part of a text whose replacements and HTML are done.
    Plain(&'v str),
}

impl<'v> From<&'v Value> for Given<'v> {
    fn from(raw: &'v Value) -> Self {
        Self::Raw(raw)
    }
}

/// A value of the feed, in the feed's type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'v> {
    /// Text, cleaned; not empty.
    Text(Cow<'v, str>),
    /// A number.
    Number(f64),
    /// A whole number that is too large to be one, with all its digits.
    Large(String),
    /// A boolean.
    Boolean(bool),
}

const NO_NUMBER: &str = "has no effect: it is for numbers, which are the amounts of prices, ratings, votes, \
                         details with type = \"number\", and what rules for specs read";

impl Default for Reading {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            unknown: Vec::new(),
            words: HashMap::new(),
            otherwise: None,
            spellings: HashMap::new(),
            replace: Vec::new(),
            replace_start: Vec::new(),
            clean: Clean::default(),
            html: Html::default(),
            numbers: NumberFormat::default(),
            dates: DateFormat::DEFAULT.to_vec(),
            yes: words(&["true", "yes", "y", "1"]),
            no: words(&["false", "no", "n", "0"]),
            min: None,
            max: None,
            factor: None,
            no_factor: Some(NO_NUMBER),
            round: None,
            on_bad: OnBad::default(),
            on_bad_is_set: false,
            no_on_bad: None,
            followed: false,
            uses: Uses::default(),
        }
    }
}

impl Reading {
    /// Returns this reading with line breaks kept, unless the mapping specifies another cleaning.
    pub(super) fn keeping_lines(&self) -> Self {
        let mut reading = self.clone();
        if reading.clean == Clean::Collapse {
            reading.clean = Clean::Lines;
        }
        reading
    }

    /// Returns this reading with bad values left out, unless the mapping says what they cost.
    pub(super) fn dropping_bad(&self) -> Self {
        let mut reading = self.clone();
        if !reading.on_bad_is_set {
            reading.on_bad = OnBad::DropValue;
        }
        reading
    }

    /// Returns this reading for values whose `on_bad` has no effect, for this reason: setting it is
    /// refused.
    pub(super) fn refusing_on_bad(&self, reason: &'static str) -> Self {
        let no_on_bad = self.no_on_bad.or(Some(reason));
        Self {
            no_on_bad,
            ..self.clone()
        }
    }

    /// Returns this reading for a field of a list that another one follows.
    pub(super) fn followed(&self) -> Self {
        Self {
            followed: true,
            ..self.clone()
        }
    }

    /// Returns this reading for a field that nothing follows.
    pub(super) fn last(&self) -> Self {
        Self {
            followed: false,
            on_bad: self.on_bad.of_last(),
            ..self.clone()
        }
    }

    /// Returns true if another field of a list follows.
    pub(super) fn is_followed(&self) -> bool {
        self.followed
    }

    /// Returns these readings for the fields of a list: all but the last are followed by others.
    pub(super) fn of_list(&self, length: usize) -> impl Iterator<Item = Self> {
        let followed = std::iter::repeat_n(self.followed(), length.saturating_sub(1));
        followed.chain([self.clone()])
    }

    /// Returns this reading for numbers, which can be multiplied and divided.
    pub(super) fn of_numbers(&self) -> Self {
        Self {
            no_factor: None,
            ..self.clone()
        }
    }

    /// Returns this reading for values whose `multiply` and `divide` have no effect, for this
    /// reason: setting them is refused.
    pub(super) fn refusing_factor(&self, reason: &'static str) -> Self {
        Self {
            no_factor: Some(reason),
            ..self.clone()
        }
    }

    /// Returns this reading for the items inside of lists with these names, from the outermost.
    pub(super) fn inside(&self, lists: Vec<String>) -> Self {
        Self {
            uses: self.uses.inside(lists),
            ..self.clone()
        }
    }

    /// Returns this reading for rows that are not of the feed, whose paths are their own.
    pub(super) fn of_other_rows(&self) -> Self {
        Self {
            uses: Uses::default(),
            ..self.clone()
        }
    }

    /// Returns true if a value is known; a list or an object is, unless it is empty.
    pub(crate) fn is_known(&self, raw: &Value) -> bool {
        match raw {
            Value::Array(items) => !items.is_empty(),
            Value::Object(object) => !object.is_empty(),
            raw => self.scalar(raw).is_ok_and(|scalar| scalar.is_some()),
        }
    }

    /// Reads a value; `None` if it is unknown.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(crate) fn scalar<'v>(
        &self,
        given: impl Into<Given<'v>>,
    ) -> Result<Option<Scalar<'v>>, String> {
        let raw = match given.into() {
            Given::Raw(raw) => raw,
            Given::Plain(text) if self.is_unknown_number(text) => return Ok(None),
            Given::Plain(text) => return self.cleaned(Cow::Borrowed(text)),
        };
        match raw {
            Value::Null => Ok(None),
            _ if self.is_unknown(raw) => Ok(None),
            Value::String(text) => self.cleaned(self.plain(text)),
            Value::Array(_) => Err(
                "is a list instead of a single value; `list` or `each` takes its items".to_owned(),
            ),
            Value::Object(_) => Err("is an object instead of a single value".to_owned()),
            other if self.translates() => self.cleaned(Cow::Owned(to_text(other)?)),
            Value::Bool(value) => Ok(Some(Scalar::Boolean(*value))),
            Value::Number(number) => {
                let float = number.as_f64().ok_or("is a number that cannot be stored")?;
                let is_large = !number.is_f64() && number::exact(float).is_err();
                Ok(Some(if is_large {
                    Scalar::Large(number.to_string())
                } else {
                    Scalar::Number(float)
                }))
            }
        }
    }

    /// Reads a value as text.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(crate) fn text<'v>(
        &self,
        given: impl Into<Given<'v>>,
    ) -> Result<Option<Cow<'v, str>>, String> {
        let given = given.into();
        let scalar = self.scalar(given)?;
        scalar.map(|scalar| text_of(scalar, given)).transpose()
    }

    /// Reads a scalar as a number within the limits, rounded if the settings say so.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(crate) fn number(&self, scalar: &Scalar<'_>) -> Result<f64, String> {
        self.unrounded(scalar).map(|number| self.rounded(number))
    }

    /// Reads a scalar as a number within the limits, multiplied and divided.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(crate) fn unrounded(&self, scalar: &Scalar<'_>) -> Result<f64, String> {
        let number = match scalar {
            Scalar::Number(number) => *number,
            Scalar::Large(digits) => {
                let number = digits.parse().unwrap_or(f64::INFINITY);
                return number::exact(number).map_err(|reason| format!("{digits} {reason}"));
            }
            Scalar::Text(text) => self.numbers.parse(text)?,
            Scalar::Boolean(value) => return Err(format!("is {value} instead of a number")),
        };
        let number = number::exact(number).map_err(|reason| format!("{number} {reason}"))?;
        self.within(number)?;
        let Some(factor) = self.factor else {
            return Ok(number);
        };
        let calculated = match scalar {
            Scalar::Text(text) => factor.apply(&self.numbers.plain(text)?),
            _ => factor.apply(&number.to_string()),
        };
        calculated?.to_number()
    }

    /// Returns true if numbers are multiplied or divided.
    pub(crate) fn calculates(&self) -> bool {
        self.factor.is_some()
    }

    /// Checks that a text is only a number; limits do not apply.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn bare_number(&self, text: &str) -> Result<f64, String> {
        self.numbers.parse(text)
    }

    /// Returns true if a text is only a number; limits do not apply.
    pub(crate) fn is_bare_number(&self, text: &str) -> bool {
        self.numbers.is_number(text)
    }

    /// Reads a text as an amount of money within the limits, multiplied, divided and rounded.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(crate) fn money(
        &self,
        text: &str,
        currency: &dyn Fn() -> Result<Currency, String>,
    ) -> Result<Money, String> {
        let plain = self.numbers.plain(text)?;
        if let Ok(number) = plain.parse() {
            self.within(number)?;
        }
        let currency = currency()?;
        let mut amount = plain.clone();
        if self.factor.is_some() || self.round.is_some() {
            let mut calculated = self.factor.unwrap_or_default().apply(&plain)?;
            if let Some(round) = self.round {
                calculated = calculated.rounded(round, currency.decimals());
            }
            amount = calculated.to_string();
        }
        Money::parse(&amount, currency).map_err(|error| {
            let becomes = self.factor.map(|_| format!("{plain} becomes {amount}: "));
            let finer = matches!(error, InvalidMoney::Decimals { .. });
            let hint = if finer {
                "; round says which amount to take instead"
            } else {
                ""
            };
            format!("{}{error}{hint}", becomes.unwrap_or_default())
        })
    }

    /// Checks that a number is within the limits.
    fn within(&self, number: f64) -> Result<(), String> {
        match (self.min, self.max) {
            (Some(min), _) if number < min => Err(format!("{number} is below {min}")),
            (_, Some(max)) if number > max => Err(format!("{number} is above {max}")),
            _ => Ok(()),
        }
    }

    /// Rounds a number, if the settings say so.
    pub(crate) fn rounded(&self, number: f64) -> f64 {
        match self.round {
            None => number,
            Some(Round::Nearest) => number.round(),
            Some(Round::Up) => number.ceil(),
            Some(Round::Down) => number.floor(),
        }
    }

    /// Reads a scalar as a boolean.
    ///
    /// # Errors
    /// The accepted words.
    #[expect(clippy::float_cmp, reason = "exactly 1 and 0 mean yes and no")]
    pub(crate) fn boolean(&self, scalar: &Scalar<'_>) -> Result<bool, String> {
        match scalar {
            Scalar::Boolean(value) => Ok(*value),
            Scalar::Number(number) if *number == 1.0 => Ok(true),
            Scalar::Number(number) if *number == 0.0 => Ok(false),
            Scalar::Number(number) => Err(format!("{number} is neither yes nor no")),
            Scalar::Large(digits) => Err(format!("{digits} is neither yes nor no")),
            Scalar::Text(text) => self.boolean_word(text),
        }
    }

    fn boolean_word(&self, text: &str) -> Result<bool, String> {
        let word = text.to_lowercase();
        if self.yes.contains(&word) {
            Ok(true)
        } else if self.no.contains(&word) {
            Ok(false)
        } else {
            let (yes, no) = (self.yes.join(", "), self.no.join(", "));
            Err(format!(
                "{:?} is neither yes ({yes}) nor no ({no})",
                shortened(text)
            ))
        }
    }

    /// Reads a text as a date.
    ///
    /// # Errors
    /// The accepted formats.
    pub(crate) fn date(&self, text: &str) -> Result<Timestamp, String> {
        date::parse(text, &self.dates)
    }
}

/// Returns the text of a value that is read as this scalar.
///
/// # Errors
/// What is wrong with the value.
pub(crate) fn text_of<'v>(scalar: Scalar<'v>, given: Given<'v>) -> Result<Cow<'v, str>, String> {
    match (scalar, given) {
        (Scalar::Text(text), _) => Ok(text),
        (_, Given::Raw(raw)) => to_text(raw).map(Cow::Owned),
        (_, Given::Plain(text)) => Ok(Cow::Borrowed(text)),
    }
}

/// Writes a number or boolean as text. Integers keep all digits.
fn to_text(raw: &Value) -> Result<String, String> {
    match raw {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or(f64::INFINITY);
            number::exact(float)
                .map_err(|reason| format!("{number} {reason} in quotation marks"))?;
            Ok(if float.fract() == 0.0 {
                format!("{float:.0}")
            } else {
                number.to_string()
            })
        }
        other => Ok(other.to_string()),
    }
}
