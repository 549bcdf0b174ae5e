//! How one value of a row is read: which values mean "unknown", how text is cleaned, which words
//! stand for which, and how numbers, dates and yes or no are written.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use vitrine_model::clock::Timestamp;

use super::clean::{Clean, Html};
use super::date::{self, DateFormat};
use super::number::{self, NumberFormat, short};

mod settings;
#[cfg(test)]
mod tests;
mod words;

/// What happens to a line when a value of it is bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnBad {
    /// The whole line is rejected.
    #[default]
    RejectLine,
    /// The value is left out, and reported.
    DropValue,
    /// The value is left out without a word; for second readings of what is kept elsewhere.
    Ignore,
}

/// How a value is read. Made from the settings of a field or a rule.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    unknown: Vec<toml::Value>,
    words: HashMap<String, String>,
    otherwise: Option<String>,
    spellings: HashMap<String, String>,
    clean: Clean,
    html: Html,
    numbers: NumberFormat,
    dates: Vec<DateFormat>,
    yes: Vec<String>,
    no: Vec<String>,
    min: Option<f64>,
    max: Option<f64>,
    /// What happens when the value is bad.
    pub(crate) on_bad: OnBad,
}

/// A value that was read, still of the feed's own type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'v> {
    /// Text, cleaned; not empty.
    Text(Cow<'v, str>),
    /// A number.
    Number(f64),
    /// Yes or no.
    Boolean(bool),
}

impl Default for Reading {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            unknown: Vec::new(),
            words: HashMap::new(),
            otherwise: None,
            spellings: HashMap::new(),
            clean: Clean::default(),
            html: Html::default(),
            numbers: NumberFormat::default(),
            dates: DateFormat::DEFAULT.to_vec(),
            yes: words(&["true", "yes", "y", "1"]),
            no: words(&["false", "no", "n", "0"]),
            min: None,
            max: None,
            on_bad: OnBad::default(),
        }
    }
}

impl Reading {
    /// This reading, but with the lines of text kept, unless the mapping cleans otherwise.
    pub(super) fn keeping_lines(&self) -> Self {
        let mut reading = self.clone();
        if reading.clean == Clean::Collapse {
            reading.clean = Clean::Lines;
        }
        reading
    }

    /// The value, or `None` when it is unknown.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn scalar<'v>(&self, raw: &'v Value) -> Result<Option<Scalar<'v>>, String> {
        match raw {
            Value::Null => Ok(None),
            _ if self.is_unknown(raw) => Ok(None),
            Value::String(text) => self.cleaned(text),
            Value::Array(_) => Err("is a list where one value belongs".to_owned()),
            Value::Object(_) => Err("is an object where one value belongs".to_owned()),
            other if self.translates() => self.cleaned(&written(other)?).map(owned),
            Value::Bool(value) => Ok(Some(Scalar::Boolean(*value))),
            Value::Number(number) => {
                let number = number.as_f64().ok_or("is no number that can be kept")?;
                Ok(Some(Scalar::Number(number)))
            }
        }
    }

    /// The value as text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn text<'v>(&self, raw: &'v Value) -> Result<Option<Cow<'v, str>>, String> {
        match self.scalar(raw)? {
            None => Ok(None),
            Some(Scalar::Text(text)) => Ok(Some(text)),
            Some(_) => written(raw).map(|text| Some(Cow::Owned(text))),
        }
    }

    /// A scalar as a number within the limits.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn number(&self, scalar: &Scalar<'_>) -> Result<f64, String> {
        let number = match scalar {
            Scalar::Number(number) => *number,
            Scalar::Text(text) => self.numbers.parse(text)?,
            Scalar::Boolean(value) => return Err(format!("is {value} where a number belongs")),
        };
        self.within(number)
    }

    /// The number of a text with nothing else in it; limits do not apply.
    pub(crate) fn bare_number(&self, text: &str) -> Option<f64> {
        self.numbers.parse(text).ok()
    }

    /// A text with the decimal sign and without groups, for amounts of money.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn plain_number(&self, text: &str) -> Result<String, String> {
        self.numbers.plain(text)
    }

    /// The number, if it is finite, exact and within the limits.
    ///
    /// # Errors
    /// The limits.
    pub(crate) fn within(&self, number: f64) -> Result<f64, String> {
        let number = number::exact(number).map_err(|reason| format!("{number} {reason}"))?;
        match (self.min, self.max) {
            (Some(min), _) if number < min => Err(format!("{number} is below {min}")),
            (_, Some(max)) if number > max => Err(format!("{number} is above {max}")),
            _ => Ok(number),
        }
    }

    /// A scalar as yes or no.
    ///
    /// # Errors
    /// The words that are understood.
    #[expect(clippy::float_cmp, reason = "exactly 1 and 0 stand for yes and no")]
    pub(crate) fn boolean(&self, scalar: &Scalar<'_>) -> Result<bool, String> {
        match scalar {
            Scalar::Boolean(value) => Ok(*value),
            Scalar::Number(number) if *number == 1.0 => Ok(true),
            Scalar::Number(number) if *number == 0.0 => Ok(false),
            Scalar::Number(number) => Err(format!("{number} is neither yes nor no")),
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
                short(text)
            ))
        }
    }

    /// A text as a date.
    ///
    /// # Errors
    /// The forms that are understood.
    pub(crate) fn date(&self, text: &str) -> Result<Timestamp, String> {
        date::parse(text, &self.dates)
    }
}

fn owned(scalar: Option<Scalar<'_>>) -> Option<Scalar<'static>> {
    scalar.map(|scalar| match scalar {
        Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
        Scalar::Number(number) => Scalar::Number(number),
        Scalar::Boolean(value) => Scalar::Boolean(value),
    })
}

/// A number or boolean as text. Whole numbers come digit by digit, whatever their size.
fn written(raw: &Value) -> Result<String, String> {
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
