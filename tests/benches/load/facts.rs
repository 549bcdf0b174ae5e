//! What the catalogue holds, so that requests find something: the same for the same data.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::Database;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_model::id::{GlobalId, ProductId, ReviewId};
use vitrine_model::review::MAX_TOP_REVIEWS;

use crate::floors::LIST;
use crate::probe::words;
use crate::random::{Purpose, Random};
use crate::testbed::number;

/// How many different products, and reviews, requests are about.
const PRODUCTS: usize = 2_000;
/// How many of the largest leaf categories lists are about, and how many pairs of filters each has.
const LEAVES: usize = 4;
const PAIRS: usize = 6;
/// The specs that the products of product pages have.
const SPECS: i32 = 12;
/// The longest text that is filtered by.
const MAX_BYTES: usize = 40;

/// A category with two spec filters that at least [`LIST`] products match.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) category: i64,
    pub(crate) slug: String,
    pub(crate) tokens: [String; 2],
}

/// What requests are made of.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Products with twelve specs and ten top reviews: ids and slugs.
    pub(crate) pages: Vec<(i64, String)>,
    pub(crate) pairs: Vec<Pair>,
    /// The slugs of the largest leaf categories.
    pub(crate) leaves: Vec<String>,
    /// Products with more reviews than one page shows.
    pub(crate) reviewed: Vec<i64>,
    /// The product with the most reviews, and how many it has.
    pub(crate) most_reviewed: (i64, i64),
    /// Published reviews.
    pub(crate) reviews: Vec<String>,
    /// Products on sale, the one that all write to first. No page or list of reviews is about them.
    pub(crate) written: Vec<i64>,
    /// Common words of names.
    pub(crate) words: Vec<String>,
}

impl Facts {
    pub(crate) async fn of(database: &Database) -> Self {
        let top = i64::try_from(MAX_TOP_REVIEWS).expect("a short list");
        let full = doc! {
            "status": "active", "specs": { "$size": SPECS }, "top_reviews": { "$size": top },
        };
        let mut pages = find(database, full, doc! { "slug": 1 }).await;
        pages.truncate(PRODUCTS);
        let slug = |doc: &Document| {
            doc.get_str("slug")
                .expect("a product has a slug")
                .to_owned()
        };
        let many = doc! { "status": "active", "stats.count": { "$gte": 40, "$lte": 2_000 } };
        let few = doc! { "status": "active", "stats.count": { "$lt": 10 } };
        let (leaves, pairs) = pairs(database).await;
        let written = ids(find(database, few, doc! { "_id": 1 }).await);
        Self {
            pages: pages.iter().map(|doc| (id(doc), slug(doc))).collect(),
            pairs,
            leaves,
            reviewed: ids(find(database, many, doc! { "_id": 1 }).await),
            most_reviewed: most_reviewed(database).await,
            reviews: reviews(database).await,
            written,
            words: common_words(database).await,
        }
    }

    pub(crate) fn print(&self) {
        println!(
            "{} products with {SPECS} specs and 10 top reviews, {} with 40 or more reviews, one with {}; \
             {} pairs of filters in {} categories; words {:?}",
            self.pages.len(),
            self.reviewed.len(),
            self.most_reviewed.1,
            self.pairs.len(),
            self.leaves.len(),
            &self.words[..4],
        );
    }
}

impl Pair {
    /// The filter of the public API, with one of its specs or both.
    pub(crate) fn filter(&self, specs: usize) -> Value {
        let specs: Vec<Value> = self.tokens[..specs]
            .iter()
            .map(|token| spec(token))
            .collect();
        json!({ "category": [self.slug], "specs": specs })
    }
}

/// The filter that a token stands for.
fn spec(token: &str) -> Value {
    let (key, value) = token.split_once('=').expect("a token is a key and a value");
    match value {
        "true" | "false" => json!({ "key": key, "boolean": value == "true" }),
        text => json!({ "key": key, "text": { "eq": text } }),
    }
}

/// The global id of a product.
pub(crate) fn product(id: i64) -> String {
    GlobalId::Product(ProductId::from_i64(id)).encode()
}

fn id(doc: &Document) -> i64 {
    doc.get_i64("_id").expect("every document has an id")
}

fn ids(mut docs: Vec<Document>) -> Vec<i64> {
    docs.truncate(PRODUCTS);
    docs.iter().map(id).collect()
}

/// Products in the order of their skus, shuffled in the same way each time.
async fn find(database: &Database, filter: Document, fields: Document) -> Vec<Document> {
    let products = database.collection::<Document>("products");
    let find = products.find(filter).sort(doc! { "sku": 1 });
    let find = find.projection(fields).allow_disk_use(true);
    let mut found: Vec<Document> = find.await.unwrap().try_collect().await.unwrap();
    Random::of(7, Purpose::Product, 0).shuffle(&mut found);
    found
}

async fn most_reviewed(database: &Database) -> (i64, i64) {
    let products = database.collection::<Document>("products");
    let find = products.find_one(doc! { "status": "active" });
    let find = find.sort(doc! { "stats.count": -1 });
    let found = find.await.unwrap().expect("there are products");
    let stats = found.get_document("stats").expect("every product has them");
    (id(&found), number(stats, "count"))
}

/// Published reviews in the order of their ids, which are random, without those of products that are
/// not on sale.
async fn reviews(database: &Database) -> Vec<String> {
    let on_sale = find(database, doc! { "status": "active" }, doc! { "_id": 1 }).await;
    let on_sale: HashSet<i64> = on_sale.iter().map(id).collect();
    let reviews = database.collection::<Document>("reviews");
    let find = reviews.find(doc! { "status": "published" });
    let find = find
        .projection(doc! { "product_id": 1 })
        .sort(doc! { "_id": 1 });
    let find = find.limit(10 * i64::try_from(PRODUCTS).unwrap());
    let found: Vec<Document> = find.await.unwrap().try_collect().await.unwrap();
    let global = |doc: &Document| {
        let product = doc.get_i64("product_id").expect("a review has a product");
        let ids = (ProductId::from_i64(product), ReviewId::from_i64(id(doc)));
        on_sale
            .contains(&product)
            .then(|| GlobalId::Review(ids.0, ids.1).encode())
    };
    found.iter().filter_map(global).collect()
}

async fn common_words(database: &Database) -> Vec<String> {
    let mut names = find(database, doc! { "status": "active" }, doc! { "name": 1 }).await;
    names.truncate(PRODUCTS);
    let name = |doc: &Document| json!({ "name": doc.get_str("name").expect("a name") });
    let names: Vec<Value> = names.iter().map(name).collect();
    let words = words(&names).into_iter().take(20);
    words.map(|(word, _)| word).collect()
}

/// The largest leaf categories, and the most common pairs of values in each of some of them.
async fn pairs(database: &Database) -> (Vec<String>, Vec<Pair>) {
    let fields = doc! { "category": 1, "tokens": 1 };
    let products = find(database, doc! { "status": "active" }, fields).await;
    let mut leaves: BTreeMap<i64, Vec<&Document>> = BTreeMap::new();
    for product in &products {
        let category = product.get_i64("category").expect("a category");
        leaves.entry(category).or_default().push(product);
    }
    let mut leaves: Vec<_> = leaves.into_iter().collect();
    leaves.sort_by_key(|(_, products)| std::cmp::Reverse(products.len()));
    let mut slugs = Vec::new();
    for (category, _) in leaves.iter().take(2 * LEAVES) {
        let categories = database.collection::<Document>("categories");
        let found = categories.find_one(doc! { "_id": category }).await.unwrap();
        let found = found.expect("the category is there");
        slugs.push(found.get_str("slug").expect("a slug").to_owned());
    }
    let mut pairs = Vec::new();
    for ((category, products), slug) in leaves.iter().zip(&slugs).take(LEAVES) {
        for tokens in common_pairs(products) {
            pairs.push(Pair {
                category: *category,
                slug: slug.clone(),
                tokens,
            });
        }
    }
    (slugs, pairs)
}

/// The most common pairs of values of two keys.
fn common_pairs(products: &[&Document]) -> Vec<[String; 2]> {
    let mut counts: HashMap<[&str; 2], i64> = HashMap::new();
    for product in products {
        let tokens = product.get_array("tokens").expect("tokens").iter();
        let tokens: Vec<&str> = tokens
            .filter_map(|token| token.as_str())
            .filter(|token| !token.contains('@') && token.len() <= MAX_BYTES)
            .collect();
        for (at, first) in tokens.iter().enumerate() {
            for second in &tokens[at + 1..] {
                *counts.entry([first, second]).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.retain(|(_, count)| *count >= LIST);
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts.truncate(PAIRS);
    let owned = |([first, second], _): ([&str; 2], i64)| [first.to_owned(), second.to_owned()];
    counts.into_iter().map(owned).collect()
}
