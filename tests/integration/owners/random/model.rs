//! The rules of fields with owners in a few lines: the price list says price and supplier, the catalogue everything.

use std::collections::{BTreeMap, BTreeSet};

/// The fields of the model. The catalogue says all of them, and always these that a product needs: name, kind, category,
/// status and SKU.
pub(super) const FIELDS: [&str; 13] = [
    "name",
    "kind",
    "details",
    "category",
    "status",
    "sku",
    "description",
    "brand",
    "price",
    "supplier",
    "media",
    "specs.color",
    "specs.shade",
];

/// Fields with their values; no value is `None`.
pub(super) type Said = BTreeMap<&'static str, Option<String>>;

#[derive(Default)]
pub(super) struct Model {
    catalogue: Said,
    prices: Option<Said>,
    product: Said,
    /// The fields that people have edited.
    pub(super) edited: BTreeSet<&'static str>,
    /// The revisions that the product has had.
    pub(super) revisions: Vec<(i64, Said)>,
    is_merged: bool,
}

impl Model {
    pub(super) fn has_prices(&self) -> bool {
        self.prices.is_some()
    }

    pub(super) fn is_book(&self) -> bool {
        self.product["kind"].as_deref() == Some("book")
    }

    pub(super) fn product(&self) -> Said {
        self.product.clone()
    }

    pub(super) fn remember(&mut self, revision: i64) {
        if self
            .revisions
            .last()
            .is_none_or(|(last, _)| *last < revision)
        {
            self.revisions.push((revision, self.product.clone()));
        }
    }

    /// A revision that the product has had, with its content.
    pub(super) fn revision(&self, at: usize) -> (i64, Said) {
        let (revision, mut content) = self.revisions[at].clone();
        if self.is_merged {
            content.remove("specs.shade");
        }
        (revision, content)
    }

    /// What the feeds say together.
    fn said(&self) -> Said {
        let mut said = self.catalogue.clone();
        let more = self
            .prices
            .iter()
            .flatten()
            .filter(|(_, value)| value.is_some());
        said.extend(more.map(|(field, value)| (*field, value.clone())));
        said
    }

    /// A field is written where the feeds say something else than before, and people have not edited it.
    pub(super) fn import(&mut self, catalogue: Option<Said>, prices: Option<Said>) {
        let before = self.said();
        if let Some(catalogue) = catalogue {
            self.catalogue = catalogue;
            self.follow_merge();
        }
        self.prices = prices.or(self.prices.take());
        let said = self.said();
        let mut fields = Vec::from_iter(FIELDS);
        fields.retain(|field| before.get(field) != said.get(field) && !self.edited.contains(field));
        // The SKU of several feeds joins them.
        fields.retain(|field| *field != "sku");
        self.write(&said, &fields);
        if !self.has_prices() && !self.edited.contains("sku") {
            self.product.insert("sku", said["sku"].clone());
        }
    }

    /// Details of another kind are not written; a new kind has no details of the one before.
    fn write(&mut self, said: &Said, fields: &[&'static str]) {
        let rekinded = fields.contains(&"kind") && self.product.get("kind") != Some(&said["kind"]);
        for field in fields.iter().filter(|field| **field != "details") {
            self.product.insert(field, said[field].clone());
        }
        let fits = said["details"].is_none() || self.is_book();
        if rekinded || (fits && fields.contains(&"details")) {
            let details = said["details"].clone().filter(|_| fits);
            self.product.insert("details", details);
        }
    }

    /// Whoever edits details decides on the kind, too.
    pub(super) fn edit(&mut self, edits: impl IntoIterator<Item = (&'static str, Option<String>)>) {
        for (field, value) in edits {
            let field = self.current(field);
            if self.product.get(field) == Some(&value) {
                continue;
            }
            self.edited.insert(field);
            if field == "details" {
                self.edited.insert("kind");
            }
            self.product.insert(field, value);
        }
    }

    /// The SKU of several feeds stays, and so does one of kind and details if the feeds say another kind.
    pub(super) fn may_release(&self, field: &str) -> bool {
        let rekinds = self.said()["kind"] != self.product["kind"];
        match field {
            "sku" => !self.has_prices() || !self.edited.contains("sku"),
            "details" => {
                !(rekinds
                    && ["kind", "details"]
                        .iter()
                        .all(|one| self.edited.contains(one)))
            }
            _ => true,
        }
    }

    pub(super) fn release(&mut self, fields: &[&'static str]) {
        let mut released: Vec<&str> = fields.iter().map(|field| self.current(field)).collect();
        released.retain(|field| self.edited.remove(field));
        // Of a SKU the feed says it again with its next line.
        released.retain(|field| *field != "sku");
        let said = self.said();
        self.write(&said, &released);
    }

    fn current(&self, field: &'static str) -> &'static str {
        match field {
            "specs.shade" if self.is_merged => "specs.color",
            field => field,
        }
    }

    /// From now on `specs.color` has the values of both keys.
    pub(super) fn merge_keys(&mut self) {
        self.is_merged = true;
        self.follow_merge();
        merge(&mut self.product);
        for (_, content) in &mut self.revisions {
            merge(content);
        }
        if self.edited.remove("specs.shade") {
            self.edited.insert("specs.color");
        }
    }

    fn follow_merge(&mut self) {
        if self.is_merged {
            merge(&mut self.catalogue);
        }
    }
}

fn merge(said: &mut Said) {
    let keys = ["specs.color", "specs.shade"];
    let values: BTreeSet<String> = keys.iter().filter_map(|key| said[key].clone()).collect();
    said.insert("specs.color", joined(values));
    said.insert("specs.shade", None);
}

/// The values of a spec key as one.
pub(super) fn joined(values: BTreeSet<String>) -> Option<String> {
    let values: Vec<String> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.join(" and "))
}
