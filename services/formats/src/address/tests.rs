use std::io::Write as _;
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;

/// A server that sends given responses in order. Its thread returns the requests.
struct Server {
    address: String,
    requests: JoinHandle<Vec<String>>,
}

impl Server {
    fn answering(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                    request.push(byte[0]);
                }
                requests.push(String::from_utf8(request).unwrap());
                stream.write_all(&answer).unwrap();
            }
            requests
        });
        Self { address, requests }
    }
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let head = head.replace('\n', "\r\n");
    [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat()
}

const POLICY: RetryPolicy = RetryPolicy {
    wait: Duration::from_secs(5),
    attempts: 2,
    pause: Duration::ZERO,
};

/// What is read from a server, until it ends or fails, and the requests.
fn fetched(answers: Vec<Vec<u8>>) -> (Vec<u8>, Result<(), String>, Vec<String>) {
    let server = Server::answering(answers);
    let address = Address::parse(&format!("{}/f.csv?key=1", server.address)).unwrap();
    let mut bytes = Vec::new();
    let read = match address.open(POLICY) {
        Ok((mut fetched, _)) => {
            let read = fetched.read_to_end(&mut bytes);
            read.map(drop).map_err(|error| error.to_string())
        }
        Err(reason) => Err(reason),
    };
    (bytes, read, server.requests.join().unwrap())
}

/// 1000 lines, and their number of bytes.
fn body() -> (Vec<u8>, usize) {
    let lines: Vec<String> = (0..1000).map(|n| format!("line {n}\n")).collect();
    let body = lines.concat().into_bytes();
    let length = body.len();
    (body, length)
}

#[test]
fn a_lost_connection_is_taken_up_where_it_ended() {
    let (body, length) = body();
    let head = format!("200 OK\ncontent-length: {length}\netag: \"v1\"");
    let rest = |from: usize| {
        format!(
            "206 Partial Content\ncontent-range: bytes {from}-{}/{length}\netag: \"v1\"\ncontent-length: {}",
            length - 1,
            length - from
        )
    };
    let (bytes, read, requests) = fetched(vec![
        answer(&head, &body[..3000]),
        answer("503 Service Unavailable\ncontent-length: 0", b""),
        answer(&rest(3000), &body[3000..5000]),
        answer(&head, &body),
    ]);
    assert_eq!((read, bytes == body), (Ok(()), true));
    assert!(requests[0].starts_with("GET /f.csv?key=1 HTTP/1.1\r\n"));
    assert!(!requests[0].contains("range"));
    for (request, from) in requests[1..].iter().zip([3000, 3000, 5000]) {
        assert!(
            request.contains(&format!("range: bytes={from}-\r\n")),
            "{request}"
        );
        assert!(request.contains("if-range: \"v1\"\r\n"), "{request}");
    }
}

#[test]
fn a_file_that_changed_is_an_error() {
    let (body, length) = body();
    let head = |tag: &str| format!("200 OK\ncontent-length: {length}\netag: \"{tag}\"");
    let first = answer(&head("v1"), &body[..3000]);
    for second in [
        answer(&head("v2"), &body),
        answer("416 Range Not Satisfiable\ncontent-length: 0", b""),
        answer(
            &format!(
                "206 Partial Content\ncontent-range: bytes 3000-9/{}\ncontent-length: 0",
                length + 1
            ),
            b"",
        ),
        answer(
            &format!(
                "206 Partial Content\ncontent-range: bytes 2000-9/{length}\ncontent-length: 0"
            ),
            b"",
        ),
        answer(
            &format!(
                "206 Partial Content\ncontent-range: bytes 3000-9/{length}\netag: \"v2\"\ncontent-length: 0"
            ),
            b"",
        ),
    ] {
        let (bytes, read, _) = fetched(vec![first.clone(), second]);
        let reason = read.unwrap_err();
        assert!(
            reason.contains("changed while it was read, after 3000 bytes"),
            "{reason}"
        );
        assert_eq!(bytes, body[..3000]);
    }
}

#[test]
fn a_connection_that_cannot_be_taken_up_is_an_error() {
    let (body, length) = body();
    let unversioned = format!("200 OK\ncontent-length: {length}\netag: W/\"v1\"");
    let (_, read, _) = fetched(vec![answer(&unversioned, &body[..3000])]);
    let reason = read.unwrap_err();
    assert!(
        reason.contains("after 3000 bytes; the server names no version"),
        "{reason}"
    );
    let dated = format!("200 OK\ncontent-length: {length}\nlast-modified: yesterday");
    let lost = answer("500 Oh\ncontent-length: 0", b"");
    let answers = vec![answer(&dated, &body[..3000]), lost.clone(), lost];
    let (bytes, read, requests) = fetched(answers);
    assert!(read.unwrap_err().contains("after 3000 bytes"));
    assert_eq!(bytes.len(), 3000);
    assert!(requests[2].contains("if-range: yesterday\r\n"));
}

#[test]
fn redirects_are_followed_and_bounded() {
    let moved = |to: &str| {
        answer(
            &format!("302 Found\nlocation: {to}\ncontent-length: 0"),
            b"",
        )
    };
    let found = answer("200 OK\ncontent-length: 2", b"ok");
    let (bytes, read, requests) = fetched(vec![moved("/x/y"), moved("z?a=1"), found]);
    assert_eq!((bytes.as_slice(), read), (b"ok".as_slice(), Ok(())));
    assert!(requests[2].starts_with("GET /x/z?a=1 "), "{}", requests[2]);
    let endless = vec![moved("/"); MAX_REDIRECTS + 1];
    let reason = fetched(endless).1.unwrap_err();
    assert_eq!(reason, "it redirects more than 5 times");
    let reason = fetched(vec![moved("ftp://e.org/")]).1.unwrap_err();
    assert!(reason.contains("only http"), "{reason}");
    let secure = Address::parse("https://e.org/a").unwrap();
    assert!(secure.redirected("http://e.org/b").is_err());
    assert_eq!(
        secure.redirected("/b?k=1").ok().unwrap().to_string(),
        "https://e.org/b"
    );
}

#[test]
fn other_answers_are_errors() {
    for (answers, expected) in [
        (
            vec![answer("404 Not Found\ncontent-length: 0", b"")],
            "the status 404 Not Found",
        ),
        (vec![answer("204 No Content", b"")], "the status 204"),
        (vec![b"hello".to_vec()], "reading the answer"),
    ] {
        let reason = fetched(answers).1.unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }
    let (bytes, read, _) = fetched(vec![answer(
        "200 OK\ntransfer-encoding: chunked",
        b"2\r\nab\r\n0\r\n\r\n",
    )]);
    assert_eq!((bytes.as_slice(), read), (b"ab".as_slice(), Ok(())));
}

#[test]
fn addresses_are_http_without_names_and_shown_without_their_query() {
    let parse = |text: &str| Address::parse(text).map(|address| address.to_string());
    assert_eq!(
        parse("https://e.org/a?key=1#x"),
        Ok("https://e.org/a".to_owned())
    );
    for (text, expected) in [
        ("ftp://e.org", "only http"),
        ("https://ada:x@e.org", "user name"),
        ("https://", "no address"),
    ] {
        assert!(parse(text).unwrap_err().contains(expected));
    }
}
