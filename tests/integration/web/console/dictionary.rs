//! An admin keeps the dictionary, categories, suppliers and units, in a browser.

use serde_json::json;

use super::{api, fill, id_of, in_console};
use crate::web::text;

#[test]
fn similar_keys_are_found_and_merged_with_a_preview_and_progress() {
    in_console("admin", &[], async |browser, address| {
        let set = "mutation ($input: SetSpecsInput!) { setSpecs(input: $input) { userErrors { message } } }";
        let id = id_of(address, "night-train").await;
        let input =
            json!({ "input": { "productId": id, "specs": [{ "key": "colour", "text": "Red" }] } });
        api(address, "admin", set, input).await;
        browser.open("/console/specs").await;
        browser.wait("document.querySelector('[aria-labelledby=alike]')?.textContent.includes('Merge colour into color')").await;
        browser
            .click_text("[aria-labelledby=alike] a", "Merge colour into color")
            .await;
        browser.wait("document.querySelector('[aria-labelledby=merge] .grid')?.textContent.includes('Black')").await;
        assert_eq!(
            browser
                .eval("document.querySelector('[aria-labelledby=merge] .button').disabled")
                .await,
            true,
            "a merge is confirmed by typing the key"
        );
        fill(browser, "#merge-typed", "colour").await;
        browser
            .click_text("[aria-labelledby=merge] .button", "Merge colour into color")
            .await;
        browser
            .wait("document.querySelector('.merging')?.textContent.includes('colour is another name of color')")
            .await;
        let filter = "{ products(filter: { specs: [{ key: \"color\", text: { eq: \"red\" } }] }) { nodes { name } } }";
        let found = api(address, "admin", filter, json!({})).await;
        assert_eq!(found["products"]["nodes"][0]["name"], "Night Train");
        browser.click_text(".merging .button", "To color").await;
        browser
            .wait("document.querySelector('h1')?.textContent === 'color'")
            .await;
        browser
            .wait("document.querySelector('#key-aliases')?.value.includes('colour')")
            .await;
    });
}

#[test]
fn keys_of_different_meaning_are_not_proposed_and_a_proposal_can_be_dismissed() {
    in_console("admin", &[], async |browser, address| {
        let set = "mutation ($input: SetSpecsInput!) { setSpecs(input: $input) { userErrors { message } } }";
        let id = id_of(address, "night-train").await;
        let keys = [
            "pole_material",
            "sole_material",
            "run_time",
            "runtime",
            "frequency_min",
            "frequncy_min",
        ];
        let specs = keys.map(|key| json!({ "key": key, "text": "x" }));
        let input = json!({ "input": { "productId": id, "specs": specs } });
        api(address, "admin", set, input).await;
        browser.open("/console/specs").await;
        let shown = "document.querySelector('[aria-labelledby=alike]')?.textContent ?? ''";
        for proposed in ["run_time into runtime", "frequency_min into frequncy_min"] {
            browser
                .wait(&format!("({shown}).includes('{proposed}')"))
                .await;
        }
        assert_eq!(
            browser
                .eval(&format!("({shown}).includes('pole_material')"))
                .await,
            false
        );
        browser
            .click_text("[aria-labelledby=alike] button", "run_time and runtime")
            .await;
        browser
            .wait(&format!("!({shown}).includes('run_time')"))
            .await;
        browser.open("/console/specs").await;
        browser
            .wait(&format!("({shown}).includes('frequncy_min')"))
            .await;
        assert_eq!(
            browser
                .eval(&format!("({shown}).includes('run_time')"))
                .await,
            false
        );
    });
}

#[test]
fn a_key_is_defined_and_changed_and_a_conflict_is_shown() {
    in_console("admin", &[], async |browser, address| {
        browser.open("/console/specs").await;
        browser.click(".opened summary").await;
        fill(browser, "#new-key-key", "Bad Key").await;
        browser.click(".opened [type=submit]").await;
        browser
            .wait("document.querySelector('.opened [aria-invalid=true]')")
            .await;
        browser.open("/console/specs/panel_type").await;
        fill(browser, "#key-label", "Kind of panel").await;
        let change = "mutation ($input: UpdateSpecKeyInput!) { updateSpecKey(input: $input) { userErrors { message } } }";
        let theirs = json!({ "input": { "key": "panel_type", "label": "Panel" } });
        api(address, "admin", change, theirs).await;
        browser.click(".save-bar [type=submit]").await;
        browser.wait("document.querySelector('.versions')").await;
        browser.click("#conflict-0-theirs").await;
        browser
            .click_text(".conflict .button", "Save with these")
            .await;
        browser
            .wait("document.querySelector('#key-label')?.value === 'Panel'")
            .await;
        assert!(
            text(browser, "[aria-labelledby=coverage]")
                .await
                .contains("33 products")
        );
    });
}

#[test]
fn categories_and_keys_are_restored_from_their_history() {
    in_console("admin", &[], async |browser, address| {
        let category = api(
            address,
            "admin",
            "{ category(slug: \"film\") { id } }",
            json!({}),
        )
        .await;
        let change = "mutation ($input: UpdateCategoryInput!) { updateCategory(input: $input) { userErrors { message } } }";
        let renamed = json!({ "input": { "id": category["category"]["id"], "name": "Movies", "slug": "movies" } });
        api(address, "admin", change, renamed).await;
        browser.open("/console/categories?c=movies").await;
        browser
            .click_text("[aria-labelledby=history] .button", "Restore revision 1")
            .await;
        browser
            .wait("location.search === '?c=film' && document.querySelector('.tree-page h2')?.textContent === 'Film'")
            .await;
        let change = "mutation ($input: UpdateSpecKeyInput!) { updateSpecKey(input: $input) { userErrors { message } } }";
        let label = json!({ "input": { "key": "panel_type", "label": "Panel" } });
        api(address, "admin", change, label).await;
        browser.open("/console/specs/panel_type").await;
        browser
            .wait("document.querySelector('[aria-labelledby=history]')?.textContent.includes('label: Panel type → Panel')")
            .await;
        browser
            .click_text("[aria-labelledby=history] .button", "Restore revision 1")
            .await;
        browser
            .wait("document.querySelector('#key-label')?.value === 'Panel type'")
            .await;
    });
}

#[test]
fn a_supplier_is_renamed_and_its_products_follow() {
    in_console("admin", &[], async |browser, address| {
        browser.open("/console/suppliers").await;
        browser.click_text(".grid a", "Saigon River Goods").await;
        fill(browser, "#supplier-name", "Mekong Goods").await;
        fill(browser, "#supplier-country", "Vietnam").await;
        browser.click(".save-bar [type=submit]").await;
        browser
            .wait("document.querySelector('#supplier-country-wrong')?.textContent.length > 0")
            .await;
        fill(browser, "#supplier-country", "VN").await;
        browser.click(".save-bar [type=submit]").await;
        browser
            .wait("document.querySelector('h1')?.textContent === 'Mekong Goods'")
            .await;
        browser
            .wait("document.querySelector('.propagation')?.textContent.includes('still have the old name')")
            .await;
        // No worker runs beside this service: the test does its work.
        let list = "{ suppliers { nodes { name propagation { productsBehind } } } }";
        let data = api(address, "admin", list, json!({})).await;
        assert_eq!(
            data["suppliers"]["nodes"][0]["propagation"]["productsBehind"],
            33
        );
    });
}

#[test]
fn categories_and_units_are_made_and_moved() {
    in_console("admin", &[], async |browser, address| {
        browser.open("/console/categories").await;
        browser.click(".opened summary").await;
        fill(browser, "#new-category-name", "Curved").await;
        fill(browser, "#new-category-parent", "monitors").await;
        browser.click(".opened [type=submit]").await;
        browser.wait("document.querySelector('.tree-page h2')?.textContent === 'Computers › Monitors › Curved'").await;
        fill(browser, "#category-parent", "film").await;
        browser.click(".save-bar [type=submit]").await;
        browser
            .wait("document.querySelector('.tree-page h2')?.textContent === 'Film › Curved'")
            .await;
        browser.click("#dimensions").await;
        browser.write("sound\npicture").await;
        browser
            .click_text(".tree-page .button", "Set for this category")
            .await;
        browser.wait("[...document.querySelectorAll('[role=status]')].some((one) => one.textContent === 'Saved')").await;
        browser.open("/console/units").await;
        browser.click(".opened summary").await;
        fill(browser, "#new-unit-symbol", "ell").await;
        fill(browser, "#new-unit-dimension", "length").await;
        fill(browser, "#new-unit-factor", "685.8").await;
        browser.click(".opened [type=submit]").await;
        browser.wait("[...document.querySelectorAll('.grid th')].some((one) => one.textContent === 'ell')").await;
        let units = api(address, "admin", "{ units { symbol factor } }", json!({})).await;
        let units = units["units"].as_array().unwrap();
        assert!(
            units.iter().any(|unit| unit["symbol"] == "ell"),
            "{units:?}"
        );
    });
}
