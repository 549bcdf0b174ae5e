//! The error codes in `extensions.code`.

/// The code of an error. Clients handle errors by their code, never by their message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The text of the document is not GraphQL.
    GraphqlParseFailed,
    /// The document breaks a validation rule of the specification.
    GraphqlValidationFailed,
    /// The client sent an invalid value and must correct it before retrying.
    BadUserInput,
    /// A cursor is invalid: of another list, expired or damaged. Restart from the first page.
    InvalidCursor,
    /// The request is larger or more expensive than the limits for this caller.
    CostExceeded,
    /// The client named a query by its hash, and the service does not have it: send its text, too.
    PersistedQueryNotFound,
    /// The caller must authenticate.
    Unauthenticated,
    /// The caller is authenticated but not permitted to do this.
    Forbidden,
    /// An object named in the request does not exist.
    NotFound,
    /// The caller sent too many requests; retry later.
    RateLimited,
    /// The response was not ready before the deadline; the work may still complete.
    Timeout,
    /// The service is temporarily unavailable; retry later.
    Unavailable,
    /// An internal error. The response contains only the request id.
    Internal,
}

impl ErrorCode {
    /// Returns the code as it is sent to clients.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GraphqlParseFailed => "GRAPHQL_PARSE_FAILED",
            Self::GraphqlValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::InvalidCursor => "INVALID_CURSOR",
            Self::CostExceeded => "COST_EXCEEDED",
            Self::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::RateLimited => "RATE_LIMITED",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    /// Whether the unchanged request may succeed later.
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Timeout | Self::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn only_temporary_errors_are_retryable() {
        assert!(ErrorCode::RateLimited.retryable());
        assert!(ErrorCode::Timeout.retryable());
        assert!(ErrorCode::Unavailable.retryable());
        assert!(!ErrorCode::Internal.retryable());
        assert!(!ErrorCode::BadUserInput.retryable());
    }
}
