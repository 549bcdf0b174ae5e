//! How soon a browser can paint a product page, beside the time that the API needs for its answer.
//!
//! `cargo bench --bench paint -- [OPTIONS]`
//!
//! The options, the rows and the columns are described in `tests/benches/README.md`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "the modules that benchmarks share print figures with three digits"
)]
#![expect(
    dead_code,
    reason = "the modules that benchmarks share have more than each of them needs"
)]

#[path = "load/client.rs"]
mod client;
#[path = "scale/random.rs"]
mod random;
#[path = "scale/start.rs"]
mod start;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use client::Client;
use serde_json::{Value, json};
use start::start;
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::eventually;
use vitrine_harness::process::Service;
use vitrine_web::operations;

/// How long the demo catalogue may take to load.
const LOADING: Duration = Duration::from_mins(5);
/// The codings that Chromium accepts.
const CODINGS: &str = "gzip, deflate, br, zstd";
/// A line of text: the floor of what a browser needs.
const LINE: &str = "/health/ready";
const POPULAR: &str = "query ($first: Int!) { products(first: $first, sort: { key: POPULARITY }) { nodes { slug } } }";

#[derive(Parser)]
struct Options {
    /// The pages that are measured: those of the most popular products.
    #[arg(long, default_value_t = 20)]
    products: usize,
    /// How often each page is asked for over HTTP.
    #[arg(long, default_value_t = 25)]
    rounds: usize,
    /// How often each page is opened in a browser, with each cache.
    #[arg(long, default_value_t = 3)]
    openings: usize,
    /// Keeps the data of the service there, so that the catalogue is loaded only once.
    #[arg(long)]
    data: Option<PathBuf>,
}

fn main() {
    start(run);
}

async fn run(options: Options) {
    let program = browser::installed().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let data = options.data.clone();
    let data = data.unwrap_or_else(|| temporary.path().to_owned());
    let flags = ["--listen", "127.0.0.1:0", "--data-dir"];
    let service = Service::start(&[&flags[..], &[data.to_str().unwrap()]].concat());
    let ready = async || {
        let output = service.output();
        assert!(!output.contains("error: "), "{output}");
        output.contains("ready at http://").then_some(())
    };
    eventually("the demo catalogue", LOADING, ready).await;
    let address = service.ready().await;
    let mut client = Client::open(&address).unwrap();
    let pages = pages(&mut client, options.products);

    for (name, codings) in [("compressed", CODINGS), ("not compressed", "identity")] {
        let answers = over_http(&mut client, &pages, (options.rounds, codings));
        print(name, &answers);
    }
    let mut browser = Browser::start(&program, &address).await;
    let paints = in_browser(&mut browser, &mut client, &pages, options.openings).await;
    print("in a browser", &paints);
    assert!(service.stop().await.success());
}

/// A product page, and what it asks the API.
struct Page {
    path: String,
    body: String,
}

impl Page {
    fn html(&self, codings: &str) -> Vec<u8> {
        let path = &self.path;
        format!("GET {path} HTTP/1.1\r\nhost: shop\r\naccept: text/html\r\naccept-encoding: {codings}\r\n\r\n")
            .into_bytes()
    }

    fn operation(&self, codings: &str) -> Vec<u8> {
        let (body, length) = (&self.body, self.body.len());
        format!(
            "POST /graphql HTTP/1.1\r\nhost: shop\r\naccept: application/json\r\ncontent-type: application/json\r\n\
             accept-encoding: {codings}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// The pages of the most popular products.
fn pages(client: &mut Client, number: usize) -> Vec<Page> {
    let popular = client::graphql(POPULAR, &json!({ "first": number }), 0);
    let answer = client.ask(&popular).unwrap().json();
    let nodes = answer["data"]["products"]["nodes"].as_array().unwrap();
    let document = operations().iter().find(|one| one.name == "Product");
    let document = &document.unwrap().text;
    let page = |node: &Value| {
        let slug = node["slug"].as_str().unwrap();
        let path = format!("/p/{slug}");
        // What the page itself has asked for.
        let html = format!("GET {path} HTTP/1.1\r\nhost: shop\r\n\r\n");
        let html = client.ask(html.as_bytes()).unwrap().text();
        let variables = &first_of(&html)["variables"];
        let body = json!({ "query": document, "variables": variables }).to_string();
        Page { path, body }
    };
    nodes.iter().map(page).collect()
}

/// What a page has asked for, with the answer.
fn first_of(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"first\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    let first: Value = serde_json::from_str(json).unwrap();
    first["asked"][0].clone()
}

/// Times in milliseconds of one kind, with the size of what came.
struct Row {
    name: &'static str,
    millis: Vec<f64>,
    /// The times divided by those of the API that were taken at the same time.
    ratios: Vec<f64>,
    bytes: usize,
}

impl Row {
    fn of(name: &'static str) -> Self {
        Self {
            name,
            millis: Vec::new(),
            ratios: Vec::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, millis: f64, api: f64, bytes: usize) {
        self.millis.push(millis);
        self.ratios.push(millis / api);
        self.bytes += bytes;
    }
}

/// Asks for each page and for its operation in turn, over one connection that is kept open.
fn over_http(
    client: &mut Client,
    pages: &[Page],
    (rounds, codings): (usize, &'static str),
) -> [Row; 2] {
    let [mut api, mut html] = [Row::of("operation"), Row::of("HTML")];
    for round in 0..=rounds {
        for page in pages {
            let (millis, bytes) = timed(client, &page.operation(codings));
            let (millis_html, bytes_html) = timed(client, &page.html(codings));
            // The first round fills caches.
            if round > 0 {
                api.add(millis, millis, bytes);
                html.add(millis_html, millis, bytes_html);
            }
        }
    }
    [api, html]
}

/// The time until an answer has come, and its size.
fn timed(client: &mut Client, request: &[u8]) -> (f64, usize) {
    let begin = Instant::now();
    let answer = client.ask(request).unwrap();
    let millis = begin.elapsed().as_secs_f64() * 1e3;
    assert!(answer.is_good(false, 1), "{}", answer.text());
    (millis, answer.size())
}

/// When the browser has painted, by its own clock, and how long its parts took.
const PAINTED: &str = "new Promise((done) => new PerformanceObserver((list) => { \
    const [navigation] = performance.getEntriesByType('navigation'); \
    const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime; \
    done([navigation.responseEnd, paint, list.getEntries().at(-1).startTime]); \
    }).observe({ type: 'largest-contentful-paint', buffered: true }))";

/// Opens a line of text, then each page with an empty cache, and again: only the page is asked for then.
async fn in_browser(
    browser: &mut Browser,
    client: &mut Client,
    pages: &[Page],
    openings: usize,
) -> Vec<Row> {
    let mut rows = vec![Row::of("operation")];
    rows.extend(
        [
            "one line: has arrived",
            "one line: first paint",
            "one line: largest paint",
            "cold: HTML has arrived",
            "cold: first paint",
            "cold: largest paint",
            "warm: HTML has arrived",
            "warm: first paint",
            "warm: largest paint",
        ]
        .map(Row::of),
    );
    for opening in 0..=openings {
        for page in pages {
            let (api, bytes) = timed(client, &page.operation(CODINGS));
            let mut found = vec![api];
            browser.go(LINE).await;
            let there =
                format!("location.pathname === '{LINE}' && document.readyState === 'complete'");
            browser.wait(&there).await;
            found.extend(painted(browser).await);
            for forgets in [true, false] {
                if forgets {
                    browser.forget().await;
                }
                browser.open(&page.path).await;
                found.extend(painted(browser).await);
                // Nothing that the page still does is measured with the next one.
                let quiet = "document.documentElement.dataset.live === 'true'";
                browser.wait(quiet).await;
            }
            if opening > 0 {
                for (row, millis) in rows.iter_mut().zip(found) {
                    row.add(millis, api, bytes);
                }
            }
        }
    }
    for row in &mut rows[1..] {
        row.bytes = 0;
    }
    rows
}

async fn painted(browser: &mut Browser) -> Vec<f64> {
    let painted = browser.eval(PAINTED).await;
    let painted = painted.as_array().unwrap().iter();
    painted.filter_map(Value::as_f64).collect()
}

fn print(name: &str, rows: &[Row]) {
    println!(
        "\n{name:24} {:>6} {:>8} {:>8} {:>8} {:>7} {:>7}",
        "times", "p25 ms", "p50 ms", "p75 ms", "/api", "bytes"
    );
    for row in rows {
        let (mut millis, mut ratios) = (row.millis.clone(), row.ratios.clone());
        millis.sort_by(f64::total_cmp);
        ratios.sort_by(f64::total_cmp);
        let at = |percent: usize| millis[(millis.len() - 1) * percent / 100];
        let ratio = ratios[ratios.len() / 2];
        println!(
            "{:24} {:>6} {:>8.2} {:>8.2} {:>8.2} {ratio:>7.2} {:>7}",
            row.name,
            millis.len(),
            at(25),
            at(50),
            at(75),
            row.bytes / millis.len()
        );
    }
}
