//! Bounds of a line: more of something is rejected with a reason.

use serde_json::json;

use super::*;

#[test]
fn a_text_with_too_many_values_is_one_bad_value() {
    let text = |count: usize| "x,".repeat(count);
    let rule =
        "rules = [{ path = \"v\", cut_at = \",\", type = \"number\", on_bad = \"drop_value\" }]";
    let bad = |count| specs(rule, json!({"v": text(count)})).unwrap_err();
    assert_eq!(bad(200).len(), 200);
    assert_eq!(bad(201), ["v: has more than 200 values"]);
}

fn with_reviews() -> Mapping {
    let review = "external_id = { template = \"{^.id}-{^item}\" }\nproduct = \"^.id\"\nrating = { value = 5 }\n";
    let lists = ["a", "b"].map(|list| format!("[[review]]\neach = \"{list}\"\n{review}"));
    parse(&(with("") + &lists.concat())).unwrap()
}

#[test]
fn a_line_with_too_many_records_is_rejected() {
    let mapping = with_reviews();
    let check = |a: usize, b: usize| {
        let row = json!({"id": 1, "name": "Lamp", "a": vec![0; a], "b": vec![0; b]});
        mapping.check_records((&row).into())
    };
    assert_eq!(check(9_000, 1_000), Ok(()));
    let rejection = check(9_000, 1_001).unwrap_err();
    assert_eq!(
        (rejection.field.as_str(), rejection.reason.as_str()),
        (
            "line",
            "has 10001 items that are products or reviews; a line may have 10000"
        )
    );
}
