//! From a draft to a new or updated product.
//!
//! The source of a product with a single source that describes it as a whole is authoritative: what
//! it no longer mentions is removed. With several sources (single view), `vitrine_model::contribution`
//! says which of them owns which field, and an import writes the fields whose value changes by it.

use std::collections::HashSet;

use vitrine_model::activity::ActivitySummary;
use vitrine_model::clock::Timestamp;
use vitrine_model::contribution::{Content, Contribution, merge};
use vitrine_model::fold::Computed;
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::import::ProductDraft;
use vitrine_model::product::{
    Bundle, Details, Kind, Outlier, Product, ProductStatus, Sold, Source,
};
use vitrine_model::spec::{Dictionary, Spec};
use vitrine_model::supplier::SupplierExtract;
use vitrine_model::text::collapse;

use crate::specs::with_current_keys;

/// A draft with all references resolved.
#[derive(Clone)]
pub(super) struct Prepared<'a> {
    pub(super) draft: &'a ProductDraft,
    pub(super) digest: String,
    pub(super) specs: Vec<Spec>,
    /// `None` if the draft names none.
    pub(super) category: Option<CategoryId>,
    pub(super) supplier: Option<SupplierExtract>,
    pub(super) bundle: Option<Bundle>,
}

impl Prepared<'_> {
    /// The stock-keeping unit, given or derived from the source.
    pub(super) fn sku(&self) -> String {
        sku(self.draft)
    }

    /// Creates a new product. A field that the draft lacks is empty.
    pub(super) fn create(&self, id: ProductId, slug: String, now: Timestamp) -> Product {
        let draft = self.draft;
        let created_at = draft.created_at.unwrap_or(now);
        let status = draft.status.unwrap_or(ProductStatus::Active);
        let mut product = Product {
            id,
            kind: String::new(),
            sku: self.sku(),
            slug,
            name: String::new(),
            description: None,
            brand: None,
            status,
            category: CategoryId::from_i64(0),
            price: None,
            media: Vec::new(),
            specs: Vec::new(),
            details: Details::Generic,
            supplier: None,
            computed: Computed::default(),
            outlier: Outlier::default(),
            activity: ActivitySummary::default(),
            sold: Sold::default(),
            sources: Vec::new(),
            revision: 1,
            created_at,
            listed_at: (status != ProductStatus::Draft).then_some(created_at),
            updated_at: now,
        };
        self.replace_content(&mut product);
        product.sources = vec![self.source(now)];
        product
    }

    /// Applies the draft to a product that has no other source.
    pub(super) fn update(&self, mut product: Product, now: Timestamp) -> Product {
        if let Some(sku) = &self.draft.sku {
            product.sku.clone_from(sku);
        }
        self.replace_content(&mut product);
        product.sources = vec![self.source(now)];
        product.revision += 1;
        product.updated_at = now;
        product
    }

    fn replace_content(&self, product: &mut Product) {
        let content = self.content();
        product.kind = content.kind.unwrap_or_default();
        product.name = content.name.unwrap_or_default();
        product.description = content.description;
        product.brand = content.brand;
        product.category = content.category.unwrap_or(product.category);
        product.status = content.status.unwrap_or(product.status);
        product.price = content.price;
        product.supplier.clone_from(&self.supplier);
        product.media = content.media;
        product.specs = content.specs;
        set_details(product, content.details);
    }

    /// What the draft says.
    pub(super) fn contribution(&self, now: Timestamp) -> Contribution {
        Contribution {
            source: self.source(now),
            content: self.content(),
        }
    }

    fn content(&self) -> Content {
        let draft = self.draft;
        Content {
            name: draft.name.as_deref().map(collapse),
            description: draft.description.clone(),
            brand: draft.brand.as_deref().map(collapse),
            kind: draft.kind.clone(),
            category: self.category,
            status: draft.status,
            supplier: self.supplier.as_ref().map(|supplier| supplier.id),
            price: draft.price.filter(|_| self.bundle.is_none()),
            media: draft.media.clone(),
            specs: self.specs.clone(),
            details: match &self.bundle {
                Some(bundle) => Details::Bundle(bundle.clone()),
                None if draft.details.is_empty() => Details::Generic,
                None => draft.details.clone(),
            },
        }
    }

    pub(super) fn is_from(&self, source: &Source) -> bool {
        let own = &self.draft.source;
        source.system == own.system && source.external_id == own.external_id
    }

    fn source(&self, now: Timestamp) -> Source {
        Source {
            system: self.draft.source.system.clone(),
            external_id: self.draft.source.external_id.clone(),
            imported_at: now,
            digest: self.digest.clone(),
            priority: self.draft.priority(),
        }
    }

    /// These contributions with that of the draft instead of the earlier one of its source; sorted
    /// by source.
    pub(super) fn among(&self, others: &[Contribution], now: Timestamp) -> Vec<Contribution> {
        let others = others.iter().filter(|one| !self.is_from(&one.source));
        let mut all: Vec<Contribution> = others.cloned().collect();
        all.push(self.contribution(now));
        all.sort_by(|a, b| of(&a.source).cmp(&of(&b.source)));
        all
    }

    /// Whether what this product is now made of does not follow from the draft alone: another source
    /// says something, or the draft does not say everything.
    pub(super) fn is_merged_into(&self, product: &Product) -> bool {
        let alone = |source: &Source| self.is_from(source) && !source.priority.partial;
        self.draft.is_partial() || !product.sources.iter().all(alone)
    }
}

fn of(source: &Source) -> (&str, &str) {
    (&source.system, &source.external_id)
}

/// What the sources of a product say, if nothing of it is stored: a single source says what the
/// product is.
pub(super) fn present(product: &Product) -> Vec<Contribution> {
    let sources = product.sources.iter();
    let contribution = |source: &Source| Contribution {
        source: source.clone(),
        content: Content::of(product),
    };
    sources.map(contribution).collect()
}

/// A change of what the sources of a product say.
pub(crate) struct Merged {
    before: Content,
    after: Content,
    sources: Vec<Source>,
}

impl Merged {
    /// Compares what follows from two sets of contributions. Spec keys that were merged since are
    /// resolved.
    pub(crate) fn new(
        before: &[Contribution],
        after: &[Contribution],
        dictionary: &Dictionary,
    ) -> Self {
        let current = |contributions: &[Contribution]| {
            let mut contributions = contributions.to_vec();
            for one in &mut contributions {
                one.content.specs = with_current_keys(&one.content.specs, dictionary);
            }
            merge(&contributions)
        };
        Self {
            before: current(before),
            after: current(after),
            sources: after.iter().map(|one| one.source.clone()).collect(),
        }
    }

    /// Returns true if the product would lose its name, kind or category: some source had given it, and none
    /// does any more.
    pub(crate) fn loses_required_field(&self) -> bool {
        self.before.is_whole() && !self.after.is_whole()
    }

    /// The supplier that the product gets; `None` if it keeps its own or gets none.
    pub(crate) fn new_supplier(&self) -> Option<SupplierId> {
        let changes = self.before.supplier != self.after.supplier;
        self.after.supplier.filter(|_| changes)
    }

    /// Writes to a product what changes. `supplier` is the one that it gets, if that changes. The
    /// rest stays as admins have edited it.
    pub(crate) fn apply(
        &self,
        mut product: Product,
        supplier: Option<SupplierExtract>,
        dictionary: &Dictionary,
    ) -> Product {
        let (before, after) = (&self.before, &self.after);
        let kind = changed(&before.kind, &after.kind).flatten();
        let rekinded = kind.as_ref().is_some_and(|kind| *kind != product.kind);
        product.kind = kind.unwrap_or(product.kind);
        let name = changed(&before.name, &after.name).flatten();
        product.name = name.unwrap_or(product.name);
        let description = changed(&before.description, &after.description);
        product.description = description.unwrap_or(product.description);
        product.brand = changed(&before.brand, &after.brand).unwrap_or(product.brand);
        let category = changed(&before.category, &after.category).flatten();
        product.category = category.unwrap_or(product.category);
        let status = changed(&before.status, &after.status).flatten();
        product.status = status.unwrap_or(product.status);
        if before.supplier != after.supplier {
            product.supplier = supplier;
        }
        product.media = changed(&before.media, &after.media).unwrap_or(product.media);
        product.specs = self.specs(&with_current_keys(&product.specs, dictionary));
        if rekinded || before.price != after.price {
            product.price = after.price;
        }
        if rekinded || before.details != after.details {
            set_details(&mut product, after.details.clone());
        }
        set_bundle_price(&mut product);
        product.sources.clone_from(&self.sources);
        product
    }

    /// The specs: keys that change have their new values, the others those that the product has, in
    /// the order of the contributions; then the keys that only the product has.
    fn specs(&self, present: &[Spec]) -> Vec<Spec> {
        let of_key = |specs: &[Spec], key: &str| -> Vec<Spec> {
            let specs = specs.iter().filter(|spec| spec.key == key);
            specs.cloned().collect()
        };
        let (before, after) = (&self.before.specs, &self.after.specs);
        let mut known = HashSet::new();
        let mut specs = Vec::new();
        let keys = after.iter().chain(present).map(|spec| spec.key.as_str());
        for key in keys {
            if !known.insert(key) {
                continue;
            }
            let (old, new) = (of_key(before, key), of_key(after, key));
            let kept = old == new;
            specs.extend(if kept { of_key(present, key) } else { new });
        }
        specs
    }
}

fn changed<T: Clone + PartialEq>(before: &T, after: &T) -> Option<T> {
    (before != after).then(|| after.clone())
}

/// Sets the details that fit the kind of a product.
fn set_details(product: &mut Product, details: Details) {
    product.details = match details {
        Details::Generic => Details::empty(Kind::of(&product.kind)),
        details => details,
    };
    set_bundle_price(product);
}

/// The price of a bundle is computed.
fn set_bundle_price(product: &mut Product) {
    if let Details::Bundle(bundle) = &product.details {
        product.price = bundle.price();
    }
}

/// The stock-keeping unit of a draft, given or derived from the source.
pub(super) fn sku(draft: &ProductDraft) -> String {
    let made = || format!("{}:{}", draft.source.system, draft.source.external_id);
    draft.sku.clone().unwrap_or_else(made)
}
