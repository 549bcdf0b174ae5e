//! Direct writing: fields that need no look-up are written as bytes of JSON, without a future, a
//! map or a value per field.
//!
//! The library runs a future for every field and collects values. That is right for resolvers that
//! wait for a database. A resolver that is not `async` is *direct*: the macros of
//! `vitrine-api-derive` generate a writer from its definition, so that there is one description of
//! each field.
//!
//! - A selection is compiled once per concrete type into a [`Plan`]: for each response key, whether
//!   the field is written directly or by its resolver. Plans are kept with the normal form of the
//!   operation, which requests share.
//! - An object whose selected fields are all direct, down to the leaves, is written in one go.
//!   Otherwise direct fields are written, and the others run as the library runs them, at the same
//!   time.
//! - What is written enters the library's value as [`Value::Binary`], which
//!   [`super::json`] copies into the response.
//!
//! Errors, paths, nulls, and the order of keys are those of the library: a test compares both.
//!
//! Direct writing begins at [`One`] and [`super::List`].

mod leaves;
mod out;
mod plan;

use std::borrow::Cow;
use std::pin::Pin;
use std::task::Poll;

use async_graphql::parser::types::{Field, SelectionSet};
use async_graphql::registry::Registry;
use async_graphql::{
    ContainerType, Context, ContextSelectionSet, OutputType, Positioned, ServerResult, Value,
};
use futures_util::future::poll_fn;

pub(crate) use leaves::write_enum;
pub(super) use leaves::{resolve_items, spend_list};
pub(crate) use out::Out;
pub(crate) use plan::Plans;
use plan::{Plan, Writing};
pub(super) use plan::{PlanTable, number_in, of_request};

/// A selection, and the schema that it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Selected<'a> {
    set: &'a SelectionSet,
    registry: &'a Registry,
}

impl<'a> Selected<'a> {
    fn of(ctx: &'a Context<'_>) -> Self {
        Self {
            set: &ctx.item.node.selection_set.node,
            registry: &ctx.schema_env.registry,
        }
    }

    fn below(self, field: &'a Field) -> Self {
        Self {
            set: &field.selection_set.node,
            ..self
        }
    }
}

/// A value of a field that can be written as JSON.
pub(crate) trait DirectValue: Send + Sync {
    /// Whether a value with this selection can be written without resolvers. True for leaves.
    fn is_direct(selection: Selected<'_>) -> bool;

    /// Writes the value of the field of `ctx`. The selection must be direct. Fails with the error of
    /// a non-null field; what was written then is to be removed.
    fn write(&self, ctx: &Context<'_>, plans: &Plans, out: &mut Out) -> ServerResult<()>;

    /// Resolves the value of the field of `ctx`: directly where possible, otherwise with resolvers.
    fn resolve(
        &self,
        ctx: &Context<'_>,
        plans: &Plans,
    ) -> impl Future<Output = ServerResult<Value>> + Send {
        async move { written(|out| self.write(ctx, plans, out)) }
    }
}

/// An object with direct fields. They are numbered, so that a plan can refer to them.
pub(crate) trait DirectObject: ContainerType {
    /// Returns the number of the direct field with this name.
    fn number_of(name: &str) -> Option<usize>;

    /// Whether the value of a direct field can be written with this selection.
    fn is_direct(number: usize, selection: Selected<'_>) -> bool;

    /// Writes the value of a direct field. `ctx` is that of the field.
    fn write(
        &self,
        number: usize,
        ctx: &Context<'_>,
        plans: &Plans,
        out: &mut Out,
    ) -> ServerResult<()>;
}

/// One object. Resolvers return it where direct writing begins, as they return [`super::List`] for
/// several.
#[derive(Clone, Debug)]
pub(crate) struct One<T>(pub(crate) T);

impl<T: OutputType + DirectValue> OutputType for One<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn qualified_type_name() -> String {
        T::qualified_type_name()
    }

    fn introspection_type_name(&self) -> Cow<'static, str> {
        self.0.introspection_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        match plan::of_request(ctx) {
            Some(plans) => DirectValue::resolve(&self.0, &field_context(ctx, field), plans).await,
            None => OutputType::resolve(&self.0, ctx, field).await,
        }
    }
}

/// Returns the context of the field whose value is resolved in `ctx`.
pub(super) fn field_context<'a>(
    ctx: &'a ContextSelectionSet<'_>,
    field: &'a Positioned<Field>,
) -> Context<'a> {
    let (schema, query) = (ctx.schema_env, ctx.query_env);
    query.create_context(schema, ctx.path_node, field, ctx.execute_data)
}

/// Returns what `write` writes, as a value.
pub(super) fn written(write: impl FnOnce(&mut Out) -> ServerResult<()>) -> ServerResult<Value> {
    let mut out = Out::default();
    write(&mut out)?;
    Ok(out.into_value())
}

/// Whether all fields of an object with this selection are direct.
pub(crate) fn is_direct_object<T: DirectObject>(selection: Selected<'_>) -> bool {
    let mut fields = plan::fields_of(&T::type_name(), selection).into_iter();
    fields.all(|field| is_direct_field::<T>(&field.node, selection))
}

fn is_direct_field<T: DirectObject>(field: &Field, selection: Selected<'_>) -> bool {
    let name = field.name.node.as_str();
    let number = T::number_of(name);
    name == "__typename"
        || number.is_some_and(|number| T::is_direct(number, selection.below(field)))
}

/// Writes an object whose selected fields are all direct.
pub(crate) fn write_object<T: DirectObject>(
    object: &T,
    ctx: &Context<'_>,
    plans: &Plans,
    out: &mut Out,
) -> ServerResult<()> {
    let plan = plans.of::<T>(Selected::of(ctx));
    let mut before = b'{';
    for planned in &plan.fields {
        out.byte(before);
        before = b',';
        out.bytes(&planned.key);
        write_field(object, planned, ctx, out)?;
    }
    out.end_object(before);
    Ok(())
}

fn write_field<T: DirectObject>(
    object: &T,
    planned: &plan::PlannedField,
    ctx: &Context<'_>,
    out: &mut Out,
) -> ServerResult<()> {
    match planned.writing {
        Writing::Direct(number) => {
            let ctx = ctx.with_field(&planned.field);
            object.write(number, &ctx, &planned.below, out)
        }
        Writing::TypeName => {
            out.text(&T::type_name());
            Ok(())
        }
        Writing::Resolver => unreachable!("only direct selections are written"),
    }
}

/// Resolves an object: at once if all selected fields are direct, otherwise with resolvers for the
/// others.
pub(crate) async fn resolve_object<T: DirectObject>(
    object: &T,
    ctx: &Context<'_>,
    plans: &Plans,
) -> ServerResult<Value> {
    let plan = plans.of::<T>(Selected::of(ctx));
    if plan.is_direct {
        return written(|out| write_object(object, ctx, plans, out));
    }
    resolve_mixed(object, ctx, plan).await
}

/// The same for an object whose fields wait only because of what is below them: the library resolves
/// it, up to where direct writing begins again.
pub(crate) async fn resolve_simple_object<T: DirectObject>(
    object: &T,
    ctx: &Context<'_>,
    plans: &Plans,
) -> ServerResult<Value> {
    if plans.of::<T>(Selected::of(ctx)).is_direct {
        return written(|out| write_object(object, ctx, plans, out));
    }
    let selection = ctx.with_selection_set(&ctx.item.node.selection_set);
    OutputType::resolve(object, &selection, ctx.item).await
}

/// The boxed future of a field that has to wait, or of an item of a list.
pub(crate) type Waiting<'a> = Pin<Box<dyn Future<Output = ServerResult<Value>> + Send + 'a>>;

/// Wraps the futures of fields with a type and a name, if an engine has it in its data. Extensions of
/// the library wrap only those of the fields that the library runs.
pub(crate) struct WrapResolvers(pub(crate) for<'a> fn(&str, &str, Waiting<'a>) -> Waiting<'a>);

/// A field that has to wait, or its value.
enum Gap<'a> {
    Open(Waiting<'a>),
    Filled(Value),
}

/// An object that is partly written. The values of resolvers that wait go into gaps.
#[derive(Default)]
struct Pieces<'a> {
    out: Out,
    /// Where the values belong that are not written yet.
    gaps: Vec<(usize, Gap<'a>)>,
}

impl Pieces<'_> {
    /// Puts all together; no gap is open.
    fn joined(self) -> Value {
        if self.gaps.is_empty() {
            return self.out.into_value();
        }
        let (mut out, mut begin) = (Out::default(), 0);
        for (end, gap) in self.gaps {
            out.bytes(self.out.between(begin, end));
            begin = end;
            if let Gap::Filled(value) = gap {
                out.value(&value);
            }
        }
        out.bytes(self.out.between(begin, self.out.len()));
        out.into_value()
    }
}

/// Starts all fields in their order. The first error in that order ends it, as in the library.
async fn resolve_mixed<T: DirectObject>(
    object: &T,
    ctx: &Context<'_>,
    plan: &Plan,
) -> ServerResult<Value> {
    let mut pieces = Pieces::default();
    poll_fn(|task| {
        let mut before = b'{';
        for planned in &plan.fields {
            pieces.out.byte(before);
            before = b',';
            pieces.out.bytes(&planned.key);
            if planned.writing != Writing::Resolver {
                write_field(object, planned, ctx, &mut pieces.out)?;
                continue;
            }
            let mut waiting: Waiting<'_> = Box::pin(async move {
                let ctx = ctx.with_field(&planned.field);
                let value = object.resolve_field(&ctx).await?;
                Ok(value.unwrap_or_default())
            });
            if let Some(WrapResolvers(wrap)) = ctx.data_opt() {
                let name = planned.field.node.name.node.as_str();
                waiting = wrap(&T::type_name(), name, waiting);
            }
            match waiting.as_mut().poll(task) {
                Poll::Ready(value) => pieces.out.value(&value?),
                Poll::Pending => pieces.gaps.push((pieces.out.len(), Gap::Open(waiting))),
            }
        }
        pieces.out.end_object(before);
        Poll::Ready(ServerResult::Ok(()))
    })
    .await?;
    poll_fn(|task| {
        let mut open = false;
        for (_, gap) in &mut pieces.gaps {
            let Gap::Open(waiting) = gap else { continue };
            match waiting.as_mut().poll(task) {
                Poll::Ready(value) => *gap = Gap::Filled(value?),
                Poll::Pending => open = true,
            }
        }
        if open {
            Poll::Pending
        } else {
            Poll::Ready(ServerResult::Ok(()))
        }
    })
    .await?;
    Ok(pieces.joined())
}
