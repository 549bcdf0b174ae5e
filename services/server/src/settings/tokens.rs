//! Settings of tokens.

use std::convert::Infallible;
use std::str::FromStr;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::auth::{ClaimRules, KeyPlace};

/// Which tokens are accepted, and what their claims mean.
#[derive(Clone, Debug, Args)]
pub struct TokenSettings {
    /// The secret that signs tokens (HS256), at least 32 characters. Generated for a database on
    /// this machine.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TOKEN_SECRET",
        hide_env_values = true
    )]
    pub token_secret: Option<Secret>,
    /// A second secret whose tokens are accepted, so that the first can be replaced while the
    /// service is in use.
    #[arg(
        long,
        global = true,
        env = "VITRINE_PREVIOUS_TOKEN_SECRET",
        hide_env_values = true
    )]
    pub previous_token_secret: Option<Secret>,
    /// The keys of an identity provider (a JSON Web Key Set): a file or an https:// address. Its
    /// tokens (RS256, ES256, Ed25519) are accepted.
    #[arg(long, global = true, env = "VITRINE_TOKEN_KEYS", value_parser = KeyPlace::parse)]
    pub(crate) token_keys: Option<KeyPlace>,
    /// The issuer (`iss`) that tokens must have. Required with keys of an identity provider.
    #[arg(long, global = true, env = "VITRINE_TOKEN_ISSUER", value_parser = NonEmptyStringValueParser::new())]
    pub token_issuer: Option<String>,
    /// An audience (`aud`); tokens must be for one of them. May be repeated, or several separated
    /// by commas. Required with keys of an identity provider.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TOKEN_AUDIENCE",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub token_audience: Vec<String>,
    /// The allowed difference between the clocks of token issuers and the database's, in seconds,
    /// at most 300.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TOKEN_LEEWAY",
        default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(0..=300)
    )]
    pub token_leeway: u16,
    /// The claim with the caller's roles: its name, or a path with dots into nested objects.
    #[arg(long, global = true, env = "VITRINE_TOKEN_ROLES_CLAIM", default_value = "roles", value_parser = NonEmptyStringValueParser::new())]
    pub token_roles_claim: String,
    /// What the names of roles begin with in tokens. Roles without it are ignored.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TOKEN_ROLE_PREFIX",
        default_value = ""
    )]
    pub token_role_prefix: String,
    /// The claim with the caller's id: its name, or a path with dots into nested objects.
    #[arg(long, global = true, env = "VITRINE_TOKEN_SUBJECT_CLAIM", default_value = "sub", value_parser = NonEmptyStringValueParser::new())]
    pub token_subject_claim: String,
}

impl TokenSettings {
    /// Returns the rules for claims.
    pub(crate) fn rules(&self) -> ClaimRules {
        ClaimRules {
            issuer: self.token_issuer.clone(),
            audiences: self.token_audience.clone(),
            leeway_seconds: self.token_leeway,
            subject_claim: self.token_subject_claim.clone(),
            roles_claim: self.token_roles_claim.clone(),
            role_prefix: self.token_role_prefix.clone(),
        }
    }

    /// Returns where the keys of an identity provider are.
    ///
    /// # Errors
    /// If the issuer or the audience is not set.
    pub(crate) fn keys(&self) -> anyhow::Result<Option<&KeyPlace>> {
        let lacks_origin = self.token_issuer.is_none() || self.token_audience.is_empty();
        anyhow::ensure!(
            self.token_keys.is_none() || !lacks_origin,
            "VITRINE_TOKEN_KEYS needs VITRINE_TOKEN_ISSUER and VITRINE_TOKEN_AUDIENCE: an identity \
             provider signs the tokens of all its clients with the same keys, and without them the \
             tokens of any other client would be accepted here"
        );
        Ok(self.token_keys.as_ref())
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Cli;

    fn read(line: &str) -> Result<Cli, clap::Error> {
        Cli::read(["vitrine", "serve"].into_iter().chain(line.split(' ')))
    }

    #[test]
    fn settings_of_tokens_are_checked() {
        for line in [
            "--token-leeway 301",
            "--token-leeway -1",
            "--token-keys http://keys.example/jwks.json",
            "--token-keys ftp://keys.example/jwks.json",
            "--token-keys https://user:word@keys.example/jwks.json",
            "--token-keys https://",
            "--token-keys=",
            "--token-issuer=",
            "--token-audience=",
            "--token-roles-claim=",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
        for line in [
            "--token-leeway 0",
            "--token-leeway 300",
            "--token-keys /etc/keys.json",
            "--token-keys https://keys.example/jwks.json",
            "--token-keys http://localhost:8180/realms/shop/certs",
            "--token-keys http://127.0.0.1/jwks.json",
            "--token-keys http://[::1]:80/jwks.json",
            "--token-role-prefix=",
        ] {
            assert!(read(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn keys_need_an_issuer_and_an_audience() {
        let keys = "--token-keys https://keys.example/jwks.json";
        for (rest, accepted) in [
            ("", false),
            (" --token-issuer a", false),
            (" --token-audience b", false),
            (" --token-issuer a --token-audience b", true),
        ] {
            let cli = read(&format!("{keys}{rest}")).unwrap();
            assert_eq!(cli.common.tokens.keys().is_ok(), accepted, "{rest}");
        }
        let cli = read("--listen 127.0.0.1:1").unwrap();
        assert!(cli.common.tokens.keys().unwrap().is_none());
    }

    #[test]
    fn audiences_are_repeated_or_separated() {
        let cli = read("--token-audience a,b --token-audience c").unwrap();
        assert_eq!(cli.common.tokens.token_audience, ["a", "b", "c"]);
    }

    #[test]
    fn secrets_are_not_shown() {
        let cli = read(
            "--token-secret secret-1 --previous-token-secret secret-2 --cursor-secret secret-3 \
             --mongodb-uri mongodb://ada:secret-4@db.example --token-keys https://a.example/k?key=secret-5",
        );
        let shown = format!("{:?}", cli.unwrap());
        assert!(!shown.contains("secret-"), "{shown}");
    }
}
