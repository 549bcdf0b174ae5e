//! Queries, and what can be said of their answers.

use std::future::IntoFuture;
use std::pin::Pin;

use serde_json::Value;
use vitrine_api::execution::GraphqlRequest;
use vitrine_api::graphql::{Role, Session, Viewer};
use vitrine_domain::Catalog;

use crate::app::App;
use crate::shown::shown;

/// A query that is about to be sent; awaiting it sends it.
#[derive(Debug)]
pub struct Ask<'a> {
    app: &'a App,
    catalog: Catalog,
    request: GraphqlRequest,
    viewer: Viewer,
}

/// What the service reads in the background, at most once a minute for each category, to judge how
/// lists are best read.
const IN_BACKGROUND: [&str; 2] = ["aggregate category_generations", "find facet_panels"];

impl<'a> Ask<'a> {
    pub(crate) fn new(app: &'a App, query: &str) -> Self {
        Self {
            app,
            catalog: app.catalog.clone(),
            request: GraphqlRequest::new(query),
            viewer: Viewer::default(),
        }
    }

    /// Gives a variable its value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.request = self.request.variable(name, value);
        self
    }

    /// Asks as somebody with the role admin.
    #[must_use]
    pub fn as_admin(self) -> Self {
        self.by_admin("admin")
    }

    /// Asks as an admin with this name.
    #[must_use]
    pub fn by_admin(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Admin])
    }

    /// Asks as a shopper with this name.
    #[must_use]
    pub fn as_shopper(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Shopper])
    }

    /// Asks as a moderator with this name.
    #[must_use]
    pub fn as_moderator(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Moderator])
    }

    /// Asks as another service with this name.
    #[must_use]
    pub fn as_service(self, subject: &str) -> Self {
        self.with_roles(subject, &[Role::Service])
    }

    /// Asks as somebody with these roles.
    #[must_use]
    pub fn with_roles(mut self, subject: &str, roles: &[Role]) -> Self {
        self.viewer = Viewer {
            subject: Some(subject.to_owned()),
            roles: roles.to_vec(),
        };
        self
    }

    /// Asks another process.
    #[must_use]
    pub fn through(mut self, catalog: &Catalog) -> Self {
        self.catalog = catalog.clone();
        self
    }

    async fn send(self) -> Answer {
        let session = Session::new(self.catalog, &self.viewer);
        self.app.forget_commands();
        let request = self.request.request_id("test");
        let response = self
            .app
            .engine
            .execute(request, |request| session.attach(request))
            .await;
        let mut body = serde_json::to_value(&response).expect("answers are JSON");
        // Fields run at the same time, so the order of their errors says nothing.
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
            sent: self.app.sent(),
        }
    }
}

impl<'a> IntoFuture for Ask<'a> {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// An answer, and the commands that were sent to the database for it.
#[derive(Clone, Debug)]
pub struct Answer {
    body: Value,
    sent: Vec<String>,
}

impl Answer {
    /// The whole answer.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The data.
    ///
    /// # Panics
    /// When there are errors.
    #[must_use]
    #[track_caller]
    pub fn data(&self) -> &Value {
        assert!(self.body.get("errors").is_none(), "{}", shown(&self.body));
        &self.body["data"]
    }

    /// What stands at a JSON pointer below the data: `/product/name`.
    ///
    /// # Panics
    /// When there are errors, or nothing stands there.
    #[must_use]
    #[track_caller]
    pub fn at(&self, pointer: &str) -> &Value {
        let found = self.data().pointer(pointer);
        found.unwrap_or_else(|| panic!("nothing at {pointer} of {}", shown(&self.body)))
    }

    /// The text at a JSON pointer below the data.
    ///
    /// # Panics
    /// When there are errors, or no text stands there.
    #[must_use]
    #[track_caller]
    pub fn text(&self, pointer: &str) -> String {
        let found = self.at(pointer);
        found
            .as_str()
            .unwrap_or_else(|| panic!("no text: {found}"))
            .to_owned()
    }

    /// The names of the nodes of a connection: the usual way to say which products were found.
    ///
    /// # Panics
    /// When there are errors, or no connection stands there.
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

    /// The errors, each as `CODE at path: message`.
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

    /// The hints, each as `path: message`.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let hints = self.body["extensions"]["hints"].as_array();
        let text = |hint: &Value, field: &str| hint[field].as_str().unwrap_or_default().to_owned();
        let hints = hints.into_iter().flatten();
        hints
            .map(|hint| format!("{}: {}", text(hint, "path"), text(hint, "message")))
            .collect()
    }

    /// The number at a JSON pointer below the data.
    ///
    /// # Panics
    /// When there are errors, or no whole number stands there.
    #[must_use]
    #[track_caller]
    pub fn number(&self, pointer: &str) -> i64 {
        let found = self.at(pointer);
        found
            .as_i64()
            .unwrap_or_else(|| panic!("no whole number: {found}"))
    }

    /// The commands that were sent, `find products`, in the order of their names when several went
    /// out at once.
    #[must_use]
    pub fn sent(&self) -> &[String] {
        &self.sent
    }

    /// The commands that were sent for the query, without those that the service sends in the
    /// background whenever it has seen a list.
    #[must_use]
    pub fn asked(&self) -> Vec<&str> {
        let sent = self.sent.iter().map(String::as_str);
        sent.filter(|sent| !IN_BACKGROUND.contains(sent)).collect()
    }

    /// Asserts which commands were sent for the query, in their order. Those that were sent in the
    /// background meanwhile do not count, unless they are expected.
    ///
    /// # Panics
    /// When others were.
    #[track_caller]
    pub fn commands(&self, expected: &[&str]) {
        let counts = |sent: &&String| {
            let sent = sent.as_str();
            expected.contains(&sent) || !IN_BACKGROUND.contains(&sent)
        };
        let sent: Vec<&String> = self.sent.iter().filter(counts).collect();
        assert_eq!(
            sent,
            expected,
            "the commands that were sent for {}",
            shown(&self.body)
        );
    }

    /// The whole answer as text for a snapshot.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.body)
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
