//! A shopper looks around, in a browser.

use serde_json::{Value, json};
use vitrine_harness::browser::Browser;

use super::{count, in_browser, text};

/// How far the content of a page may move while it loads; browsers call 0.1 good.
const MAX_SHIFT: f64 = 0.02;

/// A list with a parameter of every kind: the script must understand them as the service does.
const FILTERED: &str = "/c/monitors?brand=Karst&n.screen_size=26.9..%3C27.1~in&t.panel_type=VA&b.curved=yes\
                        &price=10..500&u.screen_size=cm&sort=price-desc";

/// Whether the reviews are at the top of the window; the page leaves a little room.
const AT_REVIEWS: &str =
    "Math.abs(document.querySelector('#reviews').getBoundingClientRect().top) < 30";

/// The operations that the page has sent, without what it only reports.
fn asked(browser: &Browser) -> usize {
    let requests = browser.requests().iter();
    requests.filter(|path| *path == "/graphql").count()
}

#[test]
fn a_page_starts_from_the_answers_in_its_html_and_does_not_move() {
    in_browser(async |browser, _| {
        // A list asks for all units once, a product for what is popular beside it, its live
        // reviews (a socket), and reports a view.
        for (path, most) in [
            ("/", 0),
            ("/c/monitors", 1),
            ("/search?q=karst", 1),
            (FILTERED, 1),
            ("/p/karst-monitor-1", 3),
            ("/compare?p=karst-monitor-1&p=silo-monitor-3", 0),
        ] {
            browser.open(path).await;
            browser.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))").await;
            assert!(asked(browser) <= most, "{path}: {:?}", browser.requests());
            let moved = browser.eval("window.moved").await.as_f64().unwrap();
            assert!(moved < MAX_SHIFT, "{path} moved by {moved}");
        }
    });
}

#[test]
fn a_list_is_filtered_in_any_unit_and_going_back_restores_it() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors").await;
        browser.click_text(".panel label", "Karst").await;
        browser
            .wait("document.querySelector('.heading .total').textContent === '2 products'")
            .await;
        assert_eq!(browser.eval("location.search").await, "?brand=Karst");
        assert_eq!(count(browser, ".chip").await, 1);
        // The chosen value stays in its place, and says what a click on another would give.
        let checked = browser
            .eval("[...document.querySelectorAll('.panel input:checked')].length")
            .await;
        assert_eq!(checked, 1);
        browser
            .wait("document.querySelector('.panel select')?.options.length > 3")
            .await;
        browser.eval("(() => { const unit = document.querySelector('.panel select'); unit.value = 'mm'; unit.dispatchEvent(new Event('change', { bubbles: true })); })()").await;
        browser.wait("location.search.includes('u.screen_size=mm') && document.querySelector('.panel select').value === 'mm'").await;
        browser
            .wait("document.querySelector('.facts')?.textContent.includes(' mm')")
            .await;
        browser.click(".panel input[id$='-from']").await;
        browser.write("1000").await;
        browser.press("Enter").await;
        browser
            .wait("document.querySelector('.nothing-found')")
            .await;
        browser.wait("[...document.querySelectorAll('.nothing-found li')].some((one) => one.textContent.includes('products'))").await;
        browser.back().await;
        browser
            .wait("document.querySelector('.heading .total').textContent === '2 products'")
            .await;
        browser.click(".chip").await;
        browser
            .wait("document.querySelector('.heading .total').textContent === '33 products'")
            .await;
    });
}

#[test]
fn groups_of_filters_keep_their_places_and_stay_as_they_were_opened() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors").await;
        let groups = "[...document.querySelectorAll('.panel details')].map((one) => one.querySelector('h2').textContent + (one.open ? ' +' : ' -'))";
        browser.wait(&format!("{groups}.length > 3")).await;
        let last = "[...document.querySelectorAll('.panel details')].at(-1)";
        let second = "document.querySelectorAll('.panel details')[1]";
        browser
            .eval(&format!("{second}.querySelector('summary').click()"))
            .await;
        browser
            .eval(&format!(
                "{last}.open || {last}.querySelector('summary').click()"
            ))
            .await;
        browser
            .wait(&format!("{last}.open && !{second}.open"))
            .await;
        let before = browser.eval(groups).await;
        browser.click_text(".panel label", "Karst").await;
        browser
            .wait("document.querySelector('.heading .total').textContent === '2 products'")
            .await;
        let before = before.as_array().unwrap();
        let after = browser.eval(groups).await;
        let after = after.as_array().unwrap();
        let kept: Vec<&Value> = before.iter().filter(|one| after.contains(one)).collect();
        let known = after.iter().filter(|one| before.contains(one));
        assert!(kept.len() > 2, "{before:?} {after:?}");
        assert_eq!(known.collect::<Vec<_>>(), kept, "the same places");
    });
}

#[test]
fn ends_of_a_range_that_are_the_wrong_way_round_are_exchanged() {
    in_browser(async |browser, _| {
        let total = "document.querySelector('.heading .total').textContent";
        browser.open("/c/monitors?price=10..500").await;
        browser.wait(&format!("/^[1-9]/.test({total})")).await;
        let found = browser.eval(total).await;
        browser.open("/c/monitors?price=500..10").await;
        browser.wait(&format!("{total} === {found}")).await;
    });
}

#[test]
fn the_highest_range_has_no_upper_end_and_as_many_products_as_it_says() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors").await;
        let highest = "[...document.querySelectorAll('.panel label')]\
                       .find((one) => /^€.* and more/.test(one.textContent))";
        let count = format!("{highest}.querySelector('.count').textContent");
        let count = browser.eval(&count).await;
        browser.eval(&format!("{highest}.click()")).await;
        let total = format!("{} products", count.as_str().unwrap());
        let shown = "document.querySelector('.heading .total').textContent";
        browser.wait(&format!("{shown} === '{total}'")).await;
        let chip = text(browser, ".chip").await;
        assert!(chip.contains(" and more"), "{chip}");
        assert!(
            !browser
                .eval("location.search")
                .await
                .as_str()
                .unwrap()
                .contains("null")
        );
    });
}

#[test]
fn more_products_come_on_request_and_are_there_when_one_returns() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors").await;
        assert_eq!(count(browser, ".tile").await, 24);
        browser.click(".more .button").await;
        browser
            .wait("document.querySelectorAll('.tile').length === 33")
            .await;
        browser.eval("scrollTo(0, 900)").await;
        browser.wait("scrollY === 900").await;
        browser
            .eval("document.querySelectorAll('.tile a')[30].click()")
            .await;
        browser
            .wait("location.pathname.startsWith('/p/') && document.querySelector('.product h1')")
            .await;
        browser.wait("scrollY === 0").await;
        browser.back().await;
        browser
            .wait("document.querySelectorAll('.tile').length === 33 && scrollY === 900")
            .await;
    });
}

#[test]
fn a_link_within_a_page_does_not_leave_it() {
    in_browser(async |browser, _| {
        browser.shape(1280, 500, false).await;
        browser.open("/").await;
        browser.eval("scrollTo(0, 300)").await;
        browser.wait("scrollY === 300").await;
        // The start page of this shop need not show the product with reviews.
        browser
            .eval(
                "(() => { const link = document.querySelector('.tile a'); \
                 link.href = '/p/karst-monitor-1'; link.click(); })()",
            )
            .await;
        browser.wait("document.querySelector('.verdict a')").await;
        browser.wait("scrollY === 0").await;
        browser.click(".verdict a").await;
        browser.wait("location.hash === '#reviews'").await;
        browser.wait(AT_REVIEWS).await;
        browser.wait("history.state?.key").await;
        assert_eq!(count(browser, ".asked").await, 1);
        browser.back().await;
        browser.wait("location.hash === ''").await;
        browser.back().await;
        browser
            .wait("document.querySelector('.home') && scrollY === 300")
            .await;
    });
}

#[test]
fn a_number_of_products_has_the_right_noun() {
    in_browser(async |browser, _| {
        browser.open("/c/film").await;
        assert_eq!(text(browser, ".heading .total").await, "1 product");
        browser.open("/").await;
        assert_eq!(text(browser, "a[href='/c/film'] .count").await, "1 product");
    });
}

#[test]
fn a_search_with_a_typing_mistake_finds_what_was_meant() {
    in_browser(async |browser, _| {
        browser.open("/").await;
        browser.click("#q").await;
        // The focus goes, and is back at once.
        browser
            .eval(
                "(() => { const field = document.activeElement; field.blur(); field.focus(); })()",
            )
            .await;
        browser.write("karst moni").await;
        browser
            .wait("document.querySelectorAll('#suggestions [role=option]').length > 1")
            .await;
        browser.press("ArrowDown").await;
        browser.wait("document.getElementById(document.querySelector('#q').getAttribute('aria-activedescendant'))?.getAttribute('aria-selected') === 'true'").await;
        browser.press("Escape").await;
        browser.wait("document.querySelector('#suggestions').hidden && document.querySelector('#q').value === 'karst moni'").await;
        browser.eval("document.querySelector('#q').select()").await;
        browser.write("karst mnitor").await;
        browser.press("Enter").await;
        browser
            .wait("document.querySelector('.reading')?.textContent.includes('monitor')")
            .await;
        assert!(count(browser, ".tile").await.as_u64() > Some(0));
        let words = text(browser, "h1").await;
        assert_eq!(words, "Results for “karst mnitor”");
    });
}

#[test]
fn products_are_compared_in_the_same_unit_and_differences_are_marked() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors?brand=Karst").await;
        browser.click(".tile:nth-child(1) .pick").await;
        browser.click(".tile:nth-child(2) .pick").await;
        browser.click(".actions a.action").await;
        browser
            .wait("document.querySelectorAll('.comparison thead th').length === 2")
            .await;
        let row = |name: &str| {
            format!(
                "[...document.querySelectorAll('.comparison tbody tr')].find((row) => row.textContent.startsWith({}))",
                json!(name)
            )
        };
        let panel = browser
            .eval(&format!(
                "{}.classList.contains('differs')",
                row("Panel type")
            ))
            .await;
        assert_eq!(panel, true);
        let size = browser
            .eval(&format!("{}.textContent", row("Screen size")))
            .await;
        assert_eq!(size.as_str().unwrap().matches(" cm").count(), 2, "{size}");
        browser.click(".compare .check input").await;
        browser.wait(&format!("!{}", row("Color"))).await;
        assert!(
            browser
                .eval("location.search")
                .await
                .as_str()
                .unwrap()
                .contains("p=karst")
        );
    });
}

#[test]
fn a_page_says_how_it_was_asked_and_graphiql_works_without_a_network() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors").await;
        browser.click(".asked > summary").await;
        let told = text(browser, ".asked ol").await;
        for part in ["List", "Facets", "units of 10,000", "Open in GraphiQL"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let address = browser
            .eval("document.querySelector('.asked a').getAttribute('href')")
            .await;
        browser.eval(&format!("location.assign({address})")).await;
        browser
            .wait("document.querySelector('.graphiql-execute-button')")
            .await;
        browser.wait("document.querySelector('.graphiql-query-editor').textContent.includes('query List')").await;
        // GraphiQL asks for the schema first. Strangers are refused it here, and a late refusal would
        // take the place of the answer.
        browser
            .wait("document.querySelector('.result-window').textContent.includes('Introspection')")
            .await;
        browser.click(".graphiql-execute-button").await;
        browser
            .wait("document.querySelector('.result-window').textContent.includes('Monitor')")
            .await;
    });
}

#[test]
fn filters_are_an_overlay_on_a_phone() {
    in_browser(async |browser, _| {
        browser.shape(375, 700, false).await;
        browser.open("/c/monitors").await;
        browser.click("button.filters").await;
        browser
            .wait("document.querySelector('dialog.sheet').open")
            .await;
        browser.click_text("dialog.sheet label", "Karst").await;
        browser
            .wait("document.querySelector('.sheet-end').textContent === 'Show 2 products'")
            .await;
        browser.click(".sheet-end .button").await;
        browser
            .wait("!document.querySelector('dialog.sheet').open")
            .await;
        assert_eq!(count(browser, ".tile").await, 2);
    });
}
