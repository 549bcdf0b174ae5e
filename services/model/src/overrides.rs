//! Overrides: the fields of a product that people have edited. No feed writes them until an admin
//! gives them back. What feeds say of them meanwhile is in their contributions.

use std::fmt;

use crate::clock::Timestamp;
use crate::contribution::{Content, ProductField};
use crate::product::Product;
use crate::spec::{Dictionary, Spec};

/// A field that a person can keep from feeds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OwnedField {
    /// The stock-keeping unit.
    Sku,
    /// A field of the product; never [`ProductField::Specs`].
    Field(ProductField),
    /// All specs of a key.
    Spec(String),
}

impl OwnedField {
    /// The field with this name: `sku`, `name`, `specs.weight`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == "sku" {
            return Some(Self::Sku);
        }
        if let Some(key) = name.strip_prefix("specs.") {
            return (!key.is_empty()).then(|| Self::Spec(key.to_owned()));
        }
        let field = ProductField::named(name)?;
        (field != ProductField::Specs).then_some(Self::Field(field))
    }

    /// The field with the current key of its specs, if another key has absorbed it.
    #[must_use]
    pub fn current(&self, dictionary: &Dictionary) -> Self {
        match self {
            Self::Spec(key) => {
                let current = dictionary.get(key).map_or(key, |known| &known.key);
                Self::Spec(current.clone())
            }
            field => field.clone(),
        }
    }
}

impl fmt::Display for OwnedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sku => f.write_str("sku"),
            Self::Field(field) => f.write_str(field.name()),
            Self::Spec(key) => write!(f, "specs.{key}"),
        }
    }
}

/// A field that a person has edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The field.
    pub field: OwnedField,
    /// The subject of the token of the last person who edited it.
    pub by: String,
    /// When that was.
    pub at: Timestamp,
}

/// The fields of a product that people have edited, in the order of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(Vec<Override>);

impl Overrides {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Override] {
        &self.0
    }

    /// Whether people have edited nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether people have edited a field. Names of specs are compared as they are.
    #[must_use]
    pub fn has(&self, field: &OwnedField) -> bool {
        self.0.iter().any(|own| own.field == *field)
    }

    /// Records that a person has edited fields.
    pub fn record(
        &mut self,
        fields: impl IntoIterator<Item = OwnedField>,
        by: &str,
        at: Timestamp,
    ) {
        for field in fields {
            self.0.retain(|own| own.field != field);
            let by = by.to_owned();
            self.0.push(Override { field, by, at });
        }
        self.0.sort_by(|a, b| a.field.cmp(&b.field));
    }

    /// Forgets the specs that a product without feeds no longer has.
    pub fn forget_specs(&mut self, specs: &[Spec]) {
        self.0.retain(|own| match &own.field {
            OwnedField::Spec(key) => specs.iter().any(|spec| spec.key == *key),
            _ => true,
        });
    }

    /// Gives a field back to the feeds. Returns whether people had edited it.
    pub fn release(&mut self, field: &OwnedField) -> bool {
        let before = self.0.len();
        self.0.retain(|own| own.field != *field);
        self.0.len() < before
    }

    /// The same with the current keys of specs.
    #[must_use]
    pub fn current(&self, dictionary: &Dictionary) -> Self {
        let mut current = Self::default();
        for own in &self.0 {
            let field = own.field.current(dictionary);
            let newer = |other: &&Override| other.field == field && other.at > own.at;
            if !current.0.iter().any(|other| newer(&other)) {
                current.record([field], &own.by, own.at);
            }
        }
        current
    }
}

impl FromIterator<Override> for Overrides {
    fn from_iter<I: IntoIterator<Item = Override>>(all: I) -> Self {
        let mut all: Vec<Override> = all.into_iter().collect();
        all.sort_by(|a, b| a.field.cmp(&b.field).then(b.at.cmp(&a.at)));
        all.dedup_by(|later, first| later.field == first.field);
        Self(all)
    }
}

/// The fields that an edit has changed. Whoever edits the details of a kind decides on the kind too,
/// because details of another kind would not fit them.
#[must_use]
pub fn edited(before: &Product, after: &Product) -> Vec<OwnedField> {
    let (old, new) = (Content::of(before), Content::of(after));
    let mut fields = differing(&old, &new);
    if fields.contains(&OwnedField::Field(ProductField::Details)) {
        fields.push(OwnedField::Field(ProductField::Kind));
    }
    if before.sku != after.sku {
        fields.push(OwnedField::Sku);
    }
    fields
}

/// The fields in which two contents differ; specs by key.
#[must_use]
pub fn differing(old: &Content, new: &Content) -> Vec<OwnedField> {
    let differs = [
        (ProductField::Name, old.name != new.name),
        (
            ProductField::Description,
            old.description != new.description,
        ),
        (ProductField::Brand, old.brand != new.brand),
        (ProductField::Kind, old.kind != new.kind),
        (ProductField::Category, old.category != new.category),
        (ProductField::Status, old.status != new.status),
        (ProductField::Supplier, old.supplier != new.supplier),
        (ProductField::Price, old.price != new.price),
        (ProductField::Media, old.media != new.media),
        (ProductField::Details, old.details != new.details),
    ];
    let fields = differs.into_iter().filter(|(_, differs)| *differs);
    let mut fields: Vec<OwnedField> = fields.map(|(field, _)| OwnedField::Field(field)).collect();
    for spec in old.specs.iter().chain(&new.specs) {
        let field = OwnedField::Spec(spec.key.clone());
        if !fields.contains(&field) && !same_of_key(&old.specs, &new.specs, &spec.key) {
            fields.push(field);
        }
    }
    fields
}

fn same_of_key(old: &[Spec], new: &[Spec], key: &str) -> bool {
    let of_key = |spec: &&Spec| spec.key == key;
    old.iter().filter(of_key).eq(new.iter().filter(of_key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{SpecKey, ValueType};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn fields_have_names() {
        for name in ["sku", "name", "details", "specs.weight", "specs.a.b"] {
            let field = OwnedField::named(name).unwrap();
            assert_eq!(field.to_string(), name);
        }
        for name in ["", "specs", "specs.", "slug", "weight"] {
            assert_eq!(OwnedField::named(name), None, "{name}");
        }
    }

    #[test]
    fn the_last_edit_of_a_field_counts() {
        let (name, sku) = (OwnedField::Field(ProductField::Name), OwnedField::Sku);
        let mut overrides = Overrides::default();
        overrides.record([name.clone(), sku.clone()], "ann", at(1));
        overrides.record([name.clone()], "bo", at(2));
        let shown: Vec<_> = overrides
            .all()
            .iter()
            .map(|own| (&own.field, &*own.by))
            .collect();
        assert_eq!(shown, [(&sku, "ann"), (&name, "bo")]);
        assert!(overrides.release(&name));
        assert!(!overrides.release(&name));
        assert!(overrides.has(&sku) && !overrides.has(&name));
    }

    #[test]
    fn an_override_follows_a_key_that_was_absorbed() {
        let mut color = SpecKey::new("color", ValueType::Text);
        color.absorbing = vec!["colour".to_owned()];
        let dictionary = Dictionary::new(vec![color]);
        let spec = |key: &str| OwnedField::Spec(key.to_owned());
        let mut overrides = Overrides::default();
        overrides.record([spec("colour")], "ann", at(5));
        overrides.record([spec("color")], "bo", at(3));
        let current = overrides.current(&dictionary);
        let shown: Vec<_> = current
            .all()
            .iter()
            .map(|own| (&own.field, &*own.by))
            .collect();
        assert_eq!(shown, [(&spec("color"), "ann")]);
    }
}
