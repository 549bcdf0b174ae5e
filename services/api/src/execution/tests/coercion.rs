//! Sections 3.5 to 3.12, 6.1.2 and 6.4.1: values, variables and arguments.

use serde_json::{Value, json};

use super::{
    cases::{ask, ask_with, assert_data, code},
    vehicle_schema,
};

/// Passes `value` as a variable of type `ty` to `field`. Returns the resolved value, or the error
/// message.
async fn variable(ty: &str, field: &str, value: Value) -> Result<Value, String> {
    let engine = vehicle_schema::engine();
    let argument = match field {
        "text" => "text",
        "boolean" | "required" | "defaulted" => "flag",
        "booleans" => "flags",
        "ints" => "numbers",
        "nested" => "rows",
        "int" | "float" | "given" | "nullableDefault" => "number",
        "anything" => "value",
        other => other,
    };
    let query = format!("query ($v: {ty}) {{ arguments {{ {field}({argument}: $v) }} }}");
    let variables = match value {
        Value::String(text) if text == "ABSENT" => json!({}),
        value => json!({ "v": value }),
    };
    let answer = ask_with(&engine, &query, variables).await;
    if answer.get("errors").is_none() {
        return Ok(answer["data"]["arguments"][field].clone());
    }
    assert_eq!(code(&answer), "BAD_USER_INPUT", "{answer}");
    assert!(answer.get("data").is_none(), "{answer}");
    Err(answer["errors"][0]["message"].as_str().unwrap().to_owned())
}

async fn accepted(ty: &str, field: &str, value: Value, expected: Value) {
    let outcome = variable(ty, field, value.clone()).await;
    assert_eq!(outcome, Ok(expected), "{ty} {value}");
}

async fn refused(ty: &str, field: &str, value: Value, reason: &str) {
    let outcome = variable(ty, field, value.clone()).await;
    let message = outcome.expect_err(&format!("{ty} accepted {value}"));
    assert!(message.starts_with(reason), "{ty} {value}: {message}");
}

#[tokio::test]
async fn built_in_scalars_are_coerced() {
    accepted("Int", "int", json!(-2_147_483_648), json!(-2_147_483_648)).await;
    accepted("Int", "int", json!(null), json!(null)).await;
    accepted("Int", "int", json!(1.0), json!(1)).await;
    accepted("Int", "int", json!(-0.0), json!(0)).await;
    accepted("ID", "id", json!(4.0), json!("4")).await;
    accepted("Float", "float", json!(1), json!(1.0)).await;
    accepted("Float", "float", json!(1.5e300), json!(1.5e300)).await;
    accepted("String", "text", json!("a\u{1F600}"), json!("a\u{1F600}")).await;
    accepted("Boolean", "boolean", json!(false), json!(false)).await;
    accepted("ID", "id", json!("4"), json!("4")).await;
    accepted("ID", "id", json!(4), json!("4")).await;
    accepted(
        "ID",
        "id",
        json!(18_446_744_073_709_551_615_u64),
        json!("18446744073709551615"),
    )
    .await;
    refused(
        "Int",
        "int",
        json!(2_147_483_648_i64),
        "$v: not a value of type Int",
    )
    .await;
    refused("Int", "int", json!(1.5), "$v: not a value of type Int").await;
    refused("Int", "int", json!(1e10), "$v: not a value of type Int").await;
    refused("Int", "int", json!("1"), "$v: not a value of type Int").await;
    refused("Int", "int", json!(true), "$v: not a value of type Int").await;
    refused(
        "Float",
        "float",
        json!("1.5"),
        "$v: not a value of type Float",
    )
    .await;
    refused("String", "text", json!(1), "$v: not a value of type String").await;
    refused(
        "Boolean",
        "boolean",
        json!(0),
        "$v: not a value of type Boolean",
    )
    .await;
    refused("ID", "id", json!(1.5), "$v: not a value of type ID").await;
    refused("ID", "id", json!(false), "$v: not a value of type ID").await;
}

#[tokio::test]
async fn enums_and_custom_scalars_are_coerced() {
    accepted("Load", "load", json!("HEAVY"), json!("HEAVY")).await;
    refused(
        "Load",
        "load",
        json!("heavy"),
        "$v: not a value of the enum Load: expected one of LIGHT, HEAVY.",
    )
    .await;
    refused(
        "Load",
        "load",
        json!(1),
        "$v: not a value of the enum Load: expected one of LIGHT, HEAVY.",
    )
    .await;
    accepted("Day", "day", json!("2024-01-31"), json!("2024-01-31")).await;
    refused(
        "Day",
        "day",
        json!("soon"),
        "$v: not a value of type Day: expected YYYY-MM-DD",
    )
    .await;
    refused(
        "Day",
        "day",
        json!(20_240_131),
        "$v: not a value of type Day: expected a string",
    )
    .await;
    accepted(
        "Anything",
        "anything",
        json!({ "a": [1, "b"] }),
        json!({ "a": [1, "b"] }),
    )
    .await;
}

/// The table of list coercion in the specification.
#[tokio::test]
async fn a_single_value_becomes_a_list_and_every_item_is_coerced() {
    accepted(
        "[Boolean]",
        "booleans",
        json!([true, false]),
        json!([true, false]),
    )
    .await;
    accepted("[Boolean]", "booleans", json!(true), json!([true])).await;
    accepted("[Boolean]", "booleans", json!(null), json!(null)).await;
    accepted(
        "[Boolean]",
        "booleans",
        json!([null, true]),
        json!([null, true]),
    )
    .await;
    accepted("[Boolean]", "booleans", json!([]), json!([])).await;
    refused(
        "[Boolean]",
        "booleans",
        json!([true, "b", 1]),
        "$v[1]: not a value of type Boolean",
    )
    .await;
    accepted("[Int!]", "ints", json!([1, 2]), json!([1, 2])).await;
    refused(
        "[Int!]",
        "ints",
        json!([1, null]),
        "$v[1]: null is not a value of type Int!",
    )
    .await;
    refused(
        "[Int!]",
        "ints",
        json!([1, [2]]),
        "$v[1]: not a value of type Int",
    )
    .await;
}

/// The table of list coercion, where items are lists.
#[tokio::test]
async fn items_of_nested_lists_are_coerced_one_by_one() {
    accepted(
        "[[Int]]",
        "nested",
        json!([[1], [2, 3]]),
        json!([[1], [2, 3]]),
    )
    .await;
    accepted(
        "[[Int]]",
        "nested",
        json!([1, null, 3]),
        json!([[1], null, [3]]),
    )
    .await;
    accepted(
        "[[Int]]",
        "nested",
        json!([[1], null, [null]]),
        json!([[1], null, [null]]),
    )
    .await;
    accepted("[[Int]]", "nested", json!(1), json!([[1]])).await;
    accepted("[[Int]]", "nested", json!(null), json!(null)).await;
    refused(
        "[[Int]]",
        "nested",
        json!([[1], ["b"]]),
        "$v[1][0]: not a value of type Int",
    )
    .await;
}

#[tokio::test]
async fn lists_in_the_document_are_coerced() {
    let engine = vehicle_schema::engine();
    let query =
        "{ arguments { booleans(flags: true) nested(rows: 1) n: nested(rows: [1, null, [2]]) } }";
    let answer = ask(&engine, query).await;
    let data = json!({ "booleans": [true], "nested": [[1]], "n": [[1], null, [2]] });
    assert_data(&answer, &json!({ "arguments": data }));
}

/// The table of `CoerceVariableValues`: absent, null and provided, with and without a default.
#[tokio::test]
async fn absent_null_and_provided_values_are_distinguished() {
    accepted("Int", "given", json!("ABSENT"), json!("nothing")).await;
    accepted("Int", "given", json!(null), json!("null")).await;
    accepted("Int", "given", json!(3), json!("3")).await;
    accepted("Int = 4", "given", json!("ABSENT"), json!("4")).await;
    accepted("Int = 4", "given", json!(null), json!("null")).await;
    accepted("Int = null", "given", json!("ABSENT"), json!("null")).await;
    accepted("Int! = 4", "given", json!("ABSENT"), json!("4")).await;
    refused(
        "Int!",
        "given",
        json!("ABSENT"),
        "$v: a value of type Int! is required",
    )
    .await;
    refused(
        "Int!",
        "given",
        json!(null),
        "$v: null is not a value of type Int!",
    )
    .await;
    refused(
        "Int! = 4",
        "given",
        json!(null),
        "$v: null is not a value of type Int!",
    )
    .await;
}

/// `CoerceArgumentValues`: an argument whose variable has no value is absent.
#[tokio::test]
async fn defaults_of_arguments_apply() {
    accepted("Boolean", "defaulted", json!("ABSENT"), json!(true)).await;
    accepted("Boolean", "defaulted", json!(false), json!(false)).await;
    accepted("Int", "nullableDefault", json!("ABSENT"), json!(5)).await;
    accepted("Int", "nullableDefault", json!(null), json!(null)).await;
    refused(
        "Boolean",
        "defaulted",
        json!(null),
        "$v: null is not allowed where",
    )
    .await;
    accepted("Boolean = true", "required", json!("ABSENT"), json!(true)).await;
    refused(
        "Boolean = true",
        "required",
        json!(null),
        "$v: null is not allowed where",
    )
    .await;
}

/// Cached normal forms of one document with and without the value must not be confused.
#[tokio::test]
async fn cached_forms_depend_on_the_variables() {
    let engine = vehicle_schema::engine();
    let query = "query ($n: Int) { arguments { nullableDefault(number: $n) given(number: $n) } }";
    for _ in 0..2 {
        let absent = ask_with(&engine, query, json!({})).await;
        assert_data(
            &absent,
            &json!({ "arguments": { "nullableDefault": 5, "given": "nothing" } }),
        );
        let null = ask_with(&engine, query, json!({ "n": null })).await;
        assert_data(
            &null,
            &json!({ "arguments": { "nullableDefault": null, "given": "null" } }),
        );
        let given = ask_with(&engine, query, json!({ "n": 9 })).await;
        assert_data(
            &given,
            &json!({ "arguments": { "nullableDefault": 9, "given": "9" } }),
        );
    }
}

/// The table of input objects, with the types of this schema.
#[tokio::test]
async fn input_objects_are_coerced_field_by_field_with_defaults() {
    accepted(
        "Size!",
        "size",
        json!({ "height": 1 }),
        json!("1x7 Some(\"cm\") None None"),
    )
    .await;
    accepted(
        "Size!",
        "size",
        json!({ "height": 1, "width": 2, "unit": null, "tags": "a" }),
        json!("1x2 None Some([\"a\"]) None"),
    )
    .await;
    accepted(
        "Filter",
        "filter",
        json!({ "inner": { "name": "a" } }),
        json!("None None Some(\"Some(\\\"a\\\") None None\")"),
    )
    .await;
}

/// Clients send back what their caches have added.
#[tokio::test]
async fn the_type_name_of_an_input_object_is_ignored() {
    let filter = json!({ "__typename": "X", "inner": { "name": "a", "__typename": "Y" } });
    let expected = json!("None None Some(\"Some(\\\"a\\\") None None\")");
    accepted("Filter", "filter", filter, expected).await;
}

#[tokio::test]
async fn a_wrong_field_of_an_input_object_is_refused_with_its_path() {
    refused(
        "Size!",
        "size",
        json!({}),
        "$v.height: a value of type Int! is required",
    )
    .await;
    refused(
        "Size!",
        "size",
        json!({ "height": null }),
        "$v.height: null is not a value",
    )
    .await;
    refused(
        "Size!",
        "size",
        json!({ "height": "1" }),
        "$v.height: not a value of type Int",
    )
    .await;
    refused(
        "Size!",
        "size",
        json!({ "height": 1, "depth": 1 }),
        "$v: the type Size has no field \"depth\"",
    )
    .await;
    refused(
        "Size!",
        "size",
        json!(1),
        "$v: expected an object of type Size",
    )
    .await;
    refused(
        "Size!",
        "size",
        json!([]),
        "$v: expected an object of type Size",
    )
    .await;
    refused(
        "Size!",
        "size",
        json!({ "height": 1, "picks": [{ "text": "a" }, { "size": { "height": "x" } }] }),
        "$v.picks[1].size.height: not a value of type Int",
    )
    .await;
}

#[tokio::test]
async fn one_of_inputs_take_exactly_one_field() {
    accepted("Pick!", "pick", json!({ "text": "a" }), json!("text a")).await;
    accepted("Pick!", "pick", json!({ "number": 1 }), json!("number 1")).await;
    refused(
        "Pick!",
        "pick",
        json!({}),
        "$v: Pick takes exactly one field",
    )
    .await;
    refused(
        "Pick!",
        "pick",
        json!({ "text": "a", "number": 1 }),
        "$v: Pick takes exactly one field",
    )
    .await;
    refused(
        "Pick!",
        "pick",
        json!({ "text": "a", "number": null }),
        "$v: Pick takes exactly one field",
    )
    .await;
    refused(
        "Pick!",
        "pick",
        json!({ "text": null }),
        "$v: Pick takes exactly one field",
    )
    .await;
    refused(
        "Pick!",
        "pick",
        json!({ "number": "1" }),
        "$v.number: not a value of type Int",
    )
    .await;
    let engine = vehicle_schema::engine();
    let query = "query ($n: Int!) { arguments { pick(pick: {number: $n}) } }";
    let answer = ask_with(&engine, query, json!({ "n": 8 })).await;
    assert_data(&answer, &json!({ "arguments": { "pick": "number 8" } }));
}

/// Variables inside lists and objects of the document.
#[tokio::test]
async fn variables_inside_values_are_coerced() {
    let engine = vehicle_schema::engine();
    let query = "query ($b: Boolean, $t: String, $w: Int) { arguments {
        booleans(flags: [true, $b])
        size(size: {height: 1, width: $w, unit: $t, tags: [\"x\"]}) } }";
    let absent = ask_with(&engine, query, json!({})).await;
    assert_data(
        &absent,
        &json!({ "arguments": { "booleans": [true, null], "size": "1x7 Some(\"cm\") Some([\"x\"]) None" } }),
    );
    let given = ask_with(&engine, query, json!({ "b": false, "t": "m", "w": 2 })).await;
    assert_data(
        &given,
        &json!({ "arguments": { "booleans": [true, false], "size": "1x2 Some(\"m\") Some([\"x\"]) None" } }),
    );
    let null = ask_with(&engine, query, json!({ "t": null, "w": null })).await;
    assert_eq!(code(&null), "BAD_USER_INPUT");
}

#[tokio::test]
async fn unknown_variables_are_ignored_and_all_invalid_ones_reported() {
    let engine = vehicle_schema::engine();
    let query =
        "query ($a: Int!, $b: Boolean!) { arguments { int(number: $a) boolean(flag: $b) } }";
    let answer = ask_with(&engine, query, json!({ "a": 1, "b": true, "c": {} })).await;
    assert_data(
        &answer,
        &json!({ "arguments": { "int": 1, "boolean": true } }),
    );
    let answer = ask_with(&engine, query, json!({ "a": "x" })).await;
    let errors = answer["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0]["locations"], json!([{ "line": 1, "column": 8 }]));
    assert!(errors[1]["message"].as_str().unwrap().starts_with("$b: "));
}

#[tokio::test]
async fn escapes_in_strings_are_decoded() {
    let engine = vehicle_schema::engine();
    let query = r#"{ arguments { a: text(text: "\u{1F600}") b: text(text: "\uD83D\uDE00")
        c: text(text: "\"\\\/\b\f\n\r\t\u00e9") d: text(text: """
          block "quotes" \"""
            indented
        """) } }"#;
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({ "arguments": {
            "a": "\u{1F600}",
            "b": "\u{1F600}",
            "c": "\"\\/\u{8}\u{c}\n\r\t\u{e9}",
            "d": "block \"quotes\" \"\"\"\n  indented",
        } }),
    );
    for text in [
        r#""\u{110000}""#,
        r#""\uD83D""#,
        r#""\uDE00\uD83D""#,
        r#""\x""#,
        r#""\u{}""#,
        r#""\u12"#,
    ] {
        let answer = ask(
            &engine,
            &format!("{{ arguments {{ text(text: {text}) }} }}"),
        )
        .await;
        assert_eq!(code(&answer), "GRAPHQL_PARSE_FAILED", "{text}");
    }
}

/// In the document, an ID may be an integer of any size.
#[tokio::test]
async fn long_integers_are_accepted_as_ids() {
    let engine = vehicle_schema::engine();
    let query = "{ arguments { id(id: 123456789012345678901234567890) } }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({ "arguments": { "id": "123456789012345678901234567890" } }),
    );
}
