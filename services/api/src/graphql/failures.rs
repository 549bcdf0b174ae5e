//! Conversion of domain errors to GraphQL errors.

use std::sync::Arc;

use vitrine_domain::DomainError;

use crate::execution::{ErrorCode, Failure};

impl From<DomainError> for Failure {
    fn from(error: DomainError) -> Self {
        match &error {
            DomainError::Internal(_) => Self::internal(error),
            _ => reported(&error).caused_by(error),
        }
    }
}

/// For loaders, where all waiting callers share one error.
impl From<Arc<DomainError>> for Failure {
    fn from(error: Arc<DomainError>) -> Self {
        match error.as_ref() {
            DomainError::Internal(_) => Self::internal(error),
            _ => reported(&error).caused_by(error),
        }
    }
}

fn reported(error: &DomainError) -> Failure {
    let code = match error {
        DomainError::Invalid { .. } => ErrorCode::BadUserInput,
        DomainError::InvalidCursor { .. } => ErrorCode::InvalidCursor,
        DomainError::Forbidden(_) => ErrorCode::Forbidden,
        DomainError::Unavailable(_) | DomainError::Newer(_) => ErrorCode::Unavailable,
        DomainError::Timeout(_) => ErrorCode::Timeout,
        DomainError::Internal(_) => ErrorCode::Internal,
    };
    Failure::new(code, error.to_string())
}

/// Converts an error from reading a stored document.
pub(crate) fn stored<T, E: Into<DomainError>>(read: Result<T, E>) -> Result<T, Failure> {
    read.map_err(|error| Failure::from(error.into()))
}
