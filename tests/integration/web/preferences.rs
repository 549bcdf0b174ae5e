//! What visitors have set for all pages: colours of the system, and less motion.

use std::collections::BTreeSet;

use serde_json::Value;
use vitrine_domain::clock::SystemClock;
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::drafts::{ProductBuilder, ReviewBuilder};
use vitrine_harness::{product, review, test};
use vitrine_model::clock::{Clock as _, Timestamp};
use vitrine_model::product::{Details, Electronics};

use super::accessibility::PAGES;
use super::{in_browser, shopper, sign_in, with_shop};

/// The rules for pages whose colours the system chooses.
const RULES: &str = include_str!("forced_colors.js");

/// What was found in the pages so far.
#[derive(Default)]
pub(super) struct ForcedColors {
    lost: Vec<String>,
    seen: BTreeSet<String>,
}

impl ForcedColors {
    /// Looks for what the page that is open loses with the colours of the system, light and dark.
    pub(super) async fn look(&mut self, browser: &mut Browser, place: &str) {
        browser.load(RULES).await;
        for scheme in ["light", "dark"] {
            browser
                .prefer(&[
                    ("forced-colors", "active"),
                    ("prefers-color-scheme", scheme),
                    // A transition would still show what was before.
                    ("prefers-reduced-motion", "reduce"),
                ])
                .await;
            // From now on the focus is that of the keyboard.
            browser.press("Tab").await;
            let lost = texts(browser, "lost()").await.into_iter();
            let lost = lost.map(|one| format!("{place}, {scheme}: {one}"));
            self.lost.extend(lost);
            self.seen.extend(texts(browser, "Object.keys(seen)").await);
        }
    }

    /// Fails if something is lost, or if one of these kinds of things was nowhere.
    pub(super) fn assert(&self, kinds: &[&str]) {
        let some = &self.lost[..self.lost.len().min(12)];
        assert!(some.is_empty(), "{} are lost: {some:#?}", self.lost.len());
        let missing: Vec<_> = kinds
            .iter()
            .filter(|kind| !self.seen.contains(**kind))
            .collect();
        assert!(missing.is_empty(), "not seen: {missing:?} {:?}", self.seen);
    }
}

async fn texts(browser: &mut Browser, expression: &str) -> Vec<String> {
    let list = browser.eval(expression).await;
    let list = list.as_array().unwrap().iter();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Opens everything that can be opened.
pub(super) async fn unfold(browser: &mut Browser) {
    browser
        .eval("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
        .await;
    browser
        .wait("!document.querySelector('main [aria-busy=true]')")
        .await;
}

/// A product with what those of the shop lack: pictures to choose from, an energy label, marked reviews
/// of the months before.
fn kettle(now: Timestamp) -> (ProductBuilder, [ReviewBuilder; 2]) {
    let details = Electronics {
        energy_label: Some("B".to_owned()),
        ..Electronics::default()
    };
    let kettle = product("Kettle")
        .details(Details::Electronics(details))
        .category(["Kitchen"])
        .image("https://media.example.com/1.jpg", "From the front")
        .image("https://media.example.com/2.jpg", "From the side");
    let reviews = [1, 3].map(|ago| {
        let at = Timestamp::start_of_month(now.month() - ago).to_string();
        let review = review("Kettle", format!("kettle {ago}"), 4);
        review.verified().recommends(true).created_at(&at)
    });
    (kettle, reviews)
}

#[test]
fn colours_of_the_system_take_no_meaning_from_the_storefront() {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        // The service, whose clock is the real one, draws the last months.
        let now = SystemClock.now();
        app.clock
            .advance(now.as_millis() - app.clock.now().as_millis());
        let (kettle, reviews) = kettle(now);
        app.has([kettle]).await;
        app.has_reviews(reviews).await;
        with_shop(app, async |address| {
            let mut browser = Browser::start(&program, address).await;
            let browser = &mut browser;
            let mut colors = ForcedColors::default();
            for path in PAGES.iter().chain(&["/p/kettle"]) {
                browser.open(path).await;
                unfold(browser).await;
                colors.look(browser, path).await;
            }
            browser.click("#q").await;
            browser.write("karst moni").await;
            let offered = "document.querySelectorAll('#suggestions [role=option]').length > 1";
            browser.wait(offered).await;
            colors.look(browser, "suggestions").await;
            browser.open("/p/kettle").await;
            sign_in(browser, &shopper("ada")).await;
            browser.click(".own .button").await;
            browser.click(".choice label:nth-child(3) input").await;
            colors.look(browser, "a review that is written").await;
            browser.assert_well();
            colors.assert(&[
                "a focus",
                "a hidden choice",
                "[aria-pressed]",
                "[aria-selected]",
                "[aria-current]",
                "[aria-invalid]",
                ".choice label",
                ".comparison tbody tr",
                ".badge",
                ".badges li",
                ".energy",
                ".stars",
                "fill rect",
                "volume rect",
                "line path",
                "dot circle",
            ]);
        })
        .await;
    });
}

/// How many elements and pseudo-elements move, or will when they change.
const MOVING: &str = "[...document.querySelectorAll('*')].flatMap((one) => [undefined, '::before', '::after', '::backdrop'].map((pseudo) => getComputedStyle(one, pseudo)))\
    .filter((style) => style.transitionDuration.split(', ').some((time) => Number.parseFloat(time) > 0) || style.animationName !== 'none' || style.scrollBehavior === 'smooth').length";

/// Fails if something on the page that is open moves for visitors who want less motion. Returns how much moves for
/// all others.
pub(super) async fn assert_stillness(browser: &mut Browser, place: &str) -> u64 {
    let reduce = [("prefers-reduced-motion", "reduce")];
    browser.prefer(&reduce).await;
    assert_eq!(browser.eval(MOVING).await, 0, "{place}");
    browser
        .prefer(&[("prefers-reduced-motion", "no-preference")])
        .await;
    browser.eval(MOVING).await.as_u64().unwrap()
}

#[test]
fn nothing_moves_in_the_storefront_for_those_who_want_less_motion() {
    in_browser(async |browser, _| {
        let mut moving = 0;
        for path in PAGES {
            browser.open(path).await;
            unfold(browser).await;
            moving += assert_stillness(browser, path).await;
        }
        assert!(moving > 0, "the expression finds what moves");
    });
}
