//! Feeds in: what a line of somebody's file means, and what became of it.
//!
//! A feed is a file of JSON Lines or CSV, plain or gzipped. A [`mapping::Mapping`] says where in
//! its rows the names, prices, specs and reviews are; it is a file of its own that people write.
//! [`draft`] turns rows into the model's drafts, a batch at a time, and never touches a database.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mapping`] | mapping files: reading them, and applying them to rows |
//! | [`feed`] | rows out of files, whatever their form, in bounded memory |
//! | [`draft`] | rows into batches of drafts and refusals |
//! | [`run`] | batches into the catalogue |
//! | [`report`] | what became of the lines, for people and for programs |
//! | [`rejects`] | the file of everything that was refused or left out |
//! | [`demo`] | the generator of the demo catalogue |

pub mod demo;
pub mod draft;
pub mod feed;
pub mod mapping;
pub mod rejects;
pub mod report;
pub mod run;

pub use mapping::{Mapping, MappingError};
pub use report::Report;
pub use run::{ImportError, ImportOrder, Progress, import};
