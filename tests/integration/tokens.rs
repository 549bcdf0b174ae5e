//! Tokens of identity providers: the shapes of their claims, keys that rotate, and key servers
//! that are away. And the rotation of our own secret.

use std::time::Duration;

use serde_json::{Value, json};
use vitrine_harness::app::App;
use vitrine_harness::process::{Service, run};
use vitrine_harness::{eventually, http, test};

pub(crate) mod identity_provider;

use identity_provider::{KeyServer, SigningKey, key_set};

/// A generous deadline for a busy machine.
const LONG: Duration = Duration::from_mins(1);

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const ISSUER: &str = "https://id.example/";
const AUDIENCE: &str = "https://shop.example";

/// Needs the role admin.
const WORKERS: &str = "{ workers { name } }";

/// A migrated database for services.
struct Shop {
    uri: String,
    database: String,
}

impl Shop {
    fn new(app: &App) -> Self {
        let shop = Self {
            uri: app.uri().to_owned(),
            database: format!("{}_served", app.store.database_name()),
        };
        assert!(run(&shop.arguments(&["migrate", "up"])).status.success());
        shop
    }

    fn arguments<'a>(&'a self, own: &[&'a str]) -> Vec<&'a str> {
        let uri = ["--mongodb-uri", &self.uri, "--database", &self.database];
        let secret = ["--cursor-secret", "0123456789abcdef"];
        [own, &uri, &secret].concat()
    }

    /// Starts `serve` with these settings, and waits until it is ready. Returns its address.
    async fn serve(&self, settings: &[&str]) -> (Service, String) {
        let own = [["serve", "--listen", "127.0.0.1:0"].as_slice(), settings];
        let service = Service::start(&self.arguments(&own.concat()));
        let address = service.listening().await;
        let ready = async || {
            let reply = http::get(&address, "/health/ready").await.ok()?;
            // Ready is when the database answers; the catalogue is open a moment later.
            let answer = http::graphql(&address, "{ __typename }", None).await.ok()?;
            (reply.status == 200 && answer.status == 200).then_some(())
        };
        eventually("a service that is ready", LONG, ready).await;
        (service, address)
    }

    async fn drop(self, app: &App) {
        let made = app.direct().client().database(&self.database);
        made.drop().await.unwrap();
    }
}

/// The settings for keys at this place, for tokens as [`claims`] makes them.
fn trusting(place: &str) -> [&str; 6] {
    [
        "--token-keys",
        place,
        "--token-issuer",
        ISSUER,
        "--token-audience",
        AUDIENCE,
    ]
}

/// The claims of an admin, but for these.
async fn claims(app: &App, changes: &Value) -> Value {
    let exp = app.store.ping().await.unwrap().as_millis() / 1000 + 3600;
    let mut claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": exp, "roles": ["admin"],
    });
    let members = claims.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    claims
}

/// How the service answers an admin's query with this token.
async fn outcome(address: &str, token: &str) -> String {
    let reply = http::graphql(address, WORKERS, Some(token)).await.unwrap();
    let answer = reply.json();
    let error = &answer["errors"][0];
    match error["extensions"]["code"].as_str() {
        Some("UNAUTHENTICATED") => {
            assert_eq!(reply.status, 401, "{}", reply.body);
            let message = "The token is not valid or has expired.";
            assert_eq!(error["message"], message, "{}", reply.body);
            "UNAUTHENTICATED".to_owned()
        }
        Some(code) => code.to_owned(),
        None => "accepted".to_owned(),
    }
}

/// Waits until the service answers the token like this.
async fn becomes(address: &str, token: &str, expected: &str) {
    let look = async || (outcome(address, token).await == expected).then_some(());
    eventually(&format!("a token that is {expected}"), LONG, look).await;
}

/// Starts a service with these settings, and asserts how it answers a token with these claims.
async fn assert_outcome(app: &App, shop: &Shop, settings: &[&str], shapes: &[(Value, &str)]) {
    let key = SigningKey::rsa("1b94c");
    let server = KeyServer::start(&[&key]).await;
    let (service, address) = shop
        .serve(&[settings, &["--token-keys", server.url()]].concat())
        .await;
    for (changes, expected) in shapes {
        let claims = claims(app, changes).await;
        let outcome = outcome(&address, &key.token(&claims)).await;
        assert_eq!(outcome, *expected, "{claims}");
    }
    assert!(service.stop().await.success());
}

#[test]
fn tokens_of_keycloak_and_auth0_are_accepted() {
    test(async |app| {
        let shop = Shop::new(app);
        let now = app.store.ping().await.unwrap().as_millis() / 1000;
        let keycloak = "https://id.example/realms/shop";
        let settings = [
            "--token-issuer",
            keycloak,
            "--token-audience",
            "vitrine",
            "--token-roles-claim",
            "resource_access.vitrine.roles",
        ];
        let whole = json!({
            "iss": keycloak, "aud": ["vitrine", "account"], "azp": "storefront", "typ": "Bearer",
            "iat": now, "jti": "onrtac:7d", "acr": "1", "roles": null, "scope": "openid email",
            "realm_access": { "roles": ["offline_access", "default-roles-shop"] },
            "resource_access": { "vitrine": { "roles": ["admin"] }, "account": { "roles": ["x"] } },
        });
        let mut other_client = whole.clone();
        other_client["aud"] = json!("account");
        let mut no_roles = whole.clone();
        no_roles["resource_access"] = json!({ "account": { "roles": ["admin"] } });
        let shapes = [
            (whole, "accepted"),
            (other_client, "UNAUTHENTICATED"),
            (no_roles, "FORBIDDEN"),
        ];
        assert_outcome(app, &shop, &settings, &shapes).await;

        let settings = [
            "--token-issuer",
            ISSUER,
            "--token-audience",
            AUDIENCE,
            "--token-roles-claim",
            "https://shop.example/roles",
        ];
        let whole = json!({
            "sub": "auth0|65f1", "aud": [AUDIENCE, "https://id.example/userinfo"], "iat": now,
            "azp": "mJ3", "scope": "openid", "roles": null, "https://shop.example/roles": ["admin"],
        });
        let other_tenant =
            json!({ "iss": "https://other.example/", "https://shop.example/roles": ["admin"] });
        let shapes = [
            (whole, "accepted"),
            (other_tenant, "UNAUTHENTICATED"),
            (json!({}), "FORBIDDEN"),
        ];
        assert_outcome(app, &shop, &settings, &shapes).await;
        shop.drop(app).await;
    });
}

#[test]
fn tokens_of_cognito_and_azure_are_accepted() {
    test(async |app| {
        let shop = Shop::new(app);
        let now = app.store.ping().await.unwrap().as_millis() / 1000;
        let pool = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_a";
        let settings = [
            "--token-issuer",
            pool,
            "--token-audience",
            "3n4b",
            "--token-roles-claim",
            "cognito:groups",
            "--token-role-prefix",
            "shop-",
        ];
        let access = json!({
            "iss": pool, "aud": null, "client_id": "3n4b", "token_use": "access", "roles": null,
            "auth_time": now, "iat": now, "cognito:groups": ["shop-admin"],
        });
        let mut other_client = access.clone();
        other_client["client_id"] = json!("5x5x");
        let other_group = json!({ "iss": pool, "aud": "3n4b", "cognito:groups": ["admin"] });
        let shapes = [
            (access, "accepted"),
            (other_client, "UNAUTHENTICATED"),
            (other_group, "FORBIDDEN"),
        ];
        assert_outcome(app, &shop, &settings, &shapes).await;

        let tenant = "https://login.microsoftonline.com/7c/v2.0";
        let settings = [
            "--token-issuer",
            tenant,
            "--token-audience",
            "api://shop,11aa",
            "--token-subject-claim",
            "oid",
            "--token-role-prefix",
            "Vitrine.",
        ];
        let whole = json!({
            "iss": tenant, "aud": "11aa", "oid": "0f-9", "tid": "7c", "ver": "2.0", "nbf": now,
            "iat": now, "nonce": "n", "roles": ["Vitrine.admin", "Task.Write"],
        });
        let no_roles = json!({ "iss": tenant, "aud": "api://shop", "oid": "0f-9", "roles": null });
        let no_subject = json!({ "iss": tenant, "aud": "api://shop" });
        let shapes = [
            (whole, "accepted"),
            (no_roles, "FORBIDDEN"),
            (no_subject, "UNAUTHENTICATED"),
        ];
        assert_outcome(app, &shop, &settings, &shapes).await;
        shop.drop(app).await;
    });
}

#[test]
fn dates_may_have_fractions_and_expired_tokens_are_refused() {
    test(async |app| {
        let shop = Shop::new(app);
        #[expect(clippy::cast_precision_loss, reason = "seconds have room in an f64")]
        let now = app.store.ping().await.unwrap().as_millis() as f64 / 1000.0;
        let settings = ["--token-issuer", ISSUER, "--token-audience", AUDIENCE];
        let shapes = [
            (
                json!({ "iat": now, "nbf": now - 0.5, "exp": now + 600.25 }),
                "accepted",
            ),
            (json!({ "exp": now - 60.5 }), "UNAUTHENTICATED"),
            (json!({ "exp": null }), "UNAUTHENTICATED"),
            (json!({ "nbf": now + 600.5 }), "UNAUTHENTICATED"),
        ];
        assert_outcome(app, &shop, &settings, &shapes).await;
        shop.drop(app).await;
    });
}

#[test]
fn keys_rotate_while_the_service_runs() {
    test(async |app| {
        let shop = Shop::new(app);
        let (old, new) = (SigningKey::ed25519("2025"), SigningKey::p256("2026"));
        let server = KeyServer::start(&[&old]).await;
        let (service, address) = shop.serve(&trusting(server.url())).await;
        let claims = claims(app, &json!({})).await;
        let (with_old, with_new) = (old.token(&claims), new.token(&claims));
        assert_eq!(outcome(&address, &with_old).await, "accepted");
        server.publish(&[&old, &new]);
        becomes(&address, &with_new, "accepted").await;
        assert_eq!(outcome(&address, &with_old).await, "accepted");
        server.publish(&[&new]);
        // A token with an unknown key makes the service look again, well before the hour for
        // which the keys are fresh.
        let unknown = SigningKey::ed25519("2027").token(&claims);
        let refused = async || {
            assert_eq!(outcome(&address, &unknown).await, "UNAUTHENTICATED");
            (outcome(&address, &with_old).await == "UNAUTHENTICATED").then_some(())
        };
        eventually("a removed key that is refused", LONG, refused).await;
        assert_eq!(outcome(&address, &with_new).await, "accepted");
        let ignored = service
            .output()
            .matches("a key for verifying tokens is ignored")
            .count();
        assert_eq!(ignored, 1, "{}", service.output());
        assert!(service.stop().await.success());
        shop.drop(app).await;
    });
}

#[test]
fn a_key_server_may_die_and_come_back() {
    test(async |app| {
        let shop = Shop::new(app);
        let (old, new) = (SigningKey::ed25519("2025"), SigningKey::ed25519("2026"));
        let claims = claims(app, &json!({})).await;
        let (with_old, with_new) = (old.token(&claims), new.token(&claims));
        let server = KeyServer::start(&[&old]).await;
        server.die();
        let (service, address) = shop.serve(&trusting(server.url())).await;
        assert_eq!(outcome(&address, &with_old).await, "UNAUTHENTICATED");
        server.publish(&[&old]);
        becomes(&address, &with_old, "accepted").await;
        server.die();
        // Makes the service look, which fails.
        let outages = || service.output().matches("cannot be read from").count();
        let noticed = async || {
            assert_eq!(outcome(&address, &with_new).await, "UNAUTHENTICATED");
            (outages() == 2).then_some(())
        };
        eventually("a log of the second outage", LONG, noticed).await;
        assert_eq!(outcome(&address, &with_old).await, "accepted");
        server.publish(&[&new]);
        becomes(&address, &with_new, "accepted").await;
        becomes(&address, &with_old, "UNAUTHENTICATED").await;
        assert_eq!(outages(), 2, "{}", service.output());
        assert!(service.stop().await.success());
        shop.drop(app).await;
    });
}

#[test]
fn a_file_of_keys_is_read_again_when_it_changes() {
    test(async |app| {
        let shop = Shop::new(app);
        let (old, new) = (SigningKey::rsa("2025"), SigningKey::p256("2026"));
        let claims = claims(app, &json!({})).await;
        let (with_old, with_new) = (old.token(&claims), new.token(&claims));
        let dir = tempfile::tempdir().unwrap();
        let (path, next) = (dir.path().join("keys.json"), dir.path().join("next.json"));
        std::fs::write(&path, key_set(&[&old])).unwrap();
        let place = path.to_str().unwrap();
        let (service, address) = shop.serve(&trusting(place)).await;
        assert_eq!(outcome(&address, &with_old).await, "accepted");
        std::fs::write(&path, "{").unwrap();
        let noticed = async || {
            service
                .output()
                .contains("cannot be read from")
                .then_some(())
        };
        eventually("a log of the broken file", LONG, noticed).await;
        assert_eq!(outcome(&address, &with_old).await, "accepted");
        std::fs::write(&next, key_set(&[&new])).unwrap();
        std::fs::rename(&next, &path).unwrap();
        becomes(&address, &with_new, "accepted").await;
        assert_eq!(outcome(&address, &with_old).await, "UNAUTHENTICATED");
        assert!(service.stop().await.success());
        shop.drop(app).await;
    });
}

#[test]
fn secrets_rotate() {
    test(async |app| {
        let shop = Shop::new(app);
        let next = "a new secret of thirty-two bytes";
        let issued = |secret: &str| {
            let issued = run(&["token", "--token-secret", secret]);
            assert!(issued.status.success());
            String::from_utf8(issued.stdout).unwrap().trim().to_owned()
        };
        let both = ["--token-secret", next, "--previous-token-secret", SECRET];
        let (service, address) = shop.serve(&both).await;
        for (secret, expected) in [
            (next, "accepted"),
            (SECRET, "accepted"),
            ("another secret of thirty-two bytes", "UNAUTHENTICATED"),
        ] {
            assert_eq!(outcome(&address, &issued(secret)).await, expected);
        }
        assert!(service.stop().await.success());
        let (service, address) = shop.serve(&both[..2]).await;
        assert_eq!(outcome(&address, &issued(SECRET)).await, "UNAUTHENTICATED");
        assert!(service.stop().await.success());
        shop.drop(app).await;
    });
}

/// Runs `serve` with settings that are wrong; returns what it says.
fn refused(settings: &[&str]) -> String {
    // Nothing listens on port 1: the settings are checked before.
    let uri = "mongodb://127.0.0.1:1/?replicaSet=vitrine";
    let own = ["serve", "--listen", "127.0.0.1:0", "--mongodb-uri", uri];
    let own = [own.as_slice(), &["--cursor-secret", SECRET], settings].concat();
    let ended = run(&own);
    assert!(!ended.status.success());
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn wrong_settings_are_reported_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("keys.json");
    std::fs::write(&broken, "<html></html>").unwrap();
    let broken = broken.to_str().unwrap();
    for (settings, expected) in [
        (
            trusting("/nowhere/keys.json").as_slice(),
            "cannot read the keys of tokens in /nowhere/keys.json",
        ),
        (&trusting(broken), "it is no JSON Web Key Set"),
        (
            &trusting(broken)[..4],
            "VITRINE_TOKEN_KEYS needs VITRINE_TOKEN_ISSUER and VITRINE_TOKEN_AUDIENCE",
        ),
        (&trusting("http://id.example/certs"), "use https://"),
        (
            &["--token-secret", "short"],
            "VITRINE_TOKEN_SECRET must have at least 32 characters",
        ),
        (
            &["--token-secret", SECRET, "--previous-token-secret", "short"],
            "VITRINE_PREVIOUS_TOKEN_SECRET must have at least 32 characters",
        ),
    ] {
        let said = refused(settings);
        assert!(said.contains(expected), "{said}");
    }
}
