//! Finding paths by what their headings mean.

use vitrine_model::unit::UnitTable;

use super::texts::quoted;
use super::{Finder, UNKNOWN};
use crate::gathered::Lines;
use crate::heading::{Heading, steps};
use crate::meanings::{self, rank};
use crate::paths::{Facts, Paths};
use crate::values::Signs;

/// How well a path fits: how its heading has the meaning, the place of the word, the number of steps,
/// and the language. The smallest fits best.
type Fit = (u8, usize, usize, u8);

/// First words of headings that say what the column is of.
const OF_WHAT: [&str; 12] = [
    "product",
    "item",
    "variant",
    "article",
    "artikel",
    "produkt",
    "produit",
    "producto",
    "prodotto",
    "review",
    "trade_item",
    "variant_product",
];
/// What stands in the way of a heading's own meaning: `brand.name` is no name of a product.
const OWNERS: [&str; 6] = [
    "brand",
    "category",
    "description",
    "image",
    "author_name",
    "elsewhere",
];
/// Last steps that are no values of what they stand in.
pub(super) const NO_VALUES: [&str; 8] = [
    "id", "type", "url", "link", "slug", "handle", "lang", "langid",
];

impl<'p> Finder<'p> {
    pub(super) fn new(paths: &'p Paths, lines: &'p Lines, unknown: &'p [String]) -> Self {
        let signs = paths.all().filter_map(|(_, facts)| sure_signs(facts));
        let signs = signs.into_iter().try_fold(Signs::default(), Signs::with);
        Self {
            paths,
            lines,
            unknown,
            units: UnitTable::built_in(),
            signs: signs.unwrap_or_default(),
            taken: Vec::new(),
            parents: Vec::new(),
            remarks: Vec::new(),
            of_reviews: false,
            variants: None,
        }
    }

    /// The path whose heading means this best, and whose values fit. It is not found again.
    pub(super) fn find(&mut self, meaning: &str, fits: impl Fn(&Facts) -> bool) -> Option<String> {
        let found = self.look_for(meaning, fits)?;
        self.taken.push(found.clone());
        Some(found)
    }

    /// As [`Finder::find`], without taking the path.
    pub(super) fn look_for(&self, meaning: &str, fits: impl Fn(&Facts) -> bool) -> Option<String> {
        self.ranked(meaning, fits).into_iter().next()
    }

    /// All paths whose headings mean this, the best first.
    pub(super) fn ranked(&self, meaning: &str, fits: impl Fn(&Facts) -> bool) -> Vec<String> {
        let free = self.paths.all().filter(|(path, facts)| {
            let hidden = !self.of_reviews && is_secret(path, facts);
            let known = facts.known > 0 && self.values(facts).next().is_some();
            known && fits(facts) && !self.is_taken(path) && !hidden
        });
        let mut found: Vec<(Fit, &str)> = free
            .filter_map(|(path, facts)| Some((fit(meaning, path, &facts.heading)?, path)))
            .collect();
        found.sort_by_key(|(fit, _)| *fit);
        found.into_iter().map(|(_, path)| path.to_owned()).collect()
    }

    pub(super) fn is_taken(&self, path: &str) -> bool {
        let is = |taken: &String| path == taken || covers(taken, path);
        self.taken.iter().any(is)
    }

    pub(super) fn facts(&self, path: &str) -> Option<&'p Facts> {
        let mut all = self.paths.all();
        all.find(|(known, _)| *known == path)
            .map(|(_, facts)| facts)
    }

    /// The different values of a path that are known.
    pub(super) fn values(&self, facts: &'p Facts) -> impl Iterator<Item = &'p str> + Clone {
        let unknown = self.unknown;
        let known = move |value: &&str| !unknown.iter().any(|word| word == value);
        facts.values.iter().map(String::as_str).filter(known)
    }

    /// A path as a setting: `[]` at the end or before the text of elements becomes the first item,
    /// and what all lines of a product share is in the row around of them.
    pub(super) fn at(&self, path: &str) -> String {
        quoted(&self.bare(path))
    }

    /// As [`Finder::at`], as text.
    pub(super) fn bare(&self, path: &str) -> String {
        let path = first_item(path);
        match &self.variants {
            Some(variants) if variants.each && variants.gathered.first.contains(&path) => {
                format!("^.{path}")
            }
            _ => path,
        }
    }
}

/// What the numbers of a column show for those of others.
fn sure_signs(facts: &Facts) -> Option<Signs> {
    let known = |value: &&str| !UNKNOWN.contains(&value.to_lowercase().as_str());
    let is_text = facts.texts == facts.known && facts.known > 0;
    let signs = Signs::of(facts.all().filter(known)).filter(|_| is_text)?;
    signs.are_sure().then_some(signs)
}

/// How well a path has a meaning.
fn fit(meaning: &str, path: &str, heading: &Heading) -> Option<Fit> {
    let all = steps(path);
    let names: Vec<String> = all
        .iter()
        .filter(|step| *step != "#text")
        .map(|step| Heading::read(step).words)
        .collect();
    let (last, before) = names.split_last()?;
    let owned = |step: &String| {
        let own = |owner: &&&str| {
            meaning.ends_with(**owner) || owner.split('_').next() == meaning.split('_').next()
        };
        let mut owners = OWNERS.iter().filter(|owner| !own(owner));
        owners.any(|owner| rank(owner, step).is_some())
    };
    let is_attribute = all.last().is_some_and(|step| step.starts_with('@'));
    let language = match heading.language.as_deref() {
        None => 0,
        Some(language) => {
            if language.starts_with("en") {
                1
            } else {
                2
            }
        }
    };
    let depth = names.len();
    let found = |kind: u8, word: usize| {
        // A name far inside is that of something else.
        let order = if meaning == "name" {
            (depth, word)
        } else {
            (word, depth)
        };
        Some((kind, order.0, order.1, language))
    };
    // An attribute `type` says what its element is.
    let is_type = is_attribute && (last == "type" || !before.is_empty());
    let is_foreign = before.iter().any(owned) || (is_type && meaning == "category");
    if !is_foreign {
        let whole = rank(meaning, last);
        if let Some(word) = whole.or_else(|| rank(meaning, heading.without_unit())) {
            return found(0, word);
        }
        let of_what = OF_WHAT
            .iter()
            .filter_map(|what| last.strip_prefix(&format!("{what}_")));
        if let Some(word) = of_what.filter_map(|rest| rank(meaning, rest)).min() {
            return found(1, word);
        }
        // The first of several columns.
        if let Some(word) = last.strip_suffix('1').and_then(|rest| rank(meaning, rest)) {
            return found(1, word);
        }
    }
    if NO_VALUES.contains(&last.as_str())
        || before.iter().any(|step| rank("elsewhere", step).is_some())
    {
        return None;
    }
    let through = before.iter().filter_map(|step| rank(meaning, step)).min();
    through.and_then(|word| found(if rank("name", last).is_some() { 2 } else { 3 }, word))
}

/// Whether nothing that shoppers see may be made of a path by itself: what the shop pays, and what
/// belongs to people.
pub(super) fn is_secret(path: &str, facts: &Facts) -> bool {
    let mut names = steps(path)
        .into_iter()
        .map(|step| Heading::read(&step).words);
    facts.personal
        || names
            .any(|step| meanings::mentions("cost", &step) || meanings::mentions("private", &step))
}

/// Returns true if a path is below a list.
pub(super) fn covers(list: &str, path: &str) -> bool {
    list.ends_with("[]") && path.starts_with(list)
}

/// A path into the first item of its list.
pub(super) fn first_item(path: &str) -> String {
    if path.matches("[]").count() == 1 {
        path.replace("[]", "[0]")
    } else {
        path.to_owned()
    }
}

/// Returns true if a path has one value, or is a list of values of which the first can be taken.
pub(super) fn has_first(path: &str) -> bool {
    let list = path.strip_suffix("[].#text").or(path.strip_suffix("[]"));
    !list.unwrap_or(path).contains("[]")
}
