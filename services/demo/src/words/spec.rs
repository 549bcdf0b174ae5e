//! Rules by which products get the values of their specs.
//!
//! | in a file | what a product has |
//! |---|---|
//! | `one_of = ["Oak", "Ash"]` | one of the texts |
//! | `some_of = ["Red", "Blue", "Grey"], at_most = 2` | one or two different texts |
//! | `range = [0, 6, 2]` | 0, 2, 4 or 6 |
//! | `range = [0.5, 2.5, 0.1], units = ["kg", "lb", "g"]` | a quantity; the range is in kg |
//! | `quantities = ["500 ml", "16.9 fl oz"]` | one of the quantities |
//! | `yes_percent = 60` | yes in 60 of 100 cases, otherwise no |
//!
//! Besides, each rule has the `key` of the spec. `percent` is how many of a hundred products have
//! the spec, all when it is left out. `requires` is the key of a yes-or-no spec: without a yes
//! there, the product does not have this spec. Earlier texts and quantities are likelier than later
//! ones, and small numbers than large ones.

use serde::Deserialize;
use vitrine_model::spec::SpecValue;

use crate::random::Random;

/// How many steps a range may have.
const MAX_STEPS: i32 = 10_000;

/// A spec that products may have, and what its value may be.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "SpecTable")]
pub(crate) struct SpecRule {
    /// The key.
    pub(crate) key: String,
    /// How many of a hundred products have it.
    pub(crate) percent: u8,
    /// The key of the spec that must be yes.
    pub(crate) requires: Option<String>,
    /// What the value may be.
    pub(crate) values: Values,
}

/// What the value of a spec may be.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// One of these texts.
    OneOf(Vec<String>),
    /// Between one and `at_most` of these texts.
    SomeOf {
        /// How many of the texts a product may have.
        at_most: usize,
        /// The texts.
        texts: Vec<String>,
    },
    /// A number of this range.
    Number(Range),
    /// A quantity.
    Measure {
        /// The range in the first unit.
        range: Range,
        /// The unit of most makers, that of makers who prefer inches and pounds, and that of a few
        /// others. Those who find no unit of their own use the first.
        units: Vec<String>,
    },
    /// One of these quantities.
    Quantities(Vec<SpecValue>),
    /// Yes for this many of a hundred products, otherwise no.
    YesPercent(u8),
}

/// Evenly spaced numbers with at most one decimal, as counts of tenths.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    first: f64,
    step: f64,
    steps: i32,
}

/// A rule as it is written in files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecTable {
    key: String,
    #[serde(default = "all_products")]
    percent: u8,
    requires: Option<String>,
    one_of: Option<Vec<String>>,
    some_of: Option<Vec<String>>,
    at_most: Option<usize>,
    range: Option<[f64; 3]>,
    units: Option<Vec<String>>,
    quantities: Option<Vec<String>>,
    yes_percent: Option<u8>,
}

fn all_products() -> u8 {
    100
}

impl TryFrom<SpecTable> for SpecRule {
    type Error = String;

    fn try_from(table: SpecTable) -> Result<Self, String> {
        let texts = (table.one_of, table.some_of.zip(table.at_most));
        let numbers = (table.range.map(Range::new).transpose()?, table.units);
        let values = match (texts, numbers, table.quantities, table.yes_percent) {
            ((Some(texts), None), (None, None), None, None) => Values::OneOf(texts),
            ((None, Some((texts, at_most))), (None, None), None, None) => {
                Values::SomeOf { at_most, texts }
            }
            ((None, None), (Some(range), None), None, None) => Values::Number(range),
            ((None, None), (Some(range), Some(units)), None, None) => {
                Values::Measure { range, units }
            }
            ((None, None), (None, None), Some(texts), None) => {
                let parsed = texts.iter().map(|text| quantity(text));
                Values::Quantities(parsed.collect::<Result<_, String>>()?)
            }
            ((None, None), (None, None), None, Some(percent)) => Values::YesPercent(percent),
            _ => {
                return Err(format!(
                    "the spec {} needs exactly one of: one_of; some_of and at_most; range, with or \
                     without units; quantities; yes_percent",
                    table.key
                ));
            }
        };
        Ok(Self {
            key: table.key,
            percent: table.percent,
            requires: table.requires,
            values,
        })
    }
}

impl Range {
    fn new(range: [f64; 3]) -> Result<Self, String> {
        let [first, last, step] = range.map(|number| (number * 10.0).round());
        if step <= 0.0 || last < first {
            return Err(format!("{range:?} is no range: first, last, step above 0"));
        }
        let inside = |steps: &i32| first + f64::from(*steps) * step <= last;
        let steps = (1..=MAX_STEPS).take_while(inside).last().unwrap_or(0);
        Ok(Self { first, step, steps })
    }

    /// Draws a number, the small ones likelier.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        let steps = i32::try_from(random.skewed_low(0, i64::from(self.steps))).unwrap_or(0);
        (self.first + f64::from(steps) * self.step) / 10.0
    }
}

/// Reads `16.9 fl oz`.
fn quantity(text: &str) -> Result<SpecValue, String> {
    let error = || format!("{text} is no quantity: a number, a space and a unit");
    let (number, unit) = text.split_once(' ').ok_or_else(error)?;
    let value = number.parse().map_err(|_| error())?;
    let unit = unit.to_owned();
    Ok(SpecValue::Quantity { value, unit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn rule(text: &str) -> Result<SpecRule, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, part) in [
            ("key = 'a'", "exactly one of"),
            (
                "key = 'a'\nyes_percent = 1\none_of = ['x']",
                "exactly one of",
            ),
            ("key = 'a'\nsome_of = ['x']", "exactly one of"),
            ("key = 'a'\nrange = [1, 2, 0]", "no range"),
            ("key = 'a'\nquantities = ['5']", "no quantity"),
            ("key = 'a'\nyes = 1", "unknown field"),
        ] {
            let error = rule(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn ranges_include_their_ends() {
        let range = Range::new([0.9, 1.8, 0.1]).unwrap();
        let mut random = Random::new(1, Stream::Product, 1);
        let mut all: Vec<f64> = (0..500).map(|_| range.draw(&mut random)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        assert_eq!(all, [0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8]);
    }
}
