//! From a draft to a new or updated product.
//!
//! The source of a product with a single source that describes it as a whole is authoritative: what
//! it no longer mentions is removed. With several sources (single view), `vitrine_model::contribution`
//! says which of them owns which field, and an import writes the fields whose value changes by it.
//! What people have edited (`vitrine_model::overrides`) no import writes.

use std::borrow::Cow;
use std::collections::HashSet;

use vitrine_model::activity::ActivitySummary;
use vitrine_model::category::CategoryTree;
use vitrine_model::clock::Timestamp;
use vitrine_model::contribution::{Content, Contribution, ProductField, merge};
use vitrine_model::fold::Computed;
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::import::ProductDraft;
use vitrine_model::overrides::{Overrides, OwnedField, differing};
use vitrine_model::product::{
    Bundle, Details, Kind, Outlier, Product, ProductStatus, Sold, Source,
};
use vitrine_model::spec::{Dictionary, Spec};
use vitrine_model::supplier::SupplierExtract;
use vitrine_model::text::collapse;
use vitrine_model::unit::UnitTable;

use crate::limits::plain_media;
use crate::reference::Reference;
use crate::specs::{with_current_keys, with_current_types};

/// A draft with all references resolved.
#[derive(Clone)]
pub(super) struct Prepared<'a> {
    pub(super) draft: Cow<'a, ProductDraft>,
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
        sku(&self.draft)
    }

    /// Creates a new product. A field that the draft lacks is empty.
    pub(super) fn create(&self, id: ProductId, slug: String, now: Timestamp) -> Product {
        let draft = &*self.draft;
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
            overrides: Overrides::default(),
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
        let draft = &*self.draft;
        Content {
            name: draft.name.as_deref().map(collapse),
            description: draft.description.clone(),
            brand: draft.brand.as_deref().map(collapse),
            kind: draft.kind.clone(),
            category: self.category,
            status: draft.status,
            supplier: self.supplier.as_ref().map(|supplier| supplier.id),
            price: draft.price.filter(|_| self.bundle.is_none()),
            media: plain_media(&draft.media),
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
        let (earlier, others): (Vec<_>, Vec<_>) =
            others.iter().partition(|one| self.is_from(&one.source));
        let mut all: Vec<Contribution> = others.into_iter().cloned().collect();
        let mut own = self.contribution(now);
        // A feed without a status means the one that the product had when people first changed it.
        let implied = earlier.first().and_then(|one| one.content.status);
        own.content.status = own.content.status.or(implied);
        all.push(own);
        all.sort_by(|a, b| of(&a.source).cmp(&of(&b.source)));
        all
    }

    /// Whether what this product is now made of does not follow from the draft alone: another source
    /// says something, people have edited it, or the draft does not say everything.
    pub(super) fn is_merged_into(&self, product: &Product) -> bool {
        let alone = |source: &Source| self.is_from(source) && !source.priority.partial;
        self.draft.is_partial()
            || !product.overrides.is_empty()
            || !product.sources.iter().all(alone)
    }
}

fn of(source: &Source) -> (&str, &str) {
    (&source.system, &source.external_id)
}

/// What the sources of a product say, if nothing of it is stored: a single source says what the
/// product is.
pub(crate) fn present(product: &Product) -> Vec<Contribution> {
    let sources = product.sources.iter();
    let contribution = |source: &Source| Contribution {
        source: source.clone(),
        content: Content::of(product),
    };
    sources.map(contribution).collect()
}

/// What merged spec keys and categories mean now, and the types of the keys.
#[derive(Clone, Copy)]
pub(crate) struct CurrentNames<'r> {
    pub(crate) dictionary: &'r Dictionary,
    pub(crate) categories: &'r CategoryTree,
    pub(crate) units: &'r UnitTable,
}

impl<'r> CurrentNames<'r> {
    pub(crate) const fn of(reference: &'r Reference) -> Self {
        Self {
            dictionary: &reference.dictionary,
            categories: &reference.categories,
            units: &reference.units,
        }
    }
}

/// What follows from contributions. Spec keys and categories that were merged since are resolved, and values have the present
/// types of their keys.
pub(crate) fn said(contributions: &[Contribution], names: CurrentNames<'_>) -> Content {
    let mut contributions = contributions.to_vec();
    for one in &mut contributions {
        let content = &mut one.content;
        let specs = with_current_keys(&content.specs, names.dictionary);
        content.specs = with_current_types(specs, names.dictionary, names.units);
        content.category = content.category.map(|id| names.categories.current(id));
    }
    merge(&contributions)
}

/// A change of what the sources of a product say.
pub(crate) struct Merged {
    before: Content,
    after: Content,
    sources: Vec<Source>,
}

impl Merged {
    /// Compares what follows from two sets of contributions.
    pub(crate) fn new(
        before: &[Contribution],
        after: &[Contribution],
        names: CurrentNames<'_>,
    ) -> Self {
        Self {
            before: said(before, names),
            after: said(after, names),
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

    /// Writes to a product what changes, but nothing that people have edited. `supplier` is the one
    /// that it gets, if that changes.
    pub(crate) fn apply(
        &self,
        mut product: Product,
        supplier: Option<SupplierExtract>,
        names: CurrentNames<'_>,
    ) -> Product {
        let overrides = product.overrides.current(names.dictionary);
        let mut changed: HashSet<OwnedField> = HashSet::new();
        changed.extend(differing(&self.before, &self.after));
        changed.retain(|field| !overrides.has(field));
        product.specs = with_current_keys(&product.specs, names.dictionary);
        let mut product = write(product, &self.after, supplier, &changed);
        product.sources.clone_from(&self.sources);
        product
    }

    /// The fields that people keep: what the sources say of them is not what the product has.
    pub(crate) fn kept(&self, product: &Product, names: CurrentNames<'_>) -> Vec<OwnedField> {
        if product.overrides.is_empty() {
            return Vec::new();
        }
        let overrides = product.overrides.current(names.dictionary);
        let is_said = differing(&Content::default(), &self.after);
        let mut present = Content::of(product);
        present.category = present.category.map(|id| names.categories.current(id));
        let mut kept = differing(&self.after, &present);
        kept.retain(|field| overrides.has(field) && is_said.contains(field));
        kept
    }
}

/// Writes fields of a product with the values that the sources say. A required field of which they
/// say nothing stays.
pub(crate) fn write(
    mut product: Product,
    said: &Content,
    supplier: Option<SupplierExtract>,
    fields: &HashSet<OwnedField>,
) -> Product {
    let writes = |field| fields.contains(&OwnedField::Field(field));
    let kind = said.kind.clone().filter(|_| writes(ProductField::Kind));
    let rekinded = kind.as_ref().is_some_and(|kind| *kind != product.kind);
    product.kind = kind.unwrap_or(product.kind);
    if let Some(name) = said.name.clone().filter(|_| writes(ProductField::Name)) {
        product.name = name;
    }
    if writes(ProductField::Description) {
        product.description.clone_from(&said.description);
    }
    if writes(ProductField::Brand) {
        product.brand.clone_from(&said.brand);
    }
    let category = said.category.filter(|_| writes(ProductField::Category));
    product.category = category.unwrap_or(product.category);
    let status = said.status.filter(|_| writes(ProductField::Status));
    product.status = status.unwrap_or(product.status);
    if writes(ProductField::Supplier) {
        product.supplier = supplier;
    }
    if writes(ProductField::Media) {
        product.media.clone_from(&said.media);
    }
    product.specs = written_specs(&product.specs, &said.specs, fields);
    // The price of a bundle is computed, so it goes with the kind.
    let was_bundle = matches!(product.details, Details::Bundle(_));
    if writes(ProductField::Price) || (rekinded && was_bundle) {
        product.price = said.price;
    }
    // Details of another kind say nothing of a product whose kind people have decided.
    let of = said.details.kind();
    let fits = of.is_none_or(|of| of == Kind::of(&product.kind));
    if rekinded || (fits && writes(ProductField::Details)) {
        let details = said.details.clone();
        set_details(&mut product, if fits { details } else { Details::Generic });
    }
    set_bundle_price(&mut product);
    product
}

/// The specs: keys that are written have what the sources say, the others what the product has, in
/// the order of the sources; then the keys that only the product has.
fn written_specs(present: &[Spec], said: &[Spec], fields: &HashSet<OwnedField>) -> Vec<Spec> {
    let mut known = HashSet::new();
    let mut specs = Vec::new();
    let keys = said.iter().chain(present).map(|spec| spec.key.as_str());
    for key in keys {
        if !known.insert(key) {
            continue;
        }
        let written = fields.contains(&OwnedField::Spec(key.to_owned()));
        let from = if written { said } else { present };
        specs.extend(from.iter().filter(|spec| spec.key == key).cloned());
    }
    specs
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
