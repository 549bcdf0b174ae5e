//! How a mutation ends: with an answer, or with the reasons for which it is refused.
//!
//! Expected refusals are values, not errors: nothing is written, and each reason names the input field
//! it is about. A [`DomainError`](crate::DomainError) is only for what the caller cannot correct.

use std::fmt::Display;

use serde::Serialize;

use crate::limits::Checked;

/// What became of an order.
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// It was carried out, now or when it was first given.
    Done(T),
    /// It was refused; nothing was written.
    Refused {
        /// Why: at least one reason.
        refusals: Vec<UserError>,
        /// The thing as it is, where there is one.
        current: Option<T>,
    },
}

/// Why an order is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserError {
    /// What kind of reason.
    pub code: UserErrorCode,
    /// What is wrong and what would be right.
    pub message: String,
    /// Where in the input: `["specs", "2", "unit"]`. Empty when it is about the whole.
    pub path: Vec<String>,
    /// The revision that the thing has, for [`UserErrorCode::RevisionConflict`].
    pub current_revision: Option<i64>,
}

/// The kinds of reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum UserErrorCode {
    /// An input is wrong.
    Invalid,
    /// Something the input names does not exist.
    NotFound,
    /// Another thing has this name, slug, sku or spelling.
    Taken,
    /// The thing changed since the revision the caller expected.
    RevisionConflict,
    /// The same idempotency key was used for another input.
    IdempotencyConflict,
    /// A value contradicts the type, dimension or allowed values of its key.
    TypeMismatch,
    /// A cap would be exceeded.
    TooLarge,
    /// It cannot be changed any more because values exist.
    InUse,
    /// The author has reviewed the product already.
    AlreadyReviewed,
    /// Somebody else's review, or one's own where only others may act.
    NotAllowed,
    /// The product or the review is not in a state for it.
    NotOpen,
}

/// Where something is in an input: `&[&"specs", &2, &"unit"]`.
pub(crate) type FieldPath<'a> = &'a [&'a dyn Display];

impl UserError {
    /// A reason, about the input at this place.
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

    /// The same reason, about the input at another place.
    pub(crate) fn at(self, place: FieldPath<'_>) -> Self {
        Self {
            path: place.iter().map(ToString::to_string).collect(),
            ..self
        }
    }
}

/// Everything that is wrong with an order.
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
