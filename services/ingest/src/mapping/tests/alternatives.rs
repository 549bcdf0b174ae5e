//! Lists of fields: the first that is known, each by its own settings.

use serde_json::json;

use super::*;

fn fields(rejections: &[Rejection]) -> Vec<&str> {
    rejections.iter().map(|one| one.field.as_str()).collect()
}

/// A list of `a` and `b`, of which `b` has its own `on_bad`.
fn list(on_bad: &str) -> String {
    format!("[\"a\", {{ from = \"b\", on_bad = \"{on_bad}\" }}]")
}

fn settings(on_bad: &str) -> [String; 5] {
    let list = list(on_bad);
    [
        format!("status = {list}"),
        format!("created_at = {list}"),
        format!("price = {{ amount = {list}, currency = {{ value = \"EUR\" }} }}"),
        format!("supplier = {{ name = \"name\", country = {list} }}"),
        format!("media = {{ url = {list} }}"),
    ]
}

#[test]
fn each_field_of_a_list_has_its_own_name_and_on_bad() {
    let row = json!({"id": 1, "name": "Lamp", "a": null, "b": "?"});
    for setting in settings("drop_value") {
        let (draft, problems) = product(&(with("") + &setting), &row);
        assert!(draft.is_some(), "{setting}: {problems:?}");
        assert_eq!(fields(&problems.dropped), ["b"], "{setting}");
    }
    for setting in settings("ignore") {
        let (draft, problems) = product(&(with("") + &setting), &row);
        assert!(draft.is_some(), "{setting}: {problems:?}");
        assert_eq!(fields(&problems.ignored), ["b"], "{setting}");
    }
    for setting in settings("reject_line") {
        let lenient = with("[defaults]\non_bad = \"drop_value\"");
        let (draft, problems) = product(&(lenient + &setting), &row);
        assert_eq!(draft, None, "{setting}");
        assert_eq!(fields(&problems.fatal), ["b"], "{setting}");
    }
}

#[test]
fn after_a_bad_value_that_is_dropped_the_next_field_is_read() {
    let list = "[{ from = \"a\", on_bad = \"drop_value\" }, \"b\"]";
    let read = |setting: String, good: &str| {
        let row = json!({"id": 1, "name": "Lamp", "a": "?", "b": good});
        let (draft, problems) = product(&(with("") + &setting), &row);
        assert_eq!(fields(&problems.dropped), ["a"], "{setting}");
        draft.unwrap()
    };
    let draft = read(format!("status = {list}"), "archived");
    assert_eq!(draft.status, Some(ProductStatus::Archived));
    let draft = read(format!("media = {{ url = {list} }}"), "https://e.org/1");
    assert_eq!(draft.media.len(), 1);
}

/// Settings whose `a` is read by `next_field`, and `b` otherwise.
fn next_field(on_bad: &str) -> [String; 8] {
    let paths = format!("{{ from = [\"a\", \"b\"], {on_bad} }}");
    let list = format!("[{{ from = \"a\", {on_bad} }}, \"b\"]");
    let currency = "currency = { value = \"EUR\" }";
    [
        format!("status = {paths}"),
        format!("status = {list}"),
        format!("created_at = {paths}"),
        format!("price = {{ amount = {paths}, {currency} }}"),
        format!(
            "price = [{{ amount = {{ from = \"a\", {on_bad} }}, {currency} }}, {{ amount = \"b\", {currency} }}]"
        ),
        format!("supplier = {{ name = \"name\", country = {paths} }}"),
        // A bad picture alone does not cost the product.
        format!(
            "media = {{ url = {} }}",
            list.replace("\"b\"", "{ from = \"b\", on_bad = \"reject_line\" }")
        ),
        format!("media = {{ url = {paths} }}"),
    ]
}

#[test]
fn a_bad_value_costs_nothing_where_the_next_field_has_a_value() {
    for setting in next_field("on_bad = \"next_field\"") {
        for good in ["archived", "2026-05-31", "12.00", "DE", "https://e.org/1"] {
            let row = json!({"id": 1, "name": "Lamp", "a": "?", "b": good});
            let (draft, problems) = product(&(with("") + &setting), &row);
            if draft.is_none() {
                // The other values are bad for this setting.
                assert_eq!(fields(&problems.fatal).len(), 2, "{setting}: {good}");
                continue;
            }
            assert_eq!(fields(&problems.dropped), ["a"], "{setting}");
            let reason = &problems.dropped[0].reason;
            assert!(
                reason.ends_with("; a later field of the list has a value"),
                "{reason}"
            );
        }
    }
}

#[test]
fn a_bad_value_costs_the_line_where_no_later_field_has_a_value() {
    for setting in next_field("on_bad = \"next_field\"") {
        for (b, rejected) in [(json!(null), vec!["a"]), (json!("!"), vec!["b", "a"])] {
            let row = json!({"id": 1, "name": "Lamp", "a": "?", "b": b});
            let (draft, problems) = product(&(with("") + &setting), &row);
            assert_eq!(draft, None, "{setting}");
            assert_eq!(fields(&problems.fatal), rejected, "{setting}");
            assert_eq!(fields(&problems.dropped), [] as [&str; 0], "{setting}");
        }
        let row = json!({"id": 1, "name": "Lamp"});
        let (draft, problems) = product(&(with("") + &setting), &row);
        assert!(draft.is_some(), "{setting}");
        assert_eq!(problems, Problems::default(), "{setting}");
    }
}

#[test]
fn the_paths_of_a_field_are_read_one_after_another() {
    let row = json!({"id": 1, "name": "Lamp", "a": "?", "b": "archived"});
    for (on_bad, dropped, ignored) in [
        ("drop_value", vec!["a"], vec![]),
        ("ignore", vec![], vec!["a"]),
    ] {
        let setting = format!("status = {{ from = [\"a\", \"b\"], on_bad = \"{on_bad}\" }}");
        let (draft, problems) = product(&(with("") + &setting), &row);
        assert_eq!(draft.unwrap().status, Some(ProductStatus::Archived));
        assert_eq!(
            (fields(&problems.dropped), fields(&problems.ignored)),
            (dropped, ignored)
        );
    }
    let (draft, problems) = product(&(with("") + "status = [\"x\", \"a\"]"), &row);
    assert_eq!(
        (draft, fields(&problems.fatal)),
        (None, vec!["a"]),
        "the path with the bad value"
    );
    let unknown = "status = { from = [\"x\", \"y\"], default = \"draft\" }";
    let (draft, _) = product(&(with("") + unknown), &row);
    assert_eq!(draft.unwrap().status, Some(ProductStatus::Draft));
    let other = "status = { from = [\"x\", \"b\"], default = \"draft\", where = { id = 2 } }";
    let (draft, _) = product(&(with("") + other), &row);
    assert_eq!(draft.unwrap().status, Some(ProductStatus::Draft));
}

#[test]
fn lists_in_lists_and_categories_know_the_next_field_too() {
    let next = "on_bad = \"next_field\"";
    let nested = format!("status = [{{ from = [\"a\", \"c\"], {next} }}, \"b\"]");
    let row = json!({"id": 1, "name": "Lamp", "a": "?", "c": "!", "b": "draft"});
    let (draft, problems) = product(&(with("") + &nested), &row);
    assert!(draft.is_some());
    assert_eq!(fields(&problems.dropped), ["a", "c"]);
    let table = format!("[{{ from = \"a\", table = {{ L = \"Lamps\" }}, {next} }}, \"b\"]");
    let category = with("").replace("{ value = [\"Lamps\"] }", &table);
    let (draft, problems) = product(&category, &row);
    assert_eq!(draft.unwrap().category, ["draft"]);
    assert_eq!(fields(&problems.dropped), ["a"]);
}

#[test]
fn a_next_field_that_does_not_follow_is_refused() {
    let field = "{ from = \"x\", on_bad = \"next_field\" }";
    let two = with("").replace("\"id\"", field);
    for text in [
        with("") + &format!("brand = {field}"),
        with("") + &format!("brand = [\"a\", {field}]"),
        with("") + &format!("price = {{ amount = {field}, currency = \"c\" }}"),
        with("") + &format!("media = {{ url = \"u\", alt = {field} }}"),
        specs_with("on_bad = \"next_field\""),
        with("[defaults]\non_bad = \"next_field\""),
        two,
    ] {
        let error = refusal(&text);
        assert!(
            error.contains(".on_bad: \"next_field\" has no effect here"),
            "{error}"
        );
    }
}

#[test]
fn a_required_field_with_a_bad_value_is_not_missing_too() {
    let mapping = with("").replace("\"name\"", "[\"name\", { from = \"b\" }]");
    let (draft, problems) = product(&mapping, &json!({"id": 1, "b": {"x": 1}}));
    assert_eq!(draft, None);
    assert_eq!(fields(&problems.fatal), ["b"]);
}

#[test]
fn ratings_and_votes_are_lists_like_others() {
    let text = format!(
        "version = 1\nsystem = \"shop\"\n[review]\nexternal_id = \"id\"\nproduct = \"id\"\n\
         rating = [{{ from = \"r\", on_bad = \"ignore\" }}, \"s\"]\nhelpful = {}\n",
        list("drop_value")
    );
    let mapping = parse(&text).unwrap();
    let row = json!({"id": 1, "r": 9, "s": 4, "b": -1});
    let mapped = mapping
        .reviews(&mut MappingCache::default(), (&row).into())
        .pop()
        .unwrap();
    let draft = mapped.draft.unwrap();
    assert_eq!((draft.rating.get(), draft.helpful), (4, 0));
    assert_eq!(fields(&mapped.problems.ignored), ["r"]);
    assert_eq!(fields(&mapped.problems.dropped), ["b"]);
}

#[test]
fn votes_that_are_unknown_contradict_nothing() {
    let text = "version = 1\nsystem = \"shop\"\n[review]\nexternal_id = \"id\"\nproduct = \"id\"\n\
                rating = { value = 5 }\nhelpful = \"up\"\nvotes = [\"a\", { from = \"b\" }]\n";
    let mapping = parse(text).unwrap();
    let mapped = |row: Value| {
        mapping
            .reviews(&mut MappingCache::default(), (&row).into())
            .pop()
            .unwrap()
    };
    let votes = |row: Value| {
        mapped(row)
            .draft
            .map(|draft| (draft.helpful, draft.unhelpful))
    };
    assert_eq!(votes(json!({"id": 1, "up": 3, "b": 4})), Some((3, 1)));
    assert_eq!(votes(json!({"id": 1, "up": 3})), Some((3, 0)));
    let refused = mapped(json!({"id": 1, "up": 3, "b": 2})).problems.fatal;
    assert_eq!(fields(&refused), ["b"]);
}

#[test]
fn an_on_bad_that_can_do_nothing_is_refused() {
    let field = "{ from = \"x\", on_bad = \"ignore\" }";
    for (settings, setting) in [
        (
            format!("sku = {{ template = \"{{a}}\", parts = {{ a = {field} }} }}"),
            "product.sku.parts.a.on_bad",
        ),
        (
            format!("sku = {{ template = \"{{a}}\", parts = {{ a = [\"y\", {field}] }} }}"),
            "product.sku.parts.a[1].on_bad",
        ),
        (
            format!("price = {{ amount = \"p\", currency = {field} }}"),
            "product.price.currency.on_bad",
        ),
        (
            format!("[join.j]\nfile = \"units.csv\"\nkey = \"path\"\nfrom = {field}"),
            "join.j.from.on_bad",
        ),
        (
            format!("[join.j]\nfile = \"units.csv\"\nfrom = \"id\"\nkey = {field}"),
            "join.j.key.on_bad",
        ),
    ] {
        let error = refusal(&(with("") + &settings));
        assert!(
            error.starts_with(&format!("{setting}: has no effect")),
            "{error}"
        );
    }
}
