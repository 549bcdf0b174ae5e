//! Where the pages send visitors to sign in: the discovery document of an identity provider (`OpenID
//! Connect` Discovery 1.0). A task reads it again.

use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vitrine_web::{Endpoints, Login};

use super::address::DocumentAddress;
use super::key_set::shown;
use super::key_source::Schedule;

/// The path of the document, behind that of the issuer.
const PATH: &str = "/.well-known/openid-configuration";
/// The maximum length of an address that browsers are sent to, in bytes.
const MAX_ADDRESS_BYTES: usize = 2_000;

/// Why a document cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum DiscoveryError {
    #[error("it is no discovery document: an object with the addresses of an identity provider")]
    Malformed,
    #[error("it is of another issuer, {0}; VITRINE_TOKEN_ISSUER must be the same to the letter")]
    Issuer(String),
    #[error("its `{0}` is missing")]
    Missing(&'static str),
    #[error("its `{0}` cannot be used: {1}")]
    Address(&'static str, &'static str),
    #[error("its `code_challenge_methods_supported` lack S256, so codes would not be protected")]
    Challenge,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Returns the address of an issuer's document.
///
/// # Errors
/// If the issuer is no address that can be fetched.
pub(crate) fn discovery_address(issuer: &str) -> Result<DocumentAddress, &'static str> {
    if issuer.contains(['?', '#']) {
        return Err("it has a query or a fragment");
    }
    let base = issuer.strip_suffix('/').unwrap_or(issuer);
    DocumentAddress::parse(&format!("{base}{PATH}"))
}

/// Keeps the pages informed about the addresses of the provider, in the background.
pub(crate) struct DiscoveryKeeper {
    address: DocumentAddress,
    issuer: String,
    login: Login,
    is_failing: bool,
}

impl DiscoveryKeeper {
    pub(crate) fn new(address: DocumentAddress, issuer: String, login: Login) -> Self {
        Self {
            address,
            issuer,
            login,
            is_failing: false,
        }
    }

    /// Reads the document until it is stopped. Reports after each attempt whether it failed.
    pub(crate) async fn run(mut self, stop: CancellationToken, report: impl Fn(bool)) {
        let running = async {
            let mut schedule = Schedule::new(Instant::now());
            loop {
                tokio::time::sleep_until(schedule.due).await;
                let fetched = self.address.fetch().await;
                let text = fetched.as_ref().map(|fetched| &*fetched.body);
                let taken = self.take(text.map_err(|error| format!("{error:#}")));
                let lifetime = fetched.ok().filter(|_| taken).map(|one| one.lifetime);
                schedule.tried(Instant::now(), lifetime);
                report(!taken);
            }
        };
        stop.run_until_cancelled(running).await;
    }

    /// Takes what was read, and logs the first of consecutive failures. Returns false for a
    /// failure: the pages keep the addresses that they have.
    fn take(&mut self, read: Result<&[u8], String>) -> bool {
        let parsed = read.and_then(|text| {
            endpoints(text, &self.issuer).map_err(|error: DiscoveryError| error.to_string())
        });
        let taken = parsed.is_ok();
        match parsed {
            Ok(endpoints) => {
                if self.login.set(endpoints) || self.is_failing {
                    tracing::info!("visitors sign in at {}", self.issuer);
                }
            }
            Err(reason) if !self.is_failing => tracing::warn!(
                "the identity provider's addresses cannot be read from {}: {reason}; {}",
                self.address,
                if self.login.is_ready() {
                    "the known ones stay valid"
                } else {
                    "until then visitors sign in with a token only"
                }
            ),
            Err(reason) => {
                tracing::debug!("the identity provider's addresses still cannot be read: {reason}");
            }
        }
        self.is_failing = !taken;
        taken
    }
}

/// Reads and checks a document.
fn endpoints(text: &[u8], issuer: &str) -> Result<Endpoints, DiscoveryError> {
    let document: Document = serde_json::from_slice(text).map_err(|_| DiscoveryError::Malformed)?;
    if document.issuer != issuer {
        return Err(DiscoveryError::Issuer(shown(&document.issuer)));
    }
    let methods = document.code_challenge_methods_supported;
    if methods.is_some_and(|all| !all.iter().any(|one| one == "S256")) {
        return Err(DiscoveryError::Challenge);
    }
    let required = |name, value: Option<String>| {
        let text = value.ok_or(DiscoveryError::Missing(name))?;
        checked(name, text)
    };
    let (authorization, _) = required("authorization_endpoint", document.authorization_endpoint)?;
    let (token, token_origin) = required("token_endpoint", document.token_endpoint)?;
    let end_session = document.end_session_endpoint;
    let end_session = end_session
        .map(|text| checked("end_session_endpoint", text))
        .transpose()?;
    Ok(Endpoints {
        authorization,
        token,
        token_origin,
        end_session: end_session.map(|(text, _)| text),
        names_issuer: document.authorization_response_iss_parameter_supported,
    })
}

/// Returns an address that browsers may be sent to, and its origin.
fn checked(name: &'static str, text: String) -> Result<(String, String), DiscoveryError> {
    let refuse = |reason| DiscoveryError::Address(name, reason);
    if text.len() > MAX_ADDRESS_BYTES || text.contains('#') {
        return Err(refuse("it is too long, or has a fragment"));
    }
    let origin = DocumentAddress::parse(&text).map_err(refuse)?.origin();
    // The origin becomes a part of a policy: nothing in it may end that part.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]/".contains(&byte);
    if !origin.bytes().all(plain) {
        return Err(refuse("its host is no name or number"));
    }
    Ok((text, origin))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://id.example/realms/shop";

    fn read(changes: &Value) -> Result<Endpoints, DiscoveryError> {
        let mut document = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example/authorize?p=1",
            "token_endpoint": "https://Tokens.id.example:8443/token",
        });
        let members = document.as_object_mut().unwrap();
        members.extend(changes.as_object().unwrap().clone());
        members.retain(|_, value| !value.is_null());
        endpoints(document.to_string().as_bytes(), ISSUER)
    }

    #[test]
    fn the_document_is_beside_the_issuer() {
        for (issuer, expected) in [
            ("https://id.example", "https://id.example"),
            ("https://id.example/", "https://id.example"),
            (ISSUER, ISSUER),
            ("http://127.0.0.1:8180/a/", "http://127.0.0.1:8180/a"),
        ] {
            let address = discovery_address(issuer).unwrap().to_string();
            assert_eq!(address, format!("{expected}{PATH}"));
        }
        for issuer in [
            "shop",
            "http://id.example",
            "https://id.example?a",
            "https://id.example#a",
        ] {
            assert!(discovery_address(issuer).is_err(), "{issuer}");
        }
    }

    #[test]
    fn addresses_are_taken_from_a_good_document() {
        let found = read(&json!({})).unwrap();
        assert_eq!(found.authorization, "https://id.example/authorize?p=1");
        assert_eq!(found.token, "https://Tokens.id.example:8443/token");
        assert_eq!(found.token_origin, "https://tokens.id.example:8443");
        assert_eq!((found.end_session, found.names_issuer), (None, false));
        let more = json!({
            "end_session_endpoint": "https://id.example/logout",
            "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        let found = read(&more).unwrap();
        let end = Some("https://id.example/logout".to_owned());
        assert_eq!((found.end_session, found.names_issuer), (end, true));
    }

    #[test]
    fn documents_that_could_mislead_are_refused() {
        for (changes, reason) in [
            (json!({ "issuer": format!("{ISSUER}/") }), "another issuer"),
            (json!({ "issuer": null }), "no discovery document"),
            (
                json!({ "token_endpoint": null }),
                "`token_endpoint` is missing",
            ),
            (
                json!({ "authorization_endpoint": "http://id.example/a" }),
                "`authorization_endpoint` cannot be used: use https://",
            ),
            (
                json!({ "authorization_endpoint": "javascript:alert(1)" }),
                "`authorization_endpoint` cannot be used",
            ),
            (
                json!({ "token_endpoint": "https://id.example;script-src/t" }),
                "no name or number",
            ),
            (
                json!({ "end_session_endpoint": "https://id.example/#a" }),
                "fragment",
            ),
            (
                json!({ "code_challenge_methods_supported": ["plain"] }),
                "lack S256",
            ),
        ] {
            let error = read(&changes).unwrap_err().to_string();
            assert!(error.contains(reason), "{changes}: {error}");
        }
        let malformed = endpoints(b"<html>", ISSUER).unwrap_err();
        assert_eq!(malformed, DiscoveryError::Malformed);
    }

    #[test]
    fn known_addresses_stay_while_the_document_cannot_be_read() {
        let login = Login::new(ISSUER, "web", "openid", None, None);
        let address = discovery_address(ISSUER).unwrap();
        let mut keeper = DiscoveryKeeper::new(address, ISSUER.to_owned(), login.clone());
        assert!(!keeper.take(Err("no answer".to_owned())));
        assert!(!login.is_ready());
        let text = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example/a",
            "token_endpoint": "https://id.example/t",
        });
        assert!(keeper.take(Ok(text.to_string().as_bytes())));
        assert!(login.is_ready() && !keeper.is_failing);
        assert!(!keeper.take(Ok(b"{}")));
        assert!(login.is_ready() && keeper.is_failing);
    }
}
