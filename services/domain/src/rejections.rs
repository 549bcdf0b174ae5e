//! Collects the errors of a record of a file.

use vitrine_model::import::Rejection;

use crate::limits::{self, Checked};

/// The reasons why a record is rejected.
#[derive(Debug, Default)]
pub(crate) struct Rejections(Vec<Rejection>);

impl Rejections {
    /// Returns all reasons; none for a valid record.
    pub(crate) fn into_all(self) -> Vec<Rejection> {
        self.0
    }

    /// Adds a reason.
    pub(crate) fn add(&mut self, field: &str, reason: impl Into<String>) {
        self.0.push(Rejection::new(field, reason));
    }

    /// Adds a reason unless a condition holds.
    pub(crate) fn ensure(&mut self, holds: bool, field: &str, reason: impl FnOnce() -> String) {
        if !holds {
            self.add(field, reason());
        }
    }

    /// Adds the error of a check.
    pub(crate) fn check(&mut self, field: &str, checked: Checked) {
        if let Err(reason) = checked {
            self.add(field, reason);
        }
    }

    /// Checks a text and its length in characters.
    pub(crate) fn text(&mut self, field: &str, text: &str, min: usize, max: usize) {
        self.check(field, limits::text(text, min..=max));
    }

    /// Checks a text of at least one character, if there is one.
    pub(crate) fn optional(&mut self, field: &str, text: Option<&str>, max: usize) {
        if let Some(text) = text {
            self.text(field, text, 1, max);
        }
    }
}
