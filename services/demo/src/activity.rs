//! What happens around the products: views, carts and orders.

use vitrine_model::clock::Timestamp;

use super::Demo;
use super::plan::DAY;
use super::product::generate;
use super::random::{Random, Stream};

/// How far views and carts lie back, in milliseconds: 23 hours, because services accept events that
/// are up to a day old.
const MAX_EVENT_AGE: i64 = 23 * 3_600_000;
/// How far orders lie back, in milliseconds.
const MAX_ORDER_AGE: i64 = 28 * DAY;
/// How many of a hundred products nobody looks at.
const IDLE_PERCENT: u8 = 60;
/// How many customers place orders.
const CUSTOMER_COUNT: usize = 400;

/// What happens around a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoActivity {
    /// The product.
    pub sku: String,
    /// When somebody looks at it, within the last 23 hours.
    pub views: Vec<Timestamp>,
    /// When somebody puts it into a cart, within the last 23 hours.
    pub carts: Vec<Timestamp>,
    /// The orders of the last 28 days.
    pub orders: Vec<DemoOrder>,
}

/// An order of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoOrder {
    /// The number of the order.
    pub number: String,
    /// The customer, who writes no reviews.
    pub customer: String,
    /// How many units of the product.
    pub units: i32,
    /// When the order is placed.
    pub at: Timestamp,
}

impl Demo {
    /// Returns what happens around the products up to now. The same seed and day give the same
    /// orders; views and carts lie back equally far from now.
    pub fn activity(&self, now: Timestamp) -> impl Iterator<Item = DemoActivity> + Send {
        (0..self.product_count()).filter_map(move |index| self.product_activity(index, now))
    }

    fn product_activity(&self, index: usize, now: Timestamp) -> Option<DemoActivity> {
        let planned = &self.plan.products[index];
        let random = &mut Random::new(self.options.seed, Stream::Activity, index);
        if !planned.is_sellable() || random.percent(IDLE_PERCENT) {
            return None;
        }
        let sku = generate(self, index).draft.sku?;
        // Products with many reviews are looked at often, and any product may be in fashion.
        let popularity = i64::try_from(planned.reviews.min(400)).unwrap_or(0);
        let fashion = random.skewed_low(0, 9);
        let views = 1 + random.skewed_low(0, 6) + popularity * fashion / 12;
        let carts = random.skewed_low(0, views / 4);
        let orders = random.skewed_low(0, popularity * fashion / 400 + 1);
        Some(DemoActivity {
            sku,
            views: (0..views).map(|_| event_time(now, random)).collect(),
            carts: (0..carts).map(|_| event_time(now, random)).collect(),
            orders: (0..orders)
                .map(|order| self.order(index, order, random))
                .collect(),
        })
    }

    fn order(&self, product: usize, order: i64, random: &mut Random) -> DemoOrder {
        DemoOrder {
            number: format!("demo-{}-{}", product + 1, order + 1),
            customer: format!("demo-customer-{:03}", random.below(CUSTOMER_COUNT)),
            units: i32::try_from(random.skewed_low(1, 3)).unwrap_or(1),
            at: self
                .options
                .now
                .plus_millis(-random.between(0, MAX_ORDER_AGE)),
        }
    }
}

/// Draws a time not long before now, later ones likelier.
fn event_time(now: Timestamp, random: &mut Random) -> Timestamp {
    now.plus_millis(-random.skewed_low(0, MAX_EVENT_AGE))
}
