//! What workers say of themselves.

use crate::clock::Timestamp;

/// What one worker has done, as the process that runs it tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// How often it ran since this process took it over.
    pub runs: i64,
    /// How many of these runs failed.
    pub failures: i64,
    /// When the last run ended.
    pub last_run_at: Option<Timestamp>,
    /// How long it took, in milliseconds.
    pub last_run_millis: i64,
    /// How many things it has dealt with in all runs.
    pub done: i64,
    /// When a run last dealt with something.
    pub last_done_at: Option<Timestamp>,
    /// How many things waited after the last run, as far as they were counted.
    pub backlog: i64,
    /// How many things were left alone by the last run, because only a newer release may deal with
    /// them.
    pub left_alone: i64,
    /// Since when something has been waiting: the oldest thing that waits, or where that is not known
    /// the first run since when something was left by every one.
    pub behind_since: Option<Timestamp>,
    /// How many things it has dealt with since then.
    pub done_since: i64,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// When that was.
    pub last_error_at: Option<Timestamp>,
    /// Whether the last run failed.
    pub failing: bool,
}

/// What a run of a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// How many things it dealt with.
    pub done: u64,
    /// How many things still wait, as far as they were counted.
    pub backlog: u64,
    /// How many things wait that it does not deal with, because only a newer release may.
    pub left_alone: u64,
    /// Since when the oldest of those that wait does, where that is known.
    pub waiting_since: Option<Timestamp>,
}

impl WorkerReport {
    /// Notes a run that ended.
    pub fn ran(&mut self, run: Run, ended: Timestamp, millis: i64) {
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

    /// Notes what waits now, since when, whatever the last run saw. What is left alone waits as well
    /// and is no backlog.
    pub fn waits(&mut self, count: u64, since: Option<Timestamp>, now: Timestamp) {
        self.backlog = whole(count).saturating_sub(self.left_alone).max(0);
        let known = since.or(self.behind_since);
        self.behind_since = (self.backlog > 0).then(|| known.unwrap_or(now));
    }

    /// Notes a run that failed. What waited before still waits.
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

    /// For how long something has been waiting, in milliseconds; 0 when nothing is.
    #[must_use]
    pub fn lag_millis(&self, now: Timestamp) -> i64 {
        let since = self.behind_since.map_or(now, |since| since.min(now));
        now.as_millis() - since.as_millis()
    }

    /// How many things a second it deals with while some are waiting; `None` when that is not known
    /// yet.
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
        let run = |done, backlog| Run {
            done,
            backlog,
            ..Run::default()
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
    fn a_backlog_is_as_old_as_the_oldest_thing_in_it() {
        let mut report = WorkerReport::default();
        let waiting = |since| Run {
            backlog: 1,
            left_alone: 2,
            waiting_since: Some(at(since)),
            ..Run::default()
        };
        report.ran(waiting(100), at(500), 1);
        assert_eq!((report.lag_millis(at(600)), report.left_alone), (500, 2));
        report.ran(waiting(550), at(600), 1);
        assert_eq!(report.lag_millis(at(600)), 50, "what was older is done");
        report.ran(Run::default(), at(700), 1);
        assert_eq!((report.lag_millis(at(800)), report.left_alone), (0, 0));
    }
}
