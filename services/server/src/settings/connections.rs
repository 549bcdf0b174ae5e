//! Settings of connections: where the service listens beside its API, TLS, and limits.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::certificate::CertificateFiles;

/// Settings of connections.
#[derive(Clone, Debug, Args)]
pub struct ConnectionSettings {
    /// The address for health checks and metrics: /health/live, /health/ready and /metrics. For
    /// serve and work.
    #[arg(long, global = true, env = "VITRINE_MONITOR_LISTEN")]
    pub monitor_listen: Option<SocketAddr>,
    /// Answer /metrics also at the address of the API. For serve.
    #[arg(long, global = true, env = "VITRINE_PUBLIC_METRICS")]
    pub public_metrics: bool,
    /// The certificate for TLS, followed by those of its authorities (PEM). It is read again when
    /// the file changes. Without it, the API is served without TLS. For serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TLS_CERTIFICATE",
        requires = "tls_key"
    )]
    pub tls_certificate: Option<PathBuf>,
    /// The private key of the certificate (PEM). For serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TLS_KEY",
        requires = "tls_certificate"
    )]
    pub tls_key: Option<PathBuf>,
    /// The maximum number of connections. For serve.
    #[arg(long, global = true, env = "VITRINE_CONNECTION_LIMIT", default_value_t = 10_000, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub connection_limit: usize,
    /// The maximum number of connections from one address, or one /64 network of IPv6. Trusted
    /// proxies have no limit. For serve.
    #[arg(long, global = true, env = "VITRINE_CONNECTION_LIMIT_PER_ADDRESS", default_value_t = 512, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub connection_limit_per_address: usize,
    /// The maximum number of web sockets of one client: of a token's subject, or of an address
    /// without a token. For serve.
    #[arg(long, global = true, env = "VITRINE_SOCKET_LIMIT_PER_CLIENT", default_value_t = 250, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub socket_limit_per_client: usize,
    /// The maximum number of subscriptions and other operations that one client has on its web
    /// sockets at a time. For serve.
    #[arg(long, global = true, env = "VITRINE_SUBSCRIPTION_LIMIT_PER_CLIENT", default_value_t = 500, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub subscription_limit_per_client: usize,
}

impl ConnectionSettings {
    /// The files of the certificate, if TLS is used.
    pub(crate) fn certificate(&self) -> Option<CertificateFiles> {
        Some(CertificateFiles {
            certificate: self.tls_certificate.clone()?,
            key: self.tls_key.clone()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::settings::Cli;

    fn settings(arguments: &str) -> Result<super::ConnectionSettings, clap::Error> {
        let arguments = arguments.split_whitespace();
        Ok(Cli::try_parse_from(["vitrine"].into_iter().chain(arguments))?.connections)
    }

    #[test]
    fn a_certificate_needs_its_key() {
        for (wrong, missing) in [
            ("serve --tls-certificate a.pem", "--tls-key"),
            ("serve --tls-key a.pem", "--tls-certificate"),
        ] {
            let message = settings(wrong).unwrap_err().to_string();
            assert!(message.contains(missing), "{message}");
        }
        let both = settings("serve --tls-certificate a.pem --tls-key b.pem").unwrap();
        assert!(both.certificate().is_some());
        assert!(settings("serve").unwrap().certificate().is_none());
    }

    #[test]
    fn a_limit_of_nothing_is_refused() {
        for wrong in [
            "--connection-limit 0",
            "--connection-limit-per-address 0",
            "--socket-limit-per-client 0",
            "--subscription-limit-per-client 0",
        ] {
            assert!(settings(wrong).is_err(), "{wrong}");
        }
    }
}
