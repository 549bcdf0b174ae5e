//! Inputs about imports.

use async_graphql::{ID, InputObject};
use vitrine_model::import_run::ImportId;

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
        let id = match self.id.parse() {
            Ok(id) => Some(id),
            Err(wrong) => {
                let wrong: vitrine_model::import_run::InvalidImportId = wrong;
                errors.add(path(["id"]), wrong.to_string());
                None
            }
        };
        ParsedInput {
            idempotency_key: None,
            expected_revision: None,
            value: errors.finish(id),
        }
    }
}
