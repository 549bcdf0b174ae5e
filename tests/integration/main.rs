//! The integration tests: one binary, one module per promise.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]
#![expect(
    clippy::too_many_lines,
    reason = "tables of cases and snapshots are as long as what they show"
)]

mod architecture;
mod conformance;
mod demo;
mod faults;
mod feeds;
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
