//! Hints: what resolvers have to say to the developer of a client although nothing failed, such as
//! that a filter names something that does not exist. They travel as `extensions.hints`.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_graphql::ContextBase;
use serde::Serialize;
use serde_json::Map;

use super::{failure::path_of, limits::MAX_HINTS, restore::spelled};

/// One hint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Hint {
    /// Which argument it is about: `filter.specs[0].key`.
    pub path: String,
    /// What is odd about it and what may have been meant.
    pub message: String,
}

/// The hints of one request. Cheap to clone; all clones collect for the same answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints(Arc<Mutex<Vec<Told>>>);

/// A hint and the response path of the field that gave it.
#[derive(Debug)]
struct Told {
    field: String,
    hint: Hint,
}

/// Adds hints of the field that `ctx` is resolving to the answer.
pub fn hint<T>(ctx: &ContextBase<'_, T>, hints: impl IntoIterator<Item = Hint>) {
    let Some(collected) = ctx.data_opt::<Hints>() else {
        return;
    };
    let path = ctx.path_node.as_ref().map(path_of).unwrap_or_default();
    let field = spelled(&path);
    let told = hints.into_iter().map(|hint| Told {
        field: field.clone(),
        hint,
    });
    collected.lock().extend(told);
}

impl Hints {
    /// Moves what was collected to the extensions of an answer, if there is anything. Fields run at
    /// the same time, so hints are put in the order of their fields.
    pub(super) fn tell(&self, extensions: &mut Map<String, serde_json::Value>) {
        let mut told = std::mem::take(&mut *self.lock());
        told.sort_by(|a, b| a.field.cmp(&b.field));
        let mut seen = HashSet::new();
        let hints: Vec<_> = told
            .into_iter()
            .map(|told| told.hint)
            .filter(|hint| seen.insert(hint.clone()))
            .take(MAX_HINTS)
            .map(|hint| serde_json::json!(hint))
            .collect();
        if !hints.is_empty() {
            extensions.insert("hints".to_owned(), hints.into());
        }
    }

    /// A resolver that panicked while it held the lock has added all or nothing.
    fn lock(&self) -> MutexGuard<'_, Vec<Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
