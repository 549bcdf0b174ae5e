//! The only crate that knows MongoDB.
//!
//! A [`Store`] is a cheap handle on one database. Its methods take and return model types; BSON
//! documents stay inside the crate. The first word of a method's name says what it does: `get`
//! reads one document, `get_many` a batch, `page` one page of a list, `count` a number; `insert`
//! and `apply` write.
//!
//! | module | contents |
//! |---|---|
//! | [`store`] | connecting, limits, command monitoring |
//! | [`work`] | commands and connections counted, for the process and for requests |
//! | [`error`] | errors, grouped by what the caller can do about them |
//! | [`product_writes`], [`product_changes`] | which products change: by this process, and by any |
//! | [`products`], [`reviews`], [`reference`] | queries of one collection, or of a few related ones |
//! | [`write`] | multi-document transactions of the catalogue |
//! | [`contributions`] | what the sources of a product say, and lines that wait for a product |
//! | [`counts`] | facet counts and precomputed panels |
//! | [`facet_rows`] | products as rows that facets are counted from in memory |
//! | [`bulk`] | bulk changes and the outcomes of their products |
//! | [`category_counts`] | number of products in each category |
//! | [`claims`] | idempotency keys of reviews |
//! | [`words`] | the vocabulary of searches |
//! | [`reviewing`] | what shoppers, moderators and the shop write about reviews |
//! | [`history`] | the history of products, categories and spec keys |
//! | [`imports`], [`uploads`] | records of import runs; the files that were uploaded for them |
//! | [`runs`] | the state of named import runs |
//! | [`pictures`] | records of uploaded pictures |
//! | [`settings`] | settings that are stored with the data |
//! | [`moderation`] | the moderation queue and decision statistics |
//! | [`ratings`] | rating numbers by time, recounts and repairs |
//! | [`propagation`] | extended references: copies that follow their source |
//! | [`changes`] | the change stream that wakes workers |
//! | [`abandoned`] | ending abandoned transactions |
//! | [`batch`] | batches that survive documents that cannot be written |
//! | [`leases`], [`workers`] | leases of background jobs, and the reports of workers |
//! | [`versions`] | documents of several schema versions side by side |
//! | `due` | rows that are counted once |
//! | [`activity`] | views, carts and purchases in buckets |
//! | [`trending`] | trending lists and activity summaries of products |
//! | [`erasure`] | erasing an author's data, and exporting it |
//! | [`export`], [`mod@restore`] | reading the catalogue as a whole, and writing it back |
//! | [`feed`] | the change stream of reviews and ratings for subscriptions |
//! | [`persisted_queries`] | the texts of queries that clients name by their hash |
//! | [`shards`] | how collections are sharded |
//! | [`durability`] | when a write is confirmed |
//! | `names` | uniqueness of SKUs, slugs and external ids |
//! | [`fold`] | the transaction that updates computed data from reviews |
//! | [`ranks`] | positions of products in lists by rating and popularity |
//! | [`keyset`] | keyset pagination |
//! | [`schema`], [`migrations`] | the desired database schema, and migrating to it |
//! | [`audit`], [`audit_findings`] | comparing stored derived data with its sources; what the worker found |
//! | [`views`] | documents decoded lazily |

mod by_spec;
mod documents;
mod due;
mod elections;
mod products_query;
mod raw;
mod sorted_rows;
mod transaction;
mod unannounced;

pub mod abandoned;
pub mod activity;
pub mod audit;
pub mod audit_findings;
pub mod batch;
pub mod bulk;
pub mod category_counts;
pub mod changes;
pub mod claims;
pub mod contributions;
pub mod counts;
pub mod durability;
pub mod erasure;
pub mod error;
pub mod examined;
pub mod export;
pub mod facet_rows;
pub mod feed;
pub mod fold;
pub mod history;
pub mod imports;
pub mod keyset;
pub mod leases;
pub mod migrations;
pub mod moderation;
mod names;
pub mod persisted_queries;
pub mod pictures;
pub mod product_changes;
pub mod product_writes;
pub mod products;
pub mod propagation;
pub mod ranks;
pub mod ratings;
pub mod reference;
pub mod restore;
pub mod reviewing;
pub mod reviews;
pub mod runs;
pub mod schema;
pub mod settings;
pub mod shards;
pub mod store;
pub mod trending;
pub mod uploads;
pub mod versions;
pub mod views;
pub mod votes;
pub mod words;
pub mod work;
pub mod workers;
pub mod write;

pub use error::StorageError;
pub use store::{SentCommand, Store, StoreOptions};
pub use transaction::{backoff, retry_contended};
