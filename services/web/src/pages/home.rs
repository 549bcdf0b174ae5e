//! The start page: departments, what is popular, what is new.

use serde_json::{Value, json};

use super::{Written, failed, items, text};
use crate::asking::Asker;
use crate::document::Document;
use crate::format;
use crate::markup::Html;
use crate::site::Site;
use crate::tile::{category_path, drawing, tile};

/// The view of a drawing that leaves room around the thing.
const WHOLE: usize = 4;

pub(crate) async fn home(_: &Site, asker: &Asker) -> Written {
    let asked = asker.ask("Home", json!({})).await;
    if asked.data("categories").is_null() {
        return failed(vec![asked]);
    }
    let mut main = Html::new();
    main.raw(
        "<div class=\"page home\"><h1>Find it, compare it, read what others say</h1>\
         <section aria-labelledby=\"departments\"><h2 id=\"departments\">Departments</h2>\
         <ul class=\"doors\">",
    );
    for category in items(asked.data("categories")) {
        door(category, &mut main);
    }
    main.raw("</ul></section>");
    let trending: Vec<&Value> = items(asked.data("trending"))
        .map(|row| &row["product"])
        .collect();
    shelf("trending", "Trending this week", &trending, &mut main);
    let best: Vec<&Value> = items(&asked.data("bestSelling")["nodes"]).collect();
    shelf("best", "Best sellers", &best, &mut main);
    let newest: Vec<&Value> = items(&asked.data("newest")["nodes"]).collect();
    shelf("newest", "New in the shop", &newest, &mut main);
    main.raw("</div>");
    Written::found(Document {
        title: "Vitrine – a shop where every product can be compared".to_owned(),
        description:
            "Products of every kind with comparable specs, and reviews by people who own them."
                .to_owned(),
        canonical: "/".to_owned(),
        listed: true,
        structured: Vec::new(),
        search: String::new(),
        main,
        asked: vec![asked],
    })
}

/// Writes the way into a department.
fn door(category: &Value, html: &mut Html) {
    html.raw("<li><a class=\"door\" href=\"");
    html.text(&category_path(&category["slug"]))
        .raw("\"><img src=\"");
    let picture = json!({ "kind": "department", "category": category, "slug": category["slug"] });
    html.text(&drawing(&picture, WHOLE));
    html.raw("\" alt=\"\" width=\"320\" height=\"320\"><span class=\"name\">");
    html.text(text(&category["name"]))
        .raw("</span><span class=\"count\">");
    if let Some(count) = category["productCount"].as_i64() {
        html.text(&format::plural(count, "product"));
    }
    html.raw("</span></a></li>");
}

fn shelf(id: &'static str, title: &'static str, products: &[&Value], html: &mut Html) {
    if products.is_empty() {
        return;
    }
    html.raw("<section aria-labelledby=\"")
        .raw(id)
        .raw("\"><h2 id=\"")
        .raw(id)
        .raw("\">");
    html.raw(title).raw("</h2><ul class=\"tiles\">");
    for (index, product) in products.iter().enumerate() {
        tile(product, &[], index, html);
    }
    html.raw("</ul></section>");
}
