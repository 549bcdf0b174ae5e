//! Negotiation of media types: what the client accepts and what it sent.

use axum::http::{HeaderMap, HeaderValue, header};

/// The media type of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// `application/graphql-response+json`: the status tells whether the request was valid.
    GraphqlResponse,
    /// `application/json`: the status describes only the HTTP exchange, as older clients expect.
    Json,
}

impl Media {
    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
            Self::Json => "application/json; charset=utf-8",
        })
    }
}

/// Returns the media type for the response; `None` if the client accepts none of them.
pub(super) fn negotiate(headers: &HeaderMap) -> Option<Media> {
    let mut ranges = ranges(headers).peekable();
    if ranges.peek().is_none() {
        return Some(Media::Json);
    }
    let mut best: Option<(f32, Media)> = None;
    for (range, weight) in ranges {
        let Some(media) = media(&range) else { continue };
        let better = best.is_none_or(|(highest, known)| {
            weight > highest || (weight.total_cmp(&highest).is_eq() && prefers(media, known))
        });
        if weight > 0.0 && better {
            best = Some((weight, media));
        }
    }
    best.map(|(_, media)| media)
}

/// The media type of streams of events.
const EVENT_STREAM: &str = "text/event-stream";

/// Whether a response is a stream of events.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(EVENT_STREAM.as_bytes()))
}

/// Whether the client accepts an HTML page, like a browser.
pub(super) fn wants_html(headers: &HeaderMap) -> bool {
    ranges(headers).any(|(range, weight)| range == "text/html" && weight > 0.0)
}

/// Whether the body is declared as JSON in UTF-8.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
    let json = parts.next().as_deref() == Some("application/json");
    json && parts.all(|part| {
        part.strip_prefix("charset=")
            .is_none_or(|charset| charset.trim_matches('"') == "utf-8")
    })
}

/// Whether a client wants a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    /// It does not accept one.
    Refused,
    /// It accepts one beside JSON: for what only a stream can answer.
    Accepted,
    /// It prefers one to JSON.
    Preferred,
}

/// Returns whether the client wants a stream of events. Only who names the type wants one.
pub(super) fn events(headers: &HeaderMap) -> Events {
    let (mut stream, mut json) = (0.0, 0.0);
    for (range, weight) in ranges(headers) {
        if range == EVENT_STREAM {
            stream = weight;
        } else if media(&range).is_some() && weight > json {
            json = weight;
        }
    }
    if stream <= 0.0 {
        Events::Refused
    } else if stream > json {
        Events::Preferred
    } else {
        Events::Accepted
    }
}

/// With equal weights, the more informative type is preferred.
fn prefers(media: Media, over: Media) -> bool {
    media == Media::GraphqlResponse && over == Media::Json
}

fn media(range: &str) -> Option<Media> {
    match range {
        "application/graphql-response+json" => Some(Media::GraphqlResponse),
        "application/json" | "application/*" | "*/*" => Some(Media::Json),
        _ => None,
    }
}

/// Returns the media ranges of all `Accept` headers with their weights.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = (String, f32)> {
    headers
        .get_all(header::ACCEPT)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| {
            let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
            let range = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
            (range, weight.unwrap_or(1.0))
        })
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::{Events, Media, events, is_json, negotiate};

    fn with(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn the_response_has_an_accepted_media_type() {
        let accept = |value| negotiate(&with(header::ACCEPT, value));
        assert_eq!(negotiate(&HeaderMap::new()), Some(Media::Json));
        assert_eq!(accept("*/*"), Some(Media::Json));
        assert_eq!(accept("application/json"), Some(Media::Json));
        assert_eq!(
            accept("application/graphql-response+json"),
            Some(Media::GraphqlResponse)
        );
        assert_eq!(
            accept("application/json, application/graphql-response+json;charset=utf-8"),
            Some(Media::GraphqlResponse)
        );
        assert_eq!(
            accept("application/json, application/graphql-response+json;q=0.9"),
            Some(Media::Json)
        );
        assert_eq!(
            accept("application/graphql-response+json;q=0, */*"),
            Some(Media::Json)
        );
        assert_eq!(accept("text/plain"), None);
    }

    #[test]
    fn only_who_names_events_gets_them() {
        let accept = |value| events(&with(header::ACCEPT, value));
        assert_eq!(events(&HeaderMap::new()), Events::Refused);
        for refused in ["*/*", "text/*", "application/json", "text/event-stream;q=0"] {
            assert_eq!(accept(refused), Events::Refused, "{refused}");
        }
        for preferred in [
            "text/event-stream",
            "text/event-stream, multipart/mixed",
            "text/event-stream, application/json;q=0.9",
        ] {
            assert_eq!(accept(preferred), Events::Preferred, "{preferred}");
        }
        for accepted in [
            "application/graphql-response+json, application/json, text/event-stream",
            "text/event-stream, */*",
        ] {
            assert_eq!(accept(accepted), Events::Accepted, "{accepted}");
        }
    }

    #[test]
    fn only_json_in_utf_8_is_accepted() {
        let content = |value| is_json(&with(header::CONTENT_TYPE, value));
        assert!(content("application/json"));
        assert!(content("application/json; charset=UTF-8"));
        assert!(!content("application/json; charset=latin1"));
        assert!(!content("text/plain"));
        assert!(!content("application/x-www-form-urlencoded"));
        assert!(!is_json(&HeaderMap::new()));
    }
}
