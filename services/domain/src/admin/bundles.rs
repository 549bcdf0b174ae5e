//! The items of a bundle: other products, copied with their revision.

use std::collections::HashMap;

use vitrine_model::id::ProductId;
use vitrine_model::product::{Bundle, BundleItem, Kind, ProductStatus};
use vitrine_storage::views::ProductView;
use vitrine_storage::{StorageError, Store};

use crate::limits::{self, MAX_ITEMS};
use crate::outcome::{FieldPath, ValidationErrors};

/// The current products of a bundle, none of which may be a bundle; adds to the errors.
pub(super) async fn read(
    items: &[(ProductId, i32)],
    store: &Store,
    errors: &mut ValidationErrors,
) -> Result<Bundle, StorageError> {
    check_form(items, errors);
    if !errors.is_empty() {
        return Ok(Bundle::default());
    }
    let ids: Vec<ProductId> = items.iter().map(|(id, _)| *id).collect();
    let views = store.get_many_products(&ids, &ProductStatus::ALL).await?;
    let views: HashMap<ProductId, ProductView> =
        views.into_iter().map(|view| (view.id(), view)).collect();
    let mut read = Bundle::default();
    for (at, (id, quantity)) in items.iter().enumerate() {
        let path: FieldPath<'_> = &[&"details", &"bundle", &"items", &at, &"productId"];
        match views.get(id) {
            None => errors.missing(path, "there is no such product"),
            Some(view) if Kind::of(view.kind()?) == Kind::Bundle => {
                errors.invalid(path, "is a bundle itself; name its products instead");
            }
            Some(view) => read.items.push(copy(view, *quantity)?),
        }
    }
    Ok(read)
}

fn check_form(items: &[(ProductId, i32)], errors: &mut ValidationErrors) {
    let path: FieldPath<'_> = &[&"details", &"bundle", &"items"];
    if items.is_empty() {
        errors.invalid(path, "a bundle has at least one item");
    }
    if items.len() > MAX_ITEMS {
        let message = format!("{} items; a bundle may have {MAX_ITEMS}", items.len());
        errors.cap(path, Err(message));
    }
    for (at, (_, quantity)) in items.iter().enumerate() {
        let path: FieldPath<'_> = &[&"details", &"bundle", &"items", &at, &"quantity"];
        errors.check(path, limits::quantity(*quantity));
    }
}

/// The extended reference that a bundle stores of a product.
pub(crate) fn copy(view: &ProductView, quantity: i32) -> Result<BundleItem, StorageError> {
    Ok(BundleItem {
        product_id: view.id(),
        quantity,
        version: view.revision()?,
        name: view.name()?.to_owned(),
        price: view.price()?,
        listed: view.status()? == ProductStatus::Active,
        as_of: Some(view.updated_at()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::UserErrorCode;

    fn id(n: u8) -> ProductId {
        ProductId::from_i64(n.into())
    }

    #[test]
    fn the_number_and_quantities_of_items_are_limited() {
        let mut errors = ValidationErrors::default();
        check_form(&[(id(1), 0), (id(2), 1), (id(3), 10_001)], &mut errors);
        check_form(&[], &mut errors);
        check_form(&vec![(id(1), 1); 101], &mut errors);
        assert_eq!(
            errors.codes_and_paths(),
            [
                (
                    UserErrorCode::Invalid,
                    "details.bundle.items.0.quantity".to_owned()
                ),
                (
                    UserErrorCode::Invalid,
                    "details.bundle.items.2.quantity".to_owned()
                ),
                (UserErrorCode::Invalid, "details.bundle.items".to_owned()),
                (UserErrorCode::TooLarge, "details.bundle.items".to_owned()),
            ]
        );
    }
}
