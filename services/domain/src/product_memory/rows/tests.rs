use vitrine_model::facet::{RowFilter, TallyProduct, page_of_rows};
use vitrine_model::filter::{Condition, Direction};
use vitrine_model::product::ProductStatus;

use super::*;

const LARGE: u64 = 1_000_000;

fn category(id: i64) -> CategoryId {
    CategoryId::from_i64(id)
}

fn product(id: i64) -> ProductId {
    ProductId::from_i64(id)
}

fn lamp(of: i64, price: i64) -> TallyProduct<'static> {
    TallyProduct {
        kind: "lamp",
        category: category(of),
        brand: None,
        country: None,
        list_price: Some(price),
        half_stars: None,
    }
}

fn row(reading: &RowReading, id: i64, of: i64, price: i64) -> Arc<FacetRow> {
    let mut words = reading.words.write().unwrap();
    Arc::new(words.row(product(id), &lamp(of, price)).build())
}

/// Loads categories with products, each with its category and price.
fn load(memory: &RowMemory, categories: &[i64], products: &[(i64, i64, i64)]) {
    let reading = memory.begin_load();
    let rows = products.iter();
    let rows = rows.map(|(id, of, price)| row(&reading, *id, *of, *price));
    let rows = rows.collect();
    let ids: Vec<_> = categories.iter().map(|id| category(*id)).collect();
    memory.end_load(&reading, by_category(&ids, rows));
}

/// The products of a category.
fn products(memory: &RowMemory, of: i64) -> Option<Vec<i64>> {
    let set = memory.get(&[category(of)])?;
    let rows = read(&set.categories[0]);
    let mut ids: Vec<i64> = rows.rows().iter().map(|row| row.id().to_i64()).collect();
    ids.sort_unstable();
    Some(ids)
}

/// The version of the rows of these categories.
fn version(memory: &RowMemory, of: &[i64]) -> RowsVersion {
    let ids: Vec<_> = of.iter().map(|id| category(*id)).collect();
    memory.get(&ids).unwrap().version()
}

/// Reads all changed products again, of which these exist.
fn refresh(memory: &RowMemory, existing: &[(i64, i64, i64)]) {
    let Some(reading) = memory.begin_refresh() else {
        return;
    };
    let wanted = reading.products();
    let rows = existing
        .iter()
        .filter(|(id, ..)| wanted.contains(&product(*id)));
    let rows: Vec<_> = rows
        .map(|(id, of, price)| row(&reading, *id, *of, *price))
        .collect();
    memory.end_refresh(&reading, &rows);
}

#[test]
fn changed_products_are_read_again_wherever_they_are_now() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1, 2, 3], &[(4, 1, 0), (2, 1, 0), (3, 2, 0)]);
    assert_eq!(products(&memory, 1), Some(vec![2, 4]));
    assert_eq!(products(&memory, 3), Some(Vec::new()));
    memory.forget(&[product(2), product(3), product(9), product(7)]);
    // 2 moves, 3 is gone, 9 is new, 7 is in a category that is not in memory.
    refresh(&memory, &[(2, 3, 5), (9, 1, 0), (7, 8, 0)]);
    assert_eq!(products(&memory, 1), Some(vec![4, 9]));
    assert_eq!(products(&memory, 2), Some(Vec::new()));
    assert_eq!(products(&memory, 3), Some(vec![2]));
    assert_eq!(products(&memory, 8), None);
    assert_eq!(memory.usage().1, 3);
    assert!(memory.begin_refresh().is_none());
}

#[test]
fn sizes_are_those_of_the_rows() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 0), (2, 1, 0)]);
    let before = memory.usage();
    memory.forget(&[product(1), product(3)]);
    refresh(&memory, &[(3, 1, 0)]);
    let (bytes, rows) = memory.usage();
    assert_eq!(rows, before.1, "one row for another");
    assert!(
        bytes < before.0 + 50,
        "the codes of the other one stay: {bytes}"
    );
    load(&memory, &[1], &[(1, 1, 0), (2, 1, 0)]);
    assert_eq!(memory.usage(), before, "loaded again");
}

#[test]
fn a_row_that_changes_while_it_is_read_is_read_once_more() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 10)]);
    memory.forget(&[product(1)]);
    let reading = memory.begin_refresh().unwrap();
    let outdated = row(&reading, 1, 1, 20);
    memory.forget(&[product(1)]);
    memory.end_refresh(&reading, &[outdated]);
    let again = memory.begin_refresh().unwrap();
    assert_eq!(again.products(), [product(1)]);
    // An older reading that ends late changes nothing.
    memory.end_refresh(&again, &[]);
    memory.end_refresh(&reading, &[row(&reading, 1, 1, 20)]);
    assert_eq!(products(&memory, 1), Some(Vec::new()));
}

#[test]
fn products_that_change_during_a_load_are_read_again() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 0)]);
    let reading = memory.begin_load();
    let outdated = row(&reading, 5, 2, 0);
    memory.forget(&[product(5)]);
    // Another request reads it again before the load ends.
    refresh(&memory, &[(5, 2, 7)]);
    memory.end_load(&reading, by_category(&[category(2)], vec![outdated]));
    refresh(&memory, &[]);
    assert_eq!(products(&memory, 2), Some(Vec::new()));
}

#[test]
fn nothing_is_kept_of_a_load_during_which_all_is_forgotten() {
    let memory = RowMemory::new(LARGE);
    let reading = memory.begin_load();
    let rows = vec![row(&reading, 1, 1, 0)];
    memory.forget_all();
    memory.end_load(&reading, by_category(&[category(1)], rows));
    assert_eq!(products(&memory, 1), None);
    let reading = memory.begin_load();
    let many: Vec<_> = (0..=4_096).map(product).collect();
    memory.forget(&many);
    memory.end_load(&reading, by_category(&[category(1)], Vec::new()));
    assert_eq!(products(&memory, 1), None, "too many changes to remember");
}

#[test]
fn the_category_that_was_not_used_for_longest_makes_room() {
    let all: Vec<_> = (0..50).map(|id| (id, 1, 0)).collect();
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &all);
    let (bytes, _) = memory.usage();
    let memory = RowMemory::new((bytes * 5 / 2) as u64);
    for of in [1, 2, 3] {
        let own: Vec<_> = all.iter().map(|(id, ..)| (of * 100 + id, of, 0)).collect();
        load(&memory, &[of], &own);
        products(&memory, 1);
    }
    let left = [1, 2, 3].map(|of| products(&memory, of).is_some());
    assert_eq!(left, [true, false, true]);
    assert!(memory.has_room_for(100) && !memory.has_room_for(200));
    let too_many: Vec<_> = (0..5_000).map(|id| (id, 4, 0)).collect();
    load(&memory, &[4], &too_many);
    assert_eq!(memory.usage().1, 0, "more than there is room for");
}

#[test]
fn rows_that_did_not_fit_are_not_loaded_again() {
    let memory = RowMemory::new(10 * EXPECTED_ROW_BYTES as u64);
    assert!(memory.has_room_for(10) && !memory.has_room_for(11));
    let reading = memory.begin_load();
    // Each row has a long text of its own.
    let long = |id: i64| {
        let mut words = reading.words.write().unwrap();
        let mut row = words.row(product(id), &lamp(1, 0));
        row.token(&format!("{id}{}", "x".repeat(EXPECTED_ROW_BYTES)));
        Arc::new(row.build())
    };
    let rows = (0..10).map(long).collect();
    memory.end_load(&reading, by_category(&[category(1)], rows));
    assert_eq!(products(&memory, 1), None);
    assert!(
        !memory.has_room_for(10),
        "it is remembered what a row needs"
    );
}

#[test]
fn rows_that_are_added_one_by_one_are_bounded_too() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 0), (2, 1, 0)]);
    let room = memory.usage().0;
    let memory = RowMemory::new(room as u64);
    load(&memory, &[1], &[(1, 1, 0), (2, 1, 0)]);
    memory.forget(&[product(3)]);
    refresh(&memory, &[(3, 1, 0)]);
    assert_eq!(products(&memory, 1), None);
    load(&memory, &[1], &[(1, 1, 0), (2, 1, 0)]);
    assert_eq!(products(&memory, 1), Some(vec![1, 2]), "it is loaded again");
}

#[test]
fn a_product_that_moves_during_a_load_has_one_row() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1, 2], &[(1, 1, 0), (2, 1, 0), (1, 2, 0)]);
    assert_eq!(memory.usage().1, 2);
}

/// The products of categories in the order of their prices.
fn by_price(memory: &RowMemory, of: &[i64]) -> Option<Vec<i64>> {
    let ids: Vec<_> = of.iter().map(|id| category(*id)).collect();
    let sorted = memory.sorted(&ids, RowSort::Price)?;
    let words = sorted.words.read().unwrap();
    let all = Condition::All(Vec::new());
    let all = RowFilter::new(&all, ProductStatus::Active, &words).unwrap();
    let page = page_of_rows(
        &sorted.categories,
        &all,
        Direction::Ascending,
        (None, false),
        (100, 100),
    );
    let rows = page.unwrap().rows;
    Some(rows.into_iter().map(|row| row.id.to_i64()).collect())
}

#[test]
fn a_product_that_changes_once_more_still_has_to_be_read_again() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 10)]);
    memory.forget(&[product(1)]);
    let (change, changed) = memory.changes();
    assert_eq!(changed, 1);
    // The change stream reports the same write.
    memory.forget(&[product(1)]);
    assert!(!memory.reflect(change));
    let reading = memory.begin_refresh().unwrap();
    memory.forget(&[product(1)]);
    memory.end_refresh(&reading, &[row(&reading, 1, 1, 20)]);
    assert!(memory.reflect(change), "the row was read after it");
    assert!(!memory.reflect(memory.changes().0));
    refresh(&memory, &[(1, 1, 30)]);
    assert!(memory.reflect(memory.changes().0));
}

#[test]
fn orders_follow_their_rows_and_count_as_memory() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1, 2], &[(1, 1, 10), (2, 1, 20), (3, 2, 15)]);
    let without = memory.usage();
    assert_eq!(by_price(&memory, &[1, 2]), Some(vec![1, 3, 2]));
    let with = memory.usage();
    assert!(with.0 > without.0);
    assert_eq!(by_price(&memory, &[1, 2]), Some(vec![1, 3, 2]));
    assert_eq!(memory.usage(), with, "sorted once");
    memory.forget(&[product(1), product(2), product(4)]);
    // 1 becomes dearer, 2 moves, 4 is new.
    refresh(&memory, &[(1, 1, 30), (2, 2, 1), (4, 1, 12)]);
    assert_eq!(by_price(&memory, &[1, 2]), Some(vec![2, 4, 3, 1]));
    memory.forget(&[product(4)]);
    refresh(&memory, &[]);
    assert_eq!(by_price(&memory, &[1, 2]), Some(vec![2, 3, 1]));
    let (bytes, rows) = memory.usage();
    assert_eq!(rows, with.1);
    assert!(
        bytes < with.0 + 400,
        "the codes of replaced rows stay: {bytes}"
    );
    let many: Vec<_> = (10..120).map(|id| (id, 1, 100 + id)).collect();
    let ids: Vec<_> = many.iter().map(|(id, ..)| product(*id)).collect();
    memory.forget(&ids);
    refresh(&memory, &many);
    assert_eq!(memory.unsorted(&[category(1)], RowSort::Price), 111);
    assert_eq!(by_price(&memory, &[2]), Some(vec![2, 3]));
}

#[test]
fn what_does_not_fit_is_not_sorted() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 10), (2, 1, 20)]);
    let room = memory.usage().0;
    let memory = RowMemory::new(room as u64 + 1);
    load(&memory, &[1], &[(1, 1, 10), (2, 1, 20)]);
    assert_eq!(by_price(&memory, &[1]), None);
    assert!(products(&memory, 1).is_some());
    assert_eq!(memory.usage().0, room);
}

#[test]
fn rows_are_loaded_for_lists_once_that_pays_and_there_is_room() {
    let few = [(category(1), 10)];
    let memory = RowMemory::new(2 * LARGE);
    let missed: Vec<_> = (0..40).map(|_| memory.missed(&few)).collect();
    let loads = |at: &usize| missed[*at];
    assert_eq!((0..40).filter(loads).collect::<Vec<_>>(), [15, 31]);
    let many = [(category(2), 640)];
    let missed = (0..40).position(|_| memory.missed(&many));
    assert_eq!(missed, Some(19));
    let memory = RowMemory::new(1_000);
    assert!((0..40).all(|_| !memory.missed(&few)), "there is no room");
}

#[test]
fn rows_have_another_version_once_one_of_them_changes() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1, 2], &[(1, 1, 10), (2, 2, 20)]);
    let now = || [&[1_i64][..], &[2], &[1, 2]].map(|of| version(&memory, of));
    let [one, two, both] = now();
    assert!(one != two && one != both && two != both);
    // It is read again, and is as it was.
    memory.forget(&[product(2)]);
    refresh(&memory, &[(2, 2, 20)]);
    assert_eq!(now(), [one, two, both]);
    memory.forget(&[product(2)]);
    refresh(&memory, &[(2, 2, 30)]);
    let [same, changed, with_changed] = now();
    assert!(same == one && changed != two && with_changed != both);
}

#[test]
fn rows_that_are_loaded_once_more_have_another_version() {
    let memory = RowMemory::new(LARGE);
    load(&memory, &[1], &[(1, 1, 10)]);
    let before = version(&memory, &[1]);
    memory.forget_all();
    load(&memory, &[1], &[(1, 1, 20)]);
    assert_ne!(version(&memory, &[1]), before);
}
