//! Values that look like others: years, large numbers, signs; and which may be left out later.

use vitrine_model::import::Droppable;
use vitrine_model::spec::Spec;

use super::*;

fn review_with(more: &str) -> String {
    format!(
        "version = 1\nsystem = \"shop\"\n[review]\nexternal_id = \"id\"\nproduct = \"p\"\nrating = \"stars\"\n{more}"
    )
}

/// Maps a review that is read at noon of this day.
fn review_at(mapping: &str, row: &Value, today: &str) -> (Option<ReviewDraft>, Problems) {
    let mapping = parse(mapping).unwrap();
    let row = Row::from(row).read_at(Timestamp::parse(&format!("{today}T12:00:00Z")).ok());
    let mut mapped = mapping.reviews(&mut MappingCache::default(), row);
    let mapped = mapped.pop().expect("each row is a review");
    (mapped.draft, mapped.problems)
}

#[test]
fn a_review_is_not_written_in_the_future() {
    let mapping = |on_bad: &str| {
        let field = "created_at = { from = \"at\", date = [\"day\", \"%d.%m.%y\"], on_bad = ";
        review_with(&format!("{field}\"{on_bad}\" }}"))
    };
    let review = |on_bad: &str, date: &str| {
        let row = json!({"id": 1, "p": 1, "stars": 5, "at": date});
        review_at(&mapping(on_bad), &row, "2026-06-01")
    };
    let (draft, _) = review("reject_line", "01.06.26");
    let date = draft.unwrap().created_at.unwrap().to_string();
    assert_eq!(date, "2026-06-01T00:00:00.000Z");
    let (draft, problems) = review("reject_line", "2099-01-05");
    assert_eq!(draft, None);
    assert_eq!(
        problems.fatal[0].reason,
        "\"2099-01-05\": 2099-01-05T00:00:00.000Z is more than a day in the future"
    );
    let (draft, problems) = review("drop_value", "2099-01-05");
    assert_eq!(
        (draft.unwrap().created_at, problems.dropped.len()),
        (None, 1)
    );
}

#[test]
fn whole_numbers_are_exact_or_refused() {
    let row = |number: u64| json!({ "id": 1, "name": "Lamp", "n": number });
    let (draft, _) = product(
        &specs_with("include = [\"n\"]"),
        &row(9_007_199_254_740_991),
    );
    let exact = SpecValue::Number(9_007_199_254_740_991.0);
    assert_eq!(draft.unwrap().specs[0].value, exact);
    for number in [9_007_199_254_740_992, 9_007_199_254_740_993, u64::MAX] {
        let said = specs("", row(number)).unwrap_err().join("; ");
        let expected = format!("n: {number} is too large to be stored exactly; map it as text");
        assert_eq!(said, expected, "its own digits");
    }
    let text = json!({ "n": 9_007_199_254_740_993_u64 });
    let rule = "rules = [{ path = \"n\", type = \"text\" }]";
    assert_eq!(
        specs(rule, text),
        Ok(vec!["n='9007199254740993'".to_owned()])
    );
    let unknown = "unknown = [9007199254740993]";
    assert!(specs(unknown, row(9_007_199_254_740_994)).is_err());
    assert_eq!(specs(unknown, row(9_007_199_254_740_993)), Ok(Vec::new()));
}

#[test]
fn signs_of_typography_are_read() {
    let quantity = "decimal = \",\"\nrules = [{ path = \"*\", type = \"quantity\" }]";
    let row = json!({"t": "\u{2212}5 °C", "v": ",33 l"});
    let read = vec!["t=-5 °C".to_owned(), "v=0.33 l".to_owned()];
    assert_eq!(specs(quantity, row), Ok(read));
}

/// The names that rejections of droppable values have.
fn names(droppable: &Droppable, noun: &str, specs: &[Spec]) -> Vec<String> {
    let of_specs = droppable
        .specs
        .iter()
        .map(|at| format!("{noun}.{}", specs[*at].key));
    droppable.fields.iter().cloned().chain(of_specs).collect()
}

fn droppable(mapping: &str, row: &Value) -> Vec<String> {
    let (draft, problems) = product(mapping, row);
    let draft = draft.unwrap_or_else(|| panic!("{problems:?}"));
    names(&draft.droppable, "specs", &draft.specs)
}

#[test]
fn what_on_bad_drops_the_catalogue_may_drop_too() {
    let row = json!({"id": 1, "name": "Lamp", "a": 1, "b": "x", "c": "u=1;w=2"});
    assert_eq!(droppable(&specs_with(""), &row), [] as [String; 0]);
    let rules = "exclude = [\"id\", \"name\"]\n[[product.specs.rules]]\npath = \"b\"\n\
                 on_bad = \"drop_value\"\n[[product.specs.rules]]\npath = \"c\"\ncut_at = \";\"\n\
                 split = \"{.key}={.}\"\non_bad = \"ignore\"";
    assert_eq!(
        droppable(&specs_with(rules), &row),
        ["specs.b", "specs.u", "specs.w"]
    );
    let all = with("[defaults]\non_bad = \"drop_value\"")
        + "brand = \"b\"\ndescription = \"b\"\nmedia = { url = \"m\" }\n\
           price = { amount = \"a\", currency = { value = \"EUR\" } }\n";
    assert_eq!(
        droppable(&all, &row),
        ["brand", "description", "media", "media.url", "price"]
    );
    let strict = all.replace(
        "brand = \"b\"",
        "brand = [\"x\", { from = \"b\", on_bad = \"reject_line\" }]",
    );
    assert!(!droppable(&strict, &row).contains(&"brand".to_owned()));
}

#[test]
fn what_on_bad_drops_of_a_review_the_catalogue_may_drop_too() {
    let mapping = review_with(
        "title = { from = \"t\", on_bad = \"drop_value\" }\n[review.attributes]\ninclude = [\"hours\"]\n\
         on_bad = \"drop_value\"\n",
    );
    let row = json!({"id": 1, "p": 1, "stars": 5, "t": "Good", "hours": 3});
    let (draft, _) = review_at(&mapping, &row, "2026-06-01");
    let draft = draft.unwrap();
    let names = names(&draft.droppable, "attributes", &draft.attributes);
    assert_eq!(names, ["title", "attributes.hours"]);
}
