//! How the catalogue is laid out: families of things that are described and reviewed alike, and
//! the leaves of the category tree that belong to them.

use super::facts::Attr;

/// Things that are described and reviewed alike.
#[derive(Debug)]
pub(crate) struct Family {
    /// The kind of product.
    pub(crate) kind: &'static str,
    /// The brands.
    pub(crate) brands: &'static [&'static str],
    /// The words that names are made of: `{a}` and `{b}`.
    pub(crate) words: [&'static [&'static str]; 2],
    /// The specs that all leaves share.
    pub(crate) facts: &'static [Attr],
    /// Sentences of descriptions; at most one of each group is used.
    pub(crate) about: &'static [&'static [&'static str]],
    /// What reviewers say.
    pub(crate) voice: &'static Voice,
}

/// A category of the third level and what is sold in it.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// What its products have in common with others.
    pub(crate) family: &'static Family,
    /// The category, from the top down.
    pub(crate) path: [&'static str; 3],
    /// Its share of all products.
    pub(crate) weight: u32,
    /// What people call such a thing: `sweater`.
    pub(crate) thing: &'static str,
    /// Whether they speak of it as "they".
    pub(crate) plural: bool,
    /// From and to, in whole units of the shop's currency.
    pub(crate) prices: (i64, i64),
    /// Patterns of names.
    pub(crate) names: &'static [&'static str],
    /// The specs that only this leaf has.
    pub(crate) facts: &'static [Attr],
    /// First sentences of descriptions.
    pub(crate) about: &'static [&'static str],
}

/// What reviewers of a family say.
#[derive(Debug)]
pub(crate) struct Voice {
    /// What they talk about.
    pub(crate) aspects: &'static [Aspect],
    /// Titles of those who are happy, and of those who are not.
    pub(crate) titles: [&'static [&'static str]; 2],
    /// What they say in other languages.
    pub(crate) german: Tongue,
    /// The same in French.
    pub(crate) french: Tongue,
}

/// Praise and blame of one aspect.
#[derive(Debug)]
pub(crate) struct Aspect {
    /// What the happy ones say.
    pub(crate) good: &'static [&'static str],
    /// What the unhappy ones say.
    pub(crate) bad: &'static [&'static str],
}

/// Praise and blame in another language.
#[derive(Debug)]
pub(crate) struct Tongue {
    /// What the happy ones say.
    pub(crate) good: &'static [&'static str],
    /// What the unhappy ones say.
    pub(crate) bad: &'static [&'static str],
}
