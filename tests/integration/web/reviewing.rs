//! Shoppers write, change, vote and report, in a browser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use vitrine_harness::browser::Browser;
use vitrine_harness::http;

use super::{count, in_browser, in_browser_with_pictures, shopper, sign_in, text};
use crate::operators::ask;
use crate::pictures::PHOTO;

/// Replaces the text of a field.
async fn fill(browser: &mut Browser, field: &str, value: &str) {
    browser.click(field).await;
    browser.eval("document.activeElement.select()").await;
    browser.write(value).await;
}

#[test]
fn a_review_is_written_refused_corrected_changed_and_deleted() {
    in_browser(async |browser, _| {
        browser.open("/p/silo-monitor-3").await;
        sign_in(browser, &shopper("ada")).await;
        browser.click(".own .button").await;
        // Without stars the form does not ask; without a text the service refuses, at the field.
        browser.click(".review-form [type=submit]").await;
        browser
            .wait("document.querySelector('#rating-wrong').textContent.includes('stars')")
            .await;
        browser.click(".choice label:nth-child(4) input").await;
        browser.click(".review-form [type=submit]").await;
        browser
            .wait("document.querySelector('#body').getAttribute('aria-invalid') === 'true'")
            .await;
        assert!(!text(browser, "#body-wrong").await.is_empty());
        browser.wait("document.activeElement.id === 'body'").await;
        browser.write("Sharp from edge to edge.").await;
        fill(browser, "#title", "Good <b>monitor</b>").await;
        // A token does not say what its shopper is called.
        browser
            .wait("document.querySelector('#authorName').value === ''")
            .await;
        let most = "document.querySelector('#authorName').maxLength";
        assert_eq!(browser.eval(most).await, 50, "as the service allows");
        fill(browser, "#authorName", "Ada").await;
        browser.click(".review-form [type=submit]").await;
        browser
            .wait("document.querySelector('.opinion h3')?.textContent === 'Good <b>monitor</b>'")
            .await;
        browser
            .wait("document.querySelector('.big').textContent === '4.0'")
            .await;
        assert_eq!(
            count(browser, ".opinion .body[lang]").await,
            0,
            "nobody has said in which language the review is"
        );
        assert_eq!(
            count(browser, ".opinion .vote").await,
            0,
            "one's own review has no votes"
        );
        browser.click_text(".own .button", "Edit").await;
        browser.click(".choice label:nth-child(2) input").await;
        browser.click(".review-form [type=submit]").await;
        browser
            .wait("document.querySelector('.big').textContent === '2.0'")
            .await;
        browser.click_text(".own .button", "Edit").await;
        browser.click(".button.danger").await;
        browser
            .click_text("[role=alertdialog] .button", "Delete it")
            .await;
        browser
            .wait("document.querySelectorAll('.opinion').length === 0")
            .await;
    });
}

#[test]
fn reviews_are_sorted_filtered_and_all_reached() {
    in_browser(async |browser, _| {
        browser.open("/p/karst-monitor-1").await;
        assert_eq!(text(browser, ".opinion h3").await, "Opinion 13");
        browser.click(".reviews .more button").await;
        browser
            .wait("document.querySelectorAll('.opinion').length === 14")
            .await;
        browser.click(".bars li:nth-child(1) button").await;
        browser
            .wait("document.querySelectorAll('.opinion').length === 2")
            .await;
        assert_eq!(
            browser
                .eval("document.querySelector('.bars button').getAttribute('aria-pressed')")
                .await,
            "true"
        );
        browser.click(".bars li:nth-child(1) button").await;
        browser.eval("(() => { const sort = document.querySelector('#review-sort'); sort.value = 'LOWEST'; sort.dispatchEvent(new Event('change', { bubbles: true })); })()").await;
        browser.wait("document.querySelector('.opinion .stars').getAttribute('aria-label') === '1.0 of 5 stars'").await;
    });
}

#[test]
fn an_answer_that_arrives_late_does_not_replace_a_newer_one() {
    in_browser(async |browser, _| {
        browser.open("/p/karst-monitor-1").await;
        // The first answer is held until the second is shown.
        browser.eval("(() => { const real = window.fetch; const gate = new Promise((open) => { window.release = open; }); let held = null; window.fetch = async (...sent) => { const first = !held && String(sent[1]?.body).includes('ReviewPage'); if (!first) return real(...sent); held = real(...sent); held.catch(() => {}); await gate; setTimeout(() => { window.late = true; }); return held; }; })()").await;
        browser.eval("(() => { document.querySelector('.bars li:nth-child(1) button').click(); const sort = document.querySelector('#review-sort'); sort.value = 'LOWEST'; sort.dispatchEvent(new Event('change', { bubbles: true })); })()").await;
        browser
            .wait("document.querySelectorAll('.opinion').length === 2 && document.querySelector('.opinions').getAttribute('aria-busy') === 'false'")
            .await;
        assert_eq!(
            browser
                .eval("document.querySelector('#review-sort').value")
                .await,
            "LOWEST"
        );
        browser.click(".bars li:nth-child(1) button").await;
        browser
            .wait("document.querySelector('.opinion .stars').getAttribute('aria-label') === '1.0 of 5 stars'")
            .await;
        browser.eval("window.release()").await;
        browser.wait("window.late").await;
        assert_eq!(
            browser
                .eval("document.querySelector('.opinion .stars').getAttribute('aria-label')")
                .await,
            "1.0 of 5 stars"
        );
    });
}

#[test]
fn a_vote_counts_and_is_taken_back_and_a_report_is_sent() {
    in_browser(async |browser, _| {
        browser.open("/p/karst-monitor-1").await;
        browser.click(".vote").await;
        browser
            .wait("document.querySelector('.reactions .wrong')?.textContent.includes('Sign in')")
            .await;
        sign_in(browser, &shopper("ben")).await;
        browser
            .wait("document.querySelector('.opinions').getAttribute('aria-busy') === 'false'")
            .await;
        browser.click(".vote").await;
        browser
            .wait("document.querySelector('.vote').textContent === 'Helpful 14'")
            .await;
        assert_eq!(
            browser
                .eval("document.querySelector('.vote').getAttribute('aria-pressed')")
                .await,
            "true"
        );
        browser.click(".vote").await;
        browser
            .wait("document.querySelector('.vote').textContent === 'Helpful 13'")
            .await;
        browser.click(".reactions .link").await;
        browser.click("dialog[open] [type=submit]").await;
        browser
            .wait("document.querySelector('dialog[open]')?.textContent.includes('Thank you')")
            .await;
    });
}

#[test]
fn the_review_of_somebody_else_is_offered_and_not_pushed_in() {
    in_browser(async |browser, address| {
        browser.open("/p/karst-monitor-2").await;
        let id = browser.eval("JSON.parse(document.querySelector('#first').textContent).asked[0].answer.data.product.id").await;
        // Until the subscription has begun, nobody would hear of the review.
        browser
            .wait("document.documentElement.dataset.live === 'true'")
            .await;
        let token = format!("Bearer {}", shopper("carol"));
        let query = "mutation ($input: SubmitReviewInput!) { submitReview(input: $input) { review { id } userErrors { message } } }";
        let input = json!({ "productId": id, "rating": 5, "title": "Just now", "body": "It arrived today." });
        let sent = json!({ "query": query, "variables": { "input": input } });
        let reply: http::Reply = ask(address, &sent, &[("authorization", &token)]).await;
        assert!(
            reply.json()["data"]["submitReview"]["review"]["id"].is_string(),
            "{}",
            reply.body
        );
        browser
            .wait("document.querySelector('.fresh button')?.textContent === 'Show 1 new review'")
            .await;
        assert_eq!(
            count(browser, ".opinion").await,
            0,
            "nothing moves by itself"
        );
        browser.click(".fresh button").await;
        browser
            .wait("document.querySelector('.opinion h3')?.textContent === 'Just now'")
            .await;
        browser
            .wait("document.querySelector('.big')?.textContent === '5.0'")
            .await;
    });
}

/// Chooses a file in a field.
pub(super) async fn choose_file(browser: &mut Browser, field: &str, name: &str, content: &[u8]) {
    let (field, name, content) = (json!(field), json!(name), json!(STANDARD.encode(content)));
    browser
        .eval(&format!(
            "(async () => {{ const content = Uint8Array.from(atob({content}), (char) => char.charCodeAt(0)); \
             const carried = new DataTransfer(); carried.items.add(new File([content], {name})); \
             const field = document.querySelector({field}); field.files = carried.files; \
             field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        ))
        .await;
}

/// Waits until a picture is drawn.
pub(super) async fn drawn(browser: &mut Browser, selector: &str) {
    let look = format!(
        "document.querySelector({})?.naturalWidth > 0",
        json!(selector)
    );
    browser.wait(&look).await;
}

#[test]
fn pictures_are_uploaded_refused_removed_and_shown_to_others() {
    in_browser_with_pictures(async |browser, _| {
        browser.open("/p/silo-monitor-3").await;
        sign_in(browser, &shopper("ada")).await;
        browser.click(".own .button").await;
        browser.click(".choice label:nth-child(4) input").await;
        browser.click("#body").await;
        browser.write("Sharp from edge to edge.").await;
        choose_file(browser, "#pictures", "a.gif", b"GIF89a").await;
        browser
            .wait("document.querySelector('.own-pictures [role=alert]')?.textContent.includes('is a GIF')")
            .await;
        browser.forgive("400");
        for number in 1..=2 {
            choose_file(browser, "#pictures", "desk.jpg", PHOTO).await;
            let all = format!("document.querySelectorAll('.own-pictures li').length === {number}");
            browser.wait(&all).await;
        }
        drawn(browser, ".own-pictures img").await;
        // What is written while a picture is on its way stays.
        browser
            .eval("window.send = XMLHttpRequest.prototype.send; XMLHttpRequest.prototype.send = function (file) { window.release = () => window.send.call(this, file); }")
            .await;
        choose_file(browser, "#pictures", "desk.jpg", PHOTO).await;
        browser.wait("window.release").await;
        let publish = "document.querySelector('.review-form [type=submit]').disabled";
        assert_eq!(browser.eval(publish).await, true, "a picture is on its way");
        browser.click("#body").await;
        browser.write(" And light.").await;
        browser
            .eval("XMLHttpRequest.prototype.send = window.send; window.release()")
            .await;
        browser
            .wait("document.querySelectorAll('.own-pictures li').length === 3")
            .await;
        let body = browser.eval("document.querySelector('#body').value").await;
        assert_eq!(body, "Sharp from edge to edge. And light.");
        browser.click(".own-pictures li:nth-child(3) button").await;
        browser.click(".own-pictures li:nth-child(2) button").await;
        browser.click("#media-0").await;
        browser.write("On my desk").await;
        browser.click(".review-form [type=submit]").await;
        drawn(browser, ".opinion .files img[alt='On my desk']").await;
        browser.open("/p/silo-monitor-3").await;
        drawn(browser, ".opinion .files img[alt='On my desk']").await;
        assert_eq!(count(browser, ".opinion .files img").await, 1);
        browser.click_text(".own .button", "Edit").await;
        drawn(browser, ".own-pictures img").await;
        browser.click(".own-pictures li button").await;
        browser.click(".review-form [type=submit]").await;
        browser
            .wait(
                "document.querySelector('.opinion') && !document.querySelector('.opinion .files')",
            )
            .await;
    });
}
