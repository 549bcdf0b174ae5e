//! The harness of the integration tests.
//!
//! A test is a closure: [`test`] makes a fresh database, runs the closure, audits the whole
//! database and drops it.
//!
//! `integration/nodes.rs` has short examples.
//!
//! | module | what it holds |
//! |---|---|
//! | [`app`] | the catalogue and the API on a database of their own; set-up and audit of a test |
//! | [`request`] | queries, and assertions on their answers |
//! | [`mutations`] | mutations, and assertions on their payloads |
//! | [`subscriptions`] | subscriptions and their events |
//! | [`drafts`] | builders of products and reviews |
//! | [`documents`] | the Markdown files of the repository |
//! | [`outlines`] | comparing answers with the shortened ones of the documents |
//! | [`profile`] | how the server executed the commands that were sent |
//! | [`faults`] | commands that fail on purpose |
//! | [`eventually`] | waiting for a condition, with a deadline |
//! | [`pretty`] | JSON as text for snapshots |
//! | [`process`] | the real binary |
//! | [`node`] | the scripts that run with Node.js |
//! | [`http`] | a minimal HTTP client for it |
//! | [`browser`] | a headless browser for its pages |
//! | [`mongod`] | the database server of a test run |
//! | [`own_server`] | servers for tests that make the server fail |
//! | [`left_databases`] | databases that tests have left, made as new for the next tests |
//! | [`replica_set`] | a replica set of three servers, to freeze and to kill |
//! | [`token`] | tokens of callers of the real binary |
//! | [`expensive`] | the most expensive requests that a stranger may send |
//! | [`tools`] | what some tests need, and leaving them out where it is missing |
//! | [`xml`] | XML as trees, and the rules of feeds |
//! | [`environment`] | everything that is read from the environment |

pub mod app;
pub mod browser;
pub mod documents;
pub mod drafts;
pub mod environment;
pub mod eventually;
pub mod expensive;
pub mod faults;
pub mod http;
pub mod left_databases;
pub mod mongod;
pub mod mutations;
pub mod node;
pub mod outlines;
pub mod own_server;
pub mod pretty;
pub mod process;
pub mod profile;
pub mod replica_set;
pub mod request;
pub mod subscriptions;
pub mod token;
pub mod tools;
pub mod xml;

pub use app::{App, test, test_on_own_server, test_on_replica_set};
pub use drafts::{ProductBuilder, ReviewBuilder, product, review, some_of};
pub use eventually::eventually;
pub use pretty::pretty;
pub use replica_set::Members;
pub use request::{Answer, Request};
