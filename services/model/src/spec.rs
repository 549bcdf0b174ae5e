//! Specs: a product's attributes (the attribute pattern), and the dictionary of their keys.
//!
//! A spec is a key, a typed value and optionally a qualifier (a region, a size system). Keys are
//! data: an unknown key is learnt with the type of its first value. From then on a value of another
//! type is refused with the reason, never stored as something else.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::clock::{ImplausibleDate, Timestamp};
use crate::product::ProductStatus;
use crate::significant::format_number;
use crate::text::fold;
use crate::unit::{Unit, UnitError, UnitTable};

mod convert;
mod name;

pub use name::{key_of_name, label_of_name};

/// The maximum number of specs of a product.
pub const MAX_SPECS: usize = 200;
/// The maximum length of a text, in bytes, that can be filtered by. Longer text is stored and
/// shown.
pub const MAX_FILTERABLE_BYTES: usize = 256;
/// The maximum length of a text value, in bytes.
pub const MAX_TEXT_BYTES: usize = 8192;
/// The maximum length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 64;
/// The maximum length of a qualifier, in bytes.
pub const MAX_QUALIFIER_BYTES: usize = 32;
/// The maximum number of allowed values that an error names.
pub const MAX_NAMED_VALUES: usize = 10;

/// One attribute of a product. Its texts are owned, or borrowed from a stored document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec<T = String> {
    /// The key in the dictionary: `screen_size`.
    pub key: T,
    /// The value as entered.
    pub value: SpecValue<T>,
    /// What the value applies to, if it is restricted: a region, a size system.
    pub qualifier: Option<T>,
}

impl Spec {
    /// Borrows the texts.
    #[must_use]
    pub fn as_ref(&self) -> Spec<&str> {
        Spec {
            key: &self.key,
            value: self.value.as_ref(),
            qualifier: self.qualifier.as_deref(),
        }
    }
}

impl Spec<&str> {
    /// Copies the texts.
    #[must_use]
    pub fn into_owned(self) -> Spec {
        Spec {
            key: self.key.to_owned(),
            value: self.value.into_owned(),
            qualifier: self.qualifier.map(str::to_owned),
        }
    }
}

/// A typed value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SpecValue<T = String> {
    /// Text, compared without regard to case and accents.
    Text(T),
    /// A plain number. Finite.
    Number(f64),
    /// A number with a unit. Finite; the unit is the `id` of one in the unit table.
    Quantity {
        /// The number, as entered.
        value: f64,
        /// The unit, as entered.
        unit: T,
    },
    /// Yes or no.
    Boolean(bool),
    /// An instant or the start of a day, in UTC.
    Date(Timestamp),
}

/// The type of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumCount)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// Text.
    Text,
    /// A plain number.
    Number,
    /// A number with a unit.
    Quantity,
    /// Yes or no.
    Boolean,
    /// A date.
    Date,
}

impl ValueType {
    /// All types.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Text,
        Self::Number,
        Self::Quantity,
        Self::Boolean,
        Self::Date,
    ];

    /// The name under which the type is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Quantity => "quantity",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }

    /// The type with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|value_type| value_type.name() == name)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SpecValue {
    /// Borrows the texts.
    #[must_use]
    pub fn as_ref(&self) -> SpecValue<&str> {
        match self {
            Self::Text(text) => SpecValue::Text(text),
            Self::Number(value) => SpecValue::Number(*value),
            Self::Quantity { value, unit } => SpecValue::Quantity {
                value: *value,
                unit,
            },
            Self::Boolean(value) => SpecValue::Boolean(*value),
            Self::Date(at) => SpecValue::Date(*at),
        }
    }
}

impl SpecValue<&str> {
    /// Copies the texts.
    #[must_use]
    pub fn into_owned(self) -> SpecValue {
        match self {
            Self::Text(text) => SpecValue::Text(text.to_owned()),
            Self::Number(value) => SpecValue::Number(value),
            Self::Quantity { value, unit } => SpecValue::Quantity {
                value,
                unit: unit.to_owned(),
            },
            Self::Boolean(value) => SpecValue::Boolean(value),
            Self::Date(at) => SpecValue::Date(at),
        }
    }
}

impl<T: AsRef<str>> SpecValue<T> {
    /// The type of the value.
    #[must_use]
    pub const fn value_type(&self) -> ValueType {
        match self {
            Self::Text(_) => ValueType::Text,
            Self::Number(_) => ValueType::Number,
            Self::Quantity { .. } => ValueType::Quantity,
            Self::Boolean(_) => ValueType::Boolean,
            Self::Date(_) => ValueType::Date,
        }
    }

    /// The canonical number, which ranges compare: the number itself, the quantity in base units,
    /// the date in milliseconds since 1970. `None` for text, booleans and unknown units.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "dates stay far below 2^53 milliseconds"
    )]
    pub fn canonical(&self, units: &UnitTable) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Quantity { value, unit } => {
                units.find(unit.as_ref()).map(|unit| unit.to_base(*value))
            }
            Self::Date(at) => Some(at.as_millis() as f64),
            Self::Text(_) | Self::Boolean(_) => None,
        }
    }

    /// The value as shown to people: `12 fl oz`, `yes`, `2026-05-31`.
    #[must_use]
    pub fn display(&self) -> String {
        match self {
            Self::Text(text) => text.as_ref().to_owned(),
            Self::Number(value) => format_number(*value),
            Self::Quantity { value, unit } => display_quantity(*value, unit.as_ref()),
            Self::Boolean(value) => if *value { "yes" } else { "no" }.to_owned(),
            Self::Date(at) => display_date(*at),
        }
    }
}

/// A quantity as shown to people, with the unit's symbol: `12 fl oz`, `75%`.
#[must_use]
pub fn display_quantity(value: f64, unit: &str) -> String {
    with_unit(&format_number(value), unit)
}

/// Returns a number with its unit, as shown to people.
#[must_use]
pub fn with_unit(number: &str, unit: &str) -> String {
    let gap = if matches!(unit, "%" | "‰" | "°") {
        ""
    } else {
        " "
    };
    format!("{number}{gap}{unit}")
}

fn display_date(at: Timestamp) -> String {
    let text = at.to_string();
    text.strip_suffix("T00:00:00.000Z")
        .unwrap_or(&text)
        .to_owned()
}

/// Why a spec is invalid. The message says what would be valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// The key has invalid characters, or the wrong length.
    #[error(
        "{0:?} is not a spec key: a key has 1 to {MAX_KEY_BYTES} characters, lower-case letters a to \
         z, digits and underscores, and begins with a letter"
    )]
    Key(String),
    /// The qualifier has control characters, `=` or `@`, or the wrong length.
    #[error(
        "{0:?} is not a qualifier: a qualifier has 1 to {MAX_QUALIFIER_BYTES} bytes without control \
         characters, = and @"
    )]
    Qualifier(String),
    /// The key has values of another type.
    #[error("{key} holds values of type {expected}; {found} is of type {}", found_type.name())]
    Type {
        /// The key.
        key: String,
        /// The type in the dictionary.
        expected: ValueType,
        /// The value given, as shown to people.
        found: String,
        /// Its type.
        found_type: ValueType,
    },
    /// The unit is unknown, or does not measure the key's dimension.
    #[error("{key}: {source}")]
    Unit {
        /// The key.
        key: String,
        /// The error of the unit.
        source: UnitError,
    },
    /// The number is infinite or not a number.
    #[error("{key} holds a number that is not finite")]
    NotFinite {
        /// The key.
        key: String,
    },
    /// The year of the date is not possible.
    #[error("{key}: {source}")]
    Date {
        /// The key.
        key: String,
        /// What is wrong with the date.
        source: ImplausibleDate,
    },
    /// The text is blank or too long.
    #[error(
        "{key} holds a text of {bytes} bytes; 1 to {MAX_TEXT_BYTES} with a visible character are allowed"
    )]
    TextLength {
        /// The key.
        key: String,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The text holds a NUL character.
    #[error("{key} holds a text with a NUL character; none is allowed")]
    TextNul {
        /// The key.
        key: String,
    },
    /// The key allows a fixed list of texts, and this is not one of them.
    #[error("{key} does not allow {found:?}; allowed values: {}", listed(allowed, *more))]
    NotAllowed {
        /// The key.
        key: String,
        /// The text given, shortened.
        found: String,
        /// The first allowed texts, at most [`MAX_NAMED_VALUES`].
        allowed: Vec<String>,
        /// The number of further allowed texts.
        more: usize,
    },
}

fn listed(allowed: &[String], more: usize) -> String {
    let names = allowed.join(", ");
    if more == 0 {
        names
    } else {
        format!("{names}, and {more} more")
    }
}

/// A key of the dictionary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpecKey {
    /// The key: `screen_size`.
    pub key: String,
    /// The name shown: `Screen size`.
    pub label: String,
    /// The type of its values. Immutable once values exist.
    pub value_type: ValueType,
    /// The dimension of its quantities, such as `length`. Immutable once values exist.
    pub dimension: Option<String>,
    /// The unit of its canonical numbers.
    pub base_unit: Option<String>,
    /// Whether facets are offered for it.
    pub facetable: bool,
    /// Whether products can be filtered by it.
    pub filterable: bool,
    /// Other names of this key, sorted.
    pub aliases: Vec<String>,
    /// The allowed texts, compared without regard to case and accents; `None` for any. Only keys of
    /// type text have such a list.
    #[serde(default)]
    pub allowed_values: Option<Vec<String>>,
    /// Starts at 1 and increases with every change of the entry.
    #[serde(default = "first_revision")]
    pub revision: i64,
    /// Which products ever had a value of it. Entries stored before this field existed count as
    /// published.
    #[serde(default = "published")]
    pub usage: KeyUsage,
    /// Keys that are being merged into this one, sorted. Products that were not rewritten yet still
    /// use them, and they mean this key, as aliases do.
    #[serde(default)]
    pub absorbing: Vec<String>,
    /// The type that the key had, while products may still have values of it: they are rewritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_type: Option<ValueType>,
    /// The system of the feed whose values the type follows from, as long as nobody else has used the
    /// key: its imports may change the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guessed_by: Option<String>,
}

const fn first_revision() -> i64 {
    1
}

const fn published() -> KeyUsage {
    KeyUsage::Published
}

/// Which products ever had a value of a key. It never decreases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyUsage {
    /// None: its type and dimension can change.
    Unused,
    /// Only products that were never on sale: it is shown to admins only.
    Used,
    /// At least one product on sale.
    Published,
}

impl KeyUsage {
    /// The usage of a key of a product in this status.
    #[must_use]
    pub const fn by(status: ProductStatus) -> Self {
        match status {
            ProductStatus::Active => Self::Published,
            ProductStatus::Draft | ProductStatus::Archived => Self::Used,
        }
    }
}

impl SpecKey {
    /// Returns an entry for a key without values: with a label derived from the key, facetable and
    /// filterable, without dimension and aliases.
    #[must_use]
    pub fn new(key: &str, value_type: ValueType) -> Self {
        Self {
            key: key.to_owned(),
            label: label(key),
            value_type,
            dimension: None,
            base_unit: None,
            facetable: true,
            filterable: true,
            aliases: Vec::new(),
            allowed_values: None,
            revision: first_revision(),
            usage: KeyUsage::Unused,
            absorbing: Vec::new(),
            earlier_type: None,
            guessed_by: None,
        }
    }

    /// Returns the entry that follows from a key's first value.
    ///
    /// # Errors
    /// [`SpecError::Unit`] if the value is a quantity of an unknown unit.
    pub fn learnt(spec: &Spec, units: &UnitTable) -> Result<Self, SpecError> {
        let dimension = match &spec.value {
            SpecValue::Quantity { unit, .. } => {
                Some(unit_of(&spec.key, unit, units)?.dimension.clone())
            }
            _ => None,
        };
        let base_unit = dimension
            .as_deref()
            .and_then(|d| units.base(d))
            .map(|unit| unit.id.clone());
        Ok(Self {
            dimension,
            base_unit,
            usage: KeyUsage::Used,
            ..Self::new(&spec.key, spec.value.value_type())
        })
    }

    /// All names of this key: itself, its aliases, and the keys being merged into it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.aliases.iter().chain(&self.absorbing);
        std::iter::once(self.key.as_str()).chain(others.map(String::as_str))
    }

    /// Checks that this key allows a value.
    ///
    /// # Errors
    /// [`SpecError::Type`], [`SpecError::Unit`] or [`SpecError::NotAllowed`].
    pub fn accepts(&self, spec: &Spec, units: &UnitTable) -> Result<(), SpecError> {
        if spec.value.value_type() != self.value_type {
            return Err(SpecError::Type {
                key: self.key.clone(),
                expected: self.value_type,
                found: crate::text::excerpt(&spec.value.display(), 60).text,
                found_type: spec.value.value_type(),
            });
        }
        match (&spec.value, &self.dimension, &self.allowed_values) {
            (SpecValue::Quantity { unit, .. }, Some(dimension), _) => {
                self.measures(unit, dimension, units)
            }
            (SpecValue::Text(text), _, Some(allowed)) => self.allows(text, allowed),
            _ => Ok(()),
        }
    }

    fn measures(&self, unit: &str, dimension: &str, units: &UnitTable) -> Result<(), SpecError> {
        let fits = units.get_in(unit, dimension);
        fits.map(drop).map_err(|source| SpecError::Unit {
            key: self.key.clone(),
            source,
        })
    }

    fn allows(&self, text: &str, allowed: &[String]) -> Result<(), SpecError> {
        let folded = fold(text);
        if allowed.iter().any(|one| one == text || fold(one) == folded) {
            return Ok(());
        }
        Err(SpecError::NotAllowed {
            key: self.key.clone(),
            found: crate::text::excerpt(text, 60).text,
            allowed: allowed.iter().take(MAX_NAMED_VALUES).cloned().collect(),
            more: allowed.len().saturating_sub(MAX_NAMED_VALUES),
        })
    }
}

fn unit_of<'t>(key: &str, unit: &str, units: &'t UnitTable) -> Result<&'t Unit, SpecError> {
    units.get(unit).map_err(|source| SpecError::Unit {
        key: key.to_owned(),
        source,
    })
}

/// `screen_size` as `Screen size`.
#[must_use]
pub fn label(key: &str) -> String {
    let words = key.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Checks what does not depend on the dictionary: key, qualifier, finite numbers, years of dates, text
/// length, and that the unit exists.
///
/// # Errors
/// The first [`SpecError`].
pub fn check(spec: &Spec, units: &UnitTable) -> Result<(), SpecError> {
    check_key(&spec.key)?;
    if let Some(qualifier) = &spec.qualifier {
        check_qualifier(qualifier)?;
    }
    check_value(&spec.key, &spec.value, units)
}

/// Checks the form of a value; the key is that of the error.
pub fn check_value(key: &str, value: &SpecValue, units: &UnitTable) -> Result<(), SpecError> {
    match value {
        SpecValue::Text(text) => check_text(key, text),
        SpecValue::Number(value) => check_finite(key, *value),
        SpecValue::Quantity { value, unit } => {
            check_finite(key, *value)?;
            let unit = unit_of(key, unit, units)?;
            check_finite(key, unit.to_base(*value))
        }
        SpecValue::Date(at) => at.check_year().map_err(|source| SpecError::Date {
            key: key.to_owned(),
            source,
        }),
        SpecValue::Boolean(_) => Ok(()),
    }
}

/// Checks the form of a key.
pub fn check_key(key: &str) -> Result<(), SpecError> {
    let letters = key
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let begins = key.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    if letters && begins && key.len() <= MAX_KEY_BYTES {
        Ok(())
    } else {
        Err(SpecError::Key(crate::text::excerpt(key, 80).text))
    }
}

/// Checks the form of a qualifier.
pub fn check_qualifier(qualifier: &str) -> Result<(), SpecError> {
    let length = (1..=MAX_QUALIFIER_BYTES).contains(&qualifier.len());
    let plain = !qualifier.contains(|c: char| c.is_control() || c == '=' || c == '@');
    if length && plain && !qualifier.trim().is_empty() {
        Ok(())
    } else {
        Err(SpecError::Qualifier(
            crate::text::excerpt(qualifier, 40).text,
        ))
    }
}

/// A qualifier as stored and compared: in upper case, with blanks collapsed.
#[must_use]
pub fn normal_qualifier(qualifier: &str) -> String {
    crate::text::collapse(qualifier).to_uppercase()
}

fn check_text(key: &str, text: &str) -> Result<(), SpecError> {
    let key = || key.to_owned();
    if text.contains('\0') {
        return Err(SpecError::TextNul { key: key() });
    }
    if !crate::text::is_visible(text) || text.len() > MAX_TEXT_BYTES {
        let bytes = text.len();
        return Err(SpecError::TextLength { key: key(), bytes });
    }
    Ok(())
}

fn check_finite(key: &str, value: f64) -> Result<(), SpecError> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(SpecError::NotFinite {
            key: key.to_owned(),
        })
    }
}

/// The spec dictionary: every known key, found by its name, its aliases and the keys being merged
/// into it.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    keys: Vec<SpecKey>,
    by_name: HashMap<String, usize>,
}

impl Dictionary {
    /// Returns a dictionary of these keys, sorted by name. A key that is being merged into another
    /// has no entry; an alias that is also a key refers to the key.
    #[must_use]
    pub fn new(mut keys: Vec<SpecKey>) -> Self {
        keys.sort_by(|a, b| a.key.cmp(&b.key));
        keys.dedup_by(|later, earlier| later.key == earlier.key);
        let merge_targets = merge_targets(&keys);
        let is_main = |key: &SpecKey| merged_key(&key.key, &merge_targets) == key.key;
        let main = keys.iter().filter(|key| is_main(key)).enumerate();
        let mut by_name: HashMap<String, usize> =
            main.map(|(index, key)| (key.key.clone(), index)).collect();
        for key in &keys {
            let index = by_name[merged_key(&key.key, &merge_targets)];
            for name in key.names() {
                by_name.entry(name.to_owned()).or_insert(index);
            }
        }
        let kept = keys.iter().filter(|key| is_main(key)).cloned().collect();
        Self {
            keys: kept,
            by_name,
        }
    }

    /// All keys, sorted by name, followed by keys added later.
    #[must_use]
    pub fn keys(&self) -> &[SpecKey] {
        &self.keys
    }

    /// The entry of this key, of this alias, or of the key that this one is being merged into.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&SpecKey> {
        self.by_name.get(key).map(|index| &self.keys[*index])
    }

    /// Adds an entry, unless the key is already known.
    pub fn add(&mut self, key: SpecKey) {
        let index = self.keys.len();
        if self.by_name.contains_key(&key.key) {
            return;
        }
        for name in key.names() {
            self.by_name.entry(name.to_owned()).or_insert(index);
        }
        self.keys.push(key);
    }

    /// The keys under which products may store values of this key: the main key first, then those
    /// being merged into it. Empty for an unknown key.
    #[must_use]
    pub fn stored_names(&self, key: &str) -> Vec<&str> {
        self.get(key).map_or_else(Vec::new, |key| {
            let absorbing = key.absorbing.iter().map(String::as_str);
            std::iter::once(key.key.as_str()).chain(absorbing).collect()
        })
    }
}

/// Maps each key that is being merged to its target.
fn merge_targets(keys: &[SpecKey]) -> HashMap<&str, &str> {
    let mut merge_targets = HashMap::new();
    for key in keys {
        for name in &key.absorbing {
            merge_targets.insert(name.as_str(), key.key.as_str());
        }
    }
    merge_targets
}

/// Follows merges to the key in which this one ends up; itself if it is not being merged, or in a
/// cycle.
fn merged_key<'a>(key: &'a str, merge_targets: &HashMap<&'a str, &'a str>) -> &'a str {
    let mut at = key;
    for _ in 0..=merge_targets.len() {
        match merge_targets.get(at) {
            Some(next) => at = next,
            None => return at,
        }
    }
    key
}

#[cfg(test)]
mod tests;
