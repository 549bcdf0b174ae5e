//! Guesses about the state of products, and of reviews.

use vitrine_model::text::fold;

use super::texts::{key_of, list, quoted, sure, table, unsure};
use super::{Finder, Guess};
use crate::paths::Facts;

/// The maximum number of different words of a state.
const MAX_WORDS: usize = 12;

/// Words for what shoppers see.
const ACTIVE: [&str; 23] = [
    "active",
    "published",
    "publish",
    "enabled",
    "true",
    "yes",
    "1",
    "live",
    "online",
    "visible",
    "approved",
    "ok",
    "accepted",
    "ja",
    "aktiv",
    "oui",
    "actif",
    "si",
    "activo",
    "attivo",
    "tak",
    "ham",
    "y",
];
/// Words for what shoppers do not see yet, or not any more.
const DRAFT: [&str; 33] = [
    "draft",
    "inactive",
    "disabled",
    "unpublished",
    "hidden",
    "pending",
    "proposed",
    "private",
    "false",
    "no",
    "0",
    "-1",
    "offline",
    "invisible",
    "rejected",
    "unlisted",
    "nein",
    "entwurf",
    "inaktiv",
    "non",
    "brouillon",
    "inactif",
    "borrador",
    "inactivo",
    "bozza",
    "nie",
    "nee",
    "spam",
    "not-yet",
    "not yet",
    "unapproved",
    "n",
    "2",
];
const ARCHIVED: [&str; 8] = [
    "archived",
    "discontinued",
    "deleted",
    "trash",
    "removed",
    "obsolete",
    "archiviert",
    "archive",
];

/// Words that are used together: a column that has one may have the others in later rows.
const TOGETHER: [&[&str]; 10] = [
    &["active", "draft", "archived"],
    &["published", "draft", "private", "pending"],
    &["enabled", "disabled"],
    &["true", "false"],
    &["yes", "no"],
    &["1", "0"],
    &["y", "n"],
    &["ja", "nein"],
    &["oui", "non"],
    &["tak", "nie"],
];

impl Finder<'_> {
    /// Which products are drafts: by a column with words of a state, and by one that says whether
    /// they are published.
    pub(super) fn status(&mut self) -> Option<Guess> {
        let words = |facts: &Facts| {
            !facts.listed && facts.values.len() <= MAX_WORDS && facts.all().all(is_state)
        };
        let status = self.find("status", words);
        let published = self.find("published", words);
        let of_status = status.and_then(|path| Some(self.states(&path, self.facts(&path)?)));
        let hidden = published.and_then(|path| {
            let facts = self.facts(&path)?;
            Some(match &of_status {
                Some(_) => self.hidden(&path, facts),
                None => self.states(&path, facts),
            })
        });
        match (hidden, of_status) {
            (Some(hidden), Some(status)) => Some(sure("status", format!("[{hidden}, {status}]"))),
            (Some(one), None) | (None, Some(one)) => Some(sure("status", one)),
            (None, None) => None,
        }
    }

    /// A table of the words of a state. Those that are not in it hide the product.
    fn states(&self, path: &str, facts: &Facts) -> String {
        let mut words: Vec<String> = facts.all().map(str::to_owned).collect();
        for word in companions(facts) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let entries: Vec<(&str, &str)> = words
            .iter()
            .map(|word| (word.as_str(), state(word).unwrap_or("draft")))
            .collect();
        format!(
            "{{ from = {}, values = {}, otherwise = \"draft\" }}",
            self.at(path),
            table(&entries)
        )
    }

    /// What makes drafts of products that are not published, whatever their state.
    fn hidden(&self, path: &str, facts: &Facts) -> String {
        let mut words: Vec<&str> = facts
            .all()
            .filter(|value| state(value) != Some("active"))
            .collect();
        if words.is_empty() {
            let upper = facts
                .all()
                .any(|value| value.chars().any(char::is_uppercase));
            words.push(if upper { "FALSE" } else { "false" });
        }
        let entries: Vec<(&str, &str)> = words.iter().map(|word| (*word, "draft")).collect();
        let bare = self.bare(path);
        format!(
            "{{ from = {}, where = {{ {} = {} }}, values = {} }}",
            quoted(&bare),
            key_of(&bare),
            list(&words),
            table(&entries)
        )
    }

    /// Which reviews are published.
    pub(super) fn published_reviews(&mut self) -> Option<Guess> {
        let words = |facts: &Facts| {
            !facts.listed && facts.values.len() <= MAX_WORDS && facts.all().all(is_state)
        };
        let path = self.find("review_status", words)?;
        let facts = self.facts(&path)?;
        let spam = facts.heading.words.ends_with("spam");
        let is_shown = |value: &&str| (state(value) == Some("active")) != spam;
        let (shown, hidden): (Vec<&str>, Vec<&str>) = facts.all().partition(is_shown);
        let all_known = facts.known == self.paths.rows();
        let test = if all_known && !shown.is_empty() {
            list(&shown)
        } else {
            let hidden = if hidden.is_empty() {
                vec!["spam", "rejected", "pending"]
            } else {
                hidden
            };
            format!("{{ not = {} }}", list(&hidden))
        };
        let value = format!("{{ {} = {test} }}", key_of(&path));
        let unknown = facts.all().any(|value| state(value).is_none());
        Some(if unknown {
            unsure(
                "where",
                value,
                format!("which words of {path} are of reviews that are published"),
            )
        } else {
            sure("where", value)
        })
    }
}

/// The words that are used together with those of a column, in their case.
fn companions(facts: &Facts) -> Vec<String> {
    let first = facts.all().next().unwrap_or_default();
    let small = first.to_lowercase();
    let upper = first.len() > 1 && first.to_uppercase() == first && first != small;
    let capital = !upper && first.starts_with(char::is_uppercase);
    let used = |set: &&&[&str]| facts.all().any(|value| set.contains(&fold(value).as_str()));
    let words = TOGETHER.iter().filter(used).flat_map(|set| set.iter());
    let in_case = |word: &&str| {
        if upper || (capital && word.len() == 1) {
            word.to_uppercase()
        } else if capital {
            word[..1].to_uppercase() + &word[1..]
        } else {
            (*word).to_owned()
        }
    };
    words.map(in_case).collect()
}

fn is_state(value: &str) -> bool {
    state(value).is_some()
}

/// The status that a word stands for.
fn state(value: &str) -> Option<&'static str> {
    let folded = fold(value);
    let has = |words: &[&str]| words.contains(&folded.as_str());
    if has(&ACTIVE) {
        Some("active")
    } else if has(&DRAFT) {
        Some("draft")
    } else {
        has(&ARCHIVED).then_some("archived")
    }
}
