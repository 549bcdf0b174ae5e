//! Counting rows.

use std::collections::HashMap;

use super::{FacetTally, KeyTally, TallyFields, TallySpecs};
use crate::facet::rows::{
    BRAND, COUNTRY, FacetRow, RowSpec, RowValue, TextId, ValueId, Vocabulary,
};
use crate::facet::texts::{ProductCounter, Texts};
use crate::facet::{FacetKey, Numbers};
use crate::id::CategoryId;

/// A key that is not counted.
const UNCOUNTED: u32 = u32::MAX;
/// A key that has not been met yet.
const UNMET: u32 = u32::MAX - 1;

/// Counts rows like a [`FacetTally`], but by the numbers of their texts.
#[derive(Debug)]
pub struct RowTally {
    fields: TallyFields,
    counts_brands: bool,
    counts_countries: bool,
    /// The number of the current product, starting with 1; also the number of products so far.
    product: u32,
    kind: usize,
    kinds: Vec<(TextId, u64)>,
    categories: HashMap<CategoryId, u64>,
    prices: Numbers<i64>,
    ratings: Vec<(f64, u64)>,
    /// By value.
    spellings: Vec<Counter>,
    /// By group of values.
    groups: Vec<Counter>,
    /// The place of a key in `keys`, by text.
    places: Vec<u32>,
    keys: Vec<CountedKey>,
}

/// As [`ProductCounter`], in half the space.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    last: u32,
    count: u32,
}

#[derive(Debug)]
struct CountedKey {
    key: TextId,
    products: Counter,
    by_kind: Vec<u64>,
    with_texts: Counter,
    yes: Counter,
    no: Counter,
    numbers: Numbers,
    units: Vec<(TextId, u64)>,
    dates: Numbers,
}

impl Counter {
    /// Counts a product; returns whether it is the first time.
    const fn add(&mut self, product: u32) -> bool {
        let is_new = self.last != product;
        if is_new {
            self.last = product;
            self.count += 1;
        }
        is_new
    }

    fn widen(self) -> ProductCounter {
        ProductCounter::of(self.last.into(), self.count.into())
    }
}

impl CountedKey {
    fn new(key: TextId) -> Self {
        Self {
            key,
            products: Counter::default(),
            by_kind: Vec::new(),
            with_texts: Counter::default(),
            yes: Counter::default(),
            no: Counter::default(),
            numbers: Numbers::default(),
            units: Vec::new(),
            dates: Numbers::default(),
        }
    }
}

impl RowTally {
    /// Returns an empty tally that counts these facets of rows of a vocabulary. It must not be given rows that are
    /// made later.
    #[must_use]
    pub fn new(fields: TallyFields, vocabulary: &Vocabulary) -> Self {
        let counts = |key| fields.built_in.contains(&key);
        let unmet = match &fields.specs {
            TallySpecs::All => UNMET,
            TallySpecs::These(_) => UNCOUNTED,
        };
        let mut places = vec![unmet; vocabulary.text_count()];
        if let TallySpecs::These(keys) = &fields.specs {
            for key in keys.iter().filter_map(|key| vocabulary.find(key)) {
                places[key.index()] = UNMET;
            }
        }
        Self {
            counts_brands: counts(FacetKey::Brand),
            counts_countries: counts(FacetKey::Country),
            product: 0,
            kind: 0,
            kinds: Vec::new(),
            categories: HashMap::new(),
            prices: Numbers::default(),
            ratings: Vec::new(),
            spellings: vec![Counter::default(); vocabulary.values().len()],
            groups: vec![Counter::default(); vocabulary.group_count()],
            places,
            keys: Vec::new(),
            fields,
        }
    }

    /// Counts a product.
    pub fn add(&mut self, row: &FacetRow, vocabulary: &Vocabulary) {
        self.product += 1;
        self.begin_kind(row.kind);
        let built_in = &self.fields.built_in;
        if built_in.contains(&FacetKey::Category) {
            *self.categories.entry(row.category).or_default() += 1;
        }
        if let Some(price) = row.list_price
            && built_in.contains(&FacetKey::Price)
        {
            self.prices.add(price, None, self.product.into());
        }
        if let Some(stars) = row.half_stars
            && built_in.contains(&FacetKey::Rating)
        {
            super::rate(&mut self.ratings, stars);
        }
        let brand = row.brand.filter(|_| self.counts_brands);
        let country = row.country.filter(|_| self.counts_countries);
        for value in brand.into_iter().chain(country) {
            self.count_value(value, vocabulary);
        }
        for spec in &row.specs {
            self.count_spec(*spec, vocabulary);
        }
    }

    fn begin_kind(&mut self, kind: TextId) {
        if self
            .kinds
            .get(self.kind)
            .is_none_or(|known| known.0 != kind)
        {
            let known = self.kinds.iter().position(|known| known.0 == kind);
            self.kind = known.unwrap_or_else(|| {
                self.kinds.push((kind, 0));
                self.kinds.len() - 1
            });
        }
        self.kinds[self.kind].1 += 1;
    }

    fn count_value(&mut self, value: ValueId, vocabulary: &Vocabulary) {
        self.spellings[value.index()].add(self.product);
        let group = vocabulary.values()[value.index()].group;
        self.groups[group as usize].add(self.product);
    }

    fn count_spec(&mut self, spec: RowSpec, vocabulary: &Vocabulary) {
        let place = self.places[spec.key.index()];
        let at = match place {
            UNCOUNTED => return,
            UNMET => {
                let at = self.keys.len();
                self.places[spec.key.index()] = u32::try_from(at).unwrap_or(UNCOUNTED);
                self.keys.push(CountedKey::new(spec.key));
                at
            }
            at => at as usize,
        };
        let product = self.product;
        let key = &mut self.keys[at];
        if key.products.add(product) {
            if key.by_kind.len() <= self.kind {
                key.by_kind.resize(self.kind + 1, 0);
            }
            key.by_kind[self.kind] += 1;
        }
        match spec.value {
            RowValue::Text(Some(value)) => {
                key.with_texts.add(product);
                self.count_value(value, vocabulary);
            }
            RowValue::Boolean(true) => {
                key.yes.add(product);
            }
            RowValue::Boolean(false) => {
                key.no.add(product);
            }
            RowValue::Number(unit, n) if n.is_finite() => {
                key.numbers.add(n + 0.0, None, product.into());
                let Some(unit) = unit else { return };
                match key.units.iter_mut().find(|(known, _)| *known == unit) {
                    Some((_, count)) => *count += 1,
                    None => key.units.push((unit, 1)),
                }
            }
            RowValue::Date(millis) if millis.is_finite() => {
                key.dates.add(millis + 0.0, None, product.into());
            }
            RowValue::Text(None) | RowValue::Number(..) | RowValue::Date(_) => {}
        }
    }

    /// Returns the counts with their texts.
    #[must_use]
    pub fn finish(self, vocabulary: &Vocabulary) -> FacetTally {
        let mut texts = self.texts(vocabulary);
        let mut of_key = |key: TextId| texts.remove(&key).unwrap_or_default();
        // A product has one brand and one country.
        let mut built_in = |name: &str| {
            let mut texts = vocabulary.find(name).map(&mut of_key).unwrap_or_default();
            texts.set_products(ProductCounter::of(self.product.into(), texts.sum()));
            texts
        };
        let (brands, countries) = (built_in(BRAND), built_in(COUNTRY));
        let mut tally = FacetTally::new(self.fields);
        tally.product = self.product.into();
        let kinds = self.kinds.into_iter();
        tally.kinds = kinds
            .map(|(kind, count)| (vocabulary.text_of(kind).to_owned(), count))
            .collect();
        tally.categories = self.categories;
        tally.brands = brands;
        tally.countries = countries;
        tally.prices = self.prices;
        tally.ratings = self.ratings;
        for key in self.keys {
            let name = vocabulary.text_of(key.key);
            let at = tally.by_key.get(name).copied();
            let at = at.unwrap_or_else(|| tally.learn(name));
            let mut numbers = key.numbers;
            for (unit, count) in key.units {
                numbers.add_unit(vocabulary.text_of(unit), count);
            }
            tally.keys[at] = KeyTally {
                key: name.to_owned(),
                next: at + 1,
                products: key.products.widen(),
                by_kind: key.by_kind,
                texts: of_key(key.key),
                yes: key.yes.widen(),
                no: key.no.widen(),
                numbers,
                dates: key.dates,
            };
        }
        tally
    }

    /// The counted texts of each key.
    fn texts(&self, vocabulary: &Vocabulary) -> HashMap<TextId, Texts> {
        let mut all: HashMap<TextId, Texts> = HashMap::new();
        let counted = vocabulary.values().iter().zip(&self.spellings);
        for (value, seen) in counted.filter(|(_, seen)| seen.count > 0) {
            let texts = all.entry(value.key).or_default();
            texts.take(
                vocabulary.text_of(value.text),
                seen.widen(),
                vocabulary.text_of(value.folded),
                self.groups[value.group as usize].widen(),
            );
        }
        for key in &self.keys {
            if let Some(texts) = all.get_mut(&key.key) {
                texts.set_products(key.with_texts.widen());
            }
        }
        all
    }
}
