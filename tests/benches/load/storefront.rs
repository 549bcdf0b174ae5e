//! Generated queries of a storefront: random fields of products, lists and reviews, with aliases and
//! fragments. The same seed generates the same queries.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::facts::{Facts, product};
use crate::random::{Purpose, Random};

const QUERIES: usize = 200;
const SEED: u64 = 16;

/// Fields of a product, with what may be asked of each.
const PRODUCT: [(&str, &[&str]); 24] = [
    ("id", &[]),
    ("kind", &[]),
    ("sku", &[]),
    ("slug", &[]),
    ("name", &[]),
    ("description", &[]),
    ("brand", &[]),
    ("status", &[]),
    ("isOutlier", &[]),
    ("revision", &[]),
    ("createdAt", &[]),
    ("listedAt", &[]),
    ("updatedAt", &[]),
    ("price", &["amount", "currency"]),
    ("media", &["url", "alt", "kind"]),
    ("supplier", &["id", "supplierId", "name", "country", "asOf"]),
    ("category", &["id", "slug", "name", "path"]),
    ("specs", SPEC),
    ("specs(keys: [\"color\", \"weight\", \"wireless\"])", SPEC),
    ("spec(key: \"color\")", SPEC),
    ("ratingStats", STATS),
    ("topReviews", EXCERPT),
    ("topReviews(first: 3)", EXCERPT),
    ("outlier", &["large", "hot", "since"]),
];
const SPEC: &[&str] = &[
    "key",
    "label",
    "text",
    "qualifier",
    "value { __typename ... on TextValue { text } ... on QuantityValue { value unit displayValue } }",
];
const STATS: &[&str] = &[
    "count",
    "average",
    "bayesianScore",
    "wilsonLowerBound",
    "verifiedCount",
    "recommendedShare",
    "histogram { rating count share }",
    "languages { code count }",
];
const EXCERPT: &[&str] = &[
    "id",
    "rating",
    "title",
    "excerpt",
    "truncated",
    "author { name }",
    "helpfulCount",
    "verified",
    "createdAt",
];
const REVIEW: &[&str] = &[
    "id",
    "rating",
    "title",
    "body",
    "author { name }",
    "helpfulCount",
    "unhelpfulCount",
    "verified",
    "incentivized",
    "recommended",
    "language",
    "status",
    "createdAt",
    "editedAt",
    "revision",
];
const SORTS: [&str; 4] = ["POPULARITY", "PRICE", "NEWEST", "RATING"];
const REVIEW_SORTS: [&str; 3] = ["NEWEST", "MOST_HELPFUL", "HIGHEST"];

/// Documents with their variables.
pub(crate) fn queries(facts: &Facts) -> Vec<(String, Value)> {
    (0..QUERIES).map(|number| query(facts, number)).collect()
}

fn query(facts: &Facts, number: usize) -> (String, Value) {
    let mut author = Author {
        random: Random::of(SEED, Purpose::Product, number),
        aliases: 0,
        fragments: String::new(),
    };
    let (random, pages, pairs) = (&mut author.random, &facts.pages, &facts.pairs);
    let page = product(pages[random.below(pages.len())].0);
    let reviewed = &facts.reviewed;
    let reviewed = product(reviewed[random.below(reviewed.len())]);
    let specs = random.below(3);
    let filter = pairs[random.below(pairs.len())].filter(specs);
    let (sort, review_sort) = (random.pick(&SORTS), random.pick(&REVIEW_SORTS));
    let (kind, rows) = (random.below(10), 1 + random.below(48));
    match kind {
        // As often as in a shop: pages, then lists, then reviews.
        0..5 => {
            let fields = author.product(12);
            let document = author.document("$id: ID!", &format!("product(id: $id) {{ {fields} }}"));
            (document, json!({ "id": page }))
        }
        5..8 => {
            let fields = author.product(7);
            let list = format!(
                "products(filter: $filter, sort: [{{ key: {sort} }}], first: {rows}) {{ \
                 nodes {{ {fields} }} pageInfo {{ hasNextPage endCursor }} }}"
            );
            let document = author.document("$filter: ProductFilterInput", &list);
            (document, json!({ "filter": filter }))
        }
        _ => {
            let (fields, reviews) = (author.product(4), author.some(REVIEW));
            let page = format!(
                "product(id: $id) {{ {fields} reviews(first: $first, sort: {review_sort}) {{ \
                 nodes {{ {reviews} }} pageInfo {{ hasNextPage endCursor }} }} }}"
            );
            let document = author.document("$id: ID!, $first: Int!", &page);
            (document, json!({ "id": reviewed, "first": rows }))
        }
    }
}

/// Writes one query.
struct Author {
    random: Random,
    aliases: usize,
    fragments: String,
}

impl Author {
    fn document(&self, variables: &str, field: &str) -> String {
        format!("query({variables}) {{ {field} }}{}", self.fragments)
    }

    /// A selection of a product, some of it in a fragment.
    fn product(&mut self, most: usize) -> String {
        let (mut own, mut shared) = (String::from("id "), String::new());
        for _ in 0..=self.random.below(most) {
            let (field, fields) = self.random.pick(&PRODUCT);
            let is_shared = self.random.chance(0.3);
            // The same field may be selected twice, with other arguments.
            self.aliases += 1;
            let alias = self.aliases;
            let out = if is_shared { &mut shared } else { &mut own };
            if field.contains('(') || self.random.chance(0.2) {
                let _ = write!(out, "a{alias}: ");
            }
            let _ = write!(out, "{field} ");
            if !fields.is_empty() {
                let some = self.some(fields);
                let out = if is_shared { &mut shared } else { &mut own };
                let _ = write!(out, "{{ {some} }} ");
            }
        }
        if !shared.is_empty() {
            let name = format!("F{}", self.aliases);
            let _ = write!(own, "...{name} ");
            let _ = write!(self.fragments, " fragment {name} on Product {{ {shared}}}");
        }
        own
    }

    /// Some of these fields, in any order.
    fn some(&mut self, fields: &[&str]) -> String {
        let mut fields = fields.to_vec();
        self.random.shuffle(&mut fields);
        fields.truncate(1 + self.random.below(fields.len()));
        fields.join(" ")
    }
}
