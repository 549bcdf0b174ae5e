use proptest::prelude::*;

use super::*;
use crate::facet::{SortValues, TallyProduct, Vocabulary};
use crate::filter::{Bounds, Condition};
use crate::id::CategoryId;
use crate::product::ProductStatus;

/// More rows than any test has.
const ALL: usize = 1_000;

fn row(words: &mut Vocabulary, id: i64, of: i64, price: Option<i64>, rating: i64) -> Arc<FacetRow> {
    let product = TallyProduct {
        kind: "lamp",
        category: CategoryId::from_i64(of),
        brand: None,
        country: None,
        list_price: price,
        half_stars: None,
    };
    let mut row = words.row(ProductId::from_i64(id), &product);
    row.sort_values(SortValues {
        rating: Some(rating),
        ..SortValues::default()
    });
    Arc::new(row.build())
}

/// The rows of up to four categories: of each product its category, price and rating.
fn catalogue() -> impl Strategy<Value = Vec<(i64, Option<i64>, i64)>> {
    let price = prop::option::of(prop_oneof![-2_i64..3, Just(i64::MIN), Just(i64::MAX)]);
    prop::collection::vec((0_i64..4, price, -2_i64..3), 0..40)
}

/// The matching products in the order of a list: by value, those without one last, ties by id.
fn in_order(
    rows: &[Arc<FacetRow>],
    filter: &RowFilter,
    by: RowSort,
    direction: Direction,
) -> Vec<RowPlace> {
    let place = |row: &Arc<FacetRow>| RowPlace {
        value: by.value(row),
        id: row.id,
    };
    let matching = rows.iter().filter(|row| filter.matches(row));
    let mut places: Vec<RowPlace> = matching.map(place).collect();
    places.sort_by(|a, b| {
        let ascending = (a.value, a.id).cmp(&(b.value, b.id));
        let in_direction = match direction {
            Direction::Ascending => ascending,
            Direction::Descending => ascending.reverse(),
        };
        a.value.is_none().cmp(&b.value.is_none()).then(in_direction)
    });
    places
}

fn sorted_categories(rows: &[Arc<FacetRow>], by: RowSort) -> Vec<Arc<SortedCategory>> {
    let of = |category: i64| {
        let own = rows
            .iter()
            .filter(|row| row.category.to_i64() == category)
            .cloned();
        Arc::new(SortedCategory::new(by, own.collect()))
    };
    (0..4).map(of).collect()
}

fn sort() -> impl Strategy<Value = (RowSort, Direction)> {
    let by = prop::sample::select(vec![RowSort::Price, RowSort::Rating, RowSort::BestSelling]);
    let direction = prop::sample::select(vec![Direction::Ascending, Direction::Descending]);
    (by, direction)
}

proptest! {
    #[test]
    fn pages_in_both_directions_are_parts_of_the_sorted_list(
        products in catalogue(), (by, direction) in sort(), size in 1_usize..8, least in prop::option::of(-1_i64..3),
    ) {
        let mut words = Vocabulary::default();
        let rows: Vec<_> = (0_i64..)
            .zip(&products)
            .map(|(id, (of, price, rating))| row(&mut words, id, *of, *price, *rating))
            .collect();
        let condition = least.map_or(Condition::All(Vec::new()), |gte| {
            Condition::Price(Bounds { gte: Some(gte), lte: None })
        });
        let filter = RowFilter::new(&condition, ProductStatus::Active, &words).unwrap();
        let expected = in_order(&rows, &filter, by, direction);
        let sorted = sorted_categories(&rows, by);
        let page = |from, backward| {
            page_of_rows(&sorted, &filter, direction, (from, backward), (size, ALL)).unwrap()
        };
        let mut read = Vec::new();
        loop {
            let next = page(read.last().copied(), false);
            read.extend(&next.rows);
            prop_assert_eq!(next.more, read.len() < expected.len());
            if !next.more {
                break;
            }
        }
        prop_assert_eq!(&read, &expected);
        let mut read: Vec<RowPlace> = Vec::new();
        loop {
            let before = page(read.first().copied(), true);
            read.splice(0..0, before.rows);
            prop_assert_eq!(before.more, read.len() < expected.len());
            if !before.more {
                break;
            }
        }
        prop_assert_eq!(&read, &expected);
        // A place that no row has.
        let between = RowPlace { value: Some(0), id: ProductId::from_i64(-1) };
        let rank = |place: &RowPlace| Rank::of(*place, direction);
        let behind = expected.iter().filter(|place| rank(place) > rank(&between));
        let behind: Vec<_> = behind.copied().take(size).collect();
        prop_assert_eq!(page(Some(between), false).rows, behind);
    }

    #[test]
    fn an_order_that_follows_changes_is_the_order_of_the_changed_rows(
        products in catalogue(), changes in prop::collection::vec((0_i64..45, any::<bool>(), -2_i64..3), 0..20),
        (by, _) in sort(),
    ) {
        let mut words = Vocabulary::default();
        let mut rows: Vec<_> = (0_i64..)
            .zip(&products)
            .map(|(id, (_, price, rating))| row(&mut words, id, 0, *price, *rating))
            .collect();
        let mut sorted = SortedCategory::new(by, rows.clone());
        for (id, stays, number) in changes {
            let new = stays.then(|| row(&mut words, id, 0, Some(number).filter(|n| *n > 0), number));
            let at = rows.iter().position(|row| row.id.to_i64() == id);
            let old = at.map(|at| rows.remove(at));
            rows.extend(new.clone());
            sorted.replace(old.as_deref(), new.as_ref());
        }
        let again = SortedCategory::new(by, rows.clone());
        prop_assert_eq!(sorted.bytes(), again.bytes());
        prop_assert_eq!(sorted.rows, again.rows);
    }
}

#[test]
fn a_list_that_examines_too_many_rows_is_given_up() {
    let mut words = Vocabulary::default();
    let rows: Vec<_> = (0..20)
        .map(|id| row(&mut words, id, 0, Some(id), 0))
        .collect();
    let sorted = sorted_categories(&rows, RowSort::Price);
    let at_least = |price| {
        let bounds = Bounds {
            gte: Some(price),
            lte: None,
        };
        RowFilter::new(&Condition::Price(bounds), ProductStatus::Active, &words).unwrap()
    };
    let page = |price, size, most| {
        let start = (None, false);
        page_of_rows(
            &sorted,
            &at_least(price),
            Direction::Ascending,
            start,
            (size, most),
        )
    };
    // The eleventh row tells that there are more.
    assert!(page(0, 10, 11).is_some_and(|page| page.rows.len() == 10 && page.more));
    assert_eq!(page(0, 10, 10), None);
    assert_eq!(page(19, 10, 19), None);
    assert!(page(19, 10, 20).is_some_and(|page| page.rows.len() == 1 && !page.more));
}
