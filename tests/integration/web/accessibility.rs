//! What axe-core finds, and what it does not look for: reflow, focus, the keyboard.

use serde_json::Value;
use vitrine_harness::browser::Browser;
use vitrine_harness::environment::workspace_dir;

use super::in_browser;

pub(super) const PAGES: [&str; 6] = [
    "/",
    "/c/monitors?brand=Karst",
    "/search?q=nothing+like+it",
    "/p/karst-monitor-1",
    "/p/hostile",
    "/compare?p=karst-monitor-1&p=silo-monitor-3",
];

/// Returns what axe-core finds in the open page in both themes, with every rule of WCAG 2.2 A and AA and its best practices.
pub(super) async fn violations(browser: &mut Browser) -> Vec<String> {
    let axe = workspace_dir().join("tests/vendor/axe-core/axe.min.js");
    let axe = std::fs::read_to_string(axe).unwrap();
    browser.load(&axe).await;
    let mut all = Vec::new();
    for theme in ["light", "dark"] {
        // Without motion, the colours are those of the theme at once.
        let preferred = [
            ("prefers-color-scheme", theme),
            ("prefers-reduced-motion", "reduce"),
        ];
        browser.prefer(&preferred).await;
        browser.wait("document.getAnimations().length === 0").await;
        let found = browser
            .eval(
                "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], \
                 rules: { 'target-size': { enabled: true } } }) \
                 .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`)))",
            )
            .await;
        let found = found.as_array().unwrap().iter();
        let found = found.filter_map(Value::as_str);
        all.extend(found.map(|one| format!("{theme}: {one}")));
    }
    browser.prefer(&[]).await;
    all
}

#[test]
fn axe_finds_nothing_in_any_page_in_both_themes_at_both_ends() {
    in_browser(async |browser, _| {
        let mut found = Vec::new();
        for width in [1280, 320] {
            browser.shape(width, 800, false).await;
            for path in PAGES {
                browser.open(path).await;
                let wrong = violations(browser).await;
                found.extend(
                    wrong
                        .into_iter()
                        .map(|one| format!("{path} at {width}: {one}")),
                );
            }
        }
        assert!(
            found.is_empty(),
            "{} violations: {:#?}",
            found.len(),
            &found[..found.len().min(12)]
        );
    });
}

#[test]
fn nothing_is_wider_than_a_small_phone() {
    in_browser(async |browser, _| {
        browser.shape(320, 700, false).await;
        for path in PAGES {
            browser.open(path).await;
            let width = browser.eval("document.documentElement.scrollWidth").await;
            assert_eq!(width, 320, "{path}");
        }
    });
}

#[test]
fn every_control_is_reached_by_the_keyboard_and_seen_when_it_is() {
    in_browser(async |browser, _| {
        browser.open("/c/monitors?brand=Karst").await;
        let (mut seen, mut hidden) = (0, Vec::new());
        for _ in 0..60 {
            browser.press("Tab").await;
            let focus = browser
                .eval(
                    "(() => { const one = document.activeElement; if (one === document.body) return null; \
                     const box = one.getBoundingClientRect(); \
                     const at = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 20)); \
                     const shown = box.width > 0 && box.bottom > 0 && box.top < innerHeight; \
                     const top = !at || one.contains(at) || at.contains(one) || at.closest('label')?.control === one; \
                     return { ok: shown && top, what: one.outerHTML.slice(0, 120) }; })()",
                )
                .await;
            if focus.is_null() {
                break;
            }
            seen += 1;
            if focus["ok"] != true {
                hidden.push(focus["what"].clone());
            }
        }
        assert!(seen > 40, "{seen} controls");
        assert!(hidden.is_empty(), "{hidden:#?}");
        // A filter is chosen with the keyboard, and the focus stays where it was.
        browser
            .eval("document.querySelector('.panel input:checked').focus()")
            .await;
        browser.press("Space").await;
        browser.wait("location.search === ''").await;
        browser
            .wait("document.activeElement.matches('.panel input')")
            .await;
    });
}
