//! Importing feeds: mapping the rows of their files to drafts, storing these, and reporting the
//! outcome of each line.
//!
//! A feed is a file, or more of them, in any format that `vitrine-formats` reads. A [`mapping::Mapping`] is a separate
//! file, written by people, that says where in the rows the names, prices, specs and reviews are.
//! [`draft`] maps rows to the model's drafts, in batches, without a database.
//!
//! | module | contents |
//! |---|---|
//! | [`mapping`] | mapping files: reading them, and applying them to rows |
//! | [`draft`] | batches of drafts and rejected lines |
//! | [`run`] | storing batches in the catalogue |
//! | [`importer`] | runs for the worker `imports` |
//! | [`report`] | the outcome of an import, as text and as JSON |
//! | [`sample`] | rows beside what becomes of them |
//! | [`rejects`] | the file of rejected lines and dropped values |

pub mod draft;
pub mod importer;
pub mod mapping;
pub mod rejects;
pub mod report;
pub mod run;
pub mod sample;

pub use importer::Importer;
pub use mapping::{Mapping, MappingError};
pub use report::Report;
pub use run::{ImportError, ImportOptions, Progress, import};
