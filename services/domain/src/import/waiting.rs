//! Drafts that say some fields of a product which does not exist yet.
//!
//! They wait under the SKU. The first one reserves the id of the product. A draft with name, kind
//! and category creates the product from all of them, in one transaction.

use std::collections::{BTreeMap, HashMap};

use vitrine_model::contribution::Contribution;
use vitrine_model::id::ProductId;
use vitrine_model::import::{ExternalRef, LineOutcome, ProductDraft, Rejection};
use vitrine_model::product::{Product, ProductStatus};
use vitrine_storage::StorageError;
use vitrine_storage::contributions::Contributions;
use vitrine_storage::products::Encoding;

use super::ImportSession;
use super::merge::{Merged, Prepared};
use super::products::{Existing, Items, KnownSource, MAX_TRIES, Plan, plan};
use crate::DomainError;

/// How inserting an awaited product ended.
enum Arrival {
    Done,
    /// What waits has changed, or exists as a product now.
    Outdated,
    SlugTaken,
}

impl ImportSession {
    /// Stores drafts that are the first ones for their SKU.
    pub(super) async fn wait_for_products(
        &mut self,
        new: Vec<(usize, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        if new.is_empty() {
            return Ok(());
        }
        let refused = self.insert_waiting(new.iter().map(|(_, one)| one)).await?;
        for ((at, prepared), refused) in new.into_iter().zip(refused) {
            let outcome = if refused {
                self.settle(&prepared).await?
            } else {
                LineOutcome::Waiting
            };
            outcomes.insert(at, outcome);
        }
        Ok(())
    }

    /// Adds drafts to those that wait for a product, or creates the products.
    pub(super) async fn join_waiting(
        &mut self,
        joining: Vec<(usize, ProductId, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        for (at, id, prepared) in joining {
            let outcome = match self.join(id, &prepared).await? {
                Some(outcome) => outcome,
                None => self.settle(&prepared).await?,
            };
            outcomes.insert(at, outcome);
        }
        Ok(())
    }

    /// Takes back what waits under another SKU than the one that a line has now.
    pub(super) async fn leave_other_skus(
        &mut self,
        drafts: impl Iterator<Item = &ProductDraft>,
        known: &mut HashMap<ExternalRef, KnownSource>,
    ) -> Result<(), DomainError> {
        for draft in drafts {
            let Some(source) = known.get(&draft.source) else {
                continue;
            };
            let waits = source.waiting_sku.as_ref();
            if waits.is_none_or(|sku| draft.sku.as_ref().is_none_or(|own| own == sku)) {
                continue;
            }
            let id = source.id;
            if self.leave(id, &draft.source).await? {
                known.remove(&draft.source);
            }
        }
        Ok(())
    }

    /// Takes back what a source says of a product that waits. Returns whether it no longer says
    /// anything.
    async fn leave(&mut self, id: ProductId, source: &ExternalRef) -> Result<bool, DomainError> {
        if !self.writes() {
            return Ok(true);
        }
        for _ in 0..MAX_TRIES {
            let Some(waiting) = self.waiting(id).await? else {
                return Ok(false);
            };
            let is_other = |one: &&Contribution| {
                let of = &one.source;
                (&of.system, &of.external_id) != (&source.system, &source.external_id)
            };
            let others: Vec<Contribution> = waiting.all.iter().filter(is_other).cloned().collect();
            let left = self
                .store(|store| async move { store.apply_waiting(&waiting, &others).await })
                .await?;
            if left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Decides again about a draft whose write was refused, because another process wrote the same
    /// product or SKU first.
    pub(super) async fn settle(
        &mut self,
        prepared: &Prepared<'_>,
    ) -> Result<LineOutcome, DomainError> {
        for _ in 0..MAX_TRIES {
            let draft = &prepared.draft;
            let found = Existing {
                known: self.find_sources(std::iter::once(&draft.source)).await?,
                skus: self.find_skus(vec![prepared.sku()]).await?,
                items: Items::new(),
            };
            match plan(draft, &prepared.digest, &found) {
                Err(outcome) => return Ok(outcome),
                Ok(Plan::Create) => break,
                Ok(Plan::Update(id)) => return self.update_product(id, prepared).await,
                Ok(Plan::Wait) => {
                    if self.insert_waiting(std::iter::once(prepared)).await? == [false] {
                        return Ok(LineOutcome::Waiting);
                    }
                }
                Ok(Plan::Join(id)) => {
                    if let Some(outcome) = self.join(id, prepared).await? {
                        return Ok(outcome);
                    }
                }
            }
        }
        let reason = "another process changed its product or sku meanwhile; import the line again";
        Ok(LineOutcome::Rejected(vec![Rejection::new("sku", reason)]))
    }

    /// Stores drafts as the first ones for their SKU; returns for each whether its SKU or source is
    /// taken.
    async fn insert_waiting<'p>(
        &mut self,
        new: impl Iterator<Item = &'p Prepared<'p>>,
    ) -> Result<Vec<bool>, DomainError> {
        let now = self.catalog.now();
        let first = |prepared: &Prepared<'_>| Contributions {
            product: ProductId::random(),
            waiting_sku: Some(prepared.sku()),
            revision: 1,
            all: prepared.among(&[], now),
        };
        let waiting: Vec<Contributions> = new.map(first).collect();
        if !self.writes() {
            return Ok(waiting
                .iter()
                .map(|one| self.simulate_waiting(one))
                .collect());
        }
        let refused = self
            .store(|store| async move { store.insert_waiting(&waiting).await })
            .await?;
        Ok(refused.iter().map(Option::is_some).collect())
    }

    /// Records what a dry run would have stored; returns whether its SKU is taken.
    fn simulate_waiting(&mut self, waiting: &Contributions) -> bool {
        let Some(sku) = &waiting.waiting_sku else {
            return false;
        };
        if self.simulated.skus.contains_key(sku) {
            return true;
        }
        for source in waiting.all.iter().map(|one| &one.source) {
            let at = ExternalRef {
                system: source.system.clone(),
                external_id: source.external_id.clone(),
            };
            let owner = (waiting.product, source.system.clone());
            self.simulated.skus.insert(sku.clone(), owner);
            let known = (waiting.product, source.digest.clone());
            self.simulated.products.insert(at, known);
        }
        self.simulated.waiting.insert(waiting.product, sku.clone());
        false
    }

    /// Adds a draft to those that wait for a product, or creates the product; `None` if it has
    /// arrived or what waits has changed meanwhile.
    async fn join(
        &mut self,
        id: ProductId,
        prepared: &Prepared<'_>,
    ) -> Result<Option<LineOutcome>, DomainError> {
        let found = self.waiting(id).await?;
        let waiting = match found {
            Some(waiting) => waiting,
            None if self.writes() => return Ok(None),
            // Only this dry run knows what waits.
            None => Contributions {
                product: id,
                waiting_sku: Some(prepared.sku()),
                revision: 1,
                all: Vec::new(),
            },
        };
        let all = prepared.among(&waiting.all, self.catalog.now());
        if !prepared.draft.is_partial() {
            return self.arrive(waiting, all, prepared).await;
        }
        if !self.writes() {
            let own = vec![prepared.contribution(self.catalog.now())];
            let after = Contributions {
                all: own,
                ..waiting
            };
            self.simulated.skus.remove(&prepared.sku());
            self.simulate_waiting(&after);
            return Ok(Some(LineOutcome::Waiting));
        }
        let joined = self
            .store(|store| async move {
                match store.apply_waiting(&waiting, &all).await {
                    Err(StorageError::Conflict { .. }) => Ok(false),
                    other => other,
                }
            })
            .await?;
        Ok(joined.then_some(LineOutcome::Waiting))
    }

    /// What waits for a product; `None` if the product exists.
    pub(super) async fn waiting(
        &self,
        id: ProductId,
    ) -> Result<Option<Contributions>, DomainError> {
        let found = self
            .store(move |store| async move { store.get_many_contributions(&[id]).await })
            .await?;
        let mut found = found.into_iter();
        Ok(found.find(|found| found.waiting_sku.is_some()))
    }

    /// Creates a product from what has waited for it, and the draft that has name, kind and
    /// category.
    async fn arrive(
        &mut self,
        waiting: Contributions,
        all: Vec<Contribution>,
        prepared: &Prepared<'_>,
    ) -> Result<Option<LineOutcome>, DomainError> {
        let merged = Merged::new(&[], &all, self.names());
        let supplier = self.contributed_supplier(merged.new_supplier(), prepared);
        let supplier = supplier.await?;
        for tries in 0..MAX_TRIES {
            let own = [(0, prepared.clone())];
            let slug = self.free_slugs(&own, tries).await?.remove(0);
            let blank = prepared.create(waiting.product, slug, self.catalog.now());
            let mut product = merged.apply(blank, supplier.clone(), self.names());
            product.sku = waiting.waiting_sku.clone().unwrap_or(product.sku);
            let listed = product.status != ProductStatus::Draft;
            product.listed_at = listed.then_some(product.created_at);
            if let Some(refused) = self.too_large(&product) {
                return Ok(Some(LineOutcome::Rejected(vec![refused])));
            }
            if !self.publish_keys(&product).await? {
                return Ok(None);
            }
            if !self.writes() {
                self.simulated.waiting.remove(&product.id);
                self.simulated.skus.remove(&product.sku);
                product.sources.retain(|source| prepared.is_from(source));
                self.simulate_product(&product);
                return Ok(Some(LineOutcome::Created));
            }
            match self.insert_awaited(product, &waiting, &all).await? {
                Arrival::Done => return Ok(Some(LineOutcome::Created)),
                Arrival::Outdated => return Ok(None),
                Arrival::SlugTaken => {}
            }
        }
        Ok(None)
    }

    async fn insert_awaited(
        &self,
        product: Product,
        waiting: &Contributions,
        all: &[Contribution],
    ) -> Result<Arrival, DomainError> {
        let words = self.catalog.insert_words(std::slice::from_ref(&product));
        words.await?;
        let (reference, currency) = (self.catalog.reference(), self.catalog.currency());
        let (waiting, all) = (waiting.clone(), all.to_vec());
        self.store(move |store| async move {
            let encoding = Encoding {
                units: &reference.units,
                currency,
            };
            let inserted = store.insert_awaited_product(&product, &waiting, &all, encoding);
            match inserted.await {
                Ok(true) => Ok(Arrival::Done),
                Err(StorageError::Conflict { key }) if key == "slug" => Ok(Arrival::SlugTaken),
                Ok(false) | Err(StorageError::Conflict { .. }) => Ok(Arrival::Outdated),
                Err(error) => Err(error),
            }
        })
        .await
    }
}
