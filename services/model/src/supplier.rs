//! Suppliers, and the extract of one that each of its products carries.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::SupplierId;

/// A supplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supplier {
    /// Identifies the supplier.
    pub id: SupplierId,
    /// Its name.
    pub name: String,
    /// Its country as an ISO 3166-1 alpha-2 code, when known.
    pub country: Option<String>,
    /// Rises with every change of name or country.
    pub version: i64,
    /// The version that every product is known to carry.
    pub propagated_version: i64,
    /// When name or country changed last; unknown when they never did.
    pub changed_at: Option<Timestamp>,
}

/// What a product carries of its supplier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupplierExtract {
    /// The supplier.
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
    /// What a product carries of this supplier from now on.
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

/// Checks and normalises an ISO 3166-1 alpha-2 country code: two letters, made upper case.
#[must_use]
pub fn country_code(text: &str) -> Option<String> {
    let code = text.trim().to_ascii_uppercase();
    (code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase())).then_some(code)
}
