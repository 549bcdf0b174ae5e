//! The codes an error carries in `extensions.code`.

/// What kind of failure an error is; clients decide by it, never by the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The text of the document is not GraphQL.
    GraphqlParseFailed,
    /// The document breaks a validation rule of the specification.
    GraphqlValidationFailed,
    /// A value the client sent cannot be used; correct it before trying again.
    BadUserInput,
    /// A cursor is foreign, stale or damaged; start again from the first page.
    InvalidCursor,
    /// The request is larger or dearer than this caller may ask for.
    CostExceeded,
    /// The caller must say who they are.
    Unauthenticated,
    /// The caller is known and may not do this.
    Forbidden,
    /// The thing named in the request does not exist.
    NotFound,
    /// The caller asked too often; wait and try again.
    RateLimited,
    /// The answer took longer than the deadline; the work may still complete.
    Timeout,
    /// The service cannot answer at the moment; try again.
    Unavailable,
    /// A fault of the service; the message says nothing but the request id.
    Internal,
}

impl ErrorCode {
    /// The code as it travels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GraphqlParseFailed => "GRAPHQL_PARSE_FAILED",
            Self::GraphqlValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::InvalidCursor => "INVALID_CURSOR",
            Self::CostExceeded => "COST_EXCEEDED",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::RateLimited => "RATE_LIMITED",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    /// Whether the same request may succeed later without being changed.
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Timeout | Self::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn only_faults_that_pass_by_themselves_are_retryable() {
        assert!(ErrorCode::RateLimited.retryable());
        assert!(ErrorCode::Timeout.retryable());
        assert!(ErrorCode::Unavailable.retryable());
        assert!(!ErrorCode::Internal.retryable());
        assert!(!ErrorCode::BadUserInput.retryable());
    }
}
