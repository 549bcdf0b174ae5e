//! Numbers that are multiplied and divided.

use serde_json::json;

use super::*;

/// The price of a product with this amount, or why it is bad.
fn price(amount: &str, currency: &str, row: &Value) -> Result<String, String> {
    let settings = format!(
        "price = {{ amount = {{ from = \"p\", {amount} }}, currency = {{ value = \"{currency}\" }} }}"
    );
    let mut row = row.clone();
    (row["id"], row["name"]) = (json!(1), json!("Lamp"));
    let (draft, problems) = product(&(with("") + &settings), &row);
    match draft {
        Some(draft) => Ok(draft.price.unwrap().amount().to_string()),
        None => Err(problems.fatal[0].reason.clone()),
    }
}

#[test]
fn amounts_are_calculated_exactly() {
    for (given, settings, amount) in [
        (json!(1999), "divide = 100", "19.99"),
        (json!(1999), "multiply = 0.01", "19.99"),
        (
            json!("1.999"),
            "thousands = \".\", decimal = \",\", divide = 100",
            "19.99",
        ),
        (json!(0.29), "multiply = 100", "29.00"),
        (json!(16.8), "multiply = 1.19, round = \"nearest\"", "19.99"),
        (json!("1e1"), "divide = 100", "0.10"),
        (
            json!("8007199254740993"),
            "divide = 100",
            "80071992547409.93",
        ),
    ] {
        assert_eq!(
            price(settings, "EUR", &json!({ "p": given })).unwrap(),
            amount
        );
    }
}

#[test]
fn an_amount_with_too_many_decimals_is_bad_unless_it_is_rounded() {
    let row = json!({"p": 1995});
    assert_eq!(
        price("divide = 1000", "EUR", &row).unwrap_err(),
        "1995 becomes 1.995: 1.995 has more decimals than EUR allows (2); round says which amount \
         to take instead"
    );
    for (round, amount) in [("nearest", "2.00"), ("up", "2.00"), ("down", "1.99")] {
        let settings = format!("divide = 1000, round = \"{round}\"");
        assert_eq!(price(&settings, "EUR", &row).unwrap(), amount);
    }
    let whole = price("divide = 1000, round = \"nearest\"", "JPY", &row);
    assert_eq!(whole.unwrap(), "2");
    let third = json!({"p": 10});
    assert!(price("divide = 3", "EUR", &third).is_err());
    assert_eq!(
        price("divide = 3, round = \"up\"", "EUR", &third).unwrap(),
        "3.34"
    );
    assert_eq!(
        price("round = \"down\"", "EUR", &json!({"p": "19.999"})).unwrap(),
        "19.99"
    );
}

#[test]
fn limits_are_those_of_the_number_that_the_feed_has() {
    let row = |cents: i64| json!({ "p": cents });
    let settings = "min = 100, max = 10000, divide = 100";
    assert_eq!(price(settings, "EUR", &row(100)).unwrap(), "1.00");
    assert_eq!(
        price(settings, "EUR", &row(99)).unwrap_err(),
        "99 is below 100"
    );
    assert_eq!(
        price("max = 5", "EUR", &row(6)).unwrap_err(),
        "6 is above 5"
    );
}

#[test]
fn specs_are_calculated_whatever_form_the_number_has() {
    let tenths = "rules = [{ path = \"h\", divide = 10, unit = \"mm\" }]";
    for (given, expected) in [
        (json!(4205), "h=420.5 mm"),
        (json!("4205"), "h=420.5 mm"),
        (json!("12 cm"), "h=1.2 cm"),
    ] {
        assert_eq!(specs(tenths, json!({ "h": given })).unwrap(), [expected]);
    }
    let plain = "rules = [{ path = \"h\", multiply = 3 }]";
    assert_eq!(specs(plain, json!({"h": "1.1"})).unwrap(), ["h=3.3"]);
    for (given, reason) in [
        (json!("tall"), "h: \"tall\" is not a number"),
        (json!(true), "h: is true instead of a number"),
    ] {
        assert_eq!(specs(plain, json!({ "h": given })).unwrap_err(), [reason]);
    }
    let split =
        "rules = [{ path = \"size\", split = \"{w}x{h}\", multiply = 25.4, unit = \"mm\" }]";
    let sizes = specs(split, json!({"size": "10x3"})).unwrap();
    assert_eq!(sizes, ["w=254 mm", "h=76.2 mm"]);
    let pieces = "rules = [{ path = \"f\", key_from = \"n\", value_from = \"v\", divide = 1000 }]";
    let found = specs(pieces, json!({"f": [{"n": "Load", "v": "1500"}]})).unwrap();
    assert_eq!(found, ["load=1.5"]);
}

#[test]
fn the_number_of_a_quantity_in_text_is_limited_and_rounded_like_others() {
    let rule = |more: &str| format!("rules = [{{ path = \"h\", type = \"quantity\", {more} }}]");
    let row = || json!({"h": "12.4 cm"});
    assert_eq!(specs(&rule("round = \"up\""), row()).unwrap(), ["h=13 cm"]);
    assert_eq!(
        specs(&rule("max = 12"), row()).unwrap_err(),
        ["h: 12.4 is above 12"]
    );
}

#[test]
fn later_rules_change_what_is_calculated() {
    let rules = |more: &str| format!("rules = [{{ path = [\"a\", \"b\"], divide = 10 }}, {more}]");
    let row = || json!({"a": 5, "b": 5});
    let found = specs(&rules("{ path = \"b\", divide = 100 }"), row()).unwrap();
    assert_eq!(found, ["a=0.5", "b=0.05"]);
    let found = specs(&rules("{ path = \"b\", type = \"text\" }"), row()).unwrap_err();
    assert_eq!(
        found,
        ["b: multiply or divide has no effect: it is for numbers, and type = \"text\" is none"]
    );
}

#[test]
fn ratings_votes_and_details_are_calculated() {
    let text = "version = 1\nsystem = \"shop\"\n[review]\nexternal_id = \"id\"\nproduct = \"id\"\n\
                rating = { from = \"r\", divide = 10, round = \"nearest\" }\n\
                dimensions = { fit = { from = \"r\", multiply = 2, scale = [0, 100] } }\n\
                helpful = { from = \"h\", multiply = 1000 }\n";
    let row = json!({"id": 1, "r": 38, "h": "1.2"});
    let mapped = parse(text)
        .unwrap()
        .reviews(&mut MappingCache::default(), (&row).into())
        .pop()
        .unwrap();
    let draft = mapped.draft.unwrap();
    assert_eq!((draft.rating.get(), draft.helpful), (4, 1200));
    assert_eq!(draft.dimensions["fit"].get(), 4);
    let book = with("").replace("\"lamp\"", "\"book\"")
        + "details = { pages = { from = \"sheets\", type = \"number\", multiply = 2 } }";
    let (draft, _) = product(&book, &json!({"id": 1, "name": "B", "sheets": 80}));
    let Details::Book(book) = draft.unwrap().details else {
        panic!("it is a book")
    };
    assert_eq!(book.pages, Some(160));
}

#[test]
fn calculating_what_is_no_number_is_refused() {
    for (settings, setting) in [
        (
            "brand = { from = \"a\", multiply = 2 }",
            "product.brand.multiply",
        ),
        (
            "created_at = { from = \"a\", divide = 2 }",
            "product.created_at.divide",
        ),
        (
            "details = { fit = { from = \"a\", divide = 2 } }",
            "product.details.fit.divide",
        ),
        (
            "price = { amount = { template = \"{a}\", parts = { a = { from = \"a\", divide = 2 } } }, \
             currency = \"c\" }",
            "product.price.amount.parts.a.divide",
        ),
        (
            "price = { amount = \"a\", currency = { from = \"c\", divide = 2 } }",
            "product.price.currency.divide",
        ),
        ("specs = { multiply = 2 }", "product.specs.multiply"),
        (
            "specs = { rules = [{ path = \"a\", type = \"text\", multiply = 2 }] }",
            "product.specs.rules[0].multiply",
        ),
        (
            "specs = { rules = [{ path = \"a\", list = \"count\", divide = 2 }] }",
            "product.specs.rules[0].divide",
        ),
    ] {
        let error = refusal(&(with("") + settings));
        assert!(
            error.starts_with(&format!("{setting}: has no effect")),
            "{error}"
        );
    }
    let defaults = refusal(&with("[defaults]\ndivide = 100"));
    assert!(
        defaults.starts_with("defaults.divide: has no effect"),
        "{defaults}"
    );
    for (value, reason) in [
        ("0", "is not a number above 0"),
        ("-1", "is not a number above 0"),
        ("nan", "is not a number above 0"),
        ("1.0", "1 has no effect"),
        ("\"2\"", "must be a number, not text"),
    ] {
        let amount = format!(
            "price = {{ amount = {{ from = \"a\", multiply = {value} }}, currency = \"c\" }}"
        );
        let error = refusal(&(with("") + &amount));
        assert_eq!(error, format!("product.price.amount.multiply: {reason}"));
    }
}
