//! Settings, wiring and commands of the binary `vitrine`.
//!
//! Without a command it runs `dev`: everything on this machine. The other commands are roles of the
//! same binary, so that one container image serves all of them.

mod auth;
mod certificate;
mod commands;
mod database;
mod demo;
mod health;
mod local;
mod metrics;
mod refusal;
mod retry;
mod settings;
mod telemetry;
mod traces;
mod workers;

pub use commands::run;
pub use metrics::metric_names;
pub use settings::{Cli, Command};
