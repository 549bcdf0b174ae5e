//! What is known of a product: its specs, and notes for sentences. Names, descriptions and reviews
//! are made from these, so that they agree with each other.

use vitrine_model::clock::Timestamp;
use vitrine_model::spec::{Spec, SpecValue};
use vitrine_model::unit::UnitTable;

use super::random::Random;
use super::words::spec::{SpecRule, Values};

/// Which of the units of a spec the maker of a product uses, as an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitPreference(usize);

impl UnitPreference {
    /// Draws a preference. Most makers use the first unit.
    pub(crate) fn draw(random: &mut Random) -> Self {
        Self(random.weighted(&[60, 24, 16]))
    }

    /// Whether the maker prefers inches and pounds.
    pub(crate) const fn is_imperial(self) -> bool {
        self.0 == 1
    }

    fn unit(self, units: &[String]) -> &str {
        units.get(self.0).unwrap_or(&units[0])
    }
}

/// What is known of a product.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The specs in the order they are shown.
    pub(crate) specs: Vec<Spec>,
    /// Whether sentences speak of the product as "they".
    pub(crate) plural: bool,
    /// Words that sentences may use and that are no specs.
    notes: Vec<(&'static str, String)>,
}

impl Facts {
    /// Draws specs by the rules. A key that is there already is left out.
    pub(crate) fn draw<'a>(
        &mut self,
        rules: impl Iterator<Item = &'a SpecRule>,
        preference: UnitPreference,
        units: &UnitTable,
        random: &mut Random,
    ) {
        for rule in rules {
            if random.percent(rule.percent) && !self.has(&rule.key) {
                self.draw_values(rule, preference, units, random);
            }
        }
    }

    fn draw_values(
        &mut self,
        rule: &SpecRule,
        preference: UnitPreference,
        table: &UnitTable,
        random: &mut Random,
    ) {
        let key = &rule.key;
        match &rule.values {
            Values::OneOf(texts) => self.add_text(key, random.pick_early::<String>(texts)),
            Values::SomeOf { at_most, texts } => {
                for _ in 0..=random.below(*at_most) {
                    let text = random.pick_early(texts);
                    if !self.has_text(key, text) {
                        self.add_text(key, text);
                    }
                }
            }
            Values::Number(range) => self.add(key, SpecValue::Number(range.draw(random))),
            Values::Measure { range, units } => {
                let value = range.draw(random);
                let unit = preference.unit(units);
                self.add_quantity(key, converted(value, &units[0], unit, table), unit);
            }
            Values::Quantities(quantities) => {
                self.add(key, random.pick_early(quantities).clone());
            }
            Values::YesPercent(percent) => {
                self.add(key, SpecValue::Boolean(random.percent(*percent)));
            }
        }
    }

    /// Removes the specs that require another one which is not true.
    pub(crate) fn apply_requirements<'a>(&mut self, rules: impl Iterator<Item = &'a SpecRule>) {
        for rule in rules {
            if rule.requires.as_ref().is_some_and(|key| !self.is_true(key)) {
                self.remove(&rule.key);
            }
        }
    }

    /// Adds a spec.
    pub(crate) fn add(&mut self, key: &str, value: SpecValue) {
        self.specs.push(Spec {
            key: key.to_owned(),
            value,
            qualifier: None,
        });
    }

    /// Adds a spec with a qualifier, such as a country.
    pub(crate) fn add_qualified(&mut self, key: &str, value: SpecValue, qualifier: &str) {
        self.specs.push(Spec {
            key: key.to_owned(),
            value,
            qualifier: Some(qualifier.to_owned()),
        });
    }

    /// Adds a text.
    pub(crate) fn add_text(&mut self, key: &str, text: &str) {
        self.add(key, SpecValue::Text(text.to_owned()));
    }

    /// Adds a number, which must be small.
    pub(crate) fn add_number(&mut self, key: &str, number: i64) {
        self.add(key, SpecValue::Number(float(number)));
    }

    /// Adds a quantity.
    pub(crate) fn add_quantity(&mut self, key: &str, value: f64, unit: &str) {
        let unit = unit.to_owned();
        self.add(key, SpecValue::Quantity { value, unit });
    }

    /// Adds a date.
    pub(crate) fn add_date(&mut self, key: &str, at: Timestamp) {
        self.add(key, SpecValue::Date(at));
    }

    /// Removes all values of a key.
    pub(crate) fn remove(&mut self, key: &str) {
        self.specs.retain(|spec| spec.key != key);
    }

    /// Adds a note, or replaces the one of this name.
    pub(crate) fn set_note(&mut self, name: &'static str, text: impl Into<String>) {
        self.notes.retain(|(known, _)| *known != name);
        self.notes.push((name, text.into()));
    }

    /// Returns the text of a note.
    pub(crate) fn note(&self, name: &str) -> Option<&str> {
        let found = self.notes.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| text.as_str())
    }

    /// Returns the first value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&SpecValue> {
        let found = self.specs.iter().find(|spec| spec.key == key);
        found.map(|spec| &spec.value)
    }

    /// Returns all texts of a key.
    pub(crate) fn texts<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.specs.iter().filter_map(move |spec| match &spec.value {
            SpecValue::Text(text) if spec.key == key => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether there is a value of this key or a note of this name.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.value(key).is_some() || self.note(key).is_some()
    }

    /// Whether the value of the key is true.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.value(key) == Some(&SpecValue::Boolean(true))
    }

    /// Whether the key has this text among its values.
    pub(crate) fn has_text(&self, key: &str, text: &str) -> bool {
        self.texts(key).any(|known| known == text)
    }
}

/// Returns a small whole number as a floating-point number.
pub(crate) fn float(number: i64) -> f64 {
    f64::from(i32::try_from(number).unwrap_or(i32::MAX))
}

/// Returns a number in another unit, rounded as makers print it. Uses only additions,
/// multiplications and rounding, which every platform does alike.
pub(crate) fn converted(value: f64, from: &str, to: &str, units: &UnitTable) -> f64 {
    if from == to {
        return value;
    }
    let (Some(source), Some(target)) = (units.find(from), units.find(to)) else {
        return value;
    };
    let exact = target.from_base(source.to_base(value));
    let power = match exact.abs() {
        size if size >= 100.0 => 1.0,
        size if size >= 10.0 => 10.0,
        _ => 100.0,
    };
    (exact * power).round() / power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn makers_print_round_numbers() {
        let units = UnitTable::built_in();
        let shown = |value, from, to| converted(value, from, to, &units).to_string();
        assert_eq!(shown(140.0, "cm", "in"), "55.1");
        assert_eq!(shown(1.3, "kg", "lb"), "2.87");
        assert_eq!(shown(500.0, "ml", "l"), "0.5");
        assert_eq!(shown(96.0, "°C", "°F"), "205");
        assert_eq!(shown(7.0, "km", "km"), "7");
    }

    #[test]
    fn texts_of_a_key_are_different() {
        let rule = SpecRule {
            key: "color".to_owned(),
            percent: 100,
            requires: None,
            values: Values::SomeOf {
                at_most: 3,
                texts: vec!["Red".to_owned(), "Blue".to_owned()],
            },
        };
        let (units, preference) = (UnitTable::built_in(), UnitPreference(0));
        for index in 0..20 {
            let mut facts = Facts::default();
            let mut random = Random::new(1, Stream::Product, index);
            facts.draw([&rule].into_iter(), preference, &units, &mut random);
            assert!((1..=2).contains(&facts.texts("color").count()));
        }
    }
}
