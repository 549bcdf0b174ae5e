//! Which products there are, and how many reviews each has: a few numbers per product, decided
//! before the first product is written.

use std::cmp::Reverse;

use vitrine_model::clock::Timestamp;
use vitrine_model::product::ProductStatus;

use super::random::{Random, Stream};
use super::words::catalogue::Leaf;
use super::words::reviews::Essay;
use super::words::words;
use super::{AUTHOR_COUNT, DemoOptions};

/// The milliseconds of a day.
pub(crate) const DAY: i64 = 86_400_000;
/// The leaf category of the product with by far the most reviews.
const TOP_LEAF: &str = "Headphones";
/// The review counts of the most popular products, if there are [`TOP_TOTAL`] reviews.
const TOP_REVIEW_COUNTS: [usize; 9] = [5_420, 1_950, 1_620, 1_380, 1_100, 930, 780, 640, 540];
const TOP_TOTAL: usize = 60_500;
/// How many reviews a product may have: fewer than there are authors.
const MAX_REVIEWS: usize = AUTHOR_COUNT / 2;
/// With fewer products on sale there are no bundles.
const MIN_BUNDLE_CHOICE: usize = 10;
/// The currency of most prices.
const SHOP_CURRENCY: &str = "EUR";
const OTHER_CURRENCIES: [&str; 4] = ["USD", "GBP", "CHF", "JPY"];

/// What is decided of a product before it is written.
#[derive(Clone, Debug)]
pub(crate) struct PlannedProduct {
    /// The index of its leaf.
    pub(crate) leaf: usize,
    /// Its number within the leaf.
    pub(crate) number: usize,
    /// The status.
    pub(crate) status: ProductStatus,
    /// The currency of its price, if it has one.
    pub(crate) currency: Option<&'static str>,
    /// When it came into the shop.
    pub(crate) created: Timestamp,
    /// How well it is liked, from 0 to 100.
    pub(crate) quality: usize,
    /// How many reviews it has.
    pub(crate) reviews: usize,
    /// A long review by one of its reviewers.
    pub(crate) essay: Option<&'static Essay>,
}

/// The whole catalogue in numbers.
#[derive(Debug)]
pub(crate) struct Plan {
    leaves: &'static [Leaf],
    /// The index of the first leaf of bundles, which come last.
    first_bundle_leaf: usize,
    /// The products. Bundles come last.
    pub(crate) products: Vec<PlannedProduct>,
}

impl Plan {
    /// Plans a catalogue.
    pub(crate) fn new(options: &DemoOptions) -> Self {
        let leaves = &words().catalogue.leaves;
        let mut plan = Self {
            leaves,
            first_bundle_leaf: leaves.iter().filter(|leaf| !leaf.is_bundle()).count(),
            products: Vec::with_capacity(options.products),
        };
        plan.add_products(options);
        plan.distribute_reviews(options);
        plan.set_creation_dates(options);
        plan.assign_essays();
        plan
    }

    /// Returns the leaf of a product.
    pub(crate) fn leaf(&self, product: usize) -> &'static Leaf {
        &self.leaves[self.products[product].leaf]
    }

    /// Returns the products that bundles may contain and that meet the condition.
    pub(crate) fn bundle_choice(&self, condition: impl Fn(usize) -> bool) -> Vec<usize> {
        let all = self.products.iter().enumerate();
        all.filter(|(_, product)| product.leaf < self.first_bundle_leaf && product.is_sellable())
            .map(|(index, _)| index)
            .filter(|index| condition(*index))
            .collect()
    }

    fn add_products(&mut self, options: &DemoOptions) {
        let weights = self.leaves.iter().map(|leaf| u64::from(leaf.weight));
        let counts = apportion(options.products, &weights.collect::<Vec<u64>>());
        for (leaf, count) in counts.into_iter().enumerate() {
            for number in 0..count {
                let index = self.products.len();
                let mut random = Random::new(options.seed, Stream::ProductPlan, index);
                let product = PlannedProduct::draw(leaf, number, &mut random);
                self.products.push(product);
            }
        }
        let is_single = |product: &PlannedProduct| product.leaf < self.first_bundle_leaf;
        let singles = self.products.iter().filter(|p| is_single(p)).count();
        let mut random = Random::new(options.seed, Stream::ProductOrder, 0);
        random.shuffle(&mut self.products[..singles]);
        if self.bundle_choice(|_| true).len() < MIN_BUNDLE_CHOICE {
            self.replace_bundles(singles);
        }
    }

    /// Turns bundles into single products of the last leaf.
    fn replace_bundles(&mut self, first_bundle: usize) {
        for (offset, bundle) in self.products[first_bundle..].iter_mut().enumerate() {
            bundle.leaf = self.first_bundle_leaf - 1;
            bundle.number = 1000 + offset;
        }
    }

    fn distribute_reviews(&mut self, options: &DemoOptions) {
        let order = self.by_popularity(options);
        let top = TOP_REVIEW_COUNTS.map(|n| (n * options.reviews / TOP_TOTAL).min(MAX_REVIEWS));
        let rest = options.reviews.saturating_sub(top.iter().sum());
        for (product, count) in order.iter().zip(top) {
            self.products[*product].reviews = count;
        }
        let others = order.get(top.len()..).unwrap_or_default();
        let without_reviews = self.products.len() / 22;
        let reviewed = &others[..others.len().saturating_sub(without_reviews)];
        let mut random = Random::new(options.seed, Stream::ReviewCounts, 0);
        let weights: Vec<u64> = (0..reviewed.len() as u64)
            .map(|rank| 1_000_000 * (40 + random.below(120) as u64) / (rank + 20))
            .collect();
        for (product, count) in reviewed.iter().zip(apportion(rest, &weights)) {
            self.products[*product].reviews = count.min(MAX_REVIEWS);
        }
    }

    /// Returns the products that may have reviews, the most popular first.
    fn by_popularity(&self, options: &DemoOptions) -> Vec<usize> {
        let all = self.products.iter().enumerate();
        let published = all.filter(|(_, product)| product.status != ProductStatus::Draft);
        let mut order: Vec<usize> = published.map(|(index, _)| index).collect();
        Random::new(options.seed, Stream::MostPopular, 0).shuffle(&mut order);
        let is_sellable = |product: &usize| self.products[*product].is_sellable();
        let top = order
            .iter()
            .position(|product| self.leaf(*product).name() == TOP_LEAF && is_sellable(product));
        if let Some(top) = top {
            order.swap(0, top);
        }
        let (mut popular, others): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(is_sellable);
        let rest = popular.split_off(popular.len().min(TOP_REVIEW_COUNTS.len()));
        let mut rest: Vec<usize> = rest.into_iter().chain(others).collect();
        Random::new(options.seed, Stream::LessPopular, 0).shuffle(&mut rest);
        popular.append(&mut rest);
        popular
    }

    fn set_creation_dates(&mut self, options: &DemoOptions) {
        for (index, product) in self.products.iter_mut().enumerate() {
            let mut random = Random::new(options.seed, Stream::CreationDate, index);
            let is_draft = product.status == ProductStatus::Draft;
            let days = match product.reviews {
                0 if is_draft || random.percent(60) => random.between(1, 40),
                540.. => random.between(1_500, 1_820),
                _ => random.between(25, 1_815),
            };
            let minute = random.between(0, 1_439);
            product.created = options.now.plus_millis(minute * 60_000 - days * DAY);
        }
    }

    fn assign_essays(&mut self) {
        for essay in &words().reviews.essays {
            let all = 0..self.products.len();
            let in_leaf = all.filter(|index| self.leaf(*index).name() == essay.leaf);
            let most_reviewed = in_leaf.max_by_key(|index| (self.products[*index].reviews, *index));
            if let Some(index) = most_reviewed {
                let product = &mut self.products[index];
                product.essay = Some(essay);
                product.quality = product.quality.max(80);
            }
        }
    }
}

impl PlannedProduct {
    fn draw(leaf: usize, number: usize, random: &mut Random) -> Self {
        use ProductStatus::{Active, Archived, Draft};
        let status = [Active, Draft, Archived][random.weighted(&[945, 25, 30])];
        let currency = match random.weighted(&[9_790, 150, 60]) {
            0 => Some(SHOP_CURRENCY),
            1 => None,
            _ => Some(*random.pick(&OTHER_CURRENCIES)),
        };
        Self {
            leaf,
            number,
            status,
            currency,
            created: Timestamp::from_millis(0),
            quality: random.below(101).max(random.below(101)),
            reviews: 0,
            essay: None,
        }
    }

    /// Whether it is on sale at a price in the currency of the shop.
    pub(crate) fn is_sellable(&self) -> bool {
        self.status == ProductStatus::Active && self.currency == Some(SHOP_CURRENCY)
    }
}

/// Splits a total in proportion to weights by the method of the largest remainder.
fn apportion(total: usize, weights: &[u64]) -> Vec<usize> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &u64| total as u128 * u128::from(*weight);
    let mut counts: Vec<usize> = weights
        .iter()
        .map(|weight| usize::try_from(exact(weight) / sum).unwrap_or(0))
        .collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|index| (Reverse(exact(&weights[*index]) % sum), *index));
    let missing = total - counts.iter().sum::<usize>();
    for index in order.into_iter().take(missing) {
        counts[index] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!(apportion(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(apportion(7, &[0, 5, 2]), [0, 5, 2]);
        assert_eq!(apportion(3, &[]), [0_usize; 0]);
        assert_eq!(apportion(3, &[0]), [0]);
    }
}
