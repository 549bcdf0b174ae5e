//! Output types.

pub(crate) mod activity;
pub(crate) mod audit;
pub(crate) mod bulk;
pub(crate) mod category;
pub(crate) mod common;
pub(crate) mod coverage;
pub(crate) mod details;
pub(crate) mod erasure;
pub(crate) mod facet;
pub(crate) mod history;
pub(crate) mod import_run;
mod interface;
pub(crate) mod moderation;
pub(crate) mod node;
pub(crate) mod operations;
pub(crate) mod page;
pub(crate) mod payload;
pub(crate) mod product;
pub(crate) mod rating;
pub(crate) mod review;
pub(crate) mod reviewing;
pub(crate) mod search;
pub(crate) mod spec;
pub(crate) mod supplier;
pub(crate) mod viewer;
