//! Guesses about the category of products.

use super::texts::{quoted, remarked, unsure};
use super::{Finder, Guess};
use crate::paths::Facts;

/// Levels of a category are separated by one of these, the likeliest first.
const LEVELS: [&str; 9] = [" > ", ">", "&gt;", " » ", " / ", " :: ", "|", "/", "\\"];
/// Several categories are separated by one of these.
const CATEGORIES: [&str; 4] = [", ", ",", ";", "|"];
/// What facets of products begin with where they are its categories.
const FACET: &str = "category:";

impl Finder<'_> {
    pub(super) fn category(&mut self) -> Guess {
        let text = |facts: &Facts| {
            facts.texts * 2 > facts.known && facts.signs().is_none() && !facts.are_addresses()
        };
        let Some(path) = self.find("category", text) else {
            let value = "{ value = [\"Products\"] }".to_owned();
            return unsure("category", value, "no path has the name of a category");
        };
        let Some(facts) = self.facts(&path) else {
            return unsure("category", quoted(&path), "");
        };
        let gaps = facts.known < self.rows_of(&path);
        if facts.listed {
            return category_of_list(&path, facts, if gaps { DEFAULT } else { "" });
        }
        let mut remarks = Vec::new();
        let own = self.one_category(&path, facts, &mut remarks);
        let next = if gaps && self.parents.is_empty() {
            self.find("category", |facts| text(facts) && !facts.listed)
        } else {
            None
        };
        let next = next.and_then(|next| {
            let value = self.one_category(&next, self.facts(&next)?, &mut remarks);
            Some((next, value))
        });
        if gaps {
            remarks.push("rows without one get the category Products".to_owned());
        }
        let value = match next {
            Some((_, next)) => format!("[{}, {}]", braced(&own), with_default(&next)),
            None if self.parents.is_empty() && gaps => with_default(&own),
            None => self.with_parent("category", &[self.bare(&path)], own),
        };
        remarked("category", value, &remarks)
    }

    /// The number of rows that may have a path: of what all lines of a product share its first.
    fn rows_of(&self, path: &str) -> usize {
        let variants = self.variants.as_ref();
        let shared =
            variants.filter(|variants| variants.gathered.first.iter().any(|first| first == path));
        shared.map_or(self.paths.rows(), |variants| variants.gathered.groups)
    }

    /// The category that a path has the text of.
    fn one_category(&self, path: &str, facts: &Facts, remarks: &mut Vec<String>) -> String {
        let has = |sign: &&&str| facts.all().any(|text| text.contains(**sign));
        let mut settings = Vec::new();
        if facts
            .all()
            .any(|text| text.contains("&amp;") || text.contains("&gt;"))
        {
            settings.push("html = \"once\"".to_owned());
        }
        if facts.all().any(|text| text.starts_with(FACET)) {
            settings.push(format!(
                "split = [\"{FACET}{{.}}|{{_}}\", \"{FACET}{{.}}\"]"
            ));
            remarks.push(format!("the first facet that begins with {FACET:?}"));
            return super::texts::field(&self.at(path), &settings);
        }
        let levels = LEVELS
            .iter()
            .find(has)
            .map(|sign| if *sign == "&gt;" { ">" } else { *sign });
        if let Some(sign) = several_categories(facts, levels) {
            let pick = if are_nested(facts, sign, levels) {
                "deepest"
            } else {
                "first"
            };
            settings.push(format!(
                "cut_at = {}, pick = \"{pick}\"",
                quoted(sign.trim())
            ));
            remarks.push(format!(
                "{sign:?} seems to separate several categories; the {pick} is taken"
            ));
        }
        if let Some(sign) = levels {
            let sign = sign.trim();
            settings.push(format!("separator = {}", quoted(sign)));
            remarks.push(format!("{sign:?} seems to separate the levels"));
        }
        super::texts::field(&self.at(path), &settings)
    }
}

/// What rows without a category get.
pub(super) const DEFAULT: &str = ", default = [\"Products\"]";

/// A category as a table.
fn braced(value: &str) -> String {
    if value.starts_with('{') {
        value.to_owned()
    } else {
        format!("{{ from = {value} }}")
    }
}

/// A category, otherwise the usual one.
pub(super) fn with_default(value: &str) -> String {
    let table = braced(value);
    table
        .strip_suffix(" }")
        .map_or(table.clone(), |table| format!("{table}{DEFAULT} }}"))
}

/// The category of a path with several values.
fn category_of_list(path: &str, facts: &Facts, default: &str) -> Guess {
    let is_path = |text: &str| LEVELS.iter().any(|sign| text.contains(sign));
    let words = &facts.heading.words;
    if facts.all().any(is_path) {
        let value = format!(
            "{{ from = {}, separator = \">\", pick = \"deepest\"{default} }}",
            quoted(path)
        );
        return unsure(
            "category",
            value,
            "each item is a category; the deepest is taken",
        );
    }
    let alone = ["genre", "genres", "categories", "collections", "tags"];
    if alone.contains(&words.as_str()) || path.contains("[].") {
        let value = format!("{{ from = {}, pick = \"first\"{default} }}", quoted(path));
        let remark = "each item is a category, and the first is taken; if each is a level, \
                      levels instead of from and pick";
        return unsure("category", value, remark);
    }
    let value = format!("{{ levels = [{}]{default} }}", quoted(path));
    let remark = "each item is a level; if each is a category, from and pick instead of levels";
    unsure("category", value, remark)
}

/// Whether some of several categories are levels above others.
fn are_nested(facts: &Facts, cut: &str, levels: Option<&str>) -> bool {
    let Some(levels) = levels else {
        return false;
    };
    facts.all().any(|text| {
        let pieces: Vec<&str> = text.split(cut).map(str::trim).collect();
        let above = |piece: &&str| {
            pieces
                .iter()
                .any(|other| other.starts_with(&format!("{piece}{levels}")))
        };
        pieces.iter().any(above)
    })
}

/// What separates several categories in one text.
fn several_categories(facts: &Facts, levels: Option<&str>) -> Option<&'static str> {
    let plural = facts.heading.words.ends_with('s') || facts.heading.words.ends_with("ien");
    let signs = CATEGORIES
        .into_iter()
        .filter(|sign| Some(*sign) != levels.map(str::trim));
    let cuts = |sign: &&'static str| {
        facts.all().any(|text| {
            let pieces: Vec<&str> = text.split(*sign).collect();
            let of_levels = levels.is_some_and(|levels| {
                pieces.iter().filter(|piece| piece.contains(levels)).count() > 1
            });
            pieces.len() > 1 && (of_levels || plural)
        })
    };
    let mut signs = signs;
    signs.find(cuts)
}
