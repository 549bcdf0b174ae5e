//! Suppliers, and the extract of a supplier that is embedded in its products.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::SupplierId;
use crate::import::ExternalRef;
use crate::text::{fold, without_zero_width};

/// A supplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supplier {
    /// The supplier's id.
    pub id: SupplierId,
    /// The name.
    pub name: String,
    /// The country as an ISO 3166-1 alpha-2 code, if known.
    pub country: Option<String>,
    /// The source that has an id for it, and the id.
    pub origin: Option<ExternalRef>,
    /// What feeds say of it, or said when it was created, if an admin has changed that since.
    pub said: Option<SupplierFacts>,
    /// Increases with every change of name or country.
    pub version: i64,
    /// The version that all products are known to have been updated to.
    pub propagated_version: i64,
    /// When name or country last changed; `None` if they never did.
    pub changed_at: Option<Timestamp>,
}

/// What a feed says of a supplier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SupplierFacts {
    /// The name.
    pub name: String,
    /// The country as an ISO 3166-1 alpha-2 code; `None` if the feed says none.
    pub country: Option<String>,
}

impl SupplierFacts {
    /// The key by which a supplier without an id in its source is found. Case, accents and invisible
    /// characters of the name do not matter.
    #[must_use]
    pub fn key(&self) -> String {
        let country = self.country.as_deref().unwrap_or("--");
        format!("name {country} {}", fold(&without_zero_width(&self.name)))
    }
}

/// Returns the key by which a supplier with an id in its source is found.
#[must_use]
pub fn origin_key(origin: &ExternalRef) -> String {
    format!("id {} {}", origin.system, origin.external_id)
}

/// The extended reference of a product to its supplier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupplierExtract {
    /// The supplier's id.
    pub id: SupplierId,
    /// The version of the supplier that was copied.
    pub version: i64,
    /// The name copied.
    pub name: String,
    /// The country copied.
    pub country: Option<String>,
    /// When it was copied.
    pub as_of: Timestamp,
}

impl Supplier {
    /// The name and the country as shown.
    #[must_use]
    pub fn facts(&self) -> SupplierFacts {
        SupplierFacts {
            name: self.name.clone(),
            country: self.country.clone(),
        }
    }

    /// What feeds say of it, or said when it was created.
    #[must_use]
    pub fn said(&self) -> SupplierFacts {
        self.said.clone().unwrap_or_else(|| self.facts())
    }

    /// The keys by which imports find it. No two suppliers have the same one. With an id in its
    /// source it is found by the id alone; otherwise by what was said of it, and as shown.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        if let Some(origin) = &self.origin {
            return vec![origin_key(origin)];
        }
        let mut keys = vec![self.said().key(), self.facts().key()];
        keys.dedup();
        keys
    }

    /// Returns the supplier after its source sent these facts. What an admin has changed stays, unless
    /// the source has changed the same fact.
    #[must_use]
    pub fn with_feed_facts(&self, facts: &SupplierFacts, now: Timestamp) -> Self {
        let said = self.said();
        if *facts == said {
            return self.clone();
        }
        let mut after = self.clone();
        if facts.name != said.name {
            after.name.clone_from(&facts.name);
        }
        if facts.country != said.country {
            after.country.clone_from(&facts.country);
        }
        after.said = (after.facts() != *facts).then(|| facts.clone());
        after.version += 1;
        after.changed_at = Some(now);
        after
    }

    /// Returns the supplier with the facts that an admin sets.
    #[must_use]
    pub fn with_admin_facts(&self, facts: SupplierFacts) -> Self {
        let said = self.said();
        Self {
            said: (facts != said).then_some(said),
            name: facts.name,
            country: facts.country,
            ..self.clone()
        }
    }

    /// Returns the extract to embed in a product.
    #[must_use]
    pub fn extract(&self, now: Timestamp) -> SupplierExtract {
        SupplierExtract {
            id: self.id,
            version: self.version,
            name: self.name.clone(),
            country: self.country.clone(),
            as_of: now,
        }
    }
}

/// Normalises an ISO 3166-1 alpha-2 country code to two upper-case letters; `None` for text of
/// another form.
#[must_use]
pub fn country_code(text: &str) -> Option<String> {
    let code = text.trim().to_ascii_uppercase();
    (code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, country: Option<&str>) -> SupplierFacts {
        SupplierFacts {
            name: name.to_owned(),
            country: country.map(str::to_owned),
        }
    }

    fn supplier(origin: Option<ExternalRef>) -> Supplier {
        Supplier {
            id: SupplierId::from_i64(1),
            name: "North".to_owned(),
            country: Some("DE".to_owned()),
            origin,
            said: None,
            version: 1,
            propagated_version: 1,
            changed_at: None,
        }
    }

    #[test]
    fn a_supplier_is_found_by_what_was_said_of_it_and_as_shown() {
        let north = supplier(None);
        assert_eq!(north.keys(), ["name DE north"]);
        assert_eq!(facts("NÖRTH", Some("DE")).key(), "name DE north");
        assert_ne!(facts("North", None).key(), "name DE north");
        let renamed = north.with_admin_facts(facts("Nord", Some("DE")));
        assert_eq!(renamed.keys(), ["name DE north", "name DE nord"]);
        let back = renamed.with_admin_facts(facts("North", Some("DE")));
        assert_eq!(back, north);
    }

    #[test]
    fn an_id_is_the_only_key_of_a_supplier_that_has_one() {
        let origin = ExternalRef {
            system: "shop".to_owned(),
            external_id: "7".to_owned(),
        };
        let north = supplier(Some(origin)).with_admin_facts(facts("Nord", None));
        assert_eq!(north.keys(), ["id shop 7"]);
    }

    #[test]
    fn names_that_look_the_same_have_one_key() {
        let key = |name: &str| facts(name, None).key();
        for name in [
            "NORTH Sea",
            "North\u{200b} Sea",
            "\u{feff}North\u{a0}Sea",
            "Nörth Sea\u{ad}",
        ] {
            assert_eq!(key(name), key("North Sea"), "{name:?}");
        }
        assert_ne!(key("Northsea"), key("North Sea"));
    }

    #[test]
    fn what_an_admin_changed_stays_until_the_source_says_something_else() {
        let now = Timestamp::from_millis(5);
        let admins = supplier(None).with_admin_facts(facts("Norden", Some("DE")));
        let same = admins.with_feed_facts(&facts("North", Some("DE")), now);
        assert_eq!(same, admins);
        let moved = admins.with_feed_facts(&facts("North", Some("AT")), now);
        assert_eq!(moved.facts(), facts("Norden", Some("AT")));
        assert_eq!(moved.said, Some(facts("North", Some("AT"))));
        assert_eq!((moved.version, moved.changed_at), (2, Some(now)));
        let renamed = moved.with_feed_facts(&facts("Norden", Some("AT")), now);
        assert_eq!((renamed.said.as_ref(), renamed.version), (None, 3));
        assert_eq!(renamed.facts(), facts("Norden", Some("AT")));
    }
}
