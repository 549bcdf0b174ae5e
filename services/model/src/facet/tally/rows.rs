//! Counting rows.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FacetTally, KeyTally, TallyFields, TallySpecs};
use crate::facet::rows::{
    BRAND, COUNTRY, CategoryRows, Cell, CellRows, Field, RowFilter, RowSpec, RowValue, TextId,
    ValueId, Vocabulary,
};
use crate::facet::texts::{CountedText, ProductCounter, Texts};
use crate::facet::{FacetKey, Numbers, is_identifying};
use crate::id::CategoryId;

/// Counts rows like a [`FacetTally`] counts products.
#[derive(Debug)]
pub struct RowTally {
    fields: TallyFields,
    built_in: BuiltIn,
    products: u64,
    /// The number of the first product of the next category, starting with 1.
    next_number: u64,
    kinds: Vec<(TextId, u64)>,
    categories: HashMap<CategoryId, u64>,
    prices: Numbers<i64>,
    ratings: Vec<(f64, u64)>,
    /// Groups of text values.
    groups: FxHashMap<u32, CountedGroup>,
    /// The spellings that were met after another one of their group.
    spellings: FxHashMap<ValueId, ProductCounter>,
    /// The place of a key in `keys`.
    places: FxHashMap<TextId, usize>,
    keys: Vec<CountedKey>,
    /// The place of the key of the last spec.
    last_key: usize,
}

/// Text values that fold alike.
#[derive(Debug)]
struct CountedGroup {
    products: ProductCounter,
    /// The spelling that was met first.
    first: ValueId,
    with_first: ProductCounter,
}

/// Which built-in facets are counted.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one for each facet")]
struct BuiltIn {
    categories: bool,
    brands: bool,
    countries: bool,
    prices: bool,
    ratings: bool,
}

#[derive(Debug)]
struct CountedKey {
    key: TextId,
    products: ProductCounter,
    by_kind: Vec<u64>,
    with_texts: ProductCounter,
    yes: ProductCounter,
    no: ProductCounter,
    numbers: Numbers,
    units: Vec<(TextId, u64)>,
    dates: Numbers,
}

/// The products that a cell is counted for.
#[derive(Clone, Copy, Debug)]
enum Products {
    /// This many products, which have no other value of its key.
    Several(u64),
    /// The product with this number. Its cells of a key are counted before those of the next number.
    One(u64),
}

impl Products {
    /// Counts in a counter; returns how many products are new to it.
    const fn count(self, counter: &mut ProductCounter) -> u64 {
        let before = counter.count;
        match self {
            Self::Several(products) => counter.count += products,
            Self::One(product) => counter.add(product),
        }
        counter.count - before
    }

    fn number(self, numbers: &mut Numbers, n: f64) {
        match self {
            Self::Several(products) => numbers.add_products(n, products),
            Self::One(product) => numbers.add(n, None, product),
        }
    }

    /// The number of values.
    const fn values(self) -> u64 {
        match self {
            Self::Several(products) => products,
            Self::One(_) => 1,
        }
    }
}

impl CountedKey {
    fn new(key: TextId) -> Self {
        Self {
            key,
            products: ProductCounter::default(),
            by_kind: Vec::new(),
            with_texts: ProductCounter::default(),
            yes: ProductCounter::default(),
            no: ProductCounter::default(),
            numbers: Numbers::default(),
            units: Vec::new(),
            dates: Numbers::default(),
        }
    }
}

impl RowTally {
    /// Returns an empty tally that counts these facets.
    #[must_use]
    pub fn new(fields: TallyFields) -> Self {
        let counts = |key| fields.built_in.contains(&key);
        Self {
            built_in: BuiltIn {
                categories: counts(FacetKey::Category),
                brands: counts(FacetKey::Brand),
                countries: counts(FacetKey::Country),
                prices: counts(FacetKey::Price),
                ratings: counts(FacetKey::Rating),
            },
            fields,
            products: 0,
            next_number: 1,
            kinds: Vec::new(),
            categories: HashMap::new(),
            prices: Numbers::default(),
            ratings: Vec::new(),
            spellings: FxHashMap::default(),
            groups: FxHashMap::default(),
            places: FxHashMap::default(),
            keys: Vec::new(),
            last_key: 0,
        }
    }

    /// Counts the rows of a category that match. The filter and the vocabulary must be as new as the rows.
    pub fn add(&mut self, rows: &CategoryRows, filter: &RowFilter, vocabulary: &Vocabulary) {
        let (keys, are_counted) = match &self.fields.specs {
            TallySpecs::AllBut(keys) => (keys, false),
            TallySpecs::These(keys) => (keys, true),
        };
        let keys = keys.iter().filter_map(|key| vocabulary.find(key));
        let keys: FxHashSet<TextId> = keys.collect();
        let built_in = self.built_in;
        let counts_field = |field| match field {
            Field::Kind => true,
            Field::Brand => built_in.brands,
            Field::Country => built_in.countries,
            Field::Price => built_in.prices,
            Field::Stars => built_in.ratings,
            Field::Spec(key) => keys.contains(&key) == are_counted,
        };
        let before = self.next_number;
        let products = rows.count_cells(filter, counts_field, |cell, rows| {
            let products = match rows {
                CellRows::Count(products) => Products::Several(products.into()),
                CellRows::At(place) => Products::One(before + u64::from(place)),
            };
            self.count_cell(cell, products, vocabulary);
        });
        self.next_number += u64::try_from(rows.rows().len()).unwrap_or(u64::MAX);
        let products = u64::try_from(products).unwrap_or(u64::MAX);
        self.products += products;
        if self.built_in.categories && products > 0 {
            *self.categories.entry(rows.category()).or_default() += products;
        }
    }

    fn count_cell(&mut self, cell: Cell, products: Products, vocabulary: &Vocabulary) {
        match cell {
            Cell::Kind(kind) => {
                let at = self.kind(kind);
                self.kinds[at].1 += products.values();
            }
            Cell::Brand(value) | Cell::Country(value) => {
                self.count_value(value, products, vocabulary);
            }
            Cell::Price(price) => self.prices.add_products(price, products.values()),
            Cell::Stars(stars) => super::rate(&mut self.ratings, stars.0, products.values()),
            Cell::Spec(kind, spec) => self.count_spec((kind, spec), products, vocabulary),
        }
    }

    /// Returns the place of a key in `keys`.
    fn place(&mut self, key: TextId) -> usize {
        // Many cells of one key come one after the other.
        if self
            .keys
            .get(self.last_key)
            .is_some_and(|last| last.key == key)
        {
            return self.last_key;
        }
        let next = self.keys.len();
        self.last_key = *self.places.entry(key).or_insert(next);
        if self.last_key == next {
            self.keys.push(CountedKey::new(key));
        }
        self.last_key
    }

    /// Returns the place of a kind in `kinds`.
    fn kind(&mut self, kind: TextId) -> usize {
        let known = self.kinds.iter().position(|known| known.0 == kind);
        known.unwrap_or_else(|| {
            self.kinds.push((kind, 0));
            self.kinds.len() - 1
        })
    }

    fn count_value(&mut self, value: ValueId, products: Products, vocabulary: &Vocabulary) {
        let group = vocabulary.value_of(value).group;
        let group = self.groups.entry(group).or_insert_with(|| CountedGroup {
            products: ProductCounter::default(),
            first: value,
            with_first: ProductCounter::default(),
        });
        products.count(&mut group.products);
        products.count(if group.first == value {
            &mut group.with_first
        } else {
            self.spellings.entry(value).or_default()
        });
    }

    fn count_spec(
        &mut self,
        (kind, spec): (TextId, RowSpec),
        products: Products,
        vocabulary: &Vocabulary,
    ) {
        let kind = self.kind(kind);
        let at = self.place(spec.key);
        let key = &mut self.keys[at];
        let new = products.count(&mut key.products);
        if key.by_kind.len() <= kind {
            key.by_kind.resize(kind + 1, 0);
        }
        key.by_kind[kind] += new;
        match spec.value {
            RowValue::Text(Some(value)) => {
                products.count(&mut key.with_texts);
                self.count_value(value, products, vocabulary);
            }
            RowValue::Boolean(true) => {
                products.count(&mut key.yes);
            }
            RowValue::Boolean(false) => {
                products.count(&mut key.no);
            }
            RowValue::Number(unit, n) if n.0.is_finite() => {
                products.number(&mut key.numbers, n.0 + 0.0);
                let Some(unit) = unit else { return };
                match key.units.iter_mut().find(|(known, _)| *known == unit) {
                    Some((_, count)) => *count += products.values(),
                    None => key.units.push((unit, products.values())),
                }
            }
            RowValue::Date(millis) if millis.0.is_finite() => {
                products.number(&mut key.dates, millis.0 + 0.0);
            }
            RowValue::Text(None) | RowValue::Number(..) | RowValue::Date(_) => {}
        }
    }

    /// Returns the counts with their texts. When all keys are counted, those with nearly as many texts as products, which
    /// are offered on request only, have the number of their texts but not the texts.
    #[must_use]
    pub fn finish(self, vocabulary: &Vocabulary) -> FacetTally {
        let mut values = self.values(vocabulary);
        let mut values_of = |key: Option<TextId>| {
            let values = key.and_then(|key| values.remove(&key));
            values.unwrap_or_default()
        };
        let texts = |values: Vec<(ValueId, u64)>| {
            let values = values.into_iter();
            values
                .map(|(value, count)| counted_text(value, count, vocabulary))
                .collect()
        };
        // A product has one brand and one country.
        let mut built_in = |name: &str| {
            let counted = values_of(vocabulary.find(name));
            let products = counted.iter().map(|(_, count)| count).sum();
            Texts::of(texts(counted), ProductCounter::of(products))
        };
        let (brands, countries) = (built_in(BRAND), built_in(COUNTRY));
        let mut tally = FacetTally::new(self.fields);
        tally.product = self.products;
        let kinds = self.kinds.into_iter();
        tally.kinds = kinds
            .map(|(kind, count)| (vocabulary.text_of(kind).to_string(), count))
            .collect();
        tally.categories = self.categories;
        tally.brands = brands;
        tally.countries = countries;
        tally.prices = self.prices;
        tally.ratings = self.ratings;
        for key in self.keys {
            let name = vocabulary.text_of(key.key);
            let at = tally.by_key.get(&**name).copied();
            let at = at.unwrap_or_else(|| tally.learn(name));
            let mut numbers = key.numbers;
            for (unit, count) in key.units {
                numbers.add_unit(vocabulary.text_of(unit), count);
            }
            let values = values_of(Some(key.key));
            let distinct = u64::try_from(values.len()).unwrap_or(u64::MAX);
            let is_counted_only = matches!(tally.fields.specs, TallySpecs::AllBut(_))
                && is_identifying(key.products.count, distinct);
            tally.keys[at] = KeyTally {
                key: name.to_string(),
                next: at + 1,
                products: key.products,
                by_kind: key.by_kind,
                texts: if is_counted_only {
                    Texts::without_values(distinct, key.with_texts)
                } else {
                    Texts::of(texts(values), key.with_texts)
                },
                yes: key.yes,
                no: key.no,
                numbers,
                dates: key.dates,
            };
        }
        tally
    }

    /// Returns the most frequent spelling of each group of values, by key, with the number of products of the group.
    fn values(&self, vocabulary: &Vocabulary) -> FxHashMap<TextId, Vec<(ValueId, u64)>> {
        let mut labels: FxHashMap<u32, (u64, ValueId)> = FxHashMap::default();
        let text = |value: ValueId| vocabulary.text_of(vocabulary.value_of(value).text);
        for (value, seen) in &self.spellings {
            let group = vocabulary.value_of(*value).group;
            let Some(counted) = self.groups.get(&group) else {
                continue;
            };
            let first = (counted.with_first.count, counted.first);
            let best = labels.entry(group).or_insert(first);
            let is_better =
                seen.count > best.0 || (seen.count == best.0 && text(*value) < text(best.1));
            if is_better {
                *best = (seen.count, *value);
            }
        }
        let mut all: FxHashMap<TextId, Vec<(ValueId, u64)>> = FxHashMap::default();
        for (group, counted) in &self.groups {
            let label = labels.get(group).map_or(counted.first, |(_, label)| *label);
            let key = vocabulary.value_of(label).key;
            let products = counted.products.count;
            all.entry(key).or_default().push((label, products));
        }
        all
    }
}

fn counted_text(label: ValueId, count: u64, vocabulary: &Vocabulary) -> CountedText {
    let value = vocabulary.value_of(label);
    CountedText {
        label: Arc::clone(vocabulary.text_of(value.text)),
        folded: Arc::clone(vocabulary.text_of(value.folded)),
        count,
    }
}
