//! What the log says of tokens that an identity provider has issued for itself alone.

use std::fs;

use vitrine_harness::http;
use vitrine_harness::mongod::Server;
use vitrine_harness::process::run;

use crate::{at, block_on, serve};

/// A public key, of RFC 8037.
const KEYS: &str = r#"{ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "one",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] }"#;

#[test]
fn opaque_tokens_of_an_identity_provider_are_logged_once_in_a_while() {
    block_on(async {
        let server = Server::start("tokens").await.unwrap();
        assert!(run(&at(server.uri(), &["migrate", "up"])).status.success());
        let directory = tempfile::tempdir().unwrap();
        let keys = directory.path().join("keys.json");
        fs::write(&keys, KEYS).unwrap();
        let provider = [
            "--token-keys",
            keys.to_str().unwrap(),
            "--token-issuer",
            "https://id.example",
            "--token-audience",
            "shop",
        ];
        let (service, address) = serve(server.uri(), &provider).await;
        for token in ["Jx1Yg0a", "ya29.b0c", "Jx1Yg0b"] {
            let refused = http::graphql(&address, "{ __typename }", Some(token)).await;
            assert_eq!(refused.unwrap().status, 401, "{token}");
        }
        let said = service.output();
        let lines = said
            .lines()
            .filter(|line| line.contains("a token is opaque"));
        assert_eq!(lines.count(), 1, "{said}");
        assert!(!said.contains("Jx1Yg0a"), "{said}");
        assert!(service.stop().await.success());
    });
}
