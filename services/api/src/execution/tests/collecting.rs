//! Section 6.3, Executing Selection Sets: order, merging, fragments, `@skip`, `@include`.

use serde_json::json;

use super::{
    cases::{ask, ask_with, assert_data},
    vehicle_schema,
};

#[tokio::test]
async fn keys_have_the_order_of_the_query() {
    let engine = vehicle_schema::engine();
    let answer = ask(&engine, "{ car { doors name ... { nickname } volume } }").await;
    assert_data(
        &answer,
        &json!({ "car": { "doors": 3, "name": "Beetle", "nickname": null, "volume": 90 } }),
    );
}

#[tokio::test]
async fn fields_of_a_fragment_come_where_it_is_first_spread() {
    let engine = vehicle_schema::engine();
    let query = "{ car { name ...f volume } boat { ...g name } }
        fragment f on Car { doors ... on Vehicle { nickname } }
        fragment g on Boat { length volume }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({
            "car": { "name": "Beetle", "doors": 3, "nickname": null, "volume": 90 },
            "boat": { "length": 12, "volume": "loud", "name": "Argo" },
        }),
    );
}

#[tokio::test]
async fn a_key_keeps_its_first_position() {
    let engine = vehicle_schema::engine();
    let query = "{ car { owner { age } name ...f owner { name } } }
        fragment f on Vehicle { name owner { vehicles { name } age } nickname }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({ "car": {
            "owner": { "age": 36, "vehicles": [{ "name": "Beetle" }, { "name": "Argo" }], "name": "Ada" },
            "name": "Beetle",
            "nickname": null,
        } }),
    );
}

#[tokio::test]
async fn a_merged_field_runs_once() {
    let engine = vehicle_schema::engine();
    let answer = ask(&engine, "mutation { inc inc x: inc }").await;
    assert_data(&answer, &json!({ "inc": 1, "x": 2 }));
    let query = "mutation { a: inc ...f ... on Mutation { a: inc } }
        fragment f on Mutation { b: inc a: inc }";
    assert_data(&ask(&engine, query).await, &json!({ "a": 3, "b": 4 }));
}

#[tokio::test]
async fn mutations_run_one_after_the_other() {
    let engine = vehicle_schema::engine();
    let answer = ask(&engine, "mutation { c: inc a: inc b: inc }").await;
    assert_data(&answer, &json!({ "c": 1, "a": 2, "b": 3 }));
}

#[tokio::test]
async fn each_concrete_type_has_its_own_selection() {
    let engine = vehicle_schema::engine();
    let query = "{ named { ... on Car { doors } name ... on Vehicle { nickname name }
        ... on Boat { length name } ... on CarOrPerson { __typename } ...p } }
        fragment p on Person { name age }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({ "named": [
            { "doors": 3, "name": "Beetle", "nickname": null, "__typename": "Car" },
            { "name": "Argo", "nickname": "Swift", "length": 12 },
            { "name": "Ada", "__typename": "Person", "age": 36 },
            { "name": "R2" },
        ] }),
    );
}

#[tokio::test]
async fn a_fragment_on_a_union_applies_to_its_members() {
    let engine = vehicle_schema::engine();
    let query = "{ named { ... on CarOrBoat { ... on Vehicle { nickname } } }
        carOrPerson { ... on CarOrBoat { ... on Car { doors } } __typename } }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({
            "named": [{ "nickname": null }, { "nickname": "Swift" }, {}, {}],
            "carOrPerson": { "doors": 3, "__typename": "Car" },
        }),
    );
}

#[tokio::test]
async fn the_same_fragment_in_two_branches_applies_to_both() {
    let engine = vehicle_schema::engine();
    let query =
        "{ named { ... on Car { ...f } ... on Boat { ...f } } } fragment f on Vehicle { nickname }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({ "named": [{ "nickname": null }, { "nickname": "Swift" }, {}, {}] }),
    );
}

#[tokio::test]
async fn typename_is_merged_like_other_fields() {
    let engine = vehicle_schema::engine();
    let query = "{ t: __typename vehicle { __typename name k: __typename __typename }
        carOrBoat { __typename ... on Boat { __typename length } } }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({
            "t": "Query",
            "vehicle": { "__typename": "Car", "name": "Beetle", "k": "Car" },
            "carOrBoat": { "__typename": "Boat", "length": 12 },
        }),
    );
}

/// A merged field runs once, even if only some of the types select it twice.
#[tokio::test]
async fn a_field_of_an_abstract_type_runs_once_for_each_object() {
    for query in [
        "{ named { ...f ... on Car { doors } ...f } } fragment f on Vehicle { seen }",
        "{ named { ... on Car { seen doors } ... on Vehicle { seen } ... on Boat { seen } } }",
        "{ named { ... on CarOrBoat { ... on Vehicle { seen } } ... on Car { doors seen } } }",
    ] {
        let answer = ask(&vehicle_schema::engine(), query).await;
        let named = json!([{ "seen": 1, "doors": 3 }, { "seen": 2 }, {}, {}]);
        assert_data(&answer, &json!({ "named": named }));
    }
}

/// Two types with the same keys in opposite orders cannot share one order.
#[tokio::test]
async fn each_concrete_type_keeps_its_own_order() {
    let query = "{ named { ... on Car { doors nickname } ... on Vehicle { nickname name } ... on Car { doors }
        ... on Boat { length nickname } name } }";
    let answer = ask(&vehicle_schema::engine(), query).await;
    assert_data(
        &answer,
        &json!({ "named": [
            { "doors": 3, "nickname": null, "name": "Beetle" },
            { "nickname": "Swift", "name": "Argo", "length": 12 },
            { "name": "Ada" },
            { "name": "R2" },
        ] }),
    );
    let query = "{ vehicle { ... on Boat { name } nickname name } carOrBoat { ... on Vehicle { nickname name }
        ... on Boat { name } } named { ... on Boat { name nickname } ... on Vehicle { nickname name } } }";
    let answer = ask(&vehicle_schema::engine(), query).await;
    let named = answer["data"]["named"].as_array().unwrap();
    assert_eq!(named[0].to_string(), r#"{"nickname":null,"name":"Beetle"}"#);
    assert_eq!(
        named[1].to_string(),
        r#"{"name":"Argo","nickname":"Swift"}"#
    );
}

/// A field is included only if both `@skip` and `@include` allow it.
#[tokio::test]
async fn skip_and_include_apply_together() {
    let engine = vehicle_schema::engine();
    let query = "query ($s: Boolean!, $i: Boolean!) {
        car { name doors @skip(if: $s) @include(if: $i) ... @include(if: $i) { nickname } } }";
    for (skip, include) in [(false, false), (false, true), (true, false), (true, true)] {
        let answer = ask_with(&engine, query, json!({ "s": skip, "i": include })).await;
        let mut car = serde_json::Map::from_iter([("name".to_owned(), json!("Beetle"))]);
        if include && !skip {
            car.insert("doors".to_owned(), json!(3));
        }
        if include {
            car.insert("nickname".to_owned(), json!(null));
        }
        assert_data(&answer, &json!({ "car": car }));
    }
}

#[tokio::test]
async fn a_skipped_spread_does_not_count_as_visited() {
    let engine = vehicle_schema::engine();
    let query = "{ car { ...f @skip(if: true) name ...f } } fragment f on Car { doors }";
    let answer = ask(&engine, query).await;
    assert_data(&answer, &json!({ "car": { "name": "Beetle", "doors": 3 } }));
}

#[tokio::test]
async fn an_empty_selection_is_an_empty_object() {
    let engine = vehicle_schema::engine();
    let answer = ask(&engine, "{ car { name @skip(if: true) } }").await;
    assert_data(&answer, &json!({ "car": {} }));
}

#[tokio::test]
async fn defaults_of_variables_apply_to_directives() {
    let engine = vehicle_schema::engine();
    let query = "query ($i: Boolean = false) { car { name doors @include(if: $i) } }";
    let without = ask_with(&engine, query, json!({})).await;
    assert_data(&without, &json!({ "car": { "name": "Beetle" } }));
    let with = ask_with(&engine, query, json!({ "i": true })).await;
    assert_data(&with, &json!({ "car": { "name": "Beetle", "doors": 3 } }));
}
