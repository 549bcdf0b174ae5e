//! What the service can do.
//!
//! A [`Catalog`] is a handle that is cheap to clone, with one method per use case. Here it is
//! decided which pattern serves a request: what is read from the product itself, what from its own
//! collection, what from memory.
//!
//! | module | what it holds |
//! |---|---|
//! | [`catalog`] | the handle, and the shield that keeps callers' hurry away from the driver |
//! | [`reference`] | categories, spec dictionary and units, kept in memory |
//! | [`products`], [`reviews`], [`suppliers`] | reading |
//! | [`facets`] | filter panels, coverage of keys |
//! | [`search`] | how search texts are read |
//! | [`admin`] | what catalogue admins do |
//! | [`reviewing`] | writing reviews, voting, moderating, recounting, erasing |
//! | [`activity`], [`trending`] | views, carts and purchases, and what gets attention |
//! | [`feed`] | following reviews and ratings as they change |
//! | [`filter`] | from what callers ask for to what is stored |
//! | [`page`] | page arguments and cursors |
//! | [`import`] | writing what feeds say |
//! | [`propagation`] | carrying changes of suppliers to their products, and of products to bundles |
//! | [`maintenance`] | bringing computed data up to date |
//! | [`wakeups`] | what wakes workers before their time |
//! | [`workers`] | what is done in the background, and when |
//! | [`error`] | what can go wrong, by what the caller can do about it |

pub mod activity;
pub mod admin;
pub mod catalog;
mod category_counts;
pub mod clock;
mod concurrency;
pub mod error;
pub mod facets;
pub mod feed;
pub mod filter;
pub mod import;
mod limits;
pub mod maintenance;
pub mod outcome;
pub mod page;
pub mod products;
pub mod propagation;
mod recent;
pub mod reference;
pub mod reviewing;
pub mod reviews;
pub mod search;
mod single_flight;
mod specs;
pub mod suppliers;
pub mod trending;
pub mod wakeups;
pub mod workers;

pub use catalog::{Catalog, CatalogOptions};
pub use error::DomainError;
