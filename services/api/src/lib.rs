//! The public interface of the catalogue: HTTP and GraphQL.
//!
//! [`http`] handles everything about HTTP: status codes, bodies, request ids, load shedding.
//! [`execution`] implements what the GraphQL specification says about turning the text of a request
//! into the text of its response. [`graphql`] holds the types and resolvers on top of the two:
//!
//! ```no_run
//! use async_graphql::{Context, EmptyMutation, EmptySubscription, Object, Schema};
//! use vitrine_api::{
//!     execution::{At, Engine, ErrorCode, Failure, NullableAt, R, Scalars},
//!     http::{Api, Capacity, RequestContext, RequestLimiter, SocketLimits, Sockets, bearer, router, serve},
//! };
//!
//! struct Query;
//!
//! #[Object]
//! impl Query {
//!     /// Nullable: an error stays in this field.
//!     async fn title(&self, ctx: &Context<'_>, id: String) -> Option<R<String>> {
//!         find(&id).nullable_at(ctx)
//!     }
//! /// Non-null: an error makes the parent null.
//!     async fn count(&self, ctx: &Context<'_>) -> R<i32> {
//!         let all = find("all").at(ctx)?;
//!         Ok(i32::from(all.is_some()))
//!     }
//! }
//!
//! fn find(id: &str) -> Result<Option<String>, Failure> {
//!     Err(Failure::new(ErrorCode::NotFound, format!("There is no {id:?}.")))
//! }
//!
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::build(Query, EmptyMutation, EmptySubscription);
//! let engine = Engine::new(schema, Scalars::none().with("URL", |_| Ok(())))?;
//! let limiter = RequestLimiter::new(Capacity::default());
//! let sockets = Sockets::new(SocketLimits::default());
//! let api = Api::new(engine, limiter.clone()).sockets(sockets.clone()).authenticate(|headers| {
//!     let token = bearer(headers)?.map(str::to_owned);
//!     Ok(RequestContext::new().with_context(move |request| request.data(token)))
//! });
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! serve(listener, router(api), async { drop(tokio::signal::ctrl_c().await) }).await?;
//! sockets.close(std::time::Duration::from_secs(5)).await;
//! limiter.drain(std::time::Duration::from_secs(10)).await;
//! # Ok(())
//! # }
//! ```

pub mod execution;
pub mod graphql;
pub mod http;
