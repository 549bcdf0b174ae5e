//! Retrying while the database is unreachable.

use std::time::{Duration, Instant};

use anyhow::bail;
use vitrine_domain::DomainError;
use vitrine_storage::StorageError;

/// How long commands other than `serve` and `work` retry.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the log says that the process is waiting.
const LOG_EVERY: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// The server answers, and has to be told that it is a replica set. It is waited for, since somebody may be
/// about to do so.
#[derive(Debug, thiserror::Error)]
#[error("the server was started with --replSet and its replica set does not exist yet")]
pub(crate) struct NotInitiated;

/// What to do about [`NotInitiated`].
const INITIATE: &str = "call rs.initiate() once on it";
const ADVICE: &str = "check VITRINE_MONGODB_URI, and that the server is running and reachable \
                      from here";

/// Repeats an attempt until the database is reachable or its timeout has elapsed.
pub(crate) struct Retry {
    began: Instant,
    logged: Option<Instant>,
    timeout: Option<Duration>,
}

impl Retry {
    /// Retries without a timeout.
    pub(crate) fn forever() -> Self {
        Self::with_timeout(None)
    }

    /// Retries for half a minute.
    pub(crate) fn with_default_timeout() -> Self {
        Self::with_timeout(Some(DEFAULT_TIMEOUT))
    }

    fn with_timeout(timeout: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            logged: None,
            timeout,
        }
    }

    /// Repeats the attempt while the database is unreachable.
    ///
    /// # Errors
    /// Any other error of an attempt, or that the database did not answer within the timeout.
    pub(crate) async fn run<T>(
        &mut self,
        attempt: impl AsyncFn() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        loop {
            match attempt().await {
                Err(error) if is_outage(&error) => self.pause(&error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn pause(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        let reason = error.root_cause();
        let advice = if error.is::<NotInitiated>() {
            INITIATE
        } else {
            ADVICE
        };
        if let Some(timeout) = self
            .timeout
            .filter(|timeout| self.began.elapsed() >= *timeout)
        {
            bail!(
                "MongoDB did not answer within {} s: {reason}; {advice}",
                timeout.as_secs()
            );
        }
        if self
            .logged
            .is_none_or(|logged| logged.elapsed() >= LOG_EVERY)
        {
            tracing::warn!("waiting for MongoDB: {reason}; {advice}");
            self.logged = Some(Instant::now());
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// Returns true if the error is only that the database is currently unreachable.
pub(crate) fn is_outage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let storage = cause.downcast_ref::<StorageError>();
        let domain = cause.downcast_ref::<DomainError>();
        matches!(
            storage,
            Some(error) if error.is_outage()
        ) || matches!(domain, Some(DomainError::Unavailable(_)))
            || cause.is::<NotInitiated>()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::Context as _;

    use super::*;

    #[tokio::test]
    async fn attempts_are_repeated_until_the_database_is_reachable() {
        let tries = AtomicUsize::new(0);
        let attempt = async || match tries.fetch_add(1, Ordering::SeqCst) {
            0 => Err(StorageError::NoAnswer).context("looking"),
            1 => Err(DomainError::Unavailable(None)).context("opening"),
            _ => Ok(7),
        };
        assert_eq!(Retry::forever().run(attempt).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn other_errors_are_returned_at_once() {
        let attempt = async || bail!("a standalone server");
        let outcome: anyhow::Result<()> = Retry::forever().run(attempt).await;
        assert_eq!(outcome.unwrap_err().to_string(), "a standalone server");
    }

    #[tokio::test]
    async fn the_timeout_is_reported_in_one_sentence() {
        let attempt = async || Err(StorageError::NoAnswer).context("looking");
        let mut retry = Retry::with_timeout(Some(Duration::ZERO));
        let outcome: anyhow::Result<()> = retry.run(attempt).await;
        assert_eq!(
            format!("{:#}", outcome.unwrap_err()),
            "MongoDB did not answer within 0 s: the database has not answered in time; check \
             VITRINE_MONGODB_URI, and that the server is running and reachable from here"
        );
    }
}
