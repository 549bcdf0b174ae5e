use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use vitrine_api::http::{
    ConnectionEvent, ConnectionLimits, Connections, Listener, Metrics, monitor, serve,
};

use super::*;

const FIRST: (&[u8], &[u8]) = (
    include_bytes!("../auth/fixtures/tls-test-certificate.der"),
    include_bytes!("../auth/fixtures/tls-test-key.pk8"),
);
const RENEWED: (&[u8], &[u8]) = (
    include_bytes!("../auth/fixtures/tls-renewed-certificate.der"),
    include_bytes!("../auth/fixtures/tls-renewed-key.pk8"),
);

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

fn write_certificate(files: &CertificateFiles, der: &[u8]) {
    std::fs::write(&files.certificate, pem("CERTIFICATE", der)).unwrap();
}

fn write_key(files: &CertificateFiles, der: &[u8]) {
    std::fs::write(&files.key, pem("PRIVATE KEY", der)).unwrap();
}

fn files() -> (TempDir, CertificateFiles) {
    let dir = tempfile::tempdir().unwrap();
    let files = CertificateFiles {
        certificate: dir.path().join("certificate.pem"),
        key: dir.path().join("key.pem"),
    };
    write_certificate(&files, FIRST.0);
    write_key(&files, FIRST.1);
    (dir, files)
}

/// A server with these certificates; it stops when dropped.
struct Server {
    address: SocketAddr,
    connections: Connections,
    _tasks: JoinSet<std::io::Result<()>>,
}

impl Server {
    async fn start(keeper: &CertificateKeeper, limits: ConnectionLimits) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let connections = Connections::new(limits, []);
        let listener = Listener::from(tcp)
            .connections(connections.clone())
            .tls(keeper.config().unwrap());
        let router = monitor(|| Ok(()), Metrics::new("text/plain", String::new));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, router, std::future::pending()));
        Self {
            address,
            connections,
            _tasks: tasks,
        }
    }

    /// Connects with these protocols, trusting one certificate.
    async fn connect(
        &self,
        trusted: &'static [u8],
        protocols: &[&[u8]],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_slice(trusted)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }

    async fn trusts(&self, trusted: &'static [u8]) -> bool {
        self.connect(trusted, &[]).await.is_ok()
    }
}

#[tokio::test]
async fn requests_are_answered_over_tls() {
    let (_dir, files) = files();
    let keeper = CertificateKeeper::open(files).await.unwrap();
    let server = Server::start(&keeper, ConnectionLimits::default()).await;
    let mut stream = server.connect(FIRST.0, &[b"http/1.1"]).await.unwrap();
    let request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let both: [&[u8]; 2] = [b"http/1.1", b"h2"];
    let stream = server.connect(FIRST.0, &both).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
}

#[tokio::test]
async fn a_client_that_does_not_speak_tls_is_disconnected() {
    let (_dir, files) = files();
    let keeper = CertificateKeeper::open(files).await.unwrap();
    let limits = ConnectionLimits {
        handshake_timeout: Duration::from_millis(50),
        ..ConnectionLimits::default()
    };
    let server = Server::start(&keeper, limits).await;
    for (failures, sent) in [(1, "".as_bytes()), (2, b"GET / HTTP/1.1\r\n\r\n")] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut answer = Vec::new();
        // The connection may be reset.
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP"));
        let failed = server.connections.count(ConnectionEvent::HandshakeFailed);
        assert_eq!(failed, failures);
    }
    assert!(server.trusts(FIRST.0).await);
}

#[tokio::test]
async fn a_renewed_certificate_is_used_without_a_restart() {
    let (_dir, files) = files();
    let mut keeper = CertificateKeeper::open(files.clone()).await.unwrap();
    let server = Server::start(&keeper, ConnectionLimits::default()).await;
    assert!(server.trusts(FIRST.0).await);
    assert!(!server.trusts(RENEWED.0).await);
    // The files are replaced one after the other.
    write_certificate(&files, RENEWED.0);
    keeper.refresh().await;
    assert!(keeper.failing);
    assert!(server.trusts(FIRST.0).await);
    write_key(&files, RENEWED.1);
    keeper.refresh().await;
    assert!(!keeper.failing);
    assert!(server.trusts(RENEWED.0).await);
    assert!(!server.trusts(FIRST.0).await);
    std::fs::remove_file(&files.key).unwrap();
    keeper.refresh().await;
    assert!(keeper.failing);
    assert!(server.trusts(RENEWED.0).await);
    write_key(&files, RENEWED.1);
    keeper.refresh().await;
    assert!(!keeper.failing);
}

#[tokio::test]
async fn errors_name_the_setting() {
    let (_dir, files) = files();
    let error = async |files: &CertificateFiles| {
        let error = CertificateKeeper::open(files.clone()).await.unwrap_err();
        format!("{error:#}")
    };
    write_key(&files, RENEWED.1);
    let mismatch = error(&files).await;
    assert!(
        mismatch.contains("(--tls-key, VITRINE_TLS_KEY) is not that of"),
        "{mismatch}"
    );
    std::fs::write(&files.key, "no key").unwrap();
    let no_key = error(&files).await;
    assert!(
        no_key.contains("(--tls-key, VITRINE_TLS_KEY) has no private key"),
        "{no_key}"
    );
    std::fs::write(&files.certificate, "no certificate").unwrap();
    let empty = error(&files).await;
    assert!(
        empty.contains("(--tls-certificate, VITRINE_TLS_CERTIFICATE) has no certificate"),
        "{empty}"
    );
    std::fs::remove_file(&files.certificate).unwrap();
    let missing = error(&files).await;
    assert!(
        missing.contains("cannot read the certificate in "),
        "{missing}"
    );
    assert!(
        missing.contains("(--tls-certificate, VITRINE_TLS_CERTIFICATE): No such file"),
        "{missing}"
    );
}
