//! The integration tests: one binary, one module per promise.
//!
//! Tests run in the order of their names. Those that wait for many seconds are not in the last modules, so that others run
//! meanwhile.

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
mod bulk;
mod caps;
mod category_merges;
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
mod feed_cases;
mod feeds;
mod growth;
mod health;
mod hidden;
mod history;
mod idempotency;
mod import_runs;
mod import_threads;
mod imports;
mod key_types;
mod killed_imports;
mod kills;
mod leases;
mod left_databases;
mod lists;
mod lists_from_rows;
mod local_mongod;
mod mappings;
mod members;
mod merges;
mod moderation_queue;
mod mutations;
mod names;
mod new_key;
mod nodes;
mod operators;
mod own_server;
mod owners;
mod permissions;
mod persisted_queries;
mod pictures;
mod plans;
mod process;
mod product;
mod product_memory;
mod propagation;
mod properties;
mod reference;
mod reference_admin;
mod repairs;
mod review_facts;
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
mod started_imports;
mod subscriptions;
mod suppliers;
mod tokens;
mod tools;
mod versions;
mod waiting;
mod web;
mod workers;
