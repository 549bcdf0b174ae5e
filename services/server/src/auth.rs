//! Tokens: JSON Web Tokens signed with a shared secret (HS256). The subject is who speaks, `roles`
//! is what they may do.

use anyhow::Context as _;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use vitrine_api::execution::{ErrorCode, Failure};
use vitrine_api::graphql::{Role, Viewer};
use vitrine_domain::reviewing::is_subject;
use vitrine_model::clock::Timestamp;

#[derive(Deserialize, Serialize)]
struct Claims {
    sub: String,
    roles: Vec<String>,
    exp: i64,
    iat: i64,
}

/// Makes tokens and tells whom they speak for.
#[derive(Clone)]
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// Tokens signed with this secret.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
        }
    }

    /// A token for a subject with some roles, good for so many hours.
    ///
    /// # Errors
    /// When a role has an unknown name.
    pub fn issue(
        &self,
        subject: &str,
        roles: &[String],
        now: Timestamp,
        hours: u32,
    ) -> anyhow::Result<String> {
        anyhow::ensure!(
            is_subject(subject),
            "a subject has 1 to 200 bytes, no control characters, and does not begin with a blank"
        );
        for role in roles {
            Role::named(role).with_context(|| {
                format!("there is no role {role:?}: shopper, moderator, admin, service")
            })?;
        }
        let iat = now.as_millis() / 1000;
        let exp = iat + i64::from(hours) * 3600;
        let claims = Claims {
            sub: subject.to_owned(),
            roles: roles.to_vec(),
            exp,
            iat,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding)
            .context("signing the token")
    }

    /// Whom a token speaks for; nobody in particular without one.
    ///
    /// # Errors
    /// [`ErrorCode::Unauthenticated`] when the token is forged, damaged or has expired.
    pub fn viewer(&self, token: Option<&str>) -> Result<Viewer, Failure> {
        let Some(token) = token else {
            return Ok(Viewer::default());
        };
        let validation = Validation::new(Algorithm::HS256);
        let decoded = jsonwebtoken::decode::<Claims>(token, &self.decoding, &validation);
        let claims = decoded.map_err(|_| refused())?.claims;
        if !is_subject(&claims.sub) {
            return Err(refused());
        }
        // Roles of a newer release mean nothing here.
        let roles = claims
            .roles
            .iter()
            .filter_map(|role| Role::named(role))
            .collect();
        Ok(Viewer {
            subject: Some(claims.sub),
            roles,
        })
    }
}

fn refused() -> Failure {
    Failure::new(
        ErrorCode::Unauthenticated,
        "The token is not valid or has expired.",
    )
}

#[cfg(test)]
mod tests {
    use vitrine_domain::clock::SystemClock;
    use vitrine_model::clock::Clock as _;

    use super::*;

    #[test]
    fn tokens_speak_for_whom_they_were_made() {
        let tokens = Tokens::new(b"0123456789abcdef0123456789abcdef");
        let token = tokens
            .issue("ada", &["admin".to_owned()], SystemClock.now(), 1)
            .unwrap();
        let viewer = tokens.viewer(Some(&token)).unwrap();
        assert_eq!(
            (viewer.subject.as_deref(), viewer.has(Role::Admin)),
            (Some("ada"), true)
        );
        assert_eq!(tokens.viewer(None).unwrap(), Viewer::default());
        assert!(
            tokens
                .issue("ada", &["root".to_owned()], SystemClock.now(), 1)
                .is_err()
        );
        for subject in ["", " ada", "a\nb", &"x".repeat(201)] {
            let made = tokens.issue(subject, &[], SystemClock.now(), 1);
            assert!(made.is_err(), "{subject:?}");
        }
    }

    #[test]
    fn forged_and_old_tokens_are_refused() {
        let tokens = Tokens::new(b"0123456789abcdef0123456789abcdef");
        let other = Tokens::new(b"another secret of thirty-two bytes");
        let forged = other.issue("ada", &[], SystemClock.now(), 1).unwrap();
        let old = tokens
            .issue("ada", &[], Timestamp::from_millis(0), 1)
            .unwrap();
        for token in [forged.as_str(), old.as_str(), "", "a.b.c"] {
            let refused = tokens.viewer(Some(token)).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::Unauthenticated);
        }
    }
}
