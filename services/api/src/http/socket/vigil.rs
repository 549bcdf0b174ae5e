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
pub(super) struct Vigil {
    limits: SocketLimits,
    init_until: Option<Instant>,
    silent_since: Instant,
    ping_at: Instant,
}

impl Vigil {
    pub(super) fn new(limits: SocketLimits, now: Instant) -> Self {
        Self {
            limits,
            init_until: Some(now + limits.init_patience),
            silent_since: now,
            ping_at: now + limits.ping_interval,
        }
    }

    /// The client has introduced itself.
    pub(super) fn initialised(&mut self) {
        self.init_until = None;
    }

    /// Something was heard.
    pub(super) fn heard(&mut self, now: Instant) {
        self.silent_since = now;
    }

    /// When something becomes due, if nothing is heard until then.
    pub(super) fn next(&self) -> Instant {
        let next = self.ping_at.min(self.silent_until());
        self.init_until.map_or(next, |until| until.min(next))
    }

    /// What is due. A ping that is told of is not due again for a while.
    pub(super) fn due(&mut self, now: Instant) -> Option<Due> {
        if self.init_until.is_some_and(|until| until <= now) {
            return Some(Due::Initialisation);
        }
        if self.silent_until() <= now {
            return Some(Due::Silence);
        }
        let ping = self.ping_at <= now;
        if ping {
            self.ping_at = now + self.limits.ping_interval;
        }
        ping.then_some(Due::Ping)
    }

    fn silent_until(&self) -> Instant {
        self.silent_since + self.limits.silence
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Due, SocketLimits, Vigil};

    #[test]
    fn the_defaults_are_an_introduction_in_ten_seconds_and_pings() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut vigil = Vigil::new(SocketLimits::default(), start);
        assert_eq!(vigil.next(), at(10));
        assert_eq!(vigil.due(at(9)), None);
        assert_eq!(vigil.due(at(10)), Some(Due::Initialisation));
        vigil.initialised();
        assert_eq!(vigil.next(), at(15));
        assert_eq!(vigil.due(at(15)), Some(Due::Ping));
        assert_eq!(vigil.due(at(15)), None);
        assert_eq!(vigil.due(at(31)), Some(Due::Ping));
        assert_eq!(vigil.next(), at(45));
        assert_eq!(vigil.due(at(45)), Some(Due::Silence));
        vigil.heard(at(45));
        assert_eq!(vigil.next(), at(46));
        assert_eq!(vigil.due(at(46)), Some(Due::Ping));
    }
}
