//! Output types that explain how a search was interpreted.

use crate::execution::List;
use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::facets;

/// How a word of the search text was interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "WordReading", remote = "facets::WordReading")]
pub(crate) enum WordReading {
    /// The word occurs in products.
    Word,
    /// The word was treated as a prefix.
    Prefix,
    /// The word was corrected to similar words that differ in one letter.
    Corrected,
    /// The word matches no product.
    Unknown,
}

/// How a search text was interpreted.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct SearchReading {
    /// The search text with runs of blanks collapsed.
    text: String,
    /// The words that were searched for. Products must match all of them.
    words: List<SearchWord>,
    /// The words after the eighth, which were ignored.
    ignored: Vec<String>,
    /// The number of products searched if all words are very common: the most popular products
    /// with one of the words. Null if all matching products were searched.
    looked_through: Option<i32>,
    /// A suggested search text with results, if this one has none.
    did_you_mean: Option<String>,
}

/// A word of the search text.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct SearchWord {
    /// The word as typed, without case and accents.
    typed: String,
    /// How the word was interpreted.
    reading: WordReading,
    /// The words searched for instead; empty unless the word was corrected.
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
