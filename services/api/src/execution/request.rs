//! A GraphQL request as received.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::strict;

/// A request of a client, with a request id and a flag set by the server.
///
/// Deserialises from the usual JSON object, which must have a document or name one. An object with
/// a duplicate key is refused, because implementations disagree on which of the values counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Received")]
pub struct GraphqlRequest {
    /// The text of the document; empty if the client only names it.
    pub query: String,
    /// The name of the operation to run; may be omitted if there is only one. An empty name counts
    /// as none.
    pub operation_name: Option<String>,
    /// The values of the variables.
    pub variables: Map<String, Value>,
    /// The id of a trusted document.
    pub document_id: Option<String>,
    /// Protocol extensions of the client. Of these only `persistedQuery` is read.
    pub extensions: Map<String, Value>,
    /// The request id in log lines and internal errors.
    pub request_id: String,
    /// Whether `__schema` and `__type` are refused.
    pub hide_schema: bool,
}

/// The JSON object of a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    #[serde(default)]
    query: String,
    #[serde(default)]
    operation_name: Option<String>,
    #[serde(default, deserialize_with = "strict::object")]
    variables: Map<String, Value>,
    #[serde(default, alias = "doc_id")]
    document_id: Option<String>,
    #[serde(default, deserialize_with = "strict::object")]
    extensions: Map<String, Value>,
}

impl TryFrom<Received> for GraphqlRequest {
    type Error = &'static str;

    fn try_from(received: Received) -> Result<Self, Self::Error> {
        let request = Self {
            query: received.query,
            operation_name: received.operation_name.filter(|name| !name.is_empty()),
            variables: received.variables,
            document_id: received.document_id,
            extensions: received.extensions,
            request_id: String::new(),
            hide_schema: false,
        };
        if request.has_document() {
            Ok(request)
        } else {
            Err("missing field `query`")
        }
    }
}

impl GraphqlRequest {
    /// Creates a request for the only operation of `query`, without variables.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// Returns true if the request has a document, or names one.
    #[must_use]
    pub fn has_document(&self) -> bool {
        let named = self.extensions.get("persistedQuery");
        !self.query.is_empty() || self.document_id.is_some() || named.is_some()
    }

    /// Sets the name of the operation to run.
    #[must_use]
    pub fn operation(mut self, name: impl Into<String>) -> Self {
        self.operation_name = Some(name.into());
        self
    }

    /// Sets one variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets the request id in log lines and internal errors.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = id.into();
        self
    }

    /// Refuses `__schema`, `__type` and `_service`.
    #[must_use]
    pub fn hide_schema(mut self) -> Self {
        self.hide_schema = true;
        self
    }
}
