//! The first reviews of a product, with the numbers of all.

use serde_json::Value;

use crate::format;
use crate::markup::Html;
use crate::pages::{items, text};
use crate::tile::{rating, stars};

pub(super) fn reviews(product: &Value, html: &mut Html) {
    html.raw("<section class=\"reviews\" id=\"reviews\" aria-labelledby=\"reviews-title\">");
    html.raw("<h2 id=\"reviews-title\">Reviews</h2>");
    let stats = &product["ratingStats"];
    rating(stats, html);
    if stats["count"].as_i64().unwrap_or_default() > 0 {
        histogram(stats, html);
    }
    html.raw("<ol class=\"opinions\">");
    for review in items(&product["reviews"]["nodes"]) {
        opinion(review, html);
    }
    html.raw("</ol></section>");
}

fn histogram(stats: &Value, html: &mut Html) {
    html.raw("<table class=\"histogram\"><tbody>");
    for bucket in items(&stats["histogram"]) {
        html.raw("<tr><th scope=\"row\">")
            .text(&bucket["rating"].to_string());
        html.raw(" ★</th><td>");
        html.text(&format::count(bucket["count"].as_i64().unwrap_or_default()));
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

fn opinion(review: &Value, html: &mut Html) {
    html.raw("<li class=\"opinion\"><article><h3 class=\"iso\">");
    html.text(text(&review["title"]))
        .raw("</h3><p class=\"by\">");
    stars(review["rating"].as_f64().unwrap_or_default(), html);
    html.raw(" <span class=\"iso\">");
    html.text(review["author"]["name"].as_str().unwrap_or("Anonymous"));
    html.raw("</span> <span>")
        .text(&format::day(&review["createdAt"]));
    html.raw("</span></p>");
    if review["verified"] == Value::Bool(true) {
        html.raw("<ul class=\"badges\"><li>Verified purchase</li></ul>");
    }
    html.raw("<p class=\"body iso\">")
        .text(text(&review["body"]))
        .raw("</p>");
    let reply = &review["reply"];
    if let Some(answer) = reply["text"].as_str() {
        html.raw("<div class=\"reply\"><p><b>Reply of the shop</b></p><p class=\"iso\">");
        html.text(answer).raw("</p></div>");
    }
    html.raw("</article></li>");
}
