//! Importing products.
//!
//! A batch goes through these steps:
//!
//! 1. Look up the external ids. A draft whose digest equals the stored digest is *unchanged*.
//! 2. Check each draft (`check.rs`) and its specs against the dictionary (`crate::specs`). New
//!    keys are added to the dictionary. Invalid drafts are *rejected* with all reasons.
//! 3. Find or create categories and suppliers, find the items of bundles, add new words to the
//!    vocabulary.
//! 4. Insert new products, at most 250 per transaction, with the generations of their categories.
//!    After a duplicate name or a write conflict the products of that transaction are inserted one
//!    by one. Existing products are updated by compare-and-set on `revision` (`updates.rs`);
//!    `merge.rs` combines what several systems say. A draft without name, kind or category waits
//!    for one that has them (`waiting.rs`).
//!
//! A process that dies between 3 and 4 leaves keys, words, categories and suppliers without
//! products. The next run uses them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;
use vitrine_model::import::{
    BundleItemDraft, ExternalRef, LineOutcome, ProductDraft, Rejection, digest,
};
use vitrine_model::picture::PictureUse;
use vitrine_model::product::{Bundle, BundleItem, Kind, Product, ProductStatus};
use vitrine_model::spec::{Dictionary, MAX_SPECS, Spec, SpecKey};
use vitrine_model::text::{slug, slug_with};
use vitrine_storage::products::{Encoding, KnownProduct};

use super::ImportSession;
use super::dropped::{self, Checked};
use super::guesses::{Contradictions, most_frequent, with_guesses};
use super::keys::{self, DictionaryChanges};
use super::merge::{Prepared, sku};
use crate::admin::bundles::copy;
use crate::{DomainError, limits};

/// How often a write is retried after another process was faster.
pub(super) const MAX_TRIES: usize = 4;

/// The extended references of products in bundles; `None` for a product that is itself a bundle.
pub(super) type Items = HashMap<ExternalRef, Option<BundleItem>>;

/// What to do with a draft.
#[derive(Clone, Copy)]
pub(super) enum Plan {
    Create,
    Update(ProductId),
    /// Store it until a product with its SKU is created.
    Wait,
    /// Add it to what waits for this product, or create the product.
    Join(ProductId),
}

/// What is stored of a source.
#[derive(Clone)]
pub(super) struct KnownSource {
    pub(super) id: ProductId,
    pub(super) digest: String,
    /// The SKU that it waits for, if its product does not exist yet.
    pub(super) waiting_sku: Option<String>,
}

/// A valid draft.
struct ValidDraft<'a> {
    at: usize,
    draft: Cow<'a, ProductDraft>,
    digest: String,
    specs: Vec<Spec>,
    plan: Plan,
    bundle: Option<Bundle>,
}

impl ValidDraft<'_> {
    /// The product as it would be created, to check its size before writing anything.
    fn preview(&self, now: Timestamp) -> Product {
        let prepared = Prepared {
            draft: Cow::Borrowed(&*self.draft),
            digest: self.digest.clone(),
            specs: self.specs.clone(),
            category: None,
            supplier: None,
            bundle: self.bundle.clone(),
        };
        prepared.create(ProductId::from_i64(0), plain_slug(&self.draft), now)
    }
}

/// The result of checking the drafts of a round one after the other.
#[derive(Default)]
struct CheckPass<'a> {
    passed: Vec<ValidDraft<'a>>,
    changes: DictionaryChanges,
    /// Of those of which nothing is to be written.
    outcomes: BTreeMap<usize, LineOutcome>,
    /// The values that were left out, each with the place of its draft.
    dropped: Vec<(usize, Rejection)>,
    contradictions: Contradictions,
}

/// The digests of drafts, computed by another thread while the database is asked.
enum Digests {
    Computing(JoinHandle<Vec<String>>),
    Ready(Vec<String>),
}

impl Digests {
    fn of(drafts: &Arc<Vec<ProductDraft>>) -> Self {
        let drafts = Arc::clone(drafts);
        // Those of bundles are computed once their items are known.
        let digest = |draft: &ProductDraft| {
            if draft.bundle.is_empty() {
                draft.digest()
            } else {
                String::new()
            }
        };
        let all = move || drafts.iter().map(digest).collect();
        Self::Computing(tokio::task::spawn_blocking(all))
    }

    async fn ready(&mut self) -> Result<&[String], DomainError> {
        if let Self::Computing(all) = self {
            let all = all
                .await
                .map_err(|lost| DomainError::Internal(Box::new(lost)))?;
            *self = Self::Ready(all);
        }
        match self {
            Self::Ready(all) => Ok(all),
            Self::Computing(_) => unreachable!("they have just been awaited"),
        }
    }
}

/// What the database already has for a round of drafts.
pub(super) struct Existing {
    pub(super) known: HashMap<ExternalRef, KnownSource>,
    pub(super) skus: HashMap<String, KnownProduct>,
    pub(super) items: Items,
}

impl ImportSession {
    /// Imports products; returns the outcomes in the order of the drafts. When the database fails,
    /// earlier drafts may have been stored; importing them again leaves them unchanged.
    pub fn products(
        &mut self,
        drafts: Vec<ProductDraft>,
    ) -> BoxFuture<'_, Result<Vec<LineOutcome>, DomainError>> {
        Box::pin(self.import_products(drafts))
    }

    async fn import_products(
        &mut self,
        drafts: Vec<ProductDraft>,
    ) -> Result<Vec<LineOutcome>, DomainError> {
        let mut outcomes: BTreeMap<usize, LineOutcome> = BTreeMap::new();
        let mut waiting: Vec<usize> = (0..drafts.len()).collect();
        let drafts = Arc::new(drafts);
        let mut digests = Digests::of(&drafts);
        self.dropped.clear();
        self.remember_first_facts(&drafts);
        self.refresh_changed_reference().await?;
        while !waiting.is_empty() {
            let (round, later) = distinct(&drafts, waiting);
            let done = self.product_round(&drafts, &round, &mut digests).await?;
            outcomes.extend(done);
            waiting = later;
        }
        Ok(outcomes.into_values().collect())
    }

    /// Imports drafts of different products.
    async fn product_round(
        &mut self,
        drafts: &[ProductDraft],
        round: &[usize],
        digests: &mut Digests,
    ) -> Result<BTreeMap<usize, LineOutcome>, DomainError> {
        let mut outcomes = BTreeMap::new();
        let of_round = || round.iter().map(|at| &drafts[*at]);
        let known = self.find_sources(of_round().map(|draft| &draft.source));
        let mut known = known.await?;
        self.leave_other_skus(of_round(), &mut known).await?;
        // A source that is known tells the product; usually most lines are unchanged.
        let new = of_round().filter(|draft| !known.contains_key(&draft.source));
        let skus = new.filter_map(|draft| draft.sku.clone()).collect();
        let found = Existing {
            known,
            skus: self.find_skus(skus).await?,
            items: self.bundle_items(of_round()).await?,
        };
        let digests = digests.ready().await?;
        let passed = self
            .check_products((drafts, digests), round, &found, &mut outcomes)
            .await?;
        let (mut new, mut waiting) = (Vec::new(), Vec::new());
        let (mut old, mut joining) = (Vec::new(), Vec::new());
        for (at, plan, prepared) in self.prepare(passed).await? {
            match plan {
                Plan::Create => new.push((at, prepared)),
                Plan::Wait => waiting.push((at, prepared)),
                Plan::Update(id) => old.push((at, id, prepared)),
                Plan::Join(id) => joining.push((at, id, prepared)),
            }
        }
        self.create_products(new, &mut outcomes).await?;
        self.wait_for_products(waiting, &mut outcomes).await?;
        self.update_products(old, &mut outcomes).await?;
        self.join_waiting(joining, &mut outcomes).await?;
        Ok(outcomes)
    }

    /// Sorts out invalid and unchanged drafts, and adds new keys to the dictionary.
    async fn check_products<'a>(
        &mut self,
        (drafts, digests): (&'a [ProductDraft], &[String]),
        round: &[usize],
        found: &Existing,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<Vec<ValidDraft<'a>>, DomainError> {
        for _ in 0..MAX_TRIES {
            let mut pass = self.check_all((drafts, digests), round, found, &[]);
            let contradicted = pass.contradictions.keys();
            if !contradicted.is_empty() {
                let reference = self.catalog.reference();
                let of_round = round.iter().map(|at| &drafts[*at]);
                let guesses = most_frequent(contradicted, of_round, &reference.units);
                let is_known =
                    |guess: &(SpecKey, usize)| self.dictionary.get(&guess.0.key).is_some();
                let (known, new): (Vec<_>, Vec<_>) = guesses.into_iter().partition(is_known);
                let new: Vec<SpecKey> = new.into_iter().map(|(key, _)| key).collect();
                let system = round.first().map_or("", |at| &drafts[*at].source.system);
                if self.guess_again(known, system).await? {
                    continue;
                }
                pass = self.check_all((drafts, digests), round, found, &new);
            }
            if self.update_dictionary(pass.changes).await? {
                outcomes.extend(pass.outcomes);
                self.dropped.extend(pass.dropped);
                return Ok(pass.passed);
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Checks drafts one after the other. Keys that are not in the dictionary have the types of these
    /// guesses, others that of their first value.
    fn check_all<'a>(
        &self,
        (drafts, digests): (&'a [ProductDraft], &[String]),
        round: &[usize],
        found: &Existing,
        guesses: &[SpecKey],
    ) -> CheckPass<'a> {
        let mut pass = CheckPass::default();
        let mut dictionary = with_guesses(&self.dictionary, guesses);
        for at in round {
            let digest = draft_digest(&drafts[*at], &digests[*at], &found.items);
            match self.check_product((*at, &drafts[*at]), digest, found, &dictionary, &mut pass) {
                Err(outcome) => drop(pass.outcomes.insert(*at, outcome)),
                Ok((one, mut keys)) => {
                    for key in &keys.new_keys {
                        pass.contradictions.introduce(key);
                        dictionary.add(key.clone());
                    }
                    let status = checked_status(&one.draft);
                    let system = &*one.draft.source.system;
                    keys.introduce(guesses, (&one.specs, status), (&self.labels, system));
                    pass.changes.new_keys.extend(keys.new_keys);
                    pass.changes.used.extend(keys.used);
                    pass.passed.push(one);
                }
            }
        }
        pass
    }

    /// Checks one draft; returns it with the keys it introduces, or `Err` when there is nothing to
    /// write.
    fn check_product<'a>(
        &self,
        (at, draft): (usize, &'a ProductDraft),
        mut digest: String,
        found: &Existing,
        dictionary: &Dictionary,
        pass: &mut CheckPass<'a>,
    ) -> Result<(ValidDraft<'a>, DictionaryChanges), LineOutcome> {
        let plan = plan(draft, &digest, found)?;
        let reference = self.catalog.reference();
        let units = &reference.units;
        let Checked {
            mut draft,
            mut dropped,
        } = dropped::product(draft, units, self.catalog.now()).map_err(LineOutcome::Rejected)?;
        let refused = |wrong| LineOutcome::Rejected(vec![wrong]);
        self.check_depth(&draft.category).map_err(refused)?;
        let bundle = bundle(&draft, &found.items).map_err(refused)?;
        let checked = match keys::check(&draft, dictionary, units) {
            Ok(checked) => checked,
            Err(refused) => {
                for (at, _) in &refused {
                    let key = &draft.specs[*at].key;
                    let is_guess = is_own_guess(dictionary.get(key), &draft);
                    pass.contradictions.refuse(key, is_guess);
                }
                let refused = keys::rejections(&draft, &refused);
                let less = dropped::specs(&mut draft, refused).map_err(LineOutcome::Rejected)?;
                dropped.extend(less);
                let checked = keys::check(&draft, dictionary, units);
                checked.map_err(|refused| rejected(keys::rejections(&draft, &refused)))?
            }
        };
        if !dropped.is_empty() {
            // What was left out is looked at again with each import: the dictionary may change.
            digest = draft_digest(&draft, &draft.digest(), &found.items);
            let known = found.known.get(&draft.source);
            if known.is_some_and(|known| known.digest == digest) {
                let dropped = dropped.into_iter().map(|one| (at, one));
                pass.dropped.extend(dropped);
                return Err(LineOutcome::Unchanged);
            }
        }
        let status = checked_status(&draft);
        let changes = DictionaryChanges::of(
            &checked,
            status,
            dictionary,
            (&self.labels, &draft.source.system),
        );
        let passed = ValidDraft {
            at,
            draft,
            digest,
            specs: checked.specs,
            plan,
            bundle,
        };
        if let Some(refused) = self.too_large(&passed.preview(self.catalog.now())) {
            return Err(LineOutcome::Rejected(vec![refused]));
        }
        let dropped = dropped.into_iter().map(|one| (at, one));
        pass.dropped.extend(dropped);
        Ok((passed, changes))
    }

    /// Finds or creates the categories and suppliers that drafts name.
    async fn prepare<'a>(
        &mut self,
        passed: Vec<ValidDraft<'a>>,
    ) -> Result<Vec<(usize, Plan, Prepared<'a>)>, DomainError> {
        let paths = passed.iter().map(|p| p.draft.category.as_slice());
        let paths: Vec<&[String]> = paths.filter(|path| !path.is_empty()).collect();
        let mut categories = None;
        for _ in 0..MAX_TRIES {
            categories = self.categories_at(&paths).await?;
            if categories.is_some() {
                break;
            }
        }
        let mut categories = categories
            .ok_or(DomainError::Unavailable(None))?
            .into_iter();
        let suppliers: Vec<_> = passed
            .iter()
            .filter_map(|p| p.draft.supplier.as_ref())
            .collect();
        self.find_or_create_suppliers(&suppliers).await?;
        let now = self.catalog.now();
        let mut prepared = Vec::with_capacity(passed.len());
        for one in passed {
            let ValidDraft {
                at,
                draft,
                digest,
                specs,
                plan,
                bundle,
            } = one;
            let supplier = draft
                .supplier
                .as_ref()
                .and_then(|draft| self.supplier(draft));
            let supplier = supplier.map(|supplier| supplier.extract(now));
            let names_category = !draft.category.is_empty();
            prepared.push((
                at,
                plan,
                Prepared {
                    draft,
                    digest,
                    specs,
                    category: names_category.then(|| categories.next()).flatten(),
                    supplier,
                    bundle,
                },
            ));
        }
        Ok(prepared)
    }

    async fn create_products(
        &mut self,
        mut waiting: Vec<(usize, Prepared<'_>)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        let now = self.catalog.now();
        for suffix in 0..MAX_TRIES {
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
                let outcome = match refused.as_deref() {
                    None => LineOutcome::Created,
                    // Retried with another slug or id.
                    Some("slug" | "_id") => {
                        waiting.push((at, prepared));
                        continue;
                    }
                    Some(_) => self.settle(&prepared).await?,
                };
                outcomes.insert(at, outcome);
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
            return Ok(products
                .iter()
                .map(|product| self.simulate_product(product))
                .collect());
        }
        self.catalog.insert_words(&products).await?;
        let shown = products
            .iter()
            .map(|product| (PictureUse::Product(product.id), &*product.media));
        self.catalog.claim_imported_pictures(shown).await?;
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

    /// Records what a dry run would have stored; `Some` names the key that would have conflicted.
    pub(super) fn simulate_product(&mut self, product: &Product) -> Option<String> {
        if self.simulated.skus.contains_key(&product.sku) {
            return Some("sku".to_owned());
        }
        for source in &product.sources {
            let at = ExternalRef {
                system: source.system.clone(),
                external_id: source.external_id.clone(),
            };
            let owner = (product.id, source.system.clone());
            self.simulated.skus.insert(product.sku.clone(), owner);
            self.simulated
                .products
                .insert(at, (product.id, source.digest.clone()));
        }
        None
    }

    pub(super) fn too_large(&self, product: &Product) -> Option<Rejection> {
        if product.specs.len() > MAX_SPECS {
            let reason = format!(
                "{} specs together with other sources; {MAX_SPECS} are possible",
                product.specs.len()
            );
            return Some(Rejection::new("specs", reason));
        }
        let reference = self.catalog.reference();
        let encoding = self.catalog.encoding(&reference.units);
        let fits = limits::content(product, encoding);
        fits.err().map(|reason| Rejection::new("product", reason))
    }

    /// The existing products by source; in a dry run, with those that would exist.
    pub(super) async fn known_sources(
        &self,
        sources: impl Iterator<Item = &ExternalRef>,
    ) -> Result<HashMap<ExternalRef, (ProductId, String)>, DomainError> {
        let found = self.find_sources(sources).await?.into_iter();
        let existing = found.filter(|(_, known)| known.waiting_sku.is_none());
        Ok(existing
            .map(|(source, known)| (source, (known.id, known.digest)))
            .collect())
    }

    /// What is stored of these sources, also of those that wait for their product; in a dry run,
    /// with what would be stored.
    pub(super) async fn find_sources(
        &self,
        sources: impl Iterator<Item = &ExternalRef>,
    ) -> Result<HashMap<ExternalRef, KnownSource>, DomainError> {
        let mut by_system: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut known = HashMap::new();
        for source in sources {
            if let Some((id, digest)) = self.simulated.products.get(source) {
                let simulated = KnownSource {
                    id: *id,
                    digest: digest.clone(),
                    waiting_sku: self.simulated.waiting.get(id).cloned(),
                };
                known.insert(source.clone(), simulated);
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
                let waiting_sku = product.waiting.then_some(product.sku);
                for ((system, external_id), digest) in product.digests {
                    let source = ExternalRef {
                        system,
                        external_id,
                    };
                    // In a dry run, simulated writes take precedence.
                    known.entry(source).or_insert_with(|| KnownSource {
                        id: product.id,
                        digest,
                        waiting_sku: waiting_sku.clone(),
                    });
                }
            }
        }
        Ok(known)
    }

    /// The products with these SKUs, also those that are waited for; in a dry run, with those that
    /// would exist.
    pub(super) async fn find_skus(
        &self,
        skus: Vec<String>,
    ) -> Result<HashMap<String, KnownProduct>, DomainError> {
        if skus.is_empty() {
            return Ok(HashMap::new());
        }
        let simulated: Vec<KnownProduct> = skus
            .iter()
            .filter_map(|sku| self.simulated_sku(sku))
            .collect();
        let found = self
            .store(|store| async move { store.known_skus(&skus).await })
            .await?;
        let all = found.into_iter().chain(simulated);
        Ok(all.map(|product| (product.sku.clone(), product)).collect())
    }

    /// A product that a dry run would have stored.
    fn simulated_sku(&self, sku: &str) -> Option<KnownProduct> {
        let (id, system) = self.simulated.skus.get(sku)?;
        let source = (system.clone(), String::new());
        let digests = HashMap::from([(source, String::new())]);
        Some(KnownProduct {
            id: *id,
            sku: sku.to_owned(),
            digests,
            waiting: self.simulated.waiting.contains_key(id),
        })
    }

    /// A free slug for each draft: the name; if taken, the name with digits derived from the
    /// source, more with each try.
    pub(super) async fn free_slugs(
        &self,
        waiting: &[(usize, Prepared<'_>)],
        tries: usize,
    ) -> Result<Vec<String>, DomainError> {
        let plain: Vec<String> = waiting
            .iter()
            .map(|(_, prepared)| plain_slug(&prepared.draft))
            .collect();
        let candidates: Vec<String> = plain
            .iter()
            .cloned()
            .collect::<HashSet<_>>()
            .into_iter()
            .collect();
        let mut taken = self
            .store(|store| async move { store.taken_slugs(&candidates).await })
            .await?;
        let pick = |(plain, (_, prepared)): (String, &(usize, Prepared<'_>))| {
            let slug = if tries == 0 && !taken.contains(&plain) {
                plain
            } else {
                let suffix = suffix(&prepared.draft.source, 6 * (tries + 1));
                slug_with(&plain, &suffix)
            };
            taken.insert(slug.clone());
            slug
        };
        Ok(plain.into_iter().zip(waiting).map(pick).collect())
    }

    async fn bundle_items(
        &self,
        drafts: impl Iterator<Item = &ProductDraft>,
    ) -> Result<Items, DomainError> {
        let refs: Vec<&ExternalRef> = drafts
            .flat_map(|draft| draft.bundle.iter().map(|item| &item.product))
            .collect();
        if refs.is_empty() {
            return Ok(HashMap::new());
        }
        let known = self.known_sources(refs.into_iter()).await?;
        let ids: Vec<ProductId> = known.values().map(|(id, _)| *id).collect();
        let views = self
            .store(|store| async move { store.get_many_products(&ids, &ProductStatus::ALL).await });
        let mut items: HashMap<ProductId, Option<BundleItem>> = HashMap::new();
        for view in views.await? {
            let item = (Kind::of(view.kind()?) != Kind::Bundle)
                .then(|| copy(&view, 1))
                .transpose()?;
            items.insert(view.id(), item);
        }
        let simulated = |id: ProductId| BundleItem {
            product_id: id,
            quantity: 1,
            version: 1,
            name: String::new(),
            price: None,
            listed: true,
            as_of: None,
        };
        let item = |(source, (id, _)): (ExternalRef, (ProductId, String))| {
            let item = items
                .get(&id)
                .cloned()
                .or_else(|| (!self.writes()).then(|| Some(simulated(id))));
            item.map(|item| (source, item))
        };
        Ok(known.into_iter().filter_map(item).collect())
    }
}

/// The digest of a draft, from that of its own fields; for a bundle, it includes the versions of its
/// items.
fn draft_digest(draft: &ProductDraft, own: &str, items: &Items) -> String {
    if draft.bundle.is_empty() {
        return own.to_owned();
    }
    let version = |item: &BundleItemDraft| {
        let item = items.get(&item.product).and_then(Option::as_ref);
        item.map(|item| item.version)
    };
    let versions: Vec<Option<i64>> = draft.bundle.iter().map(version).collect();
    digest(&(draft, versions))
}

/// What to do with a draft according to its source and SKU; `Err` when there is nothing to do.
pub(super) fn plan(
    draft: &ProductDraft,
    digest: &str,
    found: &Existing,
) -> Result<Plan, LineOutcome> {
    if let Some(known) = found.known.get(&draft.source) {
        let waits = known.waiting_sku.is_some();
        if known.digest == digest || (draft.create_only && !waits) {
            return Err(LineOutcome::Unchanged);
        }
        return Ok(if waits {
            Plan::Join(known.id)
        } else {
            Plan::Update(known.id)
        });
    }
    let system = &draft.source.system;
    match found.skus.get(&sku(draft)) {
        None if !draft.is_partial() => Ok(Plan::Create),
        None if draft.sku.is_some() => Ok(Plan::Wait),
        None => Err(LineOutcome::Rejected(vec![no_product(draft)])),
        Some(product) if is_of_system(product, system) => {
            let whole = !product.waiting && !draft.is_partial();
            let taken = if whole { sku_taken } else { second_line };
            Err(LineOutcome::Rejected(vec![taken(&product.sku)]))
        }
        Some(product) if product.waiting => Ok(Plan::Join(product.id)),
        Some(product) => Ok(Plan::Update(product.id)),
    }
}

fn rejected(refused: Vec<(usize, Rejection)>) -> LineOutcome {
    let refused = refused.into_iter();
    LineOutcome::Rejected(refused.map(|(_, refused)| refused).collect())
}

/// The status by which the keys of a draft are marked as used. What says only some fields of a
/// product publishes no key before it is merged into the product.
fn checked_status(draft: &ProductDraft) -> ProductStatus {
    let otherwise = if draft.is_partial() {
        ProductStatus::Draft
    } else {
        ProductStatus::Active
    };
    draft.status.unwrap_or(otherwise)
}

fn is_of_system(product: &KnownProduct, system: &str) -> bool {
    product.digests.keys().any(|(of, _)| of == system)
}

/// Whether the type of a key follows from values of the draft's feed alone.
fn is_own_guess(key: Option<&SpecKey>, draft: &ProductDraft) -> bool {
    key.is_some_and(|key| {
        key.earlier_type.is_none() && key.guessed_by.as_ref() == Some(&draft.source.system)
    })
}

pub(super) fn sku_taken(sku: &str) -> Rejection {
    Rejection::new("sku", format!("another product has the sku {sku}"))
}

fn second_line(sku: &str) -> Rejection {
    let reason = format!("another line of this system has the sku {sku}; a system has one for it");
    Rejection::new("sku", reason)
}

/// The reason for rejecting what says only some fields of no product that is known.
fn no_product(draft: &ProductDraft) -> Rejection {
    let said = [
        ("name", draft.name.is_some()),
        ("kind", draft.kind.is_some()),
        ("category", !draft.category.is_empty()),
    ];
    let lacking = said.into_iter().filter(|(_, said)| !said);
    let lacking: Vec<&str> = lacking.map(|(field, _)| field).collect();
    let reason = format!(
        "is needed: without {} this line says fields of a product that another feed describes, \
         and the sku tells which one",
        lacking.join(", ")
    );
    Rejection::new("sku", reason)
}

fn bundle(draft: &ProductDraft, items: &Items) -> Result<Option<Bundle>, Rejection> {
    if draft.kind.as_deref().map(Kind::of) != Some(Kind::Bundle) {
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
        let found = found.as_ref().ok_or_else(|| {
            let reason = format!(
                "product {} of {} is a bundle itself; name its products instead",
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

/// The first draft of each source and SKU. The others wait for the next round, as do bundles whose
/// items are waiting.
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
    // Bundles that wait for each other would wait forever; they proceed and are refused.
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

fn plain_slug(draft: &ProductDraft) -> String {
    let of_id = || slug(&draft.source.external_id);
    slug(draft.name.as_deref().unwrap_or_default())
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
