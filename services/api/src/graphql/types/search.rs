//! How a search was read.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::facets;

/// How a word of a search was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "WordReading", remote = "facets::WordReading")]
pub(crate) enum WordReading {
    /// As a word that products have.
    Word,
    /// As the beginning of words.
    Prefix,
    /// As another word, one letter away.
    Corrected,
    /// Not at all: no product has it.
    Unknown,
}

/// How the text of a search was read.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct SearchReading {
    /// The text as it was read, blanks collapsed.
    text: String,
    /// Each word that was looked for; products must have all of them.
    words: Vec<SearchWord>,
    /// Words beyond the eighth, which were not used.
    ignored: Vec<String>,
    /// When even the rarest word is very common: through how many products the search looked, the
    /// most popular of those that have this word. Null when all were looked through.
    looked_through: Option<i32>,
    /// A text that finds something, when this one finds nothing and there is such a text.
    did_you_mean: Option<String>,
}

/// One word of a search.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct SearchWord {
    /// As typed, without case and accents.
    typed: String,
    /// How it was understood.
    reading: WordReading,
    /// The words looked for in its place; empty unless it was corrected.
    corrected: Vec<String>,
}

impl From<facets::SearchReading> for SearchReading {
    fn from(reading: facets::SearchReading) -> Self {
        Self {
            text: reading.text,
            words: super::details::all(reading.words),
            ignored: reading.ignored,
            looked_through: reading.looked_through.map(u32::cast_signed),
            did_you_mean: reading.did_you_mean,
        }
    }
}

impl From<facets::SearchWord> for SearchWord {
    fn from(word: facets::SearchWord) -> Self {
        Self {
            typed: word.typed,
            reading: word.reading.into(),
            corrected: word.corrected,
        }
    }
}
