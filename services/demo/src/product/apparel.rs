//! Sizes of clothes and shoes.

use vitrine_model::product::{Apparel, Details, Measurement, SizeChartRow};
use vitrine_model::spec::SpecValue;

use super::ProductWriter;
use crate::facts::{Facts, converted};
use crate::words::catalogue::Sizes;
use crate::words::details::ApparelWords;
use crate::words::words;

/// How many centimetres each size is wider than the one before.
const SIZE_STEP: f64 = 6.0;

/// Adds the sizes and returns the details.
pub(super) fn details(writer: &mut ProductWriter<'_>) -> Details {
    let words = &words().details.apparel;
    remove_contradictions(writer, words);
    let size_chart = sizes(writer, words);
    let fit = writer.facts.texts("fit").next().map(str::to_owned);
    Details::Apparel(Apparel { fit, size_chart })
}

/// Removes the specs that the materials rule out: nothing of wool is vegan.
fn remove_contradictions(writer: &mut ProductWriter<'_>, words: &ApparelWords) {
    for rule in &words.ruled_out {
        if contains_any(&writer.facts, &words.material_keys, &rule.materials) {
            writer.facts.remove(&rule.key);
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

fn sizes(writer: &mut ProductWriter<'_>, words: &ApparelWords) -> Vec<SizeChartRow> {
    match &writer.leaf.sizes {
        Some(Sizes::Fixed(sizes)) => {
            for size in sizes {
                writer.facts.add_text("size", size);
            }
        }
        Some(Sizes::Children) => children(writer, words),
        Some(Sizes::Shoes) => shoes(writer, words),
        Some(Sizes::Letters(measured)) => return adults(writer, words, measured),
        None => {}
    }
    Vec::new()
}

fn shoes(writer: &mut ProductWriter<'_>, words: &ApparelWords) {
    let table = if writer.facts.has_text("gender", "Women") {
        &words.womens_shoe_sizes
    } else {
        &words.mens_shoe_sizes
    };
    let from = writer.random.below(2);
    let count = 4 + writer.random.below(table.len() - 4);
    for (column, system) in words.shoe_size_systems.iter().enumerate() {
        for row in table.iter().skip(from).take(count) {
            let value = SpecValue::Text(row[column].clone());
            writer.facts.add_qualified("size", value, system);
        }
    }
}

fn children(writer: &mut ProductWriter<'_>, words: &ApparelWords) {
    for group in &words.age_groups {
        if writer.facts.has_text("age_group", &group.name) {
            for size in &group.sizes {
                let value = SpecValue::Text(size.clone());
                writer.facts.add_qualified("size", value, "EU");
            }
        }
    }
}

fn adults(
    writer: &mut ProductWriter<'_>,
    words: &ApparelWords,
    measured: &[String],
) -> Vec<SizeChartRow> {
    let from = writer.random.below(2);
    let count = 4 + writer.random.below(2);
    let smallest = if writer.facts.has_text("gender", "Women") {
        &words.smallest_woman
    } else {
        &words.smallest_other
    };
    let sizes = words.letter_sizes.iter().zip(0_u8..).skip(from).take(count);
    let rows = sizes.map(|(size, steps)| {
        writer.facts.add_text("size", size);
        let wider = f64::from(steps) * SIZE_STEP;
        let names = measured.iter();
        SizeChartRow {
            size: size.clone(),
            measurements: names
                .map(|name| measurement(writer, name, smallest[name] + wider))
                .collect(),
        }
    });
    rows.collect()
}

fn measurement(writer: &ProductWriter<'_>, name: &str, centimetres: f64) -> Measurement {
    let imperial = writer.preference.is_imperial();
    let unit = if imperial { "in" } else { "cm" };
    Measurement {
        name: name.to_owned(),
        value: converted(centimetres, "cm", unit, &writer.demo.units),
        unit: unit.to_owned(),
    }
}
