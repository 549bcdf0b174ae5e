//! What the service can do.
//!
//! A [`Catalog`] is a handle that is cheap to clone, with one method per use case. This crate
//! decides which data serves a request: the product document itself, another collection, or memory.
//!
//! | module | contents |
//! |---|---|
//! | [`catalog`] | the handle, its concurrency limits and time limits |
//! | [`mod@reference`] | categories, spec dictionary and units, cached in memory |
//! | [`products`], [`reviews`], [`suppliers`] | queries |
//! | [`product_memory`] | products in memory |
//! | [`facets`] | filter panels, coverage of spec keys |
//! | [`search`] | parsing and answering search texts |
//! | [`admin`] | mutations of the catalogue |
//! | [`history`] | who changed products, categories and spec keys, and how |
//! | [`reviewing`] | submitting reviews, votes, moderation, rating statistics, erasure |
//! | [`pictures`] | uploaded pictures: claiming, showing and deleting them |
//! | [`activity`], [`trending`] | views, carts and purchases; trending products |
//! | [`feed`] | live subscriptions to reviews and ratings |
//! | [`filter`] | from a caller's filter to a filter on stored data |
//! | [`page`] | page arguments and cursors |
//! | [`import`], [`import_runs`], [`uploads`] | writing the drafts of feeds; records of the runs; files for them |
//! | [`export`], [`restore`] | the catalogue as a stream, and storing it as it was |
//! | [`propagation`] | updating copies: suppliers in products, products in bundles |
//! | [`maintenance`] | keeping computed data up to date |
//! | [`wakeups`] | change streams that wake workers early |
//! | [`workers`] | the background workers and their intervals |
//! | [`spans`], [`work`] | what operators learn about the database operations of a request |
//! | [`clock`] | the system clock, and one synchronised with the database |
//! | [`outcome`] | answers and refusals of mutations |
//! | [`error`] | errors, by what the caller can do about them |

pub mod activity;
pub mod admin;
pub mod catalog;
mod category_counts;
pub mod clock;
mod concurrency;
pub mod error;
mod examined;
pub mod export;
pub mod facets;
pub mod feed;
pub mod filter;
pub mod history;
pub mod import;
pub mod import_runs;
mod limits;
mod line_limiter;
pub mod maintenance;
pub mod outcome;
pub mod overrides;
pub mod page;
mod persisted_queries;
pub mod pictures;
pub mod product_memory;
pub mod products;
pub mod propagation;
mod recent;
pub mod reference;
mod rejections;
pub mod restore;
pub mod reviewing;
pub mod reviews;
pub mod search;
mod single_flight;
pub mod spans;
mod specs;
pub mod suppliers;
pub mod trending;
pub mod uploads;
pub mod wakeups;
pub mod work;
pub mod workers;

pub use catalog::{Catalog, CatalogOptions};
pub use concurrency::PermitUse;
pub use error::DomainError;
pub use line_limiter::LineLimiter;
