//! Generates direct writers for GraphQL types, from the definitions that async-graphql reads.
//!
//! A resolver that is not `async` needs no look-up, so its field can be written without a future.
//! The module `execution::direct` of `vitrine-api` describes the traits that are implemented here.

mod attributes;
mod object;
mod types;

use proc_macro::TokenStream;

/// Implements `DirectObject` and `DirectValue` for the type of an `#[Object]` implementation. Goes
/// above `#[Object]`. Every resolver that is not `async` becomes a direct field.
#[proc_macro_attribute]
pub fn direct(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = syn::parse_macro_input!(item as syn::ItemImpl);
    let generated = object::expand(&mut item);
    let generated = generated.unwrap_or_else(|error| error.to_compile_error());
    quote::quote!(#item #generated).into()
}

/// Implements the same for a `SimpleObject`, whose fields are all direct, and `DirectValue` for an
/// `Enum`, a `Union` or an `Interface`.
#[proc_macro_derive(Direct, attributes(graphql))]
pub fn derive_direct(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    let generated = types::expand(&item);
    let generated = generated.unwrap_or_else(|error| error.to_compile_error());
    generated.into()
}
