//! Mappings with another system, and with the rows of their own feed for joins.

use std::path::Path;

use super::*;

const JOIN: &str = "[join.parent]\nfeed = true\nkey = \"id\"\nfrom = \"of\"\n";

/// What rows of a feed have as `parent.name`; the feed is joined with itself.
fn names_of_parents(settings: &str, feed: &str) -> Result<Vec<Value>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("feed.jsonl");
    std::fs::write(&path, feed).unwrap();
    let mapping = parse(&with(settings)).unwrap();
    let mapping = mapping
        .with_feed(&[path])
        .map_err(|error| error.to_string())?;
    let rows = feed
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let names = rows.map(|mut row: Value| {
        mapping.join(&mut row, &json!(1)).unwrap();
        row["parent"]["name"].clone()
    });
    Ok(names.collect())
}

#[test]
fn a_row_gets_another_row_of_its_feed() {
    let feed = "{\"id\": 1, \"name\": \"Lamp\"}\n{\"id\": 2, \"of\": 1}\n{\"id\": 3, \"of\": 9}\n";
    let names = names_of_parents(JOIN, feed).unwrap();
    assert_eq!(names, [Value::Null, json!("Lamp"), Value::Null]);
}

#[test]
fn a_bad_line_of_the_feed_costs_no_join() {
    let feed = "{\"id\": 1, \"name\": \"Lamp\"}\n{\n{\"id\": 1, \"name\": \"Clip\"}\n\
                {\"id\": [{}]}\n{\"id\": 2, \"of\": 1}\n";
    let names = names_of_parents(JOIN, feed).unwrap();
    assert_eq!(names.last(), Some(&json!("Lamp")));
}

#[test]
fn rows_of_another_place_of_the_document_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("feed.json");
    let feed = r#"{"products": [{"id": 1, "of": "b"}], "brands": [{"code": "b", "name": "Tarn"}]}"#;
    std::fs::write(&path, feed).unwrap();
    let join = "rows = \"products\"\n[join.brand]\nfeed = true\nrows = \"brands\"\nkey = \"code\"\nfrom = \"of\"\n";
    let mapping = parse(&with(join)).unwrap().with_feed(&[path]).unwrap();
    let mut row = json!({"id": 1, "of": "b"});
    mapping.join(&mut row, &json!(1)).unwrap();
    assert_eq!(row["brand"], json!({"code": "b", "name": "Tarn"}));
}

#[test]
fn a_feed_that_can_be_read_once_is_not_joined_with_itself() {
    let mapping = parse(&with(JOIN)).unwrap();
    let refused = mapping.with_feed(&["-".into()]).unwrap_err().to_string();
    assert!(refused.contains("save it to a file first"), "{refused}");
    let plain = parse(&with("")).unwrap();
    assert!(plain.with_feed(&["-".into()]).is_ok());
}

#[test]
fn rows_are_joined_from_a_file_or_from_the_feed() {
    let join = |settings: &str| {
        refusal(&with(&format!(
            "[join.x]\nkey = \"id\"\nfrom = \"of\"\n{settings}"
        )))
    };
    for (settings, reason) in [
        ("", "join.x.file: is required"),
        ("feed = false", "join.x.file: is required"),
        (
            "feed = true\nfile = \"units.csv\"",
            "join.x.feed: the rows are those of a file or of the feed",
        ),
        (
            "feed = true\ndelimiter = \";\"",
            "join.x.feed: the feed is read as the mapping says",
        ),
    ] {
        let refused = join(settings);
        assert!(refused.starts_with(reason), "{settings}: {refused}");
    }
}

#[test]
fn a_mapping_is_for_a_feed_of_any_system() {
    let mapping = parse(&with("")).unwrap().with_system("shop-2").unwrap();
    assert_eq!(mapping.system(), "shop-2");
    let row = json!({"id": 1, "name": "Lamp"});
    let mut mapped = mapping.products(&mut MappingCache::default(), (&row).into());
    let source = mapped.pop().unwrap().draft.unwrap().source;
    assert_eq!(source.system, "shop-2");
    let refused = parse(&with(""))
        .unwrap()
        .with_system("my shop")
        .unwrap_err();
    assert!(refused.to_string().starts_with("system: is required"));
}

#[test]
fn shipped_mappings_are_joined_with_the_feed_at_most() {
    for (name, _) in shipped() {
        let mapping = Mapping::load(name).unwrap();
        let missing = mapping.with_feed(&[Path::new("no/such/feed.csv").to_owned()]);
        let joined = ["woocommerce", "bmecat"].contains(name);
        assert_eq!(missing.is_err(), joined, "{name}");
    }
}
