//! The claims of a token: what the settings require of them, and the caller that they describe.

use std::time::Duration;

use serde_json::{Map, Value, json};
use vitrine_api::graphql::{Role, Viewer};
use vitrine_domain::reviewing::is_subject;
use vitrine_model::clock::Timestamp;

use super::{Identity, Refusal};

pub(super) type Claims = Map<String, Value>;

/// What is required of claims, and where they say who the caller is.
#[derive(Clone, Debug)]
pub(crate) struct ClaimRules {
    /// The required `iss`.
    pub(crate) issuer: Option<String>,
    /// One of these must be in `aud`. Empty: not checked.
    pub(crate) audiences: Vec<String>,
    /// The allowed difference between the clocks of token issuers and the database's, in seconds.
    pub(crate) leeway_seconds: u16,
    /// The claim with the caller's id.
    pub(crate) subject_claim: String,
    /// The claim with the caller's roles.
    pub(crate) roles_claim: String,
    /// What the names of roles begin with. Other roles belong to other services.
    pub(crate) role_prefix: String,
}

impl ClaimRules {
    /// Returns claims that these rules accept.
    pub(super) fn claims(&self, subject: &str, roles: &[String], issued: i64, exp: i64) -> Claims {
        let prefix = &self.role_prefix;
        let roles: Vec<String> = roles.iter().map(|role| format!("{prefix}{role}")).collect();
        let mut claims = Claims::new();
        claims.insert("sub".to_owned(), json!(subject));
        claims.insert(self.subject_claim.clone(), json!(subject));
        claims.insert(self.roles_claim.clone(), json!(roles));
        if let Some(issuer) = &self.issuer {
            claims.insert("iss".to_owned(), json!(issuer));
        }
        if let Some(audience) = self.audiences.first() {
            claims.insert("aud".to_owned(), json!(audience));
        }
        claims.insert("exp".to_owned(), json!(exp));
        claims.insert("iat".to_owned(), json!(issued));
        claims
    }

    /// Checks the claims of a token whose signature is verified, and returns the caller.
    pub(super) fn identity(&self, claims: &Claims, now: Timestamp) -> Result<Identity, Refusal> {
        let valid_for = self.check_times(claims, now.as_millis())?;
        self.check_origin(claims)?;
        let subject = found(claims, &self.subject_claim).and_then(Value::as_str);
        let subject = subject.filter(|subject| is_subject(subject));
        Ok(Identity {
            viewer: Viewer {
                subject: Some(subject.ok_or(Refusal::Subject)?.to_owned()),
                roles: self.roles(claims),
            },
            valid_for: Some(valid_for),
        })
    }

    /// Returns for how long the token is still valid.
    fn check_times(&self, claims: &Claims, now: i64) -> Result<Duration, Refusal> {
        let leeway = i64::from(self.leeway_seconds) * 1000;
        let exp = millis(claims, "exp")?.ok_or(Refusal::NoExpiry)?;
        let left = exp.saturating_add(leeway).saturating_sub(now);
        let left = u64::try_from(left).ok().filter(|left| *left > 0);
        let left = left.ok_or(Refusal::Expired)?;
        let begin = millis(claims, "nbf")?;
        if begin.is_some_and(|begin| now < begin.saturating_sub(leeway)) {
            return Err(Refusal::NotYetValid);
        }
        millis(claims, "iat")?;
        Ok(Duration::from_millis(left))
    }

    fn check_origin(&self, claims: &Claims) -> Result<(), Refusal> {
        let issuer = claims.get("iss").and_then(Value::as_str);
        if self.issuer.is_some() && self.issuer.as_deref() != issuer {
            return Err(Refusal::Issuer);
        }
        if self.audiences.is_empty() {
            return Ok(());
        }
        // The access tokens of Amazon Cognito have no `aud`: they name the client that they were
        // issued to.
        let audience = claims.get("aud").or_else(|| claims.get("client_id"));
        let ours = |one: &Value| {
            let mut audiences = self.audiences.iter();
            one.as_str()
                .is_some_and(|one| audiences.any(|ours| ours == one))
        };
        let named = match audience {
            Some(Value::Array(list)) => list.iter().any(ours),
            Some(one) => ours(one),
            None => false,
        };
        if named {
            Ok(())
        } else {
            Err(Refusal::Audience)
        }
    }

    /// Unknown roles, such as those of a newer release or of another service, are ignored.
    fn roles(&self, claims: &Claims) -> Vec<Role> {
        let names: Vec<&str> = match found(claims, &self.roles_claim) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => text.split([' ', ',']).collect(),
            _ => Vec::new(),
        };
        let mut roles = Vec::new();
        for name in names {
            let role = name
                .strip_prefix(self.role_prefix.as_str())
                .and_then(Role::named);
            roles.extend(role.filter(|role| !roles.contains(role)));
        }
        roles
    }
}

/// Returns a date of the claims in milliseconds. It may have a fraction of a second.
fn millis(claims: &Claims, name: &'static str) -> Result<Option<i64>, Refusal> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let millis = match (value.as_i64(), value.as_f64()) {
        (Some(seconds), _) => seconds.saturating_mul(1000),
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        (None, Some(seconds)) => (seconds * 1000.0) as i64,
        (None, None) => return Err(Refusal::Date(name)),
    };
    Ok(Some(millis))
}

/// Returns the claim with this name, or in nested objects if the name is a path with dots. A name
/// that itself has dots comes before a path.
fn found<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| {
        let mut dots = name.rmatch_indices('.');
        dots.find_map(|(dot, _)| {
            let inner = claims.get(&name[..dot])?.as_object()?;
            found(inner, &name[dot + 1..])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_780_000_000;
    const SECONDS: f64 = 1_780_000_000.0;

    fn rules() -> ClaimRules {
        ClaimRules {
            issuer: None,
            audiences: Vec::new(),
            leeway_seconds: 5,
            subject_claim: "sub".to_owned(),
            roles_claim: "roles".to_owned(),
            role_prefix: String::new(),
        }
    }

    /// Reads claims that are valid, but for these.
    fn read(rules: &ClaimRules, claims: &Value) -> Result<Viewer, Refusal> {
        let mut whole = json!({ "sub": "ada", "exp": NOW + 60 });
        let whole = whole.as_object_mut().unwrap();
        whole.extend(claims.as_object().unwrap().clone());
        let identity = rules.identity(whole, Timestamp::from_millis(NOW * 1000))?;
        Ok(identity.viewer)
    }

    #[test]
    fn a_token_is_valid_until_it_expires_and_the_leeway_is_over() {
        let claims = json!({ "sub": "ada", "exp": NOW + 60 });
        let claims = claims.as_object().unwrap();
        let valid_for = |millis: i64| {
            let now = Timestamp::from_millis(NOW * 1000 + millis);
            rules().identity(claims, now).unwrap().valid_for.unwrap()
        };
        assert_eq!(valid_for(0), Duration::from_secs(65));
        assert_eq!(valid_for(64_999), Duration::from_millis(1));
    }

    #[test]
    fn dates_are_checked() {
        for (claims, expected) in [
            (json!({ "exp": NOW - 4 }), None),
            (json!({ "exp": NOW - 5 }), Some(Refusal::Expired)),
            (json!({ "exp": SECONDS - 4.5 }), None),
            (json!({ "exp": SECONDS - 5.5 }), Some(Refusal::Expired)),
            (json!({ "exp": i64::MAX }), None),
            (json!({ "exp": u64::MAX }), None),
            (json!({ "exp": 1e300 }), None),
            (json!({ "exp": i64::MIN }), Some(Refusal::Expired)),
            (json!({ "exp": 0 }), Some(Refusal::Expired)),
            (json!({ "exp": null }), Some(Refusal::Date("exp"))),
            (json!({ "exp": "2026-01-01" }), Some(Refusal::Date("exp"))),
            (
                json!({ "exp": NOW.to_string() }),
                Some(Refusal::Date("exp")),
            ),
            (json!({ "nbf": NOW + 5 }), None),
            (json!({ "nbf": NOW + 6 }), Some(Refusal::NotYetValid)),
            (json!({ "nbf": SECONDS + 4.5 }), None),
            (json!({ "nbf": SECONDS + 5.5 }), Some(Refusal::NotYetValid)),
            (json!({ "nbf": i64::MAX }), Some(Refusal::NotYetValid)),
            (json!({ "nbf": i64::MIN }), None),
            (json!({ "nbf": "now" }), Some(Refusal::Date("nbf"))),
            (json!({ "iat": SECONDS + 0.25 }), None),
            (json!({ "iat": "now" }), Some(Refusal::Date("iat"))),
        ] {
            assert_eq!(read(&rules(), &claims).err(), expected, "{claims}");
        }
        let mut lasting = Claims::new();
        lasting.insert("sub".to_owned(), json!("ada"));
        let refused = rules().identity(&lasting, Timestamp::from_millis(NOW));
        assert_eq!(refused.err(), Some(Refusal::NoExpiry));
    }

    #[test]
    fn the_leeway_is_a_setting() {
        let generous = ClaimRules {
            leeway_seconds: 300,
            ..rules()
        };
        let strict = ClaimRules {
            leeway_seconds: 0,
            ..rules()
        };
        let claims = json!({ "exp": NOW - 299 });
        assert_eq!(read(&generous, &claims).err(), None);
        let claims = json!({ "exp": NOW });
        assert_eq!(read(&strict, &claims).err(), Some(Refusal::Expired));
        assert_eq!(read(&strict, &json!({ "exp": NOW + 1 })).err(), None);
    }

    fn of_our_provider() -> ClaimRules {
        ClaimRules {
            issuer: Some("https://id.example/".to_owned()),
            audiences: vec!["shop".to_owned(), "https://shop.example".to_owned()],
            ..rules()
        }
    }

    #[test]
    fn the_issuer_must_be_ours() {
        for (iss, expected) in [
            (json!("https://id.example/"), None),
            (json!("https://id.example"), Some(Refusal::Issuer)),
            (json!("https://ID.example/"), Some(Refusal::Issuer)),
            (json!(["https://id.example/"]), Some(Refusal::Issuer)),
            (json!(""), Some(Refusal::Issuer)),
            (json!(null), Some(Refusal::Issuer)),
        ] {
            let claims = json!({ "iss": iss, "aud": "shop" });
            let refusal = read(&of_our_provider(), &claims).err();
            assert_eq!(refusal, expected, "{claims}");
            assert_eq!(read(&rules(), &claims).err(), None, "{claims}");
        }
        let refusal = read(&of_our_provider(), &json!({ "aud": "shop" })).err();
        assert_eq!(refusal, Some(Refusal::Issuer));
    }

    #[test]
    fn one_audience_must_be_ours() {
        for (aud, is_ours) in [
            (json!("shop"), true),
            (json!(["x", "https://shop.example"]), true),
            (json!("sho"), false),
            (json!("shop https://shop.example"), false),
            (json!(["x", "y"]), false),
            (json!([]), false),
            (json!(""), false),
            (json!(["x", { "shop": "shop" }, ["shop"]]), false),
            (json!({ "shop": "shop" }), false),
            (json!(null), false),
        ] {
            let claims = json!({ "iss": "https://id.example/", "aud": aud, "client_id": "shop" });
            let expected = (!is_ours).then_some(Refusal::Audience);
            let refusal = read(&of_our_provider(), &claims).err();
            assert_eq!(refusal, expected, "{claims}");
            assert_eq!(read(&rules(), &claims).err(), None, "{claims}");
        }
    }

    #[test]
    fn without_an_audience_the_client_must_be_ours() {
        for (client, expected) in [
            (json!("shop"), None),
            (json!("x"), Some(Refusal::Audience)),
            (json!(null), Some(Refusal::Audience)),
        ] {
            let claims = json!({ "iss": "https://id.example/", "client_id": client });
            let refusal = read(&of_our_provider(), &claims).err();
            assert_eq!(refusal, expected, "{claims}");
        }
        let refusal = read(&of_our_provider(), &json!({ "iss": "https://id.example/" })).err();
        assert_eq!(refusal, Some(Refusal::Audience));
    }

    #[test]
    fn roles_are_found_by_name_or_path() {
        let claims = json!({
            "roles": ["shopper"],
            "scope": "openid moderator,service  admin moderator",
            "https://shop.example/roles": ["admin"],
            "realm_access": { "roles": ["moderator", "offline_access", 7, null] },
            "realm_access.roles.of": { "shop": ["service"] },
            "resource_access": { "shop": { "roles": ["admin"] }, "my.shop": { "roles": ["service"] } },
            "a.b": ["admin"], "a": { "b": ["shopper"] },
        });
        for (claim, expected) in [
            ("roles", [Role::Shopper].as_slice()),
            ("scope", &[Role::Moderator, Role::Service, Role::Admin]),
            ("https://shop.example/roles", &[Role::Admin]),
            ("realm_access.roles", &[Role::Moderator]),
            ("realm_access.roles.of.shop", &[Role::Service]),
            ("resource_access.shop.roles", &[Role::Admin]),
            ("resource_access.my.shop.roles", &[Role::Service]),
            ("a.b", &[Role::Admin]),
            ("realm_access", &[]),
            ("resource_access.shop", &[]),
            ("realm_access.roles.", &[]),
            (".roles", &[]),
            ("nothing.here", &[]),
            ("exp", &[]),
        ] {
            let rules = ClaimRules {
                roles_claim: claim.to_owned(),
                ..rules()
            };
            assert_eq!(read(&rules, &claims).unwrap().roles, expected, "{claim}");
        }
    }

    #[test]
    fn roles_of_other_services_are_ignored() {
        let rules = ClaimRules {
            role_prefix: "vitrine:".to_owned(),
            ..rules()
        };
        let roles = [
            "admin",
            "vitrine:shopper",
            "vitrine:root",
            "vitrine:",
            "VITRINE:admin",
        ];
        let viewer = read(&rules, &json!({ "roles": roles })).unwrap();
        assert_eq!(viewer.roles, [Role::Shopper]);
    }

    #[test]
    fn the_subject_is_found_by_name_or_path() {
        let long = "x".repeat(201);
        let claims = json!({
            "email": "ada@shop.example", "user": { "id": "u7" }, "https://shop.example/id": "h7",
            "number": 7, "empty": "", "blank": " a", "long": long, "list": ["a"],
        });
        for (claim, expected) in [
            ("sub", Some("ada")),
            ("email", Some("ada@shop.example")),
            ("user.id", Some("u7")),
            ("https://shop.example/id", Some("h7")),
            ("number", None),
            ("empty", None),
            ("blank", None),
            ("long", None),
            ("list", None),
            ("user", None),
            ("missing", None),
        ] {
            let rules = ClaimRules {
                subject_claim: claim.to_owned(),
                ..rules()
            };
            let read = read(&rules, &claims);
            let refusal = expected.is_none().then_some(Refusal::Subject);
            assert_eq!(read.as_ref().err(), refusal.as_ref(), "{claim}");
            let subject = read.ok().and_then(|viewer| viewer.subject);
            assert_eq!(subject.as_deref(), expected, "{claim}");
        }
    }
}
