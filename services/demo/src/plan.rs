//! Which products there are, and how many reviews each has: a few numbers per product, decided
//! before the first of them is written.

use vitrine_model::clock::Timestamp;
use vitrine_model::product::ProductStatus;

use super::random::{Purpose, Random};
use super::words::catalogue::Leaf;
use super::words::reviews::Essay;
use super::words::words;
use super::{AUTHORS, DemoOptions};

/// Milliseconds of a day.
pub(crate) const DAY: i64 = 86_400_000;
/// The category of the product with by far the most reviews.
const STAR_LEAF: &str = "Headphones";
/// How many of 60,500 reviews the most reviewed products have; the rest share what is left.
const LEADERS: [usize; 9] = [5_420, 1_950, 1_620, 1_380, 1_100, 930, 780, 640, 540];
const LEADERS_OF: usize = 60_500;

/// What is decided of a product beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// The place of its leaf among all leaves.
    pub(crate) leaf: usize,
    /// Its number within the leaf.
    pub(crate) within: usize,
    /// Where it is in its life.
    pub(crate) status: ProductStatus,
    /// The currency of its price, if it has one.
    pub(crate) currency: Option<&'static str>,
    /// When it came into the shop.
    pub(crate) created: Timestamp,
    /// How well it is liked, 0 to 100.
    pub(crate) quality: usize,
    /// How many reviews it has.
    pub(crate) reviews: usize,
    /// A long review that one of its reviewers wrote.
    pub(crate) essay: Option<&'static Essay>,
}

/// The whole catalogue in numbers.
#[derive(Debug)]
pub(crate) struct Plan {
    /// All leaves; those of bundles come last.
    pub(crate) leaves: &'static [Leaf],
    /// How many of the leaves are none of bundles.
    pub(crate) singles: usize,
    /// The products; bundles come last.
    pub(crate) products: Vec<Planned>,
}

impl Plan {
    /// Decides.
    pub(crate) fn new(options: &DemoOptions) -> Self {
        let leaves = &words().catalogue.leaves;
        let mut plan = Self {
            leaves,
            singles: leaves.iter().filter(|leaf| !leaf.is_bundle()).count(),
            products: Vec::with_capacity(options.products),
        };
        plan.fill(options);
        plan.share_reviews(options);
        plan.date(options);
        plan.hand_out_essays();
        plan
    }

    /// The leaf of a product.
    pub(crate) fn leaf(&self, product: usize) -> &'static Leaf {
        &self.leaves[self.products[product].leaf]
    }

    fn fill(&mut self, options: &DemoOptions) {
        let weights: Vec<u64> = self
            .leaves
            .iter()
            .map(|leaf| u64::from(leaf.weight))
            .collect();
        let counts = shares(options.products, &weights);
        for (leaf, count) in counts.into_iter().enumerate() {
            for within in 0..count {
                let index = self.products.len();
                let mut random = Random::of(options.seed, Purpose::Sketch, index);
                self.products.push(planned(leaf, within, &mut random));
            }
        }
        let singles = self.products.iter().filter(|p| p.leaf < self.singles);
        let singles = singles.count();
        let mut random = Random::of(options.seed, Purpose::Order, 0);
        random.shuffle(&mut self.products[..singles]);
        self.keep_sellable(singles);
    }

    /// Bundles need two products on sale; a catalogue without them has no bundles.
    fn keep_sellable(&mut self, singles: usize) {
        let sellable = self.products[..singles].iter().filter(|p| p.sellable());
        if sellable.count() < 10 {
            let leaf = self.singles - 1;
            for (within, bundle) in self.products[singles..].iter_mut().enumerate() {
                bundle.leaf = leaf;
                bundle.within = 1000 + within;
            }
        }
    }

    fn share_reviews(&mut self, options: &DemoOptions) {
        let order = self.by_popularity(options);
        let leaders = LEADERS.map(|n| (n * options.reviews / LEADERS_OF).min(AUTHORS / 2));
        let rest = options.reviews.saturating_sub(leaders.iter().sum());
        for (product, count) in order.iter().zip(leaders) {
            self.products[*product].reviews = count;
        }
        let others = order.get(leaders.len()..).unwrap_or_default();
        let silent = self.products.len() / 22;
        let heard = &others[..others.len().saturating_sub(silent)];
        let mut random = Random::of(options.seed, Purpose::Popularity, 0);
        let weights: Vec<u64> = (0..heard.len() as u64)
            .map(|rank| 1_000_000 * (40 + random.below(120) as u64) / (rank + 20))
            .collect();
        for (product, count) in heard.iter().zip(shares(rest, &weights)) {
            self.products[*product].reviews = count.min(AUTHORS / 2);
        }
    }

    /// All products that may have reviews, the most popular first.
    fn by_popularity(&self, options: &DemoOptions) -> Vec<usize> {
        let all = self.products.iter().enumerate();
        let seen = all.filter(|(_, product)| product.status != ProductStatus::Draft);
        let mut order: Vec<usize> = seen.map(|(index, _)| index).collect();
        Random::of(options.seed, Purpose::Leaders, 0).shuffle(&mut order);
        let star = order.iter().position(|product| {
            self.leaf(*product).name() == STAR_LEAF && self.products[*product].sellable()
        });
        if let Some(star) = star {
            order.swap(0, star);
        }
        let (mut leaders, others): (Vec<usize>, Vec<usize>) = order
            .into_iter()
            .partition(|product| self.products[*product].sellable());
        let tail = leaders.split_off(leaders.len().min(LEADERS.len()));
        let mut tail: Vec<usize> = tail.into_iter().chain(others).collect();
        Random::of(options.seed, Purpose::Tail, 0).shuffle(&mut tail);
        leaders.append(&mut tail);
        leaders
    }

    fn date(&mut self, options: &DemoOptions) {
        for (index, product) in self.products.iter_mut().enumerate() {
            let mut random = Random::of(options.seed, Purpose::Date, index);
            let draft = product.status == ProductStatus::Draft;
            let days = match product.reviews {
                0 if draft || random.percent(60) => random.between(1, 40),
                540.. => random.between(1_500, 1_820),
                _ => random.between(25, 1_815),
            };
            let minute = random.between(0, 1_439);
            product.created = options.now.plus_millis(minute * 60_000 - days * DAY);
        }
    }

    fn hand_out_essays(&mut self) {
        for essay in &words().reviews.essays {
            let all = (0..self.products.len()).filter(|at| self.leaf(*at).name() == essay.leaf);
            let most = all.max_by_key(|at| (self.products[*at].reviews, *at));
            if let Some(most) = most {
                self.products[most].essay = Some(essay);
                self.products[most].quality = self.products[most].quality.max(80);
            }
        }
    }
}

impl Planned {
    /// Whether it is on sale at a price in the shop's currency.
    pub(crate) fn sellable(&self) -> bool {
        self.status == ProductStatus::Active && self.currency == Some("EUR")
    }
}

fn planned(leaf: usize, within: usize, random: &mut Random) -> Planned {
    use ProductStatus::{Active, Archived, Draft};
    let status = [Active, Draft, Archived][random.weighted(&[945, 25, 30])];
    let others = ["USD", "GBP", "CHF", "JPY"];
    let currency = match random.weighted(&[9_790, 150, 60]) {
        0 => Some("EUR"),
        1 => None,
        _ => Some(*random.pick(&others)),
    };
    Planned {
        leaf,
        within,
        status,
        currency,
        created: Timestamp::from_millis(0),
        quality: random.below(101).max(random.below(101)),
        reviews: 0,
        essay: None,
    }
}

/// Splits a total in proportion to weights, to the last one: the largest remainders are rounded
/// up, of equal ones the first.
fn shares(total: usize, weights: &[u64]) -> Vec<usize> {
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
    order.sort_by_key(|at| (std::cmp::Reverse(exact(&weights[*at]) % sum), *at));
    let missing = total - counts.iter().sum::<usize>();
    for at in order.into_iter().take(missing) {
        counts[at] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(7, &[0, 5, 2]), [0, 5, 2]);
        assert_eq!(shares(3, &[]), [0_usize; 0]);
        assert_eq!(shares(3, &[0]), [0]);
    }
}
