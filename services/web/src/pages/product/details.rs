//! What only products of one kind have. `ui/store/product.js` writes the same.

use serde_json::Value;

use crate::format;
use crate::markup::Html;
use crate::pages::{items, text};
use crate::tile::product_path;

pub(super) fn details(product: &Value, html: &mut Html) {
    let facts = facts(product);
    let has = |field: &str| items(&product[field]).next().is_some();
    let has_tables = has("sizeChart") || has("nutrition") || has("items");
    if facts.is_empty() && !has_tables {
        return;
    }
    html.raw(
        "<section class=\"details\" aria-labelledby=\"about\">\
         <h2 id=\"about\">About this product</h2>",
    );
    if has("items") {
        bundle(&product["items"], html);
    }
    if !facts.is_empty() {
        html.raw("<dl class=\"plain\">");
        for (name, value) in &facts {
            html.raw("<dt>")
                .raw(name)
                .raw("</dt><dd class=\"iso\">")
                .text(value)
                .raw("</dd>");
        }
        html.raw("</dl>");
    }
    if has("sizeChart") {
        size_chart(&product["sizeChart"], html);
    }
    if has("nutrition") {
        nutrition(&product["nutrition"], html);
    }
    html.raw("</section>");
}

fn facts(product: &Value) -> Vec<(&'static str, String)> {
    let plain = |field: &str| product[field].as_str().map(ToOwned::to_owned);
    let number = |field: &str| product[field].as_i64();
    let joined = |field: &str| {
        let parts: Vec<&str> = items(&product[field]).map(text).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let people = |field: &str| {
        let person = |one: &Value| format!("{} ({})", text(&one["name"]), text(&one["role"]));
        let people: Vec<String> = items(&product[field]).map(person).collect();
        (!people.is_empty()).then(|| people.join(", "))
    };
    let no_allergens = product["allergens"]
        .is_array()
        .then(|| "none stated".to_owned());
    let facts = [
        ("Fit", plain("fit")),
        ("By", people("contributors")),
        ("Format", plain("format")),
        ("Pages", number("pages").map(format::count)),
        ("ISBN", plain("isbn")),
        ("With", people("cast")),
        (
            "Running time",
            number("runtimeMinutes").map(|time| format!("{time} min")),
        ),
        ("Energy label", plain("energyLabel")),
        ("Warranty", number("warrantyMonths").map(months)),
        ("Works with", joined("compatibility")),
        ("Ingredients", plain("ingredients")),
        ("Allergens", joined("allergens").or(no_allergens)),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}

fn months(number: i64) -> String {
    let unit = if number == 1 { "month" } else { "months" };
    format!("{} {unit}", format::count(number))
}

fn bundle(of: &Value, html: &mut Html) {
    html.raw("<ul class=\"items\">");
    for item in items(of) {
        html.raw("<li>")
            .text(&item["quantity"].to_string())
            .raw(" × ");
        let slug = &item["product"]["slug"];
        if slug.is_string() {
            html.raw("<a class=\"iso\" href=\"")
                .text(&product_path(slug))
                .raw("\">");
            html.text(text(&item["name"])).raw("</a>");
        } else {
            html.raw("<span class=\"iso\">")
                .text(text(&item["name"]))
                .raw("</span>");
        }
        let price = format::money(&item["price"]);
        if !price.is_empty() {
            html.raw("<span class=\"price\"> ")
                .text(&price)
                .raw("</span>");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
}

/// Writes a row for each size, and a column for each measurement that a size has.
fn size_chart(rows: &Value, html: &mut Html) {
    let mut names: Vec<&str> = Vec::new();
    for measurement in items(rows).flat_map(|row| items(&row["measurements"])) {
        let name = text(&measurement["name"]);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    html.raw("<div class=\"wide\"><table class=\"grid\"><caption>Size chart</caption><thead><tr>");
    html.raw("<th scope=\"col\">Size</th>");
    for name in &names {
        html.raw("<th scope=\"col\">").text(name).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
    for row in items(rows) {
        html.raw("<tr><th scope=\"row\">")
            .text(text(&row["size"]))
            .raw("</th>");
        for name in &names {
            let found = items(&row["measurements"]).find(|one| one["name"] == **name);
            let cell = found.map_or("–".to_owned(), measure);
            html.raw("<td>").text(&cell).raw("</td>");
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
}

fn nutrition(rows: &Value, html: &mut Html) {
    html.raw("<table class=\"grid\"><caption>Nutrition, per 100 g or 100 ml</caption><tbody>");
    for row in items(rows) {
        html.raw("<tr><th scope=\"row\">")
            .text(text(&row["name"]))
            .raw("</th><td>");
        html.text(&measure(row)).raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

/// A number with its unit, written as scripts write it.
fn measure(one: &Value) -> String {
    let value = one["value"].as_f64().unwrap_or_default();
    format!("{value} {}", text(&one["unit"]))
}
