//! What is in food.

use vitrine_model::product::{Details, Grocery, Measurement};
use vitrine_model::spec::SpecValue;

use super::ProductWriter;
use crate::template::fill;
use crate::words::words;

/// Adds dates and returns the details.
pub(super) fn details(writer: &mut ProductWriter<'_>) -> Details {
    dates(writer);
    let recipe = writer.leaf.recipes.iter().find_map(|recipe| {
        let ingredients = fill(&recipe.ingredients, &writer.facts)?;
        Some((ingredients, recipe.allergens.clone()))
    });
    let (ingredients, allergens) = recipe.unzip();
    let nutrients = words().details.grocery.nutrients.iter();
    Details::Grocery(Grocery {
        ingredients,
        allergens: allergens.unwrap_or_default(),
        nutrition: nutrients.filter_map(|key| nutrient(writer, key)).collect(),
    })
}

/// Returns the nutrient of this key as its spec says.
fn nutrient(writer: &ProductWriter<'_>, key: &str) -> Option<Measurement> {
    match writer.facts.value(key)? {
        SpecValue::Quantity { value, unit } => Some(Measurement {
            name: key.to_owned(),
            value: *value,
            unit: unit.clone(),
        }),
        _ => None,
    }
}

fn dates(writer: &mut ProductWriter<'_>) {
    if writer.random.percent(60) {
        let days = writer.random.between(40, 480);
        let best_before = writer.days_ago(-days);
        writer.facts.add_date("best_before", best_before);
    }
    if writer.facts.has("roast_level") && writer.random.percent(60) {
        let days = writer.random.between(3, 45);
        let roasted = writer.days_ago(days);
        writer.facts.add_date("roast_date", roasted);
    }
}
