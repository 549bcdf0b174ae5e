//! The root of all writing.
//!
//! Each mutation checks who asks, turns its input into an order, and tells what became of it. What
//! is wrong with an input is data of the payload; errors are for callers who may not do it, and
//! for faults.

use std::future::Future;
use std::sync::Arc;

use async_graphql::{Context, Object};
use vitrine_domain::admin::{Order, Outcome};
use vitrine_domain::products::ProductView;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::spec;

use super::context::ContextExt as _;
use super::inputs::dictionary::{
    DefineSpecKeyInput, DefineUnitInput, MergeSpecKeysInput, UpdateSpecKeyInput,
};
use super::inputs::product::{
    ArchiveProductInput, CreateProductInput, RestoreProductInput, UpdateProductInput,
};
use super::inputs::reference::{
    CreateCategoryInput, CreateSupplierInput, UpdateCategoryInput, UpdateSupplierInput,
};
use super::inputs::refusals::Asked;
use super::inputs::spec::{RemoveSpecsInput, SetSpecsInput};
use super::types::category::Category;
use super::types::payload::{
    ArchiveProductPayload, CreateCategoryPayload, CreateProductPayload, CreateSupplierPayload,
    DefineSpecKeyPayload, DefineUnitPayload, Merge, MergeSpecKeysPayload, RemoveSpecsPayload,
    Reply, RestoreProductPayload, SetSpecsPayload, UpdateCategoryPayload, UpdateProductPayload,
    UpdateSpecKeyPayload, UpdateSupplierPayload,
};
use super::types::product::Product;
use super::types::spec::{SpecKey, Unit};
use super::types::supplier::Supplier;
use crate::execution::{At as _, Failure, R};

/// The root of all writing.
#[derive(Clone, Copy, Debug)]
pub struct Mutation;

/// The root of all writing. Mutations run one after the other, in the order of the document, at
/// most 5 in a request. All of them need the role admin. A mutation either does everything it was
/// asked to or, with `userErrors`, nothing.
#[Object]
impl Mutation {
    /// Makes a product.
    async fn create_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: CreateProductInput,
    ) -> R<CreateProductPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.create_product(order, new).await
        });
        product(done.await).map(Into::into).at(ctx)
    }

    /// Changes what a product says of itself; its specs apart.
    async fn update_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and what changes.")] input: UpdateProductInput,
    ) -> R<UpdateProductPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, patch)| async move { catalog.update_product(order, id, patch).await },
        );
        product(done.await).map(Into::into).at(ctx)
    }

    /// Sets specs of a product and leaves its others alone. A key that nobody has seen can be
    /// filtered by in the next request.
    async fn set_specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the specs.")] input: SetSpecsInput,
    ) -> R<SetSpecsPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, specs)| async move { catalog.set_specs(order, id, specs).await },
        );
        product(done.await).map(Into::into).at(ctx)
    }

    /// Takes specs from a product.
    async fn remove_specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the specs.")] input: RemoveSpecsInput,
    ) -> R<RemoveSpecsPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, refs)| async move { catalog.remove_specs(order, id, refs).await },
        );
        product(done.await).map(Into::into).at(ctx)
    }

    /// Takes a product off sale for good. It keeps its address, and admins still see it.
    async fn archive_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: ArchiveProductInput,
    ) -> R<ArchiveProductPayload> {
        let done = give(ctx, input.asked(), |catalog, order, id| async move {
            catalog.set_archived(order, id, true).await
        });
        product(done.await).map(Into::into).at(ctx)
    }

    /// Brings an archived product back on sale.
    async fn restore_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: RestoreProductInput,
    ) -> R<RestoreProductPayload> {
        let done = give(ctx, input.asked(), |catalog, order, id| async move {
            catalog.set_archived(order, id, false).await
        });
        product(done.await).map(Into::into).at(ctx)
    }

    /// Makes a category.
    async fn create_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category.")] input: CreateCategoryInput,
    ) -> R<CreateCategoryPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.create_category(order, new).await
        });
        category(ctx, done.await).await.map(Into::into).at(ctx)
    }

    /// Renames or moves a category.
    async fn update_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category and what changes.")] input: UpdateCategoryInput,
    ) -> R<UpdateCategoryPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, patch)| async move { catalog.update_category(order, id, patch).await },
        );
        category(ctx, done.await).await.map(Into::into).at(ctx)
    }

    /// Makes a supplier.
    async fn create_supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The supplier.")] input: CreateSupplierInput,
    ) -> R<CreateSupplierPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.create_supplier(order, new).await
        });
        shown(done.await, Supplier).map(Into::into).at(ctx)
    }

    /// Changes a supplier. Its products carry the new name and country a little later.
    async fn update_supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The supplier and what changes.")] input: UpdateSupplierInput,
    ) -> R<UpdateSupplierPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, patch)| async move { catalog.update_supplier(order, id, patch).await },
        );
        shown(done.await, Supplier).map(Into::into).at(ctx)
    }

    /// Defines a unit of measure.
    async fn define_unit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The unit.")] input: DefineUnitInput,
    ) -> R<DefineUnitPayload> {
        let done = give(ctx, input.asked(), |catalog, order, unit| async move {
            catalog.define_unit(order, unit).await
        });
        shown(done.await, Unit::from).map(Into::into).at(ctx)
    }

    /// Defines a spec key before products have it.
    async fn define_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The key.")] input: DefineSpecKeyInput,
    ) -> R<DefineSpecKeyPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.define_spec_key(order, new).await
        });
        shown(done.await, spec_key).map(Into::into).at(ctx)
    }

    /// Changes a spec key.
    async fn update_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The key and what changes.")] input: UpdateSpecKeyInput,
    ) -> R<UpdateSpecKeyPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (key, patch)| async move {
                catalog.update_spec_key(order, key, patch).await
            },
        );
        shown(done.await, spec_key).map(Into::into).at(ctx)
    }

    /// Makes two spec keys one. Both names mean the same from then on.
    async fn merge_spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The two keys.")] input: MergeSpecKeysInput,
    ) -> R<MergeSpecKeysPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (from, into)| async move {
                catalog.merge_spec_keys(order, from, into).await
            },
        );
        shown(done.await, Merge::from).map(Into::into).at(ctx)
    }
}

/// Gives an order, unless the caller may not or the input is wrong.
async fn give<W, T, F>(
    ctx: &Context<'_>,
    asked: Asked<W>,
    carry_out: impl FnOnce(Catalog, Order, W) -> F,
) -> Result<Outcome<T>, Failure>
where
    F: Future<Output = Result<Outcome<T>, DomainError>>,
{
    let session = ctx.session();
    let order = Order {
        subject: session.viewer.admin()?.to_owned(),
        idempotency_key: asked.idempotency_key,
        expected_revision: asked.expected_revision.map(i64::from),
    };
    let wanted = match asked.wanted {
        Ok(wanted) => wanted,
        Err(refusals) => {
            let current = None;
            return Ok(Outcome::Refused { refusals, current });
        }
    };
    let outcome = carry_out(session.catalog.clone(), order, wanted).await;
    // What the mutations before this one looked up may have changed.
    session.loaders.forget().await;
    outcome.map_err(Failure::from)
}

type Done<T> = Result<Outcome<T>, Failure>;

fn shown<D, T>(done: Done<D>, show: impl FnOnce(D) -> T) -> Result<Reply<T>, Failure> {
    Reply::of(done?, |thing| Ok(show(thing)))
}

fn product(done: Done<ProductView>) -> Result<Reply<Product>, Failure> {
    Reply::of(done?, Product::of)
}

fn spec_key(key: spec::SpecKey) -> SpecKey {
    SpecKey(Arc::new(key))
}

/// A category is shown among those around it as they are now.
async fn category(
    ctx: &Context<'_>,
    done: Done<vitrine_model::category::Category>,
) -> Result<Reply<Category>, Failure> {
    let outcome = done?;
    let id = match &outcome {
        Outcome::Done(category) => Some(category.id),
        Outcome::Refused { current, .. } => current.as_ref().map(|category| category.id),
    };
    let catalog = &ctx.session().catalog;
    let reference = match id {
        // The order was carried out, whether or not its surroundings can be read now.
        Some(id) => catalog
            .reference_for_category(id)
            .await
            .unwrap_or_else(|_| catalog.reference()),
        None => catalog.reference(),
    };
    Reply::of(outcome, |category| Ok(Category::new(&reference, &category)))
}
