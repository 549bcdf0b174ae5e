//! JSON-LD: what a product page shows, in the words of schema.org. It says nothing that the page does
//! not show, such as stock, which the catalogue does not know.

use serde_json::{Map, Value, json};

use crate::document::absolute;
use crate::site::Site;
use crate::tile::{category_path, is_real, product_path};

/// How many reviews are described.
const REVIEWS: usize = 5;

/// Describes a product.
pub(crate) fn product(site: &Site, product: &Value) -> Value {
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            data.insert(name.to_owned(), value);
        }
    };
    put("@context", json!("https://schema.org"));
    put("@type", json!("Product"));
    put(
        "@id",
        json!(absolute(site, &product_path(&product["slug"]))),
    );
    put("name", product["name"].clone());
    put("sku", product["sku"].clone());
    put("description", product["description"].clone());
    if let Some(brand) = product["brand"].as_str() {
        put("brand", json!({ "@type": "Brand", "name": brand }));
    }
    put("gtin", product["gtin"]["text"].clone());
    put("isbn", product["isbn"].clone());
    let media = product["media"].as_array().into_iter().flatten();
    let images: Vec<&str> = media
        .filter(|media| media["kind"] == "IMAGE")
        .filter_map(|media| media["url"].as_str().filter(|url| is_real(url)))
        .collect();
    if !images.is_empty() {
        put("image", json!(images));
    }
    put("offers", offer(site, product));
    put("aggregateRating", rating(&product["ratingStats"]));
    let nodes = product["reviews"]["nodes"].as_array().into_iter().flatten();
    let reviews: Vec<Value> = nodes.filter_map(review).take(REVIEWS).collect();
    if !reviews.is_empty() {
        put("review", Value::from(reviews));
    }
    Value::from(data)
}

fn offer(site: &Site, product: &Value) -> Value {
    let price = &product["price"];
    let Some(amount) = price["amount"].as_str() else {
        return Value::Null;
    };
    json!({
        "@type": "Offer",
        "price": amount,
        "priceCurrency": price["currency"],
        "url": absolute(site, &product_path(&product["slug"])),
    })
}

/// Without ratings there is nothing to say: not a rating of 0.
fn rating(stats: &Value) -> Value {
    let count = stats["count"].as_i64().unwrap_or_default();
    match stats["average"].as_f64() {
        Some(average) if count > 0 => json!({
            "@type": "AggregateRating",
            "ratingValue": (average * 100.0).round() / 100.0,
            "ratingCount": count,
            "bestRating": 5,
            "worstRating": 1,
        }),
        _ => Value::Null,
    }
}

/// Describes a review that has an author with a name.
fn review(review: &Value) -> Option<Value> {
    let author = review["author"]["name"].as_str()?;
    let mut data = json!({
        "@type": "Review",
        "author": { "@type": "Person", "name": author },
        "reviewRating": {
            "@type": "Rating", "ratingValue": review["rating"], "bestRating": 5, "worstRating": 1,
        },
    });
    let texts = [
        ("name", "title"),
        ("reviewBody", "body"),
        ("datePublished", "createdAt"),
    ];
    for (name, field) in texts {
        let text = review[field].as_str().filter(|text| !text.is_empty());
        if let Some(text) = text {
            data[name] = json!(text);
        }
    }
    Some(data)
}

/// Describes where a page is: the categories above it, and itself.
pub(crate) fn breadcrumbs(site: &Site, above: &[Value], here: (&str, &str)) -> Value {
    let above = above.iter().map(|category| {
        let name = category["name"].as_str().unwrap_or_default();
        (name.to_owned(), category_path(&category["slug"]))
    });
    let here = (here.0.to_owned(), here.1.to_owned());
    let all = above.chain([here]).zip(1..);
    let items: Vec<Value> = all
        .map(|((name, path), position)| {
            json!({
                "@type": "ListItem",
                "position": position,
                "name": name,
                "item": absolute(site, &path),
            })
        })
        .collect();
    json!({ "@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": items })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_without_reviews_price_and_picture_says_nothing_about_them() {
        let data = product(
            &Site::default(),
            &json!({
                "slug": "a", "name": "A", "sku": "s", "media": [], "price": null,
                "ratingStats": { "count": 0, "average": null }, "reviews": { "nodes": [] },
            }),
        );
        let expected = json!({
            "@context": "https://schema.org", "@type": "Product", "@id": "/p/a", "name": "A",
            "sku": "s",
        });
        assert_eq!(data, expected);
    }

    #[test]
    fn ratings_reviews_and_offers_are_those_of_the_page() {
        let site = Site {
            origin: Some("https://shop.test".to_owned()),
            ..Site::default()
        };
        let data = product(
            &site,
            &json!({
                "slug": "a", "name": "A", "price": { "amount": "9.90", "currency": "EUR" },
                "media": [{ "kind": "IMAGE", "url": "https://cdn.test/a.jpg" }],
                "ratingStats": { "count": 3, "average": 4.333_333_3 },
                "reviews": { "nodes": [
                    { "author": null, "rating": 5 },
                    { "author": { "name": "Ada" }, "rating": 4, "title": "", "body": "Good." },
                ] },
            }),
        );
        assert_eq!(data["offers"]["price"], "9.90");
        assert_eq!(data["offers"]["url"], "https://shop.test/p/a");
        assert_eq!(data["aggregateRating"]["ratingValue"], 4.33);
        assert_eq!(data["image"], json!(["https://cdn.test/a.jpg"]));
        assert_eq!(data["review"].as_array().unwrap().len(), 1);
        assert_eq!(data["review"][0]["author"]["name"], "Ada");
        assert!(data["review"][0].get("name").is_none());
    }
}
