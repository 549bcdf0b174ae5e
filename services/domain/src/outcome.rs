//! How a mutation ends: with an answer, or with the reasons why it is refused.
//!
//! Expected refusals are return values: nothing is written, and each names the input field it is
//! about. A [`DomainError`](crate::DomainError) is for failures that the caller cannot correct.

use std::fmt::Display;

use serde::Serialize;

use crate::limits::Checked;

/// The result of a mutation.
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// It was applied, now or by an earlier request with the same idempotency key.
    Done(T),
    /// It was refused; nothing was written.
    Refused {
        /// The reasons, at least one.
        refusals: Vec<UserError>,
        /// The current state of the object, if it exists.
        current: Option<T>,
    },
}

/// A reason why a mutation is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserError {
    /// The kind of reason.
    pub code: UserErrorCode,
    /// What is wrong and what would be right.
    pub message: String,
    /// The path of the input field, such as `["specs", "2", "unit"]`. Empty when it concerns the
    /// whole input.
    pub path: Vec<String>,
    /// The current revision of the object, for [`UserErrorCode::RevisionConflict`].
    pub current_revision: Option<i64>,
}

/// The kinds of reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum UserErrorCode {
    /// An input value is invalid.
    Invalid,
    /// The input names something that does not exist.
    NotFound,
    /// The name, slug, SKU or spelling belongs to another object.
    Taken,
    /// The object has another revision than the caller expected.
    RevisionConflict,
    /// The idempotency key was used with different input.
    IdempotencyConflict,
    /// A value contradicts the type, dimension or allowed values of its key.
    TypeMismatch,
    /// A limit would be exceeded.
    TooLarge,
    /// It cannot be changed because stored values depend on it.
    InUse,
    /// The author already has a review of this product.
    AlreadyReviewed,
    /// The caller may not act on this review: it is somebody else's, or their own where authors may
    /// not act.
    NotAllowed,
    /// The state of the product or review does not allow it.
    NotOpen,
}

/// The path of an input field: `&[&"specs", &2, &"unit"]`.
pub(crate) type FieldPath<'a> = &'a [&'a dyn Display];

impl UserError {
    /// An error at the given input path.
    pub(crate) fn new(
        code: UserErrorCode,
        path: FieldPath<'_>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            path: path.iter().map(ToString::to_string).collect(),
            current_revision: None,
        }
    }

    /// The same error at another input path.
    pub(crate) fn at(self, path: FieldPath<'_>) -> Self {
        Self {
            path: path.iter().map(ToString::to_string).collect(),
            ..self
        }
    }
}

/// All errors found in an input.
#[derive(Debug, Default)]
pub(crate) struct ValidationErrors(pub(crate) Vec<UserError>);

impl ValidationErrors {
    pub(crate) fn add(
        &mut self,
        code: UserErrorCode,
        path: FieldPath<'_>,
        message: impl Into<String>,
    ) {
        self.0.push(UserError::new(code, path, message));
    }

    /// Adds an error: the value at this path is invalid.
    pub(crate) fn invalid(&mut self, path: FieldPath<'_>, message: impl Into<String>) {
        self.add(UserErrorCode::Invalid, path, message);
    }

    /// Adds an error: the object named at this path does not exist.
    pub(crate) fn missing(&mut self, path: FieldPath<'_>, message: impl Into<String>) {
        self.add(UserErrorCode::NotFound, path, message);
    }

    /// Adds an error: the name at this path belongs to another object.
    pub(crate) fn taken(&mut self, path: FieldPath<'_>, message: impl Into<String>) {
        self.add(UserErrorCode::Taken, path, message);
    }

    /// Adds the error of a failed check.
    pub(crate) fn check(&mut self, path: FieldPath<'_>, checked: Checked) {
        self.check_as(UserErrorCode::Invalid, path, checked);
    }

    /// Adds the error of an exceeded limit.
    pub(crate) fn cap(&mut self, path: FieldPath<'_>, checked: Checked) {
        self.check_as(UserErrorCode::TooLarge, path, checked);
    }

    fn check_as(&mut self, code: UserErrorCode, path: FieldPath<'_>, checked: Checked) {
        if let Err(reason) = checked {
            self.add(code, path, reason);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
impl ValidationErrors {
    /// Code and path of each error.
    pub(crate) fn codes_and_paths(&self) -> Vec<(UserErrorCode, String)> {
        let path = |refusal: &UserError| (refusal.code, refusal.path.join("."));
        self.0.iter().map(path).collect()
    }
}
