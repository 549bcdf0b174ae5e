//! The author of a review.

use vitrine_model::id::AuthorId;
use vitrine_model::import::{ExternalRef, digest};
use vitrine_model::review::Author;

use super::super::field::Field;
use super::super::path::Row;
use super::super::problems::Problems;

/// The fields of an author: an id, a name or both.
#[derive(Clone, Debug)]
pub(super) struct AuthorFields {
    pub(super) id: Option<Field>,
    pub(super) name: Option<Field>,
}

impl AuthorFields {
    /// The author of a review from this origin. An author without an id in the mapping is another
    /// one in each review: equal names do not make one person.
    pub(super) fn author(
        &self,
        origin: &ExternalRef,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<Author> {
        let (local_id, name) = match (&self.id, &self.name) {
            (Some(id), name) => {
                let id = id.text(row, problems)?;
                let name = name.as_ref().and_then(|name| name.text(row, problems));
                (id.clone(), name.unwrap_or(id))
            }
            (None, Some(name)) => {
                let name = name.text(row, problems)?;
                (format!("review-{}", digest(&origin.external_id)), name)
            }
            (None, None) => return None,
        };
        Some(Author {
            id: AuthorId(format!("{}:{local_id}", origin.system)),
            name,
        })
    }
}
