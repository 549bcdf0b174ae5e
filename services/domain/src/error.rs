//! Errors, by what the caller can do about them.

use vitrine_model::cursor::InvalidCursor;
use vitrine_storage::StorageError;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// An input is invalid.
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
        /// The argument.
        field: &'static str,
        /// The reason.
        source: InvalidCursor,
    },
    /// The caller lacks a permission.
    #[error("{0}")]
    Forbidden(String),
    /// The database is unreachable or the service is overloaded; a retry may succeed.
    #[error("the service is too busy or its database cannot be reached; try again")]
    Unavailable(#[source] Option<StorageError>),
    /// The data was written by a newer release, which is being rolled out.
    #[error(
        "this was written by a newer release of the service, which is being rolled out; try again"
    )]
    Newer(#[source] StorageError),
    /// The time limit was exceeded.
    #[error("the request exceeded its time limit")]
    Timeout(#[source] StorageError),
    /// Any other error. Not to be shown to callers.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl DomainError {
    /// An error for an invalid input.
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
