//! Writes the products of a plan.

mod apparel;
mod book;
mod bundle;
mod electronics;
mod grocery;
mod movie;

use vitrine_model::clock::Timestamp;
use vitrine_model::import::{BundleItemDraft, Droppable, ExternalRef, ProductDraft, SupplierDraft};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Bundle, Details, Kind, Media, MediaKind};

use super::facts::{Facts, UnitPreference};
use super::plan::{DAY, PlannedProduct};
use super::random::{Random, Stream};
use super::template::{fill, fill_any};
use super::words::catalogue::{Family, Leaf};
use super::words::words;
use super::{Demo, SYSTEM};

/// The distance between the names of two products that follow each other. It is a prime, so that a
/// leaf uses all combinations of words before it repeats one.
const NAME_STRIDE: usize = 1_000_003;

/// A product, and the facts that it and its reviews are written from.
#[derive(Debug)]
pub(crate) struct GeneratedProduct {
    /// The product.
    pub(crate) draft: ProductDraft,
    /// What is known of it.
    pub(crate) facts: Facts,
}

/// Writes one product.
struct ProductWriter<'a> {
    demo: &'a Demo,
    index: usize,
    planned: &'a PlannedProduct,
    leaf: &'static Leaf,
    family: &'static Family,
    preference: UnitPreference,
    random: Random,
    facts: Facts,
}

/// Returns the id of the product of this index.
pub(crate) fn reference(index: usize) -> ExternalRef {
    ExternalRef {
        system: SYSTEM.to_owned(),
        external_id: format!("p-{:05}", index + 1),
    }
}

/// Writes the product of this index.
pub(crate) fn generate(demo: &Demo, index: usize) -> GeneratedProduct {
    let mut writer = ProductWriter::new(demo, index);
    let brand = writer.draw_facts();
    let (details, bundle) = writer.details();
    let name = writer.name();
    let description = writer.description();
    let draft = ProductDraft {
        source: reference(index),
        sku: writer.sku(brand),
        kind: Some(writer.family.kind.clone()),
        name: Some(name),
        description,
        brand: Some(brand.to_owned()),
        status: Some(writer.planned.status),
        category: writer.leaf.path.to_vec(),
        supplier: writer.supplier(brand),
        price: writer.price(),
        media: writer.media(),
        specs: writer.facts.specs.clone(),
        details,
        bundle,
        created_at: Some(writer.planned.created),
        create_only: false,
        owns: Vec::new(),
        droppable: Droppable::default(),
    };
    let facts = writer.facts;
    GeneratedProduct { draft, facts }
}

/// Returns the name of the product of this index.
pub(crate) fn name_of(demo: &Demo, index: usize) -> String {
    let mut writer = ProductWriter::new(demo, index);
    writer.draw_facts();
    writer.details();
    writer.name()
}

impl<'a> ProductWriter<'a> {
    fn new(demo: &'a Demo, index: usize) -> Self {
        let mut random = Random::new(demo.options.seed, Stream::Product, index);
        let leaf = demo.plan.leaf(index);
        Self {
            demo,
            index,
            planned: &demo.plan.products[index],
            leaf,
            family: leaf.family(),
            preference: UnitPreference::draw(&mut random),
            random,
            facts: Facts::default(),
        }
    }

    /// Draws the brand and the specs. Returns the brand.
    fn draw_facts(&mut self) -> &'static str {
        let brand = self.random.pick_early(self.family.brands());
        self.facts.plural = self.leaf.plural;
        self.facts.set_note("brand", brand);
        self.facts.set_note("thing", &self.leaf.thing);
        for tag in &self.family.tags {
            self.facts.set_note(tag, "");
        }
        let (units, random) = (&self.demo.units, &mut self.random);
        self.facts
            .draw(self.leaf.specs(), self.preference, units, random);
        self.facts.apply_requirements(self.leaf.specs());
        if self.random.percent(45) && !self.leaf.is_bundle() {
            let number = gtin(&mut self.random);
            self.facts.add_text("gtin", &number);
        }
        brand
    }

    fn details(&mut self) -> (Details, Vec<BundleItemDraft>) {
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

    /// Writes the name: each product of a leaf has another combination of pattern and words.
    fn name(&mut self) -> String {
        let [a, b] = self.leaf.name_words();
        let patterns = &self.leaf.names;
        let combinations = patterns.len() * a.len() * b.len();
        let seed = self.demo.options.seed;
        let first = Random::new(seed, Stream::FirstName, self.planned.leaf).below(combinations);
        let index = (self.planned.number * NAME_STRIDE + first) % combinations;
        let (word, rest) = (&a[index % a.len()], index / a.len());
        self.facts.set_note("a", word);
        self.facts.set_note("b", &b[rest % b.len()]);
        let (earlier, later) = patterns.split_at(rest / b.len());
        let name = later
            .iter()
            .chain(earlier)
            .find_map(|pattern| fill(pattern, &self.facts))
            .unwrap_or_else(|| format!("{word} {}", self.leaf.thing));
        self.facts.set_note("name", name.clone());
        name
    }

    fn description(&mut self) -> Option<String> {
        if self.random.percent(4) {
            return None;
        }
        let first = fill_any(&self.leaf.descriptions, &self.facts, &mut self.random);
        let mut sentences: Vec<String> = first.into_iter().collect();
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
        let number = self.index + 1;
        let has_sku = self.random.percent(90);
        has_sku.then(|| format!("{letters}-{number:05}"))
    }

    /// Draws the supplier: mostly the main supplier of the brand. The first suppliers have most of
    /// the brands.
    fn supplier(&mut self, brand: &str) -> Option<SupplierDraft> {
        let suppliers = &words().suppliers;
        let ranks = (3_u32..).take(suppliers.len());
        let weights: Vec<u32> = ranks.map(|rank| 1_000 / rank).collect();
        let brand_number = brand
            .bytes()
            .fold(7, |sum, byte| sum * 31 % 65_521 + usize::from(byte));
        let seed = self.demo.options.seed;
        let index = match self.random.weighted(&[80, 17, 3]) {
            0 => Random::new(seed, Stream::BrandSupplier, brand_number).weighted(&weights),
            1 => self.random.weighted(&weights),
            _ => return None,
        };
        let supplier = suppliers.get(index)?;
        Some(SupplierDraft {
            name: supplier.name.clone(),
            country: Some(supplier.country.clone()),
            origin: None,
        })
    }

    fn price(&mut self) -> Option<Money> {
        let [min, max] = self.leaf.prices?;
        let code = self.planned.currency?;
        let currency = Currency::parse(code).ok()?;
        let whole = self.random.skewed_low(min, max);
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
        let mut media = Vec::with_capacity(count + 1);
        for (number, alt) in (1..).zip(words.images.iter().take(count)) {
            media.push(self.medium(&format!("{number}.jpg"), alt, MediaKind::Image));
        }
        if count > 0 && self.random.percent(6) {
            media.push(self.medium("film.mp4", &words.video, MediaKind::Video));
        }
        if self.family.kind == Kind::Electronics.name() && self.random.percent(35) {
            media.push(self.medium("manual.pdf", &words.manual, MediaKind::Document));
        }
        media
    }

    fn medium(&self, file: &str, alt: &str, kind: MediaKind) -> Media {
        let number = self.index + 1;
        Media {
            url: format!("https://media.example.com/demo/p-{number:05}/{file}"),
            alt: fill(alt, &self.facts),
            kind,
        }
    }

    /// Returns the start of the day that is this many days before the demo's present.
    fn days_ago(&self, days: i64) -> Timestamp {
        self.demo.options.now.plus_millis(-days * DAY)
    }

    /// Returns the start of the day that is this many days before the product came into the shop.
    fn days_before_creation(&self, days: i64) -> Timestamp {
        let created = self.planned.created.as_millis();
        Timestamp::from_millis(created - created.rem_euclid(DAY) - days * DAY)
    }
}

/// Draws a trade item number that begins with 2. Shops may use these numbers for themselves, so it
/// belongs to nobody.
fn gtin(random: &mut Random) -> String {
    let digits = format!("29{:010}", random.between(0, 9_999_999_999));
    with_check_digit(&digits)
}

/// Adds the check digit of GTIN-13 and ISBN-13 to twelve digits.
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
