//! The storefront and the console for browsers, and GraphiQL.
//!
//! The pages are a client of the public API: this crate names no other crate of the service. It is
//! given the router of the API, sends it the same HTTP requests that anybody may send, and adds
//! pages around it. The first answer of a page is part of its HTML, so a page can be read before, or
//! without, running its scripts:
//!
//! | module | what it does |
//! |---|---|
//! | `asking` | sends the operations of `ui/operations` to the API, with the rights and limits of the caller |
//! | `address` | translates the address of a list into variables; `ui/store/address.js` does the same |
//! | `document`, `pages` | write HTML with the first answers |
//! | `login` | says where visitors sign in, if they do so at an identity provider |
//! | `structured_data` | says in JSON-LD what a product page shows |
//! | `assets` | serves scripts and style sheets under addresses that change with their content |
//! | `pictures` | draws products that have no picture |
//!
//! The console is drawn by its scripts alone, because what it shows needs a token.
//!
//! All text of the catalogue goes through [`markup::Html`], which escapes it.

mod address;
mod asking;
mod assets;
mod document;
mod format;
mod identities;
mod login;
mod markup;
mod operations;
mod pages;
mod pictures;
mod site;
mod structured_data;
mod tile;

pub use identities::Identity;
pub use login::{Endpoints, Login};
pub use operations::{Operation, console_operations, operations};
pub use site::{Site, around};
