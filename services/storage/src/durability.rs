//! When a write is confirmed: a majority of the members has it in its journal.

use std::time::Duration;

use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{Acknowledgment, WriteConcern};

use crate::{activity, workers};

/// The collections that have writes which one member alone confirms, with the reason.
pub const WEAK_WRITES: &[(&str, &str)] = &[
    (
        activity::BATCHES,
        "losing a second of views does not justify waiting for other members",
    ),
    (
        workers::COLLECTION,
        "a report that is lost is replaced by that of the next run",
    ),
];

/// How long the server waits for a majority before a write concern fails (`wtimeout`).
pub(crate) const MAJORITY_TIMEOUT: Duration = Duration::from_secs(5);

/// The write concern of the client: acknowledged by a majority and journaled, so no acknowledged
/// write is lost. Writes have it unless they name another.
pub(crate) fn durable() -> WriteConcern {
    WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .w_timeout(MAJORITY_TIMEOUT)
        .build()
}

/// [`durable`] as a document, for commands that are written out.
pub(crate) fn durable_document() -> Document {
    let millis = i64::try_from(MAJORITY_TIMEOUT.as_millis()).expect("seconds");
    doc! { "w": "majority", "j": true, "wtimeout": millis }
}

/// Write concern of [`WEAK_WRITES`]: acknowledged by one member.
pub(crate) fn weak() -> WriteConcern {
    WriteConcern::builder().w(Acknowledgment::Nodes(1)).build()
}

/// [`weak`] as a document.
pub(crate) fn weak_document() -> Document {
    doc! { "w": 1 }
}

/// Returns whether a command confirms a write without a journaled majority or waits for it without
/// a limit, and [`WEAK_WRITES`] does not list it. The writes of a transaction are confirmed by its
/// commit.
pub(crate) fn is_weak(name: &str, command: &Document) -> bool {
    let writes = match name {
        "insert" | "update" | "delete" | "findAndModify" => !command.contains_key("autocommit"),
        "aggregate" => command
            .get_array("pipeline")
            .into_iter()
            .flatten()
            .filter_map(Bson::as_document)
            .any(|stage| stage.contains_key("$merge") || stage.contains_key("$out")),
        "commitTransaction" | "bulkWrite" => true,
        _ => false,
    };
    let concern = command.get_document("writeConcern").ok();
    let durable = concern.is_some_and(|concern| {
        concern.get_str("w").is_ok_and(|w| w == "majority")
            && concern.get_bool("j").is_ok_and(|journaled| journaled)
            && concern.contains_key("wtimeout")
    });
    let limited = name != "commitTransaction" || command.contains_key("maxTimeMS");
    let listed = || {
        let collection = command.get_str(name).unwrap_or_default();
        WEAK_WRITES.iter().any(|(weak, _)| collection == *weak)
    };
    writes && !(durable && limited) && !listed()
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{Bson, doc};

    use super::{durable_document, is_weak};

    #[test]
    fn a_write_outside_a_transaction_is_confirmed_by_a_journaled_majority() {
        let write = |concern| doc! { "update": "products", "updates": [], "writeConcern": concern };
        assert!(!is_weak("update", &write(durable_document())));
        for (field, weaker) in [("w", Bson::from(1)), ("j", false.into())] {
            let mut concern = durable_document();
            concern.insert(field, weaker);
            assert!(is_weak("update", &write(concern)), "{field}");
        }
        let mut endless = durable_document();
        endless.remove("wtimeout");
        assert!(is_weak("update", &write(endless)));
        assert!(is_weak("update", &doc! { "update": "products" }));
    }

    #[test]
    fn a_transaction_is_confirmed_by_its_commit() {
        let within = doc! { "insert": "reviews", "txnNumber": 1_i64, "autocommit": false };
        assert!(!is_weak("insert", &within));
        let mut commit = doc! { "commitTransaction": 1 };
        assert!(is_weak("commitTransaction", &commit));
        commit.insert("writeConcern", durable_document());
        assert!(
            is_weak("commitTransaction", &commit),
            "without a time limit"
        );
        commit.insert("maxTimeMS", 5_000);
        assert!(!is_weak("commitTransaction", &commit));
    }

    #[test]
    fn a_read_confirms_nothing() {
        assert!(!is_weak("find", &doc! { "find": "products" }));
        let copying = doc! { "aggregate": "products", "pipeline": [{ "$merge": "elsewhere" }] };
        assert!(is_weak("aggregate", &copying));
    }
}
