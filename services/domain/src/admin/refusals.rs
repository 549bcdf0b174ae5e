//! Collecting everything that is wrong with an order, with where it is.

use std::fmt::Display;

use super::{UserError, UserErrorCode};
use crate::limits::Checked;

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
