//! Hints for the developers of clients about suspicious input that is not an error, such as a
//! filter that names something that does not exist. They are sent in `extensions.hints`.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_graphql::ContextBase;
use serde::Serialize;
use serde_json::Map;

use super::{failure::path_of, limits::MAX_HINTS, restore::path_text};

/// A hint about an argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Hint {
    /// The path of the argument: `filter.specs[0].key`.
    pub path: String,
    /// What is suspicious and what may have been meant.
    pub message: String,
}

/// The hints of one request. Cheap to clone; all clones share the same list.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints(Arc<Mutex<Vec<FieldHint>>>);

/// A hint with the response path of the field that reported it.
#[derive(Debug)]
struct FieldHint {
    field: String,
    hint: Hint,
}

/// Adds hints about the field that `ctx` is resolving to the response.
pub fn hint<T>(ctx: &ContextBase<'_, T>, hints: impl IntoIterator<Item = Hint>) {
    let Some(collected) = ctx.data_opt::<Hints>() else {
        return;
    };
    let path = ctx.path_node.as_ref().map(path_of).unwrap_or_default();
    let field = path_text(&path);
    let hints = hints.into_iter().map(|hint| FieldHint {
        field: field.clone(),
        hint,
    });
    collected.lock().extend(hints);
}

impl Hints {
    /// Moves the collected hints to the extensions of a response. Fields run concurrently, so the
    /// hints are sorted by field.
    pub(super) fn drain_into(&self, extensions: &mut Map<String, serde_json::Value>) {
        let mut collected = std::mem::take(&mut *self.lock());
        collected.sort_by(|a, b| a.field.cmp(&b.field));
        let mut seen = HashSet::new();
        let hints: Vec<_> = collected
            .into_iter()
            .map(|collected| collected.hint)
            .filter(|hint| seen.insert(hint.clone()))
            .take(MAX_HINTS)
            .map(|hint| serde_json::json!(hint))
            .collect();
        if !hints.is_empty() {
            extensions.insert("hints".to_owned(), hints.into());
        }
    }

    /// Poisoning can be ignored: a resolver that panicked with the lock held has added all of its
    /// hints or none.
    fn lock(&self) -> MutexGuard<'_, Vec<FieldHint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
