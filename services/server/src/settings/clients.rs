//! Settings of what clients may rely on: other origins, caches, persisted queries.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use vitrine_api::graphql::engine;
use vitrine_api::http::{HeaderValue, TrustedDocuments};
use vitrine_web::Site;

/// What clients may rely on.
#[derive(Clone, Debug, Args)]
pub struct ClientSettings {
    /// An origin whose pages may send requests and open web sockets: `https://shop.example`. May be
    /// repeated, or several separated by commas. For dev and serve.
    #[arg(long, global = true, env = "VITRINE_ALLOWED_ORIGIN", value_delimiter = ',', value_parser = origin)]
    pub allowed_origin: Vec<HeaderValue>,
    /// For how many seconds caches may use answers to queries sent with GET by callers without a
    /// token, without asking again. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_CACHE_MAX_AGE",
        default_value_t = 0
    )]
    pub cache_max_age: u32,
    /// A file with the documents that clients may send, as Apollo's or Relay's tools write it. No
    /// others are executed. For dev and serve.
    #[arg(long, global = true, env = "VITRINE_TRUSTED_DOCUMENTS")]
    pub trusted_documents: Option<PathBuf>,
    /// Answer introspection to all callers; without this, to moderators, admins and services. For
    /// serve.
    #[arg(long, global = true, env = "VITRINE_PUBLIC_INTROSPECTION")]
    pub public_introspection: bool,
    /// Show browsers a page for trying out queries. For serve.
    #[arg(long, global = true, env = "VITRINE_GRAPHIQL")]
    pub graphiql: bool,
    /// Show browsers the console, in which moderators and admins work. For serve; dev always does.
    #[arg(long, global = true, env = "VITRINE_CONSOLE")]
    pub console: bool,
    /// The storefront of `serve`.
    #[command(flatten)]
    pub storefront: StorefrontSettings,
}

/// The storefront of `serve`. Its origin is refused on the command line where there is no storefront.
///
/// Not with `requires` of clap: that compares flags before the command, flags after it, and
/// environment variables each on their own, so it would refuse `VITRINE_STOREFRONT_ORIGIN` with
/// `serve --storefront`.
#[derive(Clone, Debug)]
pub struct StorefrontSettings(StorefrontFlags);

#[derive(Clone, Debug, Args)]
struct StorefrontFlags {
    /// Show browsers the storefront. For serve; dev always does.
    #[arg(long, global = true, env = "VITRINE_STOREFRONT")]
    storefront: bool,
    /// The public origin of the storefront, `https://shop.example`, for canonical addresses and
    /// structured data. Needs --storefront. For serve.
    #[arg(long, global = true, env = "VITRINE_STOREFRONT_ORIGIN", value_parser = shop_origin)]
    storefront_origin: Option<String>,
}

impl FromArgMatches for StorefrontSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let flags = StorefrontFlags::from_arg_matches(matches)?;
        let origin = matches.value_source("storefront_origin");
        if origin == Some(ValueSource::CommandLine) && !flags.storefront {
            let text = "--storefront-origin needs --storefront\n";
            return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, text));
        }
        Ok(Self(flags))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for StorefrontSettings {
    fn augment_args(command: Command) -> Command {
        StorefrontFlags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        StorefrontFlags::augment_args_for_update(command)
    }
}

impl ClientSettings {
    /// The pages that browsers get from `serve`.
    pub(crate) fn site(&self) -> Site {
        Site {
            storefront: self.storefront.0.storefront,
            console: self.console,
            graphiql: self.graphiql,
            origin: self.storefront.0.storefront_origin.clone(),
            ..Site::default()
        }
    }

    /// The origins whose pages may send requests and open web sockets. Those of the shop itself may, also behind a proxy
    /// that changes `Host`.
    pub(crate) fn origins(&self) -> impl Iterator<Item = HeaderValue> {
        let shop = self.storefront.0.storefront_origin.as_deref();
        let shop = shop.and_then(|origin| HeaderValue::from_str(origin).ok());
        self.allowed_origin.iter().cloned().chain(shop)
    }

    /// How long caches may use public answers.
    pub(crate) fn max_age(&self) -> Duration {
        Duration::from_secs(self.cache_max_age.into())
    }

    /// Reads the trusted documents, if there is a list. Fails if one of them is not valid, because
    /// its client could not work.
    pub(crate) fn trusted(&self) -> anyhow::Result<Option<TrustedDocuments>> {
        let Some(path) = &self.trusted_documents else {
            return Ok(None);
        };
        let name = || {
            format!(
                "--trusted-documents {} (VITRINE_TRUSTED_DOCUMENTS)",
                path.display()
            )
        };
        let text = std::fs::read_to_string(path).with_context(name)?;
        let trusted = TrustedDocuments::parse(&text).map_err(anyhow::Error::msg);
        let trusted = trusted.with_context(name)?;
        let engine = engine().context("building the schema")?;
        for (id, body) in trusted.iter() {
            if let Some(error) = engine.validator().validate(body).errors().first() {
                anyhow::bail!("{}: document {id}: {}", name(), error.message);
            }
        }
        Ok(Some(trusted))
    }
}

/// Reads the public origin of the storefront.
fn shop_origin(text: &str) -> Result<String, String> {
    let origin = origin(text)?;
    let text = origin.to_str().map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

/// Reads an origin as browsers send it: scheme, host and port.
fn origin(text: &str) -> Result<HeaderValue, String> {
    let invalid = || "must be a scheme, a host and a port if there is one: https://shop.example";
    let (scheme, host) = text.split_once("://").ok_or_else(invalid)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let fits = matches!(scheme, "http" | "https") && !host.is_empty() && host.bytes().all(plain);
    if !fits {
        return Err(invalid().to_owned());
    }
    HeaderValue::from_str(&text.to_ascii_lowercase()).map_err(|_| invalid().to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::settings::Cli;

    fn clients(arguments: &[&str]) -> Result<super::ClientSettings, clap::Error> {
        Ok(Cli::try_parse_from(["vitrine"].iter().chain(arguments))?.clients)
    }

    #[test]
    fn origins_are_those_that_browsers_send() {
        let two = "https://shop.example,http://LOCALHOST:5173";
        let settings = clients(&["--allowed-origin", two]).unwrap();
        assert_eq!(
            settings.allowed_origin,
            ["https://shop.example", "http://localhost:5173"]
        );
        for wrong in [
            "*",
            "shop.example",
            "https://",
            "https://a/b",
            "ftp://a",
            "https://a ",
        ] {
            let error = clients(&["--allowed-origin", wrong]).unwrap_err();
            assert!(error.to_string().contains("must be a scheme"), "{wrong}");
        }
    }

    #[test]
    fn the_origin_of_a_storefront_needs_the_storefront() {
        let (shop, origin) = ("--storefront", "--storefront-origin=https://shop.example");
        for alone in [["serve", origin], [origin, "serve"]] {
            let error = clients(&alone).unwrap_err().to_string();
            assert!(error.contains("needs --storefront"), "{error}");
        }
        for both in [
            ["serve", shop, origin],
            [shop, origin, "serve"],
            [origin, "serve", shop],
            [shop, "serve", origin],
        ] {
            let site = clients(&both).unwrap().site();
            assert_eq!(site.origin.as_deref(), Some("https://shop.example"));
            assert!(site.storefront, "{both:?}");
        }
        assert_eq!(clients(&["serve", shop]).unwrap().site().origin, None);
    }

    #[test]
    fn trusted_documents_must_be_valid() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("list.json");
        let path = file.to_str().unwrap();
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let settings = clients(&["--trusted-documents", path]).unwrap();
            settings.trusted().map_err(|error| format!("{error:#}"))
        };
        assert!(
            read(r#"{ "a": "{ categories { slug } }" }"#)
                .unwrap()
                .is_some()
        );
        let error = read(r#"{ "a": "{ nowhere }" }"#).unwrap_err();
        assert!(
            error.contains("document a: ") && error.contains("nowhere"),
            "{error}"
        );
        let error = read("nonsense").unwrap_err();
        assert!(
            error.starts_with("--trusted-documents ") && error.contains("not JSON"),
            "{error}"
        );
        assert!(clients(&[]).unwrap().trusted().unwrap().is_none());
    }
}
