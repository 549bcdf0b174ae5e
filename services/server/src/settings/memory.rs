//! Settings of what is kept in the memory of the process.

use std::time::Duration;

use clap::Args;
use vitrine_domain::product_memory::ProductMemoryOptions;

/// The bytes of a megabyte.
const MEGABYTE: u64 = 1_000_000;
/// With fewer megabytes of products, huge pages cost more memory than the time they save is worth.
const MIN_FOR_HUGE_PAGES: u64 = 256;

/// What is kept in the memory of the process.
#[derive(Clone, Copy, Debug, Args)]
pub struct MemorySettings {
    /// How many megabytes of products are kept in memory, and half as many of what facets and lists need of
    /// them.
    /// 0: none. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_PRODUCT_MEMORY",
        default_value_t = 64
    )]
    pub product_memory: u64,
    /// How old, in seconds, a product from memory may be if another process has changed it. For dev
    /// and serve.
    #[arg(long, global = true, env = "VITRINE_PRODUCT_MEMORY_AGE", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub product_memory_age: u64,
}

impl MemorySettings {
    /// The options of the memory of products; `None` if it is switched off.
    pub(crate) fn products(self) -> Option<ProductMemoryOptions> {
        (self.product_memory > 0).then(|| ProductMemoryOptions {
            max_bytes: self.product_memory.saturating_mul(MEGABYTE),
            max_age: Duration::from_secs(self.product_memory_age),
            ..ProductMemoryOptions::default()
        })
    }

    /// Whether products take so much memory that huge pages are worth theirs.
    pub(super) const fn needs_huge_pages(self) -> bool {
        self.product_memory >= MIN_FOR_HUGE_PAGES
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use vitrine_domain::product_memory::ProductMemoryOptions;

    use crate::settings::Cli;

    #[test]
    fn nothing_is_kept_in_a_memory_of_nothing() {
        let products = |arguments: &str| {
            let arguments = arguments.split_whitespace();
            let read = Cli::try_parse_from(["vitrine"].into_iter().chain(arguments));
            read.map(|cli| cli.memory.products())
        };
        assert_eq!(products("").unwrap(), Some(ProductMemoryOptions::default()));
        assert_eq!(products("--product-memory 0").unwrap(), None);
        let one = products("--product-memory 1").unwrap().unwrap();
        assert_eq!(one.max_bytes, 1_000_000);
        assert!(products("--product-memory-age 0").is_err());
    }
}
