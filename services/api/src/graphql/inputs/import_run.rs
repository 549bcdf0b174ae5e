//! Inputs about imports.

use async_graphql::{ID, InputObject};
use vitrine_model::id::ImportId;

use super::user_errors::{ParsedInput, UserErrors, path};

/// The input of `stopImport`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct StopImportInput {
    /// The id of the import.
    id: ID,
}

impl StopImportInput {
    pub(crate) fn parse(self) -> ParsedInput<ImportId> {
        let mut errors = UserErrors::default();
        let id = errors.import(path(["id"]), &self.id);
        ParsedInput {
            idempotency_key: None,
            expected_revision: None,
            value: errors.finish(id),
        }
    }
}
