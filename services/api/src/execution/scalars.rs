//! The scalars of our own schema, as the validator must know them.

use std::{collections::HashMap, sync::Arc};

/// Says whether a text is a value of a scalar, and if not, why: the reason is shown to the
/// client and must not quote anything but the text itself.
pub(super) type Check = fn(&str) -> Result<(), String>;

/// The custom scalars by name. All of ours travel as strings.
///
/// A scalar that is missing here accepts any value, as the specification allows.
#[derive(Clone, Debug, Default)]
pub struct Scalars(Arc<HashMap<&'static str, Check>>);

impl Scalars {
    /// No custom scalars.
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

    /// The rule of one scalar.
    pub(super) fn get(&self, name: &str) -> Option<Check> {
        self.0.get(name).copied()
    }
}
