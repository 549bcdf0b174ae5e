//! Data for random documents: thirty things of three types that refer to each other.
//!
//! The data is defined by functions. The resolvers here and the executor in `reference` share only
//! these functions.
//!
//! Fields of A are written directly, most fields of B wait, and C has both.

use async_graphql::{Context, EmptyMutation, EmptySubscription, Interface, Object, Schema, Union};
use tokio::task::yield_now;
use vitrine_api_derive::{Direct, direct};

use crate::execution::direct::One;
use crate::execution::{At, Engine, ErrorCode, Failure, List, NullableAt, R, Scalars};

/// Creates an engine with this schema.
pub(super) fn engine() -> Engine {
    let builder = Schema::build(Query, EmptyMutation, EmptySubscription);
    Engine::new(builder, Scalars::none()).expect("the schema is valid")
}

/// Returns the type name of a thing.
pub(super) fn type_of(id: i32) -> &'static str {
    ["A", "B", "C"][usize::try_from(id % 3).expect("ids are positive")]
}

/// Returns the next thing; every seventh thing has none.
pub(super) fn next(id: i32) -> Option<i32> {
    (id % 7 != 0).then_some(id * 5 % 30)
}

/// Returns two other things.
pub(super) fn many(id: i32) -> [i32; 2] {
    [(id + 1) % 30, (id * 7 + 2) % 30]
}

/// Whether the nullable field of this thing fails.
pub(super) fn frail(id: i32) -> bool {
    id % 4 == 0
}

/// Whether the non-null field of this thing fails.
pub(super) fn brittle(id: i32) -> bool {
    id % 6 == 1
}

/// Returns a thing of type A.
pub(super) fn twin(id: i32) -> i32 {
    (id * 3 + 3) % 30
}

fn fails<T>(fails: bool, value: T) -> Result<T, Failure> {
    if fails {
        Err(Failure::new(ErrorCode::NotFound, "It failed."))
    } else {
        Ok(value)
    }
}

struct A(i32);
struct B(i32);
struct C(i32);

#[derive(Interface, Direct)]
#[graphql(
    field(name = "id", ty = "i32"),
    field(name = "next", ty = "Option<Thing>"),
    field(name = "frail", ty = "Option<R<i32>>"),
    field(name = "brittle", ty = "R<i32>"),
    field(name = "many", ty = "Vec<Thing>"),
    field(name = "some", ty = "Option<Vec<Option<Thing>>>"),
    field(name = "any", ty = "Option<AnyOf>"),
    field(name = "marked", ty = "Option<Marked>")
)]
enum Thing {
    A(A),
    B(B),
    C(C),
}

#[derive(Interface, Direct)]
#[graphql(
    field(name = "id", ty = "i32"),
    field(name = "next", ty = "Option<Thing>"),
    field(name = "brittle", ty = "R<i32>")
)]
enum Marked {
    A(A),
    B(B),
}

#[derive(Union, Direct)]
enum AnyOf {
    A(A),
    B(B),
    C(C),
}

#[derive(Union, Direct)]
enum Pair {
    A(A),
    C(C),
}

fn thing(id: i32) -> Thing {
    match type_of(id) {
        "A" => Thing::A(A(id)),
        "B" => Thing::B(B(id)),
        _ => Thing::C(C(id)),
    }
}

fn any(id: i32) -> AnyOf {
    match thing(id) {
        Thing::A(a) => AnyOf::A(a),
        Thing::B(b) => AnyOf::B(b),
        Thing::C(c) => AnyOf::C(c),
    }
}

fn marked(id: i32) -> Option<Marked> {
    match thing(id) {
        Thing::A(a) => Some(Marked::A(a)),
        Thing::B(b) => Some(Marked::B(b)),
        Thing::C(_) => None,
    }
}

fn pair(id: i32) -> Option<Pair> {
    match thing(id) {
        Thing::A(a) => Some(Pair::A(a)),
        Thing::B(_) => None,
        Thing::C(c) => Some(Pair::C(c)),
    }
}

/// Waits once, in a field that is `async`.
macro_rules! wait {
    (async) => {
        yield_now().await
    };
}

/// Defines an object type with the fields that all things share and its own fields. Those with
/// `async` in the first brackets wait, and those with `async` in the second.
macro_rules! object {
    ([$($one:ident)?] [$($other:ident)?] $name:ident { $($own:tt)* }) => {
        #[direct]
        #[Object]
        impl $name {
            fn id(&self) -> i32 {
                self.0
            }
            $($one)? fn next(&self) -> Option<Thing> {
                $(wait!($one);)?
                next(self.0).map(thing)
            }
            $($other)? fn frail(&self, ctx: &Context<'_>) -> Option<R<i32>> {
                $(wait!($other);)?
                fails(frail(self.0), Some(self.0)).nullable_at(ctx)
            }
            $($one)? fn brittle(&self, ctx: &Context<'_>) -> R<i32> {
                $(wait!($one);)?
                fails(brittle(self.0), self.0).at(ctx)
            }
            $($other)? fn many(&self) -> Vec<Thing> {
                $(wait!($other);)?
                many(self.0).map(thing).into()
            }
            fn some(&self) -> Option<Vec<Option<Thing>>> {
                let [first, second] = many(self.0);
                Some(vec![Some(thing(first)), None, Some(thing(second))])
            }
            $($one)? fn any(&self) -> Option<AnyOf> {
                $(wait!($one);)?
                next(self.0).map(any)
            }
            $($other)? fn marked(&self) -> Option<Marked> {
                $(wait!($other);)?
                next(self.0).and_then(marked)
            }
            $($own)*
        }
    };
}

object!([] [] A {
    fn a(&self) -> i32 {
        self.0
    }
    fn twin(&self) -> A {
        A(twin(self.0))
    }
});

object!([async] [async] B {
    async fn b(&self) -> i32 {
        self.0
    }
});

object!([async] [] C {
    fn c(&self) -> i32 {
        self.0
    }
    fn pair(&self) -> Option<Pair> {
        pair(many(self.0)[0])
    }
});

struct Query;

#[Object]
impl Query {
    async fn one(&self) -> Option<One<Thing>> {
        Some(One(thing(8)))
    }
    async fn must(&self) -> One<Thing> {
        One(thing(5))
    }
    async fn all(&self) -> List<Thing> {
        [0, 4, 11].map(thing).into_iter().collect()
    }
    async fn any(&self) -> Option<One<AnyOf>> {
        Some(One(any(2)))
    }
}
