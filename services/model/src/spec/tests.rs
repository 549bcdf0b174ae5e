use super::*;

fn spec(key: &str, value: SpecValue) -> Spec {
    Spec {
        key: key.to_owned(),
        value,
        qualifier: None,
    }
}

fn volume(value: f64, unit: &str) -> Spec {
    spec(
        "volume",
        SpecValue::Quantity {
            value,
            unit: unit.to_owned(),
        },
    )
}

#[test]
fn a_first_value_determines_its_key() {
    let units = UnitTable::built_in();
    let key = SpecKey::learnt(&volume(12.0, "fl oz"), &units).unwrap();
    assert_eq!(key.dimension.as_deref(), Some("volume"));
    assert_eq!(key.base_unit.as_deref(), Some("ml"));
    assert_eq!(
        (key.usage, key.revision, key.label.as_str()),
        (KeyUsage::Used, 1, "Volume")
    );
    assert!(key.accepts(&volume(0.5, "l"), &units).is_ok());
    assert!(
        key.accepts(&volume(0.5, "kg"), &units)
            .unwrap_err()
            .to_string()
            .contains("mass, not volume")
    );
    let text = spec("volume", SpecValue::Text("big".to_owned()));
    let refusal = key.accepts(&text, &units).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "volume holds values of type quantity; big is of type text"
    );
}

#[test]
fn keys_may_allow_fixed_texts_only() {
    let units = UnitTable::built_in();
    let text = |value: &str| spec("color", SpecValue::Text(value.to_owned()));
    let allowed = |values: &[&str]| SpecKey {
        allowed_values: Some(values.iter().map(ToString::to_string).collect()),
        ..SpecKey::new("color", ValueType::Text)
    };
    let key = allowed(&["Red", "Crème"]);
    assert_eq!(key.accepts(&text(" CREME"), &units), Ok(()));
    let refusal = key.accepts(&text("blue"), &units).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "color does not allow \"blue\"; allowed values: Red, Crème"
    );
    let many: Vec<String> = (0..13).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = many.iter().map(String::as_str).collect();
    let refusal = allowed(&names).accepts(&text("blue"), &units).unwrap_err();
    assert!(
        refusal.to_string().ends_with("c8, c9, and 3 more"),
        "{refusal}"
    );
    let number = spec("color", SpecValue::Number(1.0));
    assert!(matches!(
        key.accepts(&number, &units),
        Err(SpecError::Type { .. })
    ));
}

#[test]
fn entries_of_earlier_releases_are_read() {
    let old = r#"{"key":"color","label":"Color","value_type":"text","dimension":null,
        "base_unit":null,"facetable":true,"filterable":true,"aliases":["colour"]}"#;
    let key: SpecKey = serde_json::from_str(old).unwrap();
    let expected = SpecKey {
        aliases: vec!["colour".to_owned()],
        usage: KeyUsage::Published,
        ..SpecKey::new("color", ValueType::Text)
    };
    assert_eq!(key, expected);
    assert_eq!(key.names().collect::<Vec<_>>(), ["color", "colour"]);
}

fn entry(key: &str, aliases: &[&str], absorbing: &[&str]) -> SpecKey {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    SpecKey {
        aliases: owned(aliases),
        absorbing: owned(absorbing),
        ..SpecKey::new(key, ValueType::Text)
    }
}

#[test]
fn a_key_being_merged_means_the_key_it_is_merged_into() {
    let dictionary = Dictionary::new(vec![
        entry("color", &["colour"], &["farbe"]),
        entry("farbe", &["farbton"], &["tint"]),
        entry("tint", &[], &[]),
        entry("size", &["color", "groesse"], &[]),
        entry("hen", &[], &["egg"]),
        entry("egg", &[], &["hen"]),
    ]);
    let main = |name| dictionary.get(name).map(|key| key.key.as_str());
    for name in ["color", "colour", "farbe", "farbton", "tint"] {
        assert_eq!(main(name), Some("color"), "{name}");
    }
    assert_eq!(main("groesse"), Some("size"));
    assert_eq!((main("hen"), main("egg")), (Some("hen"), Some("egg")));
    assert_eq!(main("shape"), None);
    let keys: Vec<&str> = dictionary
        .keys()
        .iter()
        .map(|key| key.key.as_str())
        .collect();
    assert_eq!(keys, ["color", "egg", "hen", "size"]);
    assert_eq!(dictionary.stored_names("colour"), ["color", "farbe"]);
    assert_eq!(dictionary.stored_names("size"), ["size"]);
    assert!(dictionary.stored_names("shape").is_empty());
}

#[test]
fn a_known_name_is_not_added_again() {
    let mut dictionary = Dictionary::new(vec![entry("color", &["colour"], &["farbe"])]);
    for name in ["color", "colour", "farbe"] {
        dictionary.add(entry(name, &[], &[]));
    }
    assert_eq!(dictionary.keys().len(), 1);
    dictionary.add(entry("size", &["groesse"], &[]));
    assert_eq!(dictionary.get("groesse").unwrap().key, "size");
}

#[test]
fn invalid_keys_and_values_are_refused() {
    let units = UnitTable::built_in();
    for key in [
        "",
        "$gt",
        "a.b",
        "Color",
        "1st",
        "a\0",
        "a\u{202e}",
        "🙂",
        "a=b",
        &"x".repeat(65),
    ] {
        assert!(check_key(key).is_err(), "{key:?}");
    }
    assert!(check(&spec("a", SpecValue::Number(f64::NAN)), &units).is_err());
    for text in [
        "",
        " \n",
        "\u{200b} \u{feff}",
        "\u{3164}\u{301}",
        "\0",
        "a\0b",
    ] {
        let text = SpecValue::Text(text.to_owned());
        assert!(check(&spec("a", text.clone()), &units).is_err(), "{text:?}");
    }
    let lines = SpecValue::Text("a\u{ad}b\n\tc".to_owned());
    assert_eq!(check(&spec("a", lines), &units), Ok(()));
    assert!(check(&volume(1.0, "furlong"), &units).is_err());
    for qualifier in ["", "a=b", "a@b", "a\u{7}", " ", &"x".repeat(33)] {
        assert!(check_qualifier(qualifier).is_err(), "{qualifier:?}");
    }
    assert!(check_qualifier("EU").is_ok());
}

#[test]
fn dates_have_four_digits_in_their_years() {
    let units = UnitTable::built_in();
    let released = |day: &str| {
        spec(
            "released",
            SpecValue::Date(Timestamp::parse_day(day).unwrap()),
        )
    };
    for day in ["1000-01-01", "1969-07-20", "2099-12-31"] {
        assert_eq!(check(&released(day), &units), Ok(()), "{day}");
    }
    for day in ["0026-01-05", "0206-01-05", "0999-12-31", "-000044-03-15"] {
        let refusal = check(&released(day), &units).unwrap_err();
        assert!(
            matches!(refusal, SpecError::Date { .. }),
            "{day}: {refusal}"
        );
    }
    assert_eq!(
        check(&released("0026-01-05"), &units)
            .unwrap_err()
            .to_string(),
        "released: a date in the year 26 is not possible; years have four digits, from 1000 to 9999"
    );
}

#[test]
fn values_are_shown_to_people() {
    assert_eq!(
        SpecValue::Quantity {
            value: 12.0,
            unit: "fl oz"
        }
        .display(),
        "12 fl oz"
    );
    assert_eq!(
        SpecValue::Quantity {
            value: 75.0,
            unit: "%"
        }
        .display(),
        "75%"
    );
    let day = Timestamp::parse_day("2026-05-31").unwrap();
    assert_eq!(SpecValue::<&str>::Date(day).display(), "2026-05-31");
    assert_eq!(
        SpecValue::<&str>::Date(day.plus_millis(1)).display(),
        "2026-05-31T00:00:00.001Z"
    );
}
