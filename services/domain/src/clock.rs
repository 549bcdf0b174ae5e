//! The operating system's clock, and one that follows the database's.
//!
//! Several processes write to one database, and what they write is ordered and expires by time. So
//! all of them go by the clock of the database: each measures how far its own clock is from it, and
//! corrects it by as much.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use vitrine_model::clock::{Clock, Timestamp};

/// How long a measurement counts.
const KEPT: Duration = Duration::from_mins(1);
/// A measurement that took longer says too little.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(1);
/// How far a clock may be off before it is corrected anew, in milliseconds. Clocks that differ by
/// less order what people do well enough, and time does not move back and forth with each
/// measurement.
const TOLERANCE: i64 = 50;

/// Tells the time of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the machine's clock"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}

/// Tells the time of the database's server: the machine's clock, corrected by the difference that
/// was measured last.
///
/// Of the measurements of the last minute the one with the shortest round trip counts. One that
/// contradicts it says that a clock was set, or that another server is the primary: those before it
/// are forgotten. The correction changes at once, by steps of more than 50 milliseconds; when a clock
/// was set, the time of this clock may go back by as much. Until the first measurement it shows the
/// machine's time. Clones share the correction.
#[derive(Clone, Debug)]
pub struct DatabaseClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    machine: Arc<dyn Clock>,
    correction: AtomicI64,
    measured: Mutex<VecDeque<Measurement>>,
}

/// How far the server's clock was ahead of the machine's.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    /// When it was taken, by a clock that nobody sets.
    taken: Instant,
    /// Milliseconds by which the server's clock is ahead.
    ahead: i64,
    /// By how many milliseconds that may be wrong: half the round trip.
    error: i64,
}

impl Measurement {
    /// Whether both can be right.
    fn agrees(self, other: Self) -> bool {
        (self.ahead - other.ahead).abs() <= self.error + other.error + TOLERANCE
    }
}

impl DatabaseClock {
    /// A clock that corrects this one, by nothing as yet.
    #[must_use]
    pub fn new(machine: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            machine,
            correction: AtomicI64::new(0),
            measured: Mutex::default(),
        }))
    }

    /// What the machine's clock shows: what a measurement begins with.
    #[must_use]
    pub fn machine_now(&self) -> Timestamp {
        self.0.machine.now()
    }

    /// Takes a measurement into account: the server was asked at `asked` by the machine's clock,
    /// and answered, `round_trip` later, that it is `server`.
    pub fn measured(&self, asked: Timestamp, round_trip: Duration, server: Timestamp) {
        self.measured_at(Instant::now(), asked, round_trip, server);
    }

    fn measured_at(
        &self,
        taken: Instant,
        asked: Timestamp,
        round_trip: Duration,
        server: Timestamp,
    ) {
        if round_trip > MAX_ROUND_TRIP {
            return;
        }
        let half = i64::try_from(round_trip.as_millis() / 2).unwrap_or(i64::MAX);
        let new = Measurement {
            taken,
            ahead: server.as_millis() - asked.as_millis() - half,
            error: half + 1,
        };
        let mut measured = self
            .0
            .measured
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        measured.retain(|old| taken.saturating_duration_since(old.taken) < KEPT);
        if measured.iter().any(|old| !old.agrees(new)) {
            measured.clear();
        }
        measured.push_back(new);
        let best = measured.iter().min_by_key(|one| one.error);
        let ahead = best.map_or(0, |best| best.ahead);
        let correction = self.0.correction.load(Ordering::Relaxed);
        if (ahead - correction).abs() > TOLERANCE {
            self.0.correction.store(ahead, Ordering::Relaxed);
            tracing::info!(
                milliseconds = ahead,
                "this machine's clock is corrected by the database's"
            );
        }
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let correction = self.0.correction.load(Ordering::Relaxed);
        self.machine_now().plus_millis(correction)
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::clock::ManualClock;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const HOURS: i64 = 2 * 3_600_000;

    /// A machine's clock that can be set, and the clock that corrects it.
    fn clocks() -> (Arc<ManualClock>, DatabaseClock) {
        let machine = Arc::new(ManualClock::at(Timestamp::from_millis(1_000_000)));
        let clock = DatabaseClock::new(Arc::clone(&machine) as Arc<dyn Clock>);
        (machine, clock)
    }

    /// A measurement of a server whose clock is so many milliseconds ahead of the machine's.
    fn measure(clock: &DatabaseClock, taken: Instant, round_trip: u64, ahead: i64) {
        let asked = clock.machine_now();
        let half = i64::try_from(round_trip / 2).unwrap();
        let (round_trip, server) = (
            Duration::from_millis(round_trip),
            asked.plus_millis(half + ahead),
        );
        clock.measured_at(taken, asked, round_trip, server);
    }

    fn correction(machine: &ManualClock, clock: &DatabaseClock) -> i64 {
        clock.now().as_millis() - machine.now().as_millis()
    }

    #[test]
    fn a_clock_that_is_hours_off_shows_the_time_of_the_server() {
        for ahead in [HOURS, -HOURS] {
            let (machine, clock) = clocks();
            assert_eq!(correction(&machine, &clock), 0);
            measure(&clock, Instant::now(), 10, ahead);
            assert_eq!(correction(&machine, &clock), ahead);
            machine.advance(5_000);
            assert_eq!(clock.now(), machine.now().plus_millis(ahead));
            assert_eq!(clock.clone().now(), clock.now());
        }
    }

    #[test]
    fn the_shortest_round_trip_of_a_minute_counts() {
        let (machine, clock) = clocks();
        let began = Instant::now();
        measure(&clock, began, 4, 1_000);
        // Slow ones may be off by half their round trip, and would be corrected by.
        measure(&clock, began + SECOND, 800, 1_300);
        measure(&clock, began + 2 * SECOND, 5_000, 4_000);
        assert_eq!(correction(&machine, &clock), 1_000);
        // The good one is forgotten.
        measure(&clock, began + 61 * SECOND, 900, 1_300);
        assert_eq!(correction(&machine, &clock), 1_300);
    }

    #[test]
    fn small_differences_do_not_move_the_clock() {
        let (machine, clock) = clocks();
        let began = Instant::now();
        measure(&clock, began, 2, TOLERANCE);
        assert_eq!(correction(&machine, &clock), 0);
        measure(&clock, began, 0, 500);
        measure(&clock, began + SECOND, 0, 530);
        assert_eq!(correction(&machine, &clock), 500);
    }

    #[test]
    fn a_clock_that_is_set_is_followed_at_once() {
        let (machine, clock) = clocks();
        let began = Instant::now();
        measure(&clock, began, 2, 0);
        machine.advance(HOURS);
        measure(&clock, began + SECOND, 300, -HOURS);
        assert_eq!(correction(&machine, &clock), -HOURS);
        // Another primary, whose clock is a second behind.
        measure(&clock, began + 2 * SECOND, 400, -HOURS - 1_000);
        assert_eq!(correction(&machine, &clock), -HOURS - 1_000);
    }
}
