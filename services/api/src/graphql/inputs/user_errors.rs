//! The errors in the input of a mutation, collected so that a form can show all of them.

use async_graphql::{ID, MaybeUndefined};
use vitrine_domain::outcome::{UserError, UserErrorCode};
use vitrine_domain::reviewing::ReviewKey;
use vitrine_model::id::{
    BulkChangeId, CategoryId, GlobalId, ImportId, ProductId, SupplierId, UploadId,
};

/// The parsed input of a mutation.
#[derive(Debug)]
pub(crate) struct ParsedInput<T> {
    /// The idempotency key.
    pub(crate) idempotency_key: Option<String>,
    /// The revision that the caller has seen.
    pub(crate) expected_revision: Option<i32>,
    /// The value in the form of the domain, or all errors in the input.
    pub(crate) value: Result<T, Vec<UserError>>,
}

/// The errors found so far.
#[derive(Debug, Default)]
pub(crate) struct UserErrors(Vec<UserError>);

impl UserErrors {
    /// Adds an error about the input at `path`.
    pub(crate) fn add(&mut self, path: Vec<String>, message: impl Into<String>) {
        self.0.push(UserError {
            code: UserErrorCode::Invalid,
            message: message.into(),
            path,
            current_revision: None,
        });
    }

    /// Returns the value of a field that may be left out. Adds an error if it is null.
    pub(crate) fn not_null<T>(&mut self, field: &str, value: MaybeUndefined<T>) -> Option<T> {
        if value.is_null() {
            let message = format!("{field} cannot be cleared; leave it out to keep it as it is");
            self.add(path([field]), message);
        }
        value.take()
    }

    /// Decodes the id of a product. Adds an error if it is not one.
    pub(crate) fn product(&mut self, path: Vec<String>, id: &ID) -> Option<ProductId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Product(id)) => Some(id),
            _ => self.wrong_id(path, "a product"),
        }
    }

    /// Decodes the id of a review. Adds an error if it is not one.
    pub(crate) fn review(&mut self, path: Vec<String>, id: &ID) -> Option<ReviewKey> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Review(product, id)) => Some((product, id)),
            _ => self.wrong_id(path, "a review"),
        }
    }

    /// Decodes the id of a category. Adds an error if it is not one.
    pub(crate) fn category(&mut self, path: Vec<String>, id: &ID) -> Option<CategoryId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Category(id)) => Some(id),
            _ => self.wrong_id(path, "a category"),
        }
    }

    /// Decodes the id of a supplier. Adds an error if it is not one.
    pub(crate) fn supplier(&mut self, path: Vec<String>, id: &ID) -> Option<SupplierId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Supplier(id)) => Some(id),
            _ => self.wrong_id(path, "a supplier"),
        }
    }

    /// Decodes the id of an import. Adds an error if it is not one.
    pub(crate) fn import(&mut self, path: Vec<String>, id: &ID) -> Option<ImportId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Import(id)) => Some(id),
            _ => self.wrong_id(path, "an import"),
        }
    }

    /// Decodes the id of an upload. Adds an error if it is not one.
    pub(crate) fn upload(&mut self, path: Vec<String>, id: &ID) -> Option<UploadId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Upload(id)) => Some(id),
            _ => self.wrong_id(path, "an upload"),
        }
    }

    /// Decodes the id of a bulk change. Adds an error if it is not one.
    pub(crate) fn bulk_change(&mut self, path: Vec<String>, id: &ID) -> Option<BulkChangeId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::BulkChange(id)) => Some(id),
            _ => self.wrong_id(path, "a bulk change"),
        }
    }

    /// Names the first field of paths as the input does.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        for error in &mut self.0 {
            if let Some(first) = error.path.first_mut()
                && first == from
            {
                to.clone_into(first);
            }
        }
    }

    /// Adds errors about the fields of a field.
    pub(crate) fn add_within(&mut self, field: &str, others: Self) {
        let within = others.0.into_iter().map(|mut error| {
            error.path.insert(0, field.to_owned());
            error
        });
        self.0.extend(within);
    }

    /// Returns the parsed value, or the errors if there are any. The value is `None` if a part of
    /// it was invalid.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Vec<UserError>> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0),
        }
    }

    /// Reads the number of a revision. Adds an error unless it is 1 or more.
    pub(crate) fn revision(&mut self, revision: i32) -> Option<i64> {
        if revision < 1 {
            let message =
                format!("revisions are numbered from 1 on; there is no revision {revision}");
            self.add(path(["revision"]), message);
            return None;
        }
        Some(revision.into())
    }

    fn wrong_id<T>(&mut self, path: Vec<String>, of: &str) -> Option<T> {
        self.add(path, format!("not the id of {of}"));
        None
    }
}

/// Returns a path in an input.
pub(crate) fn path<const N: usize>(segments: [&str; N]) -> Vec<String> {
    segments.map(str::to_owned).to_vec()
}

/// Converts a field that may be left out, set, or cleared with null.
#[expect(clippy::option_option, reason = "patches of the domain have this type")]
pub(crate) fn clearable<T>(value: MaybeUndefined<T>) -> Option<Option<T>> {
    value.into()
}
