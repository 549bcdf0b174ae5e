//! Sizes of clothes and shoes.

use vitrine_model::product::{Apparel, Details, Measurement, SizeChartRow};
use vitrine_model::spec::SpecValue;

use super::Bench;
use crate::facts::{Facts, converted};
use crate::words::catalogue::Sizes;
use crate::words::details::{ApparelWords, Body};
use crate::words::words;

/// How many centimetres each size is wider than the one before.
const SIZE_STEP: f64 = 6.0;

/// Adds the sizes and returns the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let words = &words().details.apparel;
    remove_contradictions(bench, words);
    let size_chart = sizes(bench, words);
    let fit = bench.facts.texts("fit").next().map(str::to_owned);
    Details::Apparel(Apparel { fit, size_chart })
}

/// Removes the specs that the materials rule out: nothing of wool is vegan.
fn remove_contradictions(bench: &mut Bench<'_>, words: &ApparelWords) {
    for rule in &words.ruled_out {
        if contains_any(&bench.facts, &words.material_keys, &rule.materials) {
            bench.facts.remove(&rule.key);
        }
    }
}

/// Whether a text of one of these keys contains one of these words in any case.
fn contains_any(facts: &Facts, keys: &[String], words: &[String]) -> bool {
    let mut texts = keys.iter().flat_map(|key| facts.texts(key));
    texts.any(|text| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    })
}

fn sizes(bench: &mut Bench<'_>, words: &ApparelWords) -> Vec<SizeChartRow> {
    match &bench.leaf.sizes {
        Some(Sizes::Fixed(sizes)) => {
            for size in sizes {
                bench.facts.text("size", size);
            }
        }
        Some(Sizes::Children) => children(bench, words),
        Some(Sizes::Shoes) => shoes(bench, words),
        Some(Sizes::UpperBody) => return adults(bench, words, ["chest", "waist"]),
        Some(Sizes::Trousers) => return adults(bench, words, ["waist", "hips"]),
        None => {}
    }
    Vec::new()
}

fn shoes(bench: &mut Bench<'_>, words: &ApparelWords) {
    let table = if bench.facts.says("gender", "Women") {
        &words.womens_shoe_sizes
    } else {
        &words.mens_shoe_sizes
    };
    let from = bench.random.below(2);
    let count = 4 + bench.random.below(table.len() - 4);
    for (column, system) in words.shoe_size_systems.iter().enumerate() {
        for row in table.iter().skip(from).take(count) {
            let value = SpecValue::Text(row[column].clone());
            bench.facts.add_for("size", value, system);
        }
    }
}

fn children(bench: &mut Bench<'_>, words: &ApparelWords) {
    for group in &words.age_groups {
        if bench.facts.says("age_group", &group.name) {
            for size in &group.sizes {
                let value = SpecValue::Text(size.clone());
                bench.facts.add_for("size", value, "EU");
            }
        }
    }
}

fn adults(bench: &mut Bench<'_>, words: &ApparelWords, measured: [&str; 2]) -> Vec<SizeChartRow> {
    let from = bench.random.below(2);
    let count = 4 + bench.random.below(2);
    let sizes = words.letter_sizes.iter().zip(0_u8..);
    let mut chart = Vec::with_capacity(count);
    for (size, step) in sizes.skip(from).take(count) {
        bench.facts.text("size", size);
        let wider = f64::from(step) * SIZE_STEP;
        chart.push(SizeChartRow {
            size: size.clone(),
            measurements: measured
                .map(|name| measurement(bench, words, name, wider))
                .to_vec(),
        });
    }
    chart
}

/// A measurement of a body that is so many centimetres wider than the smallest.
fn measurement(bench: &Bench<'_>, words: &ApparelWords, name: &str, wider: f64) -> Measurement {
    let Body { chest, waist, hips } = if bench.facts.says("gender", "Women") {
        &words.smallest_woman
    } else {
        &words.smallest_other
    };
    let smallest = match name {
        "chest" => chest,
        "waist" => waist,
        _ => hips,
    };
    let unit = if bench.habit.imperial() { "in" } else { "cm" };
    Measurement {
        name: name.to_owned(),
        value: converted(smallest + wider, "cm", unit, &bench.demo.units),
        unit: unit.to_owned(),
    }
}
