//! The timers of a connection: initialisation, pings and silence.

use tokio::time::Instant;

use super::SocketLimits;

/// A timer that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The client has not sent `connection_init` in time.
    Initialisation,
    /// Nothing has been received for too long.
    Silence,
    /// It is time to send a ping.
    Ping,
}

/// The timers of one connection. The current time is passed in; this type never reads the clock.
#[derive(Debug)]
pub(super) struct KeepAlive {
    limits: SocketLimits,
    init_deadline: Option<Instant>,
    /// When the first ping since the last received frame was sent.
    unanswered_ping_at: Option<Instant>,
    ping_at: Instant,
}

impl KeepAlive {
    pub(super) fn new(limits: SocketLimits, now: Instant) -> Self {
        Self {
            limits,
            init_deadline: Some(now + limits.init_timeout),
            unanswered_ping_at: None,
            ping_at: now + limits.ping_interval,
        }
    }

    /// Notes that the client has sent a valid `connection_init`.
    pub(super) fn initialised(&mut self) {
        self.init_deadline = None;
    }

    /// Notes that a frame was received.
    pub(super) fn received(&mut self) {
        self.unanswered_ping_at = None;
    }

    /// Returns when the next timer expires if no frame is received until then.
    pub(super) fn next(&self) -> Instant {
        let others = [self.silence_deadline(), self.init_deadline];
        others
            .into_iter()
            .flatten()
            .fold(self.ping_at, Instant::min)
    }

    /// Returns an expired timer. Returning `Ping` restarts the ping timer.
    pub(super) fn due(&mut self, now: Instant) -> Option<Due> {
        if self.init_deadline.is_some_and(|until| until <= now) {
            return Some(Due::Initialisation);
        }
        if self.silence_deadline().is_some_and(|until| until <= now) {
            return Some(Due::Silence);
        }
        let ping = self.ping_at <= now;
        if ping {
            self.ping_at = now + self.limits.ping_interval;
            self.unanswered_ping_at.get_or_insert(now);
        }
        ping.then_some(Due::Ping)
    }

    /// Returns when a frame must have been received. The timer starts at an unanswered ping, so
    /// that a paused process does not disconnect its clients.
    fn silence_deadline(&self) -> Option<Instant> {
        let limits = &self.limits;
        let timeout = limits.silence.saturating_sub(limits.ping_interval);
        self.unanswered_ping_at.map(|sent| sent + timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Due, KeepAlive, SocketLimits};

    #[test]
    fn by_default_clients_initialise_within_ten_seconds_and_are_pinged() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut keep_alive = KeepAlive::new(SocketLimits::default(), start);
        assert_eq!(keep_alive.next(), at(10));
        assert_eq!(keep_alive.due(at(9)), None);
        assert_eq!(keep_alive.due(at(10)), Some(Due::Initialisation));
        keep_alive.initialised();
        assert_eq!(keep_alive.next(), at(15));
        assert_eq!(keep_alive.due(at(15)), Some(Due::Ping));
        assert_eq!(keep_alive.due(at(15)), None);
        assert_eq!(keep_alive.due(at(31)), Some(Due::Ping));
        assert_eq!(keep_alive.next(), at(45));
        assert_eq!(keep_alive.due(at(45)), Some(Due::Silence));
        keep_alive.received();
        assert_eq!(keep_alive.next(), at(46));
        assert_eq!(keep_alive.due(at(46)), Some(Due::Ping));
    }

    #[test]
    fn the_silence_timeout_starts_at_an_unanswered_ping() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut keep_alive = KeepAlive::new(SocketLimits::default(), start);
        keep_alive.initialised();
        assert_eq!(keep_alive.due(at(15)), Some(Due::Ping));
        keep_alive.received();
        // This process was paused.
        assert_eq!(keep_alive.due(at(300)), Some(Due::Ping));
        assert_eq!(keep_alive.due(at(329)), Some(Due::Ping));
        assert_eq!(keep_alive.due(at(330)), Some(Due::Silence));
    }
}
