//! Guesses about the category of products.

use super::texts::{quoted, remarked, unsure};
use super::{Finder, Guess};
use crate::paths::Facts;

/// Levels of a category are separated by one of these, the likeliest first.
const LEVELS: [&str; 9] = [" > ", ">", "&gt;", " » ", " / ", " :: ", "|", "/", "\\"];
/// Several categories are separated by one of these.
const CATEGORIES: [&str; 4] = [", ", ",", ";", "|"];
/// Words for what a row is, which are no categories.
const KINDS: [&str; 7] = [
    "product",
    "products",
    "item",
    "article",
    "simple",
    "variable",
    "variation",
];
/// Words for categories in numbered columns, and for their levels.
const CATEGORY_WORDS: [&str; 8] = [
    "category",
    "kategorie",
    "categorie",
    "categoria",
    "kategoria",
    "warengruppe",
    "produktgruppe",
    "hauptgruppe",
];
const LEVEL_WORDS: [&str; 5] = ["level", "ebene", "niveau", "stufe", "lvl"];
/// What facets of products begin with where they are its categories.
const FACET: &str = "category:";

impl Finder<'_> {
    pub(super) fn category(&mut self) -> Guess {
        if let Some(levels) = self.numbered_categories() {
            return levels;
        }
        let text = |facts: &Facts| {
            let is_kind = facts
                .all()
                .all(|text| KINDS.contains(&text.to_lowercase().as_str()));
            let is_text = facts.texts * 2 > facts.known && facts.signs().is_none();
            is_text && !is_kind && !facts.are_addresses()
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

    /// The category of numbered columns, `Category level 1`: its levels, or the first of several.
    fn numbered_categories(&mut self) -> Option<Guess> {
        let all = self.paths.all().filter(|(path, facts)| {
            !facts.listed && !self.is_taken(path) && is_numbered(&facts.heading.words)
        });
        let columns: Vec<(String, &Facts)> =
            all.map(|(path, facts)| (path.to_owned(), facts)).collect();
        let (path, first) = columns.first()?;
        if columns.len() < 2 || first.texts * 2 <= first.known || first.signs().is_some() {
            return None;
        }
        let paths: Vec<String> = columns.iter().map(|(path, _)| self.bare(path)).collect();
        self.taken
            .extend(columns.iter().map(|(path, _)| path.clone()));
        let has_levels = |(_, facts): &(String, &Facts)| {
            let path = |text: &str| LEVELS.iter().any(|sign| text.contains(sign));
            facts.all().any(path)
        };
        if columns.iter().any(has_levels) {
            let mut remarks = vec!["each column is a category; the first is taken".to_owned()];
            let value = self.one_category(path, first, &mut remarks);
            return Some(remarked("category", with_default(&value), &remarks));
        }
        let value = format!("{{ levels = {}{DEFAULT} }}", super::texts::list(&paths));
        let remark =
            "each column seems to be a level; if each is a category, from with the first of them";
        Some(unsure("category", value, remark))
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
        let levels = LEVELS.iter().find(has).copied();
        let words = &facts.heading.words;
        let is_path = words.ends_with("path") || words.ends_with("pfad");
        let levels = levels
            .or(Some(";").filter(|sign| is_path && has(&sign)))
            .map(|sign| if sign == "&gt;" { ">" } else { sign });
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

/// Returns true for the heading of one of several columns with categories: `category_level_2`.
fn is_numbered(words: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let Some(stem) = words.strip_suffix(is_digit) else {
        return false;
    };
    let stem = stem.trim_end_matches('_');
    let stem = LEVEL_WORDS
        .iter()
        .find_map(|word| stem.strip_suffix(word))
        .unwrap_or(stem)
        .trim_end_matches('_');
    let stem = stem.strip_prefix("product_").unwrap_or(stem);
    CATEGORY_WORDS.contains(&stem)
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
