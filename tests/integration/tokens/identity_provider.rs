//! An identity provider: it signs tokens and publishes its keys over HTTP.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A private key with its id.
pub(crate) struct SigningKey {
    id: &'static str,
    pair: Pair,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    P256(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl SigningKey {
    /// The key in the repository, since `ring` makes none.
    pub(crate) fn rsa(id: &'static str) -> Self {
        let key = include_bytes!("../../../services/server/src/auth/fixtures/rsa-test-key.pk8");
        let pair = Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(key).unwrap()));
        Self { id, pair }
    }

    /// A new key.
    pub(crate) fn p256(id: &'static str) -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).unwrap();
        let pair = Pair::P256(Box::new(pair));
        Self { id, pair }
    }

    /// A new key.
    pub(crate) fn ed25519(id: &'static str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap();
        let pair = Pair::Ed25519(Box::new(pair));
        Self { id, pair }
    }

    /// Its public part.
    fn jwk(&self) -> Value {
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) => {
                let parts = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": BASE64.encode(parts.n), "e": BASE64.encode(parts.e) })
            }
            Pair::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": BASE64.encode(x), "y": BASE64.encode(y) })
            }
            Pair::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": BASE64.encode(pair.public_key()) })
            }
        };
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// Signs a token.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let random = SystemRandom::new();
        let algorithm = match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::P256(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
        };
        let header = json!({ "alg": algorithm, "kid": self.id, "typ": "JWT" });
        let [header, claims] = [&header, claims].map(|part| BASE64.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    message.as_bytes(),
                    &mut signature,
                );
                signed.unwrap();
                signature
            }
            Pair::P256(pair) => {
                let signature = pair.sign(&random, message.as_bytes()).unwrap();
                signature.as_ref().to_vec()
            }
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", BASE64.encode(signature))
    }
}

/// The key set of these keys. It also has an entry that services must ignore.
pub(crate) fn key_set(keys: &[&SigningKey]) -> String {
    let mut all = vec![json!({ "kty": "RSA", "kid": "encryption", "use": "enc" })];
    all.extend(keys.iter().map(|key| key.jwk()));
    json!({ "keys": all }).to_string()
}

/// A server of a key set, until it is dropped.
pub(crate) struct KeyServer {
    url: String,
    keys: Arc<Mutex<Option<String>>>,
    _tasks: JoinSet<()>,
}

impl KeyServer {
    pub(crate) async fn start(keys: &[&SigningKey]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/certs", listener.local_addr().unwrap());
        let keys = Arc::new(Mutex::new(Some(key_set(keys))));
        let published = Arc::clone(&keys);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let keys = published.lock().unwrap().clone();
                if let Some(keys) = keys {
                    answer(stream, &keys).await;
                }
            }
        });
        Self {
            url,
            keys,
            _tasks: tasks,
        }
    }

    /// Where its keys are.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Replaces the keys, or comes back with these.
    pub(crate) fn publish(&self, keys: &[&SigningKey]) {
        *self.keys.lock().unwrap() = Some(key_set(keys));
    }

    /// Closes every connection without an answer from now on. The port stays taken, so that no
    /// other test gets it.
    pub(crate) fn die(&self) {
        *self.keys.lock().unwrap() = None;
    }
}

async fn answer(mut stream: TcpStream, keys: &str) {
    let mut request = vec![0; 4096];
    // A client that is gone needs no answer.
    let read = stream.read(&mut request).await.unwrap_or_default();
    let is_request = request[..read].starts_with(b"GET /certs HTTP/1.1\r\n");
    let (status, body) = if is_request {
        ("200 OK", keys)
    } else {
        ("404 Not Found", "")
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: max-age=3600\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}
