//! Makes a received request ready to run: finds its document, validates it, and charges the caller
//! if that fails. The same for all transports.

use std::{sync::Arc, time::Instant};

use super::{
    RequestContext, persisted_queries::Document, request_context::CheckInvalid, routes::Api,
};
use crate::execution::{Failure, GraphqlRequest, GraphqlResponse, Prepared, log_internal};

/// A request that can run, or the response to one that cannot.
pub(super) type Preparation = Result<Arc<Prepared>, Box<GraphqlResponse>>;

/// Finds the text of a persisted query, and prepares the request.
pub(super) fn prepare<'a>(
    api: &'a Api,
    context: &'a RequestContext,
    mut request: GraphqlRequest,
) -> impl Future<Output = Preparation> + Send + 'a {
    request.hide_schema = context.hide_schema;
    // The context itself cannot be shared between threads.
    let invalid_check = &context.invalid_check;
    async move {
        let began = Instant::now();
        let outcome = try_prepare(api, invalid_check, request).await;
        outcome.map(Arc::new).map_err(|answer| {
            let codes = answer.errors.iter().map(|error| error.extensions.code);
            api.reports.refused(codes, began.elapsed());
            Box::new(answer)
        })
    }
}

async fn try_prepare(
    api: &Api,
    invalid_check: &CheckInvalid,
    mut request: GraphqlRequest,
) -> Result<Prepared, GraphqlResponse> {
    let persisted_queries = &api.persisted_queries;
    let failed = |failure: &Failure, request: &GraphqlRequest| {
        log_internal(failure, "", &request.request_id);
        GraphqlResponse::failed(failure, &request.request_id)
    };
    let registration = match persisted_queries.resolve(&mut request) {
        Ok(Document::Present(registration)) => registration,
        Ok(Document::Stored(hash)) => {
            // Charged before the database is asked: strangers may send any hash.
            let answer = charged(invalid_check, GraphqlResponse::default());
            if !answer.errors.is_empty() {
                return Err(answer);
            }
            let loaded = persisted_queries.load(&hash).await;
            request.query = loaded.map_err(|failure| GraphqlResponse {
                rate: answer.rate,
                ..failed(&failure, &request)
            })?;
            None
        }
        Err(failure) => return Err(charged(invalid_check, failed(&failure, &request))),
    };
    let prepared = api.engine.prepare(request);
    let prepared =
        prepared.map_err(|errors| charged(invalid_check, GraphqlResponse::refused(errors)))?;
    if let Some(registration) = registration {
        persisted_queries.register(registration);
    }
    Ok(prepared)
}

/// Charges the caller for a request whose document is invalid or not known. Replaces the answer if
/// the caller has sent too many.
fn charged(invalid_check: &CheckInvalid, answer: GraphqlResponse) -> GraphqlResponse {
    let check = invalid_check();
    let answer = match check.outcome {
        Ok(()) => answer,
        Err(failure) => GraphqlResponse::failed(&failure, ""),
    };
    GraphqlResponse {
        rate: check.rate,
        ..answer
    }
}
