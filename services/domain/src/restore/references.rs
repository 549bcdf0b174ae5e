//! Restoring what products refer to: units, spec keys, categories, review dimensions, suppliers.

use std::collections::HashSet;

use vitrine_model::category::Category;
use vitrine_model::id::{CategoryId, SupplierId};
use vitrine_model::import::LineOutcome;
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::Supplier;
use vitrine_model::unit::Unit;
use vitrine_storage::write::WriteUnit;
use vitrine_storage::{StorageError, retry_contended};

use super::{RestoreSession, check, differs, rejected};
use crate::DomainError;
use crate::export::ExportedProduct;
use crate::limits::{self, MAX_LABEL_CHARACTERS};

/// The products that review dimensions apply to, with the id of the category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredDimensionScope {
    /// Products of a kind.
    Kind(String),
    /// Products of a category and its subcategories.
    Category(CategoryId),
}

/// What has to be written of an entry.
enum Entry<T> {
    New,
    /// In place of this one.
    Newer(T),
    Not(LineOutcome),
}

/// Compares an entry with the stored one.
fn entry<T: Clone + PartialEq>(
    given: &T,
    stored: Option<&T>,
    revision: fn(&T) -> i64,
    what: &str,
) -> Entry<T> {
    match stored {
        None => Entry::New,
        Some(stored) if stored == given => Entry::Not(LineOutcome::Unchanged),
        // A key that is used by more products keeps its revision.
        Some(stored) if revision(given) >= revision(stored) => Entry::Newer(stored.clone()),
        Some(_) => Entry::Not(differs(what)),
    }
}

/// A write of one entry. Entries that are there already come with their revision.
#[derive(Clone)]
enum Change {
    Unit(Unit),
    NewKey(Box<SpecKey>),
    Key(Box<[SpecKey; 2]>),
    NewCategory(Category),
    Category(Category, i64),
    Dimensions(StoredDimensionScope, Vec<String>),
    NewSupplier(Supplier),
    Supplier(Supplier, i64),
}

impl Change {
    /// Returns whether the stored entry was still the one that was read.
    async fn write(&self, to: &mut WriteUnit) -> Result<bool, StorageError> {
        match self {
            Self::Unit(unit) => to.insert_unit(unit).await?,
            Self::NewKey(key) => to.insert_spec_key(key).await?,
            Self::Key(keys) => return to.replace_spec_key(&keys[0], &keys[1]).await,
            Self::NewCategory(category) => to.insert_category(category).await?,
            Self::Category(category, before) => {
                return to.replace_category(category, *before).await;
            }
            Self::Dimensions(StoredDimensionScope::Kind(kind), names) => {
                to.set_kind_dimensions(kind, names).await?;
            }
            Self::Dimensions(StoredDimensionScope::Category(id), names) => {
                to.set_category_dimensions(*id, names).await?;
            }
            Self::NewSupplier(supplier) => to.insert_supplier(supplier).await?,
            Self::Supplier(supplier, before) => {
                return to.replace_supplier(supplier, *before).await;
            }
        }
        Ok(true)
    }
}

impl RestoreSession {
    /// Stores a unit that the shop has defined.
    pub async fn unit(&mut self, unit: Unit) -> Result<LineOutcome, DomainError> {
        if self.units.units().contains(&unit) {
            return Ok(LineOutcome::Unchanged);
        }
        if let Err(wrong) = self.units.define(unit.clone()) {
            return Ok(rejected(wrong.field(), wrong.to_string()));
        }
        self.apply(Change::Unit(unit), LineOutcome::Created).await
    }

    /// Stores a key of the spec dictionary with its aliases.
    pub async fn spec_key(&mut self, key: SpecKey) -> Result<LineOutcome, DomainError> {
        let wrong = check::spec_key(&key);
        if !wrong.is_empty() {
            return Ok(LineOutcome::Rejected(wrong));
        }
        let stored = self.spec_keys.get(&key.key);
        let (change, done) = match entry(&key, stored, |key| key.revision, "spec key") {
            Entry::Not(outcome) => return Ok(outcome),
            Entry::New => (Change::NewKey(Box::new(key.clone())), LineOutcome::Created),
            Entry::Newer(before) => {
                let keys = Box::new([before, key.clone()]);
                (Change::Key(keys), LineOutcome::Updated)
            }
        };
        let written = self.apply(change, done).await?;
        if is_written(&written) {
            self.spec_keys.insert(key.key.clone(), key);
            self.dictionary = None;
        }
        Ok(written)
    }

    /// Stores a category. Its parent comes before it.
    pub async fn category(&mut self, category: Category) -> Result<LineOutcome, DomainError> {
        let name = limits::text(&category.name, 1..=MAX_LABEL_CHARACTERS);
        for (field, checked) in [("name", name), ("slug", limits::slug(&category.slug))] {
            if let Err(reason) = checked {
                return Ok(rejected(field, reason));
            }
        }
        let parent = category.parent;
        if parent.is_some_and(|parent| !self.categories.contains_key(&parent)) {
            return Ok(rejected("parent", "there is no such category"));
        }
        let into = category.merged_into;
        if into.is_some_and(|into| !self.categories.contains_key(&into)) {
            return Ok(rejected("merged_into", "there is no such category"));
        }
        let stored = self.categories.get(&category.id);
        let (change, done) = match entry(&category, stored, |one| one.revision, "category") {
            Entry::Not(outcome) => return Ok(outcome),
            Entry::New => (Change::NewCategory(category.clone()), LineOutcome::Created),
            Entry::Newer(before) => {
                let change = Change::Category(category.clone(), before.revision);
                (change, LineOutcome::Updated)
            }
        };
        let written = self.apply(change, done).await?;
        if is_written(&written) {
            self.categories.insert(category.id, category);
        }
        Ok(written)
    }

    /// Stores what products of a kind or a category are rated by.
    pub async fn dimensions(
        &mut self,
        of: StoredDimensionScope,
        names: Vec<String>,
    ) -> Result<LineOutcome, DomainError> {
        let table = &mut self.dimensions;
        let before = match &of {
            StoredDimensionScope::Kind(kind) => table.kinds.insert(kind.clone(), names.clone()),
            StoredDimensionScope::Category(id) => table.categories.insert(*id, names.clone()),
        };
        let done = match before {
            Some(before) if before == names => return Ok(LineOutcome::Unchanged),
            Some(_) => LineOutcome::Updated,
            None => LineOutcome::Created,
        };
        self.apply(Change::Dimensions(of, names), done).await
    }

    /// Stores a supplier.
    pub async fn supplier(&mut self, supplier: Supplier) -> Result<LineOutcome, DomainError> {
        if let Err(reason) = limits::text(&supplier.name, 1..=MAX_LABEL_CHARACTERS) {
            return Ok(rejected("name", reason));
        }
        if let Some(origin) = &supplier.origin
            && let Err(reason) = limits::code(&origin.external_id)
        {
            return Ok(rejected("source.external_id", reason));
        }
        let id = supplier.id;
        self.read_suppliers([id]).await?;
        let stored = self.suppliers.get(&id);
        let (change, done) = match entry(&supplier, stored, |one| one.version, "supplier") {
            Entry::Not(outcome) => return Ok(outcome),
            Entry::New => (Change::NewSupplier(supplier.clone()), LineOutcome::Created),
            Entry::Newer(before) => {
                let change = Change::Supplier(supplier.clone(), before.version);
                (change, LineOutcome::Updated)
            }
        };
        let written = self.apply(change, done).await?;
        if is_written(&written) {
            self.suppliers.insert(id, supplier);
        }
        Ok(written)
    }

    /// Reads the suppliers of products that this session does not know.
    pub(super) async fn find_suppliers(
        &mut self,
        products: &[ExportedProduct],
    ) -> Result<(), DomainError> {
        let copies = products
            .iter()
            .filter_map(|one| one.product.supplier.as_ref());
        let said = products.iter().flat_map(|one| &one.said);
        let said = said.filter_map(|one| one.content.supplier);
        let ids: HashSet<SupplierId> = copies.map(|copy| copy.id).chain(said).collect();
        self.read_suppliers(ids).await
    }

    async fn read_suppliers(
        &mut self,
        ids: impl IntoIterator<Item = SupplierId>,
    ) -> Result<(), DomainError> {
        let unknown = ids.into_iter();
        let unknown = unknown.filter(|id| !self.suppliers.contains_key(id));
        let unknown: Vec<SupplierId> = unknown.collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let found = self.store(|store| async move { store.get_many_suppliers(&unknown).await });
        let found = found.await?.into_iter();
        self.suppliers.extend(found.map(|one| (one.id, one)));
        Ok(())
    }

    /// Writes an entry in a transaction.
    async fn apply(&self, change: Change, done: LineOutcome) -> Result<LineOutcome, DomainError> {
        let applied = self.store(|store| async move {
            let applied = retry_contended(async || {
                let mut unit = store.begin_write().await?;
                match change.write(&mut unit).await {
                    Ok(true) => unit.commit().await.map(|()| true),
                    other => {
                        unit.abort().await;
                        other
                    }
                }
            });
            match applied.await {
                Err(StorageError::Conflict { key }) => Ok(Err(key)),
                result => result.map(Ok),
            }
        });
        Ok(match applied.await? {
            Ok(true) => done,
            Ok(false) => rejected(
                "revision",
                "it has changed meanwhile; import the line again",
            ),
            Err(key) => rejected(&key, "the database has another one with this name"),
        })
    }
}

fn is_written(outcome: &LineOutcome) -> bool {
    matches!(outcome, LineOutcome::Created | LineOutcome::Updated)
}
