//! The aspects that products are rated by, beside the stars for the whole: defined for a kind, or for
//! a category and all below it.

use serde::{Deserialize, Serialize};
use vitrine_model::id::CategoryId;
use vitrine_storage::StorageError;
use vitrine_storage::write::WriteUnit;

use crate::admin::MutationRequest;
use crate::admin::commands::{Attempt, Change, Command, Step};
use crate::limits;
use crate::outcome::{Outcome, UserErrorCode, ValidationErrors};
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// The most aspects of a kind or category.
const MAX_DIMENSIONS: usize = 20;
/// The longest name of an aspect, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// Which products are rated by some aspects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RatedBy {
    /// Those of a kind.
    Kind(String),
    /// Those of a category, named by its slug, and of all below it.
    Category(String),
}

/// The aspects that some products are rated by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewDimensions {
    /// Which products.
    pub of: RatedBy,
    /// The names: lower-case letters, digits and underscores.
    pub names: Vec<String>,
}

impl Reference {
    /// The aspects that products of this kind in this category are rated by, in the order of
    /// names.
    #[must_use]
    pub fn review_dimensions_of(&self, kind: &str, category: CategoryId) -> Vec<String> {
        let mut names: Vec<String> = self.dimensions.of_kind(kind).to_vec();
        names.extend_from_slice(self.dimensions.of_category(category));
        for above in self.categories.ancestors(category) {
            names.extend_from_slice(self.dimensions.of_category(above.id));
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Catalog {
    /// Says by which aspects products are rated; no names take all away. Reviews that have others
    /// keep them.
    pub async fn define_review_dimensions(
        &self,
        order: MutationRequest,
        dimensions: ReviewDimensions,
    ) -> Result<Outcome<ReviewDimensions>, DomainError> {
        let define = Define(dimensions.clone());
        self.execute(order, ("defineReviewDimensions", "", &dimensions), define)
            .await
    }
}

struct Define(ReviewDimensions);

impl Command for Define {
    type Answer = ReviewDimensions;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<ReviewDimensions>, StorageError> {
        let mut found = ValidationErrors::default();
        let given = &self.0;
        if given.names.len() > MAX_DIMENSIONS {
            let message = format!(
                "{} names; at most {MAX_DIMENSIONS} are possible",
                given.names.len()
            );
            found.add(UserErrorCode::TooLarge, &[&"names"], message);
        }
        for (n, name) in given.names.iter().enumerate() {
            let letters = name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            if !letters || !(1..=MAX_NAME_BYTES).contains(&name.len()) {
                let message = format!(
                    "a name is 1 to {MAX_NAME_BYTES} lower-case letters, digits and underscores"
                );
                found.invalid(&[&"names", &n], message);
            }
            if given.names[..n].contains(name) {
                found.invalid(&[&"names", &n], format!("{name} is named twice"));
            }
        }
        let category = match &given.of {
            RatedBy::Kind(kind) => {
                found.check(&[&"kind"], limits::kind(kind));
                None
            }
            RatedBy::Category(slug) => {
                let category = at.reference.categories.by_slug(slug);
                if category.is_none() {
                    found.missing(&[&"category"], "there is no category with this slug");
                }
                category.map(|category| category.id)
            }
        };
        if !found.is_empty() {
            return Ok(Step::refused(found.0, None));
        }
        match (&given.of, category) {
            (RatedBy::Kind(kind), _) => unit.set_kind_dimensions(kind, &given.names).await?,
            (_, Some(category)) => unit.set_category_dimensions(category, &given.names).await?,
            (RatedBy::Category(_), None) => {}
        }
        Ok(Step::done(given.clone(), Change::Reference))
    }
}
