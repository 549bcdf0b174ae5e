//! Paging while rows are added: each row that existed at the start is seen once in each direction.

use proptest::prelude::*;
use vitrine_harness::{App, product, review, test};
use vitrine_model::import::{ProductDraft, ReviewDraft};

use super::check;

/// The sort value of a row: small numbers, so that many tie.
type Place = (i64, i64);

fn places() -> impl Strategy<Value = (Vec<Place>, Vec<Place>, usize)> {
    let place = || (0..4_i64, 0..4_i64);
    (
        prop::collection::vec(place(), 8..16),
        prop::collection::vec(place(), 3),
        1..6_usize,
    )
}

/// A list that can be paged and appended to.
trait List {
    /// One page as `(name, cursor)`, and whether another page follows.
    async fn page(&self, app: &App, arguments: &str) -> (Vec<(String, String)>, bool);
    /// Adds a row.
    async fn add(&self, app: &App, name: &str, place: Place);
}

struct Products {
    category: String,
    order: String,
}

struct Reviews {
    product: String,
    order: &'static str,
}

impl List for Products {
    async fn page(&self, app: &App, arguments: &str) -> (Vec<(String, String)>, bool) {
        let query = format!(
            "{{ list: products(filter: {{ category: [{:?}] }}, sort: [{}], {arguments}) {{ edges {{ cursor node {{ name }} }}
            pageInfo {{ hasNextPage hasPreviousPage }} }} }}",
            self.category, self.order
        );
        read(&app.query(&query).await, "/list", arguments)
    }

    async fn add(&self, app: &App, name: &str, place: Place) {
        let draft = product(name)
            .category([&self.category])
            .created_at(&format!("2024-01-0{}", 1 + place.0));
        let draft = if place.1 == 0 {
            draft
        } else {
            draft.price(&place.1.to_string())
        };
        app.has([ProductDraft::from(draft)]).await;
        app.has_reviews((0..place.0).map(|n| review(name, format!("{name} {n}"), 1 + place.1)))
            .await;
    }
}

impl List for Reviews {
    async fn page(&self, app: &App, arguments: &str) -> (Vec<(String, String)>, bool) {
        let query = format!(
            "{{ product(sku: \"feed:{}\") {{ list: reviews(sort: {}, {arguments}) {{ edges {{ cursor node {{ name: title }} }}
            pageInfo {{ hasNextPage hasPreviousPage }} }} }} }}",
            self.product, self.order
        );
        read(&app.query(&query).await, "/product/list", arguments)
    }

    async fn add(&self, app: &App, name: &str, place: Place) {
        let draft = review(&self.product, name, 1 + place.0)
            .title(name)
            .helpful(place.1);
        let draft = if place.1 == 0 {
            draft.undated()
        } else {
            draft.created_at(&format!("2024-01-0{}", place.1))
        };
        app.has_reviews([ReviewDraft::from(draft)]).await;
    }
}

fn read(
    answer: &vitrine_harness::Answer,
    list: &str,
    arguments: &str,
) -> (Vec<(String, String)>, bool) {
    let edges = answer.at(&format!("{list}/edges")).as_array().unwrap();
    let row = |edge: &serde_json::Value| {
        (
            edge["node"]["name"].as_str().unwrap().to_owned(),
            edge["cursor"].as_str().unwrap().to_owned(),
        )
    };
    let on = if arguments.starts_with("first") {
        "hasNextPage"
    } else {
        "hasPreviousPage"
    };
    (
        edges.iter().map(row).collect(),
        answer
            .at(&format!("{list}/pageInfo/{on}"))
            .as_bool()
            .unwrap(),
    )
}

/// Reads to the end and back, adding a row after each page while rows are left to add.
async fn walk(
    app: &App,
    list: &impl List,
    (rows, late, size): &(Vec<Place>, Vec<Place>, usize),
    tag: &str,
) -> Result<(), TestCaseError> {
    let mut early = Vec::new();
    for (n, place) in rows.iter().enumerate() {
        early.push(format!("{tag} early {n}"));
        list.add(app, &early[n], *place).await;
    }
    let mut late = late.iter().enumerate();
    let (there, last) = one_way(app, list, *size, None, &mut late, tag).await;
    once(&early, &there)?;
    let (mut back, _) = one_way(app, list, *size, Some(&last), &mut late, tag).await;
    back.push(there.last().unwrap().clone());
    once(&early, &back)
}

/// All names in one direction: forwards from the start, or backwards from a cursor.
async fn one_way(
    app: &App,
    list: &impl List,
    size: usize,
    before: Option<&str>,
    late: &mut impl Iterator<Item = (usize, &Place)>,
    tag: &str,
) -> (Vec<String>, String) {
    let (size, from) = if before.is_some() {
        (format!("last: {size}"), "before")
    } else {
        (format!("first: {size}"), "after")
    };
    let mut cursor = before.map(str::to_owned);
    let mut seen = Vec::new();
    loop {
        let position = cursor
            .as_ref()
            .map_or_else(String::new, |cursor| format!(", {from}: {cursor:?}"));
        let (rows, more) = list.page(app, &format!("{size}{position}")).await;
        let end = if before.is_some() {
            rows.first()
        } else {
            rows.last()
        };
        cursor = end.map(|(_, cursor)| cursor.clone()).or(cursor);
        seen.extend(rows.into_iter().map(|(name, _)| name));
        if !more {
            return (seen, cursor.unwrap());
        }
        if let Some((n, place)) = late.next() {
            list.add(app, &format!("{tag} late {n}"), *place).await;
        }
    }
}

fn once(early: &[String], seen: &[String]) -> Result<(), TestCaseError> {
    let mut sorted = seen.to_vec();
    sorted.sort();
    sorted.dedup();
    prop_assert_eq!(sorted.len(), seen.len(), "seen twice: {:?}", seen);
    for name in early {
        prop_assert!(seen.contains(name), "{} was not seen in {:?}", name, seen);
    }
    Ok(())
}

/// Numbers the cases, so that each has a list of its own.
fn fresh() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[test]
fn walks_of_products_see_every_row_once_in_every_sort_order() {
    test(async |app| {
        for key in ["PRICE", "RATING", "POPULARITY", "NEWEST", "UPDATED", "NAME"] {
            for direction in ["ASCENDING", "DESCENDING"] {
                let order = format!("{{ key: {key}, direction: {direction} }}");
                check(2, &places(), app, async |app, case| {
                    let category = format!("c{}", fresh());
                    let list = Products {
                        category: category.clone(),
                        order: order.clone(),
                    };
                    walk(app, &list, &case, &category).await
                });
            }
        }
    });
}

#[test]
fn walks_of_reviews_see_every_row_once_in_every_sort_order() {
    test(async |app| {
        for order in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
            check(3, &places(), app, async |app, case| {
                let product_name = format!("p{}", fresh());
                app.has([product(&product_name)]).await;
                let list = Reviews {
                    product: product_name.clone(),
                    order,
                };
                walk(app, &list, &case, &product_name).await
            });
        }
    });
}
