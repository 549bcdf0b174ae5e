//! What happened around the products lately: who looked, who put something into a cart, who bought.

use vitrine_model::clock::Timestamp;

use super::Demo;
use super::plan::DAY;
use super::product::make;
use super::random::{Purpose, Random};

const HOUR: i64 = 3_600_000;
/// How far views and carts lie back: less than what may be told of them late.
const HOURS: i64 = 23;
/// How far orders lie back, in days.
const DAYS: i64 = 28;
/// How many products nobody would miss in a list of those that get attention.
const UNNOTICED: u8 = 60;

/// What happened around a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoAttention {
    /// The product.
    pub sku: String,
    /// When somebody looked at it, within the last 23 hours.
    pub views: Vec<Timestamp>,
    /// When somebody put it into a cart, likewise.
    pub carts: Vec<Timestamp>,
    /// What was ordered within the last 28 days.
    pub orders: Vec<DemoOrder>,
}

/// An order of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoOrder {
    /// Its number.
    pub number: String,
    /// Who ordered: nobody who writes reviews.
    pub customer: String,
    /// How many.
    pub units: i32,
    /// When.
    pub at: Timestamp,
}

impl Demo {
    /// What happened around the products up to now. The same seed and day give the same orders;
    /// views and carts are the same, seen from now.
    pub fn attention(&self, now: Timestamp) -> impl Iterator<Item = DemoAttention> + Send {
        let noticed = (0..self.product_count()).filter_map(move |index| {
            let planned = &self.plan.products[index];
            let mut random = Random::of(self.options.seed, Purpose::Attention, index);
            if !planned.sellable() || random.percent(UNNOTICED) {
                return None;
            }
            let sku = make(self, index).draft.sku?;
            Some((index, sku, planned.reviews, random))
        });
        noticed.map(move |(index, sku, reviews, mut random)| {
            // What is liked for long is looked at, but what everybody looks at today may be new.
            let known = i64::try_from(reviews.min(400)).unwrap_or(0);
            let fashion = random.low(0, 9);
            let views = 1 + random.low(0, 6) + known * fashion / 12;
            let carts = random.low(0, views / 4);
            let orders = random.low(0, known * fashion / 400 + 1);
            DemoAttention {
                sku,
                views: (0..views).map(|_| lately(now, &mut random)).collect(),
                carts: (0..carts).map(|_| lately(now, &mut random)).collect(),
                orders: (0..orders)
                    .map(|order| self.order(index, order, &mut random))
                    .collect(),
            }
        })
    }

    fn order(&self, index: usize, order: i64, random: &mut Random) -> DemoOrder {
        DemoOrder {
            number: format!("demo-{}-{}", index + 1, order + 1),
            customer: format!("demo-customer-{:03}", random.below(400)),
            units: i32::try_from(random.low(1, 3)).unwrap_or(1),
            at: self.options.now.plus_millis(-random.between(0, DAYS * DAY)),
        }
    }
}

/// Some time within the last hours, the nearer the likelier.
fn lately(now: Timestamp, random: &mut Random) -> Timestamp {
    now.plus_millis(-random.low(0, HOURS * HOUR))
}
