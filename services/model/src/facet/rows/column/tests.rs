use std::collections::BTreeSet;

use super::*;

fn find_among<T: Code>(some: [T; 5]) {
    let ranges = [0..0, 0..1, 1..7, 1..8, 7..u32::MAX, 1..u32::MAX, 300..400];
    for len in [0, 1, 63, 64, 65, 128, 200] {
        let values: Vec<T> = (0..len).map(|at| some[at * 3 % some.len()]).collect();
        for range in ranges.clone() {
            let mut found = FixedBitSet::with_capacity(len);
            find_within(&values, range.clone(), &mut found);
            let is_within = |at: &usize| {
                let code: u32 = values[*at].into();
                range.contains(&code) && code < T::NOTHING.into()
            };
            let expected: Vec<usize> = (0..len).filter(is_within).collect();
            let found: Vec<usize> = found.ones().collect();
            assert_eq!(found, expected, "{range:?} among {len}");
        }
    }
}

#[test]
fn values_within_a_range_are_found_in_blocks_and_in_the_rest() {
    find_among([0, 1, 7, u8::MAX - 1, u8::MAX]);
    find_among([0, 1, 7, u16::MAX - 1, u16::MAX]);
    find_among([0, 1, 7, u32::MAX - 1, u32::MAX]);
}

#[test]
fn codes_behind_the_last_row_are_passed_over() {
    let mut values = vec![0_u8; 70];
    values.resize(300, u8::MAX);
    let mut found = FixedBitSet::with_capacity(70);
    find_within(&values, 0..1, &mut found);
    assert_eq!(found.count_ones(..), 70);
}

#[test]
fn codes_are_as_narrow_as_the_number_of_cells_allows() {
    for (cells, bytes) in [(254, 1), (255, 2), (301, 2), (65_534, 2), (65_535, 4)] {
        let mut column = Column::new();
        // In an order of its own, so that the codes change when they are put in order.
        let prices = (0..cells).map(|at| i64::from(at) * 7_919 % i64::from(cells));
        for (place, price) in (0..).zip(prices.clone()) {
            let code = column.code(Some(Cell::Price(price)));
            column.put(place, code);
        }
        column.put(cells, SEVERAL);
        let rows = cells as usize + 2;
        column.fit(rows);
        let is_narrow = match &column.codes {
            Codes::OfAll(RowCodes::One(_)) => bytes == 1,
            Codes::OfAll(RowCodes::Two(_)) => bytes == 2,
            Codes::OfAll(RowCodes::Four(_)) => bytes == 4,
            Codes::OfFilled(_) => false,
        };
        assert!(is_narrow, "{cells} cells");
        let mut all = FixedBitSet::with_capacity(rows);
        all.insert_range(..);
        let (mut counts, mut several) = (Vec::new(), Vec::new());
        let counted = column.count(&Matching::new(all.into()), &mut counts, |place| {
            several.push(place);
        });
        let counted: Vec<(usize, u64, u32)> = counted.cells().collect();
        let expected = (0..u64::from(cells)).map(|price| (0, price, 1));
        let expected: Vec<(usize, u64, u32)> = expected.collect();
        assert!(counted == expected, "{cells} cells");
        assert_eq!(several, [cells]);
        // Two in three: not a multiple of the number of lanes.
        let some: FixedBitSet = (0..rows).filter(|place| place % 3 > 0).collect();
        let some = Matching::new(some.into());
        several.clear();
        let counted = column.count(&some, &mut counts, |place| several.push(place));
        let counted: BTreeSet<u64> = counted.cells().map(|(_, price, _)| price).collect();
        let expected = (0..).zip(prices.clone());
        let expected = expected.filter(|(place, _)| place % 3 > 0);
        let expected: BTreeSet<u64> = expected.map(|(_, price)| price.cast_unsigned()).collect();
        assert!(counted == expected, "some of {cells} cells");
        assert_eq!(several.len(), usize::from(cells % 3 > 0));
        let (mut with_one, mut with_more) = (Vec::new(), Vec::new());
        column.count_codes::<1>(&some, &mut with_one);
        column.count_codes::<LANES>(&some, &mut with_more);
        assert!(with_one == counts && with_more == counts, "{cells} cells");
        let taken: Vec<u32> = (0..cells).map(|place| column.take(place)).collect();
        let prices: Vec<u32> = prices.map(|price| u32::try_from(price).unwrap()).collect();
        assert!(taken == prices, "{cells} cells");
        assert_eq!(column.take(cells), SEVERAL);
    }
}

#[test]
fn codes_widen_for_new_cells() {
    let mut column = Column::new();
    for n in 0..300_u32 {
        column.fit(n as usize);
        let code = column.code(Some(Cell::Price(n.into())));
        column.put(n, code);
    }
    assert!(matches!(&column.codes, Codes::OfAll(RowCodes::Two(_))));
    assert!((0..300).all(|place| column.take(place) == place));
}
