//! Settings of what operators learn about requests: traces, and a log of slow operations.

use std::fmt;
use std::time::Duration;

use clap::Args;
use hyper::Uri;

/// What operators learn about requests.
#[derive(Clone, Debug, Args)]
pub struct TelemetrySettings {
    /// Log operations that take at least this long, in milliseconds: one in ten seconds, without values
    /// that clients have sent. 0: none. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_SLOW_OPERATION",
        default_value_t = 1_000
    )]
    pub slow_operation: u64,
    /// The collector that traces are sent to, with OTLP over HTTP: `http://127.0.0.1:4318`. Without it,
    /// there are no traces. For dev and serve.
    #[arg(long, global = true, env = "VITRINE_OTLP_ENDPOINT", value_parser = OtlpEndpoint::parse)]
    pub otlp_endpoint: Option<OtlpEndpoint>,
}

/// Where traces are sent: an address that ends in the path of the collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint(Uri);

impl OtlpEndpoint {
    /// Reads an address. Without a path it gets the usual one, `/v1/traces`.
    fn parse(text: &str) -> Result<Self, String> {
        let wanted = "it must be an http:// or https:// address, such as http://127.0.0.1:4318";
        let uri: Uri = text.parse().map_err(|_| wanted.to_owned())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(wanted.to_owned());
        }
        if !matches!(uri.path(), "" | "/") {
            return Ok(Self(uri));
        }
        let text = format!("{}/v1/traces", text.trim_end_matches('/'));
        text.parse().map(Self).map_err(|_| wanted.to_owned())
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TelemetrySettings {
    /// From which duration on operations are logged; `None` if none are.
    pub(crate) fn slow_operation(&self) -> Option<Duration> {
        (self.slow_operation > 0).then(|| Duration::from_millis(self.slow_operation))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::settings::Cli;

    fn telemetry(arguments: &str) -> Result<TelemetrySettings, clap::Error> {
        let arguments = arguments.split_whitespace();
        Ok(Cli::try_parse_from(["vitrine"].into_iter().chain(arguments))?.telemetry)
    }

    #[test]
    fn slow_operations_are_logged_unless_the_limit_is_zero() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(telemetry("").unwrap().slow_operation(), second);
        let none = telemetry("--slow-operation 0").unwrap();
        assert_eq!(none.slow_operation(), None);
        assert!(telemetry("--slow-operation -1").is_err());
    }

    #[test]
    fn an_address_without_a_path_gets_the_usual_one() {
        for (given, used) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://otlp.example/", "https://otlp.example/v1/traces"),
            ("https://otlp.example/in", "https://otlp.example/in"),
        ] {
            let telemetry = telemetry(&format!("--otlp-endpoint {given}")).unwrap();
            assert_eq!(telemetry.otlp_endpoint.unwrap().to_string(), used);
        }
        for wrong in ["otlp.example", "grpc://otlp.example", "http://"] {
            let refused = telemetry(&format!("--otlp-endpoint {wrong}")).unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains("must be an http://"), "{wrong}: {refused}");
        }
    }
}
