//! Objects with resolvers.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Attribute, FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, Pat, ReturnType, Token, Type,
    Visibility,
};

use crate::attributes::Attributes;

/// A field with a resolver that is not `async`.
struct Field {
    name: String,
    /// The type that the resolver returns.
    ty: Type,
    /// Reads the arguments and calls the resolver.
    call: TokenStream,
    /// The resolver as it was written, under another name.
    resolver: ImplItemFn,
}

/// Returns the writers, and changes the resolvers that are not `async` into ones that are, because
/// interfaces of the library wait for every resolver.
pub(crate) fn expand(item: &mut ItemImpl) -> syn::Result<TokenStream> {
    let (mut fields, mut flattened) = (Vec::new(), None);
    for item in &mut item.items {
        let ImplItem::Fn(method) = item else { continue };
        if Attributes::of(&method.attrs)?.flatten {
            if flattened.is_some() {
                let message = "at most one object is flattened";
                return Err(syn::Error::new_spanned(&method.sig, message));
            }
            flattened = Some(Flattened::of(method)?);
        } else if method.sig.asyncness.is_none() {
            fields.push(field(method)?);
        }
    }
    let (generics, ty) = (&item.generics, &item.self_ty);
    let own = Members {
        fields: fields.iter().map(Field::writer).collect(),
        flattened,
    };
    let writers = writers(generics, ty, &own, &quote!(direct::resolve_object));
    let (parameters, _, bounds) = generics.split_for_impl();
    let resolvers = fields.iter().map(|field| &field.resolver);
    Ok(quote! {
        #[allow(clippy::pedantic, clippy::allow_attributes, reason = "the library decides on the form of resolvers")]
        impl #parameters #ty #bounds {
            #(#resolvers)*
        }

        #writers
    })
}

impl Field {
    fn writer(&self) -> Writer<'_> {
        let call = &self.call;
        Writer {
            name: &self.name,
            ty: &self.ty,
            value: quote!(&#call),
        }
    }
}

/// The parts of a field that [`writers`] needs.
pub(crate) struct Writer<'a> {
    pub(crate) name: &'a str,
    pub(crate) ty: &'a Type,
    /// An expression of a reference to the value.
    pub(crate) value: TokenStream,
}

/// The direct fields of an object.
pub(crate) struct Members<'a> {
    pub(crate) fields: Vec<Writer<'a>>,
    pub(crate) flattened: Option<Flattened>,
}

/// Another object whose fields an object has, too. They are numbered after its own.
pub(crate) struct Flattened {
    ty: Type,
    /// The method that returns a reference to the other object.
    method: Ident,
}

impl Flattened {
    fn of(method: &ImplItemFn) -> syn::Result<Self> {
        if let ReturnType::Type(_, ty) = &method.sig.output
            && let Type::Reference(reference) = &**ty
        {
            return Ok(Self {
                ty: (*reference.elem).clone(),
                method: method.sig.ident.clone(),
            });
        }
        let message = "a flattened object is returned by reference";
        Err(syn::Error::new_spanned(&method.sig, message))
    }
}

/// Implements both traits for an object. `resolve` is the function that resolves it where not all
/// of its fields are written directly.
pub(crate) fn writers(
    generics: &syn::Generics,
    ty: &dyn quote::ToTokens,
    members: &Members<'_>,
    resolve: &TokenStream,
) -> TokenStream {
    let object = direct_object(generics, ty, members);
    let value = direct_value(generics, ty, resolve);
    quote! {
        const _: () = {
            use crate::execution::direct;

            #object
            #value
        };
    }
}

/// Implements `DirectObject`: one arm per field in each of its functions.
fn direct_object(
    generics: &syn::Generics,
    ty: &dyn quote::ToTokens,
    members: &Members<'_>,
) -> TokenStream {
    let (parameters, _, bounds) = generics.split_for_impl();
    let [other_number, other_is_direct, other_write] = other_arms(members);
    let fields = || members.fields.iter().enumerate();
    let known = fields().map(|(number, field)| {
        let name = field.name;
        quote!(#name => ::std::option::Option::Some(#number))
    });
    let direct = fields().map(|(number, field)| {
        let ty = field.ty;
        quote!(#number => <#ty as direct::DirectValue>::is_direct(selection))
    });
    let written = fields().map(|(number, field)| {
        let value = &field.value;
        quote!(#number => direct::DirectValue::write(#value, ctx, plans, out))
    });
    quote! {
        impl #parameters direct::DirectObject for #ty #bounds {
            fn number_of(name: &str) -> ::std::option::Option<usize> {
                match name {
                    #(#known,)*
                    _ => #other_number,
                }
            }

            #[allow(unused_variables, clippy::allow_attributes, reason = "an object may have no direct field")]
            fn is_direct(number: usize, selection: direct::Selected<'_>) -> bool {
                match number {
                    #(#direct,)*
                    _ => #other_is_direct,
                }
            }

            #[allow(unused_variables, clippy::allow_attributes, reason = "an object may have no direct field")]
            fn write(
                &self,
                number: usize,
                ctx: &::async_graphql::Context<'_>,
                plans: &direct::Plans,
                out: &mut direct::Out,
            ) -> ::async_graphql::ServerResult<()> {
                match number {
                    #(#written,)*
                    _ => #other_write,
                }
            }
        }
    }
}

/// Returns what the functions of `DirectObject` do with fields that are not the object's own: those
/// of the flattened object, if it has one.
fn other_arms(members: &Members<'_>) -> [TokenStream; 3] {
    let count = members.fields.len();
    match &members.flattened {
        None => [
            quote!(::std::option::Option::None),
            quote!(false),
            quote!(::std::unreachable!(
                "a plan has numbers of the type it was made for"
            )),
        ],
        Some(Flattened { ty, method }) => [
            quote!(<#ty as direct::DirectObject>::number_of(name).map(|number| number + #count)),
            quote!(<#ty as direct::DirectObject>::is_direct(number - #count, selection)),
            quote!(direct::DirectObject::write(self.#method(ctx), number - #count, ctx, plans, out)),
        ],
    }
}

/// Implements `DirectValue` by means of `DirectObject`.
fn direct_value(
    generics: &syn::Generics,
    ty: &dyn quote::ToTokens,
    resolve: &TokenStream,
) -> TokenStream {
    let (parameters, _, bounds) = generics.split_for_impl();
    quote! {
        impl #parameters direct::DirectValue for #ty #bounds {
            fn is_direct(selection: direct::Selected<'_>) -> bool {
                direct::is_direct_object::<Self>(selection)
            }

            fn write(
                &self,
                ctx: &::async_graphql::Context<'_>,
                plans: &direct::Plans,
                out: &mut direct::Out,
            ) -> ::async_graphql::ServerResult<()> {
                direct::write_object(self, ctx, plans, out)
            }

            async fn resolve(
                &self,
                ctx: &::async_graphql::Context<'_>,
                plans: &direct::Plans,
            ) -> ::async_graphql::ServerResult<::async_graphql::Value> {
                #resolve(self, ctx, plans).await
            }
        }
    }
}

/// Reads a resolver, and changes it into an `async` one that calls it.
fn field(method: &mut ImplItemFn) -> syn::Result<Field> {
    let ReturnType::Type(_, ty) = &method.sig.output else {
        let message = "a resolver returns a value";
        return Err(syn::Error::new_spanned(&method.sig, message));
    };
    let (name, ty) = (
        Attributes::of(&method.attrs)?.name(&method.sig.ident),
        (**ty).clone(),
    );
    let (mut passed, mut read, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for argument in &method.sig.inputs {
        let FnArg::Typed(argument) = argument else {
            continue;
        };
        let Pat::Ident(pattern) = &*argument.pat else {
            let message = "an argument has a plain name";
            return Err(syn::Error::new_spanned(&argument.pat, message));
        };
        let (ident, ty) = (&pattern.ident, &argument.ty);
        same.push(quote!(#ident));
        if is_context(ty) {
            passed.push(quote!(ctx));
            continue;
        }
        let attributes = Attributes::of(&argument.attrs)?;
        let name = attributes.name(ident);
        let default = if let Some(default) = &attributes.default {
            quote!(::std::option::Option::Some(|| -> #ty { #default }))
        } else {
            quote!(::std::option::Option::None)
        };
        read.push(quote!(let #ident: #ty = ctx.param_value(#name, #default)?.1;));
        passed.push(quote!(#ident));
    }
    let receiver = method.sig.receiver().map(|receiver| receiver.self_token);
    let mut resolver = method.clone();
    let ident = format_ident!("direct_{}", method.sig.ident);
    resolver.sig.ident = ident.clone();
    resolver.vis = Visibility::Inherited;
    resolver.attrs.retain(is_kept);
    for argument in &mut resolver.sig.inputs {
        if let FnArg::Typed(argument) = argument {
            argument.attrs.retain(is_kept);
        }
    }
    method.sig.asyncness = Some(Token![async](Span::call_site()));
    method.block = syn::parse2(quote!({ #receiver.#ident(#(#same),*) }))?;
    Ok(Field {
        name,
        ty,
        call: quote!({ #(#read)* self.#ident(#(#passed),*) }),
        resolver,
    })
}

/// Whether an attribute belongs to the function, and not to its description in the schema.
fn is_kept(attribute: &Attribute) -> bool {
    let path = attribute.path();
    !path.is_ident("graphql") && !path.is_ident("doc")
}

/// Whether a type is `&Context<'_>`.
fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else {
        return false;
    };
    let Type::Path(path) = &*reference.elem else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == "Context")
}
