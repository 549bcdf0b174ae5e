//! The harness of the integration tests.
//!
//! A test is a closure: [`test`] makes a fresh database, runs the closure, audits the whole
//! database and drops it.
//!
//! ```no_run
//! use vitrine_harness::{product, test};
//!
//! test(async |app| {
//!     app.has([product("Monitor").quantity("screen_size", 27.0, "in")]).await;
//!     let answer = app.query(r#"{ product(slug: "monitor") { spec(key: "screen_size") { text } } }"#).await;
//!     answer.commands(&["find products"]);
//!     assert_eq!(answer.data()["product"]["spec"]["text"], "27 in");
//! });
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`app`] | the catalogue and the API on a database of their own; what happens around a test |
//! | [`ask`] | queries, and what can be said of their answers |
//! | [`following`] | subscriptions, and what is told to those who follow |
//! | [`orders`] | mutations, and what became of them |
//! | [`drafts`] | products and reviews, built in the words of the API |
//! | [`profile`] | how the server executed the commands that were sent |
//! | [`faults`] | commands that fail on purpose |
//! | [`process`] | the real binary |
//! | [`http`] | as little HTTP as it takes to ask it |
//! | [`mongod`] | the database server of a test run |
//! | [`replica_set`] | three database servers of which some are frozen or killed |
//! | [`surroundings`] | what is read from the environment |

pub mod app;
pub mod ask;
pub mod drafts;
pub mod eventually;
pub mod faults;
pub mod following;
pub mod http;
pub mod mongod;
pub mod orders;
pub mod process;
pub mod profile;
pub mod replica_set;
pub mod shown;
pub mod surroundings;

pub use app::{App, alone, test, with_members};
pub use ask::Answer;
pub use drafts::{ProductBuilder, ReviewBuilder, product, review};
pub use eventually::eventually;
pub use replica_set::Members;
pub use shown::shown;
