//! Waiting for a database that is not there.

use std::time::{Duration, Instant};

use anyhow::bail;
use vitrine_domain::DomainError;
use vitrine_storage::StorageError;

/// How long commands that end by themselves wait.
const A_WHILE: Duration = Duration::from_secs(30);
/// How often it is said that a database is waited for.
const REMINDER: Duration = Duration::from_secs(30);
/// How long to rest before trying again.
const PAUSE: Duration = Duration::from_millis(500);

const ADVICE: &str = "check VITRINE_MONGODB_URI, and that the server runs and may be reached \
                      from here";

/// Waits from one try to the next.
pub(crate) struct Waiting {
    began: Instant,
    said: Option<Instant>,
    limit: Option<Duration>,
}

impl Waiting {
    /// Waits as long as it takes.
    pub(crate) fn forever() -> Self {
        Self::until(None)
    }

    /// Waits for half a minute.
    pub(crate) fn for_a_while() -> Self {
        Self::until(Some(A_WHILE))
    }

    fn until(limit: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            said: None,
            limit,
        }
    }

    /// Tries again and again until the database is there.
    ///
    /// # Errors
    /// What else is wrong; and that the database is not there, when the time is over.
    pub(crate) async fn reach<T>(
        &mut self,
        attempt: impl AsyncFn() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        loop {
            match attempt().await {
                Err(error) if is_away(&error) => self.rest(&error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn rest(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        let reason = error.root_cause();
        if let Some(limit) = self.limit.filter(|limit| self.began.elapsed() >= *limit) {
            bail!(
                "MongoDB did not answer within {} s: {reason}; {ADVICE}",
                limit.as_secs()
            );
        }
        if self.said.is_none_or(|said| said.elapsed() >= REMINDER) {
            tracing::warn!("waiting for MongoDB: {reason}; {ADVICE}");
            self.said = Some(Instant::now());
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// Whether it is only that the database is not there now.
pub(crate) fn is_away(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let storage = cause.downcast_ref::<StorageError>();
        let domain = cause.downcast_ref::<DomainError>();
        matches!(
            storage,
            Some(error) if error.is_outage()
        ) || matches!(domain, Some(DomainError::Unavailable(_)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::Context as _;

    use super::*;

    #[tokio::test]
    async fn a_database_that_comes_is_waited_for() {
        let tries = AtomicUsize::new(0);
        let attempt = async || match tries.fetch_add(1, Ordering::SeqCst) {
            0 => Err(StorageError::NoAnswer).context("looking"),
            1 => Err(DomainError::Unavailable(None)).context("opening"),
            _ => Ok(7),
        };
        assert_eq!(Waiting::forever().reach(attempt).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn what_else_is_wrong_is_told_at_once() {
        let attempt = async || bail!("a standalone server");
        let told: anyhow::Result<()> = Waiting::forever().reach(attempt).await;
        assert_eq!(told.unwrap_err().to_string(), "a standalone server");
    }

    #[tokio::test]
    async fn the_end_of_patience_is_one_sentence() {
        let attempt = async || Err(StorageError::NoAnswer).context("looking");
        let mut waiting = Waiting::until(Some(Duration::ZERO));
        let told: anyhow::Result<()> = waiting.reach(attempt).await;
        assert_eq!(
            format!("{:#}", told.unwrap_err()),
            "MongoDB did not answer within 0 s: the database has not answered in time; check \
             VITRINE_MONGODB_URI, and that the server runs and may be reached from here"
        );
    }
}
