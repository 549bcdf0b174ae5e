//! The certificate of the API's address, for TLS. It is read again when its files change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig};
use tokio_util::sync::CancellationToken;

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(10);
/// The protocols that a client may choose from, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate and its key, in step with their files.
#[derive(Debug)]
pub(crate) struct CertificateKeeper {
    files: CertificateFiles,
    /// What the files had when they were last looked at.
    seen: (Vec<u8>, Vec<u8>),
    current: Arc<Current>,
    failing: bool,
}

/// The files of a certificate, in the format PEM.
#[derive(Clone, Debug)]
pub(crate) struct CertificateFiles {
    /// The certificate of the service, followed by those of its authorities.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// The certificate for new connections.
#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl CertificateKeeper {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file cannot be read, is of another format, or the key is of another certificate. Names
    /// the setting.
    pub(crate) async fn open(files: CertificateFiles) -> anyhow::Result<Self> {
        let seen = files.read().await?;
        let key = files.parse(&seen)?;
        Ok(Self {
            files,
            seen,
            current: Arc::new(Current(ArcSwap::from_pointee(key))),
            failing: false,
        })
    }

    /// Returns the configuration of TLS. It always has the current certificate.
    pub(crate) fn config(&self) -> anyhow::Result<Arc<ServerConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("configuring TLS")?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }

    /// Looks at the files every ten seconds until stopped. Reports whether each attempt failed.
    pub(crate) async fn run(mut self, stop: CancellationToken, report: impl Fn(bool)) {
        while stop
            .run_until_cancelled(tokio::time::sleep(PERIOD))
            .await
            .is_some()
        {
            self.refresh().await;
            report(self.failing);
        }
    }

    /// Takes a new certificate, if the files have one. Until both files are of one certificate, the
    /// old one stays: programs that renew certificates replace one file after the other.
    async fn refresh(&mut self) {
        match self.changed().await {
            Ok(None) => {}
            Ok(Some(key)) => {
                self.current.0.store(Arc::new(key));
                self.failing = false;
                tracing::info!("the certificate was read again, because its files have changed");
            }
            Err(error) => {
                if !self.failing {
                    tracing::error!("the certificate stays as it is: {error:#}");
                }
                self.failing = true;
            }
        }
    }

    async fn changed(&mut self) -> anyhow::Result<Option<CertifiedKey>> {
        let read = self.files.read().await?;
        if read == self.seen {
            self.failing = false;
            return Ok(None);
        }
        let key = self.files.parse(&read)?;
        self.seen = read;
        Ok(Some(key))
    }
}

impl CertificateFiles {
    async fn read(&self) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
        let certificate = read(
            &self.certificate,
            "certificate",
            "--tls-certificate, VITRINE_TLS_CERTIFICATE",
        )
        .await?;
        Ok((
            certificate,
            read(&self.key, "key", "--tls-key, VITRINE_TLS_KEY").await?,
        ))
    }

    fn parse(&self, (certificate, key): &(Vec<u8>, Vec<u8>)) -> anyhow::Result<CertifiedKey> {
        let (certificate_path, key_path) = (self.certificate.display(), self.key.display());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.unwrap_or_default();
        ensure!(
            !chain.is_empty(),
            "the file {certificate_path} (--tls-certificate, VITRINE_TLS_CERTIFICATE) has no certificate in the format PEM; it must begin with the certificate of the service, followed by those of its authorities"
        );
        let key = PrivateKeyDer::from_pem_slice(key).ok().with_context(|| {
            format!("the file {key_path} (--tls-key, VITRINE_TLS_KEY) has no private key in the format PEM")
        })?;
        let provider = rustls::crypto::ring::default_provider();
        CertifiedKey::from_der(chain, key, &provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => anyhow::anyhow!(
                "the key in {key_path} (--tls-key, VITRINE_TLS_KEY) is not that of the first certificate in {certificate_path} (--tls-certificate, VITRINE_TLS_CERTIFICATE)"
            ),
            error => anyhow::anyhow!(
                "the certificate in {certificate_path} (--tls-certificate, VITRINE_TLS_CERTIFICATE) or the key in {key_path} (--tls-key, VITRINE_TLS_KEY) cannot be used: {error}"
            ),
        })
    }
}

async fn read(path: &Path, what: &str, flag: &str) -> anyhow::Result<Vec<u8>> {
    tokio::fs::read(path)
        .await
        .with_context(|| format!("cannot read the {what} in {} ({flag})", path.display()))
}

#[cfg(test)]
mod tests;
