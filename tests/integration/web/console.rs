//! The console: who may use it, and its pages in a browser.

mod access;
mod dictionary;
mod imports;
mod moderation;
mod operations;
mod preferences;
mod products;
mod system;

use serde_json::{Value, json};
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::http;
use vitrine_harness::token::token;
use vitrine_harness::{App, test};

use super::{opinions, shop};
use crate::operators::{ask, with_service};

/// Runs the service with the console on the shop of these tests.
async fn with_console(app: &App, options: &[&str], body: impl AsyncFnOnce(&str)) {
    app.has(shop()).await;
    app.has_reviews(opinions()).await;
    app.run_background_work().await;
    let common = ["--console", "--cost-per-second", "0"];
    let options = [&common[..], options].concat();
    with_service(app, &options, async |address, _| body(address).await).await;
}

/// Runs a test in a browser that is signed in with this role. Nothing may go wrong in it.
fn in_console(role: &str, options: &[&str], body: impl AsyncFnOnce(&mut Browser, &str)) {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        with_console(app, options, async |address| {
            let mut browser = Browser::start(&program, address).await;
            browser.open("/console").await;
            act_as(&mut browser, role).await;
            body(&mut browser, address).await;
            browser.assert_well();
        })
        .await;
    });
}

/// Gives the tab a token of this role. What is open does not change by that.
async fn act_as(browser: &mut Browser, role: &str) {
    let person = json!({ "label": role, "subject": role, "token": token(role, role) });
    let kept = json!(person.to_string());
    browser
        .eval(&format!("sessionStorage.setItem('vitrine.person', {kept})"))
        .await;
}

/// Sends an operation beside the browser. Returns the data.
async fn api(address: &str, role: &str, query: &str, variables: Value) -> Value {
    let sent = json!({ "query": query, "variables": variables });
    let bearer = format!("Bearer {}", token(role, role));
    let reply: http::Reply = ask(address, &sent, &[("authorization", &bearer)]).await;
    let answer = reply.json();
    assert!(answer["errors"].is_null(), "{}", reply.body);
    answer["data"].clone()
}

/// The id of a product of the shop.
async fn id_of(address: &str, slug: &str) -> String {
    let query = "query ($slug: String!) { product(slug: $slug) { id } }";
    let data = api(address, "admin", query, json!({ "slug": slug })).await;
    data["product"]["id"].as_str().unwrap().to_owned()
}

/// Replaces the text of a field.
pub(super) async fn fill(browser: &mut Browser, field: &str, value: &str) {
    browser.click(field).await;
    browser.eval("document.activeElement.select()").await;
    browser.write(value).await;
}

/// Chooses an option.
async fn choose(browser: &mut Browser, field: &str, value: &str) {
    let (field, value) = (json!(field), json!(value));
    browser
        .wait(&format!("document.querySelector({field})"))
        .await;
    browser
        .eval(&format!(
            "(() => {{ const one = document.querySelector({field}); one.value = {value}; \
             one.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        ))
        .await;
}
