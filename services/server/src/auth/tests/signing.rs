//! Keys that sign tokens of tests.

use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};

use super::*;

/// A private key.
pub(super) enum TestKey {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl TestKey {
    /// Returns the key in the repository, since `ring` makes none.
    pub(super) fn rsa() -> Self {
        let key = include_bytes!("../fixtures/rsa-test-key.pk8");
        Self::Rsa(RsaKeyPair::from_pkcs8(key).unwrap())
    }

    /// Returns a new key.
    pub(super) fn p256() -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).unwrap())
    }

    /// Returns a new key.
    pub(super) fn ed25519() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    /// Returns its public part.
    pub(super) fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Rsa(key) => {
                let parts = RsaPublicKeyComponents::<Vec<u8>>::from(key.public());
                let (n, e) = (BASE64.encode(parts.n), BASE64.encode(parts.e));
                json!({ "kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": n, "e": e })
            }
            Self::P256(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                let (x, y) = (BASE64.encode(x), BASE64.encode(y));
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y })
            }
            Self::Ed25519(key) => {
                let x = BASE64.encode(key.public_key());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": x })
            }
        }
    }

    /// Returns its public part in the forms in which it may be published.
    pub(super) fn public_texts(&self) -> Vec<Vec<u8>> {
        let (raw, spki): (&[u8], &[u8]) = match self {
            // The beginnings of SubjectPublicKeyInfo, for these sizes of keys.
            Self::Rsa(key) => (
                key.public().as_ref(),
                b"\x30\x82\x01\x22\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82\x01\x0f\x00",
            ),
            Self::P256(key) => (
                key.public_key().as_ref(),
                b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00",
            ),
            Self::Ed25519(key) => (key.public_key().as_ref(), b""),
        };
        let der = [spki, raw].concat();
        let base64 = STANDARD.encode(&der);
        let lines: Vec<&[u8]> = base64.as_bytes().chunks(64).collect();
        let body = lines.join(&b'\n');
        let pem = [
            b"-----BEGIN PUBLIC KEY-----\n",
            body.as_slice(),
            b"\n-----END PUBLIC KEY-----\n",
        ];
        let jwk = self.jwk("rsa");
        let mut texts = vec![raw.to_vec(), der, base64.into_bytes(), pem.concat()];
        texts.push(jwk.to_string().into_bytes());
        for part in ["n", "x", "y"] {
            let text = jwk[part].as_str().unwrap_or_default();
            texts.push(text.as_bytes().to_vec());
            texts.push(BASE64.decode(text).unwrap());
        }
        texts
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::P256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        }
    }
}

pub(super) fn encoded(part: &Value) -> String {
    BASE64.encode(part.to_string())
}

/// Signs a token with a header that may be wrong.
pub(super) fn token(key: &TestKey, header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", encoded(header), encoded(claims));
    let signature = BASE64.encode(key.sign(message.as_bytes()));
    format!("{message}.{signature}")
}

pub(super) fn signed_with_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", encoded(header), encoded(claims));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let tag = ring::hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", BASE64.encode(tag))
}
