//! Retrying while the database is unreachable.

use std::time::{Duration, Instant};

use anyhow::bail;
use vitrine_domain::DomainError;
use vitrine_mongod::find_obstacle;
use vitrine_storage::StorageError;

/// How long commands other than `serve` and `work` retry.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the log says that the process is waiting.
const LOG_EVERY: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// What to do when nothing is known but that the database does not answer.
const ADVICE: &str = "check VITRINE_MONGODB_URI, and that the server is running and reachable \
                      from here";

/// Repeats an attempt until the database is reachable or its timeout has elapsed.
pub(crate) struct Retry {
    began: Instant,
    logged: Option<Instant>,
    timeout: Option<Duration>,
    /// The connection string, whose servers are asked why they cannot be used.
    uri: Option<String>,
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
            uri: None,
        }
    }

    /// Sets the connection string of the database.
    pub(crate) fn of(&mut self, uri: &str) -> &mut Self {
        self.uri = Some(uri.to_owned());
        self
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
        let is_over = |timeout| self.began.elapsed() >= timeout;
        let ended = self.timeout.filter(|timeout| is_over(*timeout));
        let logs = self
            .logged
            .is_none_or(|logged| logged.elapsed() >= LOG_EVERY);
        if ended.is_some() || logs {
            let what = self.explain(error).await?;
            if let Some(timeout) = ended {
                bail!(
                    "MongoDB did not answer within {} s: {what}",
                    timeout.as_secs()
                );
            }
            tracing::warn!("waiting for MongoDB: {what}");
            self.logged = Some(Instant::now());
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }

    /// Says why the database cannot be used, and what to do.
    ///
    /// # Errors
    /// The same, if waiting does not help.
    async fn explain(&self, error: &anyhow::Error) -> anyhow::Result<String> {
        let obstacle = match &self.uri {
            Some(uri) => find_obstacle(uri).await,
            None => None,
        };
        let Some(obstacle) = obstacle else {
            return Ok(format!("{}; {ADVICE}", error.root_cause()));
        };
        let what = format!("{obstacle}; {}", obstacle.advice());
        if obstacle.is_final() {
            bail!(what);
        }
        Ok(what)
    }
}

/// Returns true if the error is only that the database is currently unreachable.
fn is_outage(error: &anyhow::Error) -> bool {
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
