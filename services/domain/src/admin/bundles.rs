//! The items of a bundle: other products, copied with their revision.

use std::collections::HashMap;

use vitrine_model::id::ProductId;
use vitrine_model::product::{Bundle, BundleItem, Kind, ProductStatus};
use vitrine_storage::views::ProductView;
use vitrine_storage::{StorageError, Store};

use crate::limits::{self, MAX_ITEMS};
use crate::outcome::{FieldPath, ValidationErrors};

/// The products of a bundle as they are now, none of which is a bundle; what is wrong with them is noted.
pub(super) async fn read(
    items: &[(ProductId, i32)],
    store: &Store,
    found: &mut ValidationErrors,
) -> Result<Bundle, StorageError> {
    check_form(items, found);
    if !found.is_empty() {
        return Ok(Bundle::default());
    }
    let ids: Vec<ProductId> = items.iter().map(|(id, _)| *id).collect();
    let views = store.get_many_products(&ids, &ProductStatus::ALL).await?;
    let views: HashMap<ProductId, ProductView> =
        views.into_iter().map(|view| (view.id(), view)).collect();
    let mut read = Bundle::default();
    for (at, (id, quantity)) in items.iter().enumerate() {
        let place: FieldPath<'_> = &[&"details", &"bundle", &"items", &at, &"productId"];
        match views.get(id) {
            None => found.missing(place, "there is no such product"),
            Some(view) if Kind::of(view.kind()?) == Kind::Bundle => {
                found.invalid(place, "is a bundle itself; name the products in it");
            }
            Some(view) => read.items.push(copy(view, *quantity)?),
        }
    }
    Ok(read)
}

fn check_form(items: &[(ProductId, i32)], found: &mut ValidationErrors) {
    let place: FieldPath<'_> = &[&"details", &"bundle", &"items"];
    if items.is_empty() {
        found.invalid(place, "a bundle has at least one item");
    }
    if items.len() > MAX_ITEMS {
        let message = format!("{} items; a bundle may have {MAX_ITEMS}", items.len());
        found.cap(place, Err(message));
    }
    for (at, (_, quantity)) in items.iter().enumerate() {
        let place: FieldPath<'_> = &[&"details", &"bundle", &"items", &at, &"quantity"];
        found.check(place, limits::quantity(*quantity));
    }
}

/// What a bundle carries of a product.
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
    fn the_form_of_items() {
        let mut found = ValidationErrors::default();
        check_form(&[(id(1), 0), (id(2), 1), (id(3), 10_001)], &mut found);
        check_form(&[], &mut found);
        check_form(&vec![(id(1), 1); 101], &mut found);
        assert_eq!(
            found.places(),
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
