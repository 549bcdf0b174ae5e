//! From a draft to a new or updated product.
//!
//! The source of a product with a single source is authoritative: what it no longer mentions is
//! removed. With several sources (single view), each contributes what it has: its specs replace
//! those with the same keys, its texts replace existing ones, and what it does not mention stays.

use vitrine_model::activity::ActivitySummary;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::Computed;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::import::ProductDraft;
use vitrine_model::product::{
    Bundle, Details, Kind, Outlier, Product, ProductStatus, Sold, Source,
};
use vitrine_model::spec::Spec;
use vitrine_model::supplier::SupplierExtract;
use vitrine_model::text::collapse;

/// A draft with all references resolved.
#[derive(Clone)]
pub(super) struct Prepared<'a> {
    pub(super) draft: &'a ProductDraft,
    pub(super) digest: String,
    pub(super) specs: Vec<Spec>,
    pub(super) category: CategoryId,
    pub(super) supplier: Option<SupplierExtract>,
    pub(super) bundle: Option<Bundle>,
}

impl Prepared<'_> {
    /// The stock-keeping unit, given or derived from the source.
    pub(super) fn sku(&self) -> String {
        sku(self.draft)
    }

    /// Creates a new product.
    pub(super) fn create(&self, id: ProductId, slug: String, now: Timestamp) -> Product {
        let draft = self.draft;
        let details = self.details();
        let created_at = draft.created_at.unwrap_or(now);
        Product {
            id,
            kind: draft.kind.clone(),
            sku: self.sku(),
            slug,
            name: collapse(&draft.name),
            description: draft.description.clone(),
            brand: draft.brand.as_deref().map(collapse),
            status: draft.status,
            category: self.category,
            price: self.price(),
            media: draft.media.clone(),
            specs: self.specs.clone(),
            details,
            supplier: self.supplier.clone(),
            computed: Computed::default(),
            outlier: Outlier::default(),
            activity: ActivitySummary::default(),
            sold: Sold::default(),
            sources: vec![self.source(now)],
            revision: 1,
            created_at,
            listed_at: (draft.status != ProductStatus::Draft).then_some(created_at),
            updated_at: now,
        }
    }

    /// Applies the draft to an existing product.
    pub(super) fn update(&self, mut product: Product, now: Timestamp) -> Product {
        let draft = self.draft;
        if draft.create_only {
            product.sources.push(self.source(now));
            product.revision += 1;
            return product;
        }
        let only = product.sources.iter().all(|source| self.is_from(source));
        let keeps = |new: Option<String>, old: Option<String>| if only { new } else { new.or(old) };
        if let Some(sku) = draft.sku.as_ref().filter(|_| only) {
            product.sku.clone_from(sku);
        }
        product.kind.clone_from(&draft.kind);
        product.name = collapse(&draft.name);
        product.description = keeps(draft.description.clone(), product.description);
        product.brand = keeps(draft.brand.as_deref().map(collapse), product.brand);
        product.category = self.category;
        product.status = draft.status;
        product.price = if only {
            self.price()
        } else {
            self.price().or(product.price)
        };
        product.supplier = if only {
            self.supplier.clone()
        } else {
            self.supplier.clone().or(product.supplier)
        };
        if only || !draft.media.is_empty() {
            product.media.clone_from(&draft.media);
        }
        if only
            || self.details() != Details::empty(Kind::of(&draft.kind))
            || product.details.kind() != self.details().kind()
        {
            product.details = self.details();
        }
        product.specs = if only {
            self.specs.clone()
        } else {
            self.merged_specs(&product.specs)
        };
        product.sources.retain(|source| !self.is_from(source));
        product.sources.push(self.source(now));
        product.revision += 1;
        product.updated_at = now;
        product
    }

    fn merged_specs(&self, old: &[Spec]) -> Vec<Spec> {
        let mine = |key: &str| self.specs.iter().any(|spec| spec.key == key);
        let kept = old.iter().filter(|spec| !mine(&spec.key)).cloned();
        kept.chain(self.specs.iter().cloned()).collect()
    }

    fn details(&self) -> Details {
        match (&self.bundle, &self.draft.details) {
            (Some(bundle), _) => Details::Bundle(bundle.clone()),
            (None, Details::Generic) => Details::empty(Kind::of(&self.draft.kind)),
            (None, details) => details.clone(),
        }
    }

    fn price(&self) -> Option<vitrine_model::money::Money> {
        match self.details() {
            Details::Bundle(bundle) => bundle.price(),
            _ => self.draft.price,
        }
    }

    fn is_from(&self, source: &Source) -> bool {
        let own = &self.draft.source;
        source.system == own.system && source.external_id == own.external_id
    }

    fn source(&self, now: Timestamp) -> Source {
        Source {
            system: self.draft.source.system.clone(),
            external_id: self.draft.source.external_id.clone(),
            imported_at: now,
            digest: self.digest.clone(),
        }
    }
}

/// The stock-keeping unit of a draft, given or derived from the source.
pub(super) fn sku(draft: &ProductDraft) -> String {
    let made = || format!("{}:{}", draft.source.system, draft.source.external_id);
    draft.sku.clone().unwrap_or_else(made)
}
