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
    /// The bad values of fields whose list is still being read: dropped if a later field has a
    /// value, otherwise why the line is rejected.
    pub(super) passed: Vec<Rejection>,
    /// The trace of each value; `None` unless the row is traced.
    pub(crate) trace: Option<Vec<Traced>>,
}

/// How one value of a row was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The setting that says so: `product.brand`, or a rule.
    pub setting: String,
    /// The path of the value; empty for values that are not in the row.
    pub path: String,
    /// The value in the row as JSON, shortened; empty if it is not there.
    pub raw: String,
    /// The mapped value, `None` if it is unknown, or why it is invalid.
    pub value: Result<Option<String>, String>,
}

impl Problems {
    /// Records an invalid value.
    pub(crate) fn bad(&mut self, on_bad: OnBad, field: &str, reason: impl Into<String>) {
        match on_bad {
            OnBad::RejectLine => self.fatal.push(Rejection::new(field, reason)),
            OnBad::DropValue => self.dropped.push(Rejection::new(field, reason)),
            OnBad::Ignore => self.ignored.push(Rejection::new(field, reason)),
            OnBad::NextField => self.passed.push(Rejection::new(field, reason)),
        }
    }

    /// Returns the first value of a list of fields. `last` is false if it is in another list, whose
    /// later fields may still have a value.
    pub(crate) fn first_of<F, T>(
        &mut self,
        fields: impl IntoIterator<Item = F>,
        last: bool,
        mut read: impl FnMut(F, &mut Self) -> Option<T>,
    ) -> Option<T> {
        let before = self.passed.len();
        let mut fields = fields.into_iter();
        let found = fields.find_map(|field| read(field, self));
        if found.is_some() {
            let passed = self.passed.drain(before..);
            self.dropped.extend(passed.map(|one| Rejection {
                reason: format!("{}; a later field of the list has a value", one.reason),
                ..one
            }));
        } else if last {
            self.fatal.extend(self.passed.drain(before..));
        }
        found
    }

    /// Adds an entry to the trace. Does nothing unless the row is traced (`--sample`).
    pub(crate) fn trace(&mut self, traced: impl FnOnce() -> Traced) {
        if let Some(trace) = &mut self.trace {
            trace.push(traced());
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
