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

/// Tests write and delete all the time. With the defaults, a third of the server's CPU time went into moving
/// changes out of its cache, because it keeps the changes of the last 300 seconds for reads of the past.
const SHORT_HISTORY: &str = "minSnapshotHistoryWindowInSeconds=30";
const LATE_EVICTION: &str = "eviction_dirty_target=60,eviction_dirty_trigger=80,\
    eviction_updates_target=40,eviction_updates_trigger=60";

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
    /// For tests: test commands are enabled, such as `configureFailPoint`; TTL indexes delete nothing,
    /// since tests use clocks of their own; and changes stay in the cache for longer.
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
        add("--setParameter", &SHORT_HISTORY);
        add("--wiredTigerEngineConfigString", &LATE_EVICTION);
        // Seconds between checkpoints.
        add("--syncdelay", &300);
    }
    // The socket is unused, and its file would stay in /tmp after a kill.
    arguments.push("--nounixsocket".into());
    arguments
}
