use serde_json::{Value, json};
use vitrine_model::clock::{Clock as _, ManualClock};

use super::*;

mod signing;

use signing::{TestKey, encoded, signed_with_secret, token};

const HOUR: i64 = 3_600_000;
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const PREVIOUS: &[u8] = b"another secret of thirty-two bytes";

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

fn tokens() -> Tokens {
    Tokens::new(rules(), &[SECRET], None)
}

/// A codec that trusts a key of each type, by the ids `rsa`, `p256` and `ed25519`.
fn tokens_with_keys(keys: &[(&str, &TestKey)]) -> Tokens {
    let keys = keys.iter().map(|(id, key)| key.jwk(id));
    let text = json!({ "keys": keys.collect::<Vec<Value>>() }).to_string();
    let (keys, ignored) = key_set::KeySet::parse(text.as_bytes()).unwrap();
    assert_eq!(ignored, Vec::<String>::new());
    Tokens::new(rules(), &[SECRET], Some(KeySource::fixed(keys)))
}

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::parse("2026-05-31T12:00:00Z").unwrap())
}

fn claims() -> Value {
    let exp = clock().now().as_millis() / 1000 + 60;
    json!({ "sub": "ada", "exp": exp, "roles": ["admin"] })
}

/// Returns why the token is refused, or `None`.
fn refusal(tokens: &Tokens, token: &str) -> Option<Refusal> {
    tokens.0.identity(token, clock().now()).err()
}

#[test]
fn tokens_identify_their_subject_and_roles() {
    let (tokens, now) = (tokens(), clock().now());
    let token = tokens.issue("ada", &["admin".to_owned()], now, 1).unwrap();
    let viewer = tokens.identity(Some(&token), now).unwrap().viewer;
    assert_eq!(
        (viewer.subject.as_deref(), viewer.has(Role::Admin)),
        (Some("ada"), true)
    );
    let anonymous = tokens.identity(None, now).unwrap();
    assert_eq!(anonymous.viewer, Viewer::default());
    assert_eq!(anonymous.valid_for, None);
    assert!(tokens.issue("ada", &["root".to_owned()], now, 1).is_err());
    for subject in ["", " ada", "a\nb", &"x".repeat(201)] {
        let made = tokens.issue(subject, &[], now, 1);
        assert!(made.is_err(), "{subject:?}");
    }
}

#[test]
fn issued_tokens_obey_the_rules_for_claims() {
    let rules = ClaimRules {
        issuer: Some("https://id.example/".to_owned()),
        audiences: vec!["shop".to_owned(), "other".to_owned()],
        subject_claim: "user.id".to_owned(),
        roles_claim: "realm_access.roles".to_owned(),
        role_prefix: "vitrine:".to_owned(),
        ..rules()
    };
    let (tokens, now) = (Tokens::new(rules, &[SECRET], None), clock().now());
    let token = tokens.issue("ada", &["admin".to_owned()], now, 1).unwrap();
    let viewer = tokens.identity(Some(&token), now).unwrap().viewer;
    assert_eq!(viewer.subject.as_deref(), Some("ada"));
    assert_eq!(viewer.roles, [Role::Admin]);
}

#[test]
fn tokens_of_both_secrets_are_accepted_and_new_ones_are_of_the_first() {
    let now = clock().now();
    let issue = |tokens: &Tokens| tokens.issue("ada", &[], now, 1).unwrap();
    let old = Tokens::new(rules(), &[PREVIOUS], None);
    let both = Tokens::new(rules(), &[SECRET, PREVIOUS], None);
    assert_eq!(refusal(&both, &issue(&old)), None);
    assert_eq!(refusal(&both, &issue(&both)), None);
    assert_eq!(refusal(&tokens(), &issue(&both)), None);
    assert_eq!(refusal(&old, &issue(&both)), Some(Refusal::Signature));
    assert_eq!(refusal(&tokens(), &issue(&old)), Some(Refusal::Signature));
}

#[test]
fn without_a_secret_no_token_is_issued_and_none_of_a_secret_accepted() {
    let tokens = Tokens::new(rules(), &[], None);
    assert!(tokens.issue("ada", &[], clock().now(), 1).is_err());
    for secret in [b"".as_slice(), SECRET] {
        let token = signed_with_secret(secret, &json!({ "alg": "HS256" }), &claims());
        assert_eq!(refusal(&tokens, &token), Some(Refusal::Signature));
    }
}

#[test]
fn tokens_of_every_type_of_key_are_accepted() {
    let keys = [TestKey::rsa(), TestKey::p256(), TestKey::ed25519()];
    let [rsa, p256, ed25519] = &keys;
    let tokens = tokens_with_keys(&[("rsa", rsa), ("p256", p256), ("ed25519", ed25519)]);
    for (id, key) in [("rsa", rsa), ("p256", p256), ("ed25519", ed25519)] {
        let good = token(
            key,
            &json!({ "alg": key.algorithm(), "kid": id }),
            &claims(),
        );
        assert_eq!(refusal(&tokens, &good), None, "{id}");
        let viewer = tokens.identity(Some(&good), clock().now()).unwrap().viewer;
        assert_eq!(viewer.roles, [Role::Admin]);
        let (message, signature) = good.rsplit_once('.').unwrap();
        let forged = encoded(&json!({ "sub": "eve", "exp": i64::MAX }));
        let (header, payload) = message.split_once('.').unwrap();
        for bad in [
            format!("{header}.{forged}.{signature}"),
            format!("{header}.{payload}."),
            format!("{header}.{payload}.{}", "A".repeat(signature.len())),
        ] {
            assert_eq!(refusal(&tokens, &bad), Some(Refusal::Signature), "{id}");
        }
    }
}

#[test]
fn a_key_verifies_only_the_algorithm_that_it_is_for() {
    let (rsa, p256) = (TestKey::rsa(), TestKey::p256());
    let tokens = tokens_with_keys(&[("rsa", &rsa), ("p256", &p256)]);
    for (algorithm, id, expected) in [
        ("ES256", "rsa", Refusal::Algorithm),
        ("EdDSA", "rsa", Refusal::Algorithm),
        ("RS384", "rsa", Refusal::Algorithm),
        ("PS256", "rsa", Refusal::Algorithm),
        ("HS384", "rsa", Refusal::Algorithm),
        ("RS256", "p256", Refusal::Algorithm),
        ("ES256", "p256", Refusal::Signature),
        ("HS256", "rsa", Refusal::Signature),
        ("none", "rsa", Refusal::Malformed),
        ("None", "rsa", Refusal::Malformed),
        ("", "rsa", Refusal::Malformed),
        ("rs256", "rsa", Refusal::Malformed),
    ] {
        let token = token(&rsa, &json!({ "alg": algorithm, "kid": id }), &claims());
        let refused = refusal(&tokens, &token);
        assert_eq!(refused, Some(expected), "{algorithm} {id}");
    }
}

/// If a public key verified HS256, everybody who has it could sign.
#[test]
fn public_keys_are_not_secrets() {
    let (rsa, p256) = (TestKey::rsa(), TestKey::p256());
    let tokens = tokens_with_keys(&[("rsa", &rsa), ("p256", &p256)]);
    for (id, key) in [("rsa", &rsa), ("p256", &p256)] {
        let mut texts = key.public_texts();
        texts.push(Vec::new());
        for text in texts {
            let header = json!({ "alg": "HS256", "kid": id });
            let token = signed_with_secret(&text, &header, &claims());
            assert_eq!(refusal(&tokens, &token), Some(Refusal::Signature), "{id}");
        }
    }
}

#[test]
fn headers_are_checked() {
    let key = TestKey::ed25519();
    let tokens = tokens_with_keys(&[("a", &key)]);
    for (header, expected) in [
        (json!({ "typ": "JWT" }), None),
        (json!({ "typ": "jwt" }), None),
        (json!({ "typ": "at+jwt" }), None),
        (json!({ "typ": "application/at+jwt" }), None),
        (json!({ "typ": "logout+jwt" }), Some(Refusal::Type)),
        (json!({ "typ": "JOSE" }), Some(Refusal::Type)),
        (json!({ "cty": "JWT" }), Some(Refusal::Type)),
        (json!({ "enc": "A128GCM" }), Some(Refusal::Type)),
        (json!({ "zip": "DEF" }), Some(Refusal::Type)),
        (json!({ "crit": ["exp"] }), Some(Refusal::Extension)),
        (json!({ "crit": ["kid"] }), Some(Refusal::Extension)),
        (json!({ "crit": [] }), Some(Refusal::Extension)),
        (json!({ "crit": "b64" }), Some(Refusal::Malformed)),
        (json!({ "b64": false }), Some(Refusal::Extension)),
        (json!({ "b64": "false" }), Some(Refusal::Extension)),
        (json!({ "b64": true }), None),
        (
            json!({ "b64": false, "crit": ["b64"] }),
            Some(Refusal::Extension),
        ),
        (json!({ "kid": null }), Some(Refusal::NoKeyId)),
        (
            json!({ "kid": "b" }),
            Some(Refusal::UnknownKey("\"b\"".to_owned())),
        ),
        (json!({ "kid": 1 }), Some(Refusal::Malformed)),
        (json!({ "x": { "y": 1 } }), None),
    ] {
        let mut whole = json!({ "alg": "EdDSA", "kid": "a" });
        whole
            .as_object_mut()
            .unwrap()
            .extend(header.as_object().unwrap().clone());
        let token = token(&key, &whole, &claims());
        assert_eq!(refusal(&tokens, &token), expected, "{header}");
    }
}

#[test]
fn keys_in_a_token_are_ignored() {
    let (key, stranger) = (TestKey::p256(), TestKey::p256());
    let tokens = tokens_with_keys(&[("a", &key)]);
    for header in [
        json!({ "jwk": stranger.jwk("a") }),
        json!({ "jku": "http://127.0.0.1:1/jwks.json" }),
        json!({ "x5u": "http://127.0.0.1:1/certificate.pem" }),
        json!({ "x5c": ["AAAA"] }),
    ] {
        let mut whole = json!({ "alg": "ES256", "kid": "a" });
        whole
            .as_object_mut()
            .unwrap()
            .extend(header.as_object().unwrap().clone());
        let forged = token(&stranger, &whole, &claims());
        assert_eq!(
            refusal(&tokens, &forged),
            Some(Refusal::Signature),
            "{header}"
        );
        assert_eq!(
            refusal(&tokens, &token(&key, &whole, &claims())),
            None,
            "{header}"
        );
    }
}

#[test]
fn malformed_tokens_are_refused() {
    let tokens = tokens();
    let header = json!({ "alg": "HS256" });
    let good = signed_with_secret(SECRET, &header, &claims());
    assert_eq!(refusal(&tokens, &good), None);
    let nested = signed_with_secret(SECRET, &header, &json!(good));
    let list = signed_with_secret(SECRET, &header, &json!([claims()]));
    for bad in [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "a.b",
        "a.b.c.d.e",
        &nested,
        &list,
        &format!(" {good}"),
        &format!("{good}."),
        &format!(".{good}"),
        &format!("{good}.{good}"),
    ] {
        // Without its three parts it may be meant for its issuer alone.
        let expected = if bad.matches('.').count() == 2 {
            Refusal::Malformed
        } else {
            Refusal::Opaque
        };
        assert_eq!(refusal(&tokens, bad), Some(expected), "{bad}");
    }
    for bad in [format!("{good}="), format!("{good}\n"), format!("{good}A")] {
        assert_eq!(refusal(&tokens, &bad), Some(Refusal::Signature), "{bad}");
    }
}

#[test]
fn long_tokens_are_refused() {
    let tokens = tokens();
    let of_length = |bytes: usize| {
        let mut claims = claims();
        claims["x"] = json!("y".repeat(bytes));
        signed_with_secret(SECRET, &json!({ "alg": "HS256" }), &claims)
    };
    let short = of_length(12_000);
    assert!(short.len() > MAX_TOKEN_BYTES - 500 && short.len() <= MAX_TOKEN_BYTES);
    assert_eq!(refusal(&tokens, &short), None);
    assert_eq!(refusal(&tokens, &of_length(12_400)), Some(Refusal::TooLong));
}

#[test]
fn an_unknown_key_is_reported_and_a_known_one_is_not() {
    let (key, other) = (TestKey::ed25519(), TestKey::ed25519());
    let tokens = tokens_with_keys(&[("a", &key)]);
    let source = tokens.0.keys.as_ref().unwrap();
    let with_id = |id: &str| token(&key, &json!({ "alg": "EdDSA", "kid": id }), &claims());
    assert_eq!(refusal(&tokens, &with_id("a")), None);
    let forged = token(&other, &json!({ "alg": "EdDSA", "kid": "a" }), &claims());
    assert_eq!(refusal(&tokens, &forged), Some(Refusal::Signature));
    assert!(!source.was_missed());
    assert!(refusal(&tokens, &with_id("b")).is_some());
    assert!(source.was_missed());
}

#[test]
fn clients_do_not_learn_why_a_token_is_refused() {
    let key = TestKey::ed25519();
    let (tokens, now) = (tokens_with_keys(&[("a", &key)]), clock().now());
    let expired = json!({ "sub": "ada", "exp": 1 });
    for bad in [
        String::new(),
        token(&key, &json!({ "alg": "EdDSA", "kid": "b" }), &claims()),
        token(&key, &json!({ "alg": "EdDSA", "kid": "a" }), &expired),
        signed_with_secret(PREVIOUS, &json!({ "alg": "HS256" }), &claims()),
    ] {
        let refused = tokens.identity(Some(&bad), now).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Unauthenticated);
        assert!(format!("{refused:?}").contains("The token is not valid or has expired."));
    }
}

#[test]
fn secrets_are_not_shown() {
    let tokens = Tokens::new(rules(), &[SECRET, PREVIOUS], None);
    assert_eq!(format!("{tokens:?}"), "Tokens");
}

#[test]
fn tokens_expire_by_the_given_clock() {
    let (tokens, clock) = (tokens(), clock());
    let token = tokens.issue("ada", &[], clock.now(), 1).unwrap();
    let is_valid = || tokens.identity(Some(&token), clock.now()).is_ok();
    assert!(is_valid());
    clock.advance(HOUR + 4_000);
    assert!(is_valid(), "clocks may differ by a few seconds");
    clock.advance(1_000);
    assert!(!is_valid());
    clock.advance(HOUR);
    assert!(!is_valid());
}
