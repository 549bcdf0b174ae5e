//! The author of a review.

use vitrine_model::id::AuthorId;
use vitrine_model::import::{ExternalRef, digest};
use vitrine_model::review::Author;

use super::super::field::Field;
use super::super::path::Row;
use super::super::problems::Problems;
use super::super::product::text;

/// The fields of an author: an id, a name or both.
#[derive(Clone, Debug)]
pub(super) struct AuthorFields {
    pub(super) id: Option<Field>,
    pub(super) name: Option<Field>,
}

impl AuthorFields {
    /// The author of a review from this origin. An author without an id is another one in each review: equal names do
    /// not make one person.
    pub(super) fn author(
        &self,
        origin: &ExternalRef,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<Author> {
        let id = text(self.id.as_ref(), row, problems);
        let name = text(self.name.as_ref(), row, problems);
        let (local_id, name) = match (id, name) {
            (Some(id), name) => (id.clone(), name.unwrap_or(id)),
            (None, Some(name)) => (format!("review-{}", digest(&origin.external_id)), name),
            (None, None) => return None,
        };
        Some(Author {
            id: AuthorId(format!("{}:{local_id}", origin.system)),
            name,
        })
    }
}
