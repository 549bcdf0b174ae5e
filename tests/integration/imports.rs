//! Import sessions: the outcome of each line, and the database afterwards.

use mongodb::bson::{Document, doc};
use serde_json::json;
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, ProductBuilder, ReviewBuilder, product, review, test};
use vitrine_model::import::{LineOutcome, ProductDraft, ReviewDraft};

/// The outcomes of products, each as one word or with its reasons.
async fn products(app: &App, mode: ImportMode, drafts: Vec<ProductBuilder>) -> Vec<String> {
    let drafts = drafts.into_iter().map(Into::into).collect();
    words(&app.import(mode, drafts, Vec::new()).await.0)
}

/// The outcomes of reviews.
async fn reviews(app: &App, mode: ImportMode, drafts: Vec<ReviewBuilder>) -> Vec<String> {
    let drafts = drafts.into_iter().map(Into::into).collect();
    words(&app.import(mode, Vec::new(), drafts).await.0)
}

fn words(outcomes: &[LineOutcome]) -> Vec<String> {
    let word = |outcome: &LineOutcome| match outcome {
        LineOutcome::Created => "created".to_owned(),
        LineOutcome::Updated => "updated".to_owned(),
        LineOutcome::Unchanged => "unchanged".to_owned(),
        LineOutcome::Waiting => "waiting".to_owned(),
        LineOutcome::Rejected(reasons) => {
            let reasons: Vec<String> = reasons
                .iter()
                .map(|r| format!("{}: {}", r.field, r.reason))
                .collect();
            format!("rejected: {}", reasons.join("; "))
        }
    };
    outcomes.iter().map(word).collect()
}

/// How many documents each collection holds.
async fn counts(app: &App) -> Vec<(String, u64)> {
    let mut names = app.direct().list_collection_names().await.unwrap();
    names.sort();
    let mut counts = Vec::new();
    for name in names {
        let count = app
            .direct()
            .collection::<Document>(&name)
            .count_documents(doc! {})
            .await
            .unwrap();
        counts.push((name, count));
    }
    counts
}

#[test]
fn a_draft_is_created_then_unchanged_then_updated() {
    test(async |app| {
        let feed = || vec![product("a").price("1"), product("b").text("color", "red")];
        assert_eq!(
            products(app, ImportMode::Write, feed()).await,
            ["created", "created"]
        );
        assert_eq!(
            products(app, ImportMode::Write, feed()).await,
            ["unchanged", "unchanged"]
        );
        app.clock.advance(60_000);
        let newer = vec![product("a").price("2"), product("b").text("color", "red")];
        assert_eq!(
            products(app, ImportMode::Write, newer).await,
            ["updated", "unchanged"]
        );
        let page = app.query("{ products(sort: [{ key: NAME }]) { nodes { name price { amount } revision createdAt updatedAt } } }").await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            products: {
              nodes: [
                {
                  name: "a"
                  price: { amount: "2.00" }
                  revision: 2
                  createdAt: "2026-05-31T12:00:00.000Z"
                  updatedAt: "2026-05-31T12:01:00.000Z"
                }
                {
                  name: "b"
                  price: null
                  revision: 1
                  createdAt: "2026-05-31T12:00:00.000Z"
                  updatedAt: "2026-05-31T12:00:00.000Z"
                }
              ]
            }
          }
        }
        "#);
    });
}

#[test]
fn unchanged_lines_are_looked_up_by_their_source_alone() {
    test(async |app| {
        let feed = || {
            let line = |n: i32| product(&format!("P{n}")).sku(&format!("S{n}"));
            (0..20).map(line).collect::<Vec<_>>()
        };
        products(app, ImportMode::Write, feed()).await;
        app.forget_commands();
        let again = products(app, ImportMode::Write, feed()).await;
        assert_eq!(again, ["unchanged"; 20]);
        let sent = app.sent().into_iter();
        let looked_up: Vec<String> = sent
            .filter(|sent| sent.ends_with(" names") || sent.ends_with(" products"))
            .collect();
        assert_eq!(looked_up, ["find names", "find products"]);
    });
}

#[test]
fn a_field_that_its_only_source_drops_is_removed() {
    test(async |app| {
        let full = product("a")
            .brand("Acme")
            .price("1")
            .description("text")
            .supplier("North", "NO")
            .image("https://e.org/a", "a")
            .text("color", "red")
            .number("ports", 2.0);
        app.has([full]).await;
        app.has_reviews([review("a", 1, 5)]).await;
        assert_eq!(
            products(
                app,
                ImportMode::Write,
                vec![product("a").number("ports", 3.0)]
            )
            .await,
            ["updated"]
        );
        let page = app.query(r#"{ product(slug: "a") { brand price { amount } description supplier { name } media { url } specs { key text } ratingStats { count } } }"#).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              brand: null
              price: null
              description: null
              supplier: null
              media: []
              specs: [{ key: "ports", text: "3" }]
              ratingStats: { count: 1 }
            }
          }
        }
        "#);
    });
}

#[test]
fn two_systems_with_the_same_sku_import_one_product() {
    test(async |app| {
        let erp = product("Monitor")
            .source("erp", "1")
            .sku("M-1")
            .price("199")
            .text("color", "black")
            .number("ports", 2.0);
        let pim = || {
            product("Acme Monitor 27")
                .source("pim", "x")
                .sku("M-1")
                .brand("Acme")
                .text("color", "Piano Black")
                .quantity("screen_size", 27.0, "in")
        };
        assert_eq!(
            products(app, ImportMode::Write, vec![erp, pim()]).await,
            ["created", "updated"]
        );
        assert_eq!(
            products(app, ImportMode::Write, vec![pim()]).await,
            ["unchanged"]
        );
        let page = app.query(r#"{ product(sku: "M-1") { name slug brand price { amount } specs { key text } revision } products { totalCount { value } } }"#).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              name: "Monitor"
              slug: "monitor"
              brand: "Acme"
              price: { amount: "199.00" }
              specs: [
                { key: "color", text: "black" }
                { key: "ports", text: "2" }
                { key: "screen_size", text: "27 in" }
              ]
              revision: 2
            }
            products: { totalCount: { value: 1 } }
          }
        }
        "#);
        let again = product("Another").source("pim", "y").sku("M-1");
        insta::assert_snapshot!(products(app, ImportMode::Write, vec![again]).await.join("\n"), @"rejected: sku: another product has the sku M-1");
    });
}

#[test]
fn a_value_that_contradicts_its_key_is_refused_with_both_types() {
    test(async |app| {
        app.has([product("a")
            .quantity("weight", 1.0, "kg")
            .number("ports", 2.0)
            .text("color", "red")
            .boolean("lid", true)
            .date("release", "2024-01-01")])
            .await;
        let outcomes = products(
            app,
            ImportMode::Write,
            vec![
                product("b").text("weight", "heavy"),
                product("c").quantity("weight", 1.0, "cm"),
                product("d").quantity("ports", 2.0, "cm"),
                product("e").number("color", 7.0).boolean("release", true),
                product("f").quantity("height", 1.0, "furlong"),
                product("g")
                    .text("New-Key", "x")
                    .text("$where", "x")
                    .text("a.b", "x")
                    .text("", "x"),
                product("h").text("fresh", "one"),
                product("i").number("fresh", 1.0),
                product("j").number("both", 1.0).text("both", "one"),
                product("k").text("lid", "  ").number("ports", f64::NAN),
            ],
        )
        .await;
        insta::assert_snapshot!(outcomes.join("\n"), @r#"
        rejected: specs.weight: weight holds values of type quantity; heavy is of type text
        rejected: specs.weight: weight: "cm" measures length, not mass
        rejected: specs.ports: ports holds values of type number; 2 cm is of type quantity
        rejected: specs.color: color holds values of type text; 7 is of type number; specs.release: release holds values of type date; yes is of type boolean
        rejected: specs.height: height: there is no unit "furlong"
        rejected: specs.New-Key: "New-Key" is not a spec key: a key has 1 to 64 characters, lower-case letters a to z, digits and underscores, and begins with a letter; specs.$where: "$where" is not a spec key: a key has 1 to 64 characters, lower-case letters a to z, digits and underscores, and begins with a letter; specs.a.b: "a.b" is not a spec key: a key has 1 to 64 characters, lower-case letters a to z, digits and underscores, and begins with a letter; specs.: "" is not a spec key: a key has 1 to 64 characters, lower-case letters a to z, digits and underscores, and begins with a letter
        created
        rejected: specs.fresh: fresh holds values of type text; 1 is of type number
        rejected: specs.both: both holds values of type number; one is of type text
        rejected: specs.lid: lid holds a text of 2 bytes; 1 to 8192 with a visible character are allowed; specs.ports: ports holds a number that is not finite
        "#);
        let left = app.query("{ products(sort: [{ key: NAME }]) { nodes { name } } specKeys { totalCount { value } } }").await;
        assert_eq!(left.names("/products"), ["a", "h"]);
    });
}

#[test]
fn drafts_that_break_a_rule_are_refused_with_every_reason() {
    test(async |app| {
        let many = (0..201).fold(product("many"), |draft, n| {
            draft.number(&format!("key_{n}"), 1.0)
        });
        let outcomes = products(
            app,
            ImportMode::Write,
            vec![
                product("  ").kind("Not A Kind").image("ftp://e.org/a", "a"),
                product(&"x".repeat(301)),
                product("deep").category(["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
                product("no category").category([]),
                product("nul\0"),
                many,
                product("not a bundle").item("other", 1).kind("book"),
                product("zero times").item("other", 0),
                product("of nothing").item("missing", 1),
                product("the same").source("feed", "one"),
                product("the same").source("feed", "two"),
            ],
        )
        .await;
        insta::assert_snapshot!(outcomes.join("\n"), @r"
        rejected: name: 0 characters; 1 to 300 are possible; external_id: 2 bytes; 1 to 128 with a visible character are possible; kind: a kind is 1 to 32 lower-case letters, digits and underscores; media.url: an address begins with https:// or http://
        rejected: name: 301 characters; 1 to 300 are possible; external_id: 301 bytes; 1 to 128 with a visible character are possible
        rejected: category: a category is a path of 1 to 8 names
        rejected: sku: is needed: without category this line says fields of a product that another feed describes, and the sku tells which one
        rejected: name: holds a NUL character; external_id: holds the control character U+0000 at byte 3; none are possible
        rejected: specs: 201 specs; a product may have 200
        rejected: bundle: only products of kind bundle have items
        rejected: bundle: a bundle has at most 100 items, each 1 to 10,000 times
        rejected: bundle: there is no product missing of feed
        created
        created
        ");
        let slugs = app.query("{ products { nodes { slug } } }").await;
        let mut slugs: Vec<&str> = slugs
            .at("/products/nodes")
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["slug"].as_str().unwrap())
            .collect();
        slugs.sort_unstable();
        assert_eq!(slugs[0], "the-same");
        assert!(slugs[1].starts_with("the-same-"), "{slugs:?}");
    });
}

#[test]
fn an_imported_product_has_a_maximum_size() {
    test(async |app| {
        let sized = |name: &str, bytes: usize| {
            product(name)
                .description(&"x".repeat(19_000))
                .text("long", &"y".repeat(8_000))
                .text("longer", &"z".repeat(bytes))
        };
        let outcomes = products(
            app,
            ImportMode::Write,
            vec![
                sized("fits", 8_000),
                sized("more", 8_000).text("most", &"w".repeat(8_000)),
            ],
        )
        .await;
        insta::assert_snapshot!(outcomes.join("\n"), @r"
        created
        rejected: product: the product takes 43,555 bytes; 40,000 are possible; largest: description 19,013, specs.longer 8,047, specs.long 8,045
        ");
    });
}

#[test]
fn a_rejected_draft_defines_no_key() {
    test(async |app| {
        let large = product("large")
            .category(["Large"])
            .supplier("Largest", "NO")
            .description(&"x".repeat(19_000))
            .text("one", &"y".repeat(8_000))
            .text("two", &"y".repeat(8_000))
            .text("three", &"y".repeat(8_000));
        let empty = product("empty")
            .category(["Empty"])
            .number("hollow", 1.0)
            .item("missing", 1);
        let outcomes = products(app, ImportMode::Write, vec![large, empty]).await;
        assert!(
            outcomes
                .iter()
                .all(|outcome| outcome.starts_with("rejected")),
            "{outcomes:?}"
        );
        let learnt = app
            .query("{ specKeys { nodes { key } } categories { name } }")
            .await;
        insta::assert_snapshot!(learnt.pretty(), @"{ data: { specKeys: { nodes: [] }, categories: [] } }");
    });
}

#[test]
fn a_bundle_copies_names_and_prices_of_its_items() {
    test(async |app| {
        let outcomes = products(
            app,
            ImportMode::Write,
            vec![
                product("set").item("cup", 2).item("pot", 1),
                product("cup").price("3.50"),
                product("pot").price("20"),
                product("free").item("gift", 1),
                product("gift"),
            ],
        )
        .await;
        assert_eq!(
            outcomes, ["created"; 5],
            "items may follow their bundle in a batch"
        );
        let page = app.query(r#"{ set: product(slug: "set") { price { amount } ... on Bundle { items { name quantity price { amount } } } } free: product(slug: "free") { price { amount } } }"#).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            set: {
              price: { amount: "27.00" }
              items: [
                { name: "cup", quantity: 2, price: { amount: "3.50" } }
                { name: "pot", quantity: 1, price: { amount: "20.00" } }
              ]
            }
            free: { price: null }
          }
        }
        "#);
        let circle = products(
            app,
            ImportMode::Write,
            vec![product("x").item("y", 1), product("y").item("x", 1)],
        )
        .await;
        insta::assert_snapshot!(circle.join("\n"), @r"
        rejected: bundle: there is no product y of feed
        rejected: bundle: there is no product x of feed
        ");
    });
}

#[test]
fn of_several_reviews_by_one_author_the_first_is_kept() {
    test(async |app| {
        app.has([product("a"), product("b")]).await;
        let feed = || {
            vec![
                review("a", 1, 5).author("ann"),
                review("a", 2, 1).author("ann"),
                review("b", 3, 4).author("ann"),
                review("a", 4, 3),
                review("a", 5, 3),
                review("missing", 6, 3),
                review("a", 1, 5).author("ann"),
            ]
        };
        insta::assert_snapshot!(reviews(app, ImportMode::Write, feed()).await.join("\n"), @r"
        created
        rejected: author: the author has already reviewed this product (review 1); the first review is kept
        created
        created
        created
        rejected: product: there is no product missing of feed
        unchanged
        ");
        insta::assert_snapshot!(reviews(app, ImportMode::Write, feed()).await.join("\n"), @r"
        unchanged
        rejected: author: the author has already reviewed this product (review 1); the first review is kept
        unchanged
        unchanged
        unchanged
        rejected: product: there is no product missing of feed
        unchanged
        ");
        let stats = app
            .query(r#"{ product(slug: "a") { ratingStats { count average } } }"#)
            .await;
        insta::assert_snapshot!(stats.pretty(), @"{ data: { product: { ratingStats: { count: 3, average: 3.6666666666666665 } } } }");
    });
}

#[test]
fn a_changed_review_is_counted_again() {
    test(async |app| {
        app.has([product("a")]).await;
        app.has_reviews([
            review("a", 1, 5).helpful(3).title("was"),
            review("a", 2, 4).helpful(2),
            review("a", 3, 1),
        ])
        .await;
        let changed = vec![
            review("a", 1, 1).title("is").undated(),
            review("a", 2, 4).helpful(2),
            review("a", 3, 1).helpful(9),
        ];
        assert_eq!(
            reviews(app, ImportMode::Write, changed).await,
            ["updated", "unchanged", "updated"]
        );
        let page = app.query(r#"{ product(slug: "a") { ratingStats { count average } topReviews { title rating helpfulCount } revision } }"#).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              ratingStats: { count: 3, average: 2.0 }
              topReviews: [
                { title: "", rating: 1, helpfulCount: 9 }
                { title: "", rating: 4, helpfulCount: 2 }
                { title: "is", rating: 1, helpfulCount: 0 }
              ]
              revision: 1
            }
          }
        }
        "#);
    });
}

#[test]
fn reviews_that_break_a_rule_are_refused() {
    test(async |app| {
        app.has([product("a")]).await;
        let outcomes = reviews(
            app,
            ImportMode::Write,
            vec![
                review("a", "", 5),
                review("a", 1, 5).title(&"x".repeat(201)),
                review("a", 2, 5).body(&"x".repeat(10_001)),
                review("a", 3, 5).helpful(-1).unhelpful(2_000_000_000),
                review("a", 4, 5).dimension("Not A Key", 3),
                review("a", 5, 5).author(" "),
                review("a", 6, 5).body(&"é".repeat(10_000)),
            ],
        )
        .await;
        insta::assert_snapshot!(outcomes.join("\n"), @r#"
        rejected: external_id: 0 bytes; 1 to 128 with a visible character are possible
        rejected: title: 201 characters; 0 to 200 are possible
        rejected: body: 10001 characters; 0 to 10000 are possible
        rejected: helpful: -1 votes; 0 to 1,000,000,000 are possible; unhelpful: 2000000000 votes; 0 to 1,000,000,000 are possible
        rejected: dimensions: "Not A Key" is not a spec key: a key has 1 to 64 characters, lower-case letters a to z, digits and underscores, and begins with a letter
        rejected: author.id: 1 bytes; 1 to 128 with a visible character are possible; author.name: 0 characters; 1 to 200 are possible
        created
        "#);
    });
}

/// Products of an import: changed, new, repeated and rejected ones.
fn mixed_products() -> Vec<ProductDraft> {
    let drafts = [
        product("there").price("2"),
        product("new")
            .category(["Brand", "New"])
            .supplier("North", "NO")
            .text("fresh", "x"),
        product("new")
            .category(["Brand", "New"])
            .supplier("North", "NO")
            .text("fresh", "x"),
        product("wrong").text("ports", "two"),
        product("wrong too").number("fresh", 1.0),
        product("set").item("new", 1),
        product("twin").sku("T"),
        product("twin").source("feed", "other").sku("T"),
    ];
    drafts.map(Into::into).to_vec()
}

/// Reviews of an import: of products that exist, that are imported with them, and of none.
fn mixed_reviews() -> Vec<ReviewDraft> {
    let drafts = [
        review("there", "r0", 5).author("ann"),
        review("there", "r1", 5).author("ann"),
        review("new", "r2", 5).author("bob"),
        review("new", "r3", 5).author("bob"),
        review("nothing", "r4", 5),
    ];
    drafts.map(Into::into).to_vec()
}

#[test]
fn a_dry_run_reports_the_same_as_an_import_and_writes_nothing() {
    test(async |app| {
        app.has([product("there").price("1").number("ports", 1.0)])
            .await;
        app.has_reviews([review("there", "r0", 5).author("ann")])
            .await;
        let run = async |mode| {
            let (outcomes, summary) = app.import(mode, mixed_products(), mixed_reviews()).await;
            let keys: Vec<_> = summary
                .new_keys
                .into_iter()
                .map(|key| (key.key, key.value_type))
                .collect();
            (
                words(&outcomes),
                keys,
                summary.new_categories,
                summary.new_suppliers,
            )
        };
        let before = counts(app).await;
        let dry = run(ImportMode::DryRun).await;
        assert_eq!(counts(app).await, before, "a dry run writes nothing");
        let wet = run(ImportMode::Write).await;
        assert_eq!(dry, wet);
        insta::assert_snapshot!(format!("{}\n{:?}\n{:?}\n{:?}", wet.0.join("\n"), wet.1, wet.2, wet.3), @r#"
        updated
        created
        unchanged
        rejected: specs.ports: ports holds values of type number; two is of type text
        rejected: specs.fresh: fresh holds values of type text; 1 is of type number
        created
        created
        rejected: sku: another product has the sku T
        unchanged
        rejected: author: the author has already reviewed this product (review r0); the first review is kept
        created
        rejected: author: the author has already reviewed this product (review r2); the first review is kept
        rejected: product: there is no product nothing of feed
        [("fresh", Text)]
        [["Brand"], ["Brand", "New"]]
        ["North"]
        "#);
    });
}

#[test]
fn products_derived_from_review_rows_are_left_as_they_are() {
    test(async |app| {
        let derived = |price: &str| product("a").price(price).create_only();
        assert_eq!(
            products(app, ImportMode::Write, vec![derived("1"), derived("2")]).await,
            ["created", "unchanged"]
        );
        assert_eq!(
            app.query(r#"{ product(slug: "a") { price { amount } } }"#)
                .await
                .text("/product/price/amount"),
            "1.00"
        );
    });
}

#[test]
fn an_import_that_was_cut_off_is_completed_by_running_it_again() {
    test(async |app| {
        let mut session = app.catalog.import(ImportMode::Write);
        session.products(vec![product("a").into()]).await.unwrap();
        session
            .reviews(vec![review("a", 1, 5).into()])
            .await
            .unwrap();
        // Dropped without finishing, as by a kill.
        drop(session);
        let outcomes = reviews(
            app,
            ImportMode::Write,
            vec![review("a", 1, 5), review("a", 2, 4)],
        )
        .await;
        assert_eq!(outcomes, ["unchanged", "created"]);
        assert_eq!(
            *app.query(r#"{ product(slug: "a") { ratingStats { count } } }"#)
                .await
                .at("/product/ratingStats/count"),
            2
        );
    });
}

#[test]
fn two_imports_of_one_feed_at_once_store_it_once() {
    test(async |app| {
        let other = app.other_process().await;
        let drafts = || -> Vec<_> {
            (0..50)
                .map(|n| {
                    product(&format!("P{n}"))
                        .category(["New", "Deep"])
                        .supplier("North", "NO")
                        .text("key", "x")
                        .into()
                })
                .collect()
        };
        let lines = || -> Vec<_> {
            (0..50)
                .map(|n| review(&format!("P{n}"), n, 5).author("ann").into())
                .collect()
        };
        let run = async |catalog: &vitrine_domain::Catalog| {
            let mut session = catalog.import(ImportMode::Write);
            let mut outcomes = session.products(drafts()).await.unwrap();
            outcomes.extend(session.reviews(lines()).await.unwrap());
            session.finish().await.unwrap();
            words(&outcomes)
        };
        let (one, two) = tokio::join!(run(&app.catalog), run(&other));
        let all = [one, two].concat();
        assert_eq!(
            all.iter().filter(|outcome| *outcome == "created").count(),
            100,
            "{all:?}"
        );
        let totals = app.query("{ products { totalCount { value } nodes { ratingStats { count } } } categories { name children { name } } }").await;
        assert_eq!(*totals.at("/products/totalCount/value"), 50);
        assert_eq!(*totals.at("/products/nodes/7/ratingStats/count"), 1);
        assert_eq!(
            *totals.at("/categories"),
            serde_json::json!([{ "name": "New", "children": [{ "name": "Deep" }] }])
        );
    });
}

/// The products with their SKUs, by name.
async fn skus(app: &App) -> Vec<String> {
    let query = "{ products(first: 20, sort: [{ key: NAME }]) { nodes { name sku } } }";
    let found = app.query(query).await;
    let nodes = found.at("/products/nodes").as_array().unwrap().iter();
    nodes
        .map(|one| format!("{} {}", one["name"], one["sku"]).replace('"', ""))
        .collect()
}

async fn import_skus(app: &App, skus: &[(&str, &str)]) -> Vec<LineOutcome> {
    let drafts = skus.iter().map(|(name, sku)| product(name).sku(sku).into());
    let (outcomes, _) = app
        .import(ImportMode::Write, drafts.collect(), Vec::new())
        .await;
    outcomes
}

#[test]
fn products_exchange_their_skus() {
    test(async |app| {
        import_skus(
            app,
            &[("A", "1"), ("B", "2"), ("C", "3"), ("D", "4"), ("E", "5")],
        )
        .await;
        // A pair, a ring of three, and nothing of the others.
        let next = [("A", "2"), ("B", "1"), ("C", "4"), ("D", "5"), ("E", "3")];
        assert_eq!(
            import_skus(app, &next).await,
            [(); 5].map(|()| LineOutcome::Updated)
        );
        assert_eq!(skus(app).await, ["A 2", "B 1", "C 4", "D 5", "E 3"]);
        assert_eq!(
            import_skus(app, &next).await,
            [(); 5].map(|()| LineOutcome::Unchanged)
        );
        let a = app.query(r#"{ product(sku: "2") { id } }"#).await;
        let history = app
            .query("query ($id: ID!) { history(id: $id, first: 1) { nodes { origin fields { field before after } } } }")
            .with("id", a.text("/product/id"))
            .as_admin()
            .await;
        let change = json!({ "origin": "IMPORT", "fields": [{ "field": "sku", "before": "1", "after": "2" }] });
        assert_eq!(*history.at("/history/nodes/0"), change);
    });
}

#[test]
fn a_chain_of_skus_ends_at_once_in_any_order() {
    test(async |app| {
        import_skus(app, &[("A", "1"), ("B", "2"), ("C", "3")]).await;
        let next = [("A", "2"), ("B", "3"), ("C", "9")];
        assert_eq!(
            import_skus(app, &next).await,
            [(); 3].map(|()| LineOutcome::Updated)
        );
        assert_eq!(skus(app).await, ["A 2", "B 3", "C 9"]);
    });
}

#[test]
fn a_sku_that_nobody_gives_up_stays_taken() {
    test(async |app| {
        import_skus(app, &[("A", "1"), ("B", "2"), ("C", "3")]).await;
        let next = import_skus(app, &[("A", "2"), ("B", "3")]).await;
        let words: Vec<String> = next.iter().map(|one| format!("{one:?}")).collect();
        assert!(
            words[0].contains("another product has the sku 2"),
            "{}",
            words[0]
        );
        assert!(
            words[1].contains("another product has the sku 3"),
            "{}",
            words[1]
        );
        assert_eq!(skus(app).await, ["A 1", "B 2", "C 3"]);
    });
}
