//! A product in a list: picture, name, price, rating, and the specs by which people choose.

use serde_json::Value;

use crate::address::encoded;
use crate::format;
use crate::markup::Html;

/// How many specs a tile shows.
const SPECS: usize = 3;
/// How many tiles at the start of a page have pictures that are loaded at once.
pub(crate) const EAGER: usize = 8;

/// The path of a product's page.
pub(crate) fn product_path(slug: &Value) -> String {
    format!("/p/{}", encoded(slug.as_str().unwrap_or_default()))
}

/// The path of a category's page.
pub(crate) fn category_path(slug: &Value) -> String {
    format!("/c/{}", encoded(slug.as_str().unwrap_or_default()))
}

/// The address of a product's first picture: that of the shop, or a drawing. Hosts that are reserved
/// for examples have no pictures.
pub(crate) fn picture(product: &Value) -> String {
    let media = product["media"].as_array().into_iter().flatten();
    let mut images = media.filter(|media| media["kind"] == "IMAGE");
    let first = images.find_map(|image| image["url"].as_str());
    match first {
        Some(url) if is_real(url) => url.to_owned(),
        _ => drawing(product, 0),
    }
}

/// Whether an address has the form of those of uploaded pictures.
fn is_uploaded(url: &str) -> bool {
    let name = url.rsplit('/').next().unwrap_or_default();
    let (digits, extension) = name.split_once('.').unwrap_or_default();
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits.len() == 14
        && digits.bytes().all(is_digit)
        && ["jpg", "png", "webp"].contains(&extension)
}

/// Whether an address shows an uploaded picture, or its host is not reserved for examples (RFC 2606).
pub(crate) fn is_real(url: &str) -> bool {
    if is_uploaded(url) {
        return true;
    }
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    let reserved = ["example.com", "example.org", "example.net", "example"];
    !reserved.iter().any(|reserved| {
        name == *reserved
            || name
                .strip_suffix(reserved)
                .is_some_and(|name| name.ends_with('.'))
    })
}

/// The address of a drawing of a product. Views from 1 on show details.
pub(crate) fn drawing(product: &Value, view: usize) -> String {
    let text = |value: &Value| encoded(value.as_str().unwrap_or_default());
    let (kind, category) = (text(&product["kind"]), text(&product["category"]["slug"]));
    let (color, seed) = (text(&product["color"]["text"]), text(&product["slug"]));
    format!("/pictures/{kind}/{category}.svg?color={color}&seed={seed}&view={view}")
}

/// Writes stars, the average and the number of ratings; in words where there are none.
pub(crate) fn rating(stats: &Value, html: &mut Html) {
    let count = stats["count"].as_i64().unwrap_or_default();
    let Some(average) = stats["average"].as_f64().filter(|_| count > 0) else {
        html.raw("<p class=\"rating none\">No ratings yet</p>");
        return;
    };
    html.raw("<p class=\"rating\">");
    stars(average, html);
    html.raw(" <b>")
        .text(&format::average(average))
        .raw("</b> <span>(");
    html.text(&format::count(count)).raw(")</span></p>");
}

/// Writes five stars, some of them filled.
pub(crate) fn stars(average: f64, html: &mut Html) {
    html.raw("<span class=\"stars s");
    html.text(&format::half_stars(average).to_string());
    html.raw("\" role=\"img\" aria-label=\"");
    html.text(&format::average(average))
        .raw(" of 5 stars\"></span>");
}

/// Writes a price.
pub(crate) fn price(price: &Value, html: &mut Html) {
    let text = format::money(price);
    if text.is_empty() {
        html.raw("<p class=\"price none\">Price on request</p>");
    } else {
        html.raw("<p class=\"price\">").text(&text).raw("</p>");
    }
}

/// Writes a product of a list. `keys` are the specs that matter most in this list.
pub(crate) fn tile(product: &Value, keys: &[&str], index: usize, html: &mut Html) {
    html.raw("<li class=\"tile\"><a class=\"cover\" href=\"");
    html.text(&product_path(&product["slug"]))
        .raw("\"><img src=\"");
    html.text(&picture(product));
    html.raw("\" alt=\"\" width=\"320\" height=\"320\"");
    html.raw(if index < EAGER {
        ""
    } else {
        " loading=\"lazy\""
    });
    html.raw("><span class=\"brand iso\">");
    html.text(product["brand"].as_str().unwrap_or_default());
    html.raw("</span> <span class=\"name iso\">");
    html.text(product["name"].as_str().unwrap_or_default());
    html.raw("</span></a>");
    rating(&product["ratingStats"], html);
    price(&product["price"], html);
    if product["specs"].is_array() {
        html.raw("<ul class=\"facts\">");
        for spec in chosen_specs(product, keys) {
            html.raw("<li><span>")
                .text(spec["label"].as_str().unwrap_or_default());
            html.raw("</span> ")
                .text(spec["text"].as_str().unwrap_or_default());
            html.raw("</li>");
        }
        html.raw("</ul>");
    }
    // The place of the button that the scripts put here.
    html.raw("<span class=\"pick\" aria-hidden=\"true\">+ Compare</span></li>");
}

/// The specs of a tile: those by which the list can be filtered, in the order of the panel.
fn chosen_specs<'a>(product: &'a Value, keys: &[&str]) -> Vec<&'a Value> {
    let specs: Vec<&Value> = product["specs"].as_array().into_iter().flatten().collect();
    let of_panel = keys.iter().filter_map(|key| {
        specs
            .iter()
            .find(|spec| spec["key"].as_str() == Some(key))
            .copied()
    });
    let mut chosen: Vec<&Value> = Vec::new();
    for spec in of_panel {
        if chosen.len() < SPECS && !chosen.iter().any(|known| known["key"] == spec["key"]) {
            chosen.push(spec);
        }
    }
    let others = specs
        .iter()
        .filter(|spec| spec["key"] != "gtin" && spec["key"] != "color");
    for spec in others.copied() {
        if chosen.len() >= SPECS {
            break;
        }
        if !chosen.iter().any(|known| known["key"] == spec["key"]) {
            chosen.push(spec);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_for_examples_have_no_pictures() {
        for url in [
            "https://media.example.com/a.jpg",
            "https://shop.example",
            "http://a.test/x",
            "http://a.test/0123456789abcd.svg",
            "http://a.test/0123456789ABCD.jpg",
        ] {
            assert!(!is_real(url), "{url}");
        }
        for url in [
            "https://cdn.shop.test/a.jpg",
            "https://notexample.com/a",
            "https://a.co:444/",
            "http://127.0.0.1:8080/pictures/0123456789abcd.jpg",
        ] {
            assert!(is_real(url), "{url}");
        }
    }

    #[test]
    fn a_tile_shows_the_specs_of_the_panel_first_and_each_once() {
        let spec = |key: &str| json!({ "key": key, "label": key, "text": "x" });
        let product =
            json!({ "specs": [spec("gtin"), spec("a"), spec("b"), spec("c"), spec("d")] });
        let keys = |panel: &[&str]| -> Vec<String> {
            let chosen = chosen_specs(&product, panel);
            chosen
                .iter()
                .map(|spec| spec["key"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(keys(&["@brand", "d", "z", "b"]), ["d", "b", "a"]);
        assert_eq!(keys(&[]), ["a", "b", "c"]);
    }
}
