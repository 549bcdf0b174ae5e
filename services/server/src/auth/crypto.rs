//! HS256 for `jsonwebtoken`, computed by `ring`, which TLS needs anyway: the providers of the
//! library would bring a second cryptographic library.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use ring::hmac;
use signature::{Error, Signer, Verifier};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes `jsonwebtoken` use this module. Can be called any number of times.
pub(super) fn install() {
    // An error means that it is installed.
    let _ = PROVIDER.install_default();
}

/// Signs and verifies with a shared secret.
struct Hs256(hmac::Key);

impl Hs256 {
    fn new(algorithm: Algorithm, family: AlgorithmFamily, secret: &[u8]) -> Result<Box<Self>> {
        match (algorithm, family) {
            (Algorithm::HS256, AlgorithmFamily::Hmac) => {
                Ok(Box::new(Self(hmac::Key::new(hmac::HMAC_SHA256, secret))))
            }
            _ => Err(ErrorKind::InvalidAlgorithm.into()),
        }
    }
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Ok(Hs256::new(*algorithm, key.family(), key.as_bytes())?)
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let secret = key.try_get_as_bytes()?;
    Ok(Hs256::new(*algorithm, key.family(), secret)?)
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], tag: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.0, message, tag).map_err(|_| Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7515, appendix A.1.
    #[test]
    fn a_token_of_the_standard_is_verified() {
        use base64::Engine as _;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
        let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let key = DecodingKey::from_secret(&BASE64.decode(secret).unwrap());
        let message = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let tag = BASE64
            .decode("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
            .unwrap();
        let verifier = verifier(&Algorithm::HS256, &key).unwrap();
        assert!(verifier.verify(message.as_bytes(), &tag).is_ok());
        let mut wrong = tag;
        wrong[0] ^= 1;
        assert!(verifier.verify(message.as_bytes(), &wrong).is_err());
    }

    #[test]
    fn other_algorithms_are_refused() {
        let key = DecodingKey::from_secret(b"0123456789abcdef0123456789abcdef");
        for algorithm in [Algorithm::HS384, Algorithm::RS256, Algorithm::EdDSA] {
            assert!(verifier(&algorithm, &key).is_err(), "{algorithm:?}");
        }
    }
}
