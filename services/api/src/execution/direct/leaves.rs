//! Direct writing of leaves, of values that may be absent, and of lists.

use std::borrow::Cow;

use async_graphql::resolver_utils::EnumType;
use async_graphql::{Context, Error, ID, ServerResult, Value};
use futures_util::future::try_join_all;

use super::{DirectValue, One, Out, Plans, Selected, Waiting, written};
use crate::execution::failure::Located;
use crate::execution::output::{List, LongText, width};
use crate::execution::response_budget::spend;

/// Implements [`DirectValue`] for leaves.
macro_rules! leaves {
    ($($ty:ty: |$value:ident, $out:ident| $write:expr;)*) => {
        $(impl DirectValue for $ty {
            fn is_direct(_: Selected<'_>) -> bool {
                true
            }

            fn write(&self, _: &Context<'_>, _: &Plans, $out: &mut Out) -> ServerResult<()> {
                let $value = self;
                $write;
                Ok(())
            }
        })*
    };
}

leaves! {
    bool: |value, out| out.json(value);
    i32: |value, out| out.json(value);
    // A number that is not finite is null, as in the library.
    f64: |value, out| out.json(value);
    str: |value, out| out.text(value);
    String: |value, out| out.text(value);
    ID: |value, out| out.text(value.as_str());
}

impl DirectValue for Cow<'_, str> {
    fn is_direct(_: Selected<'_>) -> bool {
        true
    }

    fn write(&self, _: &Context<'_>, _: &Plans, out: &mut Out) -> ServerResult<()> {
        out.text(self);
        Ok(())
    }
}

/// Writes the name of an enum value.
pub(crate) fn write_enum<T: EnumType>(value: T, out: &mut Out) {
    let mut items = T::items().iter();
    let item = items.find(|item| item.value == value);
    out.plain(item.expect("all values are items").name);
}

impl<T: DirectValue + ?Sized> DirectValue for &T {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        (**self).write(ctx, plans, out)
    }

    async fn resolve(&self, ctx: &Context<'_>, plans: &Plans) -> ServerResult<Value> {
        (**self).resolve(ctx, plans).await
    }
}

/// An error below a nullable position makes it null.
impl<T: DirectValue> DirectValue for Option<T> {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        let Some(value) = self else {
            out.null();
            return Ok(());
        };
        let begin = out.len();
        if let Err(error) = value.write(ctx, plans, out) {
            ctx.add_error(error);
            out.truncate(begin);
            out.null();
        }
        Ok(())
    }

    async fn resolve(&self, ctx: &Context<'_>, plans: &Plans) -> ServerResult<Value> {
        let Some(value) = self else {
            return Ok(Value::Null);
        };
        let resolved = value.resolve(ctx, plans).await;
        Ok(resolved.unwrap_or_else(|error| {
            ctx.add_error(error);
            Value::Null
        }))
    }
}

impl<T: DirectValue> DirectValue for Result<T, Located> {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        match self {
            Ok(value) => value.write(ctx, plans, out),
            Err(error) => Err(Error::from(error.clone()).into_server_error(ctx.item.pos)),
        }
    }

    async fn resolve(&self, ctx: &Context<'_>, plans: &Plans) -> ServerResult<Value> {
        match self {
            Ok(value) => value.resolve(ctx, plans).await,
            Err(error) => Err(Error::from(error.clone()).into_server_error(ctx.item.pos)),
        }
    }
}

impl<T: DirectValue> DirectValue for One<T> {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        self.0.write(ctx, plans, out)
    }

    async fn resolve(&self, ctx: &Context<'_>, plans: &Plans) -> ServerResult<Value> {
        self.0.resolve(ctx, plans).await
    }
}

/// Writes the items of a list.
fn write_items<T: DirectValue>(
    items: &[T],
    ctx: &Context<'_>,
    plans: &Plans,
    out: &mut Out,
) -> ServerResult<()> {
    out.byte(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.byte(b',');
        }
        item.write(&ctx.with_index(index), plans, out)?;
    }
    out.byte(b']');
    Ok(())
}

impl<T: DirectValue> DirectValue for [T] {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        write_items(self, ctx, plans, out)
    }
}

impl<T: DirectValue> DirectValue for Vec<T> {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        write_items(self, ctx, plans, out)
    }
}

/// Counts the objects of a list and their fields.
pub(in crate::execution) fn spend_list(length: usize, ctx: &Context<'_>) -> ServerResult<()> {
    let values = length.saturating_mul(1 + width(&ctx.item.node.selection_set.node));
    let spent = spend(ctx, values, 0);
    spent.map_err(|located| Error::from(located).into_server_error(ctx.item.pos))
}

impl<T: DirectValue> DirectValue for List<T> {
    fn is_direct(selection: Selected<'_>) -> bool {
        T::is_direct(selection)
    }

    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()> {
        spend_list(self.0.len(), ctx)?;
        write_items(&self.0, ctx, plans, out)
    }

    /// The items have to wait, so they are resolved at the same time.
    async fn resolve(&self, ctx: &Context<'_>, plans: &Plans) -> ServerResult<Value> {
        if T::is_direct(Selected::of(ctx)) {
            return written(|out| self.write(ctx, plans, out));
        }
        spend_list(self.0.len(), ctx)?;
        let items = resolve_items(&self.0, |index, item| {
            Box::pin(async move {
                let ctx = ctx.with_index(index);
                item.resolve(&ctx, plans).await
            })
        });
        items.await
    }
}

/// Resolves the items of a list at the same time. They are boxed so that all lists share one copy of the code that runs them
/// together, which is large.
pub(in crate::execution) fn resolve_items<'a, T>(
    items: &'a [T],
    resolve: impl Fn(usize, &'a T) -> Waiting<'a>,
) -> Waiting<'a> {
    let items = items.iter().enumerate();
    let items = items.map(|(index, item)| resolve(index, item)).collect();
    Box::pin(resolve_together(items))
}

async fn resolve_together(items: Vec<Waiting<'_>>) -> ServerResult<Value> {
    try_join_all(items).await.map(Value::List)
}

impl DirectValue for LongText<'_> {
    fn is_direct(_: Selected<'_>) -> bool {
        true
    }

    fn write(&self, ctx: &Context<'_>, _: &Plans, out: &mut Out) -> ServerResult<()> {
        let spent = spend(ctx, 0, self.0.len());
        spent.map_err(|located| Error::from(located).into_server_error(ctx.item.pos))?;
        out.text(&self.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::ServerError;
    use tokio::task::yield_now;

    use super::*;

    /// Of this many items, only those that are woken are polled.
    const MANY: u64 = 40;

    /// An item that is ready before those in front of it.
    fn item(index: u64, outcome: ServerResult<Value>) -> Waiting<'static> {
        Box::pin(async move {
            for _ in index..MANY {
                yield_now().await;
            }
            outcome
        })
    }

    #[tokio::test]
    async fn items_keep_their_order_whichever_is_ready_first() {
        for length in [3, MANY] {
            let items = (0..length).map(|index| item(index, Ok(Value::from(index))));
            let list = resolve_together(items.collect()).await.unwrap();
            assert_eq!(list, Value::List((0..length).map(Value::from).collect()));
        }
    }

    #[tokio::test]
    async fn a_list_fails_with_its_item() {
        for length in [10, MANY] {
            let outcome = |index| match index {
                7 => Err(ServerError::new("broken", None)),
                _ => Ok(Value::Null),
            };
            let items = (0..length).map(|index| item(index, outcome(index)));
            let failed = resolve_together(items.collect()).await.unwrap_err();
            assert_eq!(failed.message, "broken");
        }
    }
}
