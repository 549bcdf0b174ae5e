//! The demo catalogue: made-up products, reviews, views and orders, so that everything can be tried
//! without anybody's data.
//!
//! The same seed and the same day give the same catalogue, byte for byte, on every platform and in
//! every release: the random numbers come from a generator of this crate, nothing depends on the
//! order of a hash map, and the arithmetic is such that every platform rounds alike. A changed word
//! changes the catalogue, and a digest in the tests with it.
//!
//! | module | what it does |
//! |---|---|
//! | `plan` | decides which products there are, how well they are liked and how often reviewed |
//! | `product` | writes products; one submodule per product kind with typed details |
//! | `review` | writes reviews |
//! | `activity` | makes up views, carts and orders |
//! | `facts`, `template` | draw the specs of a product; fill the gaps of sentences with them |
//! | `words` | reads the words from the TOML files in `words/` |
//! | `random` | random numbers |
//!
//! # To add a leaf category
//!
//! Add a `[[leaves]]` table to the file in `words/` that has products of the kind, such as
//! `words/drones.toml`. It names a family: products that are described and reviewed alike. For
//! products that are unlike all others, add a `[families.…]` table with its opinions, too. A file of
//! its own needs a line in `CATALOGUE` in `src/words.rs`. The types in `src/words/catalogue.rs`
//! explain the fields, `src/words/spec.rs` the specs, and `src/template.rs` the gaps in sentences.
//! The tests find names and gaps that do not exist. Put the new digests into `src/tests.rs`.
//!
//! # To add a product kind's products
//!
//! A kind without typed details needs only a family and leaves. A kind with typed details needs, in
//! addition:
//!
//! - `src/product/<kind>.rs`, which fills the details, and an arm in `ProductWriter::details` in
//!   `src/product.rs`;
//! - for words of its own, a table in `words/details.toml` and its type in `src/words/details.rs`.

mod activity;
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

pub use activity::{DemoActivity, DemoOrder};

use plan::{DAY, Plan};
use product::generate;
use review::Reviews;

/// What people should read when they look at the demo catalogue.
pub const NOTICE: &str = "This catalogue is generated: every product, brand, supplier, person and \
                          review in it is invented.";

/// The name of the demo catalogue as a feed: the `system` of all its references.
pub const SYSTEM: &str = "demo";

/// The seed, the number of products and the number of reviews of the usual catalogue.
const DEFAULT_SEED: u64 = 1;
const DEFAULT_PRODUCTS: usize = 3_200;
const DEFAULT_REVIEWS: usize = 60_500;

/// How many people write reviews.
const AUTHOR_COUNT: usize = 15_020;

/// Which of the possible catalogues to generate, and how large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoOptions {
    /// The seed. Each seed gives another catalogue.
    pub seed: u64,
    /// The number of products, bundles included.
    pub products: usize,
    /// The number of reviews. With few products there may be fewer: nobody reviews a product twice.
    pub reviews: usize,
    /// The present. Dates lie in the five years before it. Only its day counts.
    pub now: Timestamp,
}

impl DemoOptions {
    /// Returns the options of the usual catalogue as of this day.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self {
            seed: DEFAULT_SEED,
            products: DEFAULT_PRODUCTS,
            reviews: DEFAULT_REVIEWS,
            now,
        }
    }
}

/// A demo catalogue. It holds a few numbers per product; products and reviews are written one by one
/// as they are asked for.
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

    /// Returns all products. Bundles come last, after their items.
    pub fn products(&self) -> impl Iterator<Item = ProductDraft> + Send {
        (0..self.product_count()).map(|index| generate(self, index).draft)
    }

    /// Returns all reviews, product by product in the order of [`Demo::products`].
    pub fn reviews(&self) -> impl Iterator<Item = ReviewDraft> + Send {
        let counts = self.plan.products.iter().map(|product| product.reviews);
        let firsts = counts.scan(0, |next, count| {
            let first = *next;
            *next += count;
            Some((first, count))
        });
        let reviewed = firsts.enumerate().filter(|(_, (_, count))| *count > 0);
        reviewed.flat_map(|(index, (first, _))| Reviews::new(self, index, first))
    }

    /// Returns the number of products.
    #[must_use]
    pub fn product_count(&self) -> usize {
        self.plan.products.len()
    }

    /// Returns the number of reviews.
    #[must_use]
    pub fn review_count(&self) -> usize {
        let products = &self.plan.products;
        products.iter().map(|product| product.reviews).sum()
    }
}
