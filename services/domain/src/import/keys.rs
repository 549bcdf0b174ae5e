//! Learning spec keys, and noting that defined ones are in use now.

use vitrine_model::import::{ProductDraft, Rejection};
use vitrine_model::spec::{Dictionary, SpecKey};
use vitrine_model::unit::UnitTable;
use vitrine_storage::StorageError;

use super::ImportSession;
use crate::DomainError;
use crate::specs::{Fitted, fit};

/// What products teach about spec keys.
#[derive(Debug, Default)]
pub(super) struct Taught {
    /// Keys that nobody has seen before.
    pub(super) learnt: Vec<SpecKey>,
    /// Keys that were defined and no product has had so far.
    pub(super) unused: Vec<SpecKey>,
}

/// Holds a draft's specs against the dictionary.
pub(super) fn check(
    draft: &ProductDraft,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> Result<Fitted, Vec<Rejection>> {
    let fitted = fit(draft.specs.iter().enumerate(), dictionary, units);
    if fitted.refused.is_empty() {
        return Ok(fitted);
    }
    let rejection = |(at, wrong): &(usize, vitrine_model::spec::SpecError)| {
        Rejection::new(format!("specs.{}", draft.specs[*at].key), wrong.to_string())
    };
    Err(fitted.refused.iter().map(rejection).collect())
}

impl ImportSession {
    /// Brings the dictionary up to date with what products teach. Gives whether it was as the
    /// caller took it to be; if another process was faster with a key, the dictionary is read again
    /// and the caller has to check again.
    pub(super) async fn learn(&mut self, taught: Taught) -> Result<bool, DomainError> {
        Ok(self.add_keys(taught.learnt).await? && self.use_keys(taught.unused).await?)
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

    /// From now on the type of these keys is fixed.
    async fn use_keys(&mut self, keys: Vec<SpecKey>) -> Result<bool, DomainError> {
        let keys = distinct(keys);
        if keys.is_empty() || !self.writes() {
            return Ok(true);
        }
        let used = self.store(|store| async move {
            let mut unit = store.begin_write().await?;
            let keys: Vec<&SpecKey> = keys.iter().collect();
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

    /// Sees what others have changed since the last batch, so that an import that takes long does
    /// not go on with keys that were merged or redefined, or suppliers that were renamed, meanwhile.
    pub(super) async fn see_changes(&mut self) -> Result<(), DomainError> {
        if !self.writes() {
            // What a dry run would have stored is known to nobody else.
            return Ok(());
        }
        self.suppliers.clear();
        self.catalog.refresh_reference().await?;
        if self.catalog.reference().version() != self.seen {
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
        self.seen = reference.version();
    }
}

fn distinct(mut keys: Vec<SpecKey>) -> Vec<SpecKey> {
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    keys.dedup_by(|a, b| a.key == b.key);
    keys
}
