//! The demo catalogue: thousands of products and tens of thousands of reviews, made up from word
//! lists, so that everything can be tried without anybody's data.
//!
//! The same seed and the same day give the same catalogue, byte for byte, on every platform and in
//! every release: the numbers come from a generator of its own (`random`), nothing depends on the
//! order of a hash map, and arithmetic is limited to what every platform rounds alike. Changing a
//! word list changes the catalogue; the digest in the tests tells.
//!
//! | module | what it does |
//! |---|---|
//! | `plan` | decides which products there are, how well they are liked, how often reviewed |
//! | `words` | categories, names, specs, sentences |
//! | `facts`, `template` | draws a product's specs; fills sentences with them |
//! | `product`, `review` | write the drafts |
//! | `attention` | what happened around products lately |

mod attention;
mod facts;
mod plan;
mod product;
mod random;
mod review;
mod template;
#[cfg(test)]
mod tests;
mod words;

use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ProductDraft, ReviewDraft};
use vitrine_model::unit::UnitTable;

pub use attention::{DemoAttention, DemoOrder};

use plan::{DAY, Plan};
use review::Reviews;

/// What people should be told when they look at the demo catalogue.
pub const NOTICE: &str = "This catalogue is generated: every product, brand, supplier, person and \
                          review in it is invented.";

/// The name that the demo catalogue has as a feed: the `system` of all its references.
pub const SYSTEM: &str = "demo";

/// How many people write reviews.
const AUTHORS: usize = 15_020;

/// How large the catalogue is to be, and which of the many possible ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoOptions {
    /// Another seed, another catalogue.
    pub seed: u64,
    /// How many products, bundles included.
    pub products: usize,
    /// How many reviews. With few products there may be fewer: nobody reviews a product twice.
    pub reviews: usize,
    /// The present; dates are spread over the five years before it. Only its day counts.
    pub now: Timestamp,
}

impl DemoOptions {
    /// The usual catalogue: 3,200 products and 60,500 reviews, as of this day.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self {
            seed: 1,
            products: 3_200,
            reviews: 60_500,
            now,
        }
    }
}

/// A demo catalogue, ready to be written out. It holds a few numbers per product; products and
/// reviews are made one by one as they are asked for.
#[derive(Debug)]
pub struct Demo {
    options: DemoOptions,
    plan: Plan,
    units: UnitTable,
}

impl Demo {
    /// Plans a catalogue.
    #[must_use]
    pub fn new(mut options: DemoOptions) -> Self {
        let millis = options.now.as_millis();
        options.now = Timestamp::from_millis(millis - millis.rem_euclid(DAY));
        Self {
            plan: Plan::new(&options),
            units: UnitTable::built_in(),
            options,
        }
    }

    /// All products. Bundles come last, so that their items are there before them.
    pub fn products(&self) -> impl Iterator<Item = ProductDraft> + Send {
        (0..self.product_count()).map(|index| product::make(self, index).draft)
    }

    /// All reviews, product by product in the order of [`Demo::products`].
    pub fn reviews(&self) -> impl Iterator<Item = ReviewDraft> + Send {
        let firsts = self.plan.products.iter().scan(0, |next, product| {
            let first = *next;
            *next += product.reviews;
            Some((first, product.reviews))
        });
        let reviewed = firsts.enumerate().filter(|(_, (_, count))| *count > 0);
        reviewed.flat_map(|(index, (first, _))| Reviews::new(self, index, first))
    }

    /// How many products there are.
    #[must_use]
    pub fn product_count(&self) -> usize {
        self.plan.products.len()
    }

    /// How many reviews there are.
    #[must_use]
    pub fn review_count(&self) -> usize {
        self.plan
            .products
            .iter()
            .map(|product| product.reviews)
            .sum()
    }
}
