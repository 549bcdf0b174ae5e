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
        1 => prop::sample::select(vec![f64::INFINITY, -0.0]).prop_map(|n| CountedValue::Number(n, None)),
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
        let texts = tally.texts(key).unwrap();
        (
            (texts.values(), texts.products(), texts.distinct()),
            tally.booleans(key),
            (numbers.values(), numbers.common_unit().map(str::to_owned)),
            (numbers.products(), numbers.distinct()),
            tally.dates(key).unwrap().values(),
            tally.coverage(key, &units),
        )
    };
    let details: Vec<_> = keys.iter().map(of_key).collect();
    let built_in = [tally.brands(), tally.countries()]
        .map(|texts| (texts.values(), texts.products(), texts.distinct()));
    let stars: Vec<u64> = (0..7)
        .map(|n| tally.rated_at_least(f64::from(n) / 2.0))
        .collect();
    format!(
        "{} {:?} {:?} {built_in:?} {:?} {stars:?} {keys:?} {details:?}",
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
        Just(TallyFields::all()),
        prop::sample::subsequence(some.to_vec(), 0..4).prop_map(|keys| TallyFields::only(&keys)),
    ]
}

proptest! {
    #[test]
    fn rows_are_counted_like_products(
        samples in prop::collection::vec(sample(), 0..20),
        fields in fields(),
    ) {
        let mut words = Vocabulary::default();
        let rows: Vec<FacetRow> = (1..).zip(&samples).map(|(id, one)| one.row(id, &mut words)).collect();
        let mut of_rows = RowTally::new(fields.clone(), &words);
        let mut of_products = FacetTally::new(fields);
        for (row, sample) in rows.iter().zip(&samples) {
            of_rows.add(row, &words);
            sample.count(&mut of_products);
        }
        prop_assert_eq!(contents(&of_rows.finish(&words)), contents(&of_products));
    }
}

/// Two lamps and a table.
fn shop() -> (Vocabulary, Vec<FacetRow>) {
    let lamp = Sample {
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
    };
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
