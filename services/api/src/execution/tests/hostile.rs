//! Documents made to hurt: refused for what they are, by limits that are counted and not timed. What
//! is refused with `COST_EXCEEDED` has cost no more than the limit that it meets.

use std::fmt::Write;

use super::garage;
use crate::execution::{GraphqlRequest, Judge};

/// Refused, with this code.
#[track_caller]
fn refused(judge: &Judge, document: &str, code: &str) {
    let verdict = judge.judge(document);
    let errors = verdict.errors();
    let shown: String = document.chars().take(60).collect();
    assert!(!errors.is_empty(), "accepted {shown}");
    assert_eq!(
        errors[0].extensions.code.as_str(),
        code,
        "{shown}: {}",
        errors[0].message
    );
}

fn judge() -> Judge {
    garage::engine().judge().clone()
}

#[test]
fn a_hundred_thousand_brackets_of_each_kind() {
    let judge = judge();
    for (open, close) in [
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ("{a", "}"),
        ("{a(b:[", "])}"),
        ("{x:", "}"),
    ] {
        let bare = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        refused(&judge, &bare, "COST_EXCEEDED");
        refused(&judge, &open.repeat(100_000), "COST_EXCEEDED");
        let value = format!("{{ arguments {{ anything(value: {bare}) }} }}");
        refused(&judge, &value, "COST_EXCEEDED");
    }
}

/// The same within the limit of size, so that only the nesting can be the reason.
#[test]
fn brackets_that_fit_the_size() {
    let judge = judge();
    for open in ["[", "{", "(", "{a", "{a(b:[", "query($x:["] {
        for count in [65, 1_000, 3_000] {
            let text = open.repeat(count);
            if text.len() <= 20_000 {
                refused(&judge, &text, "COST_EXCEEDED");
            }
        }
    }
}

/// Brackets that a scanner could take for text, or text for brackets.
#[test]
fn brackets_behind_quotes() {
    let judge = judge();
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
        refused(&judge, &format!("{{ a(b: {start}{deep}"), "COST_EXCEEDED");
    }
    for start in ["\"", "\"\"\"", "#"] {
        refused(
            &judge,
            &format!("{{ a(b: {start}{deep}"),
            "GRAPHQL_PARSE_FAILED",
        );
    }
}

/// As deep as brackets may be: the parser and the validator must survive that everywhere.
#[test]
fn the_deepest_nesting_that_is_let_through() {
    let judge = judge();
    let lists = format!(
        "{{ arguments {{ anything(value: {}1{}) }} }}",
        "[".repeat(60),
        "]".repeat(60)
    );
    assert_eq!(judge.judge(&lists).errors(), []);
    let objects = format!(
        "{{ arguments {{ anything(value: {}1{}) }} }}",
        "{a:".repeat(60),
        "}".repeat(60)
    );
    assert_eq!(judge.judge(&objects).errors(), []);
    let fields = format!(
        "{{ car {}name{} }}",
        "{ owner { vehicles ".repeat(30),
        "} }".repeat(30)
    );
    refused(&judge, &fields, "GRAPHQL_VALIDATION_FAILED");
    let types = format!(
        "query ($x: {}Int{}) {{ arguments {{ ints(numbers: $x) }} }}",
        "[".repeat(60),
        "]".repeat(60)
    );
    refused(&judge, &types, "GRAPHQL_VALIDATION_FAILED");
    let inline = format!(
        "{{ {} car {{ name }} {} }}",
        "... {".repeat(60),
        "}".repeat(60)
    );
    assert_eq!(judge.judge(&inline).errors(), []);
}

#[test]
fn fields_twelve_deep_and_no_deeper() {
    let judge = judge();
    let nested = |pairs: usize, leaf: &str| {
        format!(
            "{{ person {} {leaf} {} }}",
            "{ vehicles { owner ".repeat(pairs),
            "} }".repeat(pairs)
        )
    };
    // person, five times vehicles and owner, name: twelve.
    assert_eq!(judge.judge(&nested(5, "{ name }")).errors(), []);
    refused(&judge, &nested(6, "{ name }"), "COST_EXCEEDED");
    // The same through fragments, which add nothing themselves.
    let spread = "{ person { ...a } } fragment a on Person { vehicles { owner { ...b } } }
        fragment b on Person { vehicles { owner { ...c } } }
        fragment c on Person { vehicles { owner { ...d } } }
        fragment d on Person { vehicles { owner { vehicles { owner { name } } } } }";
    assert_eq!(judge.judge(spread).errors(), []);
    refused(
        &judge,
        &spread.replace("name", "vehicles { name }"),
        "COST_EXCEEDED",
    );
}

/// What is let through must also be executed without harm, on the stack of a test thread.
#[tokio::test]
async fn the_deepest_documents_are_executed() {
    let engine = garage::engine();
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
fn forty_doubling_fragments() {
    let judge = judge();
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
    refused(&judge, &document, "COST_EXCEEDED");
    let nested = document
        .replace("on Car", "on Person")
        .replace("{ car", "{ person");
    refused(&judge, &nested, "COST_EXCEEDED");
}

#[test]
fn chains_and_cycles_of_fragments() {
    let judge = judge();
    for length in [90, 400] {
        let mut chain = String::from("{ car { ...f0 } } ");
        for number in 0..length {
            write!(chain, "fragment f{number} on Car {{ ...f{} }} ", number + 1).unwrap();
        }
        let open = format!("{chain} fragment f{length} on Car {{ name }}");
        let accepted = judge.judge(&open).errors().is_empty();
        assert_eq!(accepted, length == 90);
        refused(
            &judge,
            &format!("{chain} fragment f{length} on Car {{ ...f0 }}"),
            "GRAPHQL_VALIDATION_FAILED",
        );
    }
}

#[test]
fn ten_thousand_aliases() {
    let judge = judge();
    let many = |count: usize| {
        let aliases: String = (0..count).fold(String::new(), |mut text, number| {
            write!(text, "a{number}:name ").unwrap();
            text
        });
        format!("{{ car {{ {aliases} }} }}")
    };
    refused(&judge, &many(10_000), "COST_EXCEEDED");
    refused(&judge, &many(31), "COST_EXCEEDED");
    assert_eq!(judge.judge(&many(30)).errors(), []);
}

#[test]
fn too_many_root_fields() {
    let judge = judge();
    let roots = |kind: &str, field: &str, count: usize| {
        let fields: Vec<_> = (0..count)
            .map(|number| format!("f{number}: {field}"))
            .collect();
        let fields = fields.join(" ");
        format!("{kind} {{ {fields} }}")
    };
    assert_eq!(
        judge.judge(&roots("query", "car { name }", 10)).errors(),
        []
    );
    refused(&judge, &roots("query", "car { name }", 11), "COST_EXCEEDED");
    assert_eq!(judge.judge(&roots("mutation", "inc", 5)).errors(), []);
    refused(&judge, &roots("mutation", "inc", 6), "COST_EXCEEDED");
    let hidden = "mutation { ...a ...b } fragment a on Mutation { a: inc b: inc c: inc }
        fragment b on Mutation { d: inc e: inc f: inc }";
    refused(&judge, hidden, "COST_EXCEEDED");
}

#[test]
fn documents_that_are_too_large() {
    let judge = judge();
    refused(&judge, &"x".repeat(20_001), "COST_EXCEEDED");
    refused(&judge, &"é".repeat(20_001), "COST_EXCEEDED");
    refused(&judge, &"x".repeat(50_000_000), "COST_EXCEEDED");
    refused(
        &judge,
        &format!("{{ car {{ {} }} }}", "x ".repeat(5_000)),
        "COST_EXCEEDED",
    );
    let comment = format!("{{ car {{ name }} }} # {}", "é".repeat(19_000));
    assert_eq!(judge.judge(&comment).errors(), []);
}

/// Many fields that overlap in many ways: the merging itself must stay within bounds.
#[test]
fn overlapping_fields_in_quantity() {
    let judge = judge();
    let wide = format!("{{ car {{ {} }} }}", "name ".repeat(3_900));
    assert_eq!(judge.judge(&wide).errors(), []);
    let deep = format!(
        "{{ car {{ {} }} }}",
        "owner { vehicles { name nickname } } ".repeat(500)
    );
    assert_eq!(judge.judge(&deep).errors(), []);
    let prepared = garage::engine().prepare(GraphqlRequest::new(deep));
    assert!(prepared.is_ok(), "{:?}", prepared.err());
}

/// Every level overlaps on an interface, so every level is written out for each type.
#[tokio::test]
async fn overlapping_types_in_depth() {
    let engine = garage::engine();
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

/// Colocated fragments select the same on every level; that alone must not make a document
/// large, however many types there are.
#[test]
fn overlaps_on_which_all_types_agree_are_not_multiplied() {
    let level =
        "next { id __typename ... on A { id __typename } ... on Thing { id next { brittle } }";
    let query = format!("{{ one {{ {} id {} }} }}", level.repeat(9), "}".repeat(9));
    let request = GraphqlRequest::new(query);
    let prepared = super::world::engine().prepare(request);
    assert!(prepared.is_ok(), "{:?}", prepared.err());
}

/// Differing on every level multiplies, and is refused before it gets out of hand.
#[test]
fn overlaps_in_which_types_differ_are_bounded() {
    let mut selection = String::from("id");
    for _ in 0..9 {
        selection = format!("next {{ {selection} }} ... on A {{ next {{ id }} }}");
    }
    let request = GraphqlRequest::new(format!("{{ one {{ {selection} }} }}"));
    let errors = super::world::engine().prepare(request).unwrap_err();
    assert_eq!(errors[0].extensions.code.as_str(), "COST_EXCEEDED");
}

#[test]
fn introspection_is_measured_by_its_own_rule() {
    let judge = judge();
    let bomb = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }";
    refused(&judge, bomb, "COST_EXCEEDED");
    let kinds = "{ __schema { types { ...T } } } fragment T on __Type { kind name ofType { kind name ofType
        { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType
        { kind name ofType { kind name ofType { kind name } } } } } } } } } }";
    assert_eq!(judge.judge(kinds).errors(), []);
}

#[test]
fn text_that_is_not_graphql() {
    let judge = judge();
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
        refused(&judge, text, "GRAPHQL_PARSE_FAILED");
    }
}

/// A refusal is small whatever it refuses, so that remembering refusals cannot be abused.
#[test]
fn refusals_are_short() {
    let judge = judge();
    let document = format!(
        "{{ car {{ {} }} }}",
        "wheel_".repeat(20).repeat(20) + " " + &"x ".repeat(3_000)
    );
    let verdict = judge.judge(&document);
    let total: usize = verdict
        .errors()
        .iter()
        .map(|error| error.message.len())
        .sum();
    assert!(!verdict.errors().is_empty());
    assert!(total < 8_192, "{total}");
}

#[test]
fn a_verdict_is_remembered() {
    let judge = judge();
    let document = "{ car { name } }";
    assert!(std::sync::Arc::ptr_eq(
        &judge.judge(document),
        &judge.judge(document)
    ));
    let bad = "{ car { nme } }";
    assert!(std::sync::Arc::ptr_eq(&judge.judge(bad), &judge.judge(bad)));
}
