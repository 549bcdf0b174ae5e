//! What is asked of the service and of the floors: the rows of the table.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use vitrine_harness::token::token;
use vitrine_model::review::MAX_TOP_REVIEWS;

use crate::client::{Client, Traffic, graphql, post};
use crate::facts::{Facts, product};
use crate::floors::{LIST, REVIEWS};
use crate::processes::Mode;
use crate::random::Random;
use crate::storefront;

/// How many requests of a row are checked before it is measured.
const CHECKED: usize = 200;
const CHECKED_SLOWLY: usize = 10;
/// The row whose answers decide about the size of the static body, and the one made of others.
pub(crate) const PAGE: &str = "product page";
const MIXED: &str = "mixed, 95 % reads";
/// How often a request is tried again that takes too long in valgrind.
const TRIES: usize = 5;
/// The floors.
pub(crate) const STATIC: &str = "floor: static body";
pub(crate) const ONE: &str = "floor: find a product";
pub(crate) const MANY: &str = "floor: find 48 products";
pub(crate) const PROJECTED: &str = "floor: find 48, projected";
pub(crate) const PAGE_OF_REVIEWS: &str = "floor: find 20 reviews";
pub(crate) const STORED_REVIEW: &str = "floor: insert and count a review";

const PAGE_FIELDS: &str = "id slug name description brand price { amount currency } media { url alt }
  specs { key label text } ratingStats { average count histogram { rating count } } supplier { name country }
  topReviews { id rating title excerpt author { name } helpfulCount verified createdAt }";
const PRODUCT_LIST: &str = "query($filter: ProductFilterInput, $first: Int!, $after: String) {
  products(filter: $filter, sort: [{ key: POPULARITY }], first: $first, after: $after) {
    nodes { id slug name brand price { amount currency } media { url alt } ratingStats { average count } }
    pageInfo { hasNextPage endCursor }
  }
}";
/// More than are measured in a round.
const NEW_FILTERS: usize = 8_000;
const FACETS: &str = "query($filter: ProductFilterInput) {
  products(filter: $filter, first: 1) {
    facets(limit: 20) { key label kind productCount accuracy values { label count selected } }
  }
}";
const REVIEW_LIST: &str = "query($id: ID!, $first: Int!, $after: String) {
  product(id: $id) {
    id name ratingStats { average count }
    reviews(first: $first, after: $after) {
      nodes { id rating title body author { name } helpfulCount verified createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
}";
const SEARCH: &str = "query($search: String!) {
  products(search: $search, first: 24) {
    nodes { id slug name brand price { amount currency } media { url } ratingStats { average count } }
    pageInfo { hasNextPage endCursor }
  }
}";
const SUGGESTIONS: &str = "query($prefix: String!) { searchSuggestions(prefix: $prefix) }";
const REVIEW: &str = "mutation($input: SubmitReviewInput!) {
  submitReview(input: $input) { review { id } statsPending userErrors { code message } }
}";
const VOTE: &str = "mutation($input: VoteReviewInput!) {
  voteReview(input: $input) { review { id helpfulCount } userErrors { code message } }
}";

/// A row: its requests, and which floor it is compared with.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) floor: &'static str,
    pub(crate) traffic: Arc<dyn Traffic + Send>,
    pub(crate) writes: bool,
    /// The connections, as a multiple of the usual number.
    pub(crate) crowd: usize,
}

/// What every answer of a row has: so many values at this place.
pub(crate) type Expected = (&'static str, std::ops::RangeInclusive<usize>);

/// Requests that are sent in random order.
struct Reads(Vec<Vec<u8>>);

impl Traffic for Reads {
    fn next(&self, random: &mut Random) -> (Cow<'_, [u8]>, bool) {
        (Cow::Borrowed(&self.0[random.below(self.0.len())]), false)
    }
}

/// Reviews or votes, each by somebody who has written nothing before.
struct Writes {
    document: &'static str,
    /// Products for reviews, reviews for votes.
    targets: Vec<String>,
    subject: String,
    written: AtomicU64,
}

impl Traffic for Writes {
    fn next(&self, random: &mut Random) -> (Cow<'_, [u8]>, bool) {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let subject = format!("{}-{number}", self.subject);
        let target = &self.targets[random.below(self.targets.len())];
        let input = if self.document == VOTE {
            json!({ "id": target, "vote": "HELPFUL" })
        } else {
            json!({
                "productId": target, "rating": 1 + random.below(5), "title": "Does what it should",
                "body": "It came in time, works as it should, and has not disappointed us so far. ".repeat(4),
                "language": "en", "authorName": "Somebody",
            })
        };
        let body = json!({ "query": self.document, "variables": { "input": input } });
        let token = token(&subject, "shopper");
        let number = usize::try_from(number).expect("not so many");
        (
            Cow::Owned(post("/graphql", &body, Some(&token), number)),
            true,
        )
    }
}

/// Several kinds, each in this many of a hundred requests, or of a thousand.
struct Mixed(Vec<(usize, Arc<dyn Traffic + Send>)>);

impl Traffic for Mixed {
    fn next(&self, random: &mut Random) -> (Cow<'_, [u8]>, bool) {
        let all = self.0.iter().map(|(share, _)| share).sum();
        let mut at = random.below(all);
        for (share, traffic) in &self.0 {
            if at < *share {
                return traffic.next(random);
            }
            at -= share;
        }
        unreachable!("the shares add up")
    }
}

/// Makes the rows of one build, and checks their answers.
pub(crate) struct Shop<'a> {
    facts: &'a Facts,
    build: &'a str,
    client: Client,
    only: &'a [String],
    checked: usize,
    rows: Vec<Row>,
}

/// The rows that read and write, as this build answers them.
pub(crate) fn of_build(
    facts: &Facts,
    (build, address): (&str, &str),
    only: &[String],
    mode: Mode,
) -> Vec<Row> {
    let client = Client::open(address).expect("the service listens");
    let mut shop = Shop {
        facts,
        build,
        client,
        only,
        checked: if mode == Mode::Plain {
            CHECKED
        } else {
            CHECKED_SLOWLY
        },
        rows: Vec::new(),
    };
    shop.pages();
    shop.lists();
    shop.reviews();
    shop.searches();
    shop.storefront();
    shop.writes();
    shop.rows
}

/// The floors: what a service can hardly do without.
pub(crate) fn of_floors(facts: &Facts) -> Vec<Row> {
    let fixed = vec![post("/static", &Value::Null, None, 0)];
    let by_id = |path: &'static str, ids: &[i64]| {
        let request = |id: &i64| post(path, &json!({ "id": id }), None, 0);
        ids.iter().map(request).collect::<Vec<_>>()
    };
    let pages: Vec<i64> = facts.pages.iter().map(|(id, _)| *id).collect();
    let lists = |path: &'static str| {
        let request = |pair: &crate::facts::Pair| {
            let body = json!({ "category": pair.category, "tokens": pair.tokens });
            post(path, &body, None, 0)
        };
        facts.pairs.iter().map(request).collect::<Vec<_>>()
    };
    let rows = [
        (STATIC, fixed),
        (ONE, by_id("/product", &pages)),
        (MANY, lists("/list")),
        (PROJECTED, lists("/projected")),
        (PAGE_OF_REVIEWS, by_id("/reviews", &facts.reviewed)),
        (STORED_REVIEW, by_id("/review", &facts.written)),
    ];
    let row = |(name, requests): (&'static str, Vec<Vec<u8>>)| Row {
        name: name.to_owned(),
        floor: name,
        traffic: Arc::new(Reads(requests)),
        writes: name == STORED_REVIEW,
        crowd: 1,
    };
    rows.into_iter().map(row).collect()
}

/// Whether a row is wanted.
pub(crate) fn is_wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|part| name.contains(part))
}

impl Shop<'_> {
    /// Whether a row is needed: it is wanted itself, or others are made of it.
    fn needs(&self, name: &str) -> bool {
        // In valgrind, facets that are counted for the request take longer than requests may.
        let too_slow = self.checked == CHECKED_SLOWLY && name.starts_with("facets, ");
        let is_used = name == PAGE || is_wanted(self.only, MIXED);
        !too_slow && (is_used || is_wanted(self.only, name))
    }

    fn pages(&mut self) {
        let by_id = format!("query($id: ID!) {{ product(id: $id) {{ {PAGE_FIELDS} }} }}");
        let by_slug =
            format!("query($slug: String!) {{ product(slug: $slug) {{ {PAGE_FIELDS} }} }}");
        let full: [Expected; 3] = [
            ("/data/product/specs", 12..=12),
            (
                "/data/product/topReviews",
                MAX_TOP_REVIEWS..=MAX_TOP_REVIEWS,
            ),
            ("/data/product/ratingStats/histogram", 5..=5),
        ];
        let pages = &self.facts.pages;
        let ids = pages.iter().map(|(id, _)| json!({ "id": product(*id) }));
        let slugs = pages.iter().map(|(_, slug)| json!({ "slug": slug }));
        let (ids, slugs): (Vec<Value>, Vec<Value>) = (ids.collect(), slugs.collect());
        self.read(PAGE, ONE, &by_id, &ids, &full);
        self.read("product page by slug", ONE, &by_slug, &slugs, &full);
    }

    fn lists(&mut self) {
        let filters = |specs| self.facts.pairs.iter().map(move |pair| pair.filter(specs));
        let list = |filter| json!({ "filter": filter, "first": LIST });
        let facets = |filter| json!({ "filter": filter });
        let lists: Vec<Value> = filters(2).map(list).collect();
        let filtered = [1, 2].map(|specs| filters(specs).map(facets).collect::<Vec<_>>());
        let leaves = self.facts.leaves.iter();
        let whole = leaves.map(|slug| facets(json!({ "category": [slug] })));
        let whole: Vec<Value> = whole.collect();
        let rows: [Expected; 1] = [("/data/products/nodes", 48..=48)];
        let keys: [Expected; 1] = [("/data/products/facets", 10..=30)];
        // Large lists are sampled: rare values, and keys that have no others, are left out.
        let some_keys: [Expected; 1] = [("/data/products/facets", 1..=30)];
        self.read("list of 48, two specs", MANY, PRODUCT_LIST, &lists, &rows);
        self.read("facets of a category", ONE, FACETS, &whole, &keys);
        let [one, two] = filtered;
        self.read("facets, one filter", ONE, FACETS, &one, &some_keys);
        self.read("facets, two filters", ONE, FACETS, &two, &some_keys);
        let new: Vec<Value> = self.new_filters().map(facets).collect();
        self.read("facets, new filter", ONE, FACETS, &new, &some_keys);
        let deep = "list, page 100";
        if !self.needs(deep) {
            return;
        }
        let page = json!({ "filter": {} });
        let pages = self.deep(PRODUCT_LIST, &page, "/data/products/pageInfo", LIST, 100);
        self.read(deep, MANY, PRODUCT_LIST, &pages, &rows);
    }

    /// Filters by one spec of which hardly one is sent twice: each has another highest price, above all prices.
    fn new_filters(&self) -> impl Iterator<Item = Value> {
        let pairs = self.facts.pairs.iter().cycle().take(NEW_FILTERS);
        pairs.zip(1_000_000..).map(|(pair, price)| {
            let mut filter = pair.filter(1);
            filter["price"] = json!({ "lte": price.to_string() });
            filter
        })
    }

    fn reviews(&mut self) {
        let rows: [Expected; 1] = [("/data/product/reviews/nodes", 20..=20)];
        let ids = self.facts.reviewed.iter();
        let first = ids.map(|id| json!({ "id": product(*id), "first": REVIEWS }));
        let first: Vec<Value> = first.collect();
        self.read(
            "reviews, page 1",
            PAGE_OF_REVIEWS,
            REVIEW_LIST,
            &first,
            &rows,
        );
        let (id, count) = self.facts.most_reviewed;
        // The last pages are left out, so that every page is full.
        let deepest = (count / REVIEWS - 12).max(1);
        let number = deepest.min(500);
        let name = format!("reviews, page {number}");
        if !self.needs(&name) {
            return;
        }
        let page = json!({ "id": product(id) });
        let info = "/data/product/reviews/pageInfo";
        let pages = self.deep(REVIEW_LIST, &page, info, REVIEWS, number);
        self.read(&name, PAGE_OF_REVIEWS, REVIEW_LIST, &pages, &rows);
    }

    fn searches(&mut self) {
        let words = self.facts.words.iter();
        let searches = words.clone().map(|word| json!({ "search": word }));
        let prefix = |word: &String| word.chars().take(3).collect::<String>();
        let prefixes = words.map(|word| json!({ "prefix": prefix(word) }));
        let searches: Vec<Value> = searches.collect();
        let prefixes: Vec<Value> = prefixes.collect();
        let rows: [Expected; 1] = [("/data/products/nodes", 24..=24)];
        self.read("search, common word", ONE, SEARCH, &searches, &rows);
        let texts: [Expected; 1] = [("/data/searchSuggestions", 1..=10)];
        self.read("suggestions", ONE, SUGGESTIONS, &prefixes, &texts);
    }

    /// Generated queries, so that nothing special for those above stays hidden.
    fn storefront(&mut self) {
        let queries = storefront::queries(self.facts);
        let name = format!("{} generated queries", queries.len());
        if !self.needs(&name) {
            return;
        }
        let requests: Vec<Vec<u8>> = queries
            .iter()
            .enumerate()
            .map(|(number, (document, variables))| graphql(document, variables, number))
            .collect();
        for (request, (document, _)) in requests.iter().zip(&queries) {
            self.check(document, request, &[]);
        }
        self.add(&name, ONE, Arc::new(Reads(requests)), false, 1);
    }

    fn writes(&mut self) {
        let writes = |document, targets, what: &str| {
            // No two runs have the same authors.
            let unique = mongodb::bson::Uuid::new();
            Arc::new(Writes {
                document,
                targets,
                subject: format!("{} {what} {unique}", self.build),
                written: AtomicU64::new(0),
            })
        };
        let products = |ids: &[i64]| ids.iter().map(|id| product(*id)).collect::<Vec<_>>();
        let [hot, others @ ..] = &self.facts.written[..] else {
            panic!("there are products to write to");
        };
        let review = writes(REVIEW, products(others), "review");
        let hot = writes(REVIEW, products(&[*hot]), "hot");
        let vote = writes(VOTE, self.facts.reviews.clone(), "vote");
        if is_wanted(self.only, MIXED) {
            self.mixed(&review, Arc::clone(&vote));
        }
        self.add("vote, random review", STORED_REVIEW, vote, true, 1);
        self.add("review, random product", STORED_REVIEW, review, true, 1);
        self.add("reviews on one product", STORED_REVIEW, hot, true, 8);
    }

    /// What shoppers of a shop do, most of them reading.
    fn mixed(&mut self, review: &Arc<Writes>, vote: Arc<Writes>) {
        let of = |name: &str| {
            let row = self.rows.iter().find(|row| row.name == name);
            Arc::clone(&row.expect("an earlier row").traffic)
        };
        // In thousandths.
        let mixed = Arc::new(Mixed(vec![
            (600, of(PAGE)),
            (150, of("list of 48, two specs")),
            (100, of("reviews, page 1")),
            (50, of("facets of a category")),
            (50, of("search, common word")),
            (25, Arc::clone(review) as Arc<dyn Traffic + Send>),
            (25, vote),
        ]));
        self.add(MIXED, ONE, mixed, true, 1);
    }

    /// Adds a row that reads, after its answers were checked.
    fn read(
        &mut self,
        name: &str,
        floor: &'static str,
        document: &str,
        variables: &[Value],
        expected: &[Expected],
    ) {
        if !self.needs(name) {
            return;
        }
        assert!(!variables.is_empty(), "{name}: the catalogue is too small");
        let requests: Vec<Vec<u8>> = variables
            .iter()
            .enumerate()
            .map(|(number, variables)| graphql(document, variables, number))
            .collect();
        for request in requests.iter().take(self.checked) {
            self.check(name, request, expected);
        }
        self.add(name, floor, Arc::new(Reads(requests)), false, 1);
    }

    fn check(&mut self, name: &str, request: &[u8], expected: &[Expected]) -> Value {
        let mut answer = self.client.ask(request).expect("an answer").json();
        for _ in 0..TRIES {
            if answer["errors"][0]["extensions"]["retryable"] != true {
                break;
            }
            answer = self.client.ask(request).expect("an answer").json();
        }
        let place = format!("{}: {name}", self.build);
        let errors = &answer["errors"];
        assert!(
            errors.is_null(),
            "{place}: {errors:#}\n{}",
            String::from_utf8_lossy(request)
        );
        for (pointer, count) in expected {
            let found = answer.pointer(pointer).and_then(Value::as_array);
            let found = found.map_or(0, Vec::len);
            assert!(
                count.contains(&found),
                "{place}: {found} at {pointer}\n{}",
                String::from_utf8_lossy(request)
            );
        }
        answer
    }

    /// The variables of ten pages from this one on, whose cursors are found by paging.
    fn deep(
        &mut self,
        document: &str,
        variables: &Value,
        info: &str,
        rows: i64,
        page: i64,
    ) -> Vec<Value> {
        let (mut left, mut after, mut pages) = ((page - 1) * rows, Value::Null, Vec::new());
        while pages.len() < 10 {
            let first = if left > 0 { left.min(100) } else { rows };
            let mut variables = variables.clone();
            variables["first"] = json!(first);
            variables["after"] = after;
            if left <= 0 {
                pages.push(variables.clone());
            }
            let request = graphql(document, &variables, 0);
            let answer = self.check("paging", &request, &[]);
            let info = answer.pointer(info).expect("a page has its cursors");
            assert_eq!(
                info["hasNextPage"], true,
                "{}: there is no page {page}",
                self.build
            );
            after = info["endCursor"].clone();
            left -= first;
        }
        pages
    }

    fn add(
        &mut self,
        name: &str,
        floor: &'static str,
        traffic: Arc<dyn Traffic + Send>,
        writes: bool,
        crowd: usize,
    ) {
        self.rows.push(Row {
            name: name.to_owned(),
            floor,
            traffic,
            writes,
            crowd,
        });
    }
}
