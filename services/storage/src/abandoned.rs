//! Transactions that nobody goes on with.
//!
//! A process that is killed or frozen in the middle of a transaction leaves it open on the server,
//! which ends it only after `transactionLifetimeLimitSeconds`, a minute by default. Until then every
//! other writer of the documents that it wrote conflicts with it or waits for it. Our own
//! transactions are idle for milliseconds between two commands, so one that is idle for seconds is
//! abandoned: another process may end it. If its process wakes up again, its commit fails, and it
//! begins the transaction again.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};

use crate::store::APP_NAME;
use crate::{StorageError, Store};

/// For how long a transaction is idle that counts as abandoned.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(3);

impl Store {
    /// Ends transactions of this service that have been idle for [`ABANDONED_AFTER`], whichever
    /// process began them. Returns how many. Needs no rights beyond those to the own sessions
    /// (`$currentOp`, `killSessions`).
    pub async fn end_abandoned_transactions(&self) -> Result<usize, StorageError> {
        let admin = self.client.database("admin");
        let micros = i64::try_from(ABANDONED_AFTER.as_micros()).expect("seconds");
        let idle = [
            doc! { "$currentOp": { "idleSessions": true } },
            doc! { "$match": {
                "type": "idleSession",
                "appName": APP_NAME,
                "transaction.parameters.autocommit": false,
                "transaction.timeInactiveMicros": { "$gt": micros },
            } },
            doc! { "$project": { "lsid": "$lsid.id" } },
        ];
        let found = admin.aggregate(idle).max_time(self.max_time).await?;
        let found: Vec<Document> = found.try_collect().await?;
        let session = |op: &Document| Some(doc! { "id": op.get("lsid")?.clone() });
        let sessions: Vec<Bson> = found.iter().filter_map(session).map(Bson::from).collect();
        let ended = sessions.len();
        if ended > 0 {
            admin.run_command(doc! { "killSessions": sessions }).await?;
        }
        Ok(ended)
    }
}
