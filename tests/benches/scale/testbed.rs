//! Asking one database and measuring what it costs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};
use serde_json::{Map, Value, json};
use vitrine_api::execution::{Engine, GraphqlRequest};
use vitrine_api::graphql::{Role, Session, Viewer};
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_model::money::Currency;
use vitrine_storage::{Store, StoreOptions};

const PROFILE: &str = "system.profile";
/// Something quick is repeated until so much time has passed, so that its CPU can be measured.
const MIN_TIME: Duration = Duration::from_millis(300);
/// But not more often than so many times the rounds that were asked for.
const MAX_REPEATS: usize = 20;
/// The key that is set on products to have their categories counted again.
pub(crate) const TOUCHED: &str = "touched";

const TOUCH: &str = "mutation($input: SetSpecsInput!) {
  setSpecs(input: $input) { product { id } userErrors { code message path } }
}";

/// One database, with everything in front of it that a request goes through but HTTP.
pub(crate) struct Testbed {
    pub(crate) catalog: Catalog,
    /// The database without the service.
    pub(crate) direct: mongodb::Database,
    engine: Engine,
    server: mongodb::Database,
    touches: AtomicUsize,
    /// What asking for the CPU time costs by itself.
    asking: Duration,
    pub(crate) rounds: usize,
}

/// Something to ask.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) document: &'static str,
    pub(crate) variables: Value,
    pub(crate) state: State,
}

/// What a case finds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    /// It was asked before, and nothing has changed since.
    Warm,
    /// This product has just changed.
    Touched(String),
    /// Likewise, and it is asked only once.
    First(String),
}

/// What it cost.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) median: Duration,
    pub(crate) cpu: Duration,
    pub(crate) keys: i64,
    pub(crate) docs: i64,
    pub(crate) commands: u64,
    pub(crate) found: String,
}

impl Testbed {
    /// Opens a database whose collections are there.
    pub(crate) async fn open(uri: &str, database: &str, rounds: usize) -> Self {
        // No observer of commands: with one, the driver decodes each reply twice.
        let options = StoreOptions {
            // What takes too long for the service is to be measured, too.
            max_time: Duration::from_mins(2),
            ..StoreOptions::new(uri, database)
        };
        let store = Store::connect(&options).await.unwrap();
        let options = CatalogOptions::new(Currency::parse("EUR").unwrap(), b"a benchmark".to_vec());
        let catalog = Catalog::open(store, options).await.unwrap();
        let client = mongodb::Client::with_uri_str(uri).await.unwrap();
        let mut testbed = Self {
            catalog,
            direct: client.database(database),
            engine: vitrine_api::graphql::engine().unwrap(),
            server: client.database("admin"),
            touches: AtomicUsize::new(0),
            asking: Duration::ZERO,
            rounds,
        };
        testbed.asking = testbed.calibrate().await;
        testbed
    }

    /// How many commands the service has sent.
    pub(crate) fn commands(&self) -> u64 {
        self.catalog
            .command_times()
            .iter()
            .map(|times| times.count)
            .sum()
    }

    /// The answer to a shopper.
    pub(crate) async fn ask(&self, document: &str, variables: &Value) -> Value {
        self.ask_as(&Viewer::default(), document, variables).await
    }

    /// The data of an answer that must not hold errors.
    pub(crate) async fn data(&self, document: &str, variables: &Value) -> Value {
        let mut body = self.ask(document, variables).await;
        assert!(
            body.get("errors").is_none(),
            "{document}\n{variables}\n{body:#}"
        );
        body["data"].take()
    }

    /// Sets one spec of a product, as an admin does.
    pub(crate) async fn set_spec(&self, product: &str, spec: Value) {
        let admin = Viewer {
            subject: Some("admin".to_owned()),
            roles: vec![Role::Admin],
        };
        let input = json!({ "input": { "productId": product, "specs": [spec] } });
        let body = self.ask_as(&admin, TOUCH, &input).await;
        let refused = &body["data"]["setSpecs"]["userErrors"];
        assert_eq!(refused, &json!([]), "setSpecs: {body:#}");
    }

    /// Changes a product, so that what was counted of its categories is out of date.
    pub(crate) async fn touch(&self, product: &str) {
        let number = self.touches.fetch_add(1, Ordering::Relaxed);
        self.set_spec(product, json!({ "key": TOUCHED, "number": number }))
            .await;
    }

    /// Measures a case, and prints its row.
    pub(crate) async fn measure(&self, case: &Case) -> Row {
        let rounds = match case.state {
            State::First(_) => 1,
            State::Warm | State::Touched(_) => self.rounds,
        };
        let (times, cpu, found) = match &case.state {
            State::Warm => self.repeat(case, rounds).await,
            State::Touched(product) | State::First(product) => {
                self.repeat_touched(case, product, rounds).await
            }
        };
        let (keys, docs, commands) = Box::pin(self.profile(case)).await;
        let row = Row {
            name: case.name.clone(),
            median: median(times),
            cpu,
            keys,
            docs,
            commands,
            found,
        };
        row.print();
        row
    }

    /// All rounds between two looks at the CPU time.
    async fn repeat(&self, case: &Case, rounds: usize) -> (Vec<Duration>, Duration, String) {
        let found = self.case(case).await;
        let mut times = Vec::new();
        let (start, before) = (Instant::now(), self.cpu().await);
        while times.len() < rounds
            || (start.elapsed() < MIN_TIME && times.len() < rounds * MAX_REPEATS)
        {
            let start = Instant::now();
            self.case(case).await;
            times.push(start.elapsed());
        }
        let cpu = self.since(before).await / u32::try_from(times.len()).unwrap();
        (times, cpu, found)
    }

    /// Each round between two looks at the CPU time, because the touches do not count.
    async fn repeat_touched(
        &self,
        case: &Case,
        product: &str,
        rounds: usize,
    ) -> (Vec<Duration>, Duration, String) {
        let (mut times, mut cpu, mut found) = (Vec::new(), Vec::new(), String::new());
        for _ in 0..rounds {
            self.touch(product).await;
            let (before, start) = (self.cpu().await, Instant::now());
            found = self.case(case).await;
            times.push(start.elapsed());
            cpu.push(self.since(before).await);
        }
        (times, median(cpu), found)
    }

    async fn case(&self, case: &Case) -> String {
        found(&self.ask(case.document, &case.variables).await)
    }

    async fn ask_as(&self, viewer: &Viewer, document: &str, variables: &Value) -> Value {
        let session = Session::new(&self.catalog, viewer);
        let mut request = GraphqlRequest::new(document).request_id("scale");
        request.variables = variables.as_object().map_or_else(Map::new, Clone::clone);
        let response = self
            .engine
            .execute(request, |request| session.attach(request));
        serde_json::from_slice(&response.await.json()).unwrap()
    }

    /// Keys and documents that the server examines for a case, and the commands it is sent.
    async fn profile(&self, case: &Case) -> (i64, i64, u64) {
        if let State::Touched(product) | State::First(product) = &case.state {
            self.touch(product).await;
        }
        Box::pin(self.profile_of(self.case(case))).await
    }

    /// Keys and documents that the server examines for some work, and the commands it is sent.
    pub(crate) async fn profile_of<T>(&self, work: impl Future<Output = T>) -> (i64, i64, u64) {
        let entries = self.direct.collection::<Document>(PROFILE);
        entries.drop().await.unwrap();
        // The usual size of the collection would hold a few hundred entries.
        let create = doc! { "create": PROFILE, "capped": true, "size": 64_i64 << 20 };
        self.direct.run_command(create).await.unwrap();
        self.direct
            .run_command(doc! { "profile": 2 })
            .await
            .unwrap();
        let before = self.commands();
        work.await;
        let commands = self.commands() - before;
        self.direct
            .run_command(doc! { "profile": 0 })
            .await
            .unwrap();
        let own = format!("{}.{PROFILE}", self.direct.name());
        let entries = entries.find(doc! { "ns": { "$ne": own } }).await.unwrap();
        let entries: Vec<Document> = entries.try_collect().await.unwrap();
        let sum = |field| entries.iter().map(|entry| number(entry, field)).sum();
        (sum("keysExamined"), sum("docsExamined"), commands)
    }

    /// The CPU time that the server has used since its start.
    pub(crate) async fn cpu(&self) -> Duration {
        // Only what is needed, because the whole report takes milliseconds.
        let status = doc! {
            "serverStatus": 1, "asserts": 0, "batchedDeletes": 0, "catalogStats": 0,
            "connections": 0, "electionMetrics": 0, "features": 0, "flowControl": 0,
            "globalLock": 0, "indexBulkBuilder": 0, "indexStats": 0, "locks": 0,
            "logicalSessionRecordCache": 0, "metrics": 0, "mirroredReads": 0, "network": 0,
            "opLatencies": 0, "opcounters": 0, "opcountersRepl": 0, "oplogTruncation": 0,
            "readConcernCounters": 0, "repl": 0, "scramCache": 0, "security": 0,
            "storageEngine": 0, "tcmalloc": 0, "tenantMigrations": 0, "trafficRecording": 0,
            "transactions": 0, "transportSecurity": 0, "twoPhaseCommitCoordinator": 0,
            "wiredTiger": 0, "writeBacksQueued": 0,
        };
        let status = self.server.run_command(status).await.unwrap();
        let extra = status.get_document("extra_info").unwrap();
        let micros = number(extra, "user_time_us") + number(extra, "system_time_us");
        Duration::from_micros(u64::try_from(micros).unwrap())
    }

    /// The CPU time since then, without what asking costs.
    pub(crate) async fn since(&self, before: Duration) -> Duration {
        self.cpu()
            .await
            .saturating_sub(before)
            .saturating_sub(self.asking)
    }

    async fn calibrate(&self) -> Duration {
        let mut costs = Vec::new();
        for _ in 0..50 {
            let before = self.cpu().await;
            costs.push(self.cpu().await.saturating_sub(before));
        }
        median(costs)
    }
}

impl Row {
    /// The line above the rows.
    pub(crate) fn print_head(title: &str) {
        println!("\n{title}");
        println!(
            "{:<44} {:>9} {:>9} {:>9} {:>9} {:>5}  found",
            "", "p50 ms", "CPU ms", "keys", "docs", "cmds"
        );
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<44} {:>9.2} {:>9.2} {:>9} {:>9} {:>5}  {}",
            self.name,
            millis(self.median),
            millis(self.cpu),
            self.keys,
            self.docs,
            self.commands,
            self.found
        );
    }
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A number of any width; 0 when there is none.
pub(crate) fn number(document: &Document, field: &str) -> i64 {
    match document.get(field) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        #[expect(clippy::cast_possible_truncation, reason = "sizes are whole")]
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    }
}

/// How much an answer holds, in words.
fn found(body: &Value) -> String {
    if let Some(error) = body.pointer("/errors/0") {
        let code = error["extensions"]["code"].as_str().unwrap_or("error");
        return format!("{code}: {}", error["message"].as_str().unwrap_or_default());
    }
    let data = body["data"]
        .as_object()
        .and_then(|data| data.values().next());
    let Some(data) = data else {
        return "nothing".to_owned();
    };
    let size = |value: &Value| value.as_array().map(Vec::len);
    if let Some(facets) = data["facets"].as_array() {
        let values: usize = facets
            .iter()
            .filter_map(|facet| size(&facet["values"]))
            .sum();
        let accuracy = facets.iter().filter_map(|facet| facet["accuracy"].as_str());
        let accuracy = accuracy.collect::<BTreeSet<_>>().into_iter();
        let accuracy = accuracy.collect::<Vec<_>>().join(" ");
        return format!("{} facets, {values} values, {accuracy}", facets.len());
    }
    match size(data).or_else(|| size(&data["nodes"])) {
        Some(rows) => format!("{rows}{}", reading(&data["search"])),
        None => "1".to_owned(),
    }
}

/// What became of the words of a search.
fn reading(search: &Value) -> String {
    let words = search["words"].as_array().map_or(&[][..], Vec::as_slice);
    let readings = words.iter().filter_map(|word| word["reading"].as_str());
    let mut readings: Vec<&str> = readings.collect();
    readings.dedup();
    if readings.is_empty() {
        String::new()
    } else {
        format!(", {}", readings.join(" "))
    }
}
