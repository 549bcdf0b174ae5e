//! Tokens: JSON Web Tokens signed with a shared secret (HS256). `sub` identifies the caller,
//! `roles` lists the caller's permissions.

use anyhow::Context as _;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use vitrine_api::execution::{ErrorCode, Failure};
use vitrine_api::graphql::{Role, Viewer};
use vitrine_domain::reviewing::is_subject;
use vitrine_model::clock::Timestamp;

mod crypto;

#[derive(Deserialize, Serialize)]
struct Claims {
    sub: String,
    roles: Vec<String>,
    exp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    iat: i64,
}

/// The allowed difference between the clocks of token issuers and the database's, in seconds.
const LEEWAY_SECONDS: i64 = 5;

impl Claims {
    /// Returns true if the token is valid at this instant.
    fn are_valid_at(&self, now: Timestamp) -> bool {
        let now = now.as_millis() / 1000;
        let started = self.nbf.is_none_or(|begin| begin <= now + LEEWAY_SECONDS);
        started && now < self.exp.saturating_add(LEEWAY_SECONDS)
    }
}

/// Issues and verifies tokens.
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
    /// Returns a codec for tokens signed with this secret.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        crypto::install();
        Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
        }
    }

    /// Issues a token for a subject with these roles, valid for `hours` hours.
    ///
    /// # Errors
    /// If the subject is invalid or a role is unknown.
    pub fn issue(
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
        let iat = now.as_millis() / 1000;
        let exp = iat + i64::from(hours) * 3600;
        let claims = Claims {
            sub: subject.to_owned(),
            roles: roles.to_vec(),
            exp,
            nbf: None,
            iat,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding)
            .context("signing the token")
    }

    /// Verifies a token and returns its subject and roles; an anonymous viewer without a token. A
    /// token is valid from its `nbf`, if it has one, until its `exp`, with a tolerance of five
    /// seconds at both ends.
    ///
    /// # Errors
    /// [`ErrorCode::Unauthenticated`] if the token is forged, malformed, expired or not valid yet.
    pub fn viewer(&self, token: Option<&str>, now: Timestamp) -> Result<Viewer, Failure> {
        let Some(token) = token else {
            return Ok(Viewer::default());
        };
        let mut validation = Validation::new(Algorithm::HS256);
        // The library would use the machine's clock, which may be wrong.
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        let decoded = jsonwebtoken::decode::<Claims>(token, &self.decoding, &validation);
        let claims = decoded.map_err(|_| invalid_token())?.claims;
        if !is_subject(&claims.sub) || !claims.are_valid_at(now) {
            return Err(invalid_token());
        }
        // Unknown roles, such as those of a newer release, are ignored.
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

fn invalid_token() -> Failure {
    Failure::new(
        ErrorCode::Unauthenticated,
        "The token is not valid or has expired.",
    )
}

#[cfg(test)]
mod tests {
    use vitrine_model::clock::{Clock as _, ManualClock};

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn tokens() -> Tokens {
        Tokens::new(b"0123456789abcdef0123456789abcdef")
    }

    fn clock() -> ManualClock {
        ManualClock::at(Timestamp::parse("2026-05-31T12:00:00Z").unwrap())
    }

    #[test]
    fn tokens_identify_their_subject_and_roles() {
        let (tokens, now) = (tokens(), clock().now());
        let token = tokens.issue("ada", &["admin".to_owned()], now, 1).unwrap();
        let viewer = tokens.viewer(Some(&token), now).unwrap();
        assert_eq!(
            (viewer.subject.as_deref(), viewer.has(Role::Admin)),
            (Some("ada"), true)
        );
        assert_eq!(tokens.viewer(None, now).unwrap(), Viewer::default());
        assert!(tokens.issue("ada", &["root".to_owned()], now, 1).is_err());
        for subject in ["", " ada", "a\nb", &"x".repeat(201)] {
            let made = tokens.issue(subject, &[], now, 1);
            assert!(made.is_err(), "{subject:?}");
        }
    }

    #[test]
    fn forged_and_malformed_tokens_are_refused() {
        let (tokens, now) = (tokens(), clock().now());
        let other = Tokens::new(b"another secret of thirty-two bytes");
        let forged = other.issue("ada", &[], now, 1).unwrap();
        for token in [forged.as_str(), "", "a.b.c"] {
            let refused = tokens.viewer(Some(token), now).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::Unauthenticated);
        }
    }

    #[test]
    fn tokens_expire_by_the_given_clock() {
        let (tokens, clock) = (tokens(), clock());
        let token = tokens.issue("ada", &[], clock.now(), 1).unwrap();
        let is_valid = || tokens.viewer(Some(&token), clock.now()).is_ok();
        assert!(is_valid());
        clock.advance(HOUR + 4_000);
        assert!(is_valid(), "clocks may differ by a few seconds");
        clock.advance(1_000);
        assert!(!is_valid());
        clock.advance(HOUR);
        assert!(!is_valid());
    }

    #[test]
    fn tokens_are_invalid_before_their_nbf() {
        let (tokens, clock) = (tokens(), clock());
        let begin = clock.now().plus_millis(HOUR).as_millis() / 1000;
        let claims = Claims {
            sub: "ada".to_owned(),
            roles: Vec::new(),
            exp: begin + 60,
            nbf: Some(begin),
            iat: begin,
        };
        let header = Header::new(Algorithm::HS256);
        let token = jsonwebtoken::encode(&header, &claims, &tokens.encoding).unwrap();
        let is_valid = || tokens.viewer(Some(&token), clock.now()).is_ok();
        assert!(!is_valid());
        clock.advance(HOUR - 5_000);
        assert!(is_valid());
    }
}
