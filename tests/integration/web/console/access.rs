//! Who gets the console, and what it says to the others.

use serde_json::json;
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::http::{self, Reply};
use vitrine_harness::test;
use vitrine_harness::token::token;

use super::{act_as, in_console, with_console};
use crate::operators::with_service;
use crate::web::text;

async fn page(address: &str, path: &str) -> Reply {
    http::get_as(address, path, "text/html").await.unwrap()
}

#[test]
fn a_service_without_the_flag_has_no_console() {
    test(async |app| {
        with_service(app, &["--storefront"], async |address, _| {
            assert_eq!(page(address, "/console").await.status, 404);
            assert_eq!(page(address, "/console/products").await.status, 404);
        })
        .await;
        with_service(app, &["--console"], async |address, _| {
            assert_eq!(page(address, "/console").await.status, 200);
            assert_eq!(page(address, "/console/nowhere").await.status, 404);
            assert_eq!(
                page(address, "/").await.status,
                404,
                "no storefront by that"
            );
            let people = http::request(address, "POST", "/act-as", &[])
                .await
                .unwrap();
            assert_eq!(people.status, 404, "serve hands out no tokens");
        })
        .await;
    });
}

#[test]
fn the_frame_shows_nothing_and_allows_only_scripts_of_its_own_host() {
    test(async |app| {
        with_console(app, &[], async |address| {
            let reply = page(address, "/console/products").await;
            let policy = reply.header("content-security-policy").unwrap();
            assert!(policy.contains("script-src 'self';"), "{policy}");
            assert!(policy.contains("default-src 'none'"), "{policy}");
            assert_eq!(reply.header("cache-control"), Some("private, no-cache"));
            assert!(reply.body.contains("noindex"));
            assert!(!reply.body.contains(" style=") && !reply.body.contains("Karst"));
            let scripts = reply.body.matches("<script").count();
            assert_eq!(scripts, 2, "its own module, and data");
        })
        .await;
    });
}

#[test]
fn the_storefront_loads_nothing_of_the_console() {
    test(async |app| {
        with_service(app, &["--storefront", "--console"], async |address, _| {
            let html = page(address, "/").await.body;
            assert!(html.contains("/store/main.js"));
            assert!(!html.contains("/console/") && !html.contains("console.css"));
        })
        .await;
    });
}

#[test]
fn a_role_that_lacks_something_sees_why() {
    in_console("shopper", &[], async |browser, _| {
        browser.open("/console/moderation").await;
        let why = "document.querySelector('main [role=status]')?.textContent.includes('needs the role moderator or admin. “shopper” has the role shopper.')";
        browser.wait(why).await;
        act_as(browser, "moderator").await;
        browser.open("/console").await;
        browser
            .wait("document.querySelectorAll('.sections a').length === 2")
            .await;
        browser.open("/console/products").await;
        let why = "document.querySelector('main [role=status]')?.textContent.includes('Products needs the role admin.')";
        browser.wait(why).await;
        act_as(browser, "admin").await;
        browser.open("/console").await;
        browser
            .wait("document.querySelectorAll('.sections a').length === 9")
            .await;
        assert_eq!(
            text(browser, ".who").await,
            "You are admin, with the role admin."
        );
    });
}

#[test]
fn a_token_that_is_pasted_opens_the_page_that_was_asked_for() {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        with_console(app, &[], async |address| {
            let mut browser = Browser::start(&program, address).await;
            browser.open("/console/units").await;
            let why = "document.querySelector('main [role=status]')?.textContent === 'Units needs the role admin.'";
            browser.wait(why).await;
            browser.click("#entrance-token").await;
            browser.write(&token("eva", "admin")).await;
            browser.press("Enter").await;
            browser.wait("document.querySelector('.grid')").await;
            // A forged token is refused; the page says so, and offers to sign in.
            let person = json!({ "label": "x", "subject": "", "token": "forged" }).to_string();
            let kept = json!(person);
            browser
                .eval(&format!("sessionStorage.setItem('vitrine.person', {kept})"))
                .await;
            browser.assert_well();
            browser.open("/console/units").await;
            browser
                .wait("document.querySelector('main [role=status]')?.textContent.includes('not valid any more')")
                .await;
        })
        .await;
    });
}
