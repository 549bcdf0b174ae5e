//! Metrics that are read when they are asked for: of database commands, connections, permits,
//! caches and the queues of requests.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use vitrine_api::execution::CacheUse;
use vitrine_api::http::{RequestLimiter, RequestUse};
use vitrine_domain::Catalog;
use vitrine_domain::product_memory::ProductMemoryUse;
use vitrine_domain::work::COMMAND_BUCKETS;

/// The names, types and descriptions of these metrics.
const COMMANDS: Description = (
    "database_command_duration_seconds",
    MetricType::Histogram,
    "Time between a database command and its reply",
);
const FAILURES: Description = (
    "database_command_failures",
    MetricType::Counter,
    "Failed database commands",
);
const CONNECTIONS: Description = (
    "database_connections",
    MetricType::Gauge,
    "Open connections to the database",
);
const CONNECTIONS_IN_USE: Description = (
    "database_connections_in_use",
    MetricType::Gauge,
    "Connections to the database with a command under way",
);
const CONNECTIONS_WAITING: Description = (
    "database_connections_waiting",
    MetricType::Gauge,
    "Commands that wait for a connection to the database",
);
const PERMITS: Description = (
    "permits",
    MetricType::Gauge,
    "How many database operations of a class may run at a time",
);
const PERMITS_IN_USE: Description = (
    "permits_in_use",
    MetricType::Gauge,
    "Database operations of a class that are running",
);
const PERMITS_WAITING: Description = (
    "permits_waiting",
    MetricType::Gauge,
    "Database operations of a class that wait for others to end",
);
const CACHE_HITS: Description = (
    "cache_hits",
    MetricType::Counter,
    "Look-ups that found what they asked for in a cache of this process",
);
const CACHE_MISSES: Description = (
    "cache_misses",
    MetricType::Counter,
    "Look-ups that did not find what they asked for in a cache of this process",
);

const REQUESTS_RUNNING: Description = (
    "requests_running",
    MetricType::Gauge,
    "GraphQL requests that are executed",
);
const REQUESTS_WAITING: Description = (
    "requests_waiting",
    MetricType::Gauge,
    "GraphQL requests that wait until others have been executed",
);
const LARGE_REQUESTS_RUNNING: Description = (
    "large_requests_running",
    MetricType::Gauge,
    "Large GraphQL queries that have stopped waiting for other large queries",
);
const LARGE_REQUESTS_WAITING: Description = (
    "large_requests_waiting",
    MetricType::Gauge,
    "Large GraphQL queries that wait for other large queries",
);
const PRODUCT_BYPASSES: Description = (
    "product_memory_bypasses",
    MetricType::Counter,
    "Look-ups of products that did not use the memory because its changes were not confirmed",
);
const PRODUCT_EVICTIONS: Description = (
    "product_memory_evictions",
    MetricType::Counter,
    "Products removed from memory to make room",
);
const PRODUCT_BYTES: Description = (
    "product_memory_bytes",
    MetricType::Gauge,
    "Size of the products in memory",
);
const PRODUCTS: Description = (
    "product_memory_products",
    MetricType::Gauge,
    "Products in memory",
);
const ROWS: Description = (
    "product_memory_rows",
    MetricType::Gauge,
    "Products that facets are counted from and lists are made of in memory",
);
const ROW_BYTES: Description = (
    "product_memory_row_bytes",
    MetricType::Gauge,
    "Size of the rows of these products",
);
const PRODUCT_AGE: Description = (
    "product_memory_age_seconds",
    MetricType::Gauge,
    "Time since the memory of products was last confirmed to be up to date",
);

type Description = (&'static str, MetricType, &'static str);

/// All of them.
pub(super) const ALL: [Description; 21] = [
    COMMANDS,
    FAILURES,
    CONNECTIONS,
    CONNECTIONS_IN_USE,
    CONNECTIONS_WAITING,
    PERMITS,
    PERMITS_IN_USE,
    PERMITS_WAITING,
    CACHE_HITS,
    CACHE_MISSES,
    REQUESTS_RUNNING,
    REQUESTS_WAITING,
    LARGE_REQUESTS_RUNNING,
    LARGE_REQUESTS_WAITING,
    PRODUCT_BYPASSES,
    PRODUCT_EVICTIONS,
    PRODUCT_BYTES,
    PRODUCTS,
    ROWS,
    ROW_BYTES,
    PRODUCT_AGE,
];

/// What the metrics are read from.
#[derive(Default)]
pub(crate) struct Live {
    catalog: OnceLock<Catalog>,
    caches: Mutex<Vec<(&'static str, CacheUse)>>,
    requests: OnceLock<RequestLimiter>,
}

impl Live {
    /// Sets the catalogue. Later calls have no effect.
    pub(super) fn watch(&self, catalog: &Catalog) {
        let _ = self.catalog.set(catalog.clone());
    }

    /// Adds a cache.
    pub(super) fn watch_cache(&self, name: &'static str, cache: CacheUse) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.push((name, cache));
    }

    /// Sets the limiter of requests. Later calls have no effect.
    pub(super) fn watch_requests(&self, limiter: &RequestLimiter) {
        let _ = self.requests.set(limiter.clone());
    }

    /// Writes the metrics without a prefix of their own.
    pub(super) fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(catalog) = self.catalog.get() {
            encode_commands(&mut encoder, catalog)?;
            encode_connections(&mut encoder, catalog)?;
            encode_permits(&mut encoder, catalog)?;
        }
        if let Some(requests) = self.requests.get() {
            encode_requests(&mut encoder, requests.usage())?;
        }
        let products = self.catalog.get().and_then(Catalog::product_memory_use);
        if let Some(products) = &products {
            encode_product_memory(&mut encoder, products)?;
        }
        self.encode_caches(&mut encoder, products.as_ref())
    }

    fn encode_caches(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        products: Option<&ProductMemoryUse>,
    ) -> fmt::Result {
        let caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let caches = caches
            .iter()
            .map(|(name, cache)| (*name, cache.hits(), cache.misses()));
        let products = products.map(|products| ("products", products.hits, products.misses));
        let caches: Vec<(&str, u64, u64)> = caches.chain(products).collect();
        if caches.is_empty() {
            return Ok(());
        }
        for (description, are_hits) in [(CACHE_HITS, true), (CACHE_MISSES, false)] {
            let mut metric = describe(encoder, description)?;
            for (name, hits, misses) in &caches {
                let labels = [("cache", *name)];
                let mut metric = metric.encode_family(&labels)?;
                let count = if are_hits { hits } else { misses };
                metric.encode_counter::<[(&str, &str); 0], _, u64>(count, None)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

fn describe<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    (name, kind, help): Description,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, kind)
}

fn encode_commands(encoder: &mut DescriptorEncoder<'_>, catalog: &Catalog) -> fmt::Result {
    let commands = catalog.command_times();
    if commands.is_empty() {
        return Ok(());
    }
    let mut metric = describe(encoder, COMMANDS)?;
    for command in &commands {
        let within = COMMAND_BUCKETS.iter().copied().zip(command.buckets);
        let longer = command.count.saturating_sub(command.buckets.iter().sum());
        let buckets: Vec<(f64, u64)> = within.chain([(f64::INFINITY, longer)]).collect();
        let labels = [("command", command.name.as_str())];
        let mut metric = metric.encode_family(&labels)?;
        let sum = command.took.as_secs_f64();
        metric.encode_histogram::<[(&str, &str); 0]>(sum, command.count, &buckets, None)?;
    }
    let mut metric = describe(encoder, FAILURES)?;
    for command in &commands {
        let labels = [("command", command.name.as_str())];
        let mut metric = metric.encode_family(&labels)?;
        metric.encode_counter::<[(&str, &str); 0], _, u64>(&command.failed, None)?;
    }
    Ok(())
}

fn encode_connections(encoder: &mut DescriptorEncoder<'_>, catalog: &Catalog) -> fmt::Result {
    let pool = catalog.pool_use();
    for (description, number) in [
        (CONNECTIONS, pool.open),
        (CONNECTIONS_IN_USE, pool.in_use),
        (CONNECTIONS_WAITING, pool.waiting),
    ] {
        describe(encoder, description)?.encode_gauge(&whole(number))?;
    }
    Ok(())
}

fn encode_permits(encoder: &mut DescriptorEncoder<'_>, catalog: &Catalog) -> fmt::Result {
    let classes = catalog.permit_use();
    for (at, description) in [PERMITS, PERMITS_IN_USE, PERMITS_WAITING]
        .into_iter()
        .enumerate()
    {
        let mut metric = describe(encoder, description)?;
        for (class, usage) in classes {
            let number = [usage.permits, usage.in_use, usage.waiting][at];
            let labels = [("class", class)];
            metric
                .encode_family(&labels)?
                .encode_gauge(&whole(number))?;
        }
    }
    Ok(())
}

fn encode_requests(encoder: &mut DescriptorEncoder<'_>, usage: RequestUse) -> fmt::Result {
    for (description, number) in [
        (REQUESTS_RUNNING, usage.running),
        (REQUESTS_WAITING, usage.waiting),
        (LARGE_REQUESTS_RUNNING, usage.large),
        (LARGE_REQUESTS_WAITING, usage.large_waiting),
    ] {
        describe(encoder, description)?.encode_gauge(&whole(number))?;
    }
    Ok(())
}

fn encode_product_memory(
    encoder: &mut DescriptorEncoder<'_>,
    products: &ProductMemoryUse,
) -> fmt::Result {
    for (description, count) in [
        (PRODUCT_BYPASSES, products.bypassed),
        (PRODUCT_EVICTIONS, products.evicted),
    ] {
        let mut metric = describe(encoder, description)?;
        metric.encode_counter::<[(&str, &str); 0], _, u64>(&count, None)?;
    }
    for (description, number) in [
        (PRODUCT_BYTES, products.bytes),
        (PRODUCTS, products.products),
        (ROWS, products.rows),
        (ROW_BYTES, products.row_bytes),
    ] {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        describe(encoder, description)?.encode_gauge(&number)?;
    }
    if let Some(age) = products.age {
        describe(encoder, PRODUCT_AGE)?.encode_gauge(&age.as_secs_f64())?;
    }
    Ok(())
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
