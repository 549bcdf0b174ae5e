//! Suppliers, and the extract of a supplier that is embedded in its products.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::SupplierId;

/// A supplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supplier {
    /// The supplier's id.
    pub id: SupplierId,
    /// The name.
    pub name: String,
    /// The country as an ISO 3166-1 alpha-2 code, if known.
    pub country: Option<String>,
    /// Increases with every change of name or country.
    pub version: i64,
    /// The version that all products are known to have been updated to.
    pub propagated_version: i64,
    /// When name or country last changed; `None` if they never did.
    pub changed_at: Option<Timestamp>,
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
