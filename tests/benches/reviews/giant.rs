//! A product with very many reviews beside one with twenty: whatever is asked of them should cost
//! the same.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::{Purchase, ReviewKey};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, GlobalId, ProductId, ReviewId};
use vitrine_model::import::{Droppable, ExternalRef, ReviewDraft};
use vitrine_model::rating::Stars;
use vitrine_model::review::{Author, Vote};

use crate::Options;
use crate::testbed::{Case, Row, State, Testbed, median, millis};
use crate::writers::content;

/// The reviews of the other product.
const FEW: usize = 20;
/// How many drafts are imported at a time.
const BATCH: usize = 4_000;
/// Rows to the page.
const PAGE: usize = 24;
/// The page far down.
const FAR: usize = 5_000;
/// One author in so many has bought it.
const BOUGHT: usize = 50;

/// How often each thing is written that is measured.
const TIMES: usize = 8;

const PRODUCT: &str = "query($id: ID!) { product(id: $id) {
  name ratingStats { count average histogram { rating count } languages { code count } }
  topReviews { rating title excerpt helpfulCount }
} }";

const REVIEWS: &str = "query($id: ID!, $sort: ReviewSort, $filter: ReviewFilterInput, $after: String, $first: Int) {
  product(id: $id) { reviews(first: $first, after: $after, sort: $sort, filter: $filter) {
    nodes { id rating title body createdAt } totalCount { value } pageInfo { hasNextPage endCursor } } } }";

/// A product, and how it is called in tables.
struct Rated {
    id: ProductId,
    reviews: usize,
}

/// Measures everything for both products.
pub(crate) async fn measure(testbed: &Testbed, options: &Options) {
    let (large, small) = products(testbed, options).await;
    Row::print_head("a product with very many reviews, beside one with twenty");
    Box::pin(compare(testbed, "product page", [&large, &small], |of| {
        Case {
            name: String::new(),
            document: PRODUCT,
            variables: json!({ "id": of.global() }),
            state: State::Warm,
        }
    }))
    .await;
    let filters = [
        ("", json!({})),
        ("one star", json!({ "ratings": [1] })),
        ("verified", json!({ "verifiedOnly": true })),
        ("German", json!({ "language": "de" })),
        (
            "verified, German, five stars",
            json!({ "verifiedOnly": true, "language": "de", "ratings": [5] }),
        ),
    ];
    for sort in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
        for (name, filter) in &filters {
            let title = format!("{sort} {name}");
            Box::pin(pages(testbed, [&large, &small], (sort, filter), &title)).await;
        }
    }
    println!("written, each until it is counted");
    for act in [
        Act::Submit,
        Act::Vote,
        Act::RemoveVote,
        Act::Delete,
        Act::DeleteTop,
    ] {
        let mut times = Vec::new();
        for of in [&small, &large] {
            times.push(millis(written(testbed, of, act).await));
        }
        println!("{:<44} {:>9.2} times", "", times[1] / times[0]);
    }
}

/// A page of the reviews of a product.
fn page(of: &Rated, (sort, filter): (&str, &Value), after: &Value, first: usize) -> Case {
    Case {
        name: String::new(),
        document: REVIEWS,
        variables: json!({ "id": of.global(), "sort": sort, "filter": filter, "after": after, "first": first }),
        state: State::Warm,
    }
}

/// Compares as many rows of the one product as the other has, and the first page of the large one
/// with a late one.
async fn pages(testbed: &Testbed, [large, small]: [&Rated; 2], list: (&str, &Value), title: &str) {
    let all = page(small, list, &Value::Null, PAGE);
    let all = testbed.data(all.document, &all.variables).await;
    let rows = all["product"]["reviews"]["nodes"].as_array().unwrap().len();
    Box::pin(compare(testbed, title, [large, small], |of| {
        page(of, list, &Value::Null, rows.max(1))
    }))
    .await;
    let (number, after) = cursor(testbed, large, list.0, list.1).await;
    let mut times = Vec::new();
    for (number, after) in [(1, Value::Null), (number, after)] {
        let mut case = page(large, list, &after, PAGE);
        case.name = format!("{title}, {PAGE} rows, page {number}");
        times.push(millis(testbed.measure(&case).await.median));
    }
    println!("{:<44} {:>9.2} times", "", times[1] / times[0]);
}

/// Something that is written about a product's reviews.
#[derive(Clone, Copy, Debug)]
enum Act {
    Submit,
    Vote,
    RemoveVote,
    Delete,
    /// The most helpful review is deleted by its author, so that another comes up.
    DeleteTop,
}

/// Does it some times, and prints what it costs with the fold that follows.
async fn written(testbed: &Testbed, of: &Rated, act: Act) -> Duration {
    let (mut times, mut cpu) = (Vec::new(), Duration::ZERO);
    for round in 0..=TIMES {
        // A product that is reviewed more often than five times a second is a hot one.
        if round % 4 == 0 {
            tokio::time::sleep(Duration::from_millis(1_200)).await;
        }
        let target = Box::pin(prepare(testbed, of, act)).await;
        if round == TIMES {
            let (keys, docs, commands) = testbed
                .profile_of(Box::pin(execute(testbed, of, act, &target)))
                .await;
            let row = Row {
                name: format!("{act:?}, {} reviews", of.reviews),
                median: median(times.clone()),
                cpu: cpu / u32::try_from(TIMES).unwrap(),
                keys,
                docs,
                commands,
                found: "done".to_owned(),
            };
            row.print();
        } else {
            let (before, start) = (testbed.cpu().await, Instant::now());
            Box::pin(execute(testbed, of, act, &target)).await;
            times.push(start.elapsed());
            cpu += testbed.since(before).await;
        }
    }
    median(times)
}

/// The review that something is done about, and by whom.
async fn prepare(testbed: &Testbed, of: &Rated, act: Act) -> (String, Option<ReviewKey>) {
    let somebody = format!("somebody {}", mongodb::bson::Uuid::new());
    let query = "query($id: ID!) { product(id: $id) { topReviews(first: 1) { reviewId } } }";
    let top = testbed.data(query, &json!({ "id": of.global() })).await;
    let top = top["product"]["topReviews"][0]["reviewId"]
        .as_str()
        .unwrap();
    let Ok(GlobalId::Review(product, top)) = GlobalId::decode(top) else {
        panic!("{top} is the id of a review")
    };
    let top = (product, top);
    let prepared = match act {
        Act::Submit => (somebody, None),
        Act::Vote => (somebody, Some(top)),
        Act::RemoveVote => {
            let vote = testbed
                .catalog
                .vote_review(&somebody, top, Some(Vote::Helpful));
            assert!(matches!(vote.await.unwrap(), Outcome::Done(_)));
            (somebody, Some(top))
        }
        Act::Delete => {
            let review = submit(testbed, &somebody, of.id).await;
            (somebody, Some((of.id, review)))
        }
        Act::DeleteTop => (author_of(testbed, top.1).await, Some(top)),
    };
    while testbed.catalog.fold_and_move_ranks().await.unwrap().reviews > 0 {}
    prepared
}

async fn execute(
    testbed: &Testbed,
    of: &Rated,
    act: Act,
    (by, review): &(String, Option<ReviewKey>),
) {
    let done = match (act, *review) {
        (Act::Vote, Some(review)) => {
            let vote = testbed.catalog.vote_review(by, review, Some(Vote::Helpful));
            matches!(vote.await.unwrap(), Outcome::Done(_))
        }
        (Act::RemoveVote, Some(review)) => {
            let vote = testbed.catalog.vote_review(by, review, None);
            matches!(vote.await.unwrap(), Outcome::Done(_))
        }
        (Act::Delete | Act::DeleteTop, Some(review)) => {
            let deletion = testbed.catalog.delete_review(by, review, None);
            matches!(deletion.await.unwrap(), Outcome::Done(_))
        }
        _ => {
            submit(testbed, by, of.id).await;
            true
        }
    };
    assert!(done, "{act:?} was refused");
    while testbed.catalog.fold_and_move_ranks().await.unwrap().reviews > 0 {}
}

async fn submit(testbed: &Testbed, author: &str, product: ProductId) -> ReviewId {
    let submitted = testbed
        .catalog
        .submit_review(author, None, product, content());
    match submitted.await.unwrap() {
        Outcome::Done(done) => done.review.id,
        refused @ Outcome::Refused { .. } => panic!("{refused:?}"),
    }
}

async fn author_of(testbed: &Testbed, review: ReviewId) -> String {
    let reviews = testbed.direct.collection::<Document>("reviews");
    let id = review.to_i64();
    let review = reviews.find_one(doc! { "_id": id }).await.unwrap();
    let review = review.expect("it is among the top reviews");
    let author = review.get_document("author").unwrap();
    author.get_str("_id").unwrap().to_owned()
}

impl Rated {
    fn global(&self) -> String {
        GlobalId::Product(self.id).encode()
    }
}

async fn compare(
    testbed: &Testbed,
    title: &str,
    [large, small]: [&Rated; 2],
    case: impl Fn(&Rated) -> Case,
) {
    let mut times = Vec::new();
    for of in [small, large] {
        let name = format!("{title}, {} reviews", of.reviews);
        let row = testbed.measure(&Case { name, ..case(of) }).await;
        times.push(millis(row.median));
    }
    println!("{:<44} {:>9.2} times", "", times[1] / times[0]);
}

/// The cursor behind which the page far down begins, and which page that is: the last one there is,
/// when there are fewer.
async fn cursor(testbed: &Testbed, of: &Rated, sort: &str, filter: &Value) -> (usize, Value) {
    let (mut after, mut rows) = (Value::Null, 0);
    loop {
        let variables = json!({ "id": of.global(), "sort": sort, "filter": filter, "after": after, "first": 100 });
        let data = testbed.data(REVIEWS, &variables).await;
        let page = &data["product"]["reviews"];
        let info = &page["pageInfo"];
        if info["hasNextPage"] == false || rows + 100 > PAGE * (FAR - 1) {
            return (rows / PAGE + 1, after);
        }
        rows += page["nodes"].as_array().map_or(0, Vec::len);
        after = info["endCursor"].clone();
    }
}

/// The product with very many reviews and the one with twenty; their reviews are imported unless
/// an earlier run has.
async fn products(testbed: &Testbed, options: &Options) -> (Rated, Rated) {
    let found = testbed.direct.collection::<Document>("products");
    let find = |skip| {
        found
            .find_one(doc! { "status": "active" })
            .sort(doc! { "sku": -1 })
            .skip(skip)
    };
    let mut both = Vec::new();
    for (skip, reviews) in [(0, options.giant), (1, FEW)] {
        let product = find(skip).await.unwrap().expect("there are products");
        let id = id_of(&product);
        let source = product.get_array("sources").unwrap()[0]
            .as_document()
            .unwrap()
            .clone();
        let source = ExternalRef {
            system: source.get_str("system").unwrap().to_owned(),
            external_id: source.get_str("external_id").unwrap().to_owned(),
        };
        fill(testbed, id, &source, reviews).await;
        both.push(Rated { id, reviews });
    }
    let small = both.pop().expect("two products");
    (both.pop().expect("two products"), small)
}

/// The id of a product as it is stored.
pub(crate) fn id_of(product: &Document) -> ProductId {
    ProductId::from_i64(product.get_i64("_id").expect("a product has an id"))
}

async fn fill(testbed: &Testbed, product: ProductId, source: &ExternalRef, reviews: usize) {
    let start = std::time::Instant::now();
    let mut session = testbed.catalog.import(ImportMode::Write);
    for first in (0..reviews).step_by(BATCH) {
        let drafts = first..(first + BATCH).min(reviews);
        let drafts = drafts.map(|n| draft(source, n)).collect();
        session.reviews(drafts).await.unwrap();
    }
    session.finish().await.unwrap();
    for n in (0..reviews).step_by(BOUGHT) {
        let bought = Purchase {
            product,
            customer: author(n),
            at: None,
            quantity: 1,
            order: None,
        };
        testbed.catalog.record_purchase(bought).await.unwrap();
    }
    while testbed.catalog.fold_and_move_ranks().await.unwrap().reviews > 0 {}
    println!(
        "{reviews} reviews of one product in {:.1} s",
        start.elapsed().as_secs_f64()
    );
}

fn author(n: usize) -> String {
    format!("reader {n}")
}

fn draft(product: &ExternalRef, n: usize) -> ReviewDraft {
    // Most are content, and few reviews are helpful to many.
    let stars = [5, 4, 5, 3, 5, 4, 1, 5, 4, 2][n % 10];
    let helpful = if n.is_multiple_of(97) {
        n % 1_009
    } else {
        n % 4
    };
    let day = i64::try_from(n).unwrap_or(0) % 1_800;
    let minute = i64::try_from(n).unwrap_or(0);
    ReviewDraft {
        origin: ExternalRef {
            system: "giant".to_owned(),
            external_id: format!("{} {n}", product.external_id),
        },
        product: product.clone(),
        author: Some(Author {
            id: AuthorId(author(n)),
            name: format!("Reader {n}"),
        }),
        rating: Stars::new(stars).expect("one to five"),
        recommended: None,
        dimensions: BTreeMap::new(),
        title: format!("What I think of it, part {n}"),
        body: "It came in time, works as it should, and has not disappointed us so far. ".repeat(4),
        language: Some(if n.is_multiple_of(10) { "de" } else { "en" }.to_owned()),
        incentivized: false,
        verified: false,
        media: Vec::new(),
        attributes: Vec::new(),
        helpful: i64::try_from(helpful).unwrap_or(0),
        unhelpful: 0,
        created_at: Some(Timestamp::from_millis(
            1_600_000_000_000 + day * 86_400_000 + minute * 1_000,
        )),
        droppable: Droppable::default(),
    }
}
