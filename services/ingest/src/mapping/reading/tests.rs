use serde_json::json;

use super::super::section::Section;
use super::*;

fn reading(toml: &str) -> Reading {
    let table = toml.parse().unwrap();
    let section = Section::new("test", &table);
    let reading = Reading::default().with(&section).unwrap();
    section.finish().unwrap();
    reading
}

fn text(reading: &Reading, raw: &Value) -> Option<String> {
    reading.text(raw).unwrap().map(Cow::into_owned)
}

#[test]
fn markers_and_empty_values_are_unknown() {
    let reading = reading("unknown = [0, \"n/a\", \"None\"]");
    for raw in [
        json!(null),
        json!(0),
        json!(0.0),
        json!("0"),
        json!("n/a"),
        json!(" None "),
        json!(""),
        json!(" \u{a0}"),
    ] {
        assert_eq!(reading.scalar(&raw), Ok(None), "{raw}");
    }
    assert_eq!(text(&reading, &json!("none")).as_deref(), Some("none"));
    assert_eq!(text(&reading, &json!(false)).as_deref(), Some("false"));
}

#[test]
fn words_and_spellings_are_translated() {
    let reading = reading("values = { BLACK = \"Black\", 1 = \"One\" }\nspellings = [\"G.SKILL\"]");
    assert_eq!(text(&reading, &json!("BLACK")).as_deref(), Some("Black"));
    assert_eq!(text(&reading, &json!(1)).as_deref(), Some("One"));
    assert_eq!(
        text(&reading, &json!("g skill")).as_deref(),
        Some("G.SKILL")
    );
    assert_eq!(text(&reading, &json!("GEIL")).as_deref(), Some("GEIL"));
}

#[test]
fn otherwise_translates_all_other_words() {
    let reading = reading("values = { a = \"A\" }\notherwise = \"B\"");
    assert_eq!(text(&reading, &json!("a")).as_deref(), Some("A"));
    assert_eq!(text(&reading, &json!("z")).as_deref(), Some("B"));
    assert_eq!(text(&reading, &json!("")), None);
}

#[test]
fn large_whole_numbers_are_exact_as_text() {
    let plain = Reading::default();
    assert_eq!(
        text(&plain, &json!(18_526_572_488_u64)).as_deref(),
        Some("18526572488")
    );
    assert_eq!(
        text(&plain, &json!(u64::MAX)).as_deref(),
        Some("18446744073709551615")
    );
    assert_eq!(text(&plain, &json!(5.0)).as_deref(), Some("5"));
    assert!(plain.text(&json!(1e25)).is_err());
    let max = json!(u64::MAX);
    let large = plain.scalar(&max).unwrap().unwrap();
    assert!(plain.number(&large).unwrap_err().contains("map it as text"));
}

#[test]
fn limits_and_words_for_booleans_are_settings() {
    let reading = reading("min = 0\nmax = 180\nyes = \"Oui\"\nno = [\"Non\"]");
    assert_eq!(
        reading.number(&Scalar::Number(1787.0)),
        Err("1787 is above 180".to_owned())
    );
    assert_eq!(
        reading.number(&Scalar::Text("-1".into())),
        Err("-1 is below 0".to_owned())
    );
    assert_eq!(reading.boolean(&Scalar::Text("OUI".into())), Ok(true));
    assert!(reading.boolean(&Scalar::Text("yes".into())).is_err());
}

#[test]
fn nested_values_are_not_scalars() {
    assert!(Reading::default().scalar(&json!([1])).is_err());
    assert!(Reading::default().scalar(&json!({})).is_err());
}
