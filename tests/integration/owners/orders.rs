//! The single view is the same whatever the order of imports.

use super::*;

/// The feeds of a product: each first as it was, then as it is.
fn feeds(sku: &str) -> [[ProductBuilder; 2]; 4] {
    let catalogue = product("Reading Lamp")
        .source("catalogue", sku)
        .sku(sku)
        .category(["Light", "Lamps"])
        .description("Bright.")
        .text("color", "red");
    let shop = product("lamp")
        .source("shop", sku)
        .sku(sku)
        .category(["Unsorted"])
        .brand("Tarn")
        .supplier("South", "SE")
        .price("20")
        .owns([ProductField::Brand]);
    let sizes = some_of("sizes", sku).text("color", "blue");
    let derived = product("A lamp")
        .source("reviews", sku)
        .sku(sku)
        .category(["Reviewed"])
        .brand("unknown")
        .text("fit", "any")
        .image("https://e.org/r", "r")
        .create_only();
    [
        [
            catalogue.clone().supplier("North", "NO").text("fit", "old"),
            catalogue.supplier("West", "IE").number("ports", 3.0),
        ],
        [shop.clone().description("Old."), shop],
        [
            sizes.clone().number("height", 40.0),
            sizes.number("depth", 10.0).price("9"),
        ],
        [derived.clone(), derived],
    ]
}

/// All orders of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1).into_iter();
    let longer = shorter.flat_map(|order| {
        (0..n).map(move |at| {
            let mut order = order.clone();
            order.insert(at, n - 1);
            order
        })
    });
    longer.collect()
}

/// Imports feeds in an order, each as it was and then, in another order, as it is; again at the end.
async fn import_all(app: &App, sku: &str, order: &[usize], later: &[usize]) {
    let feeds = feeds(sku);
    for feed in order {
        line(app, feeds[*feed][0].clone()).await;
    }
    for feed in later {
        line(app, feeds[*feed][1].clone()).await;
    }
    for feed in order {
        let again = line(app, feeds[*feed][1].clone()).await;
        assert_eq!(again, "unchanged", "{sku}");
    }
}

#[test]
fn four_feeds_in_all_orders_make_the_same_product() {
    test(async |app| {
        let all = orders(4);
        assert_eq!(all.len(), 24);
        let mut first: Option<Content> = None;
        for (at, order) in all.iter().enumerate() {
            let sku = format!("S-{at}");
            // With a step of 7, each order is followed by another one.
            import_all(app, &sku, order, &all[(at * 7 + 5) % all.len()]).await;
            let made = content(app, &sku).await.unwrap();
            let expected = first.get_or_insert_with(|| made.clone());
            assert_eq!(made, *expected, "{order:?}");
        }
        let made = first.unwrap();
        assert_eq!(made.name.as_deref(), Some("Reading Lamp"));
        assert_eq!(made.brand.as_deref(), Some("Tarn"));
        assert_eq!(made.price.unwrap().minor, 900);
        assert_eq!(made.description.as_deref(), Some("Bright."));
        assert_eq!(made.media.len(), 1, "only the reviews have a picture");
        let keys: Vec<&str> = made.specs.iter().map(|spec| spec.key.as_str()).collect();
        assert_eq!(keys, ["color", "ports", "depth", "fit"]);
    });
}

#[test]
fn feeds_interleaved_at_random_make_the_same_product() {
    test(async |app| {
        let mut seed = 7_u64;
        let mut first: Option<Content> = None;
        for case in 0..20 {
            let sku = format!("R-{case}");
            let feeds = feeds(&sku);
            let mut next = [0, 0, 0, 0];
            while next != [2, 2, 2, 2] {
                // A linear congruential generator; its upper bits are random enough here.
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let feed = usize::try_from(seed >> 33).unwrap() % 4;
                if next[feed] < 2 {
                    line(app, feeds[feed][next[feed]].clone()).await;
                    next[feed] += 1;
                }
            }
            let made = content(app, &sku).await.unwrap();
            let expected = first.get_or_insert_with(|| made.clone());
            assert_eq!(made, *expected, "{sku}");
        }
    });
}
