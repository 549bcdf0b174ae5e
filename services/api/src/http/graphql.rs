//! The GraphQL endpoint: POST with a body, GET with a query in the URL, both also answered with a
//! stream of events, and GET for a WebSocket.

use std::{sync::Arc, time::Instant};

use apollo_compiler::ast::OperationType;
use axum::{
    Extension,
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, Response, StatusCode},
    response::{IntoResponse, Redirect},
};
use tokio_util::sync::CancellationToken;

use super::{
    AtDeadline, RequestContext, RequestId, Size,
    accept::{self, Events, Media},
    body,
    caching::{CachePolicy, no_store},
    events,
    preparation::prepare,
    query_string, report, response,
    routes::Api,
    serve::Stopping,
    socket::{self, Upgrade},
};
use crate::execution::{CostCheck, Failure, GraphqlRequest, GraphqlResponse, Prepared};

/// `POST /graphql`.
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    stopping: Option<Extension<Stopping>>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let Some(formats) = Formats::of(&headers) else {
        return not_acceptable();
    };
    if !accept::is_json(&headers) {
        let message = "The body must be application/json in UTF-8.";
        return response::protocol(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let call = Call {
        api: &api,
        id: &id,
        headers: &headers,
        allowed: Allowed::All,
        stopping: stopping.map(|Extension(Stopping(stopping))| stopping),
    };
    match body::read(&headers, body).await {
        Ok(request) => no_store(call.answer(formats, request).await),
        Err(error) => response::protocol(error.status, &error.message),
    }
}

/// `GET /graphql`: a WebSocket, the way to the playground, a query, or any subscription as a stream of events.
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    stopping: Option<Extension<Stopping>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response<Body> {
    if socket::is_upgrade(&headers) {
        return socket::open(&api, &id, &headers, upgrade);
    }
    let request = match query_string::read(query.as_deref().unwrap_or_default()) {
        Ok(Some(request)) => request,
        Ok(None) if socket::has_lost_upgrade(&headers) => {
            let message = "A proxy has removed the header `Upgrade`: it has to pass on `Upgrade` and `Connection`.";
            return response::protocol(StatusCode::BAD_REQUEST, message);
        }
        Ok(None) => {
            return match api.playground.filter(|_| accept::wants_html(&headers)) {
                Some(path) => Redirect::to(path).into_response(),
                None => response::protocol(StatusCode::BAD_REQUEST, "There is no query."),
            };
        }
        Err(message) => return response::protocol(StatusCode::BAD_REQUEST, message),
    };
    let Some(formats) = Formats::of(&headers) else {
        return not_acceptable();
    };
    let call = Call {
        api: &api,
        id: &id,
        headers: &headers,
        allowed: Allowed::Safe,
        stopping: stopping.map(|Extension(Stopping(stopping))| stopping),
    };
    no_store(call.answer(formats, request).await)
}

/// All other methods.
pub(super) async fn other() -> Response<Body> {
    response::wrong_method("GET, POST", "Send requests with POST, or queries with GET.")
}

/// The operations that a method allows. A GET must not change anything, because it may be repeated,
/// prefetched and linked to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    All,
    /// Queries, and subscriptions if they are answered with a stream of events.
    Safe,
}

/// The formats of responses that a client accepts.
#[derive(Clone, Copy)]
struct Formats {
    /// `Json` if the client accepts events only: for HTTP errors.
    media: Media,
    events: Events,
}

impl Formats {
    /// Returns `None` if the client accepts no format of ours.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let (media, events) = (accept::negotiate(headers), accept::events(headers));
        let media = match media {
            None if events == Events::Refused => return None,
            media => media.unwrap_or(Media::Json),
        };
        Some(Self { media, events })
    }

    /// Whether an operation is answered with a stream of events; `None` stands for an invalid one.
    fn streams(self, kind: Option<OperationType>) -> bool {
        match self.events {
            Events::Refused => false,
            Events::Accepted => kind == Some(OperationType::Subscription),
            Events::Preferred => true,
        }
    }
}

/// An HTTP request.
pub(super) struct Call<'a> {
    pub(super) api: &'a Arc<Api>,
    pub(super) id: &'a RequestId,
    pub(super) headers: &'a HeaderMap,
    allowed: Allowed,
    /// Cancelled when the listener stops.
    pub(super) stopping: Option<CancellationToken>,
}

impl Call<'_> {
    async fn answer(&self, formats: Formats, mut request: GraphqlRequest) -> Response<Body> {
        let (api, media, began) = (self.api, formats.media, Instant::now());
        let context = match (api.authenticate)(self.headers) {
            Ok(context) => context,
            Err(failure) => {
                api.reports.refused([failure.code()], began.elapsed());
                return refused(media, &failure, self.id);
            }
        };
        self.id.as_str().clone_into(&mut request.request_id);
        let prepared = prepare(api, &context, request).await;
        let kind = prepared.as_ref().ok().map(|prepared| prepared.kind());
        let streams = formats.streams(kind);
        let is_safe = match kind {
            None | Some(OperationType::Query) => true,
            Some(OperationType::Subscription) => streams,
            Some(OperationType::Mutation) => false,
        };
        if self.allowed == Allowed::Safe && !is_safe {
            return response::wrong_method("POST", "Mutations must be sent with POST.");
        }
        if streams {
            return events::open(self, context, prepared);
        }
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(answer) => return response::graphql(media, *answer),
        };
        match run(api, prepared, context).await {
            Ok(answer) if self.allowed == Allowed::Safe => self.cached(media, answer),
            Ok(answer) => response::graphql(media, answer),
            Err(failure) => refused(media, &failure, self.id),
        }
    }

    /// Returns the response to a GET, with the headers for caches.
    fn cached(&self, media: Media, mut answer: GraphqlResponse) -> Response<Body> {
        let policy = CachePolicy::of(self.headers, self.api.cache_max_age);
        policy.adapt(&mut answer);
        let json = answer.json();
        let response = response::graphql_json(media, &answer, json);
        policy.apply(self.headers, &answer, response)
    }
}

/// Executes a request in its own task: see [`super::RequestLimiter`]. One that costs too much is
/// refused at once and takes no place in it.
pub(super) async fn run(
    api: &Api,
    prepared: Arc<Prepared>,
    context: RequestContext,
) -> Result<GraphqlResponse, Failure> {
    let (began, work) = (Instant::now(), context.work.clone());
    let shows_work = context.shows_work;
    let cost_check = (context.cost_check)(&prepared);
    let cost = cost_check.cost;
    let mut outcome = run_within_limits(api, Arc::clone(&prepared), cost_check, context).await;
    let (took, work) = (began.elapsed(), work.as_deref());
    api.reports.ran(&prepared, cost, &outcome, work, took);
    if let (true, Some(work), Ok(answer)) = (shows_work, work, &mut outcome) {
        let shown = report::shown_work(work, &prepared, took);
        answer.extensions.insert("work".to_owned(), shown);
    }
    outcome
}

async fn run_within_limits(
    api: &Api,
    prepared: Arc<Prepared>,
    cost_check: CostCheck,
    context: RequestContext,
) -> Result<GraphqlResponse, Failure> {
    let engine = api.engine.clone();
    let (refused, is_large) = (cost_check.outcome.is_err(), cost_check.is_large);
    let is_query = prepared.kind().is_query();
    let work = async move {
        engine
            .run(prepared, |_| cost_check, context.add_context)
            .await
    };
    if refused {
        return Ok(work.await);
    }
    let at_deadline = if is_query {
        AtDeadline::Stop
    } else {
        AtDeadline::Continue
    };
    let size = if is_query && is_large {
        Size::Large
    } else {
        Size::Small
    };
    api.request_limiter.run(at_deadline, size, work).await
}

pub(super) fn refused(media: Media, failure: &Failure, id: &RequestId) -> Response<Body> {
    crate::execution::log_internal(failure, "", id.as_str());
    response::failure(media, failure, id.as_str())
}

fn not_acceptable() -> Response<Body> {
    let message = "Answers are application/graphql-response+json or application/json.";
    response::protocol(StatusCode::NOT_ACCEPTABLE, message)
}
