//! Output types.

pub(crate) mod category;
pub(crate) mod common;
pub(crate) mod coverage;
pub(crate) mod details;
pub(crate) mod facet;
pub(crate) mod node;
pub(crate) mod page;
pub(crate) mod payload;
pub(crate) mod product;
pub(crate) mod rating;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod spec;
pub(crate) mod supplier;
