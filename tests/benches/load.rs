//! What a real service and its database need under load, beside floors in the same run.
//!
//! `cargo bench --bench load -- [OPTIONS]`
//!
//! The options, the rows and the columns are described in `tests/benches/README.md`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]
#![expect(
    dead_code,
    reason = "the modules that benchmarks share have more than each of them needs"
)]

#[path = "load/client.rs"]
mod client;
#[path = "load/counters.rs"]
mod counters;
#[path = "load/facts.rs"]
mod facts;
#[path = "load/floors.rs"]
mod floors;
#[path = "scale/generated.rs"]
mod generated;
#[path = "load/instructions.rs"]
mod instructions;
#[path = "scale/load.rs"]
mod load;
#[path = "load/measure.rs"]
mod measure;
#[path = "scale/probe.rs"]
mod probe;
#[path = "load/processes.rs"]
mod processes;
#[path = "scale/random.rs"]
mod random;
#[path = "load/report.rs"]
mod report;
#[path = "load/rows.rs"]
mod rows;
#[path = "scale/specs.rs"]
mod specs;
#[path = "scale/start.rs"]
mod start;
#[path = "load/storefront.rs"]
mod storefront;
#[path = "scale/testbed.rs"]
mod testbed;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Parser;
use client::Client;
use facts::Facts;
use load::Contents;
use measure::{Method, Subject};
use processes::{Build, Flags, Mode, Place, Running, memory};
use random::{Purpose, Random};
use report::{Line, Process, Report};
use serde_json::{Value, json};
use start::start;
use tempfile::TempDir;
use testbed::{Testbed, millis};
use vitrine_domain::facets::PanelState;
use vitrine_domain::workers::Worker;
use vitrine_mongod::Instance;

const NAME: &str = "load";
/// The category of huge products in made-up catalogues.
const HEAVY: &str = "heavyweights";

#[derive(Parser)]
struct Options {
    /// The products of the generated catalogue.
    #[arg(long, default_value_t = 20_000)]
    products: usize,
    /// The reviews of the generated catalogue.
    #[arg(long, default_value_t = 300_000)]
    reviews: usize,
    /// Keeps the loaded database there; every run works on a copy of it.
    #[arg(long)]
    data: Option<PathBuf>,
    /// A build of the service, `NAME=PATH` or a path; may be repeated.
    #[arg(long = "binary")]
    binaries: Vec<Build>,
    /// Further flags of `serve` for a build: `NAME=FLAGS`; may be repeated.
    #[arg(long = "flags", allow_hyphen_values = true)]
    flags: Vec<Flags>,
    /// Only rows whose name contains this, with their floors; may be repeated.
    #[arg(long)]
    only: Vec<String>,
    /// Concurrent connections.
    #[arg(long, default_value_t = 4)]
    connections: usize,
    /// How often each row is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How many seconds each row of a round lasts.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Writes the results to this file.
    #[arg(long)]
    save: Option<PathBuf>,
    /// Compares with a file of an earlier run.
    #[arg(long)]
    against: Option<PathBuf>,
    /// Counts the instructions of so many requests of each row with valgrind, instead of load.
    #[arg(long)]
    instructions: Option<usize>,
    /// Serves the floors of the database with this connection string.
    #[arg(long, hide = true)]
    floors: Option<String>,
    #[arg(long, hide = true, default_value = NAME)]
    floor_database: String,
    #[arg(long, hide = true, default_value_t = 0)]
    floor_bytes: usize,
}

fn main() {
    start(run);
}

async fn run(options: Options) {
    if let Some(uri) = &options.floors {
        floors::serve(uri, &options.floor_database, options.floor_bytes).await;
        return;
    }
    let (directory, server) = database(&options).await;
    let testbed = Testbed::open(server.uri(), NAME, 1).await;
    load::precompute_panels(&testbed.catalog).await;
    let facts = Facts::of(&testbed.direct).await;
    facts.print();
    let place = Place {
        uri: server.uri(),
        database: NAME,
        logs: directory.path(),
        mode: options.mode(),
    };
    let subjects = subjects(&options, &facts, &place).await;
    if let Some(requests) = options.instructions {
        instructions::measure(&subjects, requests, place.logs);
    } else {
        measure(&options, &subjects, &testbed, server.pid()).await;
    }
    for subject in subjects {
        subject.process.stop();
    }
    drop(testbed);
    server.stop().await.unwrap();
}

impl Options {
    fn mode(&self) -> Mode {
        if self.instructions.is_some() {
            Mode::Counted
        } else {
            Mode::Plain
        }
    }
}

/// Measures all rows, and reports.
async fn measure(options: &Options, subjects: &[Subject], testbed: &Testbed, mongod: u32) {
    let method = Method {
        database: &testbed.direct,
        mongod,
        connections: options.connections,
        rounds: options.rounds,
        time: Duration::from_secs(options.seconds),
    };
    let mut all = method.run(subjects, false, async || ()).await;
    let settle = async || settle(testbed).await;
    all.extend(method.run(subjects, true, settle).await);
    let processes = subjects.iter().map(|subject| described(&subject.process));
    let report = Report {
        about: about(options),
        lines: all.into_iter().map(Line::of).collect(),
        processes: processes.collect(),
    };
    report.print();
    if let Some(file) = &options.against {
        report.compare(file);
    }
    if let Some(file) = &options.save {
        report.save(file);
    }
}

/// A mongod with the generated catalogue, which may be changed: a copy if the data is kept. The
/// directory goes when it is dropped.
async fn database(options: &Options) -> (TempDir, Instance) {
    let contents = Contents::Generated {
        seed: 7,
        products: options.products,
        reviews: options.reviews,
    };
    let kept = options
        .data
        .as_ref()
        .map(|data| data.join(format!("{}-{}", options.products, options.reviews)));
    let (temporary, server) = load::server(kept.clone()).await;
    load::fill(server.uri(), NAME, &contents).await;
    let Some(kept) = kept else {
        return (temporary, server);
    };
    let testbed = Testbed::open(server.uri(), NAME, 1).await;
    load::precompute_panels(&testbed.catalog).await;
    drop(testbed);
    server.stop().await.unwrap();
    let copy = tempfile::tempdir_in(options.data.as_ref().unwrap()).unwrap();
    copy_files(&kept, &copy.path().join("data"));
    let (_, server) = load::server(Some(copy.path().join("data"))).await;
    (copy, server)
}

fn copy_files(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=auto"]).args([from, to]);
    assert!(copy.status().unwrap().success(), "the data can be copied");
}

/// Starts what is measured, and checks that it answers as expected.
async fn subjects(options: &Options, facts: &Facts, place: &Place<'_>) -> Vec<Subject> {
    let mut builds = options.binaries.clone();
    if builds.is_empty() {
        builds.push(Build::of_this_tree());
    }
    let mut subjects = Vec::new();
    for build in &builds {
        let process = Running::service(build, &options.flags, place).await;
        println!("{}: {}", build.name, build.path.display());
        let rows = rows::of_build(
            facts,
            (&build.name, &process.address),
            &options.only,
            options.mode(),
        );
        subjects.push(Subject { process, rows });
    }
    let bytes = size_of_page(&subjects[0]);
    let process = Running::floors(bytes, place).await;
    let rows = rows::of_floors(facts);
    subjects.insert(0, Subject { process, rows });
    keep(&options.only, &mut subjects);
    subjects
}

/// The size of a product page.
fn size_of_page(subject: &Subject) -> usize {
    let page = subject
        .rows
        .iter()
        .find(|row| row.name == rows::PAGE)
        .unwrap();
    let mut client = Client::open(&subject.process.address).unwrap();
    let mut random = Random::of(7, Purpose::Product, 0);
    let (request, _) = page.traffic.next(&mut random);
    client.ask(&request).unwrap().size()
}

/// Leaves out the rows that are not wanted.
fn keep(only: &[String], subjects: &mut [Subject]) {
    let wanted = |name: &str| rows::is_wanted(only, name);
    let rows = subjects.iter().flat_map(|subject| &subject.rows);
    let rows = rows.filter(|row| wanted(&row.name));
    let mut kept: Vec<String> = rows
        .flat_map(|row| [row.name.clone(), row.floor.to_owned()])
        .collect();
    kept.sort();
    for subject in subjects {
        subject
            .rows
            .retain(|row| kept.binary_search(&row.name).is_ok());
    }
}

/// Does what background workers would do after writes, so that each row begins with it done.
async fn settle(testbed: &Testbed) {
    while testbed.catalog.fold_and_move_ranks().await.unwrap().reviews > 0 {}
    testbed.catalog.work_off(Worker::Ranks).await.unwrap();
    // What changed in the first run is counted in the second.
    let mut panels = PanelState::default();
    for _ in 0..2 {
        while testbed
            .catalog
            .refresh_panels(&mut panels)
            .await
            .unwrap()
            .backlog
            > 0
        {}
    }
}

fn described(process: &Running) -> Process {
    Process {
        build: process.name.clone(),
        start_ms: millis(process.start),
        memory_at_start: process.memory_at_start,
        memory_at_end: memory(process.pid()),
    }
}

/// What the figures depend on.
fn about(options: &Options) -> Value {
    json!({
        "products": options.products,
        "reviews": options.reviews,
        "connections": options.connections,
        "rounds": options.rounds,
        "seconds": options.seconds,
    })
}
