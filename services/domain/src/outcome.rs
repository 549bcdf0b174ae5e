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
        place: FieldPath<'_>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            path: place.iter().map(ToString::to_string).collect(),
            current_revision: None,
        }
    }

    /// The same error at another input path.
    pub(crate) fn at(self, place: FieldPath<'_>) -> Self {
        Self {
            path: place.iter().map(ToString::to_string).collect(),
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
        place: FieldPath<'_>,
        message: impl Into<String>,
    ) {
        self.0.push(UserError::new(code, place, message));
    }

    /// Notes that the input at this place is wrong.
    pub(crate) fn invalid(&mut self, place: FieldPath<'_>, message: impl Into<String>) {
        self.add(UserErrorCode::Invalid, place, message);
    }

    /// Notes that what is named at this place does not exist.
    pub(crate) fn missing(&mut self, place: FieldPath<'_>, message: impl Into<String>) {
        self.add(UserErrorCode::NotFound, place, message);
    }

    /// Notes that the name at this place belongs to something else.
    pub(crate) fn taken(&mut self, place: FieldPath<'_>, message: impl Into<String>) {
        self.add(UserErrorCode::Taken, place, message);
    }

    /// Notes what a check says of the input at this place.
    pub(crate) fn check(&mut self, place: FieldPath<'_>, checked: Checked) {
        self.check_as(UserErrorCode::Invalid, place, checked);
    }

    /// Notes that a cap is exceeded.
    pub(crate) fn cap(&mut self, place: FieldPath<'_>, checked: Checked) {
        self.check_as(UserErrorCode::TooLarge, place, checked);
    }

    fn check_as(&mut self, code: UserErrorCode, place: FieldPath<'_>, checked: Checked) {
        if let Err(reason) = checked {
            self.add(code, place, reason);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
impl ValidationErrors {
    /// Code and path of each, for tests.
    pub(crate) fn places(&self) -> Vec<(UserErrorCode, String)> {
        let place = |refusal: &UserError| (refusal.code, refusal.path.join("."));
        self.0.iter().map(place).collect()
    }
}
