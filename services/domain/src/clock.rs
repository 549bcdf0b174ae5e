//! The system clock, and a clock synchronized with the database server.
//!
//! Several processes write to one database, and their writes are ordered and expire by time. All of
//! them therefore use the time of the database server: each measures the offset of its own clock
//! and corrects it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use vitrine_model::clock::{Clock, Timestamp};

/// How long a measurement is valid.
const KEPT: Duration = Duration::from_mins(1);
/// Slower measurements are too inaccurate.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(1);
/// The offset in milliseconds above which the correction changes. Smaller differences hardly affect
/// the order of people's actions, and the time should not jump with each measurement.
const TOLERANCE: i64 = 50;

/// The system clock.
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

/// The time of the database server: the system clock plus the last measured offset.
///
/// Of the measurements of the last minute, the one with the shortest round trip is used. One that
/// contradicts it means that a clock was set, or that another server is primary; earlier
/// measurements are then discarded. The correction changes in steps of more than 50 milliseconds,
/// at once, so the time can go back by as much. Before the first measurement it is the system time.
/// Clones share the correction.
#[derive(Clone, Debug)]
pub struct DatabaseClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    machine: Arc<dyn Clock>,
    correction: AtomicI64,
    measured: Mutex<VecDeque<Measurement>>,
}

/// A measured offset of the server's clock.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    /// When it was measured, by a monotonic clock.
    taken: Instant,
    /// The offset in milliseconds; positive if the server is ahead.
    ahead: i64,
    /// The maximum error in milliseconds: half the round trip.
    error: i64,
}

impl Measurement {
    /// Whether both measurements can be correct.
    fn agrees(self, other: Self) -> bool {
        (self.ahead - other.ahead).abs() <= self.error + other.error + TOLERANCE
    }
}

impl DatabaseClock {
    /// A clock without correction as yet.
    #[must_use]
    pub fn new(machine: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            machine,
            correction: AtomicI64::new(0),
            measured: Mutex::default(),
        }))
    }

    /// The uncorrected system time, at which a measurement starts.
    #[must_use]
    pub fn machine_now(&self) -> Timestamp {
        self.0.machine.now()
    }

    /// Adds a measurement: at system time `asked` the server was asked, and after `round_trip` it
    /// answered `server`.
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

    /// A settable system clock, and the clock that corrects it.
    fn clocks() -> (Arc<ManualClock>, DatabaseClock) {
        let machine = Arc::new(ManualClock::at(Timestamp::from_millis(1_000_000)));
        let clock = DatabaseClock::new(Arc::clone(&machine) as Arc<dyn Clock>);
        (machine, clock)
    }

    /// Measures a server whose clock is `ahead` milliseconds ahead.
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
        // Slow measurements may be off by half their round trip.
        measure(&clock, began + SECOND, 800, 1_300);
        measure(&clock, began + 2 * SECOND, 5_000, 4_000);
        assert_eq!(correction(&machine, &clock), 1_000);
        // The good one has expired.
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
