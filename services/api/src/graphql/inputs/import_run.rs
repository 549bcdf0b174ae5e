//! Inputs about imports.

use async_graphql::{ID, InputObject};
use vitrine_domain::admin::imports::NewImport;
use vitrine_model::id::{ImportId, UploadId};

use super::user_errors::{ParsedInput, UserErrors, path};

/// The input of `startImport`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct StartImportInput {
    /// The ids of the uploads to read, in this order; 1 to 20.
    feeds: Vec<ID>,
    /// The ids of uploads that the mapping names, at most 20 of at most 64 MiB: files to look values up in, and to
    /// join with.
    tables: Option<Vec<ID>>,
    /// The mapping, as TOML, at most 200,000 characters.
    mapping: String,
    /// Whether to store nothing, and only to report.
    #[graphql(default_with = "Some(false)")]
    dry_run: Option<bool>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl StartImportInput {
    pub(crate) fn parse(self) -> ParsedInput<NewImport> {
        let mut errors = UserErrors::default();
        let mut uploads = |field: &str, ids: &[ID]| -> Vec<UploadId> {
            let ids = ids.iter().enumerate();
            ids.filter_map(|(at, id)| errors.upload(path([field, &at.to_string()]), id))
                .collect()
        };
        let new = NewImport {
            feeds: uploads("feeds", &self.feeds),
            tables: uploads("tables", &self.tables.unwrap_or_default()),
            mapping: self.mapping,
            dry_run: self.dry_run.unwrap_or(false),
        };
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: errors.finish(Some(new)),
        }
    }
}

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
