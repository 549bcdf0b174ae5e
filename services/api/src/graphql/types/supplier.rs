//! Output types for suppliers.

use async_graphql::{Context, ID, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::supplier::{self, SupplierExtract};

use super::common::count;
use super::operations::SupplierPropagation;
use crate::execution::{Failure, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::permissions;
use crate::graphql::scalars::DateTime;

pub(crate) struct Supplier(pub(crate) supplier::Supplier);

/// A supplier.
#[direct]
#[Object]
impl Supplier {
    /// The global id of the supplier.
    pub(crate) fn id(&self) -> ID {
        GlobalId::Supplier(self.0.id).encode().into()
    }

    /// The name of the supplier.
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The country as an ISO 3166-1 alpha-2 code; null if unknown.
    fn country(&self) -> Option<&str> {
        self.0.country.as_deref()
    }

    /// The revision. Increases with every change of name or country.
    fn revision(&self) -> i32 {
        count(self.0.version)
    }

    /// The feed that the supplier came from, and its id there; null for suppliers without an id in
    /// their feed. Visible to admins, null for others.
    fn source(&self, ctx: &Context<'_>) -> Option<SupplierSource> {
        let origin = self.0.origin.clone();
        let seen = origin.filter(|_| permissions::has_role(ctx, "Supplier"));
        seen.map(|origin| SupplierSource {
            system: origin.system,
            external_id: origin.external_id,
        })
    }

    /// The progress of copying the last change to the supplier's products. Visible to admins, null
    /// for others. Needs a database query while products are out of date.
    async fn propagation(&self, ctx: &Context<'_>) -> Option<R<SupplierPropagation>> {
        propagation(&self.0, ctx).await.nullable_at(ctx)
    }
}

/// The place of a supplier in the feed that it came from.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct SupplierSource {
    /// The source system of the feed, as in its mapping.
    system: String,
    /// The supplier's id in that system.
    external_id: String,
}

async fn propagation(
    supplier: &supplier::Supplier,
    ctx: &Context<'_>,
) -> Result<Option<SupplierPropagation>, Failure> {
    let session = ctx.session();
    if !permissions::has_role(ctx, "Supplier") {
        return Ok(None);
    }
    let behind = if supplier.propagated_version < supplier.version {
        session
            .catalog
            .count_stale_supplier_copies(supplier)
            .await?
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

pub(crate) struct ProductSupplier {
    pub(crate) product: ProductId,
    pub(crate) extract: SupplierExtract,
}

/// The supplier data that is stored with a product.
#[direct]
#[Object]
impl ProductSupplier {
    /// The id of this copy. For the supplier use `supplierId`.
    fn id(&self) -> ID {
        GlobalId::ProductSupplier(self.product, self.extract.id)
            .encode()
            .into()
    }

    /// The global id of the supplier.
    fn supplier_id(&self) -> ID {
        GlobalId::Supplier(self.extract.id).encode().into()
    }

    /// The name of the supplier.
    fn name(&self) -> &str {
        &self.extract.name
    }

    /// The country as an ISO 3166-1 alpha-2 code; null if unknown.
    fn country(&self) -> Option<&str> {
        self.extract.country.as_deref()
    }

    /// When the name and country were copied into the product.
    fn as_of(&self) -> DateTime {
        DateTime(self.extract.as_of)
    }

    /// The supplier itself. Needs a database query.
    async fn supplier(&self, ctx: &Context<'_>) -> Option<R<Supplier>> {
        let found = ctx.session().loaders.supplier(self.extract.id).await;
        found
            .map(|supplier| supplier.map(Supplier))
            .nullable_at(ctx)
    }
}
