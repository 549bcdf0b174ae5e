//! A headless browser, driven by the debugging protocol of Chrome: real pages, real input.
//!
//! A page records what must not happen: errors of scripts, failed requests, requests to other hosts,
//! and how far its content moves while it loads.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::environment::{chosen_browser, search_path, target_dir};
use crate::eventually;
use crate::tools::needed;

/// The names of browsers on `PATH`.
pub const NAMES: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "google-chrome",
    "chromium-browser",
];
/// The Debian package of the smallest browser.
pub const DEBIAN_PACKAGE: &str = "chromium-headless-shell";
/// How long anything in a page may take, in milliseconds.
const TIMEOUT_MILLIS: u32 = 40_000;

/// Adds up how far content moves while a page loads.
const OBSERVER: &str = "window.moved = 0; new PerformanceObserver((list) => { \
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value; \
    }).observe({ type: 'layout-shift', buffered: true });";

/// A running browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    socket: WebSocketStream<TcpStream>,
    session: String,
    next_id: u64,
    /// The host that a page may load from.
    host: String,
    /// Origins that a page may also ask.
    allowed: Vec<String>,
    wrong: Vec<String>,
    requests: Vec<String>,
    _profile: TempDir,
}

/// Returns where the browser to test with is. `None` if the test is left out.
///
/// # Panics
/// When there is none and `CI` is set, or when there is none where `VITRINE_CHROMIUM` says.
#[must_use]
pub fn program() -> Option<PathBuf> {
    needed(installed())
}

/// Returns where the browser of this machine is.
///
/// # Errors
/// When there is none.
///
/// # Panics
/// When there is none where `VITRINE_CHROMIUM` says.
pub fn installed() -> Result<PathBuf, String> {
    find(chosen_browser(), &search_path())
}

/// Returns where the browser is that is chosen, or the first one on this search path.
///
/// # Errors
/// When there is none.
///
/// # Panics
/// When none is where the chosen one should be.
pub fn find(chosen: Option<PathBuf>, path: &OsStr) -> Result<PathBuf, String> {
    if let Some(chosen) = chosen {
        let place = chosen.display();
        assert!(
            chosen.is_file(),
            "VITRINE_CHROMIUM names {place}, which is no file: name a browser, or unset it"
        );
        return Ok(chosen);
    }
    let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    let mut places = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.find(|place| place.is_file()).ok_or_else(|| {
        let names = NAMES.join(", ");
        format!(
            "there is no browser: none of {names} on PATH, and VITRINE_CHROMIUM is not set \
             (Debian, Ubuntu: `apt-get install {DEBIAN_PACKAGE}`)"
        )
    })
}

impl Browser {
    /// Starts a browser for pages of this host and port, which it also finds as `pictures.test`.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(program: &Path, host: &str) -> Self {
        let profile = tempfile::tempdir().expect("a directory for the profile");
        let child = spawn(program, profile.path(), host);
        let port_file = profile.path().join("DevToolsActivePort");
        let read = async || {
            let text = std::fs::read_to_string(&port_file).ok()?;
            let (port, path) = text.trim().split_once('\n')?;
            Some((port.to_owned(), path.to_owned()))
        };
        let within = Duration::from_millis(TIMEOUT_MILLIS.into());
        let (port, path) = eventually("a browser", within, read).await;
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).await;
        let stream = stream.expect("the browser listens");
        let address = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) = tokio_tungstenite::client_async(address, stream)
            .await
            .expect("the browser speaks the protocol");
        let mut browser = Self {
            child,
            socket,
            session: String::new(),
            next_id: 0,
            host: host.to_owned(),
            allowed: Vec::new(),
            wrong: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        browser.open_page().await;
        browser
    }

    /// Allows requests to another origin as well.
    pub fn allow(&mut self, origin: &str) {
        self.allowed.push(origin.to_owned());
    }

    async fn open_page(&mut self) {
        let target = self
            .call("Target.createTarget", json!({ "url": "about:blank" }))
            .await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attach).await;
        attached["sessionId"]
            .as_str()
            .expect("a session")
            .clone_into(&mut self.session);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({})).await;
        }
        let source = json!({ "source": OBSERVER });
        self.call("Page.addScriptToEvaluateOnNewDocument", source)
            .await;
        self.shape(1280, 900, false).await;
    }

    /// Sets the size of the page, and whether it is dark.
    pub async fn shape(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", size).await;
        let scheme = if dark { "dark" } else { "light" };
        self.prefer(&[("prefers-color-scheme", scheme)]).await;
    }

    /// Sets what the visitor prefers: media features with their values. All others are as by default.
    pub async fn prefer(&mut self, features: &[(&str, &str)]) {
        let feature = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        let features: Vec<Value> = features.iter().map(feature).collect();
        let media = json!({ "features": features });
        self.call("Emulation.setEmulatedMedia", media).await;
    }

    /// Goes to a path and waits until its scripts have drawn the page.
    pub async fn open(&mut self, path: &str) {
        self.requests.clear();
        let url = format!("http://{}{path}", self.host);
        self.call("Page.navigate", json!({ "url": url })).await;
        let path = json!(path);
        self.wait(&format!(
            "location.pathname + location.search + location.hash === {path} \
             && document.readyState === 'complete' \
             && document.documentElement.dataset.ready === 'true'"
        ))
        .await;
    }

    /// Empties the cache.
    pub async fn forget(&mut self) {
        self.call("Network.clearBrowserCache", json!({})).await;
    }

    /// Goes to a path and does not wait: the page may lead elsewhere at once.
    pub async fn go(&mut self, path: &str) {
        let url = format!("http://{}{path}", self.host);
        self.call("Page.navigate", json!({ "url": url })).await;
    }

    /// Waits until an expression is true in the page; returns its value.
    ///
    /// # Panics
    /// When it does not become true in time.
    pub async fn wait(&mut self, expression: &str) -> Value {
        let looking = format!(
            "new Promise((done, fail) => {{ const end = performance.now() + {TIMEOUT_MILLIS}; \
             (function look() {{ let value; try {{ value = ({expression}); }} catch {{}} \
             if (value) done(value.nodeType ? true : value); \
             else if (performance.now() > end) fail(new Error('not in time')); \
             else setTimeout(look, 25); }})(); }})"
        );
        loop {
            match self.evaluate(&looking).await {
                Ok(value) => return value,
                // The page was left meanwhile: the next one is looked at.
                Err(error) if error.contains("context") || error.contains("navigated") => {}
                Err(error) => {
                    self.keep().await;
                    panic!("waited for {expression}: {error}\n{:#?}", self.wrong);
                }
            }
        }
    }

    /// Returns the value of an expression in the page.
    ///
    /// # Panics
    /// When it throws.
    pub async fn eval(&mut self, expression: &str) -> Value {
        match self.evaluate(expression).await {
            Ok(value) => value,
            Err(error) => panic!("{expression}: {error}"),
        }
    }

    async fn evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
        });
        let answer = self.try_call("Runtime.evaluate", params).await?;
        match thrown(&answer) {
            Some(thrown) => Err(thrown),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Clicks at the middle of the first element that fits, with the mouse, once it has stopped moving
    /// and nothing covers it.
    pub async fn click(&mut self, selector: &str) {
        let quoted = json!(selector);
        let place = self
            .wait(&format!(
                "(() => {{ const found = document.querySelector({quoted}); \
                 if (!found || found.disabled) return null; \
                 found.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
                 const box = found.getBoundingClientRect(); \
                 const place = {{ x: box.x + box.width / 2, y: box.y + box.height / 2 }}; \
                 const last = window.lastPlace; \
                 window.lastPlace = {{ found, ...place }}; \
                 if (last?.found !== found || last.x !== place.x || last.y !== place.y) return null; \
                 const top = document.elementFromPoint(place.x, place.y); \
                 const reaches = top && (found.contains(top) || top.contains(found) \
                   || [...found.labels ?? []].some((label) => label.contains(top))); \
                 return box.width && reaches && place; }})()"
            ))
            .await;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event).await;
        }
    }

    /// Clicks at the first element of this kind whose text contains this one.
    pub async fn click_text(&mut self, selector: &str, text: &str) {
        let (quoted, wanted) = (json!(selector), json!(text));
        self.wait(&format!(
            "(() => {{ document.querySelectorAll('[data-chosen]').forEach((one) => delete one.dataset.chosen); \
             const found = [...document.querySelectorAll({quoted})].find((one) => one.textContent.includes({wanted}) && one.getClientRects().length); \
             if (found) found.dataset.chosen = '1'; return Boolean(found); }})()"
        ))
        .await;
        self.click("[data-chosen]").await;
    }

    /// Types a text where the focus is.
    pub async fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text })).await;
    }

    /// Presses a key: `Enter`, `Tab`, `Escape`, `Space`, `ArrowUp`, `ArrowDown`, or a letter or digit.
    ///
    /// # Panics
    /// When the name is another.
    pub async fn press(&mut self, name: &str) {
        let (key, code, text) = match name {
            _ if name.len() == 1 => (
                name,
                i32::from(name.as_bytes()[0].to_ascii_uppercase()),
                name,
            ),
            "Enter" => ("Enter", 13, "\r"),
            "Tab" => ("Tab", 9, ""),
            "Escape" => ("Escape", 27, ""),
            "Space" => (" ", 32, " "),
            "ArrowUp" => ("ArrowUp", 38, ""),
            "ArrowDown" => ("ArrowDown", 40, ""),
            _ => panic!("no key is called {name} here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "code": name, "windowsVirtualKeyCode": code,
                "text": if kind == "keyDown" { text } else { "" },
            });
            self.call("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Goes back in the history of the page.
    pub async fn back(&mut self) {
        self.eval("history.back()").await;
    }

    /// The paths that the page has asked for since it was opened.
    #[must_use]
    pub fn requests(&self) -> &[String] {
        &self.requests
    }

    /// Fails if anything went wrong in the page so far.
    ///
    /// # Panics
    /// With what went wrong.
    pub fn assert_well(&mut self) {
        assert!(
            self.wrong.is_empty(),
            "{:#?}",
            std::mem::take(&mut self.wrong)
        );
    }

    /// Forgets what went wrong with this status, which the test has caused.
    pub fn forgive(&mut self, status: &str) {
        let known = format!("the server responded with a status of {status}");
        self.wrong.retain(|wrong| !wrong.contains(&known));
    }

    /// Runs the text of a script in the page, such as a library.
    ///
    /// # Panics
    /// When it throws.
    pub async fn load(&mut self, script: &str) {
        let params = json!({ "expression": script });
        let answer = self.call("Runtime.evaluate", params).await;
        assert_eq!(thrown(&answer), None, "a script of the tests");
    }

    /// Writes a picture of the page to this file.
    ///
    /// # Panics
    /// When it cannot be written.
    pub async fn picture(&mut self, file: &Path) {
        let shot = self
            .call(
                "Page.captureScreenshot",
                json!({ "captureBeyondViewport": true }),
            )
            .await;
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap_or_default());
        std::fs::write(file, bytes.expect("base64")).expect("the picture is written");
    }

    /// Keeps a picture of a page that failed.
    async fn keep(&mut self) {
        let file = target_dir()
            .join("tmp")
            .join(format!("page-{}.png", self.child.id()));
        self.picture(&file).await;
        eprintln!("the page looked like {}", file.display());
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        match self.try_call(method, params).await {
            Ok(result) => result,
            Err(error) => panic!("{method}: {error}"),
        }
    }

    async fn try_call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next_id += 1;
        let id = self.next_id;
        let mut command = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        let sent = self.socket.send(Message::text(command.to_string())).await;
        sent.map_err(|error| error.to_string())?;
        loop {
            let message = self.socket.next().await.ok_or("the browser is gone")?;
            let message = message.map_err(|error| error.to_string())?;
            let Message::Text(text) = message else {
                continue;
            };
            let answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            if answer["id"] == json!(id) {
                return match answer["error"]["message"].as_str() {
                    Some(error) => Err(error.to_owned()),
                    None => Ok(answer["result"].clone()),
                };
            }
            let method = answer["method"].as_str().unwrap_or_default().to_owned();
            self.happened(&method, &answer["params"]);
        }
    }

    /// Records an event of the page.
    fn happened(&mut self, method: &str, event: &Value) {
        let wrong = match method {
            "Runtime.exceptionThrown" => Some(event["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if event["type"] == "error" => {
                Some(event["args"].to_string())
            }
            "Log.entryAdded" if event["entry"]["level"] == "error" => {
                Some(event["entry"].to_string())
            }
            "Network.loadingFailed" if event["canceled"] != json!(true) => Some(event.to_string()),
            "Network.requestWillBeSent" => {
                let url = event["request"]["url"].as_str().unwrap_or_default();
                self.requested(url)
            }
            "Network.webSocketCreated" => {
                let url = event["url"].as_str().unwrap_or_default().to_owned();
                self.requested(&url.replacen("ws", "http", 1))
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.wrong.push(format!("{method}: {wrong}"));
        }
    }

    fn allows(&self, url: &str) -> bool {
        let mut allowed = self.allowed.iter();
        allowed.any(|origin| {
            let rest = url.strip_prefix(origin.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    fn requested(&mut self, url: &str) -> Option<String> {
        if url.starts_with("data:") || url.starts_with("about:") {
            return None;
        }
        match url.strip_prefix(&format!("http://{}", self.host)) {
            Some(path) => {
                self.requests.push(path.to_owned());
                None
            }
            None if self.allows(url) => None,
            None => Some(format!("a request to another host: {url}")),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// What an evaluated script has thrown, if it has.
fn thrown(answer: &Value) -> Option<String> {
    let details = answer.get("exceptionDetails")?;
    let description = details["exception"]["description"].as_str();
    Some(description.map_or_else(|| details.to_string(), ToOwned::to_owned))
}

/// Ends when its standard input is closed, by the end of this process at the latest, and then ends its process group: the
/// browser, which a script may have started, and the processes of that.
const GUARD: &str = r#""$@" & read -r nothing; kill -s KILL 0"#;

fn spawn(program: &Path, profile: &Path, host: &str) -> Child {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", GUARD, "guard"])
        .arg(program)
        .args([
            "--headless",
            "--remote-debugging-port=0",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--host-resolver-rules=MAP pictures.test {host}"))
        .stdin(Stdio::null())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    // The sandbox of the browser does not work for root, as which tests run in containers.
    if is_root() {
        command.arg("--no-sandbox");
    }
    command.spawn().expect("the browser runs")
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().next()) == Some("0")
}
