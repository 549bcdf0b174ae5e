//! The service as a subgraph of Apollo Federation 2.
//!
//! A router combines the schemas of several services, the subgraphs, into one. It reads the schema
//! of a subgraph in `_service`, and asks `_entities` for objects that other subgraphs refer to. The
//! two fields are in the schema of [`super::subgraph`] only: a public endpoint does not need them.
//!
//! The library has its own support for federation. It is not used: see "Why does the service answer
//! routers itself?" in DESIGN.md.

mod entities;
mod representation;
mod sdl;

use std::borrow::Cow;
use std::sync::Arc;

use async_graphql::parser::types::Field;
use async_graphql::registry::{MetaType, Registry};
use async_graphql::resolver_utils::{ContainerType, resolve_container};
use async_graphql::{
    Context, ContextSelectionSet, Object, ObjectType, OutputType, Positioned, ServerResult, Value,
};
use vitrine_api_derive::direct;

use self::entities::{Entity, entity};
use self::representation::Representation;
use super::query::{MAX_NODES, Query};
use crate::execution::{At as _, Failure, List, NullableAt as _, R};

pub(super) use sdl::subgraph_sdl;

/// The fields that routers ask for.
struct Federation {
    sdl: Arc<str>,
}

/// The fields that routers ask for.
#[direct]
#[Object]
impl Federation {
    /// Objects of this service that other subgraphs refer to, in the order of the representations;
    /// null for each object that does not exist or that the caller may not see. One database query
    /// per type of object, and one for products by SKU. For routers.
    #[graphql(name = "_entities")]
    async fn entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "For each object its type in `__typename` and the fields of one key: `id`, or of a product also `sku`. A product is a `Product` or of the type of its kind. At most 100."
        )]
        representations: Vec<Representation>,
    ) -> R<List<Option<R<Entity>>>> {
        if representations.len() > MAX_NODES {
            let message = format!(
                "representations: at most {MAX_NODES} at once, not {}",
                representations.len()
            );
            return Err(Failure::bad_input(message)).at(ctx);
        }
        let numbered = representations.iter().enumerate();
        let all = numbered.map(|(at, representation)| entity(ctx, at, representation));
        let found = futures_util::future::join_all(all).await;
        let numbered = found.into_iter().enumerate();
        Ok(numbered
            .map(|(at, entity)| entity.nullable_item_at(ctx, at))
            .collect())
    }

    /// This service as a subgraph. For routers.
    #[graphql(name = "_service")]
    fn service(&self) -> Service {
        Service {
            sdl: Arc::clone(&self.sdl),
        }
    }
}

/// This service as a subgraph.
struct Service {
    sdl: Arc<str>,
}

/// This service as a subgraph.
#[direct]
#[Object(name = "_Service")]
impl Service {
    /// The schema with the directives of Apollo Federation, in the schema definition language.
    fn sdl(&self) -> &str {
        &self.sdl
    }
}

/// The query root of a subgraph: that of every caller, with the fields for routers.
///
/// The library's own way of merging objects needs a type with a name of its own for each part.
pub(super) struct SubgraphQuery {
    federation: Federation,
}

impl SubgraphQuery {
    /// Creates the query root of the subgraph with this schema.
    pub(super) fn new(sdl: String) -> Self {
        let sdl = sdl.into();
        Self {
            federation: Federation { sdl },
        }
    }
}

impl OutputType for SubgraphQuery {
    fn type_name() -> Cow<'static, str> {
        Query::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        let root = Query::create_type_info(registry);
        // A type without references is not part of the schema.
        let added = registry.create_fake_output_type::<Federation>();
        let query = registry.types.get_mut(&*Self::type_name());
        if let (Some(MetaType::Object { fields, .. }), MetaType::Object { fields: added, .. }) =
            (query, added)
        {
            fields.extend(added);
        }
        root
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        _field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        resolve_container(ctx, self).await
    }
}

impl ContainerType for SubgraphQuery {
    async fn resolve_field(&self, ctx: &Context<'_>) -> ServerResult<Option<Value>> {
        if let Some(found) = self.federation.resolve_field(ctx).await? {
            return Ok(Some(found));
        }
        Query.resolve_field(ctx).await
    }
}

impl ObjectType for SubgraphQuery {}

#[cfg(test)]
mod tests;
