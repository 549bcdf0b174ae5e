//! Warranty, energy label and what a device works with.

use vitrine_model::product::{Details, Electronics};

use super::Bench;

/// What a product with this spec works with.
const WORKS_WITH: &[(&str, &str, &str)] = &[
    (
        "connectivity",
        "Bluetooth",
        "Devices with Bluetooth 5.0 or later",
    ),
    ("connectivity", "USB-C", "Computers and phones with USB-C"),
    (
        "connectivity",
        "2.4 GHz radio",
        "Computers with a free USB port",
    ),
    ("connectivity", "3.5 mm jack", "Players with a 3.5 mm jack"),
    ("form_factor", "M.2 2280", "Boards with an M.2 2280 slot"),
    ("form_factor", "M.2 2230", "Boards with an M.2 2230 slot"),
    ("form_factor", "2.5 inch", "Cases with a 2.5 inch bay"),
    ("form_factor", "ATX", "ATX cases"),
    ("form_factor", "SFX", "SFX cases"),
    (
        "lens_mount",
        "L-bayonet",
        "Cameras and lenses with the L-bayonet",
    ),
    (
        "lens_mount",
        "K-short",
        "Cameras and lenses with the K-short mount",
    ),
    ("lens_mount", "M2", "Cameras and lenses with the M2 mount"),
    ("ports", "USB-C", "USB-C docks and displays"),
];

/// Adds dates, and gives the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let months = *bench.random.early(&[24, 36, 12, 60]);
    bench.facts.note("warranty", format!("{months} months"));
    if bench.random.percent(60) {
        let days = bench.random.low(0, 500);
        let launched = bench.days_before(days);
        bench.facts.date("launch_date", launched);
    }
    let labelled = bench.facts.has("annual_consumption");
    let letter = bench.random.pick(&["A", "B", "C", "D", "D", "E", "F", "G"]);
    let compatibility = WORKS_WITH
        .iter()
        .filter(|(key, value, _)| bench.facts.says(key, value))
        .map(|(_, _, with)| (*with).to_owned());
    Details::Electronics(Electronics {
        energy_label: labelled.then(|| (*letter).to_owned()),
        warranty_months: Some(months),
        compatibility: compatibility.collect(),
    })
}
