//! What mongod has done since its start.

use std::ops::Sub;

use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

use crate::testbed::number;

/// Commands that no request needs: of drivers that watch the server, and of this benchmark.
const OTHERS: [&str; 8] = [
    "buildInfo",
    "endSessions",
    "hello",
    "isMaster",
    "ping",
    "replSetUpdatePosition",
    "saslStart",
    "serverStatus",
];

/// Counters of `serverStatus`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// `metrics.commands.*.total`.
    pub(crate) commands: i64,
    /// `metrics.queryExecutor.scanned`: index keys examined.
    pub(crate) keys: i64,
    /// `metrics.queryExecutor.scannedObjects`: documents examined.
    pub(crate) documents: i64,
    /// `metrics.document.returned`.
    pub(crate) returned: i64,
}

impl Counters {
    pub(crate) async fn read(database: &Database) -> Self {
        let admin = database.client().database("admin");
        let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
        let metrics = status.get_document("metrics").unwrap();
        let part = |name| metrics.get_document(name).unwrap();
        let executor = part("queryExecutor");
        let commands = part("commands").iter();
        let commands = commands.filter(|(name, _)| !OTHERS.contains(&name.as_str()));
        Self {
            commands: commands.map(|(_, command)| total(command)).sum(),
            keys: number(executor, "scanned"),
            documents: number(executor, "scannedObjects"),
            returned: number(part("document"), "returned"),
        }
    }
}

fn total(command: &Bson) -> i64 {
    command
        .as_document()
        .map_or(0, |command: &Document| number(command, "total"))
}

impl Sub for Counters {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            keys: self.keys - earlier.keys,
            documents: self.documents - earlier.documents,
            returned: self.returned - earlier.returned,
        }
    }
}
