//! The service behind nginx, `HAProxy` and Varnish, with the files that docs/operations.md names.

use std::fs;
use std::path::Path;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::http::{self, Reply};
use vitrine_harness::mongod::Server;
use vitrine_harness::process::{Service, run};

use crate::programs::{Program, ask, program};
use crate::{SECRETS, at, block_on, serve};

/// The shop as visitors know it.
const SHOP: &str = "https://shop.example";
const QUERY: &str = "{ categories { slug } }";

/// A shop with pages that believes the proxies of this machine.
async fn shop(server: &Server) -> (Service, String) {
    let migrated = run(&at(server.uri(), &["migrate", "up"]));
    assert!(migrated.status.success());
    let pages = ["--storefront", "--storefront-origin", SHOP];
    let proxies = ["--trusted-proxy", "127.0.0.1/32", "--cache-max-age", "60"];
    serve(server.uri(), &[pages.as_slice(), &proxies].concat()).await
}

/// A shipped file, for a service and a proxy at these addresses.
fn shipped(name: &str, service: &str, proxy: &str) -> String {
    let path = workspace_dir().join("docker/proxies").join(name);
    let text = fs::read_to_string(path).unwrap();
    let (_, port) = service.split_once(':').unwrap();
    text.replace("127.0.0.1:8080", service)
        .replace("\"8080\"", &format!("\"{port}\""))
        .replace("listen 80;", &format!("listen {proxy};"))
        .replace("bind :80", &format!("bind {proxy}"))
}

/// What Debian has around a file in /etc/nginx/conf.d, with all that is written in one directory.
fn nginx(directory: &Path, server: &str) -> Vec<String> {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|name| format!("{name}_temp_path {name};"));
    let main = format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr;\nevents {{}}\n\
         http {{ access_log off; {}\n{server}\n}}\n",
        temporary.join(" ")
    );
    fs::write(directory.join("nginx.conf"), main).unwrap();
    let directory = directory.to_str().unwrap();
    ["-p", directory, "-c", "nginx.conf", "-e", "stderr"]
        .map(str::to_owned)
        .to_vec()
}

/// Opens a web socket as a page of this origin does. The host is that of the shop.
async fn socket(address: &str, origin: &str) -> Result<WebSocketStream<TcpStream>, Error> {
    let mut request = format!("ws://{address}/graphql")
        .into_client_request()
        .unwrap();
    for (name, value) in [
        ("host", "shop.example"),
        ("origin", origin),
        ("sec-websocket-protocol", "graphql-transport-ws"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(address).await.unwrap();
    Ok(client_async(request, stream).await?.0)
}

/// Asks over a web socket; returns the answer.
async fn asked(mut socket: WebSocketStream<TcpStream>) -> Value {
    let payload = json!({ "query": QUERY });
    let subscribe = json!({ "type": "subscribe", "id": "1", "payload": payload });
    for sent in [json!({ "type": "connection_init" }), subscribe] {
        socket.send(Message::text(sent.to_string())).await.unwrap();
    }
    while let Some(received) = socket.next().await {
        let Message::Text(text) = received.unwrap() else {
            continue;
        };
        let received: Value = serde_json::from_str(&text).unwrap();
        if received["type"] == "next" {
            return received["payload"]["data"].clone();
        }
    }
    panic!("the connection ended without an answer");
}

/// Sends a query to the shop.
async fn query(proxy: &Program) -> Reply {
    let json = [("content-type", "application/json")];
    let body = json!({ "query": QUERY }).to_string();
    ask(&proxy.address, "POST /graphql", &json, &body).await
}

/// Asserts that requests, pages and web sockets of the shop pass a proxy.
async fn assert_passes(proxy: &Program) {
    let expected = json!({ "categories": [] });
    let posted = query(proxy).await;
    assert_eq!(posted.json()["data"], expected);
    let page = ask(&proxy.address, "GET /", &[], "").await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert_eq!(
        asked(socket(&proxy.address, SHOP).await.unwrap()).await,
        expected
    );
    let foreign = socket(&proxy.address, "https://evil.example").await;
    assert!(
        matches!(&foreign, Err(Error::Http(reply)) if reply.status() == 403),
        "{foreign:?}"
    );
}

#[test]
fn a_shop_works_behind_nginx() {
    block_on(async {
        let Some(binary) = program("nginx", "nginx-light") else {
            return;
        };
        let server = Server::start("proxies").await.unwrap();
        let (service, address) = shop(&server).await;
        let proxy = Program::start(&binary, |directory, proxy| {
            nginx(directory, &shipped("nginx.conf", &address, proxy))
        });
        let proxy = proxy.await;
        assert_passes(&proxy).await;
        // The 1 MB of nginx would be refused with 413. The service reads less of a query, and hangs up.
        let large = vec![b' '; 2_000_000];
        let json = ("content-type", "application/json");
        let refused = http::send(&proxy.address, "/graphql", &[json], large).await;
        assert!(refused.map_or(true, |reply| {
            !reply.body.contains("413 Request Entity Too Large")
        }));
        assert!(service.stop().await.success());
    });
}

/// Without a line about `Host`, nginx names the service as it is called inside.
#[test]
fn pages_of_the_shop_open_sockets_behind_an_nginx_that_changes_the_host() {
    block_on(async {
        let Some(binary) = program("nginx", "nginx-light") else {
            return;
        };
        let server = Server::start("proxies").await.unwrap();
        let (service, address) = shop(&server).await;
        let proxy = Program::start(&binary, |directory, proxy| {
            let server = format!(
                "server {{ listen {proxy}; location / {{ proxy_pass http://{address}; proxy_http_version 1.1;\n\
                 proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }} }}"
            );
            nginx(directory, &server)
        });
        assert_passes(&proxy.await).await;
        let said = service.output();
        let refused = said
            .lines()
            .find(|line| line.contains("a web socket is refused"));
        let refused = refused.unwrap_or_else(|| panic!("no refusal in {said}"));
        assert!(refused.contains("https://evil.example"), "{refused}");
        assert!(refused.contains(&address), "{refused}");
        assert!(service.stop().await.success());
    });
}

/// As nginx is installed: web sockets need three lines more.
#[test]
fn a_proxy_that_removes_the_upgrade_is_named() {
    block_on(async {
        let Some(binary) = program("nginx", "nginx-light") else {
            return;
        };
        let server = Server::start("proxies").await.unwrap();
        let (service, address) = shop(&server).await;
        let proxy = Program::start(&binary, |directory, proxy| {
            let location = format!("location / {{ proxy_pass http://{address}; }}");
            nginx(
                directory,
                &format!("server {{ listen {proxy}; {location} }}"),
            )
        });
        let refused = socket(&proxy.await.address, SHOP).await;
        let Err(Error::Http(reply)) = refused else {
            panic!("not refused: {refused:?}");
        };
        let body = String::from_utf8(reply.into_body().unwrap()).unwrap();
        assert!(
            body.contains("A proxy has removed the header `Upgrade`"),
            "{body}"
        );
        assert!(service.stop().await.success());
    });
}

#[test]
fn a_shop_works_behind_haproxy() {
    block_on(async {
        let Some(binary) = program("haproxy", "haproxy") else {
            return;
        };
        let server = Server::start("proxies").await.unwrap();
        let (service, address) = shop(&server).await;
        let proxy = Program::start(&binary, |directory, proxy| {
            let file = directory.join("haproxy.cfg");
            fs::write(&file, shipped("haproxy.cfg", &address, proxy)).unwrap();
            vec![
                "-db".to_owned(),
                "-f".to_owned(),
                file.to_str().unwrap().to_owned(),
            ]
        });
        let proxy = proxy.await;
        assert_passes(&proxy).await;
        assert!(service.stop().await.success());
        // It is told by the health check that nobody answers.
        let none = query(&proxy).await;
        assert_eq!(none.status, 503, "{}", none.body);
    });
}

#[test]
fn a_shop_works_behind_varnish() {
    block_on(async {
        let Some(binary) = program("varnishd", "varnish") else {
            return;
        };
        let server = Server::start("proxies").await.unwrap();
        let (service, address) = shop(&server).await;
        let proxy = Program::start(&binary, |directory, proxy| {
            let file = directory.join("varnish.vcl");
            fs::write(&file, shipped("varnish.vcl", &address, proxy)).unwrap();
            let (file, work) = (file.to_str().unwrap(), directory.join("work"));
            let arguments = [
                "-F",
                "-j",
                "none",
                "-s",
                "malloc,32m",
                "-f",
                file,
                "-a",
                proxy,
                "-n",
            ];
            let mut arguments = arguments.map(str::to_owned).to_vec();
            arguments.push(work.to_str().unwrap().to_owned());
            arguments
        });
        let proxy = proxy.await;
        assert_passes(&proxy).await;
        // A hit has the number of its request and that of the one that brought it.
        let is_hit = |reply: &Reply| reply.header("x-varnish").unwrap().contains(' ');
        let token = run(&["token", "--token-secret", SECRETS[3]]).stdout;
        let bearer = format!("Bearer {}", String::from_utf8(token).unwrap().trim());
        let signed = [("authorization", bearer.as_str())];
        for (headers, hit) in [([].as_slice(), false), (&[], true), (&signed, false)] {
            let encoded = QUERY.replace(' ', "%20").replace('{', "%7B");
            let request = format!("GET /graphql?query={}", encoded.replace('}', "%7D"));
            let reply = ask(&proxy.address, &request, headers, "").await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            assert_eq!(is_hit(&reply), hit, "{headers:?}: {}", reply.head);
        }
        assert!(service.stop().await.success());
    });
}
