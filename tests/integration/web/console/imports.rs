//! The console: an import is started from dropped files, tried, mended, imported and stopped.

use serde_json::json;
use vitrine_domain::workers::Worker;
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::{App, test};

use super::{act_as, api, with_console};
use crate::import_runs::MAPPING;
use crate::web::{count, text};

const FEED: &str = "{\"id\":1,\"name\":\"Eclipse\"}\n{\"id\":2,\"name\":\"Corona\"}\n{\"id\":3}\n";

/// Drops files on a field.
async fn drop_files(browser: &mut Browser, field: &str, files: &[(&str, &str)]) {
    let (field, files) = (json!(field), json!(files));
    browser
        .eval(&format!(
            "(() => {{ const carried = new DataTransfer(); \
             for (const [name, content] of {files}) carried.items.add(new File([content], name)); \
             document.querySelector({field}).dispatchEvent(new DragEvent('drop', {{ bubbles: true, cancelable: true, dataTransfer: carried }})); }})()"
        ))
        .await;
}

/// Runs the import whose page is opened, and waits for its end.
async fn run(app: &App, browser: &mut Browser, state: &str) {
    browser
        .wait("document.querySelector('h1 + .total')?.textContent.includes('Queued')")
        .await;
    app.catalog.work_off(Worker::Imports).await.unwrap();
    ended(browser, state).await;
}

/// Waits for the end of the import that is shown.
async fn ended(browser: &mut Browser, state: &str) {
    let shown = format!("document.querySelector('h1 + .total')?.textContent === '{state}'");
    browser.wait(&shown).await;
}

/// Runs a test in a browser of an admin, beside the workers.
fn in_imports(body: impl AsyncFnOnce(&App, &mut Browser, &str)) {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        with_console(app, &[], async |address| {
            let mut browser = Browser::start(&program, address).await;
            browser.open("/console").await;
            act_as(&mut browser, "admin").await;
            body(app, &mut browser, address).await;
            browser.assert_well();
        })
        .await;
    });
}

/// The number of a line in the table of outcomes.
async fn lines(browser: &mut Browser, outcome: &str) -> String {
    let row = format!(
        "[...document.querySelectorAll('main tr')].find((row) => row.querySelector('th')?.textContent === '{outcome}')?.querySelector('.number').textContent"
    );
    browser.eval(&row).await.as_str().unwrap().to_owned()
}

#[test]
fn dropped_files_are_tried_and_then_imported() {
    in_imports(async |app, browser, address| {
        browser.open("/console/imports").await;
        browser.click_text("main .button", "Start an import").await;
        browser.wait("document.querySelector('#mapping')").await;
        let wrong = MAPPING.replace("name =", "nane =");
        drop_files(
            browser,
            ".dropped",
            &[("lamps.jsonl", FEED), ("map.toml", &wrong)],
        )
        .await;
        browser
            .wait("document.querySelector('#mapping').value.includes('nane')")
            .await;
        assert_eq!(text(browser, ".files .iso").await, "lamps.jsonl");
        browser.click_text("main .button", "Try it first").await;
        browser
            .wait("document.querySelector('#mapping-wrong').textContent.includes('nane')")
            .await;
        drop_files(browser, ".dropped", &[("map.toml", MAPPING)]).await;
        browser
            .wait("!document.querySelector('#mapping').value.includes('nane')")
            .await;
        browser.click_text("main .button", "Try it first").await;
        run(app, browser, "Dry run: Done").await;
        assert_eq!(lines(browser, "Created").await, "2");
        assert!(text(browser, "pre.report").await.starts_with("Dry run"));
        assert!(
            text(browser, "[aria-labelledby=rejects]")
                .await
                .contains("name")
        );
        let found = "{ products(filter: { kind: [\"lamp\"], status: [ACTIVE, DRAFT] }) { totalCount { value } } }";
        let stored = api(address, "admin", found, json!({})).await;
        assert_eq!(stored["products"]["totalCount"]["value"], 0);
        browser.click_text("main .button", "Import it").await;
        run(app, browser, "Done").await;
        assert_eq!(lines(browser, "Created").await, "2");
        let stored = api(address, "admin", found, json!({})).await;
        assert_eq!(stored["products"]["totalCount"]["value"], 2);
    });
}

#[test]
fn an_import_is_repeated_with_another_mapping_and_survives_a_reload() {
    in_imports(async |app, browser, _| {
        browser.open("/console/imports/new").await;
        browser.wait("document.querySelector('#mapping')").await;
        drop_files(
            browser,
            ".dropped",
            &[("lamps.jsonl", FEED), ("map.toml", MAPPING)],
        )
        .await;
        browser
            .wait("document.querySelector('#mapping').value.includes('Lamps')")
            .await;
        browser.click_text("main .button", "Import").await;
        run(app, browser, "Done").await;
        let path = browser.eval("location.pathname").await;
        browser.open(path.as_str().unwrap()).await;
        ended(browser, "Done").await;
        browser
            .click_text("main .button", "Change the mapping")
            .await;
        browser
            .wait("document.querySelector('#mapping')?.value.includes('Lamps') && document.querySelector('.files .iso')?.textContent === 'lamps.jsonl'")
            .await;
        browser.click_text("main .button", "Try it first").await;
        run(app, browser, "Dry run: Done").await;
        assert_eq!(lines(browser, "As before").await, "2");
        browser.open("/console/imports").await;
        browser
            .wait("document.querySelectorAll('main tbody tr').length === 2")
            .await;
        assert_eq!(count(browser, "main tbody .state.idle").await, 2);
    });
}
