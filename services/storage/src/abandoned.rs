//! Abandoned transactions.
//!
//! A process that is killed or frozen in a transaction leaves it open on the server, which aborts
//! it only after `transactionLifetimeLimitSeconds`, one minute by default. Until then every other
//! writer of the same documents gets a write conflict or waits. Our own transactions are idle for
//! milliseconds between two commands, so one that is idle for seconds is abandoned and another
//! process may end it. If its process wakes up, its commit fails and it retries the transaction.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};

use crate::store::APP_NAME;
use crate::{StorageError, Store};

/// How long a transaction has to be idle to count as abandoned.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(3);

impl Store {
    /// Ends transactions of this service that have been idle for [`ABANDONED_AFTER`], in whichever
    /// process they began. Returns their number. Needs no privileges beyond those on one's own
    /// sessions (`$currentOp`, `killSessions`).
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
