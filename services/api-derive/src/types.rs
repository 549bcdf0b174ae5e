//! Types without resolvers of their own.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Fields};

use crate::attributes::Attributes;
use crate::object::{Members, Writer, writers};

pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    match &item.data {
        Data::Struct(data) => simple_object(item, data),
        Data::Enum(data) if is_plain(data) => Ok(enumeration(item)),
        Data::Enum(data) => Ok(one_of(item, data)),
        Data::Union(_) => Err(syn::Error::new_spanned(
            item,
            "expected a struct or an enum",
        )),
    }
}

fn is_plain(data: &DataEnum) -> bool {
    let mut variants = data.variants.iter();
    variants.all(|variant| matches!(variant.fields, Fields::Unit))
}

fn simple_object(item: &DeriveInput, data: &DataStruct) -> syn::Result<TokenStream> {
    let mut named = Vec::new();
    for field in &data.fields {
        let Some(ident) = &field.ident else {
            return Err(syn::Error::new_spanned(field, "expected a named field"));
        };
        let attributes = Attributes::of(&field.attrs)?;
        if !attributes.skip {
            named.push((attributes.name(ident), ident, &field.ty));
        }
    }
    let fields = named
        .iter()
        .map(|(name, ident, ty)| Writer {
            name,
            ty,
            value: quote!(&self.#ident),
        })
        .collect();
    let ident = &item.ident;
    let (_, arguments, _) = item.generics.split_for_impl();
    let resolve = quote!(direct::resolve_simple_object);
    let members = Members {
        fields,
        flattened: None,
    };
    Ok(writers(
        &item.generics,
        &quote!(#ident #arguments),
        &members,
        &resolve,
    ))
}

fn enumeration(item: &DeriveInput) -> TokenStream {
    let ident = &item.ident;
    quote! {
        const _: () = {
            use crate::execution::direct;

            impl direct::DirectValue for #ident {
                fn is_direct(_: direct::Selected<'_>) -> bool {
                    true
                }

                fn write(
                    &self,
                    _: &::async_graphql::Context<'_>,
                    _: &direct::Plans,
                    out: &mut direct::Out,
                ) -> ::async_graphql::ServerResult<()> {
                    direct::write_enum(*self, out);
                    ::std::result::Result::Ok(())
                }
            }
        };
    }
}

/// A union or an interface: each variant holds one type.
fn one_of(item: &DeriveInput, data: &DataEnum) -> TokenStream {
    let ident = &item.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let types: Vec<_> = data
        .variants
        .iter()
        .filter_map(|variant| variant.fields.iter().next())
        .map(|field| &field.ty)
        .collect();
    quote! {
        const _: () = {
            use crate::execution::direct;

            impl direct::DirectValue for #ident {
                fn is_direct(selection: direct::Selected<'_>) -> bool {
                    #(<#types as direct::DirectValue>::is_direct(selection))&&*
                }

                fn write(
                    &self,
                    ctx: &::async_graphql::Context<'_>,
                    plans: &direct::Plans,
                    out: &mut direct::Out,
                ) -> ::async_graphql::ServerResult<()> {
                    match self {
                        #(Self::#variants(value) => direct::DirectValue::write(value, ctx, plans, out),)*
                    }
                }

                async fn resolve(
                    &self,
                    ctx: &::async_graphql::Context<'_>,
                    plans: &direct::Plans,
                ) -> ::async_graphql::ServerResult<::async_graphql::Value> {
                    match self {
                        #(Self::#variants(value) => direct::DirectValue::resolve(value, ctx, plans).await,)*
                    }
                }
            }
        };
    }
}
