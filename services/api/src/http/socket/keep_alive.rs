//! What the clock demands of a connection.

use tokio::time::Instant;

use super::SocketLimits;

/// What has become due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The client has not introduced itself in time.
    Initialisation,
    /// Nothing has been heard for too long.
    Silence,
    /// A ping must be sent.
    Ping,
}

/// Watches the clock for one connection. Told the time, it never looks itself.
#[derive(Debug)]
pub(super) struct KeepAlive {
    limits: SocketLimits,
    init_until: Option<Instant>,
    /// When the first ping was sent that nothing was heard after.
    asked_at: Option<Instant>,
    ping_at: Instant,
}

impl KeepAlive {
    pub(super) fn new(limits: SocketLimits, now: Instant) -> Self {
        Self {
            limits,
            init_until: Some(now + limits.init_patience),
            asked_at: None,
            ping_at: now + limits.ping_interval,
        }
    }

    /// The client has introduced itself.
    pub(super) fn initialised(&mut self) {
        self.init_until = None;
    }

    /// Something was heard.
    pub(super) fn heard(&mut self) {
        self.asked_at = None;
    }

    /// When something becomes due, if nothing is heard until then.
    pub(super) fn next(&self) -> Instant {
        let others = [self.silent_until(), self.init_until];
        others
            .into_iter()
            .flatten()
            .fold(self.ping_at, Instant::min)
    }

    /// What is due. A ping that is told of is not due again for a while.
    pub(super) fn due(&mut self, now: Instant) -> Option<Due> {
        if self.init_until.is_some_and(|until| until <= now) {
            return Some(Due::Initialisation);
        }
        if self.silent_until().is_some_and(|until| until <= now) {
            return Some(Due::Silence);
        }
        let ping = self.ping_at <= now;
        if ping {
            self.ping_at = now + self.limits.ping_interval;
            self.asked_at.get_or_insert(now);
        }
        ping.then_some(Due::Ping)
    }

    /// Until when something must be heard. Only who was asked is silent: this process may have been
    /// busy with something else for very long.
    fn silent_until(&self) -> Option<Instant> {
        let limits = &self.limits;
        let patience = limits.silence.saturating_sub(limits.ping_interval);
        self.asked_at.map(|asked| asked + patience)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Due, KeepAlive, SocketLimits};

    #[test]
    fn the_defaults_are_an_introduction_in_ten_seconds_and_pings() {
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
        keep_alive.heard();
        assert_eq!(keep_alive.next(), at(46));
        assert_eq!(keep_alive.due(at(46)), Some(Due::Ping));
    }

    #[test]
    fn who_was_not_asked_is_not_silent() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut keep_alive = KeepAlive::new(SocketLimits::default(), start);
        keep_alive.initialised();
        assert_eq!(keep_alive.due(at(15)), Some(Due::Ping));
        keep_alive.heard();
        // This process was paused.
        assert_eq!(keep_alive.due(at(300)), Some(Due::Ping));
        assert_eq!(keep_alive.due(at(329)), Some(Due::Ping));
        assert_eq!(keep_alive.due(at(330)), Some(Due::Silence));
    }
}
