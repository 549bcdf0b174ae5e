//! Random filters over random products, compared with an evaluation in whole numbers that shares no
//! code with the service: lengths are in hundred-thousandths of a millimetre.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use vitrine_harness::{App, product, review, test};
use vitrine_model::import::{ProductDraft, ReviewDraft};

use super::check;

const CATEGORIES: [&[&str]; 6] = [
    &["A"],
    &["A", "B"],
    &["A", "B", "C"],
    &["A", "D"],
    &["E"],
    &["E", "F"],
];
const BRANDS: [&str; 3] = ["Acme", "Zeta", "Ünï"];
const COLORS: [&str; 4] = ["Red", "Dark Red", "Blue", "Grün"];
/// Units of length and their tenths of a millimetre.
const UNITS: [(&str, i64); 3] = [("mm", 10), ("cm", 100), ("in", 254)];
const QUALIFIERS: [&str; 2] = ["EU", "US"];

/// A product of the evaluation. Indexes point into the tables above; lengths and weights are in
/// tenths of their unit, prices in cents, dates in days of January 2024.
#[derive(Clone, Debug)]
pub(super) struct Toy {
    category: usize,
    brand: Option<usize>,
    cents: Option<i64>,
    color: Option<usize>,
    length: Option<(i64, usize)>,
    ports: Option<i64>,
    lid: Option<bool>,
    day: Option<i64>,
    weights: Vec<(i64, usize)>,
    stars: Vec<i64>,
}

/// One end of a range of lengths, and whether it belongs to the range.
pub(super) type End = Option<(i64, bool)>;

/// A filter of the evaluation.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    Category(Vec<usize>),
    Brand(Vec<usize>),
    Price(Option<i64>, Option<i64>),
    Rating(i64),
    Color(Vec<usize>),
    Length { low: End, high: End, unit: usize },
    LengthEqual(i64, usize),
    Ports(Option<i64>, Option<i64>),
    PortsEqual(i64),
    Lid(bool),
    Day(i64, bool),
    Weight(i64, Option<usize>),
    Exists(&'static str, bool),
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
}

fn toy() -> impl Strategy<Value = Toy> {
    let what = (
        0..6_usize,
        prop::option::of(0..3_usize),
        prop::option::of(0..2000_i64),
        prop::option::of(0..4_usize),
    );
    let specs = (
        prop::option::of((1..1000_i64, 0..3_usize)),
        prop::option::of(0..6_i64),
        prop::option::of(any::<bool>()),
        prop::option::of(1..30_i64),
        prop::collection::vec((1..50_i64, 0..2_usize), 0..3),
    );
    (what, specs, prop::collection::vec(1..=5_i64, 0..4)).prop_map(|(what, specs, stars)| {
        let (category, brand, cents, color) = what;
        let (length, ports, lid, day, weights) = specs;
        Toy {
            category,
            brand,
            cents,
            color,
            length,
            ports,
            lid,
            day,
            weights,
            stars,
        }
    })
}

pub(super) fn leaf() -> impl Strategy<Value = Filter> {
    let some = |n: usize| prop::collection::vec(0..n, 0..3);
    let end = || prop::option::of((1..1000_i64, any::<bool>()));
    prop_oneof![
        some(6).prop_map(Filter::Category),
        some(3).prop_map(Filter::Brand),
        (0..2000_i64, 0..2000_i64, 0..3).prop_map(|(a, b, ends)| match ends {
            0 => Filter::Price(Some(a), None),
            1 => Filter::Price(None, Some(b)),
            _ => Filter::Price(Some(a.min(b)), Some(a.max(b))),
        }),
        (2..=10_i64).prop_map(Filter::Rating),
        some(4).prop_map(Filter::Color),
        (end(), end(), 0..3_usize).prop_map(length),
        (1..1000_i64, select(vec![0, 2]))
            .prop_map(|(tenths, unit)| Filter::LengthEqual(off_the_edge(tenths), unit)),
        (0..6_i64, 0..6_i64).prop_map(|(a, b)| Filter::Ports(Some(a.min(b)), Some(a.max(b)))),
        (0..6_i64).prop_map(|n| Filter::Ports(None, Some(n))),
        (0..6_i64).prop_map(Filter::PortsEqual),
        any::<bool>().prop_map(Filter::Lid),
        (1..30_i64, any::<bool>()).prop_map(|(day, after)| Filter::Day(day, after)),
        (1..50_i64, prop::option::of(0..2_usize)).prop_map(|(least, of)| Filter::Weight(least, of)),
        (
            select(vec!["color", "length", "weight", "never_seen"]),
            any::<bool>()
        )
            .prop_map(|(key, there)| Filter::Exists(key, there)),
    ]
}

/// A range with at least one end and its ends in order.
fn length((low, high, unit): (End, End, usize)) -> Filter {
    match (low, high) {
        (None, None) => Filter::Length {
            low: Some((1, true)),
            high: None,
            unit,
        },
        (Some(low), Some(high)) if low.0 > high.0 => Filter::Length {
            low: Some(high),
            high: Some(low),
            unit,
        },
        _ => Filter::Length { low, high, unit },
    }
}

/// No product is exactly on the edge of such a range, where the last bit of a floating-point number
/// would decide.
const fn off_the_edge(tenths: i64) -> i64 {
    if tenths % 40 == 0 { tenths + 1 } else { tenths }
}

pub(super) fn filter() -> impl Strategy<Value = Filter> {
    leaf().prop_recursive(3, 10, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            several.clone().prop_map(Filter::And),
            several.prop_map(Filter::Or),
            inner.prop_map(|part| Filter::Not(Box::new(part))),
        ]
    })
}

impl Toy {
    fn draft(&self, name: &str) -> ProductDraft {
        let mut draft = product(name);
        if let Some(brand) = self.brand {
            draft = draft.brand(BRANDS[brand]);
        }
        if let Some(cents) = self.cents {
            draft = draft.price(&decimal(cents, 2));
        }
        if let Some(color) = self.color {
            draft = draft.text("color", COLORS[color]);
        }
        if let Some((tenths, unit)) = self.length {
            draft = draft.quantity("length", number(tenths, 1), UNITS[unit].0);
        }
        if let Some(ports) = self.ports {
            draft = draft.number("ports", number(ports, 0));
        }
        if let Some(lid) = self.lid {
            draft = draft.boolean("lid", lid);
        }
        if let Some(day) = self.day {
            draft = draft.date("release", &format!("2024-01-{day:02}"));
        }
        for (tenths, qualifier) in &self.weights {
            draft = draft
                .quantity("weight", number(*tenths, 1), "kg")
                .qualified(QUALIFIERS[*qualifier]);
        }
        let mut draft = ProductDraft::from(draft);
        draft.category = CATEGORIES[self.category]
            .iter()
            .map(|&name| name.to_owned())
            .collect();
        draft
    }

    fn reviews(&self, name: &str) -> Vec<ReviewDraft> {
        let stars = self.stars.iter().enumerate();
        stars
            .map(|(n, stars)| review(name, format!("{name} {n}"), *stars).into())
            .collect()
    }

    /// The length in hundred-thousandths of a millimetre.
    fn length(&self) -> Option<i64> {
        self.length
            .map(|(tenths, unit)| tenths * 1000 * UNITS[unit].1)
    }
}

impl Filter {
    fn holds(&self, toy: &Toy) -> bool {
        match self {
            Self::Category(any) => any
                .iter()
                .any(|at| CATEGORIES[toy.category].starts_with(CATEGORIES[*at])),
            Self::Brand(any) => toy.brand.is_some_and(|brand| any.contains(&brand)),
            Self::Price(low, high) => toy.cents.is_some_and(|cents| within(cents, *low, *high)),
            Self::Rating(halves) => {
                let (count, sum) = (toy.stars.len(), toy.stars.iter().sum::<i64>());
                count > 0 && 2 * sum >= halves * i64::try_from(count).unwrap()
            }
            Self::Color(any) => toy.color.is_some_and(|color| any.contains(&color)),
            Self::Length { low, high, unit } => toy.length().is_some_and(|length| {
                let at = |tenths: i64| tenths * 1000 * UNITS[*unit].1;
                low.is_none_or(|(low, included)| length > at(low) || included && length == at(low))
                    && high.is_none_or(|(high, included)| {
                        length < at(high) || included && length == at(high)
                    })
            }),
            Self::LengthEqual(tenths, unit) => toy.length().is_some_and(|length| {
                let (low, high) = shown_alike(*tenths);
                (low * UNITS[*unit].1..=high * UNITS[*unit].1).contains(&length)
            }),
            Self::Ports(low, high) => toy.ports.is_some_and(|ports| within(ports, *low, *high)),
            Self::PortsEqual(n) => toy.ports == Some(*n),
            Self::Lid(lid) => toy.lid == Some(*lid),
            Self::Day(day, after) => toy
                .day
                .is_some_and(|of| if *after { of > *day } else { of <= *day }),
            Self::Weight(least, of) => toy
                .weights
                .iter()
                .any(|(tenths, qualifier)| tenths >= least && of.is_none_or(|of| of == *qualifier)),
            Self::Exists(key, there) => toy.has(key) == *there,
            Self::And(parts) => parts.iter().all(|part| part.holds(toy)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(toy)),
            Self::Not(part) => !part.holds(toy),
        }
    }

    /// The filter as the API takes it.
    pub(super) fn graphql(&self) -> String {
        match self {
            Self::Category(any) => {
                let slugs = pick(any, |at| CATEGORIES[at].last().unwrap().to_lowercase());
                format!("{{ category: {slugs:?} }}")
            }
            Self::Brand(any) => {
                let brands = pick(any, |at| BRANDS[at].to_lowercase());
                format!("{{ brand: {brands:?} }}")
            }
            Self::Price(low, high) => {
                let cents = |n: i64| format!("{:?}", decimal(n, 2));
                let range = ends(&[("gte", low.map(cents)), ("lte", high.map(cents))]);
                format!("{{ price: {{ {range} }} }}")
            }
            Self::Rating(halves) => format!("{{ rating: {{ gte: {} }} }}", decimal(halves * 5, 1)),
            Self::Color(any) => {
                let colors = pick(any, |at| COLORS[at].to_uppercase());
                spec("color", &format!("text: {{ in: {colors:?} }}"))
            }
            Self::Length { low, high, unit } => length_filter(*low, *high, UNITS[*unit].0),
            Self::LengthEqual(tenths, unit) => {
                let (number, unit) = (decimal(*tenths, 1), UNITS[*unit].0);
                spec(
                    "length",
                    &format!("number: {{ eq: {number}, unit: {unit:?} }}"),
                )
            }
            Self::Ports(low, high) => {
                let number = |n: i64| n.to_string();
                let range = ends(&[("gte", low.map(number)), ("lte", high.map(number))]);
                spec("ports", &format!("number: {{ {range} }}"))
            }
            Self::PortsEqual(n) => spec("ports", &format!("number: {{ eq: {n} }}")),
            Self::Lid(lid) => spec("lid", &format!("boolean: {lid}")),
            Self::Day(day, after) => {
                let end = if *after { "gt" } else { "lte" };
                spec(
                    "release",
                    &format!("date: {{ {end}: \"2024-01-{day:02}\" }}"),
                )
            }
            Self::Weight(least, of) => {
                let qualifier = of.map_or_else(String::new, |of| {
                    format!(", qualifier: {:?}", QUALIFIERS[of])
                });
                // Filtered in grams, stored in kilograms.
                spec(
                    "weight",
                    &format!("number: {{ gte: {}, unit: \"g\" }}{qualifier}", least * 100),
                )
            }
            Self::Exists(key, there) => spec(key, &format!("exists: {there}")),
            Self::And(parts) => format!("{{ and: [{}] }}", all(parts)),
            Self::Or(parts) => format!("{{ or: [{}] }}", all(parts)),
            Self::Not(part) => format!("{{ not: {} }}", part.graphql()),
        }
    }
}

/// A filter by length; each end in tenths, and whether it is included.
fn length_filter(low: Option<(i64, bool)>, high: Option<(i64, bool)>, unit: &str) -> String {
    let end = |included: bool, with: &'static str, without: &'static str| {
        if included { with } else { without }
    };
    let low = low.map(|(n, included)| (end(included, "gte", "gt"), Some(decimal(n, 1))));
    let high = high.map(|(n, included)| (end(included, "lte", "lt"), Some(decimal(n, 1))));
    let range: Vec<_> = low.into_iter().chain(high).collect();
    spec(
        "length",
        &format!("number: {{ {} unit: {unit:?} }}", ends(&range)),
    )
}

impl Toy {
    fn has(&self, key: &str) -> bool {
        match key {
            "color" => self.color.is_some(),
            "length" => self.length.is_some(),
            "weight" => !self.weights.is_empty(),
            _ => false,
        }
    }
}

/// The range that is equal to this number of tenths, in ten-thousandths: half of the last written
/// digit to each side, but at most half a percent.
fn shown_alike(tenths: i64) -> (i64, i64) {
    let half_digit = if tenths % 10 == 0 { 5000 } else { 500 };
    let reach = half_digit.min(5 * tenths);
    (tenths * 1000 - reach, tenths * 1000 + reach)
}

fn within(n: i64, low: Option<i64>, high: Option<i64>) -> bool {
    low.is_none_or(|low| n >= low) && high.is_none_or(|high| n <= high)
}

fn pick(any: &[usize], name: impl Fn(usize) -> String) -> Vec<String> {
    any.iter().map(|at| name(*at)).collect()
}

fn spec(key: &str, test: &str) -> String {
    format!("{{ specs: [{{ key: {key:?}, {test} }}] }}")
}

fn all(parts: &[Filter]) -> String {
    parts
        .iter()
        .map(Filter::graphql)
        .collect::<Vec<_>>()
        .join(", ")
}

fn ends(range_ends: &[(&str, Option<String>)]) -> String {
    range_ends
        .iter()
        .fold(String::new(), |mut text, (name, end)| {
            if let Some(end) = end {
                let _ = write!(text, "{name}: {end}, ");
            }
            text
        })
}

/// A whole number of decimal parts as it is written.
fn decimal(parts: i64, decimals: usize) -> String {
    let scale = 10_i64.pow(u32::try_from(decimals).unwrap());
    if decimals == 0 {
        parts.to_string()
    } else {
        format!("{}.{:0decimals$}", parts / scale, parts % scale)
    }
}

fn number(parts: i64, decimals: usize) -> f64 {
    decimal(parts, decimals).parse().unwrap()
}

/// A hundred random products: the same for all filters of a test.
pub(super) async fn stock(app: &App) -> Vec<Toy> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let toys = prop::collection::vec(toy(), 100)
        .new_tree(&mut runner)
        .unwrap()
        .current();
    let names = (0..toys.len()).map(|n| format!("T{n:03}"));
    app.has(
        toys.iter()
            .zip(names.clone())
            .map(|(toy, name)| toy.draft(&name)),
    )
    .await;
    app.has_reviews(
        toys.iter()
            .zip(names)
            .flat_map(|(toy, name)| toy.reviews(&name)),
    )
    .await;
    toys
}

#[test]
fn filters_find_what_an_independent_evaluation_finds() {
    test(async |app| {
        let toys = stock(app).await;
        let sorts = select(vec![
            "NAME",
            "PRICE",
            "RATING",
            "POPULARITY",
            "NEWEST",
            "UPDATED",
        ]);
        let cases = (filter(), sorts);
        check(250, &cases, app, async |app, (filter, sort)| {
            let expected = toys.iter().enumerate().filter(|(_, toy)| filter.holds(toy));
            let expected: Vec<String> = expected.map(|(n, _)| format!("T{n:03}")).collect();
            let query = format!(
                "{{ products(first: 100, sort: [{{ key: {sort} }}], filter: {}) {{ nodes {{ name }} totalCount {{ value }} }} }}",
                filter.graphql()
            );
            let answer = app.query(&query).await;
            let mut found = answer.names("/products");
            found.sort();
            prop_assert_eq!(&found, &expected, "{}", query);
            prop_assert_eq!(answer.at("/products/totalCount/value"), found.len());
            Ok(())
        });
    });
}
