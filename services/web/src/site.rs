//! The routes of the pages, around those of the API.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};

use crate::asking::Asker;
use crate::identities::{self, Identity};
use crate::login::Login;
use crate::pages::{self, Written};
use crate::{assets, document, pictures};

/// What browsers may do on a page of the storefront or the console: load from this host only. Pictures of products
/// may be on hosts of the shop.
const STORE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                            img-src 'self' https:; form-action 'self'; base-uri 'none'; \
                            frame-ancestors 'none'; connect-src 'self'";
/// The images in it.
const IMAGES: &str = "img-src 'self' https:";
/// GraphiQL's editor writes style sheets and has pictures in its own.
const GRAPHIQL_POLICY: &str = "default-src 'none'; script-src 'self'; \
                               style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                               connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The pages of the console. Its scripts draw them all in the same frame.
const CONSOLE_PAGES: [&str; 15] = [
    "/console",
    "/console/moderation",
    "/console/reviews/{id}",
    "/console/fairness",
    "/console/imports",
    "/console/imports/{id}",
    "/console/products",
    "/console/products/{id}",
    "/console/specs",
    "/console/specs/{key}",
    "/console/categories",
    "/console/suppliers",
    "/console/suppliers/{id}",
    "/console/units",
    "/console/operations",
];

/// Which pages there are.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Whether there is a storefront.
    pub storefront: bool,
    /// Whether there is a console for the people of the shop.
    pub console: bool,
    /// Whether there is a page for trying out queries.
    pub graphiql: bool,
    /// The public origin of the shop, such as `https://shop.example`. With it, canonical addresses
    /// and structured data are absolute.
    pub origin: Option<String>,
    /// The address that those of uploaded pictures begin with; `None` if the service takes none.
    pub pictures: Option<String>,
    /// As whom visitors may act. For development only.
    pub identities: Vec<Identity>,
    /// How visitors sign in at an identity provider.
    pub login: Option<Login>,
}

impl Site {
    /// What browsers may do on a page of the storefront or the console: as above, show uploaded pictures, and send codes
    /// and refresh tokens to the identity provider, if there is one.
    fn policy(&self) -> String {
        let mut policy = STORE_POLICY.to_owned();
        // Only pictures of hosts without encryption need a line of their own.
        let pictures = self.pictures.as_deref();
        if let Some(origin) = pictures
            .and_then(origin_of)
            .filter(|one| one.starts_with("http:"))
        {
            policy = policy.replace(IMAGES, &format!("{IMAGES} {origin}"));
        }
        if let Some(origin) = self.login.as_ref().and_then(Login::origin) {
            policy = format!("{policy} {origin}");
        }
        policy
    }
}

/// Returns scheme, host and port of an address.
fn origin_of(address: &str) -> Option<&str> {
    let host = address.find("://")? + 3;
    let end = address[host..].find('/');
    Some(&address[..end.map_or(address.len(), |end| host + end)])
}

/// What all pages share.
pub(crate) struct Shared {
    pub(crate) site: Site,
    pub(crate) api: Router,
}

/// Returns the routes of the API with those of the pages.
pub fn around(api: Router, site: Site) -> Router {
    if !site.storefront && !site.console && !site.graphiql {
        return api;
    }
    let shared = Arc::new(Shared {
        site,
        api: api.clone(),
    });
    let mut pages = Router::new().route("/assets/{version}/{*path}", get(assets::serve));
    if shared.site.graphiql {
        pages = pages.route("/graphiql", get(graphiql));
    }
    if shared.site.storefront {
        pages = pages
            .route("/", get(home))
            .route("/c/{slug}", get(list))
            .route("/search", get(list))
            .route("/p/{slug}", get(product))
            .route("/compare", get(compare))
            .route("/pictures/{kind}/{category}", get(pictures::serve));
    }
    if shared.site.console {
        for path in CONSOLE_PAGES {
            pages = pages.route(path, get(console));
        }
    }
    if shared.site.storefront || shared.site.console {
        pages = pages.route("/favicon.ico", get(pictures::icon));
        if !shared.site.identities.is_empty() {
            pages = pages.route("/act-as", post(identities::act_as));
        }
        if shared.site.login.is_some() {
            pages = pages.route("/signed-in", get(signed_in));
        }
    }
    pages
        .with_state(shared)
        .layer(middleware::from_fn(secure))
        .fallback_service(api)
}

/// Adds to the responses of pages what browsers may not do with them.
async fn secure(request: Request, next: Next) -> Response<Body> {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), geolocation=(), microphone=(), payment=()",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn home(State(shared): State<Arc<Shared>>, request: Parts) -> Response<Body> {
    let asker = Asker::new(&shared.api, &request);
    page(&shared, &request, pages::home(&shared.site, &asker).await)
}

/// A category, or without a slug, a search.
async fn list(
    State(shared): State<Arc<Shared>>,
    slug: Option<Path<String>>,
    request: Parts,
) -> Response<Body> {
    let asker = Asker::new(&shared.api, &request);
    let slug = slug.map(|Path(slug)| slug);
    let written = pages::list(&shared.site, &asker, slug, request.uri.query()).await;
    page(&shared, &request, written)
}

async fn product(
    State(shared): State<Arc<Shared>>,
    Path(slug): Path<String>,
    request: Parts,
) -> Response<Body> {
    let asker = Asker::new(&shared.api, &request);
    let written = pages::product(&shared.site, &asker, &slug, request.uri.query()).await;
    page(&shared, &request, written)
}

async fn compare(State(shared): State<Arc<Shared>>, request: Parts) -> Response<Body> {
    let asker = Asker::new(&shared.api, &request);
    let written = pages::compare(&shared.site, &asker, request.uri.query()).await;
    page(&shared, &request, written)
}

/// A page of the console. It shows nothing before its scripts have asked with the token of the tab.
async fn console(State(shared): State<Arc<Shared>>, request: Parts) -> Response<Body> {
    let html = document::console(&shared.site);
    html_response(StatusCode::OK, html, &shared.site.policy(), &request)
}

/// Where the identity provider sends visitors back to.
async fn signed_in(State(shared): State<Arc<Shared>>, request: Parts) -> Response<Body> {
    let html = document::signed_in(&shared.site);
    html_response(StatusCode::OK, html, &shared.site.policy(), &request)
}

async fn graphiql(request: Parts) -> Response<Body> {
    let html = document::graphiql();
    html_response(StatusCode::OK, html, GRAPHIQL_POLICY, &request)
}

/// Answers with a page, or with its address.
fn page(shared: &Shared, request: &Parts, written: Written) -> Response<Body> {
    let (status, document) = match written {
        Written::Page(status, document) => (status, document),
        Written::Elsewhere(address) => return Redirect::permanent(&address).into_response(),
    };
    let retry_after = document.asked.iter().find_map(|asked| asked.retry_after);
    let html = document.write(&shared.site);
    let mut response = html_response(status, html, &shared.site.policy(), request);
    if let Some(seconds) = retry_after {
        let seconds = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// Answers with HTML. It is never stored by shared caches: it may be that of a token, and prices and
/// ratings change.
fn html_response(
    status: StatusCode,
    html: String,
    policy: &str,
    request: &Parts,
) -> Response<Body> {
    let mut response = assets::compressed(html.into_bytes(), &request.headers);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_str(policy).expect("policies are of printable ASCII");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}
