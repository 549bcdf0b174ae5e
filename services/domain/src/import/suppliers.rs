//! Suppliers by their keys: the id that the source has for them, otherwise name and country. Missing
//! ones are created.
//!
//! Name and country of a supplier with an id follow its source. What the first line of a run says
//! holds for all of its lines, changed or not, so that importing a feed again changes nothing.

use std::collections::HashSet;

use vitrine_model::id::SupplierId;
use vitrine_model::import::{ProductDraft, SupplierDraft};
use vitrine_model::supplier::Supplier;
use vitrine_model::text::fold;

use super::products::MAX_TRIES;
use super::{ImportSession, Namesake};
use crate::DomainError;

impl ImportSession {
    /// Remembers the facts that the first lines have of suppliers with ids.
    pub(super) fn remember_first_facts(&mut self, drafts: &[ProductDraft]) {
        let named = drafts.iter().filter_map(|draft| draft.supplier.as_ref());
        for supplier in named.filter(|supplier| supplier.origin.is_some()) {
            let first = self.first_facts.entry(supplier.key());
            first.or_insert_with(|| supplier.clone());
        }
    }

    /// Finds these suppliers, and creates those that do not exist.
    pub(super) async fn find_or_create_suppliers(
        &mut self,
        drafts: &[&SupplierDraft],
    ) -> Result<(), DomainError> {
        let mut keys = HashSet::new();
        let unknown: Vec<SupplierDraft> = drafts
            .iter()
            .map(|draft| self.first_facts.get(&draft.key()).unwrap_or(draft))
            .filter(|draft| self.supplier(draft).is_none() && keys.insert(draft.key()))
            .cloned()
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let namesakes = self.read_suppliers(&unknown).await?;
        self.follow_sources(&unknown).await?;
        let new: Vec<Supplier> = unknown
            .iter()
            .filter(|draft| self.supplier(draft).is_none())
            .map(supplier)
            .collect();
        self.summarize(&new, &namesakes);
        if self.writes() && !new.is_empty() {
            let stored = new.clone();
            self.store(|store| async move { store.insert_suppliers(&stored).await })
                .await?;
            // Another process may have created it first; reading back returns the stored one.
            return self.read_suppliers(&unknown).await.map(drop);
        }
        self.know(new);
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
        self.suppliers.remove(&draft.key());
        self.find_or_create_suppliers(&[draft]).await?;
        Ok(self.supplier(draft))
    }

    /// The supplier of a draft, if the session knows it.
    pub(super) fn supplier(&self, draft: &SupplierDraft) -> Option<&Supplier> {
        self.suppliers.get(&draft.key())
    }

    fn know(&mut self, suppliers: impl IntoIterator<Item = Supplier>) {
        for supplier in suppliers {
            for key in supplier.keys() {
                self.suppliers.insert(key, supplier.clone());
            }
        }
    }

    /// Reads the suppliers of drafts; returns them, and others that have the same names.
    async fn read_suppliers(
        &mut self,
        drafts: &[SupplierDraft],
    ) -> Result<Vec<Supplier>, DomainError> {
        let keys: Vec<String> = drafts.iter().map(SupplierDraft::key).collect();
        let nameless = drafts.iter().filter(|draft| draft.origin.is_none());
        let names: Vec<String> = nameless.map(|draft| draft.name.clone()).collect();
        let wanted: HashSet<String> = keys.iter().cloned().collect();
        let found = self
            .store(|store| async move { store.get_suppliers_by_key(&keys, &names).await })
            .await?;
        let is_wanted = |one: &Supplier| one.keys().iter().any(|key| wanted.contains(key));
        self.know(found.iter().filter(|one| is_wanted(one)).cloned());
        Ok(found)
    }

    /// Changes stored suppliers with ids to what their source says now.
    async fn follow_sources(&mut self, drafts: &[SupplierDraft]) -> Result<(), DomainError> {
        for draft in drafts.iter().filter(|draft| draft.origin.is_some()) {
            for _ in 0..MAX_TRIES {
                let facts = draft.facts();
                let stored = self.supplier(draft).filter(|stored| stored.said() != facts);
                let Some(before) = stored.cloned() else {
                    break;
                };
                let after = before.with_feed_facts(&facts, self.catalog.now());
                let written = after.clone();
                let done = !self.writes()
                    || self
                        .store(|store| async move {
                            store.apply_supplier(&written, before.version).await
                        })
                        .await?;
                if done {
                    self.know([after]);
                } else {
                    self.read_suppliers(std::slice::from_ref(draft)).await?;
                }
            }
        }
        Ok(())
    }

    /// Adds new suppliers to the summary, with those that are stored and have the same name.
    fn summarize(&mut self, new: &[Supplier], stored: &[Supplier]) {
        for supplier in new {
            self.summary.new_suppliers.push(supplier.name.clone());
            if supplier.origin.is_some() {
                continue;
            }
            let namesakes: Vec<SupplierId> = stored
                .iter()
                .filter(|other| fold(&other.name) == fold(&supplier.name))
                .filter(|other| !self.created_suppliers.contains(&other.id))
                .map(|other| other.id)
                .collect();
            if !namesakes.is_empty() {
                let others = stored.iter().filter(|other| namesakes.contains(&other.id));
                self.summary.namesakes.push(Namesake {
                    new: supplier.facts(),
                    stored: others.map(Supplier::facts).collect(),
                });
            }
        }
        let created = new.iter().map(|supplier| supplier.id);
        self.created_suppliers.extend(created);
    }
}

fn supplier(draft: &SupplierDraft) -> Supplier {
    let facts = draft.facts();
    Supplier {
        id: SupplierId::random(),
        name: facts.name,
        country: facts.country,
        origin: draft.origin.clone(),
        said: None,
        version: 1,
        propagated_version: 1,
        changed_at: None,
    }
}
