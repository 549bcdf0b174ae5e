//! The integration tests: one binary, one module per promise.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod activity;
mod admin_lists;
mod architecture;
mod audit_findings;
mod backup;
mod bad_input;
mod caps;
mod choosers;
mod clients;
mod conformance;
mod connections;
mod costs;
mod demo;
mod dictionary;
mod direct_writing;
mod documents;
mod endurance;
mod erasures;
mod export;
mod exposure;
mod facet_snapshots;
mod facets;
mod faults;
mod federation;
mod feeds;
mod growth;
mod health;
mod hidden;
mod idempotency;
mod import_runs;
mod imports;
mod kills;
mod lists;
mod mappings;
mod members;
mod merges;
mod moderation_queue;
mod mutations;
mod names;
mod new_key;
mod nodes;
mod operators;
mod owners;
mod permissions;
mod persisted_queries;
mod plans;
mod process;
mod product;
mod product_memory;
mod propagation;
mod properties;
mod reference;
mod reference_admin;
mod repairs;
mod review_faults;
mod review_plans;
mod review_rules;
mod reviewing;
mod reviews;
mod round_trips;
mod schema;
mod search;
mod sources;
mod spec_sorts;
mod specs_admin;
mod subscriptions;
mod tokens;
mod versions;
mod waiting;
mod web;
mod workers;
