//! Honest callers, hostile ones and faults at the same time, for as long as wanted: two processes
//! that serve and one that works, on a replica set of three servers.
//!
//! What must hold afterwards: each acknowledged review is stored once, no answer had the code
//! `INTERNAL`, no process panicked. The audit of the test checks the rest.

mod attackers;
mod fleet;
pub(crate) mod fuzzer;
mod honest;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use mongodb::bson::doc;
use vitrine_model::id::{GlobalId, ProductId, ReviewId};
use vitrine_storage::migrations::FILES;

use self::fleet::Fleet;
use self::fuzzer::Fuzzer;
use self::honest::Shop;
use vitrine_harness::{App, Members, product};

/// What is done, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// How long all of it lasts.
    pub(crate) duration: Duration,
    /// The time between the end of a fault and the next one.
    pub between_faults: Duration,
    /// How long a frozen server is frozen. Its set waits two seconds before it elects another primary.
    pub frozen: Duration,
    /// How many products there are.
    pub(crate) products: usize,
    /// How many callers read product pages, one after the other.
    pub(crate) readers: usize,
    /// How many callers write reviews, one after the other.
    pub(crate) writers: usize,
    /// How many callers send the most expensive requests that are allowed, or leave without an answer.
    pub(crate) attackers: usize,
    /// How many callers send random requests, one of three as an admin.
    pub(crate) fuzzers: usize,
    /// The seed of what is random.
    pub(crate) seed: u64,
}

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The ids of acknowledged reviews.
    pub(crate) acknowledged: Vec<String>,
    /// The times of product pages that were answered, and when.
    pub(crate) pages: Vec<(Instant, Duration)>,
    /// When a page was not answered, and why.
    pub(crate) unanswered: Vec<(Instant, String)>,
    /// How many answers attackers and fuzzers got, by code; `OK` without an error.
    pub(crate) codes: BTreeMap<String, usize>,
    /// Answers that no request should get.
    pub(crate) wrong: Vec<String>,
    /// When something failed, what it was, and when all processes were ready again.
    pub(crate) faults: Vec<(Instant, &'static str, Instant)>,
    /// The memory of the largest process in bytes, every second.
    pub(crate) memory: Vec<(Instant, u64)>,
}

/// What all callers share.
struct Stage {
    addresses: Mutex<Vec<String>>,
    over: AtomicBool,
    report: Mutex<Report>,
}

impl Stage {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Returns the address of one of the processes.
    fn address(&self, caller: usize) -> String {
        let addresses = self.addresses.lock().expect("nobody panics with the lock");
        addresses[caller % addresses.len()].clone()
    }

    fn report<T>(&self, note: impl FnOnce(&mut Report) -> T) -> T {
        note(&mut self.report.lock().expect("nobody panics with the lock"))
    }
}

/// Runs it and checks what must hold, but for the audit.
///
/// # Panics
/// When it does not hold.
pub(crate) async fn endure(app: &App, members: &Members, plan: &Plan) -> Report {
    let migrated = app.store.migrate(FILES, "endurance", false, &|_| {}).await;
    migrated.expect("the database answers");
    let things = (0..plan.products).map(|number| {
        let brand = format!("brand {}", number % 7);
        let thing = product(&format!("Thing {number}")).brand(&brand);
        let thing = thing.description("A thing like others, described in a sentence or two.");
        let thing = thing.text("colour", ["red", "green", "blue"][number % 3]);
        let number = u32::try_from(number).expect("few products");
        thing
            .quantity("width", f64::from(number % 90), "cm")
            .price(&format!("{number}.50"))
    });
    app.has(things).await;
    app.run_background_work().await;
    let shop = Shop::read(app).await;
    let fleet = Fleet::start(&members.uri(), app.store.database_name()).await;
    let stage = Stage {
        addresses: Mutex::new(fleet.addresses()),
        over: AtomicBool::new(false),
        report: Mutex::default(),
    };
    let readers = (0..plan.readers).map(|number| honest::read(&stage, &shop, number));
    let writers = (0..plan.writers).map(|number| honest::write(&stage, &shop, number));
    let attackers = (0..plan.attackers).map(|number| attackers::attack(&stage, number));
    let fuzzers = (0..plan.fuzzers).map(|number| {
        let fuzzer = Fuzzer::new(plan.seed.wrapping_add(number as u64), shop.others());
        attackers::fuzz(&stage, fuzzer, number)
    });
    let callers = join(
        join(join_all(readers), join_all(writers)),
        join(join_all(attackers), join_all(fuzzers)),
    );
    let (fleet, _) = join(fleet.run(&stage, members, plan), callers).await;
    let outputs = fleet.stop().await;
    let report = stage.report.into_inner().expect("nobody panics");
    for output in outputs {
        assert!(!output.contains("panicked"), "{output}");
    }
    assert!(report.wrong.is_empty(), "{:#?}", report.wrong);
    assert_stored_once(app, &report).await;
    report
}

/// Asserts that exactly the acknowledged reviews of honest writers are stored.
async fn assert_stored_once(app: &App, report: &Report) {
    let acknowledged: BTreeSet<&str> = report.acknowledged.iter().map(String::as_str).collect();
    assert_eq!(acknowledged.len(), report.acknowledged.len());
    let honest = doc! { "author.name": honest::AUTHOR_NAME };
    let stored = app.documents("reviews", honest).await;
    let stored = stored.iter().map(|review| {
        let product = ProductId::from_i64(review.get_i64("product_id").expect("a number"));
        let review = ReviewId::from_i64(review.get_i64("_id").expect("a number"));
        GlobalId::Review(product, review).encode()
    });
    let stored: BTreeSet<String> = stored.collect();
    let stored: BTreeSet<&str> = stored.iter().map(String::as_str).collect();
    assert_eq!(stored, acknowledged);
}
