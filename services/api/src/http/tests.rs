//! Tests of the router behind a real socket, with a client that sends raw bytes.

mod clients;
mod connections;
mod events;
mod feed;
mod lifecycle;
mod persisted_queries;
mod protocol;
mod request_limiter;
mod sockets;

use std::{
    convert::identity,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_graphql::{Context, Object, Schema};
use axum::Router;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinSet,
};

use self::feed::{Feed, Subscription};
use super::{Api, Capacity, Connections, Listener, RequestLimiter, Sockets, router, serve_with};
use crate::execution::{At, Engine, Failure, R, Scalars};

/// Lets tests observe and block the work of requests.
#[derive(Clone)]
struct Gate {
    started: Arc<Semaphore>,
    opened: Arc<Semaphore>,
    finished: Arc<AtomicUsize>,
}

impl Gate {
    fn new() -> Self {
        Self {
            started: Arc::new(Semaphore::new(0)),
            opened: Arc::new(Semaphore::new(0)),
            finished: Arc::default(),
        }
    }

    async fn pass(&self) -> i32 {
        self.started.add_permits(1);
        self.opened.acquire().await.unwrap().forget();
        self.finished.fetch_add(1, Ordering::SeqCst);
        1
    }

    /// Waits until another piece of work has started.
    async fn started(&self) {
        self.started.acquire().await.unwrap().forget();
    }

    fn open(&self, count: usize) {
        self.opened.add_permits(count);
    }

    fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }
}

struct Query;

#[Object]
impl Query {
    async fn ok(&self) -> i32 {
        1
    }
    async fn token(&self, ctx: &Context<'_>) -> Option<String> {
        ctx.data_opt::<Option<String>>().cloned().flatten()
    }
    async fn gated(&self, ctx: &Context<'_>) -> i32 {
        ctx.data_opt::<Gate>()
            .expect("the gate is in the schema")
            .pass()
            .await
    }
    async fn fails(&self, ctx: &Context<'_>) -> R<i32> {
        Err(Failure::internal("a secret cause")).at(ctx)
    }
}

struct Mutation;

#[Object]
impl Mutation {
    async fn change(&self) -> i32 {
        2
    }
    async fn gated(&self, ctx: &Context<'_>) -> i32 {
        ctx.data_opt::<Gate>()
            .expect("the gate is in the schema")
            .pass()
            .await
    }
}

/// The parts of a server, independent of its listener.
struct Parts {
    router: Router,
    gate: Gate,
    feed: Feed,
    request_limiter: RequestLimiter,
    sockets: Sockets,
}

impl Parts {
    fn new(capacity: Capacity, configure: impl FnOnce(Api) -> Api) -> Self {
        Self::configured(capacity, Box::new(configure))
    }

    /// Not generic: otherwise the compiler would make a copy for each closure.
    fn configured(capacity: Capacity, configure: Box<dyn FnOnce(Api) -> Api + '_>) -> Self {
        let (gate, feed) = (Gate::new(), Feed::new());
        let schema = Schema::build(Query, Mutation, Subscription)
            .data(gate.clone())
            .data(feed.clone());
        let engine = Engine::new(schema, Scalars::none()).unwrap();
        let request_limiter = RequestLimiter::new(capacity);
        let api = configure(Api::new(engine, request_limiter.clone()));
        Self {
            sockets: api.sockets.clone(),
            router: router(api),
            gate,
            feed,
            request_limiter,
        }
    }
}

/// A server on its own port, stopped when dropped.
struct Server {
    address: std::net::SocketAddr,
    gate: Gate,
    feed: Feed,
    request_limiter: RequestLimiter,
    sockets: Sockets,
    stop: oneshot::Sender<()>,
    tasks: JoinSet<io::Result<()>>,
}

impl Server {
    async fn start(capacity: Capacity, configure: impl FnOnce(Api) -> Api) -> Self {
        let parts = Parts::new(capacity, configure);
        Self::listening(Duration::ZERO, parts, identity).await
    }

    /// Starts a server that lets open requests finish for a time when it is stopped.
    async fn with_grace(grace: Duration) -> Self {
        let parts = Parts::new(Capacity::default(), identity);
        Self::listening(grace, parts, identity).await
    }

    /// Starts a server with limited connections.
    async fn with_connections(connections: &Connections) -> Self {
        let grace = Duration::from_secs(20);
        let parts = Parts::new(Capacity::default(), identity);
        let limited = |listener: Listener| listener.connections(connections.clone());
        Self::listening(grace, parts, limited).await
    }

    async fn listening(
        grace: Duration,
        parts: Parts,
        configure: impl FnOnce(Listener) -> Listener,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listener = configure(Listener::from(listener));
        let (stop, stopped) = oneshot::channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_until(stopped, listener, parts.router, grace));
        Self {
            address,
            gate: parts.gate,
            feed: parts.feed,
            request_limiter: parts.request_limiter,
            sockets: parts.sockets,
            stop,
            tasks,
        }
    }

    async fn plain() -> Self {
        Self::start(Capacity::default(), |api| api).await
    }

    /// Sends bytes and returns the open connection.
    async fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Sends a request and reads the whole response.
    async fn ask(&self, request: &str) -> Answer {
        read(self.send(request).await).await
    }

    async fn post(&self, headers: &str, body: &str) -> Answer {
        self.ask(&post(headers, body)).await
    }

    /// Sends a request; returns the head of the response and the length of its body.
    async fn ask_bytes(&self, headers: &str, body: &str) -> (Answer, usize) {
        let mut stream = self.send(&post(headers, body)).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let end = bytes.windows(4).position(|at| at == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        (Answer::parse(&head), bytes.len() - end)
    }

    async fn get(&self, target: &str, headers: &str) -> Answer {
        self.ask(&format!(
            "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"
        ))
        .await
    }
}

async fn serve_until(
    stopped: oneshot::Receiver<()>,
    listener: Listener,
    router: Router,
    grace: Duration,
) -> io::Result<()> {
    let shutdown = async move { drop(stopped.await) };
    serve_with(listener, router, shutdown, grace).await
}

const JSON: &str = "Content-Type: application/json\r\n";
const STRICT: &str =
    "Content-Type: application/json\r\nAccept: application/graphql-response+json\r\n";

fn post(headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Returns the body of a request for a query without variables.
fn query(text: &str) -> String {
    serde_json::json!({ "query": text }).to_string()
}

async fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A server that refuses a body may close the connection before all of it has been sent.
    let _ = stream.read_to_end(&mut bytes).await;
    Answer::parse(&String::from_utf8(bytes).unwrap())
}

/// A parsed HTTP response.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    fn code(&self) -> String {
        let code = &self.json()["errors"][0]["extensions"]["code"];
        code.as_str()
            .unwrap_or_else(|| panic!("no code: {self:?}"))
            .to_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}
