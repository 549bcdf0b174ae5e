//! Properties over random data: filters against an independent evaluation, paging while rows are
//! added, ratings against a recount, facet counts against clicks.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use vitrine_harness::App;

pub(crate) mod clicks;
mod filters;
mod ratings;
mod schedules;
mod walks;

/// Runs a property inside a test: the closure queries the app and returns what does not hold.
#[expect(clippy::needless_pass_by_value, reason = "a closure is handed over")]
fn check<S: Strategy, P: AsyncFn(&App, S::Value) -> Result<(), TestCaseError>>(
    cases: u32,
    strategy: &S,
    app: &App,
    property: P,
) {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        let outcome =
            TestRunner::new(config).run(strategy, |case| handle.block_on(property(app, case)));
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    });
}
