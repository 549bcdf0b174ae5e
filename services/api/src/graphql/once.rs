//! Pages and facets that a query selects more than once with equal arguments are loaded once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::Context;
use async_graphql::parser::types::OperationType;
use tokio::sync::OnceCell;

use super::context::ContextExt as _;
use crate::execution::Failure;

/// What a request has loaded or is loading, by type and arguments.
#[derive(Debug, Default)]
pub(crate) struct LoadedOnce(Mutex<HashMap<(TypeId, String), Arc<dyn Any + Send + Sync>>>);

/// The result of one load; empty while it runs.
type Loaded<T> = OnceCell<Result<Arc<T>, Failure>>;

impl LoadedOnce {
    fn cell<T: Send + Sync + 'static>(&self, arguments: String) -> Arc<Loaded<T>> {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = cells
            .entry((TypeId::of::<T>(), arguments))
            .or_insert_with(|| Arc::new(Loaded::<T>::new()));
        let cell = Arc::clone(cell).downcast::<Loaded<T>>();
        cell.expect("the key names the type")
    }
}

/// Loads a value, unless the same query has loaded or is loading one of this type with equal
/// arguments. In mutations and subscriptions every call loads, because data changes between them.
pub(crate) async fn once<T, E>(
    ctx: &Context<'_>,
    arguments: String,
    load: impl Future<Output = Result<T, E>>,
) -> Result<Arc<T>, Failure>
where
    T: Send + Sync + 'static,
    E: Into<Failure>,
{
    let load = async { load.await.map(Arc::new).map_err(Into::into) };
    if ctx.query_env.operation.node.ty != OperationType::Query {
        return load.await;
    }
    let cell = ctx.session().loaded_once.cell::<T>(arguments);
    cell.get_or_init(|| load).await.clone()
}
