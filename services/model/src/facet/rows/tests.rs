use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::clock::Timestamp;
use crate::facet::{FacetKey, FacetTally, RowTally, TallyFields};
use crate::filter::{Bounds, Condition, End, Range};
use crate::id::SupplierId;
use crate::product::ProductStatus;
use crate::unit::UnitTable;

/// A product as both ways of counting get it.
#[derive(Clone, Debug)]
struct Sample {
    kind: &'static str,
    category: i64,
    brand: Option<&'static str>,
    country: Option<&'static str>,
    list_price: Option<i64>,
    half_stars: Option<f64>,
    specs: Vec<(&'static str, Option<&'static str>, CountedValue<'static>)>,
}

impl Sample {
    fn product(&self) -> TallyProduct<'_> {
        TallyProduct {
            kind: self.kind,
            category: CategoryId::from_i64(self.category),
            brand: self.brand,
            country: self.country,
            list_price: self.list_price,
            half_stars: self.half_stars,
        }
    }

    fn tokens(&self) -> Vec<String> {
        let text = |(key, _, value): &(&str, Option<&str>, CountedValue<'_>)| match value {
            CountedValue::Text(text) => Some(format!("{key}={}", fold(text))),
            CountedValue::Boolean(value) => Some(format!("{key}={value}")),
            CountedValue::Number(..) | CountedValue::Date(_) => None,
        };
        self.specs.iter().filter_map(text).collect()
    }

    fn row(&self, id: i64, words: &mut Vocabulary) -> FacetRow {
        let product = self.product();
        let mut row = words.row(ProductId::from_i64(id), &product);
        for token in self.tokens() {
            row.token(&token);
        }
        for (key, qualifier, value) in &self.specs {
            row.spec(key, *qualifier, *value);
        }
        row.build()
    }

    fn count(&self, tally: &mut FacetTally) {
        tally.begin_product(&self.product());
        for (key, _, value) in &self.specs {
            match value {
                CountedValue::Text(text) => tally.text(key, text),
                CountedValue::Boolean(value) => tally.boolean(key, *value),
                CountedValue::Number(n, unit) => tally.number(key, *n, *unit),
                CountedValue::Date(millis) => tally.date(key, *millis),
            }
        }
    }
}

fn value() -> impl Strategy<Value = CountedValue<'static>> {
    let long: &'static str = Box::leak("x".repeat(MAX_FILTERABLE_BYTES + 1).into_boxed_str());
    prop_oneof![
        4 => prop::sample::select(vec!["RED", "red", "Blau", "grün", ""]).prop_map(CountedValue::Text),
        1 => Just(CountedValue::Text(long)),
        2 => any::<bool>().prop_map(CountedValue::Boolean),
        4 => (-3_i8..4, prop::sample::select(vec![None, Some("cm"), Some("in")]))
            .prop_map(|(n, unit)| CountedValue::Number(f64::from(n) / 2.0, unit)),
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0]).prop_map(|n| CountedValue::Number(n, None)),
        1 => (-2_i8..3).prop_map(|n| CountedValue::Date(f64::from(n))),
    ]
}

fn sample() -> impl Strategy<Value = Sample> {
    let spec = (
        prop::sample::select(vec!["color", "size", "made"]),
        prop::sample::select(vec![None, Some("inner")]),
        value(),
    );
    (
        prop::sample::select(vec!["book", "game"]),
        1_i64..4,
        prop::sample::select(vec![None, Some("Acer"), Some("ACER"), Some("Zeiss")]),
        prop::sample::select(vec![None, Some("DE"), Some("FR")]),
        prop::option::of(-1_i64..5),
        prop::option::of((1_u8..6).prop_map(|n| f64::from(n) / 2.0)),
        prop::collection::vec(spec, 0..6),
    )
        .prop_map(
            |(kind, category, brand, country, list_price, half_stars, specs)| Sample {
                kind,
                category,
                brand,
                country,
                list_price,
                half_stars,
                specs,
            },
        )
}

/// Everything that can be read from a tally.
fn contents(tally: &FacetTally) -> String {
    let units = UnitTable::default();
    let keys = tally.keys();
    let of_key = |(key, _): &(&str, u64)| {
        let numbers = tally.numbers(key).unwrap();
        (
            tally.booleans(key),
            (numbers.values(), numbers.common_unit().map(str::to_owned)),
            (numbers.products(), numbers.distinct()),
            tally.dates(key).unwrap().values(),
            tally.coverage(key, &units),
        )
    };
    let details: Vec<_> = keys.iter().map(of_key).collect();
    let texts = texts(tally, usize::MAX);
    let stars: Vec<u64> = (0..7)
        .map(|n| tally.rated_at_least(f64::from(n) / 2.0))
        .collect();
    format!(
        "{} {:?} {:?} {texts} {:?} {stars:?} {keys:?} {details:?}",
        tally.products(),
        tally.categories(),
        tally.prices().values(),
        tally.rated(),
    )
}

fn fields() -> impl Strategy<Value = TallyFields> {
    let some = [
        FacetKey::Brand,
        FacetKey::Price,
        FacetKey::Spec("color".to_owned()),
        FacetKey::Spec("unknown".to_owned()),
    ];
    prop_oneof![
        prop::sample::subsequence(some.to_vec(), 0..4).prop_map(|keys| TallyFields::all_but(&keys)),
        prop::sample::subsequence(some.to_vec(), 0..4).prop_map(|keys| TallyFields::only(&keys)),
    ]
}

/// What happens to the rows of a category: they are replaced by these samples, or removed.
type Changes = Vec<(usize, Option<Sample>)>;

/// Returns the rows of three categories after changes, and the products that they have then. They are filtered by a
/// condition after each change.
fn changed(
    samples: &[Sample],
    changes: &Changes,
    condition: &Condition,
    words: &mut Vocabulary,
) -> (Vec<CategoryRows>, Vec<(Sample, Arc<FacetRow>)>) {
    let mut all: Vec<CategoryRows> = (1..4)
        .map(|id| CategoryRows::new(CategoryId::from_i64(id)))
        .collect();
    let mut products: Vec<Option<(Sample, Arc<FacetRow>)>> = vec![None; samples.len()];
    let first = samples.iter().cloned().map(Some).enumerate();
    for (at, sample) in first.chain(changes.iter().cloned()) {
        let at = at % samples.len();
        let id = ProductId::from_i64(i64::try_from(at).unwrap());
        let row = sample
            .as_ref()
            .map(|one| Arc::new(one.row(id.to_i64(), words)));
        for category in &mut all {
            let (had, before) = (category.contains(id), category.version());
            let counted_before = category.counted_version();
            let old = category.replace(id, row.as_ref());
            assert_eq!(old.is_some(), had);
            let is_changed = had || category.contains(id);
            assert_eq!(is_changed, before != category.version());
            let is_alike = category.contains(id) && old == row;
            let is_counted_alike = counted_before == category.counted_version();
            assert_eq!(is_counted_alike, !is_changed || is_alike);
            let counted = category.counted_version();
            category.replace(id, row.as_ref());
            assert_eq!(category.counted_version(), counted, "it is as it was");
            let filter = RowFilter::new(condition, ProductStatus::Active, words).unwrap();
            let one_by_one = category.rows().iter().filter(|row| filter.matches(row));
            assert_eq!(category.count(&filter), one_by_one.count() as u64);
        }
        products[at] = sample.zip(row);
    }
    (all, products.into_iter().flatten().collect())
}

fn changes() -> impl Strategy<Value = Changes> {
    prop::collection::vec((0_usize..20, prop::option::of(sample())), 0..20)
}

/// The most frequent texts of each facet, at most so many, and the numbers of products and texts.
fn texts(tally: &FacetTally, max: usize) -> String {
    let keys = tally.keys().into_iter();
    let of_keys = keys.filter_map(|(key, _)| tally.texts(key));
    let all = of_keys.chain([tally.brands(), tally.countries()]);
    let all: Vec<_> = all
        .map(|texts| (texts.top(max), texts.products(), texts.distinct()))
        .collect();
    format!("{all:?}")
}

/// Few products, or so many that a category has more than 64.
fn samples() -> impl Strategy<Value = Vec<Sample>> {
    prop_oneof![
        9 => prop::collection::vec(sample(), 1..20),
        1 => prop::collection::vec(sample(), 220..260),
    ]
}

/// Whether a product matches a condition that rows can tell.
fn is_match(condition: &Condition, product: &Sample) -> bool {
    let has_spec = |key: &str, qualifier: Option<&str>, holds: &dyn Fn(Option<f64>) -> bool| {
        product.specs.iter().any(|(name, own, value)| {
            let number = match value {
                CountedValue::Number(n, _) | CountedValue::Date(n) => Some(*n),
                CountedValue::Text(_) | CountedValue::Boolean(_) => None,
            };
            *name == key && (qualifier.is_none() || *own == qualifier) && holds(number)
        })
    };
    match condition {
        Condition::All(parts) => parts.iter().all(|part| is_match(part, product)),
        Condition::Any(parts) => parts.iter().any(|part| is_match(part, product)),
        Condition::Not(part) => !is_match(part, product),
        Condition::Category(ids) => ids.iter().any(|id| id.to_i64() == product.category),
        Condition::Token(tokens) => product.tokens().iter().any(|own| tokens.contains(own)),
        Condition::Price(bounds) => product.list_price.is_some_and(|price| {
            price >= bounds.gte.unwrap_or(0) && bounds.lte.is_none_or(|most| price <= most)
        }),
        Condition::HasPrice(has) => product.list_price.is_some() == *has,
        Condition::HalfStars(least) => product.half_stars.is_some_and(|stars| stars >= *least),
        Condition::Kind(kinds) => kinds.iter().any(|kind| kind == product.kind),
        Condition::SpecExists { key, qualifier } => has_spec(key, qualifier.as_deref(), &|_| true),
        Condition::SpecRange {
            key,
            qualifier,
            range: Range { min, max },
        } => has_spec(key, qualifier.as_deref(), &|number| {
            let reaches = |n: f64, end: &End| n > end.at || (end.included && n >= end.at);
            let keeps = |n: f64, end: &End| n < end.at || (end.included && n <= end.at);
            number.is_some_and(|n| {
                min.as_ref().is_none_or(|end| reaches(n, end))
                    && max.as_ref().is_none_or(|end| keeps(n, end))
            })
        }),
        other => unreachable!("rows cannot tell {other:?}"),
    }
}

proptest! {
    #[test]
    fn rows_are_counted_like_products(
        samples in samples(),
        changes in changes(),
        shrunk in any::<bool>(),
        fields in fields(),
        condition in condition(),
        max_texts in 0_usize..4,
    ) {
        let mut words = Vocabulary::default();
        let (mut rows, products) = changed(&samples, &changes, &condition, &mut words);
        if shrunk {
            rows.iter_mut().for_each(CategoryRows::shrink);
        }
        let filter = RowFilter::new(&condition, ProductStatus::Active, &words).unwrap();
        let mut of_rows = RowTally::new(fields.clone(), usize::MAX);
        let mut with_few_texts = RowTally::new(fields.clone(), max_texts);
        let mut counted = 0;
        for category in &rows {
            of_rows.add(category, &filter, &words);
            with_few_texts.add(category, &filter, &words);
            counted += category.count(&filter);
        }
        let mut of_products = FacetTally::new(fields);
        for (sample, row) in &products {
            let expected = is_match(&condition, sample);
            prop_assert_eq!(filter.matches(row), expected);
            if expected {
                sample.count(&mut of_products);
            }
        }
        prop_assert_eq!(contents(&of_rows.finish(&words)), contents(&of_products));
        let few = with_few_texts.finish(&words);
        prop_assert_eq!(texts(&few, max_texts), texts(&of_products, max_texts));
        prop_assert_eq!(counted, of_products.products());
    }
}

/// A condition that rows can tell.
fn condition() -> impl Strategy<Value = Condition> {
    let categories = prop::collection::vec((1_i64..5).prop_map(CategoryId::from_i64), 0..3);
    let keys = || prop::sample::select(vec!["color", "size", "made", "unknown"]);
    let qualifiers = || prop::sample::select(vec![None, Some("inner"), Some("outer")]);
    let price = || prop::option::of(-2_i64..6);
    let end = || {
        let end = (-4_i8..5, any::<bool>()).prop_map(|(at, included)| End {
            at: f64::from(at) / 2.0,
            included,
        });
        prop::option::of(end)
    };
    let texts = vec!["color=red", "size=blau", "made=true", "color=none"];
    let leaf = prop_oneof![
        categories.prop_map(Condition::Category),
        prop::sample::subsequence(texts, 1..3)
            .prop_map(|texts| Condition::Token(texts.into_iter().map(str::to_owned).collect())),
        (price(), price()).prop_map(|(gte, lte)| Condition::Price(Bounds { gte, lte })),
        any::<bool>().prop_map(Condition::HasPrice),
        Just(Condition::HalfStars(1.5)),
        prop::sample::select(vec!["book", "game", "film"])
            .prop_map(|kind| Condition::Kind(vec![kind.to_owned()])),
        (keys(), qualifiers(), end(), end()).prop_map(|(key, qualifier, min, max)| {
            Condition::SpecRange {
                key: key.to_owned(),
                qualifier: qualifier.map(str::to_owned),
                range: Range { min, max },
            }
        }),
        (keys(), qualifiers()).prop_map(|(key, qualifier)| exists(key, qualifier)),
    ];
    leaf.prop_recursive(3, 8, 3, |part| {
        let parts = || prop::collection::vec(part.clone(), 0..3);
        prop_oneof![
            parts().prop_map(Condition::All),
            parts().prop_map(Condition::Any),
            part.clone().prop_map(|part| Condition::Not(Box::new(part))),
        ]
    })
}

#[test]
fn ranges_are_found_among_many_numbers() {
    let (mut words, rows) = shop();
    let mut category = CategoryRows::new(rows[0].category());
    // From -10 to 10 in an order of its own.
    let numbers = (0..201).map(|at| f64::from(at * 77 % 201 - 100) / 10.0);
    for (id, n) in (1..).zip(numbers) {
        let lamp = Sample {
            specs: vec![("size", None, CountedValue::Number(n, None))],
            ..sample_lamp()
        };
        let row = Arc::new(lamp.row(id, &mut words));
        category.replace(row.id(), Some(&row));
    }
    let count = |category: &CategoryRows, filter: &Condition| {
        let filter = RowFilter::new(filter, ProductStatus::Active, &words).unwrap();
        category.count(&filter)
    };
    // At first the last numbers are not in order.
    for _ in 0..2 {
        for (min, higher) in [(-10.5, 201), (-7.3, 173), (-0.1, 101), (0.0, 100), (9.9, 1)] {
            let above = range("size", None, min);
            assert_eq!(count(&category, &above), higher, "above {min}");
            let others = Condition::Not(Box::new(above.clone()));
            assert_eq!(count(&category, &others), 201 - higher, "not above {min}");
            let both = Condition::All(vec![above, at_most("size", 5.0)]);
            let within = higher.saturating_sub(50);
            assert_eq!(count(&category, &both), within, "above {min}, to 5");
        }
        category.shrink();
    }
}

#[test]
fn rows_that_are_replaced_very_often_need_no_more_memory() {
    let (words, rows) = shop();
    let mut category = CategoryRows::new(rows[0].category());
    for row in &rows {
        category.replace(row.id(), Some(&Arc::new(row.clone())));
    }
    let bytes = category.bytes();
    for price in 0..10_000 {
        let dearer = FacetRow {
            list_price: Some(price),
            ..rows[0].clone()
        };
        category.replace(dearer.id(), Some(&Arc::new(dearer)));
    }
    assert!(
        category.bytes() < bytes + 300_000,
        "{} bytes",
        category.bytes()
    );
    let last = Condition::Price(Bounds {
        gte: Some(9_999),
        lte: None,
    });
    let last = RowFilter::new(&last, ProductStatus::Active, &words).unwrap();
    assert_eq!(category.count(&last), 1);
    for row in &rows {
        category.replace(row.id(), None);
    }
    assert_eq!((category.rows().len(), category.count(&last)), (0, 0));
}

#[test]
fn a_row_that_only_lists_sort_differently_is_counted_alike() {
    let (_, rows) = shop();
    let mut category = CategoryRows::new(rows[0].category());
    category.replace(rows[0].id(), Some(&Arc::new(rows[0].clone())));
    let before = (category.version(), category.counted_version());
    let bytes = category.bytes();
    let popular = Arc::new(FacetRow {
        sort_values: SortValues {
            popularity: Optional::new(Some(7)),
            ..SortValues::default()
        },
        ..rows[0].clone()
    });
    let old = category.replace(popular.id(), Some(&popular));
    assert_eq!(old.as_deref(), Some(&rows[0]));
    assert_eq!(category.rows(), [popular]);
    let after = (category.version(), category.counted_version());
    assert_eq!((after, category.bytes()), ((before.0 + 1, before.1), bytes));
}

#[test]
fn an_optional_number_needs_no_more_memory() {
    for n in [i64::MIN + 1, -1, 0, 1, i64::MAX] {
        assert_eq!(Optional::new(Some(n)).get(), Some(n));
    }
    let lowest = Optional::new(Some(i64::MIN)).get();
    assert_eq!(
        (Optional::new(None).get(), lowest),
        (None, Some(i64::MIN + 1))
    );
    assert_eq!(size_of::<Optional>(), size_of::<i64>());
}

fn sample_lamp() -> Sample {
    Sample {
        kind: "lamp",
        category: 1,
        brand: Some("Acer"),
        country: Some("DE"),
        list_price: Some(500),
        half_stars: Some(4.5),
        specs: vec![
            ("color", None, CountedValue::Text("Red")),
            ("size", Some("inner"), CountedValue::Number(3.0, Some("cm"))),
        ],
    }
}

/// Two lamps and a table.
fn shop() -> (Vocabulary, Vec<FacetRow>) {
    let lamp = sample_lamp();
    let other = Sample {
        list_price: None,
        half_stars: None,
        specs: vec![
            ("color", None, CountedValue::Text("blue")),
            ("size", None, CountedValue::Number(7.0, Some("cm"))),
        ],
        ..lamp.clone()
    };
    let table = Sample {
        category: 2,
        list_price: Some(-1),
        half_stars: Some(2.0),
        specs: vec![("made", None, CountedValue::Date(5.0))],
        ..lamp.clone()
    };
    let mut words = Vocabulary::default();
    let all = [lamp, other, table];
    let rows = (1..)
        .zip(&all)
        .map(|(id, one)| one.row(id, &mut words))
        .collect();
    (words, rows)
}

fn range(key: &str, qualifier: Option<&str>, min: f64) -> Condition {
    let min = Some(End {
        at: min,
        included: false,
    });
    Condition::SpecRange {
        key: key.to_owned(),
        qualifier: qualifier.map(str::to_owned),
        range: Range { min, max: None },
    }
}

fn at_most(key: &str, max: f64) -> Condition {
    let max = Some(End {
        at: max,
        included: true,
    });
    Condition::SpecRange {
        key: key.to_owned(),
        qualifier: None,
        range: Range { min: None, max },
    }
}

fn exists(key: &str, qualifier: Option<&str>) -> Condition {
    Condition::SpecExists {
        key: key.to_owned(),
        qualifier: qualifier.map(str::to_owned),
    }
}

#[test]
fn rows_match_like_products() {
    let (words, rows) = shop();
    let matching = |condition: &Condition| -> Option<Vec<i64>> {
        let filter = RowFilter::new(condition, ProductStatus::Active, &words)?;
        let matching = rows.iter().filter(|row| filter.matches(row));
        Some(matching.map(|row| row.id().to_i64()).collect())
    };
    let token = |text: &str| Condition::Token(vec![text.to_owned(), "color=none".to_owned()]);
    let price = |gte, lte| Condition::Price(Bounds { gte, lte });
    let red = token("color=red");
    let kinds = |names: &[&str]| Condition::Kind(names.iter().map(ToString::to_string).collect());
    let cases: [(Condition, &[i64]); 21] = [
        (Condition::All(Vec::new()), &[1, 2, 3]),
        (Condition::nothing(), &[]),
        (
            Condition::Category(vec![CategoryId::from_i64(2), CategoryId::from_i64(9)]),
            &[3],
        ),
        (Condition::Status(vec![ProductStatus::Active]), &[1, 2, 3]),
        (Condition::Status(vec![ProductStatus::Draft]), &[]),
        (red.clone(), &[1]),
        (token("color=green"), &[]),
        (Condition::Not(Box::new(red.clone())), &[2, 3]),
        (
            Condition::Any(vec![red.clone(), exists("made", None)]),
            &[1, 3],
        ),
        (Condition::All(vec![red, exists("made", None)]), &[]),
        (price(None, None), &[1]),
        (price(Some(-1), Some(-1)), &[3]),
        (Condition::HasPrice(true), &[1, 3]),
        (Condition::HasPrice(false), &[2]),
        (kinds(&["chair", "lamp"]), &[1, 2, 3]),
        (kinds(&["chair"]), &[]),
        (Condition::HalfStars(2.0), &[1, 3]),
        (range("size", None, 3.0), &[2]),
        (range("size", Some("inner"), 0.0), &[1]),
        (range("made", None, 4.0), &[3]),
        (exists("size", Some("outer")), &[]),
    ];
    for (condition, expected) in cases {
        assert_eq!(
            matching(&condition).as_deref(),
            Some(expected),
            "{condition:?}"
        );
    }
    let unknown = [
        Condition::Name("lamp".to_owned()),
        Condition::Supplier(vec![SupplierId::from_i64(1)]),
        Condition::HasMedia(false),
        Condition::UpdatedSince(Timestamp::from_millis(0)),
    ];
    for condition in unknown {
        let not = Condition::Not(Box::new(condition.clone()));
        assert_eq!(matching(&not), None, "rows lack {condition:?}");
    }
}

#[test]
fn a_spelling_that_is_met_later_hides_no_value() {
    let (mut words, rows) = shop();
    let mut category = CategoryRows::new(rows[0].category());
    category.replace(rows[0].id(), Some(&Arc::new(rows[0].clone())));
    let everything = Condition::All(Vec::new());
    let filter = RowFilter::new(&everything, ProductStatus::Active, &words).unwrap();
    let mut tally = RowTally::new(TallyFields::all(), usize::MAX);
    tally.add(&category, &filter, &words);
    let product = TallyProduct {
        kind: "lamp",
        category: category.category(),
        brand: Some("ACER"),
        country: None,
        list_price: None,
        half_stars: None,
    };
    let _ = words.row(ProductId::from_i64(9), &product).build();
    let tally = tally.finish(&words);
    let brands: Vec<_> = tally.brands().top(9);
    assert_eq!((brands[0].label.as_str(), brands[0].count), ("Acer", 1));
    assert_eq!((brands.len(), tally.brands().products()), (1, 1));
}

#[test]
fn values_of_identifying_keys_are_counted_but_not_kept() {
    let mut words = Vocabulary::default();
    let mut category = CategoryRows::new(CategoryId::from_i64(1));
    let samples: Vec<Sample> = (0..21)
        .map(|n| Sample {
            kind: "lamp",
            category: 1,
            brand: Some("Acer"),
            country: None,
            list_price: None,
            half_stars: None,
            specs: vec![("ean", None, CountedValue::Text(format!("EAN {n}").leak()))],
        })
        .collect();
    for (id, sample) in (0..).zip(&samples) {
        let row = Arc::new(sample.row(id, &mut words));
        category.replace(row.id(), Some(&row));
    }
    let everything = Condition::All(Vec::new());
    let filter = RowFilter::new(&everything, ProductStatus::Active, &words).unwrap();
    let kept = |fields: TallyFields, max_texts| {
        let mut tally = RowTally::new(fields, max_texts);
        tally.add(&category, &filter, &words);
        let tally = tally.finish(&words);
        let texts = tally.texts("ean").unwrap();
        (texts.distinct(), texts.products(), texts.top(100).len())
    };
    assert_eq!(kept(TallyFields::all(), 100), (21, 21, 0));
    let named = TallyFields::only(&[FacetKey::Spec("ean".to_owned())]);
    assert_eq!(kept(named.clone(), 100), (21, 21, 21));
    assert_eq!(kept(named, 3), (21, 21, 3));
}

#[test]
fn texts_are_stored_once() {
    let (words, rows) = shop();
    let mut again = HashMap::new();
    for row in &rows {
        assert!(row.bytes() > size_of::<FacetRow>());
        again.insert(row.id(), row.category());
    }
    assert_eq!(again.len(), 3);
    let (one, _) = shop();
    assert_eq!(one.bytes(), words.bytes());
    assert!(words.contains("Red") && words.contains("color=red") && !words.contains("green"));
}
