//! What a query costs, beside its price.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use vitrine_api::execution::{Engine, ErrorCode, GraphqlRequest, GraphqlResponse};
use vitrine_api::graphql::{CostGuard, CostLimits, Session, Viewer};

use crate::ALLOCATOR;
use crate::queries::Query;
use crate::testbed::Testbed;

/// A query is repeated for this long, so that its CPU time can be measured.
const MIN_TIME: Duration = Duration::from_millis(120);
/// But at least this often.
const MIN_ROUNDS: u32 = 5;

/// Runs queries of an anonymous caller.
pub(crate) struct Bench<'a> {
    testbed: &'a Testbed,
    engine: Engine,
    /// The most that a request may cost, in units.
    pub(crate) limit: u64,
}

/// What one request costs.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub(crate) price: Duration,
    pub(crate) own: Duration,
    pub(crate) mongod: Duration,
    pub(crate) documents: usize,
    pub(crate) bytes: usize,
    pub(crate) memory: usize,
    pub(crate) is_error: bool,
}

impl Cost {
    /// The CPU time of this process and of mongod.
    pub(crate) fn cpu(&self) -> Duration {
        self.own + self.mongod
    }

    /// The CPU time as a multiple of the price.
    pub(crate) fn ratio(&self) -> f64 {
        self.cpu().as_secs_f64() / self.price.as_secs_f64()
    }
}

impl<'a> Bench<'a> {
    pub(crate) fn new(testbed: &'a Testbed) -> Self {
        Self {
            testbed,
            engine: vitrine_api::graphql::engine().unwrap(),
            limit: CostLimits::default().public,
        }
    }

    /// The price in units; `None` if the query is invalid or exceeds a limit of documents.
    pub(crate) fn price(&self, query: &Query) -> Option<u64> {
        let limits = CostLimits {
            public: u64::MAX,
            staff: u64::MAX,
        };
        let guard = CostGuard::new(&self.testbed.catalog, &Viewer::default(), limits);
        let prepared = self.engine.prepare(request(query));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(errors) if errors[0].extensions.code == ErrorCode::CostExceeded => return None,
            Err(errors) => panic!("{}\n{errors:?}", query.document),
        };
        guard.check(&prepared).extensions["cost"]["requested"].as_u64()
    }

    /// The mean of several rounds.
    pub(crate) async fn measure(&self, query: &Query) -> Cost {
        let mut cost = self.once(query).await;
        if cost.is_error {
            return cost;
        }
        let (mut rounds, start) = (0, Instant::now());
        let (own, mongod) = (own_cpu(), self.testbed.cpu().await);
        while rounds < MIN_ROUNDS || start.elapsed() < MIN_TIME {
            let _ = self.run(query).await.json();
            rounds += 1;
        }
        cost.own = own_cpu().saturating_sub(own) / rounds;
        cost.mongod = self.testbed.since(mongod).await / rounds;
        let (_, documents, _) = self.testbed.profile_of(self.run(query)).await;
        cost.documents = usize::try_from(documents).unwrap();
        cost
    }

    /// One round: the first loads what is kept in memory, the second is measured.
    pub(crate) async fn once(&self, query: &Query) -> Cost {
        let is_error = !self.run(query).await.errors.is_empty();
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        let (own, mongod) = (own_cpu(), self.testbed.cpu().await);
        let bytes = self.run(query).await.json().len();
        let peak = ALLOCATOR.peak_usage();
        let own = own_cpu().saturating_sub(own);
        Cost {
            price: Duration::from_micros(10 * self.price(query).unwrap()),
            own,
            mongod: self.testbed.since(mongod).await,
            documents: 0,
            bytes,
            memory: peak.saturating_sub(before),
            is_error,
        }
    }

    async fn run(&self, query: &Query) -> GraphqlResponse {
        let viewer = Viewer::default();
        let session = Session::new(&self.testbed.catalog, &viewer);
        let limits = CostLimits {
            public: u64::MAX,
            staff: u64::MAX,
        };
        let guard = CostGuard::new(&self.testbed.catalog, &viewer, limits);
        let check = |prepared: &_| guard.check(prepared);
        self.engine
            .execute_with(request(query), check, |request| session.attach(request))
            .await
    }
}

fn request(query: &Query) -> GraphqlRequest {
    let mut request = GraphqlRequest::new(&query.document).request_id("costs");
    request.variables = match &query.variables {
        Value::Object(variables) => variables.clone(),
        _ => Map::new(),
    };
    request
}

/// The CPU time that all threads of this process have used.
fn own_cpu() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let nanos = threads.map(|thread| {
        let path = thread.unwrap().path().join("schedstat");
        // A thread may have ended meanwhile.
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        stat.split(' ')
            .next()
            .and_then(|nanos| nanos.parse().ok())
            .unwrap_or(0)
    });
    Duration::from_nanos(nanos.sum())
}
