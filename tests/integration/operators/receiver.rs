//! A collector of traces: takes OTLP as protobuf over HTTP.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A span as it was received.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty for a span without a parent.
    pub(super) parent: String,
    pub(super) attributes: BTreeMap<String, String>,
}

type Spans = Arc<Mutex<Vec<Span>>>;

/// A running collector.
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    spans: Spans,
    /// Ends with the receiver.
    _tasks: JoinSet<std::io::Result<()>>,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let spans = Spans::default();
        let router = Router::new().route("/v1/traces", post(receive));
        let router = router.with_state(Arc::clone(&spans));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            spans,
            _tasks: tasks,
        }
    }

    /// The spans so far.
    pub(super) fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

async fn receive(State(spans): State<Spans>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let of_resources = request.resource_spans.into_iter();
    let scopes = of_resources.flat_map(|resource| resource.scope_spans);
    let received = scopes.flat_map(|scope| scope.spans).map(|span| Span {
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        attributes: span.attributes.into_iter().map(text).collect(),
    });
    spans.lock().unwrap().extend(received);
}

fn text(attribute: KeyValue) -> (String, String) {
    let value = attribute.value.and_then(|value| value.value);
    let value = match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    (attribute.key, value)
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    digits.collect()
}
