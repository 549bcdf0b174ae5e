//! How many instructions and allocations a process needs for a request, counted by callgrind: unlike times,
//! they hardly depend on what else the machine does. Those of the kernel and of mongod are not counted.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::ops::Sub;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::measure::{Subject, turns};
use crate::processes::Running;
use crate::random::{Purpose, Random};
use crate::rows::Row;

/// The longest time for the requests of a row; then there are fewer of them.
const MAX_TIME: Duration = Duration::from_secs(20);
/// How long a process is watched while nobody asks it, because it then does its background work.
const IDLE: Duration = Duration::from_secs(4);

/// What a process has done.
#[derive(Clone, Copy, Default)]
struct Work {
    instructions: f64,
    /// Blocks of memory that were allocated or moved.
    allocations: f64,
}

impl Work {
    fn times(self, factor: f64) -> Self {
        Self {
            instructions: self.instructions * factor,
            allocations: self.allocations * factor,
        }
    }
}

impl Sub for Work {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            instructions: self.instructions - other.instructions,
            allocations: self.allocations - other.allocations,
        }
    }
}

/// Counts all rows, one request after the other over one connection, and prints them.
pub(crate) fn measure(subjects: &[Subject], requests: usize, logs: &Path) {
    println!(
        "\n{:<26} {:<9} {:>22} {:>7} {:>12}",
        "per request", "build", "thousand instructions", "/floor", "allocations"
    );
    let idle: Vec<Work> = subjects
        .iter()
        .map(|subject| idle(&subject.process, logs))
        .collect();
    let idle_of = |name: &str| {
        let mut all = subjects.iter().zip(&idle);
        let found = all.find(|(subject, _)| subject.process.name == name);
        found.map_or_else(Work::default, |(_, idle)| *idle)
    };
    let mut floors: Vec<(&str, f64)> = Vec::new();
    for (process, row) in [false, true]
        .iter()
        .flat_map(|writes| turns(subjects, *writes))
    {
        let each = count(process, row, requests, idle_of(&process.name), logs);
        if row.name == row.floor {
            floors.push((row.floor, each.instructions));
        }
        let floor = floors.iter().find(|(name, _)| *name == row.floor);
        let ratio = floor.map_or(f64::NAN, |(_, floor)| each.instructions / floor);
        println!(
            "{:<26} {:<9} {:>22.1} {ratio:>7.2} {:>12.0}",
            row.name,
            process.name,
            each.instructions / 1e3,
            each.allocations
        );
    }
}

/// What a process does in a second without requests.
fn idle(process: &Running, logs: &Path) -> Work {
    control(process, "--zero");
    let start = Instant::now();
    thread::sleep(IDLE);
    control(process, "--dump");
    newest(logs, process.pid()).times(1.0 / start.elapsed().as_secs_f64())
}

/// What one request takes, without background work.
fn count(process: &Running, row: &Row, requests: usize, idle: Work, logs: &Path) -> Work {
    let mut client = Client::open(&process.address).expect("it listens");
    // The same requests for every build.
    let mut random = Random::of(11, Purpose::Leaf, 0);
    let mut send = |most: usize| {
        let (start, mut count) = (Instant::now(), 0);
        while count < most && start.elapsed() < MAX_TIME {
            let (request, is_write) = row.traffic.next(&mut random);
            let answer = client.ask(&request).expect("an answer");
            if !answer.is_good(is_write, 0) {
                eprintln!("{}, {}: an error", row.name, process.name);
            }
            count += 1;
        }
        count
    };
    send(requests / 4);
    control(process, "--zero");
    let start = Instant::now();
    let sent = send(requests);
    control(process, "--dump");
    let background = idle.times(start.elapsed().as_secs_f64());
    (newest(logs, process.pid()) - background).times(1.0 / sent as f64)
}

fn control(process: &Running, command: &str) {
    let mut control = Command::new("callgrind_control");
    let done = control.arg(command).arg(process.pid().to_string()).output();
    let done = done.expect("callgrind_control is installed");
    assert!(done.status.success(), "{done:?}");
}

/// What the last dump of a process says, which is removed.
fn newest(logs: &Path, pid: u32) -> Work {
    let name = format!("callgrind.{pid}.");
    let mut work = None;
    for file in fs::read_dir(logs).expect("the logs are there").flatten() {
        if file.file_name().to_string_lossy().starts_with(&name) {
            let dump = File::open(file.path()).expect("a dump can be read");
            work = read(BufReader::new(dump)).or(work);
            fs::remove_file(file.path()).expect("a dump can be removed");
        }
    }
    work.expect("callgrind has written a dump")
}

/// Reads a dump: `fn=` names a function, and each `cfn=` after it a function that it calls, with `calls=` and
/// the number of calls. A name is written once, after its number; the number stands for it from then on.
fn read(dump: impl BufRead) -> Option<Work> {
    let mut allocators: HashMap<String, Function> = HashMap::new();
    let mut function = |named: &str| -> Function {
        let (number, name) = named.split_once(' ').unwrap_or((named, ""));
        let known = allocators.entry(number.to_owned());
        *known.or_insert_with(|| Function::named(name))
    };
    let (mut caller, mut called) = (Function::Other, Function::Other);
    let (mut instructions, mut allocations) = (None, 0.0);
    for line in dump.lines().map_while(Result::ok) {
        if let Some(named) = line.strip_prefix("fn=") {
            caller = function(named);
        } else if let Some(named) = line.strip_prefix("cfn=") {
            called = function(named);
        } else if let Some(calls) = line.strip_prefix("calls=") {
            if (caller, called) == (Function::Other, Function::Allocates) {
                let calls = calls.split(' ').next().unwrap_or_default();
                allocations += calls.parse().unwrap_or(0.0);
            }
        } else if let Some(total) = line.strip_prefix("totals: ") {
            instructions = total.trim().parse().ok();
        }
    }
    instructions.map(|instructions| Work {
        instructions,
        allocations,
    })
}

/// What a function is to an allocator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    /// It returns a block of memory to its caller.
    Allocates,
    /// Another function of an allocator.
    Internal,
    Other,
}

impl Function {
    fn named(name: &str) -> Self {
        let name = name.split('\'').next().unwrap_or_default();
        let allocates = ["malloc", "calloc", "zalloc", "realloc"];
        let own = name.strip_prefix("mi_").unwrap_or(name);
        if allocates.contains(&own.strip_suffix("_aligned").unwrap_or(own)) {
            Self::Allocates
        } else if name.starts_with("mi_") || name.starts_with("_mi_") {
            Self::Internal
        } else {
            Self::Other
        }
    }
}
