//! What a connection is doing, and until when it may go on.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

use tokio::time::{Duration, Instant};

use super::limits::ConnectionLimits;

/// Stands for "not yet" among milliseconds.
const NEVER: u64 = u64::MAX;

/// The activity of a connection, shared by its transport, its requests and its [`Watch`].
///
/// The time limits are our own. The header timeout of hyper also ends connections that are only
/// idle, and does not begin before the first byte: a client that sends nothing would stay.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    /// The number of requests under way, separately for two successive periods of the response
    /// timeout.
    requests: [AtomicU32; 2],
    period: AtomicUsize,
    /// When the last request ended, in milliseconds after opening.
    idle_since: AtomicU64,
    /// When the first byte of the next request arrived.
    header_since: AtomicU64,
    /// Whether a request has arrived over HTTP/2, where other frames than headers arrive too.
    multiplexed: AtomicBool,
}

/// Counts one request under way until dropped.
#[derive(Debug)]
pub(super) struct Request {
    activity: Arc<Activity>,
    period: usize,
}

/// Why the time of a connection is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// A complete header has not arrived in time.
    Header,
    /// There was no request for too long.
    Idle,
    /// A response was not delivered in time.
    Response,
}

/// Watches the time limits of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    activity: Arc<Activity>,
    header_timeout: Duration,
    idle_timeout: Duration,
    response_timeout: Duration,
    /// When requests of the earlier period must have ended.
    period_ends: Instant,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            requests: Default::default(),
            period: AtomicUsize::new(0),
            idle_since: AtomicU64::new(NEVER),
            header_since: AtomicU64::new(0),
            multiplexed: AtomicBool::new(false),
        })
    }

    /// Records that bytes have arrived.
    pub(super) fn received(&self) {
        if !self.is_busy() && self.header_since.load(Ordering::Relaxed) == NEVER {
            self.header_since.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Records that a header is complete. The request lasts until its response is delivered.
    pub(super) fn begin(self: &Arc<Self>, multiplexed: bool) -> Request {
        let period = self.period.load(Ordering::Relaxed);
        self.requests[period].fetch_add(1, Ordering::Relaxed);
        self.header_since.store(NEVER, Ordering::Relaxed);
        if multiplexed {
            self.multiplexed.store(true, Ordering::Relaxed);
        }
        Request {
            activity: Arc::clone(self),
            period,
        }
    }

    /// Whether requests are under way.
    pub(super) fn is_busy(&self) -> bool {
        let mut counts = self.requests.iter();
        counts.any(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(NEVER)
    }

    fn at(&self, millis: &AtomicU64) -> Option<Instant> {
        let millis = millis.load(Ordering::Relaxed);
        (millis != NEVER).then(|| self.opened + Duration::from_millis(millis))
    }
}

impl Request {
    /// Restarts the response timeout. For responses that go on as long as they are read.
    pub(super) fn renew(&mut self) {
        let period = self.activity.period.load(Ordering::Relaxed);
        if period != self.period {
            self.activity.requests[period].fetch_add(1, Ordering::Relaxed);
            self.activity.requests[self.period].fetch_sub(1, Ordering::Relaxed);
            self.period = period;
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let activity = &self.activity;
        let now = activity.now();
        activity.idle_since.store(now, Ordering::Relaxed);
        activity.requests[self.period].fetch_sub(1, Ordering::Relaxed);
    }
}

impl Watch {
    pub(super) fn new(activity: Arc<Activity>, limits: &ConnectionLimits) -> Self {
        let period_ends = activity.opened + limits.response_timeout;
        Self {
            activity,
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
            response_timeout: limits.response_timeout,
            period_ends,
        }
    }

    /// Returns when the connection has to be looked at next, unless its state changes.
    pub(super) fn due(&self) -> Instant {
        self.limit().0
    }

    /// Returns why the connection must end now, if it must.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<Overdue> {
        let (due, reason) = self.limit();
        if now < due {
            return None;
        }
        if reason != Overdue::Response {
            return Some(reason);
        }
        let period = self.activity.period.load(Ordering::Relaxed);
        let earlier = &self.activity.requests[1 - period];
        if earlier.load(Ordering::Relaxed) > 0 {
            return Some(reason);
        }
        self.activity.period.store(1 - period, Ordering::Relaxed);
        self.period_ends = now + self.response_timeout;
        None
    }

    /// Lets the connection be idle for longer.
    pub(super) fn extend_idle(&mut self, by: Duration) {
        self.idle_timeout += by;
    }

    /// The instant when something is due, and what.
    fn limit(&self) -> (Instant, Overdue) {
        let activity = &self.activity;
        if activity.is_busy() {
            return (self.period_ends, Overdue::Response);
        }
        let header = activity.at(&activity.header_since);
        let multiplexed = activity.multiplexed.load(Ordering::Relaxed);
        if let Some(since) = header.filter(|_| !multiplexed) {
            return (since + self.header_timeout, Overdue::Header);
        }
        let idle = activity.at(&activity.idle_since);
        let since = idle.unwrap_or(activity.opened);
        (since + self.idle_timeout, Overdue::Idle)
    }
}
