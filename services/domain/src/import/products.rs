//! Importing products.

use std::collections::{BTreeMap, HashMap, HashSet};

use sha2::{Digest as _, Sha256};
use vitrine_model::id::ProductId;
use vitrine_model::import::{ExternalRef, LineOutcome, ProductDraft, Rejection, digest};
use vitrine_model::product::{
    Bundle, BundleItem, Details, MOST_NAME_CHARACTERS, Media, Product, ProductStatus,
};
use vitrine_model::spec::{Spec, SpecKey, SpecValue};
use vitrine_model::text::slug;
use vitrine_storage::products::{Encoding, KnownProduct};

use super::merge::{Prepared, sku};
use super::{ImportSession, check, keys};
use crate::DomainError;

/// The most bytes of a product's admin-written part, tokens included, so that computed data always
/// fits beside it.
pub(super) const MOST_CONTENT_BYTES: usize = 40_000;
/// The longest name, in bytes; other short fields are no longer.
const MOST_NAME_BYTES: usize = 4 * MOST_NAME_CHARACTERS;
/// How often something is tried again because another process was faster.
const MOST_TRIES: usize = 4;

/// What is to be done with a draft.
enum Plan {
    Create,
    Update(ProductId),
}

/// A draft that passed every check.
struct Passed<'a> {
    at: usize,
    draft: &'a ProductDraft,
    digest: String,
    specs: Vec<Spec>,
    plan: Plan,
}

impl ImportSession {
    /// Imports products; the outcomes are in the order of the drafts.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails. Drafts before may have been stored; importing them
    /// again leaves them alone.
    pub async fn products(
        &mut self,
        drafts: Vec<ProductDraft>,
    ) -> Result<Vec<LineOutcome>, DomainError> {
        let mut outcomes: BTreeMap<usize, LineOutcome> = BTreeMap::new();
        let mut waiting: Vec<usize> = (0..drafts.len()).collect();
        while !waiting.is_empty() {
            let (round, later) = distinct(&drafts, waiting);
            outcomes.extend(self.product_round(&drafts, &round).await?);
            waiting = later;
        }
        Ok(outcomes.into_values().collect())
    }

    /// Imports drafts of different products.
    async fn product_round(
        &mut self,
        drafts: &[ProductDraft],
        round: &[usize],
    ) -> Result<BTreeMap<usize, LineOutcome>, DomainError> {
        let mut outcomes = BTreeMap::new();
        let known = self
            .known_sources(round.iter().map(|at| &drafts[*at].source))
            .await?;
        let skus = self.known_skus(round.iter().map(|at| &drafts[*at])).await?;
        let passed = self
            .check_products(drafts, round, &known, &skus, &mut outcomes)
            .await?;
        let prepared = self.prepare(passed, &mut outcomes).await?;
        let (new, old): (Vec<_>, Vec<_>) = prepared
            .into_iter()
            .partition(|(_, plan, _)| matches!(plan, Plan::Create));
        self.create_products(new, &mut outcomes).await?;
        self.update_products(old, &mut outcomes).await?;
        Ok(outcomes)
    }

    /// Sorts out what is refused and what says nothing new, and learns new keys.
    async fn check_products<'a>(
        &mut self,
        drafts: &'a [ProductDraft],
        round: &[usize],
        known: &HashMap<ExternalRef, (ProductId, String)>,
        skus: &HashMap<String, KnownProduct>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<Vec<Passed<'a>>, DomainError> {
        for _ in 0..MOST_TRIES {
            let mut passed = Vec::new();
            let mut learnt: Vec<SpecKey> = Vec::new();
            let mut dictionary = self.dictionary.clone();
            for at in round {
                let draft = &drafts[*at];
                let outcome = classify(draft, known, skus);
                let (plan, digest) = match outcome {
                    Err(outcome) => {
                        outcomes.insert(*at, outcome);
                        continue;
                    }
                    Ok(planned) => planned,
                };
                let reference = self.catalog.reference();
                let refused = check::product(draft, &reference.units);
                let checked = if refused.is_empty() {
                    keys::check(draft, &dictionary, &reference.units)
                } else {
                    Err(refused)
                };
                match checked {
                    Err(refused) => drop(outcomes.insert(*at, LineOutcome::Rejected(refused))),
                    Ok(checked) => {
                        checked
                            .learnt
                            .iter()
                            .for_each(|key| dictionary.add(key.clone()));
                        learnt.extend(checked.learnt);
                        passed.push(Passed {
                            at: *at,
                            draft,
                            digest,
                            specs: checked.specs,
                            plan,
                        });
                    }
                }
            }
            if self.learn(learnt).await? {
                return Ok(passed);
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Finds or makes what drafts name: categories, suppliers, the products of bundles.
    async fn prepare<'a>(
        &mut self,
        passed: Vec<Passed<'a>>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<Vec<(usize, Plan, Prepared<'a>)>, DomainError> {
        let paths: Vec<&[String]> = passed.iter().map(|p| p.draft.category.as_slice()).collect();
        let mut categories = None;
        for _ in 0..MOST_TRIES {
            categories = self.categories_at(&paths).await?;
            if categories.is_some() {
                break;
            }
        }
        let categories = categories.ok_or(DomainError::Unavailable(None))?;
        let suppliers: Vec<_> = passed
            .iter()
            .filter_map(|p| p.draft.supplier.as_ref())
            .collect();
        self.know_suppliers(&suppliers).await?;
        let now = self.catalog.now();
        let items = self.bundle_items(&passed).await?;
        let mut prepared = Vec::with_capacity(passed.len());
        for (one, category) in passed.into_iter().zip(categories) {
            let bundle = match bundle(one.draft, &items) {
                Ok(bundle) => bundle,
                Err(refused) => {
                    outcomes.insert(one.at, LineOutcome::Rejected(vec![refused]));
                    continue;
                }
            };
            let supplier = one
                .draft
                .supplier
                .as_ref()
                .and_then(|draft| self.supplier(draft));
            let supplier = supplier.map(|supplier| supplier.extract(now));
            let Passed {
                at,
                draft,
                digest,
                specs,
                plan,
            } = one;
            prepared.push((
                at,
                plan,
                Prepared {
                    draft,
                    digest,
                    specs,
                    category,
                    supplier,
                    bundle,
                },
            ));
        }
        Ok(prepared)
    }

    async fn create_products(
        &mut self,
        new: Vec<(usize, Plan, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        let now = self.catalog.now();
        let mut waiting: Vec<(usize, Prepared<'_>)> =
            new.into_iter().map(|(at, _, p)| (at, p)).collect();
        for suffix in 0..MOST_TRIES {
            if waiting.is_empty() {
                return Ok(());
            }
            let slugs = self.free_slugs(&waiting, suffix).await?;
            let mut products = Vec::with_capacity(waiting.len());
            let mut ready = Vec::with_capacity(waiting.len());
            for ((at, prepared), slug) in waiting.drain(..).zip(slugs) {
                let product = prepared.create(ProductId::random(), slug, now);
                if let Some(refused) = self.too_large(&product) {
                    drop(outcomes.insert(at, LineOutcome::Rejected(vec![refused])));
                } else {
                    products.push(product);
                    ready.push((at, prepared));
                }
            }
            let refused = self.insert_products(products).await?;
            for ((at, prepared), refused) in ready.into_iter().zip(refused) {
                match refused.as_deref() {
                    None => drop(outcomes.insert(at, LineOutcome::Created)),
                    Some("slug") => waiting.push((at, prepared)),
                    Some("sku") => {
                        let reason = format!("another product has the sku {}", prepared.sku());
                        let refused = Rejection::new("sku", reason);
                        outcomes.insert(at, LineOutcome::Rejected(vec![refused]));
                    }
                    // Another import of the same feed was faster.
                    Some(_) => drop(outcomes.insert(at, LineOutcome::Unchanged)),
                }
            }
        }
        for (at, _) in waiting {
            let refused = Rejection::new("name", "no free slug was found for the name");
            outcomes.insert(at, LineOutcome::Rejected(vec![refused]));
        }
        Ok(())
    }

    async fn insert_products(
        &mut self,
        products: Vec<Product>,
    ) -> Result<Vec<Option<String>>, DomainError> {
        if !self.writes() {
            let imagined = products.iter().flat_map(|product| {
                product.sources.iter().map(|source| {
                    let at = ExternalRef {
                        system: source.system.clone(),
                        external_id: source.external_id.clone(),
                    };
                    (at, (product.id, source.digest.clone()))
                })
            });
            self.imagined.products.extend(imagined);
            let refused = products
                .into_iter()
                .map(|product| (!self.imagined.skus.insert(product.sku)).then(|| "sku".to_owned()));
            return Ok(refused.collect());
        }
        let (reference, currency) = (self.catalog.reference(), self.catalog.currency());
        self.store(|store| async move {
            let encoding = Encoding {
                units: &reference.units,
                currency,
            };
            store.insert_products(&products, encoding).await
        })
        .await
    }

    async fn update_products(
        &mut self,
        old: Vec<(usize, Plan, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        for (at, plan, prepared) in old {
            if let Plan::Update(id) = plan {
                let outcome = self.update_product(id, &prepared).await?;
                outcomes.insert(at, outcome);
            }
        }
        Ok(())
    }

    async fn update_product(
        &self,
        id: ProductId,
        prepared: &Prepared<'_>,
    ) -> Result<LineOutcome, DomainError> {
        for _ in 0..MOST_TRIES {
            let found = self
                .store(move |store| async move {
                    store.get_many_products(&[id], &ProductStatus::ALL).await
                })
                .await?;
            let Some(view) = found.first() else {
                return Ok(LineOutcome::Updated);
            };
            let before = view.product()?;
            let expected = before.revision;
            let product = prepared.update(before, self.catalog.now());
            if let Some(refused) = self.too_large(&product) {
                return Ok(LineOutcome::Rejected(vec![refused]));
            }
            if !self.writes() || self.apply(product, expected).await? {
                return Ok(LineOutcome::Updated);
            }
        }
        let reason = "the product kept changing while it was imported; import the line again";
        Ok(LineOutcome::Rejected(vec![Rejection::new(
            "revision", reason,
        )]))
    }

    async fn apply(&self, product: Product, expected: i64) -> Result<bool, DomainError> {
        let (reference, currency) = (self.catalog.reference(), self.catalog.currency());
        self.store(move |store| async move {
            let encoding = Encoding {
                units: &reference.units,
                currency,
            };
            store
                .apply_product_content(&product, expected, encoding)
                .await
        })
        .await
    }

    fn too_large(&self, product: &Product) -> Option<Rejection> {
        if is_plainly_small(product) {
            return None;
        }
        let reference = self.catalog.reference();
        let bytes = self
            .catalog
            .encoding(&reference.units)
            .content_bytes(product);
        (bytes > MOST_CONTENT_BYTES).then(|| {
            let reason =
                format!("the product takes {bytes} bytes; {MOST_CONTENT_BYTES} are possible");
            Rejection::new("product", reason)
        })
    }

    /// Products that are there, by source; in a dry run also those that would be.
    pub(super) async fn known_sources(
        &self,
        sources: impl Iterator<Item = &ExternalRef>,
    ) -> Result<HashMap<ExternalRef, (ProductId, String)>, DomainError> {
        let mut by_system: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut known = HashMap::new();
        for source in sources {
            if let Some(imagined) = self.imagined.products.get(source) {
                known.insert(source.clone(), imagined.clone());
            }
            by_system
                .entry(source.system.clone())
                .or_default()
                .push(source.external_id.clone());
        }
        for (system, ids) in by_system {
            let found =
                self.store(|store| async move { store.known_products(&system, &ids).await });
            for product in found.await? {
                for ((system, external_id), digest) in product.digests {
                    known.insert(
                        ExternalRef {
                            system,
                            external_id,
                        },
                        (product.id, digest),
                    );
                }
            }
        }
        Ok(known)
    }

    async fn known_skus(
        &self,
        drafts: impl Iterator<Item = &ProductDraft>,
    ) -> Result<HashMap<String, KnownProduct>, DomainError> {
        let skus: Vec<String> = drafts.filter_map(|draft| draft.sku.clone()).collect();
        if skus.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self
            .store(|store| async move { store.known_skus(&skus).await })
            .await?;
        Ok(found
            .into_iter()
            .map(|product| (product.sku.clone(), product))
            .collect())
    }

    /// A free slug for each: the name, and when that is taken the name with a few digits that
    /// follow from the source, more of them with each try.
    async fn free_slugs(
        &self,
        waiting: &[(usize, Prepared<'_>)],
        tries: usize,
    ) -> Result<Vec<String>, DomainError> {
        let plain: Vec<String> = waiting
            .iter()
            .map(|(_, prepared)| plain_slug(prepared.draft))
            .collect();
        let asked: Vec<String> = plain
            .iter()
            .cloned()
            .collect::<HashSet<_>>()
            .into_iter()
            .collect();
        let mut taken = self
            .store(|store| async move { store.taken_slugs(&asked).await })
            .await?;
        let pick = |(plain, (_, prepared)): (String, &(usize, Prepared<'_>))| {
            let slug = if tries == 0 && !taken.contains(&plain) {
                plain
            } else {
                format!(
                    "{plain}-{}",
                    suffix(&prepared.draft.source, 6 * (tries + 1))
                )
            };
            taken.insert(slug.clone());
            slug
        };
        Ok(plain.into_iter().zip(waiting).map(pick).collect())
    }

    async fn bundle_items(
        &self,
        passed: &[Passed<'_>],
    ) -> Result<HashMap<ExternalRef, BundleItem>, DomainError> {
        let refs: Vec<&ExternalRef> = passed
            .iter()
            .flat_map(|p| p.draft.bundle.iter().map(|item| &item.product))
            .collect();
        if refs.is_empty() {
            return Ok(HashMap::new());
        }
        let known = self.known_sources(refs.into_iter()).await?;
        let ids: Vec<ProductId> = known.values().map(|(id, _)| *id).collect();
        let views = self
            .store(|store| async move { store.get_many_products(&ids, &ProductStatus::ALL).await });
        let mut items: HashMap<ProductId, BundleItem> = HashMap::new();
        for view in views.await? {
            let item = BundleItem {
                product_id: view.id(),
                quantity: 1,
                version: view.revision()?,
                name: view.name()?.to_owned(),
                price: view.price()?,
            };
            items.insert(view.id(), item);
        }
        let imagined = |id: ProductId| BundleItem {
            product_id: id,
            quantity: 1,
            version: 1,
            name: String::new(),
            price: None,
        };
        let item = |(source, (id, _)): (ExternalRef, (ProductId, String))| {
            let item = items
                .get(&id)
                .cloned()
                .or_else(|| (!self.writes()).then(|| imagined(id)));
            item.map(|item| (source, item))
        };
        Ok(known.into_iter().filter_map(item).collect())
    }
}

/// What is to be done with a draft, as far as sources tell; `Err` when nothing is.
fn classify(
    draft: &ProductDraft,
    known: &HashMap<ExternalRef, (ProductId, String)>,
    skus: &HashMap<String, KnownProduct>,
) -> Result<(Plan, String), LineOutcome> {
    let digest = digest(draft);
    if let Some((id, before)) = known.get(&draft.source) {
        let same = draft.create_only || *before == digest;
        return if same {
            Err(LineOutcome::Unchanged)
        } else {
            Ok((Plan::Update(*id), digest))
        };
    }
    let Some(product) = skus.get(&sku(draft)) else {
        return Ok((Plan::Create, digest));
    };
    let same_system = product
        .digests
        .keys()
        .any(|(system, _)| *system == draft.source.system);
    if same_system {
        let reason = format!(
            "another product of {} has the sku {}",
            draft.source.system, product.sku
        );
        return Err(LineOutcome::Rejected(vec![Rejection::new("sku", reason)]));
    }
    Ok((Plan::Update(product.id), digest))
}

fn bundle(
    draft: &ProductDraft,
    items: &HashMap<ExternalRef, BundleItem>,
) -> Result<Option<Bundle>, Rejection> {
    if draft.kind != "bundle" {
        return Ok(None);
    }
    let mut bundle = Bundle::default();
    for item in &draft.bundle {
        let found = items.get(&item.product).ok_or_else(|| {
            let reason = format!(
                "there is no product {} of {}",
                item.product.external_id, item.product.system
            );
            Rejection::new("bundle", reason)
        })?;
        bundle.items.push(BundleItem {
            quantity: item.quantity,
            ..found.clone()
        });
    }
    Ok(Some(bundle))
}

/// The first draft of each source and sku; the others wait for the next round, and so do bundles
/// whose items are among them.
fn distinct(drafts: &[ProductDraft], waiting: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let items_wait = {
        let waiting: HashSet<&ExternalRef> = waiting.iter().map(|at| &drafts[*at].source).collect();
        move |draft: &ProductDraft| {
            draft
                .bundle
                .iter()
                .any(|item| item.product != draft.source && waiting.contains(&item.product))
        }
    };
    let late: HashSet<usize> = waiting
        .iter()
        .copied()
        .filter(|at| items_wait(&drafts[*at]))
        .collect();
    // Bundles that wait for each other would wait for ever: they go on and are refused.
    let late = if late.len() == waiting.len() {
        HashSet::new()
    } else {
        late
    };
    let (mut sources, mut skus) = (HashSet::new(), HashSet::new());
    waiting.into_iter().partition(|at| {
        let draft = &drafts[*at];
        !late.contains(at) && (sources.insert(draft.source.clone()) & skus.insert(sku(draft)))
    })
}

/// Whether a product is far from the cap, by a bound that is cheap to compute: each text counted
/// three times (value, two tokens), with room for field names and numbers.
fn is_plainly_small(product: &Product) -> bool {
    let spec = |spec: &Spec| {
        let text = match &spec.value {
            SpecValue::Text(text) => text.len(),
            _ => 16,
        };
        100 + 3 * (spec.key.len() + text + spec.qualifier.as_ref().map_or(0, String::len))
    };
    let media = |media: &Media| 100 + media.url.len() + media.alt.as_ref().map_or(0, String::len);
    let text = product.description.as_ref().map_or(0, String::len) + 10 * MOST_NAME_BYTES;
    let bytes = text
        + product.specs.iter().map(spec).sum::<usize>()
        + product.media.iter().map(media).sum::<usize>()
        + product.sources.len() * 500;
    product.details == Details::empty(&product.kind) && bytes < MOST_CONTENT_BYTES
}

fn plain_slug(draft: &ProductDraft) -> String {
    let of_id = || slug(&draft.source.external_id);
    slug(&draft.name)
        .or_else(of_id)
        .unwrap_or_else(|| "product".to_owned())
}

fn suffix(source: &ExternalRef, digits: usize) -> String {
    let digest = Sha256::digest(format!("{}\0{}", source.system, source.external_id));
    let hex = digest
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    hex.chars().take(digits).collect()
}
