//! Hostile documents. They are refused by limits that are counted, not timed. A refusal with
//! `COST_EXCEEDED` has cost no more than the limit that was exceeded.

use std::fmt::Write;

use super::vehicle_schema;
use crate::execution::{DocumentValidator, GraphqlRequest};

/// Asserts that the document is refused with this code.
#[track_caller]
fn refused(validator: &DocumentValidator, document: &str, code: &str) {
    let validated = validator.validate(document);
    let errors = validated.errors();
    let shown: String = document.chars().take(60).collect();
    assert!(!errors.is_empty(), "accepted {shown}");
    assert_eq!(
        errors[0].extensions.code.as_str(),
        code,
        "{shown}: {}",
        errors[0].message
    );
}

fn validator() -> DocumentValidator {
    vehicle_schema::engine().validator().clone()
}

#[test]
fn deep_brackets_of_each_kind_are_refused() {
    let validator = validator();
    for (open, close) in [
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ("{a", "}"),
        ("{a(b:[", "])}"),
        ("{x:", "}"),
    ] {
        let bare = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        refused(&validator, &bare, "COST_EXCEEDED");
        refused(&validator, &open.repeat(100_000), "COST_EXCEEDED");
        let value = format!("{{ arguments {{ anything(value: {bare}) }} }}");
        refused(&validator, &value, "COST_EXCEEDED");
    }
}

/// Within the size limit, so that only the nesting can be the reason.
#[test]
fn deep_brackets_within_the_size_limit_are_refused() {
    let validator = validator();
    for open in ["[", "{", "(", "{a", "{a(b:[", "query($x:["] {
        for count in [65, 1_000, 3_000] {
            let text = open.repeat(count);
            if text.len() <= 20_000 {
                refused(&validator, &text, "COST_EXCEEDED");
            }
        }
    }
}

/// Brackets that a scanner could mistake for text, and text that it could mistake for brackets.
#[test]
fn brackets_after_quotes_are_counted() {
    let validator = validator();
    let deep = "[".repeat(9_000);
    for start in [
        "\"\"",
        "\"\"\"\"\"\"",
        "\"\\\"\"",
        "\"\n",
        "#\n",
        "#\r",
        "\"\"\"\\\"\"\"\"\"\"",
    ] {
        refused(
            &validator,
            &format!("{{ a(b: {start}{deep}"),
            "COST_EXCEEDED",
        );
    }
    for start in ["\"", "\"\"\"", "#"] {
        refused(
            &validator,
            &format!("{{ a(b: {start}{deep}"),
            "GRAPHQL_PARSE_FAILED",
        );
    }
}

/// The maximum nesting of brackets must be safe for the parser and the validator everywhere.
#[test]
fn the_maximum_nesting_is_safe() {
    let validator = validator();
    let lists = format!(
        "{{ arguments {{ anything(value: {}1{}) }} }}",
        "[".repeat(60),
        "]".repeat(60)
    );
    assert_eq!(validator.validate(&lists).errors(), []);
    let objects = format!(
        "{{ arguments {{ anything(value: {}1{}) }} }}",
        "{a:".repeat(60),
        "}".repeat(60)
    );
    assert_eq!(validator.validate(&objects).errors(), []);
    let fields = format!(
        "{{ car {}name{} }}",
        "{ owner { vehicles ".repeat(30),
        "} }".repeat(30)
    );
    refused(&validator, &fields, "GRAPHQL_VALIDATION_FAILED");
    let types = format!(
        "query ($x: {}Int{}) {{ arguments {{ ints(numbers: $x) }} }}",
        "[".repeat(60),
        "]".repeat(60)
    );
    refused(&validator, &types, "GRAPHQL_VALIDATION_FAILED");
    let inline = format!(
        "{{ {} car {{ name }} {} }}",
        "... {".repeat(60),
        "}".repeat(60)
    );
    assert_eq!(validator.validate(&inline).errors(), []);
}

#[test]
fn the_depth_of_fields_is_limited_to_twelve() {
    let validator = validator();
    let nested = |pairs: usize, leaf: &str| {
        format!(
            "{{ person {} {leaf} {} }}",
            "{ vehicles { owner ".repeat(pairs),
            "} }".repeat(pairs)
        )
    };
    // person, five times vehicles and owner, name: twelve levels.
    assert_eq!(validator.validate(&nested(5, "{ name }")).errors(), []);
    refused(&validator, &nested(6, "{ name }"), "COST_EXCEEDED");
    // The same through fragments, which add no level.
    let spread = "{ person { ...a } } fragment a on Person { vehicles { owner { ...b } } }
        fragment b on Person { vehicles { owner { ...c } } }
        fragment c on Person { vehicles { owner { ...d } } }
        fragment d on Person { vehicles { owner { vehicles { owner { name } } } } }";
    assert_eq!(validator.validate(spread).errors(), []);
    refused(
        &validator,
        &spread.replace("name", "vehicles { name }"),
        "COST_EXCEEDED",
    );
}

/// Accepted documents must also be executed safely, on the stack of a test thread.
#[tokio::test]
async fn documents_of_maximum_depth_are_executed() {
    let engine = vehicle_schema::engine();
    let pairs = "{ vehicles { owner ".repeat(5);
    let deep = format!("{{ person {pairs} {{ name }} {} }}", "} }".repeat(5));
    let answer = super::cases::ask(&engine, &deep).await;
    assert!(answer.get("errors").is_none(), "{answer}");
    let inline = format!(
        "{{ named {{ {} name {} }} }}",
        "... on Named {".repeat(60),
        "}".repeat(60)
    );
    let answer = super::cases::ask(&engine, &inline).await;
    assert_eq!(answer["data"]["named"][3]["name"], "R2");
    let lists = format!(
        "{{ arguments {{ anything(value: {}1{}) }} }}",
        "[".repeat(60),
        "]".repeat(60)
    );
    let answer = super::cases::ask(&engine, &lists).await;
    assert!(answer.get("errors").is_none(), "{answer}");
}

#[test]
fn exponentially_growing_fragments_are_refused() {
    let validator = validator();
    let mut document = String::from("{ car { ...f0 } } ");
    for number in 0..40 {
        let next = number + 1;
        write!(
            document,
            "fragment f{number} on Car {{ ...f{next} ...f{next} }} "
        )
        .unwrap();
    }
    document.push_str("fragment f40 on Car { name }");
    refused(&validator, &document, "COST_EXCEEDED");
    let nested = document
        .replace("on Car", "on Person")
        .replace("{ car", "{ person");
    refused(&validator, &nested, "COST_EXCEEDED");
}

#[test]
fn long_chains_and_cycles_of_fragments_are_refused() {
    let validator = validator();
    for length in [90, 400] {
        let mut chain = String::from("{ car { ...f0 } } ");
        for number in 0..length {
            write!(chain, "fragment f{number} on Car {{ ...f{} }} ", number + 1).unwrap();
        }
        let open = format!("{chain} fragment f{length} on Car {{ name }}");
        let accepted = validator.validate(&open).errors().is_empty();
        assert_eq!(accepted, length == 90);
        refused(
            &validator,
            &format!("{chain} fragment f{length} on Car {{ ...f0 }}"),
            "GRAPHQL_VALIDATION_FAILED",
        );
    }
}

#[test]
fn the_number_of_aliases_is_limited() {
    let validator = validator();
    let many = |count: usize| {
        let aliases: String = (0..count).fold(String::new(), |mut text, number| {
            write!(text, "a{number}:name ").unwrap();
            text
        });
        format!("{{ car {{ {aliases} }} }}")
    };
    refused(&validator, &many(10_000), "COST_EXCEEDED");
    refused(&validator, &many(31), "COST_EXCEEDED");
    assert_eq!(validator.validate(&many(30)).errors(), []);
}

#[test]
fn the_number_of_root_fields_is_limited() {
    let validator = validator();
    let roots = |kind: &str, field: &str, count: usize| {
        let fields: Vec<_> = (0..count)
            .map(|number| format!("f{number}: {field}"))
            .collect();
        let fields = fields.join(" ");
        format!("{kind} {{ {fields} }}")
    };
    assert_eq!(
        validator
            .validate(&roots("query", "car { name }", 10))
            .errors(),
        []
    );
    refused(
        &validator,
        &roots("query", "car { name }", 11),
        "COST_EXCEEDED",
    );
    assert_eq!(
        validator.validate(&roots("mutation", "inc", 5)).errors(),
        []
    );
    refused(&validator, &roots("mutation", "inc", 6), "COST_EXCEEDED");
    let hidden = "mutation { ...a ...b } fragment a on Mutation { a: inc b: inc c: inc }
        fragment b on Mutation { d: inc e: inc f: inc }";
    refused(&validator, hidden, "COST_EXCEEDED");
}

#[test]
fn documents_that_are_too_large_are_refused() {
    let validator = validator();
    refused(&validator, &"x".repeat(20_001), "COST_EXCEEDED");
    refused(&validator, &"é".repeat(20_001), "COST_EXCEEDED");
    refused(&validator, &"x".repeat(50_000_000), "COST_EXCEEDED");
    refused(
        &validator,
        &format!("{{ car {{ {} }} }}", "x ".repeat(5_000)),
        "COST_EXCEEDED",
    );
    let comment = format!("{{ car {{ name }} }} # {}", "é".repeat(19_000));
    assert_eq!(validator.validate(&comment).errors(), []);
}

/// Many overlapping fields: merging must stay within its limits.
#[test]
fn many_overlapping_fields_are_merged() {
    let validator = validator();
    let wide = format!("{{ car {{ {} }} }}", "name ".repeat(3_900));
    assert_eq!(validator.validate(&wide).errors(), []);
    let deep = format!(
        "{{ car {{ {} }} }}",
        "owner { vehicles { name nickname } } ".repeat(500)
    );
    assert_eq!(validator.validate(&deep).errors(), []);
    let prepared = vehicle_schema::engine().prepare(GraphqlRequest::new(deep));
    assert!(prepared.is_ok(), "{:?}", prepared.err());
}

/// Selections overlap on an interface at every level, so every level is written out for each type.
#[tokio::test]
async fn deeply_overlapping_types_are_merged() {
    let engine = vehicle_schema::engine();
    let mut document = String::from("__typename ");
    for _ in 0..5 {
        document = format!(
            "vehicles {{ name ... on Car {{ name owner {{ {document} }} }} ... on Vehicle {{ owner {{ {document} }} }} }}"
        );
        if document.len() > 18_000 {
            break;
        }
    }
    let answer = super::cases::ask(&engine, &format!("{{ person {{ {document} }} }}")).await;
    assert!(answer.get("errors").is_none(), "{answer}");
}

/// Colocated fragments select the same fields on every level. That alone must not enlarge the
/// document, regardless of the number of types.
#[test]
fn overlaps_on_which_all_types_agree_are_not_multiplied() {
    let level =
        "next { id __typename ... on A { id __typename } ... on Thing { id next { brittle } }";
    let query = format!("{{ one {{ {} id {} }} }}", level.repeat(9), "}".repeat(9));
    let request = GraphqlRequest::new(query);
    let prepared = super::random_schema::engine().prepare(request);
    assert!(prepared.is_ok(), "{:?}", prepared.err());
}

/// Differences on every level multiply the document; it is refused before it grows too large.
#[test]
fn overlaps_in_which_types_differ_are_limited() {
    let mut selection = String::from("id");
    for _ in 0..9 {
        selection = format!("next {{ {selection} }} ... on A {{ next {{ id }} }}");
    }
    let request = GraphqlRequest::new(format!("{{ one {{ {selection} }} }}"));
    let errors = super::random_schema::engine().prepare(request).unwrap_err();
    assert_eq!(errors[0].extensions.code.as_str(), "COST_EXCEEDED");
}

#[test]
fn introspection_has_its_own_depth_limit() {
    let validator = validator();
    let bomb = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }";
    refused(&validator, bomb, "COST_EXCEEDED");
    let kinds = "{ __schema { types { ...T } } } fragment T on __Type { kind name ofType { kind name ofType
        { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType
        { kind name ofType { kind name ofType { kind name } } } } } } } } } }";
    assert_eq!(validator.validate(kinds).errors(), []);
}

#[test]
fn text_that_is_not_graphql_is_refused() {
    let validator = validator();
    for text in [
        "",
        " ",
        "\0",
        "{",
        "}",
        "{ car { name }",
        "query",
        "{ a(b: ) }",
        "\u{feff}",
        "{ a @ }",
        "🦀",
        "{ car { naïve } }",
    ] {
        refused(&validator, text, "GRAPHQL_PARSE_FAILED");
    }
}

/// The errors of a document are small, so that caching them cannot be abused.
#[test]
fn errors_of_a_refused_document_are_short() {
    let validator = validator();
    let document = format!(
        "{{ car {{ {} }} }}",
        "wheel_".repeat(20).repeat(20) + " " + &"x ".repeat(3_000)
    );
    let validated = validator.validate(&document);
    let total: usize = validated
        .errors()
        .iter()
        .map(|error| error.message.len())
        .sum();
    assert!(!validated.errors().is_empty());
    assert!(total < 8_192, "{total}");
}

#[test]
fn a_validated_document_is_cached() {
    let validator = validator();
    let document = "{ car { name } }";
    assert!(std::sync::Arc::ptr_eq(
        &validator.validate(document),
        &validator.validate(document)
    ));
    let bad = "{ car { nme } }";
    assert!(std::sync::Arc::ptr_eq(
        &validator.validate(bad),
        &validator.validate(bad)
    ));
}
