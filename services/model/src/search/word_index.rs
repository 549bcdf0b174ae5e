//! Names that are found by the beginnings of their words, for choosers.

use super::words;

/// The words of numbered names, sorted, so that those that begin with a text are one range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordIndex(Vec<(String, u32)>);

impl WordIndex {
    /// Makes the index of names, each of which may have several texts. Names are numbered from 0.
    #[must_use]
    pub fn new<'a, T>(names: impl IntoIterator<Item = T>) -> Self
    where
        T: IntoIterator<Item = &'a str>,
    {
        let mut all = Vec::new();
        for (number, texts) in (0..).zip(names) {
            for text in texts {
                all.extend(words(text).into_iter().map(|word| (word, number)));
            }
        }
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Returns the numbers of the names of which, for each of these folded beginnings, some word begins with it, in
    /// ascending order. All names have no beginning to match, so without one nothing is returned.
    #[must_use]
    pub fn find(&self, beginnings: &[String]) -> Vec<usize> {
        let numbers = |beginning: &String| {
            let start = self.0.partition_point(|(word, _)| word < beginning);
            let range = self.0[start..].iter();
            let range = range.take_while(|(word, _)| word.starts_with(beginning.as_str()));
            let mut numbers: Vec<usize> = range.map(|(_, number)| *number as usize).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        let mut each = beginnings.iter().map(numbers);
        let first = each.next().unwrap_or_default();
        each.fold(first, |mut found, numbers| {
            found.retain(|number| numbers.binary_search(number).is_ok());
            found
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::SearchQuery;

    fn found(texts: &[&[&str]], search: &str) -> Vec<usize> {
        let index = WordIndex::new(texts.iter().map(|texts| texts.iter().copied()));
        index.find(&SearchQuery::parse(search).unwrap().words)
    }

    #[test]
    fn each_word_of_a_search_begins_a_word_of_the_name() {
        let names: &[&[&str]] = &[
            &["screen_size", "Größe des Bildschirms"],
            &["size"],
            &["Écran plat"],
        ];
        assert_eq!(found(names, "SIZ"), [0, 1]);
        assert_eq!(found(names, "siz scr"), [0]);
        assert_eq!(found(names, "screen_s"), [0]);
        assert_eq!(found(names, "ecran"), [2]);
        assert_eq!(found(names, "bild gro"), [0]);
        assert_eq!(found(names, "reen"), [0; 0], "not within a word");
        assert_eq!(found(names, "size plat"), [0; 0]);
    }

    #[test]
    fn nothing_is_found_without_a_beginning() {
        assert!(WordIndex::new([["a"]]).find(&[]).is_empty());
    }
}
