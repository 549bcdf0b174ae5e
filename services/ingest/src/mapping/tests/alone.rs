//! What stands alone is a list of itself; and what costs a value only.

use super::*;

/// The specs of a value at `a.b`: one alone, and several in a list.
fn alone_and_listed(settings: &str) -> [Vec<String>; 2] {
    let one = json!({"x": "u", "y": 1});
    let rows = [
        json!({"a": {"b": one}}),
        json!({"a": {"b": [one, {"x": "v", "y": 2}]}}),
    ];
    rows.map(|row| specs(settings, row).unwrap_or_else(|wrong| panic!("{settings}: {wrong:?}")))
}

#[test]
fn settings_with_and_without_brackets_mean_elements_alone_and_in_lists() {
    for path in ["a.b[].x", "a.b.x", "a[].b.x"] {
        for settings in [
            format!("auto = false\nrename = {{ \"{path}\" = \"k\" }}"),
            format!("auto = false\n[[product.specs.rules]]\npath = \"{path}\"\nkey = \"k\""),
            format!("include = [\"{path}\"]\nrename = {{ \"{path}\" = \"k\" }}"),
        ] {
            let expected = [vec!["k='u'"], vec!["k='u'", "k='v'"]];
            assert_eq!(alone_and_listed(&settings), expected, "{settings}");
        }
        let [alone, listed] =
            alone_and_listed(&format!("rules = [{{ path = \"{path}\", skip = true }}]"));
        assert_eq!((alone.len(), listed.len()), (1, 2), "{path}");
    }
    let units = "auto = false\nunits = { \"a.b[].y\" = \"mm\" }\nrename = { \"a.b.y\" = \"k\" }";
    assert_eq!(alone_and_listed(units)[0], ["k=1 mm"]);
    let objects = "auto = false\n[[product.specs.rules]]\npath = \"a.b[]\"\nkey_from = \"x\"\nvalue_from = \"y\"";
    assert_eq!(alone_and_listed(objects), [vec!["u=1"], vec!["u=1", "v=2"]]);
}

#[test]
fn elements_alone_are_counted() {
    for rule in [
        "path = \"a.b\"\nlist = \"count\"",
        "path = \"a.b[]\"\nlist = \"count\"",
    ] {
        let settings = format!("auto = false\n[[product.specs.rules]]\n{rule}\nkey = \"n\"");
        assert_eq!(
            alone_and_listed(&settings),
            [["n=1"], ["n=2"]],
            "{settings}"
        );
    }
    let some = "auto = false\n[[product.specs.rules]]\npath = \"a.b\"\nlist = \"count\"\nkey = \"n\"\n\
                where_item = { x = \"v\" }";
    assert_eq!(alone_and_listed(some), [["n=0"], ["n=1"]]);
    let beside = "include = [\"a.b.x\"]\nkeys = \"last\"\n[[product.specs.rules]]\npath = \"a.b\"\ncount_key = \"n\"";
    let [alone, listed] = alone_and_listed(beside);
    assert!(alone.contains(&"n=1".to_owned()), "{alone:?}");
    assert!(listed.contains(&"n=2".to_owned()), "{listed:?}");
}

#[test]
fn a_second_reading_counts_beside_the_usual_one() {
    let rule = "[[product.specs.rules]]\npath = \"l\"\nalso = true\nlist = \"count\"\nkey = \"n\"";
    let texts = specs(rule, json!({"l": ["a", "b"]}));
    assert_eq!(
        texts,
        Ok(vec![
            "n=2".to_owned(),
            "l='a'".to_owned(),
            "l='b'".to_owned()
        ])
    );
    let objects = specs(rule, json!({"l": [{"x": 1}, {"x": 2}]}));
    assert_eq!(
        objects,
        Ok(vec![
            "n=2".to_owned(),
            "l_x=1".to_owned(),
            "l_x=2".to_owned()
        ])
    );
    let joined = rule.replace("count", "join");
    let texts = specs(&joined, json!({"l": ["a", "b"]}));
    assert_eq!(
        texts,
        Ok(vec![
            "n='a, b'".to_owned(),
            "l='a'".to_owned(),
            "l='b'".to_owned()
        ])
    );
}

#[test]
fn lists_of_lists_are_read_as_before() {
    let row = || json!({"m": [[1, 2], [3]]});
    let inner = "rules = [{ path = \"m[]\", list = \"join\", key = \"k\" }]";
    assert_eq!(
        specs(inner, row()),
        Ok(vec!["k='1, 2'".to_owned(), "k='3'".to_owned()])
    );
    let count = "rules = [{ path = \"m\", list = \"count\", key = \"k\" }]";
    assert_eq!(specs(count, row()), Ok(vec!["k=2".to_owned()]));
}

#[test]
fn the_row_itself_is_no_spec() {
    let refused = refusal(&specs_with("rules = [{ path = \".\", key = \"k\" }]"));
    assert!(refused.contains("is the row itself"), "{refused}");
}

fn pictures(count: usize) -> Value {
    let urls = (0..count).map(|n| json!(format!("https://e.org/{n}.jpg")));
    json!({"id": 1, "name": "Lamp", "images": urls.collect::<Vec<_>>()})
}

#[test]
fn too_many_pictures_cost_only_the_last_ones() {
    let media = |more: &str| with("") + &format!("media = {{ each = \"images\", url = {more} }}");
    let (draft, problems) = product(&media("\".\""), &pictures(52));
    assert_eq!(draft.unwrap().media.len(), 50);
    assert_eq!(problems.dropped.len(), 1);
    assert!(
        problems.dropped[0]
            .reason
            .starts_with("are 52, and 50 are possible")
    );
    let (draft, problems) = product(&media("\".\", first = 2"), &pictures(52));
    assert_eq!(
        (draft.unwrap().media.len(), problems),
        (2, Problems::default())
    );
    let strict = media("{ from = \".\", on_bad = \"reject_line\" }");
    let (draft, problems) = product(&strict, &pictures(52));
    assert_eq!((draft, problems.fatal.len()), (None, 1));
    assert!(refusal(&media("\".\", first = 0")).contains("must be a whole number above 0"));
}

#[test]
fn a_bad_picture_costs_only_itself() {
    let bad = [
        "https://",
        "ftp://e.org/2.jpg",
        "https://e.org/3.jpg, https://e.org/4.jpg",
        "https://a:b@e.org/5.jpg",
    ];
    let mut urls = vec![
        "https://e.org/my lamp.jpg",
        "HTTPS://e.org/1.jpg",
        "https://e.org/?u=https://f.org",
    ];
    urls.extend(bad);
    let row = json!({"id": 1, "name": "Lamp", "images": urls});
    let mapping = with("") + "media = { each = \"images\", url = \".\" }";
    let (draft, problems) = product(&mapping, &row);
    let stored: Vec<String> = draft
        .unwrap()
        .media
        .into_iter()
        .map(|one| one.url)
        .collect();
    let good = [
        "https://e.org/my%20lamp.jpg",
        "https://e.org/1.jpg",
        "https://e.org/?u=https://f.org",
    ];
    assert_eq!(stored, good);
    assert_eq!(problems.dropped.len(), bad.len());
    assert!(
        problems.dropped[2]
            .reason
            .contains("several addresses; cut_at"),
        "{problems:?}"
    );
    let strict = mapping.replace(
        "system = \"shop\"",
        "system = \"shop\"\n[defaults]\non_bad = \"reject_line\"",
    );
    assert_eq!(product(&strict, &row).0, None);
}

#[test]
fn a_long_text_that_fits_is_kept() {
    let long = "word ".repeat(300);
    let row = json!({"id": 1, "name": "Lamp", "text": long});
    let mapping = with("") + "description = { from = \"text\", split = \"{.}\" }";
    assert_eq!(
        product(&mapping, &row).0.unwrap().description.unwrap(),
        long.trim()
    );
}

#[test]
fn an_author_without_an_id_keeps_the_name() {
    let mapping = "version = 1\nsystem = \"shop\"\n[review]\nexternal_id = \"id\"\nproduct = \"id\"\nrating = \"stars\"\n\
                   author = { id = \"uid\", name = \"name\" }";
    let author = |row: Value| {
        let mapping = parse(mapping).unwrap();
        let mapped = mapping
            .reviews(&mut MappingCache::default(), Row::from(&row))
            .remove(0);
        mapped
            .draft
            .unwrap()
            .author
            .map(|author| (author.id.0, author.name))
    };
    let (id, name) = author(json!({"id": 1, "stars": 5, "uid": null, "name": "Bo"})).unwrap();
    assert!(id.starts_with("shop:review-"), "{id}");
    assert_eq!(name, "Bo");
    let known = author(json!({"id": 1, "stars": 5, "uid": 7, "name": "Bo"}));
    assert_eq!(known, Some(("shop:7".to_owned(), "Bo".to_owned())));
    assert_eq!(author(json!({"id": 1, "stars": 5})), None);
}
