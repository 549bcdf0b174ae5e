//! What feeds say of the fields that people have edited.

use std::collections::HashMap;

use vitrine_model::history::FieldValue;
use vitrine_model::id::{ProductId, SupplierId};
use vitrine_model::overrides::OwnedField;
use vitrine_storage::history::shown_content;

use crate::import::merge::{CurrentNames, said};
use crate::{Catalog, DomainError};

/// What the feeds say of a product: fields with their values for people, as a history has them.
#[derive(Clone, Debug, Default)]
pub struct FeedValues(Vec<(String, FieldValue)>);

impl FeedValues {
    /// What they say of a field; nothing if they say nothing of it. Details and specs with qualifiers
    /// have several values.
    pub fn of(&self, field: &OwnedField) -> impl Iterator<Item = &FieldValue> {
        let name = field.to_string();
        let is_of = move |shown: &str| {
            let rest = shown.strip_prefix(&*name);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(" (") || rest.starts_with('.')
            })
        };
        let values = self.0.iter().filter(move |(shown, _)| is_of(shown));
        values.map(|(_, value)| value)
    }
}

impl Catalog {
    /// What the feeds say of products that people have edited. Products without feeds have nothing.
    /// At most two commands.
    pub async fn feed_values(
        &self,
        products: &[ProductId],
    ) -> Result<HashMap<ProductId, FeedValues>, DomainError> {
        let products = products.to_vec();
        let stored = self
            .read(|store| async move { store.get_many_contributions(&products).await })
            .await?;
        let reference = self.reference();
        let mut all: HashMap<ProductId, FeedValues> = HashMap::new();
        let mut suppliers = Vec::new();
        for one in stored {
            let said = said(&one.all, CurrentNames::of(&reference));
            suppliers.extend(said.supplier);
            all.insert(one.product, FeedValues(shown_content(&said)));
        }
        let names = self.supplier_names(suppliers).await?;
        let values = all.values_mut().flat_map(|values| &mut values.0);
        for (_, value) in values {
            if let FieldValue::Supplier(id, name) = value {
                *name = names.get(id).cloned().unwrap_or_default();
            }
        }
        Ok(all)
    }

    async fn supplier_names(
        &self,
        ids: Vec<SupplierId>,
    ) -> Result<HashMap<SupplierId, String>, DomainError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self
            .read(|store| async move { store.get_many_suppliers(&ids).await })
            .await?;
        let named = found.into_iter();
        Ok(named.map(|supplier| (supplier.id, supplier.name)).collect())
    }
}
