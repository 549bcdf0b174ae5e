//! Who writes reviews: a fixed pool of people, some of whom review a great deal.

use vitrine_model::id::AuthorId;
use vitrine_model::review::Author;

use crate::random::Random;
use crate::words::words;
use crate::{AUTHORS, SYSTEM};

/// How many of the pool review ten times as much as the others. A prime, as is [`OTHERS`], so
/// that every step from one to the next visits all of them before it meets one again.
const BUSY: usize = 307;
const OTHERS: usize = AUTHORS - BUSY;

/// Everybody in the order in which they review one product: nobody comes twice.
#[derive(Debug)]
pub(super) struct Crowd {
    busy: Walk,
    others: Walk,
}

#[derive(Debug)]
struct Walk {
    start: usize,
    step: usize,
    of: usize,
}

impl Crowd {
    /// The order for one product.
    pub(super) fn new(random: &mut Random) -> Self {
        Self {
            busy: Walk::new(BUSY, random),
            others: Walk::new(OTHERS, random),
        }
    }

    /// The author of the review of this number, as long as there are people left.
    pub(super) fn author(&self, number: usize) -> Option<Author> {
        let tenth = number / 10;
        let at = if number % 10 == 3 && tenth < BUSY {
            self.busy.at(tenth)?
        } else {
            BUSY + self.others.at(number)?
        };
        Some(Author {
            id: AuthorId(format!("{SYSTEM}:a-{:05}", at + 1)),
            name: shown_name(at),
        })
    }
}

impl Walk {
    fn new(of: usize, random: &mut Random) -> Self {
        Self {
            start: random.below(of),
            step: 1 + random.below(of - 1),
            of,
        }
    }

    fn at(&self, number: usize) -> Option<usize> {
        (number < self.of).then(|| (self.start + number * self.step) % self.of)
    }
}

/// Some show their full name, some an initial, some a nickname.
fn shown_name(at: usize) -> String {
    let people = &words().people;
    let full = people.full_name(at);
    match at % 20 {
        0..=10 => full,
        11..=16 => match full.split_once(' ') {
            Some((first, last)) => format!("{first} {}.", &last[..1]),
            None => full,
        },
        17 => full.to_lowercase().replace(' ', "."),
        18 => {
            let nickname = &people.nicknames[at / 20 % people.nicknames.len()];
            format!("{nickname}{}", at % 97)
        }
        _ => full.split(' ').next().unwrap_or(&full).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::random::Purpose;

    #[test]
    fn nobody_comes_twice() {
        let crowd = Crowd::new(&mut Random::of(3, Purpose::Review, 3));
        let all: Vec<Author> = (0..OTHERS).map_while(|at| crowd.author(at)).collect();
        let ids: HashSet<&str> = all.iter().map(|author| author.id.0.as_str()).collect();
        assert_eq!((all.len(), ids.len()), (OTHERS, OTHERS));
    }

    #[test]
    fn both_sizes_are_primes() {
        for size in [BUSY, OTHERS] {
            assert!((2..size).all(|divisor| size % divisor != 0), "{size}");
        }
    }
}
