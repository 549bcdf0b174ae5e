//! The only crate that knows MongoDB.
//!
//! A [`Store`] is a cheap handle on one database. Its methods take and give model types; documents
//! stay inside. A verb tells what a method does: `get` reads one, `get_many` a batch, `page` a part
//! of a list, `count` a number, `insert` and `apply` write.
//!
//! | module | what it holds |
//! |---|---|
//! | [`store`] | connecting, limits, watching commands |
//! | [`error`] | what can go wrong, by what the caller can do about it |
//! | [`products`], [`reviews`], [`reference`] | one per collection, or few that belong together |
//! | [`write`] | changes that happen whole or not at all |
//! | [`counts`] | counting for facets, and counts made ahead |
//! | [`words`] | the vocabulary of searches |
//! | [`reviewing`] | what shoppers, moderators and the shop write about reviews |
//! | [`moderation`] | what moderators read |
//! | [`ratings`] | rating numbers by time, counted anew, and mended |
//! | [`erasure`] | taking an author out of everything |
//! | [`fold`] | the transaction that brings computed data up to date |
//! | [`keyset`] | pages of lists |
//! | [`schema`], [`migrations`] | what the database looks like and how it came to |
//! | [`audit`] | everything read back and compared with what it should be |
//! | [`views`] | documents read lazily |

mod by_spec;
mod documents;
mod products_query;
mod raw;
mod transaction;

pub mod audit;
pub mod counts;
pub mod erasure;
pub mod error;
pub mod fold;
pub mod keyset;
pub mod migrations;
pub mod moderation;
pub mod products;
pub mod ratings;
pub mod reference;
pub mod reviewing;
pub mod reviews;
pub mod runs;
pub mod schema;
pub mod settings;
pub mod store;
pub mod views;
pub mod words;
pub mod write;

pub use error::StorageError;
pub use store::{CommandSeen, Store, StoreOptions};
pub use transaction::retry_contended;
