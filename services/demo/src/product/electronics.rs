//! Warranties, energy labels and compatibility of devices.

use vitrine_model::product::{Details, Electronics};

use super::ProductWriter;
use crate::words::words;

/// Adds dates and returns the details.
pub(super) fn details(writer: &mut ProductWriter<'_>) -> Details {
    let words = &words().details.electronics;
    let months = *writer.random.pick_early(&words.warranty_months);
    writer
        .facts
        .set_note("warranty", format!("{months} months"));
    if writer.random.percent(60) {
        let days = writer.random.skewed_low(0, 500);
        let launched = writer.days_before_creation(days);
        writer.facts.add_date("launch_date", launched);
    }
    let labelled = writer.facts.has("annual_consumption");
    let label = writer.random.pick(&words.energy_labels);
    let compatibility = words
        .compatibility
        .iter()
        .filter(|rule| writer.facts.has_text(&rule.key, &rule.text))
        .map(|rule| rule.with.clone());
    Details::Electronics(Electronics {
        energy_label: labelled.then(|| label.clone()),
        warranty_months: Some(months),
        compatibility: compatibility.collect(),
    })
}
