//! The GraphQL endpoint: POST with a body, GET with a query in the URL, GET for a WebSocket.

use std::{sync::Arc, time::Instant};

use axum::{
    Extension,
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::{Html, IntoResponse},
};

use super::{
    AtDeadline, RequestContext, RequestId, Size,
    accept::{self, Media},
    body,
    caching::{CachePolicy, no_store},
    query_string, report, response,
    routes::Api,
    socket::{self, Upgrade},
};
use crate::execution::{CostCheck, ErrorCode, Failure, GraphqlRequest, GraphqlResponse, Prepared};

/// The maximum cost of a query that counts as small, in units: the page of a shop, with everything
/// on it.
const MAX_SMALL_COST: u64 = 2_500;

/// `POST /graphql`.
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let Some(media) = accept::negotiate(&headers) else {
        return not_acceptable();
    };
    if !accept::is_json(&headers) {
        let message = "The body must be application/json in UTF-8.";
        return response::protocol(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    match body::read(&headers, body).await {
        Ok(request) => {
            let response = execute(&api, &id, &headers, media, request, Allowed::All).await;
            no_store(response)
        }
        Err(error) => response::protocol(error.status, &error.message),
    }
}

/// `GET /graphql`: a WebSocket, the playground, or a query.
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response<Body> {
    if socket::is_upgrade(&headers) {
        return socket::open(&api, &id, &headers, upgrade);
    }
    let request = match query_string::read(query.as_deref().unwrap_or_default()) {
        Ok(Some(request)) => request,
        Ok(None) if api.playground && accept::wants_html(&headers) => return playground(),
        Ok(None) => return response::protocol(StatusCode::BAD_REQUEST, "There is no query."),
        Err(message) => return response::protocol(StatusCode::BAD_REQUEST, message),
    };
    let Some(media) = accept::negotiate(&headers) else {
        return not_acceptable();
    };
    no_store(execute(&api, &id, &headers, media, request, Allowed::Queries).await)
}

/// All other methods.
pub(super) async fn other() -> Response<Body> {
    method_not_allowed("Send requests with POST, or queries with GET.", "GET, POST")
}

/// The operation types that a method allows. A GET must not change anything, because it may be
/// repeated, prefetched and linked to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    All,
    Queries,
}

async fn execute(
    api: &Api,
    id: &RequestId,
    headers: &HeaderMap,
    media: Media,
    mut request: GraphqlRequest,
    allowed: Allowed,
) -> Response<Body> {
    let began = Instant::now();
    let report = |codes: &[ErrorCode]| {
        api.reports.refused(codes.iter().copied(), began.elapsed());
    };
    let context = match (api.authenticate)(headers) {
        Ok(context) => context,
        Err(failure) => {
            report(&[failure.code()]);
            return refused(media, &failure, id);
        }
    };
    id.as_str().clone_into(&mut request.request_id);
    request.hide_schema = context.hide_schema;
    let registration = match api.persisted_queries.resolve(&mut request).await {
        Ok(registration) => registration,
        Err(failure) => {
            report(&[failure.code()]);
            crate::execution::log_internal(&failure, "", id.as_str());
            let answer = GraphqlResponse::failed(&failure, id.as_str());
            return invalid(media, &context, answer);
        }
    };
    let prepared = match api.engine.prepare(request) {
        Ok(prepared) => prepared,
        Err(errors) => {
            let codes = errors.iter().map(|error| error.extensions.code);
            report(&codes.collect::<Vec<_>>());
            return invalid(media, &context, GraphqlResponse::refused(errors));
        }
    };
    if let Some(registration) = registration {
        api.persisted_queries.register(registration);
    }
    if allowed == Allowed::Queries && !prepared.kind().is_query() {
        return method_not_allowed("Mutations must be sent with POST.", "POST");
    }
    match run(api, prepared, context).await {
        Ok(answer) if allowed == Allowed::Queries => cached(api, headers, media, answer),
        Ok(answer) => response::graphql(media, &answer),
        Err(failure) => refused(media, &failure, id),
    }
}

/// Returns the response to a request whose document is invalid or not known, unless its caller has
/// sent too many.
fn invalid(media: Media, context: &RequestContext, mut answer: GraphqlResponse) -> Response<Body> {
    let check = (context.invalid_check)();
    if let Err(failure) = check.outcome {
        answer = GraphqlResponse::failed(&failure, "");
    }
    answer.rate = check.rate;
    response::graphql(media, &answer)
}

/// Returns the response to a GET, with the headers for caches.
fn cached(
    api: &Api,
    headers: &HeaderMap,
    media: Media,
    mut answer: GraphqlResponse,
) -> Response<Body> {
    let policy = CachePolicy::of(headers, api.cache_max_age);
    policy.adapt(&mut answer);
    policy.apply(headers, &answer, response::graphql(media, &answer))
}

/// Executes a request in its own task: see [`super::RequestLimiter`]. One that costs too much is
/// refused at once and takes no place in it.
pub(super) async fn run(
    api: &Api,
    prepared: Prepared,
    context: RequestContext,
) -> Result<GraphqlResponse, Failure> {
    let (began, work) = (Instant::now(), context.work.clone());
    let (prepared, shows_work) = (Arc::new(prepared), context.shows_work);
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
    let (refused, cost) = (cost_check.outcome.is_err(), cost_check.cost);
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
    let size = if is_query && cost > MAX_SMALL_COST {
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

fn method_not_allowed(message: &str, allowed: &'static str) -> Response<Body> {
    let mut response = response::protocol(StatusCode::METHOD_NOT_ALLOWED, message);
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

fn playground() -> Response<Body> {
    Html(include_str!("graphiql.html")).into_response()
}
