//! Tells database operations which field asks for them, for exported traces.
//!
//! Only an engine whose traces are exported has this: each field costs a little more.

use std::sync::Arc;

use async_graphql::extensions::{
    Extension, ExtensionContext, ExtensionFactory, NextResolve, ResolveInfo,
};
use async_graphql::{ServerResult, Value, async_trait::async_trait};
use vitrine_domain::spans;

use crate::execution::direct::{Waiting, WrapResolvers};

/// The extension, for the fields that the library runs.
#[derive(Debug)]
pub(super) struct TracedFields;

/// The same for the resolvers of objects that are partly written directly.
pub(super) const TRACED_RESOLVERS: WrapResolvers = WrapResolvers(traced);

fn traced<'a>(parent: &str, name: &str, waiting: Waiting<'a>) -> Waiting<'a> {
    Box::pin(spans::of_field(format!("{parent}.{name}"), waiting))
}

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
