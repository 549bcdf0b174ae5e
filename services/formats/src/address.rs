//! Feeds at http and https addresses. A connection that is lost is taken up again where it ended,
//! as long as the server still has the same file.
//!
//! A thread reads, so that those who wait for bytes need to know nothing of asynchronous code.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HOST, HeaderName, IF_RANGE,
    LAST_MODIFIED, LOCATION, RANGE, USER_AGENT,
};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

/// The maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The number of pieces that are read ahead.
const PIECES_AHEAD: usize = 4;
/// The maximum length of the headers of an answer, and of what is read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Timeouts and retries of a download.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryPolicy {
    /// How long connecting, and each piece of an answer, may take.
    pub(super) wait: Duration,
    /// The maximum number of consecutive attempts to resume a download without receiving a new byte.
    pub(super) attempts: u32,
    /// The pause before the first of these attempts; it doubles each time.
    pub(super) pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(30),
            attempts: 5,
            pause: Duration::from_secs(1),
        }
    }
}

/// An `http` or `https` address.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address(Url);

/// Without the query, which may hold a secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.0.clone();
        url.set_query(None);
        url.set_fragment(None);
        f.write_str(url.as_str())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("it is no address: {error}"))?;
        Self::of(url)
    }

    fn of(url: Url) -> Result<Self, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("only http:// and https:// addresses can be read".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "it contains a user name, which is not sent; fetch the file with \
                        another program and read it from standard input"
                    .to_owned(),
            );
        }
        Ok(Self(url))
    }

    pub(super) fn path(&self) -> &str {
        self.0.path()
    }

    fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The address to which a redirect leads.
    fn redirected(&self, location: &str) -> Result<Self, Failure> {
        let url = self.0.join(location);
        let url = url.map_err(|error| fatal("it redirects to what is no address", error))?;
        let other = Self::of(url).map_err(Failure::Final)?;
        if self.is_encrypted() && !other.is_encrypted() {
            return Err(Failure::Final(format!(
                "it redirects to {other}, which is not encrypted"
            )));
        }
        Ok(other)
    }

    /// Opens the address; returns its bytes, and their number if the server tells.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn open(&self, policy: RetryPolicy) -> Result<(Fetched, Option<u64>), String> {
        let (sender, pieces) = sync_channel(PIECES_AHEAD);
        let fetch = Fetch {
            address: self.clone(),
            policy,
            pieces: sender,
            version: None,
            total: None,
            at: 0,
        };
        std::thread::Builder::new()
            .name("fetch".to_owned())
            .spawn(move || fetch.run_here())
            .map_err(|error| error.to_string())?;
        match pieces.recv() {
            Ok(Piece::Opened(total)) => {
                let piece = Bytes::new();
                Ok((Fetched { pieces, piece }, total))
            }
            Ok(Piece::Failed(reason)) => Err(reason),
            Ok(Piece::Bytes(_)) | Err(_) => Err("nothing was received".to_owned()),
        }
    }
}

/// What the thread that fetches reports.
enum Piece {
    /// There is an answer, with so many bytes.
    Opened(Option<u64>),
    Bytes(Bytes),
    Failed(String),
}

/// The bytes at an address.
pub(super) struct Fetched {
    pieces: Receiver<Piece>,
    piece: Bytes,
}

impl Read for Fetched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Fetched {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            match self.pieces.recv() {
                Ok(Piece::Bytes(piece)) => self.piece = piece,
                Ok(Piece::Failed(reason)) => return Err(io::Error::other(reason)),
                Ok(Piece::Opened(_)) => {}
                Err(_) => break,
            }
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, bytes: usize) {
        let _ = self.piece.split_to(bytes.min(self.piece.len()));
    }
}

/// Why an attempt ended without the whole file.
enum Failure {
    /// Trying again may help.
    Lost(String),
    /// It does not.
    Final(String),
    /// Nobody reads any more.
    Unread,
}

fn lost(what: &str, error: impl fmt::Display) -> Failure {
    Failure::Lost(format!("{what}: {error}"))
}

fn fatal(what: &str, error: impl fmt::Display) -> Failure {
    Failure::Final(format!("{what}: {error}"))
}

/// A download.
struct Fetch {
    address: Address,
    policy: RetryPolicy,
    pieces: SyncSender<Piece>,
    /// The version of the file: the header, and its value.
    version: Option<(HeaderName, String)>,
    total: Option<u64>,
    at: u64,
}

impl Fetch {
    /// Runs on this thread.
    fn run_here(self) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        match runtime.enable_all().build() {
            Ok(runtime) => runtime.block_on(self.run()),
            Err(error) => self.fail(error.to_string()),
        }
    }

    async fn run(mut self) {
        let mut attempts = 0;
        loop {
            let before = self.at;
            let reason = match self.attempt().await {
                Ok(()) | Err(Failure::Unread) => return,
                Err(Failure::Final(reason)) => return self.fail(reason),
                Err(Failure::Lost(reason)) => reason,
            };
            attempts = if self.at > before { 1 } else { attempts + 1 };
            if self.at == 0 {
                return self.fail(reason);
            }
            if self.version.is_none() {
                return self.fail(format!(
                    "{reason}, after {} bytes; the server names no version (ETag, Last-Modified), \
                     without which the rest cannot be asked for",
                    self.at
                ));
            }
            if attempts > self.policy.attempts {
                return self.fail(format!("{reason}, after {} bytes", self.at));
            }
            let doubled = 2_u32.saturating_pow(attempts - 1);
            tokio::time::sleep(self.policy.pause.saturating_mul(doubled)).await;
        }
    }

    fn fail(&self, reason: String) {
        // If nobody reads it, nobody wants to know.
        let _ = self.pieces.send(Piece::Failed(reason));
    }

    /// Asks for the file, or the rest of it, and follows redirects.
    async fn attempt(&mut self) -> Result<(), Failure> {
        let mut address = self.address.clone();
        for _ in 0..=MAX_REDIRECTS {
            match self.ask(&address).await? {
                None => return Ok(()),
                Some(location) => address = address.redirected(&location)?,
            }
        }
        Err(Failure::Final(format!(
            "it redirects more than {MAX_REDIRECTS} times"
        )))
    }

    /// Asks an address; returns the location to which it redirects, if it does.
    async fn ask(&mut self, address: &Address) -> Result<Option<String>, Failure> {
        let wait = self.policy.wait;
        let host = address
            .0
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']']);
        let port = address.0.port_or_known_default().unwrap_or(443);
        let stream = timeout(wait, TcpStream::connect((host, port))).await;
        let stream = stream.map_err(|_| lost("connecting", "no answer"))?;
        let stream = stream.map_err(|error| lost("connecting", error))?;
        if !address.is_encrypted() {
            return self.exchange(address, stream).await;
        }
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| fatal("reading the host name for TLS", error))?;
        let connector = TlsConnector::from(Arc::new(tls()?));
        let stream = timeout(wait, connector.connect(name, stream)).await;
        let stream = stream.map_err(|_| lost("performing the TLS handshake", "no answer"))?;
        let stream = stream.map_err(|error| lost("performing the TLS handshake", error))?;
        self.exchange(address, stream).await
    }

    /// Sends the request and reads the answer.
    async fn exchange(
        &mut self,
        address: &Address,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    ) -> Result<Option<String>, Failure> {
        let mut client = http1::Builder::new();
        client.max_buf_size(PIECE_BYTES);
        let connected = client.handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = connected.map_err(|error| lost("connecting", error))?;
        let request = self.request(address)?;
        let mut answer = pin!(async {
            let response = timeout(self.policy.wait, sender.send_request(request)).await;
            let response = response.map_err(|_| lost("reading the answer", "nothing came"))?;
            self.read(response.map_err(|error| lost("reading the answer", error))?)
                .await
        });
        tokio::select! {
            read = &mut answer => read,
            // What was received can still be read.
            _ = connection => answer.await,
        }
    }

    fn request(&self, address: &Address) -> Result<Request<Empty<Bytes>>, Failure> {
        let url = &address.0;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut request = Request::get(path)
            .header(HOST, host)
            .header(USER_AGENT, "vitrine")
            .header(ACCEPT_ENCODING, "identity")
            .header(CONNECTION, "close");
        if let (true, Some((_, version))) = (self.at > 0, &self.version) {
            request = request
                .header(RANGE, format!("bytes={}-", self.at))
                .header(IF_RANGE, version.as_str());
        }
        let request = request.body(Empty::new());
        request.map_err(|error| fatal("making the request", error))
    }

    /// Reads an answer; returns the location to which it redirects, if it does.
    async fn read(&mut self, response: Response<Incoming>) -> Result<Option<String>, Failure> {
        let (status, headers) = (response.status(), response.headers());
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let location = text(headers, &LOCATION);
            let unknown = || Failure::Final(format!("the answer has the status {status}"));
            return location.ok_or_else(unknown).map(Some);
        }
        let skip = if self.at == 0 {
            self.opened(status, headers)?;
            0
        } else {
            self.resumed(status, headers)?
        };
        self.body(response.into_body(), skip).await?;
        Ok(None)
    }

    /// Reads the head of the first answer.
    fn opened(&mut self, status: StatusCode, headers: &HeaderMap) -> Result<(), Failure> {
        if status != StatusCode::OK {
            return Err(Failure::Final(format!(
                "the answer has the status {status}"
            )));
        }
        self.version = version(headers);
        self.total = text(headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let opened = self.pieces.send(Piece::Opened(self.total));
        opened.map_err(|_| Failure::Unread)
    }

    /// Reads the head of a later answer; returns how many bytes of it are known.
    fn resumed(&self, status: StatusCode, headers: &HeaderMap) -> Result<u64, Failure> {
        let at = self.at;
        let changed = || {
            Failure::Final(format!(
                "the file changed while it was read, after {at} bytes; import it again"
            ))
        };
        match status {
            StatusCode::PARTIAL_CONTENT => {
                let range = text(headers, &CONTENT_RANGE).unwrap_or_default();
                let (range, total) = range.split_once('/').unwrap_or_default();
                let is_rest = range.starts_with(&format!("bytes {at}-"));
                let total = total.parse::<u64>().ok();
                let same_total = total.is_none() || self.total.is_none() || total == self.total;
                let version = version(headers);
                let same = version.is_none() || version == self.version;
                if is_rest && same_total && same {
                    Ok(0)
                } else {
                    Err(changed())
                }
            }
            // The server knows no ranges, or the file is another one.
            StatusCode::OK if version(headers) == self.version => Ok(at),
            StatusCode::OK
            | StatusCode::PRECONDITION_FAILED
            | StatusCode::RANGE_NOT_SATISFIABLE => Err(changed()),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(lost("the answer has the status", status))
            }
            status => Err(Failure::Final(format!(
                "the answer has the status {status}, after {at} bytes"
            ))),
        }
    }

    /// Passes on the bytes of an answer, after the first ones, which are known.
    async fn body(&mut self, mut body: Incoming, mut skip: u64) -> Result<(), Failure> {
        loop {
            let frame = timeout(self.policy.wait, body.frame()).await;
            let frame = frame.map_err(|_| lost("reading the answer", "nothing came"))?;
            let Some(frame) = frame else {
                return self.ended();
            };
            let frame = frame.map_err(|error| lost("the connection was lost", error))?;
            let Ok(mut bytes) = frame.into_data() else {
                continue;
            };
            let known = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            let _ = bytes.split_to(known);
            skip -= known as u64;
            self.at += bytes.len() as u64;
            let sent = self.pieces.send(Piece::Bytes(bytes));
            sent.map_err(|_| Failure::Unread)?;
        }
    }

    fn ended(&self) -> Result<(), Failure> {
        match self.total {
            Some(total) if self.at < total => Err(lost("the connection was lost", "too early")),
            _ => Ok(()),
        }
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// What tells one version of a file from another. A weak tag does not.
fn version(headers: &HeaderMap) -> Option<(HeaderName, String)> {
    let tag = text(headers, &ETAG).filter(|tag| !tag.starts_with("W/"));
    let tag = tag.map(|tag| (ETAG, tag));
    tag.or_else(|| text(headers, &LAST_MODIFIED).map(|date| (LAST_MODIFIED, date)))
}

/// The TLS of a client that trusts the public authorities.
fn tls() -> Result<ClientConfig, Failure> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| fatal("preparing TLS", error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests;
