//! What reviewers say about anything, by stars.

use serde::Deserialize;

/// Phrases for reviews of all products: the file `reviews.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewPhrases {
    /// How long reviewers have had the thing.
    pub(crate) durations: Vec<String>,
    /// First words that are written small after an introduction; others may be names.
    pub(crate) common_first_words: Vec<String>,
    /// What introduces a remark that goes against the tone of its review.
    pub(crate) introductions: Remarks,
    /// Phrases in English, one star first.
    pub(crate) english: [StarPhrases; 5],
    /// The other languages that reviews are written in.
    pub(crate) languages: Vec<Language>,
    /// Long reviews of single products.
    pub(crate) essays: Vec<Essay>,
}

/// Sentences of those who are happy, and of those who are not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remarks {
    /// What happy reviewers say.
    pub(crate) praise: Vec<String>,
    /// What unhappy reviewers say.
    pub(crate) criticism: Vec<String>,
}

/// Phrases of reviews that give one number of stars.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StarPhrases {
    /// Titles.
    pub(crate) titles: Vec<String>,
    /// First sentences.
    pub(crate) openings: Vec<String>,
    /// Last sentences.
    pub(crate) closings: Vec<String>,
}

/// A language other than English.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Language {
    /// Its IETF tag.
    pub(crate) tag: String,
    /// How many of a hundred reviews are written in it.
    pub(crate) percent: u32,
    /// Its phrases, one star first.
    pub(crate) stars: [StarPhrases; 5],
}

/// A long review. The most reviewed product of a leaf category has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Essay {
    /// The name of the leaf category.
    pub(crate) leaf: String,
    /// The title.
    pub(crate) title: String,
    /// The text.
    pub(crate) body: String,
}
