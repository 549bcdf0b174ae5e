//! Feeds, edits and releases of one field at the same time: the outcome is that of some order.

use std::collections::BTreeMap;

use vitrine_domain::Catalog;

use super::people::{edit, id, overrides};
use super::*;
use crate::history::history;

const ROUNDS: u32 = 25;

/// Imports a line; once more, as the reason says, while others kept writing its product.
async fn import(catalog: &Catalog, draft: ProductBuilder) -> String {
    loop {
        let mut session = catalog.import(ImportMode::Write);
        let draft = draft.clone().into();
        let outcomes = session.products(vec![draft]).await.unwrap();
        session.finish().await.unwrap();
        let word = word(&outcomes[0]);
        if !word.contains("the product kept changing") {
            return word;
        }
    }
}

/// Processes of their own: two that import, and one that executes mutations.
async fn processes(app: &App) -> [Catalog; 3] {
    [
        app.other_process().await,
        app.other_process().await,
        app.other_process().await,
    ]
}

/// The newest changes of the product, newest first: their origins.
async fn newest(app: &App, count: usize) -> Vec<String> {
    let lines = history(app, &id(app).await).await.into_iter().take(count);
    lines
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_field_that_is_released_while_its_feed_is_imported_has_the_newest_value() {
    test(async |app| {
        let [feed, _, console] = processes(app).await;
        line(app, lamp().price("1").text("fit", "any")).await;
        for round in 0..ROUNDS {
            let edited = json!({ "price": { "amount": (1000 + round).to_string() }, "name": format!("Mine {round}") });
            edit(app, edited).await;
            let new = lamp()
                .price(&(2 + round).to_string())
                .text("fit", &format!("fit {round}"));
            let input = json!({ "productId": id(app).await, "fields": ["price", "name"] });
            let release = async {
                let released = app
                    .mutate("releaseFields", input)
                    .by("ann")
                    .through(&console);
                released.await.done();
            };
            let (imported, ()) = tokio::join!(import(&feed, new), release);
            assert_eq!(imported, "updated", "round {round}");
            let now = page(app).await;
            assert_eq!(
                now["price"]["amount"],
                format!("{}.00", 2 + round),
                "round {round}"
            );
            assert_eq!(now["name"], "Reading Lamp", "round {round}");
            assert_eq!(now["specs"][2]["text"], format!("fit {round}"));
            assert_eq!(overrides(app).await, [""; 0], "round {round}");
            let mut made = newest(app, 3).await;
            assert_eq!(made.pop().unwrap(), "MUTATION", "round {round}");
            made.sort();
            assert_eq!(made, ["IMPORT", "RELEASE"], "round {round}");
        }
    });
}

#[test]
fn two_feeds_and_a_release_at_the_same_time_leave_what_the_owner_says() {
    test(async |app| {
        let [first, second, console] = processes(app).await;
        line(app, lamp().price("1")).await;
        line(app, price("2")).await;
        for round in 0..ROUNDS {
            edit(
                app,
                json!({ "price": { "amount": (1000 + round).to_string() } }),
            )
            .await;
            let input = json!({ "productId": id(app).await, "fields": ["price"] });
            let release = async {
                let released = app
                    .mutate("releaseFields", input)
                    .by("ann")
                    .through(&console);
                released.await.done();
            };
            let [whole, list] = [100 + round, 500 + round].map(|amount| amount.to_string());
            let (of_whole, of_list, ()) = tokio::join!(
                import(&first, lamp().price(&whole)),
                import(&second, price(&list)),
                release
            );
            assert_eq!([of_whole, of_list], ["updated", "updated"], "round {round}");
            assert_eq!(
                page(app).await["price"]["amount"],
                format!("{list}.00"),
                "round {round}"
            );
            assert_eq!(overrides(app).await, [""; 0], "round {round}");
        }
    });
}

#[test]
fn an_edit_a_release_and_a_feed_at_the_same_time_end_as_in_some_order() {
    test(async |app| {
        let [feed, _, console] = processes(app).await;
        line(app, lamp().price("1")).await;
        edit(app, json!({ "price": { "amount": "999" } })).await;
        let mut ends = BTreeMap::new();
        for round in 0..ROUNDS {
            let (new, own) = (format!("{}.00", 2 + round), format!("{}.00", 1000 + round));
            let release = json!({ "productId": id(app).await, "fields": ["price"] });
            let release = async {
                let released = app
                    .mutate("releaseFields", release)
                    .by("ben")
                    .through(&console);
                released.await.done();
            };
            let amount = json!({ "price": { "amount": own } });
            let import = import(&feed, lamp().price(&new));
            let edit_one = edit(app, amount);
            let imported = if round % 2 == 0 {
                tokio::join!(import, edit_one, release).0
            } else {
                tokio::join!(release, import, edit_one).1
            };
            assert_eq!(imported, "updated", "round {round}");
            let made = newest(app, 3).await;
            let mut each = made.clone();
            each.sort();
            assert_eq!(each, ["IMPORT", "MUTATION", "RELEASE"], "round {round}");
            let place = |of: &str| made.iter().position(|origin| origin == of).unwrap();
            let stays = place("MUTATION") < place("RELEASE");
            let expected = if stays { &own } else { &new };
            assert_eq!(
                page(app).await["price"]["amount"],
                *expected,
                "round {round}: {made:?}"
            );
            let kept = [format!("price by ann: {new} EUR")];
            let kept = if stays { &kept[..] } else { &[] };
            assert_eq!(overrides(app).await, kept, "round {round}: {made:?}");
            *ends.entry(stays).or_insert(0) += 1;
            // The next round begins with an edit again.
            edit(app, json!({ "price": { "amount": "999" } })).await;
        }
        println!("the edit stayed, or the release came after it: {ends:?}");
    });
}

#[test]
fn no_line_is_rejected_because_two_others_write_its_product() {
    test(async |app| {
        let [first, second, console] = processes(app).await;
        line(app, lamp().price("1")).await;
        line(app, price("2")).await;
        let mut rejected = Vec::new();
        for round in 0..200_u32 {
            let change = json!({ "id": id(app).await, "name": format!("Mine {round}") });
            let edit = async {
                let edited = app
                    .mutate("updateProduct", change)
                    .by("ann")
                    .through(&console);
                edited.await.done();
            };
            let [whole, list] = [1000 + round, 5000 + round].map(|amount| amount.to_string());
            let once = async |catalog: &Catalog, draft: ProductBuilder| {
                let mut session = catalog.import(ImportMode::Write);
                let outcomes = session.products(vec![draft.into()]).await.unwrap();
                session.finish().await.unwrap();
                word(&outcomes[0])
            };
            let (of_whole, of_list, ()) = tokio::join!(
                once(&first, lamp().price(&whole)),
                once(&second, price(&list)),
                edit
            );
            rejected.extend(
                [of_whole, of_list]
                    .into_iter()
                    .filter(|word| word != "updated"),
            );
        }
        assert_eq!(rejected, [""; 0]);
    });
}
