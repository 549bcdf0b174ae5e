//! The storefront and the console: pages without scripts, in a browser, and the rules for their files.

mod accessibility;
mod authentication;
mod browsing;
mod console;
mod files;
mod pages;
mod preferences;
mod reviewing;

use serde_json::{Value, json};
use vitrine_harness::browser::{self, Browser};
use vitrine_harness::drafts::{ProductBuilder, ReviewBuilder};
use vitrine_harness::process::run;
use vitrine_harness::{App, product, review, test};

use crate::operators::with_service;

/// A text that would end an element, close an attribute, and turn what follows around.
const HOSTILE: &str = "</script><img src=x onerror=\"alert('1')\">\u{202e}";
/// Where browsers find the pictures of a service.
const PICTURES: [&str; 2] = ["--pictures-address", "http://pictures.test/pictures"];
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Monitors in two brands, with sizes in two units; a film; a product with hostile texts.
fn shop() -> Vec<ProductBuilder> {
    let monitor = |number: u32, brand: &str, panel: &str, size: f64, unit: &str| {
        let name = format!("{brand} Monitor {number}");
        product(&name)
            .kind("electronics")
            .category(["Computers", "Monitors"])
            .brand(brand)
            .price(&format!("{}.00", 100 + number * 10))
            .description("A display for long days.")
            .supplier("Saigon River Goods", "VN")
            .text("panel_type", panel)
            .text("color", "Black")
            .boolean("curved", number.is_multiple_of(2))
            .quantity("screen_size", size, unit)
    };
    let mut shop = vec![
        monitor(1, "Karst", "IPS", 27.0, "in")
            .image("https://media.example.com/1.jpg", "From the front"),
        monitor(2, "Karst", "VA", 68.6, "cm"),
        monitor(3, "Silo", "IPS", 24.0, "in"),
        product("Night Train")
            .kind("movie")
            .category(["Film"])
            .price("9.99"),
        product("Hostile")
            .category(["Things"])
            .brand(HOSTILE)
            .description(HOSTILE)
            .text("note", HOSTILE),
    ];
    for number in 10..40 {
        shop.push(monitor(number, "Ferrit", "IPS", 32.0, "in"));
    }
    shop
}

fn opinions() -> Vec<ReviewBuilder> {
    (0..14)
        .map(|number| {
            review("Karst Monitor 1", number, 1 + number % 5)
                .author(&format!("reader{number}"))
                .title(&format!("Opinion {number}"))
                .body("The stand moves in all directions.")
                .helpful(number)
        })
        .collect()
}

/// Runs the service with the storefront on the shop of these tests.
async fn with_shop(app: &App, body: impl AsyncFnOnce(&str)) {
    app.has(shop()).await;
    app.has_reviews(opinions()).await;
    app.run_background_work().await;
    let options = ["--storefront", "--graphiql", "--cost-per-second", "0"];
    with_service(app, &options, async |address, _| body(address).await).await;
}

/// Runs a test in a browser on the shop of these tests. Nothing may go wrong in it.
fn in_browser(body: impl AsyncFnOnce(&mut Browser, &str)) {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        with_shop(app, async |address| {
            let mut browser = Browser::start(&program, address).await;
            body(&mut browser, address).await;
            browser.assert_well();
        })
        .await;
    });
}

/// Runs a test in a browser on the shop of these tests, which takes pictures.
fn in_browser_with_pictures(body: impl AsyncFnOnce(&mut Browser, &str)) {
    let Some(program) = browser::program() else {
        return;
    };
    test(async |app| {
        app.has(shop()).await;
        let folder = tempfile::tempdir().unwrap();
        let pictures = folder.path().display().to_string();
        let options = ["--storefront", "--console", "--cost-per-second", "0"];
        let options = [&options[..], &["--pictures", &pictures], &PICTURES].concat();
        with_service(app, &options, async |address, _| {
            let mut browser = Browser::start(&program, address).await;
            browser.allow("http://pictures.test");
            body(&mut browser, address).await;
            browser.assert_well();
        })
        .await;
    });
}

/// A token of a shopper.
fn shopper(subject: &str) -> String {
    let issued = run(&[
        "token",
        "--token-secret",
        SECRET,
        "--subject",
        subject,
        "--role",
        "shopper",
    ]);
    assert!(issued.status.success());
    String::from_utf8(issued.stdout).unwrap().trim().to_owned()
}

/// Signs in with the dialog of the page.
async fn sign_in(browser: &mut Browser, token: &str) {
    browser.click(".account > button").await;
    browser.click("#token").await;
    browser.write(token).await;
    browser.press("Enter").await;
    browser
        .wait("document.querySelector('.account > button').textContent === 'Signed in'")
        .await;
}

/// The text of the first element that fits.
async fn text(browser: &mut Browser, selector: &str) -> String {
    let look = format!("document.querySelector({})?.textContent", json!(selector));
    browser.wait(&look).await.as_str().unwrap().to_owned()
}

/// How many elements fit.
async fn count(browser: &mut Browser, selector: &str) -> Value {
    browser
        .eval(&format!(
            "document.querySelectorAll({}).length",
            json!(selector)
        ))
        .await
}
