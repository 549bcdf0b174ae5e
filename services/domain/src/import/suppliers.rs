//! Suppliers by name; missing ones are created.

use vitrine_model::id::SupplierId;
use vitrine_model::import::SupplierDraft;
use vitrine_model::supplier::Supplier;
use vitrine_model::text::{collapse, fold};

use super::ImportSession;
use crate::DomainError;

impl ImportSession {
    /// Finds these suppliers, and creates those that do not exist.
    pub(super) async fn find_or_create_suppliers(
        &mut self,
        drafts: &[&SupplierDraft],
    ) -> Result<(), DomainError> {
        let mut unknown: Vec<&SupplierDraft> = drafts
            .iter()
            .copied()
            .filter(|draft| self.supplier(draft).is_none())
            .collect();
        unknown.sort_by_key(|draft| fold(&draft.name));
        unknown.dedup_by_key(|draft| fold(&draft.name));
        if unknown.is_empty() {
            return Ok(());
        }
        self.read_suppliers(&unknown).await?;
        let new: Vec<Supplier> = unknown
            .iter()
            .filter(|draft| self.supplier(draft).is_none())
            .map(|draft| supplier(draft))
            .collect();
        self.summary
            .new_suppliers
            .extend(new.iter().map(|supplier| supplier.name.clone()));
        if self.writes() && !new.is_empty() {
            let stored = new.clone();
            self.store(|store| async move { store.insert_suppliers(&stored).await })
                .await?;
            // Another process may have created it first; reading back returns the stored one.
            return self.read_suppliers(&unknown).await;
        }
        self.suppliers.extend(
            new.into_iter()
                .map(|supplier| (fold(&supplier.name), supplier)),
        );
        Ok(())
    }

    /// Reads the supplier of a draft again, because a product has a newer copy than this session.
    pub(super) async fn reread_supplier(
        &mut self,
        draft: Option<&SupplierDraft>,
    ) -> Result<Option<&Supplier>, DomainError> {
        let Some(draft) = draft else {
            return Ok(None);
        };
        self.suppliers.remove(&fold(&draft.name));
        self.find_or_create_suppliers(&[draft]).await?;
        Ok(self.supplier(draft))
    }

    /// The supplier of this name, if the session knows it.
    pub(super) fn supplier(&self, draft: &SupplierDraft) -> Option<&Supplier> {
        self.suppliers.get(&fold(&draft.name))
    }

    async fn read_suppliers(&mut self, drafts: &[&SupplierDraft]) -> Result<(), DomainError> {
        let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
        let found = self
            .store(|store| async move { store.get_suppliers_by_name(&names).await })
            .await?;
        self.suppliers.extend(
            found
                .into_iter()
                .map(|supplier| (fold(&supplier.name), supplier)),
        );
        Ok(())
    }
}

fn supplier(draft: &SupplierDraft) -> Supplier {
    Supplier {
        id: SupplierId::random(),
        name: collapse(&draft.name),
        country: draft.country.clone(),
        version: 1,
        propagated_version: 1,
        changed_at: None,
    }
}
