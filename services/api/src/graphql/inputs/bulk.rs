//! Inputs for bulk changes.

use async_graphql::{ID, InputObject, MaybeUndefined};
use vitrine_domain::admin::SpecRef;
use vitrine_domain::admin::bulk::{BulkEdit, BulkSelection, NewBulk};
use vitrine_model::id::BulkChangeId;

use super::product::PriceInput;
use super::spec::{SpecInput, SpecRefInput, specs};
use super::user_errors::{ParsedInput, UserErrors, clearable, path};
use super::{ProductFilterInput, Status};
use crate::execution::Failure;

/// The input of `startBulkChange`. Give either `ids`, or `filter` and `search`; without all three, every product is
/// changed, also drafts and archived ones.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct StartBulkChangeInput {
    /// Only products that match this filter.
    filter: Option<ProductFilterInput>,
    /// Only products that match this search text.
    search: Option<String>,
    /// The global ids of the products; at most 1,000.
    ids: Option<Vec<ID>>,
    /// What is changed.
    change: BulkEditInput,
    /// Whether to leave the products as they are, and only to say what the outcome of each would be.
    #[graphql(default_with = "Some(false)")]
    dry_run: Option<bool>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// What a bulk change changes in each product. Fields left out stay unchanged. Null clears `brand`, `supplierId` and
/// `price` and is refused for other fields.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BulkEditInput {
    /// The status.
    status: MaybeUndefined<Status>,
    /// The slug of the category.
    category: MaybeUndefined<String>,
    /// The brand.
    brand: MaybeUndefined<String>,
    /// The global id of the supplier.
    supplier_id: MaybeUndefined<ID>,
    /// The price. Refused for bundles: their price is computed.
    price: MaybeUndefined<PriceInput>,
    /// Specs to set. They replace specs with the same key and qualifier; other specs stay.
    set_specs: MaybeUndefined<Vec<SpecInput>>,
    /// Specs to remove. Specs that a product does not have are ignored.
    remove_specs: MaybeUndefined<Vec<SpecRefInput>>,
}

/// The input of `stopBulkChange`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct StopBulkChangeInput {
    /// The id of the bulk change.
    id: ID,
}

impl StartBulkChangeInput {
    pub(crate) fn parse(self) -> Result<ParsedInput<NewBulk>, Failure> {
        let mut errors = UserErrors::default();
        let is_filtered = self.filter.is_some() || self.search.is_some();
        let selection = match self.ids {
            Some(_) if is_filtered => {
                let message = "give either ids, or filter and search";
                errors.add(path(["ids"]), message);
                None
            }
            Some(ids) => {
                let ids = ids.iter().enumerate();
                let ids: Vec<_> = ids
                    .filter_map(|(at, id)| errors.product(path(["ids", &at.to_string()]), id))
                    .collect();
                Some(BulkSelection::Named(ids))
            }
            None => {
                let filter = self.filter.map(ProductFilterInput::filter).transpose()?;
                let filter = Box::new(filter.unwrap_or_default());
                Some(BulkSelection::Matching(filter, self.search))
            }
        };
        let edits = self.change.edits(&mut errors);
        let new = selection.map(|selection| NewBulk {
            selection,
            edits,
            dry_run: self.dry_run.unwrap_or(false),
        });
        Ok(ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: errors.finish(new),
        })
    }
}

impl BulkEditInput {
    fn edits(self, errors: &mut UserErrors) -> Vec<BulkEdit> {
        let mut own = UserErrors::default();
        let set = own.not_null("setSpecs", self.set_specs);
        let set = set.map(|given| specs(given, &mut own));
        own.rename("specs", "setSpecs");
        let status = own.not_null("status", self.status);
        let category = own.not_null("category", self.category);
        let supplier = clearable(self.supplier_id).map(|id| match id {
            Some(id) => own.supplier(path(["supplierId"]), &id).map(Some),
            None => Some(None),
        });
        let named = |spec: SpecRefInput| SpecRef {
            key: spec.key,
            qualifier: spec.qualifier,
        };
        let removed = own.not_null("removeSpecs", self.remove_specs);
        let removed = removed.map(|specs| specs.into_iter().map(named).collect());
        errors.add_within("change", own);
        let price = clearable(self.price).map(|price| price.map(Into::into));
        let all = [
            status.map(|status| BulkEdit::Status(status.into())),
            category.map(BulkEdit::Category),
            clearable(self.brand).map(BulkEdit::Brand),
            supplier.flatten().map(BulkEdit::Supplier),
            price.map(BulkEdit::Price),
            set.map(BulkEdit::SetSpecs),
            removed.map(BulkEdit::RemoveSpecs),
        ];
        all.into_iter().flatten().collect()
    }
}

impl StopBulkChangeInput {
    pub(crate) fn parse(self) -> ParsedInput<BulkChangeId> {
        let mut errors = UserErrors::default();
        let id = errors.bulk_change(path(["id"]), &self.id);
        ParsedInput {
            idempotency_key: None,
            expected_revision: None,
            value: errors.finish(id),
        }
    }
}
