//! Signing in at an identity provider, in a browser.

mod failures;
mod provider;
mod sessions;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::process::Service;
use vitrine_harness::{App, eventually, http, test};

use self::provider::Provider;
use super::accessibility::violations;
use super::{opinions, shop, text};
use crate::operators::with_service;

const LONG: Duration = Duration::from_mins(1);
const NAME: &str = "document.querySelector('.account > button')?.textContent";

/// Runs the service with all pages on the shop of these tests. Visitors sign in at the provider.
async fn with_provider(app: &App, provider: &Provider, body: impl AsyncFnOnce(&str, &Service)) {
    app.has(shop()).await;
    app.has_reviews(opinions()).await;
    app.run_background_work().await;
    let settings = provider.settings();
    let pages = [
        "--storefront",
        "--console",
        "--graphiql",
        "--cost-per-second",
        "0",
    ];
    let own = settings.iter().map(String::as_str);
    let options: Vec<&str> = own.chain(pages).collect();
    with_service(app, &options, async |address, service| {
        provider.desk().shop = format!("http://{address}");
        body(address, service).await;
    })
    .await;
}

/// Waits until the log has a text.
async fn logged(service: &Service, text: &str) {
    let look = async || service.output().contains(text).then_some(());
    eventually(text, LONG, look).await;
}

/// Starts a browser that may also ask the provider.
async fn browser_for(program: &Path, address: &str, provider: &Provider) -> Browser {
    let mut browser = Browser::start(program, address).await;
    browser.allow(provider.origin());
    browser
}

/// Runs a test in a browser whose visitor can sign in. Nothing may go wrong in it, also not at the
/// provider.
fn in_shop(body: impl AsyncFnOnce(&mut Browser, &Provider, &str)) {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        let provider = Provider::start(app).await;
        with_provider(app, &provider, async |address, service| {
            logged(service, "visitors sign in at http://").await;
            let mut browser = browser_for(&program, address, &provider).await;
            body(&mut browser, &provider, address).await;
            browser.assert_well();
        })
        .await;
    });
}

/// Signs in with the button of the page at the top, and waits for the page with this address.
async fn sign_in(browser: &mut Browser, back: &str) {
    browser.click(".account > button").await;
    browser.click("dialog[open] .provider").await;
    arrived(browser, back).await;
}

/// Waits until the visitor is back on a page, signed in.
async fn arrived(browser: &mut Browser, back: &str) {
    browser
        .wait(&format!(
            "location.pathname + location.search + location.hash === {} && {NAME} === 'Ada Löwe'",
            json!(back)
        ))
        .await;
}

#[test]
fn a_shopper_signs_in_returns_to_the_page_and_votes() {
    in_shop(async |browser, provider, _| {
        let page = "/p/karst-monitor-1?units=imperial";
        browser.open(page).await;
        sign_in(browser, page).await;
        browser
            .wait("document.querySelector('.opinions').getAttribute('aria-busy') === 'false'")
            .await;
        browser.click(".vote").await;
        browser
            .wait("document.querySelector('.vote').textContent === 'Helpful 14'")
            .await;
        let kept =
            "[document.cookie, localStorage.length, sessionStorage.getItem('vitrine.login')]";
        assert_eq!(browser.eval(kept).await, json!(["", 0, null]));
        // The answer of the provider is no page to go back to.
        browser.eval("setTimeout(() => history.back())").await;
        browser
            .wait(&format!("!location.href.includes('code=') && {NAME}"))
            .await;
        let desk = provider.desk();
        assert_eq!(desk.refused, Vec::<String>::new());
        assert_eq!(desk.refreshed, 0);
    });
}

#[test]
fn an_admin_signs_in_at_the_page_that_needs_it() {
    in_shop(async |browser, provider, _| {
        provider.desk().role = "admin";
        browser.open("/console/units").await;
        browser.click(".entrance .provider").await;
        arrived(browser, "/console/units").await;
        browser.wait("document.querySelector('.grid')").await;
    });
}

#[test]
fn who_lacks_a_role_sees_why_and_can_use_a_token_instead() {
    in_shop(async |browser, provider, _| {
        browser.open("/console/units").await;
        browser.click(".entrance .provider").await;
        arrived(browser, "/console/units").await;
        browser
            .wait("document.querySelector('main [role=status]')?.textContent === 'Units needs the role admin. “ada” has the role shopper.'")
            .await;
        browser.click_text(".entrance .button", "Sign out").await;
        browser
            .wait(
                "location.pathname === '/console' && document.querySelector('.entrance .provider')",
            )
            .await;
        browser.open("/console/units").await;
        browser.click(".entrance summary").await;
        browser.click("#entrance-token").await;
        let token = {
            let mut desk = provider.desk();
            (desk.subject, desk.role) = ("eva", "admin");
            desk.access_token()
        };
        browser.write(&token).await;
        browser.press("Enter").await;
        browser.wait("document.querySelector('.grid')").await;
    });
}

#[test]
fn signing_out_forgets_the_tokens_here_and_at_the_provider() {
    in_shop(async |browser, provider, address| {
        browser.open("/c/monitors").await;
        sign_in(browser, "/c/monitors").await;
        browser.click(".account > button").await;
        browser.click_text("dialog[open] .button", "Sign out").await;
        browser
            .wait(&format!(
                "location.pathname === '/' && {NAME} === 'Sign in'"
            ))
            .await;
        let kept = browser.eval("Object.keys(sessionStorage)").await;
        assert_eq!(kept, json!([]));
        let ended = provider.desk().ended.clone();
        let back = format!("http://{address}/");
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0]["post_logout_redirect_uri"], back);
        assert_eq!(ended[0]["client_id"], "vitrine-pages");
        assert_eq!(ended[0]["id_token_hint"].split('.').count(), 3);
    });
}

#[test]
fn axe_finds_nothing_where_one_signs_in() {
    in_shop(async |browser, _, _| {
        for width in [1280, 320] {
            browser.shape(width, 800, false).await;
            browser.open("/").await;
            browser.click(".account > button").await;
            browser.click("dialog[open] summary").await;
            browser.wait("document.querySelector('#token')").await;
            assert_eq!(violations(browser).await, Vec::<String>::new());
            browser.go("/signed-in?error=a&state=b").await;
            text(browser, "main [role=alert]").await;
            assert_eq!(violations(browser).await, Vec::<String>::new());
            let wide = browser.eval("document.documentElement.scrollWidth").await;
            assert_eq!(wide, width);
        }
    });
}

#[test]
fn pages_may_reach_the_provider_and_no_other_host() {
    test(async |app| {
        let provider = Provider::start(app).await;
        with_provider(app, &provider, async |address, service| {
            logged(service, "visitors sign in at http://").await;
            let policy = async |path: &str| {
                let reply = http::get_as(address, path, "text/html").await.unwrap();
                assert_eq!(reply.status, 200, "{path}");
                let policy = reply.header("content-security-policy").unwrap();
                (policy.to_owned(), reply.body)
            };
            let reached = format!("connect-src 'self' {}", provider.origin());
            for path in ["/", "/console", "/signed-in?code=a"] {
                let (policy, body) = policy(path).await;
                let parts: Vec<&str> = policy.split("; ").collect();
                assert!(parts.contains(&reached.as_str()), "{path}: {policy}");
                assert!(parts.contains(&"script-src 'self'"), "{path}: {policy}");
                assert_eq!(policy.matches("://").count(), 1, "{path}: {policy}");
                assert!(body.contains("noindex") || path == "/", "{path}");
            }
            let (policy, _) = policy("/graphiql").await;
            assert!(!policy.contains("://"), "{policy}");
        })
        .await;
        with_service(app, &["--storefront"], async |address, _| {
            let reply = http::get_as(address, "/", "text/html").await.unwrap();
            let policy = reply.header("content-security-policy").unwrap();
            assert!(!policy.contains("://"), "{policy}");
            let reply = http::get_as(address, "/signed-in", "text/html").await;
            assert_eq!(reply.unwrap().status, 404);
        })
        .await;
    });
}
