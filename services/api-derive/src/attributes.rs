//! What `#[graphql(…)]` says of a field or an argument.

use heck::ToLowerCamelCase as _;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Lit, Meta, Token};

/// The attributes that matter for writing.
#[derive(Default)]
pub(crate) struct Attributes {
    name: Option<String>,
    /// The default value of an argument.
    pub(crate) default: Option<Expr>,
    /// Whether the field is not part of the schema.
    pub(crate) skip: bool,
    /// Whether the resolver returns an object whose fields this object has, too.
    pub(crate) flatten: bool,
}

impl Attributes {
    pub(crate) fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self::default();
        let graphql = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("graphql"));
        for attribute in graphql {
            let metas =
                attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            for meta in &metas {
                found.add(meta)?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, meta: &Meta) -> syn::Result<()> {
        match meta {
            Meta::NameValue(pair) if pair.path.is_ident("name") => {
                self.name = Some(text(&pair.value)?);
            }
            Meta::NameValue(pair) if pair.path.is_ident("default_with") => {
                self.default = Some(syn::parse_str(&text(&pair.value)?)?);
            }
            // Other forms of defaults have other rules of conversion.
            meta if meta.path().is_ident("default") => {
                return Err(syn::Error::new_spanned(meta, "use `default_with`"));
            }
            Meta::Path(path) if path.is_ident("skip") => self.skip = true,
            Meta::Path(path) if path.is_ident("flatten") => self.flatten = true,
            _ => {}
        }
        Ok(())
    }

    /// Returns the name in the schema.
    pub(crate) fn name(&self, ident: &Ident) -> String {
        let renamed = || ident.unraw().to_string().to_lower_camel_case();
        self.name.clone().unwrap_or_else(renamed)
    }
}

/// Returns the value of a literal. Macros put literals into invisible groups.
fn text(value: &Expr) -> syn::Result<String> {
    match value {
        Expr::Group(group) => text(&group.expr),
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Ok(text.value()),
            _ => Err(syn::Error::new_spanned(value, "expected a string")),
        },
        _ => Err(syn::Error::new_spanned(value, "expected a string")),
    }
}
