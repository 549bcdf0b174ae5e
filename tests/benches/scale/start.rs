//! How a benchmark starts: with its options from the command line.

use clap::Parser;

/// Runs a benchmark with its options. Does nothing without `--bench`: `cargo test` and the like run
/// benchmarks without it, and they are no tests.
pub(crate) fn start<O: Parser, F: Future<Output = ()>>(run: impl FnOnce(O) -> F) {
    let (bench, given): (Vec<String>, Vec<String>) =
        std::env::args().partition(|argument| argument == "--bench");
    if bench.is_empty() {
        return;
    }
    let options = O::parse_from(given);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(run(options));
}
