//! How many instructions a process needs for a request, counted by callgrind: unlike times, they
//! hardly depend on what else the machine does. Those of the kernel and of mongod are not counted.

use std::fs;
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
const LONGEST: Duration = Duration::from_secs(20);
/// How long a process is watched while nobody asks it, because it then does its background work.
const IDLE: Duration = Duration::from_secs(4);

/// Counts all rows, one request after the other over one connection, and prints them.
pub(crate) fn measure(subjects: &[Subject], requests: usize, logs: &Path) {
    println!(
        "\n{:<26} {:<9} {:>12} {:>7}",
        "thousand instructions", "build", "per request", "/floor"
    );
    let idle: Vec<f64> = subjects
        .iter()
        .map(|subject| idle(&subject.process, logs))
        .collect();
    let idle_of = |name: &str| {
        let mut all = subjects.iter().zip(&idle);
        let found = all.find(|(subject, _)| subject.process.name == name);
        found.map_or(0.0, |(_, idle)| *idle)
    };
    let mut floors: Vec<(&str, f64)> = Vec::new();
    for (process, row) in [false, true]
        .iter()
        .flat_map(|writes| turns(subjects, *writes))
    {
        let each = count(process, row, requests, idle_of(&process.name), logs);
        if row.name == row.floor {
            floors.push((row.floor, each));
        }
        let floor = floors.iter().find(|(name, _)| *name == row.floor);
        let ratio = floor.map_or(f64::NAN, |(_, floor)| each / floor);
        println!(
            "{:<26} {:<9} {:>12.1} {ratio:>7.2}",
            row.name,
            process.name,
            each / 1e3
        );
    }
}

/// The instructions in a second without requests.
fn idle(process: &Running, logs: &Path) -> f64 {
    control(process, "--zero");
    let start = Instant::now();
    thread::sleep(IDLE);
    control(process, "--dump");
    newest(logs, process.pid()) as f64 / start.elapsed().as_secs_f64()
}

/// The instructions of one request, without those of background work.
fn count(process: &Running, row: &Row, requests: usize, idle: f64, logs: &Path) -> f64 {
    let mut client = Client::open(&process.address).expect("it listens");
    // The same requests for every build.
    let mut random = Random::of(11, Purpose::Leaf, 0);
    let mut send = |most: usize| {
        let (start, mut count) = (Instant::now(), 0);
        while count < most && start.elapsed() < LONGEST {
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
    let background = idle * start.elapsed().as_secs_f64();
    (newest(logs, process.pid()) as f64 - background) / sent as f64
}

fn control(process: &Running, command: &str) {
    let mut control = Command::new("callgrind_control");
    let done = control.arg(command).arg(process.pid().to_string()).output();
    let done = done.expect("callgrind_control is installed");
    assert!(done.status.success(), "{done:?}");
}

/// The total of the last dump of a process, which is removed.
fn newest(logs: &Path, pid: u32) -> u64 {
    let name = format!("callgrind.{pid}.");
    let mut total = None;
    for file in fs::read_dir(logs).expect("the logs are there").flatten() {
        if !file.file_name().to_string_lossy().starts_with(&name) {
            continue;
        }
        let text = fs::read_to_string(file.path()).expect("a dump is text");
        let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
        total = line.and_then(|total| total.trim().parse().ok()).or(total);
        fs::remove_file(file.path()).expect("a dump can be removed");
    }
    total.expect("callgrind has written a dump")
}
