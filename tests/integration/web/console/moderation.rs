//! A moderator works through the queue, in a browser.

use serde_json::{Value, json};
use vitrine_harness::browser::Browser;

use super::{api, id_of, in_console};
use crate::web::{count, text};

/// Reviews are published by moderators only.
const BEFORE: [&str; 2] = ["--review-moderation", "before"];
const SUBMIT: &str = "mutation ($input: SubmitReviewInput!) { submitReview(input: $input) \
                      { review { id } userErrors { message } } }";
/// A text that would end an element and close an attribute. The API refuses marks of direction.
const HOSTILE: &str = "</script><img src=x onerror=\"alert('1')\">";
const WAITING: &str = "{ moderationQueue { totalCount { value } } }";

/// Shoppers write reviews of a product; the number says how many.
async fn written(address: &str, number: usize) -> Vec<String> {
    let product = id_of(address, "silo-monitor-3").await;
    let mut ids = Vec::new();
    for at in 0..number {
        let input = json!({ "input": {
            "productId": product, "rating": 1 + at % 5,
            "title": format!("Waiting {at}"), "body": "It has a stand.",
        } });
        let data = api_as_shopper(address, at, SUBMIT, input).await;
        let id = data["submitReview"]["review"]["id"].as_str().unwrap();
        ids.push(id.to_owned());
    }
    ids
}

async fn api_as_shopper(address: &str, at: usize, query: &str, variables: Value) -> Value {
    use vitrine_harness::token::token;
    let bearer = format!("Bearer {}", token(&format!("shopper{at}"), "shopper"));
    let sent = json!({ "query": query, "variables": variables });
    let reply = crate::operators::ask(address, &sent, &[("authorization", &bearer)]).await;
    let answer = reply.json();
    assert!(reply.body.contains("\"userErrors\":[]"), "{}", reply.body);
    answer["data"].clone()
}

async fn waiting(address: &str) -> Value {
    let data = api(address, "moderator", WAITING, json!({})).await;
    data["moderationQueue"]["totalCount"]["value"].clone()
}

/// Waits until a review is shown and the page says how many it has decided.
async fn shown(browser: &mut Browser, title: &str, decided: usize) {
    let title = json!(title);
    browser
        .wait(&format!(
            "document.querySelector('#review-title')?.textContent === {title} \
             && document.querySelectorAll('.decided li').length === {decided}"
        ))
        .await;
}

#[test]
fn twenty_reviews_are_decided_by_keys_and_the_next_ones_load_themselves() {
    in_console("moderator", &BEFORE, async |browser, address| {
        written(address, 24).await;
        browser.open("/console/moderation").await;
        browser
            .wait("document.querySelectorAll('.waiting-one').length === 20")
            .await;
        for at in 0..20 {
            shown(browser, &format!("Waiting {at}"), at).await;
            if at % 2 == 0 {
                browser.press("p").await;
            } else {
                browser.press("r").await;
                browser.wait("document.querySelector('.reasons')").await;
                browser.press("1").await;
            }
        }
        shown(browser, "Waiting 20", 20).await;
        assert_eq!(count(browser, ".waiting-one").await, 4);
        assert_eq!(waiting(address).await, 4);
        browser
            .wait("[...document.querySelectorAll('#reason option')].map((one) => one.textContent).join() === 'All (4),Reported (0),New (4)'")
            .await;
        // The last decision is taken back by a key, and the review is there again.
        browser.press("u").await;
        shown(browser, "Waiting 19", 19).await;
        assert_eq!(waiting(address).await, 5);
        let decisions = text(browser, "[aria-labelledby=decisions]").await;
        assert!(
            decisions.contains("Mistake") && decisions.contains("Spam"),
            "{decisions}"
        );
        // With keys switched off, nothing is decided by accident.
        browser.click_text("label", "Single keys act").await;
        browser.eval("document.activeElement.blur()").await;
        browser.press("p").await;
        browser.click("#review-title").await;
        assert_eq!(waiting(address).await, 5);
    });
}

#[test]
fn reports_and_earlier_versions_stand_beside_the_text_and_an_edit_meanwhile_is_noticed() {
    in_console("moderator", &[], async |browser, address| {
        let [id] = &written(address, 1).await[..] else {
            panic!("one review was written")
        };
        let edit = "mutation ($input: EditReviewInput!) { editReview(input: $input) { review { id } userErrors { message } } }";
        let change = |revision: u32, title: &str| json!({ "input": { "id": id, "expectedRevision": revision, "title": title, "body": "It is sharp." } });
        api_as_shopper(address, 0, edit, change(1, HOSTILE)).await;
        let report = "mutation ($input: ReportReviewInput!) { reportReview(input: $input) { userErrors { message } } }";
        let input = json!({ "input": { "id": id, "reason": "FAKE", "note": HOSTILE } });
        api_as_shopper(address, 1, report, input).await;
        browser.open("/console/moderation?reason=REPORTED").await;
        assert_eq!(text(browser, "#review-title").await, HOSTILE);
        assert_eq!(text(browser, ".notes blockquote").await, HOSTILE);
        assert!(text(browser, "#reports").await.starts_with("1 open report"));
        assert!(text(browser, ".version").await.contains("It has a stand."));
        // The author edits once more: what is decided on was not read.
        api_as_shopper(address, 0, edit, change(2, "Once more")).await;
        browser.click_text(".work .button", "Publish").await;
        browser
            .wait("document.querySelector('.queue > .wrong')?.textContent.includes('Read it again') && document.querySelector('#review-title').textContent === 'Once more'")
            .await;
        browser.click_text(".work .button", "Publish").await;
        browser.wait("document.querySelector('.decided li')").await;
        // The decision is found again by the review, and reversed there.
        browser.click(".decided a").await;
        browser
            .click_text(".work .button", "Back into the queue")
            .await;
        browser.click_text(".reasons button", "Mistake").await;
        browser
            .wait("document.querySelector('.work')?.textContent.includes('Pending')")
            .await;
    });
}

#[test]
fn a_published_review_is_replied_to_and_the_reply_is_taken_back() {
    in_console("moderator", &[], async |browser, address| {
        let id = &written(address, 1).await[0];
        browser.open(&format!("/console/reviews/{id}")).await;
        browser.click(".reply-form summary").await;
        browser.click("#reply").await;
        browser.write("Thank you <b>very</b> much.").await;
        browser.click(".reply-form [type=submit]").await;
        browser
            .wait("document.querySelector('.reply')?.textContent.includes('Thank you <b>very</b> much.')")
            .await;
        browser
            .click_text(".reply-form button", "Take it back")
            .await;
        browser.wait("!document.querySelector('.reply')").await;
    });
}

#[test]
fn the_fairness_report_says_how_sure_it_is() {
    in_console("moderator", &BEFORE, async |browser, address| {
        let decide = "mutation ($input: ModerateReviewInput!) { moderateReview(input: $input) { userErrors { message } } }";
        for (at, id) in written(address, 20).await.iter().enumerate() {
            // One and two stars are rejected, all others published.
            let (decision, reason) = if at % 5 < 2 {
                ("REJECT", "OFF_TOPIC")
            } else {
                ("PUBLISH", "ACCEPTABLE")
            };
            let input = json!({ "input": { "id": id, "decision": decision, "reason": reason } });
            api(address, "moderator", decide, input).await;
        }
        browser.open("/console/fairness").await;
        let verdict = text(browser, ".box.warning").await;
        assert!(
            verdict.contains("reviews of 1 and 2 stars are rejected clearly more often")
                && verdict.contains("95% confidence"),
            "{verdict}"
        );
        let row = text(browser, ".grid tbody tr").await;
        assert!(row.contains('4') && row.contains("100.0%"), "{row}");
        browser
            .wait("document.querySelectorAll('.grid')[1]?.textContent.includes('moderator')")
            .await;
        // A time without decisions.
        browser
            .open("/console/fairness?from=2020-01-01&to=2020-02-01")
            .await;
        browser
            .wait("document.querySelector('.box')?.textContent.includes('too few decisions')")
            .await;
    });
}
