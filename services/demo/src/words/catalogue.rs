//! What is sold: families of products that are described and reviewed alike, and the leaves of the
//! category tree.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::reviews::Remarks;
use super::shared::Shared;
use super::spec::SpecRule;
use super::words;

/// The file `shared.toml`, a file of products, or all of them together.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Catalogue {
    /// Lists of words that names and brands are taken from.
    pub(crate) word_lists: BTreeMap<String, Vec<String>>,
    /// Specs that several families or leaves have.
    pub(crate) shared_specs: BTreeMap<String, SpecRule>,
    /// What reviewers say about products of several families.
    pub(crate) shared_aspects: BTreeMap<String, Remarks>,
    /// The families by name.
    pub(crate) families: BTreeMap<String, Family>,
    /// The leaf categories in the order of the catalogue.
    pub(crate) leaves: Vec<Leaf>,
}

/// Products that are described and reviewed alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// The product kind.
    pub(crate) kind: String,
    /// The brands, the frequent ones first: a list, or the name of one in `word_lists`.
    pub(super) brands: Shared<Vec<String>>,
    /// The words `{a}` and `{b}` of names. Leaves may have their own.
    pub(super) name_words: Option<NameWords>,
    /// What sentences may ask for with `{?tag}`: `durable`, when the thing is used for a long time;
    /// `maker`, when reviewers know the brand as the maker of other things.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// What reviewers rate apart from the product as a whole.
    #[serde(default)]
    pub(crate) rating_dimensions: Vec<String>,
    /// The specs of all leaves: rules, or names of rules in `shared_specs`. They come after those
    /// of the leaf, and a key that the leaf has already given is left out.
    pub(super) specs: Vec<Shared<SpecRule>>,
    /// Groups of sentences of descriptions. At most one sentence of each group is used.
    pub(crate) descriptions: Vec<Vec<String>>,
    /// What reviewers say.
    pub(crate) opinions: Opinions,
}

/// A category of the third level and what is sold in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Leaf {
    /// The name of the family.
    pub(super) family: String,
    /// The category, from the top down.
    pub(crate) path: [String; 3],
    /// The share of all products, relative to the other leaves.
    pub(crate) weight: u32,
    /// What reviewers call such a product: `sweater`.
    pub(crate) thing: String,
    /// Whether reviewers speak of it as "they".
    #[serde(default)]
    pub(crate) plural: bool,
    /// The lowest and the highest price in whole units of the currency. Bundles have none.
    pub(crate) prices: Option<[i64; 2]>,
    /// The sizes, for clothes and shoes.
    pub(crate) sizes: Option<Sizes>,
    /// The words `{a}` and `{b}` of names, when they are not those of the family.
    pub(super) name_words: Option<NameWords>,
    /// Patterns of names.
    pub(crate) names: Vec<String>,
    /// The specs that only this leaf has: rules, or names of rules in `shared_specs`.
    #[serde(default)]
    pub(super) specs: Vec<Shared<SpecRule>>,
    /// First sentences of descriptions.
    pub(crate) descriptions: Vec<String>,
    /// What is in it, for food. The first recipe whose gaps can be filled is used.
    #[serde(default)]
    pub(crate) recipes: Vec<Recipe>,
    /// The names of the leaves that items come from, for bundles.
    #[serde(default)]
    pub(crate) items_from: Vec<String>,
}

/// Words that names are made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NameWords {
    /// The words that `{a}` stands for: a list, or the name of one in `word_lists`.
    pub(super) a: Shared<Vec<String>>,
    /// The words that `{b}` stands for.
    #[serde(default = "empty_word")]
    pub(super) b: Shared<Vec<String>>,
}

fn empty_word() -> Shared<Vec<String>> {
    Shared::Own(vec![String::new()])
}

/// In which sizes clothes and shoes are sold.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sizes {
    /// These sizes.
    Fixed(Vec<String>),
    /// The sizes of an age group.
    Children,
    /// XS to XXL, with a chart of these body measurements.
    Letters([String; 2]),
    /// European, British and American shoe sizes.
    Shoes,
}

/// The list of ingredients of a food.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// The list, with gaps.
    pub(crate) ingredients: String,
    /// The allergens in it.
    pub(crate) allergens: Vec<String>,
}

/// What reviewers of a family say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opinions {
    /// Titles of reviews.
    pub(crate) titles: Remarks,
    /// What they say about single aspects of the product.
    aspects: Vec<Remarks>,
    /// The names of further aspects, which are in `shared_aspects`.
    #[serde(default)]
    pub(super) shared_aspects: Vec<String>,
    /// What they say in other languages, by IETF tag.
    pub(crate) languages: BTreeMap<String, Remarks>,
}

impl Catalogue {
    /// Adds the contents of another file.
    pub(crate) fn add(&mut self, other: Self) {
        self.word_lists.extend(other.word_lists);
        self.shared_specs.extend(other.shared_specs);
        self.shared_aspects.extend(other.shared_aspects);
        self.families.extend(other.families);
        self.leaves.extend(other.leaves);
    }
}

impl Family {
    /// Returns the brands, the frequent ones first.
    pub(crate) fn brands(&self) -> &[String] {
        self.brands.get(&words().catalogue.word_lists)
    }
}

impl Leaf {
    /// Returns the family.
    pub(crate) fn family(&self) -> &'static Family {
        &words().catalogue.families[&self.family]
    }

    /// Returns the name of the category.
    pub(crate) fn name(&self) -> &str {
        &self.path[2]
    }

    /// Whether bundles are sold here.
    pub(crate) fn is_bundle(&self) -> bool {
        !self.items_from.is_empty()
    }

    /// Returns the rules for the specs: those of the leaf, then those of the family.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &SpecRule> {
        let all = self.specs.iter().chain(&self.family().specs);
        all.map(|rule| rule.get(&words().catalogue.shared_specs))
    }

    /// Returns the words that `{a}` and `{b}` stand for in names.
    pub(crate) fn name_words(&self) -> [&[String]; 2] {
        let own = self.name_words.as_ref();
        let lists = own
            .or(self.family().name_words.as_ref())
            .expect("the leaf or its family has words for names, which a test checks");
        [&lists.a, &lists.b].map(|list| list.get(&words().catalogue.word_lists).as_slice())
    }
}

impl Opinions {
    /// Returns what reviewers say about single aspects of the product.
    pub(crate) fn aspects(&self) -> Vec<&Remarks> {
        let shared = &words().catalogue.shared_aspects;
        let others = self.shared_aspects.iter().map(|name| &shared[name]);
        self.aspects.iter().chain(others).collect()
    }
}
