//! Results of recent tests: shoppers choose the same values, and facets of a list test each condition several times.

use std::sync::{Arc, Mutex, PoisonError};

use fixedbitset::FixedBitSet;

use super::filter::Test;

/// The number of tests whose results a category keeps: more than the keys with selections that a request for facets may have.
const MAX_KEPT: usize = 16;
/// What a result needs in memory beside its bits, roughly.
const RESULT_BYTES: usize = 150;
/// A category with fewer rows keeps no results: all of its rows are tested each time.
const MIN_ROWS: usize = if cfg!(test) { 1 } else { 256 };

/// Which rows of a category recent tests hold for. The test that was used last is at the end.
#[derive(Debug, Default)]
pub(super) struct RecentTests(Mutex<Vec<(Test, Arc<FixedBitSet>)>>);

impl RecentTests {
    /// Returns the size in memory for this many rows with all results, roughly.
    pub(super) const fn bytes(rows: usize) -> usize {
        if rows < MIN_ROWS {
            return 0;
        }
        MAX_KEPT * (RESULT_BYTES + rows.div_ceil(8))
    }

    /// Returns which of so many rows a test holds for, as found before or now.
    pub(super) fn get_or_find(
        &self,
        test: &Test,
        rows: usize,
        find: impl FnOnce() -> FixedBitSet,
    ) -> Arc<FixedBitSet> {
        if rows < MIN_ROWS {
            return Arc::new(find());
        }
        if let Some(found) = self.get(test) {
            return found;
        }
        let found = Arc::new(find());
        self.keep(test.clone(), Arc::clone(&found));
        found
    }

    /// Forgets all: rows have changed.
    pub(super) fn clear(&mut self) {
        let kept = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        kept.clear();
    }

    fn get(&self, test: &Test) -> Option<Arc<FixedBitSet>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().rposition(|(known, _)| known == test)?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, found)| Arc::clone(found))
    }

    fn keep(&self, test: Test, found: Arc<FixedBitSet>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have found it meanwhile.
        if kept.iter().any(|(known, _)| *known == test) {
            return;
        }
        if kept.len() == MAX_KEPT {
            kept.remove(0);
        }
        kept.push((test, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(half_stars: u8) -> Test {
        Test::HalfStars(half_stars.into())
    }

    fn found(recent: &RecentTests, half_stars: u8) -> (usize, bool) {
        let mut is_new = false;
        let found = recent.get_or_find(&test(half_stars), 20, || {
            is_new = true;
            (0..usize::from(half_stars)).collect()
        });
        (found.count_ones(..), is_new)
    }

    #[test]
    fn the_last_used_tests_are_kept() {
        let recent = RecentTests::default();
        for half_stars in 1..=16 {
            assert_eq!(found(&recent, half_stars), (half_stars.into(), true));
        }
        assert_eq!(found(&recent, 1), (1, false));
        assert_eq!(found(&recent, 17), (17, true), "one more");
        assert_eq!(found(&recent, 1), (1, false), "used after the others");
        assert_eq!(found(&recent, 3), (3, false));
        assert_eq!(found(&recent, 2), (2, true), "used before all others");
    }

    #[test]
    fn after_a_change_nothing_is_known() {
        let mut recent = RecentTests::default();
        assert_eq!(found(&recent, 1), (1, true));
        recent.clear();
        assert_eq!(found(&recent, 1), (1, true));
    }
}
