//! The processes that are measured: started with their output in a file, and what they use.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use vitrine_harness::http;
use vitrine_harness::process;
use vitrine_harness::token::TOKEN_SECRET;

/// How long a process may take until it listens and is ready.
const START: Duration = Duration::from_mins(2);
/// `USER_HZ`, the unit of `/proc/PID/stat` on Linux.
const TICKS: u64 = 100;
const LISTENING: &str = "listening at http://";

/// A build of the service: `NAME=PATH`, or a path.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl FromStr for Build {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').unwrap_or(("vitrine", text));
        let path = PathBuf::from(path);
        if !path.is_file() {
            return Err(format!("there is no file {}", path.display()));
        }
        let name = name.to_owned();
        Ok(Self { name, path })
    }
}

/// How a process is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As it is.
    Plain,
    /// In valgrind's tool callgrind, which counts instructions and runs one thread at a time.
    Counted,
}

/// What processes are started with.
pub(crate) struct Place<'a> {
    pub(crate) uri: &'a str,
    pub(crate) database: &'a str,
    /// Where their output is written, and what callgrind counts.
    pub(crate) logs: &'a Path,
    pub(crate) mode: Mode,
}

impl Place<'_> {
    fn command(&self, program: &Path) -> Command {
        if self.mode == Mode::Plain {
            return Command::new(program);
        }
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--fair-sched=yes"]);
        command.arg(format!(
            "--callgrind-out-file={}",
            counts(self.logs).display()
        ));
        command.arg(program);
        command
    }
}

/// Where callgrind writes the counts of the process `%p`.
fn counts(logs: &Path) -> PathBuf {
    logs.join("callgrind.%p")
}

impl Build {
    /// The binary that the harness builds from this tree.
    pub(crate) fn of_this_tree() -> Self {
        Self {
            name: "vitrine".to_owned(),
            path: process::binary().to_owned(),
        }
    }
}

/// Further flags of `serve`: `NAME=FLAGS` for the build with this name.
#[derive(Clone, Debug)]
pub(crate) struct Flags {
    build: String,
    flags: Vec<String>,
}

impl FromStr for Flags {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (build, flags) = text
            .split_once('=')
            .ok_or("must be the name of a build, =, and its flags")?;
        Ok(Self {
            build: build.to_owned(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// A running process that answers HTTP requests.
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) address: String,
    /// How long it took from its start until it was ready.
    pub(crate) start: Duration,
    /// The memory that it used then, in megabytes.
    pub(crate) memory_at_start: f64,
    child: Child,
}

impl Running {
    /// Starts a build of the service, after it has brought the schema of the database up to date.
    pub(crate) async fn service(build: &Build, flags: &[Flags], place: &Place<'_>) -> Self {
        let logs = place.logs;
        let common = ["--mongodb-uri", place.uri, "--database", place.database];
        let migrate = Command::new(&build.path)
            .args(["migrate", "up"])
            .args(common)
            .output();
        let migrate = migrate.expect("the binary runs");
        let errors = String::from_utf8_lossy(&migrate.stderr);
        assert!(migrate.status.success(), "{}: {errors}", build.name);
        let mut command = place.command(&build.path);
        command.arg("serve").args(common);
        command.args(["--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.0/8"]);
        command.args(["--cursor-secret", "0123456789abcdef"]);
        command.args(["--token-secret", TOKEN_SECRET]);
        // The budgets are counted as always, but nobody spends them.
        command.args(["--cost-limit", "1000000", "--cost-per-second", "1000000000"]);
        let own = flags.iter().filter(|flags| flags.build == build.name);
        command.args(own.flat_map(|flags| &flags.flags));
        let mut running = Self::spawn(&build.name, command, logs).await;
        let begin = Instant::now();
        loop {
            let reply = http::get(&running.address, "/health/ready").await;
            if reply.is_ok_and(|reply| reply.status == 200) {
                running.start += begin.elapsed();
                running.memory_at_start = memory(running.pid());
                return running;
            }
            running.check(begin, logs);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Starts the floors: this program with another purpose.
    pub(crate) async fn floors(bytes: usize, place: &Place<'_>) -> Self {
        let this = std::env::current_exe().expect("a running program has a path");
        let mut command = place.command(&this);
        command.args(["--bench", "--floors", place.uri]);
        command.args(["--floor-database", place.database]);
        command.args(["--floor-bytes", &bytes.to_string()]);
        Self::spawn("floor", command, place.logs).await
    }

    async fn spawn(name: &str, mut command: Command, logs: &Path) -> Self {
        let log = File::create(log_of(logs, name)).expect("a log can be written");
        let errors = log.try_clone().expect("a file has two handles");
        // The floors end when their standard input does.
        command.stdin(Stdio::piped()).stdout(log).stderr(errors);
        let begin = Instant::now();
        let child = command.spawn().expect("the binary runs");
        let mut running = Self {
            name: name.to_owned(),
            address: String::new(),
            start: Duration::ZERO,
            memory_at_start: 0.0,
            child,
        };
        loop {
            if let Some(address) = listening(&log_of(logs, name)) {
                running.address = address;
                running.start = begin.elapsed();
                running.memory_at_start = memory(running.pid());
                return running;
            }
            running.check(begin, logs);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Fails when it has ended, or takes too long.
    fn check(&mut self, since: Instant, logs: &Path) {
        let ended = self.child.try_wait().expect("it is our child");
        let log = fs::read_to_string(log_of(logs, &self.name)).unwrap_or_default();
        assert!(ended.is_none(), "{} ended: {ended:?}\n{log}", self.name);
        assert!(since.elapsed() < START, "{} is not ready\n{log}", self.name);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as an operator would.
    pub(crate) fn stop(mut self) {
        let _ = process::signal(self.pid(), "TERM");
        drop(self.child.stdin.take());
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < START {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already unless the benchmark failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_of(logs: &Path, name: &str) -> PathBuf {
    logs.join(format!("{name}.log"))
}

fn listening(log: &Path) -> Option<String> {
    let lines = BufReader::new(File::open(log).ok()?).lines();
    let mut lines = lines.map_while(Result::ok);
    lines.find_map(|line| {
        let (_, after) = line.split_once(LISTENING)?;
        Some(after.split('/').next()?.to_owned())
    })
}

/// The CPU time that a process has used since its start, with its threads that have ended: user and
/// system time of `/proc/PID/stat`, in steps of ten milliseconds.
pub(crate) fn cpu(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("a number of ticks");
    Duration::from_millis((ticks(11) + ticks(12)) * 1_000 / TICKS)
}

/// The CPU time that everything on this machine has used.
pub(crate) fn cpu_of_all() -> Duration {
    let stat = fs::read_to_string("/proc/stat").expect("Linux");
    let numbers = stat.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = numbers
        .skip(1)
        .map_while(|text| text.parse().ok())
        .collect();
    // user, nice and system; then idle and iowait, irq and softirq, steal.
    let busy: u64 = [0, 1, 2, 5, 6, 7]
        .iter()
        .filter_map(|at| ticks.get(*at))
        .sum();
    Duration::from_millis(busy * 1_000 / TICKS)
}

/// The memory that a process uses, in megabytes.
pub(crate) fn memory(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = value.and_then(|value| value.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.unwrap_or_default() * 1_024.0 / 1e6
}
