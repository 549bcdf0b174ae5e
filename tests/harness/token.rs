//! Tokens of the real binary, signed as `vitrine token` does.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

/// The secret that services of tests are started with.
pub const TOKEN_SECRET: &str = "0123456789abcdef0123456789abcdef";
/// 2100-01-01, in seconds.
const NEVER: u32 = 4_102_444_800;

/// Returns a token of a caller with this role, signed with [`TOKEN_SECRET`].
#[must_use]
pub fn token(subject: &str, role: &str) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(json!({ "alg": "HS256", "typ": "JWT" }));
    let claims = part(json!({ "sub": subject, "roles": [role], "iat": 0, "exp": NEVER }));
    let signed = format!("{header}.{claims}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, TOKEN_SECRET.as_bytes());
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
