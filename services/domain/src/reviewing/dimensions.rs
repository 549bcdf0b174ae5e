//! Review dimensions: the aspects of a product that are rated besides the whole. Defined for a
//! kind, or for a category and its descendants.

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

/// The maximum number of dimensions per kind or category.
const MAX_DIMENSIONS: usize = 20;
/// The maximum length of a dimension's name, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// The products that dimensions apply to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DimensionScope {
    /// The products of a kind.
    Kind(String),
    /// The products of a category, named by its slug, and of its descendants.
    Category(String),
}

/// The review dimensions of some products.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewDimensions {
    /// The products that they apply to.
    pub of: DimensionScope,
    /// The names: lower-case letters, digits and underscores.
    pub names: Vec<String>,
}

impl Reference {
    /// The dimensions that apply to products of this kind and category, sorted by name.
    #[must_use]
    pub fn review_dimensions_of(&self, kind: &str, category: CategoryId) -> Vec<String> {
        let category = self.categories.current(category);
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
    /// Replaces the dimensions of a kind or category; no names remove them. Existing reviews keep
    /// theirs.
    pub async fn define_review_dimensions(
        &self,
        request: MutationRequest,
        dimensions: ReviewDimensions,
    ) -> Result<Outcome<ReviewDimensions>, DomainError> {
        let define = Define(dimensions.clone());
        self.execute(request, ("defineReviewDimensions", "", &dimensions), define)
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
        let mut errors = ValidationErrors::default();
        let given = &self.0;
        if given.names.len() > MAX_DIMENSIONS {
            let message = format!(
                "{} names; at most {MAX_DIMENSIONS} are possible",
                given.names.len()
            );
            errors.add(UserErrorCode::TooLarge, &[&"names"], message);
        }
        for (n, name) in given.names.iter().enumerate() {
            let letters = name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            if !letters || !(1..=MAX_NAME_BYTES).contains(&name.len()) {
                let message = format!(
                    "a name is 1 to {MAX_NAME_BYTES} lower-case letters, digits and underscores"
                );
                errors.invalid(&[&"names", &n], message);
            }
            if given.names[..n].contains(name) {
                errors.invalid(&[&"names", &n], format!("{name} is named twice"));
            }
        }
        let category = match &given.of {
            DimensionScope::Kind(kind) => {
                errors.check(&[&"kind"], limits::kind(kind));
                None
            }
            DimensionScope::Category(slug) => {
                let category = at.reference.categories.by_slug(slug);
                if category.is_none() {
                    errors.missing(&[&"category"], "there is no category with this slug");
                }
                category.map(|category| category.id)
            }
        };
        if !errors.is_empty() {
            return Ok(Step::refused(errors.0, None));
        }
        match (&given.of, category) {
            (DimensionScope::Kind(kind), _) => unit.set_kind_dimensions(kind, &given.names).await?,
            (_, Some(category)) => unit.set_category_dimensions(category, &given.names).await?,
            (DimensionScope::Category(_), None) => {}
        }
        Ok(Step::done(given.clone(), Change::Reference))
    }
}
