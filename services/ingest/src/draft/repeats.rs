//! Ids that occur more than once in a file.
//!
//! Of each id a digest of 64 bits is remembered with its line, of at most [`MAX_IDS`] ids: 71 MB.
//! Two of a million different ids have the same digest with a probability of 1 to 37 million.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Serialize;

/// The maximum number of ids of a file that are remembered. Later ones are compared with these only.
pub(crate) const MAX_IDS: usize = 2_000_000;
/// The maximum number of ids whose lines are kept.
const MAX_REPEATED: usize = 10_000;
/// The maximum number of lines that are kept of an id.
const MAX_LINES: usize = 20;

/// The ids of a file.
#[derive(Debug, Default)]
pub(super) struct Ids {
    first: HashMap<u64, First>,
    repeated: HashMap<u64, usize>,
    found: Repeats,
}

/// The first line of an id, and whether the id repeats; one number, to take no more memory.
#[derive(Clone, Copy, Debug)]
struct First(u64);

impl First {
    const REPEATS: u64 = 1 << 63;

    fn line(self) -> u64 {
        self.0 & !Self::REPEATS
    }

    fn repeats(self) -> bool {
        self.0 & Self::REPEATS != 0
    }
}

/// The ids that repeat in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// The number of such ids.
    pub ids: u64,
    /// The ids with their lines, of the first 10,000 of them.
    pub repeated: Vec<RepeatedId>,
    /// The number of ids that were not remembered, because there were more than 2,000,000.
    pub not_compared: u64,
}

/// An id that repeats in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepeatedId {
    /// What it is the id of: `product` or `review`.
    pub of: &'static str,
    /// The id.
    pub id: String,
    /// The first 20 of its lines.
    pub lines: Vec<u64>,
    /// The number of its lines.
    pub count: u64,
    /// Whether the first line is kept, otherwise the last.
    pub first_is_kept: bool,
}

impl Ids {
    /// Records an id; returns its first line if it was there before.
    pub(super) fn add(
        &mut self,
        of: &'static str,
        id: &str,
        line: u64,
        first_is_kept: bool,
    ) -> Option<u64> {
        let digest = digest(of, id);
        let Some(first) = self.first.get_mut(&digest) else {
            if self.first.len() < MAX_IDS {
                self.first.insert(digest, First(line));
            } else {
                self.found.not_compared += 1;
            }
            return None;
        };
        if let Some(at) = self.repeated.get(&digest) {
            self.found.repeated[*at].add(line);
        } else if !first.repeats() {
            self.found.ids += 1;
            if self.repeated.len() < MAX_REPEATED {
                self.repeated.insert(digest, self.found.repeated.len());
                self.found.repeated.push(RepeatedId {
                    of,
                    id: id.to_owned(),
                    lines: vec![first.line(), line],
                    count: 2,
                    first_is_kept,
                });
            }
            first.0 |= First::REPEATS;
        }
        Some(first.line())
    }

    /// Forgets an id whose first line is this one and is refused after all.
    pub(super) fn forget(&mut self, of: &'static str, id: &str, line: u64) {
        let digest = digest(of, id);
        if self.first.get(&digest).is_some_and(|first| first.0 == line) {
            self.first.remove(&digest);
        }
    }

    /// The ids that repeat, at the end of the file.
    pub(super) fn take(&mut self) -> Repeats {
        self.first.clear();
        self.repeated.clear();
        std::mem::take(&mut self.found)
    }
}

fn digest(of: &str, id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (of, id).hash(&mut hasher);
    hasher.finish()
}

impl RepeatedId {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        }
    }

    /// The reason for the rejects file: where it repeats, and which line is kept.
    #[must_use]
    pub fn reason(&self) -> String {
        let (first, others) = self.lines.split_first().unwrap_or((&0, &[]));
        let others: Vec<String> = others.iter().map(u64::to_string).collect();
        let more = self.count - self.lines.len() as u64;
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let kept = if self.first_is_kept { "first" } else { "last" };
        format!(
            "the id {:?} of line {first} repeats on {}{more}; the {kept} one is kept",
            self.id,
            others.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_are_found_with_their_lines() {
        let mut ids = Ids::default();
        let lines = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5)];
        let firsts: Vec<Option<u64>> = lines
            .iter()
            .map(|(id, line)| ids.add("product", id, *line, false))
            .collect();
        assert_eq!(firsts, [None, None, Some(1), None, Some(1)]);
        assert_eq!(ids.add("review", "a", 6, false), None);
        let found = ids.take();
        assert_eq!((found.ids, found.not_compared), (1, 0));
        assert_eq!(
            found.repeated[0].reason(),
            "the id \"a\" of line 1 repeats on 3, 5; the last one is kept"
        );
        assert_eq!(ids.add("product", "a", 1, false), None, "another file");
    }

    #[test]
    fn ids_are_counted_once_however_often_they_repeat() {
        let mut ids = Ids::default();
        let many = MAX_REPEATED as u64 + 10;
        for line in 0..3 * many {
            ids.add("product", &(line % many).to_string(), line, false);
        }
        let found = ids.take();
        assert_eq!((found.ids, found.repeated.len()), (many, MAX_REPEATED));
    }

    #[test]
    fn what_is_kept_of_repeated_ids_is_limited() {
        let mut ids = Ids::default();
        let many = MAX_REPEATED as u64 + 10;
        for line in 0..2 * many {
            ids.add("product", &(line % many).to_string(), line, true);
        }
        for line in 0..30 {
            ids.add("product", "0", line, true);
        }
        let found = ids.take();
        assert_eq!((found.ids, found.repeated.len()), (many, MAX_REPEATED));
        assert_eq!(
            (found.repeated[0].lines.len(), found.repeated[0].count),
            (20, 32)
        );
        assert!(
            found.repeated[0]
                .reason()
                .ends_with("and 12 more; the first one is kept")
        );
    }
}
