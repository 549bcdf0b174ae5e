//! The page of a category, and that of a search.

use futures_util::future::join;
use serde_json::{Value, json};

use super::{Written, failed, items, missing, text, trail};
use crate::address::{ListAddress, is_repeated};
use crate::asking::{Asked, Asker};
use crate::document::Document;
use crate::format;
use crate::markup::Html;
use crate::site::Site;
use crate::structured_data::breadcrumbs;
use crate::tile::{category_path, tile};

/// Facets that the panel of a category's page does not show: its subcategories are links.
const OF_CATEGORIES: &str = "@category";
/// How many facets are open at first.
const OPEN: usize = 6;

pub(crate) async fn list(
    site: &Site,
    asker: &Asker,
    slug: Option<String>,
    query: Option<&str>,
) -> Written {
    let address = ListAddress::new(slug, query);
    // Together: the panel of a narrowed list takes longer than its rows.
    let listed = asker.ask("List", address.list_variables());
    let counted = asker.ask("Facets", address.facet_variables());
    let (listed, counted) = join(listed, counted).await;
    let is_missing = address.category().is_some() && listed.data("category").is_null();
    if is_missing && !listed.data("products").is_null() {
        return missing("There is no such category", vec![listed]);
    }
    if listed.data("products").is_null() {
        return failed(vec![listed]);
    }
    let main = write(&address, &listed, &counted);
    let category = listed.data("category");
    let (name, description) = match address.search() {
        Some(search) if category.is_null() => (
            format!("“{search}”"),
            format!("Products that match “{search}”."),
        ),
        _ if category.is_null() => (
            "All products".to_owned(),
            "All products of the shop.".to_owned(),
        ),
        _ => (text(&category["name"]).to_owned(), described(&listed)),
    };
    let mut structured = Vec::new();
    if !category.is_null() {
        let above: Vec<Value> = items(&category["ancestors"]).cloned().collect();
        structured.push(breadcrumbs(site, &above, (&name, &address.path())));
    }
    Written::found(Document {
        title: format!("{name} – Vitrine"),
        description,
        canonical: address.path(),
        listed: !address.is_narrowed() && address.category().is_some(),
        structured,
        search: address.search().unwrap_or_default().to_owned(),
        main,
        asked: vec![listed, counted],
    })
}

/// What a category has, in a sentence.
fn described(listed: &Asked) -> String {
    let total = format::total(&listed.data("products")["totalCount"], "product");
    let name = text(&listed.data("category")["name"]).to_owned();
    format!("{name}: {total}, with specs to compare and reviews.")
}

fn write(address: &ListAddress, listed: &Asked, counted: &Asked) -> Html {
    let category = listed.data("category");
    let products = listed.data("products");
    let mut html = Html::new();
    html.raw("<div class=\"page list\">");
    if category.is_null() {
        html.raw("<nav class=\"trail\" aria-label=\"Breadcrumb\"><ol><li><a href=\"/\">Home</a></li></ol></nav>");
    } else {
        trail(&category["ancestors"], &mut html);
    }
    html.raw("<div class=\"heading\"><h1 class=\"iso\">");
    match (address.search(), category["name"].as_str()) {
        (Some(search), None) => drop(html.raw("Results for “").text(search).raw("”")),
        (_, Some(name)) => drop(html.text(name)),
        (None, None) => drop(html.raw("All products")),
    }
    html.raw("</h1><p class=\"total\" role=\"status\">");
    html.text(&format::total(&products["totalCount"], "product"))
        .raw("</p></div>");
    children(&category["children"], &mut html);
    html.raw("<div class=\"columns\"><aside class=\"panel\" aria-label=\"Filters\">");
    let facets = &counted.data("products")["facets"];
    html.raw("<div class=\"facets\">");
    let shown =
        items(facets).filter(|facet| address.category().is_none() || facet["key"] != OF_CATEGORIES);
    for (index, facet) in shown.enumerate() {
        self::facet(address, facet, index < OPEN, &mut html);
    }
    html.raw("</div>");
    html.raw("</aside><section class=\"results\" aria-label=\"Products\">");
    // The place of the controls that the scripts put here.
    html.raw("<div class=\"tools\"></div>");
    let of_panel = items(facets).map(|facet| text(&facet["key"]));
    let keys: Vec<&str> = address.chosen_keys().into_iter().chain(of_panel).collect();
    html.raw("<ul class=\"tiles\">");
    for (index, product) in items(&products["nodes"]).enumerate() {
        tile(product, &keys, index, &mut html);
    }
    html.raw("</ul>");
    let end = products["pageInfo"]["endCursor"].as_str();
    if let (Some(true), Some(end)) = (products["pageInfo"]["hasNextPage"].as_bool(), end) {
        html.raw("<p class=\"more\"><a class=\"button\" rel=\"next\" href=\"");
        html.text(&address.with("after", Some(end)))
            .raw("\">Show more</a></p>");
    }
    html.raw("</section></div></div>");
    html
}

fn children(children: &Value, html: &mut Html) {
    if items(children).next().is_none() {
        return;
    }
    html.raw("<ul class=\"below\">");
    for child in items(children) {
        html.raw("<li><a href=\"")
            .text(&category_path(&child["slug"]))
            .raw("\">");
        html.text(text(&child["name"]));
        if let Some(count) = child["productCount"].as_i64() {
            html.raw(" <span>")
                .text(&format::count(count))
                .raw("</span>");
        }
        html.raw("</a></li>");
    }
    html.raw("</ul>");
}

/// Writes a facet with links. The scripts put check boxes in their place.
fn facet(address: &ListAddress, facet: &Value, open: bool, html: &mut Html) {
    let chosen = items(&facet["values"]).any(|value| value["selected"] == json!(true));
    html.raw("<details class=\"facet\"");
    html.raw(if open || chosen {
        " open><summary>"
    } else {
        "><summary>"
    });
    html.raw("<h2 class=\"facet-name\">")
        .text(text(&facet["label"]));
    html.raw("</h2></summary><ul class=\"values\">");
    let is_range = ["NUMBER", "QUANTITY", "PRICE", "DATE"].contains(&text(&facet["kind"]));
    for value in items(&facet["values"]) {
        if is_range && value["count"] == 0 && value["selected"] == json!(false) {
            continue;
        }
        html.raw("<li>");
        match parameter(facet, value) {
            Some((name, parameter)) => {
                let chosen = value["selected"] == json!(true);
                html.raw("<a rel=\"nofollow\" href=\"");
                html.text(&changed(address, (&name, &parameter), chosen))
                    .raw("\"");
                html.raw(if chosen {
                    " aria-current=\"true\">"
                } else {
                    ">"
                });
                html.text(text(&value["label"])).raw("</a>");
            }
            None => drop(html.text(text(&value["label"]))),
        }
        html.raw(" <span class=\"count\">");
        html.text(&format::count(value["count"].as_i64().unwrap_or_default()));
        html.raw("</span></li>");
    }
    html.raw("</ul></details>");
}

/// The address after a click on a value. The service knows best whether a range is chosen: there are
/// several ways to write one.
fn changed(address: &ListAddress, (name, parameter): (&str, &str), chosen: bool) -> String {
    if chosen && !is_repeated(name) {
        return address.with(name, None);
    }
    address.toggled(name, parameter)
}

/// The parameter of an address that stands for a value of a facet.
fn parameter(facet: &Value, value: &Value) -> Option<(String, String)> {
    let (key, filter) = (text(&facet["key"]), &value["filter"]);
    let first = |list: &Value| Some(list[0].as_str()?.to_owned());
    match key {
        "@category" => Some(("category".to_owned(), first(&filter["category"])?)),
        "@brand" => Some(("brand".to_owned(), first(&filter["brand"])?)),
        "@country" => Some(("country".to_owned(), first(&filter["country"])?)),
        "@price" => {
            let (low, high) = (text(&filter["price"]["gte"]), text(&filter["price"]["lte"]));
            Some(("price".to_owned(), format!("{low}..{high}")))
        }
        "@rating" => Some(("rating".to_owned(), filter["rating"]["gte"].to_string())),
        _ => spec_parameter(&filter["specs"][0]),
    }
}

fn spec_parameter(spec: &Value) -> Option<(String, String)> {
    let key = spec["key"].as_str()?;
    let name = match spec["qualifier"].as_str() {
        Some(qualifier) => format!("{key}@{qualifier}"),
        None => key.to_owned(),
    };
    if let Some(text) = spec["text"]["eq"].as_str() {
        return Some((format!("t.{name}"), text.to_owned()));
    }
    if let Some(yes) = spec["boolean"].as_bool() {
        let text = if yes { "yes" } else { "no" };
        return Some((format!("b.{name}"), text.to_owned()));
    }
    let number = &spec["number"];
    if number.is_object() {
        let unit = number["unit"].as_str().map(|unit| format!("~{unit}"));
        let range = match number["eq"].as_f64() {
            Some(exact) => format!("={exact}"),
            None => range(number),
        };
        return Some((format!("n.{name}"), range + &unit.unwrap_or_default()));
    }
    let date = &spec["date"];
    date.is_object().then(|| (format!("d.{name}"), range(date)))
}

/// Writes a range: `65..70`, `65..<70`.
fn range(test: &Value) -> String {
    let end = |value: &Value| match value {
        Value::Number(number) => Some(number.as_f64()?.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let low = end(&test["gte"]).unwrap_or_default();
    match end(&test["lt"]) {
        Some(high) => format!("{low}..<{high}"),
        None => format!("{low}..{}", end(&test["lte"]).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_of_a_value_stands_for_its_filter() {
        let number = json!({ "gte": 65.0, "lt": 70.5, "lte": null, "eq": null, "unit": "cm" });
        let spec = json!({ "key": "size", "qualifier": null, "number": number });
        let value = json!({ "filter": { "specs": [spec] } });
        let found = parameter(&json!({ "key": "size" }), &value).unwrap();
        assert_eq!(found, ("n.size".to_owned(), "65..<70.5~cm".to_owned()));
        let query = format!("{}={}", found.0, crate::address::encoded(&found.1));
        let read = ListAddress::new(None, Some(&query)).list_variables();
        let expected =
            json!([{ "key": "size", "number": { "gte": 65.0, "lt": 70.5, "unit": "cm" } }]);
        assert_eq!(read["filter"]["specs"], expected);
    }

    #[test]
    fn a_chosen_range_is_removed_however_it_is_written() {
        let address = ListAddress::new(None, Some("n.size=65.0..70&brand=A"));
        let range = ("n.size", "65..70");
        assert_eq!(changed(&address, range, true), "/search?brand=A");
        assert_eq!(
            changed(&address, range, false),
            "/search?brand=A&n.size=65..70"
        );
    }

    #[test]
    fn every_kind_of_value_has_a_parameter() {
        let of = |key: &str, filter: Value| {
            parameter(&json!({ "key": key }), &json!({ "filter": filter })).unwrap()
        };
        let owned = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of("@brand", json!({ "brand": ["A"] })), owned("brand", "A"));
        let price = json!({ "price": { "gte": "10", "lte": null } });
        assert_eq!(of("@price", price), owned("price", "10.."));
        assert_eq!(
            of("@rating", json!({ "rating": { "gte": 4 } })),
            owned("rating", "4")
        );
        let yes = json!({ "specs": [{ "key": "hdr", "boolean": true }] });
        assert_eq!(of("hdr", yes), owned("b.hdr", "yes"));
        let text =
            json!({ "specs": [{ "key": "size", "qualifier": "EU", "text": { "eq": "M" } }] });
        assert_eq!(of("size", text), owned("t.size@EU", "M"));
        let date = json!({ "specs": [{ "key": "d", "date": { "gte": "2026", "lt": "2027" } }] });
        assert_eq!(of("d", date), owned("d.d", "2026..<2027"));
    }
}
