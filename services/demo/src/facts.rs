//! What is known of a product: its specs, and a few words about it that are no specs. Names,
//! descriptions and reviews are made from these, so that they agree with each other.

use vitrine_model::clock::Timestamp;
use vitrine_model::spec::{Spec, SpecValue};
use vitrine_model::unit::UnitTable;

use super::random::Random;

/// How one spec key of a family or a leaf gets its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attr {
    /// The key.
    pub(crate) key: &'static str,
    /// How many of a hundred products have it.
    pub(crate) percent: u8,
    /// What it may be.
    pub(crate) values: Values,
}

/// What a spec may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// One of these texts, the earlier ones likelier.
    One(&'static [&'static str]),
    /// One to so many different ones of these texts.
    Several(usize, &'static [&'static str]),
    /// A number of this grid.
    Number(Grid),
    /// A number of this grid and this unit; products of other habits have it in the other units.
    Measure(Grid, &'static str, &'static [&'static str]),
    /// One of these quantities, exactly as sold.
    Sold(&'static [(f64, &'static str)]),
    /// Yes in so many of a hundred cases.
    Yes(u8),
}

/// From, to, and the step between, in units of 10 to the power of minus the decimals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    range: [i32; 3],
    decimals: u8,
}

/// A text key.
pub(crate) const fn one(key: &'static str, percent: u8, of: &'static [&'static str]) -> Attr {
    attr(key, percent, Values::One(of))
}

/// A text key with several values.
pub(crate) const fn several(
    key: &'static str,
    percent: u8,
    most: usize,
    of: &'static [&'static str],
) -> Attr {
    attr(key, percent, Values::Several(most, of))
}

/// A key of whole numbers.
pub(crate) const fn whole(key: &'static str, percent: u8, range: [i32; 3]) -> Attr {
    attr(key, percent, Values::Number(Grid { range, decimals: 0 }))
}

/// A key of numbers with one decimal; the range is in tenths.
pub(crate) const fn tenths(key: &'static str, percent: u8, range: [i32; 3]) -> Attr {
    attr(key, percent, Values::Number(Grid { range, decimals: 1 }))
}

/// A key of quantities, and the units that others measure it in.
pub(crate) const fn measure(
    key: &'static str,
    percent: u8,
    range: [i32; 3],
    unit: &'static str,
    also: &'static [&'static str],
) -> Attr {
    let grid = Grid { range, decimals: 0 };
    attr(key, percent, Values::Measure(grid, unit, also))
}

/// Like [`measure`] with one decimal; the range is in tenths.
pub(crate) const fn fine(
    key: &'static str,
    percent: u8,
    range: [i32; 3],
    unit: &'static str,
    also: &'static [&'static str],
) -> Attr {
    let grid = Grid { range, decimals: 1 };
    attr(key, percent, Values::Measure(grid, unit, also))
}

/// A key of quantities that come in these sizes.
pub(crate) const fn sold(
    key: &'static str,
    percent: u8,
    of: &'static [(f64, &'static str)],
) -> Attr {
    attr(key, percent, Values::Sold(of))
}

/// A key of yes and no, with the share of yes.
pub(crate) const fn yes(key: &'static str, percent: u8, share: u8) -> Attr {
    attr(key, percent, Values::Yes(share))
}

const fn attr(key: &'static str, percent: u8, values: Values) -> Attr {
    Attr {
        key,
        percent,
        values,
    }
}

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

    fn unit(self, unit: &'static str, also: &'static [&'static str]) -> &'static str {
        let other = self.0.checked_sub(1).and_then(|index| also.get(index));
        let other = other.copied().filter(|other| !other.is_empty());
        other.unwrap_or(unit)
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
    /// Adds what the attributes give.
    pub(crate) fn draw(
        &mut self,
        attrs: &[Attr],
        habit: Habit,
        units: &UnitTable,
        random: &mut Random,
    ) {
        for attr in attrs {
            if random.percent(attr.percent) && !self.has(attr.key) {
                self.draw_one(attr, habit, units, random);
            }
        }
    }

    fn draw_one(&mut self, attr: &Attr, habit: Habit, units: &UnitTable, random: &mut Random) {
        match &attr.values {
            Values::One(of) => {
                let text = random.early(of);
                self.text(attr.key, text);
            }
            Values::Several(most, of) => self.several(attr.key, *most, of, random),
            Values::Number(grid) => self.add(attr.key, SpecValue::Number(grid.draw(random))),
            Values::Measure(grid, unit, also) => {
                let value = grid.draw(random);
                let shown = habit.unit(unit, also);
                self.quantity(attr.key, converted(value, unit, shown, units), shown);
            }
            Values::Sold(of) => {
                let (value, unit) = random.early(of);
                self.quantity(attr.key, *value, unit);
            }
            Values::Yes(share) => self.add(attr.key, SpecValue::Boolean(random.percent(*share))),
        }
    }

    fn several(&mut self, key: &str, most: usize, of: &[&str], random: &mut Random) {
        let wanted = 1 + random.below(most);
        for _ in 0..wanted {
            let text = random.early(of);
            if !self.says(key, text) {
                self.text(key, text);
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

impl Grid {
    fn draw(self, random: &mut Random) -> f64 {
        let [from, to, step] = self.range.map(i64::from);
        let steps = (to - from) / step;
        let at = i32::try_from(from + random.low(0, steps) * step).unwrap_or(self.range[0]);
        f64::from(at) / power(self.decimals)
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
        let attrs = [several("color", 100, 3, &["Red", "Blue"])];
        for index in 0..20 {
            facts.specs.clear();
            let mut random = Random::of(1, Purpose::Product, index);
            facts.draw(&attrs, Habit(0), &UnitTable::built_in(), &mut random);
            assert!((1..=2).contains(&facts.texts("color").count()));
        }
    }
}
