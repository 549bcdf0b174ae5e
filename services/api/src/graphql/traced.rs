//! Tells database operations which field asks for them, for exported traces.
//!
//! Only an engine whose traces are exported has this extension of the library: with an extension, every field
//! takes the slow path.

use std::sync::Arc;

use async_graphql::extensions::{
    Extension, ExtensionContext, ExtensionFactory, NextResolve, ResolveInfo,
};
use async_graphql::{ServerResult, Value, async_trait::async_trait};
use vitrine_domain::spans;

/// The extension.
#[derive(Debug)]
pub(super) struct TracedFields;

impl ExtensionFactory for TracedFields {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for TracedFields {
    async fn resolve(
        &self,
        ctx: &ExtensionContext<'_>,
        info: ResolveInfo<'_>,
        next: NextResolve<'_>,
    ) -> ServerResult<Option<Value>> {
        let field = format!("{}.{}", info.parent_type, info.name);
        spans::of_field(field, next.run(ctx, info)).await
    }
}
