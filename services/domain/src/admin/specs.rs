//! Setting and removing the specs of a product.

use vitrine_model::spec::{
    self, Dictionary, Spec, SpecError, SpecValue, ValueType, normal_qualifier,
};
use vitrine_model::unit::{UnitError, UnitTable};

use super::SpecRef;
use crate::outcome::{UserErrorCode, ValidationErrors};
use crate::specs::{CheckedSpecs, check_against_dictionary, current_key};

/// Checks specs on their own and against the dictionary, texts without blanks at their ends; adds
/// to the errors.
pub(super) fn read(
    specs: &[Spec],
    dictionary: &Dictionary,
    units: &UnitTable,
    errors: &mut ValidationErrors,
) -> CheckedSpecs {
    let specs: Vec<Spec> = specs.iter().map(trimmed).collect();
    let (mut sound, mut refused) = (Vec::with_capacity(specs.len()), Vec::new());
    for (at, given) in specs.iter().enumerate() {
        match spec::check(given, units) {
            Ok(()) => sound.push((at, given)),
            Err(wrong) => refused.push((at, wrong)),
        }
    }
    let mut checked = check_against_dictionary(sound, dictionary, units);
    refused.append(&mut checked.refused);
    refused.sort_by_key(|(at, _)| *at);
    for (at, wrong) in &refused {
        refuse(*at, &specs[*at], wrong, errors);
    }
    checked.specs = distinct(std::mem::take(&mut checked.specs));
    checked
}

/// The specs after some were set: those replace all with the same key and qualifier, at the
/// position of the first of them; others stay.
pub(super) fn set(before: &[Spec], given: &[Spec]) -> Vec<Spec> {
    let mut after = before.to_vec();
    let mut done: Vec<&Spec> = Vec::new();
    for spec in given {
        if done.iter().any(|other| alike(other, spec)) {
            continue;
        }
        done.push(spec);
        let position = after.iter().position(|old| alike(old, spec));
        after.retain(|old| !alike(old, spec));
        let position = position.unwrap_or(after.len());
        let new = given.iter().filter(|other| alike(other, spec)).cloned();
        after.splice(position..position, new);
    }
    after
}

/// The specs after some were removed.
pub(super) fn remove(before: &[Spec], refs: &[SpecRef], dictionary: &Dictionary) -> Vec<Spec> {
    let named = |spec: &Spec| {
        refs.iter().any(|one| {
            let qualifier = one.qualifier.as_deref().map(normal_qualifier);
            current_key(&one.key, dictionary) == spec.key
                && (qualifier.is_none() || qualifier == spec.qualifier)
        })
    };
    before.iter().filter(|spec| !named(spec)).cloned().collect()
}

fn alike(a: &Spec, b: &Spec) -> bool {
    a.key == b.key && a.qualifier == b.qualifier
}

fn trimmed(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    if let SpecValue::Text(text) = &mut spec.value {
        *text = text.trim().to_owned();
    }
    spec
}

/// Removes duplicates.
fn distinct(specs: Vec<Spec>) -> Vec<Spec> {
    let mut out: Vec<Spec> = Vec::with_capacity(specs.len());
    for spec in specs {
        if !out.contains(&spec) {
            out.push(spec);
        }
    }
    out
}

fn refuse(at: usize, given: &Spec, wrong: &SpecError, errors: &mut ValidationErrors) {
    let (code, field) = code_and_field(given, wrong);
    errors.add(code, &[&"specs", &at, &field], wrong.to_string());
}

fn code_and_field(given: &Spec, wrong: &SpecError) -> (UserErrorCode, &'static str) {
    match wrong {
        SpecError::Key(_) => (UserErrorCode::Invalid, "key"),
        SpecError::Qualifier(_) => (UserErrorCode::Invalid, "qualifier"),
        SpecError::NotFinite { .. }
        | SpecError::Date { .. }
        | SpecError::TextLength { .. }
        | SpecError::TextNul { .. } => (UserErrorCode::Invalid, value_field(given)),
        SpecError::Unit { source, .. } => match source {
            UnitError::Unknown(_) => (UserErrorCode::NotFound, "unit"),
            UnitError::Dimension { .. } => (UserErrorCode::TypeMismatch, "unit"),
        },
        // A number with a superfluous unit, or without the required one.
        SpecError::Type {
            expected: ValueType::Quantity,
            found_type: ValueType::Number,
            ..
        }
        | SpecError::Type {
            expected: ValueType::Number,
            found_type: ValueType::Quantity,
            ..
        } => (UserErrorCode::TypeMismatch, "unit"),
        SpecError::Type { .. } | SpecError::NotAllowed { .. } => {
            (UserErrorCode::TypeMismatch, value_field(given))
        }
    }
}

/// The input field that holds the value.
const fn value_field(given: &Spec) -> &'static str {
    match given.value {
        SpecValue::Text(_) => "text",
        SpecValue::Number(_) | SpecValue::Quantity { .. } => "number",
        SpecValue::Boolean(_) => "boolean",
        SpecValue::Date(_) => "date",
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::spec::SpecKey;

    use super::*;

    fn spec(key: &str, qualifier: Option<&str>, value: SpecValue) -> Spec {
        Spec {
            key: key.to_owned(),
            value,
            qualifier: qualifier.map(str::to_owned),
        }
    }

    fn text(key: &str, qualifier: Option<&str>, value: &str) -> Spec {
        spec(key, qualifier, SpecValue::Text(value.to_owned()))
    }

    fn quantity(key: &str, value: f64, unit: &str) -> Spec {
        let unit = unit.to_owned();
        spec(key, None, SpecValue::Quantity { value, unit })
    }

    fn dictionary() -> Dictionary {
        let mut weight = SpecKey::new("weight", ValueType::Quantity);
        weight.dimension = Some("mass".to_owned());
        weight.aliases = vec!["heft".to_owned()];
        let mut size = SpecKey::new("size", ValueType::Text);
        size.allowed_values = Some(vec!["S".to_owned(), "M".to_owned()]);
        Dictionary::new(vec![weight, size, SpecKey::new("ports", ValueType::Number)])
    }

    #[test]
    fn all_errors_are_reported_with_their_paths() {
        let given = [
            text("Bad Key", None, "x"),
            text("size", Some("a@b"), "M"),
            text("size", None, "XL"),
            text("size", None, " m "),
            quantity("weight", 1.0, "furlong"),
            quantity("weight", 1.0, "cm"),
            spec("heft", None, SpecValue::Number(3.0)),
            quantity("ports", 1.0, "kg"),
            spec("ports", None, SpecValue::Boolean(true)),
            spec("ports", None, SpecValue::Number(f64::NAN)),
            text("note", None, &"x".repeat(8193)),
            text("note", None, &"x".repeat(8192)),
            text("note", None, "a\0b"),
        ];
        let mut errors = ValidationErrors::default();
        read(&given, &dictionary(), &UnitTable::built_in(), &mut errors);
        let paths = errors.codes_and_paths();
        let path = |code, path: &str| (code, path.to_owned());
        assert_eq!(
            paths,
            [
                path(UserErrorCode::Invalid, "specs.0.key"),
                path(UserErrorCode::Invalid, "specs.1.qualifier"),
                path(UserErrorCode::TypeMismatch, "specs.2.text"),
                path(UserErrorCode::NotFound, "specs.4.unit"),
                path(UserErrorCode::TypeMismatch, "specs.5.unit"),
                path(UserErrorCode::TypeMismatch, "specs.6.unit"),
                path(UserErrorCode::TypeMismatch, "specs.7.unit"),
                path(UserErrorCode::TypeMismatch, "specs.8.boolean"),
                path(UserErrorCode::Invalid, "specs.9.number"),
                path(UserErrorCode::Invalid, "specs.10.text"),
                path(UserErrorCode::Invalid, "specs.12.text"),
            ]
        );
        let mismatch = errors.0.iter().find(|r| r.path[1] == "8").unwrap();
        assert!(
            mismatch.message.contains("number") && mismatch.message.contains("yes"),
            "the type expected and the value seen: {}",
            mismatch.message
        );
    }

    #[test]
    fn duplicates_and_outer_blanks_are_removed() {
        let given = [
            quantity("heft", 2.0, "kilograms"),
            quantity("weight", 2.0, "kg"),
            quantity("weight", 2000.0, "g"),
            text("note", None, " a  b\n"),
            text("note", None, "a  b"),
        ];
        let mut errors = ValidationErrors::default();
        let checked = read(&given, &dictionary(), &UnitTable::built_in(), &mut errors);
        assert!(errors.is_empty());
        let expected = [
            quantity("weight", 2.0, "kg"),
            quantity("weight", 2000.0, "g"),
            text("note", None, "a  b"),
        ];
        assert_eq!(checked.specs, expected);
    }

    #[test]
    fn set_specs_replace_all_of_their_key_and_qualifier_in_place() {
        let before = [
            text("color", None, "Red"),
            text("size", Some("EU"), "42"),
            text("color", None, "Blue"),
            text("size", None, "M"),
        ];
        let given = [
            text("fit", None, "slim"),
            text("color", None, "Green"),
            text("color", None, "Black"),
            text("size", Some("EU"), "43"),
        ];
        let expected = [
            text("color", None, "Green"),
            text("color", None, "Black"),
            text("size", Some("EU"), "43"),
            text("size", None, "M"),
            text("fit", None, "slim"),
        ];
        let after = set(&before, &given);
        assert_eq!(after, expected);
        assert_eq!(set(&after, &given), after, "repeating it changes nothing");
        assert_eq!(set(&before, &[]), before);
    }

    #[test]
    fn specs_are_removed_by_key_alias_and_qualifier() {
        let before = [
            quantity("weight", 1.0, "kg"),
            text("size", Some("EU"), "S"),
            text("size", Some("US"), "M"),
            text("size", None, "M"),
        ];
        let one = |key: &str, qualifier: Option<&str>| SpecRef {
            key: key.to_owned(),
            qualifier: qualifier.map(str::to_owned),
        };
        let after = |refs: &[SpecRef]| remove(&before, refs, &dictionary());
        assert_eq!(after(&[one("heft", None)]), before[1..]);
        assert_eq!(after(&[one("size", None)]), before[..1]);
        let eu = after(&[one("size", Some(" eu"))]);
        assert_eq!(
            eu,
            [before[0].clone(), before[2].clone(), before[3].clone()]
        );
        assert_eq!(after(&[one("nothing", None), one("Bad Key", None)]), before);
    }
}
