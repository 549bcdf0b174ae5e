//! Adding new spec keys to the dictionary, and marking defined ones as used.

use std::collections::HashMap;

use vitrine_model::history::ChangedBy;
use vitrine_model::import::{ProductDraft, Rejection};
use vitrine_model::product::ProductStatus;
use vitrine_model::spec::{Dictionary, KeyUsage, Spec, SpecError, SpecKey};
use vitrine_model::unit::UnitTable;
use vitrine_storage::StorageError;

use super::ImportSession;
use crate::DomainError;
use crate::specs::{CheckedSpecs, check_against_dictionary, less_used, with_shared};

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
        (labels, system): (&HashMap<String, String>, &str),
    ) -> Self {
        let usage = KeyUsage::by(status);
        let new_keys = checked.new_keys.iter().map(|key| SpecKey {
            usage,
            guessed_by: Some(system.to_owned()),
            label: labels.get(&key.key).unwrap_or(&key.label).clone(),
            ..key.clone()
        });
        Self {
            new_keys: new_keys.collect(),
            used: with_shared(
                less_used(&checked.specs, usage, dictionary),
                checked.specs.iter().map(|spec| &*spec.key),
                dictionary,
                Some(system),
            ),
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
        (labels, system): (&HashMap<String, String>, &str),
    ) {
        let is_guess = |key: &str| guesses.iter().any(|guess| guess.key == key);
        self.used.retain(|(key, _)| !is_guess(&key.key));
        let used = guesses
            .iter()
            .filter(|guess| specs.iter().any(|spec| spec.key == guess.key));
        self.new_keys.extend(used.map(|guess| SpecKey {
            usage: KeyUsage::by(status),
            guessed_by: Some(system.to_owned()),
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

    /// Changes the types of keys that only this feed has used. Each guess has the type of most values of a
    /// batch, and their number; it counts only if fewer products have the key. Returns whether a type changed.
    pub(super) async fn guess_again(
        &mut self,
        guesses: Vec<(SpecKey, usize)>,
        system: &str,
    ) -> Result<bool, DomainError> {
        let mut changed = false;
        for (guess, count) in guesses {
            let Some(before) = self.dictionary.get(&guess.key).cloned() else {
                continue;
            };
            // Values of another dimension say nothing in this one.
            if before.value_type == guess.value_type {
                continue;
            }
            let key = before.key.clone();
            let stored = self.store(|store| async move { store.count_with_key(&key).await });
            if stored.await? >= count as u64 {
                continue;
            }
            let after = SpecKey {
                value_type: guess.value_type,
                dimension: guess.dimension,
                base_unit: guess.base_unit,
                allowed_values: None,
                earlier_type: Some(before.value_type),
                revision: before.revision + 1,
                ..before.clone()
            };
            changed |= self.change_guess(before, after, system).await?;
        }
        Ok(changed)
    }

    async fn change_guess(
        &mut self,
        before: SpecKey,
        after: SpecKey,
        system: &str,
    ) -> Result<bool, DomainError> {
        if !self.writes() {
            let keys = self.dictionary.keys().iter();
            let changed = |key: &SpecKey| {
                if *key == before {
                    after.clone()
                } else {
                    key.clone()
                }
            };
            self.dictionary = Dictionary::new(keys.map(changed).collect());
            return Ok(true);
        }
        let (by, now) = (ChangedBy::import(system), self.catalog.now());
        let stored = self.store(move |store| async move {
            let mut unit = store.begin_write().await?;
            match unit.guess_again(&before, &after).await {
                Ok(true) => {
                    unit.record_spec_key_change(&before, &after, (&by, now))
                        .await?;
                    unit.commit().await.map(|()| true)
                }
                other => {
                    unit.abort().await;
                    other
                }
            }
        });
        let stored = match stored.await {
            Err(DomainError::Unavailable(Some(StorageError::Contended(_)))) => false,
            stored => stored?,
        };
        self.reload_reference().await?;
        Ok(stored)
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
