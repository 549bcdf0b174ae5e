//! Restoring products, categories and spec keys as they were at an earlier revision. What is restored is checked like
//! new input: names may be taken meanwhile, and products may have values that a spec key did not allow.

use vitrine_model::category::{Category, CategoryTree};
use vitrine_model::history::MAX_HISTORY;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::spec::SpecKey;
use vitrine_storage::views::ProductView;

use super::categories::{CategoryEdit, UpdateCategory};
use super::keys::{KeyEdit, UpdateKey};
use super::products::{ChangeProduct, Edit};
use super::{CategoryPatch, MutationRequest, SpecKeyPatch};
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::{Catalog, DomainError};

impl Catalog {
    /// Restores the content of a product, its specs included, as it was at an earlier revision. Restoring the current
    /// revision changes nothing.
    pub async fn revert_product(
        &self,
        request: MutationRequest,
        id: ProductId,
        revision: i64,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let named = ("revertProduct", &*id.to_string(), &revision);
        let edit = Edit::Revert(revision);
        self.execute(request, named, ChangeProduct { id, edit })
            .await
    }

    /// Restores a category as it was at an earlier revision.
    pub async fn revert_category(
        &self,
        request: MutationRequest,
        id: CategoryId,
        revision: i64,
    ) -> Result<Outcome<Category>, DomainError> {
        let named = ("revertCategory", &*id.to_string(), &revision);
        let edit = CategoryEdit::Revert(revision);
        self.execute(request, named, UpdateCategory { id, edit })
            .await
    }

    /// Restores a spec key, which may be named by an alias, as it was at an earlier revision. Names that were merged
    /// into it since then stay its aliases.
    pub async fn revert_spec_key(
        &self,
        request: MutationRequest,
        key: String,
        revision: i64,
    ) -> Result<Outcome<SpecKey>, DomainError> {
        let revert = UpdateKey {
            key: key.clone(),
            edit: KeyEdit::Revert(revision),
        };
        self.execute(request, ("revertSpecKey", &key, &revision), revert)
            .await
    }
}

/// The refusal of a revision that an object with the revision `current` never had, or that is no longer kept.
pub(super) fn not_kept(thing: &str, revision: i64, current: i64) -> UserError {
    let message = if revision > current {
        format!("the {thing} has no revision {revision}; its revision is {current}")
    } else {
        format!(
            "revision {revision} of the {thing} cannot be restored: the history has the last {MAX_HISTORY} revisions of the \
             last 400 days, without those that an export brought back"
        )
    };
    UserError::new(UserErrorCode::NotFound, &[&"revision"], message)
}

/// Refusals of restored fields: the input has only the revision, so the message names the field.
pub(super) fn of_revision(refusals: Vec<UserError>) -> Vec<UserError> {
    let of_revision = |refusal: UserError| {
        if refusal.path.is_empty() || refusal.path == ["revision"] {
            return refusal;
        }
        UserError {
            message: format!("{}: {}", refusal.path.join("."), refusal.message),
            path: vec!["revision".to_owned()],
            ..refusal
        }
    };
    refusals.into_iter().map(of_revision).collect()
}

/// The changes that make a category what it was.
pub(super) fn category_patch(earlier: Category, tree: &CategoryTree) -> CategoryPatch {
    let parent = earlier.parent.and_then(|parent| tree.get(parent));
    CategoryPatch {
        name: Some(earlier.name),
        slug: Some(earlier.slug),
        parent: Some(parent.map(|parent| parent.slug.clone())),
        feed_paths: None,
    }
}

/// The changes that make a spec key what it was.
pub(super) fn key_patch(earlier: SpecKey, current: &SpecKey) -> SpecKeyPatch {
    let measure_changed =
        (&earlier.dimension, &earlier.base_unit) != (&current.dimension, &current.base_unit);
    let mut names = [&current.aliases[..], &current.absorbing].concat();
    names.sort_unstable();
    let type_changed = earlier.value_type != current.value_type;
    let measure = type_changed || measure_changed;
    SpecKeyPatch {
        label: Some(earlier.label),
        value_type: type_changed.then_some(earlier.value_type),
        dimension: earlier.dimension.filter(|_| measure),
        base_unit: earlier.base_unit.filter(|_| measure),
        facetable: Some(earlier.facetable),
        filterable: Some(earlier.filterable),
        allowed_values: Some(earlier.allowed_values),
        aliases: (names != earlier.aliases).then_some(earlier.aliases),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_restored_fields_name_the_revision() {
        let slug = UserError::new(UserErrorCode::Taken, &[&"slug"], "is taken");
        let specs = UserError::new(UserErrorCode::TypeMismatch, &[&"specs", &2, &"value"], "no");
        let whole = UserError::new(UserErrorCode::TooLarge, &[], "too large");
        let shown: Vec<_> = of_revision(vec![slug, specs, whole, not_kept("product", 3, 5)])
            .into_iter()
            .map(|refusal| (refusal.path.join("."), refusal.message))
            .collect();
        assert_eq!(
            shown[0],
            ("revision".to_owned(), "slug: is taken".to_owned())
        );
        assert_eq!(
            shown[1],
            ("revision".to_owned(), "specs.2.value: no".to_owned())
        );
        assert_eq!(shown[2], (String::new(), "too large".to_owned()));
        assert!(
            shown[3]
                .1
                .starts_with("revision 3 of the product cannot be restored")
        );
        let future = not_kept("category", 9, 5).message;
        assert_eq!(future, "the category has no revision 9; its revision is 5");
    }
}
