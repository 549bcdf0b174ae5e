//! A light HTTP/1.1 client, and closed loops of it: each connection sends its next request when the
//! answer has come. While it is measured it finds the end of each answer and no more.

use std::borrow::Cow;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::random::{Purpose, Random};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of answers that are all searched for errors. Of longer ones, one in [`SEARCH_EVERY`] is.
const MAX_ALWAYS_SEARCHED_BYTES: usize = 4_096;
const SEARCH_EVERY: usize = 16;

/// A GraphQL request, ready to be sent.
pub(crate) fn graphql(document: &str, variables: &Value, number: usize) -> Vec<u8> {
    let body = json!({ "query": document, "variables": variables });
    post("/graphql", &body, None, number)
}

/// A request, ready to be sent; `number` decides about the address behind the proxy.
pub(crate) fn post(path: &str, body: &Value, token: Option<&str>, number: usize) -> Vec<u8> {
    let body = body.to_string();
    let token = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let address = 1 + number % 250;
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: shop\r\naccept: application/json\r\ncontent-type: application/json\r\n\
         x-forwarded-for: 198.51.100.{address}\r\n{token}content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// A connection that is kept open.
pub(crate) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

/// An answer.
pub(crate) struct Answer<'a> {
    status: &'a [u8],
    body: &'a [u8],
    chunked: bool,
}

impl Client {
    pub(crate) fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let received = Vec::with_capacity(1 << 16);
        Ok(Self { stream, received })
    }

    /// Sends a request and waits for the whole answer.
    pub(crate) fn ask(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.received.clear();
        self.stream.write_all(request)?;
        let head = loop {
            match find(&self.received, b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.receive()?,
            }
        };
        let length = header(&self.received[..head], "content-length")
            .and_then(|length| std::str::from_utf8(length).ok()?.parse::<usize>().ok());
        let chunked = length.is_none();
        let end = match length {
            Some(length) => head + length,
            None => loop {
                match find(&self.received[head..], b"\r\n0\r\n\r\n") {
                    Some(end) => break head + end + 7,
                    None => self.receive()?,
                }
            },
        };
        while self.received.len() < end {
            self.receive()?;
        }
        Ok(Answer {
            status: &self.received[9..12],
            body: &self.received[head..end],
            chunked,
        })
    }

    fn receive(&mut self) -> io::Result<()> {
        let (end, step) = (self.received.len(), 1 << 16);
        self.received.resize(end + step, 0);
        let read = self.stream.read(&mut self.received[end..]);
        self.received
            .truncate(end + read.as_ref().map_or(0, |read| *read));
        match read? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Answer<'_> {
    /// The bytes of its body.
    pub(crate) fn size(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn json(&self) -> Value {
        let body = String::from_utf8_lossy(self.body);
        assert!(
            !self.chunked,
            "only answers with a length are read as JSON: {body}"
        );
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}"))
    }

    /// Its body, as text; without a length, with the marks of its parts.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.body).into_owned()
    }

    fn beginning(&self) -> String {
        let body = String::from_utf8_lossy(self.body);
        body.chars().take(500).collect()
    }

    /// Whether it is an answer without errors, as far as is seen without reading it.
    pub(crate) fn is_good(&self, is_write: bool, number: usize) -> bool {
        let searched =
            self.body.len() <= MAX_ALWAYS_SEARCHED_BYTES || number.is_multiple_of(SEARCH_EVERY);
        self.status == b"200"
            && (!searched || find(self.body, b"\"errors\":[").is_none())
            && (!is_write || find(self.body, b"\"userErrors\":[]").is_some())
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    let first = part[0];
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        let start = from + at;
        if bytes[start..].starts_with(part) {
            return Some(start);
        }
        from = start + 1;
    }
    None
}

/// The value of a header.
fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut lines = head.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let (start, rest) = line.split_at_checked(name.len())?;
        let value = rest.strip_prefix(b":")?;
        start
            .eq_ignore_ascii_case(name.as_bytes())
            .then(|| value.trim_ascii())
    })
}

/// Where requests come from.
pub(crate) trait Traffic: Sync {
    /// The next request, and whether it writes.
    fn next(&self, random: &mut Random) -> (Cow<'_, [u8]>, bool);
}

/// What one phase of load was answered.
pub(crate) struct Phase {
    pub(crate) elapsed: Duration,
    /// How long each answer took, in order of size.
    pub(crate) times: Vec<Duration>,
    pub(crate) bytes: usize,
    pub(crate) errors: usize,
    /// The beginning of an answer with an error.
    pub(crate) error: Option<String>,
}

impl Phase {
    /// The time that this share of the answers took at most, in percent.
    pub(crate) fn at(&self, percent: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times
            .get(last * percent / 100)
            .copied()
            .unwrap_or_default()
    }
}

/// Sends requests over so many connections for so long. Blocks.
pub(crate) fn drive(
    address: &str,
    traffic: &dyn Traffic,
    connections: Range<usize>,
    time: Duration,
) -> Phase {
    let clients: Vec<(usize, Client)> = connections
        .map(|number| (number, Client::open(address).expect("the service listens")))
        .collect();
    let start = Instant::now();
    let parts: Vec<Phase> = thread::scope(|scope| {
        let run = |(number, client)| {
            scope.spawn(move || one(client, address, traffic, number, start + time))
        };
        let threads: Vec<_> = clients.into_iter().map(run).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Phase>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });
    let mut all = Phase {
        elapsed: start.elapsed(),
        times: Vec::new(),
        bytes: 0,
        errors: 0,
        error: None,
    };
    for part in parts {
        all.times.extend(part.times);
        all.bytes += part.bytes;
        all.errors += part.errors;
        all.error = all.error.or(part.error);
    }
    all.times.sort_unstable();
    all
}

/// One connection.
fn one(
    mut client: Client,
    address: &str,
    traffic: &dyn Traffic,
    number: usize,
    end: Instant,
) -> Phase {
    let start = Instant::now();
    let mut random = Random::of(11, Purpose::Review, number);
    let mut phase = Phase {
        elapsed: Duration::ZERO,
        times: Vec::with_capacity(1 << 16),
        bytes: 0,
        errors: 0,
        error: None,
    };
    loop {
        let (request, is_write) = traffic.next(&mut random);
        let begin = Instant::now();
        if begin >= end {
            phase.elapsed = start.elapsed();
            return phase;
        }
        let count = phase.times.len();
        let outcome = client.ask(&request).map(|answer| {
            phase.times.push(begin.elapsed());
            phase.bytes += answer.body.len();
            let good = answer.is_good(is_write, count);
            if !good {
                phase.error = Some(answer.beginning());
            }
            good
        });
        phase.errors += usize::from(!matches!(outcome, Ok(true)));
        if outcome.is_err() {
            client = Client::open(address).expect("the service listens");
        }
    }
}
