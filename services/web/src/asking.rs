//! Sends operations to the API in process: as HTTP requests to its router, so that they are
//! authenticated, limited and counted like those of any other client.

use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, Request, StatusCode, header};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::markup::Html;
use crate::operations::operation;

/// What is passed on of the request of a browser: who asks, and from where.
const PASSED_ON: [HeaderName; 3] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("traceparent"),
];
/// The maximum size of an answer, in bytes; the API allows callers without a role 4 MB.
const MAX_ANSWER: usize = 8_000_000;

/// Asks on behalf of one request of a browser.
pub(crate) struct Asker {
    api: Router,
    headers: HeaderMap,
    extensions: Extensions,
}

/// An operation with its answer.
pub(crate) struct Asked {
    operation: &'static str,
    variables: Value,
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<u64>,
    answer: Value,
    /// The text of the answer; `null` if there is none.
    text: String,
    millis: f64,
}

impl Asker {
    pub(crate) fn new(api: &Router, request: &Parts) -> Self {
        let mut headers = HeaderMap::new();
        for name in PASSED_ON {
            // All lines: the API believes the last address of the last one.
            for value in request.headers.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        Self {
            api: api.clone(),
            headers,
            extensions: request.extensions.clone(),
        }
    }

    /// Sends an operation of `ui/operations`.
    pub(crate) async fn ask(&self, name: &'static str, variables: Value) -> Asked {
        let began = Instant::now();
        let body = json!({ "query": operation(name), "variables": &variables });
        let mut request = Request::new(Body::from(body.to_string()));
        *request.method_mut() = axum::http::Method::POST;
        *request.uri_mut() = axum::http::Uri::from_static("/graphql");
        *request.headers_mut() = self.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        let json = axum::http::HeaderValue::from_static("application/json");
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, json.clone());
        headers.insert(header::ACCEPT, json);
        let response = match self.api.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let wait = response.headers().get(header::RETRY_AFTER);
        let retry_after = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
        let bytes = to_bytes(response.into_body(), MAX_ANSWER).await;
        let text = bytes.ok().and_then(|b| String::from_utf8(b.into()).ok());
        let read = text.and_then(|text| Some((serde_json::from_str(&text).ok()?, text)));
        let (answer, text) = read.unwrap_or_else(|| (Value::Null, "null".to_owned()));
        Asked {
            operation: name,
            variables,
            status,
            retry_after,
            answer,
            text,
            millis: began.elapsed().as_secs_f64() * 1_000.0,
        }
    }
}

impl Asked {
    /// A root field of the answer; null where there is none.
    pub(crate) fn data(&self, field: &str) -> &Value {
        &self.answer["data"][field]
    }

    /// Whether the answer lacks something because of an error.
    pub(crate) fn failed(&self) -> bool {
        !self.answer["errors"].is_null() || !self.answer.is_object()
    }

    /// Why, for people.
    pub(crate) fn reason(&self) -> &str {
        let message = self.answer["errors"][0]["message"].as_str();
        message.unwrap_or("The service gave no answer.")
    }

    /// The code of the first error.
    pub(crate) fn code(&self) -> &str {
        let code = self.answer["errors"][0]["extensions"]["code"].as_str();
        code.unwrap_or("INTERNAL")
    }

    /// Writes, as JSON, what the scripts of the page use instead of asking again. The text of the answer is copied:
    /// serialising its values again would take longer than the rest of the page.
    pub(crate) fn write(&self, html: &mut Html) {
        html.raw("{\"operation\":").json(&json!(self.operation));
        html.raw(",\"variables\":").json(&self.variables);
        html.raw(",\"millis\":");
        html.json(&json!((self.millis * 10.0).round() / 10.0));
        html.raw(",\"answer\":").json_text(&self.text).raw("}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_header_is_passed_on_and_other_headers_are_not() {
        let request = Request::get("/")
            .header("x-forwarded-for", "192.0.2.1")
            .header("x-forwarded-for", "198.51.100.7")
            .header("authorization", "Bearer a")
            .header("cookie", "a=b");
        let (request, ()) = request.body(()).unwrap().into_parts();
        let headers = Asker::new(&Router::new(), &request).headers;
        let lines: Vec<_> = headers.get_all("x-forwarded-for").iter().collect();
        assert_eq!(lines, ["192.0.2.1", "198.51.100.7"]);
        assert_eq!(headers["authorization"], "Bearer a");
        assert_eq!(headers.len(), 3);
    }
}
