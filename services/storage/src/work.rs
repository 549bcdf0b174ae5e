//! Database commands counted: for the process, and for the request that sent them.
//!
//! The driver reports a command in two ways. Its events hold the whole command and the whole reply, decoded, which
//! costs as much as reading the reply a second time. Its OpenTelemetry spans hold names and times. The tracer of
//! this module receives the spans of every command and keeps nothing but their name, collection and duration.
//! [`Store::inspected`] returns a handle that also uses the events, for the few requests that ask what
//! they cost.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use driver_opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, Tracer, TracerProvider};
use driver_opentelemetry::{Context, InstrumentationScope, KeyValue, Value};
use mongodb::bson::Document;
use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;
use mongodb::event::command::CommandEvent;
use mongodb::options::{ClientOptions, ServerAddress};
use mongodb::otel::OpentelemetryOptions;

use crate::Store;

/// The target of the `tracing` spans that become OpenTelemetry spans.
pub const SPANS: &str = "spans";

/// The upper limits of the buckets of [`CommandTimes`], in seconds.
pub const COMMAND_BUCKETS: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

tokio::task_local! {
    static WORK: Option<Arc<Work>>;
}

/// What the database has done for one request. Commands whose reply is shared by several requests count
/// for the one that sent them.
#[derive(Debug, Default)]
pub struct Work {
    commands: AtomicU64,
    micros: AtomicU64,
    documents: AtomicU64,
    bytes: AtomicU64,
}

impl Work {
    /// The number of commands.
    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// The sum of the times between each command and its reply. Commands may overlap.
    pub fn database_time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    /// The number of documents in the replies; counted only through [`Store::inspected`].
    pub fn documents(&self) -> u64 {
        self.documents.load(Ordering::Relaxed)
    }

    /// The size of the replies in bytes; counted only through [`Store::inspected`].
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn add_command(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn add_reply(&self, reply: &Document) {
        let cursor = reply.get_document("cursor").ok();
        let batch = |name| cursor.and_then(|cursor| cursor.get_array(name).ok());
        let batch = batch("firstBatch").or_else(|| batch("nextBatch"));
        let documents = match batch {
            Some(batch) => batch.len(),
            None => usize::from(reply.get_document("value").is_ok()),
        };
        let bytes = reply.to_vec().map_or(0, |bytes| bytes.len());
        self.documents
            .fetch_add(documents as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Runs a future whose commands count as `work`. A task that it spawns needs a call of its own.
pub fn within<F: Future>(work: Option<Arc<Work>>, future: F) -> impl Future<Output = F::Output> {
    WORK.scope(work, future)
}

/// Calls `record` with the work of the current task, if it belongs to a request.
fn record(record: impl FnOnce(&Work)) {
    // Commands outside of a scope belong to no request.
    let _ = WORK.try_with(|work| work.as_deref().map(record));
}

/// How many commands of one name were sent, and how long they took.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandTimes {
    /// The name of the command, such as `find`.
    pub name: String,
    /// The number of commands.
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
    /// The sum of their durations.
    pub took: Duration,
    /// How many took at most as long as each limit of [`COMMAND_BUCKETS`] and longer than the one before.
    pub buckets: [u64; COMMAND_BUCKETS.len()],
}

#[derive(Debug, Default)]
struct Times {
    count: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
    buckets: [AtomicU64; COMMAND_BUCKETS.len()],
}

/// The commands of a [`Store`] and its clones, by name.
#[derive(Debug, Default)]
pub(crate) struct Commands(RwLock<HashMap<String, Arc<Times>>>);

impl Commands {
    fn add(&self, name: &str, took: Duration, failed: bool) {
        let times = self.times(name);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        times.count.fetch_add(1, Ordering::Relaxed);
        times.failed.fetch_add(u64::from(failed), Ordering::Relaxed);
        times.micros.fetch_add(micros, Ordering::Relaxed);
        let seconds = took.as_secs_f64();
        if let Some(at) = COMMAND_BUCKETS.iter().position(|limit| seconds <= *limit) {
            times.buckets[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn times(&self, name: &str) -> Arc<Times> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = known.get(name) {
            return Arc::clone(times);
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(name.to_owned()).or_default())
    }

    /// Returns the numbers so far, sorted by name.
    pub(crate) fn snapshot(&self) -> Vec<CommandTimes> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let times = known.iter().map(|(name, times)| CommandTimes {
            name: name.clone(),
            count: load(&times.count),
            failed: load(&times.failed),
            took: Duration::from_micros(load(&times.micros)),
            buckets: times.buckets.each_ref().map(load),
        });
        let mut times: Vec<CommandTimes> = times.collect();
        times.sort_by(|a, b| a.name.cmp(&b.name));
        times
    }
}

/// The connections of a [`Store`] to the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Open connections.
    pub open: usize,
    /// Connections that are sending a command or waiting for its reply.
    pub in_use: usize,
    /// Commands that wait for a connection.
    pub waiting: usize,
}

/// Follows the events of the driver's connection pools.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<PoolState>);

#[derive(Debug, Default)]
struct PoolState {
    /// Whether each open connection is in use.
    connections: HashMap<(ServerAddress, u32), bool>,
    waiting: usize,
}

impl Pool {
    /// Returns the numbers at this moment.
    pub(crate) fn snapshot(&self) -> PoolUse {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        PoolUse {
            open: state.connections.len(),
            in_use: state.connections.values().filter(|used| **used).count(),
            waiting: state.waiting,
        }
    }

    fn follow(&self, event: CmapEvent) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            CmapEvent::ConnectionReady(event) => {
                let key = (event.address, event.connection_id);
                state.connections.entry(key).or_insert(false);
            }
            CmapEvent::ConnectionCheckoutStarted(_) => state.waiting += 1,
            CmapEvent::ConnectionCheckoutFailed(_) => {
                state.waiting = state.waiting.saturating_sub(1);
            }
            CmapEvent::ConnectionCheckedOut(event) => {
                state.waiting = state.waiting.saturating_sub(1);
                let key = (event.address, event.connection_id);
                state.connections.insert(key, true);
            }
            CmapEvent::ConnectionCheckedIn(event) => {
                let key = (event.address, event.connection_id);
                state.connections.insert(key, false);
            }
            CmapEvent::ConnectionClosed(event) => {
                state
                    .connections
                    .remove(&(event.address, event.connection_id));
            }
            _ => {}
        }
    }
}

/// Makes a client report its commands and connections.
pub(crate) fn observe(client: &mut ClientOptions, commands: &Arc<Commands>, pool: &Arc<Pool>) {
    let provider = CommandTracer(Arc::clone(commands));
    let tracing = OpentelemetryOptions::builder().enabled(true);
    client.tracing = Some(tracing.tracer_provider(provider).build());
    let pool = Arc::clone(pool);
    client.cmap_event_handler = Some(EventHandler::callback(move |event| pool.follow(event)));
}

/// Makes a client count the documents and bytes of its replies as [`Work`].
pub(crate) fn inspect(client: &mut ClientOptions) {
    client.command_event_handler = Some(EventHandler::callback(|event| {
        if let CommandEvent::Succeeded(succeeded) = event {
            record(|work| work.add_reply(&succeeded.reply));
        }
    }));
}

/// Receives the spans of the driver.
#[derive(Clone)]
struct CommandTracer(Arc<Commands>);

impl TracerProvider for CommandTracer {
    type Tracer = Self;

    fn tracer_with_scope(&self, _: InstrumentationScope) -> Self {
        self.clone()
    }
}

impl Tracer for CommandTracer {
    type Span = CommandSpan;

    fn build_with_context(&self, builder: SpanBuilder, _: &Context) -> CommandSpan {
        let attributes = builder.attributes.unwrap_or_default();
        let text = |name: &str| {
            let found = attributes.iter().find(|one| one.key.as_str() == name);
            found.map(|one| one.value.clone())
        };
        // The driver also reports operations and transactions, which consist of commands.
        let Some(name) = text("db.command.name") else {
            return CommandSpan(None);
        };
        let name = name.as_str();
        let collection = text("db.collection.name");
        let collection = collection.as_ref().map(Value::as_str);
        CommandSpan(Some(Running {
            span: command_span(&name, collection.as_deref()),
            commands: Arc::clone(&self.0),
            name: name.into_owned(),
            began: Instant::now(),
            failed: false,
        }))
    }
}

fn command_span(name: &str, collection: Option<&str>) -> tracing::Span {
    tracing::info_span!(
        target: SPANS,
        "command",
        otel.name = collection.map_or_else(|| name.to_owned(), |one| format!("{name} {one}")),
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        db.system = "mongodb",
        db.operation = name,
        db.collection.name = collection,
    )
}

/// A span of the driver; `None` for what is not a command.
struct CommandSpan(Option<Running>);

/// A command that is waiting for its reply. It ends when it is dropped.
struct Running {
    commands: Arc<Commands>,
    name: String,
    began: Instant,
    failed: bool,
    span: tracing::Span,
}

impl Drop for Running {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        self.commands.add(&self.name, took, self.failed);
        record(|work| work.add_command(took));
        if self.failed {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

impl Span for CommandSpan {
    fn add_event_with_timestamp<T>(&mut self, _: T, _: SystemTime, _: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
    }

    fn span_context(&self) -> &SpanContext {
        &SpanContext::NONE
    }

    fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    fn set_attribute(&mut self, _: KeyValue) {}

    fn set_status(&mut self, status: Status) {
        if let (Some(running), Status::Error { .. }) = (&mut self.0, status) {
            running.failed = true;
        }
    }

    fn update_name<T>(&mut self, _: T)
    where
        T: Into<Cow<'static, str>>,
    {
    }

    fn add_link(&mut self, _: SpanContext, _: Vec<KeyValue>) {}

    fn end_with_timestamp(&mut self, _: SystemTime) {
        self.0 = None;
    }
}

impl Store {
    /// Returns how many commands this handle and its clones have sent, and how long they took.
    #[must_use]
    pub fn command_times(&self) -> Vec<CommandTimes> {
        self.commands.snapshot()
    }

    /// Returns the use of the connections to the database.
    #[must_use]
    pub fn pool_use(&self) -> PoolUse {
        self.pool.snapshot()
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn driver_span(tracer: &CommandTracer, command: Option<&str>) -> CommandSpan {
        let attributes = command.map(|name| KeyValue::new("db.command.name", name.to_owned()));
        let builder = SpanBuilder::from_name("find").with_attributes(attributes);
        tracer.build_with_context(builder, &Context::new())
    }

    #[tokio::test]
    async fn commands_count_for_the_process_and_for_the_request_that_sent_them() {
        let tracer = CommandTracer(Arc::default());
        let (work, other) = (Arc::new(Work::default()), Arc::new(Work::default()));
        within(Some(Arc::clone(&work)), async {
            drop(driver_span(&tracer, Some("find")));
            drop(driver_span(&tracer, None));
            within(Some(Arc::clone(&other)), async {
                let mut failing = driver_span(&tracer, Some("update"));
                failing.set_status(Status::error("no"));
            })
            .await;
        })
        .await;
        drop(driver_span(&tracer, Some("find")));
        assert_eq!((work.commands(), other.commands()), (1, 1));
        let times = tracer.0.snapshot();
        let counts = times
            .iter()
            .map(|one| (one.name.as_str(), one.count, one.failed));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [("find", 2, 0), ("update", 1, 1)]
        );
    }

    #[test]
    fn documents_and_bytes_of_replies_are_counted() {
        let work = Work::default();
        let batch = doc! { "cursor": { "firstBatch": [{ "a": 1 }, { "a": 2 }] }, "ok": 1 };
        work.add_reply(&batch);
        work.add_reply(&doc! { "value": { "a": 1 } });
        work.add_reply(&doc! { "n": 1 });
        assert_eq!(work.documents(), 3);
        assert!(work.bytes() > batch.to_vec().unwrap().len() as u64);
    }
}
