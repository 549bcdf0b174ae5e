//! What goes wrong when visitors sign in, and what they are told.

use serde_json::json;
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::test;

use super::provider::Provider;
use super::{NAME, arrived, browser_for, in_shop, logged, sign_in, text, with_provider};

const WHY: &str = "main [role=alert]";

/// Asserts that nobody is signed in, and that nothing of the answer is left in the address.
async fn assert_stranger(browser: &mut Browser) {
    let left = browser
        .eval("[location.pathname + location.search, sessionStorage.getItem('vitrine.person')]")
        .await;
    assert_eq!(left, json!(["/signed-in", null]));
}

/// Begins to sign in on the first page, and returns why that did not work.
async fn refused(browser: &mut Browser) -> String {
    browser.open("/").await;
    browser.click(".account > button").await;
    browser.click("dialog[open] .provider").await;
    browser
        .wait(&format!(
            "location.pathname === '/signed-in' && document.querySelector('{WHY}')"
        ))
        .await;
    let why = text(browser, WHY).await;
    assert_stranger(browser).await;
    why
}

/// Opens the page with this answer of a provider. Returns why it is refused.
async fn answered(browser: &mut Browser, answer: &str) -> String {
    browser.eval("window.left = true").await;
    browser.go(&format!("/signed-in{answer}")).await;
    browser
        .wait(&format!("!window.left && document.querySelector('{WHY}')"))
        .await;
    assert_stranger(browser).await;
    text(browser, WHY).await
}

#[test]
fn an_answer_that_the_tab_has_not_asked_for_is_refused() {
    in_shop(async |browser, provider, _| {
        browser.open("/").await;
        let foreign = "This tab has not begun this sign-in, or has finished it already.";
        for answer in ["", "?code=code-0&state=abc", "?code=code-0"] {
            assert_eq!(answered(browser, answer).await, foreign, "{answer}");
        }
        // A sign-in that the tab has begun is not ended by the answer of somebody else.
        let begun = json!({ "state": "own", "nonce": "n", "verifier": "v", "back": "/" });
        let begun = json!(begun.to_string());
        browser
            .eval(&format!("sessionStorage.setItem('vitrine.login', {begun})"))
            .await;
        let why = answered(browser, "?code=code-0&state=foreign").await;
        assert_eq!(why, foreign);
        let pending = "sessionStorage.getItem('vitrine.login')";
        assert_eq!(browser.eval(pending).await, begun);
        browser.click_text("main .button", "Try again").await;
        arrived(browser, "/").await;
        browser
            .eval("sessionStorage.removeItem('vitrine.person')")
            .await;
        let used = provider.desk().sent_back.clone();
        let (_, answer) = used.split_once("/signed-in").unwrap();
        assert_eq!(answered(browser, answer).await, foreign, "used before");
        assert_eq!(provider.desk().refused.len(), 0, "nothing was sent there");
    });
}

#[test]
fn a_token_that_only_its_provider_can_read_is_said_to_be_the_reason() {
    in_shop(async |browser, provider, _| {
        provider.desk().is_opaque = true;
        let why = refused(browser).await;
        let expected = "The identity provider has issued a token that this shop cannot read.";
        assert!(why.starts_with(expected), "{why}");
    });
}

#[test]
fn an_answer_of_another_provider_or_for_another_sign_in_is_refused() {
    in_shop(async |browser, provider, _| {
        provider.desk().iss = Some("https://id.example".to_owned());
        let why = refused(browser).await;
        assert!(why.contains("not from the identity provider"), "{why}");
        provider.desk().iss = Some(provider.origin().to_owned());
        provider.desk().nonce = Some("of somebody else");
        let why = refused(browser).await;
        assert!(why.contains("another sign-in than this one"), "{why}");
        provider.desk().nonce = None;
        browser.open("/").await;
        sign_in(browser, "/").await;
    });
}

#[test]
fn a_token_that_the_service_does_not_accept_is_said_to_be_so() {
    in_shop(async |browser, provider, _| {
        provider.desk().audience = "somebody else";
        browser.open("/p/karst-monitor-1").await;
        browser.click(".account > button").await;
        browser.click("dialog[open] .provider").await;
        browser
            .wait("document.querySelector('.expired')?.textContent.includes('does not accept your token')")
            .await;
        browser
            .wait(&format!(
                "{NAME} === 'Sign in' && document.querySelector('.opinion')"
            ))
            .await;
        assert_eq!(provider.desk().refreshed, 1, "not again and again");
        browser.forgive("401");
    });
}

#[test]
fn what_the_provider_says_is_shown_as_text() {
    in_shop(async |browser, provider, _| {
        provider.desk().error = Some(("access_denied", "The <b>door</b> is closed."));
        let why = refused(browser).await;
        assert!(why.contains("does not let you in"), "{why}");
        let said = "The identity provider says: access_denied: The <b>door</b> is closed.";
        assert_eq!(text(browser, "main .iso").await, said);
        provider.desk().error = Some(("something_new", ""));
        let why = refused(browser).await;
        assert_eq!(why, "The identity provider has refused the sign-in.");
        browser.click_text("main a", "To the shop").await;
        browser
            .wait(&format!(
                "location.pathname === '/' && {NAME} === 'Sign in'"
            ))
            .await;
    });
}

#[test]
fn visitors_return_to_this_site_only() {
    in_shop(async |browser, _, _| {
        for elsewhere in ["//evil.example/", "https://evil.example/", "/signed-in"] {
            browser.open("/c/monitors").await;
            browser.eval(&format!("(() => {{ const real = Storage.prototype.setItem; Storage.prototype.setItem = function (key, value) {{ \
                if (key === 'vitrine.login') value = JSON.stringify({{ ...JSON.parse(value), back: {} }}); \
                return real.call(this, key, value); }}; }})()", json!(elsewhere))).await;
            sign_in(browser, "/").await;
            browser.eval("sessionStorage.clear()").await;
        }
    });
}

#[test]
fn a_provider_that_is_down_at_the_start_is_found_later() {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        let provider = Provider::start(app).await;
        provider.desk().is_away = true;
        with_provider(app, &provider, async |address, service| {
            let outage = "the identity provider's addresses cannot be read from";
            logged(service, outage).await;
            let mut browser = browser_for(&program, address, &provider).await;
            browser.open("/").await;
            browser.click(".account > button").await;
            let said = text(&mut browser, "dialog[open] [role=alert]").await;
            assert!(said.contains("cannot be reached at the moment"), "{said}");
            browser
                .wait("document.querySelector('dialog[open] #token')")
                .await;
            provider.desk().is_away = false;
            logged(service, "visitors sign in at http://").await;
            assert_eq!(service.output().matches(outage).count(), 1);
            browser.open("/").await;
            sign_in(&mut browser, "/").await;
            browser.assert_well();
        })
        .await;
    });
}

#[test]
fn a_document_of_another_issuer_is_refused() {
    test(async |app| {
        let provider = Provider::start(app).await;
        provider.desk().issuer = Some(format!("{}/", provider.origin()));
        with_provider(app, &provider, async |address, service| {
            logged(service, "it is of another issuer").await;
            let reply = vitrine_harness::http::get_as(address, "/", "text/html").await;
            let reply = reply.unwrap();
            assert!(reply.body.contains("\"login\":{\"ready\":false}"));
            let policy = reply.header("content-security-policy").unwrap();
            assert!(!policy.contains("://"), "{policy}");
        })
        .await;
    });
}
