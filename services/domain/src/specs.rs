//! Checking specs against the dictionary: a new key gets the type of its first value; a value that
//! contradicts its key is refused. Used by imports and mutations.

use vitrine_model::spec::{Dictionary, Spec, SpecError, SpecKey, SpecValue, normal_qualifier};
use vitrine_model::unit::UnitTable;

/// Specs in stored form, and the resulting changes to the dictionary.
#[derive(Debug, Default)]
pub(crate) struct Fitted {
    /// With aliases replaced by keys, and units by their symbols.
    pub(crate) specs: Vec<Spec>,
    /// Keys that are not in the dictionary yet.
    pub(crate) learnt: Vec<SpecKey>,
    /// Defined keys that no product has had yet.
    pub(crate) unused: Vec<SpecKey>,
    /// The refused specs, by their index.
    pub(crate) refused: Vec<(usize, SpecError)>,
}

/// Checks the specs of one product against the dictionary. Their form has been checked already.
pub(crate) fn fit<'a>(
    specs: impl IntoIterator<Item = (usize, &'a Spec)>,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> Fitted {
    let mut fitted = Fitted::default();
    for (at, spec) in specs {
        match fit_one(spec, dictionary, &mut fitted, units) {
            Ok(spec) => fitted.specs.push(spec),
            Err(wrong) => fitted.refused.push((at, wrong)),
        }
    }
    fitted
}

fn fit_one(
    spec: &Spec,
    dictionary: &Dictionary,
    fitted: &mut Fitted,
    units: &UnitTable,
) -> Result<Spec, SpecError> {
    let known = dictionary.get(&spec.key);
    if let Some(known) = known {
        known.accepts(spec, units)?;
        if !known.used && !fitted.unused.contains(known) {
            fitted.unused.push(known.clone());
        }
    } else if let Some(learnt) = fitted.learnt.iter().find(|key| key.key == spec.key) {
        learnt.accepts(spec, units)?;
    } else {
        fitted.learnt.push(SpecKey::learnt(spec, units)?);
    }
    let key = known.map_or(&spec.key, |known| &known.key).clone();
    Ok(Spec {
        key,
        value: canonical_unit(&spec.value, units),
        qualifier: spec.qualifier.as_deref().map(normal_qualifier),
    })
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
pub(crate) fn renamed(specs: &[Spec], dictionary: &Dictionary) -> Vec<Spec> {
    let mut out: Vec<Spec> = Vec::with_capacity(specs.len());
    let is_old = |spec: &Spec| main(&spec.key, dictionary) != spec.key;
    for spec in specs {
        let new = Spec {
            key: main(&spec.key, dictionary).to_owned(),
            ..spec.clone()
        };
        let twice = out.contains(&new)
            && specs
                .iter()
                .any(|other| is_old(other) && main(&other.key, dictionary) == new.key);
        if !twice {
            out.push(new);
        }
    }
    out
}

/// The current name of a key; itself if it is unknown.
pub(crate) fn main<'a>(key: &'a str, dictionary: &'a Dictionary) -> &'a str {
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
        color.used = true;
        Dictionary::new(vec![color, SpecKey::new("fit", ValueType::Text)])
    }

    #[test]
    fn names_become_keys_and_units_symbols() {
        let litres = Spec {
            key: "volume".to_owned(),
            value: SpecValue::Quantity {
                value: 2.0,
                unit: "litres".to_owned(),
            },
            qualifier: Some(" eu ".to_owned()),
        };
        let given = [text("tint", "Red"), text("colour", "Blue"), litres];
        let fitted = fit(numbered(&given), &colors(), &UnitTable::built_in());
        assert!(fitted.refused.is_empty(), "{:?}", fitted.refused);
        assert_eq!(fitted.specs[0], text("color", "Red"));
        assert_eq!(fitted.specs[1], text("color", "Blue"));
        let SpecValue::Quantity { unit, .. } = &fitted.specs[2].value else {
            panic!("a quantity")
        };
        assert_eq!(unit, "l");
        assert_eq!(fitted.specs[2].qualifier.as_deref(), Some("EU"));
        let learnt: Vec<&str> = fitted.learnt.iter().map(|key| key.key.as_str()).collect();
        assert_eq!(learnt, ["volume"]);
    }

    #[test]
    fn the_first_value_of_a_new_key_sets_its_type() {
        let number = Spec {
            value: SpecValue::Number(3.0),
            ..text("ports", "")
        };
        let given = [number, text("ports", "three"), text("color", "Red")];
        let fitted = fit(numbered(&given), &colors(), &UnitTable::built_in());
        let refused: Vec<usize> = fitted.refused.iter().map(|(at, _)| *at).collect();
        assert_eq!(refused, [1]);
        assert_eq!(fitted.learnt.len(), 1);
        assert_eq!(fitted.learnt[0].value_type, ValueType::Number);
        assert_eq!(fitted.specs.len(), 2);
    }

    #[test]
    fn an_unused_key_is_reported_once() {
        let given = [
            text("fit", "slim"),
            text("fit", "wide"),
            text("color", "Red"),
        ];
        let fitted = fit(numbered(&given), &colors(), &UnitTable::built_in());
        let unused: Vec<&str> = fitted.unused.iter().map(|key| key.key.as_str()).collect();
        assert_eq!(unused, ["fit"]);
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
        let after = renamed(&given, &colors());
        assert_eq!(after, expected);
        assert_eq!(renamed(&after, &colors()), after, "renaming is idempotent");
    }
}
