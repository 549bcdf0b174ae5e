//! Ratings after any sequence of imports, compared with a recount of the drafts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vitrine_harness::{App, product, review, test};
use vitrine_model::import::ReviewDraft;
use vitrine_model::review::MAX_TOP_REVIEWS;

use super::check;

/// A line of a feed: the number of the review, stars, votes, recommendation.
type Said = (usize, i64, i64, Option<bool>);

/// Batches of lines; later ones correct earlier ones.
fn batches() -> impl Strategy<Value = Vec<Vec<Said>>> {
    let said = (
        0..20_usize,
        1..=5_i64,
        0..6_i64,
        prop::option::of(any::<bool>()),
    );
    prop::collection::vec(prop::collection::vec(said, 0..15), 1..4)
}

fn draft(product: &str, (n, stars, helpful, recommended): Said) -> ReviewDraft {
    let day = format!("2024-01-{:02}", 1 + n);
    let draft = review(product, format!("{product} {n}"), stars)
        .title(&n.to_string())
        .helpful(helpful)
        .created_at(&day);
    match recommended {
        Some(recommended) => draft.recommends(recommended).into(),
        None => draft.into(),
    }
}

async fn import(app: &App, drafts: Vec<ReviewDraft>) {
    let mut session = app
        .catalog
        .import(vitrine_domain::import::ImportMode::Write);
    session.reviews(drafts).await.unwrap();
    session.finish().await.unwrap();
}

#[test]
fn ratings_equal_a_recount_after_any_sequence_of_imports() {
    test(async |app| {
        let number = std::cell::Cell::new(0);
        check(12, &batches(), app, async |app, batches| {
            number.set(number.get() + 1);
            let name = format!("p{}", number.get());
            app.has([product(&name)]).await;
            let mut last: BTreeMap<usize, Said> = BTreeMap::new();
            for batch in batches {
                import(app, batch.iter().map(|said| draft(&name, *said)).collect()).await;
                last.extend(batch.into_iter().map(|said| (said.0, said)));
                compare(app, &name, &last).await?;
            }
            Ok(())
        });
    });
}

async fn compare(app: &App, name: &str, last: &BTreeMap<usize, Said>) -> Result<(), TestCaseError> {
    let query = format!(
        "{{ product(slug: {name:?}) {{ ratingStats {{ count average recommendedShare bayesianScore histogram {{ rating count }} }}
        topReviews {{ title }} reviews(first: 1) {{ totalCount {{ value }} }} }} }}"
    );
    let answer = app.query(&query).await;
    let count = last.len();
    let sum: i64 = last.values().map(|said| said.1).sum();
    prop_assert_eq!(answer.at("/product/ratingStats/count"), count);
    prop_assert_eq!(answer.at("/product/reviews/totalCount/value"), count);
    for (at, stars) in (1..=5_i64).rev().enumerate() {
        let of = last.values().filter(|said| said.1 == stars).count();
        prop_assert_eq!(
            answer.at(&format!("/product/ratingStats/histogram/{at}/count")),
            of
        );
    }
    let count = f64::from(u32::try_from(count).unwrap());
    let sum = f64::from(i32::try_from(sum).unwrap());
    near(
        answer.at("/product/ratingStats/average"),
        (count > 0.0).then(|| sum / count),
    )?;
    near(
        answer.at("/product/ratingStats/bayesianScore"),
        Some((17.5 + sum) / (5.0 + count)),
    )?;
    let answers: Vec<bool> = last.values().filter_map(|said| said.3).collect();
    let yes = f64::from(u32::try_from(answers.iter().filter(|yes| **yes).count()).unwrap());
    let answers = f64::from(u32::try_from(answers.len()).unwrap());
    near(
        answer.at("/product/ratingStats/recommendedShare"),
        (answers > 0.0).then(|| yes / answers),
    )?;
    let mut top: Vec<&Said> = last.values().collect();
    top.sort_by_key(|said| (-said.2, std::cmp::Reverse(said.0)));
    let top = top.iter().take(MAX_TOP_REVIEWS);
    let top: Vec<String> = top.map(|said| said.0.to_string()).collect();
    let shown = answer.at("/product/topReviews").as_array().unwrap();
    let shown: Vec<String> = shown
        .iter()
        .map(|top| top["title"].as_str().unwrap().to_owned())
        .collect();
    prop_assert_eq!(shown, top);
    Ok(())
}

fn near(found: &serde_json::Value, expected: Option<f64>) -> Result<(), TestCaseError> {
    match (found.as_f64(), expected) {
        (Some(found), Some(expected)) => {
            prop_assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
        (found, expected) => prop_assert_eq!(found, expected),
    }
    Ok(())
}
