//! Interfaces that have the fields of an object type.

/// Defines an interface: an `enum` of object types, and the object type whose fields it has. All of
/// them dereference to that type, and have its fields. The library's `Interface` would need a second
/// description of every field, and would compile each field for each type.
macro_rules! interface {
    (
        $(#[doc = $description:literal])*
        $visibility:vis enum $interface:ident: $common:ident {
            $($(#[$($meta:tt)*])* $object:ident,)*
        }
    ) => {
        $(#[doc = $description])*
        #[derive(vitrine_api_derive::Direct)]
        $visibility enum $interface {
            $($(#[$($meta)*])* $object($object),)*
        }

        impl ::std::ops::Deref for $interface {
            type Target = $common;

            fn deref(&self) -> &$common {
                match self {
                    $(Self::$object(object) => object,)*
                }
            }
        }

        const _: () = {
            use ::std::borrow::Cow;

            use ::async_graphql::parser::types::Field;
            use ::async_graphql::registry::{MetaType, MetaTypeId, Registry};
            use ::async_graphql::resolver_utils::Fields;
            use ::async_graphql::{
                ContainerType, Context, ContextSelectionSet, InterfaceType, OutputType, Positioned,
                ServerResult, Value,
            };

            impl ContainerType for $interface {
                async fn resolve_field(&self, ctx: &Context<'_>) -> ServerResult<Option<Value>> {
                    (**self).resolve_field(ctx).await
                }

                fn collect_all_fields<'a>(
                    &'a self,
                    ctx: &ContextSelectionSet<'a>,
                    fields: &mut Fields<'a>,
                ) -> ServerResult<()> {
                    match self {
                        $(Self::$object(object) => object.collect_all_fields(ctx, fields),)*
                    }
                }
            }

            impl OutputType for $interface {
                fn type_name() -> Cow<'static, str> {
                    stringify!($interface).into()
                }

                fn introspection_type_name(&self) -> Cow<'static, str> {
                    match self {
                        $(Self::$object(_) => <$object as OutputType>::type_name(),)*
                    }
                }

                fn create_type_info(registry: &mut Registry) -> String {
                    registry.create_output_type::<Self, _>(MetaTypeId::Interface, |registry| {
                        let common = registry.create_fake_output_type::<$common>();
                        $(
                            <$object as OutputType>::create_type_info(registry);
                            registry.add_implements(
                                &<$object as OutputType>::type_name(),
                                stringify!($interface),
                            );
                        )*
                        let objects = [$(<$object as OutputType>::type_name().into_owned(),)*];
                        let description = [$($description.trim()),*].join("\n");
                        MetaType::Interface {
                            name: stringify!($interface).to_owned(),
                            description: Some(description),
                            fields: common.fields().cloned().unwrap_or_default(),
                            possible_types: objects.into_iter().collect(),
                            extends: false,
                            keys: None,
                            visible: None,
                            inaccessible: false,
                            tags: Vec::new(),
                            rust_typename: Some(::std::any::type_name::<Self>()),
                            directive_invocations: Vec::new(),
                            requires_scopes: Vec::new(),
                        }
                    })
                }

                async fn resolve(
                    &self,
                    ctx: &ContextSelectionSet<'_>,
                    _: &Positioned<Field>,
                ) -> ServerResult<Value> {
                    ::async_graphql::resolver_utils::resolve_container(ctx, self).await
                }
            }

            impl InterfaceType for $interface {}
        };
    };
}

pub(super) use interface;
