//! Rounds of load: every row of every build in turn, so that whatever else the machine does meets
//! all of them.

use std::time::Duration;

use mongodb::Database;

use crate::client::drive;
use crate::counters::Counters;
use crate::processes::{Running, cpu, cpu_of_all};
use crate::report::Figures;
use crate::rows::Row;
use crate::testbed::millis;

/// How long each row runs before its first round.
const WARM: Duration = Duration::from_secs(1);

/// What is measured: a process with the rows that it answers.
pub(crate) struct Subject {
    pub(crate) process: Running,
    pub(crate) rows: Vec<Row>,
}

/// How it is measured.
pub(crate) struct Method<'a> {
    pub(crate) database: &'a Database,
    pub(crate) mongod: u32,
    pub(crate) connections: usize,
    pub(crate) rounds: usize,
    pub(crate) time: Duration,
}

/// The rounds of one row of one build.
pub(crate) struct Rounds {
    pub(crate) row: String,
    pub(crate) build: String,
    pub(crate) floor: &'static str,
    pub(crate) figures: Vec<Figures>,
}

impl Method<'_> {
    /// Measures the rows that read, or those that write. `between` runs before each row that writes.
    pub(crate) async fn run(
        &self,
        subjects: &[Subject],
        writes: bool,
        between: impl AsyncFn(),
    ) -> Vec<Rounds> {
        let mut all: Vec<(&Running, &Row, Rounds)> = Vec::new();
        for (process, row) in turns(subjects, writes) {
            let rounds = Rounds {
                row: row.name.clone(),
                build: process.name.clone(),
                floor: row.floor,
                figures: Vec::new(),
            };
            drive(&process.address, &*row.traffic, 0..self.connections, WARM);
            all.push((process, row, rounds));
        }
        let mut order: Vec<usize> = (0..all.len()).collect();
        for round in 1..=self.rounds {
            for at in &order {
                let (process, row, rounds) = &mut all[*at];
                if writes {
                    between().await;
                }
                let figures = self.round(process, row).await;
                eprintln!(
                    "round {round}: {}, {}: {:.0} per second",
                    rounds.row, rounds.build, figures.per_second
                );
                rounds.figures.push(figures);
            }
            // No build is always the first.
            order.reverse();
        }
        all.into_iter().map(|(_, _, rounds)| rounds).collect()
    }

    async fn round(&self, process: &Running, row: &Row) -> Figures {
        let connections = 0..self.connections * row.crowd;
        let before = Counters::read(self.database).await;
        let pids = [process.pid(), self.mongod, std::process::id()];
        let (start, all) = (pids.map(cpu), cpu_of_all());
        let phase = drive(&process.address, &*row.traffic, connections, self.time);
        let (end, all) = (pids.map(cpu), cpu_of_all().saturating_sub(all));
        let counters = Counters::read(self.database).await - before;
        if let Some(error) = &phase.error {
            eprintln!("{}, {}: {error}", row.name, process.name);
        }
        let used: Vec<Duration> = end
            .iter()
            .zip(&start)
            .map(|(end, start)| end.saturating_sub(*start))
            .collect();
        let count = phase.times.len().max(1) as f64;
        let each = |number: i64| number as f64 / count;
        Figures {
            requests: count,
            per_second: count / phase.elapsed.as_secs_f64(),
            p50: millis(phase.at(50)),
            p99: millis(phase.at(99)),
            service_cpu: millis(used[0]) / count,
            database_cpu: millis(used[1]) / count,
            others_cpu: all.saturating_sub(used.iter().sum()).as_secs_f64()
                / phase.elapsed.as_secs_f64(),
            bytes: phase.bytes as f64 / count,
            commands: each(counters.commands),
            keys: each(counters.keys),
            documents: each(counters.documents),
            returned: each(counters.returned),
            errors: phase.errors as f64,
        }
    }
}

/// All rows, the builds of each row one after the other.
pub(crate) fn turns(subjects: &[Subject], writes: bool) -> Vec<(&Running, &Row)> {
    let mut names: Vec<&str> = Vec::new();
    for row in subjects.iter().flat_map(|subject| &subject.rows) {
        if row.writes == writes && !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let mut turns = Vec::new();
    for name in names {
        for subject in subjects {
            let rows = subject.rows.iter().filter(|row| row.name == name);
            turns.extend(rows.map(|row| (&subject.process, row)));
        }
    }
    turns
}
