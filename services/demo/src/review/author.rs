//! Who writes reviews: a fixed pool of people, some of whom write many.

use vitrine_model::id::AuthorId;
use vitrine_model::review::Author;

use crate::random::Random;
use crate::words::words;
use crate::{AUTHOR_COUNT, SYSTEM};

/// How many authors write ten times as much as the others. This and [`OCCASIONAL_COUNT`] are
/// primes, as [`Cycle`] needs.
const FREQUENT_COUNT: usize = 307;
const OCCASIONAL_COUNT: usize = AUTHOR_COUNT - FREQUENT_COUNT;

/// The authors in the order in which they review one product. Nobody comes twice.
#[derive(Debug)]
pub(super) struct AuthorOrder {
    frequent: Cycle,
    occasional: Cycle,
}

/// The numbers below a prime in an order that a start and a step determine.
#[derive(Debug)]
struct Cycle {
    start: usize,
    step: usize,
    len: usize,
}

impl AuthorOrder {
    /// Draws the order for one product.
    pub(super) fn new(random: &mut Random) -> Self {
        Self {
            frequent: Cycle::new(FREQUENT_COUNT, random),
            occasional: Cycle::new(OCCASIONAL_COUNT, random),
        }
    }

    /// Returns the author of the review of this number, as long as there are people left.
    pub(super) fn author(&self, review: usize) -> Option<Author> {
        let tens = review / 10;
        let number = if review % 10 == 3 && tens < FREQUENT_COUNT {
            self.frequent.get(tens)?
        } else {
            FREQUENT_COUNT + self.occasional.get(review)?
        };
        Some(Author {
            id: AuthorId(format!("{SYSTEM}:a-{:05}", number + 1)),
            name: displayed_name(number),
        })
    }
}

impl Cycle {
    fn new(len: usize, random: &mut Random) -> Self {
        Self {
            start: random.below(len),
            step: 1 + random.below(len - 1),
            len,
        }
    }

    fn get(&self, index: usize) -> Option<usize> {
        (index < self.len).then(|| (self.start + index * self.step) % self.len)
    }
}

/// Returns the full name, the first name with or without an initial, or a nickname.
fn displayed_name(number: usize) -> String {
    let people = &words().people;
    let full_name = people.full_name(number);
    match number % 20 {
        0..=10 => full_name,
        11..=16 => match full_name.split_once(' ') {
            Some((first, last)) => format!("{first} {}.", &last[..1]),
            None => full_name,
        },
        17 => full_name.to_lowercase().replace(' ', "."),
        18 => {
            let nickname = &people.nicknames[number / 20 % people.nicknames.len()];
            format!("{nickname}{}", number % 97)
        }
        _ => full_name.split(' ').next().unwrap_or(&full_name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::random::Stream;

    #[test]
    fn nobody_comes_twice() {
        let order = AuthorOrder::new(&mut Random::new(3, Stream::Reviews, 3));
        let authors = (0..OCCASIONAL_COUNT).map_while(|review| order.author(review));
        let ids: Vec<String> = authors.map(|author| author.id.0).collect();
        let different: HashSet<&String> = ids.iter().collect();
        assert_eq!(ids.len(), OCCASIONAL_COUNT);
        assert_eq!(different.len(), OCCASIONAL_COUNT);
    }

    #[test]
    fn both_counts_are_primes() {
        for count in [FREQUENT_COUNT, OCCASIONAL_COUNT] {
            assert!((2..count).all(|divisor| count % divisor != 0), "{count}");
        }
    }
}
