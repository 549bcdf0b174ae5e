use super::*;

#[test]
fn values_within_a_range_are_found_in_blocks_and_in_the_rest() {
    let some = [0, 1, 7, u32::MAX - 1, u32::MAX];
    let ranges = [0..0, 0..1, 1..7, 1..8, 7..u32::MAX, 1..u32::MAX];
    for len in [0, 1, 63, 64, 65, 128, 200] {
        let values: Vec<u32> = (0..len).map(|at| some[at * at % some.len()]).collect();
        for range in ranges.clone() {
            let mut found = FixedBitSet::with_capacity(len);
            find_within(&values, range.clone(), &mut found);
            let expected: Vec<usize> = (0..len).filter(|at| range.contains(&values[*at])).collect();
            let found: Vec<usize> = found.ones().collect();
            assert_eq!(found, expected, "{range:?} among {len}");
        }
    }
}
