//! Settings of signing in on the pages, at an identity provider.

use anyhow::{Context as _, ensure};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use vitrine_web::{Login, Site};

use super::TokenSettings;
use crate::auth::{DiscoveryKeeper, discovery_address};

/// How visitors of the storefront and the console sign in.
#[derive(Clone, Debug, Args)]
#[expect(
    clippy::struct_field_names,
    reason = "each field has the name of its flag"
)]
pub struct LoginSettings {
    /// The id of this shop's pages at the identity provider, where they are a public client. Visitors
    /// then sign in there, with `OpenID` Connect. Needs --token-keys and --storefront or --console. For
    /// serve.
    #[arg(long, global = true, env = "VITRINE_LOGIN_CLIENT_ID", value_parser = NonEmptyStringValueParser::new())]
    pub login_client_id: Option<String>,
    /// The scopes that the pages ask for, separated by blanks; `openid` is one of them. For serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LOGIN_SCOPE",
        default_value = "openid",
        value_parser = scope
    )]
    pub login_scope: String,
    /// What the tokens are for (RFC 8707), an absolute address: sent as `resource` to the identity provider. Some
    /// providers issue readable tokens only then, others refuse it. For serve.
    #[arg(long, global = true, env = "VITRINE_LOGIN_RESOURCE", value_parser = resource)]
    pub login_resource: Option<String>,
}

impl LoginSettings {
    /// Adds the sign-in to the pages. Returns what keeps its addresses up to date, if there is one.
    ///
    /// # Errors
    /// If there are no pages, if the tokens of the provider would not be accepted, or if the issuer is
    /// no address.
    pub(crate) fn add_to(
        &self,
        site: &mut Site,
        tokens: &TokenSettings,
    ) -> anyhow::Result<Option<DiscoveryKeeper>> {
        let Some(client_id) = &self.login_client_id else {
            return Ok(None);
        };
        ensure!(
            site.storefront || site.console,
            "VITRINE_LOGIN_CLIENT_ID needs VITRINE_STOREFRONT or VITRINE_CONSOLE: without them there \
             is no page to sign in on"
        );
        let issuer = tokens.token_issuer.as_deref();
        let (Some(_), Some(issuer)) = (tokens.keys()?, issuer) else {
            anyhow::bail!(
                "VITRINE_LOGIN_CLIENT_ID needs VITRINE_TOKEN_KEYS, VITRINE_TOKEN_ISSUER and \
                 VITRINE_TOKEN_AUDIENCE: without them the tokens of the identity provider are not \
                 accepted"
            );
        };
        let address = discovery_address(issuer)
            .map_err(anyhow::Error::msg)
            .context("VITRINE_LOGIN_CLIENT_ID needs an address in VITRINE_TOKEN_ISSUER")?;
        let audience = tokens.token_audience.first().map(String::as_str);
        let login = Login::new(
            issuer,
            client_id,
            &self.login_scope,
            audience,
            self.login_resource.as_deref(),
        );
        site.login = Some(login.clone());
        let keeper = DiscoveryKeeper::new(address, issuer.to_owned(), login);
        Ok(Some(keeper))
    }
}

/// Reads an absolute address without a fragment (RFC 8707, section 2).
fn resource(text: &str) -> Result<String, &'static str> {
    let scheme = text.split_once(':').filter(|(scheme, rest)| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(is_sign)
            && !rest.is_empty()
    });
    let is_printable = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if scheme.is_none() || !is_printable {
        return Err("it is an absolute address without a fragment: https://shop.example/api");
    }
    Ok(text.to_owned())
}

/// Reads scopes (RFC 6749, section 3.3).
fn scope(text: &str) -> Result<String, &'static str> {
    let scopes: Vec<&str> = text.split_ascii_whitespace().collect();
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
    if !scopes.iter().all(|one| one.bytes().all(fits)) {
        return Err("scopes have printable ASCII characters, without quotes and backslashes");
    }
    if !scopes.contains(&"openid") {
        return Err("`openid` must be one of the scopes");
    }
    Ok(scopes.join(" "))
}

#[cfg(test)]
mod tests {
    use vitrine_web::Site;

    use crate::settings::Cli;

    const PROVIDER: &str = "--token-keys https://id.example/keys --token-audience shop";

    fn added(line: &str) -> Result<Site, String> {
        let cli = Cli::read(
            ["vitrine", "serve"]
                .into_iter()
                .chain(line.split_ascii_whitespace()),
        );
        let cli = cli.map_err(|error| error.to_string())?;
        let mut site = cli.clients.site();
        let added = cli.login.add_to(&mut site, &cli.common.tokens);
        added.map_err(|error| format!("{error:#}"))?;
        Ok(site)
    }

    #[test]
    fn signing_in_needs_pages_and_keys_of_an_issuer_with_an_address() {
        let whole = format!("{PROVIDER} --token-issuer https://id.example --login-client-id web");
        for pages in ["--storefront", "--console"] {
            assert!(added(&format!("{whole} {pages}")).unwrap().login.is_some());
            assert!(added(pages).unwrap().login.is_none());
        }
        let id = "--login-client-id web";
        for (line, reason) in [
            (whole, "VITRINE_LOGIN_CLIENT_ID needs VITRINE_STOREFRONT"),
            (
                format!("{id} --console --token-issuer https://id.example"),
                "VITRINE_LOGIN_CLIENT_ID needs VITRINE_TOKEN_KEYS, VITRINE_TOKEN_ISSUER",
            ),
            (
                format!("{id} --console {PROVIDER}"),
                "VITRINE_TOKEN_KEYS needs VITRINE_TOKEN_ISSUER",
            ),
            (
                format!("{id} --console {PROVIDER} --token-issuer shop"),
                "an address in VITRINE_TOKEN_ISSUER: it is no address",
            ),
        ] {
            let error = added(&line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }

    #[test]
    fn a_resource_is_an_absolute_address() {
        for (text, fits) in [
            ("https://shop.example/api", true),
            ("urn:shop", true),
            ("shop", false),
            ("https://shop.example/#api", false),
            ("1:a", false),
            ("urn:", false),
        ] {
            let read = Cli::read(["vitrine", "serve", "--login-resource", text]);
            assert_eq!(read.is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn scopes_include_openid() {
        let read = |scope: &str| {
            let cli = Cli::read(["vitrine", "serve", "--login-scope", scope]);
            cli.map(|cli| cli.login.login_scope)
        };
        let scopes = read(" openid  offline_access api://shop/use").unwrap();
        assert_eq!(scopes, "openid offline_access api://shop/use");
        for wrong in ["", "profile", "openid \"a\"", "openid é"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Cli::read(["vitrine", "serve"]).unwrap().login.login_scope,
            "openid"
        );
    }
}
