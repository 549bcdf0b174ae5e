//! The page that compares up to four products.

use serde_json::{Value, json};

use super::product::units;
use super::{Written, failed, text};
use crate::address::parameters;
use crate::asking::Asker;
use crate::document::Document;
use crate::format;
use crate::markup::Html;
use crate::site::Site;
use crate::tile::{product_path, rating};

/// The places of products in the operation.
const PLACES: [(&str, &str); 4] = [("a", "hasA"), ("b", "hasB"), ("c", "hasC"), ("d", "hasD")];

pub(crate) async fn compare(_: &Site, asker: &Asker, query: Option<&str>) -> Written {
    let parameters = parameters(query);
    let values = |name: &'static str| {
        let found = parameters.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let system = values("units").next();
    let mut variables = json!({ "units": units(system.or(Some("metric"))) });
    let slugs: Vec<&str> = values("p").take(PLACES.len()).collect();
    for (index, (place, has)) in PLACES.iter().enumerate() {
        variables[place] = json!(slugs.get(index).unwrap_or(&""));
        variables[has] = json!(slugs.get(index).is_some());
    }
    let asked = asker.ask("Compare", variables).await;
    if asked.data("categories").is_null() {
        return failed(vec![asked]);
    }
    let products = PLACES.map(|(place, _)| asked.data(place).clone());
    let products: Vec<&Value> = products
        .iter()
        .filter(|product| !product.is_null())
        .collect();
    let main = write(&products);
    Written::found(Document {
        title: "Compare products – Vitrine".to_owned(),
        description: "Up to four products side by side, in the same units.".to_owned(),
        canonical: "/compare".to_owned(),
        listed: false,
        structured: Vec::new(),
        search: String::new(),
        main,
        asked: vec![asked],
    })
}

fn write(products: &[&Value]) -> Html {
    let mut html = Html::new();
    html.raw("<div class=\"page compare\"><h1>Compare</h1>");
    if products.is_empty() {
        html.raw("<p>Choose products with “Compare” on their pages and in lists.</p>");
    }
    html.raw("<ul class=\"compared\">");
    for product in products {
        html.raw("<li><a class=\"iso\" href=\"")
            .text(&product_path(&product["slug"]))
            .raw("\">");
        html.text(text(&product["name"])).raw("</a> ");
        html.text(&format::money(&product["price"]));
        rating(&product["ratingStats"], &mut html);
        html.raw("</li>");
    }
    html.raw("</ul></div>");
    html
}
