//! An identity provider for browsers: it lets everybody in at once, and is as strict as providers are
//! about everything else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use vitrine_harness::App;

use crate::tokens::identity_provider::{SigningKey, key_set};

const CLIENT: &str = "vitrine-pages";
const AUDIENCE: &str = "https://shop.example";
const SCOPE: &str = "openid offline_access";
/// What tokens are for, as the pages are to say in every request for some.
const RESOURCE: &str = "urn:vitrine:shop";

type Parameters = BTreeMap<String, String>;

/// A running provider, until it is dropped.
pub(super) struct Provider {
    origin: String,
    desk: Arc<Mutex<Desk>>,
    _tasks: JoinSet<std::io::Result<()>>,
}

/// What the provider does and has done.
pub(super) struct Desk {
    origin: String,
    key: SigningKey,
    now: i64,
    /// The origin of the shop, to whose pages visitors may be sent back.
    pub(super) shop: String,
    pub(super) subject: &'static str,
    pub(super) role: &'static str,
    /// For whom access tokens are.
    pub(super) audience: &'static str,
    /// After how many seconds scripts believe that a token expires.
    pub(super) expires_in: u64,
    /// What is added to every answer of the authorization endpoint.
    pub(super) iss: Option<String>,
    /// The error that visitors are sent back with.
    pub(super) error: Option<(&'static str, &'static str)>,
    pub(super) refuses_refresh: bool,
    /// Whether the next requests with refresh tokens are not accepted for now.
    pub(super) busy: VecDeque<bool>,
    /// The nonce in ID tokens, if not the right one.
    pub(super) nonce: Option<&'static str>,
    /// Whether only the provider itself can read access tokens.
    pub(super) is_opaque: bool,
    /// Whether its documents cannot be read.
    pub(super) is_away: bool,
    /// The issuer in its document, if not the right one.
    pub(super) issuer: Option<String>,
    /// The requests of visitors whose code was not used.
    codes: BTreeMap<String, Parameters>,
    /// The refresh token that is valid: of each visitor the last one.
    refresh: String,
    issued: u32,
    /// How often a refresh token was accepted.
    pub(super) refreshed: u32,
    /// What was refused, and why.
    pub(super) refused: Vec<String>,
    /// The parameters with which sessions were ended.
    pub(super) ended: Vec<Parameters>,
    /// Where visitors were sent back to, last.
    pub(super) sent_back: String,
}

impl Provider {
    pub(super) async fn start(app: &App) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let desk = Arc::new(Mutex::new(Desk {
            origin: origin.clone(),
            key: SigningKey::p256("2026"),
            now: app.store.ping().await.unwrap().as_millis() / 1000,
            shop: String::new(),
            subject: "ada",
            role: "shopper",
            audience: AUDIENCE,
            expires_in: 3600,
            iss: None,
            error: None,
            refuses_refresh: false,
            busy: VecDeque::new(),
            nonce: None,
            is_opaque: false,
            is_away: false,
            issuer: None,
            codes: BTreeMap::new(),
            refresh: String::new(),
            issued: 0,
            refreshed: 0,
            refused: Vec::new(),
            ended: Vec::new(),
            sent_back: String::new(),
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token).options(preflight))
            .route("/logout", get(end_session))
            .with_state(Arc::clone(&desk));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, router).await });
        Self {
            origin,
            desk,
            _tasks: tasks,
        }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The settings of a service whose visitors sign in here.
    pub(super) fn settings(&self) -> Vec<String> {
        let keys = format!("{}/keys", self.origin);
        [
            ["--token-keys", &keys],
            ["--token-issuer", &self.origin],
            ["--token-audience", AUDIENCE],
            ["--login-client-id", CLIENT],
            ["--login-scope", SCOPE],
            ["--login-resource", RESOURCE],
        ]
        .concat()
        .into_iter()
        .map(ToOwned::to_owned)
        .collect()
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap()
    }
}

impl Desk {
    /// An access token, which is valid for an hour.
    pub(super) fn access_token(&mut self) -> String {
        self.issued += 1;
        if self.is_opaque {
            return format!("opaque-{}", self.issued);
        }
        self.key.token(&json!({
            "iss": self.origin, "aud": self.audience, "sub": self.subject, "roles": [self.role],
            "exp": self.now + 3600, "jti": self.issued,
        }))
    }

    fn tokens(&mut self, id_token: Option<String>) -> Value {
        self.refresh = format!("refresh-{}", self.issued + 1);
        let mut tokens = json!({
            "access_token": self.access_token(), "token_type": "Bearer", "scope": SCOPE,
            "expires_in": self.expires_in, "refresh_token": self.refresh,
        });
        if let Some(id_token) = id_token {
            tokens["id_token"] = json!(id_token);
        }
        tokens
    }

    fn id_token(&self, nonce: &str) -> String {
        self.key.token(&json!({
            "iss": self.origin, "aud": CLIENT, "sub": self.subject, "exp": self.now + 3600,
            "nonce": self.nonce.unwrap_or(nonce), "name": "Ada Löwe",
        }))
    }

    /// Answers a request of a script for tokens.
    fn grant(&mut self, sent: &Parameters) -> Result<Value, &'static str> {
        if sent.get("client_id").map(String::as_str) != Some(CLIENT) {
            return Err("invalid_client");
        }
        match sent.get("grant_type").map(String::as_str) {
            Some("authorization_code") => {
                let asked = sent.get("code").and_then(|code| self.codes.remove(code));
                let asked = asked.ok_or("invalid_grant")?;
                let verifier = sent.get("code_verifier").ok_or("invalid_request")?;
                let hash = digest::digest(&digest::SHA256, verifier.as_bytes());
                let is_same = asked["code_challenge"] == BASE64.encode(hash)
                    && (43..=128).contains(&verifier.len())
                    && sent.get("redirect_uri") == asked.get("redirect_uri");
                if !is_same {
                    return Err("invalid_grant");
                }
                let id_token = self.id_token(&asked["nonce"]);
                Ok(self.tokens(Some(id_token)))
            }
            Some("refresh_token") => {
                if self.refuses_refresh || sent.get("refresh_token") != Some(&self.refresh) {
                    return Err("invalid_grant");
                }
                self.refreshed += 1;
                Ok(self.tokens(None))
            }
            _ => Err("unsupported_grant_type"),
        }
    }
}

type Shared = State<Arc<Mutex<Desk>>>;

async fn discovery(State(desk): Shared) -> Response {
    let desk = desk.lock().unwrap();
    if desk.is_away {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let origin = &desk.origin;
    let document = json!({
        "issuer": desk.issuer.as_ref().unwrap_or(origin),
        "authorization_endpoint": format!("{origin}/authorize?realm=shop"),
        "token_endpoint": format!("{origin}/token"),
        "end_session_endpoint": format!("{origin}/logout"),
        "jwks_uri": format!("{origin}/keys"),
        "code_challenge_methods_supported": ["S256"],
    });
    axum::Json(document).into_response()
}

async fn keys(State(desk): Shared) -> String {
    key_set(&[&desk.lock().unwrap().key])
}

/// Sends the visitor back at once: with a code, or with an error.
async fn authorize(State(desk): Shared, uri: Uri) -> Response {
    let mut desk = desk.lock().unwrap();
    let sent = parameters(uri.query().unwrap_or_default());
    let redirect = format!("{}/signed-in", desk.shop);
    for (name, expected) in [
        ("realm", "shop"),
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("scope", SCOPE),
        ("audience", AUDIENCE),
        ("resource", RESOURCE),
        ("prompt", "consent"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", &redirect),
    ] {
        if sent.get(name).map(String::as_str) != Some(expected) {
            desk.refused.push(format!("{name} is {:?}", sent.get(name)));
            return StatusCode::BAD_REQUEST.into_response();
        }
    }
    let code = format!("code-{}", desk.codes.len() + 1000 * desk.issued as usize);
    let answer = match desk.error {
        Some((error, text)) => {
            format!("error={error}&error_description={}", encoded(text))
        }
        None => format!("code={code}"),
    };
    let iss = desk
        .iss
        .as_deref()
        .map(|iss| format!("&iss={}", encoded(iss)));
    let state = encoded(&sent["state"]);
    let back = format!(
        "{redirect}?{answer}&state={state}{}",
        iss.unwrap_or_default()
    );
    desk.codes.insert(code, sent);
    desk.sent_back.clone_from(&back);
    (StatusCode::FOUND, [(header::LOCATION, back)]).into_response()
}

async fn token(State(desk): Shared, headers: HeaderMap, body: String) -> Response {
    let mut desk = desk.lock().unwrap();
    if body.contains("grant_type=refresh_token") && desk.busy.pop_front() == Some(true) {
        desk.refused.push("busy".to_owned());
        return (StatusCode::SERVICE_UNAVAILABLE, allowed(&desk)).into_response();
    }
    let origin = headers.get(header::ORIGIN).cloned();
    let is_shop = origin.is_some_and(|origin| origin == desk.shop.as_str());
    let is_form = headers[header::CONTENT_TYPE]
        .to_str()
        .is_ok_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    let sent = parameters(&body);
    let names_resource = sent.get("resource").map(String::as_str) == Some(RESOURCE);
    let granted = if is_shop && is_form && names_resource && !headers.contains_key(header::COOKIE) {
        desk.grant(&sent)
    } else {
        Err("invalid_request")
    };
    let cors = allowed(&desk);
    match granted {
        Ok(tokens) => (cors, axum::Json(tokens)).into_response(),
        Err(error) => {
            desk.refused.push(error.to_owned());
            let answer = json!({ "error": error, "error_description": "No." });
            (StatusCode::BAD_REQUEST, cors, axum::Json(answer)).into_response()
        }
    }
}

async fn preflight(State(desk): Shared) -> Response {
    (StatusCode::NO_CONTENT, allowed(&desk.lock().unwrap())).into_response()
}

fn allowed(desk: &Desk) -> [(header::HeaderName, String); 2] {
    [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, desk.shop.clone()),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "content-type".to_owned(),
        ),
    ]
}

async fn end_session(State(desk): Shared, uri: Uri) -> Response {
    let mut desk = desk.lock().unwrap();
    let sent = parameters(uri.query().unwrap_or_default());
    let back = sent["post_logout_redirect_uri"].clone();
    desk.ended.push(sent);
    (StatusCode::FOUND, [(header::LOCATION, back)]).into_response()
}

/// Reads the parameters of an address or a form.
fn parameters(text: &str) -> Parameters {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

fn encoded(text: &str) -> String {
    let parts = text.bytes().map(|byte| format!("%{byte:02X}"));
    parts.collect::<Vec<_>>().concat()
}
