//! How an instance is run, and the command line that says so.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;

use crate::data_dir::DataDir;
use crate::replica_set;

/// mongod takes no smaller cache than this.
const MIN_CACHE_MIB: u32 = 256;

/// A process that is killed leaves its transactions open, and the documents that they wrote cannot
/// be written by anybody else until the server ends them: after a minute by default. Transactions of
/// this service take milliseconds.
const TRANSACTION_LIFETIME: &str = "transactionLifetimeLimitSeconds=20";

/// How to run a [`Mongod`](crate::Mongod).
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// Where the data, the log and a few small files are kept; created when it is not there.
    pub data_dir: PathBuf,
    /// Memory for the cache of the storage engine in MiB; at least 256 are taken.
    pub cache_mib: u32,
    /// For data that is thrown away: a small oplog and no diagnostic files. Journaling and
    /// everything else that a client could notice stay as they are.
    pub ephemeral: bool,
    /// Whether commands for tests are enabled, above all `configureFailPoint`. Nothing expires by
    /// itself then: clocks of tests stand where they like.
    pub test_commands: bool,
}

impl StartOptions {
    /// Options for data that is kept, with a cache of 1 GiB.
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

/// The command line after the name of the program.
pub(crate) fn arguments(options: &StartOptions, directory: &DataDir, port: u16) -> Vec<OsString> {
    let cache_gb = f64::from(options.cache_mib.max(MIN_CACHE_MIB)) / 1024.0;
    // The default oplog is a twentieth of the disk.
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
        // Databases come and go by the hundred; their files are not to stay open for ten minutes.
        add("--setParameter", &"wiredTigerFileHandleCloseIdleTime=30");
        // A member of several waits for its clients before it ends, for 15 seconds by default.
        add(
            "--setParameter",
            &"shutdownTimeoutMillisForSignaledShutdown=100",
        );
    }
    if options.test_commands {
        add("--setParameter", &"enableTestCommands=1");
        add("--setParameter", &"ttlMonitorEnabled=false");
    }
    // Its socket file would stay in /tmp after a kill, and nobody uses it.
    arguments.push("--nounixsocket".into());
    arguments
}
