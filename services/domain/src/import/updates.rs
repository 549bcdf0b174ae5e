//! Updating products that exist.

use std::collections::BTreeMap;

use vitrine_model::contribution::{Contribution, ProductField};
use vitrine_model::history::ChangedBy;
use vitrine_model::id::{ProductId, SupplierId};
use vitrine_model::import::{LineOutcome, Rejection};
use vitrine_model::overrides::OwnedField;
use vitrine_model::picture::PictureUse;
use vitrine_model::product::{Details, Product, ProductStatus};
use vitrine_model::spec::KeyUsage;
use vitrine_model::supplier::SupplierExtract;
use vitrine_storage::contributions::{Contributions, SkuExchange};
use vitrine_storage::products::Encoding;
use vitrine_storage::{StorageError, backoff};

use super::ImportSession;
use super::merge::{Merged, Prepared, present};
use super::products::sku_taken;
use crate::DomainError;
use crate::specs::less_used;

/// How often an update is tried while other writers change the product: as often as a mutation.
const MAX_UPDATES: u32 = 13;

/// A product as it is to be stored.
struct Change {
    product: Product,
    /// What its sources say, if that does not follow from the product.
    contributions: Option<Vec<Contribution>>,
    /// What has waited for its new SKU.
    awaited: Option<Contributions>,
    /// The fields that people keep.
    kept: Vec<OwnedField>,
}

/// The result of an update.
enum UpdateOutcome {
    Done,
    /// The product has changed since it was read.
    Outdated,
    /// Another product has the SKU or the source.
    Taken,
}

impl ImportSession {
    pub(super) async fn update_products(
        &mut self,
        old: Vec<(usize, ProductId, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        let mut waiting = old;
        loop {
            let all = waiting.len();
            let mut refused = Vec::new();
            for (at, id, prepared) in waiting {
                let outcome = self.update_product(id, &prepared).await?;
                if wants_taken_sku(&outcome) {
                    refused.push((at, id, prepared));
                }
                outcomes.insert(at, outcome);
            }
            // A product whose SKU another one wanted may have got its own meanwhile.
            if refused.is_empty() || refused.len() == all {
                return self.exchange_skus(refused, outcomes).await;
            }
            waiting = refused;
        }
    }

    /// Updates products that exchange their SKUs, which is possible only at once.
    async fn exchange_skus(
        &mut self,
        refused: Vec<(usize, ProductId, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        let mut waiting: BTreeMap<String, (usize, SkuExchange, u64)> = BTreeMap::new();
        for (at, id, prepared) in refused {
            let found = self
                .store(move |store| async move {
                    store.get_many_products(&[id], &ProductStatus::ALL).await
                })
                .await?;
            let Some(view) = found.first() else { continue };
            let before = view.product()?;
            let (sku_before, expected) = (before.sku.clone(), before.revision);
            let Ok(change) = self.change(before, &prepared, None).await? else {
                continue;
            };
            let exchange = SkuExchange {
                product: change.product,
                sku_before: sku_before.clone(),
                expected,
                by: changed_by(&change.kept, &prepared.draft.source.system),
                contributions: change.contributions,
            };
            waiting.insert(sku_before, (at, exchange, change.kept.len() as u64));
        }
        while let Some(ring) = take_ring(&mut waiting) {
            let exchanges = ring
                .iter()
                .map(|(_, exchange, _)| exchange.clone())
                .collect();
            if self.apply_exchange(exchanges).await? {
                for (at, _, kept) in ring {
                    outcomes.insert(at, LineOutcome::Updated);
                    self.summary.kept_by_people += kept;
                }
            }
        }
        Ok(())
    }

    async fn apply_exchange(&self, exchanges: Vec<SkuExchange>) -> Result<bool, DomainError> {
        for one in &exchanges {
            self.prepare_write(&one.product).await?;
        }
        let (reference, currency) = (self.catalog.reference(), self.catalog.currency());
        self.store(move |store| async move {
            let encoding = Encoding {
                units: &reference.units,
                currency,
            };
            match store.exchange_skus(&exchanges, encoding).await {
                Err(StorageError::Conflict { .. }) => Ok(false),
                applied => applied,
            }
        })
        .await
    }

    pub(super) async fn update_product(
        &mut self,
        id: ProductId,
        prepared: &Prepared<'_>,
    ) -> Result<LineOutcome, DomainError> {
        let mut prepared = prepared.clone();
        let mut awaited = None;
        for nth in 0..MAX_UPDATES {
            if nth > 0 {
                tokio::time::sleep(backoff(nth)).await;
            }
            let found = self
                .store(move |store| async move {
                    store.get_many_products(&[id], &ProductStatus::ALL).await
                })
                .await?;
            let Some(view) = found.first() else {
                return Ok(self.simulate_update(id, &prepared));
            };
            let before = view.product()?;
            let expected = before.revision;
            let change = self.change(before, &prepared, awaited.take());
            let change = match change.await? {
                Ok(change) => change,
                Err(refused) => return Ok(LineOutcome::Rejected(vec![refused])),
            };
            if !self.publish_keys(&change.product).await? {
                continue;
            }
            if !self.writes() {
                self.summary.kept_by_people += change.kept.len() as u64;
                return Ok(self.simulate_update(id, &prepared));
            }
            let (sku, kept) = (change.product.sku.clone(), change.kept.len());
            match self
                .apply(change, expected, &prepared.draft.source.system)
                .await?
            {
                UpdateOutcome::Done => {
                    self.summary.kept_by_people += kept as u64;
                    return Ok(LineOutcome::Updated);
                }
                UpdateOutcome::Taken => {
                    awaited = self.awaited(&sku, &prepared).await?;
                    if awaited.is_none() {
                        return Ok(LineOutcome::Rejected(vec![sku_taken(&sku)]));
                    }
                }
                UpdateOutcome::Outdated => {
                    let now = self.catalog.now();
                    let supplier = self.reread_supplier(prepared.draft.supplier.as_ref());
                    let supplier = supplier.await?.map(|supplier| supplier.extract(now));
                    prepared.supplier = supplier;
                }
            }
        }
        let reason = "the product kept changing while it was imported; import the line again";
        Ok(LineOutcome::Rejected(vec![Rejection::new(
            "revision", reason,
        )]))
    }

    /// Records what a dry run would have stored of a product that exists, or would exist.
    fn simulate_update(&mut self, id: ProductId, prepared: &Prepared<'_>) -> LineOutcome {
        if !self.writes() {
            let known = (id, prepared.digest.clone());
            let source = prepared.draft.source.clone();
            self.simulated.products.insert(source, known);
        }
        LineOutcome::Updated
    }

    /// Applies a draft to a product; `Err` says why it cannot be.
    async fn change(
        &self,
        product: Product,
        prepared: &Prepared<'_>,
        awaited: Option<Contributions>,
    ) -> Result<Result<Change, Rejection>, DomainError> {
        let change = if awaited.is_some() || prepared.is_merged_into(&product) {
            self.merged(product, prepared, awaited).await?
        } else {
            Ok(Change {
                product: prepared.update(product, self.catalog.now()),
                contributions: None,
                awaited: None,
                kept: Vec::new(),
            })
        };
        Ok(
            change.and_then(|change| match self.too_large(&change.product) {
                Some(refused) => Err(refused),
                None => Ok(change),
            }),
        )
    }

    /// Applies a draft to a product whose fields have several owners.
    async fn merged(
        &self,
        product: Product,
        prepared: &Prepared<'_>,
        awaited: Option<Contributions>,
    ) -> Result<Result<Change, Rejection>, DomainError> {
        let (id, now) = (product.id, self.catalog.now());
        // Read after the product: they change with its revision only.
        let stored = self
            .store(move |store| async move { store.get_many_contributions(&[id]).await })
            .await?;
        let stored = stored.into_iter().next();
        let before = stored.map_or_else(|| present(&product), |stored| stored.all);
        let joining = awaited.iter().flat_map(|awaited| &awaited.all);
        let others: Vec<Contribution> = before.iter().chain(joining).cloned().collect();
        let after = prepared.among(&others, now);
        let merged = Merged::new(&before, &after, self.names());
        if merged.loses_required_field() {
            return Ok(Err(loses_required_field(prepared)));
        }
        let supplier = self.contributed_supplier(merged.new_supplier(), prepared);
        let supplier = supplier.await?;
        let old = product.clone();
        let mut product = merged.apply(product, supplier, self.names());
        if loses_edited_price(&old, &product) {
            return Ok(Err(edited_price()));
        }
        let sources = std::mem::replace(&mut product.sources, old.sources.clone());
        if product != old {
            product.updated_at = now;
        }
        product.sources = sources;
        product.revision += 1;
        let is_alone = after.len() == 1 && !old.overrides.has(&OwnedField::Sku);
        let own_sku = prepared.draft.sku.clone().filter(|_| is_alone);
        product.sku = awaited
            .as_ref()
            .and_then(|awaited| awaited.waiting_sku.clone())
            .or(own_sku)
            .unwrap_or(product.sku);
        Ok(Ok(Change {
            kept: merged.kept(&product, self.names()),
            product,
            contributions: Some(after),
            awaited,
        }))
    }

    /// What waits for the SKU that a product gets, unless another line of the same feed does.
    async fn awaited(
        &self,
        sku: &str,
        prepared: &Prepared<'_>,
    ) -> Result<Option<Contributions>, DomainError> {
        let found = self.find_skus(vec![sku.to_owned()]).await?;
        let Some(id) = found
            .get(sku)
            .filter(|found| found.waiting)
            .map(|found| found.id)
        else {
            return Ok(None);
        };
        let system = &prepared.draft.source.system;
        let waiting = self.waiting(id).await?;
        Ok(waiting.filter(|waiting| {
            let mut sources = waiting.all.iter().map(|one| &one.source);
            sources.all(|source| source.system != *system)
        }))
    }

    /// The current extract of a supplier that a source of a product names.
    pub(super) async fn contributed_supplier(
        &self,
        id: Option<SupplierId>,
        prepared: &Prepared<'_>,
    ) -> Result<Option<SupplierExtract>, DomainError> {
        let Some(id) = id else {
            return Ok(None);
        };
        if let Some(own) = prepared.supplier.as_ref().filter(|own| own.id == id) {
            return Ok(Some(own.clone()));
        }
        let found = self
            .store(move |store| async move { store.get_many_suppliers(&[id]).await })
            .await?;
        let now = self.catalog.now();
        Ok(found.first().map(|supplier| supplier.extract(now)))
    }

    /// Raises the usage of the keys of a product, which may come from several sources. Returns
    /// false if the dictionary has changed meanwhile.
    pub(super) async fn publish_keys(&mut self, product: &Product) -> Result<bool, DomainError> {
        let usage = KeyUsage::by(product.status);
        let keys = less_used(&product.specs, usage, &self.dictionary);
        self.use_keys(keys).await
    }

    /// Stores what a product refers to.
    async fn prepare_write(&self, product: &Product) -> Result<(), DomainError> {
        let catalog = &self.catalog;
        catalog.insert_words(std::slice::from_ref(product)).await?;
        let shown = (PictureUse::Product(product.id), &*product.media);
        let shown = std::iter::once(shown);
        catalog.claim_imported_pictures(shown).await.map(drop)
    }

    /// Stores an update by an import from a source system.
    async fn apply(
        &self,
        change: Change,
        expected: i64,
        system: &str,
    ) -> Result<UpdateOutcome, DomainError> {
        let Change {
            product,
            contributions,
            awaited,
            kept,
        } = change;
        self.prepare_write(&product).await?;
        let (reference, currency) = (self.catalog.reference(), self.catalog.currency());
        let by = changed_by(&kept, system);
        self.store(move |store| async move {
            let from = (expected, &by);
            let encoding = Encoding {
                units: &reference.units,
                currency,
            };
            let applied = match contributions {
                None => store.apply_product_content(&product, from, encoding).await,
                Some(all) => {
                    let all = (&all[..], awaited.as_ref());
                    store
                        .apply_merged_product(&product, from, all, encoding)
                        .await
                }
            };
            match applied {
                Ok(true) => Ok(UpdateOutcome::Done),
                Ok(false) => Ok(UpdateOutcome::Outdated),
                Err(StorageError::Conflict { .. }) => Ok(UpdateOutcome::Taken),
                Err(error) => Err(error),
            }
        })
        .await
    }
}

/// Who changes a product by an import, and which fields people keep.
fn changed_by(kept: &[OwnedField], system: &str) -> ChangedBy {
    ChangedBy {
        kept: kept.iter().map(ToString::to_string).collect(),
        ..ChangedBy::import(system)
    }
}

/// Whether an update was refused because another product has the SKU.
fn wants_taken_sku(outcome: &LineOutcome) -> bool {
    let LineOutcome::Rejected(reasons) = outcome else {
        return false;
    };
    reasons.iter().any(|reason| reason.field == "sku")
}

/// Takes products of which each wants the SKU that the next one has, and the last one that of the first;
/// `None` if there are none. They are found by the SKUs that they have.
fn take_ring<T>(
    waiting: &mut BTreeMap<String, (usize, SkuExchange, T)>,
) -> Option<Vec<(usize, SkuExchange, T)>> {
    let ring_from = |first: &String| {
        let mut ring = vec![first.clone()];
        for _ in 0..waiting.len() {
            let (_, last, _) = waiting.get(ring.last()?)?;
            if last.product.sku == *first {
                return Some(ring);
            }
            ring.push(last.product.sku.clone());
        }
        None
    };
    let ring = waiting.keys().find_map(ring_from)?;
    ring.iter().map(|sku| waiting.remove(sku)).collect()
}

/// Whether a product would become a bundle, whose price is computed, although people have set its price.
fn loses_edited_price(before: &Product, after: &Product) -> bool {
    let is_bundle = |product: &Product| matches!(product.details, Details::Bundle(_));
    let price = OwnedField::Field(ProductField::Price);
    is_bundle(after) && !is_bundle(before) && before.overrides.has(&price)
}

fn edited_price() -> Rejection {
    let reason = "the price of a bundle is computed, and people have set that of this product: give the price back to the feeds first";
    Rejection::new("kind", reason)
}

/// The reason for rejecting a draft that takes back what only its source says.
fn loses_required_field(prepared: &Prepared<'_>) -> Rejection {
    let reason = format!(
        "{} has described the whole product, and no other feed says its name, kind and category; \
         a feed of some fields needs a system of its own, and a sku",
        prepared.draft.source.system
    );
    Rejection::new("system", reason)
}
