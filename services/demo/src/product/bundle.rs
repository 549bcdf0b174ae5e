//! What is in a bundle: products that come earlier, are on sale, and have prices in one currency.

use vitrine_model::import::BundleItemDraft;

use super::{ProductWriter, name_of, reference};
use crate::plan::Plan;
use crate::random::Random;

/// Chooses the items, notes their names and returns them.
pub(super) fn items(writer: &mut ProductWriter<'_>) -> Vec<BundleItemDraft> {
    let demo = writer.demo;
    let chosen = chosen(&demo.plan, writer.index, &mut writer.random);
    let names: Vec<String> = chosen.iter().map(|item| name_of(demo, *item)).collect();
    writer.facts.set_note("items", listed(&names));
    let pieces = i64::try_from(chosen.len()).unwrap_or(0);
    writer.facts.add_number("pieces", pieces);
    let items = chosen.into_iter().map(|item| BundleItemDraft {
        product: reference(item),
        quantity: if writer.random.percent(12) { 2 } else { 1 },
    });
    items.collect()
}

/// Chooses two to five products of different leaves of the bundle. When these leaves have too few
/// products, chooses any.
fn chosen(plan: &Plan, bundle: usize, random: &mut Random) -> Vec<usize> {
    let mut leaves: Vec<&String> = plan.leaf(bundle).items_from.iter().collect();
    random.shuffle(&mut leaves);
    let wanted = 2 + random.below(4);
    let mut chosen: Vec<usize> = Vec::with_capacity(wanted);
    for leaf in leaves {
        let item = one_of(plan, random, |index| plan.leaf(index).name() == leaf);
        if chosen.len() < wanted {
            chosen.extend(item);
        }
    }
    while chosen.len() < 2 {
        let Some(item) = one_of(plan, random, |index| !chosen.contains(&index)) else {
            break;
        };
        chosen.push(item);
    }
    chosen
}

fn one_of(plan: &Plan, random: &mut Random, condition: impl Fn(usize) -> bool) -> Option<usize> {
    let choice = plan.bundle_choice(condition);
    (!choice.is_empty()).then(|| *random.pick(&choice))
}

/// Returns `a; b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [names @ .., last] => format!("{} and {last}", names.join("; ")),
    }
}
