//! The most expensive requests that a stranger may send.

/// Expensive requests, each within the limit of a stranger.
pub const EXPENSIVE: [&str; 5] = [
    r#"{ products(filter: { price: { gte: "0" } }) { facets { key values { label count } } } }"#,
    "{ products(first: 48, sort: [{ key: NEWEST }]) { nodes { name specs { key text } topReviews { excerpt }
        reviews(first: 3, sort: NEWEST) { nodes { body } } } } }",
    r#"{ products(search: "a", first: 100) { totalCount { value } nodes { name specs { key text } } } }"#,
    "{ products(first: 100, sort: [{ key: RATING }]) { totalCount(upTo: 10000) { value } nodes { description
        media { url } specs { key label text } ratingStats { average histogram { rating count } } } } }",
    r#"{ products(filter: { rating: { gte: 2 }, price: { lte: "500" } }) { facets(keys: ["@brand", "@price"], limit: 200)
        { key values { label count filter { brand } } } } }"#,
];
