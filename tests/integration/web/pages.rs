//! The pages as they arrive, before any script runs.

use serde_json::Value;
use vitrine_harness::http::{self, Reply};
use vitrine_harness::process::Service;
use vitrine_harness::test;

use super::{HOSTILE, with_shop};
use crate::operators::with_service;
use crate::process::block_on;

/// What the scripts of the storefront may weigh, compressed.
const MAX_SCRIPT_BYTES: usize = 60_000;

async fn page(address: &str, path: &str) -> Reply {
    http::get_as(address, path, "text/html").await.unwrap()
}

/// The content of the first element that begins with this tag.
fn element<'a>(html: &'a str, opening: &str, closing: &str) -> &'a str {
    let (_, rest) = html
        .split_once(opening)
        .unwrap_or_else(|| panic!("no {opening} in {html}"));
    rest.split_once(closing).unwrap().0
}

#[test]
fn a_product_page_can_be_read_without_scripts() {
    test(async |app| {
        with_shop(app, async |address| {
            let reply = page(address, "/p/karst-monitor-1").await;
            assert_eq!(reply.status, 200);
            let html = &reply.body;
            assert_eq!(
                element(html, "<title>", "</title>"),
                "Karst Monitor 1 – Vitrine"
            );
            assert!(html.contains("<link rel=\"canonical\" href=\"/p/karst-monitor-1\">"));
            assert_eq!(
                element(html, "name=\"description\" content=\"", "\""),
                "A display for long days."
            );
            for shown in [
                "€110.00",
                "27 in",
                "Saigon River Goods (VN)",
                "Opinion 13",
                "href=\"/c/monitors\"",
            ] {
                assert!(html.contains(shown), "{shown}");
            }
            let data: Value =
                serde_json::from_str(element(html, "ld+json\">", "</script>")).unwrap();
            assert_eq!(data["@type"], "Product");
            assert_eq!(data["aggregateRating"]["ratingCount"], 14);
            assert_eq!(data["offers"]["price"], "110.00");
            assert!(
                data["offers"].get("availability").is_none(),
                "the catalogue knows no stock"
            );
            assert!(
                data.get("image").is_none(),
                "a host for examples has no pictures"
            );
            let first: Value =
                serde_json::from_str(element(html, "id=\"first\">", "</script>")).unwrap();
            assert_eq!(first["asked"][0]["operation"], "Product");
            let cost = &first["asked"][0]["answer"]["extensions"]["cost"];
            assert!(
                cost["requested"].as_u64() < cost["limit"].as_u64(),
                "{cost}"
            );
            assert_eq!(first["actAs"], false);
        })
        .await;
    });
}

#[test]
fn a_list_can_be_read_and_filtered_without_scripts() {
    test(async |app| {
        with_shop(app, async |address| {
            let html = page(address, "/c/monitors").await.body;
            assert!(html.contains("33 products"), "{html}");
            assert_eq!(html.matches("<li class=\"tile\">").count(), 24);
            assert!(html.contains("href=\"/c/monitors?brand=Karst\""));
            let next = element(&html, "rel=\"next\" href=\"", "\"").replace("&amp;", "&");
            let rest = page(address, &next).await.body;
            assert_eq!(rest.matches("<li class=\"tile\">").count(), 9);
            assert!(
                rest.contains("noindex"),
                "a page within a list is not for search engines"
            );
            // 68.6 cm are 27 in.
            let narrow = "/c/monitors?brand=Karst&n.screen_size=26.9..27.1~in&t.panel_type=VA";
            let html = page(address, narrow).await.body;
            assert!(
                html.contains("1 product<") && html.contains("Karst Monitor 2"),
                "{html}"
            );
            let both = page(address, "/c/monitors?brand=Karst&brand=Silo").await;
            assert!(both.body.contains("3 products"), "{}", both.body);
            let others = "<a rel=\"nofollow\" href=\"/c/monitors?brand=Silo\" aria-current";
            assert!(both.body.contains(others), "{}", both.body);
            let html = page(address, "/search?q=mnitor+karst").await.body;
            assert!(html.contains("Karst Monitor 1"), "{html}");
        })
        .await;
    });
}

#[test]
fn what_does_not_exist_is_said_with_the_right_status() {
    test(async |app| {
        with_shop(app, async |address| {
            for path in ["/p/nothing", "/c/nothing"] {
                let reply = page(address, path).await;
                assert_eq!(reply.status, 404, "{path}");
                assert!(reply.body.contains("<h1>"), "{path}");
            }
            let wrong = page(address, "/c/monitors?n.screen_size=1..2~kg").await;
            assert_eq!(wrong.status, 400, "{}", wrong.body);
            let stale = page(address, "/c/monitors?after=nonsense").await;
            assert_eq!(stale.status, 400);
            let unknown = http::get(address, "/assets/x/store/nothing.js")
                .await
                .unwrap();
            assert_eq!(unknown.status, 404);
            assert_eq!(http::get(address, "/nowhere").await.unwrap().status, 404);
        })
        .await;
    });
}

#[test]
fn hostile_texts_stay_texts() {
    test(async |app| {
        with_shop(app, async |address| {
            for path in [
                "/p/hostile",
                "/c/things",
                "/search?q=%3Cscript%3Ealert(1)%3C/script%3E",
            ] {
                let html = page(address, path).await.body;
                assert!(
                    !html.contains("<img src=x") && !html.contains("<script>alert"),
                    "{path}: {html}"
                );
                let first = element(&html, "id=\"first\">", "</script>");
                let first: Value = serde_json::from_str(first).unwrap();
                if path == "/p/hostile" {
                    assert_eq!(
                        first["asked"][0]["answer"]["data"]["product"]["brand"],
                        HOSTILE
                    );
                }
            }
        })
        .await;
    });
}

#[test]
fn pages_allow_only_scripts_of_their_own_host() {
    test(async |app| {
        with_shop(app, async |address| {
            for path in [
                "/",
                "/c/monitors",
                "/p/karst-monitor-1",
                "/compare",
                "/graphiql",
            ] {
                let reply = page(address, path).await;
                assert_eq!(reply.status, 200, "{path}");
                let policy = reply.header("content-security-policy").unwrap();
                assert!(policy.contains("script-src 'self';"), "{path}: {policy}");
                assert!(
                    policy.contains("frame-ancestors 'none'"),
                    "{path}: {policy}"
                );
                assert_eq!(reply.header("cache-control"), Some("private, no-cache"));
                assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
                assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
                assert!(
                    !reply.body.contains(" style=") && !reply.body.contains(" onload="),
                    "{path}"
                );
                let addresses = reply
                    .body
                    .match_indices("src=\"")
                    .chain(reply.body.match_indices("href=\""));
                for (at, attribute) in addresses {
                    let rest = &reply.body[at + attribute.len()..];
                    let address = rest.split('"').next().unwrap();
                    let of_host = address.starts_with(['/', '#']) && !address.starts_with("//");
                    assert!(of_host || address == "data:,", "{path}: {address}");
                }
            }
        })
        .await;
    });
}

#[test]
fn scripts_are_small_and_kept_by_browsers() {
    test(async |app| {
        with_shop(app, async |address| {
            let html = page(address, "/").await.body;
            let modules = html
                .match_indices("modulepreload\" href=\"")
                .map(|(at, tag)| &html[at + tag.len()..]);
            let main = element(&html, "type=\"module\" src=\"", "\"");
            let modules: Vec<&str> = modules
                .map(|rest| rest.split('"').next().unwrap())
                .chain([main])
                .collect();
            let mut bytes = 0;
            for module in &modules {
                let packed =
                    http::request(address, "HEAD", module, &[("accept-encoding", "gzip")]).await;
                let packed = packed.unwrap();
                assert_eq!(packed.status, 200, "{module}");
                assert_eq!(
                    packed.header("cache-control"),
                    Some("public, max-age=31536000, immutable")
                );
                bytes += packed
                    .header("content-length")
                    .unwrap()
                    .parse::<usize>()
                    .unwrap();
            }
            assert!(modules.len() > 20, "{}", modules.len());
            assert!(bytes < MAX_SCRIPT_BYTES, "{bytes} bytes of scripts");
            let other = modules[0].replacen("/assets/", "/assets/0", 1);
            let other = http::get(address, &other).await.unwrap();
            assert_eq!(other.header("cache-control"), Some("no-cache"));
        })
        .await;
    });
}

/// Runs the service of development, which listens here, without a catalogue.
fn with_development(listen: &str, body: impl AsyncFnOnce(&Service, &str)) {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().to_str().unwrap();
    let options = ["--data-dir", directory, "--listen", listen];
    block_on(async {
        let service = Service::start(&[&options[..], &["--catalogue", "empty"]].concat());
        let address = service.ready().await;
        body(&service, &address).await;
        assert!(service.stop().await.success());
    });
}

#[test]
fn development_that_other_machines_reach_hands_out_no_tokens() {
    with_development("0.0.0.0:0", async |_, address| {
        let first = page(address, "/").await.body;
        let first = element(&first, "id=\"first\">", "</script>");
        let first: Value = serde_json::from_str(first).unwrap();
        assert_eq!(first["actAs"], false);
        let asked = http::request(address, "POST", "/act-as", &[]).await;
        assert_eq!(asked.unwrap().status, 404);
    });
}

#[test]
fn in_development_one_acts_as_anybody_from_a_page_of_this_machine() {
    with_development("127.0.0.1:0", async |service, address| {
        let shop = format!("the shop     http://{address}/");
        assert!(service.output().contains(&shop), "{}", service.output());
        let html = page(address, "/").await.body;
        let origin = format!("rel=\"canonical\" href=\"http://{address}/\"");
        assert!(html.contains(&origin), "{html}");
        let people = http::request(address, "POST", "/act-as", &[])
            .await
            .unwrap();
        let people = people.json();
        let roles = people.as_array().unwrap().iter();
        let mut found = Vec::new();
        for person in roles {
            let token = person["token"].as_str();
            let viewer = http::graphql(address, "{ viewer { roles } }", token).await;
            found.push(viewer.unwrap().json()["data"]["viewer"]["roles"][0].clone());
        }
        assert_eq!(found, ["SHOPPER", "SHOPPER", "MODERATOR", "ADMIN"]);
        let strange = [("sec-fetch-site", "cross-site")];
        let refused = http::request(address, "POST", "/act-as", &strange)
            .await
            .unwrap();
        assert_eq!((refused.status, refused.body.as_str()), (403, ""));
    });
}

#[test]
fn a_service_without_the_flag_has_no_pages() {
    test(async |app| {
        with_service(app, &[], async |address, _| {
            for path in ["/", "/search", "/graphiql", "/act-as", "/pictures/a/b.svg"] {
                assert_eq!(page(address, path).await.status, 404, "{path}");
            }
        })
        .await;
        let options = [
            "--storefront",
            "--storefront-origin",
            "https://shop.example",
        ];
        with_service(app, &options, async |address, _| {
            let html = page(address, "/").await.body;
            assert!(
                html.contains("rel=\"canonical\" href=\"https://shop.example/\""),
                "{html}"
            );
            assert_eq!(page(address, "/graphiql").await.status, 404);
            let asked = http::request(address, "POST", "/act-as", &[])
                .await
                .unwrap();
            assert_eq!(asked.status, 404, "serve hands out no tokens");
        })
        .await;
    });
}
