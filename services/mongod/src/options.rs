//! The options of an instance and the resulting command line.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;

use crate::data_dir::DataDir;
use crate::replica_set;

/// The minimum cache size of mongod.
const MIN_CACHE_MIB: u32 = 256;

/// A killed process leaves its transactions open, and other writers of the same documents conflict
/// with them until the server aborts them: after a minute by default. Transactions of this service
/// take milliseconds.
const TRANSACTION_LIFETIME: &str = "transactionLifetimeLimitSeconds=20";

/// How to run a [`Mongod`](crate::Mongod).
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The directory for the data, the log and a few small files; created if missing.
    pub data_dir: PathBuf,
    /// The size of the storage engine's cache in MiB; at least 256.
    pub cache_mib: u32,
    /// For temporary data: a small oplog and no diagnostic files. Journaling and all other
    /// behaviour that clients can observe are unchanged.
    pub ephemeral: bool,
    /// Whether test commands are enabled, such as `configureFailPoint`. TTL indexes then delete
    /// nothing, since tests use clocks of their own.
    pub test_commands: bool,
}

impl StartOptions {
    /// Returns options for permanent data, with a cache of 1 GiB.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            cache_mib: 1024,
            ephemeral: false,
            test_commands: false,
        }
    }
}

/// Returns the arguments of the command line.
pub(crate) fn arguments(options: &StartOptions, directory: &DataDir, port: u16) -> Vec<OsString> {
    let cache_gb = f64::from(options.cache_mib.max(MIN_CACHE_MIB)) / 1024.0;
    // The default oplog size is 5 % of the disk.
    let oplog_mb = if options.ephemeral { 512 } else { 1024 };
    let mut arguments = vec!["--dbpath".into(), directory.database().into()];
    let mut add = |name: &str, value: &dyn Display| {
        arguments.push(name.into());
        arguments.push(value.to_string().into());
    };
    add("--replSet", &replica_set::NAME);
    add("--bind_ip", &"127.0.0.1");
    add("--port", &port);
    add("--wiredTigerCacheSizeGB", &cache_gb);
    add("--oplogSize", &oplog_mb);
    add("--setParameter", &TRANSACTION_LIFETIME);
    if options.ephemeral {
        add("--setParameter", &"diagnosticDataCollectionEnabled=false");
        // Tests create and drop hundreds of databases: their files should not stay open for ten
        // minutes.
        add("--setParameter", &"wiredTigerFileHandleCloseIdleTime=30");
        // A member of a set of several waits for its clients before it exits, by default for 15
        // seconds.
        add(
            "--setParameter",
            &"shutdownTimeoutMillisForSignaledShutdown=100",
        );
    }
    if options.test_commands {
        add("--setParameter", &"enableTestCommands=1");
        add("--setParameter", &"ttlMonitorEnabled=false");
    }
    // The socket is unused, and its file would stay in /tmp after a kill.
    arguments.push("--nounixsocket".into());
    arguments
}
