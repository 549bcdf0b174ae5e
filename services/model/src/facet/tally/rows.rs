//! Counting rows.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FacetTally, KeyTally, TallyFields, TallySpecs};
use crate::facet::rows::{
    CategoryRows, Cell, ColumnCounts, Counted, Field, RowFilter, RowSpec, RowValue, TextId,
    ValueId, Vocabulary,
};
use crate::facet::texts::{CountedText, ProductCounter, Texts};
use crate::facet::{FacetKey, Numbers, is_identifying};
use crate::id::CategoryId;

/// Counts rows like a [`FacetTally`] counts products.
#[derive(Debug)]
pub struct RowTally {
    fields: TallyFields,
    max_texts: usize,
    built_in: BuiltIn,
    products: u64,
    /// The number of the first product of the next category, starting with 1.
    next_number: u64,
    kinds: Vec<(TextId, u64)>,
    categories: HashMap<CategoryId, u64>,
    prices: Numbers<i64>,
    ratings: Vec<(f64, u64)>,
    brands: Vec<(ValueId, u64)>,
    countries: Vec<(ValueId, u64)>,
    /// Groups of text values of products that may have several of the key.
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
    /// The texts of products that have no other one of this key, with how many those are. A text may occur several times.
    texts: Vec<(ValueId, u64)>,
    yes: ProductCounter,
    no: ProductCounter,
    numbers: Numbers,
    units: Vec<(TextId, u64)>,
    dates: Numbers,
}

/// What the values of cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Texts,
    Prices,
    Numbers,
    Dates,
    /// There are none.
    None,
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
            texts: Vec::new(),
            yes: ProductCounter::default(),
            no: ProductCounter::default(),
            numbers: Numbers::default(),
            units: Vec::new(),
            dates: Numbers::default(),
        }
    }
}

impl RowTally {
    /// Returns an empty tally that counts these facets, and keeps at most `max_texts` text values of each: the most
    /// frequent ones.
    #[must_use]
    pub fn new(fields: TallyFields, max_texts: usize) -> Self {
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
            max_texts,
            products: 0,
            next_number: 1,
            kinds: Vec::new(),
            categories: HashMap::new(),
            prices: Numbers::default(),
            ratings: Vec::new(),
            brands: Vec::new(),
            countries: Vec::new(),
            groups: FxHashMap::default(),
            spellings: FxHashMap::default(),
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
        let products = rows.count_cells(filter, counts_field, |counted| match counted {
            Counted::Column(field, counts) => self.count_column(field, &counts),
            Counted::OfSeveral(place, Cell::Spec(kind, spec)) => {
                let product = before + u64::from(place);
                self.count_one_of_several((kind, spec), product, vocabulary);
            }
            Counted::OfSeveral(..) => {}
        });
        self.next_number += u64::try_from(rows.rows().len()).unwrap_or(u64::MAX);
        let products = u64::try_from(products).unwrap_or(u64::MAX);
        self.products += products;
        if self.built_in.categories && products > 0 {
            *self.categories.entry(rows.category()).or_default() += products;
        }
    }

    /// Counts the cells of products that have one each in a field.
    fn count_column(&mut self, field: Field, counts: &ColumnCounts<'_>) {
        let labels: Vec<Cell> = counts.labels().collect();
        let values_of: Vec<Values> = labels.iter().map(|label| Values::of(*label)).collect();
        let mut products_of = vec![0; labels.len()];
        // Values of one type are not divided by label: numbers stay in order.
        let mut values = Values::ALL.map(|one| {
            let all_are = values_of.iter().all(|of| *of == one);
            Vec::with_capacity(if all_are { counts.len() } else { 0 })
        });
        for (label, value, products) in counts.cells() {
            let products = u64::from(products);
            products_of[label] += products;
            values[values_of[label] as usize].push((value, products));
        }
        let counted = labels.into_iter().zip(products_of);
        for (label, products) in counted.filter(|(_, products)| *products > 0) {
            match label {
                Cell::Kind(kind) => {
                    let at = self.kind(kind);
                    self.kinds[at].1 += products;
                }
                Cell::Stars(stars) => super::rate(&mut self.ratings, stars.0, products),
                Cell::Spec(kind, spec) => {
                    self.count_spec(kind, spec, Products::Several(products));
                }
                Cell::Brand(_) | Cell::Country(_) | Cell::Price(_) => {}
            }
        }
        let [texts, prices, numbers, dates, _] = values;
        let texts = texts.into_iter();
        let texts = texts.map(|(bits, products)| (ValueId::from_bits(bits), products));
        match field {
            Field::Brand => self.brands.extend(texts),
            Field::Country => self.countries.extend(texts),
            Field::Price => {
                let prices = prices.into_iter();
                let prices = prices.map(|(bits, products)| (bits.cast_signed(), products));
                self.prices.add_alone(prices);
            }
            Field::Spec(key) => {
                let number = |(bits, products)| (without_sign_of_zero(bits), products);
                let at = self.place(key);
                let key = &mut self.keys[at];
                key.texts.extend(texts);
                key.numbers.add_alone(numbers.into_iter().map(number));
                key.dates.add_alone(dates.into_iter().map(number));
            }
            Field::Kind | Field::Stars => {}
        }
    }

    /// Counts a spec of a product that has several with its key.
    fn count_one_of_several(
        &mut self,
        (kind, spec): (TextId, RowSpec),
        product: u64,
        vocabulary: &Vocabulary,
    ) {
        self.count_spec(kind, spec, Products::One(product));
        let key = &mut self.keys[self.last_key];
        let (label, value) = Cell::Spec(kind, spec).split();
        match Values::of(label) {
            Values::Texts => self.count_text(ValueId::from_bits(value), product, vocabulary),
            Values::Numbers => key.numbers.add(without_sign_of_zero(value), None, product),
            Values::Dates => key.dates.add(without_sign_of_zero(value), None, product),
            Values::Prices | Values::None => {}
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

    fn count_text(&mut self, value: ValueId, product: u64, vocabulary: &Vocabulary) {
        let group = vocabulary.value_of(value).group;
        let group = self.groups.entry(group).or_insert_with(|| CountedGroup {
            products: ProductCounter::default(),
            first: value,
            with_first: ProductCounter::default(),
        });
        group.products.add(product);
        let spelling = if group.first == value {
            &mut group.with_first
        } else {
            self.spellings.entry(value).or_default()
        };
        spelling.add(product);
    }

    /// Counts what a spec says beside its text or number.
    fn count_spec(&mut self, kind: TextId, spec: RowSpec, products: Products) {
        let kind = self.kind(kind);
        let at = self.place(spec.key);
        let key = &mut self.keys[at];
        let new = products.count(&mut key.products);
        if key.by_kind.len() <= kind {
            key.by_kind.resize(kind + 1, 0);
        }
        key.by_kind[kind] += new;
        match spec.value {
            RowValue::Text(Some(_)) => {
                products.count(&mut key.with_texts);
            }
            RowValue::Boolean(true) => {
                products.count(&mut key.yes);
            }
            RowValue::Boolean(false) => {
                products.count(&mut key.no);
            }
            RowValue::Number(Some(unit), n) if n.0.is_finite() => {
                match key.units.iter_mut().find(|(known, _)| *known == unit) {
                    Some((_, count)) => *count += products.values(),
                    None => key.units.push((unit, products.values())),
                }
            }
            RowValue::Text(None) | RowValue::Number(..) | RowValue::Date(_) => {}
        }
    }

    /// Returns the counts with their texts. When all keys are counted, those with nearly as many texts as products, which
    /// are offered on request only, have the number of their texts but not the texts.
    #[must_use]
    pub fn finish(mut self, vocabulary: &Vocabulary) -> FacetTally {
        let surplus = self.join_texts(vocabulary);
        let max_texts = self.max_texts;
        let texts = |counted: Vec<(ValueId, u64)>, products, is_kept: &dyn Fn(u64) -> bool| {
            let values = values(counted, &surplus, vocabulary);
            let distinct = u64::try_from(values.len()).unwrap_or(u64::MAX);
            let max = if is_kept(distinct) { max_texts } else { 0 };
            let kept = most_frequent(values, max, vocabulary);
            let others = distinct - u64::try_from(kept.len()).unwrap_or(u64::MAX);
            Texts::of(kept, others, products)
        };
        // A product has one brand and one country.
        let built_in = |counted: Vec<(ValueId, u64)>| {
            let products = counted.iter().map(|(_, count)| count).sum();
            texts(counted, ProductCounter::of(products), &|_| true)
        };
        let (brands, countries) = (built_in(self.brands), built_in(self.countries));
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
        let are_all_counted = matches!(tally.fields.specs, TallySpecs::AllBut(_));
        for key in self.keys {
            let name = vocabulary.text_of(key.key);
            let at = tally.by_key.get(&**name).copied();
            let at = at.unwrap_or_else(|| tally.learn(name));
            let mut numbers = key.numbers;
            for (unit, count) in key.units {
                numbers.add_unit(vocabulary.text_of(unit), count);
            }
            let products = key.products.count;
            tally.keys[at] = KeyTally {
                key: name.to_string(),
                next: at + 1,
                products: key.products,
                by_kind: key.by_kind,
                texts: texts(key.texts, key.with_texts, &|distinct| {
                    !(are_all_counted && is_identifying(products, distinct))
                }),
                yes: key.yes,
                no: key.no,
                numbers,
                dates: key.dates,
            };
        }
        tally
    }

    /// Adds the texts of products that may have several of a key to those of the others. Returns how much higher the counts
    /// of all spellings are together than the number of products, for groups where they are.
    fn join_texts(&mut self, vocabulary: &Vocabulary) -> FxHashMap<u32, u64> {
        let mut spelled: FxHashMap<u32, u64> = FxHashMap::default();
        let firsts = self.groups.values();
        let firsts = firsts.map(|group| (group.first, group.with_first.count));
        let others = self.spellings.iter();
        let others = others.map(|(value, products)| (*value, products.count));
        for (value, products) in firsts.chain(others) {
            let text = vocabulary.value_of(value);
            *spelled.entry(text.group).or_default() += products;
            if let Some(at) = self.places.get(&text.key) {
                self.keys[*at].texts.push((value, products));
            }
        }
        for (group, counted) in &self.groups {
            if let Some(spelled) = spelled.get_mut(group) {
                *spelled -= counted.products.count;
            }
        }
        spelled.retain(|_, surplus| *surplus > 0);
        spelled
    }
}

impl Values {
    /// In the order of their numbers.
    const ALL: [Self; 5] = [
        Self::Texts,
        Self::Prices,
        Self::Numbers,
        Self::Dates,
        Self::None,
    ];

    /// Returns what the values of the cells with this label are.
    const fn of(label: Cell) -> Self {
        match label {
            Cell::Price(_) => Self::Prices,
            Cell::Brand(_) | Cell::Country(_) => Self::Texts,
            Cell::Spec(_, spec) => match spec.value {
                RowValue::Text(Some(_)) => Self::Texts,
                RowValue::Number(_, n) if n.0.is_finite() => Self::Numbers,
                RowValue::Date(millis) if millis.0.is_finite() => Self::Dates,
                _ => Self::None,
            },
            Cell::Kind(_) | Cell::Stars(_) => Self::None,
        }
    }
}

/// Returns the number with these bits; 0.0 for -0.0, so that both are one value.
fn without_sign_of_zero(bits: u64) -> f64 {
    f64::from_bits(bits) + 0.0
}

/// Returns the most frequent spelling of each group of texts with the number of products of the group.
fn values(
    counted: Vec<(ValueId, u64)>,
    surplus: &FxHashMap<u32, u64>,
    vocabulary: &Vocabulary,
) -> Vec<(ValueId, u64)> {
    let counted = counted.into_iter();
    let with_group = counted.map(|(value, count)| (vocabulary.value_of(value).group, value, count));
    let mut spellings: Vec<(u32, ValueId, u64)> = with_group.collect();
    spellings.sort_unstable();
    let groups = spellings.chunk_by(|a, b| a.0 == b.0);
    let value = |group: &[(u32, ValueId, u64)]| {
        let count =
            |all: &[(u32, ValueId, u64)]| all.iter().map(|(_, _, count)| count).sum::<u64>();
        let products = count(group) - surplus.get(&group[0].0).copied().unwrap_or(0);
        let spellings = group.chunk_by(|a, b| a.1 == b.1);
        let spellings = spellings.map(|same| (same[0].1, count(same)));
        let label = spellings.min_by(|a, b| more_frequent(*a, *b, vocabulary));
        (label.map_or(group[0].1, |(value, _)| value), products)
    };
    groups.map(value).collect()
}

/// Returns at most `max` texts, the most frequent ones, in no particular order.
fn most_frequent(
    mut values: Vec<(ValueId, u64)>,
    max: usize,
    vocabulary: &Vocabulary,
) -> Vec<CountedText> {
    if max == 0 {
        return Vec::new();
    }
    if max < values.len() {
        let (_, (_, limit), _) = values.select_nth_unstable_by_key(max, |value| Reverse(value.1));
        let limit = *limit;
        values.retain(|(_, count)| *count >= limit);
        // Texts are compared only where they are equally frequent.
        let (mut kept, mut equal): (Vec<_>, Vec<_>) =
            values.into_iter().partition(|(_, count)| *count > limit);
        let left = max - kept.len();
        equal.select_nth_unstable_by(left, |a, b| more_frequent(*a, *b, vocabulary));
        kept.extend_from_slice(&equal[..left]);
        values = kept;
    }
    let values = values.into_iter();
    let texts = values.map(|(value, count)| {
        let text = vocabulary.value_of(value);
        CountedText {
            label: Arc::clone(vocabulary.text_of(text.text)),
            folded: Arc::clone(vocabulary.text_of(text.folded)),
            count,
        }
    });
    texts.collect()
}

/// Compares two texts: the more frequent one is less, of equally frequent ones the first in alphabetical order.
fn more_frequent(a: (ValueId, u64), b: (ValueId, u64), vocabulary: &Vocabulary) -> Ordering {
    let text = |value: ValueId| vocabulary.text_of(vocabulary.value_of(value).text);
    b.1.cmp(&a.1).then_with(|| text(a.0).cmp(text(b.0)))
}
