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
//! | [`category_counts`] | how many products each category holds |
//! | [`claims`] | idempotency keys of reviews |
//! | [`words`] | the vocabulary of searches |
//! | [`reviewing`] | what shoppers, moderators and the shop write about reviews |
//! | [`moderation`] | what moderators read |
//! | [`ratings`] | rating numbers by time, counted anew, and mended |
//! | [`propagation`] | copies that follow what they were copied from |
//! | [`changes`] | what changes, as it happens |
//! | [`abandoned`] | transactions that nobody goes on with |
//! | [`batch`] | writing many documents of which some may be impossible to write |
//! | [`leases`], [`workers`] | who does the work in the background, and what became of it |
//! | [`versions`] | documents of several versions side by side |
//! | [`activity`] | views, carts and purchases in buckets |
//! | [`trending`] | what gets attention |
//! | [`erasure`] | taking an author out of everything |
//! | [`feed`] | reviews and ratings as they change, for those who follow |
//! | [`shards`] | how collections are spread over servers |
//! | `names` | what only one product or review may be called |
//! | [`fold`] | the transaction that brings computed data up to date |
//! | [`ranks`] | where products are in lists |
//! | [`keyset`] | pages of lists |
//! | [`schema`], [`migrations`] | what the database looks like and how it came to |
//! | [`audit`] | everything read back and compared with what it should be |
//! | [`views`] | documents read lazily |

mod by_spec;
mod documents;
mod elections;
mod in_order;
mod products_query;
mod raw;
mod transaction;

pub mod abandoned;
pub mod activity;
pub mod audit;
pub mod batch;
pub mod category_counts;
pub mod changes;
pub mod claims;
pub mod counts;
pub mod erasure;
pub mod error;
pub mod feed;
pub mod fold;
pub mod keyset;
pub mod leases;
pub mod migrations;
pub mod moderation;
mod names;
pub mod products;
pub mod propagation;
pub mod ranks;
pub mod ratings;
pub mod reference;
pub mod reviewing;
pub mod reviews;
pub mod runs;
pub mod schema;
pub mod settings;
pub mod shards;
pub mod store;
pub mod trending;
pub mod versions;
pub mod views;
pub mod words;
pub mod workers;
pub mod write;

pub use error::StorageError;
pub use store::{CommandSeen, Store, StoreOptions};
pub use transaction::{backoff, retry_contended};
