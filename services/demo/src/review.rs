//! Writes the reviews of one product.

mod author;
mod text;

use std::collections::BTreeMap;

use vitrine_model::clock::Timestamp;
use vitrine_model::import::{Droppable, ExternalRef, ReviewDraft};
use vitrine_model::rating::Stars;

use super::plan::PlannedProduct;
use super::product::{GeneratedProduct, generate};
use super::random::{Random, Stream};
use super::words::catalogue::Leaf;
use super::words::reviews::Essay;
use super::{Demo, SYSTEM};
use author::AuthorOrder;
use text::ReviewText;

/// Of a hundred reviews of the least liked product, how many give each number of stars.
const STARS_OF_WORST: [usize; 5] = [19, 11, 16, 21, 33];
/// The same for the best liked product.
const STARS_OF_BEST: [usize; 5] = [2, 1, 3, 12, 82];
/// For each number of stars, how many reviews recommend the product, advise against it, or say
/// nothing about that.
const RECOMMENDATIONS: [[u32; 3]; 5] = [
    [0, 45, 55],
    [3, 35, 62],
    [14, 14, 72],
    [38, 2, 60],
    [46, 0, 54],
];
/// The stars of an essay, as an index.
const ESSAY_STARS: usize = 4;

/// The reviews of one product, one after the other.
#[derive(Debug)]
pub(crate) struct Reviews<'a> {
    demo: &'a Demo,
    product: GeneratedProduct,
    planned: &'a PlannedProduct,
    leaf: &'static Leaf,
    authors: AuthorOrder,
    random: Random,
    /// The number of the product's first review among all reviews.
    first: usize,
    next: usize,
}

impl<'a> Reviews<'a> {
    /// Creates the reviews of the product of this index. The first has this number among all
    /// reviews.
    pub(crate) fn new(demo: &'a Demo, product: usize, first: usize) -> Self {
        let mut random = Random::new(demo.options.seed, Stream::Reviews, product);
        Self {
            demo,
            product: generate(demo, product),
            planned: &demo.plan.products[product],
            leaf: demo.plan.leaf(product),
            authors: AuthorOrder::new(&mut random),
            random,
            first,
            next: 0,
        }
    }

    fn write(&mut self, number: usize) -> ReviewDraft {
        let essay = self.essay(number);
        let stars = essay.map_or_else(|| self.stars(), |_| ESSAY_STARS);
        let text = self.text(essay, stars);
        let (helpful, unhelpful) = self.votes(essay, text.body.len());
        let has_language = self.random.percent(92);
        ReviewDraft {
            origin: ExternalRef {
                system: SYSTEM.to_owned(),
                external_id: format!("r-{:06}", self.first + number + 1),
            },
            product: self.product.draft.source.clone(),
            author: self
                .authors
                .author(number)
                .filter(|_| self.random.percent(98)),
            rating: Stars::ALL[stars],
            recommended: self.recommended(stars),
            dimensions: self.dimensions(stars),
            title: text.title,
            body: text.body,
            language: has_language.then(|| text.language.to_owned()),
            incentivized: self.random.percent(2),
            verified: false,
            media: Vec::new(),
            attributes: Vec::new(),
            helpful,
            unhelpful,
            created_at: Some(self.created_at()),
            droppable: Droppable::default(),
        }
    }

    /// Returns the essay if the review of this number is one.
    fn essay(&self, number: usize) -> Option<&'static Essay> {
        let essay = self.planned.essay?;
        (number == self.planned.reviews / 3).then_some(essay)
    }

    /// Draws the stars as an index: 0 is one star. Few reviews are in the middle.
    fn stars(&mut self) -> usize {
        let quality = self.planned.quality;
        let mut rest = self.random.below(10_000);
        for (stars, (worst, best)) in STARS_OF_WORST.into_iter().zip(STARS_OF_BEST).enumerate() {
            let share = worst * (100 - quality) + best * quality;
            if rest < share {
                return stars;
            }
            rest -= share;
        }
        4
    }

    fn text(&mut self, essay: Option<&Essay>, stars: usize) -> ReviewText {
        if let Some(essay) = essay {
            return ReviewText::of_essay(essay);
        }
        let opinions = &self.leaf.family().opinions;
        let facts = &mut self.product.facts;
        ReviewText::write(opinions, facts, stars, &mut self.random)
    }

    fn recommended(&mut self, stars: usize) -> Option<bool> {
        [Some(true), Some(false), None][self.random.weighted(&RECOMMENDATIONS[stars])]
    }

    /// Rates the dimensions of the family in half of the reviews, close to the stars.
    fn dimensions(&mut self, stars: usize) -> BTreeMap<String, Stars> {
        let mut ratings = BTreeMap::new();
        let names = &self.leaf.family().rating_dimensions;
        if names.is_empty() || self.random.percent(45) {
            return ratings;
        }
        for name in names {
            let near = match self.random.below(6) {
                0 => stars.saturating_sub(1),
                1 => (stars + 1).min(4),
                _ => stars,
            };
            ratings.insert(name.clone(), Stars::ALL[near]);
        }
        ratings
    }

    /// Draws how many readers find the review helpful, and how many do not. Most reviews have no
    /// votes, long ones of popular products at times hundreds.
    fn votes(&mut self, essay: Option<&Essay>, length: usize) -> (i64, i64) {
        let random = &mut self.random;
        if essay.is_some() {
            return (random.between(700, 900), random.between(5, 20));
        }
        let is_noticed = self.planned.reviews > 250 && length > 120;
        let class = random.weighted(if is_noticed {
            &[50, 28, 15, 6, 1]
        } else {
            &[74, 20, 5, 1, 0]
        });
        let helpful = match class {
            0 => 0,
            1 => random.skewed_low(1, 4),
            2 => random.skewed_low(4, 25),
            3 => random.skewed_low(20, 90),
            _ => random.skewed_low(90, 640),
        };
        let unhelpful = if helpful > 0 || random.percent(5) {
            random.skewed_low(0, helpful / 4 + 2)
        } else {
            0
        };
        (helpful, unhelpful)
    }

    /// Draws a time after the product came into the shop and before the present, late ones likelier.
    fn created_at(&mut self) -> Timestamp {
        let product = self.planned.created;
        let span = self.demo.options.now.as_millis() - product.as_millis();
        let after = self.random.skewed_high(0, span / 1_000) * 1_000;
        product.plus_millis(after)
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
