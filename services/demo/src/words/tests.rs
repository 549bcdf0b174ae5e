//! What the files promise.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use vitrine_model::clock::Timestamp;

use super::catalogue::{Leaf, NameWords};
use super::shared::Shared;
use super::spec::Values;
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
fn used_and_defined_names_agree() {
    let catalogue = &words().catalogue;
    let (mut specs, mut aspects) = (BTreeSet::new(), BTreeSet::new());
    let (mut lists, mut families) = (BTreeSet::new(), BTreeSet::new());
    for family in catalogue.families.values() {
        specs.extend(family.specs.iter().filter_map(name));
        aspects.extend(&family.opinions.shared_aspects);
        lists.extend(name(&family.brands));
        lists.extend(names_of_lists(family.name_words.as_ref()));
    }
    for leaf in &catalogue.leaves {
        specs.extend(leaf.specs.iter().filter_map(name));
        lists.extend(names_of_lists(leaf.name_words.as_ref()));
        families.insert(&leaf.family);
    }
    assert_eq!(specs, catalogue.shared_specs.keys().collect());
    assert_eq!(aspects, catalogue.shared_aspects.keys().collect());
    assert_eq!(lists, catalogue.word_lists.keys().collect());
    assert_eq!(families, catalogue.families.keys().collect());
}

fn names_of_lists(words: Option<&NameWords>) -> impl Iterator<Item = &String> {
    let lists = words.into_iter().flat_map(|words| [&words.a, &words.b]);
    lists.filter_map(name)
}

fn name<T>(value: &Shared<T>) -> Option<&String> {
    match value {
        Shared::Name(name) => Some(name),
        Shared::Own(_) => None,
    }
}

#[test]
fn every_leaf_is_complete() {
    for leaf in &words().catalogue.leaves {
        let (family, [a, b]) = (leaf.family(), leaf.name_words());
        let is_complete = leaf.weight > 0
            && !leaf.names.is_empty()
            && !a.is_empty()
            && !b.is_empty()
            && !family.brands().is_empty()
            && family.opinions.aspects().len() > 2;
        assert!(is_complete, "{:?}", leaf.path);
        let is_bundle = family.kind == "bundle";
        assert_eq!(leaf.is_bundle(), is_bundle, "{:?}", leaf.path);
        assert_eq!(leaf.prices.is_none(), is_bundle, "{:?}", leaf.path);
        let is_apparel = family.kind == "apparel";
        assert_eq!(leaf.sizes.is_some(), is_apparel, "{:?}", leaf.path);
        for language in &words().reviews.languages {
            let languages = &family.opinions.languages;
            assert!(languages.contains_key(&language.tag), "{:?}", leaf.path);
        }
    }
}

#[test]
fn bundles_come_last_and_contain_what_is_sold() {
    let leaves = &words().catalogue.leaves;
    assert!(leaves.is_sorted_by_key(Leaf::is_bundle));
    let singles = leaves.iter().filter(|leaf| !leaf.is_bundle());
    let singles: BTreeSet<&str> = singles.map(Leaf::name).collect();
    let items = leaves.iter().flat_map(|leaf| &leaf.items_from);
    let essays = words().reviews.essays.iter().map(|essay| &essay.leaf);
    for name in items.chain(essays) {
        assert!(singles.contains(name.as_str()), "{name} is no leaf");
    }
}

#[test]
fn every_spec_has_values() {
    for rule in words().catalogue.leaves.iter().flat_map(Leaf::specs) {
        let key = &rule.key;
        assert!((1..=100).contains(&rule.percent), "{key}");
        let choices = match &rule.values {
            Values::OneOf(texts) => texts.len(),
            Values::SomeOf { at_most, texts } => texts.len().min(*at_most),
            Values::Measure { units, .. } => units.len(),
            Values::Quantities(quantities) => quantities.len(),
            Values::Number(_) | Values::YesPercent(_) => 1,
        };
        assert!(choices > 0, "{key}");
    }
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
