//! An admin finds and edits products, in a browser.

use serde_json::{Value, json};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::test;
use vitrine_harness::token::token;

use super::{act_as, api, choose, fill, id_of, in_console, with_console};
use crate::pictures::PHOTO;
use crate::web::reviewing::{choose_file, drawn};
use crate::web::{HOSTILE, in_browser_with_pictures, text};

const READ: &str = "query ($slug: String!) { product(slug: $slug) { name brand status revision price { amount } \
                    specs { key text } ... on Electronics { warrantyMonths } } }";

async fn read(address: &str, slug: &str) -> Value {
    let data = api(address, "admin", READ, json!({ "slug": slug })).await;
    data["product"].clone()
}

/// Opens the editor of a product.
async fn edit(browser: &mut Browser, address: &str, slug: &str) -> String {
    let id = id_of(address, slug).await;
    browser.open(&format!("/console/products/{id}")).await;
    browser
        .wait("document.querySelector('#product-name')")
        .await;
    id
}

async fn save(browser: &mut Browser) {
    browser.click(".save-bar [type=submit]").await;
}

const SAVED: &str = "!document.querySelector('.save-bar')";

#[test]
fn products_are_found_by_filters_and_views_are_kept_with_their_columns() {
    in_console("admin", &[], async |browser, _| {
        browser.open("/console/products").await;
        browser
            .wait("document.querySelectorAll('.product-table tbody tr').length === 35")
            .await;
        browser.click_text(".panel label", "Karst").await;
        browser
            .wait("document.querySelector('.total').textContent === '2 products'")
            .await;
        browser.click_text(".kept-views button", "Columns").await;
        fill(browser, "#column-key", "screen_size").await;
        browser.press("Enter").await;
        browser
            .wait("document.querySelector('.product-table')?.textContent.includes('68.6 cm')")
            .await;
        browser.press("Escape").await;
        browser
            .click_text(".kept-views button", "Keep this view")
            .await;
        browser.click("#view-name").await;
        browser.write("Karst only").await;
        browser.press("Enter").await;
        browser.wait("document.querySelector('.view')").await;
        browser.open("/console/products?status=DRAFT").await;
        browser
            .wait("document.querySelector('.total').textContent === '0 products'")
            .await;
        browser.click_text(".view .chip", "Karst only").await;
        browser.wait("document.querySelector('.total').textContent === '2 products' && location.search === '?brand=Karst'").await;
        browser.open("/console/products").await;
        fill(browser, "#has-key", "panel_type").await;
        browser.click_text(".has-spec .button", "Lacks it").await;
        browser
            .wait("document.querySelector('.total').textContent === '2 products'")
            .await;
        browser
            .open("/console/products?sort=spec.screen_size-desc&n.screen_size=1..100~cm")
            .await;
        browser.wait("document.querySelector('.product-table tbody a')?.textContent.startsWith('Ferrit')").await;
    });
}

#[test]
fn what_a_product_is_and_lacks_narrows_the_list_down_and_stands_in_the_address() {
    in_console("admin", &[], async |browser, _| {
        let total = async |browser: &mut Browser, expected: &str| {
            let shown = format!("document.querySelector('.total')?.textContent === '{expected}'");
            browser.wait(&shown).await;
        };
        browser.open("/console/products").await;
        total(browser, "35 products").await;
        fill(browser, "#by-kind", "movie").await;
        browser.press("Enter").await;
        total(browser, "1 product").await;
        browser.click_text(".chips .chip", "kind movie").await;
        choose(browser, "#by-priced", "no").await;
        total(browser, "1 product").await;
        browser.wait("location.search === '?priced=no'").await;
        choose(browser, "#by-priced", "").await;
        choose(browser, "#by-pictured", "yes").await;
        total(browser, "1 product").await;
        choose(browser, "#by-pictured", "no").await;
        fill(browser, "#by-supplier", "GOODS saig").await;
        browser.click_text(".facts .found button", "Saigon").await;
        total(browser, "32 products").await;
        choose(browser, "#sort", "updated-asc").await;
        choose(browser, "#by-since", "2100-01-01").await;
        total(browser, "0 products").await;
        browser.back().await;
        total(browser, "32 products").await;
        browser
            .wait("document.querySelector('#sort').value === 'updated-asc' && document.querySelectorAll('.chips .chip').length === 2")
            .await;
    });
}

#[test]
fn fields_details_and_specs_are_edited_and_refusals_stand_at_their_fields() {
    in_console("admin", &[], async |browser, address| {
        edit(browser, address, "karst-monitor-1").await;
        fill(browser, "#product-brand", "Karst & Sohn").await;
        fill(browser, "#product-price-amount", "129.999").await;
        fill(
            browser,
            "#product-details-electronics-warrantyMonths",
            "two",
        )
        .await;
        save(browser).await;
        // What is no number is not sent.
        browser.wait("document.activeElement.id === 'product-details-electronics-warrantyMonths' && document.activeElement.getAttribute('aria-invalid') === 'true'").await;
        fill(browser, "#product-details-electronics-warrantyMonths", "24").await;
        save(browser).await;
        browser
            .wait("document.querySelector('#product-price-amount-wrong')?.textContent.length > 0")
            .await;
        fill(browser, "#product-price-amount", "129.90").await;
        browser
            .click_text(".specs-group > p .button", "Add a spec")
            .await;
        browser
            .wait("document.activeElement.id.endsWith('-key')")
            .await;
        browser.write("weight").await;
        let last = "[...document.querySelectorAll('.spec-row')].at(-1)";
        choose(browser, ".spec-row:nth-last-of-type(1) select", "QUANTITY").await;
        browser
            .eval(&format!("{last}.querySelector('[id$=-value]').focus()"))
            .await;
        browser.write("6.5").await;
        browser
            .eval(&format!("{last}.querySelector('[id$=-unit]').focus()"))
            .await;
        browser.write("stone and a half").await;
        save(browser).await;
        browser
            .wait(&format!(
                "{last}.querySelector('[id$=-unit]').getAttribute('aria-invalid') === 'true'"
            ))
            .await;
        browser
            .eval(&format!("{last}.querySelector('[id$=-unit]').select()"))
            .await;
        browser.write("kg").await;
        save(browser).await;
        browser.wait(SAVED).await;
        let product = read(address, "karst-monitor-1").await;
        assert_eq!(product["brand"], "Karst & Sohn");
        assert_eq!(product["price"]["amount"], "129.90");
        assert_eq!(product["warrantyMonths"], 24);
        let specs = product["specs"].as_array().unwrap();
        assert!(
            specs.iter().any(|spec| spec["text"] == "6.5 kg"),
            "{specs:?}"
        );
    });
}

#[test]
fn what_an_admin_has_edited_is_given_back_to_the_feeds_beside_its_field() {
    in_console("admin", &[], async |browser, address| {
        let id = edit(browser, address, "karst-monitor-1").await;
        let before = read(address, "karst-monitor-1").await;
        browser
            .eval("document.querySelector('#product-name').select()")
            .await;
        browser.write("Karst, the good one").await;
        save(browser).await;
        browser.wait(SAVED).await;
        let note = "[...document.querySelectorAll('form .hint')].find(one => one.textContent.startsWith('name: edited by'))";
        browser.wait(note).await;
        let said = browser.eval(&format!("{note}.textContent")).await;
        let name = before["name"].as_str().unwrap();
        assert!(
            said.to_string().contains(&format!("Feeds say: {name}")),
            "{said}"
        );
        browser
            .click_text("form .hint .link", "Give name back to the feeds")
            .await;
        browser.wait(&format!("!({note})")).await;
        browser
            .wait(&format!(
                "document.querySelector('#product-name').value === {}",
                before["name"]
            ))
            .await;
        assert_eq!(
            read(address, "karst-monitor-1").await["name"],
            before["name"]
        );
        browser.open(&format!("/console/products/{id}")).await;
        browser
            .wait("document.querySelector('[aria-labelledby=history] tbody tr')?.textContent.includes('Given back to the feeds')")
            .await;
    });
}

#[test]
fn a_history_says_who_changed_what_and_restores_it() {
    in_console("admin", &[], async |browser, address| {
        let id = edit(browser, address, "night-train").await;
        browser
            .wait("document.querySelector('[aria-labelledby=history] .hint')?.textContent.startsWith('No change')")
            .await;
        let change = "mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { userErrors { message } } }";
        for n in 1..=11 {
            let name = json!({ "input": { "id": id, "name": format!("Train {n}") } });
            api(address, "admin", change, name).await;
        }
        browser.open(&format!("/console/products/{id}")).await;
        let rows = "document.querySelectorAll('[aria-labelledby=history] tbody tr').length";
        browser.wait(&format!("{rows} === 10")).await;
        let first = text(browser, "[aria-labelledby=history] tbody tr").await;
        for part in ["revision 12", "admin", "name: Train 10 → Train 11"] {
            assert!(first.contains(part), "{first}");
        }
        browser
            .click_text("[aria-labelledby=history] .button", "Show more")
            .await;
        browser.wait(&format!("{rows} === 11")).await;
        browser
            .click_text("[aria-labelledby=history] .button", "Restore revision 2")
            .await;
        browser
            .wait("document.querySelector('h1').textContent === 'Train 1' && document.querySelector('#product-name').value === 'Train 1'")
            .await;
        browser
            .wait("document.querySelector('[aria-labelledby=history] tbody tr').textContent.includes('Restored revision 2')")
            .await;
        assert_eq!(read(address, "night-train").await["name"], "Train 1");
        // What cannot be restored says why.
        let slug = json!({ "input": { "id": id, "slug": "old-train" } });
        api(address, "admin", change, slug).await;
        let other = id_of(address, "karst-monitor-1").await;
        let taken = json!({ "input": { "id": other, "slug": "night-train" } });
        api(address, "admin", change, taken).await;
        browser.open(&format!("/console/products/{id}")).await;
        browser
            .click_text("[aria-labelledby=history] .button", "Restore revision 13")
            .await;
        browser
            .wait("document.querySelector('[aria-labelledby=history] [role=alert]')?.textContent.includes('another product has the slug night-train')")
            .await;
    });
}

#[test]
fn two_writers_see_mine_and_theirs_and_choose() {
    in_console("admin", &[], async |browser, address| {
        let id = edit(browser, address, "karst-monitor-2").await;
        fill(browser, "#product-brand", "Mine").await;
        fill(browser, "#product-name", "My name").await;
        let change = "mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { userErrors { message } } }";
        let theirs = json!({ "id": id, "brand": "Theirs", "description": HOSTILE });
        api(address, "admin", change, json!({ "input": theirs })).await;
        save(browser).await;
        browser
            .wait("document.querySelectorAll('.versions tbody tr').length === 3")
            .await;
        let table = text(browser, ".versions").await;
        assert!(
            table.contains("Mine") && table.contains("Theirs") && table.contains(HOSTILE),
            "{table}"
        );
        // Nothing is saved before one has chosen.
        browser
            .click_text(".conflict .button", "Save with these")
            .await;
        browser
            .wait("document.querySelector('.sides .wrong')")
            .await;
        browser.click("#conflict-0-mine").await;
        browser
            .click_text(".conflict .button", "Save with these")
            .await;
        browser.wait("document.querySelector('#product-name')?.value === 'My name' && !document.querySelector('.save-bar')").await;
        let query = "query ($slug: String!) { product(slug: $slug) { name brand description } }";
        let now = api(
            address,
            "admin",
            query,
            json!({ "slug": "karst-monitor-2" }),
        )
        .await;
        assert_eq!(
            now["product"],
            json!({ "name": "My name", "brand": "Mine", "description": HOSTILE })
        );
    });
}

/// From now on the service refuses the token of the tab, until `window.honest` is the way to it again.
const EXPIRE: &str = "(() => { window.honest = window.fetch; window.fetch = async () => \
                      new Response(JSON.stringify({ errors: [{ message: 'expired', extensions: { code: 'UNAUTHENTICATED' } }] }), \
                      { status: 401 }); })()";

#[test]
fn a_token_that_expires_while_one_writes_loses_nothing() {
    in_console("admin", &[], async |browser, address| {
        edit(browser, address, "silo-monitor-3").await;
        fill(browser, "#product-name", "Written in vain?").await;
        browser.eval(EXPIRE).await;
        save(browser).await;
        browser.wait("document.querySelector('.expired')").await;
        browser.eval("window.fetch = window.honest").await;
        browser.click(".expired .link").await;
        browser.click("dialog[open] #token").await;
        browser.write(&token("eva", "admin")).await;
        browser.press("Enter").await;
        browser
            .wait("!document.querySelector('.expired') && document.querySelector('#product-name')?.value === 'Written in vain?'")
            .await;
        save(browser).await;
        browser.wait(SAVED).await;
        let name = &read(address, "silo-monitor-3").await["name"];
        assert_eq!(*name, "Written in vain?");
    });
}

#[test]
fn what_is_not_saved_is_there_when_one_returns() {
    in_console("admin", &[], async |browser, address| {
        let id = edit(browser, address, "silo-monitor-3").await;
        fill(browser, "#product-name", "Half a name").await;
        browser.open("/console/units").await;
        browser.open(&format!("/console/products/{id}")).await;
        browser
            .wait("document.querySelector('#product-name')?.value === 'Half a name'")
            .await;
        assert!(
            text(browser, ".save-bar")
                .await
                .contains("not saved when you left")
        );
        browser.click_text(".save-bar .button", "Discard").await;
        browser.wait("document.querySelector('#product-name').value === 'Silo Monitor 3' && !document.querySelector('.save-bar')").await;
    });
}

#[test]
fn a_product_of_a_kind_with_details_is_made_and_hidden_ones_say_why() {
    in_console("admin", &[], async |browser, address| {
        browser.open("/console/products/new").await;
        browser.click("#kind").await;
        browser.write("book").await;
        browser
            .wait("document.querySelector('#product-details-book-isbn')")
            .await;
        fill(browser, "#product-name", "The Long Day").await;
        fill(browser, "#product-category", "film").await;
        browser
            .click_text("[id=product-details-book-contributors] .button", "Add")
            .await;
        fill(browser, "#product-details-book-contributors-0-name", "Ada").await;
        fill(
            browser,
            "#product-details-book-contributors-0-role",
            "author",
        )
        .await;
        fill(browser, "#product-details-book-pages", "312").await;
        browser.click(".form > .buttons [type=submit]").await;
        browser
            .wait("document.querySelector('.heading h1')?.textContent === 'The Long Day'")
            .await;
        browser
            .wait("document.querySelector('.verdict')?.textContent === 'No.'")
            .await;
        assert!(
            text(browser, ".beside .notes")
                .await
                .contains("It is a draft")
        );
        choose(browser, "#product-status", "ACTIVE").await;
        save(browser).await;
        browser
            .wait("document.querySelector('.verdict')?.textContent === 'Yes.'")
            .await;
        let query = "{ product(slug: \"the-long-day\") { ... on Book { pages contributors { name role } } } }";
        let made = api(address, "admin", query, json!({})).await;
        assert_eq!(
            made["product"],
            json!({ "pages": 312, "contributors": [{ "name": "Ada", "role": "author" }] })
        );
    });
}

#[test]
fn many_products_are_changed_at_once_and_those_that_are_refused_are_named() {
    in_console("admin", &[], async |browser, address| {
        browser
            .open("/console/products?brand=Karst&brand=Silo")
            .await;
        browser
            .wait("document.querySelectorAll('.product-table tbody tr').length === 3")
            .await;
        // Somebody changes one of them meanwhile.
        let id = id_of(address, "silo-monitor-3").await;
        let change = "mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { userErrors { message } } }";
        api(
            address,
            "admin",
            change,
            json!({ "input": { "id": id, "name": "Silo 3" } }),
        )
        .await;
        browser.click(".product-table thead input").await;
        browser
            .click_text(".bulk-bar .button", "Change 3 products")
            .await;
        choose(browser, "#bulk-status", "ARCHIVED").await;
        browser.click("dialog[open] [type=submit]").await;
        browser
            .wait("document.querySelector('dialog[open]')?.textContent.includes('1 product not changed')")
            .await;
        assert!(
            text(browser, "dialog[open] .notes")
                .await
                .contains("Somebody has changed it meanwhile")
        );
        assert_eq!(read(address, "karst-monitor-1").await["status"], "ARCHIVED");
        assert_eq!(read(address, "silo-monitor-3").await["status"], "ACTIVE");
        browser.click_text("dialog[open] .button", "Done").await;
    });
}

#[test]
fn all_that_match_are_tried_and_then_changed_by_the_service() {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        with_console(app, &[], async |address| {
            let mut browser = Browser::start(&program, address).await;
            browser.open("/console").await;
            act_as(&mut browser, "admin").await;
            browser
                .open("/console/products?category=monitors&q=ferrit")
                .await;
            browser
                .click_text(".bulk-bar .link", "Change all that match (30 products)")
                .await;
            choose(&mut browser, "#bulk-field", "brand").await;
            fill(&mut browser, "#bulk-brand", "Renamed").await;
            browser
                .click_text("dialog[open] .button", "Try it first")
                .await;
            let worked = app.catalog.work_off(Worker::BulkChanges);
            browser.wait("document.querySelector('dialog[open] h2')?.textContent === 'Trying …'").await;
            worked.await.unwrap();
            let headline = |text: &str| {
                format!("document.querySelector('dialog[open] h2')?.textContent === '{text}'")
            };
            browser.wait(&headline("30 products would be changed")).await;
            assert_eq!(read(address, "ferrit-monitor-10").await["brand"], "Ferrit");
            browser
                .click_text("dialog[open] .button", "Change all that match")
                .await;
            browser.wait(&headline("Changing …")).await;
            // It goes on when the page is left, and is found again.
            browser.open("/console/products").await;
            browser
                .click_text(".bulk-bar .link", "by admin goes on")
                .await;
            browser.wait(&headline("Changing …")).await;
            // One of them no longer matches.
            let id = id_of(address, "ferrit-monitor-11").await;
            let change = "mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { userErrors { message } } }";
            let moved = json!({ "input": { "id": id, "category": "film" } });
            let mut state = MaintenanceState::default();
            app.catalog.work(Worker::BulkChanges, &mut state).await.unwrap();
            api(address, "admin", change, moved).await;
            app.catalog.work_off(Worker::BulkChanges).await.unwrap();
            browser.wait(&headline("29 products changed")).await;
            let left = text(&mut browser, "dialog[open] .notes").await;
            assert_eq!(left, "Ferrit Monitor 11");
            browser.click_text("dialog[open] .button", "Done").await;
            browser.assert_well();
            assert_eq!(read(address, "ferrit-monitor-10").await["brand"], "Renamed");
            assert_eq!(read(address, "karst-monitor-2").await["brand"], "Karst");
        })
        .await;
    });
}

#[test]
fn a_picture_is_uploaded_to_a_product_and_shown_in_the_storefront() {
    in_browser_with_pictures(async |browser, address| {
        browser.open("/console").await;
        act_as(browser, "admin").await;
        edit(browser, address, "karst-monitor-2").await;
        let field = "input[type=file]";
        choose_file(browser, field, "a.txt", b"no picture").await;
        browser
            .wait("document.body.textContent.includes('is no picture; send JPEG, PNG or WebP')")
            .await;
        browser.forgive("400");
        choose_file(browser, field, "front.jpg", PHOTO).await;
        drawn(browser, ".item .preview").await;
        save(browser).await;
        browser.wait(SAVED).await;
        browser.open("/p/karst-monitor-2").await;
        drawn(browser, ".gallery .stage img").await;
        let shown = "document.querySelector('.gallery .stage img').naturalHeight";
        assert_eq!(
            browser.eval(shown).await,
            64,
            "it is turned as it was taken"
        );
    });
}

const SPECS: &str =
    "query ($slug: String!) { product(slug: $slug) { specs { key qualifier text } } }";

async fn specs(address: &str, slug: &str) -> Value {
    let data = api(address, "admin", SPECS, json!({ "slug": slug })).await;
    data["product"]["specs"].clone()
}

/// A product of each kind that the shop has, with keys that have several values.
async fn with_several_values(address: &str) -> Vec<String> {
    let query = "{ products(first: 100) { nodes { id slug kind } } }";
    let data = api(address, "admin", query, json!({})).await;
    let products = data["products"]["nodes"].as_array().unwrap();
    let mut kinds = Vec::new();
    let mut slugs = Vec::new();
    for product in products {
        if kinds.contains(&&product["kind"]) {
            continue;
        }
        kinds.push(&product["kind"]);
        let sizes = [("EU", "40"), ("EU", "41"), ("UK", "7"), ("UK", "7.5")].map(
            |(system, size)| json!({ "key": "shown_size", "qualifier": system, "text": size }),
        );
        let lengths = [1.5, 250.0]
            .map(|length| json!({ "key": "shown_length", "number": length, "unit": "mm" }));
        let days =
            ["2026-01-31", "2026-02-28"].map(|day| json!({ "key": "shown_on", "date": day }));
        let specs: Vec<&Value> = sizes.iter().chain(&lengths).chain(&days).collect();
        let set = "mutation ($input: SetSpecsInput!) { setSpecs(input: $input) { userErrors { message } } }";
        let input = json!({ "input": { "productId": product["id"], "specs": specs } });
        let done = api(address, "admin", set, input).await;
        assert_eq!(done["setSpecs"]["userErrors"], json!([]));
        slugs.push(product["slug"].as_str().unwrap().to_owned());
    }
    slugs
}

#[test]
fn saving_a_product_of_any_kind_keeps_every_value_of_its_specs() {
    in_console("admin", &[], async |browser, address| {
        let slugs = with_several_values(address).await;
        assert!(slugs.len() > 2, "{slugs:?}");
        for slug in slugs {
            let before = specs(address, &slug).await;
            edit(browser, address, &slug).await;
            let lists = browser
                .eval("document.querySelectorAll('.chips.values').length")
                .await;
            assert_eq!(lists, 4, "{slug}");
            assert_eq!(
                browser.eval(SAVED).await,
                true,
                "{slug} is unchanged when it is opened"
            );
            fill(browser, "#product-name", "Another name").await;
            save(browser).await;
            browser.wait(SAVED).await;
            assert_eq!(read(address, &slug).await["name"], "Another name");
            assert_eq!(specs(address, &slug).await, before, "{slug}");
        }
    });
}

#[test]
fn values_of_a_key_are_added_and_removed_one_by_one() {
    in_console("admin", &[], async |browser, address| {
        let id = id_of(address, "karst-monitor-1").await;
        let set = "mutation ($input: SetSpecsInput!) { setSpecs(input: $input) { userErrors { message } } }";
        let ports = ["HDMI", "USB-C"].map(|text| json!({ "key": "sockets", "text": text }));
        let input = json!({ "input": { "productId": id, "specs": ports } });
        api(address, "admin", set, input).await;
        edit(browser, address, "karst-monitor-1").await;
        let row = "[...document.querySelectorAll('.spec-row')].find(one => one.querySelector('[id$=-key]').value === 'sockets')";
        let listed = format!(
            "[...{row}.querySelectorAll('.chips.values .iso')].map(one => one.textContent).join()"
        );
        browser.wait(&format!("{listed} === 'HDMI,USB-C'")).await;
        browser
            .eval(&format!(
                "{row}.querySelector('.chips.values button').click()"
            ))
            .await;
        browser.wait(&format!("{listed} === 'USB-C'")).await;
        for text in ["DisplayPort", "VGA"] {
            browser
                .eval(&format!("{row}.querySelector('[id$=-value]').focus()"))
                .await;
            browser.write(text).await;
            browser
                .eval(&format!("{row}.querySelector('.another').click()"))
                .await;
        }
        browser
            .wait(&format!("{listed} === 'USB-C,DisplayPort,VGA'"))
            .await;
        browser
            .eval(&format!("{row}.querySelector('[id$=-value]').focus()"))
            .await;
        browser.write("Audio").await;
        save(browser).await;
        browser.wait(SAVED).await;
        let stored = specs(address, "karst-monitor-1").await;
        let stored = stored.as_array().unwrap().iter();
        let stored = stored.filter(|spec| spec["key"] == "sockets");
        let stored: Vec<&str> = stored.map(|spec| spec["text"].as_str().unwrap()).collect();
        assert_eq!(stored, ["USB-C", "DisplayPort", "VGA", "Audio"]);
    });
}
