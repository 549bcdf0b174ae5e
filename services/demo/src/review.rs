//! Writes the reviews of one product.

mod author;
mod body;

use std::collections::BTreeMap;

use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ExternalRef, ReviewDraft};
use vitrine_model::rating::Stars;

use super::plan::Planned;
use super::product::{Made, make};
use super::random::{Purpose, Random};
use super::words::catalogue::Leaf;
use super::{Demo, SYSTEM};
use author::Crowd;
use body::Words;

/// Of a hundred reviews of the least and the best liked products, how many give each number of
/// stars. Few are in the middle: people write when they are delighted or angry.
const WORST: [usize; 5] = [19, 11, 16, 21, 33];
const BEST: [usize; 5] = [2, 1, 3, 12, 82];

/// The reviews of one product, one after the other.
#[derive(Debug)]
pub(crate) struct Reviews<'a> {
    demo: &'a Demo,
    made: Made,
    planned: &'a Planned,
    leaf: &'static Leaf,
    crowd: Crowd,
    random: Random,
    first: usize,
    next: usize,
}

impl<'a> Reviews<'a> {
    /// The reviews of the product of this index; the first has this number among all reviews.
    pub(crate) fn new(demo: &'a Demo, product: usize, first: usize) -> Self {
        let mut random = Random::of(demo.options.seed, Purpose::Review, product);
        Self {
            demo,
            made: make(demo, product),
            planned: &demo.plan.products[product],
            leaf: demo.plan.leaf(product),
            crowd: Crowd::new(&mut random),
            random,
            first,
            next: 0,
        }
    }

    fn write(&mut self, number: usize) -> ReviewDraft {
        let essay = self
            .planned
            .essay
            .filter(|_| number == self.planned.reviews / 3);
        let stars = if essay.is_some() { 4 } else { self.stars() };
        let Words {
            title,
            body,
            language,
        } = match essay {
            Some(essay) => Words::of(essay),
            None => body::write(self.leaf, &mut self.made.facts, stars, &mut self.random),
        };
        let (helpful, unhelpful) = match essay {
            Some(_) => (self.random.between(700, 900), self.random.between(5, 20)),
            None => self.votes(body.len()),
        };
        let told = self.random.percent(92);
        ReviewDraft {
            origin: ExternalRef {
                system: SYSTEM.to_owned(),
                external_id: format!("r-{:06}", self.first + number + 1),
            },
            product: self.made.draft.source.clone(),
            author: self
                .crowd
                .author(number)
                .filter(|_| self.random.percent(98)),
            rating: Stars::ALL[stars],
            recommended: self.recommended(stars),
            dimensions: self.dimensions(stars),
            title,
            body,
            language: told.then(|| language.to_owned()),
            incentivized: self.random.percent(2),
            helpful,
            unhelpful,
            created_at: Some(self.written()),
        }
    }

    /// The index of the stars: 0 is one star.
    fn stars(&mut self) -> usize {
        let liked = self.planned.quality;
        let mut at = self.random.below(10_000);
        for (index, (worst, best)) in WORST.into_iter().zip(BEST).enumerate() {
            let share = worst * (100 - liked) + best * liked;
            if at < share {
                return index;
            }
            at -= share;
        }
        4
    }

    fn recommended(&mut self, stars: usize) -> Option<bool> {
        let shares = [
            [0, 45, 55],
            [3, 35, 62],
            [14, 14, 72],
            [38, 2, 60],
            [46, 0, 54],
        ];
        [Some(true), Some(false), None][self.random.weighted(&shares[stars])]
    }

    fn dimensions(&mut self, stars: usize) -> BTreeMap<String, Stars> {
        let mut all = BTreeMap::new();
        let names = &self.leaf.family().rating_dimensions;
        if names.is_empty() || self.random.percent(45) {
            return all;
        }
        for name in names {
            let near = match self.random.below(6) {
                0 => stars.saturating_sub(1),
                1 => (stars + 1).min(4),
                _ => stars,
            };
            all.insert(name.clone(), Stars::ALL[near]);
        }
        all
    }

    /// Most reviews are never voted on; long ones of much read products at times by hundreds.
    fn votes(&mut self, length: usize) -> (i64, i64) {
        let random = &mut self.random;
        let seen = self.planned.reviews > 250 && length > 120;
        let class = random.weighted(if seen {
            &[50, 28, 15, 6, 1]
        } else {
            &[74, 20, 5, 1, 0]
        });
        let helpful = match class {
            0 => 0,
            1 => random.low(1, 4),
            2 => random.low(4, 25),
            3 => random.low(20, 90),
            _ => random.low(90, 640),
        };
        let against = if helpful > 0 || random.percent(5) {
            random.low(0, helpful / 4 + 2)
        } else {
            0
        };
        (helpful, against)
    }

    /// After the product came into the shop and before the present; of late more than before.
    fn written(&mut self) -> Timestamp {
        let created = self.planned.created;
        let span = self.demo.options.now.as_millis() - created.as_millis();
        let after = self.random.high(0, span / 1_000) * 1_000;
        created.plus_millis(after)
    }
}

impl Iterator for Reviews<'_> {
    type Item = ReviewDraft;

    fn next(&mut self) -> Option<ReviewDraft> {
        let number = self.next;
        self.next += 1;
        (number < self.planned.reviews).then(|| self.write(number))
    }
}
