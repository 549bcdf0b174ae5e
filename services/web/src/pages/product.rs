//! The page of a product.

mod details;
mod reviews;
mod specs;

use serde_json::{Value, json};

use super::{Written, failed, items, missing, text, trail};
use crate::address::parameters;
use crate::asking::Asker;
use crate::document::Document;
use crate::format;
use crate::markup::Html;
use crate::site::Site;
use crate::structured_data;
use crate::tile::{drawing, is_real, picture, price, product_path, rating};

pub(super) use specs::units;

/// The length of a description for search engines, in characters.
const MAX_DESCRIPTION_LENGTH: usize = 200;
/// Smaller numbers of views are not worth a word.
const MIN_VIEWS: i64 = 20;
/// Views of a product that has no picture, at most.
const MAX_DRAWINGS: usize = 4;

pub(crate) async fn product(
    site: &Site,
    asker: &Asker,
    slug: &str,
    query: Option<&str>,
) -> Written {
    let parameters = parameters(query);
    let system = parameters.iter().find(|(name, _)| name == "units");
    let system = system.map(|(_, value)| value.as_str());
    let variables = json!({ "slug": slug, "units": units(system) });
    let asked = asker.ask("Product", variables).await;
    let product = asked.data("product");
    if product.is_null() {
        return if asked.failed() {
            failed(vec![asked])
        } else {
            missing("There is no such product", vec![asked])
        };
    }
    let path = product_path(&product["slug"]);
    if product["slug"].as_str() != Some(slug) {
        return Written::Elsewhere(path);
    }
    let name = text(&product["name"]);
    let category = &product["category"];
    let above: Vec<Value> = items(&category["ancestors"])
        .chain([category])
        .cloned()
        .collect();
    let structured = vec![
        structured_data::product(site, product),
        structured_data::breadcrumbs(site, &above, (name, &path)),
    ];
    let (title, description) = (format!("{name} – Vitrine"), described(product));
    let main = write(product, &Value::from(above), system.unwrap_or_default());
    Written::found(Document {
        title,
        description,
        canonical: path,
        listed: true,
        structured,
        search: String::new(),
        main,
        asked: vec![asked],
    })
}

/// The description of the product, shortened; otherwise what it is.
fn described(product: &Value) -> String {
    match product["description"].as_str() {
        Some(text) if !text.is_empty() => text.chars().take(MAX_DESCRIPTION_LENGTH).collect(),
        _ => format!(
            "{} {}",
            text(&product["name"]),
            format::money(&product["price"])
        ),
    }
}

fn write(product: &Value, above: &Value, system: &str) -> Html {
    let mut html = Html::new();
    html.raw("<article class=\"page product\">");
    trail(above, &mut html);
    html.raw("<div class=\"intro\">");
    gallery(product, &mut html);
    summary(product, &mut html);
    html.raw("</div>");
    details::details(product, &mut html);
    specs::specs(product, system, &mut html);
    reviews::reviews(product, &mut html);
    html.raw("</article>");
    html
}

fn gallery(product: &Value, html: &mut Html) {
    html.raw("<div class=\"gallery\"><figure class=\"stage\"><img src=\"");
    html.text(&picture(product)).raw("\" alt=\"");
    html.text(text(&product["name"]));
    html.raw("\" width=\"640\" height=\"640\" fetchpriority=\"high\"></figure>");
    let images = items(&product["media"]).filter(|media| media["kind"] == "IMAGE");
    let urls: Vec<&str> = images.map(|image| text(&image["url"])).collect();
    let real: Vec<String> = urls
        .iter()
        .filter(|url| is_real(url))
        .map(ToString::to_string)
        .collect();
    let views = if real.is_empty() {
        (0..urls.len().min(MAX_DRAWINGS))
            .map(|view| drawing(product, view))
            .collect()
    } else {
        real
    };
    if views.len() > 1 {
        html.raw("<ul class=\"views\" aria-label=\"Pictures\">");
        for view in &views {
            html.raw("<li><button type=\"button\" disabled><img src=\"")
                .text(view);
            html.raw("\" alt=\"\" width=\"80\" height=\"80\"></button></li>");
        }
        html.raw("</ul>");
    }
    html.raw("</div>");
}

fn summary(product: &Value, html: &mut Html) {
    html.raw("<div class=\"summary\"><p class=\"brand iso\">");
    html.text(text(&product["brand"]))
        .raw("</p><h1 class=\"iso\">");
    html.text(text(&product["name"]))
        .raw("</h1><div class=\"verdict\">");
    let stats = &product["ratingStats"];
    rating(stats, html);
    let has_reviews = stats["count"].as_i64().unwrap_or_default() > 0;
    let link = if has_reviews {
        "Read reviews"
    } else {
        "Write the first review"
    };
    html.raw("<a href=\"#reviews\">")
        .text(link)
        .raw("</a></div>");
    price(&product["price"], html);
    standing(product, html);
    html.raw("<p class=\"buttons\"><span class=\"button quiet\" aria-hidden=\"true\">+ Compare</span></p>");
    if let Some(description) = product["description"]
        .as_str()
        .filter(|text| !text.is_empty())
    {
        html.raw("<p class=\"description iso\">")
            .text(description)
            .raw("</p>");
    }
    html.raw("<dl class=\"plain\">");
    let supplier = &product["supplier"];
    if let Some(name) = supplier["name"].as_str() {
        html.raw("<dt>Supplier</dt><dd class=\"iso\">").text(name);
        if let Some(country) = supplier["country"].as_str() {
            html.raw(" (").text(country).raw(")");
        }
        html.raw("</dd>");
    }
    html.raw("<dt>Article</dt><dd class=\"iso\">")
        .text(text(&product["sku"]))
        .raw("</dd></dl></div>");
}

/// Writes whether the product is not on sale, and how often it is sold and looked at.
fn standing(product: &Value, html: &mut Html) {
    html.raw("<ul class=\"standing\">");
    if product["status"] != "ACTIVE" {
        html.raw("<li>Not on sale</li>");
    }
    let number = |counter: &Value| {
        let value = counter["value"].as_i64().unwrap_or_default();
        let about = if counter["relation"] == "EXACT" {
            ""
        } else {
            "about "
        };
        (value, format!("{about}{}", format::count(value)))
    };
    let (sold, text) = number(&product["counters"]["unitsSoldInMonth"]);
    if sold > 0 {
        html.raw("<li>").text(&text).raw(" sold in 30 days</li>");
    }
    let (seen, text) = number(&product["counters"]["viewsInMonth"]);
    if seen >= MIN_VIEWS {
        html.raw("<li>seen ")
            .text(&text)
            .raw(" times in 30 days</li>");
    }
    html.raw("</ul>");
}
