//! Giving fields that people have edited back to the feeds.

use std::collections::HashSet;

use vitrine_model::contribution::{Content, ProductField};
use vitrine_model::id::ProductId;
use vitrine_model::overrides::{Overrides, OwnedField};
use vitrine_model::product::Product;
use vitrine_model::text::excerpt;
use vitrine_storage::StorageError;
use vitrine_storage::views::ProductView;
use vitrine_storage::write::WriteUnit;

use super::MutationRequest;
use super::products::{ChangeProduct, Draft, Edit};
use crate::import::merge::{CurrentNames, present, said, write};
use crate::outcome::Outcome;
use crate::{Catalog, DomainError};

impl Catalog {
    /// Gives fields of a product that people have edited back to the feeds. Fields that nobody has
    /// edited are ignored.
    pub async fn release_fields(
        &self,
        request: MutationRequest,
        id: ProductId,
        fields: Vec<String>,
    ) -> Result<Outcome<ProductView>, DomainError> {
        let edit = Edit::Release(fields.clone());
        let named = ("releaseFields", &*id.to_string(), &fields);
        self.execute(request, named, ChangeProduct { id, edit })
            .await
    }
}

impl Draft<'_> {
    /// Stores what the sources of a product say as soon as that no longer follows from the product, and
    /// deletes it when it does again.
    pub(super) async fn keep_contributions(
        &mut self,
        before: &Product,
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        let released = self.said.take();
        if self.product.has_contributions() && !before.has_contributions() {
            let said = present(before);
            return unit.insert_contributions(before.id, said).await;
        }
        match released {
            Some(said) => unit.set_contributions(&self.product, &said).await,
            None => Ok(()),
        }
    }

    /// Gives fields back to the feeds: they get what the sources say of them. A required field of which
    /// the sources say nothing stays.
    pub(super) async fn release(
        &mut self,
        names: &[String],
        unit: &mut WriteUnit,
    ) -> Result<(), StorageError> {
        let dictionary = &self.at.reference.dictionary;
        let mut overrides = self.product.overrides.current(dictionary);
        let released = self.released(names, &mut overrides);
        let stored = unit.contributions(self.product.id).await?;
        let mut all = stored.map(|stored| stored.all).unwrap_or_default();
        let content = said(&all, CurrentNames::of(&self.at.reference));
        self.check_release(&released, &overrides, &content, all.len());
        if released.is_empty() || !self.errors.is_empty() {
            return Ok(());
        }
        self.product.overrides = overrides;
        if all.is_empty() {
            return Ok(());
        }
        let supplier = match content.supplier {
            Some(id) => unit.supplier(id).await?,
            None => None,
        };
        let supplier = supplier.map(|supplier| supplier.extract(self.at.now));
        self.product = write(self.product.clone(), &content, supplier, &released);
        if released.contains(&OwnedField::Sku) {
            // Nothing stores what a source says of it: the next import of its row is no repetition.
            for one in &mut all {
                one.source.digest.clear();
            }
            self.product.sources = all.iter().map(|one| one.source.clone()).collect();
        }
        self.said = Some(all);
        Ok(())
    }

    /// Refuses what would leave a product with the details of another kind, and a SKU that joins feeds.
    fn check_release(
        &mut self,
        released: &HashSet<OwnedField>,
        kept: &Overrides,
        said: &Content,
        sources: usize,
    ) {
        let pair = [ProductField::Kind, ProductField::Details].map(OwnedField::Field);
        let rekinds = said
            .kind
            .as_ref()
            .is_some_and(|kind| *kind != self.product.kind);
        let parts = pair.iter().any(|field| released.contains(field))
            && pair.iter().any(|field| kept.has(field));
        if rekinds && parts {
            let message = "the feeds say another kind: give back kind and details together";
            self.errors.invalid(&[&"fields"], message);
        }
        if released.contains(&OwnedField::Sku) && sources > 1 {
            let message = "several feeds describe the product, and its sku joins them; change it with updateProduct";
            self.errors.invalid(&[&"fields"], message);
        }
    }

    /// Takes fields out of the overrides; returns those that were among them.
    fn released(&mut self, names: &[String], overrides: &mut Overrides) -> HashSet<OwnedField> {
        let mut released = HashSet::new();
        for (at, name) in names.iter().enumerate() {
            let Some(field) = OwnedField::named(name) else {
                self.errors.invalid(&[&"fields", &at], no_field(name));
                continue;
            };
            let field = field.current(&self.at.reference.dictionary);
            if overrides.release(&field) {
                released.insert(field);
            }
        }
        released
    }
}

/// The reason for refusing the name of a field.
fn no_field(name: &str) -> String {
    let fields = ProductField::ALL.into_iter();
    let fields = fields.filter(|field| *field != ProductField::Specs);
    let fields: Vec<&str> = fields.map(ProductField::name).collect();
    let shown = excerpt(name, 80).text;
    format!(
        "{shown:?} is not a field that people can keep from feeds: sku, {}, or specs.KEY",
        fields.join(", ")
    )
}
