//! Writes one product from its plan.

mod apparel;
mod book;
mod bundle;
mod electronics;
mod grocery;
mod movie;

use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ExternalRef, ProductDraft, SupplierDraft};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Bundle, Details, Kind, Media, MediaKind};

use super::facts::{Facts, Habit};
use super::plan::{DAY, Planned};
use super::random::{Purpose, Random};
use super::template::{fill, fill_any};
use super::words::catalogue::{Family, Leaf};
use super::words::words;
use super::{Demo, SYSTEM};

/// A product with the facts it was written from, which its reviews are written from, too.
#[derive(Debug)]
pub(crate) struct Made {
    /// The product.
    pub(crate) draft: ProductDraft,
    /// What is known of it.
    pub(crate) facts: Facts,
}

/// What the writers of single kinds work with.
struct Bench<'a> {
    demo: &'a Demo,
    index: usize,
    leaf: &'static Leaf,
    family: &'static Family,
    planned: &'a Planned,
    habit: Habit,
    random: Random,
    facts: Facts,
}

/// The id of a product.
pub(crate) fn reference(index: usize) -> ExternalRef {
    ExternalRef {
        system: SYSTEM.to_owned(),
        external_id: format!("p-{:05}", index + 1),
    }
}

/// Writes the product of this index.
pub(crate) fn make(demo: &Demo, index: usize) -> Made {
    let mut bench = Bench::new(demo, index);
    let brand = bench.draw_facts();
    let (details, bundle) = bench.details();
    let name = bench.name();
    let description = bench.description();
    let draft = ProductDraft {
        source: reference(index),
        sku: bench.sku(brand),
        kind: bench.family.kind.clone(),
        description,
        brand: Some(brand.to_owned()),
        status: bench.planned.status,
        category: bench.leaf.path.to_vec(),
        supplier: bench.supplier(brand),
        price: bench.price(),
        media: bench.media(),
        name,
        specs: bench.facts.specs.clone(),
        details,
        bundle,
        created_at: Some(bench.planned.created),
        create_only: false,
    };
    Made {
        draft,
        facts: bench.facts,
    }
}

/// The name of the product of this index.
pub(crate) fn name_of(demo: &Demo, index: usize) -> String {
    let mut bench = Bench::new(demo, index);
    bench.draw_facts();
    bench.details();
    bench.name()
}

impl<'a> Bench<'a> {
    fn new(demo: &'a Demo, index: usize) -> Self {
        let mut random = Random::of(demo.options.seed, Purpose::Product, index);
        let leaf = demo.plan.leaf(index);
        Self {
            demo,
            index,
            leaf,
            family: leaf.family(),
            planned: &demo.plan.products[index],
            habit: Habit::draw(&mut random),
            random,
            facts: Facts::default(),
        }
    }

    fn draw_facts(&mut self) -> &'static str {
        let brand = self.random.early(self.family.brands());
        self.facts.plural = self.leaf.plural;
        self.facts.note("brand", brand);
        self.facts.note("thing", &self.leaf.thing);
        for tag in &self.family.tags {
            self.facts.note(tag, "");
        }
        let units = &self.demo.units;
        self.facts
            .draw(self.leaf.specs(), self.habit, units, &mut self.random);
        self.facts.keep_sensible(self.leaf.specs());
        if self.random.percent(45) && !self.leaf.is_bundle() {
            let number = trade_number(&mut self.random);
            self.facts.text("gtin", &number);
        }
        brand
    }

    fn details(&mut self) -> (Details, Vec<vitrine_model::import::BundleItemDraft>) {
        let details = match Kind::of(&self.family.kind) {
            Kind::Apparel => apparel::details(self),
            Kind::Book => book::details(self),
            Kind::Electronics => electronics::details(self),
            Kind::Grocery => grocery::details(self),
            Kind::Movie => movie::details(self),
            Kind::Bundle => {
                return (Details::Bundle(Bundle::default()), bundle::items(self));
            }
            Kind::Other(_) => Details::Generic,
        };
        (details, Vec::new())
    }

    /// Another combination of pattern and words for every product of a leaf.
    fn name(&mut self) -> String {
        const STRIDE: usize = 1_000_003;
        let [a, b] = self.leaf.name_words();
        let patterns = &self.leaf.names;
        let combinations = patterns.len() * a.len() * b.len();
        let offset = Random::of(self.demo.options.seed, Purpose::Name, self.planned.leaf)
            .below(combinations);
        let at = (self.planned.within * STRIDE + offset) % combinations;
        let (word, rest) = (at % a.len(), at / a.len());
        self.facts.note("a", &a[word]);
        self.facts.note("b", &b[rest % b.len()]);
        let first = rest / b.len();
        let turn = patterns[first..].iter().chain(&patterns[..first]);
        let name = turn
            .into_iter()
            .find_map(|pattern| fill(pattern, &self.facts))
            .unwrap_or_else(|| format!("{} {}", a[word], self.leaf.thing));
        self.facts.note("name", name.clone());
        name
    }

    fn description(&mut self) -> Option<String> {
        if self.random.percent(4) {
            return None;
        }
        let mut sentences: Vec<String> = Vec::with_capacity(4);
        let first = fill_any(&self.leaf.descriptions, &self.facts, &mut self.random);
        sentences.extend(first);
        for group in &self.family.descriptions {
            if self.random.percent(72) {
                let next = fill_any(group, &self.facts, &mut self.random);
                sentences.extend(next.filter(|next| !sentences.contains(next)));
            }
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    fn sku(&mut self, brand: &str) -> Option<String> {
        let letters = brand.chars().filter(char::is_ascii_alphabetic).take(3);
        let letters: String = letters.collect::<String>().to_ascii_uppercase();
        self.random
            .percent(90)
            .then(|| format!("{letters}-{:05}", self.index + 1))
    }

    /// Most of a brand comes from one supplier, and a few suppliers have most of the brands.
    fn supplier(&mut self, brand: &str) -> Option<SupplierDraft> {
        let weights: Vec<u32> = (0..42).map(|rank| 1_000 / (rank + 3)).collect();
        let letters = brand
            .bytes()
            .fold(7, |sum, byte| sum * 31 % 65_521 + usize::from(byte));
        let mut of_brand = Random::of(self.demo.options.seed, Purpose::Supplier, letters);
        let at = match self.random.weighted(&[80, 17, 3]) {
            0 => of_brand.weighted(&weights),
            1 => self.random.weighted(&weights),
            _ => return None,
        };
        let supplier = words().suppliers.get(at)?;
        Some(SupplierDraft {
            name: supplier.name.clone(),
            country: Some(supplier.country.clone()),
        })
    }

    fn price(&mut self) -> Option<Money> {
        let [from, to] = self.leaf.prices?;
        let code = self.planned.currency?;
        let currency = Currency::parse(code).ok()?;
        let whole = self.random.low(from, to);
        let minor = match whole {
            ..25 => whole * 100 + self.random.pick(&[99, 95, 49, 79]),
            25..150 => whole * 100 + self.random.pick(&[95, 90, 0]),
            _ => (whole / 10 * 10 + 9) * 100,
        };
        let minor = if code == "JPY" {
            minor / 1_000 * 1_600
        } else {
            minor
        };
        Some(Money { minor, currency })
    }

    fn media(&mut self) -> Vec<Media> {
        let words = &words().details.media;
        let count = [1, 2, 3, 4, 5, 0][self.random.weighted(&[30, 25, 20, 12, 8, 5])];
        let mut all: Vec<Media> = Vec::with_capacity(count + 1);
        for (number, alt) in (1..).zip(words.images.iter().take(count)) {
            all.push(self.medium(&format!("{number}.jpg"), alt, MediaKind::Image));
        }
        if count > 0 && self.random.percent(6) {
            all.push(self.medium("film.mp4", &words.video, MediaKind::Video));
        }
        if self.family.kind == "electronics" && self.random.percent(35) {
            all.push(self.medium("manual.pdf", &words.manual, MediaKind::Document));
        }
        all
    }

    fn medium(&self, file: &str, alt: &str, kind: MediaKind) -> Media {
        let id = self.index + 1;
        Media {
            url: format!("https://media.example.com/demo/p-{id:05}/{file}"),
            alt: fill(alt, &self.facts),
            kind,
        }
    }

    /// The start of a day, so many days before the demo's present.
    fn days_ago(&self, days: i64) -> Timestamp {
        self.demo.options.now.plus_millis(-days * DAY)
    }

    /// The start of a day, so many days before the product came into the shop.
    fn days_before(&self, days: i64) -> Timestamp {
        let created = self.planned.created.as_millis();
        Timestamp::from_millis(created - created.rem_euclid(DAY) - days * DAY)
    }
}

/// A trade item number from the range that shops may use for themselves (it begins with 2), so
/// that it is nobody's.
fn trade_number(random: &mut Random) -> String {
    let digits = format!("29{:010}", random.between(0, 9_999_999_999));
    with_check_digit(&digits)
}

/// Twelve digits and the check digit of GTIN-13 and ISBN-13.
fn with_check_digit(digits: &str) -> String {
    let weighted = digits.bytes().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits() {
        assert_eq!(with_check_digit("978030640615"), "9780306406157");
        assert_eq!(with_check_digit("400638133393"), "4006381333931");
    }
}
