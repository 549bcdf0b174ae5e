//! The demo catalogue is imported without a rejection, and the audit finds no difference in it.

use vitrine_demo::{Demo, DemoOptions};
use vitrine_domain::import::ImportMode;
use vitrine_harness::app::NOW;
use vitrine_harness::test;
use vitrine_model::clock::Timestamp;
use vitrine_model::import::LineOutcome;

fn small() -> Demo {
    let now = Timestamp::parse(NOW).unwrap();
    Demo::new(DemoOptions {
        products: 300,
        reviews: 3000,
        ..DemoOptions::new(now)
    })
}

#[test]
fn a_small_one_is_taken_whole_and_is_sound() {
    test(async |app| {
        let demo = small();
        let import = async || {
            app.import(
                ImportMode::Write,
                demo.products().collect(),
                demo.reviews().collect(),
            )
            .await
            .0
        };
        let first = import().await;
        assert_eq!(first.len(), demo.product_count() + demo.review_count());
        let others: Vec<&LineOutcome> = first
            .iter()
            .filter(|outcome| **outcome != LineOutcome::Created)
            .collect();
        assert!(others.is_empty(), "{others:?}");
        let second = import().await;
        assert!(
            second
                .iter()
                .all(|outcome| *outcome == LineOutcome::Unchanged),
            "a second time says nothing new"
        );
        let shown = app.query("{ products { totalCount { value } } specKeys { totalCount { value } } categories { name children { name children { name } } } }").await;
        assert!(shown.at("/products/totalCount/value").as_i64().unwrap() > 250);
        assert!(shown.at("/specKeys/totalCount/value").as_i64().unwrap() >= 100);
    });
}

#[test]
fn the_usual_one_is_as_large_as_promised() {
    let now = Timestamp::parse(NOW).unwrap();
    let demo = Demo::new(DemoOptions::new(now));
    assert!(demo.product_count() >= 3000 && demo.review_count() >= 60_000);
    let mut keys: Vec<String> = demo
        .products()
        .flat_map(|product| product.specs.into_iter().map(|spec| spec.key))
        .collect();
    keys.sort();
    keys.dedup();
    assert!(keys.len() >= 250, "{} spec keys", keys.len());
    let mut kinds: Vec<String> = demo.products().filter_map(|product| product.kind).collect();
    kinds.sort();
    kinds.dedup();
    let coded = vitrine_model::product::Kind::TYPED;
    assert!(
        coded
            .iter()
            .all(|kind| kinds.contains(&kind.name().to_owned())),
        "{kinds:?}"
    );
    assert!(
        kinds.len() > coded.len(),
        "and a kind that nobody wrote code for: {kinds:?}"
    );
}
