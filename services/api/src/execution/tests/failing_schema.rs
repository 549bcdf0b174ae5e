//! A schema whose fields fail, with every nullability and in every kind of position.

use async_graphql::{
    Context, EmptyMutation, EmptySubscription, Interface, Object, Schema, SimpleObject, Union,
};

use super::cases::boom;
use crate::execution::{At, Engine, ErrorCode, Failure, NullableAt, R, Scalars};

/// Creates an engine with this schema.
pub(super) fn engine() -> Engine {
    let builder = Schema::build(Query, EmptyMutation, EmptySubscription);
    Engine::new(builder, Scalars::none()).expect("the schema is valid")
}

/// A domain failure without a path.
fn broken<T>() -> Result<T, Failure> {
    Err(Failure::new(ErrorCode::NotFound, "It is broken."))
}

/// A text that must never reach a client.
pub(super) const SECRET: &str = "connection string with a password";

struct Knot;

/// A plain object around a knot: the library truncates paths here.
#[derive(SimpleObject)]
struct Plain {
    label: String,
    knot: Knot,
    knots: Vec<Knot>,
}

#[derive(Interface)]
#[graphql(
    field(name = "ok", ty = "i32"),
    field(name = "hard", ty = "R<i32>"),
    field(name = "soft", ty = "Option<R<i32>>")
)]
enum Thing {
    Knot(Knot),
    Peg(Peg),
}

#[derive(Union)]
enum KnotOrPeg {
    Knot(Knot),
    Peg(Peg),
}

struct Peg;

#[Object]
impl Peg {
    async fn ok(&self) -> i32 {
        2
    }
    async fn hard(&self) -> R<i32> {
        Ok(2)
    }
    async fn soft(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        broken().nullable_at(ctx)
    }
}

#[Object]
impl Knot {
    async fn ok(&self) -> i32 {
        1
    }
    async fn hard(&self, ctx: &Context<'_>) -> R<i32> {
        broken().at(ctx)
    }
    async fn soft(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        broken().nullable_at(ctx)
    }
    async fn absent(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        Ok::<_, Failure>(None).nullable_at(ctx)
    }
    /// Synchronous resolvers take a different path through the library.
    #[expect(clippy::unused_self, reason = "the macro wants a method")]
    fn hard_now(&self, ctx: &Context<'_>) -> R<i32> {
        broken().at(ctx)
    }
    #[expect(clippy::unused_self, reason = "the macro wants a method")]
    fn soft_now(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        broken().nullable_at(ctx)
    }
    async fn secret(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        let cause = std::io::Error::other(SECRET);
        Some(Err(Failure::internal(cause)).at(ctx))
    }
    async fn wait(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        let failure = Failure::new(ErrorCode::RateLimited, "Slow down.");
        let wait = std::time::Duration::from_millis(1_500);
        Some(Err(failure.retry_after(wait)).at(ctx))
    }
    /// Reports its error twice.
    async fn twice(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        let failure = Failure::new(ErrorCode::Forbidden, "It is forbidden.").at(ctx);
        let error = async_graphql::Error::from(failure);
        ctx.add_error(error.into_server_error(ctx.item.pos));
        broken().nullable_at(ctx)
    }
    /// An error of the library's own type, which the rules forbid.
    async fn foreign(&self) -> Option<async_graphql::Result<i32>> {
        Some(Err(async_graphql::Error::new(SECRET)))
    }
    async fn panics(&self) -> Option<i32> {
        boom(SECRET)
    }
    async fn knot(&self) -> Option<Knot> {
        Some(Knot)
    }
    async fn must(&self) -> Knot {
        Knot
    }
    async fn plain(&self) -> Option<Plain> {
        Some(Plain {
            label: "plain".to_owned(),
            knot: Knot,
            knots: vec![Knot, Knot],
        })
    }
    async fn thing(&self) -> Option<Thing> {
        Some(Thing::Knot(Knot))
    }
    async fn things(&self) -> Option<Vec<Thing>> {
        Some(vec![Thing::Peg(Peg), Thing::Knot(Knot)])
    }
    async fn union(&self) -> Option<KnotOrPeg> {
        Some(KnotOrPeg::Knot(Knot))
    }
    async fn unions(&self) -> Option<Vec<Option<KnotOrPeg>>> {
        let unions = [KnotOrPeg::Peg(Peg), KnotOrPeg::Knot(Knot)];
        Some(unions.into_iter().map(Some).collect())
    }
    /// `[Knot]`
    async fn soft_list(&self) -> Option<Vec<Option<Knot>>> {
        Some(vec![Some(Knot), None, Some(Knot)])
    }
    /// `[Knot!]`
    async fn hard_items(&self) -> Option<Vec<Knot>> {
        Some(vec![Knot, Knot])
    }
    /// `[Knot]!`
    async fn hard_list(&self) -> Vec<Option<Knot>> {
        vec![Some(Knot), Some(Knot)]
    }
    /// `[Knot!]!`
    async fn all_hard(&self) -> Vec<Knot> {
        vec![Knot, Knot]
    }
    /// `[[Knot!]!]`
    async fn grid(&self) -> Option<Vec<Vec<Knot>>> {
        Some(vec![vec![Knot], vec![Knot, Knot]])
    }
    /// `[Int]`, the second fails.
    async fn soft_ints(&self, ctx: &Context<'_>) -> Option<Vec<Option<R<i32>>>> {
        Some(vec![Some(Ok(1)), broken().nullable_item_at(ctx, 1), None])
    }
    /// `[Int!]`, the second fails.
    async fn hard_ints(&self, ctx: &Context<'_>) -> Option<Vec<R<i32>>> {
        Some(vec![Ok(1), broken().item_at(ctx, 1)])
    }
    /// `[Int!]`, fails as a whole.
    async fn no_ints(&self, ctx: &Context<'_>) -> Option<R<Vec<i32>>> {
        broken().nullable_at(ctx)
    }
}

struct Query;

#[Object]
impl Query {
    async fn knot(&self) -> Option<Knot> {
        Some(Knot)
    }
    async fn must(&self) -> Knot {
        Knot
    }
    async fn soft(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        broken().nullable_at(ctx)
    }
    async fn hard(&self, ctx: &Context<'_>) -> R<i32> {
        broken().at(ctx)
    }
    async fn ok(&self) -> i32 {
        0
    }
}
