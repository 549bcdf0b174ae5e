//! Search: reading of texts, ranking and paging of hits, and the limits that no text exceeds.

use std::collections::HashSet;
use std::fmt::Write as _;

use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_harness::profile::Executed;
use vitrine_harness::{Answer, App, product, review, test};
use vitrine_model::product::{Book, Details, ProductStatus};

const SEARCH: &str = "query($search: String, $filter: ProductFilterInput) { products(search: $search, filter: $filter, first: 50) {
    nodes { name } totalCount { value } search { text words { typed reading corrected } ignored didYouMean } } }";

async fn stock(app: &App) {
    let book = Details::Book(Book {
        isbn: Some("9783161484100".to_owned()),
        ..Book::default()
    });
    app.has([
        product("Laptop Sleeve")
            .brand("Acme")
            .price("20")
            .text("color", "Red"),
        product("Sleeve for a big Laptop")
            .brand("Zeta")
            .price("30")
            .text("color", "Blue"),
        product("Travel Case")
            .brand("Zeta")
            .text("fits", "laptop sleeve")
            .price("10"),
        product("Crème Brûlée Torch").brand("Kitchen & Co"),
        product("GeForce RTX")
            .sku("GV-N3080")
            .brand("Gigabyte")
            .text("part", "GV-N3080GAMING OC-10GD"),
        product("Notebookstand Pro").brand("Acme"),
        product("Wireless Headphones")
            .brand("Sønic")
            .text("color", "Red"),
        product("Dune").sku("D-1").details(book),
        product("Hidden Laptop Sleeve").status(ProductStatus::Draft),
    ])
    .await;
    // The case is by far the most popular.
    app.has_reviews((0..40).map(|n| review("Travel Case", n, 5)))
        .await;
}

async fn search(app: &App, text: &str) -> Answer {
    app.query(SEARCH).with("search", text).await
}

/// What a search finds, best first.
async fn found(app: &App, text: &str) -> Vec<String> {
    search(app, text).await.names("/products")
}

#[test]
fn words_prefixes_typos_and_codes_find_products() {
    test(async |app| {
        stock(app).await;
        let torch = ["Crème Brûlée Torch"];
        let headphones = ["Wireless Headphones"];
        let card = ["GeForce RTX"];
        let mut faults = Vec::new();
        for (text, expected) in [
            // Words in any order, without regard to case, accents and blanks.
            ("brulee creme", &torch[..]),
            ("  CRÈME\tbrûlée ", &torch),
            ("kitchen co torch", &torch),
            ("sonic wireless", &["Wireless Headphones"]),
            // Incomplete words, also longer than the stored prefixes.
            ("headph", &headphones),
            ("wire headpho", &[]),
            ("wireless h", &headphones),
            ("notebookst", &["Notebookstand Pro"]),
            ("notebookstand p", &["Notebookstand Pro"]),
            // A trailing blank completes the word.
            ("headph ", &[]),
            // One typo: a letter too many, one too few, a wrong one, two swapped.
            ("headdphones", &headphones),
            ("headphnes ", &headphones),
            ("haedphones", &headphones),
            ("headphanes", &headphones),
            // Two are too many.
            ("haedphnes", &[]),
            // Codes in any of their spellings, but without typos.
            ("GV-N3080", &card),
            ("gvn3080", &card),
            ("gv-n3080gaming", &card),
            ("GV-N3081", &[]),
            ("978-3-16-148410-0", &["Dune"]),
            ("9783161484101", &[]),
            ("978-3-16-148410-1", &[]),
            // Joined words of which products have only the parts.
            ("wireless-headphones", &headphones),
            ("sonic/wireless-headph", &headphones),
            ("wireless-haedphones", &headphones),
            ("wireless-headph ", &[]),
            ("torch-headphones", &[]),
            // The words of short specs are searched, those of drafts are not.
            ("oc 10gd", &card),
            ("hidden", &[]),
        ] {
            let found = found(app, text).await;
            if found != expected {
                faults.push(format!("{text:?} finds {found:?}, not {expected:?}"));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        let draft = app.query(SEARCH).as_admin().with("search", "hidden").await;
        assert_eq!(draft.names("/products"), ["Hidden Laptop Sleeve"]);
    });
}

#[test]
fn the_answer_says_how_each_word_was_read() {
    test(async |app| {
        stock(app).await;
        let answer = search(app, "Wireless haedphones r").await;
        assert_eq!(
            answer.at("/products/search"),
            &json!({ "text": "Wireless haedphones r", "words": [
                { "typed": "wireless", "reading": "WORD", "corrected": [] },
                { "typed": "haedphones", "reading": "CORRECTED", "corrected": ["headphones"] },
                { "typed": "r", "reading": "PREFIX", "corrected": [] },
            ], "ignored": [], "didYouMean": null })
        );
        let joined = search(app, "Wireless-haedphones-r").await;
        let words = "/products/search/words";
        assert_eq!(joined.at(words), answer.at(words));
        let unread = app.query("{ products { search { text } } }").await;
        assert!(unread.at("/products/search").is_null());
        let many = search(app, "a b c d e f g h i j").await;
        assert_eq!(many.at("/products/search/ignored"), &json!(["i", "j"]));
        assert_eq!(
            many.at("/products/search/words").as_array().unwrap().len(),
            8
        );
        let many = search(app, "a b c d e f-g-h-i-a-j").await;
        assert_eq!(many.at("/products/search/ignored"), &json!(["i", "j"]));
        assert_eq!(many.at(words).as_array().unwrap().len(), 8);
    });
}

#[test]
fn joined_words_are_read_like_separate_ones() {
    test(async |app| {
        stock(app).await;
        app.has([
            product("Bora Bora Towel"),
            product("Tic Tactile Toy"),
            product("Red Shirts"),
            product("Redline Radio"),
            product("Red Wine Glass"),
            product("Big Laptop").brand("Sleeve"),
        ])
        .await;
        app.has_reviews((0..9).map(|n| review("Big Laptop", format!("b{n}"), 4)))
            .await;
        for (joined, apart, number) in [
            ("laptop-sleeve", "laptop sleeve", 4),
            ("sleeve laptop-sleeve", "sleeve laptop sleeve", 4),
            ("bora-bora", "bora bora", 1),
            ("bora-bor", "bora bor", 1),
            ("tic-tac", "tic tac", 1),
            ("tic-tac-tic", "tic tac tic", 0),
            ("red-shirt", "red shirt", 1),
            ("red shir-red", "red shir red", 0),
            // One letter away from a word that products have, but the parts are right.
            ("red-wine", "red wine", 1),
        ] {
            let names = found(app, joined).await;
            assert_eq!(names, found(app, apart).await, "{joined}");
            assert_eq!(names.len(), number, "{joined} finds {names:?}");
        }
        // Parts of a code are neither corrected nor proposed.
        for code in ["GV-N3081", "torhc-3080"] {
            let answer = search(app, code).await;
            assert_eq!(answer.names("/products"), [""; 0], "{code}");
            let words = answer.at("/products/search/words").as_array().unwrap();
            assert_eq!(words.len(), 1, "{code}");
            assert!(answer.at("/products/search/didYouMean").is_null(), "{code}");
        }
    });
}

#[test]
fn a_search_without_hits_suggests_another() {
    test(async |app| {
        stock(app).await;
        let meant = async |text: &str, filter: Value| {
            let answer = app
                .query(SEARCH)
                .with("search", text)
                .with("filter", filter)
                .await;
            assert_eq!(answer.names("/products"), [""; 0], "{text}");
            answer.at("/products/search/didYouMean").clone()
        };
        let anything = || json!({});
        assert_eq!(meant("headfones", anything()).await, "headphones");
        assert_eq!(meant("wireless xyzzyx", anything()).await, "wireless");
        assert_eq!(meant("wireless-xyzzyx", anything()).await, "wireless");
        assert_eq!(meant("xyzzyx", anything()).await, Value::Null);
        assert_eq!(
            meant("torch headphones", anything())
                .await
                .as_str()
                .map(|text| text.split(' ').count()),
            Some(1)
        );
        // Only suggestions with hits under the same filter.
        let blue = json!({ "specs": [{ "key": "color", "text": { "eq": "blue" } }] });
        assert_eq!(meant("headfones", blue.clone()).await, Value::Null);
        let text = meant("laptop sleve torch ", blue).await;
        let text = text.as_str().unwrap().to_owned();
        let again = app.query(SEARCH).with("search", text.clone()).await;
        assert!(!again.names("/products").is_empty(), "{text}");
        // A search with hits has no suggestion.
        assert!(
            search(app, "headphones")
                .await
                .at("/products/search/didYouMean")
                .is_null()
        );
    });
}

#[test]
fn the_exact_name_comes_first_then_names_then_popularity() {
    test(async |app| {
        stock(app).await;
        let expected = ["Laptop Sleeve", "Sleeve for a big Laptop", "Travel Case"];
        assert_eq!(found(app, "laptop sleeve").await, expected);
        assert_eq!(found(app, "LAPTOP  SLEEVE ").await, expected);
        assert_eq!(found(app, "sleeve laptop").await[2], "Travel Case");
        app.has([product("Big Laptop").brand("Sleeve")]).await;
        app.has_reviews((0..9).map(|n| review("Big Laptop", format!("b{n}"), 4)))
            .await;
        assert_eq!(
            found(app, "laptop sleeve").await,
            [
                "Laptop Sleeve",
                "Big Laptop",
                "Sleeve for a big Laptop",
                "Travel Case"
            ],
            "brands count as names"
        );
    });
}

#[test]
fn a_search_combines_with_filters_sorts_and_totals() {
    test(async |app| {
        stock(app).await;
        let list = async |rest: &str| {
            let query = format!(
                r#"{{ products(search: "laptop sleeve", {rest}) {{ nodes {{ name }} totalCount {{ value relation }} facets(keys: ["@brand"]) {{ productCount }} }} }}"#
            );
            app.query(&query).await
        };
        let red = list(r#"filter: { specs: [{ key: "color", text: { eq: "red" } }] }"#).await;
        assert_eq!(red.names("/products"), ["Laptop Sleeve"]);
        let cheap = list(r#"filter: { price: { lte: "25" } }, sort: [{ key: PRICE }]"#).await;
        assert_eq!(cheap.names("/products"), ["Travel Case", "Laptop Sleeve"]);
        assert_eq!(cheap.number("/products/totalCount/value"), 2);
        assert_eq!(cheap.number("/products/facets/0/productCount"), 2);
        let named = list("sort: [{ key: NAME, direction: DESCENDING }]").await;
        assert_eq!(
            named.names("/products"),
            ["Travel Case", "Sleeve for a big Laptop", "Laptop Sleeve"]
        );
        let popular = list("sort: [{ key: POPULARITY }]").await;
        assert_eq!(popular.names("/products")[0], "Travel Case");
        let none = list(r#"filter: { category: ["nowhere"] }"#).await;
        assert_eq!(none.names("/products"), [""; 0]);
        for (query, reason) in [
            (
                "{ products(sort: [{ key: RELEVANCE }]) { nodes { name } } }",
                "needs a search",
            ),
            (
                r#"{ products(search: "x", sort: [{ key: RELEVANCE, direction: ASCENDING }]) { nodes { name } } }"#,
                "DESCENDING",
            ),
        ] {
            let wrong = app.query(query).await;
            assert!(
                wrong.errors().concat().contains(reason),
                "{}",
                wrong.pretty()
            );
        }
    });
}

/// Sixty-four hits in all three ranks, with many ties, and noise around them.
async fn many(app: &App) {
    let hit = |n: usize| match n % 4 {
        0 => product(&format!("Desk Lamp {n}")),
        1 => product(&format!("Lamp {n}")).brand("Desk"),
        2 => product(&format!("Light {n}")).text("place", "desk lamp"),
        _ => product("desk lamp").source("feed", &format!("lamp {n}")),
    };
    app.has((0..64).map(hit)).await;
    app.has((0..30).map(|n| product(&format!("Lamp without a table {n}"))))
        .await;
    let reviews = (0..64).filter(|n| n % 4 != 3).flat_map(|n| {
        let name = match n % 4 {
            0 => format!("Desk Lamp {n}"),
            1 => format!("Lamp {n}"),
            _ => format!("Light {n}"),
        };
        (0..n % 3).map(move |at| review(&name, format!("{n} {at}"), 4))
    });
    app.has_reviews(reviews).await;
}

/// All ids of a search, read in pages of this size in a direction.
async fn walk(app: &App, arguments: &str, size: usize, backwards: bool) -> Vec<String> {
    let (count, from, more, next) = if backwards {
        ("last", "before", "hasPreviousPage", "startCursor")
    } else {
        ("first", "after", "hasNextPage", "endCursor")
    };
    let query = format!(
        "query($cursor: String) {{ products({arguments}, {count}: {size}, {from}: $cursor) {{ nodes {{ id }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
    );
    let (mut pages, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let answer = app.query(&query).with("cursor", cursor.clone()).await;
        let page = answer.at("/products");
        let ids = page["nodes"].as_array().unwrap().iter();
        let ids: Vec<String> = ids
            .map(|node| node["id"].as_str().unwrap().to_owned())
            .collect();
        let first_page = cursor.is_null();
        let behind = if backwards {
            "hasNextPage"
        } else {
            "hasPreviousPage"
        };
        assert_eq!(page["pageInfo"][behind], !first_page, "{}", answer.pretty());
        pages.push(ids);
        if page["pageInfo"][more] == false {
            break;
        }
        cursor = page["pageInfo"][next].clone();
    }
    if backwards {
        pages.reverse();
    }
    pages.concat()
}

#[test]
fn hits_by_relevance_are_walked_both_ways_in_pages_of_any_size() {
    test(async |app| {
        many(app).await;
        let whole = app
            .query(r#"{ products(search: "desk lamp", first: 100) { nodes { id name } totalCount { value } } }"#)
            .await;
        assert_eq!(whole.number("/products/totalCount/value"), 64);
        let names = whole.names("/products");
        let rank = |name: &String| {
            if name == "desk lamp" {
                0
            } else if name.starts_with("Light") {
                2
            } else {
                1
            }
        };
        assert!(names.iter().map(rank).is_sorted(), "{names:?}");
        let ids: Vec<String> = whole
            .at("/products/nodes")
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["id"].as_str().unwrap().to_owned())
            .collect();
        for size in [1, 7, 16, 63, 64, 100] {
            let arguments = r#"search: "desk lamp""#;
            assert_eq!(
                walk(app, arguments, size, false).await,
                ids,
                "pages of {size}"
            );
            assert_eq!(
                walk(app, arguments, size, true).await,
                ids,
                "pages of {size}, backwards"
            );
        }
    });
}

#[test]
fn hits_in_another_sort_order_are_walked_both_ways() {
    test(async |app| {
        many(app).await;
        for sort in ["PRICE", "RATING", "POPULARITY", "NEWEST", "UPDATED", "NAME"] {
            let arguments = format!(r#"search: "desk lamp", sort: [{{ key: {sort} }}]"#);
            let forwards = walk(app, &arguments, 9, false).await;
            assert_eq!(forwards.len(), 64, "{sort}");
            assert_eq!(
                walk(app, &arguments, 9, true).await,
                forwards,
                "{sort} backwards"
            );
        }
    });
}

#[test]
fn a_cursor_belongs_to_its_search_text_filter_and_sort() {
    test(async |app| {
        many(app).await;
        let cursor = app
            .query(r#"{ products(search: "desk lamp", first: 5) { pageInfo { endCursor } } }"#)
            .await
            .text("/products/pageInfo/endCursor");
        for other in [
            r#"search: "desk""#,
            "filter: {}",
            r#"search: "desk lamp", sort: [{ key: NAME }]"#,
        ] {
            let query = format!(
                "query($c: String) {{ products({other}, first: 5, after: $c) {{ nodes {{ id }} }} }}"
            );
            let refused = app.query(&query).with("c", cursor.clone()).await;
            assert!(
                refused.errors().concat().starts_with("INVALID_CURSOR"),
                "{other}: {}",
                refused.pretty()
            );
        }
    });
}

#[test]
fn suggestions_complete_the_last_word() {
    test(async |app| {
        stock(app).await;
        let suggest = async |prefix: &str, first: i32| {
            let answer = app
                .query("query($p: String!, $n: Int) { searchSuggestions(prefix: $p, first: $n) }")
                .with("p", prefix)
                .with("n", first)
                .await;
            let found = answer.at("/searchSuggestions").as_array().unwrap();
            found
                .iter()
                .map(|text| text.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(suggest("lap", 10).await, ["laptop"]);
        assert_eq!(suggest("wireless h", 10).await, ["wireless headphones"]);
        assert_eq!(suggest("Wireless-h", 10).await, ["wireless headphones"]);
        assert_eq!(suggest("gv-n30", 10).await, [""; 0], "codes have no name");
        assert_eq!(suggest("CRÈ", 10).await, ["creme"]);
        assert_eq!(suggest("hidd", 10).await, [""; 0], "drafts suggest nothing");
        assert_eq!(suggest("xyzzy", 10).await, [""; 0]);
        assert_eq!(suggest("", 10).await, [""; 0]);
        assert_eq!(suggest("$%&", 10).await, [""; 0]);
        assert_eq!(suggest("s", 1).await.len(), 1);
        for text in suggest("s", 50).await {
            assert!(
                !found(app, &text).await.is_empty(),
                "{text} finds something"
            );
        }
        for (prefix, first, reason) in [
            ("x", 0, "first"),
            ("x", 51, "first"),
            (&*"x".repeat(201), 10, "200 characters"),
        ] {
            let wrong = app
                .query("query($p: String!, $n: Int) { searchSuggestions(prefix: $p, first: $n) }")
                .with("p", prefix)
                .with("n", first)
                .await;
            assert!(
                wrong.errors().concat().contains(reason),
                "{}",
                wrong.pretty()
            );
        }
    });
}

#[test]
fn a_written_product_is_found_at_once() {
    test(async |app| {
        stock(app).await;
        let id = app
            .query(r#"{ product(slug: "dune") { id } }"#)
            .await
            .text("/product/id");
        app.mutate(
            "updateProduct",
            json!({ "id": id, "name": "Zyzzogeton", "brand": "Quux" }),
        )
        .await
        .done();
        assert_eq!(found(app, "zyzzogeton quux").await, ["Zyzzogeton"]);
        assert_eq!(
            found(app, "zyzogeton").await,
            ["Zyzzogeton"],
            "with a typo, too"
        );
        assert_eq!(found(app, "dune").await, [""; 0]);
        app.mutate(
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "motif", "text": "Sandworm" }] }),
        )
        .await
        .done();
        assert_eq!(found(app, "sandwrom").await, ["Zyzzogeton"]);
        app.mutate(
            "removeSpecs",
            json!({ "productId": id, "specs": [{ "key": "motif" }] }),
        )
        .await
        .done();
        assert_eq!(found(app, "sandworm").await, [""; 0]);
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        assert_eq!(found(app, "zyzzogeton").await, [""; 0]);
    });
}

/// Two thousand four hundred products: every name shares words with all others, hundreds of words
/// begin alike, and hundreds are one letter from each other.
async fn crowd(app: &App) -> usize {
    const CROWD: usize = 2_400;
    let letters = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
    ];
    app.has((0..CROWD).map(|n| {
        let half = if n % 2 == 0 { "even" } else { "oddly" };
        let near = format!("sam{}le{}", letters[n % 13], letters[n / 13 % 13]);
        product(&format!("Common thing {half} {near} commonprefix{n}"))
            .brand("Everywhere")
            .text("note", &format!("word{n} shared"))
    }))
    .await;
    CROWD
}

/// Worst-case search texts.
fn hostile() -> Vec<String> {
    let words = |words: [&str; 8]| words.join(" ");
    vec![
        "c".to_owned(),
        "common thing".to_owned(),
        "common thing everywhere shared".to_owned(),
        // Each half of the catalogue has one of them, no product both.
        "even oddly".to_owned(),
        words(["c", "co", "com", "comm", "commo", "common", "t", "th"]),
        // A long prefix of thousands of words.
        "commonpre".to_owned(),
        "commonprefix".to_owned(),
        words([
            "commonprefix1",
            "commonprefix2",
            "commonprefix3",
            "commonprefix4",
            "commonprefix5",
            "commonprefix6",
            "commonprefix7",
            "commonprefix",
        ]),
        // One letter from very many words.
        "samxlea".to_owned(),
        words([
            "samxlea", "samxleb", "samxlec", "samxled", "samxlee", "samxlef", "samxleg", "samxleh",
        ]),
        // No product has any of them, and many words have the same prefix.
        words([
            "coxxxxx", "coyyyyy", "cozzzzz", "coqqqqq", "cowwwww", "covvvvv", "cojjjjj", "cokkkkk",
        ]),
        words([
            "comxonprefiy",
            "comyonprefiy",
            "comzonprefiy",
            "comqonprefiy",
            "comwonprefiy",
            "comvonprefiy",
            "comjonprefiy",
            "comkonprefiy",
        ]),
        "e".repeat(200),
        "a ".repeat(100),
        ".*".repeat(100),
        "(a+)+$".repeat(33),
        "\u{202e}common\u{202d} \u{0}thing\u{feff}".to_owned(),
        "👩\u{200d}👩\u{200d}👧 common".to_owned(),
        "ﷺ".repeat(11),
        "ß".repeat(200),
        "\u{1d11e} \u{300}\u{301} x".to_owned(),
        r#"{"$gt": ""} $where: sleep(1000)"#.to_owned(),
    ]
}

/// A crowd of products, every seventh of them with reviews, and how many products there are.
async fn reviewed_crowd(whole: &App) -> usize {
    let crowd = crowd(whole).await;
    let products = whole.documents("products", doc! {}).await;
    let names = products
        .iter()
        .map(|product| product.get_str("name").unwrap());
    let liked = names.step_by(7).enumerate();
    let reviews = liked
        .flat_map(|(at, name)| (0..=(at % 3)).map(move |n| review(name, format!("{at} {n}"), 5)));
    whole.has_reviews(reviews).await;
    crowd
}

#[test]
fn a_search_of_very_common_words_examines_the_most_popular_products() {
    test(async |whole| {
        let crowd = reviewed_crowd(whole).await;
        let popular = r#"search: "common", sort: [{ key: POPULARITY }]"#;
        let all = walk(whole, popular, 100, false).await;
        assert_eq!(all.len(), crowd);
        let app = &whole.with_max_read(2_200).await;
        assert_eq!(
            walk(app, popular, 100, false).await,
            all,
            "one word comes in order"
        );
        let window: HashSet<&String> = all.iter().take(550).collect();
        for sort in [
            "RELEVANCE",
            "POPULARITY",
            "PRICE",
            "NAME",
            "NEWEST",
            "RATING",
        ] {
            let arguments = format!(r#"search: "common thing", sort: [{{ key: {sort} }}]"#);
            let found = walk(app, &arguments, 99, false).await;
            assert_eq!(found.iter().collect::<HashSet<_>>(), window, "{sort}");
            assert_eq!(found.len(), 550, "{sort}");
            assert_eq!(
                walk(app, &arguments, 99, true).await,
                found,
                "{sort} backwards"
            );
            if sort == "POPULARITY" {
                assert_eq!(found, all[..550]);
            }
        }
        let by_spec = r#"search: "common thing", sort: [{ spec: "note" }]"#;
        assert_eq!(walk(app, by_spec, 99, false).await.len(), 550);
    });
}

/// The total of a search, and the report on how it was read.
async fn reading(app: &App, text: &str) -> (Value, Value) {
    let query = format!(
        "{{ products(search: {text:?}) {{ totalCount(upTo: 5000) {{ value relation }} search {{ lookedThrough didYouMean }} }} }}"
    );
    let answer = app.query(&query).await;
    (
        answer.at("/products/totalCount").clone(),
        answer.at("/products/search").clone(),
    )
}

#[test]
fn a_search_says_how_many_products_it_has_examined() {
    test(async |whole| {
        let crowd = reviewed_crowd(whole).await;
        let app = &whole.with_max_read(2_200).await;
        let (total, read) = reading(app, "common thing").await;
        assert_eq!(total, json!({ "value": 550, "relation": "AT_LEAST" }));
        assert_eq!(read, json!({ "lookedThrough": 550, "didYouMean": null }));
        // Half of the products have one word, half the other.
        let (total, read) = reading(app, "even oddly").await;
        assert_eq!(total, json!({ "value": 0, "relation": "AT_LEAST" }));
        assert_eq!(read["lookedThrough"], 550);
        // With a rarer word all products that have it are examined.
        let rare = crowd / 169;
        let (total, read) = reading(app, "common samalea").await;
        assert_eq!(total["relation"], "EXACT");
        assert!(total["value"].as_u64().unwrap() >= rare as u64, "{total}");
        assert_eq!(read["lookedThrough"], Value::Null);
    });
}

#[test]
fn a_filter_that_leaves_few_products_leads_a_search_of_common_words() {
    test(async |whole| {
        whole
            .has((0..1_300).map(|n| {
                let shelf = if n % 26 == 0 { "Low" } else { "High" };
                product(&format!("Common thing {n}"))
                    .category([shelf])
                    .price(&n.to_string())
                    .text("finish", if n % 13 == 0 { "Matt" } else { "Gloss" })
                    .number("rank", f64::from(n % 130))
            }))
            .await;
        whole.start_profiler().await;
        let app = &whole.with_max_read(2_000).await;
        for (filter, products) in [
            (
                json!({ "specs": [{ "key": "rank", "number": { "gte": 7, "lte": 9 } }] }),
                30,
            ),
            (json!({ "category": ["low"] }), 50),
            (
                json!({ "specs": [{ "key": "finish", "text": { "eq": "matt" } }] }),
                100,
            ),
            (
                json!({ "category": ["low"], "specs": [{ "key": "finish", "text": { "eq": "matt" } }] }),
                50,
            ),
        ] {
            for sort in ["RELEVANCE", "PRICE"] {
                let query = format!(
                    r#"query($filter: ProductFilterInput) {{ products(search: "common thing", first: 50, sort: [{{ key: {sort} }}], filter: $filter) {{
                        totalCount(upTo: 5000) {{ value relation }} search {{ lookedThrough }}
                        facets(keys: ["@price"]) {{ accuracy values {{ label count }} }} }} }}"#
                );
                let request = app
                    .query(&query)
                    .with("filter", filter.clone())
                    .into_future();
                let (answer, executed) = app.profile(request).await;
                let total = json!({ "value": products, "relation": "EXACT" });
                assert_eq!(answer.at("/products/totalCount"), &total, "{filter}");
                assert_eq!(answer.at("/products/search/lookedThrough"), &Value::Null);
                let most = executed.iter().map(Executed::docs).max();
                assert!(most <= Some(100), "{filter} by {sort}: {most:?} documents");
            }
        }
    });
}

#[test]
fn a_selected_value_stays_in_its_facet_when_nothing_is_found() {
    test(async |whole| {
        whole
            .has((0..2_400).map(|n| {
                let (half, side) = [("even", "Left"), ("oddly", "Right")][n % 2];
                product(&format!("Common {half} {n}")).text("side", side)
            }))
            .await;
        let app = &whole.with_max_read(200).await;
        let answer = app
            .query(r#"{ products(search: "common even", filter: { specs: [{ key: "side", text: { eq: "right" } }] }) {
                nodes { id } search { lookedThrough } facets(keys: ["side"]) { values { label selected } } } }"#)
            .await;
        assert_eq!(answer.at("/products/nodes"), &json!([]));
        assert_eq!(answer.number("/products/search/lookedThrough"), 50);
        let values = answer.at("/products/facets/0/values").as_array().unwrap();
        let chosen = json!({ "label": "right", "selected": true });
        let other = json!({ "label": "Left", "selected": false });
        assert!(
            values.contains(&chosen) && values.contains(&other),
            "{values:?}"
        );
    });
}

/// The maximum number of commands of a search: for each of eight words two counts, one look-up of
/// words with the same prefix, one of words one letter away, and sixteen counts to weigh them; and
/// half of that for the suggestion.
const MAX_COMMANDS: usize = 8 * (2 + 1 + 1 + 16) * 3 / 2;

#[test]
fn no_search_text_examines_more_than_the_limit() {
    test(async |app| {
        crowd(app).await;
        app.start_profiler().await;
        let app = &app.with_max_read(MAX_READ).await;
        let mut faults = Vec::new();
        let mut table = String::new();
        for text in hostile() {
            for (sort, filter) in [
                ("RELEVANCE", "{}"),
                ("PRICE", "{}"),
                ("RELEVANCE", r#"{ price: { gte: "1" } }"#),
            ] {
                let query = format!(
                    "query($search: String) {{ products(first: 20, search: $search, sort: [{{ key: {sort} }}], filter: {filter}) {{ nodes {{ name }} totalCount(upTo: 1000) {{ value }} search {{ didYouMean }} }} }}"
                );
                let request = app.query(&query).with("search", text.clone()).into_future();
                let (answer, executed) = app.profile(request).await;
                let errors = answer.errors();
                assert!(
                    errors
                        .iter()
                        .all(|error| error.starts_with("BAD_USER_INPUT at products: search")),
                    "{text:?}: {errors:?}"
                );
                let shown: String = text.chars().take(30).collect();
                cost(
                    &format!("{shown:?} by {sort} {filter}"),
                    &answer,
                    &executed,
                    &mut table,
                    &mut faults,
                );
            }
            let request = app
                .query("query($p: String!) { searchSuggestions(prefix: $p, first: 50) }")
                .with("p", text.clone())
                .into_future();
            let (answer, executed) = app.profile(request).await;
            let shown: String = text.chars().take(30).collect();
            cost(
                &format!("suggestions for {shown:?}"),
                &answer,
                &executed,
                &mut table,
                &mut faults,
            );
        }
        println!("{table}");
        assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    });
}

/// The maximum number of products that a search may examine here.
const MAX_READ: u32 = 1_200;

/// Records the cost of a search and what exceeds the limits. Counts of words stop at 1,001 keys.
/// Besides, only these read products, at most half of [`MAX_READ`] each: the page, once for each of
/// three ranks, and the total; and "did you mean", three times a tenth of that.
fn cost(
    name: &str,
    answer: &Answer,
    executed: &[Executed],
    table: &mut String,
    faults: &mut Vec<String>,
) {
    let commands = answer.sent().len();
    let most = executed.iter().map(Executed::keys).max().unwrap_or(0);
    let docs: i64 = executed.iter().map(Executed::docs).sum();
    let all: i64 = executed.iter().map(Executed::keys).sum();
    let _ = writeln!(
        table,
        "{name:<70} {commands:>4} commands {most:>6} keys at most {all:>7} in all {docs:>6} documents"
    );
    if commands > MAX_COMMANDS {
        faults.push(format!("{name}: {commands} commands"));
    }
    let read = i64::from(MAX_READ / 2);
    // Several of the 64 words of a prefix may find the same product.
    if most > 1_001 + 200 {
        faults.push(format!("{name}: {most} keys in one command"));
    }
    if docs > (3 + 1) * read + 3 * read / 10 + 100 {
        faults.push(format!("{name}: {docs} documents"));
    }
}
