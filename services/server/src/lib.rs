//! Settings, wiring and the roles of the one binary.
//!
//! `vitrine` without a command is `dev`: everything on this machine. The other commands are the
//! roles of the same binary, so that one image serves every place.

pub mod auth;
mod commands;
mod database;
mod demo;
mod local;
mod metrics;
mod pulse;
mod settings;
mod telemetry;
mod waiting;
mod workers;

pub use commands::run;
pub use settings::{Cli, Command};
