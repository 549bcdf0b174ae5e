//! The schemas that are served, without their resolvers: for tests that need the description only.

use super::{scalars, schema, subgraph_schema};
use crate::execution::{Engine, sdl};

pub(crate) fn engine() -> Engine {
    Engine::without_resolvers(&sdl(&schema().finish()), scalars()).unwrap()
}

pub(crate) fn subgraph() -> Engine {
    Engine::without_resolvers(&sdl(&subgraph_schema().finish()), scalars()).unwrap()
}
