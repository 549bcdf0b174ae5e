//! Adding new spec keys to the dictionary, and marking defined ones as used.

use std::collections::HashMap;

use vitrine_model::import::{ProductDraft, Rejection};
use vitrine_model::product::ProductStatus;
use vitrine_model::spec::{Dictionary, KeyUsage, Spec, SpecError, SpecKey};
use vitrine_model::unit::UnitTable;
use vitrine_storage::StorageError;

use super::ImportSession;
use crate::DomainError;
use crate::specs::{CheckedSpecs, check_against_dictionary, less_used};

/// The changes to the dictionary that products cause.
#[derive(Debug, Default)]
pub(super) struct DictionaryChanges {
    /// Keys that are not in the dictionary yet.
    pub(super) new_keys: Vec<SpecKey>,
    /// Keys of the dictionary that are used by more products, with their new usage.
    pub(super) used: Vec<(SpecKey, KeyUsage)>,
}

impl DictionaryChanges {
    /// The changes that one product causes.
    pub(super) fn of(
        checked: &CheckedSpecs,
        status: ProductStatus,
        dictionary: &Dictionary,
        labels: &HashMap<String, String>,
    ) -> Self {
        let usage = KeyUsage::by(status);
        let new_keys = checked.new_keys.iter().map(|key| SpecKey {
            usage,
            label: labels.get(&key.key).unwrap_or(&key.label).clone(),
            ..key.clone()
        });
        Self {
            new_keys: new_keys.collect(),
            used: less_used(&checked.specs, usage, dictionary),
        }
    }
}

/// Checks a draft's specs against the dictionary; `Err` has the refused ones by their index.
pub(super) fn check(
    draft: &ProductDraft,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> Result<CheckedSpecs, Vec<(usize, SpecError)>> {
    let checked = check_against_dictionary(draft.specs.iter().enumerate(), dictionary, units);
    if checked.refused.is_empty() {
        return Ok(checked);
    }
    Err(checked.refused)
}

/// The rejections of refused specs.
pub(super) fn rejections(
    draft: &ProductDraft,
    refused: &[(usize, SpecError)],
) -> Vec<(usize, Rejection)> {
    let rejection = |(at, wrong): &(usize, SpecError)| {
        let field = format!("specs.{}", draft.specs[*at].key);
        (*at, Rejection::new(field, wrong.to_string()))
    };
    refused.iter().map(rejection).collect()
}

impl DictionaryChanges {
    /// Adds the guessed keys that a product with these specs uses: they are new, although the dictionary
    /// that it was checked with has them.
    pub(super) fn introduce(
        &mut self,
        guesses: &[SpecKey],
        (specs, status): (&[Spec], ProductStatus),
        labels: &HashMap<String, String>,
    ) {
        let is_guess = |key: &str| guesses.iter().any(|guess| guess.key == key);
        self.used.retain(|(key, _)| !is_guess(&key.key));
        let used = guesses
            .iter()
            .filter(|guess| specs.iter().any(|spec| spec.key == guess.key));
        self.new_keys.extend(used.map(|guess| SpecKey {
            usage: KeyUsage::by(status),
            label: labels.get(&guess.key).unwrap_or(&guess.label).clone(),
            ..guess.clone()
        }));
    }
}

impl ImportSession {
    /// Applies changes to the dictionary. Returns whether it was as expected; if another process
    /// added a key first, the dictionary is reloaded and the caller has to check again.
    pub(super) async fn update_dictionary(
        &mut self,
        changes: DictionaryChanges,
    ) -> Result<bool, DomainError> {
        Ok(self.add_keys(changes.new_keys).await? && self.use_keys(changes.used).await?)
    }

    async fn add_keys(&mut self, keys: Vec<SpecKey>) -> Result<bool, DomainError> {
        let keys = distinct(keys);
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

    /// Raises the usage of keys, which fixes their types.
    pub(super) async fn use_keys(
        &mut self,
        mut keys: Vec<(SpecKey, KeyUsage)>,
    ) -> Result<bool, DomainError> {
        keys.sort_by(|(a, used), (b, other)| a.key.cmp(&b.key).then(other.cmp(used)));
        keys.dedup_by(|(a, _), (b, _)| a.key == b.key);
        if keys.is_empty() || !self.writes() {
            return Ok(true);
        }
        let used = self.store(|store| async move {
            let mut unit = store.begin_write().await?;
            match unit.use_spec_keys(&keys).await {
                Ok(true) => unit.commit().await.map(|()| true),
                other => {
                    unit.abort().await;
                    other
                }
            }
        });
        let used = match used.await {
            Err(DomainError::Unavailable(Some(StorageError::Contended(_)))) => false,
            used => used?,
        };
        self.reload_reference().await?;
        Ok(used)
    }

    /// Picks up changes by other processes since the last batch, so that a long import does not use
    /// keys that were merged or redefined, or suppliers that were renamed.
    pub(super) async fn refresh_changed_reference(&mut self) -> Result<(), DomainError> {
        if !self.writes() {
            // Only this session knows what a dry run would have stored.
            return Ok(());
        }
        self.suppliers.clear();
        self.catalog.refresh_reference().await?;
        if self.catalog.reference().version() != self.reference.version() {
            self.take_reference();
        }
        Ok(())
    }

    pub(super) async fn reload_reference(&mut self) -> Result<(), DomainError> {
        self.catalog.refresh_reference().await?;
        self.take_reference();
        Ok(())
    }

    fn take_reference(&mut self) {
        let reference = self.catalog.reference();
        self.dictionary = reference.dictionary.clone();
        self.categories = reference.categories.all().to_vec();
        self.category_paths.clear();
        self.reference = reference;
    }
}

/// Each key once, with its highest usage.
fn distinct(mut keys: Vec<SpecKey>) -> Vec<SpecKey> {
    keys.sort_by(|a, b| a.key.cmp(&b.key).then(b.usage.cmp(&a.usage)));
    keys.dedup_by(|a, b| a.key == b.key);
    keys
}
