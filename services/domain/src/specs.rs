//! Checking specs against the dictionary: a new key gets the type of its first value; a value that
//! contradicts its key is refused. Used by imports and mutations.

use vitrine_model::spec::{
    Dictionary, KeyUsage, Spec, SpecError, SpecKey, SpecValue, normal_qualifier,
};
use vitrine_model::unit::UnitTable;

/// Specs in stored form, and the resulting changes to the dictionary.
#[derive(Debug, Default)]
pub(crate) struct CheckedSpecs {
    /// With aliases replaced by keys, and units by their symbols.
    pub(crate) specs: Vec<Spec>,
    /// Keys that are not in the dictionary yet.
    pub(crate) new_keys: Vec<SpecKey>,
    /// The refused specs, by their index.
    pub(crate) refused: Vec<(usize, SpecError)>,
}

/// Checks the specs of one product against the dictionary. Their form has been checked already.
pub(crate) fn check_against_dictionary<'a>(
    specs: impl IntoIterator<Item = (usize, &'a Spec)>,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> CheckedSpecs {
    let mut checked = CheckedSpecs::default();
    for (at, spec) in specs {
        match check_one(spec, dictionary, &mut checked, units) {
            Ok(spec) => checked.specs.push(spec),
            Err(wrong) => checked.refused.push((at, wrong)),
        }
    }
    checked
}

fn check_one(
    spec: &Spec,
    dictionary: &Dictionary,
    checked: &mut CheckedSpecs,
    units: &UnitTable,
) -> Result<Spec, SpecError> {
    let known = dictionary.get(&spec.key);
    if let Some(known) = known {
        known.accepts(spec, units)?;
    } else if let Some(new_keys) = checked.new_keys.iter().find(|key| key.key == spec.key) {
        new_keys.accepts(spec, units)?;
    } else {
        checked.new_keys.push(SpecKey::learnt(spec, units)?);
    }
    let key = known.map_or(&spec.key, |known| &known.key).clone();
    Ok(Spec {
        key,
        ..with_unit_ids(spec, units)
    })
}

/// The spec with the id of its unit, and its qualifier in normal form.
pub(crate) fn with_unit_ids(spec: &Spec, units: &UnitTable) -> Spec {
    Spec {
        key: spec.key.clone(),
        value: canonical_unit(&spec.value, units),
        qualifier: spec.qualifier.as_deref().map(normal_qualifier),
    }
}

/// The keys whose usage is less than that by a product with these specs, with the new usage.
pub(crate) fn less_used(
    specs: &[Spec],
    usage: KeyUsage,
    dictionary: &Dictionary,
) -> Vec<(SpecKey, KeyUsage)> {
    let mut keys: Vec<(SpecKey, KeyUsage)> = Vec::new();
    for key in specs.iter().filter_map(|spec| dictionary.get(&spec.key)) {
        if key.usage < usage && !keys.iter().any(|(known, _)| known == key) {
            keys.push((key.clone(), usage));
        }
    }
    keys
}

/// Adds the keys with a guessed type that somebody else uses now: a feed of another system, or a person.
/// Their types are no guesses any more.
pub(crate) fn with_shared<'a>(
    mut keys: Vec<(SpecKey, KeyUsage)>,
    used: impl Iterator<Item = &'a str>,
    dictionary: &Dictionary,
    system: Option<&str>,
) -> Vec<(SpecKey, KeyUsage)> {
    for key in used.filter_map(|key| dictionary.get(key)) {
        if key.guessed_by.is_none() || key.guessed_by.as_deref() == system {
            continue;
        }
        if !keys.iter().any(|(known, _)| known.key == key.key) {
            keys.push((key.clone(), key.usage));
        }
        let own = keys.iter_mut().filter(|(known, _)| known.key == key.key);
        own.for_each(|(known, _)| known.guessed_by = None);
    }
    keys
}

fn canonical_unit(value: &SpecValue, units: &UnitTable) -> SpecValue {
    match value {
        SpecValue::Quantity { value, unit } => {
            let unit = units
                .find(unit)
                .map_or_else(|| unit.clone(), |unit| unit.id.clone());
            SpecValue::Quantity {
                value: *value,
                unit,
            }
        }
        other => other.clone(),
    }
}

/// The specs under the current names of their keys. Duplicates that result from renaming are
/// removed.
pub(crate) fn with_current_keys(specs: &[Spec], dictionary: &Dictionary) -> Vec<Spec> {
    let mut out: Vec<Spec> = Vec::with_capacity(specs.len());
    let is_old = |spec: &Spec| current_key(&spec.key, dictionary) != spec.key;
    for spec in specs {
        let new = Spec {
            key: current_key(&spec.key, dictionary).to_owned(),
            ..spec.clone()
        };
        let twice = out.contains(&new)
            && specs
                .iter()
                .any(|other| is_old(other) && current_key(&other.key, dictionary) == new.key);
        if !twice {
            out.push(new);
        }
    }
    out
}

/// The specs with values of the current types of their keys; those that say none are left out.
pub(crate) fn with_current_types(
    specs: Vec<Spec>,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> Vec<Spec> {
    let mut out: Vec<Spec> = Vec::with_capacity(specs.len());
    for spec in specs {
        let key = dictionary.get(&spec.key);
        let value = match key.filter(|key| key.value_type != spec.value.value_type()) {
            None => Some(spec.value),
            Some(key) => key.converted(&spec.value, units),
        };
        out.extend(value.map(|value| Spec { value, ..spec }));
    }
    out
}

/// The current name of a key; itself if it is unknown.
pub(crate) fn current_key<'a>(key: &'a str, dictionary: &'a Dictionary) -> &'a str {
    dictionary.get(key).map_or(key, |entry| entry.key.as_str())
}

#[cfg(test)]
mod tests {
    use vitrine_model::spec::ValueType;

    use super::*;

    fn text(key: &str, value: &str) -> Spec {
        Spec {
            key: key.to_owned(),
            value: SpecValue::Text(value.to_owned()),
            qualifier: None,
        }
    }

    fn numbered(specs: &[Spec]) -> impl Iterator<Item = (usize, &Spec)> {
        specs.iter().enumerate()
    }

    fn colors() -> Dictionary {
        let mut color = SpecKey::new("color", ValueType::Text);
        color.absorbing = vec!["colour".to_owned()];
        color.aliases = vec!["tint".to_owned()];
        color.usage = KeyUsage::Used;
        Dictionary::new(vec![color, SpecKey::new("fit", ValueType::Text)])
    }

    #[test]
    fn aliases_become_keys_and_units_become_symbols() {
        let litres = Spec {
            key: "volume".to_owned(),
            value: SpecValue::Quantity {
                value: 2.0,
                unit: "litres".to_owned(),
            },
            qualifier: Some(" eu ".to_owned()),
        };
        let given = [text("tint", "Red"), text("colour", "Blue"), litres];
        let checked = check_against_dictionary(numbered(&given), &colors(), &UnitTable::built_in());
        assert!(checked.refused.is_empty(), "{:?}", checked.refused);
        assert_eq!(checked.specs[0], text("color", "Red"));
        assert_eq!(checked.specs[1], text("color", "Blue"));
        let SpecValue::Quantity { unit, .. } = &checked.specs[2].value else {
            panic!("a quantity")
        };
        assert_eq!(unit, "l");
        assert_eq!(checked.specs[2].qualifier.as_deref(), Some("EU"));
        let new_keys: Vec<&str> = checked
            .new_keys
            .iter()
            .map(|key| key.key.as_str())
            .collect();
        assert_eq!(new_keys, ["volume"]);
    }

    #[test]
    fn the_first_value_of_a_new_key_sets_its_type() {
        let number = Spec {
            value: SpecValue::Number(3.0),
            ..text("ports", "")
        };
        let given = [number, text("ports", "three"), text("color", "Red")];
        let checked = check_against_dictionary(numbered(&given), &colors(), &UnitTable::built_in());
        let refused: Vec<usize> = checked.refused.iter().map(|(at, _)| *at).collect();
        assert_eq!(refused, [1]);
        assert_eq!(checked.new_keys.len(), 1);
        assert_eq!(checked.new_keys[0].value_type, ValueType::Number);
        assert_eq!(checked.specs.len(), 2);
    }

    #[test]
    fn a_key_is_used_more_by_products_on_sale_than_by_drafts() {
        let given = [
            text("fit", "slim"),
            text("fit", "wide"),
            text("color", "Red"),
        ];
        let less_used = |usage| {
            let keys = less_used(&given, usage, &colors());
            keys.into_iter().map(|(key, _)| key.key).collect::<Vec<_>>()
        };
        assert_eq!(less_used(KeyUsage::Used), ["fit"]);
        assert_eq!(less_used(KeyUsage::Published), ["fit", "color"]);
    }

    #[test]
    fn duplicates_from_renamed_keys_are_removed() {
        let mut eu = text("colour", "Red");
        eu.qualifier = Some("EU".to_owned());
        let given = [
            text("colour", "Red"),
            text("fit", "slim"),
            text("fit", "slim"),
            text("color", "Red"),
            eu.clone(),
            text("colour", "Blue"),
        ];
        let expected = [
            text("color", "Red"),
            text("fit", "slim"),
            text("fit", "slim"),
            Spec {
                key: "color".to_owned(),
                ..eu
            },
            text("color", "Blue"),
        ];
        let after = with_current_keys(&given, &colors());
        assert_eq!(after, expected);
        assert_eq!(
            with_current_keys(&after, &colors()),
            after,
            "renaming is idempotent"
        );
    }
}
