//! What is known of a product: its specs, and a few words about it that are no specs. Names,
//! descriptions and reviews are made from these, so that they agree with each other.

use vitrine_model::clock::Timestamp;
use vitrine_model::spec::{Spec, SpecValue};
use vitrine_model::unit::UnitTable;

use super::random::Random;
use super::words::spec::{Quantity, SpecRule, Values};

/// The units a product's maker thinks in: 0 is the first unit of every key, 1 and 2 the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habit(usize);

impl Habit {
    /// The habit of a product: most are metric.
    pub(crate) fn draw(random: &mut Random) -> Self {
        Self(random.weighted(&[60, 24, 16]))
    }

    /// Whether inches and pounds are preferred.
    pub(crate) const fn imperial(self) -> bool {
        self.0 == 1
    }

    fn unit(self, units: &[String]) -> &str {
        units.get(self.0).unwrap_or(&units[0])
    }
}

/// What is known of a product.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The specs, in the order they are shown.
    pub(crate) specs: Vec<Spec>,
    /// Whether the thing is spoken of as "they".
    pub(crate) plural: bool,
    notes: Vec<(&'static str, String)>,
}

impl Facts {
    /// Draws specs by these rules. A key that is there already is left out.
    pub(crate) fn draw<'a>(
        &mut self,
        rules: impl Iterator<Item = &'a SpecRule>,
        habit: Habit,
        units: &UnitTable,
        random: &mut Random,
    ) {
        for rule in rules {
            if random.percent(rule.percent) && !self.has(&rule.key) {
                self.draw_one(rule, habit, units, random);
            }
        }
    }

    fn draw_one(&mut self, rule: &SpecRule, habit: Habit, units: &UnitTable, random: &mut Random) {
        let key = &rule.key;
        match &rule.values {
            Values::OneOf(texts) => {
                let text = random.early(texts);
                self.text(key, text);
            }
            Values::SomeOf { at_most, texts } => {
                for _ in 0..=random.below(*at_most) {
                    let text = random.early(texts);
                    if !self.says(key, text) {
                        self.text(key, text);
                    }
                }
            }
            Values::Number(range) => self.add(key, SpecValue::Number(range.draw(random))),
            Values::Measure {
                range,
                units: possible,
            } => {
                let value = range.draw(random);
                let unit = habit.unit(possible);
                self.quantity(key, converted(value, &possible[0], unit, units), unit);
            }
            Values::Quantities(quantities) => {
                let Quantity { value, unit } = random.early(quantities);
                self.quantity(key, *value, unit);
            }
            Values::YesPercent(percent) => {
                self.add(key, SpecValue::Boolean(random.percent(*percent)));
            }
        }
    }

    /// Removes all values of a key.
    pub(crate) fn remove(&mut self, key: &str) {
        self.specs.retain(|spec| spec.key != key);
    }

    /// Removes specs that make no sense without another one.
    pub(crate) fn keep_sensible<'a>(&mut self, rules: impl Iterator<Item = &'a SpecRule>) {
        for rule in rules {
            if rule.requires.as_ref().is_some_and(|key| !self.is(key)) {
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

    /// Adds a spec that holds somewhere only.
    pub(crate) fn add_for(&mut self, key: &str, value: SpecValue, qualifier: &str) {
        self.specs.push(Spec {
            key: key.to_owned(),
            value,
            qualifier: Some(qualifier.to_owned()),
        });
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.add(key, SpecValue::Text(text.to_owned()));
    }

    /// Adds a quantity.
    pub(crate) fn quantity(&mut self, key: &str, value: f64, unit: &str) {
        let unit = unit.to_owned();
        self.add(key, SpecValue::Quantity { value, unit });
    }

    /// Adds a date.
    pub(crate) fn date(&mut self, key: &str, at: Timestamp) {
        self.add(key, SpecValue::Date(at));
    }

    /// Adds words that templates may use and that are no spec.
    pub(crate) fn note(&mut self, name: &'static str, words: impl Into<String>) {
        self.notes.push((name, words.into()));
    }

    /// Replaces the words of a note.
    pub(crate) fn note_anew(&mut self, name: &'static str, words: &str) {
        self.notes.retain(|(known, _)| *known != name);
        self.note(name, words);
    }

    /// The words of a note.
    pub(crate) fn noted(&self, name: &str) -> Option<&str> {
        let found = self.notes.iter().find(|(known, _)| *known == name);
        found.map(|(_, words)| words.as_str())
    }

    /// The first value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&SpecValue> {
        let found = self.specs.iter().find(|spec| spec.key == key);
        found.map(|spec| &spec.value)
    }

    /// All texts of a key.
    pub(crate) fn texts<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.specs.iter().filter_map(move |spec| match &spec.value {
            SpecValue::Text(text) if spec.key == key => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether there is a value of this key, or such a note.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.value(key).is_some() || self.noted(key).is_some()
    }

    /// Whether this key is there and true.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.value(key) == Some(&SpecValue::Boolean(true))
    }

    /// Whether the key has this text among its values.
    pub(crate) fn says(&self, key: &str, text: &str) -> bool {
        self.texts(key).any(|known| known == text)
    }
}

fn power(decimals: u8) -> f64 {
    [1.0, 10.0, 100.0][usize::from(decimals).min(2)]
}

/// A number in another unit, rounded as a maker would print it. Additions, multiplications and
/// rounding only, which every platform does alike.
pub(crate) fn converted(value: f64, from: &str, to: &str, units: &UnitTable) -> f64 {
    if from == to {
        return value;
    }
    let (Some(source), Some(target)) = (units.find(from), units.find(to)) else {
        return value;
    };
    let exact = target.from_base(source.to_base(value));
    let decimals = match exact.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    (exact * power(decimals)).round() / power(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

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
    fn several_texts_are_different_ones() {
        let mut facts = Facts::default();
        let rule = SpecRule {
            key: "color".to_owned(),
            percent: 100,
            requires: None,
            values: Values::SomeOf {
                at_most: 3,
                texts: vec!["Red".to_owned(), "Blue".to_owned()],
            },
        };
        for index in 0..20 {
            facts.specs.clear();
            let mut random = Random::of(1, Purpose::Product, index);
            let units = UnitTable::built_in();
            facts.draw([&rule].into_iter(), Habit(0), &units, &mut random);
            assert!((1..=2).contains(&facts.texts("color").count()));
        }
    }
}
