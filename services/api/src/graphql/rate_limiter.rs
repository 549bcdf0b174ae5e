//! Limits on what a caller may ask for over time, by the cost of its requests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::execution::RateState;

/// The number of callers that are remembered. One that is forgotten starts with a full budget.
const MAX_CALLERS: u64 = 100_000;

/// Who a budget belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The subject of a token.
    Subject(Arc<str>),
    /// An address without a token. Of IPv6 only the network counts: one customer of a provider has
    /// all addresses of it.
    Address(IpAddr),
}

impl Caller {
    /// Returns the caller with this subject or, without a token, at this address.
    #[must_use]
    pub fn of(subject: Option<&str>, address: Option<IpAddr>) -> Self {
        let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        subject.map_or_else(
            || Self::at(address),
            |subject| Self::Subject(subject.into()),
        )
    }

    /// Returns the caller without a token at this address.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                Ipv6Addr::from(network).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// A budget: it is full at first, and refills at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The units that may be spent at once.
    pub burst: u64,
    /// The units that are added each second.
    pub per_second: u64,
}

/// The budgets of all callers.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    /// By caller and size of the budget: the same subject may have tokens with and without a role.
    buckets: Cache<(Caller, u64), Arc<Mutex<Bucket>>>,
}

/// The state of a budget at an instant.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The units left, in thousandths.
    left: u64,
    at: Instant,
}

impl RateLimiter {
    /// Creates a limiter that remembers no caller yet.
    #[must_use]
    pub fn new() -> Self {
        let buckets = Cache::builder().max_capacity(MAX_CALLERS);
        Self {
            buckets: buckets.time_to_idle(Duration::from_mins(10)).build(),
        }
    }

    /// Takes a cost from the budget of a caller. If not enough is left, takes nothing and says how
    /// long to wait.
    pub fn take(
        &self,
        caller: &Caller,
        budget: Budget,
        cost: u64,
        now: Instant,
    ) -> Result<RateState, (RateState, Duration)> {
        let full = Bucket {
            left: budget.burst.saturating_mul(1_000),
            at: now,
        };
        let key = (caller.clone(), budget.burst);
        let bucket = self.buckets.get_with(key, || Arc::new(Mutex::new(full)));
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(bucket.at);
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let refilled = millis.saturating_mul(budget.per_second);
        bucket.left = bucket.left.saturating_add(refilled).min(full.left);
        bucket.at += Duration::from_millis(millis);
        let cost = cost.saturating_mul(1_000);
        let until = |units: u64| Duration::from_millis(units.div_ceil(budget.per_second.max(1)));
        let state = |left: u64| RateState {
            limit: budget.burst,
            left: left / 1_000,
            full_in: until(full.left - left),
        };
        match bucket.left.checked_sub(cost) {
            Some(left) => {
                bucket.left = left;
                Ok(state(left))
            }
            None => Err((state(bucket.left), until(cost - bucket.left))),
        }
    }
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        burst: 100,
        per_second: 10,
    };

    fn ada() -> Caller {
        Caller::Subject("ada".into())
    }

    #[test]
    fn a_budget_is_spent_and_refills() {
        let (limiter, start) = (RateLimiter::new(), Instant::now());
        let take = |cost, seconds| {
            let now = start + Duration::from_secs(seconds);
            limiter.take(&ada(), BUDGET, cost, now)
        };
        assert_eq!(take(70, 0).unwrap().left, 30);
        let (state, wait) = take(50, 0).unwrap_err();
        assert_eq!((state.left, wait), (30, Duration::from_secs(2)));
        assert_eq!(take(50, 2).unwrap().left, 0);
        let state = take(0, 1_000).unwrap();
        assert_eq!((state.left, state.full_in), (100, Duration::ZERO));
    }

    #[test]
    fn a_refused_request_takes_nothing() {
        let (limiter, now) = (RateLimiter::new(), Instant::now());
        for _ in 0..1_000 {
            assert!(limiter.take(&ada(), BUDGET, 101, now).is_err());
        }
        assert_eq!(limiter.take(&ada(), BUDGET, 100, now).unwrap().left, 0);
    }

    #[test]
    fn fractions_of_a_second_refill_what_they_should() {
        let (limiter, start) = (RateLimiter::new(), Instant::now());
        limiter.take(&ada(), BUDGET, 100, start).unwrap();
        let mut now = start;
        for _ in 0..10_000 {
            now += Duration::from_micros(350);
            let state = limiter.take(&ada(), BUDGET, 0, now);
            assert!(state.is_ok());
        }
        let left = limiter.take(&ada(), BUDGET, 0, now).unwrap().left;
        assert_eq!(left, 35, "3.5 seconds");
    }

    #[test]
    fn callers_have_budgets_of_their_own() {
        let (limiter, now) = (RateLimiter::new(), Instant::now());
        let at = |address: &str| Caller::at(address.parse().unwrap());
        let spend = |caller: &Caller| limiter.take(caller, BUDGET, 100, now).is_ok();
        assert!(spend(&ada()) && spend(&at("192.0.2.1")) && spend(&at("192.0.2.2")));
        assert!(!spend(&ada()));
        assert!(spend(&at("2001:db8::1")));
        assert!(!spend(&at("2001:db8::2")), "the same network");
        assert!(!spend(&at("::ffff:192.0.2.1")), "the same address");
    }
}
