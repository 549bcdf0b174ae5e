//! Subscriptions and their events.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::Value;
use vitrine_api::execution::{EventGate, GraphqlRequest, GraphqlResponse, ResponseLimits};
use vitrine_api::graphql::{Role, Session, Viewer};
use vitrine_domain::Catalog;

use crate::App;

/// How long to wait for an event that must come.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A running subscription.
pub struct Subscription(BoxStream<'static, GraphqlResponse>);

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl App {
    /// Starts a subscription of an anonymous caller.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn subscribe(&self, document: &str) -> Subscription {
        self.subscribe_through(&self.catalog, document)
    }

    /// Starts a subscription of an anonymous caller in another process.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn subscribe_through(&self, catalog: &Catalog, document: &str) -> Subscription {
        self.subscribe_as(catalog, &Viewer::default(), document)
    }

    /// Starts a subscription of an admin.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn subscribe_as_admin(&self, document: &str) -> Subscription {
        let admin = Viewer {
            subject: Some("admin".to_owned()),
            roles: vec![Role::Admin],
        };
        self.subscribe_as(&self.catalog, &admin, document)
    }

    /// Starts a subscription of an anonymous caller whose events have to pass a gate.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn subscribe_gated(&self, gate: EventGate, document: &str) -> Subscription {
        let session = Session::new(&self.catalog, &Viewer::default());
        self.start(session, gate, document)
    }

    fn subscribe_as(&self, catalog: &Catalog, viewer: &Viewer, document: &str) -> Subscription {
        self.start(Session::new(catalog, viewer), EventGate::free(), document)
    }

    fn start(&self, session: Session, gate: EventGate, document: &str) -> Subscription {
        let request = GraphqlRequest::new(document).request_id("test");
        let prepared = self.engine.prepare(request);
        let prepared = prepared.expect("the document is valid");
        let events = self
            .engine
            .subscribe(prepared, ResponseLimits::NONE, gate, |request| {
                session.attach(request)
            });
        Subscription(events)
    }
}

impl Subscription {
    /// Returns the next answer, whether it is an event or an error; `None` at the end.
    ///
    /// # Panics
    /// When none comes in time.
    pub async fn next(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(TIMEOUT, self.0.next()).await;
        let next = next.expect("an answer comes in time");
        next.map(|mut answer| serde_json::from_slice(&answer.json()).expect("answers are JSON"))
    }

    /// Returns the next event: the value of its only field.
    ///
    /// # Panics
    /// When the subscription fails or ends, or no event comes in time.
    pub async fn event(&mut self) -> Value {
        let answer = self.next().await.expect("it has not ended");
        assert!(answer.get("errors").is_none(), "{answer}");
        let data = answer["data"].as_object().expect("data is an object");
        data.values().next().expect("one field").clone()
    }

    /// Returns the code of the error with which it ends.
    ///
    /// # Panics
    /// When the next answer is no error, or none comes in time.
    pub async fn failure(&mut self) -> String {
        let answer = self.next().await.expect("it has not ended");
        let code = answer["errors"][0]["extensions"]["code"].as_str();
        code.unwrap_or_else(|| panic!("no error: {answer}"))
            .to_owned()
    }
}
