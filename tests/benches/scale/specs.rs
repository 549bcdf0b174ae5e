//! The specs of made-up products.

use vitrine_model::clock::Timestamp;
use vitrine_model::spec::{Spec, SpecValue};

use crate::random::{Purpose, Random, Shares};

/// How many products have all keys.
pub(crate) const HEAVY_PRODUCTS: usize = 24;
/// Keys beside the common ones, and how many of them the products of a leaf may have.
const TAIL: usize = 193;
const TAIL_OF_LEAF: usize = 24;
/// How many of those a product has, at most and at least.
const TAIL_OF_PRODUCT: std::ops::Range<usize> = 5..11;

/// What the values of a key are.
#[derive(Debug)]
enum Values {
    /// Texts, the first likelier.
    Texts(Vec<String>, Shares),
    /// Quantities in any of these units, with how many of the first unit each is.
    Quantities(&'static [(&'static str, f64)], f64),
    /// Plain numbers up to this.
    Numbers(usize),
    /// Yes or no.
    Booleans,
    /// Days.
    Dates,
}

#[derive(Debug)]
struct Key {
    name: String,
    values: Values,
}

/// All keys, and which leaves have them how often.
#[derive(Debug)]
pub(crate) struct Specs {
    /// Keys of every leaf, with the share of products that have them.
    common: Vec<(Key, f64)>,
    tail: Vec<Key>,
    /// For each leaf its keys of the tail.
    leaves: Vec<Vec<usize>>,
    /// The places in that list, the first likelier.
    place: Shares,
}

impl Specs {
    /// Decides which keys there are and which leaf has which.
    pub(crate) fn new(seed: u64, leaves: usize, words: &[String]) -> Self {
        let texts = |count: usize, exponent: f64, shift: usize| {
            let values = (0..count).map(|at| words[(shift + at * 13) % words.len()].clone());
            Values::Texts(values.collect(), Shares::zipf(count, exponent))
        };
        let common = vec![
            key("color", texts(24, 1.0, 1), 0.92),
            key("material", texts(60, 1.0, 2), 0.7),
            key("finish", texts(12, 0.8, 3), 0.5),
            key(
                "weight",
                Values::Quantities(
                    &[("g", 1.0), ("kg", 1e3), ("lb", 453.59), ("oz", 28.35)],
                    20_000.0,
                ),
                0.8,
            ),
            key(
                "volume",
                Values::Quantities(&[("ml", 1.0), ("l", 1e3), ("fl oz", 29.57)], 5_000.0),
                0.4,
            ),
            key(
                "screen_size",
                Values::Quantities(&[("in", 1.0), ("cm", 0.394)], 80.0),
                0.3,
            ),
            key("wireless", Values::Booleans, 0.4),
            key("released", Values::Dates, 0.4),
        ];
        let of_leaf = Shares::zipf(TAIL, 0.6);
        let leaf = |at| {
            let mut random = Random::of(seed, Purpose::Leaf, at);
            distinct(TAIL_OF_LEAF, || of_leaf.draw(&mut random))
        };
        Self {
            common,
            tail: (0..TAIL).map(|at| tail_key(at, texts)).collect(),
            leaves: (0..leaves).map(leaf).collect(),
            place: Shares::zipf(TAIL_OF_LEAF, 0.7),
        }
    }

    /// The specs of an ordinary product.
    pub(crate) fn draw(&self, leaf: usize, random: &mut Random) -> Vec<Spec> {
        let mut specs = Vec::new();
        for (key, share) in &self.common {
            if random.chance(*share) {
                specs.push(key.draw(random));
            }
        }
        let count = TAIL_OF_PRODUCT.start + random.below(TAIL_OF_PRODUCT.len());
        let places = distinct(count, || self.place.draw(random));
        let keys = places.into_iter().map(|place| self.leaves[leaf][place]);
        specs.extend(keys.map(|key| self.tail[key].draw(random)));
        specs
    }

    /// One of every key; texts are long.
    pub(crate) fn all(&self, random: &mut Random) -> Vec<Spec> {
        let keys = self.common.iter().map(|(key, _)| key).chain(&self.tail);
        let long = |key: &Key| {
            let mut spec = key.draw(random);
            if let (SpecValue::Text(text), Values::Texts(all, _)) = (&mut spec.value, &key.values) {
                while text.len() < 36 {
                    text.push(' ');
                    *text += &all[random.below(all.len())];
                }
            }
            spec
        };
        // One place is left for the key that marks touched products.
        keys.take(199).map(long).collect()
    }
}

impl Key {
    fn draw(&self, random: &mut Random) -> Spec {
        let value = match &self.values {
            Values::Texts(texts, shares) => SpecValue::Text(texts[shares.draw(random)].clone()),
            Values::Quantities(units, most) => {
                let (unit, size) = random.pick(units);
                let base = most * random.share().powi(2);
                let value = tenths((base / size).max(0.1));
                let unit = unit.to_owned();
                SpecValue::Quantity { value, unit }
            }
            Values::Numbers(most) => SpecValue::Number(random.below(*most) as f64),
            Values::Booleans => SpecValue::Boolean(random.chance(0.3)),
            Values::Dates => {
                let days = i64::try_from(random.below(3_650)).expect("ten years");
                let start = Timestamp::parse_day("2016-01-01").expect("a day");
                SpecValue::Date(start.plus_millis(days * 86_400_000))
            }
        };
        Spec {
            key: self.name.clone(),
            value,
            qualifier: None,
        }
    }
}

fn key(name: &str, values: Values, share: f64) -> (Key, f64) {
    let name = name.to_owned();
    (Key { name, values }, share)
}

fn tail_key(at: usize, texts: impl Fn(usize, f64, usize) -> Values) -> Key {
    let values = match at % 10 {
        0 => Values::Booleans,
        1 => Values::Numbers(4 + at * 5),
        2 => Values::Quantities(&[("mm", 1.0), ("cm", 10.0), ("in", 25.4)], 2_000.0),
        3 if at % 20 == 3 => Values::Dates,
        _ => texts(5 + at * 2, 1.0, at * 17),
    };
    Key {
        name: format!("attribute_{at:03}"),
        values,
    }
}

/// So many different numbers, in the order they were drawn.
fn distinct(count: usize, mut draw: impl FnMut() -> usize) -> Vec<usize> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let drawn = draw();
        if !all.contains(&drawn) {
            all.push(drawn);
        }
    }
    all
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
