//! Creating and changing products.

use vitrine_model::activity::ActivitySummary;
use vitrine_model::contribution::{Contribution, ProductField};
use vitrine_model::fold::Computed;
use vitrine_model::history::{ChangeOrigin, ChangedBy, HistoryOf};
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::money::{Currency, Money, minor_units};
use vitrine_model::overrides::{Overrides, OwnedField, edited};
use vitrine_model::picture::PictureUse;
use vitrine_model::product::{
    Details, Kind, MAX_DESCRIPTION_CHARACTERS, MAX_NAME_CHARACTERS, Media, Outlier, Product,
    ProductStatus, Sold,
};
use vitrine_model::spec::{KeyUsage, Spec, SpecKey};
use vitrine_model::text::{collapse, slug, slug_with};
use vitrine_storage::StorageError;
use vitrine_storage::contributions::Contributions;
use vitrine_storage::views::ProductView;
use vitrine_storage::write::WriteUnit;

use super::bulk::{BulkEdit, patch};
use super::commands::{Attempt, Change, Command, Step};
use super::reverts::{not_kept, of_revision};
use super::{
    DetailsInput, MutationRequest, NewProduct, PriceInput, ProductPatch, SpecRef, bundles, details,
    specs,
};
use crate::import::merge::{CurrentNames, Merged};
use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::outcome::{FieldPath, Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::specs::{less_used, with_current_keys, with_shared};
use crate::{Catalog, DomainError};

impl Catalog {
    /// Creates a product.
    pub async fn create_product(
        &self,
        request: MutationRequest,
        new: NewProduct,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let create = CreateProduct {
            id: ProductId::random(),
            new: new.clone(),
        };
        self.execute(request, ("createProduct", "", &new), create)
            .await
    }

    /// Changes a product.
    pub async fn update_product(
        &self,
        request: MutationRequest,
        id: ProductId,
        patch: ProductPatch,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let edit = Edit::Patch(Box::new(patch.clone()));
        let named = ("updateProduct", &*id.to_string(), &patch);
        self.execute(request, named, ChangeProduct { id, edit })
            .await
    }

    /// Sets specs of a product: they replace all specs with the same key and qualifier; other specs
    /// stay.
    pub async fn set_specs(
        &self,
        request: MutationRequest,
        id: ProductId,
        specs: Vec<Spec>,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let edit = Edit::SetSpecs(specs.clone());
        let named = ("setSpecs", &*id.to_string(), &specs);
        self.execute(request, named, ChangeProduct { id, edit })
            .await
    }

    /// Removes specs of a product. Specs that it does not have are ignored.
    pub async fn remove_specs(
        &self,
        request: MutationRequest,
        id: ProductId,
        refs: Vec<SpecRef>,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let edit = Edit::RemoveSpecs(refs.clone());
        let named = ("removeSpecs", &*id.to_string(), &refs);
        self.execute(request, named, ChangeProduct { id, edit })
            .await
    }

    /// Archives a product, or makes an archived one active again. Unarchiving a product that is not
    /// archived changes nothing.
    pub async fn set_archived(
        &self,
        request: MutationRequest,
        id: ProductId,
        archived: bool,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let edit = Edit::Archived(archived);
        let named = ("setArchived", &*id.to_string(), &archived);
        self.execute(request, named, ChangeProduct { id, edit })
            .await
    }
}

struct CreateProduct {
    id: ProductId,
    new: NewProduct,
}

pub(super) struct ChangeProduct {
    pub(super) id: ProductId,
    pub(super) edit: Edit,
}

pub(super) enum Edit {
    Patch(Box<ProductPatch>),
    SetSpecs(Vec<Spec>),
    RemoveSpecs(Vec<SpecRef>),
    Archived(bool),
    /// Restores this revision.
    Revert(i64),
    /// Gives these fields back to the feeds.
    Release(Vec<String>),
    /// One of the products of a bulk change.
    Bulk(Vec<BulkEdit>),
}

impl Command for CreateProduct {
    type Answer = ProductView;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<ProductView>, StorageError> {
        let mut draft = Draft::new(self.blank(at), at);
        draft.errors.check(&[&"kind"], limits::kind(&self.new.kind));
        draft.apply(&self.new.as_patch(), unit).await?;
        if Kind::of(&self.new.kind) == Kind::Bundle && self.new.details.is_none() {
            let path: FieldPath<'_> = &[&"details", &"bundle"];
            draft.errors.invalid(path, "a bundle needs its items");
        }
        draft.product.specs = draft.read_specs(&self.new.specs);
        if self.new.slug.is_none() {
            draft.product.slug = free_slug(&draft.product, at).await?;
        }
        // The first try may have found that the SKU belongs to a product that waits.
        let waiting = if at.nth > 0 {
            unit.waiting_product(&draft.product.sku).await?
        } else {
            None
        };
        let mut given = edited(&self.blank(at), &draft.product);
        given.extend([ProductField::Kind, ProductField::Status].map(OwnedField::Field));
        draft.product.overrides.record(given, &at.by.name, at.now);
        if let Some(waiting) = &waiting {
            draft.take_waiting(waiting, unit).await?;
        }
        draft.claim_pictures(&[], unit).await?;
        if let Some(refusals) = draft.refusals() {
            return Ok(Step::refused(refusals, None));
        }
        if !draft.insert_new_keys(unit).await? {
            return Ok(Step::Retry);
        }
        let encoding = at.catalog.encoding(&at.reference.units);
        let product = &draft.product;
        let inserted = match &waiting {
            None => unit.insert_product(product, encoding).await,
            Some(waiting) => match unit.insert_awaited(product, waiting, encoding).await {
                Ok(false) => return Ok(Step::Retry),
                inserted => inserted.map(drop),
            },
        };
        match inserted {
            Err(StorageError::Conflict { key }) => self.taken(&key, product, at).await,
            inserted => {
                inserted?;
                let of = HistoryOf::Product(draft.product.id);
                unit.record_created(&of, &at.by, at.now).await?;
                stored(unit, &draft).await
            }
        }
    }
}

impl CreateProduct {
    /// The product before the input is applied.
    fn blank(&self, at: &Attempt) -> Product {
        Product {
            id: self.id,
            kind: self.new.kind.clone(),
            sku: self.id.to_string(),
            slug: String::new(),
            name: String::new(),
            description: None,
            brand: None,
            status: self.new.status,
            category: CategoryId::from_i64(0),
            price: None,
            media: Vec::new(),
            specs: Vec::new(),
            details: Details::empty(Kind::of(&self.new.kind)),
            supplier: None,
            computed: Computed::default(),
            outlier: Outlier::default(),
            activity: ActivitySummary::default(),
            sold: Sold::default(),
            sources: Vec::new(),
            overrides: Overrides::default(),
            revision: 1,
            created_at: at.now,
            listed_at: None,
            updated_at: at.now,
        }
    }

    async fn taken(
        &self,
        key: &str,
        product: &Product,
        at: &Attempt,
    ) -> Result<Step<ProductView>, StorageError> {
        // A derived slug is derived again; a duplicate id is reported as retryable.
        if key == "_id" || (key == "slug" && self.new.slug.is_none()) {
            return Ok(Step::Retry);
        }
        if key == "sku" && at.store().is_waiting_sku(&product.sku).await? {
            return Ok(Step::Retry);
        }
        Ok(Step::refuse(taken(key, product)?, None))
    }
}

impl NewProduct {
    /// The input as a patch of a blank product.
    fn as_patch(&self) -> ProductPatch {
        ProductPatch {
            sku: self.sku.clone(),
            slug: self.slug.clone(),
            name: Some(self.name.clone()),
            description: self.description.clone().map(Some),
            brand: self.brand.clone().map(Some),
            status: Some(self.status),
            category: Some(self.category.clone()),
            supplier: self.supplier.map(Some),
            price: self.price.clone().map(Some),
            media: Some(self.media.clone()),
            details: self.details.clone(),
        }
    }
}

impl Command for ChangeProduct {
    type Answer = ProductView;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<ProductView>, StorageError> {
        let Some(view) = unit.product(self.id).await? else {
            return Ok(Step::refuse(self.missing(), None));
        };
        let mut before = view.product()?;
        if let Some(refusal) = at.stale("product", before.revision) {
            return Ok(Step::refuse(refusal, Some(view)));
        }
        // A key that was merged into another one is rewritten with this write.
        before.specs = with_current_keys(&before.specs, &at.reference.dictionary);
        let mut draft = Draft::new(before.clone(), at);
        self.edit(&mut draft, unit).await?;
        if draft.errors.is_empty() && draft.product == before {
            return Ok(Step::done(view, Change::Nothing));
        }
        draft.product.revision += 1;
        draft.product.updated_at = at.now;
        if !matches!(self.edit, Edit::Release(_)) {
            let fields = edited(&before, &draft.product);
            draft.product.overrides.record(fields, &at.by.name, at.now);
        }
        if draft.product.sources.is_empty() {
            let specs = &draft.product.specs;
            draft.product.overrides.forget_specs(specs);
        }
        draft.claim_pictures(&before.media, unit).await?;
        if let Some(refusals) = draft.refusals() {
            return Ok(Step::refused(self.as_seen_by_caller(refusals), Some(view)));
        }
        draft.keep_contributions(&before, unit).await?;
        if !draft.insert_new_keys(unit).await? {
            return Ok(Step::Retry);
        }
        let encoding = at.catalog.encoding(&at.reference.units);
        let by = self.by(at);
        let replaced = unit
            .replace_product(&draft.product, (before.revision, Some(&by)), encoding)
            .await;
        match replaced {
            Err(StorageError::Conflict { key })
                if key == "sku" && at.store().is_waiting_sku(&draft.product.sku).await? =>
            {
                let refusals = self.as_seen_by_caller(vec![awaited(&draft.product.sku)]);
                Ok(Step::refused(refusals, Some(view)))
            }
            Err(StorageError::Conflict { key }) => {
                let refusal = taken(&key, &draft.product)?;
                Ok(Step::refused(
                    self.as_seen_by_caller(vec![refusal]),
                    Some(view),
                ))
            }
            Ok(false) => Ok(Step::Retry),
            replaced => {
                replaced?;
                stored(unit, &draft).await
            }
        }
    }
}

impl ChangeProduct {
    /// Who makes the change, and by what.
    fn by(&self, at: &Attempt) -> ChangedBy {
        let of = |origin| ChangedBy {
            origin,
            ..at.by.clone()
        };
        match self.edit {
            Edit::Revert(revision) => at.by.reverting_to(revision),
            Edit::Release(_) => of(ChangeOrigin::Release),
            Edit::Bulk(_) => of(ChangeOrigin::BulkChange),
            _ => at.by.clone(),
        }
    }

    async fn edit(&self, draft: &mut Draft<'_>, unit: &mut WriteUnit) -> Result<(), StorageError> {
        match &self.edit {
            Edit::Patch(patch) => draft.apply(patch, unit).await?,
            Edit::SetSpecs(given) => {
                let given = draft.read_specs(given);
                draft.product.specs = specs::set(&draft.product.specs, &given);
            }
            Edit::RemoveSpecs(refs) => {
                let dictionary = &draft.at.reference.dictionary;
                draft.product.specs = specs::remove(&draft.product.specs, refs, dictionary);
            }
            Edit::Archived(true) => draft.product.status = ProductStatus::Archived,
            Edit::Archived(false) if draft.product.status == ProductStatus::Archived => {
                draft.product.status = ProductStatus::Active;
            }
            Edit::Archived(false) => {}
            Edit::Revert(revision) => draft.revert(*revision, unit).await?,
            Edit::Release(fields) => draft.release(fields, unit).await?,
            Edit::Bulk(edits) => draft.apply_all(edits, unit).await?,
        }
        Ok(())
    }

    /// Returns the refusals with paths that exist in the input: that of a revert has no fields, only a
    /// revision.
    fn as_seen_by_caller(&self, refusals: Vec<UserError>) -> Vec<UserError> {
        match self.edit {
            Edit::Revert(_) => of_revision(refusals),
            _ => refusals,
        }
    }

    fn missing(&self) -> UserError {
        let field = match self.edit {
            Edit::SetSpecs(_) | Edit::RemoveSpecs(_) | Edit::Release(_) => "productId",
            Edit::Patch(_) | Edit::Archived(_) | Edit::Revert(_) | Edit::Bulk(_) => "id",
        };
        UserError::new(
            UserErrorCode::NotFound,
            &[&field],
            "there is no such product",
        )
    }
}

/// The new state of a product, with its errors and the spec keys it introduces.
pub(super) struct Draft<'a> {
    pub(super) product: Product,
    pub(super) at: &'a Attempt,
    pub(super) errors: ValidationErrors,
    new_keys: Vec<SpecKey>,
    /// The keys of the specs that a person gives.
    used_keys: Vec<String>,
    /// What its sources say, if an edit changes it.
    pub(super) said: Option<Vec<Contribution>>,
}

impl<'a> Draft<'a> {
    fn new(product: Product, at: &'a Attempt) -> Self {
        Self {
            product,
            at,
            errors: ValidationErrors::default(),
            new_keys: Vec::new(),
            used_keys: Vec::new(),
            said: None,
        }
    }

    /// Takes the reserved id of the product that waits for the SKU, and what its sources say.
    async fn take_waiting(
        &mut self,
        waiting: &Contributions,
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        let names = CurrentNames::of(&self.at.reference);
        let merged = Merged::new(&[], &waiting.all, names);
        let supplier = match merged.new_supplier() {
            Some(id) => unit.supplier(id).await?,
            None => None,
        };
        let supplier = supplier.map(|supplier| supplier.extract(self.at.now));
        self.product = merged.apply(self.product.clone(), supplier, names);
        self.product.id = waiting.product;
        Ok(())
    }

    /// Applies the fields that the patch sets.
    async fn apply(
        &mut self,
        patch: &ProductPatch,
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        apply_texts(&mut self.product, patch, &mut self.errors);
        if let Some(status) = patch.status {
            self.product.status = status;
        }
        if let Some(media) = &patch.media {
            check_media(media, &mut self.errors);
            self.product.media = limits::plain_media(media);
        }
        if let Some(slug) = &patch.category {
            self.set_category(slug);
        }
        if let Some(supplier) = patch.supplier {
            self.set_supplier(supplier, unit).await?;
        }
        if let Some(price) = &patch.price {
            self.set_price(price.as_ref());
        }
        match &patch.details {
            Some(given) => self.set_details(given).await,
            None => Ok(()),
        }
    }

    /// Applies the parts of a bulk change.
    async fn apply_all(
        &mut self,
        edits: &[BulkEdit],
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        self.apply(&patch(edits), unit).await?;
        for edit in edits {
            match edit {
                BulkEdit::SetSpecs(given) => {
                    let given = self.read_specs(given);
                    self.product.specs = specs::set(&self.product.specs, &given);
                }
                BulkEdit::CategoryId(id) => self.product.category = *id,
                BulkEdit::RemoveSpecs(refs) => {
                    let dictionary = &self.at.reference.dictionary;
                    self.product.specs = specs::remove(&self.product.specs, refs, dictionary);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Restores the content of an earlier revision.
    async fn revert(&mut self, revision: i64, unit: &mut WriteUnit) -> Result<(), StorageError> {
        if revision == self.product.revision {
            return Ok(());
        }
        let earlier = unit
            .earlier_product(&self.product, revision, self.at.now)
            .await?;
        let Some(earlier) = earlier else {
            let current = self.product.revision;
            self.errors.0.push(not_kept("product", revision, current));
            return Ok(());
        };
        let content = earlier.content;
        let product = &mut self.product;
        (product.sku, product.slug) = (earlier.sku, earlier.slug);
        product.name = content.name.unwrap_or_default();
        product.kind = content.kind.unwrap_or_default();
        product.description = content.description;
        product.brand = content.brand;
        product.status = content.status.unwrap_or(product.status);
        product.category = content.category.unwrap_or(product.category);
        product.media = content.media;
        product.price = content.price;
        product.details = match content.details {
            Details::Generic => Details::empty(Kind::of(&product.kind)),
            details => details,
        };
        if let Some(items) = earlier.items {
            self.set_items(&items).await?;
        }
        self.product.specs = self.read_specs(&content.specs);
        self.set_supplier(content.supplier, unit).await
    }

    fn set_category(&mut self, slug: &str) {
        if let Some(category) = self.at.reference.categories.by_slug(slug) {
            self.product.category = category.id;
            return;
        }
        let shown = vitrine_model::text::excerpt(slug, 80).text;
        let message =
            format!("there is no category {shown:?}; use the slug of an existing category");
        self.errors.missing(&[&"category"], message);
    }

    async fn set_supplier(
        &mut self,
        id: Option<SupplierId>,
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        let Some(id) = id else {
            self.product.supplier = None;
            return Ok(());
        };
        let Some(supplier) = unit.supplier(id).await? else {
            let message = "there is no such supplier";
            self.errors.missing(&[&"supplierId"], message);
            return Ok(());
        };
        let current = self.product.supplier.as_ref();
        if current.map(|current| (current.id, current.version)) != Some((id, supplier.version)) {
            self.product.supplier = Some(supplier.extract(self.at.now));
        }
        Ok(())
    }

    fn set_price(&mut self, given: Option<&PriceInput>) {
        if Kind::of(&self.product.kind) == Kind::Bundle {
            if given.is_some() {
                let message = "the price of a bundle is computed from its items; leave it out";
                self.errors.invalid(&[&"price"], message);
            }
            return;
        }
        self.product.price = given.and_then(|given| self.read_price(given));
    }

    fn read_price(&mut self, given: &PriceInput) -> Option<Money> {
        let currency = match &given.currency {
            None => Ok(self.at.catalog.currency()),
            Some(code) => Currency::parse(code),
        };
        let currency = match currency {
            Ok(currency) => currency,
            Err(wrong) => {
                self.errors
                    .invalid(&[&"price", &"currency"], wrong.to_string());
                return None;
            }
        };
        match minor_units(given.amount, currency) {
            Ok(minor) => Some(Money { minor, currency }),
            Err(wrong) => {
                self.errors
                    .invalid(&[&"price", &"amount"], wrong.to_string());
                None
            }
        }
    }

    async fn set_details(&mut self, given: &DetailsInput) -> Result<(), StorageError> {
        let of = given.kind().name();
        if of != self.product.kind {
            let shown = vitrine_model::text::excerpt(&self.product.kind, 40).text;
            let message = format!("the product's kind is {shown}; it has no details of a {of}");
            self.errors.invalid(&[&"details", &of], message);
            return Ok(());
        }
        if let DetailsInput::Bundle(items) = given {
            return self.set_items(items).await;
        }
        self.product.details = details::read(given, &mut self.errors);
        Ok(())
    }

    /// Sets the items of a bundle, and the price that follows from them.
    async fn set_items(&mut self, items: &[(ProductId, i32)]) -> Result<(), StorageError> {
        let mut errors = ValidationErrors::default();
        let read = bundles::read(items, self.at.store(), &mut errors).await?;
        self.errors.0.append(&mut errors.0);
        self.product.price = read.price();
        self.product.details = Details::Bundle(read);
        Ok(())
    }

    /// Returns specs in stored form; notes the keys they introduce. Reads none of more than a product
    /// may have, because reading compares each with all others.
    fn read_specs(&mut self, given: &[Spec]) -> Vec<Spec> {
        let count = limits::spec_count(given.len());
        if count.is_err() {
            self.errors.cap(&[&"specs"], count);
            return Vec::new();
        }
        let reference = &self.at.reference;
        let read = specs::read(
            given,
            &reference.dictionary,
            &reference.units,
            &mut self.errors,
        );
        self.new_keys.extend(read.new_keys);
        let used = read.specs.iter().map(|spec| spec.key.clone());
        self.used_keys.extend(used);
        read.specs
    }

    /// Claims the uploaded pictures among the new media of the product.
    async fn claim_pictures(
        &mut self,
        before: &[Media],
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        let shown_by = PictureUse::Product(self.product.id);
        let media = (before, &*self.product.media);
        let claimed = self
            .at
            .catalog
            .claim_product_pictures(media, shown_by, unit);
        self.errors.0.extend(claimed.await?.0);
        Ok(())
    }

    /// Returns all errors, after checking the limits of the whole product; `None` if there are
    /// none.
    fn refusals(&mut self) -> Option<Vec<UserError>> {
        let count = limits::spec_count(self.product.specs.len());
        self.errors.cap(&[&"specs"], count);
        let count = limits::media_count(self.product.media.len());
        self.errors.cap(&[&"media"], count);
        if self.errors.is_empty() {
            let encoding = self.at.catalog.encoding(&self.at.reference.units);
            self.errors
                .cap(&[], limits::content(&self.product, encoding));
        }
        let refusals = std::mem::take(&mut self.errors.0);
        (!refusals.is_empty()).then_some(refusals)
    }

    /// Writes what the product introduces: search words outside the transaction, spec keys within
    /// it. Returns whether the dictionary was unchanged.
    async fn insert_new_keys(&self, unit: &mut WriteUnit) -> Result<bool, StorageError> {
        let words = self.at.catalog.words();
        words.learn(self.at.store(), [&self.product]).await?;
        let usage = self.usage();
        for key in &self.new_keys {
            let key = SpecKey {
                usage,
                ..key.clone()
            };
            match unit.insert_spec_key(&key).await {
                Err(StorageError::Conflict { .. }) => return Ok(false),
                inserted => inserted?,
            }
            let of = HistoryOf::SpecKey(key.key);
            unit.record_created(&of, &self.at.by, self.at.now).await?;
        }
        unit.use_spec_keys(&self.less_used_keys()).await
    }

    /// The usage of the product's keys by the product.
    fn usage(&self) -> KeyUsage {
        KeyUsage::by(self.product.status)
    }

    fn less_used_keys(&self) -> Vec<(SpecKey, KeyUsage)> {
        let dictionary = &self.at.reference.dictionary;
        let less_used = less_used(&self.product.specs, self.usage(), dictionary);
        let used = self.used_keys.iter().map(String::as_str);
        with_shared(less_used, used, dictionary, None)
    }

    fn change(&self) -> Change {
        if self.new_keys.is_empty() && self.less_used_keys().is_empty() {
            Change::Content
        } else {
            Change::Reference
        }
    }
}

/// Returns what is wrong with the parts of a bulk change whatever the product.
pub(super) async fn checked_on_any_product(
    edits: &[BulkEdit],
    unit: &mut WriteUnit,
    at: &Attempt,
) -> Result<Vec<UserError>, StorageError> {
    let new = NewProduct {
        kind: "thing".to_owned(),
        sku: None,
        slug: None,
        name: "thing".to_owned(),
        description: None,
        brand: None,
        status: ProductStatus::Draft,
        category: String::new(),
        supplier: None,
        price: None,
        media: Vec::new(),
        specs: Vec::new(),
        details: None,
    };
    let id = ProductId::random();
    let mut draft = Draft::new(CreateProduct { id, new }.blank(at), at);
    draft.apply_all(edits, unit).await?;
    Ok(draft.refusals().unwrap_or_default())
}

/// Applies the text fields.
fn apply_texts(product: &mut Product, patch: &ProductPatch, errors: &mut ValidationErrors) {
    if let Some(name) = &patch.name {
        errors.check(&[&"name"], limits::visible(name, 1..=MAX_NAME_CHARACTERS));
        product.name = collapse(name);
    }
    if let Some(sku) = &patch.sku {
        let sku = sku.trim();
        errors.check(&[&"sku"], limits::article_number(sku));
        sku.clone_into(&mut product.sku);
    }
    if let Some(slug) = &patch.slug {
        errors.check(&[&"slug"], limits::slug(slug));
        product.slug.clone_from(slug);
    }
    if let Some(description) = &patch.description {
        if let Some(text) = description {
            let checked = limits::visible(text, 1..=MAX_DESCRIPTION_CHARACTERS);
            errors.check(&[&"description"], checked);
        }
        product.description.clone_from(description);
    }
    if let Some(brand) = &patch.brand {
        if let Some(text) = brand {
            let checked = limits::visible(text, 1..=MAX_LABEL_CHARACTERS);
            errors.check(&[&"brand"], checked);
        }
        product.brand = brand.as_deref().map(collapse);
    }
}

fn check_media(media: &[Media], errors: &mut ValidationErrors) {
    for (at, medium) in media.iter().enumerate() {
        errors.check(&[&"media", &at, &"url"], limits::address(&medium.url));
        if let Some(alt) = &medium.alt {
            let checked = limits::text(alt, 0..=MAX_DESCRIPTION_CHARACTERS);
            errors.check(&[&"media", &at, &"alt"], checked);
        }
    }
}

/// The name as a slug. If it is taken, digits of the id are appended, more with each try.
async fn free_slug(product: &Product, at: &Attempt) -> Result<String, StorageError> {
    let plain = slug(&product.name)
        .or_else(|| slug(&product.sku))
        .unwrap_or_else(|| "product".to_owned());
    let candidates = [plain];
    let taken = at.store().taken_slugs(&candidates).await?;
    let [plain] = candidates;
    if !taken.contains(&plain) {
        return Ok(plain);
    }
    let digits = usize::try_from(at.nth).map_or(32, |nth| 6 * (nth + 1));
    let id = product.id.to_string().replace('-', "");
    let digits: String = id.chars().take(digits).collect();
    Ok(slug_with(&plain, &digits))
}

/// Turns a duplicate key of a unique index into a refusal.
fn taken(key: &str, product: &Product) -> Result<UserError, StorageError> {
    let (field, value) = match key {
        "sku" => ("sku", &product.sku),
        "slug" => ("slug", &product.slug),
        key => {
            return Err(StorageError::Conflict {
                key: key.to_owned(),
            });
        }
    };
    let message = format!("another product has the {field} {value}");
    Ok(UserError::new(UserErrorCode::Taken, &[&field], message))
}

/// The refusal of a SKU that an existing product cannot get.
fn awaited(sku: &str) -> UserError {
    let message = format!(
        "feeds have lines for the sku {sku} and wait for its product: create a product with it, or \
         import this product with it"
    );
    UserError::new(UserErrorCode::Taken, &[&"sku"], message)
}

/// The product as it is now stored.
async fn stored(
    unit: &mut WriteUnit,
    draft: &Draft<'_>,
) -> Result<Step<ProductView>, StorageError> {
    let view = unit.product(draft.product.id).await?;
    // A transaction reads its own writes.
    Ok(view.map_or(Step::Retry, |view| Step::done(view, draft.change())))
}

#[cfg(test)]
mod tests {
    use vitrine_model::clock::Timestamp;

    use super::*;

    fn product() -> Product {
        let now = Timestamp::from_millis(0);
        Product {
            id: ProductId::random(),
            kind: "movie".to_owned(),
            sku: "S-1".to_owned(),
            slug: "night".to_owned(),
            name: "Night".to_owned(),
            description: Some("dark".to_owned()),
            brand: Some("Moon".to_owned()),
            status: ProductStatus::Active,
            category: CategoryId::random(),
            price: None,
            media: Vec::new(),
            specs: Vec::new(),
            details: Details::empty(Kind::Movie),
            supplier: None,
            computed: Computed::default(),
            outlier: Outlier::default(),
            activity: ActivitySummary::default(),
            sold: Sold::default(),
            sources: Vec::new(),
            overrides: Overrides::default(),
            revision: 3,
            created_at: now,
            listed_at: None,
            updated_at: now,
        }
    }

    fn applied(patch: &ProductPatch) -> (Product, Vec<(UserErrorCode, String)>) {
        let (mut product, mut errors) = (product(), ValidationErrors::default());
        apply_texts(&mut product, patch, &mut errors);
        (product, errors.codes_and_paths())
    }

    #[test]
    fn unnamed_fields_stay_and_null_clears() {
        let (same, errors) = applied(&ProductPatch::default());
        assert_eq!(
            (same.name, same.description, same.sku),
            (product().name, product().description, product().sku)
        );
        assert!(errors.is_empty());
        let patch = ProductPatch {
            name: Some("  Full \n Night ".to_owned()),
            sku: Some(" S-2\n".to_owned()),
            description: Some(None),
            brand: Some(Some(" Sun  & Moon ".to_owned())),
            ..ProductPatch::default()
        };
        let (changed, errors) = applied(&patch);
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(changed.name, "Full Night");
        assert_eq!(changed.slug, "night", "a name does not change the address");
        assert_eq!(changed.description, None);
        assert_eq!(changed.brand.as_deref(), Some("Sun & Moon"));
        assert_eq!(changed.sku, "S-2");
    }

    #[test]
    fn all_texts_are_checked() {
        let patch = ProductPatch {
            name: Some(" ".to_owned()),
            sku: Some("a\nb".to_owned()),
            slug: Some("Not A Slug".to_owned()),
            description: Some(Some("x".repeat(20_001))),
            brand: Some(Some(String::new())),
            ..ProductPatch::default()
        };
        let paths: Vec<String> = applied(&patch).1.into_iter().map(|(_, at)| at).collect();
        assert_eq!(paths, ["name", "sku", "slug", "description", "brand"]);
    }

    #[test]
    fn media_are_checked_one_by_one() {
        let media = |url: &str, alt: Option<&str>| Media {
            url: url.to_owned(),
            alt: alt.map(str::to_owned),
            kind: vitrine_model::product::MediaKind::Image,
        };
        let mut errors = ValidationErrors::default();
        let all = [
            media("https://e.org/a", None),
            media("ftp://e.org/b", Some("")),
            media("http://e.org/c", Some("\0")),
        ];
        check_media(&all, &mut errors);
        let paths: Vec<String> = errors
            .codes_and_paths()
            .into_iter()
            .map(|(_, at)| at)
            .collect();
        assert_eq!(paths, ["media.1.url", "media.2.alt"]);
    }

    #[test]
    fn a_unique_index_names_what_is_taken() {
        let refused = |key: &str| {
            let refusal = taken(key, &product()).ok();
            refusal.map(|refusal| (refusal.code, refusal.path))
        };
        let at = |field: &str| Some((UserErrorCode::Taken, vec![field.to_owned()]));
        assert_eq!(refused("sku"), at("sku"));
        assert_eq!(refused("slug"), at("slug"));
        assert!(taken("_id", &product()).is_err());
    }
}
