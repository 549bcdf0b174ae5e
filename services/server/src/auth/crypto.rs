//! The cryptography of `jsonwebtoken`, computed by `ring`, which TLS needs anyway: the providers
//! of the library would bring a second cryptographic library.
//!
//! HS256 signs and verifies; RS256, ES256 and Ed25519 verify only.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
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
    fn new(secret: &[u8]) -> Box<Self> {
        Box::new(Self(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }
}

/// Verifies with a public key.
enum PublicKey {
    Rs256(RsaPublicKeyComponents<Vec<u8>>),
    Es256(UnparsedPublicKey<Vec<u8>>),
    Ed25519(UnparsedPublicKey<Vec<u8>>),
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the library calls it like this"
)]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => Ok(Hs256::new(key.as_bytes())),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

/// Returns the verifier of a key. A key of one family never verifies an algorithm of another.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the library calls it like this"
)]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    use Algorithm::{ES256, EdDSA, HS256, RS256};
    use AlgorithmFamily::{Ec, Ed, Hmac, Rsa};
    use DecodingKeyKind::{RsaModulusExponent, SecretOrDer};
    let public_key = match (algorithm, key.family(), key.kind()) {
        (HS256, Hmac, SecretOrDer(secret)) => return Ok(Hs256::new(secret)),
        (RS256, Rsa, RsaModulusExponent { n, e }) => PublicKey::Rs256(RsaPublicKeyComponents {
            n: n.clone(),
            e: e.clone(),
        }),
        (ES256, Ec, SecretOrDer(point)) => PublicKey::Es256(UnparsedPublicKey::new(
            &ECDSA_P256_SHA256_FIXED,
            point.clone(),
        )),
        (EdDSA, Ed, SecretOrDer(point)) => {
            PublicKey::Ed25519(UnparsedPublicKey::new(&ED25519, point.clone()))
        }
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    Ok(Box::new(public_key))
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

impl Verifier<Vec<u8>> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match self {
            Self::Rs256(key) => key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            Self::Es256(key) | Self::Ed25519(key) => key.verify(message, signature),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for PublicKey {
    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rs256(_) => Algorithm::RS256,
            Self::Es256(_) => Algorithm::ES256,
            Self::Ed25519(_) => Algorithm::EdDSA,
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

    use super::*;

    /// The claims of the examples of RFC 7515.
    const CLAIMS: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    /// Asserts that a signature is verified, and that a changed signature or message is not.
    fn assert_verifies(algorithm: Algorithm, key: &DecodingKey, message: &str, signature: &str) {
        let signature = BASE64.decode(signature).unwrap();
        let verifier = verifier(&algorithm, key).unwrap();
        assert_eq!(verifier.algorithm(), algorithm);
        assert!(verifier.verify(message.as_bytes(), &signature).is_ok());
        let other = format!("{message}x");
        assert!(verifier.verify(other.as_bytes(), &signature).is_err());
        let mut wrong = signature.clone();
        wrong[0] ^= 1;
        assert!(verifier.verify(message.as_bytes(), &wrong).is_err());
        for wrong in [&signature[1..], &[]] {
            let wrong = wrong.to_vec();
            assert!(verifier.verify(message.as_bytes(), &wrong).is_err());
        }
    }

    /// The example of RFC 7515, appendix A.1.
    #[test]
    fn an_hs256_token_of_the_standard_is_verified() {
        let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let key = DecodingKey::from_secret(&BASE64.decode(secret).unwrap());
        let message = format!("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{CLAIMS}");
        let signature = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_verifies(Algorithm::HS256, &key, &message, signature);
    }

    /// The example of RFC 7515, appendix A.2.
    #[test]
    fn an_rs256_token_of_the_standard_is_verified() {
        let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
        let key = DecodingKey::from_rsa_components(n, "AQAB").unwrap();
        let message = format!("eyJhbGciOiJSUzI1NiJ9.{CLAIMS}");
        let signature = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        assert_verifies(Algorithm::RS256, &key, &message, signature);
    }

    /// The example of RFC 7515, appendix A.3.
    #[test]
    fn an_es256_token_of_the_standard_is_verified() {
        let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
        let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
        let key = DecodingKey::from_ec_components(x, y).unwrap();
        let message = format!("eyJhbGciOiJFUzI1NiJ9.{CLAIMS}");
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        assert_verifies(Algorithm::ES256, &key, &message, signature);
    }

    /// The example of RFC 8037, appendix A.4.
    #[test]
    fn an_ed25519_token_of_the_standard_is_verified() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let key = DecodingKey::from_ed_components(x).unwrap();
        let message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert_verifies(Algorithm::EdDSA, &key, message, signature);
    }

    #[test]
    fn a_key_verifies_one_algorithm_only() {
        let secret = DecodingKey::from_secret(b"0123456789abcdef0123456789abcdef");
        let rsa = DecodingKey::from_rsa_raw_components(&[0x80; 256], &[1, 0, 1]);
        let ec = DecodingKey::from_ec_der(&[4; 65]);
        let ed = DecodingKey::from_ed_der(&[1; 32]);
        let algorithms = [
            Algorithm::HS256,
            Algorithm::HS384,
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::PS256,
            Algorithm::ES256,
            Algorithm::ES384,
            Algorithm::EdDSA,
        ];
        for (key, own) in [
            (&secret, Algorithm::HS256),
            (&rsa, Algorithm::RS256),
            (&ec, Algorithm::ES256),
            (&ed, Algorithm::EdDSA),
        ] {
            for algorithm in algorithms {
                let verifies = verifier(&algorithm, key).is_ok();
                assert_eq!(verifies, algorithm == own, "{algorithm:?} with {own:?}");
            }
        }
    }
}
