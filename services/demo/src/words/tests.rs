//! What the files promise.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use vitrine_model::clock::Timestamp;

use super::catalogue::Leaf;
use super::shared::Shared;
use super::*;
use crate::facts::Facts;
use crate::product::generate;
use crate::template::fill;
use crate::{Demo, DemoOptions};

fn error<T: DeserializeOwned>((name, text): File) -> Option<String> {
    let error = toml::from_str::<T>(text).err()?;
    Some(format!("{name}: {error}"))
}

#[test]
fn every_file_can_be_read() {
    let catalogue = CATALOGUE
        .iter()
        .filter_map(|file| error::<Catalogue>(*file));
    let others = [
        error::<DetailWords>(DETAILS),
        error::<People>(PEOPLE),
        error::<ReviewPhrases>(REVIEWS),
        error::<SupplierFile>(SUPPLIERS),
    ];
    let errors: Vec<String> = catalogue.chain(others.into_iter().flatten()).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn every_file_of_the_directory_is_part_of_the_binary() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("words");
    let entries = fs::read_dir(directory).unwrap();
    let found: BTreeSet<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let others = [DETAILS, PEOPLE, REVIEWS, SUPPLIERS];
    let known = CATALOGUE.into_iter().chain(others);
    let known: BTreeSet<String> = known.map(|(name, _)| name.to_owned()).collect();
    assert_eq!(found, known);
}

#[test]
fn no_file_replaces_what_another_defines() {
    let sizes = |catalogue: &Catalogue| {
        [
            catalogue.word_lists.len(),
            catalogue.shared_specs.len(),
            catalogue.shared_aspects.len(),
            catalogue.families.len(),
        ]
    };
    let mut sum = [0; 4];
    for (_, text) in CATALOGUE {
        let file = sizes(&toml::from_str(text).unwrap());
        sum = std::array::from_fn(|table| sum[table] + file[table]);
    }
    assert_eq!(sum, sizes(&words().catalogue));
}

#[test]
fn shared_values_are_used() {
    let catalogue = &words().catalogue;
    let families = catalogue.families.values();
    let specs = families.clone().flat_map(|family| &family.specs);
    let specs = specs.chain(catalogue.leaves.iter().flat_map(|leaf| &leaf.specs));
    let specs: BTreeSet<&String> = specs.filter_map(name).collect();
    assert_eq!(specs, catalogue.shared_specs.keys().collect());
    let aspects = families
        .clone()
        .flat_map(|family| &family.opinions.shared_aspects);
    let aspects: BTreeSet<&String> = aspects.collect();
    assert_eq!(aspects, catalogue.shared_aspects.keys().collect());
    let leaves = catalogue
        .leaves
        .iter()
        .filter_map(|leaf| leaf.name_words.as_ref());
    let name_words = families
        .clone()
        .filter_map(|family| family.name_words.as_ref());
    let lists = name_words
        .chain(leaves)
        .flat_map(|lists| [&lists.a, &lists.b]);
    let lists = lists.chain(families.map(|family| &family.brands));
    let lists: BTreeSet<&String> = lists.filter_map(name).collect();
    assert_eq!(lists, catalogue.word_lists.keys().collect());
}

fn name<T>(value: &Shared<T>) -> Option<&String> {
    match value {
        Shared::Name(name) => Some(name),
        Shared::Own(_) => None,
    }
}

#[test]
fn every_leaf_is_complete() {
    let leaves = &words().catalogue.leaves;
    let names: BTreeSet<&str> = leaves.iter().map(Leaf::name).collect();
    let languages = &words().reviews.languages;
    for leaf in leaves {
        let (name, family) = (leaf.name(), leaf.family());
        assert!(leaf.weight > 0 && !leaf.names.is_empty(), "{name}");
        assert!(leaf.specs().count() > 0, "{name}");
        assert!(!family.brands().is_empty(), "{name}");
        assert!(
            leaf.name_words().iter().all(|list| !list.is_empty()),
            "{name}"
        );
        assert!(family.opinions.aspects().len() > 2, "{name}");
        for language in languages {
            assert!(
                family.opinions.languages.contains_key(&language.tag),
                "{name}"
            );
        }
        let items_are_leaves = leaf
            .items_from
            .iter()
            .all(|item| names.contains(item.as_str()));
        assert!(items_are_leaves, "{name}");
        assert_eq!(leaf.is_bundle(), family.kind == "bundle", "{name}");
        assert_eq!(leaf.sizes.is_some(), family.kind == "apparel", "{name}");
        assert_eq!(leaf.prices.is_none(), leaf.is_bundle(), "{name}");
    }
    assert!(
        leaves.is_sorted_by_key(Leaf::is_bundle),
        "bundles come last"
    );
    let essays = &words().reviews.essays;
    assert!(
        essays
            .iter()
            .all(|essay| names.contains(essay.leaf.as_str()))
    );
}

/// All sentences with gaps.
fn sentences() -> Vec<&'static str> {
    let mut all: Vec<&String> = Vec::new();
    for leaf in &words().catalogue.leaves {
        all.extend(leaf.names.iter().chain(&leaf.descriptions));
        all.extend(leaf.recipes.iter().map(|recipe| &recipe.ingredients));
        let family = leaf.family();
        all.extend(family.descriptions.iter().flatten());
        let opinions = &family.opinions;
        let others = opinions.languages.values().chain([&opinions.titles]);
        for remarks in opinions.aspects().into_iter().chain(others) {
            all.extend(remarks.praise.iter().chain(&remarks.criticism));
        }
    }
    for phrases in &words().reviews.english {
        all.extend(phrases.openings.iter().chain(&phrases.closings));
    }
    all.into_iter().map(String::as_str).collect()
}

fn gaps(sentence: &str) -> impl Iterator<Item = &str> {
    let gaps = sentence.split('{').skip(1);
    gaps.map(|rest| rest.split_once('}').unwrap().0)
}

/// Whether the product has what the gap is about.
fn concerns(gap: &str, facts: &Facts) -> bool {
    if let Some(key) = gap.strip_prefix('-') {
        return facts.has(key);
    }
    if let Some((key, text)) = gap.split_once('!') {
        return facts.has_text(key, text);
    }
    fill(&format!("{{{gap}}}"), facts).is_some()
}

#[test]
fn every_gap_is_about_something_that_products_have() {
    let now = Timestamp::parse("2026-06-01T09:30:00Z").unwrap();
    let demo = Demo::new(DemoOptions::new(now));
    let mut products: Vec<Facts> = (0..demo.product_count())
        .map(|index| generate(&demo, index).facts)
        .collect();
    for facts in &mut products {
        facts.set_note("time", "a year");
    }
    let gaps: BTreeSet<&str> = sentences().into_iter().flat_map(gaps).collect();
    assert!(gaps.len() > 300, "{} gaps", gaps.len());
    let unknown: Vec<&&str> = gaps
        .iter()
        .filter(|gap| !products.iter().any(|facts| concerns(gap, facts)))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
