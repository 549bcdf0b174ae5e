//! The pages: what each asks the API, and the HTML of its answers. The scripts draw the same page again,
//! from the same answers, with what needs scripts.

mod compare;
mod home;
mod list;
mod product;

use axum::http::StatusCode;
use serde_json::Value;

use crate::asking::Asked;
use crate::document::Document;
use crate::markup::Html;

pub(crate) use compare::compare;
pub(crate) use home::home;
pub(crate) use list::list;
pub(crate) use product::product;

/// A page, or where it is.
pub(crate) enum Written {
    /// A page with its status.
    Page(StatusCode, Box<Document>),
    /// The page has another address.
    Elsewhere(String),
}

impl Written {
    fn found(document: Document) -> Self {
        Self::Page(StatusCode::OK, Box::new(document))
    }
}

/// A page that says what is missing.
fn missing(what: &'static str, asked: Vec<Asked>) -> Written {
    let mut why = Html::new();
    why.raw(
        "<p>It may have been taken off sale, or the address has a typing mistake.</p>\
         <p><a href=\"/\">To the start page</a> or search above.</p>",
    );
    notice(StatusCode::NOT_FOUND, what, (&why, asked))
}

/// A page that says why there is no answer. Scripts do not use such an answer: they ask again.
fn failed(asked: Vec<Asked>) -> Written {
    let (mut status, mut reason) = (StatusCode::BAD_GATEWAY, String::new());
    for one in asked.iter().filter(|asked| asked.failed()) {
        one.reason().clone_into(&mut reason);
        status = match one.code() {
            "RATE_LIMITED" => StatusCode::TOO_MANY_REQUESTS,
            "UNAVAILABLE" => StatusCode::SERVICE_UNAVAILABLE,
            "TIMEOUT" => StatusCode::GATEWAY_TIMEOUT,
            "BAD_USER_INPUT" | "INVALID_CURSOR" | "COST_EXCEEDED" => StatusCode::BAD_REQUEST,
            _ if one.status.is_client_error() => one.status,
            _ => status,
        };
    }
    let mut why = Html::new();
    why.raw("<p class=\"iso\">").text(&reason);
    why.raw("</p><p><a href=\"/\">To the start page</a></p>");
    notice(status, "This page cannot be shown", (&why, asked))
}

/// A page that says what is wrong, and why.
fn notice(status: StatusCode, what: &'static str, (why, asked): (&Html, Vec<Asked>)) -> Written {
    let mut main = Html::new();
    main.raw("<div class=\"page narrow\"><h1>").raw(what);
    main.raw("</h1>").html(why).raw("</div>");
    let document = Document {
        title: format!("{what} – Vitrine"),
        description: what.to_owned(),
        canonical: "/".to_owned(),
        listed: false,
        structured: Vec::new(),
        search: String::new(),
        main,
        asked,
    };
    Written::Page(status, Box::new(document))
}

/// The items of a list in an answer.
fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// A text in an answer; empty if it is null.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Writes the categories above a page.
fn trail(above: &Value, html: &mut Html) {
    html.raw("<nav class=\"trail\" aria-label=\"Breadcrumb\"><ol><li><a href=\"/\">Home</a></li>");
    for category in items(above) {
        html.raw("<li><a href=\"");
        html.text(&crate::tile::category_path(&category["slug"]))
            .raw("\">");
        html.text(text(&category["name"])).raw("</a></li>");
    }
    html.raw("</ol></nav>");
}
