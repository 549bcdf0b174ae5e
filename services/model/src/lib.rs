//! The types and rules of the catalogue.
//!
//! This crate does no input or output, never waits and reads no clock: every rule is a plain
//! function of its arguments, so that it can be tested by properties and reused by every layer
//! above.
//!
//! | module | contents |
//! |---|---|
//! | [`activity`] | views, carts and purchases: counting, weights, trends |
//! | [`id`] | typed identifiers and the opaque global ids of the API |
//! | [`clock`] | instants with millisecond precision, the [`clock::Clock`] and a manual one for tests |
//! | [`text`] | folding, slugs, excerpts |
//! | [`code`], [`address`] | article numbers and ids of other systems; addresses on the web |
//! | [`money`] | amounts in minor units with their currency |
//! | [`mod@unit`] | units of measure, their dimensions and conversions |
//! | [`significant`] | numbers rounded to significant digits |
//! | [`spec`] | attribute values and the dictionary of their keys |
//! | [`product`] | products and their kinds |
//! | [`bulk`] | one change of many products |
//! | [`category`] | categories and the tree they form |
//! | [`supplier`] | suppliers and the extract embedded in products |
//! | [`review`] | reviews and the excerpts embedded in products |
//! | [`rating`] | rating arithmetic: histogram, average, Bayesian score, Wilson bound |
//! | [`fold`] | how changed reviews change a product's computed data |
//! | [`derived`] | derived fields of a product document: tokens, keywords, slot |
//! | [`erasure`] | erasing an author: policies and counts |
//! | [`search`] | words and keywords, typing mistakes, search queries, completions |
//! | [`facet`] | counting the values of matching products, and filter panels |
//! | [`filter`] | filters and sorts of products and reviews |
//! | [`cursor`] | signed, versioned keyset cursors |
//! | [`contribution`] | what several sources say about a product, and the content that follows |
//! | [`import`] | drafts that feeds are mapped to, and the outcome of each line |
//! | [`import_run`], [`upload`] | records of imports; the files that were uploaded for them |
//! | [`moderation`] | the moderation queue: its filters and its sort |
//! | [`picture`] | uploaded pictures: names, formats, limits |
//! | [`history`] | who changed products, categories and spec keys, and how |
//! | [`idempotency`] | keys that make it safe to send a request twice |
//! | [`worker`] | reports of background workers |

pub mod activity;
pub mod address;
pub mod bulk;
pub mod category;
pub mod clock;
pub mod code;
pub mod contribution;
pub mod cursor;
pub mod derived;
pub mod erasure;
pub mod facet;
pub mod filter;
pub mod fold;
pub mod history;
pub mod id;
pub mod idempotency;
pub mod import;
pub mod import_run;
pub mod moderation;
pub mod money;
pub mod overrides;
pub mod picture;
pub mod product;
pub mod rating;
pub mod review;
pub mod search;
pub mod significant;
pub mod spec;
pub mod supplier;
pub mod text;
pub mod unit;
pub mod upload;
pub mod worker;
