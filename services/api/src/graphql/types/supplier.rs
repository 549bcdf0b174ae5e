//! Suppliers.

use async_graphql::{Context, ID, Object};
use vitrine_model::id::GlobalId;
use vitrine_model::supplier::{self, SupplierExtract};

use super::common::count;
use super::operations::SupplierPropagation;
use crate::execution::{Failure, NullableAt as _, R};
use crate::graphql::Role;
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// A supplier.
pub(crate) struct Supplier(pub(crate) supplier::Supplier);

/// A supplier.
#[Object]
impl Supplier {
    /// Identifies the supplier.
    pub(crate) async fn id(&self) -> ID {
        GlobalId::Supplier(self.0.id).encode().into()
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Its country as an ISO 3166-1 alpha-2 code, when known.
    async fn country(&self) -> Option<&str> {
        self.0.country.as_deref()
    }

    /// Rises with every change of name or country.
    async fn revision(&self) -> i32 {
        count(self.0.version)
    }

    /// How far the last change has come to the products that name it; seen by admins only. A
    /// look-up while some are behind.
    async fn propagation(&self, ctx: &Context<'_>) -> Option<R<SupplierPropagation>> {
        propagation(&self.0, ctx).await.nullable_at(ctx)
    }
}

async fn propagation(
    supplier: &supplier::Supplier,
    ctx: &Context<'_>,
) -> Result<Option<SupplierPropagation>, Failure> {
    let session = ctx.session();
    if !session.viewer.has(Role::Admin) {
        return Ok(None);
    }
    let behind = if supplier.propagated_version < supplier.version {
        session.catalog.count_behind(supplier).await?
    } else {
        0
    };
    let now = session.catalog.now();
    let since = supplier.changed_at.filter(|_| behind > 0).unwrap_or(now);
    #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
    let lag_seconds = (now.as_millis() - since.as_millis()).max(0) as f64 / 1000.0;
    Ok(Some(SupplierPropagation {
        products_behind: count(behind),
        changed_at: supplier.changed_at.map(DateTime),
        lag_seconds,
    }))
}

/// What a product carries of its supplier, as of some moment.
pub(crate) struct ProductSupplier(pub(crate) SupplierExtract);

/// What a product carries of its supplier, as of some moment.
#[Object]
impl ProductSupplier {
    /// The id of the supplier.
    async fn id(&self) -> ID {
        GlobalId::Supplier(self.0.id).encode().into()
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Its country as an ISO 3166-1 alpha-2 code, when known.
    async fn country(&self) -> Option<&str> {
        self.0.country.as_deref()
    }

    /// When name and country were copied into the product.
    async fn as_of(&self) -> DateTime {
        DateTime(self.0.as_of)
    }

    /// The supplier itself: a look-up.
    async fn supplier(&self, ctx: &Context<'_>) -> Option<R<Supplier>> {
        let found = ctx.session().loaders.supplier(self.0.id).await;
        found
            .map(|supplier| supplier.map(Supplier))
            .nullable_at(ctx)
    }
}
