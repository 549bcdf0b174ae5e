//! Reports of background workers.

use crate::clock::Timestamp;

/// The report of a worker, kept by the process that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// The number of runs since this process took it over.
    pub runs: i64,
    /// The number of failed runs.
    pub failures: i64,
    /// The end of the last run.
    pub last_run_at: Option<Timestamp>,
    /// The duration of the last run in milliseconds.
    pub last_run_millis: i64,
    /// The number of items processed in all runs.
    pub done: i64,
    /// The end of the last run that processed an item.
    pub last_done_at: Option<Timestamp>,
    /// The backlog: the number of items waiting after the last run, as far as they were counted.
    pub backlog: i64,
    /// The number of items that the last run left for a newer release.
    pub left_alone: i64,
    /// Since when there has been a backlog: the age of the oldest item, or if unknown the first of
    /// the consecutive runs that left one.
    pub behind_since: Option<Timestamp>,
    /// The number of items processed since then.
    pub done_since: i64,
    /// The last error.
    pub last_error: Option<String>,
    /// The time of the last error.
    pub last_error_at: Option<Timestamp>,
    /// Whether the last run failed.
    pub failing: bool,
}

/// The outcome of a worker's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerRun {
    /// The number of items processed.
    pub done: u64,
    /// The number of items still waiting, as far as they were counted.
    pub backlog: u64,
    /// The number of waiting items that only a newer release may process.
    pub left_alone: u64,
    /// Since when the oldest item has been waiting, if known.
    pub waiting_since: Option<Timestamp>,
}

impl WorkerReport {
    /// Records a successful run.
    pub fn ran(&mut self, run: WorkerRun, ended: Timestamp, millis: i64) {
        self.note(ended, millis);
        self.failing = false;
        self.done = self.done.saturating_add(whole(run.done));
        if run.done > 0 {
            self.last_done_at = Some(ended);
        }
        self.backlog = whole(run.backlog);
        self.done_since = match self.behind_since {
            Some(_) if run.backlog > 0 => self.done_since.saturating_add(whole(run.done)),
            _ => 0,
        };
        self.left_alone = whole(run.left_alone);
        let known = run.waiting_since.or(self.behind_since);
        self.behind_since = (run.backlog > 0).then(|| known.unwrap_or(ended));
    }

    /// Updates the backlog between runs. `count` includes the items left for a newer release, which
    /// are not part of the backlog.
    pub fn waits(&mut self, count: u64, since: Option<Timestamp>, now: Timestamp) {
        self.backlog = whole(count).saturating_sub(self.left_alone).max(0);
        let known = since.or(self.behind_since);
        self.behind_since = (self.backlog > 0).then(|| known.unwrap_or(now));
    }

    /// Records a failed run. The backlog is unchanged.
    pub fn failed(&mut self, error: String, ended: Timestamp, millis: i64) {
        self.note(ended, millis);
        self.failing = true;
        self.failures += 1;
        self.last_error = Some(error);
        self.last_error_at = Some(ended);
    }

    fn note(&mut self, ended: Timestamp, millis: i64) {
        self.runs += 1;
        self.last_run_at = Some(ended);
        self.last_run_millis = millis;
    }

    /// The lag in milliseconds: the age of the backlog; 0 without one.
    #[must_use]
    pub fn lag_millis(&self, now: Timestamp) -> i64 {
        let since = self.behind_since.map_or(now, |since| since.min(now));
        now.as_millis() - since.as_millis()
    }

    /// The number of items processed per second while there is a backlog; `None` if unknown.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let (since, last) = (self.behind_since?, self.last_done_at?);
        let millis = last.as_millis() - since.as_millis();
        #[expect(clippy::cast_precision_loss, reason = "a rate, for people")]
        (millis > 0 && self.done_since > 0).then(|| self.done_since as f64 * 1000.0 / millis as f64)
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_backlog_has_an_age_until_it_is_gone() {
        let mut report = WorkerReport::default();
        let run = |done, backlog| WorkerRun {
            done,
            backlog,
            ..WorkerRun::default()
        };
        report.ran(run(500, 700), at(10), 3);
        report.ran(run(500, 200), at(20), 3);
        report.failed("no".to_owned(), at(30), 3);
        assert_eq!(report.lag_millis(at(50)), 40);
        assert_eq!(report.rate(), Some(50_000.0), "500 in 10 ms");
        assert_eq!(report.lag_millis(at(5)), 0, "the clock stepped back");
        assert!(report.failing);
        report.ran(run(200, 0), at(60), 3);
        assert_eq!((report.lag_millis(at(70)), report.done), (0, 1200));
        assert_eq!(report.rate(), None);
        assert_eq!(
            (report.runs, report.failures, report.failing),
            (4, 1, false)
        );
        assert_eq!(report.last_error_at, Some(at(30)));
    }

    #[test]
    fn a_backlog_is_as_old_as_its_oldest_item() {
        let mut report = WorkerReport::default();
        let waiting = |since| WorkerRun {
            backlog: 1,
            left_alone: 2,
            waiting_since: Some(at(since)),
            ..WorkerRun::default()
        };
        report.ran(waiting(100), at(500), 1);
        assert_eq!((report.lag_millis(at(600)), report.left_alone), (500, 2));
        report.ran(waiting(550), at(600), 1);
        assert_eq!(report.lag_millis(at(600)), 50, "the older item is done");
        report.ran(WorkerRun::default(), at(700), 1);
        assert_eq!((report.lag_millis(at(800)), report.left_alone), (0, 0));
    }
}
