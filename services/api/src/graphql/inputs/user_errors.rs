//! What is wrong with the input of a mutation, collected so that a form can show all of it.

use async_graphql::{ID, MaybeUndefined};
use vitrine_domain::outcome::{UserError, UserErrorCode};
use vitrine_domain::reviewing::ReviewKey;
use vitrine_model::id::{CategoryId, GlobalId, ProductId, SupplierId};

/// An order as the caller gave it.
#[derive(Debug)]
pub(crate) struct Asked<T> {
    /// A name for the order that makes it safe to give twice.
    pub(crate) idempotency_key: Option<String>,
    /// The revision that the caller has seen.
    pub(crate) expected_revision: Option<i32>,
    /// What is wanted, or everything that is wrong with it.
    pub(crate) wanted: Result<T, Vec<UserError>>,
}

/// What was found wrong so far.
#[derive(Debug, Default)]
pub(crate) struct UserErrors(Vec<UserError>);

impl UserErrors {
    /// Notes that the input at `path` is wrong.
    pub(crate) fn add(&mut self, path: Vec<String>, message: impl Into<String>) {
        self.0.push(UserError {
            code: UserErrorCode::Invalid,
            message: message.into(),
            path,
            current_revision: None,
        });
    }

    /// The value of a field that may be left out but not cleared.
    pub(crate) fn kept<T>(&mut self, field: &str, value: MaybeUndefined<T>) -> Option<T> {
        if value.is_null() {
            let told = format!("{field} cannot be cleared; leave it out to keep it as it is");
            self.add(path([field]), told);
        }
        value.take()
    }

    /// The id of a product.
    pub(crate) fn product(&mut self, path: Vec<String>, id: &ID) -> Option<ProductId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Product(id)) => Some(id),
            _ => self.no_id(path, "product"),
        }
    }

    /// The id of a review.
    pub(crate) fn review(&mut self, path: Vec<String>, id: &ID) -> Option<ReviewKey> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Review(product, id)) => Some((product, id)),
            _ => self.no_id(path, "review"),
        }
    }

    /// The id of a category.
    pub(crate) fn category(&mut self, path: Vec<String>, id: &ID) -> Option<CategoryId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Category(id)) => Some(id),
            _ => self.no_id(path, "category"),
        }
    }

    /// The id of a supplier.
    pub(crate) fn supplier(&mut self, path: Vec<String>, id: &ID) -> Option<SupplierId> {
        match GlobalId::decode(id) {
            Ok(GlobalId::Supplier(id)) => Some(id),
            _ => self.no_id(path, "supplier"),
        }
    }

    /// What was read, unless something is wrong. `None` stands for a part that was refused.
    pub(crate) fn unless_any<T>(self, read: Option<T>) -> Result<T, Vec<UserError>> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => Err(self.0),
        }
    }

    fn no_id<T>(&mut self, path: Vec<String>, of: &str) -> Option<T> {
        self.add(path, format!("not the id of a {of}"));
        None
    }
}

/// A path in an input.
pub(crate) fn path<const N: usize>(segments: [&str; N]) -> Vec<String> {
    segments.map(str::to_owned).to_vec()
}

/// A value that may be left out, given, or cleared with null.
#[expect(
    clippy::option_option,
    reason = "patches of the domain say it like this"
)]
pub(crate) fn clearable<T>(value: MaybeUndefined<T>) -> Option<Option<T>> {
    value.into()
}
