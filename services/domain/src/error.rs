//! What can go wrong, shaped by what a caller can do about it.

use vitrine_model::cursor::InvalidCursor;
use vitrine_storage::StorageError;

/// Why a use case failed.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// An input is wrong: say which and what would be right.
    #[error("{field}: {reason}")]
    Invalid {
        /// The path of the input.
        field: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A cursor cannot be used here.
    #[error("{field}: {source}")]
    InvalidCursor {
        /// Which argument.
        field: &'static str,
        /// Why.
        source: InvalidCursor,
    },
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The database cannot be reached or too much is under way; later it may work.
    #[error("the service is too busy or its database cannot be reached; try again")]
    Unavailable(#[source] Option<StorageError>),
    /// A newer release of the service has written what is to be changed, and is being rolled out.
    #[error(
        "this was written by a newer release of the service, which is being rolled out; try again"
    )]
    Newer(#[source] StorageError),
    /// It took longer than it may.
    #[error("the request took longer than it may")]
    Timeout(#[source] StorageError),
    /// Anything else. Not for callers' eyes.
    #[error("something went wrong inside")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl DomainError {
    /// An input that is wrong.
    #[must_use]
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            reason: reason.into(),
        }
    }
}

impl From<StorageError> for DomainError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unavailable(_)
            | StorageError::Interrupted(_)
            | StorageError::Contended(_)
            | StorageError::TakenOver
            | StorageError::LostPrimary => Self::Unavailable(Some(error)),
            StorageError::Newer { .. } => Self::Newer(error),
            StorageError::HistoryLost => Self::InvalidCursor {
                field: "after",
                source: InvalidCursor::Expired,
            },
            StorageError::Timeout(_) | StorageError::NoAnswer => Self::Timeout(error),
            _ => Self::Internal(Box::new(error)),
        }
    }
}
