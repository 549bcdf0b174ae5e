//! A replica set of three members of which some fail: the service continues with the others, and no
//! acknowledged write is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mongodb::bson::{Document, doc};
use tokio::task::JoinSet;
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::{ReviewContent, Reviewed};
use vitrine_domain::{Catalog, DomainError};
use vitrine_harness::{App, eventually, product, test_on_replica_set};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::ProductStatus;
use vitrine_storage::products::ProductKey;

/// A generous deadline for a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// When the last write without a majority must have its error. The server gives up after five seconds and a caller after six.
/// Six seconds after a write began, none of its steps joins a batch any more.
const IN_TIME: Duration = Duration::from_secs(20);

/// The number of concurrent writers: more than there are permits for writes.
const WRITERS: usize = 80;

const PAGE: &str = r#"{ product(slug: "lamp") { name ratingStats { count } specs { text } } }"#;

async fn new_product(app: &App, name: &str) -> ProductId {
    app.has([product(name)]).await;
    let key = ProductKey::Slug(name.to_owned());
    let found = app.store.get_product(&key, &ProductStatus::ALL).await;
    found.unwrap().unwrap().product().unwrap().id
}

/// Submits a review with an idempotency key of its author.
async fn submit(
    catalog: &Catalog,
    author: &str,
    product: ProductId,
) -> Result<Reviewed, DomainError> {
    let content = ReviewContent {
        rating: 4,
        recommended: None,
        dimensions: Vec::new(),
        title: String::new(),
        body: "What there is to say.".to_owned(),
        language: None,
        media: Vec::new(),
        author_name: None,
    };
    let key = Some(format!("key of {author}"));
    match catalog.submit_review(author, key, product, content).await? {
        Outcome::Done(reviewed) => Ok(reviewed),
        Outcome::Refused { refusals, .. } => panic!("{refusals:?}"),
    }
}

/// Submits a review until it is acknowledged.
async fn acknowledged(catalog: &Catalog, author: &str, product: ProductId) -> ReviewId {
    let submitted = async {
        loop {
            if let Ok(reviewed) = submit(catalog, author, product).await {
                return reviewed.review.id;
            }
            tokio::task::yield_now().await;
        }
    };
    let submitted = tokio::time::timeout(LONG, submitted).await;
    submitted.expect("a review is acknowledged")
}

/// Writers that submit one review after the other, each until it is acknowledged.
struct Writers {
    tasks: JoinSet<Vec<ReviewId>>,
    count: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Writers {
    fn start(app: &App, products: &[ProductId]) -> Self {
        let mut writers = Self {
            tasks: JoinSet::new(),
            count: Arc::default(),
            stop: Arc::default(),
        };
        for writer in 0..8 {
            let (catalog, product) = (app.catalog.clone(), products[writer % products.len()]);
            let (count, stop) = (Arc::clone(&writers.count), Arc::clone(&writers.stop));
            writers.tasks.spawn(async move {
                let mut written = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    let author = format!("writer {writer} for the {}th time", written.len());
                    written.push(acknowledged(&catalog, &author, product).await);
                    count.fetch_add(1, Ordering::SeqCst);
                }
                written
            });
        }
        writers
    }

    /// Waits until this many more reviews are acknowledged.
    async fn write(&self, more: usize) {
        let count = || self.count.load(Ordering::SeqCst);
        let enough = count() + more;
        let look = async || (count() >= enough).then_some(());
        eventually("reviews that are acknowledged", LONG, look).await;
    }

    /// Stops the writers; returns all acknowledged reviews.
    async fn stop(self) -> Vec<ReviewId> {
        self.stop.store(true, Ordering::SeqCst);
        self.tasks.join_all().await.concat()
    }
}

/// Asserts that exactly the acknowledged reviews are stored.
async fn assert_stored(app: &App, acknowledged: &[ReviewId]) {
    let stored = app.documents("reviews", doc! {}).await;
    let id = |review: &Document| ReviewId::from_i64(review.get_i64("_id").unwrap());
    let mut stored: Vec<ReviewId> = stored.iter().map(id).collect();
    let mut acknowledged = acknowledged.to_vec();
    stored.sort();
    acknowledged.sort();
    assert_eq!(stored, acknowledged);
}

#[test]
fn writes_continue_when_the_primary_freezes_and_no_acknowledged_write_is_lost() {
    test_on_replica_set(async |app, members| {
        let products = [
            new_product(app, "lamp").await,
            new_product(app, "chair").await,
        ];
        let writers = Writers::start(app, &products);
        writers.write(20).await;
        let frozen = members.primary().await;
        members.freeze(frozen);
        assert_ne!(members.primary().await, frozen);
        writers.write(20).await;
        members.thaw(frozen);
        writers.write(20).await;
        assert_stored(app, &writers.stop().await).await;
    });
}

#[test]
fn writes_continue_when_the_primary_is_killed() {
    test_on_replica_set(async |app, members| {
        let products = [new_product(app, "lamp").await];
        let writers = Writers::start(app, &products);
        writers.write(20).await;
        members.kill(members.primary().await);
        writers.write(20).await;
        assert_stored(app, &writers.stop().await).await;
    });
}

/// Lets all writers write at once, and asserts that each gets an error. Meanwhile `read` is called,
/// and must return at least once before the last writer has its error.
async fn assert_unacknowledged(app: &App, product: ProductId, read: impl AsyncFn()) {
    let mut writes = JoinSet::new();
    for writer in 0..WRITERS {
        let catalog = app.catalog.clone();
        let author = format!("writer {writer}");
        writes.spawn(async move { submit(&catalog, &author, product).await });
    }
    let begun = async || (!app.sent().is_empty()).then_some(());
    eventually("a write that has begun", LONG, begun).await;
    let answered = async {
        let (mut answers, mut reads_during_writes) = (Vec::new(), 0);
        for _ in 0..20 {
            read().await;
            while let Some(answer) = writes.try_join_next() {
                answers.push(answer.unwrap());
            }
            reads_during_writes += usize::from(answers.len() < WRITERS);
        }
        assert!(reads_during_writes > 0, "writes do not block reads");
        answers.extend(writes.join_all().await);
        answers
    };
    let answered = tokio::time::timeout(IN_TIME, answered).await;
    let answers = answered.expect("every write is answered in time");
    for answer in answers {
        let error = answer.map(|reviewed| reviewed.review.id).unwrap_err();
        assert!(
            matches!(error, DomainError::Timeout(_) | DomainError::Unavailable(_)),
            "{error:?}"
        );
    }
}

/// Lets all writers submit their reviews again.
async fn all_write_again(app: &App, product: ProductId) {
    let mut written = Vec::new();
    for writer in 0..WRITERS {
        let author = format!("writer {writer}");
        written.push(acknowledged(&app.catalog, &author, product).await);
    }
    assert_stored(app, &written).await;
}

#[test]
fn without_a_majority_writes_fail_in_time_and_reads_are_answered() {
    test_on_replica_set(async |app, members| {
        let product = new_product(app, "lamp").await;
        app.forget_commands();
        let behind = members.secondaries().await;
        for member in &behind {
            members.stop_replication(*member).await;
        }
        let read = async || {
            assert_eq!(app.query(PAGE).await.text("/product/name"), "lamp");
        };
        assert_unacknowledged(app, product, read).await;
        for member in behind {
            members.resume_replication(member).await;
        }
        all_write_again(app, product).await;
    });
}

#[test]
fn writes_fail_in_time_while_both_secondaries_are_frozen() {
    test_on_replica_set(async |app, members| {
        let product = new_product(app, "lamp").await;
        app.forget_commands();
        let frozen = members.secondaries().await;
        for member in &frozen {
            members.freeze(*member);
        }
        assert_unacknowledged(app, product, async || {}).await;
        for member in frozen {
            members.thaw(member);
        }
        all_write_again(app, product).await;
    });
}
