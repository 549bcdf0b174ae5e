//! Finds, provisions, starts and stops a local `mongod`, for development and tests.
//!
//! [`Mongod::find`] looks for a server binary and, if allowed, downloads one into a cache.
//! [`Instance::start`] runs it as a replica set of one member on a free loopback port.
//! [`ReplicaSet::start`] runs several members, for tests of failovers. Transactions and change
//! streams need a replica set, so a standalone server would not suffice.
//! [`find_obstacle`] and [`refusal`] say why a server, here or elsewhere, cannot be used.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use vitrine_mongod::{Instance, Mongod, Search, StartOptions};
//!
//! let search = Search { cache_dir: "/tmp/cache".into(), provision: true, ..Search::default() };
//! let mongod = Mongod::find(&search, &|line| eprintln!("{line}")).await?;
//! let instance = Instance::start(&mongod, &StartOptions::new("/tmp/data")).await?;
//! println!("{}", instance.uri());
//! instance.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Guarantees:
//!
//! - A `mongod` never outlives the process that started it, even if that process is killed with
//!   SIGKILL (see `wrapper`).
//! - A data directory has one owner at a time. A second start waits for a server that is still
//!   shutting down, and otherwise fails with the owner's process id (see `data_dir`).
//! - Every error is one message: what was attempted, what is wrong, what to do.

mod command;
mod data_dir;
mod exit;
mod find;
mod instance;
mod locate;
mod lock;
mod members;
mod obstacle;
mod options;
mod probe;
mod provision;
mod python;
mod replica_set;
mod space;
mod start_error;
mod version;
mod wrapper;

pub use exit::ExitReason;
pub use find::{Attempt, FindError, Mongod, Problem, Search, default_cache_dir};
pub use instance::{Claim, Instance, StopError};
pub use members::{Member, ReplicaSet};
pub use obstacle::{Obstacle, find_direct_obstacle, find_obstacle, is_forbidden, refusal};
pub use options::StartOptions;
pub use probe::Rejection;
pub use provision::ProvisionError;
pub use start_error::{Holder, StartError};
pub use version::Version;
