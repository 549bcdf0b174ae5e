//! A GraphQL request as received.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::strict;

/// A request of a client, with a request id and a flag set by the server.
///
/// Deserialises from the usual JSON object. An object with a duplicate key is refused, because
/// implementations disagree on which of the values counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphqlRequest {
    /// The text of the document; empty if the client only names it.
    #[serde(default)]
    pub query: String,
    /// The name of the operation to run; may be omitted if there is only one. An empty name counts
    /// as none.
    #[serde(default, deserialize_with = "name")]
    pub operation_name: Option<String>,
    /// The values of the variables.
    #[serde(default, deserialize_with = "strict::object")]
    pub variables: Map<String, Value>,
    /// The id of a trusted document.
    #[serde(default, alias = "doc_id")]
    pub document_id: Option<String>,
    /// Protocol extensions of the client. Of these only `persistedQuery` is read.
    #[serde(default, deserialize_with = "strict::object")]
    pub extensions: Map<String, Value>,
    /// The request id in log lines and internal errors.
    #[serde(skip)]
    pub request_id: String,
    /// Whether `__schema`, `__type` and `_service` are refused.
    #[serde(skip)]
    pub hide_schema: bool,
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.filter(|name| !name.is_empty()))
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
