//! The custom scalars of the schema, as the validator needs them.

use std::{collections::HashMap, sync::Arc};

/// Checks whether a text is a value of a scalar. The reason for a refusal is sent to the client and
/// must not quote anything but the text itself.
pub(super) type Check = fn(&str) -> Result<(), String>;

/// The checks of custom scalars by name. All custom scalars are strings in JSON.
///
/// A scalar without a check accepts any value, as the specification allows.
#[derive(Clone, Debug, Default)]
pub struct Scalars(Arc<HashMap<&'static str, Check>>);

impl Scalars {
    /// Creates an empty set.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a scalar whose values are strings accepted by `check`.
    #[must_use]
    pub fn with(mut self, name: &'static str, check: fn(&str) -> Result<(), String>) -> Self {
        Arc::make_mut(&mut self.0).insert(name, check);
        self
    }

    /// Returns the check of one scalar.
    pub(super) fn get(&self, name: &str) -> Option<Check> {
        self.0.get(name).copied()
    }
}
