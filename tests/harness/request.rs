//! Queries, and assertions on their answers.

use std::future::IntoFuture;
use std::pin::Pin;

use serde_json::Value;
use vitrine_api::execution::GraphqlRequest;
use vitrine_api::graphql::{CostGuard, CostLimits, Role, Session, Viewer};
use vitrine_domain::Catalog;

use crate::app::App;
use crate::pretty::pretty;

/// A query that is sent when it is awaited.
#[derive(Debug)]
pub struct Request<'a> {
    app: &'a App,
    catalog: Catalog,
    body: GraphqlRequest,
    viewer: Viewer,
}

/// Commands that the service sends in the background, at most once a minute for each category, to
/// decide how lists are best read.
const IN_BACKGROUND: [&str; 2] = ["aggregate category_generations", "find facet_panels"];

impl<'a> Request<'a> {
    pub(crate) fn new(app: &'a App, query: &str) -> Self {
        Self {
            app,
            catalog: app.catalog.clone(),
            body: GraphqlRequest::new(query),
            viewer: Viewer::default(),
        }
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.body = self.body.variable(name, value);
        self
    }

    /// Sends it as an admin.
    #[must_use]
    pub fn as_admin(self) -> Self {
        self.by_admin("admin")
    }

    /// Sends it as the admin with this name.
    #[must_use]
    pub fn by_admin(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Admin])
    }

    /// Sends it as the shopper with this name.
    #[must_use]
    pub fn as_shopper(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Shopper])
    }

    /// Sends it as the moderator with this name.
    #[must_use]
    pub fn as_moderator(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Moderator])
    }

    /// Sends it as the service with this name.
    #[must_use]
    pub fn as_service(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Service])
    }

    /// Sends it as a caller with this name and these roles.
    #[must_use]
    pub fn with_roles(mut self, subject: &str, roles: &[Role]) -> Self {
        self.viewer = Viewer {
            subject: Some(subject.to_owned()),
            roles: roles.to_vec(),
        };
        self
    }

    /// Sends it to another process.
    #[must_use]
    pub fn through(mut self, catalog: &Catalog) -> Self {
        self.catalog = catalog.clone();
        self
    }

    async fn send(self) -> Answer {
        let guard = CostGuard::new(&self.catalog, &self.viewer, CostLimits::default());
        let session = Session::new(&self.catalog, &self.viewer);
        self.app.forget_commands();
        let request = self.body.request_id("test");
        let mut response = self
            .app
            .engine
            .execute_with(
                request,
                |prepared| guard.check(prepared),
                |request| session.attach(request),
            )
            .await;
        let mut body = serde_json::from_slice(&response.json()).expect("answers are JSON");
        let cost = take_cost(&mut body);
        // Fields run concurrently, so their errors come in any order.
        if let Some(errors) = body.get_mut("errors").and_then(Value::as_array_mut) {
            let number =
                |error: &Value, pointer: &str| error.pointer(pointer).and_then(Value::as_u64);
            errors.sort_by_cached_key(|error| {
                let (line, column) = ("/locations/0/line", "/locations/0/column");
                (
                    number(error, line),
                    number(error, column),
                    error["path"].to_string(),
                )
            });
        }
        Answer {
            body,
            cost,
            sent: self.app.sent(),
        }
    }
}

impl<'a> IntoFuture for Request<'a> {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// An answer, and the commands that were sent to the database meanwhile.
#[derive(Clone, Debug)]
pub struct Answer {
    body: Value,
    cost: Value,
    sent: Vec<String>,
}

/// Takes `extensions.cost` out of an answer: most tests are not about it.
fn take_cost(body: &mut Value) -> Value {
    let Some(extensions) = body.get_mut("extensions").and_then(Value::as_object_mut) else {
        return Value::Null;
    };
    let cost = extensions.remove("cost").unwrap_or_default();
    if extensions.is_empty() {
        let body = body.as_object_mut().expect("answers are objects");
        body.remove("extensions");
    }
    cost
}

impl Answer {
    /// Returns `extensions.cost`.
    #[must_use]
    pub fn cost(&self) -> &Value {
        &self.cost
    }

    /// Returns the whole answer.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// Returns the data.
    ///
    /// # Panics
    /// When there are errors.
    #[must_use]
    #[track_caller]
    pub fn data(&self) -> &Value {
        assert!(self.body.get("errors").is_none(), "{}", pretty(&self.body));
        &self.body["data"]
    }

    /// Returns the value at a JSON pointer below the data: `/product/name`.
    ///
    /// # Panics
    /// When there are errors, or nothing is there.
    #[must_use]
    #[track_caller]
    pub fn at(&self, pointer: &str) -> &Value {
        let value = self.data().pointer(pointer);
        value.unwrap_or_else(|| panic!("nothing at {pointer} of {}", pretty(&self.body)))
    }

    /// Returns the text at a JSON pointer below the data.
    ///
    /// # Panics
    /// When there are errors, or no text is there.
    #[must_use]
    #[track_caller]
    pub fn text(&self, pointer: &str) -> String {
        let value = self.at(pointer);
        value
            .as_str()
            .unwrap_or_else(|| panic!("no text: {value}"))
            .to_owned()
    }

    /// Returns the names of the nodes of a connection.
    ///
    /// # Panics
    /// When there are errors, or no connection is there.
    #[must_use]
    #[track_caller]
    pub fn names(&self, pointer: &str) -> Vec<String> {
        let nodes = self
            .at(&format!("{pointer}/nodes"))
            .as_array()
            .expect("nodes is a list");
        nodes
            .iter()
            .map(|node| node["name"].as_str().expect("select name").to_owned())
            .collect()
    }

    /// Returns the errors, each as `CODE at path: message`.
    ///
    /// # Panics
    /// When an error has no code.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        let errors = self.body["errors"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        errors.iter().map(error).collect()
    }

    /// Returns the hints, each as `path: message`.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let hints = self.body["extensions"]["hints"].as_array();
        let text = |hint: &Value, field: &str| hint[field].as_str().unwrap_or_default().to_owned();
        let hints = hints.into_iter().flatten();
        hints
            .map(|hint| format!("{}: {}", text(hint, "path"), text(hint, "message")))
            .collect()
    }

    /// Returns the number at a JSON pointer below the data.
    ///
    /// # Panics
    /// When there are errors, or no whole number is there.
    #[must_use]
    #[track_caller]
    pub fn number(&self, pointer: &str) -> i64 {
        let value = self.at(pointer);
        value
            .as_i64()
            .unwrap_or_else(|| panic!("no whole number: {value}"))
    }

    /// Returns all commands that were sent, as `find products`, in the order in which they were
    /// sent.
    #[must_use]
    pub fn sent(&self) -> &[String] {
        &self.sent
    }

    /// Returns the commands that were sent for the query, without those that the service sends in
    /// the background after it has read a list.
    #[must_use]
    pub fn sent_for_query(&self) -> Vec<&str> {
        let sent = self.sent.iter().map(String::as_str);
        sent.filter(|sent| !IN_BACKGROUND.contains(sent)).collect()
    }

    /// Asserts which commands were sent for the query, in their order. Background commands are left
    /// out, unless they are expected.
    ///
    /// # Panics
    /// When other commands were sent.
    #[track_caller]
    pub fn assert_commands(&self, expected: &[&str]) {
        let counts = |sent: &&String| {
            let sent = sent.as_str();
            expected.contains(&sent) || !IN_BACKGROUND.contains(&sent)
        };
        let sent: Vec<&String> = self.sent.iter().filter(counts).collect();
        assert_eq!(
            sent,
            expected,
            "the commands that were sent for {}",
            pretty(&self.body)
        );
    }

    /// Returns the whole answer as text for a snapshot.
    #[must_use]
    pub fn pretty(&self) -> String {
        pretty(&self.body)
    }
}

fn error(error: &Value) -> String {
    let code = error["extensions"]["code"]
        .as_str()
        .expect("every error has a code");
    let message = error["message"]
        .as_str()
        .expect("every error has a message");
    let segment = |segment: &Value| {
        segment
            .as_str()
            .map_or_else(|| segment.to_string(), str::to_owned)
    };
    let path = error["path"].as_array().map_or(&[][..], Vec::as_slice);
    let path: Vec<String> = path.iter().map(segment).collect();
    if path.is_empty() {
        format!("{code}: {message}")
    } else {
        format!("{code} at {}: {message}", path.join("."))
    }
}
