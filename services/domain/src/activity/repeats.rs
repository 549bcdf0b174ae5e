//! What callers have recorded in this hour, so that each counts once for a product.
//!
//! A table of fixed size remembers hashes. A new hash takes the place of an older one, so with very many callers an event may
//! be counted again, and memory stays bounded. Nobody can choose whose place is taken: each process hashes differently.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use vitrine_model::activity::ActivityKind;
use vitrine_model::id::ProductId;

/// The number of remembered events: 4 MB.
const SLOTS: usize = 1 << 19;

/// The events of this hour.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Allocated with the first event.
    slots: OnceLock<Box<[AtomicU64]>>,
    hasher: RandomState,
}

impl Repeats {
    /// Whether a caller records such an event of a product for the first time in this hour. Of concurrent ones, one is the
    /// first.
    pub(super) fn is_first(
        &self,
        caller: &str,
        (product, kind): (ProductId, ActivityKind),
        hour: i64,
    ) -> bool {
        let hash = self.hasher.hash_one((caller, product, kind, hour)).max(1);
        let slots = self
            .slots
            .get_or_init(|| (0..SLOTS).map(|_| AtomicU64::new(0)).collect());
        let slots_before = u64::try_from(slots.len()).expect("few");
        let at = usize::try_from(hash % slots_before).expect("below the number of slots");
        slots[at].swap(hash, Ordering::Relaxed) != hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_the_first_once_for_caller_product_kind_and_hour() {
        let repeats = Repeats::default();
        let (one, other) = (ProductId::from_i64(1), ProductId::from_i64(2));
        let (view, cart) = (ActivityKind::View, ActivityKind::Cart);
        for (caller, product, kind, hour) in [
            ("a", one, view, 1),
            ("b", one, view, 1),
            ("a", other, view, 1),
            ("a", one, cart, 1),
            ("a", one, view, 2),
        ] {
            let first = [(); 3].map(|()| repeats.is_first(caller, (product, kind), hour));
            assert_eq!(first, [true, false, false], "{caller} {product:?} {hour}");
        }
    }
}
