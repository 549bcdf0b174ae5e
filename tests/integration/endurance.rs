//! Honest callers, hostile ones and faults at the same time. `cargo bench --bench endurance` does it
//! for an hour.

#[path = "../endurance/run.rs"]
pub(crate) mod run;

use std::time::Duration;

use run::{Plan, endure};
use vitrine_harness::test_on_replica_set;

#[test]
fn faults_and_hostile_callers_lose_no_acknowledged_review() {
    test_on_replica_set(async |app, members| {
        let plan = Plan {
            duration: Duration::from_secs(15),
            between_faults: Duration::from_secs(1),
            frozen: Duration::from_secs(4),
            products: 40,
            readers: 1,
            writers: 3,
            attackers: 4,
            fuzzers: 3,
            seed: 7,
        };
        let report = endure(app, members, &plan).await;
        assert!(report.faults.len() >= 5, "{:?}", report.faults);
        assert!(!report.pages.is_empty() && !report.acknowledged.is_empty());
        assert!(
            report.codes.contains_key("GRAPHQL_VALIDATION_FAILED"),
            "{:?}",
            report.codes
        );
    });
}
