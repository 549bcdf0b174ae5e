//! Output types that count against the size limits of a response.

use std::borrow::Cow;

use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql::registry::Registry;
use async_graphql::{ContextSelectionSet, Error, OutputType, Positioned, ServerResult, Value};

use tokio::task::coop::consume_budget;

use super::direct::{self, DirectValue};
use super::response_budget::spend;

/// A list of objects. Resolvers return it instead of `Vec`, so that the number of values in a
/// response is limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(items)
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: OutputType + DirectValue> OutputType for List<T> {
    fn type_name() -> Cow<'static, str> {
        Vec::<T>::type_name()
    }

    fn qualified_type_name() -> String {
        <Vec<T> as OutputType>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Vec<T> as OutputType>::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        // Lets other requests run before lists within lists go on.
        consume_budget().await;
        let ctx_field = direct::field_context(ctx, field);
        if let Some(plans) = direct::of_request(ctx) {
            return DirectValue::resolve(self, &ctx_field, plans).await;
        }
        direct::spend_list(self.0.len(), &ctx_field)?;
        // Like `resolve_list` of the library, but the items are boxed, and extensions are not told of them: the only one that
        // looks at resolvers needs only fields.
        let items = direct::resolve_items(&self.0, |index, item| {
            Box::pin(async move {
                let ctx = ctx.with_index(index);
                let value = OutputType::resolve(item, &ctx, field).await;
                value.map_err(|error| ctx.set_error_path(error))
            })
        });
        items.await
    }
}

/// Returns the maximum number of fields that a selection in normal form has on one object.
pub(super) fn width(set: &SelectionSet) -> usize {
    let (mut shared, mut conditional) = (0, 0);
    for item in &set.items {
        match &item.node {
            Selection::Field(_) => shared += 1,
            Selection::InlineFragment(fragment) => {
                conditional = conditional.max(width(&fragment.node.selection_set.node));
            }
            Selection::FragmentSpread(_) => {}
        }
    }
    shared + conditional
}

/// A text that may be long. Resolvers return it instead of `String`, so that the size of a
/// response is limited before it is written.
#[derive(Clone, Debug)]
pub struct LongText<'a>(pub Cow<'a, str>);

impl From<String> for LongText<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<'a> From<&'a str> for LongText<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl OutputType for LongText<'_> {
    fn type_name() -> Cow<'static, str> {
        <String as OutputType>::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <String as OutputType>::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        match spend(ctx, 0, self.0.len()) {
            Ok(()) => Ok(Value::String(self.0.as_ref().to_owned())),
            Err(located) => Err(Error::from(located).into_server_error(field.pos)),
        }
    }
}
