//! Counting products by every facet.

mod rows;

pub use rows::RowTally;

use std::collections::{BTreeSet, HashMap, HashSet};

use super::texts::{ProductCounter, Texts};
use super::{FacetKey, Numbers};
use crate::clock::Timestamp;
use crate::id::CategoryId;
use crate::significant::format_number;
use crate::spec::{SpecValue, display_quantity};
use crate::unit::UnitTable;

/// The maximum number of sample values of a key.
pub const MAX_SAMPLES: usize = 5;

/// The facets to count. Others take neither time nor memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TallyFields {
    /// The facets that are not specs.
    pub built_in: BTreeSet<FacetKey>,
    /// The spec keys.
    pub specs: TallySpecs,
}

/// The spec keys to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TallySpecs {
    /// Every key of the products but these.
    AllBut(HashSet<String>),
    /// Only these keys.
    These(HashSet<String>),
}

impl Default for TallySpecs {
    fn default() -> Self {
        Self::These(HashSet::new())
    }
}

impl TallyFields {
    /// All facets.
    #[must_use]
    pub fn all() -> Self {
        Self {
            built_in: BTreeSet::from(FacetKey::BUILT_IN),
            specs: TallySpecs::AllBut(HashSet::new()),
        }
    }

    /// All facets but these.
    #[must_use]
    pub fn all_but(facets: &[FacetKey]) -> Self {
        let (built_in, specs) = divided(facets);
        let all = BTreeSet::from(FacetKey::BUILT_IN);
        Self {
            built_in: &all - &built_in,
            specs: TallySpecs::AllBut(specs),
        }
    }

    /// Only these facets.
    #[must_use]
    pub fn only(facets: &[FacetKey]) -> Self {
        let (built_in, specs) = divided(facets);
        Self {
            built_in,
            specs: TallySpecs::These(specs),
        }
    }
}

impl TallySpecs {
    fn counts(&self, key: &str) -> bool {
        match self {
            Self::AllBut(keys) => !keys.contains(key),
            Self::These(keys) => keys.contains(key),
        }
    }
}

/// Returns the facets that are not specs, and the keys of those that are.
fn divided(facets: &[FacetKey]) -> (BTreeSet<FacetKey>, HashSet<String>) {
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
    (built_in, specs)
}

/// The counted fields of a product, without its specs.
#[derive(Clone, Copy, Debug)]
pub struct TallyProduct<'a> {
    /// The product's kind.
    pub kind: &'a str,
    /// The product's category.
    pub category: CategoryId,
    /// The product's brand.
    pub brand: Option<&'a str>,
    /// The supplier's country.
    pub country: Option<&'a str>,
    /// The price in minor units of the shop's currency.
    pub list_price: Option<i64>,
    /// The average rating cut down to half stars.
    pub half_stars: Option<f64>,
}

/// Counts of products by facet. After [`FacetTally::begin_product`] come the specs of that product,
/// under the main keys of the dictionary: the caller resolves aliases.
#[derive(Debug)]
pub struct FacetTally {
    fields: TallyFields,
    /// The number of the current product, starting with 1; also the number of products so far.
    product: u64,
    /// The index of its kind in `kinds`.
    kind: usize,
    kinds: Vec<(String, u64)>,
    categories: HashMap<CategoryId, u64>,
    brands: Texts,
    countries: Texts,
    prices: Numbers<i64>,
    /// Each rating and the number of products that have it. There are at most ten.
    ratings: Vec<(f64, u64)>,
    by_key: HashMap<String, usize>,
    keys: Vec<KeyTally>,
    /// The key of the last spec.
    last_key: usize,
}

#[derive(Debug)]
struct KeyTally {
    key: String,
    /// The key that last followed this one: products of a kind list their specs in the same order.
    next: usize,
    products: ProductCounter,
    /// The number of products by kind, indexed as `kinds`.
    by_kind: Vec<u64>,
    texts: Texts,
    yes: ProductCounter,
    no: ProductCounter,
    numbers: Numbers,
    dates: Numbers,
}

/// How many products, of which kinds, have a spec key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyCoverage {
    /// The number of products that have it.
    pub products: u64,
    /// The number of distinct values.
    pub distinct_values: u64,
    /// The kinds of all products counted, largest first.
    pub kinds: Vec<KindCoverage>,
    /// The most frequent values as text; at most [`MAX_SAMPLES`].
    pub samples: Vec<String>,
}

/// How many products of a kind have a spec key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCoverage {
    /// The kind.
    pub kind: String,
    /// The number of products of this kind.
    pub products: u64,
    /// The number of them that have the key.
    pub having: u64,
}

impl FacetTally {
    /// Returns an empty tally that counts these facets.
    #[must_use]
    pub fn new(fields: TallyFields) -> Self {
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
            fields,
        };
        if let TallySpecs::These(keys) = &tally.fields.specs {
            for key in keys.clone() {
                tally.learn(&key);
            }
        }
        tally
    }

    /// Counts a product. The specs added next belong to it.
    pub fn begin_product(&mut self, row: &TallyProduct<'_>) {
        self.product += 1;
        self.begin_kind(row.kind);
        if self.counts_facet(&FacetKey::Category) {
            *self.categories.entry(row.category).or_default() += 1;
        }
        if let Some(brand) = row.brand.filter(|_| self.counts_facet(&FacetKey::Brand)) {
            self.brands.add(brand, self.product);
        }
        if let Some(country) = row
            .country
            .filter(|_| self.counts_facet(&FacetKey::Country))
        {
            self.countries.add(country, self.product);
        }
        if let Some(price) = row
            .list_price
            .filter(|_| self.counts_facet(&FacetKey::Price))
        {
            self.prices.add(price, None, self.product);
        }
        if let Some(stars) = row
            .half_stars
            .filter(|_| self.counts_facet(&FacetKey::Rating))
        {
            rate(&mut self.ratings, stars, 1);
        }
    }

    /// Counts a text value of the current product. A text that is too long to be filtered by counts
    /// for the key, but not as a value.
    pub fn text(&mut self, key: &str, value: &str) {
        let product = self.product;
        if let Some(tally) = self.key(key) {
            tally.texts.add(value, product);
        }
    }

    /// Counts a boolean value of the current product.
    pub fn boolean(&mut self, key: &str, value: bool) {
        let product = self.product;
        if let Some(tally) = self.key(key) {
            let counter = if value { &mut tally.yes } else { &mut tally.no };
            counter.add(product);
        }
    }

    /// Counts a canonical number of the current product, with the unit it was entered in. A number
    /// that is not finite is ignored.
    pub fn number(&mut self, key: &str, n: f64, unit: Option<&str>) {
        let product = self.product;
        if let Some(tally) = self.key(key).filter(|_| n.is_finite()) {
            // Turns -0.0 into 0.0, so that both are one value.
            tally.numbers.add(n + 0.0, unit, product);
        }
    }

    /// Counts a date of the current product, in milliseconds.
    pub fn date(&mut self, key: &str, millis: f64) {
        let product = self.product;
        if let Some(tally) = self.key(key).filter(|_| millis.is_finite()) {
            tally.dates.add(millis + 0.0, None, product);
        }
    }

    /// The number of products counted.
    #[must_use]
    pub const fn products(&self) -> u64 {
        self.product
    }

    /// The spec keys that products have, sorted, and the number of products of each.
    #[must_use]
    pub fn keys(&self) -> Vec<(&str, u64)> {
        let had = self.keys.iter().filter(|tally| tally.products.count > 0);
        let mut all: Vec<(&str, u64)> = had
            .map(|tally| (tally.key.as_str(), tally.products.count))
            .collect();
        all.sort_unstable();
        all
    }

    /// The number of products that have this key.
    #[must_use]
    pub fn products_with(&self, key: &str) -> u64 {
        self.find(key).map_or(0, |tally| tally.products.count)
    }

    /// The text values of a key; `None` when no product has the key.
    #[must_use]
    pub fn texts(&self, key: &str) -> Option<&Texts> {
        self.find(key).map(|tally| &tally.texts)
    }

    /// The numbers of products with the value true and with false; `None` when no product has the
    /// key.
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

    /// The categories of products, largest count first, equal counts by id.
    #[must_use]
    pub fn categories(&self) -> Vec<(CategoryId, u64)> {
        let mut all: Vec<(CategoryId, u64)> =
            self.categories.iter().map(|(id, n)| (*id, *n)).collect();
        all.sort_unstable_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
        all
    }

    /// The brands of products.
    #[must_use]
    pub const fn brands(&self) -> &Texts {
        &self.brands
    }

    /// The countries of products' suppliers.
    #[must_use]
    pub const fn countries(&self) -> &Texts {
        &self.countries
    }

    /// The prices of products, in minor units.
    #[must_use]
    pub const fn prices(&self) -> &Numbers<i64> {
        &self.prices
    }

    /// The number of products that have a rating.
    #[must_use]
    pub fn rated(&self) -> u64 {
        self.rated_at_least(f64::NEG_INFINITY)
    }

    /// The number of products rated at least this.
    #[must_use]
    pub fn rated_at_least(&self, half_stars: f64) -> u64 {
        let enough = self
            .ratings
            .iter()
            .filter(|(stars, _)| *stars >= half_stars);
        enough.map(|(_, count)| count).sum()
    }

    /// How many products, of which kinds, have a spec key.
    #[must_use]
    pub fn coverage(&self, key: &str, units: &UnitTable) -> KeyCoverage {
        let tally = self.find(key);
        let with_key = |at: usize| tally.and_then(|tally| tally.by_kind.get(at).copied());
        let kinds = self.kinds.iter().enumerate();
        let mut kinds: Vec<KindCoverage> = kinds
            .map(|(at, (kind, products))| KindCoverage {
                kind: kind.clone(),
                products: *products,
                having: with_key(at).unwrap_or(0),
            })
            .collect();
        kinds.sort_by(|a, b| {
            b.products
                .cmp(&a.products)
                .then_with(|| a.kind.cmp(&b.kind))
        });
        KeyCoverage {
            products: self.products_with(key),
            distinct_values: tally.map_or(0, KeyTally::distinct),
            kinds,
            samples: tally.map_or_else(Vec::new, |tally| tally.samples(units)),
        }
    }

    fn counts_facet(&self, facet: &FacetKey) -> bool {
        self.fields.built_in.contains(facet)
    }

    fn begin_kind(&mut self, kind: &str) {
        let is_same = |known: &(String, u64)| known.0 == kind;
        if !self.kinds.get(self.kind).is_some_and(is_same) {
            self.kind = self.kinds.iter().position(is_same).unwrap_or_else(|| {
                self.kinds.push((kind.to_owned(), 0));
                self.kinds.len() - 1
            });
        }
        self.kinds[self.kind].1 += 1;
    }

    /// Returns the tally of a key after counting the current product in it; `None` if the key is
    /// not counted.
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
        known.or_else(|| self.fields.specs.counts(key).then(|| self.learn(key)))
    }

    fn learn(&mut self, key: &str) -> usize {
        let at = self.keys.len();
        self.by_key.insert(key.to_owned(), at);
        self.keys.push(KeyTally {
            key: key.to_owned(),
            next: at + 1,
            products: ProductCounter::default(),
            by_kind: Vec::new(),
            texts: Texts::default(),
            yes: ProductCounter::default(),
            no: ProductCounter::default(),
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
        let texts = self.texts.top(MAX_SAMPLES).into_iter();
        all.extend(texts.map(|text| (text.count, text.label)));
        for (counter, value) in [(self.yes, true), (self.no, false)] {
            if counter.count > 0 {
                all.push((counter.count, SpecValue::<String>::Boolean(value).display()));
            }
        }
        let unit = self.numbers.common_unit().and_then(|unit| units.find(unit));
        let number = |n: f64| match unit {
            Some(unit) => display_quantity(unit.from_base(n), &unit.id),
            None => format_number(n),
        };
        all.extend(most_common(&self.numbers).map(|(n, count)| (count, number(n))));
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds are whole")]
        let date = |millis: f64| {
            SpecValue::<String>::Date(Timestamp::from_millis(millis as i64)).display()
        };
        all.extend(most_common(&self.dates).map(|(n, count)| (count, date(n))));
        // A stable sort: equal counts stay in the order in which they were added.
        all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        all.truncate(MAX_SAMPLES);
        all.into_iter().map(|(_, sample)| sample).collect()
    }
}

/// Counts the rating of several products.
fn rate(ratings: &mut Vec<(f64, u64)>, stars: f64, products: u64) {
    let same = |known: &&mut (f64, u64)| known.0.total_cmp(&stars).is_eq();
    match ratings.iter_mut().find(same) {
        Some((_, count)) => *count += products,
        None => ratings.push((stars, products)),
    }
}

/// The most frequent numbers; of equal counts the lowest first.
fn most_common(numbers: &Numbers) -> impl Iterator<Item = (f64, u64)> {
    let mut all = numbers.values();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.into_iter().take(MAX_SAMPLES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All spec keys, and nothing else.
    fn all_specs() -> TallyFields {
        TallyFields {
            built_in: BTreeSet::new(),
            specs: TallySpecs::AllBut(HashSet::new()),
        }
    }
    use crate::filter::{Bounds, Range};

    fn row(kind: &str) -> TallyProduct<'_> {
        TallyProduct {
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
        let mut tally = FacetTally::new(TallyFields::all());
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
    fn numbers_count_each_product_once() {
        let units = UnitTable::built_in();
        let mut tally = FacetTally::new(all_specs());
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
    fn dates_and_booleans_are_values_too() {
        let units = UnitTable::built_in();
        let mut tally = FacetTally::new(all_specs());
        for value in [true, true, false] {
            tally.begin_product(&row("film"));
            tally.boolean("restored", value);
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
    fn built_in_facets_are_counted() {
        let other = CategoryId::from_i64(2);
        let mut tally = FacetTally::new(TallyFields::all());
        for (brand, price, stars) in [("Acer", 100, 4.5), ("ACER", 250, 3.0), ("Asus", 250, 4.5)] {
            tally.begin_product(&TallyProduct {
                brand: Some(brand),
                country: Some("TW"),
                list_price: Some(price),
                half_stars: Some(stars),
                ..row("laptop")
            });
        }
        tally.begin_product(&TallyProduct {
            category: other,
            ..row("laptop")
        });
        assert_eq!(
            tally.categories(),
            [(row("laptop").category, 3), (other, 1)]
        );
        assert_eq!(tally.brands().top(1)[0].count, 2);
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
    fn only_the_chosen_facets_are_counted() {
        let chosen = [FacetKey::Brand, FacetKey::Spec("size".to_owned())];
        let count = |fields| {
            let mut tally = FacetTally::new(fields);
            for _ in 0..2 {
                tally.begin_product(&TallyProduct {
                    brand: Some("Acer"),
                    list_price: Some(1),
                    ..row("shoe")
                });
                tally.text("color", "red");
                tally.text("size", "M");
                tally.text("color", "blue");
            }
            let keys = tally.keys().into_iter();
            let keys: Vec<_> = keys.map(|(key, n)| (key.to_owned(), n)).collect();
            let categories = tally.categories().len();
            let built_in = (tally.brands().products(), tally.prices().products());
            (keys, built_in, categories)
        };
        let key = |key: &str| vec![(key.to_owned(), 2)];
        assert_eq!(count(TallyFields::only(&chosen)), (key("size"), (2, 0), 0));
        let others = TallyFields::all_but(&chosen);
        assert_eq!(count(others), (key("color"), (0, 2), 1));
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let mut tally = FacetTally::new(all_specs());
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
