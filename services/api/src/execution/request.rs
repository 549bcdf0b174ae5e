//! A GraphQL request as it arrives.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::strict;

/// What a client sends, and two facts the server adds.
///
/// Deserialises from the usual JSON object; an object with the same key twice is refused,
/// because no two readers agree on which of the values counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphqlRequest {
    /// The document.
    pub query: String,
    /// Which of its operations to run.
    #[serde(default)]
    pub operation_name: Option<String>,
    /// The values of its variables.
    #[serde(default, deserialize_with = "strict::object")]
    pub variables: Map<String, Value>,
    /// Whatever else the client sends along; not interpreted.
    #[serde(default, deserialize_with = "strict::object")]
    pub extensions: Map<String, Value>,
    /// The id that log lines and internal errors carry.
    #[serde(skip)]
    pub request_id: String,
    /// Whether `__schema` and `__type` are refused.
    #[serde(skip)]
    pub hide_schema: bool,
}

impl GraphqlRequest {
    /// A request for the only operation of `query`, without variables.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// Chooses one of several operations.
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

    /// Sets the id that log lines and internal errors carry.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = id.into();
        self
    }

    /// Refuses `__schema` and `__type`.
    #[must_use]
    pub fn hide_schema(mut self) -> Self {
        self.hide_schema = true;
        self
    }
}
