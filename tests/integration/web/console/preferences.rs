//! The console with what people have set for all pages: colours of the system, and less motion.

use serde_json::json;

use super::system::{open, pages, reported};
use super::{api, fill, id_of, in_console};
use crate::web::preferences::{ForcedColors, assert_stillness, unfold};

#[test]
fn colours_of_the_system_take_no_meaning_from_the_console() {
    in_console("admin", &[], async |browser, address| {
        reported(address).await;
        let mut colors = ForcedColors::default();
        for path in pages(address).await {
            open(browser, &path).await;
            unfold(browser).await;
            colors.look(browser, &path).await;
        }
        // A view that is kept, and a conflict.
        open(browser, "/console/products").await;
        browser
            .click_text(".kept-views button", "Keep this view")
            .await;
        browser.click("#view-name").await;
        browser.write("All").await;
        browser.press("Enter").await;
        browser.wait("document.querySelector('.view')").await;
        colors.look(browser, "a view").await;
        let id = id_of(address, "karst-monitor-2").await;
        open(browser, &format!("/console/products/{id}")).await;
        fill(browser, "#product-brand", "Mine").await;
        let change = "mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { userErrors { message } } }";
        let theirs = json!({ "input": { "id": id, "brand": "Theirs" } });
        api(address, "admin", change, theirs).await;
        browser.click(".save-bar [type=submit]").await;
        browser.wait("document.querySelector('.versions')").await;
        colors.look(browser, "a conflict").await;
        colors.assert(&[
            "a focus",
            "[aria-pressed]",
            "[aria-current]",
            ".grid:not(.versions) tbody tr",
            ".versions td",
            ".versions tbody tr",
            ".dropped",
            ".state",
            ".box",
            "kbd",
            ".stars",
            "bar-one rect",
            "grid line",
        ]);
    });
}

#[test]
fn nothing_moves_in_the_console_for_those_who_want_less_motion() {
    in_console("admin", &[], async |browser, address| {
        reported(address).await;
        let mut moving = 0;
        for path in pages(address).await {
            open(browser, &path).await;
            unfold(browser).await;
            moving += assert_stillness(browser, &path).await;
        }
        assert!(moving > 0, "the expression finds what moves");
    });
}
