//! Invented people: those who write reviews, books and films, and those in them.

use serde::Deserialize;

/// The names of people: the file `people.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct People {
    first_names: Vec<String>,
    last_names: Vec<String>,
    /// The roles that actors play.
    pub(crate) characters: Vec<String>,
    /// What the nicknames of reviewers are made of.
    pub(crate) nicknames: Vec<String>,
}

impl People {
    /// Returns the full name of the person of this number. Numbers below 127 × 127 have different names.
    pub(crate) fn full_name(&self, number: usize) -> String {
        let round = number / self.first_names.len();
        let first = &self.first_names[number % self.first_names.len()];
        let last = &self.last_names[(round + number) % self.last_names.len()];
        format!("{first} {last}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::words::words;

    #[test]
    fn people_have_different_names() {
        let all: HashSet<String> = (0..127 * 127)
            .map(|number| words().people.full_name(number))
            .collect();
        assert_eq!(all.len(), 127 * 127);
    }
}
