//! Settings of what callers may ask for.

use clap::Args;
use ipnet::IpNet;
use vitrine_api::graphql::{Budget, CostLimits, RateLimiter, RateLimits};

/// How many seconds' budget may be spent at once.
const BURST_SECONDS: u64 = 10;

/// What callers may ask for. A unit of cost is about ten microseconds of CPU.
#[derive(Clone, Debug, Args)]
pub struct LimitSettings {
    /// The maximum cost of a request of anonymous callers and shoppers. For dev and serve.
    #[arg(long, global = true, env = "VITRINE_COST_LIMIT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub cost_limit: u64,
    /// The maximum cost of a request of moderators, admins and services. For dev and serve.
    #[arg(long, global = true, env = "VITRINE_STAFF_COST_LIMIT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub staff_cost_limit: u64,
    /// The cost that an anonymous caller or shopper may ask for in each second, and ten times as
    /// much at once; staff may ask for ten times this. 0: no limit. For serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_COST_PER_SECOND",
        default_value_t = 20_000
    )]
    pub cost_per_second: u64,
    /// The network of a proxy whose `X-Forwarded-For` is believed: `10.0.0.0/8`. May be repeated,
    /// or several separated by commas. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TRUSTED_PROXY",
        value_delimiter = ','
    )]
    pub trusted_proxy: Vec<IpNet>,
    /// Be a subgraph of Apollo Federation: answer `_service` and `_entities`, which routers ask
    /// for. For dev, serve and schema.
    #[arg(long, global = true, env = "VITRINE_FEDERATION")]
    pub federation: bool,
}

impl LimitSettings {
    /// The maximum costs of a request.
    pub(crate) fn costs(&self) -> CostLimits {
        CostLimits {
            public: self.cost_limit,
            staff: self.staff_cost_limit,
        }
    }

    /// The budgets of callers; `None` without a limit. A budget is enough for the most expensive
    /// request.
    pub(crate) fn rates(&self) -> Option<RateLimits> {
        let budget = |per_second: u64, limit: u64| Budget {
            burst: per_second.saturating_mul(BURST_SECONDS).max(limit),
            per_second,
        };
        let staff = self.cost_per_second.saturating_mul(10);
        (self.cost_per_second > 0).then(|| RateLimits {
            limiter: RateLimiter::new(),
            public: budget(self.cost_per_second, self.cost_limit),
            staff: budget(staff, self.staff_cost_limit),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::settings::Cli;

    fn limits(arguments: &str) -> Result<super::LimitSettings, clap::Error> {
        let arguments = arguments.split_whitespace();
        Ok(Cli::try_parse_from(["vitrine"].into_iter().chain(arguments))?.limits)
    }

    #[test]
    fn a_budget_is_enough_for_the_most_expensive_request() {
        let rates = limits("--cost-per-second 100").unwrap().rates().unwrap();
        assert_eq!((rates.public.per_second, rates.public.burst), (100, 10_000));
        assert_eq!(
            (rates.staff.per_second, rates.staff.burst),
            (1_000, 100_000)
        );
        let rates = limits("").unwrap().rates().unwrap();
        assert_eq!(
            (rates.public.per_second, rates.public.burst),
            (20_000, 200_000)
        );
        assert!(limits("--cost-per-second 0").unwrap().rates().is_none());
    }

    #[test]
    fn wrong_limits_are_refused() {
        for wrong in [
            "--cost-limit 0",
            "--cost-limit -1",
            "--trusted-proxy 10.0.0.0/33",
            "--trusted-proxy proxy.example",
        ] {
            assert!(limits(wrong).is_err(), "{wrong}");
        }
        let proxies = limits("--trusted-proxy 10.0.0.0/8,fd00::/8").unwrap();
        assert_eq!(proxies.trusted_proxy.len(), 2);
    }
}
