//! Sizes of clothes and shoes.

use vitrine_model::product::{Apparel, Details, Measurement, SizeChartRow};
use vitrine_model::spec::SpecValue;

use super::Bench;
use crate::facts::converted;
use crate::words::catalogue::Sizes;

/// European, British and American sizes of shoes.
const WOMENS_SHOES: &[[&str; 3]] = &[
    ["36", "3", "5.5"],
    ["37", "4", "6.5"],
    ["38", "5", "7.5"],
    ["39", "6", "8.5"],
    ["40", "6.5", "9"],
    ["41", "7", "9.5"],
];
const MENS_SHOES: &[[&str; 3]] = &[
    ["40", "6.5", "7.5"],
    ["41", "7", "8"],
    ["42", "8", "9"],
    ["43", "9", "10"],
    ["44", "9.5", "10.5"],
    ["45", "10.5", "11.5"],
    ["46", "11", "12"],
];
const LETTERS: &[&str] = &["XS", "S", "M", "L", "XL", "XXL"];
const AGES: &[(&str, &[&str])] = &[
    ("0–2 years", &["62/68", "74/80", "86/92"]),
    ("3–6 years", &["98/104", "110/116"]),
    ("7–10 years", &["122/128", "134/140"]),
    ("11–14 years", &["146/152", "158/164"]),
];

/// Adds the sizes and gives the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    stay_honest(bench);
    let size_chart = sizes(bench);
    let fit = bench.facts.texts("fit").next().map(str::to_owned);
    Details::Apparel(Apparel { fit, size_chart })
}

/// Nothing of wool is vegan, and nothing of nylon is grown.
fn stay_honest(bench: &mut Bench<'_>) {
    let made_of = |words: &[&str]| {
        let keys = [
            "material",
            "upper_material",
            "lining_material",
            "insulation",
        ];
        let mut texts = keys.into_iter().flat_map(|key| bench.facts.texts(key));
        texts.any(|text| words.iter().any(|word| text.to_lowercase().contains(word)))
    };
    let animal = made_of(&[
        "wool", "silk", "leather", "suede", "alpaca", "cashmere", "down", "flannel",
    ]);
    let synthetic = made_of(&[
        "polyester",
        "nylon",
        "viscose",
        "tencel",
        "leather",
        "suede",
    ]);
    bench.facts.specs.retain(|spec| match spec.key.as_str() {
        "vegan" => !animal,
        "organic_fibre" => !synthetic,
        _ => true,
    });
}

fn shoes(bench: &mut Bench<'_>) {
    let table = if bench.facts.says("gender", "Women") {
        WOMENS_SHOES
    } else {
        MENS_SHOES
    };
    let from = bench.random.below(2);
    let count = 4 + bench.random.below(table.len() - 4);
    for (system, name) in ["EU", "UK", "US"].into_iter().enumerate() {
        for row in table.iter().skip(from).take(count) {
            let value = SpecValue::Text(row[system].to_owned());
            bench.facts.add_for("size", value, name);
        }
    }
}

fn sizes(bench: &mut Bench<'_>) -> Vec<SizeChartRow> {
    match &bench.leaf.sizes {
        Some(Sizes::Fixed(sizes)) => {
            for size in sizes {
                bench.facts.text("size", size);
            }
        }
        Some(Sizes::Children) => children(bench),
        Some(Sizes::Shoes) => shoes(bench),
        Some(Sizes::UpperBody) => return adults(bench, ["chest", "waist"]),
        Some(Sizes::Trousers) => return adults(bench, ["waist", "hips"]),
        None => {}
    }
    Vec::new()
}

fn children(bench: &mut Bench<'_>) {
    for (age, sizes) in AGES {
        if bench.facts.says("age_group", age) {
            for size in *sizes {
                let value = SpecValue::Text((*size).to_owned());
                bench.facts.add_for("size", value, "EU");
            }
        }
    }
}

fn adults(bench: &mut Bench<'_>, measured: [&str; 2]) -> Vec<SizeChartRow> {
    let from = bench.random.below(2);
    let count = 4 + bench.random.below(2);
    let sizes = LETTERS.iter().enumerate().skip(from).take(count);
    let mut chart = Vec::with_capacity(count);
    for (step, size) in sizes {
        bench.facts.text("size", size);
        chart.push(SizeChartRow {
            size: (*size).to_owned(),
            measurements: measurements(bench, measured, f64::from(u8::try_from(step).unwrap_or(0))),
        });
    }
    chart
}

/// Chest, waist and hips of a size: six centimetres more for each step.
fn measurements(bench: &Bench<'_>, measured: [&str; 2], step: f64) -> Vec<Measurement> {
    let women = bench.facts.says("gender", "Women");
    let (chest, waist, hips) = if women { (80, 62, 88) } else { (88, 76, 92) };
    let smallest = |name| match name {
        "chest" => chest,
        "waist" => waist,
        _ => hips,
    };
    let unit = if bench.habit.imperial() { "in" } else { "cm" };
    let measured = measured.into_iter().map(|name| Measurement {
        name: name.to_owned(),
        value: converted(
            step.mul_add(6.0, f64::from(smallest(name))),
            "cm",
            unit,
            &bench.demo.units,
        ),
        unit: unit.to_owned(),
    });
    measured.collect()
}
