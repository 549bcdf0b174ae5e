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
