//! What the database does for a request.

pub use vitrine_storage::work::{COMMAND_BUCKETS, CommandTimes, PoolUse, Work};
