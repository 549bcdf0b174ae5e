//! The specs of a product, in groups. `ui/store/specs.js` writes the same.

use serde_json::{Value, json};

use crate::markup::Html;
use crate::pages::{items, text};

/// The units of `?units=metric` and `?units=imperial`: one of each dimension that people measure
/// differently.
const METRIC: [&str; 7] = ["cm", "kg", "l", "m²", "°C", "km/h", "bar"];
const IMPERIAL: [&str; 7] = ["in", "lb", "fl oz", "ft²", "°F", "mph", "psi"];

const GROUPS: [&str; 6] = [
    "General",
    "Size and weight",
    "Power",
    "Performance",
    "Features",
    "Dates",
];

/// Returns the units of this system; null for those that the shop has entered.
pub(crate) fn units(system: Option<&str>) -> Value {
    let units = match system {
        Some("metric") => METRIC,
        Some("imperial") => IMPERIAL,
        _ => return Value::Null,
    };
    Value::from_iter(units.map(|unit| json!({ "unit": unit })))
}

pub(super) fn specs(product: &Value, system: &str, html: &mut Html) {
    html.raw(
        "<section class=\"specs\" aria-labelledby=\"specs\"><div class=\"heading\">\
         <h2 id=\"specs\">Specifications</h2>",
    );
    switch(product, system, html);
    html.raw("</div>");
    if items(&product["specs"]).next().is_none() {
        html.raw("<p>None are known.</p></section>");
        return;
    }
    html.raw("<div class=\"spec-groups\">");
    for name in GROUPS {
        let of_group = |spec: &&Value| group(spec) == name;
        let specs: Vec<&Value> = items(&product["specs"]).filter(of_group).collect();
        if !specs.is_empty() {
            html.raw("<div class=\"spec-group\"><h3>")
                .raw(name)
                .raw("</h3><table><tbody>");
            rows(&specs, html);
            html.raw("</tbody></table></div>");
        }
    }
    html.raw("</div></section>");
}

/// Writes the choice of units as links.
fn switch(product: &Value, system: &str, html: &mut Html) {
    let path = crate::tile::product_path(&product["slug"]);
    html.raw("<div class=\"switch\"><span class=\"legend\">Units</span>");
    for (value, label) in [
        ("", "As entered"),
        ("metric", "Metric"),
        ("imperial", "Imperial"),
    ] {
        html.raw("<label><a rel=\"nofollow\" href=\"").text(&path);
        if !value.is_empty() {
            html.raw("?units=").raw(value);
        }
        let chosen = value == system;
        html.raw(if chosen {
            "\" aria-current=\"true\"><span>"
        } else {
            "\"><span>"
        });
        html.raw(label).raw("</span></a></label>");
    }
    html.raw("</div>");
}

/// The group of a spec.
fn group(spec: &Value) -> &'static str {
    match text(&spec["value"]["__typename"]) {
        "QuantityValue" => match text(&spec["value"]["dimension"]) {
            "length" | "mass" | "volume" | "area" => "Size and weight",
            "power" | "energy" | "voltage" | "current" | "charge" => "Power",
            _ => "Performance",
        },
        "BooleanValue" => "Features",
        "DateValue" => "Dates",
        _ => "General",
    }
}

/// Writes a row for each key, with all its values.
fn rows(specs: &[&Value], html: &mut Html) {
    let mut written: Vec<&str> = Vec::new();
    for spec in specs {
        let key = text(&spec["key"]);
        if written.contains(&key) {
            continue;
        }
        written.push(key);
        html.raw("<tr><th scope=\"row\">")
            .text(text(&spec["label"]))
            .raw("</th><td>");
        let alike = specs.iter().filter(|other| other["key"] == spec["key"]);
        for (index, value) in alike.enumerate() {
            html.raw(if index > 0 { ", " } else { "" });
            if let Some(qualifier) = value["qualifier"].as_str() {
                html.raw("<span class=\"qualifier\">")
                    .text(qualifier)
                    .raw(" </span>");
            }
            html.raw("<span class=\"iso\">")
                .text(text(&value["text"]))
                .raw("</span>");
        }
        html.raw("</td></tr>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_key_stand_together_in_the_group_of_their_type() {
        let spec = |key: &str, value: Value, text: &str| json!({ "key": key, "label": key, "text": text, "value": value, "qualifier": null });
        let plain = || json!({ "__typename": "TextValue" });
        let product = json!({ "slug": "a", "specs": [
            spec("color", plain(), "Red"),
            spec("weight", json!({ "__typename": "QuantityValue", "dimension": "mass" }), "2 lb"),
            spec("color", plain(), "<b>"),
        ] });
        let mut html = Html::new();
        specs(&product, "metric", &mut html);
        let html = html.finish();
        let row = "<h3>General</h3><table><tbody><tr><th scope=\"row\">color</th><td>\
                   <span class=\"iso\">Red</span>, <span class=\"iso\">&lt;b&gt;</span></td></tr></tbody>";
        assert!(html.contains(row), "{html}");
        assert!(html.contains("<h3>Size and weight</h3>"), "{html}");
        assert!(html.contains("?units=metric\" aria-current"), "{html}");
    }

    #[test]
    fn a_system_has_one_unit_of_each_dimension() {
        assert_eq!(
            units(Some("metric")).as_array().unwrap().len(),
            METRIC.len()
        );
        assert_eq!(units(Some("imperial"))[0], json!({ "unit": "in" }));
        assert_eq!(units(Some("other")), Value::Null);
    }
}
