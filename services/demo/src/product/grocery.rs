//! What is in food.

use vitrine_model::product::{Details, Grocery, Measurement};
use vitrine_model::spec::SpecValue;

use super::Bench;
use crate::template::fill;
use crate::words::words;

/// Adds dates, and returns the details. The nutrition table repeats the specs, so that they agree.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    dates(bench);
    let nutrients = &words().details.grocery.nutrients;
    let recipe = bench.leaf.recipes.iter().find_map(|recipe| {
        let ingredients = fill(&recipe.ingredients, &bench.facts)?;
        Some((ingredients, recipe.allergens.clone()))
    });
    let (ingredients, allergens) = recipe.unzip();
    Details::Grocery(Grocery {
        ingredients,
        allergens: allergens.unwrap_or_default(),
        nutrition: nutrients
            .iter()
            .filter_map(|name| nutrient(bench, name))
            .collect(),
    })
}

fn nutrient(bench: &Bench<'_>, name: &str) -> Option<Measurement> {
    match bench.facts.value(name)? {
        SpecValue::Quantity { value, unit } => Some(Measurement {
            name: name.to_owned(),
            value: *value,
            unit: unit.clone(),
        }),
        _ => None,
    }
}

fn dates(bench: &mut Bench<'_>) {
    if bench.random.percent(60) {
        let days = bench.random.between(40, 480);
        let until = bench.days_ago(-days);
        bench.facts.date("best_before", until);
    }
    if bench.facts.has("roast_level") && bench.random.percent(60) {
        let days = bench.random.between(3, 45);
        let roasted = bench.days_ago(days);
        bench.facts.date("roast_date", roasted);
    }
}
