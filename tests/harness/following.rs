//! Subscriptions, and what is told to those who follow.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::Value;
use vitrine_api::execution::{GraphqlRequest, GraphqlResponse};
use vitrine_api::graphql::{Role, Session, Viewer};
use vitrine_domain::Catalog;

use crate::App;

/// How long an event is waited for that has to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Somebody who follows.
pub struct Following(BoxStream<'static, GraphqlResponse>);

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following").finish_non_exhaustive()
    }
}

impl App {
    /// Follows what a subscription tells, as a stranger.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn follow(&self, document: &str) -> Following {
        self.follow_through(&self.catalog, document)
    }

    /// The same in another process.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn follow_through(&self, catalog: &Catalog, document: &str) -> Following {
        self.follow_as(catalog, &Viewer::default(), document)
    }

    /// The same as somebody who runs the catalogue.
    ///
    /// # Panics
    /// When the document is refused.
    #[must_use]
    pub fn follow_as_admin(&self, document: &str) -> Following {
        let admin = Viewer {
            subject: Some("admin".to_owned()),
            roles: vec![Role::Admin],
        };
        self.follow_as(&self.catalog, &admin, document)
    }

    fn follow_as(&self, catalog: &Catalog, viewer: &Viewer, document: &str) -> Following {
        let session = Session::new(catalog.clone(), viewer);
        let request = GraphqlRequest::new(document).request_id("test");
        let prepared = self.engine.prepare(request);
        let prepared = prepared.expect("the document is valid");
        let told = self
            .engine
            .follow(prepared, |request| session.attach(request));
        Following(told)
    }
}

impl Following {
    /// What is told next, whatever it is; `None` at the end.
    ///
    /// # Panics
    /// When nothing is told in time.
    pub async fn told(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(PATIENCE, self.0.next()).await;
        let next = next.expect("something is told in time");
        next.map(|answer| serde_json::to_value(&answer).expect("answers are JSON"))
    }

    /// The event that is told next: what stands under the only field.
    ///
    /// # Panics
    /// When it fails, ends, or nothing is told in time.
    pub async fn event(&mut self) -> Value {
        let told = self.told().await.expect("it goes on");
        assert!(told.get("errors").is_none(), "{told}");
        let data = told["data"].as_object().expect("data is an object");
        data.values().next().expect("one field").clone()
    }

    /// Why it ends: the code of the error that is told next.
    ///
    /// # Panics
    /// When it goes on, or nothing is told in time.
    pub async fn failure(&mut self) -> String {
        let told = self.told().await.expect("an error is told");
        let code = told["errors"][0]["extensions"]["code"].as_str();
        code.unwrap_or_else(|| panic!("no error: {told}"))
            .to_owned()
    }
}
