//! The public keys of an identity provider: a JSON Web Key Set (RFC 7517).

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// How many keys a set may have, and its size in bytes.
pub(super) const MAX_KEYS: usize = 100;
pub(super) const MAX_BYTES: usize = 1_000_000;
/// The sizes of RSA keys, in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
/// The length of a coordinate on the curves P-256 and Ed25519, in bytes.
const COORDINATE_BYTES: usize = 32;

/// The keys by their ids (`kid`).
#[derive(Debug, Default)]
pub(super) struct KeySet(HashMap<String, Key>);

/// A public key and the one algorithm that it verifies.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

/// Why a set cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeySetError {
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("it is no JSON Web Key Set: an object with a list `keys`")]
    Malformed,
    #[error("it has more than {MAX_KEYS} keys")]
    TooManyKeys,
    #[error("it has no key with a `kid` for RS256, ES256 or EdDSA")]
    NoKeys,
}

impl KeySet {
    /// Reads a set. Also returns, for the log, which keys are ignored and why.
    pub(super) fn parse(text: &[u8]) -> Result<(Self, Vec<String>), KeySetError> {
        if text.len() > MAX_BYTES {
            return Err(KeySetError::TooLong);
        }
        let document: Document =
            serde_json::from_slice(text).map_err(|_| KeySetError::Malformed)?;
        if document.keys.len() > MAX_KEYS {
            return Err(KeySetError::TooManyKeys);
        }
        let (mut keys, mut ignored) = (HashMap::new(), Vec::new());
        for jwk in document.keys {
            let Ok(jwk) = serde_json::from_value::<Jwk>(jwk) else {
                ignored.push("a key is malformed".to_owned());
                continue;
            };
            match jwk.read() {
                Ok((id, _)) if keys.contains_key(&id) => {
                    ignored.push(format!("another key has the id {}", shown(&id)));
                }
                Ok((id, key)) => {
                    keys.insert(id, key);
                }
                Err(reason) => {
                    let id = jwk.kid.as_deref().unwrap_or_default();
                    ignored.push(format!("the key {} {reason}", shown(id)));
                }
            }
        }
        if keys.is_empty() {
            return Err(KeySetError::NoKeys);
        }
        Ok((Self(keys), ignored))
    }

    /// Returns the key with this id.
    pub(super) fn get(&self, id: &str) -> Option<&Key> {
        self.0.get(id)
    }

    /// Returns the ids of all keys, sorted.
    pub(super) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.0.keys().map(String::as_str).collect();
        ids.sort_unstable();
        ids
    }
}

/// Returns an id that a stranger chose as it is logged: quoted, and not long.
pub(super) fn shown(id: &str) -> String {
    let start: String = id.chars().take(80).collect();
    format!("{start:?}")
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

/// A key as RFC 7517, 7518 and 8037 write it.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<Value>,
}

impl Jwk {
    /// Returns the id and the key, or why the key is ignored.
    fn read(&self) -> Result<(String, Key), &'static str> {
        let id = self.kid.as_deref().filter(|id| !id.is_empty());
        let id = id.ok_or("has no `kid`")?.to_owned();
        if self.purpose.as_deref().is_some_and(|one| one != "sig") {
            return Err("has a `use` other than `sig`");
        }
        let verifies = |operations: &Vec<String>| operations.iter().any(|one| one == "verify");
        if !self.key_ops.as_ref().is_none_or(verifies) {
            return Err("has `key_ops` without `verify`");
        }
        let (algorithm, names, decoding) = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => (Algorithm::RS256, ["RS256"].as_slice(), self.rsa()?),
            ("EC", Some("P-256")) => (Algorithm::ES256, ["ES256"].as_slice(), self.p256()?),
            ("OKP", Some("Ed25519")) => {
                // RFC 9864 calls the algorithm by the name of the curve.
                let names = ["EdDSA", "Ed25519"].as_slice();
                (Algorithm::EdDSA, names, self.ed25519()?)
            }
            ("EC" | "OKP", _) => return Err("is of another curve than P-256 or Ed25519"),
            _ => return Err("has a `kty` other than RSA, EC or OKP"),
        };
        if self.alg.as_deref().is_some_and(|alg| !names.contains(&alg)) {
            return Err("has an `alg` other than RS256, ES256 or EdDSA, or one of another type");
        }
        if self.d.is_some() {
            return Err("is a private key, which must be secret");
        }
        let key = Key {
            algorithm,
            decoding,
        };
        Ok((id, key))
    }

    fn rsa(&self) -> Result<DecodingKey, &'static str> {
        let (n, e) = (number(self.n.as_deref())?, number(self.e.as_deref())?);
        if !RSA_BITS.contains(&bits(&n)) {
            return Err("has fewer than 2048 or more than 8192 bits");
        }
        // What `ring` accepts: odd, from 3, up to 33 bits.
        let odd = e.last().is_some_and(|last| last % 2 == 1);
        if !odd || !(2..=33).contains(&bits(&e)) {
            return Err("has an exponent that is even, too small or too large");
        }
        Ok(DecodingKey::from_rsa_raw_components(&n, &e))
    }

    fn p256(&self) -> Result<DecodingKey, &'static str> {
        let (x, y) = (
            coordinate(self.x.as_deref())?,
            coordinate(self.y.as_deref())?,
        );
        // An uncompressed point. That it is on the curve is checked with each signature.
        Ok(DecodingKey::from_ec_der(&[&[4], x.as_slice(), &y].concat()))
    }

    fn ed25519(&self) -> Result<DecodingKey, &'static str> {
        let x = coordinate(self.x.as_deref())?;
        Ok(DecodingKey::from_ed_der(&x))
    }
}

/// Reads a big-endian number. Some providers write zeros before it, which RFC 7518 forbids.
fn number(text: Option<&str>) -> Result<Vec<u8>, &'static str> {
    let bytes = decoded(text)?;
    Ok(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
}

fn coordinate(text: Option<&str>) -> Result<Vec<u8>, &'static str> {
    let bytes = decoded(text)?;
    if bytes.len() == COORDINATE_BYTES {
        Ok(bytes)
    } else {
        Err("has a coordinate that is not 32 bytes long")
    }
}

fn decoded(text: Option<&str>) -> Result<Vec<u8>, &'static str> {
    let bytes = text.and_then(|text| BASE64.decode(text).ok());
    bytes.ok_or("lacks a part, or has one that is not base64url")
}

fn bits(number: &[u8]) -> usize {
    let Some(first) = number.first() else {
        return 0;
    };
    number.len() * 8 - first.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    fn parse(keys: &[Value]) -> Result<(KeySet, Vec<String>), KeySetError> {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes())
    }

    /// An RSA key with a modulus of this many bits.
    fn rsa(bits: usize) -> Value {
        let mut modulus = vec![0xff; bits.div_ceil(8)];
        modulus[0] >>= (8 - bits % 8) % 8;
        json!({ "kty": "RSA", "kid": "a", "n": BASE64.encode(modulus), "e": "AQAB" })
    }

    fn p256() -> Value {
        json!({ "kty": "EC", "crv": "P-256", "kid": "a", "x": X, "y": Y })
    }

    fn ed25519() -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "a", "x": X })
    }

    /// Returns the key with some members changed; null removes one.
    fn with(mut key: Value, changes: &Value) -> Value {
        let members = key.as_object_mut().unwrap();
        members.extend(changes.as_object().unwrap().clone());
        members.retain(|_, value| !value.is_null());
        key
    }

    #[test]
    fn keys_of_three_types_are_read() {
        for (key, algorithm) in [
            (rsa(2048), Algorithm::RS256),
            (rsa(8192), Algorithm::RS256),
            (
                with(rsa(2048), &json!({ "alg": "RS256", "use": "sig" })),
                Algorithm::RS256,
            ),
            (with(rsa(2048), &json!({ "e": "Aw" })), Algorithm::RS256),
            (
                with(rsa(2048), &json!({ "key_ops": ["verify"] })),
                Algorithm::RS256,
            ),
            (
                with(
                    rsa(2048),
                    &json!({ "x5c": ["…"], "x5t": "…", "issuer": "…" }),
                ),
                Algorithm::RS256,
            ),
            (p256(), Algorithm::ES256),
            (with(p256(), &json!({ "alg": "ES256" })), Algorithm::ES256),
            (ed25519(), Algorithm::EdDSA),
            (
                with(ed25519(), &json!({ "alg": "EdDSA" })),
                Algorithm::EdDSA,
            ),
            (
                with(ed25519(), &json!({ "alg": "Ed25519" })),
                Algorithm::EdDSA,
            ),
        ] {
            let (keys, ignored) = parse(std::slice::from_ref(&key)).unwrap();
            assert_eq!(keys.get("a").unwrap().algorithm, algorithm, "{key}");
            assert_eq!(ignored, Vec::<String>::new());
        }
    }

    #[test]
    fn other_keys_are_ignored() {
        let good = with(p256(), &json!({ "kid": "good" }));
        for (key, reason) in [
            (with(p256(), &json!({ "kid": null })), "has no `kid`"),
            (with(p256(), &json!({ "kid": "" })), "has no `kid`"),
            (with(p256(), &json!({ "kid": 7 })), "malformed"),
            (with(p256(), &json!({ "kty": null })), "malformed"),
            (json!("key"), "malformed"),
            (with(rsa(2048), &json!({ "use": "enc" })), "`use`"),
            (
                with(rsa(2048), &json!({ "key_ops": ["sign"] })),
                "`key_ops`",
            ),
            (with(rsa(2048), &json!({ "alg": "RSA-OAEP" })), "`alg`"),
            (with(rsa(2048), &json!({ "alg": "RS512" })), "`alg`"),
            (with(rsa(2048), &json!({ "alg": "ES256" })), "`alg`"),
            (with(p256(), &json!({ "alg": "HS256" })), "`alg`"),
            (with(p256(), &json!({ "alg": "none" })), "`alg`"),
            (with(ed25519(), &json!({ "alg": "ES256" })), "`alg`"),
            (with(p256(), &json!({ "crv": "P-384" })), "curve"),
            (with(ed25519(), &json!({ "crv": "X25519" })), "curve"),
            (with(p256(), &json!({ "crv": null })), "curve"),
            (json!({ "kty": "oct", "kid": "a", "k": X }), "`kty`"),
            (with(p256(), &json!({ "d": X })), "private"),
            (rsa(2047), "2048"),
            (rsa(1024), "2048"),
            (rsa(8193), "8192"),
            (with(rsa(2048), &json!({ "e": "AQ" })), "exponent"),
            (with(rsa(2048), &json!({ "e": "AQAA" })), "exponent"),
            (with(rsa(2048), &json!({ "e": "" })), "exponent"),
            (with(rsa(2048), &json!({ "n": null })), "lacks"),
            (with(rsa(2048), &json!({ "n": "a+b/" })), "base64url"),
            (with(p256(), &json!({ "y": null })), "lacks"),
            (with(p256(), &json!({ "x": "AQAB" })), "32 bytes"),
            (with(ed25519(), &json!({ "x": "AQAB" })), "32 bytes"),
        ] {
            let (keys, ignored) = parse(&[key.clone(), good.clone()]).unwrap();
            assert_eq!(keys.ids(), ["good"], "{key}");
            assert_eq!(ignored.len(), 1, "{key}");
            assert!(ignored[0].contains(reason), "{key}: {ignored:?}");
            assert!(!ignored[0].contains(X), "{ignored:?}");
        }
    }

    #[test]
    fn zeros_before_a_modulus_do_not_count() {
        let pad = |bits, zeros: usize| {
            let key = rsa(bits);
            let modulus = BASE64.decode(key["n"].as_str().unwrap()).unwrap();
            let modulus = [vec![0; zeros], modulus].concat();
            with(key, &json!({ "n": BASE64.encode(modulus) }))
        };
        assert!(parse(&[pad(2048, 1)]).is_ok());
        assert_eq!(parse(&[pad(1024, 128)]).err(), Some(KeySetError::NoKeys));
    }

    #[test]
    fn the_first_key_with_an_id_is_used() {
        let (keys, ignored) = parse(&[p256(), ed25519()]).unwrap();
        assert_eq!(keys.get("a").unwrap().algorithm, Algorithm::ES256);
        assert_eq!(ignored, ["another key has the id \"a\""]);
    }

    #[test]
    fn texts_that_are_no_key_set_are_refused() {
        let error = |text: &str| KeySet::parse(text.as_bytes()).err();
        for text in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"keys":{}}"#,
            "<html></html>",
            &p256().to_string(),
        ] {
            assert_eq!(error(text), Some(KeySetError::Malformed), "{text}");
        }
        assert_eq!(error(r#"{"keys":[]}"#), Some(KeySetError::NoKeys));
        let many = |count: usize| {
            let keys = (0..count).map(|id| with(p256(), &json!({ "kid": format!("{id}") })));
            parse(&keys.collect::<Vec<Value>>())
        };
        assert_eq!(many(MAX_KEYS).unwrap().0.ids().len(), MAX_KEYS);
        assert_eq!(many(MAX_KEYS + 1).err(), Some(KeySetError::TooManyKeys));
        let long = with(p256(), &json!({ "x5c": ["x".repeat(MAX_BYTES)] }));
        assert_eq!(parse(&[long]).err(), Some(KeySetError::TooLong));
    }

    #[test]
    fn ids_are_logged_quoted_and_short() {
        assert_eq!(shown("a\n\u{1b}[31mb"), r#""a\n\u{1b}[31mb""#);
        assert_eq!(shown(&"é".repeat(500)).chars().count(), 82);
    }
}
