//! Signing in at an identity provider with `OpenID Connect`: what the scripts and the policy of a page
//! need to know about it.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};

/// Where an identity provider takes requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Where visitors sign in.
    pub authorization: String,
    /// Where scripts exchange a code, or a refresh token, for tokens.
    pub token: String,
    /// The origin of the token endpoint: `https://id.example`.
    pub token_origin: String,
    /// Where visitors sign out, if the provider offers it.
    pub end_session: Option<String>,
    /// Whether the provider says in each answer who it is (RFC 9207).
    pub names_issuer: bool,
}

/// How visitors sign in. Clones share the addresses, which become known while the pages are served.
#[derive(Clone, Debug)]
pub struct Login(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    issuer: String,
    client_id: String,
    scope: String,
    audience: Option<String>,
    resource: Option<String>,
    endpoints: RwLock<Option<Endpoints>>,
}

impl Login {
    /// Returns a sign-in as a public client of the issuer, which is not ready yet. The audience is
    /// that of the tokens to ask for, the resource what they are for (RFC 8707).
    #[must_use]
    pub fn new(
        issuer: &str,
        client_id: &str,
        scope: &str,
        audience: Option<&str>,
        resource: Option<&str>,
    ) -> Self {
        Self(Arc::new(Shared {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            scope: scope.to_owned(),
            audience: audience.map(ToOwned::to_owned),
            resource: resource.map(ToOwned::to_owned),
            endpoints: RwLock::default(),
        }))
    }

    /// Replaces the addresses. Returns whether they are others than before.
    pub fn set(&self, endpoints: Endpoints) -> bool {
        let mut known = self
            .0
            .endpoints
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        known.replace(endpoints.clone()) != Some(endpoints)
    }

    /// Whether the addresses are known.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.endpoints().is_some()
    }

    /// The origin to which scripts send codes and refresh tokens.
    pub(crate) fn origin(&self) -> Option<String> {
        self.endpoints().map(|known| known.token_origin)
    }

    /// What the scripts of a page use.
    pub(crate) fn for_page(&self) -> Value {
        let Some(endpoints) = self.endpoints() else {
            return json!({ "ready": false });
        };
        json!({
            "ready": true,
            "issuer": self.0.issuer,
            "clientId": self.0.client_id,
            "scope": self.0.scope,
            "audience": self.0.audience,
            "resource": self.0.resource,
            "authorization": endpoints.authorization,
            "token": endpoints.token,
            "endSession": endpoints.end_session,
            "namesIssuer": endpoints.names_issuer,
        })
    }

    fn endpoints(&self) -> Option<Endpoints> {
        let known = self.0.endpoints.read();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_learn_the_addresses_when_they_are_known() {
        let login = Login::new(
            "https://id.example",
            "web",
            "openid",
            Some("shop"),
            Some("https://shop.example"),
        );
        assert_eq!(login.for_page(), json!({ "ready": false }));
        assert_eq!((login.is_ready(), login.origin()), (false, None));
        let endpoints = Endpoints {
            authorization: "https://id.example/authorize".to_owned(),
            token: "https://id.example/token".to_owned(),
            token_origin: "https://id.example".to_owned(),
            end_session: None,
            names_issuer: false,
        };
        assert!(login.clone().set(endpoints.clone()));
        assert!(!login.set(endpoints), "nothing has changed");
        assert_eq!(login.origin().as_deref(), Some("https://id.example"));
        let page = login.for_page();
        assert_eq!(page["token"], "https://id.example/token");
        assert_eq!(page["resource"], "https://shop.example");
        assert_eq!(
            (&page["audience"], &page["endSession"]),
            (&json!("shop"), &Value::Null)
        );
    }
}
