//! Counting products by everything they can be counted by.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::texts::{Once, Texts};
use super::{FacetKey, Numbers};
use crate::clock::Timestamp;
use crate::id::CategoryId;
use crate::spec::{SpecValue, display_quantity};
use crate::unit::{UnitTable, format_number};

/// How many values are given as samples of a key.
pub const MAX_SAMPLES: usize = 5;

/// What is to be counted; nothing else takes time or memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Which of the facets that need no spec.
    pub built_in: BTreeSet<FacetKey>,
    /// Which spec keys.
    pub specs: WantedSpecs,
}

/// Which spec keys are to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedSpecs {
    /// Every key that comes.
    All,
    /// These keys.
    These(HashSet<String>),
}

impl Default for WantedSpecs {
    fn default() -> Self {
        Self::These(HashSet::new())
    }
}

impl Wanted {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self {
            built_in: BTreeSet::from(FacetKey::BUILT_IN),
            specs: WantedSpecs::All,
        }
    }

    /// These facets.
    #[must_use]
    pub fn only(facets: &[FacetKey]) -> Self {
        let mut built_in = BTreeSet::new();
        let mut specs = HashSet::new();
        for facet in facets {
            match facet {
                FacetKey::Spec(key) => {
                    specs.insert(key.clone());
                }
                other => {
                    built_in.insert(other.clone());
                }
            }
        }
        Self {
            built_in,
            specs: WantedSpecs::These(specs),
        }
    }
}

/// What is counted of a product beside its specs.
#[derive(Clone, Copy, Debug)]
pub struct TallyRow<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// The category it is in.
    pub category: CategoryId,
    /// Its brand.
    pub brand: Option<&'a str>,
    /// The country of its supplier.
    pub country: Option<&'a str>,
    /// Its price in minor units of the shop's currency.
    pub list_price: Option<i64>,
    /// Its mean rating in half stars, as it is filtered by.
    pub half_stars: Option<f64>,
}

/// Counts of products. After [`Tally::begin_product`] come the specs of that product, under the
/// main keys of the dictionary; whoever calls has resolved aliases.
#[derive(Debug)]
pub struct Tally {
    wanted: Wanted,
    /// The number of the present product; also how many there were.
    product: u64,
    /// The place of its kind in `kinds`.
    kind: usize,
    kinds: Vec<(String, u64)>,
    categories: HashMap<CategoryId, u64>,
    brands: Texts,
    countries: Texts,
    prices: Numbers<i64>,
    /// Each rating and how many products have it; there are few.
    ratings: Vec<(f64, u64)>,
    by_key: HashMap<String, usize>,
    keys: Vec<KeyTally>,
    /// The key of the last spec.
    last_key: usize,
}

#[derive(Debug)]
struct KeyTally {
    key: String,
    /// The key that came after this one last: products of a kind have their specs in one order.
    next: usize,
    products: Once,
    /// Products of each kind, in the order of the kinds.
    by_kind: Vec<u64>,
    texts: Texts,
    yes: Once,
    no: Once,
    numbers: Numbers,
    dates: Numbers,
}

/// How far products have a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyCoverage {
    /// How many products have it.
    pub products: u64,
    /// How many different values they have.
    pub distinct_values: u64,
    /// Each kind of product that was counted, those of most products first.
    pub kinds: Vec<KindCoverage>,
    /// The values of most products, for people; at most [`MAX_SAMPLES`].
    pub samples: Vec<String>,
}

/// How far products of a kind have a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCoverage {
    /// The kind.
    pub kind: String,
    /// How many products are of this kind.
    pub products: u64,
    /// How many of them have the key.
    pub having: u64,
}

impl Tally {
    /// A tally that has counted nothing yet.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        let mut tally = Self {
            product: 0,
            kind: 0,
            kinds: Vec::new(),
            categories: HashMap::new(),
            brands: Texts::default(),
            countries: Texts::default(),
            prices: Numbers::default(),
            ratings: Vec::new(),
            by_key: HashMap::new(),
            keys: Vec::new(),
            last_key: 0,
            wanted,
        };
        if let WantedSpecs::These(keys) = std::mem::take(&mut tally.wanted.specs) {
            for key in &keys {
                tally.learn(key);
            }
        } else {
            tally.wanted.specs = WantedSpecs::All;
        }
        tally
    }

    /// Counts a product. The specs that come next are its own.
    pub fn begin_product(&mut self, row: &TallyRow<'_>) {
        self.product += 1;
        self.begin_kind(row.kind);
        if self.wants(&FacetKey::Category) {
            *self.categories.entry(row.category).or_default() += 1;
        }
        if let Some(brand) = row.brand.filter(|_| self.wants(&FacetKey::Brand)) {
            self.brands.add(brand, self.product);
        }
        if let Some(country) = row.country.filter(|_| self.wants(&FacetKey::Country)) {
            self.countries.add(country, self.product);
        }
        if let Some(price) = row.list_price.filter(|_| self.wants(&FacetKey::Price)) {
            self.prices.add(price, None, self.product);
        }
        if let Some(stars) = row.half_stars.filter(|_| self.wants(&FacetKey::Rating)) {
            self.rate(stars);
        }
    }

    /// Counts a text of the present product. A text that is too long to be filtered by counts for
    /// the key, and is no value.
    pub fn text(&mut self, key: &str, value: &str) {
        let product = self.product;
        if let Some(tally) = self.key(key) {
            tally.texts.add(value, product);
        }
    }

    /// Counts a yes or no of the present product.
    pub fn boolean(&mut self, key: &str, value: bool) {
        let product = self.product;
        if let Some(tally) = self.key(key) {
            let answer = if value { &mut tally.yes } else { &mut tally.no };
            answer.add(product);
        }
    }

    /// Counts a canonical number of the present product, with the unit it was entered in. What is
    /// not finite is no value.
    pub fn number(&mut self, key: &str, n: f64, unit: Option<&str>) {
        let product = self.product;
        if let Some(tally) = self.key(key).filter(|_| n.is_finite()) {
            // Zero has one sign from here on.
            tally.numbers.add(n + 0.0, unit, product);
        }
    }

    /// Counts a date of the present product, in milliseconds.
    pub fn date(&mut self, key: &str, millis: f64) {
        let product = self.product;
        if let Some(tally) = self.key(key).filter(|_| millis.is_finite()) {
            tally.dates.add(millis + 0.0, None, product);
        }
    }

    /// How many products were counted.
    #[must_use]
    pub const fn products(&self) -> u64 {
        self.product
    }

    /// The spec keys that products have, in order, and how many products have each.
    #[must_use]
    pub fn keys(&self) -> Vec<(&str, u64)> {
        let had = self.keys.iter().filter(|tally| tally.products.count > 0);
        let mut all: Vec<(&str, u64)> = had
            .map(|tally| (tally.key.as_str(), tally.products.count))
            .collect();
        all.sort_unstable();
        all
    }

    /// How many products have this key.
    #[must_use]
    pub fn having(&self, key: &str) -> u64 {
        self.find(key).map_or(0, |tally| tally.products.count)
    }

    /// The texts of a key; `None` when no product has the key.
    #[must_use]
    pub fn texts(&self, key: &str) -> Option<&Texts> {
        self.find(key).map(|tally| &tally.texts)
    }

    /// How many products say yes, and how many no; `None` when no product has the key.
    #[must_use]
    pub fn booleans(&self, key: &str) -> Option<(u64, u64)> {
        self.find(key)
            .map(|tally| (tally.yes.count, tally.no.count))
    }

    /// The canonical numbers of a key; `None` when no product has the key.
    #[must_use]
    pub fn numbers(&self, key: &str) -> Option<&Numbers> {
        self.find(key).map(|tally| &tally.numbers)
    }

    /// The dates of a key in milliseconds; `None` when no product has the key.
    #[must_use]
    pub fn dates(&self, key: &str) -> Option<&Numbers> {
        self.find(key).map(|tally| &tally.dates)
    }

    /// The categories that products are in: those of most products first, equals by id.
    #[must_use]
    pub fn categories(&self) -> Vec<(CategoryId, u64)> {
        let mut all: Vec<(CategoryId, u64)> =
            self.categories.iter().map(|(id, n)| (*id, *n)).collect();
        all.sort_unstable_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
        all
    }

    /// The brands.
    #[must_use]
    pub const fn brands(&self) -> &Texts {
        &self.brands
    }

    /// The countries of suppliers.
    #[must_use]
    pub const fn countries(&self) -> &Texts {
        &self.countries
    }

    /// The prices, in minor units.
    #[must_use]
    pub const fn prices(&self) -> &Numbers<i64> {
        &self.prices
    }

    /// How many products have a rating.
    #[must_use]
    pub fn rated(&self) -> u64 {
        self.rated_at_least(f64::NEG_INFINITY)
    }

    /// How many products are rated at least so.
    #[must_use]
    pub fn rated_at_least(&self, half_stars: f64) -> u64 {
        let enough = self
            .ratings
            .iter()
            .filter(|(stars, _)| *stars >= half_stars);
        enough.map(|(_, count)| count).sum()
    }

    /// How far products have a key.
    #[must_use]
    pub fn coverage(&self, key: &str, units: &UnitTable) -> KeyCoverage {
        let tally = self.find(key);
        let having = |at: usize| tally.and_then(|tally| tally.by_kind.get(at).copied());
        let kinds = self.kinds.iter().enumerate();
        let mut kinds: Vec<KindCoverage> = kinds
            .map(|(at, (kind, products))| KindCoverage {
                kind: kind.clone(),
                products: *products,
                having: having(at).unwrap_or(0),
            })
            .collect();
        kinds.sort_by(|a, b| {
            b.products
                .cmp(&a.products)
                .then_with(|| a.kind.cmp(&b.kind))
        });
        KeyCoverage {
            products: self.having(key),
            distinct_values: tally.map_or(0, KeyTally::distinct),
            kinds,
            samples: tally.map_or_else(Vec::new, |tally| tally.samples(units)),
        }
    }

    fn wants(&self, facet: &FacetKey) -> bool {
        self.wanted.built_in.contains(facet)
    }

    fn begin_kind(&mut self, kind: &str) {
        let is_it = |known: &(String, u64)| known.0 == kind;
        if !self.kinds.get(self.kind).is_some_and(is_it) {
            self.kind = self.kinds.iter().position(is_it).unwrap_or_else(|| {
                self.kinds.push((kind.to_owned(), 0));
                self.kinds.len() - 1
            });
        }
        self.kinds[self.kind].1 += 1;
    }

    fn rate(&mut self, stars: f64) {
        let same = |known: &&mut (f64, u64)| known.0.total_cmp(&stars).is_eq();
        match self.ratings.iter_mut().find(same) {
            Some((_, count)) => *count += 1,
            None => self.ratings.push((stars, 1)),
        }
    }

    /// The tally of a key, in which the present product is counted; `None` when it is not wanted.
    fn key(&mut self, key: &str) -> Option<&mut KeyTally> {
        let guess = self.keys.get(self.last_key).map_or(0, |last| last.next);
        let guessed = self.keys.get(guess).is_some_and(|known| known.key == key);
        let at = if guessed { guess } else { self.look_up(key)? };
        if let Some(last) = self.keys.get_mut(self.last_key) {
            last.next = at;
        }
        self.last_key = at;
        let tally = &mut self.keys[at];
        let before = tally.products.count;
        tally.products.add(self.product);
        if tally.products.count > before {
            if tally.by_kind.len() <= self.kind {
                tally.by_kind.resize(self.kind + 1, 0);
            }
            tally.by_kind[self.kind] += 1;
        }
        Some(tally)
    }

    fn look_up(&mut self, key: &str) -> Option<usize> {
        let known = self.by_key.get(key).copied();
        known.or_else(|| (self.wanted.specs == WantedSpecs::All).then(|| self.learn(key)))
    }

    fn learn(&mut self, key: &str) -> usize {
        let at = self.keys.len();
        self.by_key.insert(key.to_owned(), at);
        self.keys.push(KeyTally {
            key: key.to_owned(),
            next: at + 1,
            products: Once::default(),
            by_kind: Vec::new(),
            texts: Texts::default(),
            yes: Once::default(),
            no: Once::default(),
            numbers: Numbers::default(),
            dates: Numbers::default(),
        });
        at
    }

    fn find(&self, key: &str) -> Option<&KeyTally> {
        let tally = self.by_key.get(key).map(|at| &self.keys[*at]);
        tally.filter(|tally| tally.products.count > 0)
    }
}

impl KeyTally {
    fn distinct(&self) -> u64 {
        let answers = u64::from(self.yes.count > 0) + u64::from(self.no.count > 0);
        let numbers = self.numbers.distinct() + self.dates.distinct();
        self.texts.distinct() + answers + u64::try_from(numbers).unwrap_or(u64::MAX)
    }

    fn samples(&self, units: &UnitTable) -> Vec<String> {
        let mut all: Vec<(u64, String)> = Vec::new();
        let texts = self.texts.values().into_iter().take(MAX_SAMPLES);
        all.extend(texts.map(|text| (text.count, text.label)));
        for (answer, value) in [(self.yes, true), (self.no, false)] {
            if answer.count > 0 {
                all.push((answer.count, SpecValue::Boolean(value).display()));
            }
        }
        let unit = self.numbers.common_unit().and_then(|unit| units.find(unit));
        let number = |n: f64| match unit {
            Some(unit) => display_quantity(unit.from_base(n), &unit.id),
            None => format_number(n),
        };
        all.extend(most_common(&self.numbers).map(|(n, count)| (count, number(n))));
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds are whole")]
        let date = |millis: f64| SpecValue::Date(Timestamp::from_millis(millis as i64)).display();
        all.extend(most_common(&self.dates).map(|(n, count)| (count, date(n))));
        // Stable: of equals those stay first that came first above.
        all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        all.truncate(MAX_SAMPLES);
        all.into_iter().map(|(_, sample)| sample).collect()
    }
}

/// The numbers that most products have; of equals the lowest.
fn most_common(numbers: &Numbers) -> impl Iterator<Item = (f64, u64)> {
    let mut all = numbers.values();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.into_iter().take(MAX_SAMPLES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All spec keys, and nothing else.
    fn all_specs() -> Wanted {
        Wanted {
            built_in: BTreeSet::new(),
            specs: WantedSpecs::All,
        }
    }
    use crate::filter::{Bounds, Range};

    fn row(kind: &str) -> TallyRow<'_> {
        TallyRow {
            kind,
            category: CategoryId::from_i64(1),
            brand: None,
            country: None,
            list_price: None,
            half_stars: None,
        }
    }

    fn kind(kind: &str, products: u64, having: u64) -> KindCoverage {
        KindCoverage {
            kind: kind.to_owned(),
            products,
            having,
        }
    }

    #[test]
    fn a_product_counts_once_for_a_key_and_once_for_a_value() {
        let units = UnitTable::built_in();
        let mut tally = Tally::new(Wanted::all());
        tally.begin_product(&row("shoe"));
        for size in ["M", "m", "L", "M"] {
            tally.text("size", size);
        }
        tally.begin_product(&row("shirt"));
        tally.text("size", "M");
        tally.text("care", &"x".repeat(257));
        tally.begin_product(&row("shirt"));
        let expected = KeyCoverage {
            products: 2,
            distinct_values: 2,
            kinds: vec![kind("shirt", 2, 1), kind("shoe", 1, 1)],
            samples: vec!["M".to_owned(), "L".to_owned()],
        };
        assert_eq!(tally.coverage("size", &units), expected);
        let care = tally.coverage("care", &units);
        assert_eq!((care.products, care.distinct_values), (1, 0));
        let nothing = tally.coverage("color", &units);
        assert_eq!(nothing.kinds, [kind("shirt", 2, 0), kind("shoe", 1, 0)]);
        assert_eq!(
            (tally.products(), tally.keys()),
            (3, vec![("care", 1), ("size", 2)])
        );
    }

    #[test]
    fn numbers_keep_their_products_apart() {
        let units = UnitTable::built_in();
        let mut tally = Tally::new(all_specs());
        for n in [685.8, 685.8, 800.1] {
            tally.begin_product(&row("monitor"));
            tally.number("screen_size", n, Some("in"));
            tally.number("screen_size", n, Some("cm"));
            tally.number("screen_size", n + 1.0, Some("in"));
            tally.number("screen_size", f64::NAN, None);
            tally.number("balance", -0.0, None);
            tally.number("balance", 0.0, None);
        }
        let sizes = tally.numbers("screen_size").unwrap();
        assert_eq!((sizes.products(), sizes.distinct()), (3, 4));
        assert_eq!(sizes.count(&Range::default()), 3);
        assert_eq!(sizes.common_unit(), Some("in"));
        let coverage = tally.coverage("screen_size", &units);
        assert_eq!((coverage.products, coverage.distinct_values), (3, 4));
        assert_eq!(coverage.samples[0], "27 in");
        assert_eq!(tally.coverage("balance", &units).distinct_values, 1);
    }

    #[test]
    fn dates_and_answers_are_values_too() {
        let units = UnitTable::built_in();
        let mut tally = Tally::new(all_specs());
        for answer in [true, true, false] {
            tally.begin_product(&row("film"));
            tally.boolean("restored", answer);
            tally.date("release_date", 0.0);
        }
        tally.boolean("restored", true);
        assert_eq!(
            tally.booleans("restored"),
            Some((3, 1)),
            "both, for the last one"
        );
        assert_eq!(tally.booleans("color"), None);
        assert_eq!(tally.coverage("restored", &units).samples, ["yes", "no"]);
        assert_eq!(
            tally.coverage("release_date", &units).samples,
            ["1970-01-01"]
        );
        assert_eq!(tally.dates("release_date").unwrap().max(), Some(0.0));
    }

    #[test]
    fn built_in_facets() {
        let other = CategoryId::from_i64(2);
        let mut tally = Tally::new(Wanted::all());
        for (brand, price, stars) in [("Acer", 100, 4.5), ("ACER", 250, 3.0), ("Asus", 250, 4.5)] {
            tally.begin_product(&TallyRow {
                brand: Some(brand),
                country: Some("TW"),
                list_price: Some(price),
                half_stars: Some(stars),
                ..row("laptop")
            });
        }
        tally.begin_product(&TallyRow {
            category: other,
            ..row("laptop")
        });
        assert_eq!(
            tally.categories(),
            [(row("laptop").category, 3), (other, 1)]
        );
        assert_eq!(tally.brands().values()[0].count, 2);
        assert_eq!(
            (tally.brands().distinct(), tally.countries().products()),
            (2, 3)
        );
        let dear = Bounds {
            gte: Some(101),
            lte: None,
        };
        assert_eq!(
            (tally.prices().count(dear), tally.prices().distinct()),
            (2, 2)
        );
        assert_eq!(
            (
                tally.rated(),
                tally.rated_at_least(4.5),
                tally.rated_at_least(3.5)
            ),
            (3, 2, 2)
        );
    }

    #[test]
    fn only_what_is_wanted_is_counted() {
        let wanted = [FacetKey::Brand, FacetKey::Spec("size".to_owned())];
        let mut tally = Tally::new(Wanted::only(&wanted));
        for _ in 0..2 {
            tally.begin_product(&TallyRow {
                brand: Some("Acer"),
                list_price: Some(1),
                ..row("shoe")
            });
            tally.text("color", "red");
            tally.text("size", "M");
            tally.text("color", "blue");
        }
        assert_eq!(tally.keys(), [("size", 2)]);
        assert_eq!(tally.brands().products(), 2);
        assert_eq!(
            (tally.prices().products(), tally.categories().len()),
            (0, 0)
        );
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let mut tally = Tally::new(all_specs());
        let orders = ["abc", "cba", "bac", "aabbcc", "c", "d", "dcab"];
        for order in orders {
            tally.begin_product(&row("any"));
            for key in order.chars() {
                tally.boolean(&key.to_string(), true);
            }
        }
        assert_eq!(tally.keys(), [("a", 5), ("b", 5), ("c", 6), ("d", 2)]);
    }
}
