//! The address of a document that an identity provider publishes, and how it is fetched.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AGE, CACHE_CONTROL, CONNECTION, HOST, USER_AGENT};
use hyper::http::uri::Scheme;
use hyper::{HeaderMap, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::key_set::MAX_BYTES;

/// How long a fetch may take in all.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a document is fresh if the answer does not say it, and at least and at most.
const DEFAULT_LIFETIME: Duration = Duration::from_mins(5);
const MIN_LIFETIME: Duration = Duration::from_mins(1);
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// An `https` address, or an `http` address on this machine.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DocumentAddress {
    uri: Uri,
    host: String,
    is_encrypted: bool,
}

/// A document as it was received.
pub(super) struct Fetched {
    pub(super) body: Bytes,
    /// How long it is fresh.
    pub(super) lifetime: Duration,
}

/// Without the query, which may hold a secret.
impl std::fmt::Display for DocumentAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let authority = self.uri.authority().map_or("", |one| one.as_str());
        write!(f, "{scheme}://{authority}{}", self.uri.path())
    }
}

impl std::fmt::Debug for DocumentAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl DocumentAddress {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let uri: Uri = text.parse().map_err(|_| "it is no address")?;
        let authority = uri.authority().ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it contains a user name; what is public needs none");
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let is_encrypted = uri.scheme() == Some(&Scheme::HTTPS);
        if !is_encrypted && uri.scheme() != Some(&Scheme::HTTP) {
            return Err("only https:// addresses and files can be read");
        }
        if !is_encrypted && !is_loopback(&host) {
            return Err("use https://: on the way, somebody could exchange what it says");
        }
        Ok(Self {
            uri,
            host,
            is_encrypted,
        })
    }

    /// The scheme, host and port, as browsers compare them and policies name them.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let authority = self.uri.authority().map_or("", |one| one.as_str());
        format!("{scheme}://{authority}").to_ascii_lowercase()
    }

    /// Fetches the document.
    pub(super) async fn fetch(&self) -> anyhow::Result<Fetched> {
        let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        self.fetch_trusting(roots).await
    }

    async fn fetch_trusting(&self, roots: RootCertStore) -> anyhow::Result<Fetched> {
        let fetched = tokio::time::timeout(TIMEOUT, async {
            let port = if self.is_encrypted { 443 } else { 80 };
            let port = self.uri.port_u16().unwrap_or(port);
            let stream = TcpStream::connect((self.host.as_str(), port)).await;
            let stream = stream.context("connecting")?;
            if self.is_encrypted {
                let name = ServerName::try_from(self.host.clone())
                    .context("reading the host name for TLS")?;
                let connector = TlsConnector::from(Arc::new(tls(roots)?));
                let stream = connector.connect(name, stream).await;
                self.exchange(stream.context("performing the TLS handshake")?)
                    .await
            } else {
                self.exchange(stream).await
            }
        });
        fetched.await.context("no answer within 5 seconds")?
    }

    /// Sends the request and reads the answer.
    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    ) -> anyhow::Result<Fetched> {
        let connected = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = connected.context("connecting")?;
        let request = self.request()?;
        let mut answer = pin!(async move {
            let response = sender.send_request(request).await;
            read(response.context("reading the answer")?).await
        });
        tokio::select! {
            read = &mut answer => read,
            // What was received can still be read.
            ended = connection => {
                ended.context("reading the answer")?;
                answer.await
            }
        }
    }

    fn request(&self) -> anyhow::Result<Request<Empty<Bytes>>> {
        let mut path = self.uri.path().to_owned();
        if let Some(query) = self.uri.query() {
            path = format!("{path}?{query}");
        }
        let authority = self.uri.authority().map_or("", |one| one.as_str());
        let request = Request::get(path)
            .header(HOST, authority)
            .header(ACCEPT, "application/jwk-set+json, application/json")
            .header(USER_AGENT, "vitrine")
            .header(CONNECTION, "close");
        request.body(Empty::new()).context("making the request")
    }
}

async fn read(response: Response<Incoming>) -> anyhow::Result<Fetched> {
    let status = response.status();
    if status.is_redirection() {
        bail!("it redirects to another address, which is not followed: set that one");
    }
    ensure!(
        status == StatusCode::OK,
        "the answer has the status {status}"
    );
    let lifetime = lifetime(response.headers());
    let body = Limited::new(response.into_body(), MAX_BYTES)
        .collect()
        .await;
    let body = body.map_err(|error| anyhow::anyhow!(error).context("reading the answer"))?;
    Ok(Fetched {
        body: body.to_bytes(),
        lifetime,
    })
}

/// How long an answer is fresh by its `Cache-Control` and `Age`, within our bounds.
fn lifetime(headers: &HeaderMap) -> Duration {
    let control = headers.get_all(CACHE_CONTROL).into_iter();
    let texts = control.filter_map(|value| value.to_str().ok());
    let directives = texts.flat_map(|text| text.split(','));
    let mut lifetime = DEFAULT_LIFETIME;
    for directive in directives {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "max-age" => {
                let seconds = value.trim().trim_matches('"').parse::<u64>();
                lifetime = seconds.map_or(lifetime, Duration::from_secs);
            }
            "no-cache" | "no-store" => return MIN_LIFETIME,
            _ => {}
        }
    }
    let age = headers
        .get(AGE)
        .and_then(|age| age.to_str().ok()?.parse().ok());
    let left = lifetime.saturating_sub(Duration::from_secs(age.unwrap_or(0)));
    left.clamp(MIN_LIFETIME, MAX_LIFETIME)
}

/// Returns the TLS of a client that trusts these authorities.
pub(crate) fn tls(roots: RootCertStore) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.context("preparing TLS")?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    address.map_or_else(
        |_| host.eq_ignore_ascii_case("localhost"),
        |address| address.is_loopback(),
    )
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use rustls::ServerConfig;
    use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    fn headers(all: &[(HeaderName, &'static str)]) -> HeaderMap {
        let all = all.iter().cloned();
        all.map(|(name, value)| (name, HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn key_sets_are_fresh_for_a_minute_to_a_day() {
        for (control, age, seconds) in [
            (None, None, 300),
            (Some("public"), None, 300),
            (Some("max-age=600"), None, 600),
            (Some("public, MAX-AGE = 600, must-revalidate"), None, 600),
            (Some("max-age=\"600\""), None, 600),
            (Some("max-age=600"), Some("100"), 500),
            (Some("max-age=600"), Some("soon"), 600),
            (Some("max-age=600"), Some("700"), 60),
            (Some("max-age=0"), None, 60),
            (Some("max-age=59"), None, 60),
            (Some("max-age=86401"), None, 86_400),
            (Some("max-age=18446744073709551615"), None, 86_400),
            (Some("max-age=18446744073709551616"), None, 300),
            (Some("max-age=-1"), None, 300),
            (Some("s-maxage=900"), None, 300),
            (Some("no-store"), None, 60),
            (Some("max-age=600, no-cache"), None, 60),
        ] {
            let control = control.map(|one| (CACHE_CONTROL, one));
            let all: Vec<_> = control
                .into_iter()
                .chain(age.map(|one| (AGE, one)))
                .collect();
            let lifetime = lifetime(&headers(&all));
            assert_eq!(lifetime, Duration::from_secs(seconds), "{all:?}");
        }
    }

    #[test]
    fn addresses_are_shown_without_their_query() {
        let address = DocumentAddress::parse("https://id.example:8443/keys?secret=x").unwrap();
        assert_eq!(address.to_string(), "https://id.example:8443/keys");
        assert_eq!(format!("{address:?}"), "https://id.example:8443/keys");
    }

    /// Answers one request, then ends.
    async fn answer_once(answer: String, acceptor: Option<TlsAcceptor>) -> (u16, impl Future) {
        async fn answer_on(
            mut stream: impl AsyncRead + AsyncWrite + Unpin,
            answer: String,
        ) -> String {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            // The client may have closed the connection in the middle of a long answer.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
            String::from_utf8_lossy(&request[..length]).into_owned()
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = async move {
            let (stream, _) = listener.accept().await.unwrap();
            match acceptor {
                Some(acceptor) => match acceptor.accept(stream).await {
                    Ok(stream) => answer_on(stream, answer).await,
                    Err(_) => String::new(),
                },
                None => answer_on(stream, answer).await,
            }
        };
        (port, served)
    }

    async fn fetched(answer: &str) -> Result<(String, u64), String> {
        let (port, served) = answer_once(answer.to_owned(), None).await;
        let address = DocumentAddress::parse(&format!("http://127.0.0.1:{port}/keys?v=1")).unwrap();
        let (fetched, _) = tokio::join!(address.fetch(), served);
        let fetched = fetched.map_err(|error| format!("{error:#}"))?;
        let body = String::from_utf8(fetched.body.to_vec()).unwrap();
        Ok((body, fetched.lifetime.as_secs()))
    }

    #[tokio::test]
    async fn answers_are_read() {
        let long = "x".repeat(MAX_BYTES);
        let with_length = |body: &str| {
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\ncache-control: max-age=70\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        };
        assert_eq!(fetched(&with_length("{}")).await, Ok(("{}".to_owned(), 70)));
        let until_end = "HTTP/1.0 200 OK\r\n\r\n{}";
        assert_eq!(fetched(until_end).await, Ok(("{}".to_owned(), 300)));
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert_eq!(fetched(chunked).await, Ok(("{}".to_owned(), 300)));
        assert!(fetched(&with_length(&long)).await.is_ok());
        for (answer, reason) in [
            (with_length(&format!("{long}x")), "length limit"),
            (format!("HTTP/1.1 200 OK\r\n\r\n{long}x"), "length limit"),
            (
                "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n".to_owned(),
                "redirects",
            ),
            (
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
                "404",
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}".to_owned(),
                "reading",
            ),
            ("hello".to_owned(), "reading"),
            (String::new(), "reading"),
        ] {
            let error = fetched(&answer).await.unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[tokio::test]
    async fn the_request_names_the_host_and_the_query() {
        let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = DocumentAddress::parse(&format!("http://localhost:{port}?v=1")).unwrap();
        let served = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request[..length].to_vec()).unwrap()
        };
        let (_, request) = tokio::join!(address.fetch(), served);
        assert!(request.starts_with("GET /?v=1 HTTP/1.1\r\n"), "{request}");
        assert!(
            request.contains(&format!("host: localhost:{port}\r\n")),
            "{request}"
        );
    }

    /// A server with the certificate of the tests, and the roots that trust it.
    fn encryption() -> (TlsAcceptor, RootCertStore) {
        let certificate =
            CertificateDer::from_slice(include_bytes!("fixtures/tls-test-certificate.der"));
        let key = PrivatePkcs8KeyDer::from(include_bytes!("fixtures/tls-test-key.pk8").as_slice());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        (TlsAcceptor::from(Arc::new(config)), roots)
    }

    #[tokio::test]
    async fn encrypted_answers_need_a_trusted_certificate_of_the_host() {
        let trusted = encryption().1;
        let public: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        for (host, roots, is_trusted) in [
            ("localhost", trusted.clone(), true),
            ("127.0.0.1", trusted, false),
            ("localhost", public, false),
        ] {
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_owned();
            let (port, served) = answer_once(answer, Some(encryption().0)).await;
            let address = DocumentAddress::parse(&format!("https://{host}:{port}/keys")).unwrap();
            let (fetched, _) = tokio::join!(address.fetch_trusting(roots), served);
            assert_eq!(fetched.is_ok(), is_trusted, "{host}");
        }
    }
}
