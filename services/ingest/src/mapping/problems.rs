//! What was wrong with one line.

use vitrine_model::import::Rejection;

use super::reading::OnBad;

/// What was found wrong while a line was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    /// Why the line is rejected; empty when it is not.
    pub(crate) fatal: Vec<Rejection>,
    /// What is left out of the line.
    pub(crate) dropped: Vec<Rejection>,
}

impl Problems {
    /// Notes a bad value.
    pub(crate) fn bad(&mut self, on_bad: OnBad, field: &str, reason: impl Into<String>) {
        match on_bad {
            OnBad::RejectLine => self.fatal.push(Rejection::new(field, reason)),
            OnBad::DropValue => self.dropped.push(Rejection::new(field, reason)),
            OnBad::Ignore => {}
        }
    }

    /// Notes that something the line cannot do without is not there.
    pub(crate) fn missing(&mut self, field: &str) {
        if !self.fatal.iter().any(|known| known.field == field) {
            self.fatal.push(Rejection::new(field, "is missing"));
        }
    }

    /// The value, or a note about why there is none.
    pub(crate) fn note<T>(
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
