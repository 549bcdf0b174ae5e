//! Paths as people write them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn at(path: &str, row: &Value) -> Vec<Value> {
    let path = Path::parse(path).unwrap();
    path.all(row.into()).into_iter().cloned().collect()
}

#[test]
fn paths_select_values_of_rows() {
    let row = json!({"a": {"b.c": 1, "": 2}, "l": [{"x": 3}, {"y": 4}, {"x": 5}], "n": [6, 7]});
    assert_eq!(at("a.\"b.c\"", &row), [json!(1)]);
    assert_eq!(at("a.\"\"", &row), [json!(2)]);
    assert_eq!(at("l[].x", &row), [json!(3), json!(5)]);
    assert_eq!(at("l[1].y", &row), [json!(4)]);
    assert_eq!(at("n", &row), [json!(6), json!(7)]);
    assert_eq!(at("n[].z", &row), [] as [Value; 0]);
    assert_eq!(Path::parse(".").unwrap().first((&row).into()), Some(&row));
    assert_eq!(
        Path::parse("l[].y").unwrap().first((&row).into()),
        Some(&json!(4))
    );
}

#[test]
fn a_condition_selects_an_item_of_a_list() {
    let row = json!({"p": [{"@type": "gross", "n": 1}, {"@type": "net", "n": 2},
        {"@type": "net", "n": 3}, {"k": 7, "n": [4, 5]}, {"k": "a]=\"b", "n": 6}], "one": {"t": "x", "n": 8}});
    assert_eq!(at("p[@type=net].n", &row), [json!(2)]);
    assert_eq!(at("p[ @type = net ].n", &row), [json!(2)]);
    assert_eq!(at("p[k=7].n", &row), [json!(4), json!(5)]);
    assert_eq!(at("p[k=\"a]=\\\"b\"].n", &row), [json!(6)]);
    assert_eq!(at("one[t=x].n", &row), [json!(8)]);
    assert_eq!(at("p[k=8].n", &row), [] as [Value; 0]);
    for path in [
        "p[@type=net].n",
        "p[k=\"a]=\\\"b\"][0]",
        "[t=x].n",
        "p[t=\"\"]",
    ] {
        assert_eq!(Path::parse(path).unwrap().to_string(), path);
    }
    for path in ["p[=net]", "p[a=b", "p[a=\"b]", "p[a=\"b\"c]"] {
        assert!(Path::parse(path).is_err(), "{path}");
    }
}

#[test]
fn values_of_xml_may_stand_alone() {
    let row = json!({"i": {"#text": "a", "@n": "1"}, "t": "b", "l": [{"x": 1}], "n": null});
    assert_eq!(at("i[].#text", &row), [json!("a")]);
    assert_eq!(at("i[0].@n", &row), [json!("1")]);
    assert_eq!(at("t.#text", &row), [json!("b")]);
    assert_eq!(at("t[]", &row), [json!("b")]);
    for path in ["n[]", "i[1]", "t.@n", "l.x"] {
        assert_eq!(at(path, &row), [] as [Value; 0], "{path}");
        assert_eq!(Path::parse(path).unwrap().first((&row).into()), None);
    }
}

#[test]
fn paths_of_an_item_reach_the_whole_row_and_the_numbers() {
    let row = json!({"id": 7, "r": [{"x": 1}]});
    let (line, number) = (json!(3), json!(1));
    let row = Row::new(&row, &line);
    let item = row.item(&row.here["r"][0], &number, &[]);
    let at = |path: &str| Path::parse(path).unwrap().first(item).cloned();
    assert_eq!(at("x"), Some(json!(1)));
    assert_eq!(at("^.id"), Some(json!(7)));
    assert_eq!((at("^line"), at("^item")), (Some(json!(3)), Some(json!(1))));
    for path in ["^", "^.id", "^line", "^item", "^[0].a", "\"^x\"", "\"*\""] {
        assert_eq!(Path::parse(path).unwrap().to_string(), path);
    }
}

#[test]
fn paths_of_an_item_reach_the_items_around() {
    let row = json!({"p": [{"w": [{"n": 1, "r": ["a", "b"]}, {"n": 2, "r": "c"}]}, {"w": []}]});
    let each = Path::parse("p[].w[].r").unwrap();
    assert_eq!(each.lists(), ["p", "w", "r"]);
    assert_eq!(Path::parse("p[].w[]").unwrap().lists(), ["p", "w"]);
    let path = |text: &str| Path::parse_inside(text, &each.lists());
    let (number, own) = (path("^w.n").unwrap(), path("^r").unwrap());
    assert_eq!(
        (number.to_string(), own.to_string()),
        ("^w.n".to_owned(), "^r".to_owned())
    );
    assert_eq!(path("^w[0].\"a.b\"").unwrap().to_string(), "^w[0].\"a.b\"");
    let mut visited = Vec::new();
    each.visit((&row).into(), &mut |item, around, indexes| {
        let row = Row::from(&row).item(item, &NULL, around);
        assert_eq!(own.first(row), Some(item));
        visited.push((each.place(indexes), number.first(row).cloned().unwrap()));
    });
    let expected = [
        ("p[0].w[0].r[0]", 1),
        ("p[0].w[0].r[1]", 1),
        ("p[0].w[1].r[0]", 2),
    ];
    assert_eq!(
        visited,
        expected.map(|(place, n)| (place.to_owned(), json!(n)))
    );
    let unknown = path("^x.n").unwrap_err();
    assert!(unknown.ends_with("; lists around: p, w, r"), "{unknown}");
    let inner = Path::parse_inside("^a.n", &["a".to_owned(), "a".to_owned()]).unwrap();
    assert_eq!(
        inner.start,
        Start::Around("a".to_owned(), 1),
        "the inner one of two"
    );
    let item = Path::parse_inside("^item.n", &["item".to_owned()]).unwrap();
    assert_eq!(item.to_string(), "^item.n");
    assert_eq!(
        Path::parse_inside("^item", &["item".to_owned()])
            .unwrap()
            .start,
        Start::Item
    );
}

#[test]
fn invalid_paths_are_refused() {
    for text in [
        "", "a..b", "a.", "a[x]", "a[", "\"a", "a[]b", "\"a\"b", "^id", "a.*", "**",
    ] {
        assert!(Path::parse(text).is_err(), "{text}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), Just(json!(1)), Just(json!({}))];
    leaf.prop_recursive(4, 30, 3, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array);
        prop_oneof![list, inner.prop_map(|value| json!({ "a": value }))]
    })
}

proptest! {
    #[test]
    fn all_values_are_visited_with_their_items(
        row in any_value(),
        path in "(a|a\\[\\])(\\.a|\\.a\\[\\]|\\[\\]){0,2}",
    ) {
        let path = Path::parse(&path).unwrap();
        let (mut visited, names) = (Vec::new(), path.lists().len());
        path.visit((&row).into(), &mut |value, around, indexes| {
            assert!(around.len() >= names && around.len() == indexes.len());
            visited.push(value);
        });
        prop_assert_eq!(visited, path.all((&row).into()));
    }

    #[test]
    fn any_keys_survive_a_round_trip(keys in proptest::collection::vec(".{0,6}", 1..4)) {
        let mut text = String::new();
        for key in &keys { push_key(&mut text, key); }
        prop_assume!(keys.iter().all(|key| !key.is_empty() || keys.len() > 1) || text == "\"\"");
        let steps: Vec<PathStep> = keys.into_iter().map(PathStep::Key).collect();
        prop_assert_eq!(Path::parse(&text).unwrap().steps, steps);
    }
}
