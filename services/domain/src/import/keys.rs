//! Learning spec keys: a key that nobody has seen gets the type of its first value; a value that
//! contradicts its key is refused.

use vitrine_model::import::{ProductDraft, Rejection};
use vitrine_model::spec::{Dictionary, Spec, SpecError, SpecKey, SpecValue, normal_qualifier};
use vitrine_model::unit::UnitTable;

use super::ImportSession;
use crate::DomainError;

/// A draft's specs as they will be stored, and the keys they teach.
pub(super) struct Checked {
    pub(super) specs: Vec<Spec>,
    pub(super) learnt: Vec<SpecKey>,
}

/// Checks specs against the dictionary. Aliases become keys and units their symbols.
pub(super) fn check(
    draft: &ProductDraft,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> Result<Checked, Vec<Rejection>> {
    let mut checked = Checked {
        specs: Vec::with_capacity(draft.specs.len()),
        learnt: Vec::new(),
    };
    let mut refused = Vec::new();
    for spec in &draft.specs {
        match check_one(spec, dictionary, &mut checked.learnt, units) {
            Ok(spec) => checked.specs.push(spec),
            Err(wrong) => refused.push(Rejection::new(
                format!("specs.{}", spec.key),
                wrong.to_string(),
            )),
        }
    }
    if refused.is_empty() {
        Ok(checked)
    } else {
        Err(refused)
    }
}

fn check_one(
    spec: &Spec,
    dictionary: &Dictionary,
    learnt: &mut Vec<SpecKey>,
    units: &UnitTable,
) -> Result<Spec, SpecError> {
    let known = dictionary
        .get(&spec.key)
        .or_else(|| learnt.iter().find(|key| key.key == spec.key));
    let key = if let Some(key) = known {
        key.accepts(spec, units)?;
        key.key.clone()
    } else {
        learnt.push(SpecKey::learnt(spec, units)?);
        spec.key.clone()
    };
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

impl ImportSession {
    /// Adds keys to the dictionary. Gives whether all were new to the database too; if another
    /// process was faster with one, the dictionary is read again and the caller has to check again.
    pub(super) async fn learn(&mut self, keys: Vec<SpecKey>) -> Result<bool, DomainError> {
        let mut keys = keys;
        keys.sort_by(|a, b| a.key.cmp(&b.key));
        keys.dedup_by(|a, b| a.key == b.key);
        if keys.is_empty() {
            return Ok(true);
        }
        if self.writes() {
            let new = keys.clone();
            let all_new = self
                .store(|store| async move { store.insert_spec_keys(&new).await })
                .await?;
            if !all_new {
                self.reload_reference().await?;
                return Ok(false);
            }
        }
        for key in keys {
            self.summary.new_keys.push(key.clone());
            self.dictionary.add(key);
        }
        Ok(true)
    }

    pub(super) async fn reload_reference(&mut self) -> Result<(), DomainError> {
        self.catalog.refresh_reference().await?;
        let reference = self.catalog.reference();
        self.dictionary = reference.dictionary.clone();
        self.categories = reference.categories.all().to_vec();
        Ok(())
    }
}
