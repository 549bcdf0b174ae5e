//! How often a cache had what was asked for.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Counts the hits and misses of a cache. Cheap to clone; clones count together.
#[derive(Clone, Debug, Default)]
pub struct CacheUse(Arc<[AtomicU64; 2]>);

impl CacheUse {
    /// Counts a look-up.
    pub fn count(&self, is_hit: bool) {
        self.0[usize::from(is_hit)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many look-ups found something.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// Returns how many look-ups found nothing.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }
}
