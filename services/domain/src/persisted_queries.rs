//! Queries that clients name by their hash, shared between processes.

use std::sync::Mutex;

use vitrine_model::clock::Timestamp;
use vitrine_storage::persisted_queries::PersistedQuery;

use crate::{Catalog, DomainError};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;
/// How long a query is kept after it was stored or renewed. Uses renew it once a day, and processes
/// remember queries for a day: it is kept for at least 28 days after its last use.
const LIFETIME_MILLIS: i64 = 30 * DAY_MILLIS;
/// A use renews a query when less than this is left.
const RENEWED_MILLIS: i64 = LIFETIME_MILLIS - DAY_MILLIS;
/// How many queries a process stores per minute. Clients are strangers, and what one of them sends
/// is kept for all.
const MAX_STORED_PER_MINUTE: u32 = 60;
const MINUTE_MILLIS: i64 = 60_000;

/// Limits how many queries this process stores.
#[derive(Debug, Default)]
pub(crate) struct PersistedQueryLimit(Mutex<(i64, u32)>);

impl PersistedQueryLimit {
    /// Counts one more; returns false if the minute has had its share.
    fn allows(&self, now: Timestamp) -> bool {
        let minute = now.as_millis().div_euclid(MINUTE_MILLIS);
        let mut counted = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if counted.0 != minute {
            *counted = (minute, 0);
        }
        counted.1 += 1;
        counted.1 <= MAX_STORED_PER_MINUTE
    }
}

impl Catalog {
    /// Returns the query with this SHA-256 hash in hexadecimal; `None` if no client has sent it
    /// within four weeks. One command.
    pub async fn persisted_query(&self, hash: &str) -> Result<Option<String>, DomainError> {
        let key = hash.to_owned();
        let found = self.read(|store| async move { store.get_persisted_query(&key).await });
        let Some(found) = found.await? else {
            return Ok(None);
        };
        if found.expires_at < self.now().plus_millis(RENEWED_MILLIS) {
            self.persist_query(hash, &found.query);
        }
        Ok(Some(found.query))
    }

    /// Stores a query under its hash, in the background. A process stores at most 60 per minute;
    /// more than that are not stored.
    pub fn persist_query(&self, hash: &str, query: &str) {
        let now = self.now();
        if !self.persisted_query_limit().allows(now) {
            tracing::debug!(hash, "a query was not stored: too many in this minute");
            return;
        }
        let (catalog, hash) = (self.clone(), hash.to_owned());
        let query = PersistedQuery {
            query: query.to_owned(),
            expires_at: now.plus_millis(LIFETIME_MILLIS),
        };
        self.in_background(async move {
            let stored = catalog
                .write(|store| async move { store.persist_query(&hash, &query).await })
                .await;
            if let Err(error) = stored {
                // The client sends the text again.
                tracing::debug!(%error, "a query was not stored");
            }
        });
    }
}
