//! What is in a bundle: products that come earlier, are on sale, and cost the same money.

use vitrine_model::import::BundleItemDraft;
use vitrine_model::spec::SpecValue;

use super::{Bench, name_of, reference};
use crate::plan::Plan;
use crate::random::Random;

/// Chooses the items and notes their names.
pub(super) fn items(bench: &mut Bench<'_>) -> Vec<BundleItemDraft> {
    let chosen = chosen(&bench.demo.plan, bench.index, &mut bench.random);
    let names: Vec<String> = chosen.iter().map(|at| name_of(bench.demo, *at)).collect();
    bench.facts.note("items", listed(&names));
    let pieces = i32::try_from(chosen.len()).unwrap_or(0);
    bench
        .facts
        .add("pieces", SpecValue::Number(f64::from(pieces)));
    let items = chosen.into_iter().map(|at| BundleItemDraft {
        product: reference(at),
        quantity: if bench.random.percent(12) { 2 } else { 1 },
    });
    items.collect()
}

/// Two to five products of different leaves of the bundle's theme; any, when the theme has too few.
fn chosen(plan: &Plan, bundle: usize, random: &mut Random) -> Vec<usize> {
    let mut leaves: Vec<&String> = plan.leaf(bundle).items_from.iter().collect();
    random.shuffle(&mut leaves);
    let wanted = 2 + random.below(4);
    let mut chosen: Vec<usize> = Vec::with_capacity(wanted);
    for leaf in leaves {
        let found = one_of(plan, random, |at| plan.leaf(at).name() == leaf);
        if chosen.len() < wanted {
            chosen.extend(found);
        }
    }
    while chosen.len() < 2 {
        let Some(other) = one_of(plan, random, |at| !chosen.contains(&at)) else {
            break;
        };
        chosen.push(other);
    }
    chosen
}

fn one_of(plan: &Plan, random: &mut Random, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let singles = (0..plan.products.len()).filter(|at| plan.products[*at].leaf < plan.singles);
    let fitting: Vec<usize> = singles
        .filter(|at| plan.products[*at].sellable() && fits(*at))
        .collect();
    (!fitting.is_empty()).then(|| *random.pick(&fitting))
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join("; ")),
    }
}
