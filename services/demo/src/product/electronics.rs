//! Warranties, energy labels and compatibility of devices.

use vitrine_model::product::{Details, Electronics};

use super::Bench;
use crate::words::words;

/// Adds dates and returns the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let words = &words().details.electronics;
    let months = *bench.random.early(&words.warranty_months);
    bench.facts.note("warranty", format!("{months} months"));
    if bench.random.percent(60) {
        let days = bench.random.low(0, 500);
        let launched = bench.days_before(days);
        bench.facts.date("launch_date", launched);
    }
    let labelled = bench.facts.has("annual_consumption");
    let label = bench.random.pick(&words.energy_labels);
    let compatibility = words
        .compatibility
        .iter()
        .filter(|rule| bench.facts.says(&rule.key, &rule.text))
        .map(|rule| rule.with.clone());
    Details::Electronics(Electronics {
        energy_label: labelled.then(|| label.clone()),
        warranty_months: Some(months),
        compatibility: compatibility.collect(),
    })
}
