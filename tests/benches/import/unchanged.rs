//! What lines cost that change nothing: the time, the CPU time of both processes, and what the server reads.

use std::time::{Duration, Instant};

use mongodb::Database;
use mongodb::bson::{Document, doc};
use vitrine_storage::{Store, StoreOptions};

use crate::{import_feed, open};

const DATABASE: &str = "bench_unchanged";
/// `USER_HZ`, the unit of `/proc/PID/stat` on Linux.
const TICKS: u64 = 100;

/// What the server has done since its start.
struct Work {
    micros: i64,
    commands: i64,
    keys: i64,
    documents: i64,
}

/// Imports a feed, and again so many times.
pub(crate) async fn run(uri: &str, feed: &[String], times: usize) {
    let [file, mapping] = feed else {
        unreachable!("the option needs a feed");
    };
    let store = Store::connect(&StoreOptions::new(uri, DATABASE))
        .await
        .unwrap();
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let database = client.database(DATABASE);
    if database.list_collection_names().await.unwrap().is_empty() {
        store.create_schema().await.unwrap();
    }
    import_feed(&open(&store).await, file, mapping).await;
    let admin = client.database("admin");
    println!(
        "round   lines  lines/s  service µs/line  mongod µs/line  commands  keys/line  documents/line"
    );
    for round in 1..=times {
        let catalog = open(&store).await;
        let before = (Work::of(&admin).await, own_cpu());
        let start = Instant::now();
        let counts = import_feed(&catalog, file, mapping).await;
        let elapsed = start.elapsed();
        let own = own_cpu().saturating_sub(before.1);
        let after = Work::of(&admin).await;
        assert_eq!(
            (counts.created, counts.updated),
            (0, 0),
            "all lines are unchanged"
        );
        let lines = f64::from(u32::try_from(counts.lines).unwrap());
        let each = |of: fn(&Work) -> i64| {
            f64::from(i32::try_from(of(&after) - of(&before.0)).unwrap()) / lines
        };
        println!(
            "{round:5}  {lines:6}  {:7.0}  {:15.1}  {:14.1}  {:8.0}  {:9.2}  {:14.2}",
            lines / elapsed.as_secs_f64(),
            own.as_secs_f64() * 1e6 / lines,
            each(|work| work.micros),
            each(|work| work.commands) * lines,
            each(|work| work.keys),
            each(|work| work.documents),
        );
    }
}

impl Work {
    async fn of(admin: &Database) -> Self {
        let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
        let number = |path: &str| {
            let (name, inside) = path.rsplit_once('.').unwrap();
            let mut at: &Document = &status;
            for name in name.split('.') {
                at = at.get_document(name).unwrap();
            }
            let number = at.get(inside).unwrap();
            number
                .as_i64()
                .or_else(|| number.as_i32().map(i64::from))
                .unwrap()
        };
        Self {
            micros: number("extra_info.user_time_us") + number("extra_info.system_time_us"),
            commands: number("opcounters.query")
                + number("opcounters.getmore")
                + number("opcounters.command"),
            keys: number("metrics.queryExecutor.scanned"),
            documents: number("metrics.queryExecutor.scannedObjects"),
        }
    }
}

/// The CPU time of this process.
fn own_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program may have blanks; it is in parentheses.
    let (_, after) = stat.rsplit_once(')').unwrap();
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}
