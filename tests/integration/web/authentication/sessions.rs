//! How long visitors stay signed in, and what happens to what they have written.

use serde_json::{Value, json};
use vitrine_harness::browser::Browser;

use super::provider::Provider;
use super::{NAME, arrived, in_shop, sign_in};
use crate::web::console::fill;

/// The end of a session is said here.
const ENDED: &str = "document.querySelector('.expired')?.textContent ?? ''";

/// Returns a module that the page has loaded.
const MODULE: &str = "(name) => import(document.querySelector('link[href$=\"shared/session.js\"]').href.replace('session', name))";

/// Waits until this is the refresh token of the tab.
async fn refreshed(browser: &mut Browser, token: &str) {
    browser
        .wait(&format!(
            "JSON.parse(sessionStorage.getItem('vitrine.person')).login.refresh === {}",
            json!(token)
        ))
        .await;
}

/// The refresh token and the ID token that the tab keeps.
async fn kept(browser: &mut Browser) -> Value {
    browser
        .eval(
            "(() => { const { login } = JSON.parse(sessionStorage.getItem('vitrine.person') ?? '{}'); \
             return [login?.refresh ?? null, login?.idToken ?? null]; })()",
        )
        .await
}

/// Lets the token be due now, and the provider end the session.
async fn end(browser: &mut Browser, provider: &Provider) {
    provider.desk().refuses_refresh = true;
    browser
        .eval(&format!(
            "({MODULE})('login').then(({{ renew }}) => renew())"
        ))
        .await;
    browser
        .wait(&format!("({ENDED}).includes('has ended your session')"))
        .await;
    assert_eq!(kept(browser).await, json!([null, null]));
    browser.forgive("400");
    provider.desk().refuses_refresh = false;
}

#[test]
fn who_goes_on_working_stays_signed_in() {
    in_shop(async |browser, provider, _| {
        (provider.desk().role, provider.desk().expires_in) = ("admin", 10);
        browser.open("/console/units").await;
        browser.click(".entrance .provider").await;
        arrived(browser, "/console/units").await;
        // Each is accepted once, so a second use of one would end the session.
        for token in ["refresh-2", "refresh-3"] {
            refreshed(browser, token).await;
            browser.press("Tab").await;
        }
        let ended = browser.eval(ENDED).await;
        assert_eq!((ended, provider.desk().refused.len()), (json!(""), 0));
    });
}

#[test]
fn a_tab_that_is_not_used_refreshes_once() {
    in_shop(async |browser, provider, _| {
        provider.desk().expires_in = 6;
        browser.open("/p/karst-monitor-1").await;
        sign_in(browser, "/p/karst-monitor-1").await;
        browser
            .wait(&format!("({ENDED}).includes('this tab was not used')"))
            .await;
        assert_eq!(provider.desk().refreshed, 1);
        assert_eq!(kept(browser).await, json!([null, null]));
        // What is read goes on, and the next use offers to sign in.
        browser.press("Tab").await;
        browser
            .wait(&format!(
                "{NAME} === 'Sign in' && document.querySelector('.opinion')"
            ))
            .await;
        assert_eq!(provider.desk().refreshed, 1);
        browser.click(".expired .link").await;
        browser.click("dialog[open] .provider").await;
        arrived(browser, "/p/karst-monitor-1").await;
        assert_eq!(browser.eval(ENDED).await, "");
    });
}

#[test]
fn a_token_that_the_service_refuses_is_replaced_once_for_all_who_ask() {
    in_shop(async |browser, provider, _| {
        provider.desk().role = "admin";
        browser.open("/console/products").await;
        browser.click(".entrance .provider").await;
        arrived(browser, "/console/products").await;
        let rows = "document.querySelectorAll('.product-table tbody tr').length === 35";
        browser.wait(rows).await;
        browser
            .eval("sessionStorage.setItem('vitrine.person', sessionStorage.getItem('vitrine.person').replace(/\"token\":\"[^\"]*/, '\"token\":\"forged'))")
            .await;
        browser.assert_well();
        browser.open("/console/products").await;
        browser.wait(rows).await;
        assert_eq!(browser.eval(ENDED).await, "");
        assert_eq!(provider.desk().refreshed, 1);
        let asked = browser
            .eval(&format!(
                "({MODULE})('graphql').then(async ({{ askWhole }}) => {{ \
             const {{ become, person }} = await ({MODULE})('session'); \
             become({{ ...person.peek(), token: 'forged' }}); \
             dispatchEvent(new Event('keydown')); \
             const all = await Promise.all([1, 2, 3].map(() => askWhole('Viewer', {{}}))); \
             return all.map(({{ data }}) => data.viewer.subject); }})"
            ))
            .await;
        assert_eq!(asked, json!(["ada", "ada", "ada"]));
        assert_eq!(browser.eval(ENDED).await, "");
        let desk = provider.desk();
        assert_eq!((desk.refreshed, desk.refused.len()), (2, 0));
        drop(desk);
        browser.forgive("401");
    });
}

#[test]
fn a_provider_that_is_busy_is_asked_again_when_the_token_ends() {
    in_shop(async |browser, provider, _| {
        // Before the end of the first token, at its end, and the same for the second.
        provider.desk().busy = [true, false, true, true].into();
        provider.desk().expires_in = 10;
        browser.open("/c/monitors").await;
        sign_in(browser, "/c/monitors").await;
        refreshed(browser, "refresh-2").await;
        assert_eq!(browser.eval(ENDED).await, "");
        browser.press("Tab").await;
        browser
            .wait(&format!(
                "({ENDED}).includes('cannot be reached at the moment')"
            ))
            .await;
        assert_eq!(
            provider.desk().refused.len(),
            3,
            "twice for the second token"
        );
        browser.forgive("503");
    });
}

#[test]
fn a_shopper_whose_session_is_ended_keeps_the_text() {
    in_shop(async |browser, provider, _| {
        browser.open("/p/karst-monitor-2").await;
        sign_in(browser, "/p/karst-monitor-2").await;
        browser
            .click_text(".reviews .button", "Write a review")
            .await;
        fill(browser, "#body", "Half of a thought").await;
        end(browser, provider).await;
        browser
            .click(".review-form .provider, dialog[open] .provider")
            .await;
        arrived(browser, "/p/karst-monitor-2").await;
        browser
            .click_text(".reviews .button", "Write a review")
            .await;
        browser
            .wait("document.querySelector('#body')?.value === 'Half of a thought'")
            .await;
    });
}

#[test]
fn an_admin_whose_session_is_ended_keeps_the_edit() {
    in_shop(async |browser, provider, _| {
        provider.desk().role = "admin";
        browser.open("/console/units").await;
        browser.click(".entrance .provider").await;
        arrived(browser, "/console/units").await;
        browser.open("/console/products").await;
        let link = "document.querySelector('.product-table tbody a')?.getAttribute('href')";
        let page = browser.wait(link).await;
        let page = page.as_str().unwrap();
        browser.open(page).await;
        fill(browser, "#product-name", "Written in vain?").await;
        end(browser, provider).await;
        let name = "document.querySelector('#product-name')?.value === 'Written in vain?'";
        browser.wait(name).await;
        browser.click(".expired .link").await;
        browser.click("dialog[open] .provider").await;
        arrived(browser, page).await;
        browser.wait(name).await;
    });
}
