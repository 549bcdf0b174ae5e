//! The problems of a line.

use vitrine_model::import::Rejection;

use super::reading::OnBad;

/// The problems found while a line was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    /// Why the line is rejected; empty if it is not.
    pub(crate) fatal: Vec<Rejection>,
    /// The values that are dropped.
    pub(crate) dropped: Vec<Rejection>,
    /// The values that are dropped and only counted.
    pub(crate) ignored: Vec<Rejection>,
}

impl Problems {
    /// Records an invalid value.
    pub(crate) fn bad(&mut self, on_bad: OnBad, field: &str, reason: impl Into<String>) {
        match on_bad {
            OnBad::RejectLine => self.fatal.push(Rejection::new(field, reason)),
            OnBad::DropValue => self.dropped.push(Rejection::new(field, reason)),
            OnBad::Ignore => self.ignored.push(Rejection::new(field, reason)),
        }
    }

    /// Records that a required field is missing.
    pub(crate) fn missing(&mut self, field: &str) {
        if !self.fatal.iter().any(|known| known.field == field) {
            self.fatal.push(Rejection::new(field, "is missing"));
        }
    }

    /// Returns the value, or records why it is invalid.
    pub(crate) fn ok_or_record<T>(
        &mut self,
        on_bad: OnBad,
        field: &str,
        read: Result<Option<T>, String>,
    ) -> Option<T> {
        read.unwrap_or_else(|reason| {
            self.bad(on_bad, field, reason);
            None
        })
    }
}
