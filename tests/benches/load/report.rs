//! Medians of the rounds, as a table and as a file that a later run is compared with.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::measure::Rounds;

/// What one round of a row was measured at; times in milliseconds, everything per request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) requests: f64,
    pub(crate) per_second: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) service_cpu: f64,
    pub(crate) database_cpu: f64,
    /// The processors that nothing of this benchmark used.
    pub(crate) others_cpu: f64,
    pub(crate) bytes: f64,
    pub(crate) commands: f64,
    pub(crate) keys: f64,
    pub(crate) documents: f64,
    pub(crate) returned: f64,
    /// In the whole round.
    pub(crate) errors: f64,
}

/// The names of the figures, as they are saved.
const NAMES: [&str; 13] = [
    "requests",
    "per_second",
    "p50_ms",
    "p99_ms",
    "service_cpu_ms",
    "database_cpu_ms",
    "others_cpu",
    "bytes",
    "commands",
    "keys",
    "documents",
    "returned",
    "errors",
];

impl Figures {
    fn all(&self) -> [f64; NAMES.len()] {
        [
            self.requests,
            self.per_second,
            self.p50,
            self.p99,
            self.service_cpu,
            self.database_cpu,
            self.others_cpu,
            self.bytes,
            self.commands,
            self.keys,
            self.documents,
            self.returned,
            self.errors,
        ]
    }

    fn of(all: [f64; NAMES.len()]) -> Self {
        Self {
            requests: all[0],
            per_second: all[1],
            p50: all[2],
            p99: all[3],
            service_cpu: all[4],
            database_cpu: all[5],
            others_cpu: all[6],
            bytes: all[7],
            commands: all[8],
            keys: all[9],
            documents: all[10],
            returned: all[11],
            errors: all[12],
        }
    }

    /// The median of each figure; errors are added up.
    fn median(rounds: &[Self]) -> Self {
        let middle = |at: usize| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round.all()[at]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let mut median = Self::of(std::array::from_fn(middle));
        median.errors = rounds.iter().map(|round| round.errors).sum();
        median
    }
}

/// A row of the table.
pub(crate) struct Line {
    row: String,
    build: String,
    floor: &'static str,
    figures: Figures,
}

/// A process before and after all rounds.
pub(crate) struct Process {
    pub(crate) build: String,
    pub(crate) start_ms: f64,
    pub(crate) memory_at_start: f64,
    pub(crate) memory_at_end: f64,
}

/// All rows with what is known of the processes.
pub(crate) struct Report {
    pub(crate) about: Value,
    pub(crate) lines: Vec<Line>,
    pub(crate) processes: Vec<Process>,
}

impl Line {
    pub(crate) fn of(rounds: Rounds) -> Self {
        Self {
            figures: Figures::median(&rounds.figures),
            row: rounds.row,
            build: rounds.build,
            floor: rounds.floor,
        }
    }
}

impl Report {
    pub(crate) fn print(&self) {
        println!(
            "\n{:<26} {:<9} {:>7} {:>7} {:>7} {:>6} {:>7} {:>6} {:>7} {:>6} {:>6} {:>7} {:>6} {:>7} {:>7} {:>7} {:>6} {:>4}",
            "",
            "build",
            "per s",
            "p50 ms",
            "p99 ms",
            "99/50",
            "CPU ms",
            "/floor",
            "db ms",
            "/floor",
            "both/f",
            "bytes",
            "cmds",
            "keys",
            "docs",
            "given",
            "others",
            "err"
        );
        for line in &self.lines {
            let (f, floor) = (&line.figures, self.floor_of(line));
            let ratio = |own: f64, of: f64| if of > 0.0 { own / of } else { f64::NAN };
            let (service, database) = (floor.service_cpu, floor.database_cpu);
            println!(
                "{:<26} {:<9} {:>7.0} {:>7.2} {:>7.2} {:>6.1} {:>7.3} {:>6.2} {:>7.3} {:>6.2} {:>6.2} {:>7.0} \
                 {:>6.2} {:>7.1} {:>7.1} {:>7.1} {:>6.2} {:>4.0}",
                line.row,
                line.build,
                f.per_second,
                f.p50,
                f.p99,
                ratio(f.p99, f.p50),
                f.service_cpu,
                ratio(f.service_cpu, service),
                f.database_cpu,
                ratio(f.database_cpu, database),
                ratio(f.service_cpu + f.database_cpu, service + database),
                f.bytes,
                f.commands,
                f.keys,
                f.documents,
                f.returned,
                f.others_cpu,
                f.errors
            );
        }
        println!();
        for process in &self.processes {
            println!(
                "{}: ready after {:.0} ms with {:.0} MB, {:.0} MB at the end",
                process.build, process.start_ms, process.memory_at_start, process.memory_at_end
            );
        }
    }

    /// The floor of a line; its own figures when the floor was not measured.
    fn floor_of(&self, line: &Line) -> Figures {
        let floor = self.lines.iter().find(|other| other.row == line.floor);
        floor.map_or(line.figures, |floor| floor.figures)
    }

    /// Writes the file that a later run is compared with.
    pub(crate) fn save(&self, file: &Path) {
        let line = |line: &Line| {
            let figures = NAMES.iter().zip(line.figures.all());
            let figures: Map<String, Value> = figures
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect();
            json!({
                "row": line.row, "build": line.build, "floor": line.floor, "figures": figures,
            })
        };
        let process = |process: &Process| {
            json!({
                "build": process.build,
                "start_ms": process.start_ms,
                "memory_at_start_mb": process.memory_at_start,
                "memory_at_end_mb": process.memory_at_end,
            })
        };
        let rows: Vec<Value> = self.lines.iter().map(line).collect();
        let processes: Vec<Value> = self.processes.iter().map(process).collect();
        let all = json!({ "about": self.about, "rows": rows, "processes": processes });
        let text = serde_json::to_string_pretty(&all).expect("it is JSON");
        fs::write(file, text + "\n").expect("the file can be written");
    }

    /// Prints the figures as multiples of those in an earlier file: as measured, and relative to the
    /// floors of either run.
    pub(crate) fn compare(&self, file: &Path) {
        let text = fs::read_to_string(file).expect("the file is there");
        let earlier: Value = serde_json::from_str(&text).expect("a file of an earlier run");
        println!("\nas multiples of {}, {}", file.display(), earlier["about"]);
        println!(
            "{:<26} {:<9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10}",
            "", "build", "per s", "p50", "p99", "CPU", "db", "both/floor"
        );
        for line in &self.lines {
            let Some(before) = find(&earlier, &line.row, &line.build) else {
                continue;
            };
            let (f, floor) = (&line.figures, self.floor_of(line));
            let floor_before = find(&earlier, line.floor, "floor").unwrap_or(before);
            let both = |f: &Figures| f.service_cpu + f.database_cpu;
            let relative = (both(f) / both(&floor)) / (both(&before) / both(&floor_before));
            println!(
                "{:<26} {:<9} {:>7.2} {:>7.2} {:>7.2} {:>7.2} {:>7.2} {:>10.2}",
                line.row,
                line.build,
                f.per_second / before.per_second,
                f.p50 / before.p50,
                f.p99 / before.p99,
                f.service_cpu / before.service_cpu,
                f.database_cpu / before.database_cpu,
                relative
            );
        }
    }
}

/// A row of an earlier file: of the build with this name, or of the last one.
fn find(earlier: &Value, row: &str, build: &str) -> Option<Figures> {
    let rows = earlier["rows"].as_array()?;
    let same: Vec<&Value> = rows.iter().filter(|other| other["row"] == row).collect();
    let named = same.iter().find(|other| other["build"] == build);
    let found = named.or(same.last())?;
    let figure = |at: usize| found["figures"][NAMES[at]].as_f64().unwrap_or_default();
    Some(Figures::of(std::array::from_fn(figure)))
}
