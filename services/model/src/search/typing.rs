//! Typing mistakes.

use std::collections::BTreeSet;

/// The word itself and the word without each one of its characters, sorted and unique. Two words
/// within one typing mistake of each other have one of these in common. A word with digits is a
/// code, in which every character matters: only itself.
#[must_use]
pub fn deletions(word: &str) -> Vec<String> {
    let mut all = BTreeSet::from([word.to_owned()]);
    if !word.contains(char::is_numeric) {
        for (at, c) in word.char_indices() {
            all.insert(format!("{}{}", &word[..at], &word[at + c.len_utf8()..]));
        }
    }
    all.into_iter().collect()
}

/// Returns true if two words differ by at most one typing mistake: a character missing, added or
/// replaced, or two neighbours swapped. That is an optimal string alignment distance of at most 1.
#[must_use]
pub fn within_one(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (a, b) = differing(&a, &b);
    match (a, b) {
        ([] | [_], [] | [_]) => true,
        ([a1, a2], [b1, b2]) => a1 == b2 && a2 == b1,
        _ => false,
    }
}

/// The middle parts of two words, without their common prefix and suffix.
fn differing<'a>(a: &'a [char], b: &'a [char]) -> (&'a [char], &'a [char]) {
    let begin = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = a.iter().rev().zip(b.iter().rev());
    let end = end.take_while(|(a, b)| a == b).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_have_no_typing_mistakes() {
        assert_eq!(deletions("abca"), ["aba", "abc", "abca", "aca", "bca"]);
        assert_eq!(deletions("aab"), ["aa", "aab", "ab"]);
        assert_eq!(deletions("n3080"), ["n3080"]);
        assert_eq!(deletions("жa"), ["a", "ж", "жa"]);
    }

    /// The textbook algorithm: dynamic programming over a matrix.
    fn alignment_distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                d[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let other = usize::from(a[i - 1] != b[j - 1]);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let best = (d[i - 1][j] + 1)
                        .min(d[i][j - 1] + 1)
                        .min(d[i - 1][j - 1] + other);
                    if swapped {
                        best.min(d[i - 2][j - 2] + 1)
                    } else {
                        best
                    }
                };
            }
        }
        d[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn one_mistake_is_a_distance_of_one(a in "[abé]{0,6}", b in "[abé]{0,6}") {
            prop_assert_eq!(within_one(&a, &b), alignment_distance(&a, &b) <= 1);
        }

        #[test]
        fn words_within_one_share_a_deletion(a in "[abé]{1,6}", b in "[abé]{1,6}") {
            let (of_a, of_b) = (deletions(&a), deletions(&b));
            if within_one(&a, &b) {
                prop_assert!(of_a.iter().any(|word| of_b.contains(word)));
            }
        }
    }
}
