//! What is common and what is rare in a catalogue, so that the same questions can be asked of any.

use std::collections::{BTreeMap, HashMap};

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_model::id::{GlobalId, ProductId};

use crate::testbed::Testbed;

/// How many products are looked at, at most.
const SAMPLE: usize = 1_000;
/// How many pairs of rare values are compared.
const PAIRS: usize = 20;
/// The longest text that is filtered by, in bytes.
const MAX_BYTES: usize = 64;

const TREE: &str = "{ categories { ...C children { ...C children { ...C children { ...C } } } } }
fragment C on Category { slug productCount }";

const NODES: &str = "query($ids: [ID!]!) {
  nodes(ids: $ids) { ... on Product {
    id name sku
    specs { key qualifier value {
      ... on TextValue { text }
      ... on NumberValue { number }
      ... on QuantityValue { value unit }
    } }
  } }
}";

const CATEGORY: &str = "query($slug: String!) { category(slug: $slug) { id } }";

const COUNT: &str = "query($filter: ProductFilterInput) {
  products(filter: $filter, first: 1) { totalCount(upTo: 100000) { value } }
}";

/// The whole catalogue, or a category.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The category; all of them when absent.
    pub(crate) slug: Option<String>,
    /// How many products are on sale.
    pub(crate) products: usize,
    /// Some of them.
    pub(crate) sample: Vec<Value>,
    /// Filters for the most common texts, of different keys.
    pub(crate) common: Vec<Value>,
    /// Filters for two rare texts that one product has.
    pub(crate) rare: Vec<Value>,
    /// A filter for a tenth of the values of the most common number.
    pub(crate) range: Option<Value>,
}

/// The whole catalogue and leaf categories: the largest, one of middle size, a small one.
pub(crate) async fn scopes(testbed: &Testbed) -> Vec<Scope> {
    let tree = testbed.data(TREE, &Value::Null).await;
    let mut leaves = Vec::new();
    leaves_of(&tree["categories"], &mut leaves);
    leaves.retain(|(_, slug)| slug != crate::HEAVY);
    leaves.sort();
    let largest = leaves.last().map_or(0, |leaf| leaf.0);
    // A small catalogue has the same shape, only smaller.
    let scale = if largest < 4_000 {
        largest as f64 / 18_000.0
    } else {
        1.0
    };
    let near = |size: f64| {
        let distance = |leaf: &(usize, String)| (leaf.0.max(1) as f64 / (size * scale)).ln().abs();
        leaves
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .cloned()
    };
    let mut scopes = vec![Scope::of(testbed, None).await];
    for leaf in [leaves.last().cloned(), near(2_700.0), near(420.0)] {
        let (_, slug) = leaf.expect("the catalogue has categories");
        scopes.push(Scope::of(testbed, Some(slug)).await);
    }
    scopes
}

/// How many products a filter finds.
pub(crate) async fn count(testbed: &Testbed, filter: &Value) -> usize {
    let data = testbed.data(COUNT, &json!({ "filter": filter })).await;
    size(&data["products"]["totalCount"]["value"])
}

impl Scope {
    /// Looks at a scope.
    pub(crate) async fn of(testbed: &Testbed, slug: Option<String>) -> Self {
        let mut scope = Self {
            slug,
            products: 0,
            sample: Vec::new(),
            common: Vec::new(),
            rare: Vec::new(),
            range: None,
        };
        scope.products = count(testbed, &scope.filter(&[])).await;
        scope.sample = sample(testbed, scope.slug.as_deref()).await;
        let texts = scope.texts();
        scope.common = common(&texts);
        scope.rare = scope.rare_pair(testbed, &texts).await;
        scope.range = range(&scope.sample);
        scope
    }

    /// The filter of the scope with these specs.
    pub(crate) fn filter(&self, specs: &[Value]) -> Value {
        let category = self.slug.as_ref().map(|slug| json!([slug]));
        let specs = (!specs.is_empty()).then_some(specs);
        json!({ "category": category, "specs": specs })
    }

    /// A product of it.
    pub(crate) fn product(&self) -> String {
        let id = self
            .sample
            .first()
            .and_then(|product| product["id"].as_str());
        id.expect("the scope has products").to_owned()
    }

    /// How it is called in tables.
    pub(crate) fn title(&self) -> String {
        let place = if self.slug.is_some() { "leaf" } else { "all" };
        format!("{place} of {}", self.products)
    }

    /// How many of the sampled products have each text.
    pub(crate) fn texts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for text in self.sample.iter().flat_map(texts) {
            *counts.entry(text).or_insert(0) += 1;
        }
        counts
    }

    /// Of pairs of texts that were met once, the one that fewest products have.
    async fn rare_pair(
        &self,
        testbed: &Testbed,
        counts: &BTreeMap<(String, String), usize>,
    ) -> Vec<Value> {
        let once = |product: &Value| {
            let mut rare: Vec<_> = texts(product).filter(|text| counts[text] == 1).collect();
            rare.dedup_by(|a, b| a.0 == b.0);
            (rare.len() >= 2).then(|| [filter_of(&rare[0]), filter_of(&rare[1])])
        };
        let mut best: Option<(usize, [Value; 2])> = None;
        for pair in self.sample.iter().filter_map(once).take(PAIRS) {
            let mut products = 0;
            for one in &pair {
                products += count(testbed, &self.filter(std::slice::from_ref(one))).await;
            }
            if best.as_ref().is_none_or(|(least, _)| products < *least) {
                best = Some((products, pair));
            }
        }
        best.map(|(_, pair)| pair.to_vec()).unwrap_or_default()
    }
}

fn leaves_of(categories: &Value, leaves: &mut Vec<(usize, String)>) {
    for category in categories.as_array().into_iter().flatten() {
        let children = &category["children"];
        if children.as_array().is_none_or(Vec::is_empty) {
            let slug = category["slug"].as_str().expect("a slug is a text");
            leaves.push((size(&category["productCount"]), slug.to_owned()));
        } else {
            leaves_of(children, leaves);
        }
    }
}

/// Products on sale, evenly spread over all skus: the same in every catalogue of the same data.
async fn sample(testbed: &Testbed, slug: Option<&str>) -> Vec<Value> {
    let mut filter = doc! { "status": "active" };
    if let Some(slug) = slug {
        let data = testbed.data(CATEGORY, &json!({ "slug": slug })).await;
        let Some(id) = data["category"]["id"].as_str() else {
            return Vec::new();
        };
        let Ok(GlobalId::Category(id)) = GlobalId::decode(id) else {
            panic!("the id of a category");
        };
        filter.insert("category", id.to_i64());
    }
    let products = testbed.direct.collection::<Document>("products");
    let find = products.find(filter).sort(doc! { "sku": 1 });
    let find = find.projection(doc! { "_id": 1 }).allow_disk_use(true);
    let found: Vec<Document> = find.await.unwrap().try_collect().await.unwrap();
    let step = found.len().div_ceil(SAMPLE).max(1);
    let ids: Vec<String> = found.iter().step_by(step).map(global_id).collect();
    let mut all = Vec::new();
    for ids in ids.chunks(100) {
        let mut data = testbed.data(NODES, &json!({ "ids": ids })).await;
        if let Value::Array(nodes) = data["nodes"].take() {
            all.extend(nodes);
        }
    }
    all
}

fn global_id(product: &Document) -> String {
    let id = product.get_i64("_id").expect("a product has an id");
    GlobalId::Product(ProductId::from_i64(id)).encode()
}

/// The texts of a product that can be filtered by: `(key, text)`.
fn texts(product: &Value) -> impl Iterator<Item = (String, String)> {
    let specs = product["specs"].as_array().into_iter().flatten();
    specs.filter_map(|spec| {
        let text = spec["value"]["text"].as_str()?;
        let key = spec["key"].as_str()?;
        (text.len() <= MAX_BYTES).then(|| (key.to_owned(), text.to_owned()))
    })
}

/// The most common texts, one of each key.
fn common(counts: &BTreeMap<(String, String), usize>) -> Vec<Value> {
    let mut best: BTreeMap<&str, (usize, &(String, String))> = BTreeMap::new();
    for (text, count) in counts {
        let known = best.entry(&text.0).or_insert((*count, text));
        if known.0 < *count {
            *known = (*count, text);
        }
    }
    let mut best: Vec<_> = best.into_values().collect();
    best.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    best.into_iter().map(|(_, text)| filter_of(text)).collect()
}

/// The middle tenth of the number that most products have.
fn range(sample: &[Value]) -> Option<Value> {
    let mut numbers: BTreeMap<(&str, Option<&str>), Vec<f64>> = BTreeMap::new();
    for spec in sample
        .iter()
        .filter_map(|product| product["specs"].as_array())
        .flatten()
    {
        let value = &spec["value"];
        let number = value["number"].as_f64().or_else(|| value["value"].as_f64());
        if let (Some(number), Some(key)) = (number, spec["key"].as_str())
            && key != crate::testbed::TOUCHED
        {
            let unit = value["unit"].as_str();
            numbers.entry((key, unit)).or_default().push(number);
        }
    }
    let ((key, unit), mut values) = numbers.into_iter().max_by_key(|(_, values)| values.len())?;
    values.sort_by(f64::total_cmp);
    let at = |percent: usize| values[(values.len() - 1) * percent / 100];
    let number = json!({ "gte": at(45), "lte": at(55), "unit": unit });
    Some(json!({ "key": key, "number": number }))
}

fn filter_of((key, text): &(String, String)) -> Value {
    json!({ "key": key, "text": { "eq": text } })
}

fn size(value: &Value) -> usize {
    let number = value.as_u64().expect("a number of products");
    usize::try_from(number).expect("a number of products")
}

/// Words of names, the most common first.
pub(crate) fn words(sample: &[Value]) -> Vec<(String, usize)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in sample.iter().filter_map(|product| product["name"].as_str()) {
        let words = name.split_whitespace().map(str::to_lowercase);
        let plain = words.filter(|word| word.len() >= 4 && word.chars().all(char::is_alphabetic));
        plain.for_each(|word| *counts.entry(word).or_insert(0) += 1);
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words
}
