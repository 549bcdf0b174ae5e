//! What the reader takes is valid by the schema, and what the schema takes by its type, or by its
//! words, the reader takes too.

use serde_json::{Map, json};

use super::*;

/// Whether a value is valid by a part of the schema. Knows the keywords that the schema uses.
fn is_valid(schema: &Value, root: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else {
        return true;
    };
    rules.iter().all(|(keyword, rule)| match keyword.as_str() {
        "$ref" => {
            let pointer = rule.as_str().unwrap().trim_start_matches('#');
            is_valid(root.pointer(pointer).unwrap(), root, value)
        }
        "anyOf" => {
            let mut any = rule.as_array().unwrap().iter();
            any.any(|one| is_valid(one, root, value))
        }
        "type" => match rule.as_array() {
            Some(types) => types
                .iter()
                .any(|one| is_of_type(one.as_str().unwrap(), value)),
            None => is_of_type(rule.as_str().unwrap(), value),
        },
        "enum" => rule.as_array().unwrap().contains(value),
        "const" => rule == value,
        "required" => {
            let names = rule.as_array().unwrap().iter();
            let mut names = names.map(|name| name.as_str().unwrap());
            value
                .as_object()
                .is_none_or(|object| names.all(|name| object.contains_key(name)))
        }
        "properties" | "additionalProperties" => value
            .as_object()
            .is_none_or(|object| properties(rules, root, object)),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| is_valid(rule, root, item))),
        "minimum" => value
            .as_f64()
            .is_none_or(|number| number >= rule.as_f64().unwrap()),
        "exclusiveMinimum" => value
            .as_f64()
            .is_none_or(|number| number > rule.as_f64().unwrap()),
        "maximum" => value
            .as_f64()
            .is_none_or(|number| number <= rule.as_f64().unwrap()),
        "minLength" => length(value.as_str()).is_none_or(|length| length >= limit(rule)),
        "maxLength" => length(value.as_str()).is_none_or(|length| length <= limit(rule)),
        "minItems" => value
            .as_array()
            .is_none_or(|items| items.len() >= limit(rule)),
        "maxItems" => value
            .as_array()
            .is_none_or(|items| items.len() <= limit(rule)),
        "description" | "title" | "$schema" | "$defs" => true,
        other => panic!("the test does not know the keyword {other}"),
    })
}

fn length(text: Option<&str>) -> Option<usize> {
    text.map(|text| text.chars().count())
}

fn limit(rule: &Value) -> usize {
    rule.as_u64().unwrap().try_into().unwrap()
}

fn properties(rules: &Map<String, Value>, root: &Value, object: &Map<String, Value>) -> bool {
    object.iter().all(|(name, value)| {
        let known = rules.get("properties").and_then(|known| known.get(name));
        match (known, rules.get("additionalProperties")) {
            (Some(known), _) => is_valid(known, root, value),
            (None, Some(Value::Bool(allowed))) => *allowed,
            (None, Some(other)) => is_valid(other, root, value),
            (None, None) => true,
        }
    })
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the test does not know the type {other}"),
    }
}

/// Values of all types, and the words of `on_bad`.
const VALUES: [&str; 13] = [
    "true",
    "0",
    "7",
    "-1",
    "1.5",
    "\"x\"",
    "\"a.b\"",
    "[]",
    "[\"a\", \"b\"]",
    "[1, 5]",
    "{ a = \"b\" }",
    "{ from = \"a\" }",
    "[{ from = \"a\" }]",
];
const ON_BAD: [&str; 3] = ["reject_line", "drop_value", "ignore"];

/// Where `on_bad` may be, or may not: the name of the place, a mapping with a gap there, and whether it may.
const ON_BAD_PLACES: [(&str, &str, bool); 19] = [
    ("defaults", "[defaults]\n{}", true),
    (
        "field",
        "[product]\nPRODUCT\n[product.brand]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "first of several",
        "[product]\nPRODUCT\n[[product.brand]]\nfrom = \"a\"\n{}\n[[product.brand]]\nfrom = \"b\"",
        true,
    ),
    (
        "part",
        "[product]\nPRODUCT\n[product.brand]\ntemplate = \"{p}\"\n[product.brand.parts.p]\nfrom = \"a\"\n{}",
        false,
    ),
    (
        "amount",
        "[product]\nPRODUCT\n[product.price]\ncurrency = \"c\"\n[product.price.amount]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "currency",
        "[product]\nPRODUCT\n[product.price]\namount = \"c\"\n[product.price.currency]\nfrom = \"a\"\n{}",
        false,
    ),
    (
        "supplier",
        "[product]\nPRODUCT\n[product.supplier.name]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "media",
        "[product]\nPRODUCT\n[[product.media]]\nurl = { from = \"a\", {} }",
        true,
    ),
    (
        "detail",
        "[product]\nPRODUCT\n[product.details.fit]\nfrom = \"a\"\n{}",
        true,
    ),
    ("specs", "[product]\nPRODUCT\n[product.specs]\n{}", true),
    (
        "rule",
        "[product]\nPRODUCT\n[[product.specs.rules]]\npath = \"a\"\n{}",
        true,
    ),
    (
        "category",
        "[product]\nPRODUCT_BUT_CATEGORY\n[product.category]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "rating",
        "[review]\nREVIEW_BUT_RATING\n[review.rating]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "author",
        "[review]\nREVIEW\n[review.author.id]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "attributes",
        "[review]\nREVIEW\n[review.attributes]\nfrom = \"a\"\n{}",
        true,
    ),
    (
        "key of a join",
        "[join.x]\nfile = \"units.csv\"\nfrom = \"a\"\n[join.x.key]\nfrom = \"path\"\n{}\n[product]\nPRODUCT",
        false,
    ),
    (
        "join",
        "[join.x]\nfile = \"units.csv\"\nkey = \"path\"\n[join.x.from]\nfrom = \"a\"\n{}\n[product]\nPRODUCT",
        false,
    ),
    ("product", "[product]\n{}\nPRODUCT", false),
    ("file", "{}\n[product]\nPRODUCT", false),
];

/// A whole mapping with this line in a part.
fn with_line(text: &str, line: &str) -> String {
    let text = if text == "{}" {
        "{}\n[product]\nPRODUCT"
    } else {
        text
    };
    format!(
        "version = 1\nsystem = \"s\"\n{}",
        filled(text).replace("{}", line)
    )
}

/// Whether the schema, and the reader, take a mapping; the reason of the reader.
fn taken(schema: &Value, text: &str) -> Option<(bool, Result<(), String>)> {
    // A setting that is there twice is no TOML.
    let table: toml::Table = text.parse().ok()?;
    let value = serde_json::to_value(&table).unwrap();
    let mut files = |_: &str| Ok(b"category,path,unit\n".to_vec());
    let read = Mapping::parse(text, &mut files).map(drop);
    Some((
        is_valid(schema, schema, &value),
        read.map_err(|error| error.to_string()),
    ))
}

#[test]
fn what_the_reader_takes_is_valid_by_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let (mut both, mut neither, mut disagreements) = (0, 0, Vec::new());
    for (_, text) in PARTS {
        let text = if text == "{}" {
            "{}\n[product]\nPRODUCT"
        } else {
            text
        };
        for setting in known(text) {
            for value in VALUES {
                let text = with_line(text, &format!("{setting} = {value}"));
                let Some((valid, read)) = taken(&schema, &text) else {
                    continue;
                };
                match &read {
                    Ok(()) if !valid => disagreements.push(format!("the schema refuses {text}")),
                    // The reader says that another type is needed.
                    Err(reason) if reason.contains(" must be ") && reason.contains(", not a") => {
                        if valid {
                            disagreements.push(format!("the schema takes {text}: {reason}"));
                        }
                        neither += 1;
                    }
                    _ => {}
                }
                both += usize::from(read.is_ok());
            }
        }
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n\n"));
    assert!(both > 500 && neither > 500, "{both} {neither}");
}

#[test]
fn on_bad_is_valid_where_the_reader_takes_it() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for (place, text, expected) in ON_BAD_PLACES {
        let text = if place == "defaults" {
            format!("{text}\n[product]\nPRODUCT")
        } else {
            text.to_owned()
        };
        for word in ON_BAD {
            let (valid, read) =
                taken(&schema, &with_line(&text, &format!("on_bad = \"{word}\""))).unwrap();
            assert_eq!(
                (valid, read.is_ok()),
                (expected, expected),
                "{place}: {read:?}"
            );
        }
        let (valid, read) = taken(&schema, &with_line(&text, "on_bad = \"skip\"")).unwrap();
        assert_eq!((valid, read.is_ok()), (false, false), "{place}");
    }
}

#[test]
fn the_next_field_is_valid_where_one_may_follow() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for (text, expected) in [
        ("[defaults]\n{}\n[product]\nPRODUCT", false),
        ("[product]\nPRODUCT\n[product.specs]\n{}", false),
        (
            "[product]\nPRODUCT\n[[product.specs.rules]]\npath = \"a\"\n{}",
            false,
        ),
        (
            "[product]\nPRODUCT\n[product.brand]\nfrom = [\"a\", \"b\"]\n{}",
            true,
        ),
        (
            "[product]\nPRODUCT\n[[product.brand]]\nfrom = \"a\"\n{}\n[[product.brand]]\nfrom = \"b\"",
            true,
        ),
    ] {
        let text = with_line(text, "on_bad = \"next_field\"");
        let (valid, read) = taken(&schema, &text).unwrap();
        assert_eq!(
            (valid, read.is_ok()),
            (expected, expected),
            "{text}: {read:?}"
        );
    }
}

#[test]
fn the_mappings_of_the_project_are_valid_by_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for folder in
        ["mappings", "fixtures", "../first-mapping/fixtures"].map(|name| folder.join(name))
    {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                let text = std::fs::read_to_string(&path).unwrap();
                let table: toml::Table = text.parse().unwrap();
                let value = json!(table);
                assert!(is_valid(&schema, &schema, &value), "{}", path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 10, "{count}");
}
