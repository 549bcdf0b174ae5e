//! The integration tests: one binary, one module per promise.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod lists;
mod product;
mod round_trips;
