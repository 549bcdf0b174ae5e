//! Operations, and what holds for every page of the console: accessibility, phones, no other hosts.

use serde_json::json;
use vitrine_harness::browser::Browser;

use super::{api, fill, id_of, in_console};
use crate::web::accessibility::violations;
use crate::web::{count, text};

const PAGES: [&str; 11] = [
    "/console",
    "/console/moderation",
    "/console/fairness",
    "/console/products?brand=Karst",
    "/console/specs",
    "/console/categories?c=monitors",
    "/console/suppliers",
    "/console/units",
    "/console/imports",
    "/console/imports/new",
    "/console/operations",
];
/// Whether a page has drawn what it asked for.
const DRAWN: &str = "!document.querySelector('.waiting') && document.querySelector('main h1') && !document.querySelector('[aria-busy=true]')";

/// All pages, with those of one thing each.
pub(super) async fn pages(address: &str) -> Vec<String> {
    let mut pages: Vec<String> = PAGES.map(str::to_owned).to_vec();
    for slug in ["karst-monitor-1", "hostile"] {
        pages.push(format!("/console/products/{}", id_of(address, slug).await));
    }
    pages.push("/console/specs/panel_type".to_owned());
    pages.push("/console/products/new".to_owned());
    let list = api(
        address,
        "admin",
        "{ suppliers { nodes { id } } }",
        json!({}),
    )
    .await;
    let supplier = list["suppliers"]["nodes"][0]["id"].as_str().unwrap();
    pages.push(format!("/console/suppliers/{supplier}"));
    pages
}

/// Puts a review into the queue.
pub(super) async fn reported(address: &str) {
    let query = "{ product(slug: \"karst-monitor-1\") { reviews(first: 1) { nodes { id } } } }";
    let data = api(address, "admin", query, json!({})).await;
    let id = &data["product"]["reviews"]["nodes"][0]["id"];
    let report = "mutation ($input: ReportReviewInput!) { reportReview(input: $input) { userErrors { message } } }";
    let input = json!({ "input": { "id": id, "reason": "SPAM" } });
    api(address, "shopper", report, input).await;
}

pub(super) async fn open(browser: &mut Browser, path: &str) {
    browser.open(path).await;
    browser.wait(DRAWN).await;
}

#[test]
fn axe_finds_nothing_in_the_console_in_both_themes_at_both_ends() {
    in_console("admin", &[], async |browser, address| {
        reported(address).await;
        let mut found = Vec::new();
        for width in [1280, 320] {
            browser.shape(width, 800, false).await;
            for path in pages(address).await {
                open(browser, &path).await;
                let wrong = violations(browser).await;
                found.extend(
                    wrong
                        .into_iter()
                        .map(|one| format!("{path} at {width}: {one}")),
                );
            }
        }
        let some = &found[..found.len().min(12)];
        assert!(found.is_empty(), "{} violations: {some:#?}", found.len());
    });
}

#[test]
fn no_page_of_the_console_is_wider_than_a_small_phone() {
    in_console("admin", &[], async |browser, address| {
        reported(address).await;
        browser.shape(320, 700, false).await;
        for path in pages(address).await {
            open(browser, &path).await;
            let width = browser.eval("document.documentElement.scrollWidth").await;
            assert_eq!(width, 320, "{path}");
        }
    });
}

#[test]
fn the_editor_is_reached_by_the_keyboard_and_focus_is_seen_beside_the_save_bar() {
    in_console("admin", &[], async |browser, address| {
        let id = id_of(address, "karst-monitor-1").await;
        open(browser, &format!("/console/products/{id}")).await;
        fill(browser, "#product-brand", "Changed").await;
        browser.wait("document.querySelector('.save-bar')").await;
        let mut seen = 0;
        for _ in 0..60 {
            browser.press("Tab").await;
            let focus = browser
                .eval(
                    "(() => { const one = document.activeElement, bar = document.querySelector('.save-bar'); \
                     if (one === document.body) return null; \
                     const box = one.getBoundingClientRect(), edge = bar.getBoundingClientRect(); \
                     const hidden = !bar.contains(one) && box.bottom > edge.top + 1 && box.top < edge.bottom; \
                     return { hidden, what: one.outerHTML.slice(0, 120) }; })()",
                )
                .await;
            if focus.is_null() {
                break;
            }
            assert_eq!(focus["hidden"], false, "{}", focus["what"]);
            seen += 1;
        }
        assert!(seen > 30, "{seen} controls");
    });
}

#[test]
fn hostile_texts_stay_texts_in_the_console() {
    in_console("admin", &[], async |browser, address| {
        let id = id_of(address, "hostile").await;
        open(browser, &format!("/console/products/{id}")).await;
        browser
            .wait("document.querySelector('#product-description').value.includes('</script><img')")
            .await;
        open(browser, "/console/products").await;
        browser
            .wait("document.querySelector('.product-table')?.textContent.includes('<img src=x')")
            .await;
        assert_eq!(count(browser, "img[src=x]").await, 0);
    });
}

#[test]
fn operations_show_workers_and_recount_ratings() {
    in_console("admin", &[], async |browser, _| {
        open(browser, "/console/operations").await;
        browser
            .wait("document.querySelectorAll('.workers tbody th').length === 16")
            .await;
        assert!(text(browser, ".workers").await.contains("Recounts reviews"));
        browser
            .click_text("[aria-labelledby=audit] .button", "Recount now")
            .await;
        browser
            .wait("document.querySelector('.audited')?.textContent === '35 products recounted, 0 differences.'")
            .await;
        browser.click("#author").await;
        browser.write("reader1").await;
        browser.click("#author-again").await;
        browser.write("someone else").await;
        browser
            .click_text("[aria-labelledby=authors] .button", "Erase")
            .await;
        browser
            .wait("document.querySelector('#author-wrong')?.textContent.includes('same subject')")
            .await;
        fill(browser, "#author-again", "reader1").await;
        browser
            .click_text("[aria-labelledby=authors] .button", "Erase")
            .await;
        browser
            .wait("[...document.querySelectorAll('[aria-labelledby=authors] tbody tr')][0]?.textContent === 'reviews10'")
            .await;
    });
}

#[test]
fn the_activity_of_a_product_is_drawn_and_can_be_read_as_a_table() {
    in_console("admin", &[], async |browser, address| {
        let id = id_of(address, "karst-monitor-1").await;
        open(browser, &format!("/console/products/{id}")).await;
        browser.click(".activity > summary").await;
        browser
            .wait("document.querySelectorAll('.bars-chart svg').length === 3")
            .await;
        browser.click(".activity details summary").await;
        // A day has 24 hours; the first one may be a part.
        browser.eval("(() => { const one = document.querySelector('#range'); one.value = 'day'; one.dispatchEvent(new Event('change', { bubbles: true })); })()").await;
        browser
            .wait("document.querySelectorAll('.activity tbody tr').length === 24")
            .await;
    });
}
