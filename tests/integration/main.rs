//! The integration tests: one binary, one module per promise.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod architecture;
mod conformance;
mod demo;
mod faults;
mod imports;
mod lists;
mod nodes;
mod plans;
mod process;
mod product;
mod properties;
mod reference;
mod reviews;
mod round_trips;
mod schema;
