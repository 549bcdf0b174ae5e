//! Tokens: JSON Web Tokens signed with a shared secret (HS256), or with the keys of an identity
//! provider (RS256, ES256, Ed25519).

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use vitrine_api::execution::{ErrorCode, Failure};
use vitrine_api::graphql::{Role, Viewer};
use vitrine_domain::LineLimiter;
use vitrine_domain::reviewing::is_subject;
use vitrine_model::clock::Timestamp;

mod address;
mod claims;
mod crypto;
mod discovery;
mod key_set;
mod key_source;
#[cfg(test)]
mod tests;

pub(crate) use address::tls as tls_client;
pub(crate) use claims::ClaimRules;
use claims::Claims;
pub(crate) use discovery::{DiscoveryKeeper, discovery_address};
pub(crate) use key_source::{KeyKeeper, KeyPlace, KeySource};

/// How long a token may be, in bytes.
const MAX_TOKEN_BYTES: usize = 16_384;
/// The types of tokens that say who a caller is (RFC 9068). Others, such as logout tokens, may be
/// signed with the same keys.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// Issues and verifies tokens.
#[derive(Clone)]
pub(crate) struct Tokens(Arc<Codec>);

struct Codec {
    rules: ClaimRules,
    /// Signs new tokens.
    encoding: Option<EncodingKey>,
    /// The secrets of accepted tokens.
    secrets: Vec<DecodingKey>,
    keys: Option<KeySource>,
}

/// Who sent a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    /// The caller.
    pub(crate) viewer: Viewer,
    /// For how long its token is still valid; `None` without a token.
    pub(crate) valid_for: Option<Duration>,
}

/// Why a token is refused. The client does not see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("it is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    #[error("it is no JSON Web Token")]
    Opaque,
    #[error("it is malformed, or names no algorithm that is known")]
    Malformed,
    #[error("its header requires an extension: `crit`, or `b64` other than true")]
    Extension,
    #[error("it is of another type, or contains another token")]
    Type,
    #[error("its header names no key: `kid` is missing")]
    NoKeyId,
    #[error("no key has its `kid` {0}")]
    UnknownKey(String),
    #[error("its key does not verify its algorithm")]
    Algorithm,
    #[error("its signature is wrong")]
    Signature,
    #[error("its claim `{0}` is no number")]
    Date(&'static str),
    #[error("it has no `exp`")]
    NoExpiry,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYetValid,
    #[error("it has another issuer")]
    Issuer,
    #[error("it is for another audience")]
    Audience,
    #[error("the claim of its subject is missing, or is no subject")]
    Subject,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// Returns a codec that accepts tokens signed with any of these secrets, and with the keys of
    /// an identity provider. New tokens are signed with the first secret.
    pub(crate) fn new(rules: ClaimRules, secrets: &[&[u8]], keys: Option<KeySource>) -> Self {
        crypto::install();
        Self(Arc::new(Codec {
            rules,
            encoding: secrets.first().map(|one| EncodingKey::from_secret(one)),
            secrets: secrets
                .iter()
                .map(|one| DecodingKey::from_secret(one))
                .collect(),
            keys,
        }))
    }

    /// Issues a token for a subject with these roles, valid for `hours` hours.
    ///
    /// # Errors
    /// If the subject is invalid, a role is unknown, or there is no secret.
    pub(crate) fn issue(
        &self,
        subject: &str,
        roles: &[String],
        now: Timestamp,
        hours: u32,
    ) -> anyhow::Result<String> {
        anyhow::ensure!(
            is_subject(subject),
            "a subject has 1 to 200 bytes, no control characters, and does not start with a blank"
        );
        for role in roles {
            Role::named(role).with_context(|| {
                format!("there is no role {role:?}; use shopper, moderator, admin or service")
            })?;
        }
        let encoding = self.0.encoding.as_ref();
        let encoding = encoding.context("there is no secret to sign tokens with")?;
        let issued = now.as_millis() / 1000;
        let exp = issued + i64::from(hours) * 3600;
        let claims = self.0.rules.claims(subject, roles, issued, exp);
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, encoding)
            .context("signing the token")
    }

    /// Verifies a token and returns who it is of; an anonymous viewer without a token.
    ///
    /// # Errors
    /// [`ErrorCode::Unauthenticated`] if the token is forged, malformed, expired, not valid yet,
    /// or not for this service.
    pub(crate) fn identity(
        &self,
        token: Option<&str>,
        now: Timestamp,
    ) -> Result<Identity, Failure> {
        let Some(token) = token else {
            return Ok(Identity::default());
        };
        self.0.identity(token, now).map_err(|refusal| {
            tracing::debug!("a token is refused: {refusal}");
            if refusal == Refusal::Opaque && self.0.keys.is_some() {
                warn_of_opaque_tokens();
            }
            invalid_token()
        })
    }
}

impl Codec {
    fn identity(&self, token: &str, now: Timestamp) -> Result<Identity, Refusal> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Refusal::TooLong);
        }
        if token.split('.').count() != 3 {
            return Err(Refusal::Opaque);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refusal::Malformed)?;
        check_header(&header)?;
        let (message, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
        self.verify(&header, message, signature)?;
        let (_, claims) = message.rsplit_once('.').ok_or(Refusal::Malformed)?;
        let claims = BASE64.decode(claims).map_err(|_| Refusal::Malformed)?;
        let claims: Claims = serde_json::from_slice(&claims).map_err(|_| Refusal::Malformed)?;
        self.rules.identity(&claims, now)
    }

    /// Verifies the signature. The key decides which algorithm is used: what the header names only
    /// has to be the same.
    fn verify(&self, header: &Header, message: &str, signature: &str) -> Result<(), Refusal> {
        let verify = |key: &DecodingKey, algorithm| {
            let verified =
                jsonwebtoken::crypto::verify(signature, message.as_bytes(), key, algorithm);
            matches!(verified, Ok(true))
        };
        if header.alg == Algorithm::HS256 {
            let mut secrets = self.secrets.iter();
            let verified = secrets.any(|secret| verify(secret, Algorithm::HS256));
            return verified.then_some(()).ok_or(Refusal::Signature);
        }
        let source = self.keys.as_ref().ok_or(Refusal::Algorithm)?;
        let id = header.kid.as_deref().ok_or(Refusal::NoKeyId)?;
        let keys = source.keys();
        let Some(key) = keys.get(id) else {
            source.miss();
            return Err(Refusal::UnknownKey(key_set::shown(id)));
        };
        if key.algorithm != header.alg {
            return Err(Refusal::Algorithm);
        }
        let verified = verify(&key.decoding, key.algorithm);
        verified.then_some(()).ok_or(Refusal::Signature)
    }
}

/// Refuses what RFC 7515, 7797 and 8725 tell to refuse. `jku`, `jwk`, `x5u` and `x5c` are ignored:
/// only the settings say which keys are trusted.
fn check_header(header: &Header) -> Result<(), Refusal> {
    let unencoded = header.extras.inner().get("b64");
    if header.crit.is_some() || unencoded.is_some_and(|b64| *b64 != true) {
        return Err(Refusal::Extension);
    }
    let is_type = |text: &str| {
        let text = text.to_ascii_lowercase();
        TYPES.contains(&text.strip_prefix("application/").unwrap_or(&text))
    };
    let other = header.typ.as_deref().is_some_and(|typ| !is_type(typ));
    let nested = header.cty.as_deref().is_some_and(is_type);
    if other || nested || header.enc.is_some() || header.zip.is_some() {
        return Err(Refusal::Type);
    }
    Ok(())
}

/// Says that a caller has a token that only its issuer can read, as identity providers give them to clients that ask for
/// no audience.
fn warn_of_opaque_tokens() {
    static OPAQUE: LineLimiter = LineLimiter::new();
    if let Some(left_out) = OPAQUE.permit() {
        tracing::warn!(
            left_out,
            "a token is opaque: it is no JSON Web Token; the identity provider has to issue such tokens for this shop"
        );
    }
}

fn invalid_token() -> Failure {
    Failure::new(
        ErrorCode::Unauthenticated,
        "The token is not valid or has expired.",
    )
}
